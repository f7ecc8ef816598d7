"""How much memory a stretch of code takes."""

from __future__ import annotations

import tracemalloc
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import sansio_sse

if TYPE_CHECKING:
    from collections.abc import Iterator

# Other threads allocate too, those of a distributed test run for one.
_OURS = [
    tracemalloc.Filter(True, str(folder / "*"))
    for folder in (Path(sansio_sse.__file__).parent, Path(__file__).parent)
]


class Memory:
    """Bytes allocated since the block began.

    Attributes:
        held: What is still there at its end, of the package and of the tests.
        peak: The most at any one time, of all threads.
    """

    held = 0
    peak = 0


@contextmanager
def traced_memory() -> Iterator[Memory]:
    memory = Memory()
    tracemalloc.start()
    try:
        yield memory
        memory.peak = tracemalloc.get_traced_memory()[1]
        traces = tracemalloc.take_snapshot().filter_traces(_OURS).traces
        memory.held = sum(trace.size for trace in traces)
    finally:
        tracemalloc.stop()
