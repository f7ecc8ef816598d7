"""Properties of the parser over generated streams."""

from __future__ import annotations

from typing import Literal

from hypothesis import given, settings
from hypothesis import strategies as st

from sansio_sse import (
    Comment,
    Event,
    EventStreamParser,
    EventTooLarge,
    Item,
    RemoteProtocolError,
    Retry,
    SSEError,
    UnknownField,
)
from sansio_sse.testing import replay

from . import reference
from .strategies import STREAMS, cuttings


@given(cuttings())
def test_parser_equals_the_reference(chunks: list[bytes]) -> None:
    expected = reference.parse(b"".join(chunks))
    parser = EventStreamParser()
    events = [event for chunk in chunks for event in parser.feed(chunk)] + parser.finish()
    assert events == [Event(*event) for event in expected.events]
    assert parser.last_event_id == expected.last_event_id
    assert parser.reconnection_time == (expected.retries[-1] if expected.retries else None)


@given(cuttings())
def test_items_equal_the_reference(chunks: list[bytes]) -> None:
    expected = reference.parse(b"".join(chunks))
    items = replay(chunks)
    assert [item for item in items if isinstance(item, Event)] == [
        Event(*event) for event in expected.events
    ]
    assert [item.text for item in items if isinstance(item, Comment)] == expected.comments
    assert [tuple(item) for item in items if isinstance(item, UnknownField)] == expected.unknown
    assert [item.milliseconds for item in items if isinstance(item, Retry)] == expected.retries


@given(cuttings(), st.data())
def test_feed_and_feed_items_can_be_mixed(chunks: list[bytes], data: st.DataObject) -> None:
    parser = EventStreamParser()
    events: list[Event] = []
    for chunk in chunks:
        if data.draw(st.booleans()):
            events += parser.feed(chunk)
        else:
            events += [item for item in parser.feed_items(chunk) if isinstance(item, Event)]
    events += parser.finish()
    assert events == [Event(*event) for event in reference.parse(b"".join(chunks)).events]


def outcome(
    chunks: list[bytes],
    limit: int,
    utf8: Literal["replace", "strict"],
    tail: Literal["discard", "dispatch"],
) -> tuple[list[Item], object, bool, int | None, str]:
    parser = EventStreamParser(max_event_bytes=limit, utf8=utf8, tail=tail)
    items: list[Item] = []
    error: object = None
    try:
        for chunk in chunks:
            items += parser.feed_items(chunk)
        items += parser.finish()
    except EventTooLarge as caught:
        error = caught.limit
    except RemoteProtocolError as caught:
        error = str(caught)
    return items, error, parser.pending, parser.reconnection_time, parser.last_event_id


@given(
    cuttings(),
    st.integers(1, 200),
    st.sampled_from(["replace", "strict"]),
    st.sampled_from(["discard", "dispatch"]),
)
def test_chunking_never_matters(
    chunks: list[bytes],
    limit: int,
    utf8: Literal["replace", "strict"],
    tail: Literal["discard", "dispatch"],
) -> None:
    data = b"".join(chunks)
    whole = outcome([data], limit, utf8, tail)
    assert outcome(chunks, limit, utf8, tail) == whole
    assert outcome([data[i : i + 1] for i in range(len(data))], limit, utf8, tail) == whole


def check_invariants(parser: EventStreamParser) -> None:
    state = vars(parser)
    block = state["_block"]
    if state["_skipping"]:
        assert state["_unfinished"]
        assert not state["_line"]
    if state["_in_line"]:
        assert state["_unfinished"]
        assert not state["_skipping"]
        assert state["_line"].startswith((b"data:", b"event:", b"id:", b"retry:"))
    if state["_plain"]:
        assert not state["_unfinished"]
        assert not block.begun
        assert not block.tight
    if state["_special"]:
        assert not state["_plain"]
        assert not state["_in_line"]
    assert not block.values
    assert state["_unfinished"] == bool(state["_line"] or state["_skipping"])
    assert block.begun == bool(block.data or block.type is not None or block.id is not None)
    held = len(block.data) + len(block.type or b"") + len(block.id or b"")
    assert block.room == block.limit - held


def stretched(data: bytes, factor: int) -> bytes:
    """Make some of the lines long, and keep everything else."""
    return data.replace(b"x", b"x" * factor).replace(b"5", b"5" * factor)


@given(
    STREAMS,
    st.sampled_from([1, 300, 30_000, 70_000]),
    st.sampled_from([1, 40, 5_000, 70_000, 131_072, 140_000, 200_000, None]),
    st.sampled_from(["replace", "strict"]),
    st.data(),
)
@settings(max_examples=300, deadline=None)
def test_long_lines_and_any_limit_and_mixed_methods(
    data: bytes,
    factor: int,
    limit: int | None,
    utf8: Literal["replace", "strict"],
    draw: st.DataObject,
) -> None:
    data = stretched(data, factor)
    cuts = sorted(draw.draw(st.lists(st.integers(0, len(data)), max_size=8)))
    chunks = [data[i:j] for i, j in zip([0, *cuts], [*cuts, len(data)], strict=True)]
    results: list[tuple[list[Event], str | None, str]] = []
    for pieces in ([data], chunks):
        parser = EventStreamParser(max_event_bytes=limit, utf8=utf8)
        events: list[Event] = []
        error: str | None = None
        try:
            for chunk in pieces:
                events += parser.feed(chunk)
                check_invariants(parser)
            events += parser.finish()
        except EventTooLarge as caught:
            error = f"limit {caught.limit}"
        except RemoteProtocolError as caught:
            error = str(caught)
        results.append((events, error, parser.last_event_id))
    assert results[0] == results[1]
    if limit is None and utf8 == "replace":
        parser = EventStreamParser(max_event_bytes=limit)
        mixed: list[Event] = []
        for chunk in chunks:
            if draw.draw(st.booleans()):
                mixed += parser.feed(chunk)
            else:
                mixed += [item for item in parser.feed_items(chunk) if isinstance(item, Event)]
            check_invariants(parser)
        assert mixed + parser.finish() == results[0][0]
        assert results[0][0] == [Event(*event) for event in reference.parse(data).events]


@given(STREAMS)
def test_strict_decoding_raises_where_python_does(data: bytes) -> None:
    parser = EventStreamParser(utf8="strict")
    try:
        data.decode()
    except UnicodeDecodeError as wrong:
        offset: int | None = wrong.start
    else:
        offset = None
    try:
        parser.feed(data)
        parser.finish()
    except RemoteProtocolError as error:
        assert error.offset == offset
    else:
        assert offset is None


@given(cuttings(st.binary(max_size=200)), st.integers(1, 100) | st.none(), st.booleans())
def test_only_documented_errors_come_out(
    chunks: list[bytes], limit: int | None, strict: bool
) -> None:
    parser = EventStreamParser(max_event_bytes=limit, utf8="strict" if strict else "replace")
    for chunk in chunks:
        try:
            parser.feed(chunk)
        except SSEError as error:
            assert isinstance(error, RemoteProtocolError)
            assert strict or isinstance(error, EventTooLarge)
            parser.reset()


@given(cuttings(), st.integers(1, 60))
def test_no_event_is_larger_than_the_limit(chunks: list[bytes], limit: int) -> None:
    parser = EventStreamParser(max_event_bytes=limit)
    for chunk in chunks:
        try:
            events = parser.feed(chunk)
        except EventTooLarge as error:
            assert error.size > error.limit == limit
            parser.reset()
        else:
            for event in events:
                # Each byte becomes one character at most, even if it has to be replaced.
                assert len(event.data) <= limit
