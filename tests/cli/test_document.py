"""The JSON of an answer: its keys are an interface, and a terminal can show it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sansio_sse._cli._document import document, error_fields, pretty
from sansio_sse._cli._terminal import Terminal
from sansio_sse.llm import AnyAssembler, Finding, InvalidPayload, ProviderError, assemble_chunks

from .streams import DONE, chunk, delta, tool


def document_of(stream: bytes) -> dict[str, Any]:
    return document("chat", assemble_chunks([stream], AnyAssembler()), None, [])


def test_an_answer_is_one_object() -> None:
    stream = chunk(delta(role="assistant", reasoning="hm", content="So", tool_calls=[tool("{")]))
    stream += chunk(delta(tool_calls=[tool('"a": 1}'), tool("", 1)]), id="r", model="m")
    usage = {"prompt_tokens": 3, "completion_tokens": 2}
    stream += chunk(delta("tool_calls"), usage=usage) + DONE
    assert document_of(stream) == {
        "dialect": "chat",
        "complete": True,
        "error": None,
        "id": "r",
        "model": "m",
        "text": "So",
        "reasoning": "hm",
        "refusal": "",
        "tool_calls": [
            {
                "index": 0,
                "id": "c0",
                "kind": "function",
                "name": "add",
                "arguments": '{"a": 1}',
                "parsed": {"a": 1},
                "complete": True,
                "problem": None,
            },
            {
                "index": 1,
                "id": "c1",
                "kind": "function",
                "name": "add",
                "arguments": "",
                "parsed": {},
                "complete": True,
                "problem": None,
            },
        ],
        "finish_reason": "tool_calls",
        "ending": "tool_calls",
        "message": {
            "role": "assistant",
            "content": "So",
            "reasoning": "hm",
            "tool_calls": [
                {
                    "id": "c0",
                    "type": "function",
                    "function": {"name": "add", "arguments": '{"a": 1}'},
                },
                {"id": "c1", "type": "function", "function": {"name": "add", "arguments": "{}"}},
            ],
        },
        "usage": {"input": 3, "output": 2, "total": 5, "cached": 0, "reasoning": 0, "raw": usage},
        "findings": [],
        "other_choices": [],
    }


def test_arguments_that_are_not_whole_are_not_parsed() -> None:
    broken = document_of(chunk(delta("tool_calls", tool_calls=[tool('{"a": 1')])) + DONE)
    [call] = broken["tool_calls"]
    assert (call["arguments"], call["parsed"], call["complete"]) == ('{"a": 1', None, False)
    assert call["problem"]["code"] == "arguments_invalid_json"
    assert broken["complete"] is False


def test_other_choices_have_their_index_and_the_same_keys() -> None:
    answer = document_of(chunk(delta("stop", 1, content="b"), delta("length", 0, content="a")))
    assert (answer["text"], answer["ending"], answer["complete"]) == ("a", "length", False)
    [other] = answer["other_choices"]
    assert other.pop("index") == 1
    assert (other["text"], other["ending"]) == ("b", "stop")
    assert other.keys() < answer.keys()


def test_an_answer_without_the_first_choice_has_it_empty() -> None:
    answer = document_of(chunk(delta("stop", 3, content="c")))
    assert (answer["text"], answer["message"], answer["ending"]) == ("", None, None)
    assert [(choice["index"], choice["text"]) for choice in answer["other_choices"]] == [(3, "c")]
    assert answer["other_choices"][0].keys() - {"index"} < answer.keys()


def test_findings_of_the_stream_stand_behind_those_of_the_answer() -> None:
    completion = assemble_chunks([chunk(delta("eos", content="a"))], AnyAssembler())
    answer = document("chat", completion, None, [Finding("x", "y", 3)])
    assert [finding["code"] for finding in answer["findings"]] == ["finish_reason_unknown", "x"]
    assert answer["findings"][1] == {"code": "x", "message": "y", "event": 3}


def test_an_error_says_what_there_is_to_say() -> None:
    error = InvalidPayload("no", "bad")
    error.event = 3
    assert error_fields(error) == {"code": "bad", "message": "no", "event": 3}
    provider = ProviderError("no", type="t", provider_code=5, status=429, retryable=True, raw="x")
    assert error_fields(provider) == {
        "code": "provider_error",
        "message": "no",
        "event": None,
        "type": "t",
        "provider_code": 5,
        "status": 429,
        "retryable": True,
    }


def test_numbers_that_are_not_finite_are_strings() -> None:
    value = {"a": [float("nan"), float("inf"), {"b": -float("inf")}, 1.5]}
    expected = {"a": ["NaN", "Infinity", {"b": "-Infinity"}, 1.5]}
    assert json.loads(pretty(value), parse_constant=pytest.fail) == expected


@pytest.mark.parametrize("depth", [3, 99, 100, 5000])
def test_what_is_nested_too_deep_is_left_out(depth: int) -> None:
    value: Any = 1
    for level in range(depth):
        value = [value] if level % 2 else {"a": value}
    text = pretty({"deep": value})
    assert ("nested too deep" in text) is (depth >= 100)
    assert json.loads(text).keys() == {"deep"}


@pytest.mark.parametrize(
    ("encoding", "shown"),
    [
        ("utf-8", "é世😀"),
        ("cp1252", "é\\u4e16\\ud83d\\ude00"),
        ("ascii", "\\u00e9\\u4e16\\ud83d\\ude00"),
    ],
)
def test_characters_are_escaped_where_they_must_be(encoding: str, shown: str) -> None:
    value = {"a": "é世😀", "é世😀": ["\x1b[2J\x9b1m\x7f\u202e\u2028\ud83d\xa0", '"\\\n\t']}
    text = Terminal(80, encoding).escape_json(pretty(value))
    assert json.loads(text) == value
    assert all(line.isprintable() for line in text.splitlines())
    assert f'"a": "{shown}"' in text
    text.encode(encoding)
