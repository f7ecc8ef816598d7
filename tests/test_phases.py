"""The whole product of phases and inputs, through the public methods alone."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import pytest

from sansio_sse import EventSourceProtocol, LocalProtocolError, ReadyState

# Not public: the table is what is tested here.
from sansio_sse._phases import NEXT_PHASES, Input, Phase

from .sources import EVENT_STREAM, HTML, make_source, open_stream

if TYPE_CHECKING:
    from collections.abc import Callable

LIMIT = 50
OPTIONS: dict[str, dict[str, Any]] = {
    "again": {"reconnect": True},
    "once": {"reconnect": False},
}


def make(options: dict[str, Any]) -> EventSourceProtocol:
    return make_source(
        idle_timeout=3, retry_statuses=[503], max_event_bytes=LIMIT, utf8="strict", **options
    )


def to_ready(options: dict[str, Any]) -> EventSourceProtocol:
    return make(options)


def to_connecting(options: dict[str, Any]) -> EventSourceProtocol:
    source = make(options)
    source.next_action(0.0)
    return source


def to_open(options: dict[str, Any]) -> EventSourceProtocol:
    return open_stream(make(options))


def to_waiting(options: dict[str, Any]) -> EventSourceProtocol:
    # The one phase that a source without reconnection never has.
    source = open_stream(make({**options, "reconnect": True}))
    source.connection_lost(0.0)
    return source


def to_refused(options: dict[str, Any]) -> EventSourceProtocol:
    source = to_connecting(options)
    source.receive_response(404, HTML, 0.0)
    return source


def to_closed(options: dict[str, Any]) -> EventSourceProtocol:
    source = to_open(options)
    source.close()
    return source


REACHED: dict[Phase, Callable[[dict[str, Any]], EventSourceProtocol]] = {
    Phase.READY: to_ready,
    Phase.CONNECTING: to_connecting,
    Phase.OPEN: to_open,
    Phase.WAITING: to_waiting,
    Phase.REFUSED: to_refused,
    Phase.CLOSED: to_closed,
}

# Each input in all the ways that could lead somewhere else. Everything is due at 3.0, but what is
# due for a refused response is due then too: `idle_timeout` is shorter than its own deadline.
GIVEN: dict[Input, list[Callable[[EventSourceProtocol], object]]] = {
    Input.NEXT_ACTION: [
        lambda s: s.next_action(0.0),
        lambda s: s.next_action(3.0),
        # The first one grants a last read, which has passed then.
        lambda s: (s.next_action(3.0), s.next_action(4.0)),
    ],
    Input.TIMEOUT: [lambda s: s.handle_timeout(0.0), lambda s: s.handle_timeout(3.0)],
    Input.RESPONSE: [
        lambda s: s.receive_response(200, EVENT_STREAM, 0.0),
        lambda s: s.receive_response(200, HTML, 0.0),
        lambda s: s.receive_response(204, [], 0.0),
        lambda s: s.receive_response(301, [], 0.0),
        lambda s: s.receive_response(404, EVENT_STREAM, 0.0),
        lambda s: s.receive_response(503, HTML, 0.0),
    ],
    Input.DATA: [
        lambda s: s.feed(b"", 0.0),
        lambda s: s.feed(b"data: x\n\n", 0.0),
        lambda s: s.feed(b"data: " + b"x" * LIMIT, 0.0),
        lambda s: s.feed(b"data: \xff\n\n", 0.0),
        lambda s: s.feed(b"x" * 65536, 0.0),
    ],
    Input.END_OF_BODY: [lambda s: s.end_of_body(0.0)],
    Input.LOST: [
        lambda s: s.connection_lost(0.0),
        lambda s: s.connection_lost(0.0, OSError()),
    ],
    Input.FAIL: [lambda s: s.fail(OSError())],
    Input.CLOSE: [lambda s: s.close()],
}

# Written by hand, from the methods' own words: "Raises: no request is under way", and so on.
ERRORS = {
    (Phase.READY, Input.RESPONSE),
    (Phase.READY, Input.DATA),
    (Phase.READY, Input.END_OF_BODY),
    (Phase.READY, Input.LOST),
    (Phase.CONNECTING, Input.DATA),
    (Phase.CONNECTING, Input.END_OF_BODY),
    (Phase.OPEN, Input.RESPONSE),
    (Phase.WAITING, Input.RESPONSE),
    (Phase.WAITING, Input.DATA),
    (Phase.WAITING, Input.END_OF_BODY),
    (Phase.WAITING, Input.LOST),
    (Phase.REFUSED, Input.RESPONSE),
}

STATES = {
    Phase.READY: ReadyState.CONNECTING,
    Phase.CONNECTING: ReadyState.CONNECTING,
    Phase.OPEN: ReadyState.OPEN,
    Phase.WAITING: ReadyState.CONNECTING,
    Phase.REFUSED: ReadyState.CLOSED,
    Phase.CLOSED: ReadyState.CLOSED,
}

PAIRS = list(product(Phase, Input))


def phase_of(source: EventSourceProtocol) -> Phase:
    return source._phase


def name_of(value: Phase | Input) -> str:
    return value.name


@pytest.mark.parametrize("phase", Phase, ids=name_of)
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_each_phase_can_be_reached_and_has_its_ready_state(
    phase: Phase, options: dict[str, Any]
) -> None:
    source = REACHED[phase](options)
    assert phase_of(source) is phase
    assert source.ready_state is STATES[phase]
    assert source.progress.ready_state is STATES[phase]


def test_pairs_that_the_table_lacks_are_those_that_are_errors() -> None:
    assert set(PAIRS) - set(NEXT_PHASES) == ERRORS
    assert set(NEXT_PHASES) <= set(PAIRS)


@pytest.mark.parametrize(("phase", "what"), PAIRS, ids=name_of)
def test_each_input_leads_in_each_phase_where_the_table_says_and_nowhere_else(
    phase: Phase, what: Input
) -> None:
    reached: set[Phase] = set()
    for options, give in product(OPTIONS.values(), GIVEN[what]):
        source = REACHED[phase](options)
        if (phase, what) not in ERRORS:
            give(source)
            reached.add(phase_of(source))
            continue
        before = (source.progress, source.next_deadline(), source.pending, source.last_event_id)
        with pytest.raises(LocalProtocolError) as caught:
            give(source)
        assert str(caught.value) == f"{what.value} can't come now: the source is {phase.value}"
        assert phase_of(source) is phase
        after = (source.progress, source.next_deadline(), source.pending, source.last_event_id)
        assert after == before
    assert reached == set(NEXT_PHASES.get((phase, what), ()))


def test_table_can_not_be_changed() -> None:
    table: Any = NEXT_PHASES
    with pytest.raises(TypeError):
        table[Phase.READY, Input.DATA] = (Phase.OPEN,)


def test_nothing_leads_out_of_closed() -> None:
    for what in Input:
        assert NEXT_PHASES[Phase.CLOSED, what] == (Phase.CLOSED,)


@pytest.mark.parametrize("phase", Phase, ids=name_of)
@pytest.mark.parametrize("what", [Input.FAIL, Input.CLOSE], ids=name_of)
def test_source_can_be_ended_in_each_phase(phase: Phase, what: Input) -> None:
    assert NEXT_PHASES[phase, what] == (Phase.CLOSED,)
