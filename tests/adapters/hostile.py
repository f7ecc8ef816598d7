"""A hostile HTTP/1.1 server on loopback: it answers each connection just as a test says.

An `Answer` is what one connection plays: a sequence of steps, then an orderly close. Functions
such as `stream` and `cut_in_chunk` build the usual ones.
"""

from __future__ import annotations

import errno
import selectors
import socket
import ssl
import struct
import sys
import threading
import time
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import TracebackType
    from typing import TypeAlias

    from typing_extensions import Self

TIMEOUT = 5.0
"""Seconds that a test waits for what happens at once: passing them is a failure, not a rhythm."""


class Send(NamedTuple):
    """Sends the bytes at once."""

    data: bytes


class SendSlowly(NamedTuple):
    """Sends the bytes, `size` of them a send; Nagle's algorithm is off."""

    data: bytes
    size: int = 1


class Pause(NamedTuple):
    """Sends nothing for so many seconds; ends at once when the client goes."""

    seconds: float


class Silence(NamedTuple):
    """Sends nothing until the client has gone or the server is stopped."""


class Reset(NamedTuple):
    """Closes with RST, which drops what the kernel had not sent: small sends on loopback are out.

    A Unix socket has no RST: there the client sees an end like any other.
    """


Step: TypeAlias = "Send | SendSlowly | Pause | Silence | Reset"


class Answer(NamedTuple):
    """What one connection plays: the steps, then an orderly close unless one of them ended it.

    With `reads_request` false it plays right after accept, without a request, which is then not
    recorded, and without a TLS handshake.
    """

    steps: tuple[Step, ...]
    reads_request: bool = True


class RecordedRequest(NamedTuple):
    """One request as the server read it; the names of the headers are in lower case."""

    method: str
    target: str
    headers: list[tuple[str, bytes]]
    body: bytes

    def header(self, name: str) -> bytes | None:
        """The value of the last header of that name, None when there is none."""
        return dict(self.headers).get(name.lower())


Item: TypeAlias = "Answer | Callable[[RecordedRequest], Answer]"
Framing = Literal["chunked", "length", "close"]
Headers: TypeAlias = "Iterable[tuple[str, str]]"
EVENT_STREAM = "text/event-stream"
LAST_CHUNK = b"0\r\n\r\n"
# By how much a cut falls short of what was announced.
MISSING = 5


def head(status: int = 200, content_type: str | None = None, headers: Headers = ()) -> bytes:
    """A response head. Unless `headers` has a Connection, it says that the server will close."""
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = "Unknown"
    fields = list(headers)
    if content_type is not None:
        fields.insert(0, ("Content-Type", content_type))
    # A client that kept the connection would send its next request into the close.
    if not any(name.lower() == "connection" for name, _ in fields):
        fields.insert(0, ("Connection", "close"))
    lines = [f"HTTP/1.1 {status} {phrase}", *(f"{name}: {value}" for name, value in fields)]
    return "".join(line + "\r\n" for line in [*lines, ""]).encode("latin-1")


def chunk(data: bytes) -> bytes:
    """The bytes as one chunk of the chunked transfer coding."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def stream(
    body: bytes,
    *,
    framing: Framing = "chunked",
    size: int | None = None,
    status: int = 200,
    content_type: str | None = EVENT_STREAM,
    headers: Headers = (),
) -> Answer:
    """A whole response: `size` bytes a chunk and a send, or the body in one piece."""
    return unfinished(
        body,
        *([Send(LAST_CHUNK)] if framing == "chunked" else []),
        framing=framing,
        missing=0,
        size=size,
        status=status,
        content_type=content_type,
        headers=headers,
    )


def unfinished(
    body: bytes,
    *then: Step,
    framing: Framing = "chunked",
    missing: int = MISSING,
    size: int | None = None,
    status: int = 200,
    content_type: str | None = EVENT_STREAM,
    headers: Headers = (),
) -> Answer:
    """A response that sends `body` whole and never its end, then plays `then`.

    Without the last chunk, or with a Content-Length of `missing` bytes more than `body` has. For
    the framing "close", where the end is the close, `then` has to be what keeps it from ending.
    """
    fields = list(headers)
    if framing == "chunked":
        fields.append(("Transfer-Encoding", "chunked"))
    elif framing == "length":
        fields.append(("Content-Length", str(len(body) + missing)))
    steps: list[Step] = [Send(head(status, content_type, fields))]
    if framing == "chunked":
        # An empty chunk would be the last one.
        width = size or max(len(body), 1)
        steps += [Send(chunk(body[at : at + width])) for at in range(0, len(body), width)]
    else:
        steps.append(Send(body) if size is None else SendSlowly(body, size))
    return Answer((*steps, *then))


def cut_in_chunk_header(body: bytes, *, reset: bool = False) -> Answer:
    """`body` as a chunk, then the `5` of `5\\r\\n`, and the end."""
    return unfinished(body, Send(b"%x" % MISSING), *_end(reset=reset))


def cut_in_chunk(body: bytes, *, reset: bool = False) -> Answer:
    """`body` as the first bytes of a chunk that is longer, and the end."""
    started = b"%x\r\n%b" % (len(body) + MISSING, body)
    return unfinished(b"", Send(started), *_end(reset=reset))


def cut_before_last_chunk(body: bytes, *, reset: bool = False) -> Answer:
    """`body` as a chunk, and the end without the last chunk."""
    return unfinished(body, *_end(reset=reset))


def cut_before_length(body: bytes, *, reset: bool = False) -> Answer:
    """`body`, and the end before the Content-Length."""
    return unfinished(body, *_end(reset=reset), framing="length")


def _end(*, reset: bool) -> list[Step]:
    return [Reset()] if reset else []


def stream_then_reset(
    body: bytes, *, framing: Framing = "chunked", size: int | None = None
) -> Answer:
    """A stream that sends `body`, then resets."""
    return unfinished(body, Reset(), framing=framing, size=size)


def stream_then_silence(
    body: bytes, *, framing: Framing = "chunked", size: int | None = None
) -> Answer:
    """A stream that sends `body`, then nothing more, and does not end."""
    return unfinished(body, Silence(), framing=framing, size=size)


def page(status: int, content_type: str | None, body: bytes, headers: Headers = ()) -> Answer:
    """A response with a Content-Length."""
    return stream(body, framing="length", status=status, content_type=content_type, headers=headers)


def redirect(status: int, location: str, headers: Headers = ()) -> Answer:
    """A redirection without a body."""
    return page(status, None, b"", [("Location", location), *headers])


def no_content() -> Answer:
    """A 204, which tells an event source to stop."""
    return Answer((Send(head(204)),))


def silent() -> Answer:
    """Reads the request and sends nothing, not even a response head."""
    return Answer((Silence(),))


def close_at_once() -> Answer:
    """Closes right after accept, without a request.

    The client always sees an orderly end, not the reset that its late request would provoke.
    """
    return Answer((), reads_request=False)


def reset_at_once() -> Answer:
    """Resets right after accept, without a request."""
    return Answer((Reset(),), reads_request=False)


def slowly(answer: Answer, size: int = 1) -> Answer:
    """The same answer with every byte, the head's too, sent `size` at a time."""
    return answer._replace(
        steps=tuple(
            SendSlowly(step.data, size) if isinstance(step, Send) else step for step in answer.steps
        )
    )


class HostileServer:
    """Plays `answers`, one a connection in the order they are accepted; the last one for ever.

    An item may be a function of the request that gives the answer. Each connection serves one
    request.
    """

    def __init__(
        self,
        *answers: Item,
        tls: ssl.SSLContext | None = None,
        unix_socket: str | Path | None = None,
    ) -> None:
        if not answers:
            raise ValueError("a server needs an answer")
        self.requests: list[RecordedRequest] = []
        self.errors: list[Exception] = []
        self.connections = 0
        self.disconnects = 0
        self.port = 0
        self._answers = answers
        self._tls = tls
        self._unix_socket = None if unix_socket is None else Path(unix_socket)
        self._changed = threading.Condition()
        self._threads: list[threading.Thread] = []

    @property
    def url(self) -> str:
        """Without a path; over a Unix socket, which the client must be told of, without a port."""
        if self._unix_socket is not None:
            return "http://localhost" if self._tls is None else "https://localhost"
        if self._tls is not None:
            return f"https://localhost:{self.port}"
        return f"http://127.0.0.1:{self.port}"

    def wait_for_connections(self, n: int, timeout: float = TIMEOUT) -> None:
        """Waits until `n` connections were accepted."""
        self._wait_for(lambda: self.connections, n, "connections", timeout)

    def wait_for_requests(self, n: int, timeout: float = TIMEOUT) -> list[RecordedRequest]:
        """Waits until `n` requests were read; gives all that there are then."""
        self._wait_for(lambda: len(self.requests), n, "requests", timeout)
        return list(self.requests)

    def wait_for_disconnect(self, n: int = 1, timeout: float = TIMEOUT) -> None:
        """Waits until in `n` connections the client has closed its end.

        That counts in the middle of an answer and after the server's orderly close; a connection
        that the server itself reset does not count.
        """
        self._wait_for(lambda: self.disconnects, n, "disconnects", timeout)

    def _wait_for(self, count: Callable[[], int], n: int, what: str, timeout: float) -> None:
        with self._changed:
            if not self._changed.wait_for(lambda: count() >= n, timeout):
                raise TimeoutError(f"{count()} {what} after {timeout} s, expected {n}")

    def __enter__(self) -> Self:
        if self._unix_socket is not None:
            if sys.platform == "win32":
                raise OSError("no Unix sockets here")
            self._listener = socket.socket(socket.AF_UNIX)
            self._listener.bind(str(self._unix_socket))
        else:
            self._listener = socket.socket()
            self._listener.bind(("127.0.0.1", 0))
            self.port = self._listener.getsockname()[1]
        self._listener.listen(128)
        self._listener.setblocking(False)
        # Closing one end makes the other readable for every thread that waits on it.
        self._stop_ours, self._stop_theirs = socket.socketpair()
        self._start(self._accept)
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stop_ours.close()
        # Grows while it is read: until it stops, the thread that accepts, the first, adds to it.
        for thread in self._threads:
            thread.join(TIMEOUT)
        self._listener.close()
        if self._unix_socket is not None:
            self._unix_socket.unlink()
        stuck = [thread.name for thread in self._threads if thread.is_alive()]
        if stuck:
            raise RuntimeError(f"threads that did not stop: {stuck}")
        self._stop_theirs.close()
        if self.errors:
            # Also over an error of the test: the client's failure is most often only its effect.
            raise self.errors[0]

    def _start(self, target: Callable[..., None], *args: object) -> None:
        thread = threading.Thread(target=target, args=args, name="hostile", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        try:
            while True:
                _wait(self._listener, selectors.EVENT_READ, self._stop_theirs)
                # The client may have given up between the two calls.
                with suppress(BlockingIOError, ConnectionError):
                    accepted, _ = self._listener.accept()
                    self._start(self._serve, accepted, self._next_item())
        except _Stopped:
            pass
        except Exception as error:
            self.errors.append(error)

    def _next_item(self) -> Item:
        with self._changed:
            number = self.connections
            self.connections += 1
            self._changed.notify_all()
        return self._answers[min(number, len(self._answers) - 1)]

    def _serve(self, accepted: socket.socket, item: Item) -> None:
        # The errors are noted before the close, so that they are there when the client sees it.
        with accepted:
            try:
                accepted.setblocking(False)
                if self._unix_socket is None:
                    accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if isinstance(item, Answer) and not item.reads_request:
                    _Connection(accepted, self._stop_theirs).play(item.steps)
                elif self._tls is None:
                    self._answer(_Connection(accepted, self._stop_theirs), item)
                else:
                    self._serve_tls(accepted, item, self._tls)
            except _Stopped:
                pass
            except Exception as error:
                if not _is_departure(error):
                    self.errors.append(error)
                    return
                with self._changed:
                    self.disconnects += 1
                    self._changed.notify_all()

    def _serve_tls(self, accepted: socket.socket, item: Item, tls: ssl.SSLContext) -> None:
        with tls.wrap_socket(accepted, server_side=True, do_handshake_on_connect=False) as secure:
            self._answer(_Connection(secure, self._stop_theirs), item)

    def _answer(self, connection: _Connection, item: Item) -> None:
        connection.handshake()
        request = connection.read_request()
        with self._changed:
            self.requests.append(request)
            self._changed.notify_all()
        if isinstance(item, Answer):
            answer = item
        else:
            try:
                answer = item(request)
            except Exception as error:
                # Whatever it is, a ConnectionError too, it is the test's and not the client's.
                self.errors.append(error)
                return
        connection.play(answer.steps)


class _Stopped(Exception):
    """The server is being stopped."""


class _ClientLeft(ConnectionError):
    """The client closed its end."""


def _is_departure(error: Exception) -> bool:
    # A client that does not trust the certificate goes with an SSLError. ENOTCONN is what some
    # calls on the socket of a client that has gone raise in place of ECONNRESET.
    return isinstance(error, (ConnectionError, ssl.SSLError)) or (
        isinstance(error, OSError) and error.errno == errno.ENOTCONN
    )


def _wait(
    sock: socket.socket, events: int, stop: socket.socket, timeout: float | None = None
) -> bool:
    with selectors.DefaultSelector() as selector:
        selector.register(sock, events)
        selector.register(stop, selectors.EVENT_READ)
        ready = selector.select(timeout)
    if any(key.fileobj is stop for key, _ in ready):
        raise _Stopped
    return bool(ready)


class _Connection:
    """One accepted connection: every wait ends when the server is stopped."""

    def __init__(self, sock: socket.socket, stop: socket.socket) -> None:
        self._sock = sock
        self._stop = stop
        self._buffer = bytearray()

    def handshake(self) -> None:
        if isinstance(self._sock, ssl.SSLSocket):
            while True:
                try:
                    self._sock.do_handshake()
                except ssl.SSLWantReadError:
                    _wait(self._sock, selectors.EVENT_READ, self._stop)
                except ssl.SSLWantWriteError:
                    _wait(self._sock, selectors.EVENT_WRITE, self._stop)
                else:
                    return

    def read_request(self) -> RecordedRequest:
        first, *lines = self._read_until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        method, target, version = first.split(" ")
        if version != "HTTP/1.1":
            raise ValueError(f"the client speaks {version}")
        headers: list[tuple[str, bytes]] = []
        for line in lines:
            name, colon, value = line.partition(":")
            if not colon:
                raise ValueError(f"no header: {line!r}")
            headers.append((name.lower(), value.strip(" \t").encode("latin-1")))
        fields = dict(headers)
        if fields.get("transfer-encoding") == b"chunked":
            body = self._read_chunks()
        else:
            body = self._read(int(fields.get("content-length", b"0")))
        return RecordedRequest(method, target, headers, body)

    def play(self, steps: Iterable[Step]) -> None:
        for step in steps:
            if isinstance(step, Send):
                self._send(step.data)
            elif isinstance(step, SendSlowly):
                for at in range(0, len(step.data), step.size):
                    self._send(step.data[at : at + step.size])
            elif isinstance(step, Pause):
                self._drain(time.monotonic() + step.seconds)
            elif isinstance(step, Silence):
                self._drain()
            else:
                self._reset()
                return
        self._finish()

    def _finish(self) -> None:
        """Ends our side and waits for the client's end.

        Closing at once would turn into a reset if the client had sent anything more, and would
        hide whether it ever closes.
        """
        if isinstance(self._sock, ssl.SSLSocket):
            # Not blocking, this sends our close_notify and does not wait for the client's.
            with suppress(OSError, ValueError):
                self._sock.unwrap()
        self._sock.shutdown(socket.SHUT_WR)
        self._drain()

    def _reset(self) -> None:
        linger = struct.pack("hh" if sys.platform == "win32" else "ii", 1, 0)
        self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self._sock.close()

    def _send(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            # Sends that never block have to notice a stop as well.
            _wait(self._sock, selectors.EVENT_WRITE, self._stop)
            with suppress(BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                view = view[self._sock.send(view) :]

    def _receive(self, deadline: float | None = None) -> bytes | None:
        """Bytes of the client, None when there were none up to the deadline."""
        while True:
            events = selectors.EVENT_READ
            try:
                data = self._sock.recv(65536)
            except ssl.SSLWantWriteError:
                events = selectors.EVENT_WRITE
            except (BlockingIOError, ssl.SSLWantReadError):
                pass
            else:
                if not data:
                    raise _ClientLeft
                return data
            timeout = None if deadline is None else max(deadline - time.monotonic(), 0)
            if not _wait(self._sock, events, self._stop, timeout):
                return None

    def _drain(self, deadline: float | None = None) -> None:
        while self._receive(deadline) is not None:
            pass

    def _fill(self) -> None:
        self._buffer += self._receive() or b""

    def _read(self, size: int) -> bytes:
        while len(self._buffer) < size:
            self._fill()
        data = bytes(self._buffer[:size])
        del self._buffer[:size]
        return data

    def _read_until(self, end: bytes) -> bytes:
        while (at := self._buffer.find(end)) < 0:
            self._fill()
        return self._read(at + len(end))[: -len(end)]

    def _read_chunks(self) -> bytes:
        body = b""
        while size := int(self._read_until(b"\r\n").partition(b";")[0], 16):
            body += self._read(size)
            if self._read(2) != b"\r\n":
                raise ValueError("a chunk without its line end")
        while self._read_until(b"\r\n"):
            pass  # Trailers.
        return body
