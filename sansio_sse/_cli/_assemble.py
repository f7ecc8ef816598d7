"""`assemble`: the answer of a model, made of its stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._errors import EventTooLarge, RemoteProtocolError
from ..llm import AssemblyError, Finding, assemble_chunks
from ._bounds import Sample
from ._document import document, pretty
from ._source import read
from ._statuses import INCOMPLETE, INTERRUPTED
from ._utf8 import Utf8Check

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TextIO

    from .._parser import EventStreamParser
    from ..llm import AnyAssembler
    from ._source import Source
    from ._terminal import Terminal

__all__ = ["assemble"]


def assemble(
    source: Source,
    output: TextIO,
    terminal: Terminal,
    parser: EventStreamParser,
    assembler: AnyAssembler,
) -> int:
    """Read a stream up to the end that it marks, and write what it comes to.

    Args:
        source: The stream.
        output: Where the text goes.
        terminal: What is known about that place.
        parser: A new parser.
        assembler: A new assembler.

    Returns:
        The exit status.

    Raises:
        SourceError: `source` raised an `OSError`.
        OSError: `output` did.
    """
    invalid = Sample[int]()
    error: AssemblyError | Finding | None = None
    status = INCOMPLETE
    try:
        completion = assemble_chunks(_chunks(source, invalid), assembler, parser)
        status = 0 if completion.complete else INCOMPLETE
    except AssemblyError as raised:
        error = raised
        completion = raised.partial or assembler.partial()
    except RemoteProtocolError as raised:
        code = "event_too_large" if isinstance(raised, EventTooLarge) else "invalid_utf8"
        error = Finding(code, str(raised), assembler.events + 1)
        completion = assembler.partial(error)
    except KeyboardInterrupt:
        status = INTERRUPTED
        error = Finding("interrupted", "interrupted before the stream ended")
        completion = assembler.partial(error)
    output.write(
        terminal.escape_json(
            pretty(document(assembler.dialect, completion, error, _damage(invalid)))
        )
    )
    output.flush()
    return status


def _chunks(source: Source, invalid: Sample[int]) -> Iterator[bytes]:
    check = Utf8Check(invalid)
    while chunk := read(source):
        check.feed(chunk)
        yield chunk
    check.finish()


def _damage(invalid: Sample[int]) -> list[Finding]:
    if not invalid.count:
        return []
    places = ", ".join(map(str, invalid.first))
    message = f"{invalid.count} invalid sequences of UTF-8, the first ones at bytes {places}"
    return [Finding("invalid_utf8", message)]
