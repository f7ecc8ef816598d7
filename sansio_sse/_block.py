"""The block under way: the buffers of the specification, and what a line does to them.

The rules and the sentences quoted are those of the WHATWG HTML specification, section 9.2.6,
"Interpreting an event stream".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

from ._errors import EventTooLarge
from ._events import Comment, Event, Item, Retry, UnknownField
from ._limits import MAX_RETRY_DIGITS
from ._plain_blocks import new_event

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["READ_BYTES", "WINDOW_BYTES", "Block", "Sink"]

WINDOW_BYTES = 64 * 1024
"""How much the parser reads at a time: what is made of it (lines, text) is a small multiple of it,
however much the caller passes at once."""

READ_BYTES = 2 * WINDOW_BYTES
"""The most that is read at once: a window, and an unfinished line of that size before it."""

# As a number: looking for one byte given as bytes takes ten times as long.
_NUL = 0

_FIELD_NAMES = frozenset((b"data", b"event", b"id", b"retry"))

_T_contra = TypeVar("_T_contra", contravariant=True)


class Sink(Protocol[_T_contra]):
    """A list to append to. Contravariant: a list of items takes events too."""

    def __len__(self) -> int: ...
    def append(self, item: _T_contra, /) -> None: ...
    def extend(self, items: Iterable[_T_contra], /) -> None: ...


class Block:
    """The block under way, and what outlives it: the last event ID and the reconnection time.

    It holds bytes, and decodes a field when it is complete. Python's "replace" is the Encoding
    Standard's: one U+FFFD for each maximal part of a valid sequence.

    Args:
        limit: How many bytes the buffers and a line together may have.
        last_event_id: The last event ID string to start with.
    """

    def __init__(self, limit: int, last_event_id: str) -> None:
        self.limit = limit
        self.last_event_id = last_event_id
        self.reconnection_time: int | None = None
        self._always_tight = limit < READ_BYTES
        self.clear()

    def clear(self) -> None:
        """Forget the block."""
        # The data buffer, the last line end included: `data` has the lines of earlier reads,
        # `values` those of the read under way. A bytearray holds short lines in a fraction of what
        # an object for each would take, and grows in place.
        self.data = bytearray()
        self.values: list[bytes] = []
        # The event type buffer, and what the block's id field will make of the last event ID
        # buffer: None without such a field.
        self.type: bytes | None = None
        self.id: bytes | None = None
        # Whether there is anything in the buffers but what the parser put in `values`.
        self.begun = False
        # How long a line may be, and whether a read could bring more than that.
        self.room = self.limit
        self.tight = self._always_tight

    def copy(self) -> Block:
        """Return a block that shares nothing with this one that either of them changes."""
        block = Block(self.limit, self.last_event_id)
        block.__dict__.update(self.__dict__, data=self.data.copy(), values=self.values.copy())
        return block

    def measure(self) -> None:
        """Put what a read brought for the data buffer there, and see how much room it leaves."""
        if self.values:
            self.data += b"\n".join(self.values)
            self.data += b"\n"
            self.values.clear()
            self.begun = True
        self.room = self.limit - len(self.data) - len(self.type or b"") - len(self.id or b"")
        self.tight = self.room < READ_BYTES

    def too_large(self, line_bytes: int) -> EventTooLarge:
        """Return the error for a line, or the part of one that is there, without room for it."""
        return EventTooLarge(self.limit - self.room + line_bytes, self.limit)

    def field(self, line: bytes, items: Sink[Item] | None) -> None:
        """Process a line that is not blank, and for which there is room.

        Args:
            line: The line, without its end.
            items: Where comments, reconnection times and unknown fields go, if anyone wants them.
        """
        name, _, value = line.partition(b": ")
        if name == b"id":
            # "If the field value does not contain U+0000 NULL, then set the last event ID buffer
            # to the field value. Otherwise, ignore the field."
            if _NUL not in value:
                self.id = value
                self.begun = True
        elif name == b"event":
            self.type = value
            self.begun = True
        elif name == b"data":
            self.values.append(value)
            self.begun = True
        elif name == b"retry":
            # "If the field value consists of only ASCII digits, then interpret the field value as
            # an integer in base ten". `bytes.isdigit` knows no others.
            if value.isdigit():
                digits = value.lstrip(b"0")[:MAX_RETRY_DIGITS] or b"0"
                self.reconnection_time = int(digits)
                if items is not None:
                    items.append(Retry(self.reconnection_time))
        else:
            self._field_without_space(line, items)

    def _field_without_space(self, line: bytes, items: Sink[Item] | None) -> None:
        name, _, rest = line.partition(b":")
        if name in _FIELD_NAMES:
            self.field(b"%b: %b" % (name, rest), items)
        elif items is not None:
            self._report(name, rest, items)

    def _report(self, name: bytes, rest: bytes | bytearray, items: Sink[Item]) -> None:
        """Hand out what the specification ignores: a name, and all that is behind its colon."""
        if not name:
            # "If the line starts with a U+003A COLON character (:) Ignore the line."
            items.append(Comment(rest.decode("utf-8", "replace")))
        else:
            # "If value starts with a U+0020 SPACE character, remove it from value."
            value = memoryview(rest)[1 if rest.startswith(b" ") else 0 :]
            items.append(
                UnknownField(name.decode("utf-8", "replace"), str(value, "utf-8", "replace"))
            )

    def measured_field(self, line: bytes, items: Sink[Item] | None) -> None:
        """Process a line that is not blank, if there is room for it, and see how much it leaves.

        Args:
            line: As for `field`.
            items: As for `field`.

        Raises:
            EventTooLarge: There is no room for the line, and it is not one that nobody will see.
        """
        if len(line) > self.room and (items is not None or line.partition(b":")[0] in _FIELD_NAMES):
            raise self.too_large(len(line))
        self.field(line, items)
        self.measure()

    def long_field(self, line: bytearray, items: Sink[Item] | None) -> None:
        """Process a long line, as `measured_field` does, with one copy of it at most.

        Args:
            line: The line, without its end. The block takes it over.
            items: As for `field`.

        Raises:
            EventTooLarge: As `measured_field`.
        """
        colon = line.find(b":")
        name = bytes(line if colon < 0 else line[:colon])
        is_known = name in _FIELD_NAMES
        if len(line) > self.room and (is_known or items is not None):
            raise self.too_large(len(line))
        if name == b"data":
            del line[: colon + 1]
            if line.startswith(b" "):
                del line[:1]
            line += b"\n"
            self.begun = True
            if self.data:
                self.data += line
                line.clear()
            else:
                self.data = line
        elif is_known:
            if not line.startswith(b" ", colon + 1):
                line[colon + 1 : colon + 1] = b" "
            whole = bytes(line)
            line.clear()
            self.field(whole, items)
        elif items is not None:
            del line[: len(name) + 1]
            self._report(name, line, items)
        self.measure()

    def dispatch(self, events: Sink[Event]) -> None:
        """Process a blank line."""
        values = self.values
        block_id = None
        event_type = "message"
        if self.begun:
            self.begun = False
            self.room = self.limit
            self.tight = self._always_tight
            if self.id is not None:
                # "Set the last event ID string of the event source to the value of the last event
                # ID buffer." With data or without.
                block_id = self.last_event_id = self.id.decode("utf-8", "replace")
                self.id = None
            if self.type is not None:
                # "... if the event type buffer has a value other than the empty string, change the
                # type of the newly created event to equal the value of the event type buffer."
                if self.type:
                    event_type = self.type.decode("utf-8", "replace")
                self.type = None
            data = self.data
            if data:
                # "If the data buffer's last character is a U+000A LINE FEED (LF) character, then
                # remove the last character from the data buffer."
                if values:
                    data += b"\n".join(values)
                    values.clear()
                else:
                    del data[-1:]
                text = data.decode("utf-8", "replace")
                data.clear()
                events.append(new_event(Event, (event_type, text, block_id, self.last_event_id)))
                return
        # "If the data buffer is an empty string, set the data buffer and the event type buffer to
        # the empty string and return."
        if values:
            text = b"\n".join(values).decode("utf-8", "replace")
            values.clear()
            events.append(new_event(Event, (event_type, text, block_id, self.last_event_id)))
