"""Where the bytes come from."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from typing import TextIO

__all__ = ["STDIN", "Source", "SourceError", "open_source", "read"]

# The name that stands for standard input.
STDIN = "-"

_READ_BYTES = 64 * 1024


class Source(Protocol):
    """Where the bytes come from: any buffered binary file."""

    def read1(self, size: int, /) -> bytes:
        """Return what is there, up to `size` bytes; wait only if nothing is; none at the end."""
        ...


class SourceError(Exception):
    """The source can't be opened, or failed in the middle of the stream; the text says why."""


def open_source(name: str) -> AbstractContextManager[Source]:
    """Open the file of that name, or standard input.

    Raises:
        SourceError: It can't be opened.
    """
    if name == STDIN:
        # None if the process was started without one.
        stdin: TextIO | None = getattr(sys, "stdin", None)
        if stdin is None:
            raise SourceError("there is no standard input")
        return nullcontext(cast("Source", stdin.buffer))
    if not name:
        # A path of no parts is the working directory.
        raise SourceError("the file name is empty")
    try:
        return Path(name).open("rb")
    except OSError as error:
        raise SourceError(error.strerror or str(error)) from error
    except ValueError as error:
        raise SourceError(str(error)) from error


def read(source: Source) -> bytes:
    """Return what is there; wait only if nothing is; none at the end.

    Raises:
        SourceError: The source failed.
    """
    try:
        return source.read1(_READ_BYTES)
    except OSError as error:
        raise SourceError(error.strerror or str(error)) from error
