"""Streams of language models, as short as they can be."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["DONE", "block", "chunk", "delta", "messages", "tool"]

DONE = b"data: [DONE]\n\n"


def block(payload: Any, type: str = "") -> bytes:
    """The block of an event whose data is this payload, or this text."""
    data = payload if isinstance(payload, str) else json.dumps(payload)
    head = f"event: {type}\n" if type else ""
    return f"{head}data: {data}\n\n".encode()


def chunk(*choices: dict[str, Any], **fields: Any) -> bytes:
    """A chunk of Chat Completions."""
    return block({"choices": list(choices), **fields})


def delta(reason: str | None = None, /, index: int = 0, **fields: Any) -> dict[str, Any]:
    """A choice of a chunk."""
    return {"index": index, "delta": fields, "finish_reason": reason}


def tool(arguments: str, /, index: int = 0, **fields: Any) -> dict[str, Any]:
    """A fragment of a call; without other fields the first one of it."""
    fields = fields or {"id": f"c{index}", "type": "function"}
    return {"index": index, **fields, "function": {"name": "add", "arguments": arguments}}


def messages(*events: dict[str, Any]) -> bytes:
    """A stream of the Messages API between its first events and its last one."""
    first: dict[str, Any] = {"type": "message_start", "message": {"id": "m", "usage": {"in": 1}}}
    start = {"type": "content_block_start", "index": 0, "content_block": {"type": "text"}}
    whole = (first, start, *events, {"type": "message_stop"})
    return b"".join(block(event, event["type"]) for event in whole)
