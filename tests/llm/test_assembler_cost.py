"""The cost of an answer is linear in its stream, whatever comes in pieces."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from sansio_sse.llm import (
    Assembler,
    ChatCompletionsAssembler,
    GenerateContentAssembler,
    Limits,
    MessagesAssembler,
    ResponsesAssembler,
)

from .streams import event, feed

if TYPE_CHECKING:
    from sansio_sse import Event


def chat(delta: dict[str, Any]) -> Event:
    return event({"choices": [{"index": 0, "delta": delta}]})


def chat_call(entry: dict[str, Any]) -> Event:
    return chat({"tool_calls": [entry]})


HEAD = {"index": 0, "id": "a", "function": {"name": "f", "arguments": ""}}
BLOCK = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
STRING = {"jsonPath": "$.a", "stringValue": "x", "willContinue": True}


def item(kind: str, **fields: Any) -> Event:
    return event({"type": kind, "output_index": 0, **fields})


def gemini(*parts: dict[str, Any]) -> Event:
    return event({"candidates": [{"content": {"parts": list(parts)}}]})


ITEM = {"type": "function_call", "call_id": "a", "name": "f", "arguments": ""}
# The first event, and the one that comes again and again.
STREAMS: dict[str, tuple[type[Assembler], Event, Event]] = {
    "chat text": (ChatCompletionsAssembler, chat({}), chat({"content": "x"})),
    "chat reasoning": (ChatCompletionsAssembler, chat({}), chat({"reasoning": "x"})),
    "chat arguments": (
        ChatCompletionsAssembler,
        chat_call(HEAD),
        chat_call({"index": 0, "function": {"arguments": "x"}}),
    ),
    "chat arguments held": (
        ChatCompletionsAssembler,
        chat({}),
        chat_call({"index": 0, "function": {"arguments": "x"}}),
    ),
    "chat alternating": (
        ChatCompletionsAssembler,
        chat({}),
        chat({"content": "x", "reasoning": "y"}),
    ),
    "chat details": (
        ChatCompletionsAssembler,
        chat({}),
        chat({"reasoning_details": [{"type": "reasoning.text", "text": "x", "index": 0}]}),
    ),
    "chat many details": (
        ChatCompletionsAssembler,
        chat({}),
        chat({"reasoning_details": [{"type": "a"}, {"type": "b"}]}),
    ),
    "chat thinking blocks": (
        ChatCompletionsAssembler,
        chat({}),
        chat({"thinking_blocks": [{"type": "thinking", "thinking": "x"}]}),
    ),
    "chat parts": (
        ChatCompletionsAssembler,
        chat({}),
        chat({"content": [{"type": "text", "text": "x"}, {"type": "thinking", "thinking": "y"}]}),
    ),
    "chat unknown": (ChatCompletionsAssembler, chat({}), chat({"future": "x", "other": ["y"]})),
    "chat audio": (ChatCompletionsAssembler, chat({}), chat({"audio": {"transcript": "x"}})),
    "chat annotations": (ChatCompletionsAssembler, chat({}), chat({"annotations": [{}]})),
    "responses text": (
        ResponsesAssembler,
        item("response.output_item.added", item={"type": "message"}),
        item("response.output_text.delta", content_index=0, delta="x"),
    ),
    "responses arguments": (
        ResponsesAssembler,
        item("response.output_item.added", item=ITEM),
        item("response.function_call_arguments.delta", delta="x"),
    ),
    "responses code": (
        ResponsesAssembler,
        item("response.output_item.added", item={"type": "code_interpreter_call"}),
        item("response.code_interpreter_call_code.delta", delta="x"),
    ),
    "messages text": (
        MessagesAssembler,
        event({"type": "content_block_start", "index": 0, "content_block": {"type": "text"}}),
        event(
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "text_delta", "text": "x"},
            }
        ),
    ),
    "messages arguments": (
        MessagesAssembler,
        event({"type": "content_block_start", "index": 0, "content_block": BLOCK}),
        event(
            {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "input_json_delta", "partial_json": "x"},
            }
        ),
    ),
    "gemini text": (GenerateContentAssembler, gemini(), gemini({"text": "x"})),
    "gemini alternating": (
        GenerateContentAssembler,
        gemini(),
        gemini({"text": "x"}, {"text": "y", "thought": True}),
    ),
    "gemini string": (
        GenerateContentAssembler,
        gemini({"functionCall": {"name": "f", "willContinue": True}}),
        gemini({"functionCall": {"partialArgs": [STRING], "willContinue": True}}),
    ),
    "gemini calls": (
        GenerateContentAssembler,
        gemini(),
        gemini({"functionCall": {"name": "f", "args": {}}}),
    ),
}


def seconds(
    make: type[Assembler], first: Event, again: Event, count: int, attempts: int = 2
) -> float:
    best = 1e9
    for _ in range(attempts):
        assembler = make(limits=Limits(max_items=None, max_calls=None))
        begin = time.process_time()
        feed(assembler, [first])
        feed(assembler, [again] * count)
        best = min(best, time.process_time() - begin)
    return best


@pytest.mark.parametrize("name", STREAMS)
def test_four_times_the_deltas_cost_less_than_eight_times_as_much(name: str) -> None:
    make, first, again = STREAMS[name]
    assert seconds(make, first, again, 4_000, 3) < 8 * seconds(make, first, again, 1_000, 3)


def test_a_hundred_thousand_deltas_of_one_call_cost_twice_what_fifty_thousand_do() -> None:
    make, first, again = STREAMS["chat arguments"]
    once = 3 * seconds(make, first, again, 50_000, 1)
    assert seconds(make, first, again, 100_000, 1) < once
