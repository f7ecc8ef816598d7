"""What holds of the event source whatever comes, and whenever it comes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sansio_sse import (
    Backoff,
    Connect,
    Event,
    EventSourceProtocol,
    EventStreamParser,
    LocalProtocolError,
    ReadyState,
    Receive,
    Stop,
    Wait,
    retry_after,
)
from sansio_sse._phases import NEXT_PHASES, Input

from .sources import EVENT_STREAM, connect, open_stream
from .strategies import STREAMS, cuttings

if TYPE_CHECKING:
    from collections.abc import Callable

LONGEST = (2**31 - 1) / 1000

OPTIONS = st.fixed_dictionaries(
    {
        "reconnect": st.sampled_from([None, True, True, False]),
        "body": st.sampled_from([None, None, b""]),
        "idle_timeout": st.none() | st.floats(0.001, 1000),
        "retry_statuses": st.sampled_from([(), (503,), (200, 429, 503)]),
        "max_event_bytes": st.sampled_from([None, 30]),
        "utf8": st.sampled_from(["replace", "replace", "strict"]),
        "tail": st.sampled_from(["discard", "dispatch"]),
        "last_event_id": st.sampled_from(["", "seed", "\x01"]),
        "backoff": st.builds(
            Backoff,
            base=st.floats(0, 1e7),
            factor=st.floats(1, 100),
            cap=st.floats(0, 1e9),
            jitter=st.floats(0, 3),
            max_attempts=st.none() | st.integers(1, 5),
            reset_after=st.none() | st.floats(0, 100),
        ),
    }
)

HEADERS = st.sampled_from(
    [
        EVENT_STREAM,
        EVENT_STREAM,
        [("Content-Type", "text/html"), ("Retry-After", "77")],
        [("Retry-After", "9" * 30)],
        [("Retry-After", "x")],
        [],
    ]
)
STATUSES = st.sampled_from([200, 200, 200, 204, 404, 429, 503])
BODIES = st.sampled_from(
    [
        b"",
        b": c\n",
        b"data: x\n\n",
        b"id: 5\ndata: y\n\ndata",
        b"retry: 0\n",
        b"retry: 5000\n\n",
        b"retry: " + b"9" * 300 + b"\n",
        b"\xff",
        b"data: " + b"x" * 40,
        b"x" * 70_000,
    ]
)

# An input: which it is, and how it is given at a time.
INPUTS = st.one_of(
    st.just((Input.NEXT_ACTION, ())),
    st.just((Input.NEXT_ACTION, ())),
    st.just((Input.TIMEOUT, ())),
    st.tuples(st.just(Input.RESPONSE), st.tuples(STATUSES, HEADERS)),
    st.tuples(st.just(Input.DATA), st.tuples(BODIES)),
    st.just((Input.END_OF_BODY, ())),
    st.tuples(st.just(Input.LOST), st.sampled_from([(), (OSError("reset"),)])),
)
ENDINGS = st.sampled_from([(Input.FAIL, ()), (Input.CLOSE, ())])
# How long nothing happens before: a number, or until something is due.
PAUSES = st.one_of(st.just(0.0), st.floats(0, 100), st.just("due"), st.just("due"))


def give(source: EventSourceProtocol, what: Input, values: Any, now: float) -> Any:
    calls: dict[Input, Callable[[], Any]] = {
        Input.NEXT_ACTION: lambda: source.next_action(now),
        Input.TIMEOUT: lambda: source.handle_timeout(now),
        Input.RESPONSE: lambda: source.receive_response(values[0], values[1], now, utc=now),
        Input.DATA: lambda: source.feed(values[0], now),
        Input.END_OF_BODY: lambda: source.end_of_body(now),
        Input.LOST: lambda: source.connection_lost(now, *values),
        Input.FAIL: lambda: source.fail(KeyError("fail")),
        Input.CLOSE: source.close,
    }
    return calls[what]()


@settings(max_examples=300, deadline=None)
@given(
    options=OPTIONS,
    share=st.floats(0, 1),
    steps=st.lists(st.tuples(PAUSES, INPUTS), max_size=30),
    last=st.lists(st.tuples(PAUSES, st.one_of(ENDINGS, INPUTS)), max_size=4),
)
def test_whatever_comes_whenever_it_comes_the_source_keeps_its_word(
    options: dict[str, Any], share: float, steps: list[Any], last: list[Any]
) -> None:
    source = EventSourceProtocol("http://a", random=lambda: share, **options)
    backoff: Backoff = options["backoff"]
    now = 0.0
    connects = 0
    stop: Stop | None = None
    id_before = options["last_event_id"]
    for pause, (what, values) in steps + last:
        deadline = source.next_deadline()
        if pause == "due":
            now = max(now, deadline or now)
        else:
            now += pause
        delay_before = source.progress.delay
        phase = source._phase
        state = source.ready_state
        if (phase, what) not in NEXT_PHASES:
            with pytest.raises(LocalProtocolError):
                give(source, what, values, now)
            assert source._phase is phase
            continue
        result = give(source, what, values, now)
        assert source._phase in NEXT_PHASES[phase, what]
        match what, result:
            case ((Input.DATA | Input.END_OF_BODY), list()):
                assert all(isinstance(event, Event) for event in result)
                assert state is ReadyState.OPEN or not result
            case Input.NEXT_ACTION, Connect(request):
                connects += 1
                assert deadline is None or now >= deadline
                assert request.attempt == connects
            case Input.NEXT_ACTION, Wait(seconds):
                assert deadline is not None
                assert 0 <= seconds <= LONGEST
                assert now + seconds == pytest.approx(source.next_deadline())
            case Input.NEXT_ACTION, Receive(timeout):
                assert timeout is None or timeout > 0
            case Input.NEXT_ACTION, _:
                assert isinstance(result, Stop)
                assert stop is None or result == stop
                stop = result
            case _:
                assert result is None
        assert source.progress.attempt == connects
        if stop is not None:
            assert source.ready_state is ReadyState.CLOSED
            assert source.next_deadline() is None
        delay = source.progress.delay
        if delay is not None and delay_before is None:
            time = source.reconnection_time
            floor = backoff.base if time is None else time / 1000
            if what is Input.RESPONSE:
                floor = max(floor, retry_after(values[1], utc=now) or 0)
            assert min(floor, LONGEST) <= delay <= LONGEST
            assert source.next_deadline() == now + delay
            assert what not in {Input.DATA, Input.FAIL, Input.CLOSE}
        # Nothing but whole blocks of an open stream sets the id.
        if state is not ReadyState.OPEN or what not in {Input.DATA, Input.END_OF_BODY}:
            assert source.last_event_id == id_before
        id_before = source.last_event_id
    assert source.last_event_id in {options["last_event_id"], "5"}


def whole_blocks(stream: bytes) -> bytes:
    """What is left of a stream that ends anywhere: all up to its last blank line."""
    lines = re.findall(rb"[^\r\n]*(?:\r\n|\r|\n)", stream)
    for count in range(len(lines), 0, -1):
        if not lines[count - 1].strip(b"\r\n"):
            return b"".join(lines[:count])
    return b""


@settings(deadline=None)
@given(
    streams=st.lists(st.tuples(cuttings(STREAMS), st.booleans()), min_size=1, max_size=4),
    seed=st.sampled_from(["", "seed"]),
)
def test_events_and_ids_are_those_of_a_parser_that_got_the_same_whole_blocks(
    streams: list[tuple[list[bytes], bool]], seed: str
) -> None:
    source = EventSourceProtocol("http://a", random=lambda: 0.0, last_event_id=seed)
    tracked = seed
    now = 0.0
    for chunks, is_lost in streams:
        open_stream(source, now)
        events = [event for chunk in chunks for event in source.feed(chunk, now)]
        if is_lost:
            source.connection_lost(now)
        else:
            assert source.end_of_body(now) == []
        parser = EventStreamParser(last_event_id=tracked)
        assert events == parser.feed(whole_blocks(b"".join(chunks)))
        tracked = parser.last_event_id
        assert source.last_event_id == tracked
        now = source.next_deadline() or now
    sent = connect(source, now).header("Last-Event-ID")
    assert sent == (tracked.encode() or None) or source.last_event_id_withheld
