"""Finish reasons of Chat Completions: where they come, what they say, what follows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from sansio_sse.llm import ChatCompletionsAssembler, Finished, IncompleteStream, TextDelta

from .streams import DONE, codes, failure, run
from .test_chat_quirks import (
    GET,
    Payload,
    accept,
    calling,
    choice,
    chunk,
    ends,
    fragment,
    refuse,
    says,
    tolerate,
    updates_of,
)

if TYPE_CHECKING:
    from sansio_sse import Event


def test_finish_reason_beside_content_comes_behind_it() -> None:
    items = [says("Hel"), says("lo", "stop"), DONE]
    assert accept(items).text == "Hello"
    assert updates_of(items) == [TextDelta("Hel"), TextDelta("lo"), Finished("stop")]


def test_finish_reason_beside_arguments_comes_behind_them() -> None:
    last = calling(fragment(index=0, arguments="}"), finish="tool_calls")
    items = [calling(fragment(index=0, id="c0", name="get", arguments='{"a":1')), last]
    (call,) = accept(items).tool_calls
    assert call.complete
    assert call.parse() == {"a": 1}
    assert updates_of(items)[-1] == Finished("tool_calls")


@pytest.mark.parametrize("nothing", ["", None, "null"])
def test_finish_reason_of_nothing_in_each_chunk_ends_nothing(nothing: str | None) -> None:
    items = [
        says("a", nothing),
        calling(fragment(index=0, id="c0", name="get", arguments='{"a"'), finish=nothing),
        calling(fragment(index=0, arguments=":1}"), finish=nothing),
    ]
    completion = accept([*items, ends("tool_calls"), DONE])
    assert completion.tool_calls[0].parse() == {"a": 1}
    assert completion.finish_reason == "tool_calls"
    for strict in (False, True):
        error = failure(ChatCompletionsAssembler(strict=strict), [*items, DONE])
        assert isinstance(error, IncompleteStream)
        assert (error.code, error.event) == ("missing_finish_reason", None)
        assert error.partial is not None
        assert error.partial.finish_reason is None
        assert error.partial.text == "a"


def test_finish_reason_stop_with_calls_is_kept_and_means_calls() -> None:
    items = [calling(GET), ends(), DONE]
    completion = tolerate(items, "finish_mismatch")
    assert (completion.finish_reason, completion.choices[0].ending) == ("stop", "tool_calls")
    assert completion.complete
    assert completion.tool_calls[0].complete
    refuse("finish_mismatch", None, items)


@pytest.mark.parametrize("finish", ["tool_calls", "function_call"])
def test_finish_reason_of_calls_without_any_is_not_complete(finish: str) -> None:
    items = [says("a"), ends(finish), DONE]
    completion = tolerate(items, "finish_mismatch")
    assert not completion.complete
    assert completion.text == "a"
    refuse("finish_mismatch", None, items)


@pytest.mark.parametrize("done", [(), (DONE,)])
def test_finish_reason_that_never_comes_is_not_made_up(done: tuple[Event, ...]) -> None:
    items = [says("Hi"), calling(GET), *done]
    for strict in (False, True):
        error = failure(ChatCompletionsAssembler(strict=strict), items)
        assert isinstance(error, IncompleteStream)
        assert (error.code, error.event) == ("missing_finish_reason", None)
        assert error.partial is not None
        assert (error.partial.text, error.partial.finish_reason) == ("Hi", None)
        assert error.partial.choices[0].ending is None
        assert error.partial.tool_calls[0].arguments == '{"a":1}'


@pytest.mark.parametrize(
    ("finish", "ending", "complete"),
    [
        ("eos", "stop", True),
        ("end_turn", "stop", True),
        ("STOP", "stop", True),
        ("stop_sequence", "stop", True),
        ("max_tokens", "length", False),
        ("model_length", "length", False),
        ("error", "error", False),
        ("insufficient_system_resource", "error", False),
        ("some_new_reason", "other", False),
    ],
)
def test_finish_reason_of_other_servers_is_kept(finish: str, ending: str, complete: bool) -> None:
    items = [says("a"), ends(finish), DONE]
    completion = tolerate(items, "finish_reason_unknown")
    assert (completion.finish_reason, completion.choices[0].ending) == (finish, ending)
    assert completion.complete is complete
    refuse("finish_reason_unknown", None, items)


def test_finish_reason_tool_use_ends_calls() -> None:
    items = [calling(GET), ends("tool_use"), DONE]
    completion = tolerate(items, "finish_reason_unknown")
    assert completion.choices[0].ending == "tool_calls"
    assert completion.tool_calls[0].complete
    refuse("finish_reason_unknown", None, items)


@pytest.mark.parametrize("finish", [5, True, {"type": "stop"}, ["stop"]])
def test_finish_reason_that_is_no_text_ends_nothing(finish: Any) -> None:
    items = [says("a", finish), DONE]
    error = failure(ChatCompletionsAssembler(), items)
    assert error.code == "missing_finish_reason"
    refuse("finish_reason_unknown", 1, items)


@pytest.mark.parametrize("finish", ["length", "content_filter"])
def test_finish_reason_that_cuts_is_not_complete_and_legal(finish: str) -> None:
    completion = accept([says("Hal"), ends(finish), DONE])
    assert completion.choices[0].ending == finish
    assert not completion.complete
    assert completion.text == "Hal"


@pytest.mark.parametrize(
    "late",
    [
        {"content": "b"},
        {"reasoning_content": "b"},
        {"refusal": "b"},
        {"tool_calls": [GET]},
        {"tool_calls": [fragment(index=0, arguments="")]},
        {"function_call": {"name": "get", "arguments": "{}"}},
    ],
)
def test_delta_behind_the_finish_reason_is_read(late: Payload) -> None:
    items = [calling(GET), ends("tool_calls"), chunk(choice(late)), DONE]
    completion = run(ChatCompletionsAssembler(), items)
    assert "delta_after_finish" in codes(completion)
    assert refuse("delta_after_finish", 3, items).partial is not None


def test_text_behind_the_finish_reason_is_part_of_the_answer() -> None:
    items = [says("a"), ends(), says("b"), DONE]
    completion = tolerate(items, "delta_after_finish")
    assert completion.text == "ab"
    assert completion.complete
    assert updates_of(items) == [TextDelta("a"), Finished("stop"), TextDelta("b")]


def test_finish_reason_again_or_empty_deltas_behind_it_are_legal() -> None:
    items = [says("a"), ends(), ends(), says(""), chunk(choice({"tool_calls": []})), DONE]
    assert accept(items).complete
    assert updates_of(items) == [TextDelta("a"), Finished("stop")]


@pytest.mark.parametrize("first", ["length", "content_filter"])
def test_finish_reason_that_cuts_is_not_taken_back_by_another(first: str) -> None:
    empty = fragment(index=0, id="c0", name="get", arguments="")
    for begins, last in ((says("Hal"), "stop"), (calling(empty), "tool_calls")):
        items = [begins, ends(first), ends(last), DONE]
        completion = run(ChatCompletionsAssembler(), items)
        assert not completion.complete
        assert not any(call.complete for call in completion.tool_calls)
        failure(ChatCompletionsAssembler(strict=True), items)
