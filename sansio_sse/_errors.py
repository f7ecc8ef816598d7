"""What can go wrong, and whose doing it was.

- `SSEError`
    - `LocalProtocolError`: the caller broke a rule of this library or of the format.
    - `RemoteProtocolError`: the peer did.
        - `EventTooLarge`: a block of the stream passed the parser's limit.

A malformed event stream is not an error: the specification defines what every sequence of bytes
means. An exception that is neither documented nor in this tree is a bug in this library.
"""

from __future__ import annotations

__all__ = ["EventTooLarge", "LocalProtocolError", "RemoteProtocolError", "SSEError"]


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
