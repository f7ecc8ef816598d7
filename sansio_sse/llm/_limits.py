"""How much an assembler holds of what a peer sends."""

from __future__ import annotations

from typing import NamedTuple

from .._checks import check_limit

__all__ = ["Limits"]


class Limits(NamedTuple):
    """What bounds an answer. The first thing that passes one of them raises `LimitExceeded`.

    None is no limit. A character is one of Python's: a code point.

    Attributes:
        max_events: Events of the stream.
        max_data_characters: Data of all events together: what bounds the memory, whatever is in it.
        max_text_characters: Text, reasoning and refusals of all choices together.
        max_arguments_characters: Arguments of one call.
        max_calls: Calls of all choices together.
        max_choices: Choices (candidates).
        max_items: Parts, content blocks or output items.
    """

    max_events: int | None = 1_000_000
    max_data_characters: int | None = 256 * 1024 * 1024
    max_text_characters: int | None = 16 * 1024 * 1024
    max_arguments_characters: int | None = 4 * 1024 * 1024
    max_calls: int | None = 1_000
    max_choices: int | None = 128
    max_items: int | None = 10_000

    def checked(self) -> dict[str, int]:
        """Return the limits by their names, a number for each.

        Raises:
            LocalProtocolError: One is neither None nor an int of 1 or more.
        """
        return {name: check_limit(name, value) for name, value in self._asdict().items()}
