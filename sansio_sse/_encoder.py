"""The encoder: events in, bytes out.

What it writes, a parser reads back (WHATWG HTML, section 9.2.6). What could not be read back, or
would be read as something else, it refuses: a line end in an event type or id would let whoever
chose that text write fields and events of their own.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from ._checks import LINE_END, check_id, check_int, check_one_line, check_str
from ._errors import LocalProtocolError
from ._limits import MAX_RETRY_DIGITS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ._events import Event

__all__ = ["RESPONSE_HEADERS", "encode", "encode_comment", "encode_retry"]

RESPONSE_HEADERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        # Without parameters: an event stream is UTF-8 whatever a charset says.
        "Content-Type": "text/event-stream",
        # Not stored, and not transformed: a proxy that compresses holds events back.
        "Cache-Control": "no-store, no-transform",
        # nginx and its kin buffer responses unless told so.
        "X-Accel-Buffering": "no",
    }
)
"""The headers of a response that is an event stream: its type, no caching, no buffering proxy."""


def encode(event: Event) -> bytes:
    """Return the block of lines that makes a client dispatch this event.

    Parsing it gives the event back, with two exceptions. A CR or CRLF in the data becomes LF, for
    the format can't tell them apart. `last_event_id` is not written, for it is the stream's: the
    client sets it to the event's `id`, or keeps that of an earlier event.

    Args:
        event: Its `type` is written unless it is `"message"`, the default of the format. Its `id`
            is written unless it is None; `""` makes the client forget the last event ID.

    Returns:
        The lines, each ended by LF, and the blank line.

    Raises:
        LocalProtocolError: The type is empty; the type or the id has a CR or LF in it; the id has
            a NUL in it, which would make the client ignore it; a field is no text or can't be
            encoded as UTF-8 (a lone surrogate); `event` is no `Event`.
    """
    try:
        event_type, data, event_id = event.type, event.data, event.id
    except AttributeError as error:
        raise LocalProtocolError(f"{type(event).__name__} is no Event: pass one") from error
    lines: list[str] = []
    event_type = check_one_line("type", event_type)
    if not event_type:
        raise LocalProtocolError('type is empty, which a client reads as "message"')
    if event_type != "message":
        lines.append(f"event: {event_type}\n")
    if event_id is not None:
        lines.append(f"id: {check_id('id', event_id)}\n")
    lines += [f"data: {line}\n" for line in LINE_END.split(check_str("data", data))]
    lines.append("\n")
    return _utf8("".join(lines))


def encode_comment(text: str = "") -> bytes:
    """Return a comment, which clients ignore: something to send while there is nothing to say.

    Args:
        text: Any text; what has several lines becomes several comments. Comments are public:
            everyone who can read the stream can read them.

    Returns:
        The lines, each a colon and the text with nothing in between, ended by LF. No blank line
        follows: several clients turn a block without data into an event.

    Raises:
        LocalProtocolError: The text is no text or can't be encoded as UTF-8.
    """
    return _utf8("".join(f":{line}\n" for line in LINE_END.split(check_str("comment", text))))


def encode_retry(milliseconds: int) -> bytes:
    """Return the field that sets the client's reconnection time.

    Args:
        milliseconds: How long clients wait before they reestablish a lost connection.

    Returns:
        One line, ended by LF, and no blank line, for the reason that `encode_comment` gives. It
        takes effect when it is read.

    Raises:
        LocalProtocolError: The number is negative, no integer, or has more than 300 digits.
    """
    value = check_int("retry", milliseconds)
    if abs(value) >= 10**MAX_RETRY_DIGITS:
        raise LocalProtocolError(f"retry has more than {MAX_RETRY_DIGITS} digits")
    if value < 0:
        raise LocalProtocolError(f"retry is {value}: pass 0 or more milliseconds")
    return b"retry: %d\n" % value


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise LocalProtocolError(
            f"text has a lone surrogate in it: {text[error.start : error.end]!r}"
        ) from error
