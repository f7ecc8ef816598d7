"""Reading a stream while it arrives, by a clock that the tests own."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

import pytest

from sansio_sse import EventStreamParser
from sansio_sse._cli._inspect import inspect
from sansio_sse._cli._json_lines import JsonLines
from sansio_sse._cli._scanner import Scanner
from sansio_sse._cli._source import SourceError
from sansio_sse._cli._table import Table
from sansio_sse._cli._terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


class Wire:
    """A source that delivers each read at its time; an exception as the read raises it."""

    def __init__(self, *reads: tuple[float, bytes | BaseException]) -> None:
        self._reads = list(reads)
        self.now = 0.0
        self.seen: list[str] = []
        self.output = io.StringIO()

    def clock(self) -> float:
        return 1000.0 + self.now

    def read1(self, size: int, /) -> bytes:
        self.seen.append(self.output.getvalue())
        if not self._reads:
            return b""
        self.now, read = self._reads.pop(0)
        if isinstance(read, BaseException):
            raise read
        assert len(read) <= size
        return read

    def inspect(self, *, limit: int = 1000) -> int:
        scanner = Scanner(EventStreamParser(max_event_bytes=limit))
        return inspect(self, self.output, scanner, JsonLines(timed=True), self.clock)

    @property
    def lines(self) -> Sequence[dict[str, Any]]:
        return [json.loads(line) for line in self.output.getvalue().splitlines()]


def test_each_row_is_written_before_the_next_read() -> None:
    wire = Wire((1, b"data: a\n"), (2, b"\n"), (3, b"data: b\r\r"), (4, b"\n: c\n"))
    assert wire.inspect() == 0
    assert [text.count("\n") for text in wire.seen] == [0, 0, 1, 2, 3]


def test_rows_carry_the_seconds_since_the_first_byte() -> None:
    wire = Wire((5, b"data: a\n\n"), (5.25, b": c\n"), (7, b"data: b\n\n"))
    wire.inspect()
    assert [line["seconds"] for line in wire.lines[:-1]] == [0, 0.25, 2]
    assert wire.lines[-1]["arrival"] == {"wait": 5, "span": 2, "held_back": False}


def test_everything_at_once_after_a_wait_is_said() -> None:
    wire = Wire((5, b"data: a\n\n"), (5.1, b"data: b\n\n"))
    assert wire.inspect() == 0
    assert wire.lines[-1]["arrival"]["held_back"] is True


def test_the_end_of_the_stream_is_no_arrival() -> None:
    wire = Wire((5, b"data: a\n\ndata: b\n\n"), (60, b""))
    wire.inspect()
    assert wire.lines[-1]["arrival"] == {"wait": 5, "span": 0, "held_back": True}


def test_a_stream_without_a_byte_has_no_arrival() -> None:
    wire = Wire((5, b""))
    assert wire.inspect() == 1
    assert wire.lines[-1]["arrival"] is None


def test_without_a_clock_there_are_no_times() -> None:
    output = io.StringIO()
    shown = Table(Terminal(80), timed=False)
    source = io.BytesIO(b"data: a\n\n")
    assert inspect(source, output, Scanner(EventStreamParser()), shown) == 0
    assert "seconds" not in output.getvalue()
    assert "arrival" not in output.getvalue()


def test_a_loss_gives_status_1() -> None:
    wire = Wire((0, b"data: a"))
    assert wire.inspect() == 1
    assert wire.lines[-1]["status"] == 1


def test_an_interrupt_gives_the_findings_so_far_and_status_130() -> None:
    wire = Wire((1, b"data: a\n\ndata: b"), (2, KeyboardInterrupt()))
    assert wire.inspect() == 130
    assert [line["kind"] for line in wire.lines] == ["event", "findings"]
    assert wire.lines[-1]["interrupted"] is True
    assert wire.lines[-1]["losses"] == []


def test_an_interrupt_before_the_first_byte_says_nothing_of_the_body() -> None:
    wire = Wire((1, KeyboardInterrupt()))
    assert wire.inspect() == 130
    assert [line["losses"] for line in wire.lines] == [[]]


def test_reading_ends_where_a_block_is_too_large() -> None:
    wire = Wire(*[(0.0, b"data: " + b"x" * 93 + b"\n")] * 50)
    assert wire.inspect(limit=1000) == 1
    assert 10 <= len(wire.seen) <= 12


@pytest.mark.parametrize(
    ("error", "reason"),
    [(OSError(5, "Input/output error"), "Input/output error"), (OSError("gone"), "gone")],
)
def test_a_source_that_fails_is_unreadable(error: OSError, reason: str) -> None:
    wire = Wire((1, b"data: a\n\n"), (2, error))
    with pytest.raises(SourceError, match=f"^{reason}$"):
        wire.inspect()
    assert [line["kind"] for line in wire.lines] == ["event"]
