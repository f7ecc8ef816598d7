"""`inspect`: a stream, taken apart while it arrives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ._findings import Arrival
from ._source import read

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TextIO

    from ._findings import Findings
    from ._scanner import Row, Scanner
    from ._source import Source

__all__ = ["Renderer", "inspect"]


class Renderer(Protocol):
    """What makes text of rows and findings."""

    def rows(self, rows: Sequence[Row], seconds: float) -> str: ...
    def findings(self, findings: Findings) -> str: ...


def inspect(
    source: Source,
    output: TextIO,
    scanner: Scanner,
    renderer: Renderer,
    clock: Callable[[], float] | None = None,
) -> int:
    """Read a stream to its end, write each row when its last byte is there, then the findings.

    Args:
        source: The stream.
        output: Where the text goes.
        scanner: What reads it.
        renderer: What makes text of it.
        clock: Monotonic seconds; None if it doesn't matter when the bytes come.

    Returns:
        The exit status of the findings.

    Raises:
        SourceError: `source` raised an `OSError`.
        OSError: `output` did.
    """
    begin = first = last = clock() if clock else 0.0
    interrupted = False
    try:
        while not scanner.failed and (chunk := read(source)):
            last = clock() if clock else 0.0
            if not scanner.findings.size:
                first = last
            output.write(renderer.rows(scanner.feed(chunk), last - first))
            output.flush()
    except KeyboardInterrupt:
        interrupted = True
    scanner.findings.interrupted = interrupted
    findings = scanner.finish()
    if clock and findings.size:
        findings.arrival = Arrival(first - begin, last - first)
    output.write(renderer.findings(findings))
    output.flush()
    return findings.status
