"""The shortcut of the parser: many blocks of one plain shape at once.

Nothing here is needed for the right result: a parser that never calls `whole_blocks` gives the same
events, and a test compares the two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._events import Event

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._block import Block

__all__ = ["PLAIN_ENDS", "PLAIN_STARTS", "new_event", "whole_blocks"]

PLAIN_STARTS = (b"data: ", b"event: ", b"id: ")
"""How a block begins that `whole_blocks` may take."""

PLAIN_ENDS = (b"\n\n", b"\r\n\r\n")
"""How it ends."""

# The constructor of a named tuple is Python code, and takes twice as long as this.
new_event: Callable[[type[Event], tuple[str, str, str | None, str]], Event]
new_event = tuple.__dict__["__new__"]


# How lines and blocks begin behind the end of another one.
_STARTS_BY_LF = ("\ndata: ", "\nevent: ", "\n\nevent: ", "\n\nid: ")
_STARTS_BY_CRLF = ("\r\ndata: ", "\r\nevent: ", "\r\n\r\nevent: ", "\r\n\r\nid: ")


def whole_blocks(chunk: bytes, block: Block) -> list[Event] | None:
    """Dispatch a chunk of whole blocks at once, if all of them have the same plain shape.

    The shapes are what servers send most: `data: …` alone, or behind `event: …`, or behind `id: …`
    with or without `event: …`; each line once, in this order, with the space, and all of them
    ended by LF or all by CRLF. Splitting at everything that stands between the values of two
    neighbours leaves just the values, if and only if no line end is left in any of them.

    Args:
        chunk: Bytes that begin where a block does.
        block: The block under way, of which nothing is held. Gets the last event ID, if any.

    Returns:
        The events, or None for a chunk of any other shape: then nothing has happened.
    """
    try:
        if not chunk.startswith(b"data: "):
            return _headed_blocks(chunk, block)
        if chunk.endswith(b"\n\n"):
            text = chunk[6:-2].decode()
            if "\n" not in text and "\r" not in text:
                return [new_event(Event, ("message", text, None, block.last_event_id))]
            datas = text.split("\n\ndata: ")
        elif chunk.endswith(b"\r\n\r\n"):
            datas = chunk[6:-4].decode().split("\r\n\r\ndata: ")
        else:
            return None
    except UnicodeDecodeError:
        return None
    values = "".join(datas)
    if "\n" in values or "\r" in values:
        return None
    last_event_id = block.last_event_id
    return [new_event(Event, ("message", data, None, last_event_id)) for data in datas]


def _headed_blocks(chunk: bytes, block: Block) -> list[Event] | None:
    """Do the same for blocks of which the data line is the last one, behind one or two others."""
    is_named = chunk.startswith(b"event: ")
    if not is_named and not chunk.startswith(b"id: "):
        return None
    start = 7 if is_named else 4
    if chunk.endswith(b"\n\n"):
        text = chunk[start:-2].decode()
        data_start, event_start, next_event, next_id = _STARTS_BY_LF
    elif chunk.endswith(b"\r\n\r\n"):
        text = chunk[start:-4].decode()
        data_start, event_start, next_event, next_id = _STARTS_BY_CRLF
    else:
        return None
    events: list[Event] = []
    if is_named:
        last_event_id = block.last_event_id
        for lines in text.split(next_event):
            event_type, found, data = lines.partition(data_start)
            # An empty type is no type, and not worth a thought here.
            if not found or not event_type or "\n" in data or "\r" in data:
                return None
            if "\n" in event_type or "\r" in event_type:
                return None
            events.append(new_event(Event, (event_type, data, None, last_event_id)))
    else:
        event_id = ""
        for lines in text.split(next_id):
            head, found, data = lines.partition(data_start)
            event_id, has_type, event_type = head.partition(event_start)
            if not has_type:
                event_type = "message"
            if not found or not event_type or "\n" in data or "\r" in data:
                return None
            head = event_id + event_type
            if "\n" in head or "\r" in head or "\0" in event_id:
                return None
            events.append(new_event(Event, (event_type, data, event_id, event_id)))
        block.last_event_id = event_id
    return events
