"""The reconnecting event source: what it does next, and by when. The test owns the clock."""

from __future__ import annotations

from typing import Any

import pytest

from sansio_sse import (
    RETRYABLE_STATUSES,
    Backoff,
    Connect,
    Event,
    EventSourceProtocol,
    EventTooLarge,
    LocalProtocolError,
    Progress,
    ReadyState,
    Receive,
    RemoteProtocolError,
    Request,
    Stop,
    UnexpectedContentType,
    UnexpectedStatus,
    Wait,
)

from .sources import (
    EVENT_STREAM,
    HTML,
    PLAIN,
    URL,
    connect,
    due,
    make_source,
    open_stream,
    opened,
    reconnect,
    refused,
    stop_error,
    waited,
)

LONGEST = (2**31 - 1) / 1000


def answer(source: EventSourceProtocol, status: int, now: float = 0.0, **headers: str) -> None:
    fields = [(name.replace("_", "-"), value) for name, value in headers.items()]
    source.receive_response(status, fields, now)


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


# Backing off


def attempts(source: EventSourceProtocol, outcomes: list[str]) -> list[float]:
    """The delay behind each of these connections."""
    now, delays = 0.0, list[float]()
    for outcome in outcomes:
        connect(source, now)
        if outcome == "refuse":
            source.connection_lost(now)
        elif outcome.isdigit():
            source.receive_response(int(outcome), HTML, now)
        else:
            source.receive_response(200, EVENT_STREAM, now)
            if outcome == "comment":
                source.feed(b": hello\n\nid: 1\n\nretry: 3000\n\n", now)
            elif outcome == "event":
                source.feed(b"data: x\n\n", now)
            elif outcome.startswith("open "):
                now += float(outcome.removeprefix("open "))
            source.end_of_body(now)
        delays.append(waited(source, now))
        now = due(source)
    return delays


@pytest.mark.parametrize("outcome", ["refuse", "accept", "comment", "503", "open 1000"])
def test_delays_grow_on_whatever_brings_no_event(outcome: str) -> None:
    # Seen in event-source-plus: servers that accept and close at once were hammered.
    source = make_source(retry_statuses=RETRYABLE_STATUSES)
    assert attempts(source, [outcome] * 7) == [3, 6, 12, 24, 48, 60, 60]


def test_delays_do_not_grow_where_each_connection_brings_an_event() -> None:
    # Seen in launchdarkly-eventsource: they grow on every clean end.
    assert attempts(make_source(), ["event"] * 5) == [3] * 5


def test_event_resets_the_delay_and_it_grows_again_from_the_start() -> None:
    source = make_source()
    delays = attempts(source, ["refuse", "accept", "accept", "event"])
    assert delays == [3, 6, 12, 3]


def test_each_further_attempt_behind_an_event_waits_longer() -> None:
    source = make_source()
    assert attempts(source, ["event", "refuse", "refuse"]) == [3, 6, 12]


def test_event_that_only_the_end_of_the_body_dispatches_resets_the_delay() -> None:
    source = make_source(tail="dispatch")
    assert attempts(source, ["accept", "accept"]) == [3, 6]
    open_stream(source, due(source))
    source.feed(b"data: x", 10.0)
    assert source.end_of_body(10.0) == [Event(data="x")]
    assert waited(source, 10.0) == 3


def test_time_open_resets_the_delay_where_the_caller_chose_it() -> None:
    # Seen in okhttp-eventsource: not reset after a long and healthy connection.
    backoff = Backoff(jitter=0, reset_after=60)
    outcomes = ["refuse", "accept", "open 59.9", "event", "open 60"]
    assert attempts(make_source(backoff=backoff), outcomes) == [3, 6, 12, 24, 3]


def test_time_of_connecting_is_no_time_open() -> None:
    source = make_source(backoff=Backoff(jitter=0, reset_after=60))
    assert attempts(source, ["open 100", "accept", "refuse"])[0] == 3
    connect(source, due(source))
    before = source.progress.attempt
    source.connection_lost(1e6)
    assert waited(source, 1e6) > 3
    assert source.progress.attempt == before


def test_row_of_attempts_without_a_minimum_time_open_ends_at_once_when_it_is_zero() -> None:
    backoff = Backoff(jitter=0, reset_after=0)
    assert attempts(make_source(backoff=backoff), ["accept"] * 4) == [3] * 4
    assert attempts(make_source(backoff=backoff), ["refuse"] * 3) == [3, 6, 12]


def test_jitter_is_taken_once_for_each_delay() -> None:
    numbers = iter([0.0, 0.5, 1.0])
    source = make_source(random=lambda: next(numbers))
    assert attempts(source, ["refuse"] * 3) == [3, 6 * 1.25, 12 * 1.5]


def test_attempts_have_no_limit_by_default() -> None:
    delays = attempts(make_source(backoff=PLAIN), ["refuse"] * 1500)
    assert delays == [3] * 1500


@pytest.mark.parametrize("most", [1, 2, 5])
@pytest.mark.parametrize("outcome", ["refuse", "accept", "503"])
def test_source_fails_when_the_attempts_are_used_up(outcome: str, most: int) -> None:
    source = make_source(
        backoff=Backoff(jitter=0, max_attempts=most), retry_statuses=RETRYABLE_STATUSES
    )
    attempts(source, [outcome] * (most - 1))
    now = source.next_deadline() or 0.0
    assert connect(source, now).attempt == most
    error = OSError("no route")
    if outcome == "refuse":
        source.connection_lost(now, error)
        assert stop_error(source, now) is error
    elif outcome == "accept":
        source.receive_response(200, EVENT_STREAM, now)
        source.end_of_body(now)
        ended = stop_error(source, now)
        assert isinstance(ended, RemoteProtocolError)
        assert str(ended) == f"the stream ended, as in each of {most} attempts in a row"
    else:
        source.receive_response(503, HTML, now)
        source.feed(b"busy", now)
        source.end_of_body(now)
        refusal = stop_error(source, now)
        assert isinstance(refusal, UnexpectedStatus)
        assert (refusal.status, refusal.body) == (503, b"busy")
    assert source.ready_state is ReadyState.CLOSED


def test_event_gives_all_the_attempts_back() -> None:
    source = make_source(backoff=Backoff(jitter=0, max_attempts=2))
    attempts(source, ["refuse", "event", "refuse", "event", "event", "refuse"])
    connect(source, due(source))
    source.connection_lost(1e3)
    assert isinstance(stop_error(source, 1e3), RemoteProtocolError)


def test_long_connection_gives_all_the_attempts_back() -> None:
    source = make_source(backoff=Backoff(jitter=0, max_attempts=2, reset_after=60))
    attempts(source, ["accept", "open 60", "accept", "open 60"])


# Refused responses


@pytest.mark.parametrize("status", sorted(RETRYABLE_STATUSES))
def test_no_status_is_worth_another_attempt_by_default(status: int) -> None:
    source = refused(status)
    source.end_of_body(0.0)
    error = stop_error(source)
    assert isinstance(error, UnexpectedStatus)
    assert error.status == status


@pytest.mark.parametrize("status", sorted(RETRYABLE_STATUSES))
def test_status_of_the_caller_is_worth_another_attempt(status: int) -> None:
    source = refused(status, retry_statuses=RETRYABLE_STATUSES)
    assert source.ready_state is ReadyState.CONNECTING
    error = source.progress.error
    assert isinstance(error, UnexpectedStatus)
    assert error.status == status
    assert waited(source) == 3
    assert reconnect(source).attempt == 2
    answer(source, 418)
    source.end_of_body(0.0)
    assert isinstance(stop_error(source), UnexpectedStatus)


def test_later_response_with_an_error_status_is_retried_too() -> None:
    # Seen in requests-sse, aiohttp2 and sseclient: a 503 while reconnecting is the end.
    source = opened(retry_statuses=[503])
    source.feed(b"id: 1\ndata: x\n\n", 0.0)
    source.end_of_body(0.0)
    assert reconnect(source).attempt == 2
    answer(source, 503, 3.0)
    assert reconnect(source).header("Last-Event-ID") == b"1"


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, 3),
        ({"Retry_After": "1"}, 3),
        ({"Retry_After": "120"}, 120),
        ({"retry_after": "120"}, 120),
        ({"Retry_After": "soon"}, 3),
        ({"Retry_After": "-5"}, 3),
        ({"Retry_After": "9" * 400}, LONGEST),
        ({"Retry_After": "Sun, 06 Nov 1994 08:50:37 GMT"}, 90),
        (
            {
                "Retry_After": "Sun, 06 Nov 1994 08:50:37 GMT",
                "Date": "Sun, 06 Nov 1994 08:49:37 GMT",
            },
            60,
        ),
    ],
)
def test_retry_after_is_a_floor_of_the_delay(headers: dict[str, str], expected: float) -> None:
    source = make_source(retry_statuses=[503])
    connect(source)
    fields = [(name.replace("_", "-"), value) for name, value in headers.items()]
    source.receive_response(503, fields, 0.0, utc=784111747)
    assert waited(source) == expected


def test_retry_after_counts_in_headers_that_can_be_read_once() -> None:
    source = make_source(retry_statuses=[503])
    connect(source)
    source.receive_response(503, iter([("Retry-After", "120")]), 0.0)
    assert waited(source) == 120


def test_jitter_comes_on_top_of_retry_after() -> None:
    source = make_source(retry_statuses=[429], random=lambda: 1.0)
    connect(source)
    answer(source, 429, Retry_After="10")
    assert waited(source) == 15
    reconnect(source)
    answer(source, 429, 15.0)
    assert waited(source, 15.0) == 9


def test_retry_after_is_not_read_where_the_status_is_final() -> None:
    source = make_source()
    connect(source)
    answer(source, 503, Retry_After="120")
    assert source.ready_state is ReadyState.CLOSED


def test_status_of_success_can_be_worth_another_attempt_too() -> None:
    # A login page, or a maintenance page, with status 200.
    source = refused(200, retry_statuses=[200])
    assert isinstance(source.progress.error, UnexpectedContentType)
    assert waited(source) == 3


@pytest.mark.parametrize("now", [0.0, 100.0])
def test_no_content_is_a_clean_end_in_any_attempt(now: float) -> None:
    # Seen in jersey and swift-eventsource: they ask for ever.
    source = make_source(retry_statuses=[204])
    if now:
        open_stream(source).end_of_body(0.0)
    connect(source, now)
    source.receive_response(204, EVENT_STREAM, now)
    assert source.ready_state is ReadyState.CLOSED
    assert stop_error(source, now) is None
    assert source.next_deadline() is None


@pytest.mark.parametrize(
    ("status", "kind"), [(404, UnexpectedStatus), (200, UnexpectedContentType)]
)
def test_error_carries_what_the_server_said(
    status: int, kind: type[UnexpectedStatus | UnexpectedContentType]
) -> None:
    source = make_source()
    connect(source)
    headers = [("Content-Type", "application/json"), ("X-Request-Id", "7")]
    source.receive_response(status, headers, 0.0)
    assert source.ready_state is ReadyState.CLOSED
    assert source.next_action(0.0) == Receive(5.0)
    for piece in (b'{"error": ', b"", b'"quota"}'):
        assert source.feed(piece, 1.0) == []
        assert source.next_action(1.0) == Receive(4.0)
    assert source.end_of_body(1.0) == []
    error = stop_error(source, 1.0)
    assert type(error) is kind
    assert isinstance(error, UnexpectedStatus | UnexpectedContentType)
    assert (error.status, error.headers) == (status, tuple(headers))
    assert error.body == b'{"error": "quota"}'
    assert source.next_action(2.0) == Stop(error)
    assert source.progress == Progress(ReadyState.CLOSED, 1, None, error)


def test_error_page_is_not_read_as_events() -> None:
    # Seen in flutter_client_sse: an HTML page, parsed line by line, a reconnection for each.
    source = refused(200)
    assert source.feed(b"data: x\n\nid: 9\n\nretry: 1\n\n", 0.0) == []
    assert source.last_event_id == ""
    assert source.reconnection_time is None
    source.end_of_body(0.0)
    assert isinstance(stop_error(source), UnexpectedContentType)


@pytest.mark.parametrize("size", [1, 1000, 65535, 65536, 65537, 10_000_000])
def test_body_of_a_refusal_is_collected_up_to_64_kib(size: int) -> None:
    source = refused()
    body = bytes(range(256)) * 256
    sent = 0
    while isinstance(source.next_action(0.0), Receive):
        assert sent < 65536
        piece = (body + b"more" * size)[sent : sent + size]
        source.feed(memoryview(piece), 0.0)
        sent += len(piece)
    error = stop_error(source)
    assert isinstance(error, UnexpectedStatus)
    assert error.body == body
    assert source.feed(b"late", 0.0) == []
    assert source.end_of_body(0.0) == []


@pytest.mark.parametrize("ending", ["end", "lost", "close", "deadline", "timeout"])
def test_body_of_a_refusal_is_kept_however_it_ends(ending: str) -> None:
    source = refused()
    source.feed(b"not ", 1.0)
    source.feed(b"found", 4.9)
    assert source.next_deadline() == 5.0
    now = 4.95
    if ending == "end":
        source.end_of_body(now)
    elif ending == "lost":
        source.connection_lost(now, OSError())
    elif ending == "close":
        source.close()
    else:
        # A server that stalls, or trickles, can't hide its status: the deadline is not put off.
        action = source.next_action(now)
        assert isinstance(action, Receive)
        assert action.timeout == pytest.approx(0.05)
        source.handle_timeout(now)
        now = 5.0
        if ending == "timeout":
            source.handle_timeout(now)
    error = stop_error(source, now)
    assert isinstance(error, UnexpectedStatus)
    assert error.body == b"not found"
    assert source.next_deadline() is None
    assert source.progress.error is error


@pytest.mark.parametrize(("idle_timeout", "deadline"), [(2, 2.0), (5, 5.0), (60, 5.0), (None, 5.0)])
def test_body_of_a_refusal_is_waited_for_no_longer_than_anything(
    idle_timeout: float | None, deadline: float
) -> None:
    source = refused(idle_timeout=idle_timeout)
    assert source.next_deadline() == deadline
    assert source.next_action(0.0) == Receive(deadline)


def test_refusal_that_is_failed_keeps_what_the_caller_said() -> None:
    source = refused()
    error = OSError("disk")
    source.fail(error)
    assert stop_error(source) is error


# What is not sent twice


ENDINGS = ["end", "lost", "refuse", "silence", "silent start", "503"]


def end(source: EventSourceProtocol, how: str) -> None:
    if how in {"end", "lost", "silence"}:
        source.receive_response(200, EVENT_STREAM, 0.0)
    if how == "end":
        source.end_of_body(0.0)
    elif how == "503":
        source.receive_response(503, HTML, 0.0)
    elif how.startswith("silen"):
        source.handle_timeout(5.0)
    else:
        source.connection_lost(0.0, OSError())


@pytest.mark.parametrize("how", [how for how in ENDINGS if how != "503"])
@pytest.mark.parametrize("method", ["POST", "PATCH", "CONNECT", "QUERY", "post", "Made-Up"])
def test_method_that_is_not_idempotent_is_not_replayed(method: str, how: str) -> None:
    # Seen in fetch-event-source: a chat request sent again and again, and paid for.
    source = make_source(method=method, idle_timeout=5, retry_statuses=[503])
    connect(source)
    end(source, how)
    assert source.ready_state is ReadyState.CLOSED
    error = stop_error(source, 5.0)
    match how:
        case "end":
            assert error is None
        case "lost" | "refuse":
            assert isinstance(error, OSError)
        case _:
            assert isinstance(error, RemoteProtocolError)
            assert str(error) == "nothing came for 5 seconds"
    assert stop_error(source, 1e9) is error
    assert source.progress.attempt == 1


@pytest.mark.parametrize("how", ENDINGS)
@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE", "get"])
def test_idempotent_method_is_sent_again(method: str, how: str) -> None:
    source = make_source(method=method, idle_timeout=5, retry_statuses=[503])
    connect(source)
    end(source, how)
    assert source.ready_state is ReadyState.CONNECTING
    assert reconnect(source).method == method.upper()


def test_status_that_the_caller_names_is_tried_again_whatever_the_method_is() -> None:
    # A chat request that was turned away with 429: nothing of it was done.
    source = make_source(json={}, retry_statuses=[503])
    first = connect(source)
    end(source, "503")
    assert reconnect(source) == first._replace(attempt=2)
    # But not what becomes of it when it has been taken.
    source.receive_response(200, EVENT_STREAM, 100.0)
    source.connection_lost(100.0)
    assert source.ready_state is ReadyState.CLOSED


def test_named_status_is_not_tried_again_where_nothing_is() -> None:
    source = make_source(retry_statuses=[503], reconnect=False)
    connect(source)
    end(source, "503")
    assert source.ready_state is ReadyState.CLOSED


@pytest.mark.parametrize("how", ENDINGS)
def test_caller_decides_whether_it_is_sent_again(how: str) -> None:
    options = {"idle_timeout": 5, "retry_statuses": [503]}
    source = make_source(json={}, reconnect=True, **options)
    first = connect(source)
    end(source, how)
    assert reconnect(source) == first._replace(attempt=2)
    source = make_source(reconnect=False, **options)
    connect(source)
    end(source, how)
    assert source.ready_state is ReadyState.CLOSED


def test_source_without_reconnection_hands_out_the_events_and_ends_cleanly() -> None:
    source = opened(json={}, tail="dispatch")
    assert source.feed(b"data: a\n\ndata: b", 0.0) == [Event(data="a")]
    assert source.end_of_body(0.0) == [Event(data="b")]
    assert source.pending
    assert stop_error(source) is None


# The idle timeout


@pytest.mark.parametrize(
    "data", [b"data: x\n\n", b": ping\n", b":", b"\n", b"x", b"\xff", b"retry"]
)
def test_any_byte_puts_the_idle_deadline_off(data: bytes) -> None:
    source = opened(idle_timeout=30)
    assert source.next_deadline() == 30.0
    for now in (10.0, 39.5, 69.0):
        source.feed(data, now)
        assert source.next_deadline() == now + 30
        assert source.next_action(now) == Receive(30.0)
        assert source.next_action(now + 12) == Receive(18.0)
        source.handle_timeout(now + 29.9)
        assert source.ready_state is ReadyState.OPEN
    source.handle_timeout(99.0)
    assert source.ready_state is ReadyState.CONNECTING
    assert str(source.progress.error) == "nothing came for 30 seconds"
    assert reconnect(source).attempt == 2


@pytest.mark.parametrize("data", [b"", bytearray(), memoryview(b"")])
def test_no_bytes_do_not_put_the_idle_deadline_off(data: bytes) -> None:
    source = opened(idle_timeout=30)
    assert source.feed(data, 10.0) == []
    assert source.next_deadline() == 30.0


def test_idle_timeout_counts_from_the_request_on() -> None:
    # Seen in sseclient and requests-sse: half-open connections, waited for without an end.
    source = make_source(idle_timeout=30)
    assert source.next_deadline() is None
    assert source.next_action(5.0) == Connect(Request("GET", URL, connect_headers()), 30)
    assert source.next_deadline() == 35.0
    assert source.next_action(15.0) == Receive(20.0)
    source.receive_response(200, EVENT_STREAM, 20.0)
    assert source.next_deadline() == 50.0
    source.connection_lost(20.0)
    assert source.next_deadline() == 23.0
    connect(source, 23.0)
    source.handle_timeout(52.9)
    assert source.next_action(52.0) == Receive(1.0)
    source.handle_timeout(53.0)
    assert isinstance(source.next_action(53.0), Wait)


def connect_headers() -> tuple[tuple[str, bytes], ...]:
    return connect(make_source()).headers


def test_without_an_idle_timeout_nothing_is_ever_due() -> None:
    source = make_source()
    action = source.next_action(0.0)
    assert isinstance(action, Connect)
    assert action.timeout is None
    assert source.next_deadline() is None
    source.handle_timeout(1e9)
    source.receive_response(200, EVENT_STREAM, 1e9)
    source.handle_timeout(2e9)
    assert source.next_deadline() is None
    assert source.next_action(3e9) == Receive(None)


def test_read_that_begins_behind_the_deadline_gets_a_moment() -> None:
    # Whoever took the events needed a minute: what came meanwhile must not be lost.
    source = opened(idle_timeout=30)
    for now in (90.0, 180.0):
        action = source.next_action(now)
        assert isinstance(action, Receive)
        assert action.timeout == pytest.approx(0.1)
        assert source.next_deadline() == now + 0.1
        source.handle_timeout(now + 0.09)
        assert source.feed(b"data: x\n\n", now + 0.09) == [Event(data="x")]
        assert source.next_deadline() == now + 0.09 + 30
        assert source.next_action(now + 0.09) == Receive(30.0)


@pytest.mark.parametrize("late", [30.0, 30.05, 500.0])
def test_moment_of_a_late_read_is_granted_once(late: float) -> None:
    source = opened(idle_timeout=30)
    assert isinstance(source.next_action(late), Receive)
    assert isinstance(source.next_action(late + 0.05), Receive)
    assert source.feed(b"", late + 0.06) == []
    assert source.ready_state is ReadyState.OPEN
    # Whether the read timed out, or nobody says so.
    assert isinstance(source.next_action(late + 0.11), Wait)
    assert str(source.progress.error) == "nothing came for 30 seconds"
    reconnect(source)
    now = due(source)
    assert isinstance(source.next_action(now), Receive)
    source.handle_timeout(now + 0.11)
    assert isinstance(source.next_action(now + 0.11), Wait)


def test_response_that_is_late_gets_a_moment_too() -> None:
    source = make_source(idle_timeout=30)
    connect(source)
    assert isinstance(source.next_action(100.0), Receive)
    source.receive_response(200, EVENT_STREAM, 100.05)
    assert source.next_deadline() == 130.05
    assert isinstance(source.next_action(200.0), Receive)
    assert source.feed(b"data: x\n\n", 200.0) == [Event(data="x")]


def test_silence_is_a_lost_connection_and_discards_the_last_block() -> None:
    source = opened(idle_timeout=30, tail="dispatch")
    source.feed(b"id: 3\ndata: x\n", 0.0)
    source.handle_timeout(30.0)
    assert source.pending
    assert source.last_event_id == ""


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


# What fails for good


def assert_failed(source: EventSourceProtocol, kind: type[Exception]) -> None:
    assert source.ready_state is ReadyState.CLOSED
    error = stop_error(source, 1.0)
    assert type(error) is kind
    assert source.progress.error is error
    assert source.next_deadline() is None
    assert source.feed(b"data: x\n\n", 2.0) == []
    assert source.end_of_body(2.0) == []
    source.connection_lost(2.0)
    source.handle_timeout(1e9)
    assert stop_error(source, 1e9) is error


BROKEN = [
    ({"max_event_bytes": 20}, b"id: 9\ndata: " + b"x" * 20, EventTooLarge),
    ({"utf8": "strict"}, b"id: 9\ndata: \xff\n\n", RemoteProtocolError),
]


@pytest.mark.parametrize(("options", "broken", "kind"), BROKEN)
def test_stream_that_would_break_again_fails_for_good(
    options: dict[str, Any], broken: bytes, kind: type[Exception]
) -> None:
    # Seen in the Model Context Protocol's client: replayed by every attempt to resume.
    source = opened(**options)
    assert source.feed(b"data: a\n\n", 0.0) == [Event(data="a")]
    assert source.feed(broken, 0.0) == []
    assert source.pending
    assert source.last_event_id == ""
    assert_failed(source, kind)


@pytest.mark.parametrize(("options", "broken", "kind"), BROKEN)
@pytest.mark.parametrize("then", ["feed", "empty feed", "end", "lost", "silence", "nothing"])
def test_events_before_the_error_of_one_read_are_handed_out_and_the_error_is_final(
    options: dict[str, Any], broken: bytes, kind: type[Exception], then: str
) -> None:
    source = opened(idle_timeout=30, **options)
    expected = [Event("message", "a", "1", "1")]
    assert source.feed(b"id: 1\ndata: a\n\n" + broken, 0.0) == expected
    match then:
        case "feed":
            assert source.feed(b"data: b\n\n", 0.0) == []
        case "empty feed":
            assert source.feed(b"", 0.0) == []
        case "end":
            assert source.end_of_body(0.0) == []
        case "lost":
            source.connection_lost(0.0)
        case "silence":
            source.handle_timeout(30.0)
        case _:
            pass
    assert source.last_event_id == "1"
    assert_failed(source, kind)


def test_error_that_only_the_end_shows_is_final() -> None:
    source = opened(utf8="strict", tail="dispatch")
    assert source.feed(b"data: \xe2\x82", 0.0) == []
    assert source.ready_state is ReadyState.OPEN
    assert source.end_of_body(0.0) == []
    assert_failed(source, RemoteProtocolError)


def test_half_a_character_at_a_lost_connection_is_no_error() -> None:
    source = opened(utf8="strict")
    source.feed(b"data: \xe2\x82", 0.0)
    source.connection_lost(0.0)
    assert reconnect(source).attempt == 2


def test_limit_of_an_event_is_that_of_the_parser_and_can_be_lifted() -> None:
    body = b"data: " + b"x" * 5_000_000 + b"\n\n"
    assert len(opened().feed(body, 0.0)) == 1
    assert len(opened(max_event_bytes=None).feed(body, 0.0)) == 1
    assert opened(max_event_bytes=1_000_000).feed(body, 0.0) == []


# Closing


def ready() -> EventSourceProtocol:
    return make_source()


def connecting() -> EventSourceProtocol:
    source = make_source()
    connect(source)
    return source


def waiting() -> EventSourceProtocol:
    source = opened()
    source.connection_lost(0.0, OSError())
    return source


def closed() -> EventSourceProtocol:
    source = opened()
    source.close()
    return source


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


# Errors of the caller


@pytest.mark.parametrize(
    ("make", "call", "message"),
    [
        (ready, lambda s: s.receive_response(200, [], 0.0), "a response can't come now: the "),
        (ready, lambda s: s.feed(b"", 0.0), "data can't come now: the source is not connected yet"),
        (ready, lambda s: s.end_of_body(0.0), "the end of a body can't come now"),
        (ready, lambda s: s.connection_lost(0.0), "the loss of a connection can't come now"),
        (connecting, lambda s: s.feed(b"x", 0.0), "the source is waiting for a response"),
        (opened, lambda s: s.receive_response(200, [], 0.0), "the source is open"),
        (waiting, lambda s: s.connection_lost(0.0), "the source is waiting to be reestablished"),
        (refused, lambda s: s.receive_response(200, [], 0.0), "is reading why it was refused"),
    ],
)
def test_what_can_not_come_is_an_error_that_says_so_and_changes_nothing(
    make: Any, call: Any, message: str
) -> None:
    source: EventSourceProtocol = make()
    before = (source.progress, source.next_deadline())
    with pytest.raises(LocalProtocolError) as caught:
        call(source)
    assert message in str(caught.value)
    assert (source.progress, source.next_deadline()) == before


def test_second_loss_of_a_connection_starts_no_second_delay() -> None:
    source = waiting()
    deadline = due(source)
    for call in (source.connection_lost, source.end_of_body):
        with pytest.raises(LocalProtocolError):
            call(1.0)
    assert due(source) == deadline
    assert reconnect(source).attempt == 2


WRONG: list[tuple[str, Any, str]] = [
    ("url", 5, "url is 5: pass a str"),
    ("url", b"http://a", "url is b'http://a': pass a str"),
    ("url", "", "url is empty"),
    ("url", " \n", "url is empty"),
    ("method", "", "method is '': pass a word such as 'GET'"),
    ("method", "GE T", "method is 'GE T'"),
    ("method", "GET\r\n", "method is "),
    ("method", 5, "method is 5: pass a str"),
    ("headers", [("a b", "c")], "no header can have the name 'a b'"),
    ("headers", {"": "x"}, "no header can have the name ''"),
    ("headers", {5: "x"}, "the name of a header is 5: pass a str"),
    ("headers", {"X": "a\r\nb"}, "the value of the header X has a control character"),
    ("headers", {"X": " a"}, "the value of the header X has"),
    ("headers", {"X": 5}, "the value of the header X is of type int: pass"),
    ("headers", {"X": None}, "the value of the header X is of type NoneType: pass"),
    ("headers", {"X": "\ud800"}, "X"),
    ("headers", {"Last-Event-ID": "\0"}, "the value of the header Last-Event-ID"),
    ("headers", None, "headers"),
    ("headers", 5, "headers"),
    ("headers", "text", "header"),
    ("headers", [("X",)], "header"),
    ("headers", [("X", "a", "b")], "header"),
    ("body", "text", "body is of type str: pass bytes"),
    ("body", bytearray(b"x"), "body is of type bytearray: pass bytes"),
    ("last_event_id", 5, "last_event_id is 5: pass a str"),
    ("last_event_id", None, "last_event_id is None: pass a str"),
    ("last_event_id", "a\nb", "last_event_id has a line end in it"),
    ("last_event_id", "a\0", "last_event_id has a NUL in it"),
    ("retry_statuses", ["503"], "one of retry_statuses is '503': pass an int"),
    ("retry_statuses", [True], "one of retry_statuses is True: pass an int"),
    ("retry_statuses", "503", "one of retry_statuses is '5': pass an int"),
    ("retry_statuses", 503, "retry_statuses"),
    ("retry_statuses", None, "retry_statuses"),
    ("backoff", None, "backoff is None: pass a Backoff"),
    ("backoff", 3.0, "backoff is 3.0: pass a Backoff"),
    ("backoff", (3.0, 2.0, 60.0, 0.5, None, None), "pass a Backoff"),
    ("backoff", Backoff(base=-1), "backoff.base is -1: pass 0 or more"),
    ("backoff", Backoff(base=float("nan")), "backoff.base is nan"),
    ("backoff", Backoff(cap=float("inf")), "backoff.cap is inf"),
    ("backoff", Backoff(cap=-0.5), "backoff.cap is -0.5: pass 0 or more"),
    ("backoff", Backoff(jitter=-1), "backoff.jitter is -1: pass 0 or more"),
    ("backoff", Backoff(jitter=True), "backoff.jitter is True: pass a number"),
    ("backoff", Backoff(factor=0.5), "backoff.factor is 0.5: pass 1 or more"),
    ("backoff", Backoff(reset_after=-1), "backoff.reset_after is -1: pass 0 or more"),
    ("backoff", Backoff(max_attempts=0), "backoff.max_attempts is 0: pass 1 or more, or None"),
    ("backoff", Backoff(max_attempts=True), "backoff.max_attempts is True: pass an int"),
    ("idle_timeout", 0, "idle_timeout is 0: pass 0.001 or more"),
    ("idle_timeout", -1, "idle_timeout is -1: pass 0.001 or more"),
    ("idle_timeout", float("nan"), "idle_timeout is nan"),
    ("idle_timeout", float("inf"), "idle_timeout is inf"),
    ("idle_timeout", "3", "idle_timeout is '3': pass a number"),
    ("idle_timeout", True, "idle_timeout is True: pass a number"),
    ("idle_timeout", 10**400, "idle_timeout is 1000"),
    ("max_event_bytes", 0, "max_event_bytes is 0: pass 1 or more, or None for no limit"),
    ("utf8", "x", "utf8 is 'x': pass 'replace' or 'strict'"),
    ("tail", "x", "tail is 'x': pass 'discard' or 'dispatch'"),
    ("random", None, "random is None"),
    ("random", 0.5, "random is 0.5"),
    ("on_request", 5, "on_request is 5"),
    ("on_progress", "x", "on_progress is 'x'"),
    ("reconnect", "no", "reconnect is 'no'"),
]


@pytest.mark.parametrize(("name", "value", "message"), WRONG, ids=lambda value: str(value)[:30])
def test_wrong_argument_is_an_error_that_names_it(name: str, value: Any, message: str) -> None:
    with pytest.raises(LocalProtocolError) as caught:
        make_source(**{name: value})
    assert message in str(caught.value)


def test_body_and_json_together_are_an_error() -> None:
    with pytest.raises(LocalProtocolError, match="both body and json are given: pass one"):
        make_source(body=b"", json={})


@pytest.mark.parametrize(
    "backoff",
    [
        {"base": 3.5},
        {"base": -1},
        {"cap": "x"},
        {"cap": float("nan")},
        {"jitter": float("inf")},
        {"factor": 0.99},
        {"factor": None},
        {"reset_after": "x"},
        {"max_attempts": 1.0},
        {"max_attempts": -1},
    ],
)
def test_each_part_of_a_backoff_is_looked_at(backoff: dict[str, Any]) -> None:
    if backoff == {"base": 3.5}:
        make_source(backoff=Backoff(**backoff))
        return
    with pytest.raises(LocalProtocolError, match=f"backoff.{next(iter(backoff))} is "):
        make_source(backoff=Backoff(**backoff))


def test_arguments_at_the_edge_of_what_is_allowed_are_taken() -> None:
    make_source(
        idle_timeout=0.001,
        backoff=Backoff(base=0, factor=1, cap=0, jitter=0, max_attempts=1, reset_after=0),
        retry_statuses=frozenset(),
        headers=(),
        max_event_bytes=1,
    )


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


def test_ending_without_another_attempt_is_always_visible() -> None:
    # Seen in the Model Context Protocol's client: it ends silently, the receiver waits for ever.
    for how in ("end", "lost"):
        source = make_source(reconnect=False)
        connect(source)
        end(source, how)
        assert isinstance(source.next_action(0.0), Stop)


def test_last_event_id_of_the_callers_headers_is_utf8_or_an_error() -> None:
    seeded = EventSourceProtocol("http://a", random=float, headers={"Last-Event-ID": "é".encode()})
    assert seeded.last_event_id == "é"
    with pytest.raises(LocalProtocolError, match="Last-Event-ID is not UTF-8"):
        EventSourceProtocol("http://a", random=float, headers={"last-event-id": b"\xff"})
