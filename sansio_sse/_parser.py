"""The parser: bytes in, events out.

The rules are those of the WHATWG HTML specification, section 9.2.6, "Interpreting an event
stream". The sentences quoted below are from there.

Strategy:

- Work on bytes. Both line ends are ASCII and no UTF-8 sequence contains an ASCII byte, so a line
  can be found before it is decoded, and a whole line can be decoded at once, whatever the reads
  did to its characters.
- Whatever a read ends with, an unfinished line is held as bytes and joined once to what ends it.
  All other lines go to the block under way (`_block`).
- Blocks that arrive whole, and have the shape that most streams repeat, are dispatched together
  (`_plain_blocks`). The events are the same either way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from ._block import READ_BYTES, WINDOW_BYTES, Block
from ._checks import check_choice, check_id, check_limit, check_view
from ._errors import LocalProtocolError, RemoteProtocolError
from ._limits import DEFAULT_MAX_EVENT_BYTES
from ._plain_blocks import PLAIN_ENDS, PLAIN_STARTS, whole_blocks
from ._utf8 import split_decodable

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._block import Sink
    from ._events import Event, Item

__all__ = ["EventStreamParser"]

_BOM = b"\xef\xbb\xbf"
# As numbers: looking for one byte given as bytes takes ten times as long.
_LF, _CR, _COLON = b"\n\r:"
_FIELD_STARTS = (b"data:", b"event:", b"id:", b"retry:")
_LONGEST_FIELD_START = max(map(len, _FIELD_STARTS))

# A shorter read has too few blocks in it to look for those that can be read together.
_MANY_BYTES = 512


class EventStreamParser:
    """An incremental parser for one event stream at a time.

    Feed it what the transport delivers, in pieces of any size, and handle the events that each
    call returns. It does no I/O and keeps no reference to a buffer of the caller's. A parser can
    be copied and pickled in the middle of a stream. It is not for use by two threads at a time.

    Args:
        last_event_id: The last event ID string to start with: that of an earlier stream of the
            same source, `""` if there was none.
        max_event_bytes: How many bytes may be held for the block under way: its data so far (a line
            end counts as one), its event type, its id, and the line that is being read, whatever
            field that is. Lines that nobody will see (comments and unknown fields, unless
            `feed_items` reads them) are not held and do not count. None for no limit.
        utf8: `"replace"` decodes each invalid sequence as U+FFFD, as the Encoding Standard says;
            `"strict"` raises `RemoteProtocolError`.
        tail: `"discard"` drops a last block that lacks its blank line, as the specification says;
            `"dispatch"` lets `finish` treat it as if the blank line had come.

    Raises:
        LocalProtocolError: An argument is none of the above, or `last_event_id` is one that no
            stream can set (it has a line end or a NUL in it).

    Source: WHATWG HTML, section 9.2.6, "Interpreting an event stream".
    """

    def __init__(
        self,
        *,
        last_event_id: str = "",
        max_event_bytes: int | None = DEFAULT_MAX_EVENT_BYTES,
        utf8: Literal["replace", "strict"] = "replace",
        tail: Literal["discard", "dispatch"] = "discard",
    ) -> None:
        limit = check_limit("max_event_bytes", max_event_bytes)
        self._block = Block(limit, check_id("last_event_id", last_event_id))
        self._strict = check_choice("utf8", utf8, "replace", "strict")
        self._dispatch_tail = check_choice("tail", tail, "discard", "dispatch")
        self._start_stream()

    def _start_stream(self) -> None:
        # What makes the error that each call raises. The error itself would hold its traceback, and
        # with that the caller's buffers.
        self._failure: tuple[Callable[..., RemoteProtocolError], tuple[object, ...]] | None = None
        self._finished = False
        self._lost_tail = False
        # What has been read of a byte order mark that may still become one; None once the stream
        # has begun. A mark can be split between any two of its three bytes.
        self._bom: bytes | None = b""
        # A CR ended a read, and its line. An LF at the start of the next one belongs to it.
        self._skip_lf = False
        # Strict decoding only: how many bytes were whole characters, and the start of one that a
        # read split. It is not read before it is whole, so that what is wrong first is said first.
        self._decoded_bytes = 0
        self._undecoded = b""
        # Whether the next read needs `_prepare`, for any of the above.
        self._special = True
        self._drop_block()

    def _drop_block(self) -> None:
        self._block.clear()
        # The unfinished line. (A list of fragments would take 40 bytes for each, and a peer can
        # send one byte a time; a bytearray grows in place.)
        self._line = bytearray()
        # There is an unfinished line, which may be one that is skipped: nobody will see it, and
        # `_line` is empty.
        self._unfinished = False
        self._skipping = False
        # Two shortcuts of `feed`, for which there must be no need of `_prepare`. In line: the
        # unfinished line is held, and known to be a field. Plain: nothing is held, no line is
        # unfinished, and there is room for as much as is read at once.
        self._in_line = False
        self._plain = False
        # How long the unfinished line may become, in line.
        self._room = 0

    @property
    def last_event_id(self) -> str:
        """The last event ID string: what to send as `Last-Event-ID` when reconnecting.

        Set where a block ends, so that the id of an event that was cut off never counts.
        """
        return self._block.last_event_id

    @property
    def reconnection_time(self) -> int | None:
        """The reconnection time in milliseconds that the stream set last; None if it set none.

        It can be zero, and is not bounded by any sensible maximum.
        """
        return self._block.reconnection_time

    @property
    def pending(self) -> bool:
        """Whether an unfinished line or a block without its blank line is, or was, at the end.

        After `finish` it says so of the whole stream: what the specification discards there, or
        what `tail="dispatch"` handed out. Complete lines of which nothing is lost (comments,
        unknown fields, reconnection times) do not count.
        """
        return (
            self._lost_tail
            or self._unfinished
            or self._block.begun
            or bool(self._bom or self._undecoded)
        )

    def feed(self, data: bytes | bytearray | memoryview) -> list[Event]:
        """Take the next bytes of the stream and return the events that they complete.

        Args:
            data: Any number of bytes, cut anywhere. No bytes do nothing: they don't end the
                stream.

        Returns:
            The events whose blank line is in `data`, in order.

        Raises:
            EventTooLarge: The block under way passed `max_event_bytes`.
            RemoteProtocolError: With `utf8="strict"`, a sequence that is not UTF-8; `offset` says
                where.
            LocalProtocolError: The stream has been finished.
            TypeError: `data` is not bytes.

        Events completed before an error in the same call are returned, and the next call raises.
        From then on each call raises the same error, until `reset`.
        """
        if type(data) is not bytes:
            view = check_view(data)
            if len(view) > WINDOW_BYTES:
                large: list[Event] = []
                self._take(view, large, None)
                return large
            data = bytes(view)
        chunk = data
        if self._in_line:
            if _LF not in chunk and _CR not in chunk:
                line = self._line
                line += chunk
                if len(line) <= self._room:
                    return []
                chunk = b""
            elif len(self._line) <= WINDOW_BYTES and len(chunk) <= WINDOW_BYTES:
                chunk = self._end_line(chunk, None)
        if (
            self._plain
            and chunk.startswith(PLAIN_STARTS)
            and chunk.endswith(PLAIN_ENDS)
            and len(chunk) <= READ_BYTES
        ):
            whole = whole_blocks(chunk, self._block)
            if whole is not None:
                return whole
        events: list[Event] = []
        try:
            if self._special:
                self._read_any(chunk, events, None)
            else:
                self._read(chunk, events, None)
        except RemoteProtocolError as error:
            self._fail(error)
            if not events:
                raise
        return events

    def feed_items(self, data: bytes | bytearray | memoryview) -> list[Item]:
        """Take the next bytes, as `feed` does, and return everything that they complete.

        Args:
            data: As for `feed`.

        Returns:
            Events where their blank line is; comments, reconnection times and unknown fields
            where their line ends; all in the order of the stream. A line that began in a call of
            `feed` may be missing: it is not held there if it is a comment or an unknown field.

        Raises:
            As `feed`. Items completed before an error in the same call are returned, and the next
            call raises.
        """
        items: list[Item] = []
        self._take(data if type(data) is bytes else check_view(data), items, items)
        return items

    def finish(self) -> list[Event]:
        """End the stream.

        "Once the end of the file is reached, any pending data must be discarded."

        Returns:
            With `tail="dispatch"` the event of a last block that lacks its blank line, if it has
            data; else nothing. A second call returns nothing.

        Raises:
            EventTooLarge, RemoteProtocolError: An earlier call left an error to raise, or, with
                `utf8="strict"`, the stream ends inside a character.
        """
        self._refuse_after_failure()
        if self._finished:
            return []
        lost_tail = self.pending
        events: list[Event] = []
        try:
            if self._undecoded:
                offset = self._decoded_bytes
                message = f"the stream ends inside the character that begins at byte {offset}"
                raise RemoteProtocolError(message, offset)
            if self._dispatch_tail:
                # The end of the unfinished line, if there is one, and a blank line.
                self._read(b"\n\n", events, None)
        except RemoteProtocolError as error:
            self._fail(error)
            raise
        self._drop_block()
        self._lost_tail = lost_tail
        self._special = self._finished = True
        return events

    def reset(self) -> None:
        """Begin a new stream of the same source.

        Forgets what is half read, an error and the end; keeps `last_event_id` and
        `reconnection_time`.
        """
        self._start_stream()

    def __getstate__(self) -> dict[str, object]:
        # For `copy.copy` too, which does not look inside: a copy must not share what this parser
        # appends to.
        return {**self.__dict__, "_line": self._line.copy(), "_block": self._block.copy()}

    def _fail(self, error: RemoteProtocolError) -> None:
        self._drop_block()
        self._undecoded = b""
        self._failure = (type(error), error.args)
        self._special = self._lost_tail = True

    def _refuse_after_failure(self) -> None:
        if self._failure is not None:
            make, arguments = self._failure
            raise make(*arguments)

    def _take(
        self, data: bytes | memoryview, events: Sink[Event], items: Sink[Item] | None
    ) -> None:
        try:
            self._read_any(data, events, items)
        except RemoteProtocolError as error:
            self._fail(error)
            if not (events if items is None else items):
                raise

    def _read_any(
        self, data: bytes | memoryview, events: Sink[Event], items: Sink[Item] | None
    ) -> None:
        """Read bytes of any size, at any point of the stream."""
        for start in range(0, len(data) or 1, WINDOW_BYTES):
            window = bytes(data[start : start + WINDOW_BYTES])
            error = None
            if self._special:
                window, error = self._prepare(window)
            self._read(window, events, items)
            if error is not None:
                raise error

    def _prepare(self, chunk: bytes) -> tuple[bytes, RemoteProtocolError | None]:
        """Return what is to be read of a chunk, and the error to raise behind it."""
        self._refuse_after_failure()
        if self._finished:
            raise LocalProtocolError("the stream is finished: call reset() to read another one")
        error = None
        if self._strict:
            chunk, self._undecoded, error = split_decodable(
                self._undecoded + chunk, self._decoded_bytes
            )
            self._decoded_bytes += len(chunk)
        if self._bom is not None:
            chunk = self._bom + chunk
            if len(chunk) < len(_BOM) and _BOM.startswith(chunk):
                self._bom = chunk
                return b"", error
            # "... if any, one leading U+FEFF BYTE ORDER MARK character must be ignored."
            self._bom = None
            chunk = chunk.removeprefix(_BOM)
        if self._skip_lf and chunk:
            self._skip_lf = False
            chunk = chunk.removeprefix(b"\n")
        self._special = self._strict or self._skip_lf
        return chunk, error

    def _read(self, chunk: bytes, events: Sink[Event], items: Sink[Item] | None) -> None:
        """Process the lines of a chunk, and hold the unfinished one at its end."""
        if _LF not in chunk and _CR not in chunk:
            self._hold(chunk, items)
            return
        if len(chunk) > _MANY_BYTES:
            if len(chunk) > (WINDOW_BYTES if self._unfinished else READ_BYTES):
                self._read_any(chunk, events, items)
                return
            if self._unfinished:
                chunk = self._end_line(chunk, items)
            chunk = self._read_many(chunk, events, items)
            if _LF not in chunk and _CR not in chunk:
                self._plain = not (self._special or self._block.begun or self._block.tight)
                self._hold(chunk, items)
                return
        elif self._unfinished:
            chunk = self._end_line(chunk, items)
        # `bytes.splitlines` knows the three line ends of an event stream, and no others.
        lines = chunk.splitlines()
        rest = b""
        if not chunk.endswith(b"\n"):
            if chunk.endswith(b"\r"):
                self._end_by_cr()
            elif lines:
                rest = lines.pop()
        block = self._block
        values = block.values
        tight = block.tight
        for line in lines:
            if not line:
                # "If the line is empty (a blank line) Dispatch the event".
                if values or block.begun:
                    block.dispatch(events)
            elif tight:
                block.measured_field(line, items)
            elif line.startswith(b"data: "):
                values.append(line[6:])
            # "If the line starts with a U+003A COLON character (:) Ignore the line."
            elif line[0] != _COLON or items is not None:
                block.field(line, items)
        if values or block.begun:
            block.measure()
            self._plain = False
        elif not self._plain:
            self._plain = not (self._special or tight)
        if rest:
            self._hold(rest, items)

    def _read_many(self, chunk: bytes, events: Sink[Event], items: Sink[Item] | None) -> bytes:
        """Read as many blocks of a chunk as can be read together, and return what is behind."""
        block = self._block
        blank = b"\r\n\r\n" if _CR in chunk else b"\n\n"
        if block.begun:
            end = chunk.find(blank) + len(blank)
            if end < len(blank) or end == len(chunk):
                return chunk
            self._read(chunk[:end], events, items)
            chunk = chunk[end:]
        if block.begun or block.tight:
            return chunk
        end = chunk.rfind(blank) + len(blank)
        whole = whole_blocks(chunk[:end], block)
        if whole is None:
            return chunk
        events.extend(whole)
        return chunk[end:]

    def _end_by_cr(self) -> None:
        # The line ends here and now: waiting for an LF that may never come would hold back an
        # event that is complete.
        self._skip_lf = self._special = True
        self._plain = False

    def _hold(self, fragment: bytes, items: Sink[Item] | None) -> None:
        """Keep a part of a line whose end has not come."""
        if self._skipping:
            return
        line = self._line
        line += fragment
        if not line:
            return
        self._unfinished = True
        self._plain = False
        is_field = line.startswith(_FIELD_STARTS)
        if is_field or items is not None:
            if len(line) > self._block.room:
                raise self._block.too_large(len(line))
            self._in_line = is_field and not self._special
            self._room = self._block.room
        # A shorter line may be the start of the name of a field, and is too short to matter.
        elif line.startswith(b":") or len(line) >= _LONGEST_FIELD_START:
            self._skipping = True
            line.clear()

    def _end_line(self, chunk: bytes, items: Sink[Item] | None) -> bytes:
        """End the unfinished line.

        Args:
            chunk: What comes behind the part that is held, with a line end in it.
            items: As for `Block.field`.

        Returns:
            What is to be read next: the chunk behind that line or, if what is held of the line is
            moderate, that and all of the chunk.
        """
        self._unfinished = self._in_line = False
        line = self._line
        if not self._skipping and len(line) <= WINDOW_BYTES:
            chunk = bytes(line) + chunk
            line.clear()
            self._plain = not (self._special or self._block.begun or self._block.tight)
            return chunk
        end = chunk.splitlines(keepends=True)[0]
        if not self._skipping:
            line += end.rstrip(b"\r\n")
            self._block.long_field(line, items)
            self._line = bytearray()
        self._skipping = False
        if chunk.endswith(b"\r"):
            self._end_by_cr()
        return chunk[len(end) :]
