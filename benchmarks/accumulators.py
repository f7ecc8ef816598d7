"""The command `python3 -m benchmarks.accumulators`: what each SDK makes of streams, and what we do.

Streams as providers send them, and with quirks that are known from servers, go through the
accumulators of the SDKs and through our assemblers, tolerant. What comes out is compared with what
each stream says: text, calls with the arguments that a caller would run them with, finish reason;
for a stream that is broken, an error, with the provider's message if there is one.
"""

import argparse
import json
import sys
import warnings
from collections.abc import Sequence

from . import environment
from .accumulator_peers import OURS, PEERS, Driver
from .accumulator_quirks import quirks
from .accumulator_streams import Answer, Call, Failure, Stream, captures

_TITLES = {
    "chat": "Chat Completions",
    "responses": "Responses",
    "messages": "Messages",
    "contents": "generateContent",
}
_SHOWN_CHARACTERS = 70
_NOTES = (
    "right: text, calls and finish reason are those of the stream, and usage and role where the "
    "stream is about them; for a broken stream: an error, with the provider's message if it has "
    "one.",
    "unusable: the arguments are no text that is a JSON object, or the call is marked as not to be "
    "run.",
    "google-genai has no accumulator: its chunks are joined as they come.",
)


def _shown_call(call: Call) -> str:
    arguments = "unusable" if call.arguments is None else json.dumps(call.arguments)
    return f"{call.name}({arguments}), id {call.id!r}" if call.id else f"{call.name}({arguments})"


def _same(want: Call, have: Call) -> bool:
    return (want.name, want.arguments) == (have.name, have.arguments) and want.id in ("", have.id)


def _difference(want: Answer, have: Answer) -> str | None:
    """Say in a few words how an answer differs from the right one; None if it doesn't."""
    if have.text != want.text:
        return f"text {have.text!r}"
    if len(have.calls) != len(want.calls):
        shown = "; ".join(map(_shown_call, have.calls)) or "none"
        return f"calls {shown}"
    for expected, call in zip(want.calls, have.calls, strict=True):
        if not _same(expected, call):
            return f"call {_shown_call(call)}"
    if have.finish != want.finish:
        return f"finish reason {have.finish!r}"
    if want.role is not None and have.role not in (None, want.role):
        return f"role {have.role!r}"
    if want.tokens is not None and have.tokens != want.tokens:
        return "no usage" if have.tokens is None else f"{have.tokens} tokens"
    return None


def verdict(driver: Driver, stream: Stream) -> str:
    """Say whether an accumulator gets a stream right."""
    messages = [right.message for right in stream.right if isinstance(right, Failure)]
    answers = [right for right in stream.right if isinstance(right, Answer)]
    try:
        have = driver(stream)
    except Exception as error:  # whatever a peer raises is a result here
        if any(message in str(error) for message in messages):
            return "right"
        return f"raises {type(error).__name__}" + (", message lost" if messages else "")
    differences = [_difference(want, have) for want in answers]
    if None in differences:
        return "right"
    difference = differences[0] if differences else "no error"
    return f"wrong: {difference}"


def _cell(text: str) -> str:
    if len(text) > _SHOWN_CHARACTERS:
        text = f"{text[:_SHOWN_CHARACTERS]}…"
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


def _table(drivers: dict[str, dict[str, Driver]]) -> tuple[list[str], int]:
    """Return the lines of the table, and how many streams we get wrong."""
    rows = [["stream", *drivers], ["---"] * (len(drivers) + 1)]
    failed = 0
    dialect = ""
    dialects = list(_TITLES)
    each = [*captures(), *quirks()]
    for stream in sorted(each, key=lambda stream: dialects.index(stream.dialect)):
        if stream.dialect != dialect:
            dialect = stream.dialect
            rows.append([f"**{_TITLES[dialect]}**", *[""] * len(drivers)])
        cells: list[str] = []
        for name, by_dialect in drivers.items():
            driver = by_dialect.get(dialect)
            cell = "–" if driver is None else verdict(driver, stream)
            failed += name == OURS.name and cell != "right"
            cells.append(cell)
        rows.append([stream.name, *cells])
    return [f"| {' | '.join(map(_cell, row))} |" for row in rows], failed


def main(argv: Sequence[str]) -> int:
    """Print the table, and return 0 if we get every stream right."""
    parser = argparse.ArgumentParser(
        prog="python3 -m benchmarks.accumulators",
        description="Compare what the accumulators of the SDKs and ours make of the same streams.",
    )
    parser.add_argument(
        "--here", action="store_true", help="use the SDKs that this interpreter has"
    )
    if not parser.parse_args(argv).here:
        environment.enter("benchmarks.accumulators", argv)
    # The models of the SDKs warn of values that don't fit to their types. The table shows them.
    warnings.simplefilter("ignore")
    drivers: dict[str, dict[str, Driver]] = {}
    versions: list[str] = []
    for peer in (OURS, *PEERS):
        try:
            drivers[peer.name] = peer.load()
        except ImportError:
            versions.append(f"{peer.name} not installed")
            continue
        versions.append(f"{peer.name} {peer.version()}".rstrip())
    lines, failed = _table(drivers)
    print("\n".join([", ".join(versions), "", *lines, "", *_NOTES]))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
