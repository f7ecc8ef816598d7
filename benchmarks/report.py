"""The table as text for a terminal and as Markdown for the README."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from .peers import OURS
from .results import AIMED_AT, COLUMNS, FLOOR, Results, Row, aims

BEGIN = "<!-- benchmark:begin -->"
END = "<!-- benchmark:end -->"

_GAP = "  "


class MissingMarkerError(Exception):
    """The README lacks the comments between which the table goes."""


def duration(nanoseconds: float) -> str:
    """Write a duration with three digits and the unit that suits it."""
    for unit, size in (("ms", 1e6), ("µs", 1e3)):
        if nanoseconds >= size:
            return f"{nanoseconds / size:.3g} {unit}"
    return f"{nanoseconds:.0f} ns"


def ratio_text(ratio: float) -> str:
    """Write a ratio so that 0.99 does not look like 1."""
    return f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}"


def cell(row: Row, decoder: str) -> str:
    """Say what the table says of a decoder in a case: a ratio, `wrong`, `> N s` or a dash."""
    ratio = row.ratio(decoder)
    if ratio is not None:
        return ratio_text(ratio)
    why = row.wrong.get(decoder)
    if why is None:
        return "–"
    return why if why.startswith(">") else "wrong"


def ours(row: Row) -> str:
    """Say what a case costs us, absolutely."""
    best = row.best(OURS.name)
    return "wrong" if best is None else f"{duration(best)}/{row.unit}"


def over_floor(row: Row) -> str:
    """Say how many times the floor a case costs us."""
    ratio = row.ratio(FLOOR)
    return "–" if ratio is None else ratio_text(1 / ratio)


def shown_columns(results: Results) -> list[str]:
    """Return the peers that a run has anything to say about."""
    taking_part = {*results.versions, *results.absent}
    return [name for name in COLUMNS if name in taking_part]


def notes(results: Results) -> Iterator[str]:
    """Say what is wrong where the table says `wrong`, and who is absent; a line each."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for row in results.rows:
        for name, why in row.wrong.items():
            reasons.setdefault((name, why), []).append(row.name)
    for (name, why), cases in reasons.items():
        yield f"{name}, {', '.join(cases)}: {why}"
    for name, why in results.absent.items():
        yield f"{name}: {why}"


def summary(results: Results) -> Iterator[str]:
    """Give the figures over all cases; a line each."""
    lead = results.lead()
    if lead is not None:
        yield f"Geometric mean of the fastest Python peer's ratio: {lead:.2f}"
    if results.feed and results.loads:
        yield (
            f"feed of a chat chunk: {results.feed:.0f} ns; json.loads of its payload:"
            f" {results.loads:.0f} ns ({results.feed / results.loads:.2f})"
        )


def _machine(results: Results) -> str:
    described = [
        f"node {value}" if name == "node" else value for name, value in results.environment.items()
    ]
    return ", ".join((*described, f"the best of {results.rounds} passes, fewer for slow decoders"))


def _verdicts(results: Results) -> Iterator[str]:
    found = aims(results)
    if found and not results.environment["python"].startswith(f"{AIMED_AT}."):
        yield f"The aims are set for {AIMED_AT}:"
    for aim in found:
        yield f"{'met' if aim.met else 'NOT MET'}: {aim.text}: {aim.figure}"


def as_text(results: Results, width: int) -> str:
    """Lay the results out for a terminal.

    Args:
        results: The run.
        width: Columns of the terminal. Where the table is wider, it goes on below itself.
    """
    fixed = [["case", OURS.name, "/floor"]]
    fixed += [[row.name, ours(row), over_floor(row)] for row in results.rows]
    blocks: list[list[str]] = []
    for name in shown_columns(results):
        marks = ["*" if row.lead() and row.fastest() == name else " " for row in results.rows]
        cells = [cell(row, name) for row in results.rows]
        blocks.append([name + " ", *(text + mark for text, mark in zip(cells, marks, strict=True))])

    left = _columns_of(fixed)
    lines: list[str] = []
    while blocks:
        used = [_justified(column, left=number == 0) for number, column in enumerate(left)]
        taken = 0
        for block in blocks:
            column = _justified(block)
            if taken and len(_GAP.join((*(c[0] for c in used), column[0]))) > width:
                break
            used.append(column)
            taken += 1
        del blocks[:taken]
        lines += [_GAP.join(line).rstrip() for line in zip(*used, strict=True)]
        lines.append("")
    lines.append("Peers: times as long as ours; * is the fastest Python peer that is right.")
    lines.append("/floor: ours, times as long as decoding and splitting the same bytes.")
    lines += ["", *notes(results), "", *summary(results)]
    lines += _verdicts(results)
    lines += ["", _machine(results)]
    return "\n".join(lines)


def _columns_of(table: Sequence[Sequence[str]]) -> list[list[str]]:
    return [list(column) for column in zip(*table, strict=True)]


def _justified(column: Sequence[str], *, left: bool = False) -> list[str]:
    width = max(map(len, column))
    return [text.ljust(width) if left else text.rjust(width) for text in column]


def as_markdown(results: Results) -> str:
    """Lay the results out for the README."""
    names = shown_columns(results)
    lines = [
        f"| case | {OURS.name} | × floor | {' | '.join(names)} |",
        f"|---|--:|--:|{'--:|' * len(names)}",
    ]
    for row in results.rows:
        cells = [
            f"**{text}**" if row.lead() and row.fastest() == name else text
            for name in names
            for text in [cell(row, name)]
        ]
        lines.append(f"| {row.title} | {ours(row)} | {over_floor(row)} | {' | '.join(cells)} |")
    lines += [
        "",
        "A peer's figure says how many times as long as ours it takes; bold is the fastest Python"
        " peer that gets the case right.",
        "",
    ]
    lines += [f"- {line}" for line in (*summary(results), *_verdicts(results))]
    lines += [f"- {line}" for line in notes(results)]
    versions = ", ".join(f"{name} {version}" for name, version in results.versions.items())
    lines += ["", f"Measured on {_machine(results)}. {versions}."]
    return "\n".join(lines)


def with_table(readme: str, results: Results | None) -> str:
    """Put the table between its markers in the text of the README.

    Args:
        readme: The text.
        results: The run; None leaves the text alone, and only looks for the markers.

    Raises:
        MissingMarkerError: A marker is missing, or they are in the wrong order.
    """
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise MissingMarkerError(f"has no {END if begin else BEGIN}")
    if results is None:
        return readme
    return f"{before}{BEGIN}\n\n{as_markdown(results)}\n\n{END}{after}"


def update_readme(path: Path, results: Results | None) -> None:
    """Rewrite the table in a README; without results only see that it could be rewritten.

    Raises:
        MissingMarkerError: It has no place for the table.
        OSError: It cannot be read or written.
    """
    text = path.read_text(encoding="utf-8")
    try:
        changed = with_table(text, results)
    except MissingMarkerError as error:
        raise MissingMarkerError(f"{path.name} {error}") from None
    if changed != text:
        path.write_text(changed, encoding="utf-8")
