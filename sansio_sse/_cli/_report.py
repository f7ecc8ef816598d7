"""Findings as text to read."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ._findings import Findings, Ignored, LineEndings, Sample
    from ._terminal import Terminal

__all__ = ["report"]

_LABEL_COLUMNS = 21
_INDENT = " " * (_LABEL_COLUMNS + 2)
_NAME_COLUMNS = 40
# The quotation marks of a name, and the comma behind it.
_NAME_MARKS = 3

# Stands for a space that is part of a name, and no place to break a line. No text has it: a
# terminal gets control characters escaped.
_NAME_SPACE = "\0"

# Lines longer than this are hard to read, however wide the terminal is.
_MAX_COLUMNS = 100


class _Entry(NamedTuple):
    label: str
    text: str
    style: str | None = None
    mark: str = " "


def report(findings: Findings, terminal: Terminal) -> str:
    """Return what was found, one paragraph a finding; `!` marks lost or damaged data."""
    columns = _columns(terminal)
    paragraphs = [_headline(findings, terminal)]
    for entry in _entries(findings, terminal):
        paragraph = textwrap.fill(
            entry.text,
            columns,
            initial_indent=f"{entry.mark} {entry.label:<{_LABEL_COLUMNS}}",
            subsequent_indent=_INDENT,
            break_on_hyphens=False,
        ).replace(_NAME_SPACE, " ")
        paragraphs.append(terminal.paint(paragraph, entry.style) if entry.style else paragraph)
    return "\n" + "\n".join(paragraphs) + "\n"


def _columns(terminal: Terminal) -> int:
    return min(terminal.columns, _MAX_COLUMNS)


def _headline(findings: Findings, terminal: Terminal) -> str:
    counts = [_plural(findings.events, "event")]
    if findings.comments:
        counts.append(_plural(findings.comments, "comment"))
    counts.append(_plural(findings.size, "byte"))
    text = ", ".join(counts)
    if findings.interrupted:
        text += ", then interrupted"
    text = terminal.paint(text, "heading")
    if findings.not_an_event_stream is not None:
        return f"{text}: not an event stream (!)"
    return f"{text}: data is lost or damaged (!)" if findings.losses else text


def _entries(findings: Findings, terminal: Terminal) -> Iterator[_Entry]:
    if findings.not_an_event_stream is not None:
        # What else there is to say of its bytes and lines follows from that, and would hide it.
        yield _loss("not an event stream", findings.not_an_event_stream)
    else:
        yield from _body(findings)
        yield from _fields(findings, terminal)
    yield from _end(findings)
    yield from _payloads(findings)
    yield from _timing(findings)


def _loss(label: str, text: str) -> _Entry:
    return _Entry(label, text, "alarm", "!")


def _body(findings: Findings) -> Iterator[_Entry]:
    if findings.size:
        yield _line_endings(findings.line_endings)
        mark = "one, ignored as it should be" if findings.byte_order_mark else "none"
        yield _Entry("byte order mark", mark)
    invalid = findings.invalid_utf8
    if invalid.count:
        sequences = _plural(invalid.count, "invalid sequence")
        yield _loss("UTF-8", f"{sequences}, replaced with U+FFFD, {_places(invalid)}")
    elif findings.size:
        yield _Entry("UTF-8", "valid")


def _line_endings(endings: LineEndings) -> _Entry:
    counts = (("LF", endings.lf), ("CRLF", endings.crlf), ("CR", endings.cr))
    used = [f"{name} ({count})" for name, count in counts if count]
    if len(used) > 1:
        return _Entry("line endings", "mixed: " + ", ".join(used), "notice")
    return _Entry("line endings", used[0] if used else "none")


def _fields(findings: Findings, terminal: Terminal) -> Iterator[_Entry]:
    if findings.ignored_ids.count:
        yield _loss("ignored ids", _ignored(findings.ignored_ids, terminal))
    if findings.ignored_retries.count:
        yield _loss("ignored retries", _ignored(findings.ignored_retries, terminal))
    if findings.unknown_fields:
        yield _loss("unknown fields", _unknown(findings, terminal))
    blocks = findings.blocks_without_data
    typed = findings.types_without_data
    if typed.count:
        which = "it" if blocks.count == 1 else str(typed.count)
        name = "names" if typed.count == 1 else "name"
        text = f"{_no_event_from(blocks)}, though {which} {name} an event type, {_places(typed)}"
        yield _loss("blocks without data", text)
    elif blocks.count:
        text = f"{_no_event_from(blocks)}, {_places(blocks)}"
        yield _Entry("blocks without data", text)


def _end(findings: Findings) -> Iterator[_Entry]:
    large = findings.event_too_large
    if large is not None:
        yield _loss(
            "event too large",
            f"the block at byte {large.offset} is {large.size} bytes so far, the limit is "
            f"{large.limit}: nothing behind it was read",
        )
    if findings.pending_block is not None and findings.not_an_event_stream is None:
        size = _plural(findings.size - findings.pending_block, "byte")
        text = f"{size} at byte {findings.pending_block}, without a blank line behind"
        if findings.interrupted:
            yield _Entry("pending block", text)
        else:
            yield _loss("pending block", f"{text}: discarded, as the specification says")


def _payloads(findings: Findings) -> Iterator[_Entry]:
    if findings.done is not None:
        behind = findings.events - findings.done
        if behind:
            text = f"event {findings.done}, and {_plural(behind, 'event')} behind it"
            yield _Entry("[DONE]", text, "notice")
        else:
            yield _Entry("[DONE]", f"event {findings.done}, the last one")
    elif findings.json_stream and not findings.interrupted:
        yield _Entry("[DONE]", "did not come (some servers send none)")
    if findings.json_stream and findings.not_json.count:
        events = [
            f"event {event.number} at byte {event.offset} ({event.reason})"
            for event in findings.not_json.first
        ]
        listed = _listed(events, findings.not_json.count)
        yield _loss("not JSON", f"unlike the data of the others: {listed}")


def _timing(findings: Findings) -> Iterator[_Entry]:
    arrival = findings.arrival
    if arrival is None:
        return
    times = f"first byte after {arrival.wait:.2f} s, last one {arrival.span:.2f} s later"
    if findings.held_back:
        text = f"{times}: everything at once after a wait, as from a proxy that buffers"
        yield _Entry("arrival", text, "notice")
    else:
        yield _Entry("arrival", times)


def _ignored(fields: Sample[Ignored], terminal: Terminal) -> str:
    cases = [
        f"{_quoted(field.value, terminal)} at byte {field.offset} ({field.reason})"
        for field in fields.first
    ]
    return _listed(cases, fields.count)


def _unknown(findings: Findings, terminal: Terminal) -> str:
    names: list[str] = []
    counted = 0
    for field in findings.unknown_names.values():
        counted += field.count
        times = f"{field.count} times, first " if field.count > 1 else ""
        hint = f" ({field.hint})" if field.hint else ""
        name = _quoted(field.name, terminal)
        names.append(f"{name} {times}at byte {field.offset}{hint}")
    others = findings.unknown_fields - counted
    return "ignored: " + _listed(names, len(names) + others)


def _quoted(name: str, terminal: Terminal) -> str:
    """Return a text of the stream as one word that fits a line."""
    columns = min(_NAME_COLUMNS, _columns(terminal) - len(_INDENT) - _NAME_MARKS)
    return f"'{terminal.fit(name, columns).replace(' ', _NAME_SPACE)}'"


def _no_event_from(blocks: Sample[int]) -> str:
    return f"{blocks.count}: no event comes from {'it' if blocks.count == 1 else 'them'}"


def _places(offsets: Sample[int]) -> str:
    listed = _listed([str(offset) for offset in offsets.first], offsets.count)
    return f"at {'byte' if offsets.count == 1 else 'bytes'} {listed}"


def _listed(cases: Sequence[str], count: int) -> str:
    """Join the cases that are known; `count` is how many there were."""
    if count > len(cases):
        return f"{', '.join(cases)} and {count - len(cases)} more"
    if len(cases) > 1:
        return f"{', '.join(cases[:-1])} and {cases[-1]}"
    return cases[0]


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
