"""Streams as providers send them, and what they say: under every cutting, tolerant and strict."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sansio_sse import EventStreamParser
from sansio_sse.llm import (
    AssemblyError,
    ChatCompletionsAssembler,
    GenerateContentAssembler,
    MessagesAssembler,
    ProviderError,
    ResponsesAssembler,
    assemble,
    assemble_chunks,
)
from sansio_sse.testing import chunkings, replay

from .streams import feed, items_of, run

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sansio_sse.llm import Assembler, Choice, Completion, Update

FOLDER = Path(__file__).parents[1] / "captures"
CAPTURES = {path.name.split(".")[0]: path for path in sorted(FOLDER.glob("*.sse"))}
ASSEMBLERS: dict[str, type[Assembler]] = {
    "chat": ChatCompletionsAssembler,
    "responses": ResponsesAssembler,
    "anthropic": MessagesAssembler,
    "gemini": GenerateContentAssembler,
}


def expectation(name: str) -> dict[str, Any]:
    expected: dict[str, Any] = json.loads((FOLDER / f"{name}.expected.json").read_text("utf-8"))
    return expected


def outcome(assembler: Assembler, chunks: Iterable[bytes]) -> tuple[list[Update], object]:
    """What a stream comes to: its updates, and its completion or what its error says."""
    updates: list[Update] = []
    parser = EventStreamParser()
    try:
        for chunk in chunks:
            for item in parser.feed_items(chunk):
                updates += assembler.feed(item)
        parser.finish()
        return updates, assembler.finish(truncated=parser.pending)
    except AssemblyError as error:
        return updates, (type(error), error.code, error.event, error.message, error.partial)


def assert_chat(completion: Completion, result: dict[str, Any]) -> None:
    for name in ("created", "system_fingerprint", "service_tier"):
        assert completion.extra.get(name) == result.get(name)
    assert len(completion.choices) == len(result["choices"])
    for choice, expected in zip(completion.choices, result["choices"], strict=True):
        assert (choice.index, choice.finish_reason) == (
            expected["index"],
            expected["finish_reason"],
        )
        assert_chat_message(choice, expected["message"])


def assert_chat_message(choice: Choice, expected: dict[str, Any]) -> None:
    assert choice.text == (expected["content"] or "")
    assert choice.reasoning == (expected["reasoning"] or "")
    assert choice.refusal == (expected["refusal"] or "")
    calls = [dict(call) for call in expected["tool_calls"]]
    values = [call.pop("arguments_value") for call in calls]
    assert [call.parse() for call in choice.tool_calls] == values
    message = choice.message
    assert message["role"] == expected["role"]
    assert message["content"] == expected["content"]
    assert message.get("tool_calls", []) == calls
    assert message.get("reasoning_details") == expected.get("reasoning_details")


def assert_responses(completion: Completion, result: dict[str, Any]) -> None:
    assert completion.extra["response"]["status"] == result["status"]
    assert completion.message == result["output"]
    assert completion.text == result["output_text"]
    assert completion.reasoning == result["reasoning_summary"]
    calls = [
        {"call_id": call.id, "name": call.name, "arguments_value": call.parse()}
        for call in completion.tool_calls
    ]
    assert calls == result["tool_calls"]


def assert_anthropic(completion: Completion, result: dict[str, Any]) -> None:
    assert completion.finish_reason == result["stop_reason"]
    assert completion.extra.get("stop_sequence") == result["stop_sequence"]
    assert completion.message == {"role": result["role"], "content": result["content"]}
    blocks = [block for block in result["content"] if block["type"] == "tool_use"]
    calls = [(call.id, call.name, call.parse()) for call in completion.tool_calls]
    assert calls == [(block["id"], block["name"], block["input"]) for block in blocks]


def assert_gemini(completion: Completion, result: dict[str, Any]) -> None:
    assert completion.finish_reason == result["finish_reason"]
    assert completion.text == result["text"]
    assert completion.reasoning == result["reasoning"]
    parts: list[dict[str, Any]] = []
    for part in result["parts"]:
        # The expectation spells names as Python does, and null where the wire has nothing.
        wire = dict(part)
        if "function_call" in wire:
            call = wire.pop("function_call")
            wire["functionCall"] = {name: call[name] for name in ("name", "args")}
        if "thought_signature" in wire:
            wire["thoughtSignature"] = wire.pop("thought_signature")
        parts.append(wire)
    assert completion.message == {"role": "model", "parts": parts}
    calls = [part["functionCall"] for part in parts if "functionCall" in part]
    assert [{"name": call.name, "args": call.parse()} for call in completion.tool_calls] == calls


CHECKS = {
    "chat": assert_chat,
    "responses": assert_responses,
    "anthropic": assert_anthropic,
    "gemini": assert_gemini,
}


def assert_result(completion: Completion, expected: dict[str, Any]) -> None:
    result = expected["result"]
    assert completion.id == result.get("id", result.get("response_id"))
    if "model" in result or "model_version" in result:
        assert completion.model == result.get("model", result.get("model_version"))
    assert (completion.usage and completion.usage.raw) == result["usage"]
    assert completion.complete is result.get("complete", True)
    CHECKS[expected["protocol"]](completion, result)


@pytest.mark.parametrize("name", CAPTURES)
def test_tolerant_reading_gives_the_expected_answer_or_error(name: str) -> None:
    expected = expectation(name)
    assembler = ASSEMBLERS[expected["protocol"]]()
    reported = expected["result"].get("error")
    if reported is None:
        assert_result(run(assembler, items_of(CAPTURES[name].read_bytes())), expected)
        return
    with pytest.raises(ProviderError) as raised:
        run(assembler, items_of(CAPTURES[name].read_bytes()))
    error = raised.value
    assert error.raw == reported
    assert error.message == reported["message"]
    assert error.type == reported.get("type")
    assert error.provider_code == error.status == reported["code"]
    assert error.partial is not None
    result = {**expected["result"], "system_fingerprint": None, "service_tier": None}
    if result["choices"]:
        for choice in result["choices"]:
            choice["message"].setdefault("tool_calls", [])
        assert_result(error.partial, {**expected, "result": result})


@pytest.mark.parametrize("name", CAPTURES)
def test_strict_reading_passes_or_raises_the_expected_code(name: str) -> None:
    expected = expectation(name)
    assembler = ASSEMBLERS[expected["protocol"]](strict=True)
    strict = expected["strict"]
    if strict["ok"]:
        completion = run(assembler, items_of(CAPTURES[name].read_bytes()))
        assert_result(completion, expected)
        assert completion.findings == ()
        return
    with pytest.raises(AssemblyError) as raised:
        run(assembler, items_of(CAPTURES[name].read_bytes()))
    assert raised.value.code == strict["raise"]
    assert raised.value.event == strict.get("at_sse_event")


def test_options_of_chat_completions_raise_what_the_capture_says() -> None:
    name = "08_late_reasoning_index1_no_done"
    strict = expectation(name)["strict"]
    items = items_of(CAPTURES[name].read_bytes())
    for option, key in (
        ("require_done", "if_require_done"),
        ("require_contiguous_indexes", "if_require_contiguous_index"),
    ):
        for mode in (False, True):
            options: dict[str, Any] = {option: True, "strict": mode}
            with pytest.raises(AssemblyError) as raised:
                run(ChatCompletionsAssembler(**options), items)
            assert raised.value.code == strict[key]


def test_error_field_that_nobody_passes_on_leaves_an_empty_stream() -> None:
    name = "10_llamacpp_error_field"
    parser = EventStreamParser()
    events = parser.feed(CAPTURES[name].read_bytes())
    assembler = ChatCompletionsAssembler()
    feed(assembler, events)
    with pytest.raises(AssemblyError) as raised:
        assembler.finish()
    assert raised.value.code == expectation(name)["strict"]["fallback_raise"]


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("name", CAPTURES)
def test_answer_is_the_same_under_every_cutting(name: str, strict: bool) -> None:
    make = ASSEMBLERS[expectation(name)["protocol"]]
    data = CAPTURES[name].read_bytes()
    whole, items = outcome(make(strict=strict), [data]), items_of(data)
    for chunks in chunkings(data):
        # An assembler sees items, and no chunks.
        assert replay(chunks) == items
    for chunks in chunkings(data, max_pairs=50):
        assert outcome(make(strict=strict), chunks) == whole


@pytest.mark.parametrize("name", CAPTURES)
def test_dialect_is_found(name: str) -> None:
    expected = expectation(name)
    make = ASSEMBLERS[expected["protocol"]]
    data = CAPTURES[name].read_bytes()
    if expected["result"].get("error"):
        with pytest.raises(ProviderError) as raised:
            assemble_chunks([data])
        assert raised.value.raw == expected["result"]["error"]
    else:
        assert assemble_chunks([data]) == run(make(), items_of(data))
        assert assemble(items_of(data)) == run(make(), items_of(data))


@pytest.mark.parametrize("name", CAPTURES)
def test_stream_that_is_cut_anywhere_has_no_call_to_run(name: str) -> None:
    make = ASSEMBLERS[expectation(name)["protocol"]]
    data = CAPTURES[name].read_bytes()
    whole = outcome(make(), [data])[1]
    for end in range(0, len(data), 3):
        _, result = outcome(make(), [data[:end]])
        if isinstance(result, tuple):
            partial = result[-1]
            assert not partial.complete
            assert not any(call.complete for call in partial.tool_calls)
        else:
            # What is cut off then is at most what comes behind the answer: usage, an end mark.
            assert getattr(result, "choices", None) == getattr(whole, "choices", None)
