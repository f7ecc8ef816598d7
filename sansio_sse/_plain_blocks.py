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

__all__ = ["PLAIN_STARTS", "new_event", "whole_blocks"]

PLAIN_STARTS = (b"data: ", b"event: ", b"id: ")
"""How a block begins that `whole_blocks` may take."""

# The constructor of a named tuple is Python code, and takes twice as long as this.
new_event: Callable[[type[Event], tuple[str, str, str | None, str]], Event]
new_event = tuple.__dict__["__new__"]


def whole_blocks(chunk: bytes, block: Block) -> list[Event] | None:
    """Dispatch a chunk of whole blocks at once, if all of them have the same plain shape.

    The shapes are what servers send most: `data: …` alone, or behind `event: …` or behind `id: …`;
    each line once, with the space, and all of them ended by LF or all by CRLF. Splitting at
    everything that stands between the values of two neighbours leaves just the values, if and only
    if no line end is left in any of them.

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
    """Do the same for blocks of two lines, of which the second is the data."""
    if chunk.startswith(b"event: "):
        named = True
        start, next_by_lf, next_by_crlf = 7, "\n\nevent: ", "\r\n\r\nevent: "
    elif chunk.startswith(b"id: "):
        named = False
        start, next_by_lf, next_by_crlf = 4, "\n\nid: ", "\r\n\r\nid: "
    else:
        return None
    if chunk.endswith(b"\n\n"):
        blocks = chunk[start:-2].decode().split(next_by_lf)
        between = "\ndata: "
    elif chunk.endswith(b"\r\n\r\n"):
        blocks = chunk[start:-4].decode().split(next_by_crlf)
        between = "\r\ndata: "
    else:
        return None
    last_event_id = block.last_event_id
    events: list[Event] = []
    for text in blocks:
        head, found, data = text.partition(between)
        if not found or "\n" in data or "\r" in data or "\n" in head or "\r" in head:
            return None
        if named:
            # An empty type is no type, and not worth a thought here.
            if not head:
                return None
            events.append(new_event(Event, (head, data, None, last_event_id)))
        else:
            if "\0" in head:
                return None
            last_event_id = head
            events.append(new_event(Event, ("message", data, head, head)))
    block.last_event_id = last_event_id
    return events
