"""How long to wait before a connection is reestablished."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from ._checks import check_int, check_number
from ._errors import LocalProtocolError
from ._limits import MAX_DELAY_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Backoff", "check_backoff"]

# What a base of (almost) nothing grows from: a server that sends `retry: 0` and closes at once
# would be asked again without a pause, for ever.
_LEAST_GROWING_SECONDS = 0.1


class Backoff(NamedTuple):
    """How long to wait before each attempt to reestablish a connection: an immutable value.

    The first delay is the reconnection time: what the server set last with `retry`, else `base`.
    Each further attempt in a row multiplies it by `factor`, up to `cap`. Then a random part is
    added. It is never shorter than the reconnection time, and the specification lets it be longer.

    The row ends, and the delay starts again from the reconnection time, when an event has been
    dispatched or, with `reset_after`, when a connection has been open that long. That a connection
    was opened is not enough: servers that accept and close at once would be hammered.

    Attributes:
        base: The delay in seconds where the server set no reconnection time.
        factor: How many times as long each further delay is; 1 for delays that don't grow.
        cap: What delays grow to, in seconds. A server that asks for more gets it, up to 24.8 days.
        jitter: The random part, at most this many times the delay: 0 for none. It spreads the
            clients of a server that comes back.
        max_attempts: How many attempts in a row may fail; None for no limit. An attempt fails when
            its connection ends before anything ended the row.
        reset_after: How many seconds a connection must be open to end the row; None: the row ends
            with a dispatched event.

    Source: WHATWG HTML, section 9.2.3, "Processing model"; its reconnection time is "in the region
    of a few seconds".
    """

    base: float = 3.0
    factor: float = 2.0
    cap: float = 60.0
    jitter: float = 0.5
    max_attempts: int | None = None
    reset_after: float | None = None

    def delay(
        self,
        delays: int,
        reconnection_time: int | None,
        random: Callable[[], float],
        *,
        floor: float = 0.0,
    ) -> float:
        """Return the delay before the next attempt, in seconds.

        Args:
            delays: How many delays there have been in this row.
            reconnection_time: In milliseconds, as the server set it; None if it did not.
            random: Returns a number from 0 to 1, as `random.random` does.
            floor: A least delay in seconds, before the random part: that of `Retry-After`.
        """
        first = self.base if reconnection_time is None else reconnection_time / 1000
        grown = 0.0
        if delays:
            try:
                grown = max(first, _LEAST_GROWING_SECONDS) * self.factor**delays
            except OverflowError:
                grown = math.inf
        wait = max(first, min(grown, self.cap), floor)
        return min(wait * (1 + self.jitter * random()), MAX_DELAY_SECONDS)


def check_backoff(backoff: object) -> Backoff:
    """Return the value if it is a `Backoff` that makes sense.

    Raises:
        LocalProtocolError: It is not.
    """
    if not isinstance(backoff, Backoff):
        raise LocalProtocolError(f"backoff is {backoff!r}: pass a Backoff")
    check_number("backoff.base", backoff.base)
    check_number("backoff.cap", backoff.cap)
    check_number("backoff.jitter", backoff.jitter)
    check_number("backoff.factor", backoff.factor, least=1)
    if backoff.reset_after is not None:
        check_number("backoff.reset_after", backoff.reset_after)
    attempts = backoff.max_attempts
    if attempts is not None and check_int("backoff.max_attempts", attempts) < 1:
        raise LocalProtocolError(f"backoff.max_attempts is {attempts}: pass 1 or more, or None")
    return backoff
