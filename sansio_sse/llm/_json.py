"""Reading JSON of a peer: what may be missing or of another kind, and what must be exact."""

from __future__ import annotations

import json
from collections import Counter
from math import isfinite
from typing import TYPE_CHECKING, Any, NoReturn, TypeGuard

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "BadArguments",
    "as_digits",
    "as_int",
    "as_list",
    "as_object",
    "as_objects",
    "as_text",
    "dump",
    "has_duplicate_keys",
    "is_list",
    "is_object",
    "load",
    "read_arguments",
]


# Of a payload. Far more than any has, and far from where Python ends a recursion.
_MAX_DEPTH = 100


class BadArguments(Exception):
    """The text of arguments is not exactly one JSON object.

    Attributes:
        code: The stable code.
    """

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    """Whether the value is an object."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[Any]]:
    """Whether the value is an array."""
    return isinstance(value, list)


def as_object(value: object) -> dict[str, Any]:
    """Return the value if it is an object, else an empty one."""
    return value if is_object(value) else {}


def as_list(value: object) -> list[Any]:
    """Return the value if it is an array, else an empty one."""
    return value if is_list(value) else []


def as_objects(value: object) -> list[dict[str, Any]]:
    """Return the objects of an array; whatever else is in it is left out."""
    return [item for item in as_list(value) if is_object(item)]


def as_text(value: object) -> str:
    """Return the value if it is text, else an empty one: null, absent and empty mean the same."""
    return value if isinstance(value, str) else ""


def as_int(value: object) -> int | None:
    """Return the value if it is an integer: not true or false, which are integers to Python."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def as_digits(value: object) -> int | None:
    """Return the index that a text of digits or a whole float stands for."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        return int(value)
    return int(value) if isinstance(value, float) and value.is_integer() and value >= 0 else None


def load(text: str, loads: Callable[[str], Any]) -> Any:
    """Return the value of a JSON text that a peer sent.

    Raises:
        ValueError: It is nested so deep that what handles it later would recurse without end.
        Whatever `loads` raises.
    """
    value = loads(text)
    level: list[Any] = [value]
    if text.count("[") + text.count("{") > _MAX_DEPTH:
        for _ in range(_MAX_DEPTH):
            level = [
                child
                for each in level
                for child in (each.values() if is_object(each) else as_list(each))
            ]
        if level:
            raise ValueError(f"nested deeper than {_MAX_DEPTH} levels")
    return value


def dump(value: object) -> str:
    """Return compact JSON; not finite numbers stay what they are, which is no JSON."""
    try:
        # A parser of the caller's may make numbers of its own kind: `decimal.Decimal`.
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=float)
    except (TypeError, ValueError) as error:
        return f"not JSON: {error}"


def _refuse_constant(constant: str) -> NoReturn:
    raise BadArguments("arguments_invalid_json", f"{constant} is not JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if not isfinite(number):
        raise BadArguments("arguments_invalid_json", f"{digits:.40} is larger than any float")
    return number


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        ((twice, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise BadArguments("arguments_duplicate_key", f"the key {twice[:80]!r} is there twice")
    return members


_exact = json.JSONDecoder(
    parse_constant=_refuse_constant, parse_float=_finite, object_pairs_hook=_unique
)


# Looks at keys alone: numbers stay text, and line ends in strings are let pass.
_lax = json.JSONDecoder(strict=False, parse_int=str, parse_float=str, object_pairs_hook=_unique)


def read_arguments(text: str, loads: Callable[[str], Any] = json.loads) -> dict[str, Any]:
    """Return the arguments of a call.

    Args:
        text: All of it, as streamed. An empty text is an empty object: so it is sent for tools that
            take none.
        loads: What makes the values; the standard library checks the text before it.

    Raises:
        BadArguments: It is not exactly one JSON object, or holds a key twice, NaN or an infinity.
    """
    if not text.strip():
        return {}
    try:
        value = _exact.decode(text)
    except BadArguments:
        raise
    except RecursionError as error:
        raise BadArguments("arguments_invalid_json", "it is nested too deep") from error
    except ValueError as error:
        raise BadArguments("arguments_invalid_json", str(error)) from error
    if not is_object(value):
        raise BadArguments("arguments_not_object", f"it is {_kind(value)}, not an object")
    if loads is json.loads:
        return value
    try:
        made: dict[str, Any] = loads(text)
    # Each parser has errors of its own.
    except Exception as error:
        raise BadArguments("arguments_invalid_json", str(error)) from error
    return made


def _kind(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case str():
            return "a string"
        case list():
            return "an array"
        case _:
            return "a number"


def has_duplicate_keys(data: str) -> bool:
    """Return whether an object in a JSON text holds a key twice, or may, for all that is known.

    A call that comes as an object has lost this by the time that the payload is parsed.
    """
    try:
        _lax.decode(data)
    # The parser of the caller may read more than this one.
    except (BadArguments, ValueError):
        return True
    return False
