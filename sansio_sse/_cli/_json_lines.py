"""Items and findings as JSON, one object a line.

Every character beyond ASCII is escaped, so that the lines are valid in any encoding.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from .._events import Comment, Event, Retry
from ._document import error_fields

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ._answer import Answer
    from ._bounds import Sample
    from ._findings import Findings, Ignored
    from ._scanner import Row

__all__ = ["JsonLines"]


class JsonLines:
    """Makes JSON of rows as they come, and of the findings at the end.

    Args:
        timed: Whether each row has the key `seconds`.
    """

    def __init__(self, *, timed: bool) -> None:
        self._timed = timed

    def rows(self, rows: Sequence[Row], seconds: float) -> str:
        """Return a line for each of the rows.

        Args:
            rows: The next rows.
            seconds: When they came, counted from the first byte.
        """
        time = {"seconds": round(seconds, 6)} if self._timed else {}
        return "".join(_line(_row(row) | time) for row in rows)

    def findings(self, findings: Findings) -> str:
        """Return the line for the findings."""
        return _line(_findings(findings))


def _line(value: dict[str, Any]) -> str:
    return json.dumps(value) + "\n"


def _row(row: Row) -> dict[str, Any]:
    match row.item:
        case Event(type=event_type, data=data, id=event_id, last_event_id=last_event_id):
            return {
                "kind": "event",
                "number": row.number,
                "offset": row.offset,
                "type": event_type,
                "id": event_id,
                "last_event_id": last_event_id,
                "size": len(data.encode()),
                "data": data,
            }
        case Comment(text=text):
            return {"kind": "comment", "offset": row.offset, "text": text}
        case Retry(milliseconds=milliseconds):
            return {"kind": "retry", "offset": row.offset, "milliseconds": milliseconds}
        case _:
            name, value = row.item
            return {"kind": "unknown_field", "offset": row.offset, "name": name, "value": value}


def _findings(findings: Findings) -> dict[str, Any]:
    arrival = findings.arrival
    return {
        "kind": "findings",
        "bytes": findings.size,
        "events": findings.events,
        "comments": findings.comments,
        "retries": findings.retries,
        "line_endings": {
            "lf": findings.line_endings.lf,
            "crlf": findings.line_endings.crlf,
            "cr": findings.line_endings.cr,
        },
        "byte_order_mark": findings.byte_order_mark,
        "invalid_utf8": _places(findings.invalid_utf8),
        "ignored_ids": _ignored(findings.ignored_ids),
        "ignored_retries": _ignored(findings.ignored_retries),
        "unknown_fields": {
            "count": findings.unknown_fields,
            "names": [
                {"name": field.name, "count": field.count, "offset": field.offset}
                for field in findings.unknown_names.values()
            ],
        },
        "blocks_without_data": _places(findings.blocks_without_data),
        "types_without_data": _places(findings.types_without_data),
        "pending_block": _pending(findings),
        "event_too_large": findings.event_too_large and findings.event_too_large._asdict(),
        "not_an_event_stream": findings.not_an_event_stream,
        "done": findings.done,
        "json": findings.json_stream,
        "not_json": {
            "count": findings.not_json.count,
            "events": [event._asdict() for event in findings.not_json.first],
        },
        "dialect": findings.answer and findings.answer.dialect,
        "answer": findings.answer and _answer(findings.answer),
        "arrival": arrival and {**arrival._asdict(), "held_back": findings.held_back},
        "interrupted": findings.interrupted,
        "losses": findings.losses,
        "status": findings.status,
    }


def _pending(findings: Findings) -> dict[str, int] | None:
    if findings.pending_block is None:
        return None
    return {"offset": findings.pending_block, "size": findings.size - findings.pending_block}


def _places(places: Sample[int]) -> dict[str, Any]:
    return {"count": places.count, "offsets": places.first}


def _ignored(fields: Sample[Ignored]) -> dict[str, Any]:
    return {"count": fields.count, "fields": [field._asdict() for field in fields.first]}


def _answer(answer: Answer) -> dict[str, Any]:
    return {
        "complete": answer.complete,
        "error": answer.error and error_fields(answer.error),
        "calls": answer.calls,
        "invalid_calls": {
            "count": answer.invalid_calls.count,
            "calls": [
                {**asdict(call), "problem": call.problem._asdict()}
                for call in answer.invalid_calls.first
            ],
        },
        "finish_reasons": {
            "count": answer.finish_reasons.count,
            "events": [reason._asdict() for reason in answer.finish_reasons.first],
        },
        "usage": [
            {**asdict(place), "every": place.count == answer.payloads}
            for place in answer.usage.values()
        ],
        "empty_choices": _events(answer.empty_choices),
        "repeated_roles": _events(answer.repeated_roles),
        "departures": [asdict(departure) for departure in answer.departures],
    }


def _events(events: Sample[int]) -> dict[str, Any]:
    return {"count": events.count, "events": events.first}
