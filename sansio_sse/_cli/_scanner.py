"""Bytes in, rows out: what the parser finds, and where it stood in the stream.

The parser alone says what the bytes mean. The scanner gives it one line at a time, so that what
comes out can only belong to that line or to the block that it ends, and looks at the line for what
the parser passes over without a word.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from .._errors import EventTooLarge
from .._events import Comment, Event, Item, Retry
from ._answer import AnswerReader
from ._findings import Findings, Ignored, TooLarge
from ._utf8 import Utf8Check

if TYPE_CHECKING:
    from .._parser import EventStreamParser

__all__ = ["Row", "Scanner"]

_BOM = b"\xef\xbb\xbf"

# A run is taken at once: its first line end ends the line before it, the next one is a blank line,
# and further ones end nothing.
_LINE_ENDS = re.compile(rb"[\r\n]+")

# What is kept of a line, and of the stream, to look at: any field name with something of its value.
_START_BYTES = 256

_MAX_VALUE_CHARACTERS = 200


class Row(NamedTuple):
    """An item of the stream.

    Attributes:
        number: Counts the events from 1; None for what is not an event.
        offset: The first byte of an event's block, or of another item's line.
        item: What the parser made of it.
    """

    number: int | None
    offset: int
    item: Item


class Scanner:
    """Reads one stream and gathers what there is to say about it.

    What it holds is bounded by the parser's `max_event_bytes` and the limits of an assembler, plus
    a constant.

    Args:
        parser: A new parser that replaces invalid UTF-8.

    Attributes:
        findings: The facts so far; complete after `finish`.
        failed: Whether the parser refuses to go on. Nothing is read from then on.
    """

    def __init__(self, parser: EventStreamParser) -> None:
        self.findings = Findings()
        self.failed = False
        self._parser = parser
        self._utf8 = Utf8Check(self.findings.invalid_utf8)
        self._answer = AnswerReader()
        # What has been read of a byte order mark that may still become one; None once the stream
        # has begun.
        self._bom: bytes | None = b""
        # A CR ended a read, and its line. An LF at the start of the next one belongs to it.
        self._after_cr = False
        self._beginning = b""
        # Where the next byte to look at stands in the stream.
        self._offset = 0
        # The line under way: where it begins, its first bytes, and whether a NUL is in it.
        self._in_line = False
        self._line_offset = 0
        self._line_start = b""
        self._line_nul = False
        # The block under way: where its first line begins, whether it has any field, and whether
        # one that gives the event a type.
        self._in_block = False
        self._block_offset = 0
        self._has_fields = False
        self._has_type = False

    def feed(self, chunk: bytes) -> list[Row]:
        """Take the next bytes, cut anywhere, and return what they complete.

        An event comes out of the call that reads its blank line, also if that is a CR and may
        still turn out to be half of a CRLF.
        """
        rows: list[Row] = []
        self.findings.size += len(chunk)
        if len(self._beginning) < _START_BYTES:
            self._beginning += chunk[:_START_BYTES]
        self._utf8.feed(chunk)
        try:
            self._read(chunk, rows)
        except EventTooLarge as error:
            self.findings.event_too_large = TooLarge(self._block_offset, error.size, error.limit)
            self.failed = True
        return rows

    def finish(self) -> Findings:
        """End the stream and return what there is to say about it."""
        self._utf8.finish()
        unfinished = b""
        if not self.failed:
            self._parser.feed_items(self._bom or b"")
            self._parser.finish()
            if self._parser.pending:
                self.findings.pending_block = self._block_offset
            unfinished = self._line_start[:_START_BYTES]
        findings = self.findings
        findings.judge_body(self._beginning, unfinished)
        findings.answer = self._answer.finish(
            truncated=findings.pending_block is not None,
            whole=not (self.failed or findings.interrupted),
        )
        return self.findings

    def _read(self, chunk: bytes, rows: list[Row]) -> None:
        if self._bom is not None:
            chunk = self._bom + chunk
            if len(chunk) < len(_BOM) and _BOM.startswith(chunk):
                self._bom = chunk
                return
            self._bom = None
            if chunk.startswith(_BOM):
                self.findings.byte_order_mark = True
                self._parser.feed_items(_BOM)
                self._offset = len(_BOM)
                chunk = chunk[len(_BOM) :]
        position = 0
        if self._after_cr and chunk.startswith(b"\n"):
            self.findings.line_endings.complete_crlf()
            self._parser.feed_items(b"\n")
            position = 1
        for run in _LINE_ENDS.finditer(chunk, position):
            if position < run.start():
                self._begin_line(position)
            self._end_line(chunk[position : run.start()], run.group(), rows)
            position = run.end()
        if position < len(chunk):
            self._begin_line(position)
            self._hold(chunk[position:])
        if chunk:
            self._after_cr = chunk.endswith(b"\r")
        self._offset += len(chunk)

    def _begin_line(self, position: int) -> None:
        if not self._in_line:
            self._in_line = True
            self._line_offset = self._offset + position
        if not self._in_block:
            self._in_block = True
            self._block_offset = self._line_offset

    def _hold(self, text: bytes) -> None:
        """Take a part of a line whose end has not come: the parser keeps it, or refuses to."""
        if len(self._line_start) < _START_BYTES:
            self._line_start += text[:_START_BYTES]
        self._line_nul = self._line_nul or b"\0" in text
        self._parser.feed_items(text)

    def _end_line(self, text: bytes, ends: bytes, rows: list[Row]) -> None:
        """Take the rest of a line, its end, and the blank lines behind it."""
        self.findings.line_endings.add(ends)
        items = self._parser.feed_items(text + ends)
        rows.extend(map(self._row, items))
        line_end = 0
        if self._in_line:
            has_nul = self._line_nul or b"\0" in text
            self._look_at_line(self._line_start + text, items, has_nul=has_nul)
            line_end = 2 if ends.startswith(b"\r\n") else 1
            self._in_line = False
            self._line_start = b""
            self._line_nul = False
        if len(ends) > line_end and self._in_block:
            self._end_block(dispatched=bool(items) and isinstance(items[-1], Event))

    def _row(self, item: Item) -> Row:
        findings = self.findings
        self._answer.take(item)
        match item:
            case Event():
                number = findings.add_event(self._block_offset, item.data)
                return Row(number, self._block_offset, item)
            case Comment():
                findings.comments += 1
            case Retry():
                findings.retries += 1
            case _:
                findings.add_unknown(item.name, self._line_offset)
        return Row(None, self._line_offset, item)

    def _look_at_line(self, line: bytes, items: list[Item], *, has_nul: bool) -> None:
        """Note what the line is, and whether the parser ignores it.

        Args:
            line: The line; of a long one at least its first bytes.
            items: What the parser returned for the line and the blank line behind it, if any.
            has_nul: Whether a NUL is anywhere in the line.
        """
        if not line.startswith(b":"):
            self._has_fields = True
        name, _, value = line[:_START_BYTES].partition(b":")
        value = value.removeprefix(b" ")
        match name:
            case b"event":
                self._has_type = bool(value)
            case b"id":
                if has_nul:
                    self.findings.ignored_ids.add(self._ignored(value, "it holds a NUL"))
            case b"retry":
                if not any(isinstance(item, Retry) for item in items):
                    reason = "it is not only ASCII digits" if value else "it is empty"
                    self.findings.ignored_retries.add(self._ignored(value, reason))
            case b"" | b"data":
                pass
            case _:
                return
        self.findings.known_lines += 1

    def _ignored(self, value: bytes, reason: str) -> Ignored:
        text = value.decode("utf-8", "replace")[:_MAX_VALUE_CHARACTERS]
        return Ignored(self._line_offset, text, reason)

    def _end_block(self, *, dispatched: bool) -> None:
        if self._has_fields and not dispatched:
            self.findings.blocks_without_data.add(self._block_offset)
            if self._has_type:
                self.findings.types_without_data.add(self._block_offset)
        self._in_block = self._has_fields = self._has_type = False
