"""Quirks of Chat Completions: choices, roles, content, finish reasons, ids, whole texts."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from sansio_sse import Event
from sansio_sse.llm import (
    AssemblyError,
    ChatCompletionsAssembler,
    Finished,
    IncompleteStream,
    ReasoningDelta,
    ReasoningPart,
    RefusalDelta,
    RefusalPart,
    TextDelta,
    TextPart,
    ToolCallStarted,
)

from .streams import DONE, codes, event, failure, feed, run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sansio_sse import Item
    from sansio_sse.llm import Completion, Update

Payload = dict[str, Any]

_FINISHES = re.compile(r'"finish_reason": *"(?!null")[^"]')


def choice(delta: Payload | None = None, finish: str | None = None, **more: Any) -> Payload:
    return {"index": 0, "delta": delta or {}, "finish_reason": finish, **more}


def chunk(*choices: Payload, **more: Any) -> Event:
    head = {"id": "cc-1", "object": "chat.completion.chunk", "created": 7, "model": "m"}
    return event({**head, "choices": list(choices), **more})


def says(content: Any, finish: str | None = None, **more: Any) -> Event:
    """A chunk whose delta has this content, and these fields."""
    return chunk(choice({"content": content, **more}, finish))


def deltas(*fields: Payload, finish: str = "stop") -> list[Event]:
    """A stream of these deltas."""
    return [*(chunk(choice(delta)) for delta in fields), ends(finish), DONE]


def ends(finish: str = "stop", index: int = 0) -> Event:
    return chunk(choice(finish=finish, index=index))


def fragment(**fields: Any) -> Payload:
    """An entry of `tool_calls`: what is not named is absent."""
    names = [name for name in ("name", "arguments") if name in fields]
    function = {name: fields.pop(name) for name in names}
    return {**fields, "function": function} if function else fields


def calling(*fragments: Payload, finish: str | None = None) -> Event:
    """A chunk with these entries of `tool_calls`."""
    return chunk(choice({"tool_calls": list(fragments)}, finish))


def rounds(*fragments: Payload, finish: str = "tool_calls") -> list[Event]:
    """A stream with a chunk for each of these entries."""
    return [*(calling(entry) for entry in fragments), ends(finish), DONE]


GET = fragment(index=0, id="c0", type="function", name="get", arguments='{"a":1}')


def updates_of(items: Sequence[Item], **options: Any) -> list[Update]:
    return feed(ChatCompletionsAssembler(**options), items)


def assert_no_cut_completes_a_call(items: Sequence[Item], **options: Any) -> None:
    """Cut after any event, a stream without a finish reason has no answer and no complete call."""
    finished = False
    for end, item in enumerate(items):
        for truncated in (False, True):
            assembler = ChatCompletionsAssembler(**options)
            try:
                feed(assembler, items[:end])
                completion = assembler.finish(truncated=truncated)
            except AssemblyError as error:
                assert error.partial is not None
                completion = error.partial
                assert not completion.complete
                assert not any(
                    call.complete for choice in completion.choices for call in choice.tool_calls
                )
            else:
                assert finished
        finished = finished or (isinstance(item, Event) and bool(_FINISHES.search(item.data)))


def tolerate(items: Sequence[Item], *expected: str, **options: Any) -> Completion:
    """What a tolerant assembler makes of a stream, with findings of exactly these codes."""
    assert_no_cut_completes_a_call(items, **options)
    completion = run(ChatCompletionsAssembler(**options), items)
    assert codes(completion) == list(expected)
    return completion


def refuse(code: str, number: int | None, items: Sequence[Item], **options: Any) -> AssemblyError:
    """The error of a strict assembler: this code, shown by this event."""
    assert_no_cut_completes_a_call(items, strict=True, **options)
    error = failure(ChatCompletionsAssembler(strict=True, **options), items)
    assert (error.code, error.event) == (code, number)
    return error


def accept(items: Sequence[Item], *notes: str, **options: Any) -> Completion:
    """What both make of a stream that departs from nothing; the notes are no departures."""
    completion = tolerate(items, *notes, **options)
    assert_no_cut_completes_a_call(items, strict=True, **options)
    assert run(ChatCompletionsAssembler(strict=True, **options), items) == completion
    return completion


def test_first_chunk_without_choices_gives_filter_results_and_no_names() -> None:
    first = {"choices": [], "id": "", "model": "", "object": "", "created": 0}
    results = [{"prompt_index": 0, "content_filter_results": {"hate": {"filtered": False}}}]
    items = [event({**first, "prompt_filter_results": results}), says("Hi"), ends(), DONE]
    completion = accept(items)
    assert (completion.id, completion.model, completion.extra["created"]) == ("cc-1", "m", 7)
    assert completion.extra["prompt_filter_results"] == results
    assert completion.text == "Hi"
    assert completion.complete
    assert updates_of(items) == [TextDelta("Hi"), Finished("stop")]


@pytest.mark.parametrize("later", [(), ({"usage": None},), ({},)])
def test_last_chunk_without_choices_gives_the_usage(later: tuple[Payload, ...]) -> None:
    used = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
    items = [
        chunk(choice({"content": "Hi"}), usage=None),
        chunk(choice(finish="stop"), usage=None),
        chunk(usage=used),
        *(chunk(**fields) for fields in later),
        DONE,
    ]
    completion = accept(items)
    assert completion.usage is not None
    assert completion.usage[:3] == (3, 2, 5)
    assert completion.usage.raw == used


@pytest.mark.parametrize("fields", [{}, {"choices": None}])
def test_choices_missing_or_null_are_none(fields: Payload) -> None:
    items = [says("Hi"), event({"id": "cc-1", **fields}), ends(), DONE]
    assert tolerate(items, "choices_missing").text == "Hi"
    assert refuse("choices_missing", 2, items).partial is not None


def test_choices_that_are_no_array_let_nothing_run() -> None:
    items = [calling(GET), event({"choices": choice(finish="tool_calls")}), *rounds()[-2:]]
    completion = tolerate(items, "choices_missing", "field_invalid")
    assert not completion.complete
    assert not completion.tool_calls[0].complete
    refuse("choices_missing", 2, items)


@pytest.mark.parametrize("fields", [{}, {"delta": None}, {"delta": {}}])
def test_choice_without_a_delta_gives_the_rest(fields: Payload) -> None:
    offsets = {"check_offset": 44, "start_offset": 44, "end_offset": 198}
    filtered = {"index": 0, "finish_reason": None, "content_filter_offsets": offsets, **fields}
    items = [
        says("Hi"),
        event({"id": "", "object": "", "model": "", "choices": [filtered]}),
        ends(),
    ]
    completion = accept([*items, DONE])
    assert completion.text == "Hi"
    assert completion.choices[0].extra == {"content_filter_offsets": offsets}


@pytest.mark.parametrize("delta", [[{"content": "x"}], "x", 5])
def test_delta_that_is_no_object_lets_nothing_run(delta: Any) -> None:
    items = [calling(GET), chunk(choice() | {"delta": delta}), *rounds()[-2:]]
    completion = tolerate(items, "field_invalid")
    assert not completion.complete
    assert not completion.tool_calls[0].complete
    assert completion.tool_calls[0].arguments == '{"a":1}'
    refuse("field_invalid", 2, items)


def test_choice_with_a_message_and_no_delta_is_not_an_empty_answer() -> None:
    said = {"role": "assistant", "content": "Hi"}
    whole = event({"choices": [{"index": 0, "message": said, "finish_reason": "stop"}]})
    completion = run(ChatCompletionsAssembler(), [whole, DONE])
    assert completion.text == "Hi" or not completion.complete
    failure(ChatCompletionsAssembler(strict=True), [whole, DONE])


@pytest.mark.parametrize(
    "roles",
    [
        ("assistant", "assistant", "assistant"),
        ("assistant", "", None),
        ("", None, "assistant"),
        (None, None, None),
        (),
    ],
)
def test_role_repeated_empty_or_missing_is_assistant(roles: tuple[str | None, ...]) -> None:
    sent: list[Payload] = [{"role": role} for role in roles]
    items = [*(says("a", **fields) for fields in sent or [{}]), ends(), DONE]
    completion = accept(items)
    assert completion.message == {"role": "assistant", "content": "a" * max(len(roles), 1)}
    assert updates_of(items)[:-1] == [TextDelta("a")] * max(len(roles), 1)


def test_role_that_changes_stays_the_first_one() -> None:
    items = deltas({"role": "assistant", "content": "a"}, {"role": "tool", "content": "b"})
    completion = tolerate(items, "role_changed")
    assert completion.message == {"role": "assistant", "content": "ab"}
    refuse("role_changed", 2, items)


@pytest.mark.parametrize("nothing", [None, ""])
def test_content_null_or_empty_beside_calls_is_no_text(nothing: str | None) -> None:
    items = [says(nothing, tool_calls=[GET]), says(nothing), ends("tool_calls"), DONE]
    completion = accept(items)
    assert completion.choices[0].parts == completion.tool_calls
    assert completion.message["content"] is None
    assert not any(isinstance(update, TextDelta) for update in updates_of(items))


@pytest.mark.parametrize("nothing", [None, ""])
def test_content_null_or_empty_beside_reasoning_is_no_text(nothing: str | None) -> None:
    items = [says(nothing, reasoning_content="Hm"), says(nothing), says("Hi"), ends(), DONE]
    assert accept(items).choices[0].parts == (ReasoningPart("Hm"), TextPart("Hi"))
    assert updates_of(items)[:2] == [ReasoningDelta("Hm"), TextDelta("Hi", part=1)]


def test_answer_without_any_content_is_complete_and_empty() -> None:
    completion = accept([says(""), says(None), ends(), DONE])
    assert completion.complete
    assert completion.choices[0].parts == ()
    assert completion.message == {"role": "assistant", "content": ""}


def thinking(*texts: str) -> Payload:
    return {"type": "thinking", "thinking": [{"type": "text", "text": text} for text in texts]}


def test_content_as_parts_is_split_by_their_type() -> None:
    items = [
        says([thinking("2+2", "=")]),
        says([thinking("4")]),
        says([{"type": "text", "text": ""}]),
        says("Fo"),
        says("ur"),
        ends(),
        DONE,
    ]
    completion = tolerate(items, "content_not_string")
    assert completion.choices[0].parts == (ReasoningPart("2+2=4"), TextPart("Four"))
    assert completion.complete
    assert completion.message["content"] == [thinking("2+2=4"), {"type": "text", "text": "Four"}]
    assert refuse("content_not_string", 1, items).partial is not None
    assert updates_of(items) == [
        ReasoningDelta("2+2"),
        ReasoningDelta("="),
        ReasoningDelta("4"),
        TextDelta("Fo", part=1),
        TextDelta("ur", part=1),
        Finished("stop"),
    ]


def test_content_parts_of_other_types_keep_their_place() -> None:
    reference = {"type": "reference", "reference_ids": [3, 1]}
    text = {"type": "text", "text": "b"}
    items = [says("a"), says([reference, text]), says([reference]), ends(), DONE]
    completion = tolerate(items, "content_not_string")
    assert completion.text == "ab"
    assert completion.message["content"] == [
        {"type": "text", "text": "a"},
        reference,
        text,
        reference,
    ]
    refuse("content_not_string", 2, items)


@pytest.mark.parametrize("thought", ["2+2", [{"type": "text", "text": "2+2"}, {"type": "x"}]])
def test_content_part_of_thinking_is_a_text_or_a_list(thought: Any) -> None:
    items = [says([{"type": "thinking", "thinking": thought}]), says("4"), ends(), DONE]
    assert tolerate(items, "content_not_string").reasoning == "2+2"


@pytest.mark.parametrize("content", [{"type": "text", "text": "x"}, 5, True])
def test_content_that_is_neither_text_nor_parts_is_invalid(content: Any) -> None:
    items = [says("a"), says(content), ends(), DONE]
    completion = tolerate(items, "field_invalid")
    assert completion.text == "a"
    assert not completion.complete
    refuse("field_invalid", 2, items)


def test_refusal_is_no_text() -> None:
    items = deltas({"refusal": "I can"}, {"refusal": None}, {"refusal": "not.", "content": None})
    completion = accept(items)
    assert (completion.refusal, completion.text) == ("I cannot.", "")
    assert completion.choices[0].parts == (RefusalPart("I cannot."),)
    assert completion.message == {"role": "assistant", "content": None, "refusal": "I cannot."}
    assert updates_of(items) == [RefusalDelta("I can"), RefusalDelta("not."), Finished("stop")]


def test_choices_are_ordered_by_index_whichever_comes_first() -> None:
    items = [
        chunk(choice({"content": "B"}, index=1)),
        chunk(choice({"content": "A"}), choice({"content": "b"}, index=1)),
        chunk(choice({"content": "b"}, "length", index=1), choice({"content": "a"})),
        ends(),
        DONE,
    ]
    completion = accept(items)
    assert [(each.index, each.text, each.finish_reason) for each in completion.choices] == [
        (0, "Aa", "stop"),
        (1, "Bbb", "length"),
    ]
    assert completion.text == "Aa"
    assert not completion.complete
    assert updates_of(items) == [
        TextDelta("B", choice=1),
        TextDelta("A"),
        TextDelta("b", choice=1),
        TextDelta("b", choice=1),
        Finished("length", choice=1),
        TextDelta("a"),
        Finished("stop"),
    ]


def test_choices_with_calls_each_keep_their_own() -> None:
    def part(index: int, **fields: Any) -> Payload:
        return choice({"tool_calls": [fragment(index=0, **fields)]}, index=index)

    items = [
        chunk(part(1, id="y", name="put", arguments='{"b"')),
        chunk(part(0, id="x", name="get", arguments='{"a"'), part(1, arguments=":2")),
        chunk(part(1, arguments="}"), part(0, arguments=":1}")),
        ends("tool_calls", 1),
        ends("tool_calls"),
        DONE,
    ]
    completion = accept(items)
    assert completion.complete
    for each, expected in zip(
        completion.choices, [("x", "get", {"a": 1}), ("y", "put", {"b": 2})], strict=True
    ):
        (call,) = each.tool_calls
        assert (call.id, call.name, call.parse()) == expected
        assert call.index == 0
    started = [update for update in updates_of(items) if isinstance(update, ToolCallStarted)]
    assert [(update.choice, update.id) for update in started] == [(1, "y"), (0, "x")]


def test_choice_that_never_ends_leaves_the_answer_incomplete() -> None:
    items = [chunk(choice({"content": "b"}, index=1)), says("a"), ends(), DONE]
    for strict in (False, True):
        error = failure(ChatCompletionsAssembler(strict=strict), items)
        assert isinstance(error, IncompleteStream)
        assert error.code == "missing_finish_reason"


@pytest.mark.parametrize("index", [None, -1, True, 0.5, "x", [0]])
def test_choice_with_an_invalid_index_has_its_place(index: Any) -> None:
    items = [
        chunk(choice({"content": "a"}) | {"index": index}),
        chunk(choice({}, "stop") | {"index": index}),
    ]
    completion = tolerate(items, "choice_index_invalid")
    assert [(each.index, each.text) for each in completion.choices] == [(0, "a")]
    refuse("choice_index_invalid", 1, items)


def test_choice_without_an_index_is_the_first_one() -> None:
    bare = {"delta": {"content": "a"}, "finish_reason": "stop"}
    assert tolerate([chunk(bare), DONE], "choice_index_invalid").text == "a"
    refuse("choice_index_invalid", 1, [chunk(bare), DONE])


def test_choices_with_indexes_of_text_do_not_run_together() -> None:
    items = [
        chunk(choice({"content": "a"}, "stop", index="0")),
        chunk(choice({"content": "b"}, "stop", index="1")),
    ]
    completion = tolerate(items, "choice_index_invalid")
    assert [(each.index, each.text) for each in completion.choices] == [(0, "a"), (1, "b")]


def test_id_and_model_empty_at_first_come_later() -> None:
    items = [chunk(choice({"content": "a"}), id="", model=""), ends(), DONE]
    completion = accept(items)
    assert (completion.id, completion.model) == ("cc-1", "m")


def test_id_that_changes_stays_the_first_one() -> None:
    items = [says("a"), chunk(choice(finish="stop"), id="cc-2", model="n"), DONE]
    completion = accept(items, "id_changed")
    assert (completion.id, completion.model) == ("cc-1", "m")
    assert completion.findings[0].event == 2


def test_texts_that_repeat_all_before_are_added_by_default() -> None:
    assert accept([says("ha"), says("haha"), ends(), DONE]).text == "hahaha"


def test_texts_that_repeat_all_before_are_read_once_as_cumulative() -> None:
    items = [says("根据"), says("根据当前"), says("根据当前"), says("根据当前信息"), ends(), DONE]
    assert accept(items, cumulative=True).text == "根据当前信息"
    shown = updates_of(items, cumulative=True)
    assert shown == [TextDelta("根据"), TextDelta("当前"), TextDelta("信息"), Finished("stop")]


def test_texts_of_each_kind_and_choice_are_cumulative_by_themselves() -> None:
    def both(index: int, thought: str, text: str) -> Payload:
        return choice({"reasoning_content": thought, "content": text}, index=index)

    items = [
        chunk(both(0, "a", ""), both(1, "A", "")),
        chunk(both(0, "ab", "x"), both(1, "AB", "X")),
        chunk(both(0, "ab", "xy"), both(1, "AB", "XY")),
        chunk(choice(finish="stop"), choice(finish="stop", index=1)),
    ]
    first, second = accept(items, cumulative=True).choices
    assert (first.reasoning, first.text) == ("ab", "xy")
    assert (second.reasoning, second.text) == ("AB", "XY")


def test_text_that_does_not_repeat_is_added_as_cumulative() -> None:
    items = [says("ab"), says("c"), says("abcd"), ends(), DONE]
    assert accept(items, cumulative=True).text == "abcd"


def test_arguments_that_repeat_all_before_are_read_once_as_cumulative() -> None:
    pieces = ['{"a', '{"a":1', '{"a":1}', '{"a":1}']
    items = rounds(*(fragment(index=0, id="c0", name="get", arguments=text) for text in pieces))
    (call,) = accept(items, cumulative=True).tool_calls
    assert call.arguments == '{"a":1}'
    assert call.parse() == json.loads(call.arguments)
