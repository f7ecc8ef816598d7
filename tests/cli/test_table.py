"""The table of rows, and the findings below it, as people read them."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

import pytest

from sansio_sse import EventStreamParser
from sansio_sse._cli._findings import Arrival, Findings, TooLarge
from sansio_sse._cli._scanner import Scanner
from sansio_sse._cli._table import Table
from sansio_sse._cli._terminal import Terminal

CAPTURES = sorted((Path(__file__).parents[1] / "captures").glob("*.sse"))


def table(
    data: bytes, columns: int = 80, seconds: float | None = None, encoding: str = "utf-8"
) -> list[str]:
    shown = Table(Terminal(columns, encoding), timed=seconds is not None)
    text = shown.rows(Scanner(EventStreamParser()).feed(data), seconds or 0.0)
    return text.splitlines()


def report(findings: Findings, columns: int = 80) -> list[str]:
    return Table(Terminal(columns), timed=False).findings(findings).splitlines()


def report_of(data: bytes, columns: int = 80, *, interrupted: bool = False) -> list[str]:
    scanner = Scanner(EventStreamParser())
    scanner.feed(data)
    scanner.findings.interrupted = interrupted
    return report(scanner.finish(), columns)


def width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def test_each_item_has_its_row() -> None:
    stream = b": hi\nid: 7\nretry: 30\nwhat: x\nevent: e\ndata: a\n\n:\n\ndata: \xe2\x82\xac\n\n"
    assert table(stream) == [
        "   #      byte  type              id    size  data",
        "             0  (comment)                     hi",
        "            11  (retry)                       30 ms",
        "            21  (unknown)                     what: x",
        "   1         0  e                 7        1  a",
        "            47  (comment)",
        "   2        50  message                    3  €",
    ]


def test_the_time_has_its_column() -> None:
    assert table(b"data: a\n\n", seconds=1.25) == [
        "   #      byte   seconds  type              id    size  data",
        "   1         0     1.250  message                    1  a",
    ]


def test_the_columns_have_their_names_once() -> None:
    shown = Table(Terminal(80), timed=False)
    scanner = Scanner(EventStreamParser())
    assert shown.rows(scanner.feed(b"data: a\n"), 0) == ""
    assert len(shown.rows(scanner.feed(b"\n"), 0).splitlines()) == 2
    assert len(shown.rows(scanner.feed(b"data: a\n\n"), 0).splitlines()) == 1


def test_the_column_of_ids_grows_to_a_limit() -> None:
    heading, first, second = table(b"id: 12345\ndata: a\n\nid: 1234567890\ndata: b\n\n")
    assert heading.endswith("  id       size  data")
    assert first.endswith("  12345       1  a")
    assert second.endswith("  1234567…       1  b")


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_a_short_id_and_the_name_of_its_column_are_shown_in_any_encoding(encoding: str) -> None:
    heading, first, second = table(b"id: 7\ndata: a\n\nid: 42\ndata: b\n\n", encoding=encoding)
    assert heading.endswith("  id    size  data")
    assert first.endswith("  7        1  a")
    assert second.endswith("  42       1  b")


def test_the_column_of_ids_grows_to_what_is_shown() -> None:
    stream = "id: é\ndata: a\n\nid: 世界\ndata: b\n\n".encode()
    first, second = table(stream)[1:]
    assert first.endswith("  é        1  a")
    assert second.endswith("  世界       1  b")
    assert table(stream, encoding="ascii")[1].endswith("  \\xe9       1  a")


def test_an_empty_id_is_told_from_none() -> None:
    with_id, without = table(b"id\ndata: a\n\ndata: b\n\n")[1:]
    assert with_id.endswith('  ""       1  a')
    assert without.endswith("           1  b")


@pytest.mark.parametrize(
    ("line", "shown"),
    [(b"<html>", "<html>"), (b"what: x", "what: x"), (b"what:x", "what: x"), (b" ", "")],
)
def test_an_unknown_field_without_a_value_has_no_colon(line: bytes, shown: str) -> None:
    assert table(line + b"\n")[1][46:] == shown


def test_a_preview_begins_shortly_before_the_first_difference() -> None:
    data = '{"id":"chatcmpl-1","object":"chat.completion.chunk","delta":{"content":"%s"},'
    data += '"seed":123456}'
    stream = "".join(f"data: {data % text}\n\n" for text in ("Hello", "world", "world", "!"))
    first, second, third, last = (row[46:] for row in table(stream.encode())[1:])
    assert first == '{"id":"chatcmpl-1","object":"chat…'
    assert second == '…"content":"world"},"seed":123456}'
    # Nothing is new.
    assert third == first
    # It fills the line if the rest of the data does not.
    assert last == '…a":{"content":"!"},"seed":123456}'
    assert len(second) == len(last) == 34


def test_a_preview_that_fits_is_whole() -> None:
    assert [row[46:] for row in table(b"data: abcdefg1\n\ndata: abcdefg2\n\n")[1:]] == [
        "abcdefg1",
        "abcdefg2",
    ]


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
@pytest.mark.parametrize("columns", [60, 80, 120, 200])
@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.name[:2])
def test_no_row_is_wider_than_the_terminal(path: Path, columns: int, encoding: str) -> None:
    for timed in (None, 12.5):
        for row in table(path.read_bytes(), columns, timed, encoding):
            assert width(row) <= columns


def test_a_preview_without_room_for_two_signs_that_it_is_cut_is_a_plain_one() -> None:
    block = b"id: 123456\ndata: " + b"x" * 50
    rows = table(block + b"1\n\n" + block + b"2\n\n", 60, 1.0, "ascii")[1:]
    assert [row[-12:] for row in rows] == ["    51  x..."] * 2


def test_a_hostile_stream_can_only_show_its_text() -> None:
    hostile = "\x1b[2J\x07\u202e\x9b1m世界" * 3
    fields = ("data", "event", "id", "", "what" + hostile)
    stream = "".join(f"{field}:{hostile}\n" for field in fields) + "\n"
    rows = table(stream.encode())
    assert len(rows) == 4
    assert all(row.isprintable() and width(row) <= 80 for row in rows)


def test_colour_is_around_the_text_of_a_row() -> None:
    shown = Table(Terminal(80, colour=True), timed=False)
    data = b": c\nretry: 1\nwhat: x\ndata: a\n\n"
    coloured = shown.rows(Scanner(EventStreamParser()).feed(data), 0)
    assert coloured.count("\x1b[0m") == coloured.count("\x1b[") / 2 == 6
    plain = re.sub(r"\x1b\[\d*m", "", coloured)
    assert [line.rstrip() for line in plain.splitlines()] == table(data)


def test_a_good_stream_has_a_short_report() -> None:
    stream = b'data: {"a": 1}\n\n: c\ndata: {}\n\ndata: [DONE]\n\n'
    assert report_of(stream) == [
        "",
        "3 events, 1 comment, 44 bytes",
        "  line endings         LF (7)",
        "  byte order mark      none",
        "  UTF-8                valid",
        "  [DONE]               event 3, the last one",
    ]


def test_a_report_names_all_that_is_lost_or_damaged() -> None:
    stream = (
        b"\xef\xbb\xbfdata: {}\r\n\r\ndata: []\n\ndata: {\xff\n\nid: \0\ndata: {}\n\nretry: x\n\n"
        b"what: 1\nwhat: 2\nData: x\n\nevent: e\n\ndata: [DONE]\n\ndata: [1]\n\ndata: x"
    )
    assert report_of(stream) == [
        "",
        "6 events, 128 bytes: data is lost or damaged (!)",
        "  line endings         mixed: LF (19), CRLF (2)",
        "  byte order mark      one, ignored as it should be",
        "! UTF-8                1 invalid sequence, replaced with U+FFFD, at byte 32",
        "! ignored ids          '\\x00' at byte 35 (it holds a NUL)",
        "! ignored retries      'x' at byte 51 (it is not only ASCII digits)",
        "! unknown fields       ignored: 'what' 2 times, first at byte 61 and 'Data' at",
        "                       byte 77 (data in the wrong case)",
        "! blocks without data  3: no event comes from them, though 1 names an event",
        "                       type, at byte 86",
        "! pending block        7 bytes at byte 121, without a blank line behind:",
        "                       discarded, as the specification says",
        "  [DONE]               event 5, and 1 event behind it",
        "! not JSON             unlike the data of the others: event 3 at byte 25",
        "                       (Expecting property name enclosed in double quotes at",
        "                       character 1)",
    ]


def test_a_report_of_nothing_says_so() -> None:
    assert report_of(b"") == [
        "",
        "0 events, 0 bytes: not an event stream (!)",
        "! not an event stream  it is empty: not one byte",
    ]


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"Internal Server Error", "it is text: no line of it is a field or a comment"),
        (b"<html>\n\n<h1>502</h1>\n</html>\n", "it begins like HTML or XML"),
        (b"\x1f\x8b\x08\0\0\xff\n", "it is gzip, a compressed body that nobody decompressed"),
    ],
)
def test_a_report_of_another_kind_of_body_says_just_that(data: bytes, what: str) -> None:
    assert report_of(data) == [
        "",
        f"0 events, {len(data)} bytes: not an event stream (!)",
        f"! not an event stream  {what}",
    ]


def test_a_report_of_a_stream_behind_an_http_head_says_so() -> None:
    lines = report_of(b"HTTP/1.1 200 OK\r\ndate: x\r\n\r\ndata: a\r\n\r\n")
    assert lines[1] == "1 event, 39 bytes: data is lost or damaged (!)"
    assert lines[5:] == [
        "! unknown fields       ignored: 'HTTP/1.1 200 OK' at byte 0 (the head of an HTTP",
        "                       response, as curl -i prints it: only the body is an event",
        "                       stream) and 'date' at byte 17",
        "  blocks without data  1: no event comes from it, at byte 0",
    ]


def test_a_quoted_name_stays_whole() -> None:
    stream = b'data: x\n\n{\n  "error": {\n    "message": 1\n  }\n}\nretry: 1  2   3\n\n'
    for columns in range(60, 101):
        lines = report_of(stream, columns)
        assert max(map(len, lines)) <= columns
        text = "\n".join(lines)
        for name in ('  "error"', '    "message"', "  }", "1  2   3"):
            assert f"'{name}'" in text


def test_a_long_name_fits_a_line() -> None:
    for columns in (60, 62, 64, 66, 80):
        lines = report_of(b"data: x\n\n" + b"long name " * 20 + b"\nb\n\n", columns)
        assert max(map(len, lines)) <= columns
        [line] = [line for line in lines if "'long name" in line]
        assert line.count("'") == 2
        assert line.rstrip(",").endswith("…'") or "…' at" in line


def test_a_report_of_a_block_too_large_says_where_and_how_large() -> None:
    assert report(Findings(size=90, event_too_large=TooLarge(9, 66, 50)))[-2:] == [
        "! event too large      the block at byte 9 is 66 bytes so far, the limit is 50:",
        "                       nothing behind it was read",
    ]


def test_a_report_of_json_without_done_says_that_none_came() -> None:
    assert report_of(b"data: {}\n\n")[-1] == (
        "  [DONE]               did not come (some servers send none)"
    )


def test_a_report_of_no_json_is_silent_about_done() -> None:
    assert not any("[DONE]" in line for line in report_of(b"data: hello\n\n"))


def test_a_report_of_fields_only_lists_the_blocks() -> None:
    assert report_of(b"id: 1\n\nretry: 1\n\n")[-1] == (
        "  blocks without data  2: no event comes from them, at bytes 0 and 7"
    )


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"event: e\n\n", "1: no event comes from it, though it names an event type, at byte 0"),
        (
            b"event: e\n\nid: 1\n\nevent\n\nevent: e\n\n",
            "4: no event comes from them, though 2 name an event type, at bytes 0 and 24",
        ),
    ],
)
def test_a_report_says_which_blocks_were_meant_to_be_events(data: bytes, text: str) -> None:
    lines = [line[23:] if line.startswith(" ") else line for line in report_of(data)[5:]]
    assert " ".join(lines) == f"! blocks without data  {text}"


def test_a_report_of_one_line_without_an_end_has_no_line_endings() -> None:
    assert report_of(b"data: x")[2] == "  line endings         none"


def test_a_report_after_an_interrupt_blames_nobody_for_the_end() -> None:
    lines = report_of(b"data: {}\n\ndata: b", interrupted=True)
    assert lines[1] == "1 event, 17 bytes, then interrupted"
    assert lines[-1] == "  pending block        7 bytes at byte 10, without a blank line behind"


def test_a_report_after_an_interrupt_before_the_first_byte_says_nothing_of_a_body() -> None:
    assert report_of(b"", interrupted=True) == ["", "0 events, 0 bytes, then interrupted"]


def test_a_list_without_end_is_cut_short() -> None:
    stream = b"".join(b"x%d: y\n" % i for i in range(30)) + b"\xff" * 15 + b"\ndata\n\n"
    lines = report_of(stream)
    text = re.sub(r"\s+", " ", " ".join(lines))
    assert "'x9' at byte 54 and 21 more" in text
    assert "15 invalid sequences, replaced with U+FFFD, at bytes 200, 201," in text
    assert "208, 209 and 5 more" in text


def test_a_report_says_when_the_bytes_came() -> None:
    assert report(Findings(events=5, size=9, arrival=Arrival(0.5, 2.25)))[-1] == (
        "  arrival              first byte after 0.50 s, last one 2.25 s later"
    )
    text = " ".join(report(Findings(events=5, size=9, arrival=Arrival(6, 0.01))))
    assert "everything at once after a wait" in re.sub(r"\s+", " ", text)
    assert "a proxy that buffers" in re.sub(r"\s+", " ", text)


def test_hostile_names_are_harmless_in_the_report() -> None:
    lines = report_of(b"\x1b[2Jx: y\n\nretry: \x1b[2J\n\n")
    assert all(line.isprintable() for line in lines)
    assert any("'\\x1b[2Jx' at byte 0" in line for line in lines)
