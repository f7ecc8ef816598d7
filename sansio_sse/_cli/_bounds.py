"""What is kept of a stream that may go on without end."""

from __future__ import annotations

from typing import Generic, TypeVar

__all__ = ["MAX_JSON_CHARACTERS", "MAX_NAME_CHARACTERS", "SAMPLE_SIZE", "Sample"]

_T = TypeVar("_T")

# How many cases of one finding are kept: enough to see what is going on, and a bound for what a
# hostile stream can make this hold and print.
SAMPLE_SIZE = 10

# Text of the stream that is kept in a finding.
MAX_NAME_CHARACTERS = 200

# Parsing takes up to twenty times the size of the text (`[[],[],…`), and decides a few lines of the
# findings. Larger data is not judged.
MAX_JSON_CHARACTERS = 4 * 1024 * 1024


class Sample(Generic[_T]):
    """The first few cases of something that may happen without end, and how many there were."""

    def __init__(self) -> None:
        self.count = 0
        self.first: list[_T] = []

    @property
    def full(self) -> bool:
        """Whether further cases are only counted."""
        return len(self.first) >= SAMPLE_SIZE

    def add(self, case: _T) -> None:
        """Count a case, and keep it if it is one of the first."""
        self.count += 1
        if not self.full:
            self.first.append(case)
