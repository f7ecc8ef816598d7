"""The dialects, as users read of them."""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ..llm import DIALECTS, detect

if TYPE_CHECKING:
    from collections.abc import Callable

    from .._events import Item

__all__ = ["TITLES", "recognise"]

TITLES = MappingProxyType(
    {
        "chat": "OpenAI Chat Completions",
        "responses": "OpenAI Responses",
        "messages": "Anthropic Messages",
        "gemini": "Gemini generateContent",
    }
)


def recognise(item: Item, loads: Callable[[str], Any] = json.loads) -> str | None:
    """Return the name of the dialect that an item is of; None if it does not tell.

    Args:
        item: An item of the stream.
        loads: What parses its data.
    """
    found = detect(item, loads)
    return next((name for name, assembler in DIALECTS.items() if assembler is found), None)
