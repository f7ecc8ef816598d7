"""The command line: the one part of the package that does I/O. Nothing else imports it."""

from __future__ import annotations

import argparse
import os
import sys
import time
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, cast

from .. import __version__
from .._limits import DEFAULT_MAX_EVENT_BYTES
from .._parser import EventStreamParser
from ._findings import INTERRUPTED, LOSSES
from ._inspect import SourceError, inspect
from ._json_lines import JsonLines
from ._scanner import Scanner
from ._table import Table
from ._terminal import MIN_COLUMNS, Terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager
    from typing import TextIO

    from ._inspect import Source

__all__ = ["main"]

_STDIN = "-"

# What argparse exits with, too.
_FAILED = 2
# 128 and the number of SIGPIPE: what shells report for a program that the signal ended.
_BROKEN_PIPE = 141

_DESCRIPTION = f"""\
Take an event stream apart. Shows a row for each event as soon as it is there,
with comments, reconnection times and unknown fields in their places; then what
was found: line endings, invalid UTF-8, what clients ignore, what got lost.
A preview that doesn't fit skips what it has in common with the event before.
Rows are as wide as the terminal, but no less than {MIN_COLUMNS} columns.
"""

_MEBIBYTES = DEFAULT_MAX_EVENT_BYTES // 2**20

_EPILOG = f"""\
These mean that data is lost or damaged: a body that is no event stream; a block
larger than {_MEBIBYTES} MiB; invalid UTF-8; an id that holds a NUL; a retry that is not
a number; a field that the specification does not know, which clients ignore; an
event type without data; a block without its blank line at the end; data that is
not JSON (nor [DONE]) where that of most events is.

Each object of --json has a "kind":
  event          number, offset, type, id (null without one), last_event_id,
                 size, data
  comment        offset, text
  retry          offset, milliseconds
  unknown_field  offset, name, value
  findings       the last one: bytes, events, comments, retries, line_endings,
                 byte_order_mark, invalid_utf8, ignored_ids, ignored_retries,
                 unknown_fields, blocks_without_data, types_without_data,
                 pending_block, event_too_large, not_an_event_stream, done (the
                 number of the [DONE] event), json, not_json, arrival,
                 interrupted, losses (which of these led to status {LOSSES}), status
Lists that may grow long have a "count" and show the first ten.
Offsets and sizes are bytes: an event's offset is that of the first line of its
block, its size is that of its data in UTF-8. From standard input all but the
findings have "seconds", counted from the first byte.

exit status:
  0    nothing is lost or damaged
  {LOSSES}    something is; the findings mark it with "!"
  {_FAILED}    FILE can't be read, or the arguments are wrong
  {INTERRUPTED}  interrupted (Ctrl-C), after the findings so far
  {_BROKEN_PIPE}  whatever read the output went away

examples:
  %(prog)s response.sse
  curl -sN https://example.com/events | %(prog)s -
"""


def main(
    argv: Sequence[str] | None = None,
    *,
    prog: str = "sansio-sse",
    clock: Callable[[], float] = time.monotonic,
) -> int:
    """Run the command line.

    Args:
        argv: The arguments; those of the process if None.
        prog: What the user typed to get here.
        clock: Monotonic seconds.

    Returns:
        The exit status.

    Raises:
        SystemExit: The arguments are wrong, or ask for help.
    """
    arguments, unknown = _argument_parser(prog).parse_known_args(argv)
    if unknown:
        # `parse_args` would show how to use the program, not the command.
        command: argparse.ArgumentParser = arguments.command
        command.error(f"unrecognized arguments: {' '.join(unknown)}")
    name: str = arguments.file
    try:
        return _run_inspect(name, as_json=arguments.json, clock=clock)
    except KeyboardInterrupt:
        return INTERRUPTED
    except SourceError as error:
        _complain(f"{prog}: cannot read {name!r}: {error}")
        return _FAILED
    except BrokenPipeError:
        _abandon_output()
        return _BROKEN_PIPE
    except OSError as error:
        _abandon_output()
        _complain(f"{prog}: cannot write: {error.strerror or error}")
        return _FAILED


def _argument_parser(prog: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=prog,
        description="Tools for event streams (Server-Sent Events).",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"sansio-sse {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    command = commands.add_parser(
        "inspect",
        help="take a stream apart: a row for each event, then what is wrong with it",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    command.set_defaults(command=command)
    command.add_argument(
        "file", metavar="FILE", help="the body of a response; - for standard input, as it arrives"
    )
    command.add_argument(
        "--json", action="store_true", help="print one JSON object a line, with the whole data"
    )
    return parser


def _run_inspect(name: str, *, as_json: bool, clock: Callable[[], float]) -> int:
    # None if the process was started without one.
    output: TextIO | None = getattr(sys, "stdout", None)
    if output is None:
        raise OSError("there is no standard output")
    timed = name == _STDIN
    with _open(name) as source:
        return inspect(
            source,
            output,
            Scanner(EventStreamParser()),
            JsonLines(timed=timed) if as_json else Table(Terminal.behind(output), timed=timed),
            clock if timed else None,
        )


def _open(name: str) -> AbstractContextManager[Source]:
    if name == _STDIN:
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


def _complain(text: str) -> None:
    # Without a standard error there is nobody to tell.
    with suppress(AttributeError, OSError):
        sys.stderr.write(f"{text}\n")


def _abandon_output() -> None:
    """Let what is still buffered go nowhere: the interpreter would fail to write it at its exit."""
    with suppress(AttributeError, OSError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
