"""The JSON output: its keys are an interface."""

from __future__ import annotations

import json
from typing import Any

from sansio_sse import EventStreamParser
from sansio_sse._cli._findings import Arrival, Findings, TooLarge
from sansio_sse._cli._json_lines import JsonLines
from sansio_sse._cli._scanner import Scanner


def objects(text: str) -> list[dict[str, Any]]:
    assert text.isascii()
    return [json.loads(line) for line in text.splitlines()]


def test_each_row_is_an_object() -> None:
    stream = b": hi\nid: 7\nretry: 30\nwhat: x\ndata: \xe2\x82\xac\ndata: \x1b\xff\n\ndata\n\n"
    rows = JsonLines(timed=False).rows(Scanner(EventStreamParser()).feed(stream), 3)
    assert objects(rows) == [
        {"kind": "comment", "offset": 0, "text": " hi"},
        {"kind": "retry", "offset": 11, "milliseconds": 30},
        {"kind": "unknown_field", "offset": 21, "name": "what", "value": "x"},
        {
            "kind": "event",
            "number": 1,
            "offset": 0,
            "type": "message",
            "id": "7",
            "last_event_id": "7",
            "size": 8,
            "data": "€\n\x1b\ufffd",
        },
        {
            "kind": "event",
            "number": 2,
            "offset": 49,
            "type": "message",
            "id": None,
            "last_event_id": "7",
            "size": 0,
            "data": "",
        },
    ]


def test_rows_have_the_time_if_it_matters() -> None:
    rows = JsonLines(timed=True).rows(Scanner(EventStreamParser()).feed(b": c\ndata: a\n\n"), 1.5)
    assert [row["seconds"] for row in objects(rows)] == [1.5, 1.5]


def line_of(findings: Findings) -> dict[str, Any]:
    [line] = objects(JsonLines(timed=False).findings(findings))
    return line


def findings_of(stream: bytes) -> Findings:
    scanner = Scanner(EventStreamParser())
    scanner.feed(stream)
    return scanner.finish()


def test_the_findings_are_one_object() -> None:
    stream = (
        b"data: {}\n\n: c\nretry: 5\nid: \0\nretry: x\nwhat: 1\r\nwhat: 2\revent: e\n\n"
        b"data: [DONE]\n\ndata: []\n\ndata: [}\n\ndata: {}\n\ndata: \xff"
    )
    findings = findings_of(stream)
    findings.arrival = Arrival(2.0, 0.05)
    assert line_of(findings) == {
        "kind": "findings",
        "bytes": 116,
        "events": 5,
        "comments": 1,
        "retries": 1,
        "line_endings": {"lf": 16, "crlf": 1, "cr": 1},
        "byte_order_mark": False,
        "invalid_utf8": {"count": 1, "offsets": [115]},
        "ignored_ids": {
            "count": 1,
            "fields": [{"offset": 23, "value": "\0", "reason": "it holds a NUL"}],
        },
        "ignored_retries": {
            "count": 1,
            "fields": [{"offset": 29, "value": "x", "reason": "it is not only ASCII digits"}],
        },
        "unknown_fields": {"count": 2, "names": [{"name": "what", "count": 2, "offset": 38}]},
        "blocks_without_data": {"count": 1, "offsets": [10]},
        "types_without_data": {"count": 1, "offsets": [10]},
        "pending_block": {"offset": 109, "size": 7},
        "event_too_large": None,
        "not_an_event_stream": None,
        "done": 2,
        "json": True,
        "not_json": {
            "count": 1,
            "events": [{"number": 4, "offset": 89, "reason": "Expecting value at character 1"}],
        },
        "dialect": None,
        "answer": None,
        "arrival": {"wait": 2.0, "span": 0.05, "held_back": True},
        "interrupted": False,
        "losses": [
            "invalid_utf8",
            "ignored_ids",
            "ignored_retries",
            "unknown_fields",
            "types_without_data",
            "pending_block",
            "not_json",
        ],
        "status": 1,
    }


def test_what_follows_from_another_kind_of_body_is_kept() -> None:
    line = line_of(findings_of(b"<html>\n\n<h1>502</h1>"))
    assert line["losses"] == ["not_an_event_stream", "unknown_fields", "pending_block"]
    assert line["not_an_event_stream"] == "it begins like HTML or XML"
    assert line["blocks_without_data"]["count"] == 1
    assert line["unknown_fields"]["names"] == [{"name": "<html>", "count": 1, "offset": 0}]


def test_the_answer_of_a_language_model_is_an_object() -> None:
    fragment = {"function": {"name": "f", "arguments": "{"}}
    choice = {"delta": {"role": "assistant", "tool_calls": [fragment]}, "index": 0}
    usage = {"total_tokens": 3}
    payloads = [
        {"choices": [choice], "usage": usage},
        {"choices": [{"delta": {"role": "assistant"}, "index": 0, "finish_reason": "tool_calls"}]},
        {"choices": [], "usage": usage},
    ]
    stream = "".join(f"data: {json.dumps(payload)}\n\n" for payload in payloads)
    line = line_of(findings_of(stream.encode()))
    assert line["dialect"] == "chat"
    problem = {
        "code": "arguments_invalid_json",
        "message": "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
        "event": None,
    }
    assert line["answer"] == {
        "complete": False,
        "error": None,
        "calls": 1,
        "invalid_calls": {
            "count": 1,
            "calls": [{"choice": 0, "index": 0, "name": "f", "problem": problem}],
        },
        "finish_reasons": {
            "count": 1,
            "events": [{"event": 2, "choice": 0, "reason": "tool_calls"}],
        },
        "usage": [{"name": "usage", "first": 1, "last": 3, "count": 2, "every": False}],
        "empty_choices": {"count": 1, "events": [3]},
        "repeated_roles": {"count": 1, "events": [2]},
        "departures": [
            {
                "code": "tool_index_missing",
                "message": "a fragment of a call has no index",
                "events": [1],
            },
            {"code": "tool_id_missing", "message": "call 0 has no id", "events": [2]},
        ],
    }
    assert (line["losses"], line["status"]) == (["invalid_calls"], 1)


def test_an_error_of_the_provider_is_an_object() -> None:
    line = line_of(findings_of(b'data: {"error": {"message": "no", "code": 503}}\n\n'))
    assert line["dialect"] is None
    assert line["answer"]["error"] == {
        "code": "provider_error",
        "message": "no",
        "event": 1,
        "type": None,
        "provider_code": 503,
        "status": 503,
        "retryable": True,
    }
    assert (line["losses"], line["status"]) == (["provider_error"], 1)


def test_what_is_not_there_is_null() -> None:
    line = line_of(findings_of(b"data: a\n\n"))
    assert [line[key] for key in ("pending_block", "done", "arrival")] == [None, None, None]


def test_a_block_too_large_has_its_numbers() -> None:
    line = line_of(Findings(size=30, event_too_large=TooLarge(0, 26, 10)))
    assert line["event_too_large"] == {"offset": 0, "size": 26, "limit": 10}
    assert line["losses"] == ["event_too_large"]
