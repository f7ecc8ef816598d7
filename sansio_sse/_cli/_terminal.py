"""Text that any terminal can show: it fits, and it can do nothing but be shown."""

from __future__ import annotations

import json
import os
import re
import shutil
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TextIO

__all__ = ["MIN_COLUMNS", "Terminal"]

# Select Graphic Rendition parameters (ECMA-48, 8.3.117).
_STYLES = {"faint": "2", "alarm": "31", "heading": "1", "notice": "33"}

# What JSON holds beside strings is plain ASCII.
_NOT_PLAIN = re.compile(r"[^\n -~]")

# Less than this leaves nothing of a row to be shown.
MIN_COLUMNS = 60


class Terminal:
    """What is known about the place where the text goes.

    Args:
        columns: How wide a line may be.
        encoding: What the output encodes text with. A character that it lacks is shown escaped.
        colour: Whether to send colours.

    Attributes:
        columns: How wide a line may be.
        ellipsis: What stands for text that is left out.
    """

    def __init__(self, columns: int, encoding: str = "utf-8", *, colour: bool = False) -> None:
        self.columns = max(columns, MIN_COLUMNS)
        self._encoding = encoding
        self._colour = colour
        # Streams repeat their characters; looking one up costs a microsecond.
        self._cell = lru_cache(maxsize=4096)(self._make_cell)
        self.ellipsis = "…" if self._encodes("…") else "..."

    @classmethod
    def behind(cls, output: TextIO) -> Terminal:
        """Describe what is behind a text stream.

        Colour is for terminals that know it, and is off where the user says so in NO_COLOR
        (https://no-color.org).
        """
        colour = (
            output.isatty()
            and not os.environ.get("NO_COLOR")
            and os.environ.get("TERM", "dumb") != "dumb"
        )
        columns = shutil.get_terminal_size().columns
        # A text stream that holds its text in memory has no encoding.
        return cls(columns, output.encoding or "utf-8", colour=colour)

    def paint(self, text: str, style: str) -> str:
        """Return the text with colour, if there is any: `faint`, `heading`, `notice`, `alarm`."""
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if self._colour and text else text

    def fit(self, text: str, columns: int) -> str:
        """Return as much of the text as fits, with a sign that there is more if there is.

        Control characters, line ends and whatever else has no shape of its own are escaped as in
        a Python string: a hostile text can't reach the terminal behind it.
        """
        return self._fit(text, columns)[0]

    def width(self, text: str, columns: int) -> int:
        """Return how many of the columns `fit` takes for the text."""
        return self._fit(text, columns)[1]

    def column(self, text: str, columns: int) -> str:
        """Return the text as `fit` does, filled up with spaces on its right."""
        fitting, width = self._fit(text, columns)
        return fitting + " " * (columns - width)

    def tail_column(self, text: str, columns: int) -> str:
        """Return a column as `column` does, with the end of a text that doesn't fit."""
        if len(text) > columns and (tail := text[len(self.ellipsis) - columns :]).isascii():
            text = self.ellipsis + tail
        return self.column(text, columns)

    def escape_json(self, text: str) -> str:
        """Return JSON in which characters are escaped that can't be shown, or do more than that."""
        return _NOT_PLAIN.sub(lambda match: self._escaped(match[0]), text)

    def _fit(self, text: str, columns: int) -> tuple[str, int]:
        columns = max(columns, 0)
        more = self.ellipsis[:columns]
        plain = text[:columns]
        if plain.isascii() and plain.isprintable():
            if len(text) <= columns:
                return text, len(text)
            return plain[: columns - len(more)] + more, columns
        cells: list[tuple[str, int]] = []
        used = 0
        # Marks that combine with the character before them need no room. There is a limit to how
        # many of them make sense.
        for character in text[: 4 * columns]:
            cell = self._cell(character)
            cells.append(cell)
            used += cell[1]
            if used > columns:
                break
        else:
            if len(text) <= 4 * columns:
                return "".join(shown for shown, _ in cells), used
        while used > columns - len(more):
            used -= cells.pop()[1]
        return "".join(shown for shown, _ in cells) + more, used + len(more)

    def _make_cell(self, character: str) -> tuple[str, int]:
        """Return how a character is shown, and how many columns that takes."""
        if not character.isprintable():
            escaped = character.encode("unicode_escape").decode("ascii")
            return escaped, len(escaped)
        if not self._encodes(character):
            escaped = character.encode("ascii", "backslashreplace").decode("ascii")
            return escaped, len(escaped)
        if unicodedata.category(character) in ("Mn", "Me"):
            return character, 0
        # "Wide" and "fullwidth" take two columns (Unicode Standard Annex #11).
        return character, 2 if unicodedata.east_asian_width(character) in "WF" else 1

    def _escaped(self, character: str) -> str:
        if character.isprintable() and self._encodes(character):
            return character
        return json.dumps(character)[1:-1]

    def _encodes(self, character: str) -> bool:
        try:
            character.encode(self._encoding)
        except UnicodeEncodeError:
            return False
        return True
