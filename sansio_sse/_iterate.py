"""From an iterable of chunks to an iterator of events."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from ._parser import EventStreamParser

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator

    from ._events import Event

__all__ = ["aiter_events", "iter_events", "parse"]


def parse(
    data: bytes | bytearray | memoryview, parser: EventStreamParser | None = None
) -> list[Event]:
    """Return the events of a whole event stream.

    Args:
        data: The stream, from its first byte to its last.
        parser: What reads and finishes it; by default a new `EventStreamParser()`. Pass one to
            choose its options, or to ask it afterwards for what is not an event.

    Raises:
        As `EventStreamParser.feed` and `finish`. The events before an error are lost.
    """
    parser = EventStreamParser() if parser is None else parser
    return parser.feed(data) + parser.finish()


def iter_events(
    chunks: Iterable[bytes | bytearray | memoryview], parser: EventStreamParser | None = None
) -> Iterator[Event]:
    """Iterate over the events of a stream, each as soon as its last byte is there.

    Args:
        chunks: The pieces of the stream, in order; their end ends the stream.
        parser: As for `parse`.

    Raises:
        As `EventStreamParser.feed` and `finish`, behind the events that were complete before the
        error. What `chunks` raises comes through.
    """
    parser = EventStreamParser() if parser is None else parser
    for chunk in chunks:
        yield from parser.feed(chunk)
    yield from parser.finish()


def aiter_events(
    chunks: AsyncIterable[bytes | bytearray | memoryview], parser: EventStreamParser | None = None
) -> AsyncIterator[Event]:
    """Iterate over the events of a stream as `iter_events` does, asynchronously.

    A `__anext__` that is cancelled loses no event, and the next one goes on, if the source can: an
    async generator can't, it has ended then. Whoever leaves the iteration early closes the source.

    Args:
        chunks: As for `iter_events`; needs no more than `__aiter__` and `__anext__`.
        parser: As for `parse`.

    Raises:
        As `iter_events`, from `__anext__`.
    """
    return _AsyncEvents(chunks, EventStreamParser() if parser is None else parser)


class _AsyncEvents:
    # Not an async generator: cancelling one ends it for good, and one that is left early needs
    # an event loop to be cleaned up.

    def __init__(
        self, chunks: AsyncIterable[bytes | bytearray | memoryview], parser: EventStreamParser
    ) -> None:
        self._chunks = chunks.__aiter__()
        self._parser = parser
        self._events: deque[Event] = deque()
        self._finished = False

    def __aiter__(self) -> _AsyncEvents:
        return self

    async def __anext__(self) -> Event:
        while not self._events:
            if self._finished:
                raise StopAsyncIteration
            try:
                chunk = await self._chunks.__anext__()
            except StopAsyncIteration:
                self._finished = True
                self._events.extend(self._parser.finish())
            else:
                self._events.extend(self._parser.feed(chunk))
        return self._events.popleft()
