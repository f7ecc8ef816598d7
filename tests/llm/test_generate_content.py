"""Section 1f of the table of quirks (Gemini), row by row, and what is around it."""

from __future__ import annotations

import json
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from sansio_sse import Comment, Event
from sansio_sse.llm import (
    AssemblyError,
    Finished,
    GenerateContentAssembler,
    IncompleteStream,
    InvalidToolCall,
    LimitExceeded,
    Limits,
    ProviderError,
    ReasoningDelta,
    ReasoningPart,
    TextDelta,
    TextPart,
    ToolArgumentsDelta,
    ToolCall,
    ToolCallStarted,
    UsageUpdate,
)

from .streams import DONE, codes, event, failure, feed, items_of, run
from .test_messages import assert_told, inputs, no_call_complete

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sansio_sse import Item
    from sansio_sse.llm import Completion

Payload = dict[str, Any]

USAGE: Payload = {
    "usageMetadata": {"promptTokenCount": 8, "candidatesTokenCount": 5, "totalTokenCount": 13}
}
UNAVAILABLE: Payload = {
    "error": {"code": 503, "message": "The model is overloaded.", "status": "UNAVAILABLE"}
}
REASON: Payload = {"candidates": [{"finishReason": "STOP"}]}


def candidate(*parts: Payload, reason: str | None = None, **fields: Any) -> Payload:
    made: Payload = {"content": {"role": "model", "parts": list(parts)}, **fields}
    return {**made, "finishReason": reason} if reason else made


def chunk(*parts: Payload, reason: str | None = None, **fields: Any) -> Payload:
    """A response with one candidate of these parts."""
    return {
        "candidates": [candidate(*parts, reason=reason)],
        "modelVersion": "gemini",
        "responseId": "r1",
        **fields,
    }


def call(name: str | None = None, /, **fields: Any) -> Payload:
    return {"functionCall": fields if name is None else {"name": name, **fields}}


def opened(name: str = "get", **fields: Any) -> Payload:
    return call(name, willContinue=True, **fields)


def piece(path: str, value: Any, *, going: bool = False) -> Payload:
    """A part with one value of the call that is open, which goes on."""
    return call(partialArgs=[place(path, value, going=going)], willContinue=True)


def place(path: str, value: Any, *, going: bool = False) -> Payload:
    match value:
        case None:
            kind = "nullValue"
        case bool():
            kind = "boolValue"
        case str():
            kind = "stringValue"
        case _:
            kind = "numberValue"
    made: Payload = {"jsonPath": path, kind: value}
    return {**made, "willContinue": True} if going else made


CLOSE = call()


def answer(*chunks: Payload, reason: str = "STOP") -> list[Payload]:
    return [*chunks, {**chunk(reason=reason), **USAGE}]


def events(payloads: Iterable[Payload]) -> list[Event]:
    return [event(payload) for payload in payloads]


def tolerate(payloads: Iterable[Payload]) -> Completion:
    assembler = GenerateContentAssembler()
    updates = feed(assembler, events(payloads))
    completion = assembler.finish()
    assert_told(updates, completion)
    return completion


def legal(payloads: list[Payload]) -> Completion:
    """What a legal stream says: the same strictly and tolerantly, with nothing to tolerate."""
    completion = tolerate(payloads)
    assert completion.findings == ()
    assert run(GenerateContentAssembler(strict=True), events(payloads)) == completion
    return completion


def refuse(payloads: Iterable[Payload], code: str, at: int | None) -> AssemblyError:
    """The error that ends a strict reading, at this event; None is the end of the stream."""
    error = failure(GenerateContentAssembler(strict=True), events(payloads))
    assert (error.code, error.event) == (code, at)
    return error


def quirk(payloads: list[Payload], code: str, at: int | None) -> Completion:
    """What a stream says tolerantly, with one code in its findings, which strictly is an error."""
    refuse(payloads, code, at)
    completion = run(GenerateContentAssembler(), events(payloads))
    assert codes(completion) == [code]
    assert completion.findings[0].event == at
    return completion


def parts_of(completion: Completion) -> list[Payload]:
    assert completion.message is not None
    assert completion.message["role"] == "model"
    parts: list[Payload] = completion.message["parts"]
    return parts


TEXTS = answer(chunk({"text": "Hel"}), chunk({"text": "lo"}))


# Row 117
def test_gemini_117_no_terminator() -> None:
    assembler = GenerateContentAssembler(strict=True)
    feed(assembler, events(TEXTS))
    assert not assembler.done
    completion = assembler.finish()
    assert completion == legal(TEXTS)
    assert completion.complete
    assert (completion.id, completion.model) == ("r1", "gemini")
    assert completion.text == "Hello"
    assert completion.finish_reason == "STOP"
    assert completion.choices[0].ending == "stop"
    assert completion.message == {"role": "model", "parts": [{"text": "Hello"}]}


def test_gemini_117_updates_come_at_once() -> None:
    assembler = GenerateContentAssembler()
    payloads = [
        chunk({"text": "hm", "thought": True}),
        chunk({"text": "Hel"}),
        chunk({"text": "lo"}, call("get", id="1", args={"a": 1})),
        chunk(reason="STOP"),
    ]
    assert [assembler.feed(made) for made in events(payloads)] == [
        [ReasoningDelta("hm", part=0)],
        [TextDelta("Hel", part=1)],
        [
            TextDelta("lo", part=1),
            ToolCallStarted(0, "1", "get", part=2),
            ToolArgumentsDelta(0, '{"a":1}'),
        ],
        [Finished("STOP")],
    ]


@pytest.mark.parametrize("strict", [True, False], ids=["strict", "tolerant"])
@pytest.mark.parametrize("reason", [{}, {"finishReason": None}, {"finishReason": ""}], ids=str)
def test_gemini_117_missing_finish_reason(reason: Payload, strict: bool) -> None:
    payloads = [chunk({"text": "a"}), {"candidates": [{**candidate(call("get")), **reason}]}]
    error = failure(GenerateContentAssembler(strict=strict), events(payloads))
    assert isinstance(error, IncompleteStream)
    assert (error.code, error.event) == ("missing_finish_reason", None)
    assert error.partial is not None
    assert error.partial.text == "a"


@pytest.mark.parametrize("strict", [True, False], ids=["strict", "tolerant"])
def test_gemini_117_cut_off_before_the_finish_reason(strict: bool) -> None:
    assembler = GenerateContentAssembler(strict=strict)
    feed(assembler, events(TEXTS[:-1]))
    with pytest.raises(IncompleteStream) as raised:
        assembler.finish(truncated=True)
    assert raised.value.code == "truncated"


def test_gemini_117_cut_off_behind_the_finish_reason() -> None:
    assembler = GenerateContentAssembler()
    feed(assembler, events(TEXTS))
    completion = assembler.finish(truncated=True)
    assert completion.complete
    assert codes(completion) == ["truncated"]


# Row 118
@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"content": None},
        {"content": {}},
        {"content": {"role": "model"}},
        {"content": {"parts": None}},
        {"content": {"parts": []}},
        {"content": {"role": "model", "parts": [{"text": ""}]}},
        {"content": {"parts": [{}]}},
    ],
    ids=str,
)
def test_gemini_118_finish_without_content(fields: Payload) -> None:
    last = {"candidates": [{"finishReason": "STOP", "index": 0, **fields}], **USAGE}
    completion = legal([*TEXTS[:-1], last])
    assert completion.complete
    assert completion.choices[0].parts == (TextPart("Hello"),)
    assert parts_of(completion) == [{"text": "Hello"}]
    assert completion.usage is not None
    assert completion.usage.total == 13


@pytest.mark.parametrize("strict", [True, False], ids=["strict", "tolerant"])
@pytest.mark.parametrize("payload", [{}, {"candidates": []}, {"candidates": None}, USAGE], ids=str)
def test_gemini_118_response_without_candidates(payload: Payload, strict: bool) -> None:
    for at in range(len(TEXTS) + 1):
        items = events([*TEXTS[:at], payload, *TEXTS[at:]])
        completion = run(GenerateContentAssembler(strict=strict), items)
        assert completion == legal(TEXTS)


def test_gemini_118_answer_without_content() -> None:
    completion = legal(answer())
    assert completion.complete
    assert completion.text == ""
    assert completion.message is None


# Row 119
@pytest.mark.parametrize("strict", [True, False], ids=["strict", "tolerant"])
def test_gemini_119_finish_reason_first(strict: bool) -> None:
    payloads = [chunk(reason="STOP"), chunk({"text": "Hel"}), chunk({"text": "lo"})]
    completion = run(GenerateContentAssembler(strict=strict), events(payloads))
    assert completion.text == "Hello"
    assert completion.complete
    assert codes(completion) == ["delta_after_finish"]
    assert completion.findings[0].event == 2


def test_gemini_119_finish_reason_in_each_response() -> None:
    payloads = [chunk({"text": each}, reason="STOP") for each in ("a", "b", "c")]
    assembler = GenerateContentAssembler()
    updates = feed(assembler, events(payloads))
    assert updates.count(Finished("STOP")) == 1
    completion = assembler.finish()
    assert completion.text == "abc"
    assert completion.complete


def test_gemini_119_last_finish_reason_counts() -> None:
    payloads = [chunk(reason="STOP"), chunk({"text": "a"}), chunk(reason="MAX_TOKENS")]
    completion = run(GenerateContentAssembler(), events(payloads))
    assert completion.finish_reason == "MAX_TOKENS"
    assert not completion.complete


# Row 120
def test_gemini_120_calls_whole_without_ids() -> None:
    payloads = answer(chunk(call("get", args={"a": {"b": [1]}}), call("put", args={"c": "é"})))
    completion = legal(payloads)
    assert completion.complete
    assert inputs(completion) == [("get", {"a": {"b": [1]}}), ("put", {"c": "é"})]
    assert [made.arguments for made in completion.tool_calls] == ['{"a":{"b":[1]}}', '{"c":"é"}']
    assert len({made.id for made in completion.tool_calls} - {""}) == 2
    assert [made.id for made in tolerate(payloads).tool_calls] == [
        made.id for made in completion.tool_calls
    ]
    assert parts_of(completion) == [
        call("get", args={"a": {"b": [1]}}),
        call("put", args={"c": "é"}),
    ]


def test_gemini_120_calls_with_ids() -> None:
    parts = [call("get", id="x", args={}), call("get", id="y", args={})]
    completion = legal(answer(chunk(parts[0]), chunk(parts[1])))
    assert [made.id for made in completion.tool_calls] == ["x", "y"]
    assert parts_of(completion) == parts


def test_gemini_120_made_up_id_is_no_id_of_the_stream() -> None:
    payloads = answer(chunk(call("f", id="call_0", args={}), call("g", id="call_2"), call("h")))
    ids = [made.id for made in legal(payloads).tool_calls]
    assert len(set(ids)) == 3
    seen = run(GenerateContentAssembler(seen_call_ids=ids), events(answer(chunk(call("h")))))
    assert seen.tool_calls[0].id not in ids


def test_gemini_120_id_of_two_calls() -> None:
    payloads = answer(chunk(call("f", id="x", args={}), call("g", id="x", args={})))
    completion = quirk(payloads, "tool_id_reused", 1)
    assert [made.complete for made in completion.tool_calls] == [True, False]


def test_gemini_120_text_between_calls_keeps_its_place() -> None:
    completion = legal(
        answer(
            chunk({"text": "a"}, call("f", args={}), {"text": "b"}),
            chunk({"text": "c"}, call("g", args={})),
        )
    )
    assert [type(part) for part in completion.choices[0].parts] == [
        TextPart,
        ToolCall,
        TextPart,
        ToolCall,
    ]
    assert completion.text == "abc"
    assert parts_of(completion) == [
        {"text": "a"},
        call("f", args={}),
        {"text": "bc"},
        call("g", args={}),
    ]


@pytest.mark.parametrize("given", ["x", [1], 5, True, '{"a":1}'], ids=str)
def test_gemini_120_args_that_are_no_object(given: Any) -> None:
    completion = quirk(answer(chunk(call("f", args=given))), "field_invalid", 1)
    assert no_call_complete(completion)


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ('{"a":1,"a":2}', "arguments_duplicate_key"),
        ('{"a":{"b":1,"b":2}}', "arguments_duplicate_key"),
        ('{"a":[{"b":1,"b":1}]}', "arguments_duplicate_key"),
        ('{"a":NaN}', "arguments_invalid_json"),
        ('{"a":[Infinity]}', "arguments_invalid_json"),
        ('{"a":1e999}', "arguments_invalid_json"),
    ],
)
def test_gemini_120_args_that_are_invalid(given: str, code: str) -> None:
    data = json.dumps(chunk(call("f", args="ARGS"), reason="STOP")).replace('"ARGS"', given)
    completion = run(GenerateContentAssembler(), [event(data)])
    assert no_call_complete(completion)
    (made,) = completion.tool_calls
    assert made.problem is not None
    assert made.problem.code == code
    with pytest.raises(InvalidToolCall):
        made.parse()
    assert failure(GenerateContentAssembler(strict=True), [event(data)]).code == code


@pytest.mark.parametrize("depth", [50, 200, 450, 600, 900, 990, 5_000])
@pytest.mark.parametrize("field", ["functionCall", "functionResponse"])
def test_gemini_120_args_that_are_nested_deep(field: str, depth: int) -> None:
    deep = '{"a":' + "[" * depth + "]" * depth + "}"
    part = {field: {"name": "f", "args": "ARGS"}}
    data = json.dumps(chunk(part, reason="STOP", extra="ARGS")).replace('"ARGS"', deep)
    try:
        completion = run(GenerateContentAssembler(), [event(data)])
    except AssemblyError as error:
        assert error.partial is not None
        assert no_call_complete(error.partial)
        assert depth > 50
    else:
        assert all(made.complete and made.arguments == deep for made in completion.tool_calls)


@pytest.mark.parametrize(
    "loads",
    [partial(json.loads, strict=False), partial(json.loads, parse_int=float)],
    ids=["control-characters", "large-integers"],
)
def test_gemini_120_args_that_are_read_by_a_laxer_parser(loads: Any) -> None:
    given = '{"a":"x\ty"}' if loads.keywords == {"strict": False} else '{"a":' + "1" * 5_000 + "}"
    data = json.dumps(chunk(call("f", args="ARGS"), reason="STOP")).replace('"ARGS"', given)
    completion = run(GenerateContentAssembler(loads=loads), [event(data)])
    assert len(completion.tool_calls) == 1


@pytest.mark.parametrize("value", ["x", [1], 5, True], ids=str)
def test_gemini_120_call_that_is_no_object(value: Any) -> None:
    payloads = answer(chunk({"functionCall": value}, call("f", args={})))
    refuse(payloads, "field_invalid", 1)
    completion = run(GenerateContentAssembler(), events(payloads))
    assert no_call_complete(completion)


@pytest.mark.parametrize("name", [None, "", 5, ["f"]], ids=repr)
def test_gemini_120_call_without_name(name: Any) -> None:
    payloads = answer(chunk({"functionCall": {"name": name, "args": {"a": 1}}}))
    failure(GenerateContentAssembler(strict=True), events(payloads))
    completion = run(GenerateContentAssembler(), events(payloads))
    assert completion.findings
    assert not any(made.complete for made in completion.tool_calls)


@pytest.mark.parametrize(
    "other", [{"text": "a"}, {"inlineData": {"mimeType": "image/png", "data": "AA=="}}], ids=str
)
def test_gemini_120_call_that_is_null_is_absent(other: Payload) -> None:
    completion = tolerate(answer(chunk({**other, "functionCall": None})))
    assert completion.text == other.get("text", "")
    (made,) = parts_of(completion)
    assert other.items() <= made.items()


# Row 121
@pytest.mark.parametrize("fields", [{}, {"args": None}, {"args": {}}], ids=str)
def test_gemini_121_call_without_args(fields: Payload) -> None:
    completion = legal(answer(chunk(call("get", **fields))))
    assert completion.complete
    assert inputs(completion) == [("get", {})]
    assert parts_of(completion) == [call("get", args={})]


# Row 122
def test_gemini_122_stop_with_calls() -> None:
    completion = legal(answer(chunk(call("get", args={}), reason="STOP")))
    assert completion.finish_reason == "STOP"
    assert completion.choices[0].ending == "tool_calls"
    assert completion.complete


# Row 123
def test_gemini_123_signature_stays_on_its_part() -> None:
    parts: list[Payload] = [
        {"text": "t", "thought": True, "thoughtSignature": "S0"},
        {"text": "a", "thoughtSignature": "S1"},
        {"text": "b"},
        {**call("f", args={}), "thoughtSignature": "S2"},
        call("g", args={}),
        {"text": "", "thoughtSignature": "S3"},
    ]
    wanted = legal(answer(*[chunk(part) for part in parts]))
    assert parts_of(wanted) == parts
    assert parts_of(legal(answer(chunk(*parts)))) == parts
    assert wanted.text == "ab"
    assert wanted.reasoning == "t"
    assert wanted.complete


def test_gemini_123_signature_on_text_is_not_joined() -> None:
    completion = legal(
        answer(
            chunk({"text": "a"}),
            chunk({"text": "b", "thoughtSignature": "S"}),
            chunk({"text": "c"}),
            chunk({"text": "d"}),
        )
    )
    assert parts_of(completion) == [
        {"text": "a"},
        {"text": "b", "thoughtSignature": "S"},
        {"text": "cd"},
    ]
    assert completion.text == "abcd"


@pytest.mark.parametrize("thought", [{}, {"thought": True}], ids=["text", "thought"])
def test_gemini_123_signature_on_empty_text(thought: Payload) -> None:
    signed = {"text": "", "thoughtSignature": "S", **thought}
    completion = legal(answer(chunk({"text": "a", **thought}), chunk(signed, reason="STOP")))
    assert parts_of(completion) == [{"text": "a", **thought}, signed]


def test_gemini_123_signature_alone_in_a_part() -> None:
    completion = legal(answer(chunk({"text": "a"}, {"thoughtSignature": "S"})))
    assert parts_of(completion) == [{"text": "a"}, {"thoughtSignature": "S"}]


@pytest.mark.parametrize("at", [0, 1, 2, 3])
def test_gemini_123_signature_on_any_piece_of_a_partial_call(at: int) -> None:
    pieces = [opened("get"), piece("$.a", 1), piece("$.b", 2), CLOSE]
    pieces[at] = {**pieces[at], "thoughtSignature": "S"}
    completion = legal(answer(*[chunk(each) for each in [{"text": "x"}, *pieces, {"text": "y"}]]))
    assert parts_of(completion) == [
        {"text": "x"},
        {**call("get", args={"a": 1, "b": 2}), "thoughtSignature": "S"},
        {"text": "y"},
    ]


# Row 124
def test_gemini_124_thought_parts_are_reasoning() -> None:
    payloads = answer(
        chunk({"text": "t", "thought": True}),
        chunk({"text": "u", "thought": True}),
        chunk({"text": "a"}),
        chunk({"text": "b", "thought": False}),
        chunk({"text": "v", "thought": True}),
        chunk({"text": "c"}),
    )
    completion = legal(payloads)
    assert completion.reasoning == "tuv"
    assert completion.text == "abc"
    assert completion.choices[0].parts == (
        ReasoningPart("tu"),
        TextPart("ab"),
        ReasoningPart("v"),
        TextPart("c"),
    )
    assert parts_of(completion) == [
        {"text": "tu", "thought": True},
        {"text": "ab"},
        {"text": "v", "thought": True},
        {"text": "c"},
    ]


@pytest.mark.parametrize("value", [5, ["a"], {"a": 1}, True], ids=str)
def test_gemini_text_of_another_type(value: Any) -> None:
    payloads = answer(chunk({"text": value}))
    refuse(payloads, "field_invalid", 1)


@pytest.mark.parametrize("name", ["candidates", "content", "parts"])
@pytest.mark.parametrize("value", ["x", 5, [5], ["x"]], ids=str)
def test_gemini_member_of_another_type(name: str, value: Any) -> None:
    payload: Payload = {"candidates": [candidate(call("f", args={}))]}
    holder = {
        "candidates": payload,
        "content": payload["candidates"][0],
        "parts": payload["candidates"][0]["content"],
    }[name]
    holder[name] = value
    payloads = answer(chunk(call("g", args={})), payload)
    refuse(payloads, "field_invalid", 2)
    assert no_call_complete(run(GenerateContentAssembler(), events(payloads)))


# Row 125
@pytest.mark.parametrize(
    ("usages", "raw", "numbers"),
    [
        (
            [
                {"promptTokenCount": 8, "totalTokenCount": 8},
                {"promptTokenCount": 8, "candidatesTokenCount": 5, "totalTokenCount": 13},
            ],
            {"promptTokenCount": 8, "candidatesTokenCount": 5, "totalTokenCount": 13},
            (8, 5, 13),
        ),
        (
            [{"promptTokenCount": 8, "candidatesTokenCount": count} for count in (1, 3, 5)],
            {"promptTokenCount": 8, "candidatesTokenCount": 5},
            (8, 5, 13),
        ),
        (
            [{"promptTokenCount": 8, "candidatesTokenCount": 5}, {"candidatesTokenCount": None}],
            {"promptTokenCount": 8, "candidatesTokenCount": 5},
            (8, 5, 13),
        ),
        (
            [{"trafficType": "ON_DEMAND"}, {"promptTokenCount": 8}, {"candidatesTokenCount": 5}],
            {"trafficType": "ON_DEMAND", "promptTokenCount": 8, "candidatesTokenCount": 5},
            (8, 5, 13),
        ),
        (
            [{"promptTokenCount": 8, "candidatesTokenCount": 5}, {}, None],
            {"promptTokenCount": 8, "candidatesTokenCount": 5},
            (8, 5, 13),
        ),
    ],
    ids=["early", "every", "null", "traffic", "empty"],
)
def test_gemini_125_usage_is_cumulative_by_field(
    usages: list[Any], raw: Payload, numbers: tuple[int, int, int]
) -> None:
    payloads = [chunk({"text": "a"}, usageMetadata=usage) for usage in usages]
    usage = legal([*payloads, chunk(reason="STOP")]).usage
    assert usage is not None
    assert usage.raw == raw
    assert (usage.input, usage.output, usage.total) == numbers


def test_gemini_125_usage_of_thoughts_tools_and_cache() -> None:
    raw = {
        "promptTokenCount": 100,
        "toolUsePromptTokenCount": 20,
        "cachedContentTokenCount": 60,
        "candidatesTokenCount": 5,
        "thoughtsTokenCount": 40,
        "totalTokenCount": 165,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 100}],
    }
    usage = legal([chunk({"text": "a"}, reason="STOP", usageMetadata=raw)]).usage
    assert usage is not None
    assert (usage.input, usage.output, usage.total) == (120, 45, 165)
    assert (usage.cached, usage.reasoning) == (60, 40)
    assert usage.raw == raw


def test_gemini_125_usage_is_told_when_it_changes() -> None:
    assembler = GenerateContentAssembler()
    updates = feed(
        assembler, events([chunk(**USAGE), chunk(**USAGE), chunk(reason="STOP", **USAGE)])
    )
    assert len([update for update in updates if isinstance(update, UsageUpdate)]) == 1


def test_gemini_125_usage_is_missing() -> None:
    assert legal([chunk({"text": "a"}, reason="STOP")]).usage is None


@pytest.mark.parametrize("usage", [5, "x", [], {"totalTokenCount": "5"}], ids=str)
def test_gemini_125_usage_of_another_type(usage: Any) -> None:
    completion = tolerate([chunk({"text": "a"}, reason="STOP", usageMetadata=usage)])
    assert completion.text == "a"
    assert completion.usage is None or completion.usage.total == 0


# Row 126
@pytest.mark.parametrize(
    ("reason", "ending"),
    [
        ("SAFETY", "content_filter"),
        ("BLOCKLIST", "content_filter"),
        ("PROHIBITED_CONTENT", "content_filter"),
        ("IMAGE_SAFETY", "content_filter"),
        ("OTHER", "other"),
        ("MODEL_ARMOR", None),
        ("JAILBREAK", None),
        ("BLOCKED_REASON_UNSPECIFIED", None),
        ("FUTURE", "other"),
    ],
)
@pytest.mark.parametrize("candidates", [{}, {"candidates": []}, {"candidates": None}], ids=str)
def test_gemini_126_prompt_blocked(candidates: Payload, reason: str, ending: str | None) -> None:
    feedback = {"blockReason": reason, "safetyRatings": [{"category": "X", "blocked": True}]}
    payloads = [{"promptFeedback": feedback, **candidates, **USAGE}]
    error = refuse(payloads, "prompt_blocked", 1)
    assert isinstance(error, ProviderError)
    assert not error.retryable
    completion = quirk(payloads, "prompt_blocked", 1)
    assert not completion.complete
    assert completion.finish_reason == reason
    assert ending is None or completion.choices[0].ending == ending
    assert completion.message is None
    assert completion.extra["promptFeedback"] == feedback
    assert completion.usage is not None


def test_gemini_126_prompt_feedback_that_blocks_nothing() -> None:
    feedback = {"safetyRatings": [{"category": "X", "probability": "LOW"}]}
    completion = legal([{"promptFeedback": feedback}, *TEXTS])
    assert completion.complete
    assert completion.extra["promptFeedback"] == feedback


def test_gemini_126_blocked_within_the_answer_is_not_complete() -> None:
    payloads = [chunk({"text": "a"}), {"promptFeedback": {"blockReason": "SAFETY"}}]
    error = failure(GenerateContentAssembler(), events(payloads))
    assert error.code in ("missing_finish_reason", "prompt_blocked")


# Row 127
@pytest.mark.parametrize(
    "reason", ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MALFORMED_RESPONSE"]
)
@pytest.mark.parametrize("content", [{}, {"content": {}}], ids=["absent", "empty"])
def test_gemini_127_malformed_function_call(content: Payload, reason: str) -> None:
    made = {"finishReason": reason, "finishMessage": "Malformed call: f(", **content}
    payloads = [{"candidates": [made]}]
    assert isinstance(refuse(payloads, "malformed_function_call", None), InvalidToolCall)
    completion = quirk(payloads, "malformed_function_call", None)
    assert not completion.complete
    assert completion.finish_reason == reason
    assert completion.choices[0].ending == "error"
    assert completion.choices[0].extra["finishMessage"] == "Malformed call: f("


# Row 128
@pytest.mark.parametrize(
    ("reason", "ending"),
    [
        ("FINISH_REASON_UNSPECIFIED", "other"),
        ("MAX_TOKENS", "length"),
        ("SAFETY", "content_filter"),
        ("RECITATION", "content_filter"),
        ("LANGUAGE", None),
        ("OTHER", "other"),
        ("BLOCKLIST", "content_filter"),
        ("PROHIBITED_CONTENT", "content_filter"),
        ("SPII", "content_filter"),
        ("MALFORMED_FUNCTION_CALL", "error"),
        ("IMAGE_SAFETY", "content_filter"),
        ("IMAGE_PROHIBITED_CONTENT", None),
        ("IMAGE_RECITATION", None),
        ("IMAGE_OTHER", None),
        ("NO_IMAGE", None),
        ("UNEXPECTED_TOOL_CALL", "error"),
        ("TOO_MANY_TOOL_CALLS", "error"),
        ("MISSING_THOUGHT_SIGNATURE", "error"),
        ("MALFORMED_RESPONSE", "error"),
        ("CONTINUATION", "other"),
        ("ESCALATION", None),
        ("PUP_LIMITED_DISABLED", None),
        ("MODEL_ARMOR", None),
        ("FUTURE", "other"),
        ("stop", "other"),
    ],
)
def test_gemini_128_finish_reason_as_it_comes(reason: str, ending: str | None) -> None:
    payloads = answer(chunk({"text": "a"}, call("f", args={"a": 1})), reason=reason)
    completion = run(GenerateContentAssembler(), events(payloads))
    assert completion.finish_reason == reason
    assert completion.choices[0].ending != "stop"
    assert completion.choices[0].ending != "tool_calls"
    assert ending is None or completion.choices[0].ending == ending
    assert not completion.complete
    assert completion.text == "a"


@pytest.mark.parametrize("reason", [5, ["STOP"], {"a": 1}, True], ids=str)
def test_gemini_128_finish_reason_of_another_type(reason: Any) -> None:
    payloads = [{"candidates": [{**candidate({"text": "a"}), "finishReason": reason}]}]
    refuse(payloads, "field_invalid", 1)
    assert failure(GenerateContentAssembler(), events(payloads)).code == "missing_finish_reason"


# Row 129
@pytest.mark.parametrize("strict", [True, False], ids=["strict", "tolerant"])
@pytest.mark.parametrize("at", [0, 1, 2])
@pytest.mark.parametrize(
    "around", [{}, {"candidates": []}, {"responseId": "r1", "modelVersion": "gemini"}], ids=str
)
def test_gemini_129_error_in_the_stream(around: Payload, at: int, strict: bool) -> None:
    payloads = [*TEXTS[:at], {**around, **UNAVAILABLE}]
    error = failure(GenerateContentAssembler(strict=strict), events(payloads))
    assert isinstance(error, ProviderError)
    assert (error.code, error.event) == ("provider_error", at + 1)
    assert error.message == "The model is overloaded."
    assert (error.type, error.provider_code) == ("UNAVAILABLE", 503)
    assert (error.status, error.retryable) == (503, True)
    assert error.raw == UNAVAILABLE["error"]
    assert error.partial is not None
    assert error.partial.text == "Hello"[: (0, 3, 5)[at]]


def test_gemini_129_error_beside_a_call() -> None:
    payload = {**chunk(call("f", args={"a": 1}), reason="STOP"), **UNAVAILABLE}
    error = failure(GenerateContentAssembler(), events([payload]))
    assert isinstance(error, ProviderError)
    assert error.partial is not None
    assert [made.name for made in error.partial.tool_calls] == ["f"]


@pytest.mark.parametrize(
    ("status", "code", "retryable"),
    [
        ("INVALID_ARGUMENT", 400, False),
        ("PERMISSION_DENIED", 403, False),
        ("NOT_FOUND", 404, False),
        ("RESOURCE_EXHAUSTED", 429, True),
        ("INTERNAL", 500, True),
        ("UNAVAILABLE", 503, True),
        ("DEADLINE_EXCEEDED", 504, True),
    ],
)
@pytest.mark.parametrize("coded", [True, False], ids=["code", "status"])
def test_gemini_129_error_statuses(coded: bool, status: str, code: int, retryable: bool) -> None:
    fields: Payload = {"message": "No", "status": status}
    payload = {"error": {"code": code, **fields} if coded else fields}
    error = failure(GenerateContentAssembler(), events([payload]))
    assert isinstance(error, ProviderError)
    assert (error.type, error.status, error.retryable) == (status, code, retryable)


# Row 130
@pytest.mark.parametrize("strict", [True, False], ids=["strict", "tolerant"])
@pytest.mark.parametrize("indent", [None, 2], ids=["compact", "pretty"])
@pytest.mark.parametrize("body", [UNAVAILABLE, [UNAVAILABLE]], ids=["object", "array"])
@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["lf", "crlf"])
def test_gemini_130_error_body_in_place_of_the_stream(
    end: str, body: Any, indent: int | None, strict: bool
) -> None:
    data = (json.dumps(body, indent=indent) + "\n").replace("\n", end).encode()
    items = items_of(data)
    assert not any(isinstance(item, Event) for item in items)
    error = failure(GenerateContentAssembler(strict=strict), items)
    assert isinstance(error, ProviderError)
    assert (error.code, error.message) == ("not_event_stream", "The model is overloaded.")
    assert (error.type, error.status, error.retryable) == ("UNAVAILABLE", 503, True)


@pytest.mark.parametrize("strict", [True, False], ids=["strict", "tolerant"])
def test_gemini_130_answer_as_json_array_in_place_of_the_stream(strict: bool) -> None:
    items = items_of((json.dumps(TEXTS, indent=2) + "\n").encode())
    error = failure(GenerateContentAssembler(strict=strict), items)
    assert error.code == "not_event_stream"


@pytest.mark.parametrize("strict", [True, False], ids=["strict", "tolerant"])
def test_gemini_130_error_body_behind_the_events(strict: bool) -> None:
    lines = [f"data: {made.data}\n\n" for made in events(TEXTS[:-1])]
    data = "".join(lines) + json.dumps(UNAVAILABLE, indent=2) + "\n"
    error = failure(GenerateContentAssembler(strict=strict), items_of(data.encode()))
    assert error.code in ("missing_finish_reason", "provider_error", "not_event_stream")


# Row 131
@pytest.mark.parametrize("strict", [True, False], ids=["strict", "tolerant"])
def test_gemini_131_comments_and_event_names(strict: bool) -> None:
    items: list[Item] = [Comment("x"), *events(TEXTS[:1]), Comment("")]
    items += [event(made, "chunk") for made in TEXTS[1:]]
    assert run(GenerateContentAssembler(strict=strict), items) == legal(TEXTS)
    data = "".join(f": x\nevent: a\nid: 1\ndata: {made.data}\n\n" for made in events(TEXTS))
    assert run(GenerateContentAssembler(strict=strict), items_of(data.encode())) == legal(TEXTS)


# Row 132
@pytest.mark.parametrize("strict", [True, False], ids=["strict", "tolerant"])
def test_gemini_132_done_at_the_end(strict: bool) -> None:
    assembler = GenerateContentAssembler(strict=strict)
    feed(assembler, [*events(TEXTS), DONE])
    assert assembler.done
    assert assembler.finish() == legal(TEXTS)


@pytest.mark.parametrize("strict", [True, False], ids=["strict", "tolerant"])
def test_gemini_132_done_gives_no_finish_reason(strict: bool) -> None:
    items = [*events([chunk(call("f", args={}))]), DONE]
    error = failure(GenerateContentAssembler(strict=strict), items)
    assert error.code == "missing_finish_reason"


def test_gemini_132_response_behind_done() -> None:
    items = [*events(TEXTS), DONE, *events([chunk({"text": "more"})])]
    error = failure(GenerateContentAssembler(strict=True), items)
    assert error.event == len(items)
    completion = run(GenerateContentAssembler(), items)
    assert codes(completion) == [error.code]
    assert completion.text == "Hello"


# Row 133
def test_gemini_133_candidates_interleaved() -> None:
    payloads: list[Payload] = [
        {"candidates": [candidate({"text": "a"}, index=0), candidate({"text": "x"}, index=1)]},
        {"candidates": [candidate({"text": "y"}, call("f", args={"i": 1}), index=1)]},
        {"candidates": [candidate({"text": "b"}, call("g", args={"i": 0}), index=0)]},
        {"candidates": [candidate(index=1, reason="STOP"), candidate(index=0, reason="STOP")]},
    ]
    completion = legal(payloads)
    assert completion.complete
    first, second = completion.choices
    assert (first.index, first.text, first.tool_calls[0].parse()) == (0, "ab", {"i": 0})
    assert (second.index, second.text, second.tool_calls[0].parse()) == (1, "xy", {"i": 1})
    assert first.tool_calls[0].index == second.tool_calls[0].index == 0
    assert first.tool_calls[0].id != second.tool_calls[0].id
    assert second.message == {"role": "model", "parts": [{"text": "xy"}, call("f", args={"i": 1})]}


def test_gemini_133_partial_calls_of_candidates_interleaved() -> None:
    def both(first: Payload, second: Payload) -> Payload:
        return {"candidates": [candidate(first, index=0), candidate(second, index=1)]}

    payloads = [
        both(opened("f"), opened("g")),
        both(piece("$.a", "x", going=True), piece("$.b", "y", going=True)),
        both(piece("$.a", "x"), piece("$.b", "y")),
        both(CLOSE, CLOSE),
        {"candidates": [{"index": index, "finishReason": "STOP"} for index in (0, 1)]},
    ]
    completion = legal(payloads)
    assert [choice.tool_calls[0].parse() for choice in completion.choices] == [
        {"a": "xx"},
        {"b": "yy"},
    ]


@pytest.mark.parametrize("index", [{}, {"index": None}, {"index": 0}], ids=str)
def test_gemini_133_index_missing_is_the_first(index: Payload) -> None:
    payloads = [
        {"candidates": [candidate({"text": "a"}, **index), candidate({"text": "x"}, index=1)]},
        {"candidates": [candidate({"text": "y"}, index=1)]},
        {"candidates": [candidate({"text": "b"}, **index)]},
        {"candidates": [{"index": 1, "finishReason": "STOP"}, {"finishReason": "STOP", **index}]},
    ]
    completion = legal(payloads)
    assert [choice.text for choice in completion.choices] == ["ab", "xy"]


def test_gemini_133_index_missing_behind_another_is_the_first() -> None:
    payloads = [
        {
            "candidates": [
                candidate({"text": "x"}, index=1, reason="STOP"),
                candidate({"text": "a"}, reason="STOP"),
            ]
        }
    ]
    completion = legal(payloads)
    assert [(choice.index, choice.text) for choice in completion.choices] == [(0, "a"), (1, "x")]


@pytest.mark.parametrize("index", [-1, "0", 0.5, True, [], "x"], ids=repr)
def test_gemini_133_index_that_is_none(index: Any) -> None:
    payloads = [{"candidates": [candidate({"text": "a"}, reason="STOP", index=index)]}]
    completion = quirk(payloads, "candidate_index_invalid", 1)
    assert completion.text == "a"
    assert completion.complete


def test_gemini_133_one_candidate_without_finish_reason() -> None:
    payloads = [
        {
            "candidates": [
                candidate(call("f", args={}), index=0, reason="STOP"),
                candidate(call("g", args={}), index=1),
            ]
        }
    ]
    error = failure(GenerateContentAssembler(), events(payloads))
    assert error.code == "missing_finish_reason"


def test_gemini_133_candidates_are_bounded() -> None:
    payload = {"candidates": [candidate({"text": "a"}, index=index) for index in range(3)]}
    assembler = GenerateContentAssembler(limits=Limits(max_choices=2))
    error = failure(assembler, events([payload]))
    assert isinstance(error, LimitExceeded)
    assert (error.name, error.limit) == ("max_choices", 2)


# Row 134
def test_gemini_134_partial_call() -> None:
    payloads = answer(
        chunk(opened("get", id="c1")),
        chunk(piece("$.a.b[0]", "he", going=True)),
        chunk(piece("$.a.b[0]", "llo", going=True)),
        chunk(piece("$.a.b[0]", "")),
        chunk(piece("$.a.b[1]", 2.5)),
        chunk(piece("$.c", True)),
        chunk(piece("$.d", None)),
        chunk(CLOSE),
    )
    completion = legal(payloads)
    arguments = {"a": {"b": ["hello", 2.5]}, "c": True, "d": None}
    assert completion.complete
    assert inputs(completion) == [("get", arguments)]
    assert completion.tool_calls[0].id == "c1"
    assert completion.choices[0].ending == "tool_calls"
    assert parts_of(completion) == [call("get", id="c1", args=arguments)]


def test_gemini_134_partial_call_without_id_has_none_in_the_message() -> None:
    completion = legal(answer(chunk(opened("get")), chunk(piece("$.a", 1)), chunk(CLOSE)))
    assert completion.tool_calls[0].id
    assert parts_of(completion) == [call("get", args={"a": 1})]


@pytest.mark.parametrize(
    "parts",
    [
        [call("get", partialArgs=[place("$.a", "x"), place("$.b", 2)])],
        [opened("get", partialArgs=[place("$.a", "x"), place("$.b", 2)]), CLOSE],
        [opened("get"), call(partialArgs=[place("$.a", "x"), place("$.b", 2)])],
        [opened("get"), call(willContinue=True), piece("$.a", "x"), piece("$.b", 2), CLOSE],
        [opened("get"), piece("$.a", "x"), piece("$.b", 2), call(willContinue=False)],
        [opened("get", partialArgs=None), piece("$.a", "x"), piece("$.b", 2), call(name=None)],
        [opened("get"), piece("$.a", "x", going=True), piece("$.a", ""), piece("$.b", 2), CLOSE],
    ],
    ids=["whole", "first", "last", "nothing", "false", "null", "empty-end"],
)
@pytest.mark.parametrize("together", [True, False], ids=["together", "apart"])
def test_gemini_134_partial_call_in_other_pieces(together: bool, parts: list[Payload]) -> None:
    chunks = [chunk(*parts)] if together else [chunk(part) for part in parts]
    completion = legal(answer(*chunks))
    assert inputs(completion) == [("get", {"a": "x", "b": 2})]
    assert parts_of(completion) == [call("get", args={"a": "x", "b": 2})]


def test_gemini_134_partial_calls_one_after_the_other() -> None:
    completion = legal(
        answer(
            *[chunk(each) for each in (opened("f"), piece("$.a", 1), CLOSE)],
            *[chunk(each) for each in (opened("g"), piece("$.b", 2), CLOSE)],
            chunk(call("h", args={"c": 3})),
        )
    )
    assert inputs(completion) == [("f", {"a": 1}), ("g", {"b": 2}), ("h", {"c": 3})]


def test_gemini_134_partial_call_of_no_arguments() -> None:
    completion = legal(answer(chunk(opened("f")), chunk(CLOSE)))
    assert inputs(completion) == [("f", {})]


@pytest.mark.parametrize(
    "part",
    [CLOSE, call(willContinue=True), piece("$.a", 1), piece("$.a", "x", going=True)],
    ids=str,
)
@pytest.mark.parametrize("before", [[], [call("f", args={})]], ids=["first", "closed"])
def test_gemini_134_partial_args_without_call(before: list[Payload], part: Payload) -> None:
    payloads = answer(*[chunk(each) for each in before], chunk(part))
    completion = quirk(payloads, "partial_args_without_call", len(before) + 1)
    assert len(completion.tool_calls) == len(before)


def test_gemini_134_arguments_behind_the_close_are_missed() -> None:
    payloads = answer(chunk(call("f")), chunk(piece("$.a", 1)), chunk(CLOSE))
    refuse(payloads, "partial_args_without_call", 2)
    assert no_call_complete(run(GenerateContentAssembler(), events(payloads)))


@pytest.mark.parametrize(
    "pieces",
    [
        [piece("$.a", 1), piece("$.a", 2)],
        [piece("$.a", 1), piece("$.a.b", 2)],
        [piece("$.a.b", 1), piece("$.a", 2)],
        [piece("$.a", "x"), piece("$.a", "y")],
        [piece("$.a[1]", 1)],
        [piece("$.a[999999999]", 1)],
        [piece("$", 1)],
        [piece("$.a[*]", 1)],
        [piece("a", 1)],
        [piece("$.a", "x", going=True), piece("$.b", 1)],
        [call(partialArgs=[{"jsonPath": "$.a"}], willContinue=True)],
        [call(partialArgs=[{"jsonPath": "$.a", "numberValue": "NaN"}], willContinue=True)],
        [call(partialArgs=[{"jsonPath": "$.a", "stringValue": 5}], willContinue=True)],
    ],
    ids=range(13),
)
def test_gemini_134_partial_args_type_conflict(pieces: list[Payload]) -> None:
    payloads = answer(chunk(opened("f")), *map(chunk, pieces), chunk(CLOSE))
    refuse(payloads, "partial_args_type_conflict", len(pieces) + 1)
    completion = run(GenerateContentAssembler(), events(payloads))
    assert "partial_args_type_conflict" in codes(completion)
    assert no_call_complete(completion)
    (made,) = completion.tool_calls
    assert made.problem is not None
    assert made.problem.code == "partial_args_type_conflict"


@pytest.mark.parametrize("value", ["x", 5, [5], {"jsonPath": "$.a"}], ids=str)
def test_gemini_134_partial_args_of_another_type(value: Any) -> None:
    payloads = answer(chunk(opened("f")), chunk(call(partialArgs=value)))
    completion = quirk(payloads, "field_invalid", 2)
    assert no_call_complete(completion)


@pytest.mark.parametrize(
    "value",
    ["NaN", "Infinity", "-Infinity", "1e999"],
)
def test_gemini_134_partial_number_that_is_not_finite(value: str) -> None:
    data = json.dumps(chunk(opened("f"), piece("$.a", 77), CLOSE, reason="STOP"))
    completion = run(GenerateContentAssembler(), [event(data.replace("77", value))])
    assert no_call_complete(completion)


@pytest.mark.parametrize(
    ("parts", "same"),
    [
        ([call("f", args={"a": 1}, partialArgs=[place("$.b", 2)])], False),
        ([call("f", args={"a": 1}, partialArgs=[place("$.a", 2)])], False),
        ([opened("f", args={"a": 1}), piece("$.a", 2), CLOSE], False),
        ([opened("f"), piece("$.a", 2), call(args={"a": 1})], False),
        ([call("f", args={"a": 1}, partialArgs=[place("$.a", 1)])], True),
        ([call("f", args={"a": 1}, partialArgs=[])], True),
    ],
    ids=["other", "other-value", "then-pieces", "then-whole", "same", "none"],
)
def test_gemini_134_call_with_args_and_partial_args(parts: list[Payload], same: bool) -> None:
    completion = run(GenerateContentAssembler(), events(answer(*map(chunk, parts))))
    (made,) = completion.tool_calls
    assert same or not made.complete
    assert not made.complete or made.parse() == {"a": 1}


def test_gemini_134_args_behind_the_name_are_not_missed() -> None:
    payloads = answer(chunk(opened("f")), chunk(call(args={"a": 1})))
    completion = run(GenerateContentAssembler(), events(payloads))
    (made,) = completion.tool_calls
    assert not made.complete or made.parse() == {"a": 1}


def test_gemini_134_duplicate_key_in_a_later_piece() -> None:
    entry = '{"jsonPath":"$.a","jsonPath":"$.b","numberValue":1}'
    data = json.dumps(chunk(call(partialArgs=["ENTRY"]))).replace('"ENTRY"', entry)
    items = [event(chunk(opened("f"))), event(data), event(chunk(reason="STOP"))]
    assert no_call_complete(run(GenerateContentAssembler(), items))


def test_gemini_134_arguments_are_bounded() -> None:
    limits = Limits(max_arguments_characters=100)
    pieces = [chunk(piece("$.a", "x" * 40, going=True)) for _ in range(3)]
    payloads = answer(chunk(opened("f")), *pieces, chunk(piece("$.a", "")), chunk(CLOSE))
    error = failure(GenerateContentAssembler(limits=limits), events(payloads))
    assert isinstance(error, LimitExceeded)
    assert error.name == "max_arguments_characters"


def test_gemini_134_call_opened_by_a_name_in_two_pieces() -> None:
    # The same call, named again: were it two, the first would be run without its arguments.
    payloads = answer(
        chunk(opened("f", id="c1")),
        chunk(opened("f", id="c1", partialArgs=[place("$.a", 1)])),
        chunk(CLOSE),
    )
    completion = run(GenerateContentAssembler(), events(payloads))
    assert [made.parse() for made in completion.tool_calls if made.complete] in ([], [{"a": 1}])


# Row 135
OPEN_CALLS = {
    "bare": ([opened("f")], {}),
    "value": ([opened("f"), piece("$.a", 1)], {"a": 1}),
    "string": ([opened("f"), piece("$.a", "x", going=True), piece("$.a", "")], {"a": "x"}),
}


@pytest.mark.parametrize("case", OPEN_CALLS)
def test_gemini_135_call_open_at_the_end(case: str) -> None:
    parts, arguments = OPEN_CALLS[case]
    completion = quirk(answer(*map(chunk, parts)), "call_not_closed", None)
    assert completion.complete
    assert inputs(completion) == [("f", arguments)]
    assert parts_of(completion) == [call("f", args=arguments)]


@pytest.mark.parametrize("case", OPEN_CALLS)
def test_gemini_135_call_open_at_the_next_name(case: str) -> None:
    parts, arguments = OPEN_CALLS[case]
    payloads = answer(*map(chunk, parts), chunk(call("g", args={"b": 2})))
    completion = quirk(payloads, "call_not_closed", len(parts) + 1)
    assert completion.complete
    assert inputs(completion) == [("f", arguments), ("g", {"b": 2})]


@pytest.mark.parametrize(
    ("following", "at"),
    [([], None), ([call("g", args={"b": 2})], 3), ([CLOSE], 3), ([call(willContinue=False)], 3)],
    ids=["end", "name", "close", "false"],
)
def test_gemini_135_string_that_did_not_end(following: list[Payload], at: int | None) -> None:
    parts = [opened("f"), piece("$.a", "x", going=True), *following]
    completion = quirk(answer(*map(chunk, parts)), "call_not_closed", at)
    assert not completion.complete
    made = completion.tool_calls[0]
    assert not made.complete
    assert made.problem is not None
    assert made.problem.code == "call_not_closed"
    assert [other.complete for other in completion.tool_calls[1:]] == [True] * (at == 3) * (
        "name" in str(following)
    )


@pytest.mark.parametrize("reason", ["MAX_TOKENS", "SAFETY", "OTHER", "FUTURE"])
@pytest.mark.parametrize("case", OPEN_CALLS)
def test_gemini_135_call_open_when_the_answer_is_cut(case: str, reason: str) -> None:
    parts, _ = OPEN_CALLS[case]
    payloads = answer(*map(chunk, parts), reason=reason)
    assert no_call_complete(run(GenerateContentAssembler(), events(payloads)))


@pytest.mark.parametrize("reason", ["MAX_TOKENS", "SAFETY", "OTHER", "FUTURE"])
def test_gemini_135_call_closed_before_the_answer_is_cut(reason: str) -> None:
    parts = [opened("f"), piece("$.a", 1), CLOSE, call("g", args={"b": 2})]
    completion = run(GenerateContentAssembler(), events(answer(*map(chunk, parts), reason=reason)))
    assert not completion.complete
    assert inputs(completion) == [("f", {"a": 1}), ("g", {"b": 2})]


@pytest.mark.parametrize("case", OPEN_CALLS)
def test_gemini_135_call_closed_behind_the_finish_reason(case: str) -> None:
    parts, arguments = OPEN_CALLS[case]
    payloads = [*map(chunk, parts), chunk(reason="STOP"), chunk(CLOSE)]
    completion = run(GenerateContentAssembler(), events(payloads))
    assert inputs(completion) == [("f", arguments)]


@pytest.mark.parametrize("case", OPEN_CALLS)
def test_gemini_135_arguments_of_a_call_open_at_the_end_are_not_told_before(case: str) -> None:
    parts, _ = OPEN_CALLS[case]
    updates = feed(GenerateContentAssembler(), events(answer(*map(chunk, parts))))
    assert [update for update in updates if isinstance(update, ToolCallStarted)]
    assert not [update for update in updates if isinstance(update, ToolArgumentsDelta)]


# Row 136
OTHER_PARTS: list[Payload] = [
    {"executableCode": {"language": "PYTHON", "code": "print(1)"}},
    {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1\n"}},
    {"inlineData": {"mimeType": "image/png", "data": "AA=="}},
    {"fileData": {"mimeType": "image/png", "fileUri": "https://x"}},
    {"toolCall": {"toolType": "GOOGLE_SEARCH", "args": {"q": "x"}, "id": "s1"}},
    {"toolResponse": {"toolType": "GOOGLE_SEARCH", "response": {}, "id": "s1"}},
    {"functionResponse": {"name": "f", "response": {}}},
    {"futurePart": {"a": [1, None]}, "thoughtSignature": "S"},
]


@pytest.mark.parametrize("part", OTHER_PARTS, ids=lambda part: next(iter(part)))
def test_gemini_136_other_part_is_kept_in_its_place(part: Payload) -> None:
    completion = legal(answer(chunk({"text": "a"}), chunk(part), chunk({"text": "b"})))
    assert completion.complete
    assert completion.text == "ab"
    assert completion.tool_calls == ()
    assert parts_of(completion) == [{"text": "a"}, part, {"text": "b"}]


def test_gemini_136_other_parts_keep_their_order() -> None:
    parts = [*OTHER_PARTS, call("f", args={}), *reversed(OTHER_PARTS)]
    assert parts_of(legal(answer(chunk(*parts)))) == parts


def test_gemini_136_other_part_within_a_partial_call() -> None:
    parts = [opened("f"), OTHER_PARTS[0], piece("$.a", 1), {"text": "x"}, CLOSE]
    completion = legal(answer(*map(chunk, parts)))
    assert inputs(completion) == [("f", {"a": 1})]
    assert parts_of(completion) == [call("f", args={"a": 1}), OTHER_PARTS[0], {"text": "x"}]


def test_gemini_136_fields_of_the_candidate_are_kept() -> None:
    grounding = {"groundingChunks": [{"web": {"uri": "https://x"}}]}
    payloads: list[Payload] = [
        {"candidates": [candidate({"text": "a"}, safetyRatings=[{"category": "X"}])]},
        {"candidates": [candidate(reason="STOP", groundingMetadata=grounding, avgLogprobs=-0.5)]},
        {"candidates": [{"groundingMetadata": {}, "safetyRatings": []}], "createTime": "t"},
    ]
    completion = legal(payloads)
    assert completion.choices[0].extra == {
        "safetyRatings": [{"category": "X"}],
        "groundingMetadata": grounding,
        "avgLogprobs": -0.5,
    }
    assert completion.extra == {"createTime": "t"}


@pytest.mark.parametrize("data", ["[]", "null", "5", '"x"'])
def test_gemini_payload_that_is_no_object(data: str) -> None:
    items = [*events(TEXTS[:1]), event(data), *events(TEXTS[1:])]
    error = failure(GenerateContentAssembler(strict=True), items)
    assert (error.code, error.event) == ("payload_not_object", 2)
    completion = run(GenerateContentAssembler(), items)
    assert codes(completion) == ["payload_not_object"]
    assert completion.text == "Hello"


def test_gemini_parts_are_bounded() -> None:
    assembler = GenerateContentAssembler(limits=Limits(max_items=10))
    error = failure(assembler, events([chunk(*OTHER_PARTS, *OTHER_PARTS)]))
    assert isinstance(error, LimitExceeded)
    assert error.name == "max_items"


def test_gemini_calls_are_bounded() -> None:
    assembler = GenerateContentAssembler(limits=Limits(max_calls=2))
    error = failure(assembler, events([chunk(*[call("f") for _ in range(3)])]))
    assert isinstance(error, LimitExceeded)
    assert error.name == "max_calls"


@pytest.mark.parametrize(
    ("first", "part"),
    [
        (opened("f"), call(willContinue=True)),
        (call("f"), call("f")),
        ({"text": "a"}, {"text": "b"}),
    ],
    ids=["pieces", "calls", "text"],
)
def test_gemini_cost_of_parts_in_one_payload_is_linear(first: Payload, part: Payload) -> None:
    def steps(count: int) -> int:
        made = event(chunk(first, *[part] * count))
        assembler = GenerateContentAssembler()
        calls = 0

        def called(*_: object) -> None:
            nonlocal calls
            calls += 1

        before = sys.getprofile()
        sys.setprofile(called)
        try:
            assembler.feed(made)
        finally:
            sys.setprofile(before)
        return calls

    assert steps(400) < 3 * steps(200)


STREAMS = {
    "whole": answer(chunk({"text": "a"}), chunk(call("f", args={"a": 1})), chunk(call("g"))),
    "partial": answer(
        chunk(opened("f", id="c1")),
        chunk(piece("$.amount", 10)),
        chunk(piece("$.b", "x", going=True)),
        chunk(piece("$.b", "y")),
        chunk(CLOSE),
        chunk(opened("g")),
        chunk(CLOSE),
    ),
    "open": answer(chunk(opened("f")), chunk(piece("$.a", 1))),
    "next-name": answer(chunk(opened("f")), chunk(piece("$.a", 1)), chunk(call("g"))),
    "candidates": [
        {"candidates": [candidate(call("f"), index=0)]},
        {"candidates": [candidate(call("g"), index=1, reason="STOP")]},
        {"candidates": [candidate(opened("h"), index=0)]},
        {"candidates": [candidate(CLOSE, index=0, reason="STOP")]},
    ],
}


@pytest.mark.parametrize("truncated", [True, False], ids=["truncated", "clean"])
@pytest.mark.parametrize("strict", [True, False], ids=["strict", "tolerant"])
@pytest.mark.parametrize("case", STREAMS)
def test_gemini_cut_after_any_event_gives_no_call(case: str, strict: bool, truncated: bool) -> None:
    payloads = STREAMS[case]
    for length in range(len(payloads)):
        assembler = GenerateContentAssembler(strict=strict)
        with pytest.raises(AssemblyError) as raised:
            feed(assembler, events(payloads[:length]))
            assembler.finish(truncated=truncated)
        assert raised.value.partial is not None
        for choice in raised.value.partial.choices:
            assert not any(made.complete for made in choice.tool_calls)


@pytest.mark.parametrize("strict", [True, False])
def test_gemini_129_error_in_an_array(strict: bool) -> None:
    payloads: Any = [[{"error": {"code": 503, "message": "overloaded"}}], *answer(chunk())]
    error = failure(GenerateContentAssembler(strict=strict), events(payloads))
    assert isinstance(error, ProviderError)
    assert (error.message, error.status, error.event) == ("overloaded", 503, 1)


def test_gemini_133_one_index_twice_in_a_response_is_two_candidates() -> None:
    candidates = [candidate({"text": word}, index=1, reason="STOP") for word in ("x", "y")]
    completion = quirk([{"candidates": candidates}], "candidate_index_invalid", 1)
    assert [(choice.index, choice.text) for choice in completion.choices] == [(1, "x"), (2, "y")]


def test_gemini_134_true_and_1_are_two_versions() -> None:
    parts = [opened("f"), call(args={"a": 1}, willContinue=True), call(args={"a": True})]
    completion = run(GenerateContentAssembler(), events(answer(*map(chunk, parts))))
    assert no_call_complete(completion)
