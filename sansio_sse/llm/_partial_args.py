"""Arguments that Gemini streams value by value, each with the JSONPath of its place."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

from ._json import as_text
from ._merge import Pieces, plain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ._journal import Journal

__all__ = ["PartialArguments"]

# The part of JSONPath (RFC 9535) that names one place: `$.name`, `$['name']`, `$["name"]`, `$[0]`.
_STEP = re.compile(
    r"""\.(?P<name>[^.\[\]'"\s*]+)|\[(?P<index>[0-9]{1,9})\]|\['(?P<single>[^'\\]*)'\]|\["(?P<double>[^"\\]*)"\]"""
)
_MAX_DEPTH = 100

# A null may be written as null, or as the name or number of its value in the enumeration.
_TYPES: Mapping[str, tuple[type, ...]] = MappingProxyType(
    {
        "stringValue": (str,),
        "numberValue": (int, float),
        "boolValue": (bool,),
        "nullValue": (type(None), str, int),
    }
)


class PartialArguments:
    """An object that is built from values and their places.

    Attributes:
        open_path: The place of a string that goes on; None if there is none.
    """

    def __init__(self, journal: Journal) -> None:
        self.open_path: str | None = None
        self._journal = journal
        self._root: dict[str, Any] = {}
        # The string at the open path.
        self._string = Pieces("")

    def take(self, piece: dict[str, Any]) -> str | None:
        """Take one entry of `partialArgs`.

        Returns:
            What is wrong with it, so that the call must not be run; None if nothing is.
        """
        path = as_text(piece.get("jsonPath"))
        steps = _steps(path)
        names = [name for name in _TYPES if name in piece]
        if not steps or len(names) != 1:
            return f"no place or no value: {str(piece)[:80]}"
        value = piece[names[0]]
        # A bool is an int to Python.
        wrong = isinstance(value, bool) and names[0] != "boolValue"
        if wrong or not isinstance(value, _TYPES[names[0]]):
            return f"{names[0]} is {str(value)[:80]!r}"
        text = value if isinstance(value, str) and names[0] == "stringValue" else None
        before, self.open_path = self.open_path, None
        if text is not None and piece.get("willContinue"):
            self.open_path = path
        if text is not None and path == before:
            self._string.add(text)
            return None
        if before is not None:
            return f"the string at {before[:80]} did not end"
        if names[0] == "nullValue":
            value = None
        elif text is not None:
            value = self._string = Pieces(text)
        return self._set(steps, value)

    def _set(self, steps: list[str | int], value: Any) -> str | None:
        """Put a value in its place, with the objects and arrays that lead there."""
        place: Any = self._root
        for step, following in zip(steps, [*steps[1:], None], strict=True):
            made: Any = value if following is None else [] if isinstance(following, int) else {}
            wanted = list if isinstance(step, int) else dict
            if not isinstance(place, wanted):
                return f"{step!r} is no place in {type(place).__name__}"
            if isinstance(step, int):
                items = cast("list[Any]", place)
                # An index far behind the end would be an array of nulls as long as the peer likes.
                if step > len(items):
                    return f"index {step} is behind the end of an array of {len(items)}"
                if step == len(items):
                    items.append(made)
                elif following is None:
                    return f"index {step} has a value already"
                place = items[step]
            else:
                members = cast("dict[str, Any]", place)
                if following is None and step in members:
                    return f"{step[:80]!r} has a value already"
                place = members.setdefault(step, made)
        return None

    def value(self) -> dict[str, Any]:
        """Return the object."""
        return cast("dict[str, Any]", plain(self._root))


def _steps(path: str) -> list[str | int]:
    """Return the steps from the root to a place; none if the path is not one that names a place."""
    steps: list[str | int] = []
    position = 1
    while path.startswith("$") and (step := _STEP.match(path, position)):
        index, name = step["index"], step["name"] or step["single"] or step["double"] or ""
        steps.append(name if index is None else int(index))
        position = step.end()
    return steps if position == len(path) and len(steps) <= _MAX_DEPTH else []
