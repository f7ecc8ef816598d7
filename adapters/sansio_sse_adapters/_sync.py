"""What the adapters of libraries that block have in common: the loop around the state machine."""

from __future__ import annotations

import contextvars
import random
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Protocol

from sansio_sse import (
    MAX_ERROR_BODY_BYTES,
    Connect,
    EventSourceProtocol,
    Receive,
    Stop,
    UnexpectedContentType,
    UnexpectedStatus,
    Wait,
    check_response,
)
from sansio_sse import iter_events as iter_chunks

from ._options import Watchable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from typing_extensions import Self

    from sansio_sse import Event, EventStreamParser, Request

    from ._options import Options

__all__ = ["BlockingEventSource", "Connection", "Library", "iter_response"]


class Connection(Protocol):
    """A response whose body has not been read."""

    @property
    def status(self) -> int:
        """The status code."""
        ...

    @property
    def headers(self) -> Mapping[str, str] | Iterable[tuple[str, str]]:
        """The header fields."""
        ...

    @property
    def times_reads(self) -> bool:
        """Whether `read` keeps to its timeout; else that of the request counts."""
        ...

    def read(self, timeout: float | None) -> bytes:
        """Return the next bytes of the body as soon as there are any; no bytes at its end."""
        ...

    def abort(self) -> None:
        """Make a `read` that another thread is in come back at once."""
        ...

    def close(self) -> None:
        """Give the connection back, or up."""
        ...


class Library(Protocol):
    """What does the I/O."""

    def open(
        self, request: Request, timeout: float | None, is_abandoned: Callable[[], bool]
    ) -> Connection:
        """Send a request and return the response, behind all redirects.

        As soon as it is abandoned nobody waits for it any more.
        """
        ...

    def is_fault(self, error: Exception) -> bool:
        """Return whether an error is one of the transport: another attempt may do better."""
        ...

    def abort(self) -> None:
        """Make an `open` that another thread is in come back soon, as far as that can be done."""
        ...

    def close(self) -> None:
        """Close what the source has made for itself."""
        ...


def iter_response(
    connection: Connection, parser: EventStreamParser | None, *, check: bool
) -> Iterator[Event]:
    """Iterate over the events of a response; its status and type are checked at once."""
    chunks = iter(lambda: connection.read(None), b"")
    if check:
        try:
            check_response(connection.status, connection.headers)
        except (UnexpectedStatus, UnexpectedContentType) as error:
            refusal = error
        else:
            return iter_chunks(chunks, parser)
        body = bytearray()
        for chunk in chunks:
            body += chunk
            if len(body) >= MAX_ERROR_BODY_BYTES:
                break
        raise type(refusal)(refusal.status, refusal.headers, bytes(body[:MAX_ERROR_BODY_BYTES]))
    return iter_chunks(chunks, parser)


class _Opening:
    """An attempt to open a connection, which goes on in a thread of its own."""

    def __init__(self) -> None:
        self.connection: Connection | None = None
        self.error: BaseException | None = None
        self.done = False
        self.abandoned = False


class _Late(Exception):
    """Nothing came in the time of a read."""


def _read_within(connection: Connection, seconds: float) -> bytes:
    """Read from a connection that can't time its reads.

    Raises:
        _Late: Nothing came. The connection has been aborted.
    """
    came_late = False

    def end() -> None:
        nonlocal came_late
        came_late = True
        connection.abort()

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        chunk = connection.read(seconds)
    except Exception:
        if came_late:
            raise _Late from None
        raise
    finally:
        timer.cancel()
    if came_late and not chunk:
        raise _Late
    return chunk


class BlockingEventSource(Watchable):
    """An iterator of events that reconnects; `close` may be called from any thread."""

    def __init__(self, library: Library, url: str, options: Options) -> None:
        super().__init__(EventSourceProtocol(url, random=random.random, **options))
        self._library = library
        self._connection: Connection | None = None
        self._opened_with: float | None = None
        self._events: deque[Event] = deque()
        # One thread at a time iterates, and has the machine and the connection to itself.
        self._turn = threading.Lock()
        # What `close` says to that thread, which may be waiting for it. Guards the two below.
        self._changed = threading.Condition()
        self._closed = False
        self._reading: Connection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Event:
        """Return the next event, as soon as there is one.

        A second thread that calls it waits for its turn.

        Raises:
            StopIteration: The source was closed, or came to its end: the server answered 204, or
                the stream ended and is none to be requested again.
            UnexpectedStatus, UnexpectedContentType: The response is no event stream.
            RemoteProtocolError: The peer passed a limit that was set, or what is said in there.
            Exception: Of the library that does the I/O: the connection was lost and is not to be
                reestablished, or the request could not be made.
        """
        try:
            with self._turn:
                return self._next()
        finally:
            if self._closed:
                self._release()

    def close(self) -> None:
        """Close the source and its connection, from any thread; a thread that iterates stops."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            if self._reading is not None:
                self._reading.abort()
        self._release()

    def _release(self) -> None:
        # Where another thread has the turn, it will come here when it gives it back.
        if self._turn.acquire(blocking=False):
            try:
                self._end()
            finally:
                self._turn.release()

    def _end(self) -> None:
        try:
            self._protocol.close()
        finally:
            self._events.clear()
            self._disconnect()
            self._library.close()

    def _next(self) -> Event:
        while not self._events:
            if self._closed:
                self._protocol.close()
            match self._protocol.next_action(time.monotonic()):
                case Wait(seconds):
                    self._disconnect()
                    with self._changed:
                        self._changed.wait_for(lambda: self._closed, seconds)
                case Stop(error):
                    self._end()
                    if error is not None:
                        raise error
                    raise StopIteration
                case Connect() | Receive() as action:
                    self._transfer(action)
        return self._events.popleft()

    def _transfer(self, action: Connect | Receive) -> None:
        chunk = b""
        try:
            if isinstance(action, Connect):
                self._disconnect()
                self._connection = self._open(action)
            elif self._connection is not None:
                chunk = self._read(self._connection, action.timeout)
        except _Late:
            self._protocol.handle_timeout(time.monotonic())
            return
        except Exception as error:
            if self._closed:
                # Part of the closing.
                return
            if not self._library.is_fault(error):
                self._protocol.fail(error)
                self._disconnect()
                raise
            self._protocol.connection_lost(time.monotonic(), error)
            return
        except BaseException:
            # The thread was interrupted, somewhere: what is left of the connection is not known.
            self._protocol.connection_lost(time.monotonic())
            self._disconnect()
            raise
        # What the hooks of the machine raise is no fault of the transport.
        now, connection = time.monotonic(), self._connection
        if chunk:
            self._events.extend(self._protocol.feed(chunk, now))
        elif self._closed:
            return
        elif isinstance(action, Receive):
            self._events.extend(self._protocol.end_of_body(now))
        elif connection is not None:
            self._protocol.receive_response(
                connection.status, connection.headers, now, utc=time.time()
            )

    def _open(self, action: Connect) -> Connection | None:
        # In a thread, because neither the resolution of a name nor a TLS handshake nor the wait
        # for the head of a response can be interrupted in all libraries, and `close` must not wait.
        opening = _Opening()
        with self._changed:
            if self._closed:
                return None
        self._opened_with = action.timeout
        run = contextvars.copy_context().run
        threading.Thread(target=run, args=(self._work, opening, action), daemon=True).start()
        try:
            with self._changed:
                self._changed.wait_for(lambda: opening.done or self._closed)
        finally:
            with self._changed:
                opening.abandoned = not opening.done
            if opening.abandoned:
                self._library.abort()
        if opening.error is not None:
            raise opening.error
        return opening.connection

    def _work(self, opening: _Opening, action: Connect) -> None:
        connection = error = None
        try:
            connection = self._library.open(
                action.request, action.timeout, lambda: opening.abandoned
            )
        except BaseException as failure:
            error = failure
        with self._changed:
            if not opening.abandoned:
                opening.connection, opening.error, opening.done = connection, error, True
                self._changed.notify_all()
                return
        if connection is not None:
            connection.close()

    def _read(self, connection: Connection, seconds: float | None) -> bytes:
        with self._changed:
            if self._closed:
                return b""
            self._reading = connection
        try:
            # The library's own timeout, which is that of the request, is soon enough for most.
            if (
                seconds is None
                or connection.times_reads
                or (self._opened_with is not None and seconds + 1 >= self._opened_with)
            ):
                return connection.read(seconds)
            return _read_within(connection, seconds)
        finally:
            with self._changed:
                self._reading = None

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
