"""What comes out of an event stream: four kinds of immutable values."""

from __future__ import annotations

from json import loads as json_loads
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Comment", "Event", "Item", "Retry", "UnknownField"]

_T = TypeVar("_T")


# Named tuples, because nothing else in the standard library that is immutable, hashable and
# picklable can be made without running Python code for each one (see `_plain_blocks`).
class Event(NamedTuple):
    """One event, as the specification dispatches it.

    Equal events have equal fields, last event ID included. Events can be hashed, pickled, copied
    and matched by field name: `case Event(type="ping")`.

    Attributes:
        type: The event type; `"message"` where the block named none, or an empty one.
        data: The data lines, joined with U+000A; behind the last one there is none.
        id: What this block's own `id` field set; None where it had none, or one to be ignored.
        last_event_id: The last event ID string of the stream at dispatch: the id of this block, or
            of an earlier one.
    """

    type: str = "message"
    data: str = ""
    id: str | None = None
    last_event_id: str = ""

    @overload
    def json(self) -> Any: ...
    @overload
    def json(self, loads: Callable[[str], _T]) -> _T: ...
    def json(self, loads: Callable[[str], Any] = json_loads) -> Any:
        """Return the data, parsed as JSON.

        Args:
            loads: What parses it: a callable that takes the text (`orjson.loads`, for instance).

        Raises:
            ValueError: The data is not JSON (`json.JSONDecodeError`; an empty text is not JSON),
                or has an integer of more than 4,300 digits in it.
            RecursionError: The data is nested too deep.

        Another `loads` raises what it raises.
        """
        return loads(self.data)


class Comment(NamedTuple):
    """A comment line, which servers send to keep a connection alive.

    Attributes:
        text: Everything behind the colon, a leading space included.
    """

    text: str


class Retry(NamedTuple):
    """A `retry` field: how long the client waits before it reestablishes a connection.

    Attributes:
        milliseconds: The reconnection time; 0 or more.
    """

    milliseconds: int


class UnknownField(NamedTuple):
    """A field whose name the specification does not know, and which it therefore ignores.

    Some servers report their errors in one (`error: {...}`).

    Attributes:
        name: The field name: up to the first colon, or the whole line where it has none.
        value: The field value: what is behind the colon, less one leading space.
    """

    name: str
    value: str


Item = Event | Comment | Retry | UnknownField
"""What `EventStreamParser.feed_items` returns."""
