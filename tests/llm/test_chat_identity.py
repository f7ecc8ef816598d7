"""Which call of Chat Completions a fragment is of: by id, by index, by the last call opened."""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

import pytest

from sansio_sse.llm import (
    ChatCompletionsAssembler,
    Finished,
    InvalidPayload,
    InvalidToolCall,
    ToolArgumentsDelta,
    ToolCallStarted,
)

from .streams import DONE, codes, failure, run
from .test_chat_calls import assert_none_runs, calls_of
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
    tolerate,
    updates_of,
)


def test_index_missing_and_a_new_id_opens_a_call() -> None:
    items = [
        calling(fragment(id="a", name="get", arguments='{"x":1}')),
        calling(fragment(id="b", name="put", arguments='{"y"'), fragment(arguments=":2}")),
        ends("tool_calls"),
        DONE,
    ]
    completion = tolerate(items, "tool_index_missing")
    assert calls_of(completion) == [("a", "get", '{"x":1}'), ("b", "put", '{"y":2}')]
    assert completion.complete
    assert refuse("tool_index_missing", 1, items).partial is not None


def test_index_missing_and_several_calls_in_one_delta() -> None:
    entries = [fragment(id=name, name=name, arguments="{}") for name in ("get", "put")]
    completion = tolerate([calling(*entries), ends("tool_calls")], "tool_index_missing")
    assert calls_of(completion) == [("get", "get", "{}"), ("put", "put", "{}")]


def test_index_and_id_missing_and_a_name_opens_a_call() -> None:
    items = rounds(
        fragment(name="get", arguments='{"x"'),
        fragment(arguments=":1}"),
        fragment(name="get", arguments='{"y":2}'),
    )
    completion = tolerate(items, "tool_index_missing", "tool_id_missing")
    assert calls_of(completion) == [("call_0", "get", '{"x":1}'), ("call_1", "get", '{"y":2}')]
    refuse("tool_index_missing", 1, items)


def test_index_null_is_missing() -> None:
    items = rounds(
        fragment(index=None, id="a", name="get", arguments="{}"),
        fragment(index=None, id="b", name="put", arguments="{}"),
    )
    assert len(tolerate(items, "tool_index_missing").tool_calls) == 2
    refuse("tool_index_missing", 1, items)


def test_index_that_comes_after_the_call_began_without_one_loses_no_arguments() -> None:
    items = rounds(fragment(id="a", name="get"), fragment(index=0, arguments='{"x":1}'))
    completion = run(ChatCompletionsAssembler(), items)
    (first, *_) = completion.tool_calls
    assert not first.complete or first.parse() == {"x": 1}
    refuse("tool_index_missing", 1, items)


def test_index_of_no_call_leaves_arguments_that_may_be_of_any_of_them() -> None:
    items = rounds(fragment(index=0, id="a", name="get"), fragment(index=1, arguments='{"x":1}'))
    assert_none_runs(tolerate(items, "tool_name_missing", "tool_id_missing"))
    refuse("tool_name_missing", 3, items)


@pytest.mark.parametrize("entry_of_both", [False, True])
def test_index_0_for_each_call_and_different_ids(entry_of_both: bool) -> None:
    entries = [
        fragment(index=0, id="a", name="get", arguments='{"x":1}'),
        fragment(index=0, id="b", name="put", arguments='{"y"'),
        fragment(index=0, arguments=":2}"),
    ]
    items = [calling(*entries), *rounds()] if entry_of_both else rounds(*entries)
    completion = tolerate(items, "tool_id_changed")
    assert calls_of(completion) == [("a", "get", '{"x":1}'), ("b", "put", '{"y":2}')]
    assert completion.complete
    assert refuse("tool_id_changed", 1 if entry_of_both else 2, items).partial is not None


def test_index_0_for_each_call_and_their_fragments_by_id() -> None:
    items = rounds(
        fragment(index=0, id="a", name="get", arguments='{"x"'),
        fragment(index=0, id="b", name="put", arguments='{"y"'),
        fragment(index=0, id="a", arguments=":1}"),
        fragment(index=0, id="b", arguments=":2}"),
    )
    completion = run(ChatCompletionsAssembler(), items)
    assert calls_of(completion) == [("a", "get", '{"x":1}'), ("b", "put", '{"y":2}')]
    assert "tool_id_changed" in codes(completion)
    refuse("tool_id_changed", 2, items)


def test_index_0_for_two_calls_and_arguments_that_may_be_of_either() -> None:
    items = rounds(
        fragment(index=0, id="a", name="get", arguments=""),
        fragment(index=0, id="b", name="put", arguments=""),
        fragment(index=0, arguments='{"x":1}'),
        fragment(index=0, arguments='{"y":2}'),
    )
    assert_none_runs(tolerate(items, "tool_id_changed"))
    refuse("tool_id_changed", 2, items)


def test_index_0_for_two_calls_without_an_id_glues_their_arguments() -> None:
    items = rounds(
        fragment(index=0, id="a", name="get", arguments='{"path":""}'),
        fragment(index=0, arguments='{"path":"content"}'),
    )
    completion = tolerate(items)
    assert calls_of(completion) == [("a", "get", '{"path":""}{"path":"content"}')]
    assert_none_runs(completion)
    problem = completion.tool_calls[0].problem
    assert problem is not None
    assert problem.code == "arguments_invalid_json"
    error = refuse("arguments_invalid_json", None, items)
    assert isinstance(error, InvalidToolCall)
    assert error.call is not None
    assert error.call.id == "a"


@pytest.mark.parametrize("index", ["0", 0.0])
def test_index_of_another_type_is_the_number(index: Any) -> None:
    items = rounds(
        fragment(index=index, id="a", name="get", arguments='{"x"'),
        fragment(index=1, id="b", name="put", arguments="{}"),
        fragment(index=index, arguments=":1}"),
    )
    completion = tolerate(items, "tool_index_invalid")
    assert calls_of(completion) == [("a", "get", '{"x":1}'), ("b", "put", "{}")]
    assert completion.complete
    assert isinstance(refuse("tool_index_invalid", 1, items), InvalidPayload)


@pytest.mark.parametrize("index", [-1, -1.0, 0.5, True, False, "", "x", "-1", "٣", "1" * 5000, [0]])
def test_index_that_is_none_is_missing(index: Any) -> None:
    items = rounds(
        fragment(index=0, id="a", name="get", arguments="{}"),
        fragment(index=index, id="b", name="put", arguments='{"x"'),
        fragment(index=index, arguments=":1}"),
    )
    completion = tolerate(items, "tool_index_invalid")
    assert calls_of(completion) == [("a", "get", "{}"), ("b", "put", '{"x":1}')]
    refuse("tool_index_invalid", 2, items)


@pytest.mark.parametrize("indexes", [(1, 2), (0, 5), (1, 0), (10**30, 7)])
def test_indexes_with_gaps_or_out_of_order_are_keys(indexes: tuple[int, int]) -> None:
    first, second = indexes
    items = rounds(
        fragment(index=first, id="a", name="get", arguments='{"x"'),
        fragment(index=second, id="b", name="put", arguments='{"y"'),
        fragment(index=first, arguments=":1}"),
        fragment(index=second, arguments=":2}"),
    )
    completion = accept(items)
    assert calls_of(completion) == [("a", "get", '{"x":1}'), ("b", "put", '{"y":2}')]
    for strict in (False, True):
        assembler = ChatCompletionsAssembler(strict=strict, require_contiguous_indexes=True)
        error = failure(assembler, items)
        assert isinstance(error, InvalidPayload)
        number = 1 if first else 2
        assert (error.code, error.event) == ("tool_index_not_contiguous", number)


def test_indexes_that_count_up_in_each_choice_are_contiguous() -> None:
    entries = [fragment(index=place, id="", name="get") for place in (0, 1)]
    for entry, id in zip(entries, "ab", strict=True):
        entry["id"] = id
    others = [{**entry, "id": entry["id"] * 2} for entry in entries]
    items = [
        chunk(choice({"tool_calls": entries}), choice({"tool_calls": others}, index=1)),
        chunk(choice(finish="tool_calls"), choice(finish="tool_calls", index=1)),
    ]
    assert accept(items, require_contiguous_indexes=True).complete


@pytest.mark.parametrize("entry", [fragment(id="b", name="put"), {**GET, "id": "b"}])
def test_index_missing_or_repeated_is_not_contiguous(entry: Payload) -> None:
    error = failure(ChatCompletionsAssembler(require_contiguous_indexes=True), rounds(GET, entry))
    assert (error.code, error.event) == ("tool_index_not_contiguous", 2)


def test_one_id_on_two_indexes_is_one_call_and_a_departure() -> None:
    items = rounds(
        fragment(index=0, id="a", name="get", arguments='{"x"'),
        fragment(index=1, id="a", arguments=":1}"),
    )
    completion = tolerate(items, "tool_index_invalid")
    assert calls_of(completion) == [("a", "get", '{"x":1}')]
    refuse("tool_index_invalid", 2, items)


def test_one_id_on_the_index_of_another_call_is_a_departure() -> None:
    items = rounds(
        fragment(index=0, id="a", name="get", arguments="{}"),
        fragment(index=1, id="b", name="put", arguments='{"x"'),
        fragment(index=0, id="b", arguments=":1}"),
    )
    completion = tolerate(items, "tool_index_invalid")
    assert calls_of(completion) == [("a", "get", "{}"), ("b", "put", '{"x":1}')]
    refuse("tool_index_invalid", 3, items)


def test_id_that_comes_late_is_that_of_its_call() -> None:
    items = rounds(
        fragment(index=0, name="get", arguments='{"x"'),
        fragment(index=1, name="put", arguments='{"y"'),
        fragment(index=1, id="b", arguments=":2}"),
        fragment(index=0, id="a", name="get", arguments=":1}"),
    )
    assert calls_of(accept(items)) == [("a", "get", '{"x":1}'), ("b", "put", '{"y":2}')]
    assert updates_of(items) == [
        ToolCallStarted(1, "b", "put", part=1),
        ToolArgumentsDelta(1, '{"y":2}'),
        ToolCallStarted(0, "a", "get"),
        ToolArgumentsDelta(0, '{"x":1}'),
        Finished("tool_calls"),
    ]


def test_id_that_comes_late_without_an_index_is_that_of_the_last_call() -> None:
    items = rounds(fragment(name="get", arguments='{"x"'), fragment(id="a", arguments=":1}"))
    completion = tolerate(items, "tool_index_missing")
    assert calls_of(completion) == [("a", "get", '{"x":1}')]


def test_id_that_comes_late_with_another_name_opens_a_call() -> None:
    items = rounds(
        fragment(name="get", arguments="{}"), fragment(id="b", name="put", arguments="{}")
    )
    completion = tolerate(items, "tool_index_missing", "tool_id_missing")
    assert [call.name for call in completion.tool_calls] == ["get", "put"]
    assert completion.tool_calls[1].id == "b"


class Opened(NamedTuple):
    """A call as the rule sees it: what was said of it, and the numbers of its fragments."""

    id: str
    name: str
    fragments: str


Fragment = tuple[str, int | None, str]


def placed(fragments: tuple[Fragment, ...]) -> list[Opened]:
    """Where the fragments go: by a non-empty id, then by the index, then by the last call opened.

    An id that is new opens a call, unless it is that of a call that lacks one. Without id and index
    a name opens one.
    """
    calls: list[Opened] = []
    newest: dict[int, int] = {}
    for number, (id, index, name) in enumerate(fragments):
        place = next((n for n, call in enumerate(calls) if id and call.id == id), None)
        if place is None:
            place = newest.get(index) if index is not None else len(calls) - 1
            place = None if place == -1 else place
            if place is not None:
                call = calls[place]
                other = call.id if id else index is None and name
                if other or (id and name and call.name not in ("", name)):
                    place = None
        if place is None:
            place = len(calls)
            calls.append(Opened("", "", ""))
            if index is not None:
                newest[index] = place
        elif index is not None:
            newest.setdefault(index, place)
        call = calls[place]
        text = call.fragments + str(number)
        calls[place] = Opened(call.id or id, call.name or name, text)
    return calls


def assert_placed(fragments: tuple[Fragment, ...]) -> None:
    entries = [
        fragment(index=index, id=id, name=name, arguments=str(number))
        for number, (id, index, name) in enumerate(fragments)
    ]
    completion = run(ChatCompletionsAssembler(), rounds(*entries))
    found = [call.arguments for call in completion.tool_calls]
    expected = placed(fragments)
    assert found == [call.fragments for call in expected], fragments
    for call, opened in zip(completion.tool_calls, expected, strict=True):
        assert call.id == opened.id or not opened.id
        assert call.name == opened.name
        names = {fragments[int(number)][2] for number in opened.fragments} - {""}
        if len(names) != 1:
            assert call.problem is not None, fragments
        # Digits are never an object.
        assert not call.complete


def test_two_fragments_go_where_id_index_and_name_say() -> None:
    kinds = list(product(("", "a", "b"), (None, 0, 1), ("", "f", "g")))
    for fragments in product(kinds, repeat=2):
        assert_placed(fragments)


@pytest.mark.parametrize("names", list(product(("", "f"), repeat=3)), ids=str)
def test_three_fragments_go_where_id_and_index_say(names: tuple[str, ...]) -> None:
    kinds = list(product(("", "a", "b"), (None, 0, 1)))
    for keys in product(kinds, repeat=3):
        fragments = [(id, index, name) for (id, index), name in zip(keys, names, strict=True)]
        assert_placed(tuple(fragments))


def test_fragment_without_id_and_index_goes_to_the_last_call_opened() -> None:
    items = rounds(
        fragment(id="a", name="get", arguments='{"x"'),
        fragment(id="b", name="put", arguments='{"y"'),
        fragment(id="a", arguments=":1}"),
        fragment(arguments=":2}"),
    )
    completion = tolerate(items, "tool_index_missing")
    assert calls_of(completion) == [("a", "get", '{"x":1}'), ("b", "put", '{"y":2}')]


def test_two_different_ids_are_never_one_call() -> None:
    for indexes in product((None, 0, 1), repeat=2):
        for names in product(("", "f"), repeat=2):
            fragments = zip("ab", indexes, names, strict=True)
            entries = [fragment(id=id, index=index, name=name) for id, index, name in fragments]
            completion = run(ChatCompletionsAssembler(), rounds(*entries))
            assert [call.id for call in completion.tool_calls] == ["a", "b"]
