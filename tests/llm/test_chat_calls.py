"""Quirks of tool calls in Chat Completions: ids, names, types, what comes when."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sansio_sse.llm import (
    ChatCompletionsAssembler,
    Completion,
    Finished,
    InvalidToolCall,
    ToolArgumentsDelta,
    ToolCallStarted,
)

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
    rounds,
    says,
    tolerate,
    updates_of,
)


def calls_of(completion: Completion) -> list[tuple[str, str, str]]:
    """What the calls of choice 0 are; each of them is at its index."""
    calls = completion.tool_calls
    assert [call.index for call in calls] == list(range(len(calls)))
    return [(call.id, call.name, call.arguments) for call in calls]


def assert_none_runs(completion: Completion) -> None:
    assert not completion.complete
    for call in completion.tool_calls:
        assert not call.complete
        with pytest.raises(InvalidToolCall):
            call.parse()


@pytest.mark.parametrize("finish", [None, "tool_calls"])
def test_whole_call_in_one_chunk(finish: str | None) -> None:
    items = [calling(GET, finish=finish), *([] if finish else [ends("tool_calls")]), DONE]
    completion = accept(items)
    assert calls_of(completion) == [("c0", "get", '{"a":1}')]
    assert completion.tool_calls[0].parse() == {"a": 1}
    assert completion.message == {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c0", "type": "function", "function": {"name": "get", "arguments": '{"a":1}'}}
        ],
    }
    assert updates_of(items) == [
        ToolCallStarted(0, "c0", "get"),
        ToolArgumentsDelta(0, '{"a":1}'),
        Finished("tool_calls"),
    ]


@pytest.mark.parametrize("name", ["get", "", None])
@pytest.mark.parametrize("id", ["a", "", None])
def test_id_and_name_repeated_or_empty_are_set_once(id: str | None, name: str | None) -> None:
    more = [fragment(index=0, id=id, type="function", name=name, arguments=a) for a in ":1}"]
    items = rounds(fragment(index=0, id="a", name="get", arguments='{"x"'), *more)
    completion = accept(items)
    assert calls_of(completion) == [("a", "get", '{"x":1}')]
    assert completion.complete
    assert updates_of(items)[0] == ToolCallStarted(0, "a", "get")


def test_name_that_changes_is_never_run() -> None:
    items = rounds(GET, fragment(index=0, name="put"))
    completion = tolerate(items, "tool_name_changed")
    assert calls_of(completion) == [("c0", "get", '{"a":1}')]
    assert_none_runs(completion)
    refuse("tool_name_changed", 2, items)


def test_name_in_pieces_is_never_run_by_default() -> None:
    items = rounds(
        fragment(index=0, id="a", name="edit_ex"),
        fragment(index=0, name="isting_file", arguments="{}"),
    )
    assert_none_runs(tolerate(items, "tool_name_changed"))
    refuse("tool_name_changed", 2, items)


def test_name_in_pieces_is_joined_on_demand() -> None:
    items = rounds(
        fragment(index=0, id="a", name="edit_ex"),
        fragment(index=0, name="isting_file", arguments='{"x"'),
        fragment(index=0, name="isting_file", arguments=""),
        fragment(index=0, arguments=":1}"),
    )[:2]
    items += [calling(fragment(index=0, arguments=":1}")), ends("tool_calls"), DONE]
    completion = accept(items, name_fragments=True)
    assert calls_of(completion) == [("a", "edit_existing_file", '{"x":1}')]
    assert updates_of(items, name_fragments=True) == [
        ToolCallStarted(0, "a", "edit_existing_file"),
        ToolArgumentsDelta(0, '{"x"'),
        ToolArgumentsDelta(0, ":1}"),
        Finished("tool_calls"),
    ]


def test_name_in_pieces_without_arguments_is_told_at_the_end() -> None:
    pieces = ("edit_ex", "isting", "_file")
    items = rounds(*(fragment(index=0, id="a", name=piece) for piece in pieces))
    assert accept(items, name_fragments=True).complete
    started = updates_of(items, name_fragments=True)[0]
    assert started == ToolCallStarted(0, "a", "edit_existing_file")


def test_name_that_repeats_as_a_whole_is_not_joined() -> None:
    items = rounds(GET, fragment(index=0, name="get"))
    assert calls_of(accept(items, name_fragments=True)) == [("c0", "get", '{"a":1}')]


def test_name_in_pieces_is_known_only_as_a_whole() -> None:
    pieces = [fragment(index=0, id="a", name="get"), fragment(index=0, name="_all", arguments="{}")]
    options: dict[str, Any] = {"name_fragments": True, "known_tools": ["get_all"]}
    assert accept(rounds(*pieces), **options).complete
    options["known_tools"] = ["get"]
    tolerate(rounds(*pieces), "unknown_tool", **options)
    refuse("unknown_tool", 2, rounds(*pieces), **options)


def test_name_that_goes_on_behind_the_arguments_is_not_the_one_that_was_checked() -> None:
    items = rounds(GET, fragment(index=0, name="_all"))
    options: dict[str, Any] = {"name_fragments": True, "known_tools": ["get"]}
    completion = run(ChatCompletionsAssembler(**options), items)
    (call,) = completion.tool_calls
    assert not call.complete or "unknown_tool" in codes(completion)
    failure(ChatCompletionsAssembler(strict=True, **options), items)


def test_id_that_is_missing_is_made_up() -> None:
    items = rounds(
        fragment(index=0, name="get", arguments="{}"),
        fragment(index=1, id="call_0", name="put", arguments="{}"),
        fragment(index=2, id="", name="get", arguments="{}"),
        fragment(index=3, id=None, name="get", arguments="{}"),
    )
    completion = tolerate(items, "tool_id_missing")
    ids = [call.id for call in completion.tool_calls]
    assert len(set(ids)) == 4
    assert ids[1] == "call_0"
    assert all(ids)
    assert [entry["id"] for entry in completion.message["tool_calls"]] == ids
    assert [each.id for each in completion.tool_calls] == ids
    assert completion == run(ChatCompletionsAssembler(), items)
    assert completion.complete
    refuse("tool_id_missing", 5, items)


def test_id_that_is_made_up_is_none_of_an_earlier_round() -> None:
    items = rounds(fragment(index=0, name="get", arguments="{}"))
    completion = tolerate(items, "tool_id_missing", seen_call_ids=["call_0", "call_1"])
    assert completion.tool_calls[0].id not in ("call_0", "call_1", "")


@pytest.mark.parametrize("kinds", [("",), (None,), (), ("", "function"), (None, "function")])
def test_type_late_empty_or_missing_is_function(kinds: tuple[str | None, ...]) -> None:
    entries = [
        fragment(index=0, id="c0", name="get", arguments="{}"),
        *(fragment(index=0, type=kind, arguments="") for kind in kinds),
    ]
    completion = accept(rounds(*entries))
    assert completion.tool_calls[0].kind == "function"
    assert completion.message["tool_calls"][0]["type"] == "function"


def test_type_that_nobody_knows_is_a_departure() -> None:
    items = rounds({**GET, "type": "retrieval"})
    completion = tolerate(items, "unsupported_tool_type")
    assert completion.tool_calls[0].kind == "retrieval"
    assert completion.tool_calls[0].arguments == '{"a":1}'
    refuse("unsupported_tool_type", 1, items)


@pytest.mark.parametrize("body", [{}, {"function": None}, {"function": {}}])
def test_function_missing_or_null_adds_nothing(body: Payload) -> None:
    items = rounds({"index": 0, "id": "a", **body}, fragment(index=0, name="get", arguments="{}"))
    assert calls_of(accept(items)) == [("a", "get", "{}")]


def test_two_entries_of_one_index_in_one_chunk_are_one_call() -> None:
    entries = [
        fragment(index=0, id="a", name="get"),
        fragment(index=0, arguments='{"x"'),
        fragment(index=0, arguments=":1}"),
    ]
    items = [calling(*entries), ends("tool_calls"), DONE]
    assert calls_of(accept(items)) == [("a", "get", '{"x":1}')]


def test_fragments_of_parallel_calls_interleave() -> None:
    items = rounds(
        fragment(index=0, id="a", name="get", arguments=""),
        fragment(index=1, id="b", name="put", arguments=""),
        fragment(index=0, arguments='{"x"'),
        fragment(index=1, arguments='{"y"'),
        fragment(index=0, arguments=":1}"),
        fragment(index=1, arguments=":2}"),
    )
    completion = accept(items)
    assert calls_of(completion) == [("a", "get", '{"x":1}'), ("b", "put", '{"y":2}')]
    shown = [each for each in updates_of(items) if isinstance(each, ToolArgumentsDelta)]
    assert [(each.index, each.text) for each in shown] == [
        (0, '{"x"'),
        (1, '{"y"'),
        (0, ":1}"),
        (1, ":2}"),
    ]


@pytest.mark.parametrize("late", [{"id": "a"}, {"name": "get"}, {"id": "a", "name": "get"}])
def test_arguments_before_id_or_name_are_held_and_shown_at_once(late: Payload) -> None:
    early = {key: value for key, value in {"id": "a", "name": "get"}.items() if key not in late}
    items = rounds(
        fragment(index=0, arguments='{"x"', **early),
        fragment(index=0, arguments=":1"),
        fragment(index=0, **late),
        fragment(index=0, arguments="}"),
    )
    assert calls_of(accept(items)) == [("a", "get", '{"x":1}')]
    assert updates_of(items) == [
        ToolCallStarted(0, "a", "get"),
        ToolArgumentsDelta(0, '{"x":1'),
        ToolArgumentsDelta(0, "}"),
        Finished("tool_calls"),
    ]


def test_name_that_never_comes_is_never_run() -> None:
    items = rounds(fragment(index=0, id="a", arguments="{}"))
    completion = tolerate(items, "tool_name_missing")
    assert_none_runs(completion)
    assert completion.tool_calls[0].problem == completion.findings[0]
    refuse("tool_name_missing", 2, items)
    assert updates_of(items)[0] == ToolCallStarted(0, "a", "")


@pytest.mark.parametrize("late", [False, True])
def test_thought_signature_stays_with_its_call(late: bool) -> None:
    signed = {"google": {"thought_signature": "c2ln"}}
    second = fragment(index=1, id="c1", name="put", arguments="{}")
    first = GET if late else {**GET, "extra_content": signed}
    bare = chunk(choice({"extra_content": signed}))
    items = [calling(first), *([bare] if late else []), calling(second), ends("tool_calls"), DONE]
    entries = accept(items).message["tool_calls"]
    assert entries[0]["extra_content"] == signed
    assert "extra_content" not in entries[1]


def test_thought_signature_is_merged_deep_and_repeated_once() -> None:
    items = rounds(
        {**GET, "extra_content": {"google": {"thought_signature": "c2ln"}}},
        {"index": 0, "extra_content": {"google": {"thought_signature": "c2ln", "x": 1}}},
        {"index": 0, "extra_content": None},
    )
    (entry,) = accept(items).message["tool_calls"]
    assert entry["extra_content"] == {"google": {"thought_signature": "c2ln", "x": 1}}


def test_thought_signature_without_a_call_is_in_the_message() -> None:
    signed = {"google": {"thought_signature": "c2ln"}}
    completion = accept([says("a"), chunk(choice({"extra_content": signed})), ends(), DONE])
    assert completion.message == {"role": "assistant", "content": "a", "extra_content": signed}


def test_fields_of_a_call_that_nobody_knows_are_in_the_message() -> None:
    (entry,) = accept(rounds({**GET, "new": {"x": 1}}, {"index": 0, "new": {"y": 2}})).message[
        "tool_calls"
    ]
    assert entry["new"] == {"x": 1, "y": 2}


def test_fields_of_a_function_that_nobody_knows_are_in_the_message() -> None:
    function = {"name": "get", "arguments": "{}", "provider_specific_fields": {"signature": "s"}}
    (entry,) = accept(rounds({"index": 0, "id": "a", "function": function})).message["tool_calls"]
    assert entry["function"] == function


def test_id_of_an_earlier_round_is_a_departure() -> None:
    completion = tolerate(rounds(GET), "tool_id_reused", seen_call_ids=["c0"])
    assert completion.findings[0].event == 1
    refuse("tool_id_reused", 1, rounds(GET), seen_call_ids=["c0"])
    assert accept(rounds(GET), seen_call_ids=["c1"]).complete


def test_id_of_a_call_in_another_choice_is_a_departure() -> None:
    items = [
        chunk(choice({"tool_calls": [GET]}), choice({"tool_calls": [GET]}, index=1)),
        chunk(choice(finish="tool_calls"), choice(finish="tool_calls", index=1)),
    ]
    # Whoever takes one of the answers runs one of the calls.
    assert tolerate(items, "tool_id_reused").complete
    refuse("tool_id_reused", 1, items)


def test_tool_that_is_not_known_is_a_departure() -> None:
    completion = tolerate(rounds(GET), "unknown_tool", known_tools={"put"})
    assert completion.findings[0].event == 1
    refuse("unknown_tool", 1, rounds(GET), known_tools={"put"})
    refuse("unknown_tool", 1, rounds(GET), known_tools=())
    assert accept(rounds(GET), known_tools={"get"}).complete


@pytest.mark.parametrize("nothing", [None, []])
def test_tool_calls_of_nothing_are_none(nothing: Any) -> None:
    items = [says("a", tool_calls=nothing), says("b", tool_calls=nothing), ends(), DONE]
    completion = accept(items)
    assert (completion.text, completion.tool_calls) == ("ab", ())
    assert "tool_calls" not in completion.message


@pytest.mark.parametrize("value", [GET, "x", [GET, 5], 7])
def test_tool_calls_that_are_no_array_of_objects_let_nothing_run(value: Any) -> None:
    items = [calling(GET), chunk(choice({"tool_calls": value})), ends("tool_calls"), DONE]
    completion = run(ChatCompletionsAssembler(), items)
    assert "field_invalid" in codes(completion)
    assert_none_runs(completion)
    refuse("field_invalid", 2, items)


@pytest.mark.parametrize(
    "entry",
    [
        {"index": 0, "id": 5},
        {"index": 0, "type": ["function"]},
        {"index": 0, "function": '{"name":"get"}'},
        {"index": 0, "function": {"name": ["get"]}},
    ],
)
def test_member_of_a_call_of_the_wrong_type_lets_nothing_run(entry: Payload) -> None:
    items = rounds(GET, entry)
    assert_none_runs(tolerate(items, "field_invalid"))
    refuse("field_invalid", 2, items)


def test_message_of_calls_is_what_was_called() -> None:
    message = accept(rounds(GET, fragment(index=1, id="c1", name="put"))).message
    functions = [entry["function"] for entry in message["tool_calls"]]
    assert [json.loads(function["arguments"]) for function in functions] == [{"a": 1}, {}]
