"""Numbers of tokens, as a peer sends them."""

from __future__ import annotations

from typing import Any

from ._json import as_int

__all__ = ["first_number", "number"]


def number(value: object) -> int:
    """Return a number of tokens; 0 for whatever is none."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return max(as_int(value) or 0, 0)


def first_number(fields: dict[str, Any], *names: str) -> int:
    """Return the first of several fields that holds a number of tokens above 0; else 0."""
    return next((found for name in names if (found := number(fields.get(name)))), 0)
