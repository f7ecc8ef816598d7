"""Legal Responses streams of all kinds of items: nothing to find, and nothing to run if cut."""

from __future__ import annotations

from typing import Any

import pytest

from sansio_sse.llm import (
    Finished,
    IncompleteStream,
    ReasoningDelta,
    RefusalDelta,
    ResponsesAssembler,
    TextDelta,
    ToolArgumentsDelta,
    ToolCallStarted,
    UsageUpdate,
)

from .responses_writer import (
    CITES,
    COMPUTES,
    EXECUTES,
    GETS,
    LISTS,
    PUTS,
    REFUSES,
    RESETS,
    SAYS,
    SEARCHES,
    THINKS,
    THINKS_ALOUD,
    Item,
    arguments_of,
    assert_calls_as_announced,
    events,
    message,
    overlapping,
    parts_of,
    reasoning,
    simple,
    stream,
    summary,
    text,
    text_of,
    thought,
    tolerate,
    whole,
)
from .streams import codes, failure, feed

LEGAL = {
    "nothing": [],
    "text": [SAYS],
    "empty text": [message("msg_0", text(""))],
    "summaries": [THINKS, SAYS],
    "reasoning": [THINKS_ALOUD, SAYS],
    "both kinds of reasoning": [reasoning("rs_0", summary("s"), thought("r")), SAYS],
    "encrypted reasoning alone": [reasoning("rs_0", encrypted_content="RU5D"), SAYS],
    "two messages": [SAYS, CITES],
    "refusal": [REFUSES],
    "call": [GETS],
    "call without arguments": [RESETS],
    "calls": [GETS, PUTS, RESETS],
    "custom call": [EXECUTES],
    "server tools": [SEARCHES, LISTS, COMPUTES, SAYS],
    "text before reasoning before call": [SAYS, THINKS, GETS],
    "call before text before reasoning": [GETS, SAYS, THINKS_ALOUD],
    "everything": [
        THINKS,
        SEARCHES,
        THINKS_ALOUD,
        SAYS,
        GETS,
        CITES,
        EXECUTES,
        LISTS,
        PUTS,
        COMPUTES,
        REFUSES,
    ],
}
each_legal = pytest.mark.parametrize("items", LEGAL.values(), ids=LEGAL)


@each_legal
@pytest.mark.parametrize("strict", [True, False], ids=["strict", "tolerant"])
def test_responses_reads_legal_streams(items: list[Item], strict: bool) -> None:
    completion = tolerate(stream(*items), strict=strict)
    assert completion.findings == ()
    assert completion.complete
    assert (completion.id, completion.model) == ("resp_1", "m1")
    assert completion.finish_reason == "completed"
    assert simple(completion) == parts_of(items)
    assert completion.message == [item.done for item in items]
    assert completion.extra["response"] == whole(*items)["response"]


@each_legal
def test_responses_reads_items_that_overlap(items: list[Item]) -> None:
    assembler = ResponsesAssembler(strict=True)
    updates = feed(assembler, events(overlapping(*items)))
    completion = assembler.finish()
    assert completion.findings == ()
    assert completion.complete
    assert sorted(map(repr, simple(completion))) == sorted(map(repr, parts_of(items)))
    assert completion.message == [item.done for item in items]
    assert_calls_as_announced(updates, completion)


@each_legal
def test_responses_updates_join_to_the_answer(items: list[Item]) -> None:
    assembler = ResponsesAssembler(strict=True)
    updates = feed(assembler, events(stream(*items)))
    assert assembler.done
    completion = assembler.finish()
    assert text_of(updates, TextDelta) == completion.text
    assert text_of(updates, ReasoningDelta) == completion.reasoning
    assert text_of(updates, RefusalDelta) == completion.refusal
    for call in completion.tool_calls:
        assert arguments_of(updates, call.index) == call.arguments
    assert_calls_as_announced(updates, completion)
    assert [type(update) for update in updates[-2:]] == [UsageUpdate, Finished]
    assert updates[-1] == Finished("completed")


@each_legal
@pytest.mark.parametrize("write", [stream, overlapping], ids=["in turn", "overlapping"])
@pytest.mark.parametrize("strict", [True, False], ids=["strict", "tolerant"])
def test_responses_cut_anywhere_is_incomplete(items: list[Item], write: Any, strict: bool) -> None:
    payloads = events(write(*items))
    for end in range(1, len(payloads)):
        error = failure(ResponsesAssembler(strict=strict), payloads[:end])
        assert isinstance(error, IncompleteStream)
        assert error.code == "missing_terminal"
        assert error.event is None


def test_responses_without_events_is_an_empty_stream() -> None:
    error = failure(ResponsesAssembler(), [])
    assert (type(error), error.code) == (IncompleteStream, "empty_stream")


def test_responses_updates_come_with_the_events() -> None:
    assembler = ResponsesAssembler()
    payloads = stream(THINKS_ALOUD, GETS)
    updates = [assembler.feed(item) for item in events(payloads)]
    completion = assembler.finish()
    usage = completion.usage
    assert usage is not None
    assert [found for found in updates if found] == [
        [ReasoningDelta("2", 0, 0)],
        [ReasoningDelta("+2", 0, 0)],
        [ToolCallStarted(0, "call_fc_0", "get", part=1)],
        [ToolArgumentsDelta(0, '{"k":')],
        [ToolArgumentsDelta(0, '"é"')],
        [ToolArgumentsDelta(0, "}")],
        [UsageUpdate(usage), Finished("completed")],
    ]
    assert codes(completion) == []
