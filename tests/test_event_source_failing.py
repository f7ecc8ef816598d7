"""The reconnecting event source: what it refuses, does not repeat, and fails with."""

from __future__ import annotations

from typing import Any

import pytest

from sansio_sse import (
    RETRYABLE_STATUSES,
    Event,
    EventSourceProtocol,
    EventTooLarge,
    Progress,
    ReadyState,
    Receive,
    RemoteProtocolError,
    Stop,
    UnexpectedContentType,
    UnexpectedStatus,
)

from .sources import (
    EVENT_STREAM,
    HTML,
    answer,
    connect,
    make_source,
    open_stream,
    opened,
    reconnect,
    refused,
    stop_error,
    waited,
)

LONGEST = (2**31 - 1) / 1000


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


def test_ending_without_another_attempt_is_always_visible() -> None:
    # Seen in the Model Context Protocol's client: it ends silently, the receiver waits for ever.
    for how in ("end", "lost"):
        source = make_source(reconnect=False)
        connect(source)
        end(source, how)
        assert isinstance(source.next_action(0.0), Stop)
