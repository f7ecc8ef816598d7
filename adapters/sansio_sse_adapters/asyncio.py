"""Event streams over asyncio: a `StreamReader`, or a URL over h11.

    async with EventSource("https://example.com/events") as source:
        async for event in source:
            print(event.type, event.data)

It reconnects; `aiter_events` is for one response that you have already.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from sansio_sse import aiter_events as aiter_chunks

from ._async import AwaitingEventSource
from ._asyncio_runtime import asyncio_runtime
from ._h11 import Http1Connection, is_fault, open_connection
from ._http1 import Route

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator

    from typing_extensions import Self, Unpack

    from sansio_sse import Event, EventStreamParser, Request

    from ._http1 import Target
    from ._options import Options

__all__ = ["EventSource", "aiter_events"]

_CHUNK_BYTES = 65536


def aiter_events(
    response: asyncio.StreamReader, *, parser: EventStreamParser | None = None
) -> AsyncIterator[Event]:
    """Iterate over the events of a stream, each as soon as it has come.

    When `__anext__` is cancelled no event is lost, and the next call goes on.

    Args:
        response: What delivers nothing but an event stream. Closing its writer is up to the caller.
        parser: What reads it; by default a new `sansio_sse.EventStreamParser()`.

    Raises:
        RemoteProtocolError: Of the parser.
        OSError: Of the transport.
    """
    return aiter_chunks(_Chunks(response), parser)


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
        library = _Library(Route(ssl_context, unix_socket))
        super().__init__(library, asyncio_runtime(), url, options)


class _Chunks:
    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        data = await self._reader.read(_CHUNK_BYTES)
        if not data:
            raise StopAsyncIteration
        return data


class _Stream:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def receive(self) -> bytes:
        return await self._reader.read(_CHUNK_BYTES)

    async def close(self) -> None:
        # Not `close`, which would wait for the peer to end TLS.
        self._writer.transport.abort()
        with suppress(OSError):
            await self._writer.wait_closed()


class _Library:
    def __init__(self, route: Route) -> None:
        self._route = route

    async def open(self, request: Request) -> Http1Connection:
        return await open_connection(request, self._connect)

    async def _connect(self, target: Target) -> _Stream:
        context = self._route.ssl_context() if target.secure else None
        name = target.host if target.secure else None
        if self._route.unix_socket is None:
            opening = asyncio.open_connection(
                target.host, target.port, ssl=context, server_hostname=name
            )
        else:
            opening = asyncio.open_unix_connection(
                self._route.unix_socket, ssl=context, server_hostname=name
            )
        return _Stream(*await opening)

    def is_fault(self, error: Exception) -> bool:
        return is_fault(error)

    async def close(self) -> None:
        pass
