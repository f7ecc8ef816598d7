"""The command: `python3 -m benchmarks`."""

import argparse
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from . import environment, node
from .cases import CASES
from .peers import OURS, PEERS
from .report import MissingMarkerError, as_text, update_readme
from .results import write_json
from .running import run
from .svg import write_svg
from .timing import FULL, QUICK

_ROOT = Path(__file__).resolve().parents[1]
_README = _ROOT / "README.md"
_USAGE_ERROR = 2
_INTERRUPTED = 130

_EXAMPLES = """\
examples:
  python3 -m benchmarks                       measure everything (a few minutes)
  python3 -m benchmarks --quick               see that everything works; the figures are rough
  python3 -m benchmarks --case chat-event --peer launchdarkly --peer httpx-sse
  python3.13 -m benchmarks --update-readme    the figures of the README

A run of everything writes benchmarks/results.json and benchmarks/results.svg. A quick or a partial
run writes only what --json and --svg ask for. What the cases are and how to read the table stands
in benchmarks/README.md.
"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        # One line, without the usage that argparse puts before it.
        self.exit(_USAGE_ERROR, f"{self.prog}: {message}\n")


def _arguments(argv: Sequence[str]) -> argparse.Namespace:
    parser = _Parser(
        prog="python3 -m benchmarks",
        description="Time sansio-sse and other decoders of event streams on the same bytes.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    case_names = [case.name for case in CASES]
    peer_names = [*(peer.name for peer in PEERS), node.NAME]
    parser.add_argument(
        "--quick", action="store_true", help="few passes: rough figures in half a minute"
    )
    parser.add_argument(
        "--case",
        action="append",
        default=[],
        choices=case_names,
        metavar="NAME",
        help=f"only this case; can be repeated; one of {', '.join(case_names)}",
    )
    parser.add_argument(
        "--peer",
        action="append",
        default=[],
        choices=peer_names,
        metavar="NAME",
        help=f"only this peer beside ours; can be repeated; one of {', '.join(peer_names)}",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every raw figure here")
    parser.add_argument("--svg", type=Path, metavar="FILE", help="draw the table here")
    parser.add_argument(
        "--update-readme",
        action="store_true",
        help="rewrite the table in README.md; takes a full run",
    )
    parser.add_argument(
        "--here",
        action="store_true",
        help="run in this interpreter, with the peers that it has, and make no environment",
    )
    arguments = parser.parse_args(argv)
    full = not (arguments.quick or arguments.case or arguments.peer)
    if full:
        arguments.json = arguments.json or _ROOT / "benchmarks" / "results.json"
        arguments.svg = arguments.svg or _ROOT / "benchmarks" / "results.svg"
    elif arguments.update_readme:
        parser.error("--update-readme takes a full run: leave out --quick, --case and --peer")
    # Found out now, not after minutes of measuring.
    for path in (arguments.json, arguments.svg):
        if path is not None and (path.is_dir() or not path.parent.is_dir()):
            parser.error(f"cannot write {path}: not a file in an existing folder")
    if arguments.update_readme:
        try:
            update_readme(_README, None)
        except MissingMarkerError as error:
            parser.error(f"cannot update the README: {error}")
        except OSError as error:
            parser.error(f"cannot update the README: {error.strerror}")
    return arguments


def main(argv: Sequence[str]) -> int:
    """Run the command and return its exit status."""
    arguments = _arguments(argv)
    if not arguments.here:
        environment.enter("benchmarks", argv)

    def progress(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    effort = QUICK if arguments.quick else FULL
    try:
        results = run(arguments.case, arguments.peer, effort, progress)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except ImportError as error:
        print(f"python3 -m benchmarks: {error}", file=sys.stderr)
        return _USAGE_ERROR
    width = shutil.get_terminal_size((160, 24)).columns
    print(as_text(results, width))
    try:
        if arguments.json is not None:
            write_json(results, arguments.json)
        if arguments.svg is not None:
            write_svg(results, arguments.svg)
        if arguments.update_readme:
            update_readme(_README, results)
    except (MissingMarkerError, OSError) as error:
        print(f"python3 -m benchmarks: {error}", file=sys.stderr)
        return _USAGE_ERROR
    ours_is_right = all(row.best(OURS.name) is not None for row in results.rows)
    return 0 if ours_is_right else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
