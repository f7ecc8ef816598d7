"""Is a peer right, and does it end: found out in a child process, before anything is timed.

Several decoders take time quadratic in some shape of stream. A child can be killed; a call in this
process could not.
"""

import multiprocessing
import signal
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from multiprocessing.connection import Connection

from .cases import CASES, Pair
from .peers import OURS, PEERS, Driver

# Importing an SDK takes seconds on a busy machine, and says nothing about its decoder.
_IMPORT_SECONDS = 120.0

_SHOWN_CHARACTERS = 40


def difference(expected: Sequence[Pair], got: Sequence[Pair]) -> str | None:
    """Say in a few words how the events of a peer differ from the expected ones.

    Returns:
        None if they are equal.
    """
    if expected == got:
        return None
    wanted = set(expected)
    phantoms = sum(1 for pair in got if not pair[1] and pair not in wanted)
    if [pair for pair in got if pair[1] or pair in wanted] == list(expected):
        return f"{phantoms} phantom event{'s' if phantoms > 1 else ''} without data"
    for number, (want, have) in enumerate(zip_longest(expected, got), start=1):
        if want != have:
            shown = "missing" if have is None else f"{have[0]}: {have[1]}"[:_SHOWN_CHARACTERS]
            return f"{len(got)} of {len(expected)} events; first difference at {number}: {shown}"
    return "differs"


def _verdict(driver: Driver, case_name: str) -> str | None:
    case = next(case for case in CASES if case.name == case_name)
    stream = case.stream()
    try:
        return difference(stream.expected, driver.pairs(stream.chunks))
    except Exception as error:  # whatever a peer raises is a result here
        return f"raises {type(error).__name__}"


def _child(peer_name: str, case_names: Sequence[str], pipe: Connection) -> None:
    """Run in the child: say that the peer is loaded, then a verdict for each case."""
    # The parent hears of Ctrl-C too, and ends this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    peer = next(peer for peer in (OURS, *PEERS) if peer.name == peer_name)
    driver = peer.load()
    pipe.send(None)
    for name in case_names:
        pipe.send(_verdict(driver, name))


def check(
    peer_name: str, case_names: Sequence[str], seconds: float
) -> Iterator[tuple[str, str | None]]:
    """Compare a peer's events with the expected ones, in a child process.

    Args:
        peer_name: The peer, which must be installed.
        case_names: The cases to try.
        seconds: How long each may take. After that the child is killed, and the next case gets
            a new one.

    Yields:
        The name of a case, and what is wrong there: None if nothing is, or a text that starts with
        `>` if the time was not enough.
    """
    context = multiprocessing.get_context("spawn")
    waiting = list(case_names)
    while waiting:
        receiver, sender = context.Pipe(duplex=False)
        child = context.Process(target=_child, args=(peer_name, tuple(waiting), sender))
        child.start()
        # Only the child may hold this end open, or its death would not be seen.
        sender.close()
        try:
            loaded = _receive(receiver, _IMPORT_SECONDS)
            while waiting:
                verdict = loaded or _receive(receiver, seconds)
                yield waiting.pop(0), verdict
                if verdict is not None and verdict.startswith((">", "ends")):
                    break
        finally:
            child.kill()
            child.join()
            receiver.close()


def _receive(receiver: Connection, seconds: float) -> str | None:
    if not receiver.poll(seconds):
        return f"> {seconds:g} s"
    try:
        verdict: str | None = receiver.recv()
    except EOFError:
        return "ends the process"
    return verdict
