"""What one run found out, and what it says about the aims."""

import json
import platform
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from math import prod
from pathlib import Path

from . import node
from .peers import OURS, PEERS

FLOOR = "floor"

COLUMNS = (*(peer.name for peer in PEERS), node.NAME)
"""Every peer of the table, in its order."""

_PYTHON_PEERS = frozenset(peer.name for peer in PEERS)

AIMED_AT = "CPython 3.13"
"""The interpreter that the aims are set for."""

# Two runs of the same code differ by that much on a quiet machine: nearer is level.
_NOISE = 0.05


@dataclass(slots=True)
class Row:
    """One case.

    Attributes:
        name, title, unit: As in the case.
        reads, size, events: What the stream consists of; the size is in bytes.
        samples: The nanoseconds of each pass over the stream, by decoder.
        wrong: Why a decoder was not timed: what its events have wrong, or `> N s`.
    """

    name: str
    title: str
    unit: str
    reads: int
    size: int
    events: int
    samples: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    wrong: dict[str, str] = field(default_factory=dict[str, str])

    def best(self, decoder: str) -> float | None:
        """Return the nanoseconds a unit of its best pass, or None if it was not timed."""
        samples = self.samples.get(decoder)
        if not samples:
            return None
        return min(samples) / (self.events if self.unit == "event" else self.reads)

    def ratio(self, decoder: str) -> float | None:
        """Return how many times as long as ours a decoder takes, or None if one was not timed."""
        theirs, ours = self.best(decoder), self.best(OURS.name)
        return theirs / ours if theirs and ours else None

    def fastest(self) -> str | None:
        """Return the fastest Python peer that gets this case right, or None."""
        timed = [(best, name) for name in _PYTHON_PEERS if (best := self.best(name)) is not None]
        return min(timed)[1] if timed else None

    def lead(self) -> float | None:
        """Return how many times as long as ours the fastest Python peer takes."""
        fastest = self.fastest()
        return None if fastest is None else self.ratio(fastest)


@dataclass(slots=True)
class Results:
    """One run.

    Attributes:
        environment: What it ran on, by what it is.
        versions: The version of each decoder that took part.
        absent: Why a peer did not take part.
        complete: Whether it had every case, and every peer that could be had.
        rounds: How many passes each decoder got, unless it is slow; the best one counts.
        rows: The cases.
        feed: Nanoseconds that our `feed` takes for a chat chunk.
        loads: Nanoseconds that `json.loads` takes for its payload.
    """

    environment: dict[str, str]
    versions: dict[str, str]
    absent: dict[str, str]
    complete: bool
    rounds: int
    rows: list[Row] = field(default_factory=list[Row])
    feed: float | None = None
    loads: float | None = None

    def lead(self) -> float | None:
        """Return the geometric mean, over the cases, of the lead on the fastest Python peer.

        Returns:
            None if a case has no lead: a mean without it would hide that case.
        """
        leads = [row.lead() for row in self.rows]
        known = [lead for lead in leads if lead is not None]
        return prod(known) ** (1 / len(known)) if known and len(known) == len(leads) else None


@dataclass(frozen=True, slots=True)
class Aim:
    """One aim.

    Attributes:
        text: What is aimed at.
        figure: What was measured.
        met: Whether that is enough.
    """

    text: str
    figure: str
    met: bool


def aims(results: Results) -> list[Aim]:
    """Compare a complete run with every aim of the project.

    Returns:
        The aims that the run has figures for; none for a run that left out cases or peers.
    """
    leads = sorted((lead, row.name) for row in results.rows if (lead := row.lead()) is not None)
    if not results.complete or not leads:
        return []
    rows = {row.name: row for row in results.rows}
    found: list[Aim] = []

    lost = [f"{row.name} (wrong)" for row in results.rows if OURS.name in row.wrong]
    lost += [f"{name} ({lead:.3f})" for lead, name in leads if lead < 1.0]
    lowest, where = leads[0]
    figure = f"behind in {', '.join(lost)}" if lost else f"lowest is {lowest:.3f} in {where}"
    found.append(Aim("never behind the fastest Python peer in a case", figure, not lost))

    for text, value, least in (
        ("geometric mean over the fastest Python peer at least 1.6", results.lead(), 1.6),
        ("one chat chunk a read: at least 1.6", rows["chat-event"].lead(), 1.6),
        ("chat in 64 KiB reads: at least 2.0", rows["chat-64k"].lead(), 2.0),
    ):
        figure = "no figure" if value is None else f"{value:.3f}"
        found.append(Aim(text, figure, value is not None and value >= least))

    level = rows["chat-64k"].ratio(node.NAME)
    if level is not None:
        text = f"chat in 64 KiB reads: level with {node.NAME} on node (within {_NOISE:.0%})"
        found.append(Aim(text, f"{level:.3f}", level >= 1 - _NOISE))
    if results.feed and results.loads:
        share = results.feed / results.loads
        text = "feed of a chat chunk costs at most a fifth of json.loads on its payload"
        figure = f"{share:.3f} ({results.feed:.0f} of {results.loads:.0f} ns)"
        found.append(Aim(text, figure, share <= 0.2))
    return found


def environment(node_version: str | None) -> dict[str, str]:
    """Describe the machine and the interpreter; nothing here identifies the machine."""
    described = {
        "date": datetime.now(timezone.utc).date().isoformat(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "processor": _processor(),
        "system": f"{platform.system()} {platform.machine()}",
    }
    return described if node_version is None else {**described, "node": node_version}


def _processor() -> str:
    # platform.processor() is empty or only the architecture on most Linux systems.
    try:
        text = Path("/proc/cpuinfo").read_text("utf-8")
        found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    except OSError:
        found = None
    return found[1].strip() if found else platform.processor() or "unknown"


def write_json(results: Results, path: Path) -> None:
    """Write every raw figure, and the ratios and aims derived from them."""
    document: dict[str, object] = asdict(results)
    document["ratios"] = {row.name: _ratios(row, (*COLUMNS, FLOOR)) for row in results.rows}
    document["fastest"] = {row.name: row.fastest() for row in results.rows}
    document["geometric_mean"] = results.lead()
    document["aims"] = [asdict(aim) for aim in aims(results)]
    text = json.dumps(document, indent=2)
    # One line for each list of samples instead of one for each sample.
    text = re.sub(r"\[[\d,\s]+\]", lambda found: re.sub(r"\s+", " ", found[0]), text)
    path.write_text(text + "\n", encoding="utf-8")


def _ratios(row: Row, names: Iterable[str]) -> Mapping[str, float]:
    return {name: round(ratio, 3) for name in names if (ratio := row.ratio(name)) is not None}
