"""The command line: the one part of the package that does I/O. Nothing else imports it."""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from .._parser import EventStreamParser
from ..llm import AnyAssembler
from ._arguments import ASSEMBLE, argument_parser
from ._assemble import assemble
from ._inspect import inspect
from ._json_lines import JsonLines
from ._scanner import Scanner
from ._source import STDIN, SourceError, open_source
from ._statuses import BROKEN_PIPE, FAILED, INTERRUPTED
from ._table import Table
from ._terminal import Terminal

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence
    from typing import TextIO

__all__ = ["main"]


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
    arguments, unknown = argument_parser(prog).parse_known_args(argv)
    if unknown:
        # `parse_args` would show how to use the program, not the command.
        parser: argparse.ArgumentParser = arguments.parser
        parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    try:
        # None if the process was started without one.
        output: TextIO | None = getattr(sys, "stdout", None)
        if output is None:
            raise OSError("there is no standard output")
        if arguments.command == ASSEMBLE:
            return _run_assemble(arguments, output)
        return _run_inspect(arguments, output, clock)
    except KeyboardInterrupt:
        return INTERRUPTED
    except SourceError as error:
        _complain(f"{prog}: cannot read {arguments.file!r}: {error}")
        return FAILED
    except BrokenPipeError:
        _abandon_output()
        return BROKEN_PIPE
    except OSError as error:
        _abandon_output()
        _complain(f"{prog}: cannot write: {error.strerror or error}")
        return FAILED


def _run_inspect(arguments: argparse.Namespace, output: TextIO, clock: Callable[[], float]) -> int:
    timed = arguments.file == STDIN
    with open_source(arguments.file) as source:
        return inspect(
            source,
            output,
            Scanner(EventStreamParser()),
            JsonLines(timed=timed)
            if arguments.json
            else Table(Terminal.behind(output), timed=timed),
            clock if timed else None,
        )


def _run_assemble(arguments: argparse.Namespace, output: TextIO) -> int:
    strict: bool = arguments.strict
    with open_source(arguments.file) as source:
        return assemble(
            source,
            output,
            Terminal.behind(output),
            EventStreamParser(utf8="strict" if strict else "replace"),
            AnyAssembler(arguments.dialect, strict=strict),
        )


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
