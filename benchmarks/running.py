"""One run: see who can take part, who is right, and then time those."""

import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack

from . import node
from .cases import CASES, Case
from .checking import check
from .peers import OURS, PEERS, Driver, Peer, our_feed, our_version
from .results import FLOOR, Results, Row, environment
from .timing import Effort, Pass, feed_and_loads, floor, one_pass, take_turns

Progress = Callable[[str], None]
"""Is told what is being done."""


def run(
    case_names: Sequence[str], peer_names: Sequence[str], effort: Effort, progress: Progress
) -> Results:
    """Compare and time decoders.

    Args:
        case_names: The cases; none means all.
        peer_names: The peers beside ours; none means all.
        effort: How long to measure.
        progress: Is told what is being done, a line at a time.

    Raises:
        ImportError: Our own package cannot be imported.
    """
    cases = [case for case in CASES if not case_names or case.name in case_names]
    peers = [peer for peer in PEERS if not peer_names or peer.name in peer_names]
    drivers = {OURS.name: OURS.load()}
    versions = {OURS.name: our_version()}
    absent: dict[str, str] = {}
    for peer in peers:
        try:
            drivers[peer.name] = peer.load()
        except ImportError as error:
            absent[peer.name] = _why_absent(peer, error)
        else:
            versions[peer.name] = peer.version()

    machine: node.Node | None = None
    if not peer_names or node.NAME in peer_names:
        progress(f"looking for node and {node.NAME}")
        try:
            machine = node.find()
        except node.NotAvailableError as error:
            absent[node.NAME] = str(error)
        else:
            versions[node.NAME] = machine.package_version

    results = Results(
        environment=environment(None if machine is None else machine.version),
        versions=versions,
        absent=absent,
        complete=not case_names and not peer_names,
        rounds=effort.rounds,
    )
    wrong = _check_all(list(drivers), cases, effort, progress)
    for case in cases:
        progress(f"timing {case.name}")
        row = _time(case, drivers, machine, wrong, effort)
        results.rows.append(row)
    # A parser that is wrong somewhere may raise here; its speed says nothing anyway.
    if not any(OURS.name in row.wrong for row in results.rows):
        progress("timing feed and json.loads")
        results.feed, results.loads = feed_and_loads(our_feed(), effort)
    return results


def _why_absent(peer: Peer, error: ImportError) -> str:
    if not peer.version():
        return f"not installed on Python {sys.version_info.major}.{sys.version_info.minor}"
    return f"cannot be imported: {error}"


def _check_all(
    names: Sequence[str], cases: Sequence[Case], effort: Effort, progress: Progress
) -> dict[tuple[str, str], str]:
    """Return what is wrong, by decoder and case."""
    wrong: dict[tuple[str, str], str] = {}
    for name in names:
        progress(f"comparing the events of {name}")
        for case_name, why in check(name, [case.name for case in cases], effort.check_seconds):
            if why is not None:
                wrong[name, case_name] = why
    return wrong


def _time(
    case: Case,
    drivers: dict[str, Driver],
    machine: node.Node | None,
    wrong: dict[tuple[str, str], str],
    effort: Effort,
) -> Row:
    stream = case.stream()
    size = sum(map(len, stream.chunks))
    row = Row(case.name, case.title, case.unit, len(stream.chunks), size, len(stream.expected))
    row.wrong = {name: why for (name, where), why in wrong.items() if where == case.name}
    passes: dict[str, Pass] = {
        name: one_pass(driver.drain, stream.chunks)
        for name, driver in drivers.items()
        if name not in row.wrong
    }
    passes[FLOOR] = one_pass(floor, stream.chunks)
    with ExitStack() as stack:
        if machine is not None:
            why = machine.check(stream, effort.check_seconds)
            if why is None:
                passes[node.NAME] = stack.enter_context(machine.passes(stream))
            else:
                row.wrong[node.NAME] = why
        row.samples = take_turns(passes, effort)
    return row
