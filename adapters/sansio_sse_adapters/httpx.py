"""Event streams over httpx or httpx2, whose clients are alike: sync, and async on asyncio and trio.

with EventSource("https://example.com/events") as source:
    for event in source:
        print(event.type, event.data)

async with AsyncEventSource("https://example.com/events") as source:
    async for event in source:
        print(event.type, event.data)
"""

from __future__ import annotations

import importlib
import importlib.util
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import anyio

from ._async import AwaitingEventSource, ResponseEvents
from ._scopes import ScopeRuntime
from ._sync import BlockingEventSource, iter_response

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx
    import httpx2
    from typing_extensions import Unpack

    from sansio_sse import Event, EventStreamParser, Request

    from ._options import Options

    Response = httpx.Response | httpx2.Response

__all__ = ["AsyncEventSource", "EventSource", "aiter_events", "iter_events"]

_LIBRARIES: tuple[Any, ...] = tuple(
    importlib.import_module(name)
    for name in ("httpx", "httpx2")
    if importlib.util.find_spec(name) is not None
)
_FAULTS = tuple(
    fault for library in _LIBRARIES for fault in (library.TransportError, library.DecodingError)
)
# Transport errors by class, and mistakes of the caller.
_MISTAKES = tuple(
    mistake
    for library in _LIBRARIES
    for mistake in (library.UnsupportedProtocol, library.LocalProtocolError)
)


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
    return iter_response(_Connection(response), parser, check=check)


def aiter_events(
    response: Response, *, parser: EventStreamParser | None = None, check: bool = True
) -> ResponseEvents:
    """Iterate over the events of a response of an async client, as `iter_events` does.

    Errors come from the iteration. When `__anext__` is cancelled, httpx closes the connection: no
    event is lost that had come before, and the next call raises `LocalProtocolError`. The result
    can be used in an `async with` block, which closes the response: do so on trio if you leave the
    iteration early, for it warns of generators that are not run to their end.
    """
    return ResponseEvents(_AsyncConnection(response), parser, check=check)


class EventSource(BlockingEventSource):
    """An iterator of the events of a URL that reconnects, to be used in a `with` block.

    Args:
        url: Where the event stream is.
        client: The `Client` that sends the requests; by default one of its own, which follows
            redirects. Its own read timeout does not count: `idle_timeout` does.
        options: As for `sansio_sse.EventSourceProtocol`.

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
        super().__init__(_Library(client), url, options)


class AsyncEventSource(AwaitingEventSource):
    """An asynchronous iterator of the events of a URL that reconnects: `async with`, `async for`.

    Args:
        url: Where the event stream is.
        client: The `AsyncClient` that sends the requests; by default one of its own, which follows
            redirects. Its own read timeout does not count: `idle_timeout` does.
        options: As for `sansio_sse.EventSourceProtocol`.

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
        runtime = ScopeRuntime(anyio.CancelScope, anyio.current_time, anyio.sleep)
        super().__init__(_AsyncLibrary(client), runtime, url, options)


def _shut_down(stream: Any) -> None:
    # From another thread: closing would wait for the reader, or not wake it.
    found = None if stream is None else stream.get_extra_info("socket")
    if found is not None:
        with suppress(OSError):
            found.shutdown(socket.SHUT_RDWR)


class _Connection:
    def __init__(self, response: Response) -> None:
        self._response = response
        self._chunks = response.iter_bytes()
        self.status = response.status_code
        self.headers = response.headers.multi_items()

    def read(self, timeout: float | None) -> bytes:
        return next(self._chunks, b"")

    def abort(self) -> None:
        _shut_down(self._response.extensions.get("network_stream"))

    def close(self) -> None:
        self._response.close()


class _AsyncConnection:
    resumable = False

    def __init__(self, response: Response) -> None:
        self._response = response
        self._chunks = response.aiter_bytes()
        self.status = response.status_code
        self.headers = response.headers.multi_items()

    async def read(self) -> bytes:
        return await anext(self._chunks, b"")

    async def close(self) -> None:
        with anyio.CancelScope(shield=True):
            await self._response.aclose()
            # The generators that are nested in httpx end where they read on, and not when they are
            # collected, which trio warns of.
            with suppress(Exception):
                await anext(self._chunks, b"")


def _build(client: Any, request: Request, timeout: float | None) -> Any:
    own = client.timeout
    return client.build_request(
        request.method,
        request.url,
        headers=[(name.encode(), value) for name, value in request.headers],
        content=request.body,
        timeout=type(own)(connect=own.connect, read=timeout, write=own.write, pool=own.pool),
    )


class _Library:
    def __init__(self, client: Any) -> None:
        self._client = _LIBRARIES[0].Client(follow_redirects=True) if client is None else client
        self._owned = client is None
        self._stream: Any = None

    def open(self, request: Request, timeout: float | None) -> _Connection:
        built = _build(self._client, request, timeout)
        built.extensions["trace"] = self._trace
        return _Connection(self._client.send(built, stream=True))

    def _trace(self, event: str, info: dict[str, Any]) -> None:
        if event in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
            self._stream = info["return_value"]

    def is_fault(self, error: Exception) -> bool:
        return isinstance(error, _FAULTS) and not isinstance(error, _MISTAKES)

    def abort(self) -> None:
        _shut_down(self._stream)

    def close(self) -> None:
        if self._owned:
            self._client.close()


class _AsyncLibrary:
    def __init__(self, client: Any) -> None:
        self._client: Any = client
        self._owned = client is None

    async def open(self, request: Request) -> _AsyncConnection:
        if self._client is None:
            self._client = _LIBRARIES[0].AsyncClient(follow_redirects=True)
        built = _build(self._client, request, None)
        return _AsyncConnection(await self._client.send(built, stream=True))

    def is_fault(self, error: Exception) -> bool:
        return isinstance(error, _FAULTS) and not isinstance(error, _MISTAKES)

    async def close(self) -> None:
        if self._owned and self._client is not None:
            await self._client.aclose()
