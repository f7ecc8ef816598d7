"""Items as the rows of a table, one line each, and the findings below it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._events import Comment, Event, Retry
from ._report import report

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ._findings import Findings
    from ._scanner import Row
    from ._terminal import Terminal

__all__ = ["Table"]

_NUMBER_COLUMNS = 4
_OFFSET_COLUMNS = 8
_SECONDS_COLUMNS = 8
_SIZE_COLUMNS = 6

# More than what comes before the text in a chunk of any LLM API.
_COMPARED_CHARACTERS = 2048

_MAX_TYPE_COLUMNS = 40


class Table:
    """Makes text of rows as they come.

    The columns can't wait for the longest value. They have a width that suits the terminal; only
    that of the ids, which most streams don't use, grows when it has to.

    Args:
        terminal: Where the text goes.
        timed: Whether there is a column for the time.
    """

    def __init__(self, terminal: Terminal, *, timed: bool) -> None:
        self._terminal = terminal
        self._timed = timed
        self._headed = False
        # The beginning of the last event's data.
        self._previous = ""
        self._type_columns = min(terminal.columns // 5, _MAX_TYPE_COLUMNS)
        self._id_columns = len("id")
        self._max_id_columns = max(6, terminal.columns // 10)

    def rows(self, rows: Sequence[Row], seconds: float) -> str:
        """Return the lines for these rows, and above the first of all the names of the columns.

        Args:
            rows: The next rows.
            seconds: When they came.
        """
        return "".join(f"{line.rstrip()}\n" for line in self._lines(rows, seconds))

    def findings(self, findings: Findings) -> str:
        """Return what was found."""
        return report(findings, self._terminal)

    def _lines(self, rows: Sequence[Row], seconds: float) -> Iterator[str]:
        terminal = self._terminal
        time = f"{seconds:.3f}"
        for row in rows:
            item = row.item
            if isinstance(item, Event):
                needed = terminal.width(_shown_id(item), self._max_id_columns)
                self._id_columns = max(self._id_columns, needed)
            if not self._headed:
                self._headed = True
                left = self._left("#", "byte", "seconds")
                yield terminal.paint(left + self._middle("type", "id", "size") + "data", "heading")
            number = "" if row.number is None else str(row.number)
            left = self._left(number, str(row.offset), time)
            match item:
                case Event():
                    size = len(item.data) if item.data.isascii() else len(item.data.encode())
                    middle = self._middle(item.type, _shown_id(item), str(size))
                    room = self._room(left, str(size))
                    yield terminal.paint(left, "faint") + middle + self._preview(item.data, room)
                case Comment():
                    text = self._other(left, "(comment)", item.text.removeprefix(" "))
                    yield terminal.paint(left + text, "faint")
                case Retry():
                    text = self._other(left, "(retry)", f"{item.milliseconds} ms")
                    yield terminal.paint(left + text, "faint")
                case _:
                    text = f"{item.name}: {item.value}" if item.value else item.name
                    text = self._other(left, "(unknown)", text)
                    yield terminal.paint(left, "faint") + terminal.paint(text, "notice")

    def _left(self, number: str, offset: str, time: str) -> str:
        left = f"{number:>{_NUMBER_COLUMNS}}  {offset:>{_OFFSET_COLUMNS}}  "
        return f"{left}{time:>{_SECONDS_COLUMNS}}  " if self._timed else left

    def _middle(self, kind: str, event_id: str, size: str) -> str:
        kind = self._terminal.tail_column(kind, self._type_columns)
        event_id = self._terminal.column(event_id, self._id_columns)
        return f"{kind}  {event_id}  {size:>{_SIZE_COLUMNS}}  "

    def _room(self, left: str, size: str) -> int:
        """Return how many columns the preview has. Values that outgrew theirs take some of it."""
        gaps = 6
        middle = self._type_columns + self._id_columns + max(len(size), _SIZE_COLUMNS) + gaps
        return self._terminal.columns - len(left) - middle

    def _other(self, left: str, kind: str, text: str) -> str:
        """Return what stands right of `left` for something that is no event."""
        return self._middle(kind, "", "") + self._terminal.fit(text, self._room(left, ""))

    def _preview(self, data: str, room: int) -> str:
        """Return what fits, beginning near the first difference from the event before.

        Most events repeat who answers before they come to the answer.
        """
        terminal = self._terminal
        beginning = data[:_COMPARED_CHARACTERS]
        previous, self._previous = self._previous, beginning
        if len(data) > room > 2 * len(terminal.ellipsis) and beginning != previous:
            # Some of what they share tells where in the data this is.
            start = _common(beginning, previous) - room // 3
            start = min(start, len(data) - room + len(terminal.ellipsis))
            if start > room // 3:
                data = data[start : start + _COMPARED_CHARACTERS]
                return terminal.ellipsis + terminal.fit(data, room - len(terminal.ellipsis))
        return terminal.fit(data, room)


def _shown_id(event: Event) -> str:
    """Return what stands for the id: an empty one resets the last event ID, and must be seen."""
    return '""' if event.id == "" else event.id or ""


def _common(text: str, other: str) -> int:
    """Return how many characters the texts have in common from their start."""
    low, high = 0, min(len(text), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if text.startswith(other[:middle]):
            low = middle
        else:
            high = middle - 1
    return low
