"""Timing on a machine that others use too: everybody in turn, the best pass counts."""

import gc
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter_ns
from typing import TypeVar

from .cases import chat_payloads

_T = TypeVar("_T")

Pass = Callable[[], int]
"""Goes through a stream once and returns how many nanoseconds it took."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How long to measure.

    Attributes:
        rounds: Passes of each decoder in each case.
        seconds: Time after which a slow decoder gets no more passes, once it had `least`.
        least: Passes that each gets however slow it is.
        check_seconds: How long a decoder may take to be compared with the expected events.
    """

    rounds: int
    seconds: float
    least: int
    check_seconds: float


FULL = Effort(rounds=60, seconds=4.0, least=3, check_seconds=10.0)
QUICK = Effort(rounds=3, seconds=0.5, least=1, check_seconds=5.0)


def one_pass(drain: Callable[[Sequence[_T]], object], items: Sequence[_T]) -> Pass:
    """Make a pass of `drain` over items, with the collector out of the way for everybody."""

    def run() -> int:
        gc.collect()
        gc.disable()
        try:
            start = perf_counter_ns()
            drain(items)
            return perf_counter_ns() - start
        finally:
            gc.enable()

    return run


def floor(chunks: Iterable[bytes]) -> None:
    """Decode each chunk and split it at LF: what is left when nothing is kept and nothing built.

    It is no decoder: it carries nothing from one chunk to the next, and knows no CR and no field.
    """
    for chunk in chunks:
        chunk.decode("utf-8", "replace").split("\n")


def take_turns(passes: Mapping[str, Pass], effort: Effort) -> dict[str, list[int]]:
    """Run all passes round-robin, so that a busy moment of the machine hits everybody alike.

    Returns:
        The nanoseconds of each pass, by name.
    """
    # The imports of all peers make half a million objects. Frozen, they cost the collection
    # between two passes nothing.
    gc.collect()
    gc.freeze()
    samples: dict[str, list[int]] = {name: [] for name in passes}
    spent = dict.fromkeys(passes, 0)
    limit = effort.seconds * 1e9
    names = list(passes)
    for number in range(effort.rounds):
        # Each round starts with another one: none is always next to the same neighbour.
        shift = number % len(names) if names else 0
        for name in names[shift:] + names[:shift]:
            if spent[name] > limit and len(samples[name]) >= effort.least:
                continue
            elapsed = passes[name]()
            samples[name].append(elapsed)
            spent[name] += elapsed
    return samples


def feed_and_loads(feed: Callable[[bytes], object], effort: Effort) -> tuple[float, float]:
    """Compare `feed` of a chat chunk with `json.loads` of its payload.

    Returns:
        Nanoseconds a chunk, and nanoseconds a payload.
    """
    payloads = chat_payloads()
    chunks = [f"data: {payload}\n\n".encode() for payload in payloads]
    samples = take_turns(
        {
            "feed": one_pass(_calling(feed), chunks),
            "loads": one_pass(_calling(json.loads), payloads),
        },
        effort,
    )
    return min(samples["feed"]) / len(chunks), min(samples["loads"]) / len(payloads)


def _calling(function: Callable[[_T], object]) -> Callable[[Sequence[_T]], None]:
    def drain(items: Sequence[_T]) -> None:
        for item in items:
            function(item)

    return drain
