"""What a response means: whether it opens an event stream, and when to ask again."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Final

from ._errors import UnexpectedContentType, UnexpectedStatus
from ._headers import TOKEN, header_fields
from ._limits import MAX_DELAY_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ._headers import Headers

__all__ = ["RETRYABLE_STATUSES", "check_response", "retry_after"]

RETRYABLE_STATUSES: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
"""The statuses that commonly pass: timeouts, too early or too many requests, and errors of a server
or of a gateway in front of it. For the option `retry_statuses`; without it none is tried again."""

# MIME Sniffing, section 4.4, "Parsing a MIME type". Parameters don't matter here.
_ESSENCE = re.compile(rf"({TOKEN.pattern}/{TOKEN.pattern})[\t\n\r ]*(?:;|$)")
_HTTP_WHITESPACE = "\t\n\r "

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTH = f"(?P<month>{'|'.join(_MONTHS)})"
_TIME = r"(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2}):(?P<second>[0-9]{2})"
# RFC 9110, section 5.6.7: the format to send, and the two that a recipient must know too.
_DATES = (
    re.compile(rf"[A-Z][a-z]{{2}}, (?P<day>[0-9]{{2}}) {_MONTH} (?P<year>[0-9]{{4}}) {_TIME} GMT"),
    re.compile(rf"[A-Z][a-z]+day, (?P<day>[0-9]{{2}})-{_MONTH}-(?P<year>[0-9]{{2}}) {_TIME} GMT"),
    re.compile(rf"[A-Z][a-z]{{2}} {_MONTH} (?P<day>[ 0-9][0-9]) {_TIME} (?P<year>[0-9]{{4}})"),
)
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def check_response(status: int, headers: Headers[str], body: bytes = b"") -> bool:
    """Return whether a response opens an event stream, by its status and content type.

    Args:
        status: The status code, behind all redirects.
        headers: The header fields: pairs of name and value in any case, or a mapping.
        body: The first bytes of the body if they are known: the error will carry them.

    Returns:
        True for 200 with the content type `text/event-stream`, in any case and with any parameters.
        False for 204: a clean end, there is nothing to read and no reason to ask again.

    Raises:
        UnexpectedStatus: The status is neither.
        UnexpectedContentType: It is 200, and the content type is another one, or missing.

    Source: WHATWG HTML, section 9.2.3; where there are several content types, Fetch, section
    "extract a MIME type": the last one that is one.
    """
    if status == 204:
        return False
    fields = header_fields(headers)
    if status != 200:
        raise UnexpectedStatus(status, fields, body)
    if _essence(fields) != "text/event-stream":
        raise UnexpectedContentType(status, fields, body)
    return True


def retry_after(headers: Headers[str], *, utc: float | None = None) -> float | None:
    """Return how many seconds a response asks to wait, from 0 to 24.8 days; None if it does not.

    Args:
        headers: As for `check_response`.
        utc: The time in seconds since 1970, for a server that names a date and sends no `Date`.
            With `Date` the two dates are compared, so that it does not matter whose clock is wrong.

    Source: RFC 9110, section 10.2.3, "Retry-After".
    """
    fields = {name.lower(): value.strip(_HTTP_WHITESPACE) for name, value in header_fields(headers)}
    text = fields.get("retry-after", "")
    if re.fullmatch("[0-9]+", text):
        # A float of any number of digits is no error.
        return min(float(text), MAX_DELAY_SECONDS)
    now = _seconds(fields.get("date", ""), utc)
    if now is None:
        now = utc
    if now is None:
        return None
    then = _seconds(text, now)
    return None if then is None else min(max(then - now, 0.0), MAX_DELAY_SECONDS)


def _essence(fields: Iterable[tuple[str, str]]) -> str | None:
    """Return the MIME type that a list of header fields names, in lower case."""
    essence = None
    for name, value in fields:
        if name.lower() != "content-type":
            continue
        for part in _split_list(value):
            match = _ESSENCE.match(part.strip(_HTTP_WHITESPACE))
            if match and match[1] != "*/*":
                essence = match[1].lower()
    return essence


def _split_list(value: str) -> list[str]:
    """Split a header value at its commas, those in quoted strings aside."""
    parts: list[str] = []
    start = 0
    quoted = escaped = False
    for index, character in enumerate(value):
        if escaped:
            escaped = False
        elif character == '"':
            quoted = not quoted
        elif character == "\\":
            escaped = quoted
        elif character == "," and not quoted:
            parts.append(value[start:index])
            start = index + 1
    return [*parts, value[start:]]


def _seconds(date: str, now: float | None) -> float | None:
    """Return an HTTP date in seconds since 1970; None if it is none.

    Args:
        date: The text of the date.
        now: The time to read a year of two digits by; without it those are of this century.
    """
    match = next(filter(None, (pattern.fullmatch(date) for pattern in _DATES)), None)
    if match is None:
        return None
    year = int(match["year"])
    if len(match["year"]) == 2:
        # "... more than 50 years in the future as representing the most recent year in the past
        # that had the same last two digits."
        this_year = 2000 if now is None else (_EPOCH + timedelta(seconds=now)).year
        year += this_year // 100 * 100
        if year > this_year + 50:
            year -= 100
    second = int(match["second"])
    try:
        moment = datetime(
            year,
            _MONTHS.index(match["month"]) + 1,
            int(match["day"]),
            int(match["hour"]),
            int(match["minute"]),
            # A leap second is the one before it here.
            59 if second == 60 else second,
            tzinfo=timezone.utc,
        )
    except ValueError:
        return None
    return (moment - _EPOCH).total_seconds()
