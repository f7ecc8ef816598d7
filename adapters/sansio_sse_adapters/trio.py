"""Event streams over trio: a `ReceiveStream`, or a URL over h11.

    async with EventSource("https://example.com/events") as source:
        async for event in source:
            print(event.type, event.data)

It reconnects; `aiter_events` is for one response that you have already.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio

from sansio_sse import aiter_events as aiter_chunks

from ._async import AwaitingEventSource
from ._h11 import Http1Connection, is_fault, open_connection
from ._http1 import Route
from ._scopes import ScopeRuntime

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator

    from typing_extensions import Unpack

    from sansio_sse import Event, EventStreamParser, Request

    from ._http1 import Target
    from ._options import Options

__all__ = ["EventSource", "aiter_events"]

_CHUNK_BYTES = 65536


def aiter_events(
    response: trio.abc.ReceiveStream, *, parser: EventStreamParser | None = None
) -> AsyncIterator[Event]:
    """Iterate over the events of a stream, each as soon as it has come.

    When `__anext__` is cancelled no event is lost, and the next call goes on.

    Args:
        response: What delivers nothing but an event stream. Closing it is up to the caller.
        parser: What reads it; by default a new `sansio_sse.EventStreamParser()`.

    Raises:
        RemoteProtocolError: Of the parser.
        trio.BrokenResourceError, trio.ClosedResourceError: Of the transport.
    """
    return aiter_chunks(response, parser)


class EventSource(AwaitingEventSource):
    """An asynchronous iterator of the events of a URL that reconnects: `async with`, `async for`.

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
    """

    def __init__(
        self,
        url: str,
        *,
        ssl_context: ssl.SSLContext | None = None,
        unix_socket: str | None = None,
        **options: Unpack[Options],
    ) -> None:
        runtime = ScopeRuntime(trio.CancelScope, trio.current_time, trio.sleep)
        super().__init__(_Library(Route(ssl_context, unix_socket)), runtime, url, options)


class _Stream:
    def __init__(self, stream: trio.abc.Stream) -> None:
        self._stream = stream

    async def send(self, data: bytes) -> None:
        try:
            await self._stream.send_all(data)
        except trio.BrokenResourceError as error:
            raise ConnectionResetError(*error.args) from error

    async def receive(self) -> bytes:
        return bytes(await self._stream.receive_some(_CHUNK_BYTES))

    async def close(self) -> None:
        await trio.aclose_forcefully(self._stream)


class _Library:
    def __init__(self, route: Route) -> None:
        self._route = route

    async def open(self, request: Request) -> Http1Connection:
        return await open_connection(request, self._connect)

    async def _connect(self, target: Target) -> _Stream:
        stream: trio.abc.Stream
        if self._route.unix_socket is None:
            stream = await trio.open_tcp_stream(target.host, target.port)
        else:
            stream = await trio.open_unix_socket(self._route.unix_socket)
        if target.secure:
            context = self._route.ssl_context()
            # Many servers close without saying so in TLS: HTTP says itself where a body ends.
            secure = trio.SSLStream(
                stream, context, server_hostname=target.host, https_compatible=True
            )
            try:
                await secure.do_handshake()
            except BaseException:
                await trio.aclose_forcefully(stream)
                raise
            stream = secure
        return _Stream(stream)

    def is_fault(self, error: Exception) -> bool:
        return is_fault(error) or isinstance(error, trio.BrokenResourceError)

    async def close(self) -> None:
        pass
