"""How responses of http.client are opened, read and closed, over sockets of our own."""

from __future__ import annotations

import http.client
import io
import socket
import zlib
from contextlib import suppress
from typing import TYPE_CHECKING

from ._http1 import MAX_REDIRECTS, Decoder, Target, prepare, redirect

if TYPE_CHECKING:
    from collections.abc import Callable

    from sansio_sse import Request

    from ._http1 import Route

__all__ = ["CHUNK_BYTES", "Connection", "Library"]

CHUNK_BYTES = 65536
"""How much is read at once, at most."""


class Connection:
    times_reads = True

    def __init__(
        self, response: http.client.HTTPResponse, sock: socket.socket | None = None
    ) -> None:
        self._response = response
        self._socket = sock
        self.status = response.status
        self.headers = response.getheaders()
        # Why something is refused can be read as it is.
        coding = response.getheader("Content-Encoding", "") if response.status == 200 else ""
        self._decoder = Decoder(coding)

    def read(self, timeout: float | None) -> bytes:
        if self._socket is not None:
            self._socket.settimeout(timeout)
        while True:
            if self._decoder.has_more:
                data = self._decoder.decode(b"")
            else:
                raw = self._response.read1(CHUNK_BYTES)
                if not raw and self._response.length:
                    raise http.client.IncompleteRead(b"", self._response.length)
                if not raw:
                    return b""
                data = self._decoder.decode(raw)
            if data:
                return data

    def abort(self) -> None:
        _shut_down(self._socket)

    def close(self) -> None:
        self._response.close()
        if self._socket is not None:
            self._socket.close()


class _WholeHead(http.client.HTTPResponse):
    """A response whose head came to its end: http.client takes what there is for all of it."""

    def begin(self) -> None:
        lines = self.fp = _Lines(self.fp.detach())
        super().begin()
        while lines.last and 100 < self.status < 200:
            # "A client MUST be able to parse one or more 1xx responses received prior to a final
            # response"; http.client passes 100 by, and no other.
            setattr(self, "headers", None)  # noqa: B010 (it is None before a head was read)
            super().begin()
        if not lines.last:
            raise http.client.IncompleteRead(b"")


class _Lines(io.BufferedReader):
    last = b""

    def readline(self, size: int | None = -1, /) -> bytes:
        self.last = super().readline(size)
        return self.last


def _shut_down(sock: socket.socket | None) -> None:
    if sock is not None:
        with suppress(OSError):
            sock.shutdown(socket.SHUT_RDWR)


class Library:
    def __init__(self, route: Route) -> None:
        self._route = route
        self._socket: socket.socket | None = None

    def open(
        self, request: Request, timeout: float | None, is_abandoned: Callable[[], bool]
    ) -> Connection:
        for hops in range(MAX_REDIRECTS + 1):
            target, prepared = prepare(request)
            sock = self._connect(target, timeout)
            if is_abandoned():
                sock.close()
                raise ConnectionAbortedError("nobody waits for the connection any more")
            try:
                response = self._exchange(target, prepared, sock)
                followed = redirect(request, response.status, response.getheader("Location"))
                if followed is None or hops == MAX_REDIRECTS:
                    return Connection(response, sock)
            except BaseException:
                sock.close()
                raise
            response.close()
            sock.close()
            request = followed
        raise AssertionError("the last hop returns")

    def _connect(self, target: Target, timeout: float | None) -> socket.socket:
        if self._route.unix_socket is None:
            sock = socket.create_connection((target.host, target.port), timeout)
        else:
            sock = socket.socket(socket.AF_UNIX)
            sock.settimeout(timeout)
        self._socket = sock
        try:
            if self._route.unix_socket is not None:
                sock.connect(self._route.unix_socket)
            if target.secure:
                context = self._route.ssl_context()
                sock = self._socket = context.wrap_socket(
                    sock, server_hostname=target.host, do_handshake_on_connect=False
                )
                sock.do_handshake()
        except BaseException:
            sock.close()
            raise
        return sock

    def _exchange(
        self, target: Target, request: Request, sock: socket.socket
    ) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection(target.host, target.port)
        connection.sock = sock
        connection.response_class = _WholeHead
        connection.putrequest(
            request.method, target.path, skip_host=True, skip_accept_encoding=True
        )
        for name, value in request.headers:
            connection.putheader(name, value)
        # A server that does not want the body answers before it has come, and closes.
        with suppress(BrokenPipeError, ConnectionResetError):
            connection.endheaders(request.body)
        return connection.getresponse()

    def is_fault(self, error: Exception) -> bool:
        return isinstance(
            error, (OSError, http.client.HTTPException, zlib.error)
        ) and not isinstance(error, http.client.InvalidURL)

    def abort(self) -> None:
        _shut_down(self._socket)

    def close(self) -> None:
        pass
