"""The table as a picture: a card of its own colours, light or dark as the reader's system is."""

from collections.abc import Iterator
from html import escape
from pathlib import Path

from . import node
from .peers import OURS
from .report import cell, ours, over_floor, ratio_text, shown_columns
from .results import Results, Row

_MARGIN = 20
_LABELS = 270
_OURS = 104
_FLOOR = 64
_COLUMN = 82
_ROW = 28
_HEAD = 118
_FOOT = 96

# How many times as long as ours a peer takes, up to the bound; the class; the legend's text.
# Orange and blue stay apart for colour-blind readers, and every cell has its figure besides.
_SCALE = (
    (0.80, "f2", "< 0.80"),
    (0.95, "f1", "< 0.95"),
    (1.05, "level", "level"),
    (1.60, "s1", "< 1.6"),
    (2.50, "s2", "< 2.5"),
    (5.00, "s3", "< 5"),
    (float("inf"), "s4", "more"),
)

_STYLE = """
text { font-family: system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; }
text { font-size: 13px; fill: #1f2328; }
.title { font-size: 17px; font-weight: 600; }
.small { font-size: 12px; }
.muted { fill: #59636e; }
.bold { font-weight: 700; }
.card { fill: #ffffff; stroke: #d1d9e0; }
.line { stroke: #d1d9e0; }
.f2 { fill: #f5a45d; } .f1 { fill: #fbd9bb; } .level { fill: #e9edf1; }
.s1 { fill: #dbe9f8; } .s2 { fill: #b3d3f2; } .s3 { fill: #7fb2e5; } .s4 { fill: #3f7fc1; }
text.on-s4 { fill: #ffffff; }
.none { fill: none; stroke: #afb8c1; stroke-dasharray: 3 3; }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc; }
  .muted { fill: #9198a1; }
  .card { fill: #0d1117; stroke: #3d444d; }
  .line { stroke: #3d444d; }
  .f2 { fill: #a8561a; } .f1 { fill: #5f3a1e; } .level { fill: #2a3038; }
  .s1 { fill: #17304b; } .s2 { fill: #1b4672; } .s3 { fill: #215f9f; } .s4 { fill: #2d7bcc; }
  .none { stroke: #59636e; }
}
"""


def _text(x: float, y: float, text: str, *, css: str = "", anchor: str = "start") -> str:
    return f'<text x="{x:g}" y="{y:g}" class="{css}" text-anchor="{anchor}">{escape(text)}</text>'


def _box(x: float, y: float, width: float, height: float, css: str) -> str:
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="4" class="{css}"/>'


def _shade(ratio: float) -> str:
    return next(css for bound, css, _ in _SCALE if ratio < bound)


def _cell(row: Row, name: str, x: float, y: float) -> Iterator[str]:
    text = cell(row, name)
    ratio = row.ratio(name)
    css = "none"
    if ratio is not None:
        css = _shade(ratio)
    elif text.startswith(">"):
        css = "s4"
    yield _box(x + 3, y + 3, _COLUMN - 6, _ROW - 6, css)
    weight = " bold" if ratio is not None and row.fastest() == name else ""
    muted = " muted" if css == "none" else ""
    yield _text(
        x + _COLUMN / 2, y + _ROW / 2 + 4.5, text, css=f"on-{css}{weight}{muted}", anchor="middle"
    )


def _head(results: Results, names: list[str]) -> Iterator[str]:
    yield _text(
        _MARGIN, 34, f"Time to decode a stream, as a multiple of {OURS.name}'s", css="title"
    )
    machine = (results.environment[key] for key in ("python", "processor", "system", "date"))
    yield _text(_MARGIN, 55, ", ".join(machine), css="small muted")
    x = _MARGIN + _LABELS
    y = _HEAD - 12
    yield _text(_MARGIN, y, "case", css="small muted")
    yield _text(x + _OURS - 10, y, OURS.name, css="small bold", anchor="end")
    yield _text(x + _OURS + _FLOOR - 10, y, "× floor", css="small muted", anchor="end")
    x += _OURS + _FLOOR
    for number, name in enumerate(names):
        middle = x + (number + 0.5) * _COLUMN
        first, last = ("eventsource-", "parser (node)") if name == node.NAME else ("", name)
        yield _text(middle, y - 15, first, css="small", anchor="middle")
        yield _text(middle, y, last, css="small", anchor="middle")


def _legend(x: float, y: float) -> Iterator[str]:
    yield _text(x, y + 13, "peer is faster", css="small muted")
    x += 92
    for _, css, text in _SCALE:
        yield _box(x, y, 62, 18, css)
        yield _text(x + 31, y + 13, text, css=f"small on-{css}", anchor="middle")
        x += 66
    yield _text(x + 4, y + 13, "peer is slower", css="small muted")


def draw(results: Results) -> str:
    """Draw the table of a run as an SVG document."""
    names = shown_columns(results)
    width = 2 * _MARGIN + _LABELS + _OURS + _FLOOR + _COLUMN * len(names)
    width = max(width, 760)
    height = _HEAD + _ROW * len(results.rows) + _FOOT
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
        f' viewBox="0 0 {width} {height}" role="img">',
        f"<title>Decoders of event streams compared with {OURS.name}</title>",
        f"<style>{_STYLE}</style>",
        f'<rect x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8" class="card"/>',
        *_head(results, names),
    ]
    y = _HEAD
    for row in results.rows:
        parts.append(f'<path d="M{_MARGIN} {y}H{width - _MARGIN}" class="line"/>')
        baseline = y + _ROW / 2 + 4.5
        x = _MARGIN + _LABELS
        parts.append(_text(_MARGIN, baseline, row.title))
        parts.append(_text(x + _OURS - 10, baseline, ours(row), css="bold", anchor="end"))
        x += _OURS + _FLOOR
        parts.append(_text(x - 10, baseline, over_floor(row), css="muted", anchor="end"))
        for number, name in enumerate(names):
            parts += _cell(row, name, x + number * _COLUMN, y)
        y += _ROW
    parts += _legend(_MARGIN, y + 16)
    lead = results.lead()
    mean = "" if lead is None else f"; geometric mean over the cases {ratio_text(lead)}"
    captions = (
        f"Bold: the fastest Python peer that gets the case right{mean}.",
        "Wrong: its events are not those of the stream, so it is not timed. × floor: ours, as a"
        " multiple of decoding and splitting the same bytes.",
    )
    for number, caption in enumerate(captions):
        parts.append(_text(_MARGIN, y + 60 + 18 * number, caption, css="small muted"))
    parts.append("</svg>")
    return "\n".join(parts) + "\n"


def write_svg(results: Results, path: Path) -> None:
    """Draw the table of a run into a file."""
    path.write_text(draw(results), encoding="utf-8")
