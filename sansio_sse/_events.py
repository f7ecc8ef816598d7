"""What comes out of an event stream: four kinds of immutable values."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Comment", "Event", "Item", "Retry", "UnknownField"]


# Named tuples, because nothing else in the standard library that is immutable, hashable and
# picklable can be made without running Python code for each one (see `_plain_blocks`).
class Event(NamedTuple):
    """One event, as the specification dispatches it.

    Equal events have equal fields, last event ID included. Events can be hashed, pickled, copied
    and matched by field name: `case Event(type="ping")`.
    """

    type: str = "message"
    """The event type; `"message"` where the block named none, or an empty one."""

    data: str = ""
    """The data lines, joined with U+000A; the last one has none behind it."""

    id: str | None = None
    """What this block's own `id` field set; None where it had none, or one that is ignored."""

    last_event_id: str = ""
    """The last event ID string of the stream at dispatch: this block's id, or an earlier one's."""

    def json(self, loads: Callable[[str], Any] = json.loads) -> Any:
        """Return the data, parsed as JSON.

        Args:
            loads: What parses it: a callable that takes the text (`orjson.loads`, for instance).

        Raises:
            json.JSONDecodeError: The data is not JSON, an empty text included. Another `loads`
                raises what it raises.
        """
        return loads(self.data)


class Comment(NamedTuple):
    """A comment line, which servers send to keep a connection alive."""

    text: str
    """Everything behind the colon, a leading space included."""


class Retry(NamedTuple):
    """A `retry` field: how long the client waits before it reestablishes a connection."""

    milliseconds: int


class UnknownField(NamedTuple):
    """A field whose name the specification does not know, and which it therefore ignores.

    Some servers report their errors in one (`error: {...}`).
    """

    name: str
    """The field name: up to the first colon, or the whole line where it has none."""

    value: str
    """The field value: what is behind the colon, less one leading space."""


Item = Event | Comment | Retry | UnknownField
"""What `EventStreamParser.feed_items` returns."""
