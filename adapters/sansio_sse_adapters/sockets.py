"""Event streams over sockets: a connected one, or a URL over http.client.

with EventSource("https://example.com/events") as source:
    for event in source:
        print(event.type, event.data)
"""

from __future__ import annotations

import http.client
import io
import socket
import ssl
import zlib
from contextlib import suppress
from typing import TYPE_CHECKING

from sansio_sse import iter_events as iter_chunks

from ._http1 import MAX_REDIRECTS, Decoder, Target, prepare, redirect
from ._sync import BlockingEventSource, iter_response

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typing_extensions import Unpack

    from sansio_sse import Event, EventStreamParser, Request

    from ._options import Options

__all__ = ["EventSource", "iter_events"]

_CHUNK_BYTES = 65536


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
        return iter_chunks(iter(lambda: response.recv(_CHUNK_BYTES), b""), parser)
    return iter_response(_Connection(response), parser, check=check)


class EventSource(BlockingEventSource):
    """An iterator of the events of a URL that reconnects, to be used in a `with` block.

    It follows redirects, and undoes the codings gzip and deflate. It knows no proxies.

    Args:
        url: Where the event stream is.
        ssl_context: For https; by default `ssl.create_default_context()`.
        unix_socket: The path of a Unix socket to connect to, in place of the host of the URL.
        options: As for `sansio_sse.EventSourceProtocol`.

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
        super().__init__(_Library(ssl_context, unix_socket), url, options)


class _Connection:
    def __init__(
        self, response: http.client.HTTPResponse, sock: socket.socket | None = None
    ) -> None:
        self._response = response
        self._socket = sock
        self.status = response.status
        self.headers = response.getheaders()
        self._decoder = Decoder(response.getheader("Content-Encoding", ""))

    def read(self, timeout: float | None) -> bytes:
        if self._socket is not None:
            self._socket.settimeout(timeout)
        while True:
            if self._decoder.has_more:
                data = self._decoder.decode(b"")
            else:
                raw = self._response.read1(_CHUNK_BYTES)
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


class _Library:
    def __init__(self, ssl_context: ssl.SSLContext | None, unix_socket: str | None) -> None:
        self._ssl_context = ssl_context
        self._unix_socket = unix_socket
        self._socket: socket.socket | None = None

    def open(self, request: Request, timeout: float | None) -> _Connection:
        for hops in range(MAX_REDIRECTS + 1):
            target, prepared = prepare(request)
            sock = self._connect(target, timeout)
            try:
                response = self._exchange(target, prepared, sock)
                followed = redirect(request, response.status, response.getheader("Location"))
                if followed is None or hops == MAX_REDIRECTS:
                    return _Connection(response, sock)
            except BaseException:
                sock.close()
                raise
            response.close()
            sock.close()
            request = followed
        raise AssertionError("the last hop returns")

    def _connect(self, target: Target, timeout: float | None) -> socket.socket:
        if self._unix_socket is None:
            sock = socket.create_connection((target.host, target.port), timeout)
        else:
            sock = socket.socket(socket.AF_UNIX)
            sock.settimeout(timeout)
        self._socket = sock
        try:
            if self._unix_socket is not None:
                sock.connect(self._unix_socket)
            if target.secure:
                context = self._ssl_context or ssl.create_default_context()
                sock = self._socket = context.wrap_socket(sock, server_hostname=target.host)
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
