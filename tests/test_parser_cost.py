"""Cost: linear in the bytes for every shape and cutting, and memory near the size of the event.

Times are compared within one run, a stream against one four times as long. Quadratic cost would
make that sixteen times as slow; the bound leaves room for noise. The best of several tries counts.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from sansio_sse import Event, EventStreamParser

from .memory import traced_memory

if TYPE_CHECKING:
    from collections.abc import Callable

MIB = 1024 * 1024


def cut(data: bytes, size: int) -> list[bytes]:
    return [data[i : i + size] for i in range(0, len(data), size)]


def chat(factor: int) -> bytes:
    return (b'data: {"delta": {"content": "word"}, "index": 0}' + b"\n\n") * (factor * 500)


# Each gives the chunks of a stream of a size in proportion to the factor.
SHAPES: dict[str, Callable[[int], list[bytes]]] = {
    "one_byte_a_chunk": lambda factor: cut(b"data: " + b"x" * (20_000 * factor) + b"\n\n", 1),
    "two_bytes_a_chunk": lambda factor: cut(b"data: " + b"x" * (40_000 * factor) + b"\n\n", 2),
    "one_byte_a_chunk_of_many_events": lambda factor: cut(chat(factor)[: 20_000 * factor], 1),
    "one_line_in_16_kib_chunks": lambda factor: cut(b"data: " + b"x" * (factor * 4 * MIB), 16384),
    "one_line_in_16_kib_chunks_by_crlf": lambda factor: cut(
        b"data: " + b"x" * (factor * 4 * MIB) + b"\r\n\r\n", 16384
    ),
    "one_line_in_one_chunk": lambda factor: [b"data: " + b"x" * (factor * 4 * MIB) + b"\n\n"],
    "many_data_lines": lambda factor: cut(b"data: 0123456789\n" * (factor * 8000) + b"\n", 4096),
    "many_data_lines_in_one_chunk": lambda factor: [b"data: x\n" * (factor * 8000) + b"\n"],
    "many_data_lines_without_space": lambda factor: cut(b"data:x\n" * (factor * 8000), 4096),
    "many_event_and_data_lines": lambda factor: cut(b"event: x\ndata: x\n" * factor * 4000, 16384),
    "many_small_events": lambda factor: cut(chat(factor * 8), 16384),
    "many_small_events_by_cr": lambda factor: cut(chat(factor * 8).replace(b"\n", b"\r"), 1460),
    "many_small_events_by_crlf": lambda factor: cut(chat(factor * 8).replace(b"\n", b"\r\n"), 1460),
    "comment_flood": lambda factor: cut(b": ping\n" * (factor * 20_000), 4096),
    "comment_flood_in_blocks": lambda factor: cut(b": ping\n\n" * (factor * 20_000), 7),
    "one_endless_comment": lambda factor: cut(b":" + b"c" * (factor * 4 * MIB), 1460),
    "blank_lines": lambda factor: cut(b"\n" * (factor * 50_000), 1000),
    "carriage_returns": lambda factor: cut(b"\r" * (factor * 50_000), 1000),
    "invalid_utf8": lambda factor: cut(b"data: " + b"\xff" * (factor * MIB) + b"\n\n", 4096),
    "ids": lambda factor: cut(b"id: 1\ndata: x\n\n" * (factor * 4000), 1460),
}


def seconds(chunks: list[bytes], parser: EventStreamParser) -> float:
    begin = time.process_time()
    for chunk in chunks:
        parser.feed(chunk)
    parser.finish()
    return time.process_time() - begin


@pytest.mark.parametrize("shape", SHAPES)
def test_cost_is_linear(shape: str) -> None:
    short, long = SHAPES[shape](1), SHAPES[shape](4)
    ratio = min(
        seconds(long, EventStreamParser()) / max(seconds(short, EventStreamParser()), 1e-4)
        for _ in range(4)
    )
    assert ratio < 8, f"four times the bytes took {ratio:.1f} times as long"


@pytest.mark.parametrize("shape", ["many_data_lines", "many_event_and_data_lines", "ids"])
def test_cost_is_linear_where_each_line_is_measured(shape: str) -> None:
    # So near the limit, each line is counted as it comes.
    def parser() -> EventStreamParser:
        return EventStreamParser(max_event_bytes=100_000)

    short, long = SHAPES[shape](1)[:8], SHAPES[shape](4)[:32]
    ratio = min(seconds(long, parser()) / max(seconds(short, parser()), 1e-4) for _ in range(4))
    assert ratio < 8, f"four times the bytes took {ratio:.1f} times as long"


def test_cost_is_linear_in_strict_decoding() -> None:
    def parser() -> EventStreamParser:
        return EventStreamParser(utf8="strict")

    stream = "data: ñandú 日本\n\n".encode() * 4000
    ratio = min(
        seconds(cut(stream * 4, 100), parser()) / seconds(cut(stream, 100), parser())
        for _ in range(4)
    )
    assert ratio < 8, f"four times the bytes took {ratio:.1f} times as long"


@pytest.mark.parametrize(
    ("chunks", "size"),
    [
        pytest.param(
            lambda: cut(b"data: " + b"x" * (8 * MIB) + b"\n\n", 4096), 8 * MIB, id="4_kib_reads"
        ),
        pytest.param(
            lambda: cut(b"data:" + b"x" * (8 * MIB) + b"\r\r", 16384), 8 * MIB, id="16_kib_reads"
        ),
        pytest.param(
            lambda: cut(b"data: " + b"x: y" * (2 * MIB) + b"\n\n", 100_000), 8 * MIB, id="colons"
        ),
        pytest.param(lambda: [b"data: " + b"x" * (8 * MIB) + b"\n\n"], 8 * MIB, id="one_chunk"),
        pytest.param(
            lambda: [b"da", b"ta: " + b"x" * (8 * MIB) + b"\n\n"], 8 * MIB, id="two_chunks"
        ),
        pytest.param(
            lambda: [b"data: x", b"x" * (8 * MIB), b"\n", b"\n"], 8 * MIB, id="chunk_inside"
        ),
        pytest.param(
            lambda: cut(b"data: " + b"x" * 300_000 + b"\n\n", 1), 300_000, id="one_byte_reads"
        ),
        pytest.param(
            lambda: cut(b"data: " + b"x" * 600_000 + b"\n\n", 3), 600_000, id="three_byte_reads"
        ),
        pytest.param(
            lambda: cut(b"data: 0123456789\n" * 250_000 + b"\n", 65536), 250_000 * 11, id="lines"
        ),
        pytest.param(
            lambda: [b"data: 0123456789\n" * 250_000 + b"\n"], 250_000 * 11, id="lines_in_one_chunk"
        ),
        pytest.param(
            lambda: cut(b"data:0123456789\n" * 250_000 + b"\n", 1460), 250_000 * 11, id="no_space"
        ),
        pytest.param(
            lambda: cut(b"data: a\ndata: " + b"x" * (8 * MIB) + b"\n\n", 65536),
            8 * MIB,
            id="short_line_first",
        ),
        pytest.param(
            lambda: [bytearray(b"data: " + b"x" * (8 * MIB) + b"\n\n")], 8 * MIB, id="bytearray"
        ),
        pytest.param(
            lambda: cut(b"id:" + b"x: y" * (2 * MIB) + b"\ndata\n\n", 4096),
            8 * MIB,
            id="id_with_colons",
        ),
        pytest.param(
            lambda: cut(b"event:" + b"x: y" * (2 * MIB) + b"\ndata\n\n", 4096),
            8 * MIB,
            id="type_with_colons",
        ),
        pytest.param(
            lambda: cut(b"id: " + b"x" * (8 * MIB) + b"\ndata\n\n", 4096), 8 * MIB, id="id"
        ),
    ],
)
def test_memory_for_a_large_event_stays_within_two_and_a_half_times_its_size(
    chunks: Callable[[], list[bytes | bytearray]], size: int
) -> None:
    ready = chunks()
    parser = EventStreamParser()
    events: list[Event] = []
    with traced_memory() as memory:
        for chunk in ready:
            events += parser.feed(chunk)
    assert len(events) == 1
    assert len(events[0].data or events[0].id or events[0].type) >= size - 1
    # What a window of lines takes does not grow with the event.
    assert memory.peak <= 2.5 * size + 1_000_000


@pytest.mark.parametrize("start", [b":", b": ", b"unknown:", b"unknown: "])
def test_memory_for_a_large_ignored_line_that_is_asked_for_stays_within_the_same(
    start: bytes,
) -> None:
    size = 8 * MIB
    chunks = cut(start + b"x: y" * (size // 4) + b"\n", 65536)
    parser = EventStreamParser()
    with traced_memory() as memory:
        items = [item for chunk in chunks for item in parser.feed_items(chunk)]
    assert len(items) == 1
    assert memory.peak <= 2.5 * size + 1_000_000
