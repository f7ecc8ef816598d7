"""What a reconnecting event source says: what to do next, and where it is."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ._request import Request

__all__ = ["Action", "Connect", "Progress", "ReadyState", "Receive", "Stop", "Wait"]


class ReadyState(enum.IntEnum):
    """The state of the connection, with the numbers of the specification's `readyState`."""

    CONNECTING = 0
    """It has not been announced: a request is due or under way, or a delay has to pass."""
    OPEN = 1
    """It has been announced, and events can come."""
    CLOSED = 2
    """It has been closed or has failed, and is not reestablished."""


class Connect(NamedTuple):
    """Open a connection and send the request, then call `receive_response` or `connection_lost`.

    Attributes:
        request: What to send.
        timeout: For how many seconds to wait for each sign of life; None: for ever.
    """

    request: Request
    timeout: float | None


class Receive(NamedTuple):
    """Read what comes, then call `feed`, `end_of_body` or `connection_lost`.

    Attributes:
        timeout: For how many seconds to wait for it; None: for ever.
    """

    timeout: float | None


class Wait(NamedTuple):
    """Close the connection if there still is one, and let this time pass.

    Attributes:
        seconds: How long.
    """

    seconds: float


class Stop(NamedTuple):
    """Close the connection if there still is one: nothing more will happen.

    Attributes:
        error: Why the connection failed: an error of this library, or the one that was passed to
            `connection_lost` or `fail`. None if it was closed or came to its end.
    """

    error: Exception | None


Action = Connect | Receive | Wait | Stop
"""What `EventSourceProtocol.next_action` returns."""


class Progress(NamedTuple):
    """Where a source is: what `on_progress` is called with.

    Attributes:
        ready_state: The state of the connection.
        attempt: How many requests have been sent.
        delay: For how many seconds the source waits before the next one; None if it does not.
        error: Why the last connection was lost or failed, as far as there was an error.
    """

    ready_state: ReadyState
    attempt: int
    delay: float | None
    error: Exception | None
