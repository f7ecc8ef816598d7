"""The shortcut of the parser: many blocks of one plain shape at once.

Nothing here is needed for the right result: a parser that never calls `whole_blocks` gives the same
events, and a test compares the two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._events import Event

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["PLAIN_STARTS", "new_event", "whole_blocks"]

PLAIN_STARTS = (b"data: ", b"event: ")
"""How a block begins that `whole_blocks` may take."""

new_event: Callable[[type[Event], tuple[str, str, str | None, str]], Event]
new_event = tuple.__dict__["__new__"]


def whole_blocks(chunk: bytes, last_event_id: str) -> list[Event] | None:
    """Dispatch a chunk of whole blocks at once, if all of them have the same plain shape.

    The shapes are what servers send most: `data: …`, or `event: …` before `data: …`, each line
    once, with the space, and all of them ended by LF or all by CRLF. Splitting at everything that
    stands between the values of two neighbours leaves just the values, if and only if no line end
    is left in any of them.

    Args:
        chunk: Bytes that begin where a block does.
        last_event_id: The last event ID string, which blocks of these shapes don't change.

    Returns:
        The events, or None for a chunk of any other shape: then nothing has happened.
    """
    try:
        if chunk.startswith(b"data: "):
            if chunk.endswith(b"\n\n"):
                text = chunk[6:-2].decode()
                if "\n" not in text and "\r" not in text:
                    return [new_event(Event, ("message", text, None, last_event_id))]
                datas = text.split("\n\ndata: ")
            elif chunk.endswith(b"\r\n\r\n"):
                datas = chunk[6:-4].decode().split("\r\n\r\ndata: ")
            else:
                return None
            values = "".join(datas)
            if "\n" in values or "\r" in values:
                return None
            return [new_event(Event, ("message", data, None, last_event_id)) for data in datas]
        if chunk.startswith(b"event: "):
            if chunk.endswith(b"\n\n"):
                blocks = chunk[7:-2].decode().split("\n\nevent: ")
                return _named_events(blocks, "\ndata: ", last_event_id)
            if chunk.endswith(b"\r\n\r\n"):
                blocks = chunk[7:-4].decode().split("\r\n\r\nevent: ")
                return _named_events(blocks, "\r\ndata: ", last_event_id)
    except UnicodeDecodeError:
        pass
    return None


def _named_events(blocks: list[str], between: str, last_event_id: str) -> list[Event] | None:
    events: list[Event] = []
    for block in blocks:
        event_type, found, data = block.partition(between)
        if not found or not event_type:
            return None
        if "\n" in data or "\r" in data or "\n" in event_type or "\r" in event_type:
            return None
        events.append(new_event(Event, (event_type, data, None, last_event_id)))
    return events
