"""The encoder: what it writes reads back, and what would not, it refuses."""

from __future__ import annotations

from enum import Enum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sansio_sse import (
    RESPONSE_HEADERS,
    Comment,
    Event,
    EventStreamParser,
    LocalProtocolError,
    Retry,
    encode,
    encode_comment,
    encode_retry,
    parse,
)
from sansio_sse.testing import replay

from .strategies import EVENTS, TEXT


@pytest.mark.parametrize(
    ("event", "written"),
    [
        (Event(data="hello"), b"data: hello\n\n"),
        (Event("message", ""), b"data: \n\n"),
        (Event("add", "a\nb", "7"), b"event: add\nid: 7\ndata: a\ndata: b\n\n"),
        (Event(data=" two "), b"data:  two \n\n"),
        (Event(data="a\r\nb\rc\n"), b"data: a\ndata: b\ndata: c\ndata: \n\n"),
        (Event(data="\n"), b"data: \ndata: \n\n"),
        (Event(data="x", id=""), b"id: \ndata: x\n\n"),
        (Event(data="x", id=" 1"), b"id:  1\ndata: x\n\n"),
        (Event(data="x", last_event_id="9"), b"data: x\n\n"),
        (Event(data="a\u2028b\u2029c\x85d\x0be\x0cf\x1cg\0"), None),
    ],
)
def test_event_is_written_as_its_lines(event: Event, written: bytes | None) -> None:
    if written is None:
        written = f"data: {event.data}\n\n".encode()
    assert encode(event) == written


@given(st.lists(EVENTS, max_size=5))
def test_parsing_what_was_written_gives_the_events_back(events: list[Event]) -> None:
    written = b"".join(map(encode, events))
    last_event_id = ""
    expected: list[Event] = []
    for event in events:
        last_event_id = last_event_id if event.id is None else event.id
        data = event.data.replace("\r\n", "\n").replace("\r", "\n")
        expected.append(event._replace(data=data, last_event_id=last_event_id))
    assert parse(written) == expected


@given(EVENTS)
def test_event_as_parsed_is_written_and_read_as_itself(event: Event) -> None:
    (parsed,) = parse(encode(event))
    assert parse(encode(parsed)) == [parsed]


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_line_end_in_type_or_id_is_refused(end: str) -> None:
    for event in (
        Event(f"a{end}data: evil", "x"),
        Event(f"a{end}", "x"),
        Event("a", "x", f"1{end}{end}data: evil"),
        Event("a", "x", f"{end}1"),
    ):
        with pytest.raises(LocalProtocolError, match="has a line end in it"):
            encode(event)


@pytest.mark.parametrize("text", ["a\u2028b", "a\x85b", "a\x0bb", "\ufeffa", " a", "a:b", ":"])
def test_other_odd_characters_in_type_and_id_come_back(text: str) -> None:
    assert parse(encode(Event(text, "x", text))) == [Event(text, "x", text, text)]


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (Event("", "x"), "type is empty"),
        (Event("a", "x", "1\0"), "id has a NUL in it"),
        (Event("a", "\ud800"), "text has a lone surrogate in it"),
        (Event("\udfff", "x"), "text has a lone surrogate in it"),
    ],
)
def test_what_a_client_would_not_get_is_refused(event: Event, message: str) -> None:
    with pytest.raises(LocalProtocolError, match=message):
        encode(event)


@pytest.mark.parametrize("wrong", [5, None, b"x", ["x"]])
@pytest.mark.parametrize("field", ["type", "data", "id"])
def test_field_that_is_no_text_is_refused(field: str, wrong: Any) -> None:
    event = Event(data="x")._replace(**{field: wrong})
    if field == "id" and wrong is None:
        assert encode(event) == b"data: x\n\n"
    else:
        with pytest.raises(LocalProtocolError, match=f"{field} is .*: pass a str"):
            encode(event)


@pytest.mark.parametrize("wrong", ["data: x", None, Comment("x"), 5])
def test_what_is_no_event_is_refused(wrong: Any) -> None:
    with pytest.raises(LocalProtocolError, match=f"^{type(wrong).__name__} is no Event"):
        encode(wrong)


def test_event_of_another_copy_of_the_library_is_written() -> None:
    class VendoredEvent:
        type = "message"
        data = "x"
        id = "7"

    assert encode(VendoredEvent()) == b"id: 7\ndata: x\n\n"  # type: ignore[arg-type] # on purpose


def test_subclass_of_str_is_written_as_the_text_that_it_is() -> None:
    class Kind(str, Enum):
        ADD = "add"

        def __str__(self) -> str:
            return "x\ndata: forged"

    assert encode(Event(Kind.ADD, Kind.ADD, Kind.ADD)) == b"event: add\nid: add\ndata: add\n\n"


@pytest.mark.parametrize("field", ["type", "data", "id"])
def test_number_too_long_to_be_shown_is_refused_all_the_same(field: str) -> None:
    with pytest.raises(LocalProtocolError, match="an unprintable int"):
        wrong: dict[str, Any] = {field: 10**5000}
        encode(Event(data="x")._replace(**wrong))


def test_errors_do_not_repeat_all_of_a_long_value() -> None:
    with pytest.raises(LocalProtocolError) as caught:
        encode(Event("a\n" + "b" * 10_000, "x"))
    assert len(str(caught.value)) < 150


@given(st.text(max_size=20), st.text(max_size=20), st.text(max_size=20) | st.none())
def test_whatever_is_accepted_is_one_event_and_nothing_else(
    event_type: str, data: str, event_id: str | None
) -> None:
    event = Event(event_type, data, event_id)
    try:
        written = encode(event)
    except LocalProtocolError:
        return
    (item,) = replay([written])
    assert isinstance(item, Event)
    assert (item.type, item.id) == (event_type, event_id)


@given(TEXT)
def test_comment_reads_back_line_by_line(text: str) -> None:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    assert replay([encode_comment(text)]) == [Comment(line) for line in lines]


def test_comment_is_one_line_and_leaves_a_block_open() -> None:
    assert encode_comment() == b":\n"
    assert encode_comment("keep-alive") == b":keep-alive\n"
    parser = EventStreamParser()
    assert parser.feed(b"data: a\n" + encode_comment("x") + b"\n") == [Event(data="a")]


@pytest.mark.parametrize("wrong", [5, None, b"x", "\ud800"])
def test_comment_that_is_no_text_is_refused(wrong: Any) -> None:
    with pytest.raises(LocalProtocolError):
        encode_comment(wrong)


@pytest.mark.parametrize("milliseconds", [0, 1, 3000, 2**63, 10**300 - 1], ids=repr)
def test_retry_reads_back(milliseconds: int) -> None:
    assert replay([encode_retry(milliseconds)]) == [Retry(milliseconds)]


@pytest.mark.parametrize("wrong", [-1, 1.5, 3.0, "5", None, True, False])
def test_retry_that_is_no_such_number_is_refused(wrong: Any) -> None:
    with pytest.raises(LocalProtocolError, match="retry is"):
        encode_retry(wrong)


@pytest.mark.parametrize("digits", [301, 5001])
def test_retry_beyond_what_a_client_can_read_is_refused(digits: int) -> None:
    for number in (10 ** (digits - 1), -(10 ** (digits - 1))):
        with pytest.raises(LocalProtocolError, match="retry has more than 300 digits"):
            encode_retry(number)


def test_headers_name_the_type_and_forbid_caching_and_buffering() -> None:
    assert dict(RESPONSE_HEADERS) == {
        "Content-Type": "text/event-stream",
        "Cache-Control": "no-store, no-transform",
        "X-Accel-Buffering": "no",
    }
    with pytest.raises(TypeError):
        RESPONSE_HEADERS["Content-Type"] = "text/plain"  # type: ignore[index]
