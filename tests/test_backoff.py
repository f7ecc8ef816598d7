"""How long to wait."""

from __future__ import annotations

import math
import pickle
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sansio_sse import Backoff

LONGEST = (2**31 - 1) / 1000


def none() -> float:
    return 0.0


def delays(backoff: Backoff, reconnection_time: int | None, count: int = 8) -> list[float]:
    return [backoff.delay(failures, reconnection_time, none) for failures in range(count)]


def test_defaults_are_those_that_are_documented() -> None:
    assert Backoff() == Backoff(
        base=3.0, factor=2.0, cap=60.0, jitter=0.5, max_attempts=None, reset_after=None
    )


def test_backoff_is_an_immutable_value() -> None:
    backoff = Backoff(base=1)
    with pytest.raises(AttributeError):
        setattr(backoff, "base", 2)  # noqa: B010 (a type checker knows it too)
    assert backoff._replace(base=2) == Backoff(base=2)
    assert hash(backoff) == hash(Backoff(base=1))
    assert pickle.loads(pickle.dumps(backoff)) == backoff


@pytest.mark.parametrize(
    ("backoff", "reconnection_time", "expected"),
    [
        (Backoff(), None, [3, 6, 12, 24, 48, 60, 60, 60]),
        (Backoff(base=0.05, cap=0.3), None, [0.05, 0.2, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3]),
        (Backoff(factor=1), None, [3] * 8),
        (Backoff(factor=1.5, cap=10), None, [3, 4.5, 6.75, 10, 10, 10, 10, 10]),
        # The server's time is the base from then on, whatever `base` is.
        (Backoff(), 250, [0.25, 0.5, 1, 2, 4, 8, 16, 32]),
        (Backoff(base=100), 1000, [1, 2, 4, 8, 16, 32, 60, 60]),
        # The cap is for what grows: a server that asks for more gets it.
        (Backoff(), 90_000, [90] * 8),
        (Backoff(cap=0), 1000, [1] * 8),
        # A base of (almost) nothing grows too.
        (Backoff(), 0, [0, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8]),
        (Backoff(base=0), None, [0, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8]),
        (Backoff(factor=1), 0, [0] + [0.1] * 7),
    ],
)
def test_delays_start_at_the_reconnection_time_and_grow_to_the_cap(
    backoff: Backoff, reconnection_time: int | None, expected: list[float]
) -> None:
    assert delays(backoff, reconnection_time) == pytest.approx(expected)


def test_first_delay_is_not_doubled() -> None:
    # Seen in requests-sse and aiohttp2: a base of 0.05 s made a first delay of 0.1 s.
    assert Backoff(base=0.05).delay(0, None, none) == 0.05


@pytest.mark.parametrize("failures", [0, 1, 7])
@pytest.mark.parametrize("jitter", [0, 0.5, 2])
def test_jitter_is_proportional_and_only_adds(failures: int, jitter: float) -> None:
    backoff = Backoff(jitter=jitter)
    least = backoff.delay(failures, None, none)
    for share in (0.0, 0.25, 1.0):
        delay = backoff.delay(failures, None, iter([share]).__next__)
        assert delay == pytest.approx(least * (1 + jitter * share))


def test_jitter_comes_from_the_callable_alone() -> None:
    backoff = Backoff()
    first, second = random.Random(7), random.Random(7)
    seen = [backoff.delay(n, None, first.random) for n in range(5)]
    assert seen == [backoff.delay(n, None, second.random) for n in range(5)]
    others = random.Random(8)
    assert seen != [backoff.delay(n, None, others.random) for n in range(5)]


def test_clients_of_a_server_that_comes_back_are_spread() -> None:
    seed = random.Random(1)
    seen = [Backoff().delay(0, None, seed.random) for _ in range(200)]
    assert min(seen) >= 3
    assert max(seen) <= 4.5
    assert max(seen) - min(seen) > 1.2


@pytest.mark.parametrize(
    ("floor", "failures", "expected"),
    [(0, 0, 3), (2, 0, 3), (5, 0, 5), (5, 1, 6), (120, 0, 120), (120, 9, 120), (1e9, 0, LONGEST)],
)
def test_floor_is_a_least_delay(floor: float, failures: int, expected: float) -> None:
    assert Backoff().delay(failures, None, none, floor=floor) == expected


def test_jitter_comes_on_top_of_the_floor() -> None:
    assert Backoff().delay(0, None, lambda: 1.0, floor=10) == 15


@pytest.mark.parametrize("reconnection_time", [2**31, 99_999_999_999, 10**20, 10**300 - 1])
def test_huge_reconnection_time_gives_the_longest_delay(reconnection_time: int) -> None:
    # Seen in three clients: OverflowError, and the event is lost.
    for failures in (0, 1, 10_000):
        assert Backoff().delay(failures, reconnection_time, lambda: 1.0) == LONGEST


def test_longest_delay_is_one_that_timers_take() -> None:
    assert Backoff(jitter=0).delay(0, 2**31 - 1, none) == LONGEST
    assert Backoff(jitter=0).delay(0, 2**31 - 2, none) < LONGEST
    assert Backoff(jitter=1).delay(0, 2**31 - 1, lambda: 1.0) == LONGEST


@pytest.mark.parametrize("factor", [1.0, 2.0, 2, 1e300])
def test_number_of_failures_has_no_limit(factor: float) -> None:
    backoff = Backoff(factor=factor, cap=60)
    for failures in (1000, 1024, 100_000):
        assert backoff.delay(failures, None, none) == (3 if factor == 1 else 60)


@given(
    backoff=st.builds(
        Backoff,
        base=st.floats(0, 1e6),
        factor=st.floats(1, 1e3),
        cap=st.floats(0, 1e9),
        jitter=st.floats(0, 10),
    ),
    share=st.floats(0, 1),
    failures=st.integers(0, 2000),
    reconnection_time=st.none() | st.integers(0, 10**300),
    floor=st.floats(0, 1e9),
)
def test_delay_is_never_too_short_or_too_long(
    backoff: Backoff, share: float, failures: int, reconnection_time: int | None, floor: float
) -> None:
    first = backoff.base if reconnection_time is None else reconnection_time / 1000
    delay = backoff.delay(failures, reconnection_time, lambda: share, floor=floor)
    assert min(max(first, floor), LONGEST) <= delay <= LONGEST
    assert delay <= max(first, floor, backoff.cap) * (1 + backoff.jitter) * (1 + 1e-9)
    further = backoff.delay(failures + 1, reconnection_time, lambda: share, floor=floor)
    assert further >= delay or math.isclose(further, delay)
