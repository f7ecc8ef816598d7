"""`max_event_bytes`: what counts, what does not, and what is left after it was passed."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from sansio_sse import (
    DEFAULT_MAX_EVENT_BYTES,
    Comment,
    Event,
    EventStreamParser,
    EventTooLarge,
)
from sansio_sse.testing import chunkings

from .memory import traced_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

LIMIT = 100


def feed_all(chunks: Iterable[bytes], parser: EventStreamParser) -> list[Event]:
    events: list[Event] = []
    for chunk in chunks:
        events += parser.feed(chunk)
    return events + parser.finish()


def test_default_limit_is_64_mib() -> None:
    assert DEFAULT_MAX_EVENT_BYTES == 64 * 1024 * 1024


@pytest.mark.parametrize("field", ["data", "event", "id", "retry"])
@pytest.mark.parametrize("separator", [": ", ":"])
def test_line_of_the_limit_passes_and_one_byte_more_does_not(field: str, separator: str) -> None:
    start = f"{field}{separator}".encode()
    fits = start + b"5" * (LIMIT - len(start))
    for chunks in chunkings(fits + b"\ndata: x\n\n" if field == "retry" else fits + b"\n\n"):
        parser = EventStreamParser(max_event_bytes=LIMIT)
        feed_all(chunks, parser)
    for chunks in chunkings(fits + b"5\n\n"):
        parser = EventStreamParser(max_event_bytes=LIMIT)
        with pytest.raises(EventTooLarge) as caught:
            feed_all(chunks, parser)
        assert caught.value.limit == LIMIT
        assert caught.value.size == LIMIT + 1
        assert str(caught.value) == "event is 101 bytes so far, the limit is 100"


@pytest.mark.parametrize("line", [b"data: ab\n", b"data\n", b"data:x\r\n", b"data: \r"])
def test_many_lines_together_pass_the_limit(line: bytes) -> None:
    for chunks in chunkings(line * LIMIT + b"data: the end\n\n", max_pairs=50):
        with pytest.raises(EventTooLarge):
            feed_all(chunks, EventStreamParser(max_event_bytes=LIMIT))


def test_type_and_id_and_data_count_together() -> None:
    block = b"event: " + b"e" * 40 + b"\nid: " + b"i" * 40 + b"\ndata: " + b"d" * 14 + b"\n\n"
    for chunks in chunkings(block):
        assert len(feed_all(chunks, EventStreamParser(max_event_bytes=LIMIT))) == 1
        with pytest.raises(EventTooLarge):
            feed_all(chunks, EventStreamParser(max_event_bytes=LIMIT - 1))


def test_same_limit_holds_however_the_stream_is_cut() -> None:
    block = b"data: one\ndata:two\nevent: e\nid: 1\nretry: 3\n: comment\ndata\ndata: end\n\n"
    verdicts: dict[int, set[bool]] = {}
    for limit in range(1, 60):
        for chunks in chunkings(block, random_cuts=5):
            try:
                feed_all(chunks, EventStreamParser(max_event_bytes=limit))
            except EventTooLarge:
                verdicts.setdefault(limit, set()).add(False)
            else:
                verdicts.setdefault(limit, set()).add(True)
    assert all(len(seen) == 1 for seen in verdicts.values())
    assert verdicts[1] == {False}
    assert verdicts[59] == {True}


def test_each_block_has_the_limit_to_itself() -> None:
    stream = (b"event: e\nid: 1\ndata: " + b"x" * 80 + b"\n\n") * 50
    for chunks in chunkings(stream, max_pairs=50):
        assert len(feed_all(chunks, EventStreamParser(max_event_bytes=LIMIT))) == 50


@pytest.mark.parametrize(
    "start", [b": ", b":", b"unknown: ", b"unknown", b"datax: ", b"x", b"\xff"]
)
def test_what_nobody_will_see_does_not_count_and_is_not_held(start: bytes) -> None:
    parser = EventStreamParser(max_event_bytes=LIMIT)
    parser.feed(b"data: a\n" + start)
    with traced_memory() as memory:
        for _ in range(200):
            assert parser.feed(b"c" * 10_000) == []
    assert memory.held < 2_000
    assert memory.peak < 30_000
    assert parser.feed(b"\n\n") == [Event(data="a")]


def test_ignored_lines_never_add_up() -> None:
    parser = EventStreamParser(max_event_bytes=LIMIT)
    for _ in range(100):
        assert parser.feed(b": comment\nunknown: field\nretry: 1\nid: \0\n") == []
    assert parser.feed(b"data: a\n\n") == [Event(data="a")]


def test_comment_that_feed_items_wants_counts_while_it_streams_in() -> None:
    parser = EventStreamParser(max_event_bytes=LIMIT)
    assert parser.feed_items(b":" + b"c" * 99 + b"\n") == [Comment("c" * 99)]
    with pytest.raises(EventTooLarge):
        parser.feed_items(b":" + b"c" * 100)
    parser.reset()
    with pytest.raises(EventTooLarge):
        parser.feed_items(b"unknown: " + b"c" * 100 + b"\n")


def test_events_before_the_error_are_not_lost() -> None:
    stream = b"id: 1\ndata: a\n\ndata: b\n\ndata: " + b"x" * LIMIT + b"\n\ndata: c\n\n"
    parser = EventStreamParser(max_event_bytes=LIMIT)
    assert parser.feed(stream) == [
        Event("message", "a", "1", "1"),
        Event("message", "b", None, "1"),
    ]
    for _ in range(2):
        with pytest.raises(EventTooLarge, match="event is 106 bytes so far, the limit is 100"):
            parser.feed(b"data: d\n\n")
    with pytest.raises(EventTooLarge):
        parser.finish()
    assert parser.pending
    parser.reset()
    assert parser.feed(b"data: e\n\n") == [Event("message", "e", None, "1")]


def test_items_before_the_error_are_not_lost() -> None:
    parser = EventStreamParser(max_event_bytes=LIMIT)
    assert parser.feed_items(b": ping\ndata: " + b"x" * LIMIT) == [Comment(" ping")]
    with pytest.raises(EventTooLarge):
        parser.feed_items(b"")


def test_id_of_a_block_that_is_too_large_does_not_count() -> None:
    parser = EventStreamParser(max_event_bytes=LIMIT)
    with pytest.raises(EventTooLarge):
        parser.feed(b"id: 9\ndata: " + b"x" * LIMIT + b"\n\n")
    assert parser.last_event_id == ""


def test_buffers_are_given_back_after_the_error() -> None:
    parser = EventStreamParser(max_event_bytes=1_000_000)
    with traced_memory() as memory, pytest.raises(EventTooLarge):
        for _ in range(200):
            parser.feed(b"data: " + b"x" * 10_000 + b"\n")
    assert memory.held < 50_000
    assert memory.peak < 2_500_000


def test_short_tail_can_pass_a_tiny_limit_too() -> None:
    parser = EventStreamParser(max_event_bytes=3, tail="dispatch")
    parser.feed(b"data")
    with pytest.raises(EventTooLarge):
        parser.finish()
    with pytest.raises(EventTooLarge):
        parser.feed(b"")


@pytest.mark.parametrize("start", [b"data: ", b"data:", b"id: ", b"event: ", b"unknown: ", b": "])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_lines_longer_than_a_read_count_to_the_byte(start: bytes, end: bytes) -> None:
    before = b"data: first" + end
    line = start + b"x" * 200_000
    stream = before + line + end + end
    read_size = 30_000
    held = len("first") + 1 + len(line)
    for limit, fits in ((held, True), (held - 1, False)):
        for chunks in (
            [stream],
            [stream[i : i + read_size] for i in range(0, len(stream), read_size)],
        ):
            parser = EventStreamParser(max_event_bytes=limit)
            try:
                for chunk in chunks:
                    parser.feed_items(chunk)
                parser.finish()
            except EventTooLarge:
                assert not fits
            else:
                assert fits


@pytest.mark.parametrize("start", [b"data: ", b"data:"])
def test_several_long_lines_make_one_event(start: bytes) -> None:
    lines = [letter * 150_000 for letter in (b"a", b"b", b"c")]
    stream = b"".join(start + line + b"\r\n" for line in lines) + b"data: d\n\n"
    expected = [Event(data="\n".join([*(line.decode() for line in lines), "d"]))]
    for size in (1000, 65536, 100_000, len(stream)):
        parser = EventStreamParser()
        chunks = [stream[i : i + size] for i in range(0, len(stream), size)]
        assert feed_all(chunks, parser) == expected


def test_comment_too_long_for_feed_items_is_skipped_by_feed() -> None:
    parser = EventStreamParser(max_event_bytes=LIMIT)
    parser.feed_items(b"\n: ping")
    for chunk in (b"x" * 200, b"data: forged", b"y" * 50):
        assert parser.feed(chunk) == []
    assert parser.feed(b"\ndata: a\n\n") == [Event(data="a")]


def test_comment_begun_in_feed_items_is_not_held_by_feed() -> None:
    parser = EventStreamParser(max_event_bytes=None)
    parser.feed_items(b"\n: ping")
    with traced_memory() as memory:
        for _ in range(100):
            parser.feed(b"x" * 10_000)
    assert memory.held < 2_000


@pytest.mark.parametrize("limit", [100, 60_000, 131_072, 150_000, 200_000])
@pytest.mark.parametrize("over", [0, 1])
@pytest.mark.parametrize("head", [b"data: ", b"data:", b"event: ", b"id: "])
def test_limit_holds_whatever_the_sizes_of_the_reads(limit: int, over: int, head: bytes) -> None:
    line = head + b"x" * (limit + over - len(head))
    stream = line + b"\n\n"
    cuttings = [[stream], [line, b"\n\n"], [line[:-1], line[-1:] + b"\n\n"]]
    cuttings += [[stream[:cut], stream[cut:]] for cut in (1, 6, 60_000, 65_536, 70_000, 131_073)]
    for chunks in cuttings:
        for before in (b"", b"\n", b"data: a\n\n"):
            parser = EventStreamParser(max_event_bytes=limit)
            parser.feed(before)
            if over:
                with pytest.raises(EventTooLarge):
                    feed_all(chunks, parser)
            else:
                feed_all(chunks, parser)
                assert not parser.pending


def test_limit_counts_what_came_before_in_the_same_read() -> None:
    parser = EventStreamParser(max_event_bytes=200_000)
    parser.feed(b"data: " + b"x" * 150_000)
    with pytest.raises(EventTooLarge):
        parser.feed(b"\ndata: " + b"y" * 60_000 + b"\n\n")


def test_blocks_read_together_are_held_to_the_limit_too() -> None:
    block = b"data: " + b"x" * 600 + b"\n\n"
    for first in (b"", b"\n"):
        parser = EventStreamParser(max_event_bytes=LIMIT)
        parser.feed(first)
        with pytest.raises(EventTooLarge):
            parser.feed(block)


@pytest.mark.parametrize("kind", [bytearray, memoryview])
def test_failed_parser_keeps_nothing_of_the_callers(kind: Callable[[bytearray], Any]) -> None:
    for stream in (b"data: a\n\ndata: xxxxxxxx\n\n", b"data: xxxxxxxxx\n\n"):
        buffer = bytearray(stream)
        parser = EventStreamParser(max_event_bytes=8)
        with suppress(EventTooLarge):
            parser.feed(kind(buffer))
        buffer.append(1)
        with pytest.raises(EventTooLarge):
            parser.feed(b"")


def test_failed_parser_gives_back_one_long_line() -> None:
    parser = EventStreamParser(max_event_bytes=1_000_000)
    parser.feed(b"data: ")
    with traced_memory() as memory, suppress(EventTooLarge):
        while True:
            parser.feed(b"x" * 60_000)
    assert memory.held < 10_000


@pytest.mark.parametrize("size", [1, 3])
def test_line_that_drips_in_is_refused_at_the_byte_that_passes_the_limit(size: int) -> None:
    parser = EventStreamParser(max_event_bytes=LIMIT)
    parser.feed(b"data: " + b"a" * 49 + b"\ndata: ")
    for _ in range(0, LIMIT - 50 - 6 - size + 1, size):
        parser.feed(b"x" * size)
    with pytest.raises(EventTooLarge):
        parser.feed(b"x" * size)


def test_no_limit_takes_more_than_the_default() -> None:
    parser = EventStreamParser(max_event_bytes=None)
    parser.feed(b"data: ")
    chunk = b"x" * (DEFAULT_MAX_EVENT_BYTES // 4)
    for _ in range(5):
        parser.feed(chunk)
    (event,) = parser.feed(b"\n\n")
    assert len(event.data) == 5 * len(chunk)


def test_default_limit_is_enforced() -> None:
    parser = EventStreamParser()
    parser.feed(b"data: ")
    chunk = b"x" * (DEFAULT_MAX_EVENT_BYTES // 4)
    with pytest.raises(EventTooLarge):
        for _ in range(5):
            parser.feed(chunk)
