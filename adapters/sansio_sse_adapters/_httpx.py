"""How responses of httpx and httpx2 are opened, read and closed: sync, and async."""

from __future__ import annotations

import importlib
import importlib.util
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import anyio

if TYPE_CHECKING:
    import httpx
    import httpx2

    from sansio_sse import Request

    Response = httpx.Response | httpx2.Response

__all__ = ["AsyncConnection", "AsyncLibrary", "Connection", "Library"]

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


def _shut_down(stream: Any) -> None:
    # From another thread: closing would wait for the reader, or not wake it.
    found = None if stream is None else stream.get_extra_info("socket")
    if found is not None:
        with suppress(OSError):
            found.shutdown(socket.SHUT_RDWR)


class Connection:
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


class Library:
    def __init__(self, client: Any) -> None:
        self._client = _LIBRARIES[0].Client(follow_redirects=True) if client is None else client
        self._owned = client is None
        self._stream: Any = None

    def open(self, request: Request, timeout: float | None) -> Connection:
        built = _build(self._client, request, timeout)
        built.extensions["trace"] = self._trace
        return Connection(self._client.send(built, stream=True))

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
        return isinstance(error, _FAULTS) and not isinstance(error, _MISTAKES)

    async def close(self) -> None:
        if self._owned and self._client is not None:
            await self._client.aclose()
