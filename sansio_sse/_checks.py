"""Checks of what callers pass: they may have no type checker."""

from __future__ import annotations

import re

from ._errors import LocalProtocolError

__all__ = ["LINE_END", "check_bytes", "check_id", "check_int", "check_one_line", "check_str"]

LINE_END = re.compile("\r\n|\r|\n")
"""The line ends of an event stream, and no others: U+2028 and its like are data."""


_BYTES_TYPES: tuple[type, ...] = (bytes, bytearray, memoryview)


def check_bytes(data: bytes | bytearray | memoryview) -> bytes:
    """Return the bytes of a buffer, which stays the caller's.

    Raises:
        TypeError: It is not one of the three.
    """
    if isinstance(data, _BYTES_TYPES):
        return bytes(data)
    raise TypeError(
        f"feed() takes bytes, not {type(data).__name__}: pass the bytes of the stream as they "
        "were received, not decoded"
    )


def check_str(name: str, value: object) -> str:
    """Return the value if it is text."""
    if not isinstance(value, str):
        raise LocalProtocolError(f"{name} is {_short(value)}: pass a str")
    return value


def check_int(name: str, value: object) -> int:
    """Return the value if it is an integer."""
    # A bool is an int to Python, and a slip to everyone else.
    if not isinstance(value, int) or isinstance(value, bool):
        raise LocalProtocolError(f"{name} is {_short(value)}: pass an int")
    return value


def check_one_line(name: str, value: object) -> str:
    """Return the value if it is text without a line end."""
    text = check_str(name, value)
    if LINE_END.search(text):
        raise LocalProtocolError(f"{name} has a line end in it: {_short(text)}")
    return text


def check_id(name: str, value: object) -> str:
    """Return the value if it is an id that a stream can set."""
    text = check_one_line(name, value)
    if "\0" in text:
        raise LocalProtocolError(f"{name} has a NUL in it, clients ignore that: {_short(text)}")
    return text


def _short(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 80 else f"{shown[:80]}…"
