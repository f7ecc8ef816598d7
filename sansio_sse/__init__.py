"""Server-Sent Events without I/O: bytes in through `feed`, events out.

    parser = EventStreamParser()
    for chunk in chunks:  # bytes, as the transport delivers them
        for event in parser.feed(chunk):
            print(event.type, event.data)
    parser.finish()

`iter_events` and `aiter_events` are that loop, `parse` takes a whole stream, and `encode` is the
way back. `EventSourceProtocol` decides what a client that reconnects does next; the package
`sansio_sse_adapters` does it with requests, httpx, aiohttp, sockets, asyncio and trio.
"""

from ._actions import Action, Connect, Progress, ReadyState, Receive, Stop, Wait
from ._backoff import Backoff
from ._encoder import RESPONSE_HEADERS, encode, encode_comment, encode_retry
from ._errors import (
    EventTooLarge,
    LocalProtocolError,
    RemoteProtocolError,
    SSEError,
    UnexpectedContentType,
    UnexpectedStatus,
)
from ._event_source import EventSourceProtocol
from ._events import Comment, Event, Item, Retry, UnknownField
from ._iterate import aiter_events, iter_events, parse
from ._limits import DEFAULT_MAX_EVENT_BYTES, MAX_ERROR_BODY_BYTES
from ._parser import EventStreamParser
from ._request import Request
from ._response import RETRYABLE_STATUSES, check_response, retry_after

__all__ = [
    "DEFAULT_MAX_EVENT_BYTES",
    "MAX_ERROR_BODY_BYTES",
    "RESPONSE_HEADERS",
    "RETRYABLE_STATUSES",
    "Action",
    "Backoff",
    "Comment",
    "Connect",
    "Event",
    "EventSourceProtocol",
    "EventStreamParser",
    "EventTooLarge",
    "Item",
    "LocalProtocolError",
    "Progress",
    "ReadyState",
    "Receive",
    "RemoteProtocolError",
    "Request",
    "Retry",
    "SSEError",
    "Stop",
    "UnexpectedContentType",
    "UnexpectedStatus",
    "UnknownField",
    "Wait",
    "aiter_events",
    "check_response",
    "encode",
    "encode_comment",
    "encode_retry",
    "iter_events",
    "parse",
    "retry_after",
]

__version__ = "0.1.0"
