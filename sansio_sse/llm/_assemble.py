"""The shortest way from a stream to its answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .._events import Event
from .._parser import EventStreamParser
from ._any import AnyAssembler
from ._errors import AssemblyError
from ._provider import read_error_body

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from .._events import Item
    from ._assembler import Assembler
    from ._completion import Completion

__all__ = ["assemble", "assemble_chunks"]

_MAX_HEAD_BYTES: Final = 64 * 1024


def assemble(events: Iterable[Item], assembler: Assembler | None = None) -> Completion:
    """Return the complete answer of a stream.

    Reading stops where the stream says that it ends: a server that keeps the connection open holds
    nothing up.

    Args:
        events: The events, as `iter_events` gives them; or all items, as `feed_items` does: then an
            error in a field of its own is seen too.
        assembler: What reads them; by default `AnyAssembler()`.

    Raises:
        As `Assembler.feed` and `finish`. What `events` raises comes through.
    """
    return _run(events, assembler).finish()


def assemble_chunks(
    chunks: Iterable[bytes | bytearray | memoryview],
    assembler: Assembler | None = None,
    parser: EventStreamParser | None = None,
) -> Completion:
    """Return the complete answer of the bytes of a response.

    As `assemble`; and more is known of what went wrong: errors in a field of their own, a body
    that is JSON or HTML in place of a stream, a stream that was cut off within an event.

    Args:
        chunks: The body, in pieces of any size.
        assembler: As for `assemble`.
        parser: What reads the events; by default a new `EventStreamParser()`.

    Raises:
        As `Assembler.feed` and `finish`, and as `EventStreamParser.feed`. What `chunks` raises
        comes through.
    """
    parser = EventStreamParser() if parser is None else parser
    head = bytearray()
    assembler = _run(_items(chunks, parser, head), assembler)
    try:
        return assembler.finish(truncated=parser.pending)
    except AssemblyError as error:
        empty = error.code in ("empty_stream", "not_event_stream")
        if not empty or not head.lstrip().startswith((b"{", b"[", b"<")):
            raise
        # All of it, where the fields lack a last line without a line end.
        answer = read_error_body(bytes(head))
        answer.partial = error.partial
        raise answer from error


def _items(
    chunks: Iterable[bytes | bytearray | memoryview], parser: EventStreamParser, head: bytearray
) -> Iterator[Item]:
    """Yield the items of a body, and keep its beginning while there is no event."""
    events = False
    for chunk in chunks:
        if not events and len(head) < _MAX_HEAD_BYTES:
            head += bytes(chunk[: _MAX_HEAD_BYTES - len(head)])
        for item in parser.feed_items(chunk):
            events = events or isinstance(item, Event)
            yield item
    yield from parser.finish()


def _run(items: Iterable[Item], assembler: Assembler | None) -> Assembler:
    """Feed items to an assembler, up to the end that the stream marks, and return it."""
    assembler = AnyAssembler() if assembler is None else assembler
    for item in items:
        assembler.feed(item)
        if assembler.done:
            break
    return assembler
