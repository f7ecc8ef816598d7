"""What can go wrong, and whose doing it was.

- `SSEError`
    - `LocalProtocolError`: the caller broke a rule of this library or of the format.
    - `RemoteProtocolError`: the peer did.
        - `EventTooLarge`: a block of the stream passed the parser's limit.
        - `UnexpectedStatus`, `UnexpectedContentType`: the response is no event stream.

A malformed event stream is not an error: the specification defines what every sequence of bytes
means. An exception that is neither documented nor in this tree is a bug in this library.
"""

from __future__ import annotations

__all__ = [
    "EventTooLarge",
    "LocalProtocolError",
    "RemoteProtocolError",
    "SSEError",
    "UnexpectedContentType",
    "UnexpectedStatus",
]

_SHOWN_BODY_BYTES = 200


class SSEError(Exception):
    """The root of all errors of this library."""


class LocalProtocolError(SSEError, ValueError):
    """The caller did something that the library or the format does not allow.

    Also a `ValueError`: code that knows nothing of this library can handle it.
    """


class RemoteProtocolError(SSEError):
    """The peer sent something that the caller asked not to accept.

    Attributes:
        offset: Where in the stream, as a number of bytes from its first one; None where the place
            is not known.
    """

    def __init__(self, message: str, offset: int | None = None) -> None:
        super().__init__(message, offset)
        self.message = message
        self.offset = offset

    def __str__(self) -> str:
        return self.message


class EventTooLarge(RemoteProtocolError):
    """What must be held for one block of the stream passed `max_event_bytes`.

    Attributes:
        size: How many bytes were held, or would have been, when the limit was passed.
        limit: The limit, in bytes.
    """

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(f"event is {size} bytes so far, the limit is {limit}")
        self.args = (size, limit)
        self.size = size
        self.limit = limit


class _UnexpectedResponse(RemoteProtocolError):
    def __init__(self, what: str, status: int, headers: tuple[tuple[str, str], ...], body: bytes):
        shown = body[:_SHOWN_BODY_BYTES].decode("utf-8", "replace")
        super().__init__(f"the server answered {what}" + (f": {shown!r}" if shown else ""))
        self.args = (status, headers, body)
        self.status = status
        self.headers = headers
        self.body = body


class UnexpectedStatus(_UnexpectedResponse):
    """The response has another status than 200, or 204.

    Attributes:
        status: The status code.
        headers: The header fields as pairs of name and value, in order.
        body: The first bytes of the body, as far as they came: 64 KiB at most.
    """

    def __init__(
        self, status: int, headers: tuple[tuple[str, str], ...] = (), body: bytes = b""
    ) -> None:
        super().__init__(f"with status {status}, not 200", status, headers, body)


class UnexpectedContentType(_UnexpectedResponse):
    """The response has another content type than `text/event-stream`: a login page, JSON, none.

    Attributes:
        status: The status code: 200.
        headers: The header fields as pairs of name and value, in order.
        body: The first bytes of the body, as far as they came: 64 KiB at most.
    """

    def __init__(
        self, status: int, headers: tuple[tuple[str, str], ...] = (), body: bytes = b""
    ) -> None:
        types = [value for name, value in headers if name.lower() == "content-type"]
        what = f"with content type {', '.join(types)!r}" if types else "without a content type"
        super().__init__(f"{what}, not 'text/event-stream'", status, headers, body)
