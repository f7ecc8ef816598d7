"""The scanner: what the parser says, where it stood, and what the parser passes over."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sansio_sse import Comment, Event, EventStreamParser, Retry, UnknownField
from sansio_sse._cli._findings import Findings, Ignored, Unknown
from sansio_sse._cli._json_lines import JsonLines
from sansio_sse._cli._scanner import Row, Scanner

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

TESTS = Path(__file__).parents[1]
STREAMS = [path.read_bytes() for path in sorted((TESTS / "captures").glob("*.sse"))] + [
    vector["bytes"].encode("latin-1")
    for vector in json.loads((TESTS / "vectors" / "parser.json").read_text("utf-8"))
]
TEXT = "it is text: no line of it is a field or a comment"


def scan(*chunks: bytes, parser: EventStreamParser | None = None) -> tuple[list[Row], Findings]:
    scanner = Scanner(parser or EventStreamParser())
    rows: list[Row] = []
    for chunk in chunks:
        rows += scanner.feed(chunk)
    return rows, scanner.finish()


def found(*chunks: bytes) -> Findings:
    return scan(*chunks)[1]


def every_cut(data: bytes) -> Iterator[list[bytes]]:
    yield [data]
    yield [data[i : i + 1] for i in range(len(data))]
    chance = random.Random(len(data))
    for cut in range(1, len(data)) if len(data) < 300 else chance.sample(range(len(data)), 20):
        yield [data[:cut], data[cut:]]
    for _ in range(5):
        cuts = sorted(chance.choices(range(len(data) + 1), k=7))
        yield [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]


def event_offsets(data: bytes) -> Iterator[int]:
    """Say where the blocks begin that have data, in the slow way: line for line."""
    start, has_data = None, False
    offset = 3 if data.startswith(b"\xef\xbb\xbf") else 0
    for line in re.findall(rb"[^\r\n]*(?:\r\n|\r|\n)", data[offset:]):
        if line.strip(b"\r\n"):
            start = offset if start is None else start
            has_data = has_data or re.match(rb"data[:\r\n]", line) is not None
        else:
            if has_data and start is not None:
                yield start
            start, has_data = None, False
        offset += len(line)


def as_text(findings: Findings) -> str:
    return JsonLines(timed=False).findings(findings)


@pytest.mark.parametrize("data", STREAMS)
def test_items_are_those_of_the_parser_at_their_offsets(data: bytes) -> None:
    rows, _ = scan(data)
    assert [row.item for row in rows] == EventStreamParser().feed_items(data)
    events = [row for row in rows if isinstance(row.item, Event)]
    assert [row.number for row in events] == list(range(1, len(events) + 1))
    assert [row.offset for row in events] == list(event_offsets(data))


@pytest.mark.parametrize("data", [data for data in STREAMS if len(data) < 5000])
def test_rows_and_findings_are_the_same_however_the_stream_is_cut(data: bytes) -> None:
    rows, findings = scan(data)
    for chunks in every_cut(data):
        assert (rows, as_text(findings)) == ((cut := scan(*chunks))[0], as_text(cut[1]))


def test_random_bytes_give_the_same_whatever_the_reads_are() -> None:
    chance = random.Random(2)
    pieces = [b"data", b"id", b"retry", b"event", b":", b" ", b"\r", b"\n", b"\n\n", b"\0", b"7"]
    pieces += [b"\xef\xbb\xbf", b"\xf0\x9f", b"\x98\x80", b"\xff", b"{}", b"x" * 300]
    for _ in range(500):
        data = b"".join(chance.choices(pieces, k=chance.randrange(20)))
        rows, findings = scan(data)
        assert [row.item for row in rows] == EventStreamParser().feed_items(data)
        assert [row.offset for row in rows if row.number] == list(event_offsets(data))
        text = as_text(findings)
        for chunks in ([data[i : i + 1] for i in range(len(data))], halves(data, chance)):
            cut_rows, cut_findings = scan(*chunks)
            assert (cut_rows, as_text(cut_findings)) == (rows, text)


def halves(data: bytes, chance: random.Random) -> Iterable[bytes]:
    cut = chance.randrange(len(data) + 1)
    return data[:cut], data[cut:]


def test_each_kind_of_item_stands_where_its_line_or_block_begins() -> None:
    rows, _ = scan(b": hi\nid: 7\nretry: 30\nwhat: x\ndata: a\n\ndata: b\n\n")
    assert rows == [
        Row(None, 0, Comment(" hi")),
        Row(None, 11, Retry(30)),
        Row(None, 21, UnknownField("what", "x")),
        Row(1, 0, Event("message", "a", "7", "7")),
        Row(2, 38, Event("message", "b", None, "7")),
    ]


def test_an_event_comes_out_at_a_cr_that_ends_a_read() -> None:
    scanner = Scanner(EventStreamParser())
    assert scanner.feed(b"data: a\r\n\r") == [Row(1, 0, Event(data="a"))]
    assert scanner.feed(b"\ndata: b\r\n\r\n") == [Row(2, 11, Event(data="b"))]
    endings = scanner.finish().line_endings
    assert (endings.lf, endings.crlf, endings.cr) == (0, 4, 0)


def test_line_endings_are_told_apart() -> None:
    endings = found(b"data: a\n\ndata: b\r\r\r\ndata: c\n\r\n\n").line_endings
    assert (endings.lf, endings.crlf, endings.cr) == (4, 2, 2)


def test_a_byte_order_mark_is_no_part_of_the_first_block() -> None:
    rows, findings = scan(b"\xef", b"\xbb", b"\xbfdata: a\n\n")
    assert (rows, findings.byte_order_mark) == ([Row(1, 3, Event(data="a"))], True)


def test_a_byte_order_mark_later_on_spoils_the_field() -> None:
    findings = found(b"data: a\n\n\xef\xbb\xbfdata: b\n\n")
    assert not findings.byte_order_mark
    assert list(findings.unknown_names.values()) == [Unknown("\ufeffdata", 9, 1)]
    assert findings.unknown_names["\ufeffdata"].hint == "data behind a byte order mark"


def test_a_part_of_a_byte_order_mark_alone_is_invalid_and_pending() -> None:
    findings = found(b"\xef\xbb")
    assert (findings.invalid_utf8.first, findings.pending_block) == ([0], 0)


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        (b"id: a\0b", "a\0b", "it holds a NUL"),
        (b"retry: 3s", "3s", "it is not only ASCII digits"),
        (b"retry:  3", " 3", "it is not only ASCII digits"),
        (b"retry: \xd9\xa3", "\u0663", "it is not only ASCII digits"),
        (b"retry:", "", "it is empty"),
        (b"retry", "", "it is empty"),
    ],
)
def test_an_ignored_field_is_noted_with_its_value_and_the_reason(
    field: bytes, value: str, reason: str
) -> None:
    findings = found(b"data: x\n" + field + b"\n\n")
    noted = findings.ignored_ids if field.startswith(b"id") else findings.ignored_retries
    assert noted.first == [Ignored(8, value, reason)]
    assert len(findings.losses) == 1


def test_a_nul_far_behind_in_an_id_is_found_in_any_read() -> None:
    line = b"id: " + b"x" * 1000
    for chunks in ([line + b"\0\n\n"], [line, b"\0", b"y\n\n"], [line, b"\0\n", b"\n"]):
        [ignored] = found(*chunks).ignored_ids.first
        assert ignored == Ignored(0, "x" * 200, "it holds a NUL")


def test_a_nul_of_one_line_is_not_held_against_the_next() -> None:
    findings = found(b"data: \0", b"\nid: 1\n\n")
    assert findings.ignored_ids.count == 0


def test_fields_that_count_are_not_noted() -> None:
    findings = found(b"id\nid: 1\nretry: 0\nretry:5\nevent: e\ndata: x\n: c\n\n")
    assert (findings.losses, findings.retries, findings.comments) == ([], 2, 1)


def test_a_block_without_data_is_noted_unless_it_is_only_comments() -> None:
    findings = found(b": c\n\nid: 1\n\nretry: 5\n\nevent: ping\n\nevent:\n\ndata\n\n\n\n")
    assert findings.blocks_without_data.first == [5, 12, 22, 35]
    assert findings.types_without_data.first == [22]
    assert findings.losses == ["types_without_data"]


@pytest.mark.parametrize(
    ("data", "offset"),
    [
        (b"data: a\n\ndata: b\n", 9),
        (b"data: a\n\ndata: b", 9),
        (b"data: a\n\n: c\nid: 1\n", 9),
        (b"data: a\r\n\r\nda", 11),
    ],
)
def test_a_block_without_its_blank_line_is_pending(data: bytes, offset: int) -> None:
    findings = found(data)
    assert (findings.pending_block, findings.losses) == (offset, ["pending_block"])


@pytest.mark.parametrize("data", [b"data: a\n\n", b"data: a\n\n: c\n", b"data: a\n\nretry: 1\n"])
def test_an_end_where_nothing_is_lost_is_not_pending(data: bytes) -> None:
    assert found(data).losses == []


def test_a_block_past_the_limit_ends_the_reading() -> None:
    scanner = Scanner(EventStreamParser(max_event_bytes=50))
    rows = scanner.feed(b"data: a\n\n" + b"data: " + b"b" * 60 + b"\n\ndata: c\n\n")
    assert (rows, scanner.failed) == ([Row(1, 0, Event(data="a"))], True)
    findings = scanner.finish()
    assert findings.event_too_large is not None
    assert (findings.event_too_large.offset, findings.event_too_large.limit) == (9, 50)
    assert findings.event_too_large.size > 50
    assert findings.losses == ["event_too_large"]


@pytest.mark.parametrize("start", [b"data: ", b": ", b"what: ", b""])
def test_an_endless_line_is_refused_at_the_limit(start: bytes) -> None:
    scanner = Scanner(EventStreamParser(max_event_bytes=1000))
    scanner.feed(start)
    while not scanner.failed:
        scanner.feed(b"x" * 100)
    assert 1000 < scanner.findings.size <= 1110


def test_an_endless_block_is_refused_at_the_limit() -> None:
    scanner = Scanner(EventStreamParser(max_event_bytes=1000))
    while not scanner.failed:
        scanner.feed(b"data: " + b"x" * 93 + b"\n")
    assert 1000 < scanner.findings.size <= 1200


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"", "it is empty: not one byte"),
        (b'{"error": {"message": "no"}}', "it begins like JSON"),
        (b'\n [\n  {"data": 1},\n\n  2]\n', "it begins like JSON"),
        (b"<!DOCTYPE html>\n<title>502</title>\n\n", "it begins like HTML or XML"),
        (b"\x1f\x8b\x08\0\0", "it is gzip, a compressed body that nobody decompressed"),
        ("data: x\n\n".encode("utf-16"), "it is UTF-16, and an event stream is always UTF-8"),
        (
            b"HTTP/1.1 200 OK\r\nDate: x\r\n\r\n",
            "it begins with the head of an HTTP response, as curl -i prints it: only the body is "
            "an event stream",
        ),
        (b"Bad gateway\n", TEXT),
        (b"Bad gateway", TEXT),
        (b"\xef\xbb\xbf\nBad gateway", TEXT),
        (b"error: bad gateway", TEXT),
        (b"Bad gateway\nThe server is down", TEXT),
        (b"x" * 1000, TEXT),
    ],
)
def test_a_body_of_another_kind_is_named(data: bytes, what: str) -> None:
    for chunks in every_cut(data):
        findings = found(*chunks)
        assert findings.not_an_event_stream == what
        assert findings.losses[0] == "not_an_event_stream"


@pytest.mark.parametrize(
    "data", [b"\n", b": c\n\n", b"id: 1\n\n", b"<b>\ndata: x\n\n", b"{\n: c\n\n"]
)
def test_a_stream_with_a_line_that_belongs_there_is_not_called_another_kind(data: bytes) -> None:
    kind = "it begins like JSON" if data.startswith(b"{") else None
    assert found(data).not_an_event_stream == kind


@pytest.mark.parametrize("line", [b"data: a", b"data", b"da", b": c", b":", b"retry: x", b"i"])
def test_an_unfinished_line_that_may_belong_there_is_not_called_another_kind(line: bytes) -> None:
    for data in (line, b"\n" + line, b": c\n" + line):
        findings = found(data)
        assert (findings.not_an_event_stream, findings.losses) == (None, ["pending_block"])


def test_an_unfinished_line_behind_one_that_belongs_there_is_only_pending() -> None:
    for data in (b": c\nBad gateway", b"data: a\n\nBad gateway"):
        assert found(data).losses == ["pending_block"]
