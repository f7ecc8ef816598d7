"""What paragraphs of a report are made of."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ._terminal import Terminal

__all__ = ["Entry", "events", "listed", "loss", "paragraph", "plural", "quoted", "said"]

_LABEL_COLUMNS = 21
_INDENT = " " * (_LABEL_COLUMNS + 2)
_NAME_COLUMNS = 40
# The quotation marks of a name, and the comma behind it.
_NAME_MARKS = 3

# How much of a message of the stream is shown: that of an error may be a page.
_SAID_COLUMNS = 300

# These stand for a space that is part of a name, and no place to break a line, and for the second
# column of a wide character. No text has them: a terminal gets control characters escaped.
_NAME_SPACE = "\0"
_SECOND_COLUMN = "\1"

# Lines longer than this are hard to read, however wide the terminal is.
_MAX_COLUMNS = 100


class Entry(NamedTuple):
    """A finding: what it is about, what it is, and whether that is good."""

    label: str
    text: str
    style: str | None = None
    mark: str = " "


def loss(label: str, text: str) -> Entry:
    """Return the entry for lost or damaged data."""
    return Entry(label, text, "alarm", "!")


def paragraph(entry: Entry, terminal: Terminal) -> str:
    """Return the lines for an entry."""
    text = textwrap.fill(
        entry.text,
        _columns(terminal),
        initial_indent=f"{entry.mark} {entry.label:<{_LABEL_COLUMNS}}",
        subsequent_indent=_INDENT,
        break_on_hyphens=False,
    )
    text = text.replace(_NAME_SPACE, " ").replace(_SECOND_COLUMN, "")
    return terminal.paint(text, entry.style) if entry.style else text


def quoted(name: str, terminal: Terminal) -> str:
    """Return a text of the stream as one word that fits a line."""
    columns = min(_NAME_COLUMNS, _columns(terminal) - len(_INDENT) - _NAME_MARKS)
    return f"'{_spread(terminal.fit(name, columns), terminal).replace(' ', _NAME_SPACE)}'"


def said(text: str, terminal: Terminal) -> str:
    """Return a message that may have text of the stream in it, to be broken into lines."""
    return _spread(terminal.fit(" ".join(text.split()), _SAID_COLUMNS), terminal)


def events(numbers: Sequence[int], count: int) -> str:
    """Say which events; `count` is how many there were."""
    return f"{'event' if count == 1 else 'events'} {listed([str(n) for n in numbers], count)}"


def listed(cases: Sequence[str], count: int) -> str:
    """Join the cases that are known; `count` is how many there were."""
    if count > len(cases):
        return f"{', '.join(cases)} and {count - len(cases)} more"
    if len(cases) > 1:
        return f"{', '.join(cases[:-1])} and {cases[-1]}"
    return cases[0]


def plural(count: int, noun: str) -> str:
    """Return the number with the noun."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _spread(text: str, terminal: Terminal) -> str:
    """Let a wide character count as two, for those who count characters."""
    return "".join(
        character + _SECOND_COLUMN * (terminal.width(character, 2) - 1) for character in text
    )


def _columns(terminal: Terminal) -> int:
    return min(terminal.columns, _MAX_COLUMNS)
