"""Which dialect a stream is of, and the whole way from its items to a completion."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from .._events import Event
from .._parser import EventStreamParser
from ._errors import AssemblyError
from ._json import as_object, as_text
from ._provider import read_error_body
from .chat_completions import ChatCompletionsAssembler
from .generate_content import GenerateContentAssembler
from .messages import MessagesAssembler
from .responses import ResponsesAssembler

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from .._events import Item
    from ._assembler import Assembler
    from ._completion import Completion

__all__ = ["assemble", "assemble_chunks", "detect"]

_MESSAGES_TYPES = frozenset(
    {
        "message_start",
        "message_delta",
        "message_stop",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "ping",
    }
)
_GENERATE_CONTENT_FIELDS = frozenset({"candidates", "promptFeedback", "usageMetadata"})

# Items that are held while none of them tells the dialect.
_MAX_UNDECIDED: Final = 100

_MAX_HEAD_BYTES: Final = 64 * 1024


def detect(event: Item, loads: Callable[[str], Any] = json.loads) -> type[Assembler] | None:
    """Return the assembler for a stream with such an event; None if it tells nothing.

    The first event of a stream tells it nearly always; keep-alives, `[DONE]` and errors don't.

    Args:
        event: An event of the stream, or another item, which tells nothing.
        loads: What parses its data.
    """
    if not isinstance(event, Event):
        return None
    try:
        payload = as_object(loads(event.data))
    # Each parser has errors of its own.
    except Exception:
        return None
    kind = as_text(payload.get("type")) or event.type
    if kind.startswith("response.") or (kind == "keepalive" and "sequence_number" in payload):
        return ResponsesAssembler
    if kind in _MESSAGES_TYPES:
        return MessagesAssembler
    if "choices" in payload or payload.get("object") == "chat.completion.chunk":
        return ChatCompletionsAssembler
    if _GENERATE_CONTENT_FIELDS & payload.keys():
        return GenerateContentAssembler
    return None


def assemble(events: Iterable[Item], assembler: Assembler | None = None) -> Completion:
    """Return the complete answer of a stream.

    Reading stops where the stream says that it ends: a server that keeps the connection open holds
    nothing up.

    Args:
        events: The events, as `iter_events` gives them; or all items, as `feed_items` does: then an
            error in a field of its own is seen too.
        assembler: What reads them; by default a tolerant one of the dialect that is found.

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
    # Errors and ends are the same in all dialects: until the dialect is known, one of them sees
    # those, and what came is kept for the right one.
    current = ChatCompletionsAssembler() if assembler is None else assembler
    undecided: list[Item] | None = [] if assembler is None else None
    for item in items:
        if undecided is not None:
            found = detect(item)
            if found is not None:
                current = found()
                for held in undecided:
                    current.feed(held)
            undecided.append(item)
            if found is not None or len(undecided) > _MAX_UNDECIDED:
                undecided = None
        current.feed(item)
        if current.done:
            break
    return current
