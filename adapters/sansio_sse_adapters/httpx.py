"""Event streams over httpx or httpx2, whose clients are alike: sync, and async on asyncio and trio.

    with EventSource("https://example.com/events") as source:
        for event in source:
            print(event.type, event.data)

    async with AsyncEventSource("https://example.com/events") as source:
        async for event in source:
            print(event.type, event.data)

It reconnects; `iter_events` and `aiter_events` are for one response that you have already.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from ._async import AwaitingEventSource, ResponseEvents
from ._httpx import (
    ASYNC_CLIENTS,
    CLIENTS,
    AsyncConnection,
    AsyncLibrary,
    Connection,
    Library,
)
from ._options import check_client
from ._scopes import ScopeRuntime
from ._sync import BlockingEventSource, iter_response

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx
    import httpx2
    from typing_extensions import Unpack

    from sansio_sse import Event, EventStreamParser

    from ._options import Options

    Response = httpx.Response | httpx2.Response

__all__ = ["AsyncEventSource", "EventSource", "aiter_events", "iter_events"]


def iter_events(
    response: Response, *, parser: EventStreamParser | None = None, check: bool = True
) -> Iterator[Event]:
    """Iterate over the events of a response, each as soon as it has come.

    Get it with `client.stream(...)`. Closing it is up to the caller.

    Args:
        response: The response to any request, of a sync client.
        parser: What reads it; by default a new `sansio_sse.EventStreamParser()`.
        check: Whether it must have status 200, or 204, and the type `text/event-stream`.

    Raises:
        UnexpectedStatus, UnexpectedContentType: It does not; at once, with the start of its body.
        RemoteProtocolError: Of the parser.
        httpx.TransportError, httpx.StreamError: Of the library, while iterating.
    """
    return iter_response(Connection(response), parser, check=check)


def aiter_events(
    response: Response, *, parser: EventStreamParser | None = None, check: bool = True
) -> ResponseEvents:
    """Iterate over the events of a response of an async client, as `iter_events` does.

    Errors come from the iteration. When `__anext__` is cancelled, httpx closes the connection: no
    event is lost that had come before, and the next call raises `LocalProtocolError`. The result
    can be used in an `async with` block, which closes the response: do so on trio if you leave the
    iteration early, for it warns of generators that are not run to their end.
    """
    return ResponseEvents(AsyncConnection(response), parser, check=check)


class EventSource(BlockingEventSource):
    """An iterator of the events of a URL that reconnects, to be used in a `with` block.

    Args:
        url: Where the event stream is.
        client: The `Client` that sends the requests; by default one of its own, which follows
            redirects. Its own read timeout does not count: `idle_timeout` does.
        options: As for `sansio_sse.EventSourceProtocol`: method, headers, body, json,
            last_event_id, reconnect, retry_statuses, backoff, idle_timeout, compression,
            max_event_bytes, utf8, tail, on_request, on_progress.

    Raises:
        LocalProtocolError: An option is none.

    `close()` may be called from any thread. Called while another one waits for the server, it ends
    that connection: with HTTP/2, all requests that share it.
    """

    def __init__(
        self,
        url: str,
        *,
        client: httpx.Client | httpx2.Client | None = None,
        **options: Unpack[Options],
    ) -> None:
        check_client(client, CLIENTS)
        super().__init__(Library(client), url, options)


class AsyncEventSource(AwaitingEventSource):
    """An asynchronous iterator of the events of a URL that reconnects: `async with`, `async for`.

    Args:
        url: Where the event stream is.
        client: The `AsyncClient` that sends the requests; by default one of its own, which follows
            redirects. Its own read timeout does not count: `idle_timeout` does.
        options: As for `sansio_sse.EventSourceProtocol`: method, headers, body, json,
            last_event_id, reconnect, retry_statuses, backoff, idle_timeout, compression,
            max_event_bytes, utf8, tail, on_request, on_progress.

    Raises:
        LocalProtocolError: An option is none.

    httpx closes a connection when a read is cancelled: it is reestablished then.
    """

    def __init__(
        self,
        url: str,
        *,
        client: httpx.AsyncClient | httpx2.AsyncClient | None = None,
        **options: Unpack[Options],
    ) -> None:
        check_client(client, ASYNC_CLIENTS)
        runtime = ScopeRuntime(anyio.CancelScope, anyio.current_time, anyio.sleep)
        super().__init__(AsyncLibrary(client), runtime, url, options)
