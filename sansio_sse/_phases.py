"""The phases of an event source, and the table of what leads from one to another."""

from __future__ import annotations

import enum
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["NEXT_PHASES", "Input", "Phase"]


class Phase(enum.Enum):
    """Where a source is, in words that end "the source is …"."""

    READY = "not connected yet"
    CONNECTING = "waiting for a response"
    OPEN = "open"
    WAITING = "waiting to be reestablished"
    # The response was no event stream; the start of its body is read, for the error to carry.
    REFUSED = "reading why it was refused"
    CLOSED = "closed"


class Input(enum.Enum):
    """What can come from outside, in words that end "… can't come now"."""

    NEXT_ACTION = "next_action()"
    TIMEOUT = "a timeout"
    RESPONSE = "a response"
    DATA = "data"
    END_OF_BODY = "the end of a body"
    LOST = "the loss of a connection"
    FAIL = "fail()"
    CLOSE = "close()"


NEXT_PHASES: Mapping[tuple[Phase, Input], tuple[Phase, ...]] = MappingProxyType(
    {
        (Phase.READY, Input.NEXT_ACTION): (Phase.CONNECTING,),
        (Phase.READY, Input.TIMEOUT): (Phase.READY,),
        (Phase.READY, Input.FAIL): (Phase.CLOSED,),
        (Phase.READY, Input.CLOSE): (Phase.CLOSED,),
        (Phase.CONNECTING, Input.NEXT_ACTION): (Phase.CONNECTING, Phase.WAITING, Phase.CLOSED),
        (Phase.CONNECTING, Input.TIMEOUT): (Phase.CONNECTING, Phase.WAITING, Phase.CLOSED),
        (Phase.CONNECTING, Input.RESPONSE): (
            Phase.OPEN,
            Phase.REFUSED,
            Phase.WAITING,
            Phase.CLOSED,
        ),
        (Phase.CONNECTING, Input.LOST): (Phase.WAITING, Phase.CLOSED),
        (Phase.CONNECTING, Input.FAIL): (Phase.CLOSED,),
        (Phase.CONNECTING, Input.CLOSE): (Phase.CLOSED,),
        (Phase.OPEN, Input.NEXT_ACTION): (Phase.OPEN, Phase.WAITING, Phase.CLOSED),
        (Phase.OPEN, Input.TIMEOUT): (Phase.OPEN, Phase.WAITING, Phase.CLOSED),
        (Phase.OPEN, Input.DATA): (Phase.OPEN, Phase.CLOSED),
        (Phase.OPEN, Input.END_OF_BODY): (Phase.WAITING, Phase.CLOSED),
        (Phase.OPEN, Input.LOST): (Phase.WAITING, Phase.CLOSED),
        (Phase.OPEN, Input.FAIL): (Phase.CLOSED,),
        (Phase.OPEN, Input.CLOSE): (Phase.CLOSED,),
        (Phase.WAITING, Input.NEXT_ACTION): (Phase.WAITING, Phase.CONNECTING),
        (Phase.WAITING, Input.TIMEOUT): (Phase.WAITING,),
        (Phase.WAITING, Input.FAIL): (Phase.CLOSED,),
        (Phase.WAITING, Input.CLOSE): (Phase.CLOSED,),
        (Phase.REFUSED, Input.NEXT_ACTION): (Phase.REFUSED, Phase.CLOSED),
        (Phase.REFUSED, Input.TIMEOUT): (Phase.REFUSED, Phase.CLOSED),
        (Phase.REFUSED, Input.DATA): (Phase.REFUSED, Phase.CLOSED),
        (Phase.REFUSED, Input.END_OF_BODY): (Phase.CLOSED,),
        (Phase.REFUSED, Input.LOST): (Phase.CLOSED,),
        (Phase.REFUSED, Input.FAIL): (Phase.CLOSED,),
        (Phase.REFUSED, Input.CLOSE): (Phase.CLOSED,),
        # What was on its way when the source was closed can't know that: it is ignored.
        (Phase.CLOSED, Input.NEXT_ACTION): (Phase.CLOSED,),
        (Phase.CLOSED, Input.TIMEOUT): (Phase.CLOSED,),
        (Phase.CLOSED, Input.RESPONSE): (Phase.CLOSED,),
        (Phase.CLOSED, Input.DATA): (Phase.CLOSED,),
        (Phase.CLOSED, Input.END_OF_BODY): (Phase.CLOSED,),
        (Phase.CLOSED, Input.LOST): (Phase.CLOSED,),
        (Phase.CLOSED, Input.FAIL): (Phase.CLOSED,),
        (Phase.CLOSED, Input.CLOSE): (Phase.CLOSED,),
    }
)
"""Where each input can lead in each phase. A pair that is missing is an error of the caller."""
