"""The reconnecting event source: what it does next. The test owns the clock."""

from __future__ import annotations

from typing import Any

import pytest

from sansio_sse import (
    Backoff,
    Connect,
    Event,
    EventSourceProtocol,
    Progress,
    ReadyState,
    Receive,
    RemoteProtocolError,
    Stop,
    UnexpectedStatus,
    Wait,
)

from .sources import (
    EVENT_STREAM,
    HTML,
    closed,
    connect,
    connecting,
    due,
    make_source,
    open_stream,
    opened,
    ready,
    reconnect,
    refused,
    waited,
    waiting,
)

LONGEST = (2**31 - 1) / 1000


# From the start to the first event


def test_source_connects_once_and_then_waits_for_what_comes() -> None:
    source = make_source()
    assert source.ready_state is ReadyState.CONNECTING
    assert isinstance(source.next_action(0.0), Connect)
    for now in (0.0, 1.0, 1e6):
        assert source.next_action(now) == Receive(None)
    source.receive_response(200, EVENT_STREAM, 1e6)
    assert source.progress.ready_state is ReadyState.OPEN
    assert source.feed(b"data: a\n\ndata: b\n\nda", 1e6) == [Event(data="a"), Event(data="b")]
    for now in (1e6, 2e6):
        assert source.next_action(now) == Receive(None)


def test_ready_state_has_the_numbers_of_the_specification() -> None:
    assert [(state.name, int(state)) for state in ReadyState] == [
        ("CONNECTING", 0),
        ("OPEN", 1),
        ("CLOSED", 2),
    ]


def test_events_of_bytes_bytearrays_and_views_are_the_same() -> None:
    source = opened()
    for data in (b"data: a\n\n", bytearray(b"data: a\n\n"), memoryview(b"data: a\n\n")):
        assert source.feed(data, 0.0) == [Event(data="a")]
    assert source.feed(b"", 0.0) == []
    assert source.feed(memoryview(b""), 0.0) == []


@pytest.mark.parametrize("data", ["data: a\n\n", None, 5, [100]])
@pytest.mark.parametrize("make", [opened, refused])
def test_feed_takes_bytes_alone(make: Any, data: Any) -> None:
    source: EventSourceProtocol = make()
    with pytest.raises(TypeError):
        source.feed(data, 0.0)


# Reconnecting


@pytest.mark.parametrize(
    "rest",
    [
        b"data: half",
        b"data: whole line\n",
        b"id: 9\ndata: x\n",
        b"id: 9\n",
        b"id: 9",
        b"event: e\n",
        b"data: \xe2\x82",
        b"data: a\r",
        b"x",
    ],
)
@pytest.mark.parametrize("ending", ["lost", "end", "silence"])
def test_block_that_was_cut_off_is_discarded_and_its_id_does_not_count(
    rest: bytes, ending: str
) -> None:
    # Seen in three clients: the next event is "b\nc", or has the id of one never delivered.
    source = opened(idle_timeout=5)
    assert not source.pending
    assert source.feed(b"id: 1\ndata: a\n\n" + rest, 0.0) == [Event("message", "a", "1", "1")]
    assert source.pending
    if ending == "lost":
        source.connection_lost(1.0)
    elif ending == "end":
        assert source.end_of_body(1.0) == []
    else:
        source.handle_timeout(5.0)
    assert source.pending
    assert source.last_event_id == "1"
    assert reconnect(source).header("Last-Event-ID") == b"1"
    assert source.pending
    source.receive_response(200, EVENT_STREAM, 10.0)
    assert not source.pending
    expected = [Event("message", "c", None, "1")]
    assert source.feed(b"\xef\xbb\xbfdata: c\n\n", 10.0) == expected


def test_last_block_stays_pending_until_there_is_another_stream() -> None:
    source = opened()
    source.feed(b"data: half", 0.0)
    source.connection_lost(0.0)
    reconnect(source)
    source.connection_lost(10.0)
    assert source.pending
    source.close()
    assert source.pending


def test_nothing_is_pending_where_the_last_block_was_whole() -> None:
    source = opened()
    source.feed(b"data: a\n\n: comment\nretry: 5\n", 0.0)
    source.connection_lost(0.0)
    assert not source.pending


def test_line_feed_behind_a_carriage_return_of_the_last_stream_is_a_line_of_its_own() -> None:
    source = opened()
    assert source.feed(b"data: a\r\r", 0.0) == [Event(data="a")]
    source.connection_lost(0.0)
    reconnect(source)
    source.receive_response(200, EVENT_STREAM, 10.0)
    assert source.feed(b"\ndata: b\n\n", 10.0) == [Event(data="b")]


def test_reconnection_time_is_permanent_until_it_is_changed() -> None:
    # Seen in requests-sse and aiohttp2: used once; in others: read and not used.
    source = make_source(backoff=Backoff(factor=1, jitter=0, base=3))
    now = 0.0
    expected = [3.0]
    for body in (b"retry: 300\n\n", b"", b"data: x\n\n", b"retry: 400\n", b"retry: x\n\n"):
        open_stream(source, now)
        source.feed(body, now)
        source.end_of_body(now)
        expected.append(waited(source, now))
        now = due(source)
    assert expected == [3.0, 0.3, 0.3, 0.3, 0.4, 0.4]
    assert source.reconnection_time == 400


def test_reconnection_time_of_an_unfinished_block_counts_at_once() -> None:
    source = opened()
    source.feed(b"data: x\nretry: 250\n", 0.0)
    source.connection_lost(0.0)
    assert waited(source) == 0.25


def test_stream_of_a_reconnection_time_alone_sets_it() -> None:
    source = opened()
    assert source.reconnection_time is None
    assert source.feed(b"retry: 250\n\n", 0.0) == []
    assert source.reconnection_time == 250


@pytest.mark.parametrize("digits", ["9" * 20, "9" * 300, "9" * 301, "9" * 5000])
def test_huge_reconnection_time_costs_no_event_and_waits_no_longer_than_timers_can(
    digits: str,
) -> None:
    source = opened(random=lambda: 1.0)
    expected = [Event(data="a")]
    assert source.feed(f"retry: {digits}\ndata: a\n\n".encode(), 0.0) == expected
    source.end_of_body(0.0)
    assert waited(source) in {LONGEST, 4.5}
    assert reconnect(source).attempt == 2


def test_reconnection_time_of_zero_connects_at_once_but_not_for_ever() -> None:
    source = opened()
    source.feed(b"retry: 0\n\n", 0.0)
    source.end_of_body(0.0)
    assert source.progress.delay == 0.0
    assert source.next_deadline() == 0.0
    open_stream(source, 0.0)
    source.end_of_body(0.0)
    assert waited(source) > 0


def test_id_of_any_text_reaches_the_next_request_as_utf8() -> None:
    # Seen in requests-sse: UnicodeEncodeError; in launchdarkly-eventsource: faults for ever.
    source = opened()
    source.feed("id: 日本\ndata: x\n\n".encode(), 0.0)
    source.connection_lost(0.0)
    assert reconnect(source).header("Last-Event-ID") == "日本".encode()


@pytest.mark.parametrize("error", [None, OSError("reset"), ValueError("chunk")])
@pytest.mark.parametrize("is_open", [False, True])
def test_every_loss_of_a_connection_is_reconnected(is_open: bool, error: Exception | None) -> None:
    # Seen in aiohttp-sse-client2 and sseclient: what was lost in the body is raised.
    source = make_source()
    connect(source)
    if is_open:
        source.receive_response(200, EVENT_STREAM, 0.0)
    source.connection_lost(0.0, error)
    assert source.ready_state is ReadyState.CONNECTING
    kept = source.progress.error
    assert kept is error if error else isinstance(kept, RemoteProtocolError)
    assert reconnect(source).attempt == 2


def test_clean_end_is_reconnected_and_is_no_error() -> None:
    source = opened()
    source.connection_lost(0.0, OSError())
    reconnect(source)
    source.receive_response(200, EVENT_STREAM, 3.0)
    assert source.progress == Progress(ReadyState.OPEN, 2, None, None)
    source.end_of_body(3.0)
    assert source.progress.error is None
    assert waited(source, 3.0) == 6.0


def test_wait_counts_down_and_connects_when_it_is_over_and_not_before() -> None:
    source = opened()
    source.connection_lost(10.0)
    assert source.next_deadline() == 13.0
    for now in (10.0, 11.5, 12.999):
        assert source.next_action(now) == Wait(13.0 - now)
        source.handle_timeout(now)
    # A timeout is no attempt: that comes from `next_action`.
    source.handle_timeout(99.0)
    assert source.ready_state is ReadyState.CONNECTING
    assert source.progress.attempt == 1
    assert isinstance(source.next_action(99.0), Connect)
    assert source.next_action(99.0) == Receive(None)
    assert source.progress == Progress(ReadyState.CONNECTING, 2, None, source.progress.error)
    assert source.next_deadline() is None


# The tail


@pytest.mark.parametrize("tail", ["discard", "dispatch"])
@pytest.mark.parametrize("body", [b"id: 3\ndata: x", b"id: 3\ndata: x\n"])
def test_last_block_is_dispatched_only_where_the_caller_wants_it_and_the_body_ended(
    body: bytes, tail: str
) -> None:
    source = opened(tail=tail)
    assert source.feed(body, 0.0) == []
    dispatched = [Event("message", "x", "3", "3")] if tail == "dispatch" else []
    assert source.end_of_body(0.0) == dispatched
    assert source.pending
    assert source.last_event_id == ("3" if dispatched else "")
    source = opened(tail=tail)
    source.feed(body, 0.0)
    source.connection_lost(0.0)
    assert source.pending
    assert source.last_event_id == ""
    assert reconnect(source).header("Last-Event-ID") is None


# Closing


@pytest.mark.parametrize("make", [ready, connecting, opened, waiting, closed])
@pytest.mark.parametrize("times", [1, 2, 3])
def test_close_in_any_state_and_more_than_once_is_final(make: Any, times: int) -> None:
    source: EventSourceProtocol = make()
    for _ in range(times):
        source.close()
        assert source.ready_state is ReadyState.CLOSED
    assert source.next_action(0.0) == Stop(None)
    assert source.next_deadline() is None
    # What was on its way can't know that.
    source.receive_response(200, EVENT_STREAM, 1.0)
    assert source.feed(b"id: 1\ndata: x\n\n", 1.0) == []
    assert source.end_of_body(1.0) == []
    source.connection_lost(1.0, OSError())
    source.handle_timeout(1.0)
    source.fail(OSError())
    source.close()
    assert source.next_action(1e9) == Stop(None)
    assert source.progress.error is None
    assert source.progress.delay is None
    assert source.last_event_id == ""


@pytest.mark.parametrize("make", [ready, connecting, opened, waiting, refused])
def test_fail_in_any_state_is_final_and_gives_the_error_back(make: Any) -> None:
    source: EventSourceProtocol = make()
    error = OSError("no such scheme")
    source.fail(error)
    assert source.ready_state is ReadyState.CLOSED
    for _ in range(2):
        assert source.next_action(1e9) == Stop(error)
        source.close()
        source.fail(ValueError())
    assert source.progress.error is error


def test_close_in_the_middle_of_a_block_leaves_it_pending() -> None:
    source = opened()
    source.feed(b"id: 1\ndata: x", 0.0)
    source.close()
    assert source.pending
    assert source.last_event_id == ""


# What can be watched


def test_progress_says_what_happens_in_order() -> None:
    seen: list[Progress] = []
    source = make_source(on_progress=seen.append, retry_statuses=[503])
    assert seen == []
    assert source.progress == Progress(ReadyState.CONNECTING, 0, None, None)
    source.next_action(0.0)
    error = OSError()
    source.connection_lost(0.0, error)
    source.next_action(1.0)
    source.next_action(3.0)
    source.receive_response(503, HTML, 3.0)
    refusal = source.progress.error
    assert isinstance(refusal, UnexpectedStatus)
    source.next_action(9.0)
    source.receive_response(200, EVENT_STREAM, 9.0)
    source.feed(b"data: x\n\n", 9.0)
    source.end_of_body(9.0)
    source.close()
    source.close()
    source.next_action(99.0)
    connecting, is_open, is_closed = ReadyState
    assert seen == [
        Progress(connecting, 1, None, None),
        Progress(connecting, 1, 3.0, error),
        Progress(connecting, 2, None, error),
        Progress(connecting, 2, 6.0, refusal),
        Progress(connecting, 3, None, refusal),
        Progress(is_open, 3, None, None),
        Progress(connecting, 3, 3.0, None),
        Progress(is_closed, 3, None, None),
    ]


@pytest.mark.parametrize("how", ["fail", "204", "404"])
def test_progress_says_once_that_it_is_over(how: str) -> None:
    seen: list[Progress] = []
    source = make_source(on_progress=seen.append)
    connect(source)
    error = OSError()
    if how == "fail":
        source.fail(error)
        source.fail(error)
    else:
        source.receive_response(int(how), EVENT_STREAM, 0.0)
        if how == "404":
            source.end_of_body(0.0)
    source.next_action(0.0)
    assert [progress.ready_state for progress in seen] == [ReadyState.CONNECTING, ReadyState.CLOSED]
    assert Stop(seen[-1].error) == source.next_action(1.0)


@pytest.mark.parametrize(
    "moment",
    [
        (ReadyState.CONNECTING, 1, None),
        (ReadyState.OPEN, 1, None),
        (ReadyState.CONNECTING, 1, 3.0),
        (ReadyState.CONNECTING, 2, None),
        (ReadyState.OPEN, 2, None),
    ],
)
def test_source_can_be_closed_where_its_progress_is_watched(
    moment: tuple[ReadyState, int, float | None],
) -> None:
    seen: list[Progress] = []

    def watch(progress: Progress) -> None:
        seen.append(progress)
        if progress[:3] == moment:
            source.close()

    source = make_source(on_progress=watch)
    now = 0.0
    for _ in range(2):
        if isinstance(source.next_action(now), Stop):
            break
        source.receive_response(200, EVENT_STREAM, now)
        source.feed(b": x\n\n", now)
        source.end_of_body(now)
        now = source.next_deadline() or now
    assert source.next_action(now) == Stop(None)
    assert source.next_action(1e9) == Stop(None)
    assert seen[-1] == Progress(ReadyState.CLOSED, moment[1], None, None)
    assert seen[-2][:3] == moment
    assert [progress.ready_state for progress in seen].count(ReadyState.CLOSED) == 1


def test_states_can_be_read_at_any_time_without_changing_anything() -> None:
    for make in (ready, connecting, opened, waiting, refused, closed):
        source = make()
        first = (source.progress, source.ready_state, source.next_deadline(), source.pending)
        for _ in range(3):
            again = (source.progress, source.ready_state, source.next_deadline(), source.pending)
            assert again == first
        assert source.progress.ready_state is source.ready_state
