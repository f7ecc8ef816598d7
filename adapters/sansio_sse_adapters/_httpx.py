"""How responses of httpx and httpx2 are opened, read and closed: sync, and async."""

from __future__ import annotations

import importlib
import importlib.util
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import anyio

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import httpx
    import httpx2

    from sansio_sse import Request

    Response = httpx.Response | httpx2.Response

__all__ = ["ASYNC_CLIENTS", "CLIENTS", "AsyncConnection", "AsyncLibrary", "Connection", "Library"]

_LIBRARIES: tuple[Any, ...] = tuple(
    importlib.import_module(name)
    for name in ("httpx", "httpx2")
    if importlib.util.find_spec(name) is not None
)
CLIENTS = tuple(library.Client for library in _LIBRARIES)
ASYNC_CLIENTS = tuple(library.AsyncClient for library in _LIBRARIES)
_FAULTS = tuple(
    fault for library in _LIBRARIES for fault in (library.TransportError, library.DecodingError)
)
# httpx lets errors of HTTP/2 through as they are, or as mistakes.
_PEER_BROKE_HTTP2: tuple[Any, ...] = (
    ()
    if importlib.util.find_spec("h2") is None
    else (importlib.import_module("h2.exceptions").ProtocolError,)
)
# Transport errors by class, and mistakes of the caller.
_MISTAKES = tuple(
    mistake
    for library in _LIBRARIES
    for mistake in (library.UnsupportedProtocol, library.LocalProtocolError)
)


def is_fault(error: Exception) -> bool:
    """Return whether an error is one of the transport."""
    if isinstance(error, _PEER_BROKE_HTTP2):
        return True
    if isinstance(error, _MISTAKES):
        # Of the peer, where h2 says it.
        return any(isinstance(reason, _PEER_BROKE_HTTP2) for reason in _reasons(error))
    return isinstance(error, _FAULTS)


def _reasons(error: BaseException) -> Iterator[BaseException]:
    reason = error.__cause__ or error.__context__
    while reason is not None:
        yield reason
        reason = reason.__cause__ or reason.__context__


def _shut_down(found: socket.socket | None) -> None:
    # From another thread: closing would wait for the reader, or not wake it.
    if found is not None:
        with suppress(OSError):
            found.shutdown(socket.SHUT_RDWR)


class Connection:
    times_reads = False

    def __init__(self, response: Response) -> None:
        self._response = response
        self._chunks = response.iter_bytes()
        self.status = response.status_code
        self.headers = response.headers.multi_items()

    def read(self, timeout: float | None) -> bytes:
        return next(self._chunks, b"")

    def abort(self) -> None:
        stream = self._response.extensions.get("network_stream")
        _shut_down(None if stream is None else stream.get_extra_info("socket"))

    def close(self) -> None:
        self._response.close()


class AsyncConnection:
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
        # collected, which trio warns of. What they would wait for is cancelled: over HTTP/2, the
        # connection is still there.
        with anyio.CancelScope(shield=True) as gone, suppress(Exception):
            gone.cancel()
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


class Library:
    def __init__(self, client: Any) -> None:
        self._client = _LIBRARIES[0].Client(follow_redirects=True) if client is None else client
        self._owned = client is None
        # Another name for the socket of a connection that is being made: under TLS it gets one of
        # its own.
        self._socket: socket.socket | None = None

    def open(
        self, request: Request, timeout: float | None, is_abandoned: Callable[[], bool]
    ) -> Connection:
        def trace(event: str, info: dict[str, Any]) -> None:
            if event == "connection.connect_tcp.complete":
                found = info["return_value"].get_extra_info("socket")
                self._watch(None if found is None else found.dup())
                if is_abandoned():
                    self.abort()

        built = _build(self._client, request, timeout)
        built.extensions["trace"] = trace
        try:
            return Connection(self._client.send(built, stream=True))
        finally:
            self._watch(None)

    def _watch(self, made: socket.socket | None) -> None:
        before, self._socket = self._socket, made
        if before is not None:
            before.close()

    def is_fault(self, error: Exception) -> bool:
        return is_fault(error)

    def abort(self) -> None:
        _shut_down(self._socket)

    def close(self) -> None:
        if self._owned:
            self._client.close()


class AsyncLibrary:
    def __init__(self, client: Any) -> None:
        self._client: Any = client
        self._owned = client is None

    async def open(self, request: Request) -> AsyncConnection:
        if self._client is None:
            self._client = _LIBRARIES[0].AsyncClient(follow_redirects=True)
        built = _build(self._client, request, None)
        return AsyncConnection(await self._client.send(built, stream=True))

    def is_fault(self, error: Exception) -> bool:
        return is_fault(error)

    async def close(self) -> None:
        if self._owned and self._client is not None:
            await self._client.aclose()
