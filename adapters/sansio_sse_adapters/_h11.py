"""Requests over h11, for the adapters of asyncio and of trio."""

from __future__ import annotations

import zlib
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

import h11

from ._http1 import MAX_REDIRECTS, Decoder, Target, prepare, redirect

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from sansio_sse import Request

__all__ = ["Http1Connection", "Stream", "is_fault", "open_connection"]


class Stream(Protocol):
    """A connected stream of bytes."""

    async def send(self, data: bytes) -> None:
        """Send all of it."""
        ...

    async def receive(self) -> bytes:
        """Return what comes next; no bytes at the end. Can be cancelled, and called again."""
        ...

    async def close(self) -> None:
        """Close it at once."""
        ...


class Http1Connection:
    """A response; see `_async.Connection`."""

    resumable = True

    def __init__(self, stream: Stream, connection: h11.Connection, response: h11.Response) -> None:
        self._stream = stream
        self._connection = connection
        self.status = response.status_code
        self.headers = [
            (name.decode(), value.decode("latin-1")) for name, value in response.headers
        ]
        codings = [value for name, value in self.headers if name == "content-encoding"]
        # Why something is refused can be read as it is.
        self._decoder = Decoder(", ".join(codings) if self.status == 200 else "")

    async def read(self) -> bytes:
        """Return the next bytes of the body."""
        while True:
            if self._decoder.has_more:
                data = self._decoder.decode(b"")
            else:
                event = await _next_event(self._connection, self._stream)
                if not isinstance(event, h11.Data):
                    return b""
                data = self._decoder.decode(bytes(event.data))
            if data:
                return data

    async def close(self) -> None:
        """Close the connection: it is not used again."""
        await self._stream.close()


async def open_connection(
    request: Request, connect: Callable[[Target], Awaitable[Stream]]
) -> Http1Connection:
    """Send a request, follow redirects, and return the response.

    Args:
        request: What to send.
        connect: Connects a stream.

    Raises:
        LocalProtocolError: The URL is none of http or https.
        h11.RemoteProtocolError: The response is none of HTTP/1.1.
    """
    for hops in range(MAX_REDIRECTS + 1):
        target, prepared = prepare(request)
        stream = await connect(target)
        try:
            connection = await _exchange(target, prepared, stream)
            locations = [value for name, value in connection.headers if name == "location"]
            followed = redirect(request, connection.status, locations[0] if locations else None)
            if followed is None or hops == MAX_REDIRECTS:
                return connection
        except BaseException:
            await stream.close()
            raise
        await connection.close()
        request = followed
    raise AssertionError("the last hop returns")


async def _exchange(target: Target, request: Request, stream: Stream) -> Http1Connection:
    connection = h11.Connection(h11.CLIENT)
    headers = [(name.encode(), value) for name, value in request.headers]
    head = h11.Request(method=request.method, target=target.path, headers=headers)
    parts = [connection.send(head)]
    if request.body:
        parts.append(connection.send(h11.Data(data=request.body)))
    parts.append(connection.send(h11.EndOfMessage()))
    # A server that does not want the body answers before it has come, and closes.
    with suppress(OSError):
        await stream.send(b"".join(part for part in parts if part))
    while True:
        event = await _next_event(connection, stream)
        if isinstance(event, h11.Response):
            return Http1Connection(stream, connection, event)
        if not isinstance(event, h11.InformationalResponse):
            raise h11.RemoteProtocolError("the connection ended before a response")


async def _next_event(connection: h11.Connection, stream: Stream) -> h11.Event:
    while True:
        event = connection.next_event()
        if isinstance(event, h11.Event):
            return event
        if event is h11.PAUSED:
            return h11.ConnectionClosed()
        connection.receive_data(await stream.receive())


def is_fault(error: Exception) -> bool:
    """Return whether an error is one of the transport, or of what came over it."""
    return isinstance(error, (OSError, EOFError, h11.RemoteProtocolError, zlib.error))
