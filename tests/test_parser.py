"""What the parser does beside dispatching the right events: state, ends, errors, copies."""

from __future__ import annotations

import copy
import pickle
from typing import TYPE_CHECKING, Any

import pytest

from sansio_sse import (
    Comment,
    Event,
    EventStreamParser,
    LocalProtocolError,
    RemoteProtocolError,
    Retry,
    UnknownField,
)
from sansio_sse.testing import chunkings, replay

if TYPE_CHECKING:
    from collections.abc import Callable

STREAM = (
    "\ufeffid: 7\nevent: añadido\ndata: uno\ndata:  dos \r\n\r\n: ping\rretry: 1500\n"
    "data\ndata: 👋🏽\n\nerror: {}\nid\ndata: x\n\nid: 8\n\n"
).encode()

EVENTS = [
    Event("añadido", "uno\n dos ", "7", "7"),
    Event("message", "\n👋🏽", None, "7"),
    Event("message", "x", "", ""),
]


@pytest.mark.parametrize(
    ("stream", "last_byte"),
    [
        (b"data: a\n\n", b"\n"),
        (b"data: a\r\r", b"\r"),
        (b"data: a\n\r", b"\r"),
        (b"data: a\r\n\r", b"\r"),
        (b"event: e\rdata: a\rid: 1\r\r", b"\r"),
        (b"data: a\n: comment\n\n", b"\n"),
    ],
)
def test_event_comes_out_of_the_call_that_completes_its_blank_line(
    stream: bytes, last_byte: bytes
) -> None:
    whole = EventStreamParser()
    assert len(whole.feed(stream)) == 1
    parser = EventStreamParser()
    assert stream.endswith(last_byte)
    for i in range(len(stream) - 1):
        assert parser.feed(stream[i : i + 1]) == []
    assert len(parser.feed(last_byte)) == 1


@pytest.mark.parametrize("then", [[b"\n"], [b"", b"\n"], [b"\ndata: b\n\n"], [b"", b"", b"\n"]])
def test_lf_after_a_cr_at_the_end_of_a_read_is_part_of_it(then: list[bytes]) -> None:
    parser = EventStreamParser()
    assert parser.feed(b"data: a\r\r") == [Event(data="a")]
    rest = [event for chunk in then for event in parser.feed(chunk)]
    assert rest == ([Event(data="b")] if b"data" in b"".join(then) else [])
    # The next LF is a line of its own.
    assert parser.feed(b"data: c\n\n") == [Event(data="c")]


def test_cr_at_the_end_of_a_skipped_line_swallows_one_lf() -> None:
    parser = EventStreamParser()
    assert [parser.feed(chunk) for chunk in (b"data: a\n: pi", b"ng\r", b"\n", b"\n")] == [
        [],
        [],
        [],
        [Event(data="a")],
    ]


def test_items_come_in_stream_order_where_their_line_ends() -> None:
    parser = EventStreamParser()
    assert parser.feed_items(b"data: a\n:one\nretry: 10\nx: y\n") == [
        Comment("one"),
        Retry(10),
        UnknownField("x", "y"),
    ]
    assert parser.feed_items(b"\n: two\n") == [Event(data="a"), Comment(" two")]


@pytest.mark.parametrize(
    ("line", "item"),
    [
        (b":", Comment("")),
        (b": a:b", Comment(" a:b")),
        (b"nocolon", UnknownField("nocolon", "")),
        (b"name:value", UnknownField("name", "value")),
        (b"name:  two", UnknownField("name", " two")),
        (b" data: x", UnknownField(" data", "x")),
        (b"data : x", UnknownField("data ", "x")),
        (b"DATA: x", UnknownField("DATA", "x")),
        (b"\xff: x", UnknownField("\ufffd", "x")),
        (b"retry: 007", Retry(7)),
        (b"retry:0", Retry(0)),
    ],
)
def test_each_kind_of_line_gives_its_item(line: bytes, item: object) -> None:
    for chunks in chunkings(line + b"\n"):
        assert replay(chunks) == [item]


@pytest.mark.parametrize("line", [b"retry: x", b"retry", b"id: a\0b", b"event: e", b"id: 1"])
def test_lines_that_set_or_ignore_a_field_give_no_item(line: bytes) -> None:
    for chunks in chunkings(line + b"\n"):
        assert replay(chunks) == []


def test_line_begun_in_feed_and_ended_in_feed_items_is_not_reported_in_part() -> None:
    parser = EventStreamParser()
    parser.feed(b": the secret ")
    assert parser.feed_items(b"half\n: whole\n") == [Comment(" whole")]


@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf", b"\n"])
def test_empty_read_by_feed_items_leaves_the_next_line_alone(start: bytes) -> None:
    parser = EventStreamParser()
    parser.feed_items(start)
    parser.feed_items(b"")
    parser.feed(b"x")
    assert parser.pending
    parser.feed_items(b"\nda")
    assert parser.feed(b"ta: a\n\n") == [Event(data="a")]


def test_line_begun_in_feed_items_and_ended_in_feed_is_dropped() -> None:
    parser = EventStreamParser()
    assert parser.feed_items(b"data: a\n: ke") == []
    assert parser.feed(b"ep") == []
    assert parser.feed(b"-alive\n\n") == [Event(data="a")]


@pytest.mark.parametrize("line", [b":" + b"c" * 100_000, b"name: " + b"v" * 100_000])
def test_long_line_begun_in_feed_items_and_ended_in_feed_is_dropped(line: bytes) -> None:
    parser = EventStreamParser()
    assert parser.feed_items(b"data: a\n" + line) == []
    assert parser.feed(b"\n\n") == [Event(data="a")]


def test_ids_and_times_of_a_block_without_data_count() -> None:
    parser = EventStreamParser()
    assert parser.feed(b"id: 5\nretry: 20\nevent: e\n") == []
    assert (parser.last_event_id, parser.reconnection_time) == ("", 20)
    assert parser.feed(b"\n") == []
    assert parser.last_event_id == "5"
    assert parser.feed(b"data: x\n\n") == [Event("message", "x", None, "5")]


def test_seed_is_the_last_event_id_until_the_stream_sets_another() -> None:
    parser = EventStreamParser(last_event_id="41")
    assert parser.last_event_id == "41"
    assert parser.feed(b"data: x\n\nid: 42\ndata: y\n\nid\ndata: z\n\n") == [
        Event("message", "x", None, "41"),
        Event("message", "y", "42", "42"),
        Event("message", "z", "", ""),
    ]


@pytest.mark.parametrize("digits", [21, 300])
def test_reconnection_time_is_exact_up_to_300_digits(digits: int) -> None:
    parser = EventStreamParser()
    parser.feed(b"retry: 000" + b"9" * digits + b"\n")
    assert parser.reconnection_time is not None
    assert parser.reconnection_time == 10**digits - 1
    assert parser.reconnection_time / 1000 > 0


@pytest.mark.parametrize("digits", [301, 5000, 100_000])
def test_longer_reconnection_time_neither_raises_nor_stalls(digits: int) -> None:
    parser = EventStreamParser()
    parser.feed(b"retry: " + b"9" * digits + b"\n")
    assert parser.reconnection_time is not None
    assert parser.reconnection_time >= 10**299
    assert parser.reconnection_time / 1000 > 0


@pytest.mark.parametrize("value", ["+5", "-5", " 5", "5 ", "1_000", "1e3", "٣", "²", "0x1", "5\0"])
def test_retry_that_is_not_all_ascii_digits_is_ignored(value: str) -> None:
    parser = EventStreamParser()
    parser.feed(f"retry: 9\nretry: {value}\n".encode())
    assert parser.reconnection_time == 9


@pytest.mark.parametrize(
    ("stream", "pending"),
    [
        (b"", False),
        (b"\n", False),
        (b"data: a\n\n", False),
        (b"data: a\r", True),
        (b"data: a", True),
        (b"da", True),
        (b"data", True),
        (b"event: e\n", True),
        (b"id: 1\n", True),
        (b"id\n", True),
        (b": comment\n", False),
        (b"unknown: x\n", False),
        (b"retry: 1\n", False),
        (b"id: \0\n", False),
        (b": com", True),
        (b"unknown: x", True),
        (b"\xef\xbb", True),
        (b"\xef\xbb\xbf", False),
        (b"data: a\n\n\r", False),
    ],
)
def test_pending_says_whether_something_at_the_end_is_lost(stream: bytes, pending: bool) -> None:
    for chunks in chunkings(stream):
        parser = EventStreamParser()
        for chunk in chunks:
            parser.feed(chunk)
        assert parser.pending is pending
        parser.finish()
        assert parser.pending is pending
        parser.reset()
        assert parser.pending is False


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (b"data: a\n", [Event(data="a")]),
        (b"data: a", [Event(data="a")]),
        (b"data", [Event(data="")]),
        (b"event: e\nid: 1\ndata: a\ndata: b", [Event("e", "a\nb", "1", "1")]),
        (b"data: a\n: com", [Event(data="a")]),
        (b"data: a\nda", [Event(data="a")]),
        (b"data: a\r", [Event(data="a")]),
        (b"data: \xe2\x82", [Event(data="\ufffd")]),
        (b"id: 1", []),
        (b"dat", []),
        (b"\xef\xbb", []),
        (b"data: a\n\n", []),
        (b"", []),
    ],
)
def test_tail_is_dispatched_on_request_and_else_discarded(
    stream: bytes, events: list[Event]
) -> None:
    complete = [Event(data="a")] if stream.endswith(b"\n\n") else []
    for chunks in chunkings(stream):
        parser = EventStreamParser(tail="dispatch")
        assert replay(chunks, parser) == complete + events
        assert parser.finish() == []
        assert replay(chunks) == complete


def test_feed_after_finish_is_the_callers_mistake() -> None:
    parser = EventStreamParser()
    parser.finish()
    with pytest.raises(LocalProtocolError, match=r"finished: call reset\(\)"):
        parser.feed(b"data: a\n\n")
    with pytest.raises(LocalProtocolError):
        parser.feed_items(b"")
    parser.reset()
    assert parser.feed(b"data: a\n\n") == [Event(data="a")]


def test_finish_twice_gives_nothing_more() -> None:
    parser = EventStreamParser(tail="dispatch")
    parser.feed(b"data: a")
    assert parser.finish() == [Event(data="a")]
    assert parser.finish() == []


@pytest.mark.parametrize(
    "half", [b"data: ol", b"data: old\n", b"event: old\n", b"id: old\n", b"data: \xe2\x82", b": c"]
)
def test_reset_forgets_what_is_half_read(half: bytes) -> None:
    parser = EventStreamParser(last_event_id="0")
    parser.feed(b"retry: 5\nid: 1\n\n" + half)
    parser.reset()
    assert parser.feed(b"\xef\xbb\xbfdata: new\n\n") == [Event("message", "new", None, "1")]
    assert (parser.last_event_id, parser.reconnection_time) == ("1", 5)


def test_reset_forgets_a_cr_at_the_end() -> None:
    parser = EventStreamParser()
    parser.feed(b"data: a\r")
    parser.reset()
    assert parser.feed(b"\ndata: b\n\n") == [Event(data="b")]


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_any_bytes_like_type_is_taken(kind: Callable[[bytes], Any]) -> None:
    parser = EventStreamParser()
    events = [event for cut in (STREAM[:40], STREAM[40:]) for event in parser.feed(kind(cut))]
    assert events == EVENTS


def test_buffer_of_the_caller_may_change_and_go_after_feed() -> None:
    parser = EventStreamParser()
    for chunk in (b"data: a", b"b", b"\ndata: c\n"):
        buffer = bytearray(chunk)
        parser.feed(buffer)
        buffer[:] = b"\n\n\n"
        buffer.clear()
        view = memoryview(bytearray(b""))
        parser.feed(view)
        view.release()
    assert parser.feed(b"\n") == [Event(data="ab\nc")]


@pytest.mark.parametrize("wrong", ["text", 5, None, [b"data"], object()])
@pytest.mark.parametrize("before", [b"", b"data: a", b"data: a\n\n"])
def test_what_is_not_bytes_is_a_type_error_that_says_so(wrong: Any, before: bytes) -> None:
    parser = EventStreamParser()
    parser.feed(before)
    for method in (parser.feed, parser.feed_items):
        with pytest.raises(TypeError, match=f"takes bytes, not {type(wrong).__name__}: pass the"):
            method(wrong)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"utf8": "ignore"}, "utf8 is 'ignore'"),
        ({"tail": "keep"}, "tail is 'keep'"),
        ({"max_event_bytes": 0}, "max_event_bytes is 0: pass 1 or more"),
        ({"max_event_bytes": -1}, "max_event_bytes is -1"),
        pytest.param({"max_event_bytes": -(10**5000)}, "an unprintable int", id="huge"),
        ({"max_event_bytes": "5"}, "max_event_bytes is '5': pass an int"),
        ({"max_event_bytes": 1.5}, "max_event_bytes is 1.5: pass an int"),
        ({"max_event_bytes": True}, "max_event_bytes is True: pass an int"),
        ({"last_event_id": None}, "last_event_id is None: pass a str"),
        ({"last_event_id": b"7"}, "last_event_id is b'7': pass a str"),
        ({"last_event_id": "a\nb"}, "last_event_id has a line end in it"),
        ({"last_event_id": "a\rb"}, "last_event_id has a line end in it"),
        ({"last_event_id": "a\0b"}, "last_event_id has a NUL in it"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(LocalProtocolError, match=message):
        EventStreamParser(**options)


def test_strict_decoding_takes_what_is_valid() -> None:
    for chunks in chunkings(STREAM):
        parser = EventStreamParser(utf8="strict")
        assert [item for item in replay(chunks, parser) if isinstance(item, Event)] == EVENTS


@pytest.mark.parametrize(
    ("stream", "offset", "before"),
    [
        (b"\xff", 0, []),
        (b"data: a\n\ndata: \xffx\n\n", 15, [Event(data="a")]),
        (b"data: a\n\n: \xc3(\n", 11, [Event(data="a")]),
        (b"x: \xed\xa0\x80\n", 3, []),
        (b"data: \xf0\x9f\x98\n\n", 6, []),
        (b"\xef\xbbdata: x\n\n", 0, []),
        (b"\xef\xbb\xbf\xffdata: x\n\n", 3, []),
        (b"data: \xe2\x82", 6, []),
        (b"data: a\n\n\xf0\x9f\x98", 9, [Event(data="a")]),
    ],
)
def test_strict_decoding_raises_with_the_offset_in_the_stream(
    stream: bytes, offset: int, before: list[Event]
) -> None:
    for chunks in chunkings(stream):
        parser = EventStreamParser(utf8="strict")
        events: list[Event] = []
        with pytest.raises(RemoteProtocolError, match=f"byte {offset}$") as caught:
            for chunk in chunks:
                events += parser.feed(chunk)
            parser.finish()
        assert caught.value.offset == offset
        assert events == before
        assert parser.pending


def test_strict_decoding_counts_every_byte_that_it_read() -> None:
    parser = EventStreamParser(utf8="strict")
    for chunk in (b"data: a\n\n", b"data: b\n\n", b"da", b"ta: c\n\n"):
        parser.feed(chunk)
    with pytest.raises(RemoteProtocolError, match=r"byte 27$"):
        parser.feed(b"\xff")


@pytest.mark.parametrize(
    "start", [[b"x", b"\n"], [b"\n"], [b":", b"\r", b"\n"], [b"da", b"ta: x\n\n"]]
)
def test_strict_decoding_counts_plain_blocks_too(start: list[bytes]) -> None:
    parser = EventStreamParser(utf8="strict")
    chunks = [*start, b"data: a\n\n", b"data: b\n\n"]
    for chunk in chunks:
        parser.feed(chunk)
    with pytest.raises(RemoteProtocolError) as caught:
        parser.feed(b"\xff")
    assert caught.value.offset == sum(map(len, chunks))


def test_failed_strict_parser_keeps_nothing_of_the_read() -> None:
    parser = EventStreamParser(utf8="strict")
    with pytest.raises(RemoteProtocolError):
        parser.feed(b"data: \xff" + b"x" * 50_000)
    assert len(pickle.dumps(parser)) < 2_000


def test_start_of_a_character_is_pending_in_strict_decoding() -> None:
    parser = EventStreamParser(utf8="strict")
    parser.feed(b"data: a\n\n\xc3")
    assert parser.pending
    assert parser.feed(b"\xb1: x\n") == []
    assert not parser.pending


def test_error_is_raised_again_until_reset() -> None:
    parser = EventStreamParser(utf8="strict")
    assert parser.feed(b"id: 1\ndata: a\n\n\xff") == [Event("message", "a", "1", "1")]
    for call in (
        lambda: parser.feed(b"data: b\n\n"),
        lambda: parser.feed_items(b""),
        parser.finish,
    ):
        with pytest.raises(RemoteProtocolError, match="invalid UTF-8 at byte 15"):
            call()
    parser.reset()
    assert parser.feed(b"data: b\n\n") == [Event("message", "b", None, "1")]


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda p: pickle.loads(pickle.dumps(p))]
)
@pytest.mark.parametrize("utf8", ["replace", "strict"])
def test_copy_made_anywhere_goes_on_to_the_same_events(
    duplicate: Callable[[EventStreamParser], EventStreamParser], utf8: Any
) -> None:
    for cut in range(len(STREAM) + 1):
        parser = EventStreamParser(utf8=utf8)
        events = parser.feed(STREAM[:cut])
        twin = duplicate(parser)
        assert events + parser.feed(STREAM[cut:]) == EVENTS
        assert events + twin.feed(STREAM[cut:]) == EVENTS
        assert (twin.last_event_id, twin.reconnection_time) == ("8", 1500)


def test_copy_of_a_failed_parser_has_failed_too() -> None:
    parser = EventStreamParser(max_event_bytes=5)
    with pytest.raises(RemoteProtocolError):
        parser.feed(b"data: a\n\n")
    for twin in (copy.copy(parser), pickle.loads(pickle.dumps(parser))):
        with pytest.raises(RemoteProtocolError, match="event is 7 bytes so far, the limit is 5"):
            twin.finish()


@pytest.mark.parametrize("kind", [bytearray, memoryview])
@pytest.mark.parametrize("size", [65_536, 65_537, 400_000])
def test_large_buffers_are_read_like_bytes(kind: Callable[[bytes], Any], size: int) -> None:
    stream = b"id: 1\ndata: " + b"x" * size + b"\n\ndata: y\r\n\r\n: c\n"
    expected = [Event("message", "x" * size, "1", "1"), Event("message", "y", None, "1")]
    assert EventStreamParser().feed(kind(stream)) == expected
    assert EventStreamParser().feed_items(kind(stream)) == [*expected, Comment(" c")]


def test_any_layout_of_memory_is_read_in_its_order() -> None:
    parser = EventStreamParser()
    stream = b"data: a\n\n"
    doubled = bytes(byte for byte in stream for _ in range(2))
    assert parser.feed(memoryview(doubled)[::2]) == [Event(data="a")]
    numbers = memoryview(stream + b"\n" * 3).cast("I")
    assert parser.feed(numbers) == [Event(data="a")]


def test_parsers_share_nothing() -> None:
    first, second = EventStreamParser(), EventStreamParser()
    first.feed(b"data: \xe2\x82")
    assert second.feed(b"data: plain\n\n") == [Event(data="plain")]
    assert first.feed(b"\xac\n\n") == [Event(data="€")]
