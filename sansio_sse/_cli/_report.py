"""Findings as text to read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._answer_report import answer_entries
from ._entries import Entry, listed, loss, paragraph, plural, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ._bounds import Sample
    from ._findings import Findings, Ignored, LineEndings
    from ._terminal import Terminal

__all__ = ["report"]


def report(findings: Findings, terminal: Terminal) -> str:
    """Return what was found, one paragraph a finding; `!` marks lost or damaged data."""
    entries = _entries(findings, terminal)
    paragraphs = [_headline(findings, terminal), *(paragraph(entry, terminal) for entry in entries)]
    return "\n" + "\n".join(paragraphs) + "\n"


def _headline(findings: Findings, terminal: Terminal) -> str:
    counts = [plural(findings.events, "event")]
    if findings.comments:
        counts.append(plural(findings.comments, "comment"))
    counts.append(plural(findings.size, "byte"))
    text = ", ".join(counts)
    if findings.interrupted:
        text += ", then interrupted"
    text = terminal.paint(text, "heading")
    if findings.not_an_event_stream is not None:
        return f"{text}: not an event stream (!)"
    return f"{text}: data is lost or damaged (!)" if findings.losses else text


def _entries(findings: Findings, terminal: Terminal) -> Iterator[Entry]:
    if findings.not_an_event_stream is not None:
        # What else there is to say of its bytes and lines follows from that, and would hide it.
        yield loss("not an event stream", findings.not_an_event_stream)
    else:
        yield from _body(findings)
        yield from _fields(findings, terminal)
    yield from _end(findings)
    yield from _payloads(findings)
    if findings.answer is not None:
        yield from answer_entries(findings.answer, terminal)
    yield from _timing(findings)


def _body(findings: Findings) -> Iterator[Entry]:
    if findings.size:
        yield _line_endings(findings.line_endings)
        mark = "one, ignored as it should be" if findings.byte_order_mark else "none"
        yield Entry("byte order mark", mark)
    invalid = findings.invalid_utf8
    if invalid.count:
        sequences = plural(invalid.count, "invalid sequence")
        yield loss("UTF-8", f"{sequences}, replaced with U+FFFD, {_places(invalid)}")
    elif findings.size:
        yield Entry("UTF-8", "valid")


def _line_endings(endings: LineEndings) -> Entry:
    counts = (("LF", endings.lf), ("CRLF", endings.crlf), ("CR", endings.cr))
    used = [f"{name} ({count})" for name, count in counts if count]
    if len(used) > 1:
        return Entry("line endings", "mixed: " + ", ".join(used), "notice")
    return Entry("line endings", used[0] if used else "none")


def _fields(findings: Findings, terminal: Terminal) -> Iterator[Entry]:
    if findings.ignored_ids.count:
        yield loss("ignored ids", _ignored(findings.ignored_ids, terminal))
    if findings.ignored_retries.count:
        yield loss("ignored retries", _ignored(findings.ignored_retries, terminal))
    if findings.unknown_fields:
        yield loss("unknown fields", _unknown(findings, terminal))
    blocks = findings.blocks_without_data
    typed = findings.types_without_data
    if typed.count:
        which = "it" if blocks.count == 1 else str(typed.count)
        name = "names" if typed.count == 1 else "name"
        text = f"{_no_event_from(blocks)}, though {which} {name} an event type, {_places(typed)}"
        yield loss("blocks without data", text)
    elif blocks.count:
        text = f"{_no_event_from(blocks)}, {_places(blocks)}"
        yield Entry("blocks without data", text)


def _end(findings: Findings) -> Iterator[Entry]:
    large = findings.event_too_large
    if large is not None:
        yield loss(
            "event too large",
            f"the block at byte {large.offset} is {large.size} bytes so far, the limit is "
            f"{large.limit}: nothing behind it was read",
        )
    if findings.pending_block is not None and findings.not_an_event_stream is None:
        size = plural(findings.size - findings.pending_block, "byte")
        text = f"{size} at byte {findings.pending_block}, without a blank line behind"
        if findings.interrupted:
            yield Entry("pending block", text)
        else:
            yield loss("pending block", f"{text}: discarded, as the specification says")


def _payloads(findings: Findings) -> Iterator[Entry]:
    if findings.done is not None:
        behind = findings.events - findings.done
        if behind:
            text = f"event {findings.done}, and {plural(behind, 'event')} behind it"
            yield Entry("[DONE]", text, "notice")
        else:
            yield Entry("[DONE]", f"event {findings.done}, the last one")
    elif findings.json_stream and not findings.interrupted:
        yield Entry("[DONE]", "did not come (some servers send none)")
    if findings.json_stream and findings.not_json.count:
        events = [
            f"event {event.number} at byte {event.offset} ({event.reason})"
            for event in findings.not_json.first
        ]
        cases = listed(events, findings.not_json.count)
        yield loss("not JSON", f"unlike the data of the others: {cases}")


def _timing(findings: Findings) -> Iterator[Entry]:
    arrival = findings.arrival
    if arrival is None:
        return
    times = f"first byte after {arrival.wait:.2f} s, last one {arrival.span:.2f} s later"
    if findings.held_back:
        text = f"{times}: everything at once after a wait, as from a proxy that buffers"
        yield Entry("arrival", text, "notice")
    else:
        yield Entry("arrival", times)


def _ignored(fields: Sample[Ignored], terminal: Terminal) -> str:
    cases = [
        f"{quoted(field.value, terminal)} at byte {field.offset} ({field.reason})"
        for field in fields.first
    ]
    return listed(cases, fields.count)


def _unknown(findings: Findings, terminal: Terminal) -> str:
    names: list[str] = []
    counted = 0
    for field in findings.unknown_names.values():
        counted += field.count
        times = f"{field.count} times, first " if field.count > 1 else ""
        hint = f" ({field.hint})" if field.hint else ""
        name = quoted(field.name, terminal)
        names.append(f"{name} {times}at byte {field.offset}{hint}")
    others = findings.unknown_fields - counted
    return "ignored: " + listed(names, len(names) + others)


def _no_event_from(blocks: Sample[int]) -> str:
    return f"{blocks.count}: no event comes from {'it' if blocks.count == 1 else 'them'}"


def _places(offsets: Sample[int]) -> str:
    places = listed([str(offset) for offset in offsets.first], offsets.count)
    return f"at {'byte' if offsets.count == 1 else 'bytes'} {places}"
