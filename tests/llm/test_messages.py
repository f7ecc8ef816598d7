"""Section 1e of the table of quirks (Anthropic Messages), row by row, and what is around it."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from sansio_sse import EventStreamParser
from sansio_sse.llm import (
    AssemblyError,
    Finished,
    IncompleteStream,
    InvalidPayload,
    InvalidToolCall,
    MessagesAssembler,
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

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sansio_sse import Event
    from sansio_sse.llm import Completion, Update

Payload = dict[str, Any]

PING: Payload = {"type": "ping"}
STOP: Payload = {"type": "message_stop"}
OVERLOADED: Payload = {
    "type": "error",
    "error": {"type": "overloaded_error", "message": "Overloaded"},
}


def start(**fields: Any) -> Payload:
    message: Payload = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 1},
    }
    return {"type": "message_start", "message": {**message, **fields}}


def begin(index: Any, **block: Any) -> Payload:
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: Any, kind: str, **fields: Any) -> Payload:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **fields}}


def stop(index: Any) -> Payload:
    return {"type": "content_block_stop", "index": index}


def ends(reason: str | None = "end_turn", *, usage: Any = None, **fields: Any) -> Payload:
    usage = {"output_tokens": 5} if usage is None else usage
    changes = {"stop_reason": reason, "stop_sequence": None, **fields}
    return {"type": "message_delta", "delta": changes, "usage": usage}


def text(index: Any, *pieces: str) -> list[Payload]:
    deltas = [delta(index, "text_delta", text=piece) for piece in pieces]
    return [begin(index, type="text", text=""), *deltas, stop(index)]


def thinking(index: Any, *pieces: str, signature: str = "sig") -> list[Payload]:
    return [
        begin(index, type="thinking", thinking="", signature=""),
        *[delta(index, "thinking_delta", thinking=piece) for piece in pieces],
        delta(index, "signature_delta", signature=signature),
        stop(index),
    ]


def call(index: Any, *pieces: str, id: str = "toolu_1", name: str = "get") -> list[Payload]:
    return [
        begin(index, type="tool_use", id=id, name=name, input={}),
        *[json_delta(index, piece) for piece in pieces],
        stop(index),
    ]


def json_delta(index: Any, piece: str) -> Payload:
    return delta(index, "input_json_delta", partial_json=piece)


def answer(*payloads: Payload, reason: str = "end_turn") -> list[Payload]:
    return [start(), *payloads, ends(reason), STOP]


def named(payloads: Iterable[Payload]) -> list[Event]:
    return [event(payload, payload["type"]) for payload in payloads]


def assert_told(updates: list[Update], completion: Completion) -> None:
    """The updates tell, piece by piece, exactly what the completion says."""
    texts: dict[tuple[int, int], str] = {}
    arguments: dict[tuple[int, int], str] = {}
    started: dict[tuple[int, int], ToolCallStarted] = {}
    reasons: dict[int, str] = {}
    usages: list[UsageUpdate] = []
    for update in updates:
        match update:
            case TextDelta() | ReasoningDelta():
                assert update.text
                key = (update.choice, update.part)
                texts[key] = texts.get(key, "") + update.text
            case ToolCallStarted():
                assert (update.choice, update.index) not in started
                started[update.choice, update.index] = update
            case ToolArgumentsDelta():
                assert update.text
                key = (update.choice, update.index)
                assert key in started
                arguments[key] = arguments.get(key, "") + update.text
            case UsageUpdate():
                usages.append(update)
            case Finished():
                reasons[update.choice] = update.reason
            case _:
                pytest.fail(f"unexpected {update}")
    for choice in completion.choices:
        assert reasons.pop(choice.index, None) == choice.finish_reason
        for place, part in enumerate(choice.parts):
            match part:
                case ToolCall():
                    key = (choice.index, part.index)
                    told = started.pop(key)
                    assert (told.id, told.name) == (part.id, part.name)
                    assert (told.part, told.kind) == (place, part.kind)
                    assert arguments.pop(key, "") == part.arguments
                case _:
                    assert texts.pop((choice.index, place), "") == part.text
    assert not texts
    assert not arguments
    assert not started
    assert not reasons
    assert (usages[-1].usage if usages else None) == completion.usage


def tolerate(payloads: Iterable[Payload]) -> Completion:
    assembler = MessagesAssembler()
    updates = feed(assembler, named(payloads))
    completion = assembler.finish()
    assert_told(updates, completion)
    return completion


def legal(payloads: list[Payload]) -> Completion:
    """What a legal stream says: the same strictly and tolerantly, with nothing to tolerate."""
    completion = tolerate(payloads)
    assert completion.findings == ()
    assert run(MessagesAssembler(strict=True), named(payloads)) == completion
    return completion


def refuse(payloads: Iterable[Payload], code: str, place: int | None) -> AssemblyError:
    """The error that ends a strict reading, at this event; None is the end of the stream."""
    error = failure(MessagesAssembler(strict=True), named(payloads))
    assert (error.code, error.event) == (code, place)
    return error


def quirk(payloads: list[Payload], code: str, place: int | None) -> Completion:
    """What a stream says tolerantly, with one code in its findings, which strictly is an error."""
    refuse(payloads, code, place)
    completion = tolerate(payloads)
    assert codes(completion) == [code]
    assert completion.findings[0].event == place
    return completion


def inputs(completion: Completion) -> list[tuple[str, Any]]:
    """Name and arguments of each call; all of them may be run."""
    return [(made.name, made.parse()) for made in completion.tool_calls]


def no_call_complete(completion: Completion) -> bool:
    return not completion.complete and not any(made.complete for made in completion.tool_calls)


CALLS = answer(
    *thinking(0, "hm"),
    *text(1, "Let me ", "see."),
    *call(2, "", '{"x"', ":1}"),
    *call(3, '{"y":', "2}", id="toolu_2", name="put"),
    reason="tool_use",
)


def test_messages_answer_is_read() -> None:
    completion = legal(CALLS)
    assert completion.complete
    assert (completion.id, completion.model) == ("msg_1", "claude")
    assert completion.reasoning == "hm"
    assert completion.text == "Let me see."
    assert inputs(completion) == [("get", {"x": 1}), ("put", {"y": 2})]
    assert completion.finish_reason == "tool_use"
    assert completion.choices[0].ending == "tool_calls"
    assert completion.message == {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "sig"},
            {"type": "text", "text": "Let me see."},
            {"type": "tool_use", "id": "toolu_1", "name": "get", "input": {"x": 1}},
            {"type": "tool_use", "id": "toolu_2", "name": "put", "input": {"y": 2}},
        ],
    }


def test_messages_updates_come_at_once() -> None:
    assembler = MessagesAssembler()
    told = [assembler.feed(item) for item in named(CALLS)]
    spelled = [
        [update for update in updates if not isinstance(update, UsageUpdate)] for updates in told
    ]
    assert [updates for updates in spelled if updates] == [
        [ReasoningDelta("hm", part=0)],
        [TextDelta("Let me ", part=1)],
        [TextDelta("see.", part=1)],
        [ToolCallStarted(0, "toolu_1", "get", part=2)],
        [ToolArgumentsDelta(0, '{"x"')],
        [ToolArgumentsDelta(0, ":1}")],
        [ToolCallStarted(1, "toolu_2", "put", part=3)],
        [ToolArgumentsDelta(1, '{"y":')],
        [ToolArgumentsDelta(1, "2}")],
        [Finished("tool_use")],
    ]


def test_messages_done_at_message_stop() -> None:
    assembler = MessagesAssembler()
    feed(assembler, named(CALLS[:-1]))
    assert not assembler.done
    feed(assembler, named([STOP]))
    assert assembler.done


# Row 96
@pytest.mark.parametrize("strict", [True, False], ids=["strict", "tolerant"])
def test_messages_96_events_without_name(strict: bool) -> None:
    completion = run(MessagesAssembler(strict=strict), map(event, CALLS))
    assert completion == legal(CALLS)


@pytest.mark.parametrize("strict", [True, False], ids=["strict", "tolerant"])
def test_messages_96_type_in_the_name_alone(strict: bool) -> None:
    items = [
        event({name: value for name, value in payload.items() if name != "type"}, payload["type"])
        for payload in CALLS
    ]
    assert run(MessagesAssembler(strict=strict), items) == legal(CALLS)


def test_messages_96_name_and_type_differ() -> None:
    items = named(CALLS)
    items[6] = event(CALLS[6], "content_block_stop")
    error = failure(MessagesAssembler(strict=True), items)
    assert (error.code, error.event) == ("event_type_mismatch", 7)
    assert isinstance(error, InvalidPayload)
    completion = run(MessagesAssembler(), items)
    assert codes(completion) == ["event_type_mismatch"]
    assert completion.choices == legal(CALLS).choices


# Row 97
@pytest.mark.parametrize("place", range(len(CALLS) + 1))
@pytest.mark.parametrize("name", ["ping", "message"], ids=["named", "unnamed"])
@pytest.mark.parametrize("strict", [True, False], ids=["strict", "tolerant"])
def test_messages_97_ping_anywhere(strict: bool, name: str, place: int) -> None:
    items = named(CALLS)
    items.insert(place, event(PING, name))
    assert run(MessagesAssembler(strict=strict), items) == legal(CALLS)


# Row 98
@pytest.mark.parametrize("name", ["error", "message"], ids=["named", "unnamed"])
@pytest.mark.parametrize("place", range(len(CALLS)))
@pytest.mark.parametrize("strict", [True, False], ids=["strict", "tolerant"])
def test_messages_98_error_in_the_stream(strict: bool, place: int, name: str) -> None:
    items = [*named(CALLS[:place]), event(OVERLOADED, name)]
    error = failure(MessagesAssembler(strict=strict), items)
    assert isinstance(error, ProviderError)
    assert (error.code, error.event) == ("provider_error", place + 1)
    assert (error.type, error.message) == ("overloaded_error", "Overloaded")
    assert (error.status, error.retryable) == (529, True)
    assert error.raw == OVERLOADED["error"]


def test_messages_98_error_keeps_what_arrived() -> None:
    error = failure(MessagesAssembler(), named([*CALLS[:-2], OVERLOADED]))
    assert error.partial is not None
    assert error.partial.text == "Let me see."
    assert error.partial.reasoning == "hm"
    assert [made.arguments for made in error.partial.tool_calls] == ['{"x":1}', '{"y":2}']
    for made in error.partial.tool_calls:
        with pytest.raises(InvalidToolCall) as raised:
            made.parse()
        assert raised.value.code == "provider_error"


@pytest.mark.parametrize(
    ("kind", "status", "retryable"),
    [
        ("invalid_request_error", 400, False),
        ("authentication_error", 401, False),
        ("billing_error", 402, False),
        ("permission_error", 403, False),
        ("not_found_error", 404, False),
        ("request_too_large", 413, False),
        ("rate_limit_error", 429, True),
        ("api_error", 500, True),
        ("timeout_error", 504, True),
        ("overloaded_error", 529, True),
        ("future_error", None, False),
    ],
)
def test_messages_98_error_types(kind: str, status: int | None, retryable: bool) -> None:
    payload = {"type": "error", "error": {"type": kind, "message": "No"}, "request_id": "req_1"}
    error = failure(MessagesAssembler(), named([start(), payload]))
    assert isinstance(error, ProviderError)
    assert (error.type, error.status, error.retryable) == (kind, status, retryable)


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        ({"error": {"type": "api_error", "message": "No"}}, "No"),
        ({"type": "error", "error": "No"}, "No"),
        ({"type": "error", "message": "No"}, "No"),
        ({"type": "error", "error": None, "message": "No"}, "No"),
        ("No", "No"),
    ],
    ids=["untyped", "text", "flat", "null", "plain"],
)
def test_messages_98_error_in_other_shapes(payload: Payload | str, message: str) -> None:
    error = failure(MessagesAssembler(), [*named(CALLS[:4]), event(payload, "error")])
    assert isinstance(error, ProviderError)
    assert (error.code, error.message) == ("provider_error", message)


# Rows 99 and 115
def test_messages_99_end_without_message_stop() -> None:
    completion = quirk(CALLS[:-1], "missing_message_stop", None)
    assert completion.complete
    assert completion.choices == legal(CALLS).choices
    assert isinstance(refuse(CALLS[:-1], "missing_message_stop", None), IncompleteStream)


def test_messages_99_end_cut_within_the_last_frame() -> None:
    data = "".join(f"event: {made.type}\ndata: {made.data}\n\n" for made in named(CALLS))
    parser = EventStreamParser()
    items = [*parser.feed(data.encode()[:-2]), *parser.finish()]
    assert parser.pending
    assembler = MessagesAssembler()
    feed(assembler, items)
    completion = assembler.finish(truncated=parser.pending)
    assert completion.complete
    assert codes(completion) == ["truncated", "missing_message_stop"]
    strict = MessagesAssembler(strict=True)
    feed(strict, items)
    with pytest.raises(IncompleteStream) as raised:
        strict.finish(truncated=parser.pending)
    assert raised.value.code == "truncated"


@pytest.mark.parametrize("strict", [True, False], ids=["strict", "tolerant"])
@pytest.mark.parametrize(
    "payloads",
    [
        CALLS[:-2],
        [*CALLS[:-2], STOP],
        [*CALLS[:-2], ends(None), STOP],
        [*CALLS[:-2], ends(""), STOP],
        [start(), STOP],
        [start(stop_reason="end_turn"), *CALLS[1:-2]],
    ],
    ids=["cut", "stop", "null", "empty", "nothing", "cut-early"],
)
def test_messages_99_end_without_stop_reason(payloads: list[Payload], strict: bool) -> None:
    error = failure(MessagesAssembler(strict=strict), named(payloads))
    assert isinstance(error, IncompleteStream)
    assert (error.code, error.event) == ("missing_finish_reason", None)
    assert error.partial is not None
    assert error.partial.finish_reason is None


def test_messages_done_behind_the_end() -> None:
    completion = run(MessagesAssembler(), [*named(CALLS), DONE])
    assert completion.choices == legal(CALLS).choices
    assert completion.complete


def test_messages_done_in_place_of_message_stop() -> None:
    assembler = MessagesAssembler()
    feed(assembler, [*named(CALLS[:-1]), DONE])
    assert assembler.done
    completion = assembler.finish()
    assert codes(completion) == ["missing_message_stop"]
    assert completion.complete


@pytest.mark.parametrize(
    "payload",
    [*text(4, "more"), *call(4, "{}"), start(), ends("max_tokens"), STOP, {"type": "future"}],
    ids=lambda payload: payload["type"],
)
def test_messages_event_behind_the_end(payload: Payload) -> None:
    payloads = [*CALLS, payload]
    completion = quirk(payloads, "event_after_terminal", len(payloads))
    assert completion.choices == legal(CALLS).choices


@pytest.mark.parametrize(
    "payload",
    [text(4)[0], call(4, id="toolu_9")[0], delta(1, "text_delta", text="x")],
    ids=["text", "call", "delta"],
)
def test_messages_content_behind_the_stop_reason(payload: Payload) -> None:
    payloads = [*CALLS[:-1], payload, STOP]
    error = failure(MessagesAssembler(strict=True), named(payloads))
    assert error.event == len(CALLS)


# Row 100
@pytest.mark.parametrize("pieces", [[], [""], ["", ""], ["", "{}"], ["{", "}"], [" "]], ids=repr)
@pytest.mark.parametrize("last", [True, False], ids=["last", "first"])
def test_messages_100_input_of_no_text_is_empty_object(pieces: list[str], last: bool) -> None:
    blocks = call(0, *pieces) if last else [*call(0, *pieces), *text(1, "ok")]
    completion = legal(answer(*blocks, reason="tool_use"))
    assert inputs(completion) == [("get", {})]
    assert completion.tool_calls[0].arguments == "".join(pieces)
    assert completion.message["content"][0]["input"] == {}


# Rows 101 and 102
BAD_INPUTS = {
    "cut-string": ('{"a": "x', "arguments_invalid_json"),
    "cut-number": ('{"a": 1', "arguments_invalid_json"),
    "cut-open": ("{", "arguments_invalid_json"),
    "cut-front": ('": "uptime"}', "arguments_invalid_json"),
    "twice": ('{"a":1}{"a":1}', "arguments_invalid_json"),
    "trailing": ('{"a":1} x', "arguments_invalid_json"),
    "nan": ('{"a":NaN}', "arguments_invalid_json"),
    "infinity": ('{"a":-Infinity}', "arguments_invalid_json"),
    "large": ('{"a":1e999}', "arguments_invalid_json"),
    "deep": ('{"a":' + "[" * 100_000, "arguments_invalid_json"),
    "keys": ('{"a":1,"a":2}', "arguments_duplicate_key"),
    "keys-within": ('{"a":[{"b":1,"b":1}]}', "arguments_duplicate_key"),
    "null": ("null", "arguments_not_object"),
    "array": ('[{"a":1}]', "arguments_not_object"),
    "string": ('"{}"', "arguments_not_object"),
    "number": ("1", "arguments_not_object"),
    "true": ("true", "arguments_not_object"),
}


@pytest.mark.parametrize("case", BAD_INPUTS)
def test_messages_101_input_that_is_invalid(case: str) -> None:
    pieces, code = BAD_INPUTS[case]
    payloads = answer(
        *call(0, *pieces[:2], pieces[2:]),
        *text(1, "ok"),
        *call(2, '{"y":2}', id="toolu_2", name="put"),
        reason="tool_use",
    )
    completion = tolerate(payloads)
    assert not completion.complete
    bad, good = completion.tool_calls
    assert not bad.complete
    assert bad.arguments == pieces
    assert bad.problem is not None
    assert bad.problem.code == code
    with pytest.raises(InvalidToolCall) as raised:
        bad.parse()
    assert raised.value.code == code
    assert good.parse() == {"y": 2}
    assert completion.text == "ok"
    assert [block.get("input") for block in completion.message["content"]] == [
        {"INVALID_JSON": pieces},
        None,
        {"y": 2},
    ]
    error = refuse(payloads, code, None)
    assert isinstance(error, InvalidToolCall)
    assert error.call is not None
    assert error.call.arguments == pieces


@pytest.mark.parametrize(
    "reason", ["max_tokens", "model_context_window_exceeded", "refusal", "pause_turn", "future"]
)
@pytest.mark.parametrize("stopped", [True, False], ids=["stopped", "open"])
@pytest.mark.parametrize(
    ("pieces", "whole"),
    [
        ([], False),
        ([""], False),
        (['{"a": "x'], False),
        (['{"a": 10'], False),
        (['{"a": 10}'], True),
    ],
    ids=["none", "empty", "string", "number", "whole"],
)
def test_messages_101_call_cut_by_the_stop_reason(
    pieces: list[str], whole: bool, stopped: bool, reason: str
) -> None:
    blocks = call(0, *pieces) if stopped else call(0, *pieces)[:-1]
    completion = tolerate(answer(*blocks, reason=reason))
    assert not completion.complete
    (made,) = completion.tool_calls
    assert made.complete is whole
    assert made.problem is None or made.problem.code == "truncated_call"
    if not whole and stopped:
        refuse(answer(*blocks, reason=reason), "truncated_call", None)


def test_messages_101_call_before_the_cut_one_is_whole() -> None:
    blocks = [*call(0), *call(1, '{"a": "x', id="toolu_2", name="put")]
    first, second = tolerate(answer(*blocks, reason="max_tokens")).tool_calls
    assert first.parse() == {}
    assert not second.complete


def test_messages_101_call_before_the_cut_that_was_not_stopped_is_cut() -> None:
    blocks = [*call(0)[:-1], *text(1, "a")]
    (made,) = tolerate(answer(*blocks, reason="max_tokens")).tool_calls
    assert not made.complete


# Row 103
@pytest.mark.parametrize("pieces", [[], [""]], ids=["none", "empty"])
@pytest.mark.parametrize("stopped", [True, False], ids=["stopped", "open"])
def test_messages_103_input_given_at_the_start(stopped: bool, pieces: list[str]) -> None:
    given = {"a": [1, {"b": "größe"}]}
    blocks = [
        begin(0, type="tool_use", id="toolu_1", name="get", input=given),
        *[json_delta(0, piece) for piece in pieces],
        stop(0),
    ]
    payloads = answer(*(blocks if stopped else blocks[:-1]), reason="tool_use")
    completion = run(MessagesAssembler(), named(payloads))
    assert codes(completion) == ([] if stopped else ["missing_block_stop"])
    assert completion.complete
    assert inputs(completion) == [("get", given)]
    assert completion.tool_calls[0].arguments == '{"a":[1,{"b":"größe"}]}'
    assert completion.message["content"][0]["input"] == given


@pytest.mark.parametrize("stopped", [True, False], ids=["stopped", "open"])
@pytest.mark.parametrize(
    ("pieces", "same"),
    [
        (['{ "a"', ": 1 }"], True),
        (['{"a":2}'], False),
        (['{"a":1,"b":2}'], False),
        (['{"b":2}'], False),
        (["{}"], False),
        (['{"a"'], False),
        ([': 1, "a":1}'], False),
    ],
    ids=["same", "other-value", "more", "other", "empty", "cut", "rest"],
)
def test_messages_103_input_given_at_the_start_and_in_deltas(
    pieces: list[str], same: bool, stopped: bool
) -> None:
    blocks = [
        begin(0, type="tool_use", id="toolu_1", name="get", input={"a": 1}),
        *[json_delta(0, piece) for piece in pieces],
        stop(0),
    ]
    payloads = answer(*(blocks if stopped else blocks[:-1]), reason="tool_use")
    completion = run(MessagesAssembler(), named(payloads))
    assert codes(completion)[0] == "input_conflict"
    (made,) = completion.tool_calls
    assert made.complete is same
    assert completion.complete is same
    assert made.problem is None or made.problem.code == "input_conflict"
    refuse(payloads, "input_conflict", 3 + len(pieces))


@pytest.mark.parametrize("stopped", [True, False], ids=["stopped", "open"])
def test_messages_103_input_given_at_the_start_is_told(stopped: bool) -> None:
    blocks = [begin(0, type="tool_use", id="toolu_1", name="get", input={"a": 1}), stop(0)]
    completion = tolerate(answer(*(blocks if stopped else blocks[:-1]), reason="tool_use"))
    assert inputs(completion) == [("get", {"a": 1})]


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ('{"a":NaN}', "arguments_invalid_json"),
        ('{"a":Infinity}', "arguments_invalid_json"),
        ('{"a":1,"a":2}', "arguments_duplicate_key"),
        ('{"a":{"b":1,"b":1}}', "arguments_duplicate_key"),
    ],
)
def test_messages_103_input_given_at_the_start_is_invalid(given: str, code: str) -> None:
    payload = begin(0, type="tool_use", id="toolu_1", name="get", input="INPUT")
    items = named(answer(payload, stop(0), reason="tool_use"))
    items[1] = event(json.dumps(payload).replace('"INPUT"', given), "content_block_start")
    completion = run(MessagesAssembler(), items)
    assert no_call_complete(completion)
    (made,) = completion.tool_calls
    assert made.problem is not None
    assert made.problem.code == code
    assert failure(MessagesAssembler(strict=True), items).code == code


@pytest.mark.parametrize("given", ['{"a":1}', [1], 5, True], ids=str)
def test_messages_103_input_given_at_the_start_is_no_object(given: Any) -> None:
    blocks = [begin(0, type="tool_use", id="toolu_1", name="get", input=given), stop(0)]
    completion = quirk(answer(*blocks, reason="tool_use"), "field_invalid", 2)
    assert no_call_complete(completion)


@pytest.mark.parametrize(
    "block",
    [{}, {"input": None}, {"input": {}}],
    ids=["absent", "null", "empty"],
)
def test_messages_103_input_at_the_start_is_nothing(block: Payload) -> None:
    begun = begin(0, type="tool_use", id="toolu_1", name="get", **block)
    completion = legal(answer(begun, json_delta(0, '{"a":1}'), stop(0), reason="tool_use"))
    assert inputs(completion) == [("get", {"a": 1})]
    assert completion.message["content"][0]["input"] == {"a": 1}


@pytest.mark.parametrize("depth", [50, 200, 450, 600, 900, 990, 5_000])
@pytest.mark.parametrize("kind", ["tool_use", "server_tool_use"])
def test_messages_103_input_at_the_start_is_nested_deep(kind: str, depth: int) -> None:
    payload = begin(0, type=kind, id="toolu_1", name="get", input="INPUT")
    items = named(answer(payload, stop(0), reason="tool_use"))
    deep = '{"a":' + "[" * depth + "]" * depth + "}"
    items[1] = event(json.dumps(payload).replace('"INPUT"', deep), "content_block_start")
    try:
        completion = run(MessagesAssembler(), items)
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
def test_messages_103_input_at_the_start_is_read_by_a_laxer_parser(loads: Any) -> None:
    payload = begin(0, type="tool_use", id="toolu_1", name="get", input="INPUT")
    given = '{"a":"x\ty"}' if loads.keywords == {"strict": False} else '{"a":' + "1" * 5_000 + "}"
    items = named(answer(payload, stop(0), reason="tool_use"))
    items[1] = event(json.dumps(payload).replace('"INPUT"', given), "content_block_start")
    completion = run(MessagesAssembler(loads=loads), items)
    assert len(completion.tool_calls) == 1


# Row 104
@pytest.mark.parametrize(
    ("first", "second", "raw"),
    [
        (
            {"input_tokens": 10, "output_tokens": 1},
            {"output_tokens": 15},
            {"input_tokens": 10, "output_tokens": 15},
        ),
        (
            {"input_tokens": 10, "output_tokens": 1},
            {"input_tokens": 12, "output_tokens": 15},
            {"input_tokens": 12, "output_tokens": 15},
        ),
        (
            {"input_tokens": 10, "output_tokens": 1},
            {"input_tokens": None, "output_tokens": 15},
            {"input_tokens": 10, "output_tokens": 15},
        ),
        (
            {"input_tokens": 10, "cache_read_input_tokens": 7, "output_tokens": 1},
            {"cache_read_input_tokens": 8, "output_tokens": 15},
            {"input_tokens": 10, "cache_read_input_tokens": 8, "output_tokens": 15},
        ),
        (
            {"input_tokens": 10, "output_tokens": 1},
            {"output_tokens": 0},
            {"input_tokens": 10, "output_tokens": 0},
        ),
        (
            {"input_tokens": 10, "output_tokens": 1, "service_tier": "standard"},
            {"output_tokens": 15, "server_tool_use": {"web_search_requests": 1}},
            {
                "input_tokens": 10,
                "output_tokens": 15,
                "service_tier": "standard",
                "server_tool_use": {"web_search_requests": 1},
            },
        ),
    ],
)
def test_messages_104_usage_is_cumulative_by_field(
    first: Payload, second: Payload, raw: Payload
) -> None:
    payloads = [start(usage=first), *text(0, "a"), ends(usage=second), STOP]
    completion = legal(payloads)
    assert completion.usage is not None
    assert completion.usage.raw == raw
    assert completion.usage.output == raw["output_tokens"]


def test_messages_104_usage_in_several_message_deltas_is_not_added() -> None:
    again = {"type": "message_delta", "delta": {}, "usage": {"output_tokens": 3}}
    completion = legal([start(), *text(0, "a"), again, ends(usage={"output_tokens": 9}), STOP])
    assert completion.usage is not None
    assert (completion.usage.input, completion.usage.output) == (10, 9)


# Row 105
@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        (None, None, None),
        ({}, {}, None),
        (None, {"output_tokens": 5}, (0, 5)),
        ({"input_tokens": 0, "output_tokens": 0}, {"input_tokens": 3, "output_tokens": 5}, (3, 5)),
        ({"input_tokens": 3, "output_tokens": 1}, None, (3, 1)),
        ({"input_tokens": 3, "output_tokens": 1}, {}, (3, 1)),
        ({"input_tokens": None, "output_tokens": None}, {"output_tokens": None}, None),
    ],
    ids=["null", "empty", "first-null", "zeros", "second-null", "second-empty", "null-fields"],
)
def test_messages_105_usage_is_missing(
    first: Any, second: Any, found: tuple[int, int] | None
) -> None:
    ended = ends()
    ended["usage"] = second
    completion = legal([start(usage=first), *text(0, "a"), ended, STOP])
    assert completion.complete
    usage = completion.usage
    assert (usage and (usage.input, usage.output)) == found


def test_messages_105_usage_is_absent() -> None:
    began, ended = start(), ends()
    del began["message"]["usage"], ended["usage"]
    completion = legal([began, *text(0, "a"), ended, STOP])
    assert completion.usage is None
    assert completion.complete


@pytest.mark.parametrize("usage", ["5", [], 5, {"output_tokens": "5"}, {"output_tokens": -1}])
def test_messages_105_usage_is_of_another_type(usage: Any) -> None:
    ended = ends()
    ended["usage"] = usage
    completion = tolerate([start(usage=None), *text(0, "a"), ended, STOP])
    assert completion.text == "a"
    assert completion.usage is None or completion.usage.output == 0


# Row 106
def test_messages_106_input_is_the_sum_with_the_cache() -> None:
    first = {
        "input_tokens": 10,
        "cache_creation_input_tokens": 200,
        "cache_read_input_tokens": 3000,
        "output_tokens": 1,
    }
    completion = legal([start(usage=first), *text(0, "a"), ends(), STOP])
    usage = completion.usage
    assert usage is not None
    assert (usage.input, usage.output, usage.total) == (3210, 5, 3215)
    assert (usage.cached, usage.reasoning) == (3000, 0)
    assert usage.raw == {**first, "output_tokens": 5}


# Row 107
@pytest.mark.parametrize("indexes", [(1, 2), (0, 2), (5, 9), (1, 0)], ids=str)
def test_messages_107_index_with_gaps(indexes: tuple[int, int]) -> None:
    first, second = indexes
    payloads = answer(*text(first, "a", "b"), *call(second, '{"x"', ":1}"), reason="tool_use")
    completion = quirk(payloads, "block_index_not_contiguous", 2 if first else 6)
    assert completion.complete
    assert completion.text == "ab"
    assert inputs(completion) == [("get", {"x": 1})]
    assert [block["type"] for block in completion.message["content"]] == ["text", "tool_use"]


def test_messages_107_index_negative() -> None:
    completion = quirk(answer(*text(-1, "a", "b")), "block_index_not_contiguous", 2)
    assert completion.text == "ab"
    assert completion.complete


def test_messages_107_index_negative_of_every_block() -> None:
    payloads = answer(*text(-1, "a"), *call(-1, '{"x":1}'), reason="tool_use")
    completion = tolerate(payloads)
    assert codes(completion) == ["block_index_not_contiguous", "block_index_reused"]
    assert completion.text == "a"
    assert inputs(completion) == [("get", {"x": 1})]


def test_messages_107_index_of_two_blocks() -> None:
    payloads = answer(*text(0, "a"), *call(0, '{"x":1}'), *text(1, "b"), reason="tool_use")
    refuse(payloads, "block_index_reused", 5)
    completion = tolerate(payloads)
    assert codes(completion)[0] == "block_index_reused"
    assert completion.choices[0].parts[0] == TextPart("a")
    assert inputs(completion) == [("get", {"x": 1})]
    assert completion.text == "ab"


def test_messages_107_index_of_two_open_calls_never_mixes_them() -> None:
    begun = [call(0)[0], call(0, id="toolu_2", name="put")[0]]
    deltas = [json_delta(0, '{"x":1}'), json_delta(0, '{"y":2}')]
    completion = tolerate(answer(*begun, *deltas, stop(0), reason="tool_use"))
    assert no_call_complete(completion)


@pytest.mark.parametrize("index", [None, "x", 0.5, True, [], {}, ""], ids=repr)
def test_messages_107_index_that_is_none(index: Any) -> None:
    payloads = answer(*text(index, "a", "b"), *call(index, '{"x"', ":1}"), reason="tool_use")
    refuse(payloads, "block_index_invalid", 2)
    completion = tolerate(payloads)
    assert "block_index_invalid" in codes(completion)
    assert completion.text == "ab"
    assert inputs(completion) == [("get", {"x": 1})]
    assert [block["type"] for block in completion.message["content"]] == ["text", "tool_use"]


def test_messages_107_index_absent() -> None:
    payloads = [dict(payload) for payload in CALLS]
    for payload in payloads:
        payload.pop("index", None)
    completion = tolerate(payloads)
    assert completion.choices == legal(CALLS).choices
    assert completion.complete


def test_messages_107_index_absent_from_deltas_behind_a_reused_one() -> None:
    last = call(0, '{"z":3}', id="toolu_3", name="last")
    payloads = [*call(0, "{}"), *call(1, "{}", id="toolu_2"), *last]
    del payloads[-2]["index"], payloads[-1]["index"]
    completion = tolerate(answer(*payloads, reason="tool_use"))
    made = completion.tool_calls[-1]
    assert made.name == "last"
    assert not made.complete or made.parse() == {"z": 3}


def test_messages_107_index_as_text() -> None:
    payloads = answer(*text("0", "a"), *call("1", '{"x":1}'), reason="tool_use")
    refuse(payloads, "block_index_invalid", 2)
    completion = tolerate(payloads)
    assert completion.text == "a"
    assert inputs(completion) == [("get", {"x": 1})]


def test_messages_107_index_as_text_never_mixes_interleaved_calls() -> None:
    one, two = call("0", '{"x":1}'), call("1", '{"y":2}', id="toolu_2", name="put")
    completion = tolerate(
        answer(*[each for pair in zip(one, two, strict=True) for each in pair], reason="tool_use")
    )
    for made, wanted in zip(completion.tool_calls, ({"x": 1}, {"y": 2}), strict=True):
        assert not made.complete or made.parse() == wanted


def test_messages_107_blocks_interleaved() -> None:
    one, two = call(0, '{"x":', "1}"), call(1, '{"y":', "2}", id="toolu_2", name="put")
    completion = legal(
        answer(*[each for pair in zip(one, two, strict=True) for each in pair], reason="tool_use")
    )
    assert inputs(completion) == [("get", {"x": 1}), ("put", {"y": 2})]


@pytest.mark.parametrize(
    ("pieces", "part"),
    [
        ([delta(0, "text_delta", text="a"), delta(0, "text_delta", text="b")], TextPart("ab")),
        (
            [delta(0, "thinking_delta", thinking="a"), delta(0, "thinking_delta", thinking="b")],
            ReasoningPart("ab"),
        ),
    ],
    ids=["text", "thinking"],
)
def test_messages_107_block_not_started(pieces: list[Payload], part: object) -> None:
    completion = quirk([start(), *pieces, stop(0), ends(), STOP], "block_not_started", 2)
    assert completion.choices[0].parts == (part,)
    assert completion.complete


@pytest.mark.parametrize("index", [0, 1, None], ids=str)
def test_messages_107_call_not_started(index: Any) -> None:
    payloads = answer(json_delta(index, '{"x":1}'), stop(index), reason="tool_use")
    completion = tolerate(payloads)
    assert no_call_complete(completion)
    failure(MessagesAssembler(strict=True), named(payloads))


def test_messages_107_delta_for_a_block_that_was_not_started_is_missed() -> None:
    payloads = answer(call(0)[0], json_delta(1, '{"x":1}'), stop(0), reason="tool_use")
    refuse(payloads, "block_not_started", 3)
    assert no_call_complete(tolerate(payloads))


def test_messages_107_stop_of_a_block_that_was_not_started() -> None:
    completion = quirk(answer(*text(0, "a"), stop(1)), "block_not_started", 5)
    assert completion.text == "a"
    assert completion.complete


def test_messages_107_signature_of_a_block_that_was_not_started() -> None:
    payloads = answer(delta(0, "signature_delta", signature="sig"), stop(0), *text(1, "a"))
    refuse(payloads, "block_not_started", 2)
    completion = tolerate(payloads)
    assert completion.text == "a"


def test_messages_unknown_delta_of_a_block_that_was_not_started() -> None:
    payloads = answer(delta(0, "future_delta", future="x"), *text(0, "a"))
    completion = tolerate(payloads)
    assert completion.message["content"] == [{"type": "text", "text": "a"}]


def test_messages_message_start_missing() -> None:
    completion = quirk(CALLS[1:], "message_start_missing", 1)
    assert completion.complete
    assert completion.choices == legal(CALLS).choices
    assert completion.id is None


def test_messages_message_start_twice() -> None:
    payloads = [start(), start(id="msg_2"), *CALLS[1:]]
    error = failure(MessagesAssembler(strict=True), named(payloads))
    assert error.event == 2


@pytest.mark.parametrize("block", [{}, {"type": None}, {"type": ""}], ids=["empty", "null", "text"])
def test_messages_block_without_type_is_not_sent_back(block: Payload) -> None:
    payloads = answer(begin(0, **block), stop(0), *text(1, "a"))
    completion = tolerate(payloads)
    assert completion.message["content"] == [{"type": "text", "text": "a"}]


@pytest.mark.parametrize("content", [None, {}], ids=["null", "empty"])
def test_messages_call_whose_start_says_nothing_is_never_complete(content: Any) -> None:
    begun = {"type": "content_block_start", "index": 0, "content_block": content}
    completion = tolerate(answer(begun, json_delta(0, '{"x":1}'), stop(0), reason="tool_use"))
    assert no_call_complete(completion)


def test_messages_block_not_stopped() -> None:
    blocks = [*call(0, '{"x":1}')[:-1], *text(1, "a")[:-1]]
    completion = quirk(answer(*blocks, reason="tool_use"), "missing_block_stop", None)
    assert completion.complete
    assert inputs(completion) == [("get", {"x": 1})]
    assert completion.text == "a"


# Row 108
@pytest.mark.parametrize(
    ("block", "wrong"),
    [
        ({"type": "text", "text": "a"}, delta(0, "thinking_delta", thinking="x")),
        ({"type": "text", "text": "a"}, delta(0, "signature_delta", signature="x")),
        ({"type": "text", "text": "a"}, delta(0, "compaction_delta", content="x")),
        ({"type": "thinking", "thinking": "a", "signature": "s"}, delta(0, "text_delta", text="x")),
        (
            {"type": "thinking", "thinking": "a", "signature": "s"},
            delta(0, "citations_delta", citation={}),
        ),
        ({"type": "redacted_thinking", "data": "a"}, delta(0, "thinking_delta", thinking="x")),
        (
            {"type": "tool_use", "id": "1", "name": "f", "input": {"a": 1}},
            delta(0, "text_delta", text="x"),
        ),
        (
            {"type": "server_tool_use", "id": "1", "name": "f", "input": {"a": 1}},
            delta(0, "text_delta", text="x"),
        ),
        (
            {"type": "web_search_tool_result", "tool_use_id": "1", "content": []},
            delta(0, "text_delta", text="x"),
        ),
    ],
    ids=lambda value: value.get("delta", value)["type"],
)
def test_messages_108_delta_of_another_type(block: Payload, wrong: Payload) -> None:
    calls = block["type"] == "tool_use"
    payloads = answer(begin(0, **block), wrong, stop(0), reason="tool_use" if calls else "end_turn")
    completion = quirk(payloads, "delta_type_mismatch", 3)
    assert completion.complete
    assert completion.message["content"] == [block]


@pytest.mark.parametrize(
    "block",
    [
        {"type": "text", "text": ""},
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "web_search_tool_result", "tool_use_id": "1", "content": []},
        {"type": "future"},
    ],
    ids=lambda block: block["type"],
)
def test_messages_108_arguments_that_reach_another_block_are_missed(block: Payload) -> None:
    # A proxy that counts wrongly: the call would be run without what the model said.
    payloads = answer(
        begin(0, **block), stop(0), call(1)[0], json_delta(0, '{"x":1}'), stop(1), reason="tool_use"
    )
    assert no_call_complete(tolerate(payloads))


def test_messages_108_arguments_of_wrong_type_of_block_while_open_are_missed() -> None:
    payloads = answer(
        begin(0, type="text", text=""),
        call(1)[0],
        json_delta(0, '{"x":1}'),
        stop(0),
        stop(1),
        reason="tool_use",
    )
    refuse(payloads, "delta_type_mismatch", 4)
    assert no_call_complete(tolerate(payloads))


@pytest.mark.parametrize(
    ("blocks", "late"),
    [
        (text(0, "a"), delta(0, "text_delta", text="x")),
        (thinking(0, "a"), delta(0, "thinking_delta", thinking="x")),
        (thinking(0, "a"), delta(0, "signature_delta", signature="x")),
    ],
    ids=["text", "thinking", "signature"],
)
def test_messages_108_delta_after_stop(blocks: list[Payload], late: Payload) -> None:
    completion = quirk(answer(*blocks, late), "delta_after_stop", len(blocks) + 2)
    assert completion.complete
    assert completion.choices == legal(answer(*blocks)).choices


@pytest.mark.parametrize("pieces", [[], [""], ['{"a":1}']], ids=["none", "empty", "whole"])
def test_messages_108_arguments_after_stop_are_missed(pieces: list[str]) -> None:
    payloads = answer(*call(0, *pieces), json_delta(0, '{"x":1}'), reason="tool_use")
    refuse(payloads, "delta_after_stop", 4 + len(pieces))
    assert no_call_complete(tolerate(payloads))


def test_messages_108_empty_arguments_after_stop_are_nothing() -> None:
    payloads = answer(*call(0, '{"a":1}'), json_delta(0, ""), reason="tool_use")
    completion = quirk(payloads, "delta_after_stop", 5)
    assert inputs(completion) == [("get", {"a": 1})]


def test_messages_108_stop_twice() -> None:
    completion = quirk(answer(*call(0, "{}"), stop(0), reason="tool_use"), "delta_after_stop", 5)
    assert inputs(completion) == [("get", {})]


@pytest.mark.parametrize("value", [5, ["a"], {"a": 1}, True], ids=str)
def test_messages_108_delta_with_a_value_of_another_type(value: Any) -> None:
    payloads = answer(call(0)[0], json_delta(0, value), stop(0), reason="tool_use")
    completion = quirk(payloads, "field_invalid", 3)
    assert no_call_complete(completion)


@pytest.mark.parametrize("field", [{}, {"partial_json": None}], ids=["absent", "null"])
def test_messages_108_delta_with_no_value(field: Payload) -> None:
    payloads = answer(
        call(0)[0],
        delta(0, "input_json_delta", **field),
        json_delta(0, "{}"),
        stop(0),
        reason="tool_use",
    )
    assert inputs(legal(payloads)) == [("get", {})]


@pytest.mark.parametrize("value", ["x", [1], 5], ids=str)
@pytest.mark.parametrize("name", ["delta", "content_block", "message"])
def test_messages_member_that_is_no_object(name: str, value: Any) -> None:
    whole = answer(*call(0, "{}"), reason="tool_use")
    payloads = [{**payload, name: value} if name in payload else payload for payload in whole]
    failure(MessagesAssembler(strict=True), named(payloads))
    try:
        completion = tolerate(payloads)
    except IncompleteStream as error:
        assert error.partial is not None
        assert no_call_complete(error.partial)
    else:
        assert no_call_complete(completion)


# Row 109
def test_messages_109_signature_is_kept() -> None:
    completion = legal(answer(*thinking(0, "a", "b"), *text(1, "ok")))
    assert completion.reasoning == "ab"
    assert completion.message["content"][0] == {
        "type": "thinking",
        "thinking": "ab",
        "signature": "sig",
    }


def test_messages_109_signature_overwrites() -> None:
    blocks = thinking(0, "a", signature="first")
    blocks.insert(-1, delta(0, "signature_delta", signature="second"))
    completion = legal(answer(*blocks, *text(1, "ok")))
    assert completion.message["content"][0]["signature"] == "second"


@pytest.mark.parametrize("pieces", [[], [""]], ids=["none", "empty"])
def test_messages_109_thinking_omitted_keeps_signature(pieces: list[str]) -> None:
    completion = legal(answer(*thinking(0, *pieces), *text(1, "ok")))
    assert completion.reasoning == ""
    assert completion.message["content"][0] == {
        "type": "thinking",
        "thinking": "",
        "signature": "sig",
    }


@pytest.mark.parametrize("whole", ["", "hm"], ids=["omitted", "shown"])
def test_messages_109_signature_whole_in_the_start(whole: str) -> None:
    block = {"type": "thinking", "thinking": whole, "signature": "sig"}
    completion = legal(answer(begin(0, **block), stop(0), *text(1, "ok")))
    assert completion.reasoning == whole
    assert completion.message["content"][0] == block


def test_messages_109_thinking_unsigned_is_kept() -> None:
    blocks = [
        begin(0, type="thinking", thinking="", signature=""),
        delta(0, "thinking_delta", thinking="hm", estimated_tokens=4),
        stop(0),
    ]
    completion = legal(answer(*blocks, *text(1, "ok")))
    assert completion.reasoning == "hm"
    assert completion.message["content"][0]["thinking"] == "hm"


# Row 110
def test_messages_110_redacted_thinking_is_kept_in_order() -> None:
    redacted = {"type": "redacted_thinking", "data": "ENCRYPTED=="}
    completion = legal(
        answer(*thinking(0, "a"), begin(1, **redacted), stop(1), *thinking(2, "b"), *text(3, "ok"))
    )
    assert completion.reasoning == "ab"
    assert completion.message["content"][1] == redacted
    assert [block["type"] for block in completion.message["content"]] == [
        "thinking",
        "redacted_thinking",
        "thinking",
        "text",
    ]


# Row 111
def test_messages_111_interleaved_thinking_keeps_its_place() -> None:
    completion = legal(
        answer(
            *thinking(0, "t1", signature="s1"),
            *text(1, "a"),
            *call(2, '{"x":1}'),
            *thinking(3, "t2", signature="s2"),
            *call(4, '{"y":2}', id="toolu_2", name="put"),
            reason="tool_use",
        )
    )
    parts = completion.choices[0].parts
    assert [type(part) for part in parts] == [
        ReasoningPart,
        TextPart,
        ToolCall,
        ReasoningPart,
        ToolCall,
    ]
    assert [made.index for made in completion.tool_calls] == [0, 1]
    assert completion.message["content"] == [
        {"type": "thinking", "thinking": "t1", "signature": "s1"},
        {"type": "text", "text": "a"},
        {"type": "tool_use", "id": "toolu_1", "name": "get", "input": {"x": 1}},
        {"type": "thinking", "thinking": "t2", "signature": "s2"},
        {"type": "tool_use", "id": "toolu_2", "name": "put", "input": {"y": 2}},
    ]


# Row 112
CITATION = {"type": "char_location", "cited_text": "x", "document_index": 0}


@pytest.mark.parametrize("before", [{}, {"citations": None}, {"citations": []}], ids=str)
def test_messages_112_citations_are_appended(before: Payload) -> None:
    second = {**CITATION, "document_index": 1}
    completion = legal(
        answer(
            begin(0, type="text", text="", **before),
            delta(0, "citations_delta", citation=CITATION),
            delta(0, "text_delta", text="a"),
            delta(0, "citations_delta", citation=second),
            delta(0, "citations_delta", citation=second),
            stop(0),
        )
    )
    assert completion.text == "a"
    assert completion.message["content"] == [
        {"type": "text", "text": "a", "citations": [CITATION, second, second]}
    ]


def test_messages_112_citations_of_the_start_are_kept() -> None:
    completion = legal(
        answer(
            begin(0, type="text", text="a", citations=[CITATION]),
            delta(0, "citations_delta", citation={**CITATION, "document_index": 1}),
            stop(0),
        )
    )
    assert [made["document_index"] for made in completion.message["content"][0]["citations"]] == [
        0,
        1,
    ]


@pytest.mark.parametrize("field", [{}, {"citation": None}], ids=["absent", "null"])
def test_messages_112_citation_of_nothing_is_not_sent_back(field: Payload) -> None:
    completion = tolerate(
        answer(begin(0, type="text", text="a"), delta(0, "citations_delta", **field), stop(0))
    )
    assert not completion.message["content"][0].get("citations")


# Row 113
@pytest.mark.parametrize("kind", ["server_tool_use", "mcp_tool_use"])
@pytest.mark.parametrize(
    ("pieces", "made"),
    [
        ([], {}),
        ([""], {}),
        (["", '{"query"', ': "x"}'], {"query": "x"}),
        (['{"query": "x'], {"INVALID_JSON": '{"query": "x'}),
        (['{"a":1,"a":2}'], {"INVALID_JSON": '{"a":1,"a":2}'}),
        (["[1]"], {"INVALID_JSON": "[1]"}),
    ],
    ids=["none", "empty", "pieces", "cut", "keys", "array"],
)
def test_messages_113_server_tool_is_not_a_call(
    kind: str, pieces: list[str], made: Payload
) -> None:
    block = {"type": kind, "id": "srvtoolu_1", "name": "web_search", "input": {}}
    result = {
        "type": "web_search_tool_result",
        "tool_use_id": "srvtoolu_1",
        "content": [{"type": "web_search_result", "url": "https://x", "encrypted_content": "E"}],
    }
    completion = legal(
        answer(
            begin(0, **block),
            *[json_delta(0, piece) for piece in pieces],
            stop(0),
            begin(1, **result),
            stop(1),
            *text(2, "ok"),
        )
    )
    assert completion.complete
    assert completion.tool_calls == ()
    assert completion.choices[0].parts == (TextPart("ok"),)
    assert completion.message["content"] == [
        {**block, "input": made},
        result,
        {"type": "text", "text": "ok"},
    ]


def test_messages_113_server_tool_with_input_in_the_start() -> None:
    block = {"type": "server_tool_use", "id": "1", "name": "f", "input": {"a": 1}}
    completion = legal(answer(begin(0, **block), json_delta(0, ""), stop(0), *text(1, "ok")))
    assert completion.message["content"][0] == block


@pytest.mark.parametrize(
    "block",
    [
        {"type": "web_fetch_tool_result", "tool_use_id": "1", "content": {"url": "u"}},
        {"type": "code_execution_tool_result", "tool_use_id": "1", "content": {"stdout": "x"}},
        {"type": "bash_code_execution_tool_result", "tool_use_id": "1", "content": {"stdout": ""}},
        {"type": "text_editor_code_execution_tool_result", "tool_use_id": "1", "content": {}},
        {"type": "tool_search_tool_result", "tool_use_id": "1", "content": {"tool_references": []}},
        {"type": "mcp_tool_result", "tool_use_id": "1", "is_error": False, "content": []},
        {"type": "container_upload", "file_id": "file_1"},
        {"type": "compaction", "content": "short", "encrypted_content": "E"},
        {"type": "future_block", "nested": {"a": [1, None, {"b": []}]}, "flag": None},
    ],
    ids=lambda block: block["type"],
)
def test_messages_113_block_whole_in_the_start_is_kept(block: Payload) -> None:
    completion = legal(answer(*text(0, "a"), begin(1, **block), stop(1), *text(2, "b")))
    assert completion.complete
    assert completion.text == "ab"
    assert completion.message["content"][1] == block


def test_messages_113_pause_turn_is_not_complete() -> None:
    block = {"type": "server_tool_use", "id": "1", "name": "web_search", "input": {}}
    payloads = answer(begin(0, **block), json_delta(0, '{"q":1}'), stop(0), reason="pause_turn")
    completion = legal(payloads)
    assert completion.finish_reason == "pause_turn"
    assert completion.choices[0].ending == "pause"
    assert not completion.complete
    assert completion.message["content"] == [{**block, "input": {"q": 1}}]


# Row 114
@pytest.mark.parametrize(
    ("reason", "ending", "complete"),
    [
        ("end_turn", "stop", True),
        ("stop_sequence", "stop", True),
        ("max_tokens", "length", False),
        ("model_context_window_exceeded", "length", False),
        ("refusal", "refusal", False),
        ("pause_turn", "pause", False),
        ("compaction", "other", False),
        ("future", "other", False),
        ("END_TURN", "other", False),
    ],
)
def test_messages_114_stop_reason_as_it_comes(reason: str, ending: str, complete: bool) -> None:
    completion = legal(answer(*text(0, "a"), reason=reason))
    assert completion.finish_reason == reason
    assert completion.choices[0].ending == ending
    assert completion.complete is complete
    assert completion.text == "a"


def test_messages_114_refusal_without_content() -> None:
    completion = legal(answer(reason="refusal"))
    assert completion.choices[0].ending == "refusal"
    assert not completion.complete
    assert completion.message is None


@pytest.mark.parametrize("reason", [5, ["end_turn"], {"type": "end_turn"}, True], ids=str)
def test_messages_114_stop_reason_of_another_type(reason: Any) -> None:
    payloads = answer(*text(0, "a"), reason=reason)
    refuse(payloads, "field_invalid", 5)
    error = failure(MessagesAssembler(), named(payloads))
    assert error.code == "missing_finish_reason"


@pytest.mark.parametrize("reason", ["end_turn", "stop_sequence"])
def test_messages_stop_reason_that_tells_no_calls(reason: str) -> None:
    completion = quirk(answer(*call(0, "{}"), reason=reason), "finish_mismatch", None)
    assert completion.choices[0].ending == "tool_calls"
    assert completion.complete


def test_messages_stop_reason_that_tells_calls_without_one() -> None:
    completion = quirk(answer(*text(0, "a"), reason="tool_use"), "finish_mismatch", None)
    assert not completion.complete


def test_messages_stop_reason_repeated() -> None:
    completion = legal([*CALLS[:-1], ends("tool_use", usage={"output_tokens": 7}), STOP])
    assert completion.choices == legal(CALLS).choices
    assert completion.usage is not None
    assert completion.usage.output == 7


# Row 116
@pytest.mark.parametrize(
    ("deltas", "made"),
    [
        ([{}], {"content": None}),
        ([{"content": None}], {"content": None}),
        ([{"content": "short"}], {"content": "short"}),
        (
            [{"content": None, "encrypted_content": "E"}],
            {"content": None, "encrypted_content": "E"},
        ),
        (
            [{"content": "short"}, {"content": None, "encrypted_content": "E"}],
            {"content": "short", "encrypted_content": "E"},
        ),
        ([{"content": "sh"}, {"content": "ort"}], {"content": "short"}),
    ],
    ids=["absent", "null", "text", "encrypted", "both", "pieces"],
)
def test_messages_116_compaction(deltas: list[Payload], made: Payload) -> None:
    completion = legal(
        answer(
            begin(0, type="compaction", content=None),
            *[delta(0, "compaction_delta", **fields) for fields in deltas],
            stop(0),
            *text(1, "ok"),
        )
    )
    assert completion.text == "ok"
    assert completion.message["content"][0] == {"type": "compaction", **made}


def test_messages_116_fields_of_the_message_delta_are_kept() -> None:
    details = {"type": "refusal", "category": "x"}
    ended = {
        **ends("stop_sequence", stop_sequence="END", stop_details=details, container={"id": "c"}),
        "context_management": {"applied_edits": []},
    }
    completion = legal([start(container=None, future=1), *text(0, "a"), ended, STOP])
    assert completion.extra["stop_sequence"] == "END"
    assert completion.extra["stop_details"] == details
    assert completion.extra["container"] == {"id": "c"}
    assert completion.extra["context_management"] == {"applied_edits": []}
    assert completion.extra["future"] == 1


@pytest.mark.parametrize("strict", [True, False], ids=["strict", "tolerant"])
@pytest.mark.parametrize("place", [1, 3, 9, len(CALLS) - 1])
def test_messages_unknown_event_is_noted(place: int, strict: bool) -> None:
    payloads = [*CALLS[:place], {"type": "future_event", "future": {"a": 1}}, *CALLS[place:]]
    completion = run(MessagesAssembler(strict=strict), named(payloads))
    assert [(found.code, found.event) for found in completion.findings] == [
        ("unknown_event", place + 1)
    ]
    assert completion.choices == legal(CALLS).choices
    assert completion.complete


@pytest.mark.parametrize("strict", [True, False], ids=["strict", "tolerant"])
def test_messages_unknown_delta_is_noted(strict: bool) -> None:
    payloads = answer(
        begin(0, type="text", text=""),
        delta(0, "future_delta", future="x"),
        delta(0, "text_delta", text="a"),
        stop(0),
    )
    completion = run(MessagesAssembler(strict=strict), named(payloads))
    assert codes(completion) == ["unknown_event"]
    assert completion.text == "a"


def test_messages_call_without_id() -> None:
    block = begin(0, type="tool_use", name="get", input={})
    payloads = answer(block, json_delta(0, '{"x":1}'), stop(0), reason="tool_use")
    assert failure(MessagesAssembler(strict=True), named(payloads)).code == "tool_id_missing"
    completion = tolerate(payloads)
    assert codes(completion) == ["tool_id_missing"]
    (made,) = completion.tool_calls
    assert made.id
    assert made.parse() == {"x": 1}
    assert completion.message["content"][0]["id"] == made.id


@pytest.mark.parametrize("name", ["", None], ids=["empty", "null"])
def test_messages_call_without_name(name: str | None) -> None:
    block = begin(0, type="tool_use", id="toolu_1", name=name, input={})
    payloads = answer(block, json_delta(0, "{}"), stop(0), reason="tool_use")
    assert failure(MessagesAssembler(strict=True), named(payloads)).code == "tool_name_missing"
    assert no_call_complete(tolerate(payloads))


def test_messages_call_id_of_two_calls() -> None:
    payloads = answer(*call(0, "{}"), *call(1, "{}"), reason="tool_use")
    completion = quirk(payloads, "tool_id_reused", 5)
    assert [made.complete for made in completion.tool_calls] == [True, False]


def test_messages_text_whole_in_the_start() -> None:
    completion = legal(answer(begin(0, type="text", text="whole"), stop(0)))
    assert completion.text == "whole"
    assert completion.message["content"] == [{"type": "text", "text": "whole"}]


def test_messages_text_begins_in_the_start() -> None:
    blocks = [begin(0, type="text", text="a"), delta(0, "text_delta", text="b"), stop(0)]
    assert legal(answer(*blocks)).text == "ab"


@pytest.mark.parametrize("blocks", [[], text(0), text(0, "")], ids=["none", "bare", "empty"])
def test_messages_answer_without_content(blocks: list[Payload]) -> None:
    completion = legal(answer(*blocks))
    assert completion.complete
    assert completion.text == ""
    assert completion.message is None


def test_messages_content_of_the_message_start_is_not_lost_silently() -> None:
    whole = [{"type": "tool_use", "id": "toolu_1", "name": "get", "input": {"x": 1}}]
    payloads = [start(content=whole), ends("end_turn"), STOP]
    completion = tolerate(payloads)
    assert completion.tool_calls or completion.findings


@pytest.mark.parametrize("strict", [True, False], ids=["strict", "tolerant"])
@pytest.mark.parametrize(
    "body",
    [
        b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n',
        b'{\n  "type": "error",\n  "error": {\n    "type": "overloaded_error",\n'
        b'    "message": "Overloaded"\n  }\n}\n',
    ],
    ids=["compact", "pretty"],
)
def test_messages_error_body_in_place_of_the_stream(body: bytes, strict: bool) -> None:
    error = failure(MessagesAssembler(strict=strict), items_of(body))
    assert isinstance(error, ProviderError)
    assert (error.code, error.type, error.message) == (
        "not_event_stream",
        "overloaded_error",
        "Overloaded",
    )
    assert error.retryable


STREAMS = {
    "calls": CALLS,
    "no-arguments": answer(*call(0), *call(1, id="toolu_2"), reason="tool_use"),
    "numbers": answer(*call(0, '{"amount": 1', "0", "0}"), reason="tool_use"),
    "given": answer(
        begin(0, type="tool_use", id="toolu_1", name="get", input={"a": 1}),
        stop(0),
        reason="tool_use",
    ),
    "interleaved": answer(
        call(0)[0],
        call(1, id="toolu_2")[0],
        json_delta(0, '{"x":1}'),
        json_delta(1, "{}"),
        stop(1),
        stop(0),
        reason="tool_use",
    ),
    "server": answer(
        begin(0, type="server_tool_use", id="1", name="f", input={}),
        json_delta(0, "{}"),
        stop(0),
        *call(1, "{}"),
        reason="tool_use",
    ),
    "reused": answer(*call(0, "{}"), *call(0, "{}", id="toolu_2"), reason="tool_use"),
}


@pytest.mark.parametrize("truncated", [True, False], ids=["truncated", "clean"])
@pytest.mark.parametrize("strict", [True, False], ids=["strict", "tolerant"])
@pytest.mark.parametrize("case", STREAMS)
def test_messages_cut_after_any_event_gives_no_call(
    case: str, strict: bool, truncated: bool
) -> None:
    payloads = STREAMS[case]
    for length in range(len(payloads) - 1):
        assembler = MessagesAssembler(strict=strict)
        with pytest.raises(AssemblyError) as raised:
            feed(assembler, named(payloads[:length]))
            assembler.finish(truncated=truncated)
        assert raised.value.partial is not None
        assert no_call_complete(raised.value.partial)


def test_messages_call_with_deltas_of_a_new_type_is_never_complete() -> None:
    begun = begin(0, type="tool_use", id="toolu_1", name="get", input={})
    new = delta(0, "future_json_delta", partial='{"x":1}')
    completion = tolerate(answer(begun, new, stop(0), reason="tool_use"))
    assert codes(completion) == ["unknown_event"]
    assert no_call_complete(completion)
