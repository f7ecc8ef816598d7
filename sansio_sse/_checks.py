"""Checks of what callers pass: they may have no type checker."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast

from ._errors import LocalProtocolError

__all__ = [
    "LINE_END",
    "check_bool",
    "check_bytes",
    "check_callable",
    "check_choice",
    "check_id",
    "check_int",
    "check_ints",
    "check_limit",
    "check_number",
    "check_one_line",
    "check_str",
    "check_view",
]

_C = TypeVar("_C", bound=Callable[..., Any])

LINE_END = re.compile("\r\n|\r|\n")
"""The line ends of an event stream, and no others: U+2028 and its like are data."""


_NO_LIMIT = 2**63

_BYTES_TYPES: tuple[type, ...] = (bytes, bytearray, memoryview)


def check_view(data: bytes | bytearray | memoryview) -> memoryview:
    """Return a view of the bytes of a buffer.

    Raises:
        TypeError: It is not one of the three.
    """
    if not isinstance(data, _BYTES_TYPES):
        raise TypeError(
            f"feed() takes bytes, not {type(data).__name__}: pass the bytes of the stream as they "
            "were received, not decoded"
        )
    view = memoryview(data)
    return view if view.format == "B" and view.ndim == 1 else memoryview(bytes(view))


def check_str(name: str, value: object) -> str:
    """Return the value if it is text: as a plain str, for a subclass may show another text."""
    if not isinstance(value, str):
        raise LocalProtocolError(f"{name} is {_shown(value)}: pass a str")
    return str.__str__(value)


def check_bool(name: str, value: object) -> bool:
    """Return the value if it is True or False."""
    if not isinstance(value, bool):
        raise LocalProtocolError(f"{name} is {_shown(value)}: pass True or False")
    return value


def check_callable(name: str, value: _C) -> _C:
    """Return the value if it can be called."""
    if not callable(value):
        raise LocalProtocolError(f"{name} is {_shown(value)}: pass something that can be called")
    return value


def check_bytes(name: str, value: object) -> bytes:
    """Return the value if it is bytes."""
    if not isinstance(value, bytes):
        # Not shown: it may be long, or a secret.
        raise LocalProtocolError(f"{name} is of type {type(value).__name__}: pass bytes")
    return value


def check_int(name: str, value: object) -> int:
    """Return the value if it is an integer."""
    # A bool is an int to Python, and a slip to everyone else.
    if not isinstance(value, int) or isinstance(value, bool):
        raise LocalProtocolError(f"{name} is {_shown(value)}: pass an int")
    return value


def check_ints(name: str, value: object) -> frozenset[int]:
    """Return the values if they are integers."""
    if not isinstance(value, Iterable):
        raise LocalProtocolError(f"{name} is {_shown(value)}: pass a collection of ints")
    return frozenset(check_int(f"one of {name}", item) for item in cast("Iterable[object]", value))


def check_limit(name: str, value: object) -> int:
    """Return the value if it is a limit, and for None one that nothing reaches."""
    if value is None:
        return _NO_LIMIT
    limit = check_int(name, value)
    if limit < 1:
        raise LocalProtocolError(f"{name} is {_shown(limit)}: pass 1 or more, or None for no limit")
    return limit


def check_number(name: str, value: object, least: float = 0) -> float:
    """Return the value if it is a finite number that is large enough."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise LocalProtocolError(f"{name} is {_shown(value)}: pass a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    # Written so that NaN does not pass.
    if not least <= number < math.inf:
        raise LocalProtocolError(
            f"{name} is {_shown(value)}: pass {least} or more, and less than inf"
        )
    return number


def check_choice(name: str, value: object, first: str, second: str) -> bool:
    """Return whether the value is the second of two words; it must be one of them."""
    if value not in (first, second):
        raise LocalProtocolError(f"{name} is {_shown(value)}: pass {first!r} or {second!r}")
    return value == second


def check_one_line(name: str, value: object) -> str:
    """Return the value if it is text without a line end."""
    text = check_str(name, value)
    if LINE_END.search(text):
        raise LocalProtocolError(f"{name} has a line end in it: {_shown(text)}")
    return text


def check_id(name: str, value: object) -> str:
    """Return the value if it is an id that a stream can set."""
    text = check_one_line(name, value)
    if "\0" in text:
        raise LocalProtocolError(f"{name} has a NUL in it, clients ignore that: {_shown(text)}")
    return text


def _shown(value: object) -> str:
    """Return a short text for a message."""
    try:
        text = repr(value)
    except ValueError:
        # An integer of more than 4,300 digits.
        return f"an unprintable {type(value).__name__}"
    return text if len(text) <= 80 else f"{text[:80]}…"
