"""Header fields: of which shapes they are taken, and which of them can be sent."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar, cast

from ._checks import check_str
from ._errors import LocalProtocolError

__all__ = ["TOKEN", "VALUE", "Headers", "check_headers", "decode_value", "header_fields"]

_V = TypeVar("_V")
_V_co = TypeVar("_V_co", covariant=True)


class HasItems(Protocol[_V_co]):
    """A mapping, as far as it matters here."""

    def items(self) -> Iterable[tuple[str, _V_co]]:
        """Return its pairs of name and value."""
        ...


Headers = HasItems[_V] | Iterable[tuple[str, _V]]
"""Header fields, as callers and HTTP libraries have them."""

TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
"""What a header name is, and a method: RFC 9110, section 5.6.2."""

VALUE = re.compile(rb"(?:[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?)?")
"""What a header value is: no control character but a tab, and no space or tab at its ends.
RFC 9110, section 5.5."""


def header_fields(headers: Headers[_V]) -> tuple[tuple[str, _V], ...]:
    """Return header fields as pairs of name and value."""
    # Not every mapping is registered as one: that of http.client is not.
    items: Callable[[], Iterable[tuple[str, _V]]] | None = getattr(headers, "items", None)
    pairs = cast("Iterable[tuple[str, _V]]", headers) if items is None else items()
    return tuple((name, value) for name, value in pairs)


def check_headers(headers: Headers[str | bytes]) -> tuple[tuple[str, bytes], ...]:
    """Return header fields as pairs of name and value, the value in bytes, text as UTF-8.

    Raises:
        LocalProtocolError: They are none, or there is one that can't be sent.
    """
    # Values are not shown: they may be secrets.
    try:
        fields = header_fields(headers)
    except (TypeError, ValueError):
        kind = type(headers).__name__
        raise LocalProtocolError(
            f"headers are of type {kind}: pass a mapping, or pairs of name and value"
        ) from None
    checked: list[tuple[str, bytes]] = []
    for name, value in fields:
        if not TOKEN.fullmatch(check_str("the name of a header", name)):
            raise LocalProtocolError(f"no header can have the name {name!r}")
        encoded = _encode_value(name, value)
        if not VALUE.fullmatch(encoded):
            raise LocalProtocolError(
                f"the value of the header {name} has a control character, or a space at an end"
            )
        checked.append((name, encoded))
    return tuple(checked)


def decode_value(name: str, value: bytes) -> str:
    """Return the text of a header value.

    Raises:
        LocalProtocolError: It is not UTF-8.
    """
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise LocalProtocolError(f"the value of the header {name} is not UTF-8") from None


def _encode_value(name: str, value: object) -> bytes:
    if isinstance(value, bytes):
        return value
    if not isinstance(value, str):
        kind = type(value).__name__
        raise LocalProtocolError(
            f"the value of the header {name} is of type {kind}: pass str or bytes"
        )
    try:
        return value.encode()
    except UnicodeEncodeError:
        raise LocalProtocolError(
            f"the value of the header {name} has half a surrogate pair in it"
        ) from None
