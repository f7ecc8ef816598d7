"""Event streams over sockets: a connected one, or a URL over http.client.

    with EventSource("https://example.com/events") as source:
        for event in source:
            print(event.type, event.data)

It reconnects; `iter_events` is for one response that you have already.
"""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from sansio_sse import iter_events as iter_chunks

from ._http1 import Route
from ._http_client import CHUNK_BYTES, Connection, Library
from ._sync import BlockingEventSource, iter_response

if TYPE_CHECKING:
    import http.client
    import ssl
    from collections.abc import Iterator

    from typing_extensions import Unpack

    from sansio_sse import Event, EventStreamParser

    from ._options import Options

__all__ = ["EventSource", "iter_events"]


def iter_events(
    response: socket.socket | http.client.HTTPResponse,
    *,
    parser: EventStreamParser | None = None,
    check: bool = True,
) -> Iterator[Event]:
    """Iterate over the events of a response, each as soon as it has come.

    Args:
        response: A socket that delivers nothing but an event stream, or a response of http.client
            or urllib. Closing it is up to the caller.
        parser: What reads it; by default a new `sansio_sse.EventStreamParser()`.
        check: Whether a response must have status 200, or 204, and the type `text/event-stream`.

    Raises:
        UnexpectedStatus, UnexpectedContentType: It does not; at once, with the start of its body.
        RemoteProtocolError: Of the parser, while iterating, or a content coding that is not known.
        OSError, http.client.HTTPException: Of the transport.
    """
    if isinstance(response, socket.socket):
        return iter_chunks(iter(lambda: response.recv(CHUNK_BYTES), b""), parser)
    return iter_response(Connection(response), parser, check=check)


class EventSource(BlockingEventSource):
    """An iterator of the events of a URL that reconnects, to be used in a `with` block.

    It follows redirects, and undoes the codings gzip and deflate. It knows no proxies.

    Args:
        url: Where the event stream is.
        ssl_context: For https; by default `ssl.create_default_context()`.
        unix_socket: The path of a Unix socket to connect to, in place of the host of the URL.
        options: As for `sansio_sse.EventSourceProtocol`: method, headers, body, json,
            last_event_id, reconnect, retry_statuses, backoff, idle_timeout, compression,
            max_event_bytes, utf8, tail, on_request, on_progress.

    Raises:
        LocalProtocolError: An option is none.

    `close()` may be called from any thread.
    """

    def __init__(
        self,
        url: str,
        *,
        ssl_context: ssl.SSLContext | None = None,
        unix_socket: str | None = None,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(Library(Route(ssl_context, unix_socket)), url, options)
