"""The reconnecting event source: how long it waits, and for what. The test owns the clock."""

from __future__ import annotations

import pytest

from sansio_sse import (
    RETRYABLE_STATUSES,
    Backoff,
    Connect,
    Event,
    EventSourceProtocol,
    ReadyState,
    Receive,
    RemoteProtocolError,
    Request,
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
    stop_error,
    waited,
)

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
