"""Server-Sent Events without I/O: bytes in through `feed`, events out.

    parser = EventStreamParser()
    for chunk in chunks:  # bytes, as the transport delivers them
        for event in parser.feed(chunk):
            print(event.type, event.data)
    parser.finish()

`iter_events` and `aiter_events` are that loop, `parse` takes a whole stream, and `encode` is the
way back.
"""

from ._encoder import RESPONSE_HEADERS, encode, encode_comment, encode_retry
from ._errors import EventTooLarge, LocalProtocolError, RemoteProtocolError, SSEError
from ._events import Comment, Event, Item, Retry, UnknownField
from ._iterate import aiter_events, iter_events, parse
from ._limits import DEFAULT_MAX_EVENT_BYTES
from ._parser import EventStreamParser

__all__ = [
    "DEFAULT_MAX_EVENT_BYTES",
    "RESPONSE_HEADERS",
    "Comment",
    "Event",
    "EventStreamParser",
    "EventTooLarge",
    "Item",
    "LocalProtocolError",
    "RemoteProtocolError",
    "Retry",
    "SSEError",
    "UnknownField",
    "aiter_events",
    "encode",
    "encode_comment",
    "encode_retry",
    "iter_events",
    "parse",
]

__version__ = "0.1.0"
