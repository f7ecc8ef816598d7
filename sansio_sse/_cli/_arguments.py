"""What the user can type, and the help on it."""

from __future__ import annotations

import argparse

from .. import __version__
from .._limits import DEFAULT_MAX_EVENT_BYTES
from ..llm import DIALECTS
from ._bounds import SAMPLE_SIZE
from ._dialects import TITLES
from ._statuses import BROKEN_PIPE, FAILED, INCOMPLETE, INTERRUPTED, LOSSES
from ._terminal import MIN_COLUMNS

__all__ = ["ASSEMBLE", "INSPECT", "argument_parser"]

INSPECT = "inspect"
ASSEMBLE = "assemble"

_MEBIBYTES = DEFAULT_MAX_EVENT_BYTES // 2**20

_FILE_HELP = "the body of a response; - for standard input, as it arrives"

_INSPECT_DESCRIPTION = f"""\
Take an event stream apart. Shows a row for each event as soon as it is there,
with comments, reconnection times and unknown fields in their places; then what
was found: line endings, invalid UTF-8, what clients ignore, what got lost; and
if it is the stream of a language model, its dialect and what is odd in that.
A preview that doesn't fit skips what it has in common with the event before.
Rows are as wide as the terminal, but no less than {MIN_COLUMNS} columns.
"""

_INSPECT_EPILOG = f"""\
These mean that data is lost or damaged: a body that is no event stream; a block
larger than {_MEBIBYTES} MiB; invalid UTF-8; an id that holds a NUL; a retry that is not
a number; a field that the specification does not know, which clients ignore; an
event type without data; a block without its blank line at the end; data that is
not JSON (nor [DONE]) where that of most events is. Of the answer of a language
model: an error of the provider; an end before the answer's own; data that can't
be read; a call that must not be run. Other departures from a dialect, and
answers that a limit, a filter or a refusal ended, are only shown.

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
                 number of the [DONE] event), json, not_json, dialect (null if
                 it is none that is known here), answer, arrival, interrupted,
                 losses (which of these led to status {LOSSES}), status
Its "answer", null if there is none, has: complete (null if not all of it was
read), error (as in "assemble"), calls, invalid_calls, finish_reasons, usage (in
which events, by its place in them), empty_choices, repeated_roles, departures
(what a strict reader refuses; by code, the first {SAMPLE_SIZE} events of each). Events are
numbers. The losses of an answer are called provider_error, incomplete_answer,
damaged_answer and invalid_calls.
Lists that may grow long have a "count" and show the first ten.
Offsets and sizes are bytes: an event's offset is that of the first line of its
block, its size is that of its data in UTF-8. From standard input all but the
findings have "seconds", counted from the first byte.

exit status:
  0    nothing is lost or damaged
  {LOSSES}    something is; the findings mark it with "!"
  {FAILED}    FILE can't be read, or the arguments are wrong
  {INTERRUPTED}  interrupted (Ctrl-C), after the findings so far
  {BROKEN_PIPE}  whatever read the output went away

examples:
  %(prog)s response.sse
  curl -sN https://example.com/events | %(prog)s -
"""

_ASSEMBLE_DESCRIPTION = """\
Make one answer of the stream of a language model, and print it as JSON: text,
reasoning, tool calls, why it ended, usage. A call is complete only if the whole
stream came and all of it fits together. If there is no complete answer, prints
why, and what arrived. Reads to the end of the stream, which may mark it itself.
"""

_ASSEMBLE_EPILOG = f"""\
The object that is printed:
  dialect        as for --dialect; null if it can't be told
  complete       whether the answer ended by itself and its calls may be run
  error          null, or why there is no answer: code, message, event (its
                 number, from 1; null at the end of the stream); of an error of
                 the provider also type, provider_code, status, retryable
  id, model      as the provider says; null if it doesn't
  text, reasoning, refusal
                 empty if there was none
  tool_calls     for each: index, id, kind, name, arguments (the text as it was
                 streamed), parsed (null unless complete), complete, problem
                 (null, or why it must not be run: code, message, event)
  finish_reason  as the provider says
  ending         the same in the words for all providers: stop, tool_calls,
                 length, content_filter, refusal, pause, error, other; or null
  message        what the next request must carry of the answer
  usage          null, or input, output, total, cached, reasoning, and raw: what
                 the provider sent
  findings       departures from the dialect: code, message, event
  other_choices  if there are several answers: the others, each with its index
                 and the keys from text to message
With an error the rest is what arrived, and none of its calls is complete.

exit status:
  0    the answer is complete and valid
  {INCOMPLETE}    it is not, or there is none
  {FAILED}    FILE can't be read, or the arguments are wrong
  {INTERRUPTED}  interrupted (Ctrl-C), after what arrived so far
  {BROKEN_PIPE}  whatever read the output went away

examples:
  %(prog)s response.sse
  curl -sN -d @ask.json https://example.com | %(prog)s -
"""


def argument_parser(prog: str) -> argparse.ArgumentParser:
    """Return what reads the arguments; its result has the name of the `command` and its `parser`.

    Args:
        prog: What the user typed to get here.
    """
    parser = argparse.ArgumentParser(
        prog=prog,
        description="Tools for event streams (Server-Sent Events).",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"sansio-sse {__version__}")
    commands = parser.add_subparsers(
        title="commands", metavar="COMMAND", dest="command", required=True
    )
    inspect = commands.add_parser(
        INSPECT,
        help="take a stream apart: a row for each event, then what is wrong with it",
        description=_INSPECT_DESCRIPTION,
        epilog=_INSPECT_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    assemble = commands.add_parser(
        ASSEMBLE,
        help="make one answer of the stream of a language model, if it is complete",
        description=_ASSEMBLE_DESCRIPTION,
        epilog=_ASSEMBLE_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    for command in (inspect, assemble):
        command.set_defaults(parser=command)
        command.add_argument("file", metavar="FILE", help=_FILE_HELP)
    inspect.add_argument(
        "--json", action="store_true", help="print one JSON object a line, with the whole data"
    )
    assemble.add_argument(
        "--strict",
        action="store_true",
        help="accept only what the dialect's documentation allows: the first departure is an error",
    )
    titles = ", ".join(f"{name} ({TITLES[name]})" for name in DIALECTS)
    assemble.add_argument(
        "--dialect",
        choices=DIALECTS,
        help=f"what the stream is, if that should not be found from it: {titles}",
    )
    return parser
