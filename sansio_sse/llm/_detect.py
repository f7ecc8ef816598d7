"""Which dialect a stream is of."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from .._events import Event
from ._json import as_object, as_text
from .chat_completions import ChatCompletionsAssembler
from .generate_content import GenerateContentAssembler
from .messages import MessagesAssembler
from .responses import ResponsesAssembler

if TYPE_CHECKING:
    from collections.abc import Callable

    from .._events import Item
    from ._assembler import Assembler

__all__ = ["detect"]

_MESSAGES_TYPES = frozenset(
    {
        "message_start",
        "message_delta",
        "message_stop",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
    }
)
_GENERATE_CONTENT_FIELDS = frozenset({"candidates", "promptFeedback", "usageMetadata"})


def detect(event: Item, loads: Callable[[str], Any] = json.loads) -> type[Assembler] | None:
    """Return the assembler for a stream with such an event; None if it tells nothing.

    The first event of a stream tells it nearly always; keep-alives, `[DONE]` and errors don't.

    Args:
        event: An event of the stream, or another item, which tells nothing.
        loads: What parses its data.
    """
    if not isinstance(event, Event):
        return None
    try:
        payload = as_object(loads(event.data))
    # Each parser has errors of its own.
    except Exception:
        return None
    kind = as_text(payload.get("type")) or event.type
    if kind.startswith("response.") or (kind == "keepalive" and "sequence_number" in payload):
        return ResponsesAssembler
    if kind in _MESSAGES_TYPES:
        return MessagesAssembler
    if "choices" in payload or payload.get("object") == "chat.completion.chunk":
        return ChatCompletionsAssembler
    if _GENERATE_CONTENT_FIELDS & payload.keys():
        return GenerateContentAssembler
    return None
