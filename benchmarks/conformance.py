"""The command `python3 -m benchmarks.conformance`: how many conformance vectors each peer passes.

Each vector runs whole and byte by byte, and the types and data of the events are compared; an
un-named event may be called None, "" or "message". What peers make of ids, reconnection times and
comments is not compared: not all of them have it.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from . import environment
from .cases import Pair
from .peers import OURS, PEERS, Driver

_VECTORS = Path(__file__).resolve().parents[1] / "tests" / "vectors" / "parser.json"

# Several peers take time quadratic in the length of a line that comes byte by byte.
_LONG = 20_000


def _passes(driver: Driver, stream: bytes, expected: Sequence[Pair]) -> bool:
    chunkings = [[stream]]
    if len(stream) < _LONG:
        chunkings.append([stream[i : i + 1] for i in range(len(stream))])
    try:
        return all(driver.pairs(chunks) == expected for chunks in chunkings)
    except Exception:  # whatever a peer raises is a failure here
        return False


def main(argv: Sequence[str]) -> int:
    """Print a line for each peer, and return 0 if ours passes every vector."""
    parser = argparse.ArgumentParser(
        prog="python3 -m benchmarks.conformance",
        description="Count the conformance vectors that each decoder of event streams passes.",
    )
    parser.add_argument(
        "--here", action="store_true", help="use the peers that this interpreter has"
    )
    if not parser.parse_args(argv).here:
        environment.enter("benchmarks.conformance", argv)
    vectors = json.loads(_VECTORS.read_text("utf-8"))
    failed_by_us = 0
    for peer in (OURS, *PEERS):
        try:
            driver = peer.load()
        except ImportError:
            print(f"{peer.name:14} not installed")
            continue
        failed = [
            vector["id"]
            for vector in vectors
            if not _passes(
                driver,
                vector["bytes"].encode("latin-1"),
                [(event["type"], event["data"]) for event in vector["events"]],
            )
        ]
        failed_by_us += len(failed) if peer is OURS else 0
        shown = ", ".join(failed[:3]) + (", …" if len(failed) > 3 else "")
        print(f"{peer.name:14} {len(vectors) - len(failed)} of {len(vectors)}  {shown}", flush=True)
    return 1 if failed_by_us else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
