"""What the adapters of libraries that don't block have in common: the loop, and one response."""

from __future__ import annotations

import random
import time
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar

from sansio_sse import (
    MAX_ERROR_BODY_BYTES,
    Connect,
    EventSourceProtocol,
    LocalProtocolError,
    Receive,
    Stop,
    UnexpectedContentType,
    UnexpectedStatus,
    Wait,
    aiter_events,
    check_response,
)

from ._options import Watchable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping

    from typing_extensions import Self

    from sansio_sse import Event, EventStreamParser, Request

    from ._options import Options

__all__ = ["AwaitingEventSource", "Connection", "Elapsed", "Library", "ResponseEvents", "Runtime"]

_T = TypeVar("_T")


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
    def resumable(self) -> bool:
        """Whether a `read` that was cancelled has lost nothing, and can be repeated."""
        ...

    async def read(self) -> bytes:
        """Return the next bytes of the body as soon as there are any; no bytes at its end."""
        ...

    async def close(self) -> None:
        """Give the connection back, or up."""
        ...


class Library(Protocol):
    """What does the I/O."""

    async def open(self, request: Request) -> Connection:
        """Send a request and return the response, behind all redirects."""
        ...

    def is_fault(self, error: Exception) -> bool:
        """Return whether an error is one of the transport: another attempt may do better."""
        ...

    async def close(self) -> None:
        """Close what the source has made for itself."""
        ...


class Elapsed(Exception):
    """The time of an operation has elapsed, or it was interrupted."""


class Runtime(Protocol):
    """What runs the tasks."""

    def now(self) -> float:
        """Return the time in seconds."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Let time pass."""
        ...

    async def run(self, operation: Callable[[], Awaitable[_T]], seconds: float | None) -> _T:
        """Run an operation for so long at most.

        Raises:
            Elapsed: It took longer, or `interrupt` was called. It has been cancelled.
        """
        ...

    def interrupt(self) -> None:
        """End the operation that another task runs."""
        ...


class ResponseEvents:
    """The events of one response, which is checked before its first one.

    An asynchronous iterator; `async with` closes the response behind it.
    """

    def __init__(
        self, connection: Connection, parser: EventStreamParser | None, *, check: bool
    ) -> None:
        self._connection = connection
        self._events = aiter_events(_Chunks(connection, check=check), parser)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        """Return the next event, as soon as there is one."""
        return await self._events.__anext__()

    async def aclose(self) -> None:
        """Close the response."""
        await self._connection.close()


class _Chunks:
    def __init__(self, connection: Connection, *, check: bool) -> None:
        self._connection = connection
        self._unchecked = check
        self._broken = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        if self._broken:
            raise LocalProtocolError("the response can't be read on: its last read was cancelled")
        try:
            if self._unchecked:
                await self._check()
            chunk = await self._connection.read()
        except Exception:
            raise
        except BaseException:
            self._broken = not self._connection.resumable
            raise
        if not chunk:
            raise StopAsyncIteration
        return chunk

    async def _check(self) -> None:
        connection = self._connection
        try:
            check_response(connection.status, connection.headers)
        except (UnexpectedStatus, UnexpectedContentType) as error:
            refusal = error
        else:
            self._unchecked = False
            return
        body = bytearray()
        while len(body) < MAX_ERROR_BODY_BYTES and (chunk := await connection.read()):
            body += chunk
        await connection.close()
        raise type(refusal)(refusal.status, refusal.headers, bytes(body[:MAX_ERROR_BODY_BYTES]))


class AwaitingEventSource(Watchable):
    """An asynchronous iterator of events that reconnects."""

    def __init__(self, library: Library, runtime: Runtime, url: str, options: Options) -> None:
        super().__init__(EventSourceProtocol(url, random=random.random, **options))
        self._library = library
        self._runtime = runtime
        self._connection: Connection | None = None
        self._events: deque[Event] = deque()
        self._running = False
        self._closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        """Return the next event, as soon as there is one.

        When it is cancelled no event is lost, and the next call goes on.

        Raises:
            StopAsyncIteration: The source was closed, or came to its end: the server answered 204,
                or the stream ended and is none to be requested again.
            UnexpectedStatus, UnexpectedContentType: The response is no event stream.
            RemoteProtocolError: The peer passed a limit that was set, or what is said in there.
            LocalProtocolError: Another task is in here.
            Exception: Of the library that does the I/O: the connection was lost and is not to be
                reestablished, or the request could not be made.
        """
        if self._running:
            raise LocalProtocolError("another task waits for the next event of this source")
        self._running = True
        try:
            return await self._next()
        finally:
            self._running = False
            if self._closed:
                await self._end()

    async def aclose(self) -> None:
        """Close the source and its connection; a task that waits for an event stops."""
        self._closed = True
        if self._running:
            self._runtime.interrupt()
        else:
            await self._end()

    async def _end(self) -> None:
        try:
            self._protocol.close()
        finally:
            self._events.clear()
            await self._disconnect()
            await self._library.close()

    async def _next(self) -> Event:
        while not self._events:
            if self._closed:
                self._protocol.close()
            match self._protocol.next_action(self._runtime.now()):
                case Wait(seconds):
                    await self._disconnect()
                    await self._sleep(seconds)
                case Stop(error):
                    await self._end()
                    if error is not None:
                        raise error
                    raise StopAsyncIteration
                case Connect() | Receive() as action:
                    await self._transfer(action)
        return self._events.popleft()

    async def _sleep(self, seconds: float) -> None:
        if self._closed:
            # While the connection was closed.
            return
        try:
            await self._runtime.run(partial(self._runtime.sleep, seconds), None)
        except Elapsed:
            # Closed: the loop will see.
            return

    async def _transfer(self, action: Connect | Receive) -> None:
        chunk = b""
        try:
            if isinstance(action, Connect):
                await self._disconnect()
                opening = partial(self._library.open, action.request)
                self._connection = await self._runtime.run(opening, action.timeout)
            elif self._connection is not None:
                chunk = await self._runtime.run(self._connection.read, action.timeout)
        except Elapsed:
            if not self._closed:
                self._protocol.handle_timeout(self._runtime.now())
            return
        except Exception as error:
            if not self._library.is_fault(error):
                self._protocol.fail(error)
                await self._disconnect()
                raise
            self._protocol.connection_lost(self._runtime.now(), error)
            return
        except BaseException:
            # The task was cancelled.
            if self._connection is None or not self._connection.resumable:
                self._protocol.connection_lost(self._runtime.now())
                await self._disconnect()
            raise
        # What the hooks of the machine raise is no fault of the transport.
        now, connection = self._runtime.now(), self._connection
        if chunk:
            self._events.extend(self._protocol.feed(chunk, now))
        elif isinstance(action, Receive):
            self._events.extend(self._protocol.end_of_body(now))
        elif connection is not None:
            self._protocol.receive_response(
                connection.status, connection.headers, now, utc=time.time()
            )

    async def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()
