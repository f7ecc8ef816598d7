"""`parse`, `iter_events` and `aiter_events`: over whole streams and iterables of chunks."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from sansio_sse import (
    Event,
    EventStreamParser,
    EventTooLarge,
    aiter_events,
    iter_events,
    parse,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

CHUNKS = [b"id: 1\nda", b"ta: a\n\nda", b"", b"ta: b\n\ndata: c\n\ndata: tail"]
EVENTS = [
    Event("message", "a", "1", "1"),
    Event("message", "b", None, "1"),
    Event("message", "c", None, "1"),
]
TAIL = Event("message", "tail", None, "1")


async def arriving(chunks: list[bytes]) -> AsyncIterator[bytes]:
    for chunk in chunks:
        await asyncio.sleep(0)
        yield chunk


def drained(chunks: list[bytes], parser: EventStreamParser | None = None) -> list[Event]:
    async def drain() -> list[Event]:
        return [event async for event in aiter_events(arriving(chunks), parser)]

    return asyncio.run(drain())


def test_parse_takes_a_whole_stream() -> None:
    assert parse(b"".join(CHUNKS)) == EVENTS
    assert parse(bytearray(b"data: x\n\n")) == [Event(data="x")]
    assert parse(b"") == []


def test_iter_events_takes_chunks() -> None:
    assert list(iter_events(CHUNKS)) == EVENTS
    assert list(iter_events([])) == []


def test_aiter_events_takes_chunks() -> None:
    assert drained(CHUNKS) == EVENTS
    assert drained([]) == []


def test_parser_of_the_caller_brings_options_and_keeps_what_it_saw() -> None:
    parsers = [EventStreamParser(tail="dispatch") for _ in range(3)]
    assert parse(b"".join(CHUNKS), parsers[0]) == [*EVENTS, TAIL]
    assert list(iter_events(CHUNKS, parsers[1])) == [*EVENTS, TAIL]
    assert drained(CHUNKS, parsers[2]) == [*EVENTS, TAIL]
    for parser in parsers:
        assert parser.last_event_id == "1"
        assert parser.pending


@pytest.mark.parametrize("whole", [b"data: x\n\n", bytearray(b"data: x\n\n"), "data: x\n\n"])
def test_whole_bytes_where_chunks_belong_are_a_type_error(whole: Any) -> None:
    with pytest.raises(TypeError, match=r"feed\(\) takes bytes, not (int|str)"):
        list(iter_events(whole))


def test_events_come_before_the_next_chunk_is_asked_for() -> None:
    asked: list[int] = []

    def chunks() -> Iterator[bytes]:
        for number, chunk in enumerate(CHUNKS):
            asked.append(number)
            yield chunk

    events = iter_events(chunks())
    assert next(events) == EVENTS[0]
    assert asked == [0, 1]


def test_events_before_an_error_come_first() -> None:
    chunks = [b"data: a\n\ndata: " + b"x" * 50, b"\n\n"]
    events = iter_events(chunks, EventStreamParser(max_event_bytes=20))
    assert next(events) == Event(data="a")
    with pytest.raises(EventTooLarge):
        next(events)

    async def receive() -> None:
        events = aiter_events(arriving(chunks), EventStreamParser(max_event_bytes=20))
        assert await anext(events) == Event(data="a")
        with pytest.raises(EventTooLarge):
            await anext(events)

    asyncio.run(receive())


def test_error_at_the_very_end_is_raised() -> None:
    chunks = [b"data: a\n\ndata: " + b"x" * 50]
    with pytest.raises(EventTooLarge):
        list(iter_events(chunks, EventStreamParser(max_event_bytes=20)))
    with pytest.raises(EventTooLarge):
        parse(chunks[0], EventStreamParser(max_event_bytes=20))
    with pytest.raises(EventTooLarge):
        drained(chunks, EventStreamParser(max_event_bytes=20))


def test_cancelled_anext_loses_no_event() -> None:
    class Chunks:
        """A transport whose read can be cancelled and called again."""

        def __init__(self) -> None:
            self.queue: asyncio.Queue[bytes | None] = asyncio.Queue()

        def __aiter__(self) -> Chunks:
            return self

        async def __anext__(self) -> bytes:
            chunk = await self.queue.get()
            if chunk is None:
                raise StopAsyncIteration
            return chunk

    async def receive() -> list[Event]:
        chunks = Chunks()
        events = aiter_events(chunks)
        assert aiter(events) is events
        chunks.queue.put_nowait(b"data: a\n\ndata: b\n\ndata: ")
        received = [await anext(events)]
        received.append(await anext(events))
        waiting = asyncio.ensure_future(anext(events))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        chunks.queue.put_nowait(b"c\n\n")
        received.append(await anext(events))
        chunks.queue.put_nowait(None)
        for _ in range(2):
            with pytest.raises(StopAsyncIteration):
                await anext(events)
        return received

    assert asyncio.run(receive()) == [Event(data="a"), Event(data="b"), Event(data="c")]
