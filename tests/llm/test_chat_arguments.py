"""Arguments of calls in Chat Completions: every form, what never runs, custom and legacy calls."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from sansio_sse.llm import (
    AssemblyError,
    ChatCompletionsAssembler,
    Finished,
    InvalidToolCall,
    ToolArgumentsDelta,
    ToolCall,
    ToolCallStarted,
)

from .streams import DONE, codes, event, failure, run
from .test_chat_quirks import (
    GET,
    Payload,
    accept,
    calling,
    choice,
    chunk,
    deltas,
    ends,
    fragment,
    refuse,
    rounds,
    says,
    tolerate,
    updates_of,
)

if TYPE_CHECKING:
    from sansio_sse import Event


def get(*pieces: Any) -> list[Payload]:
    """The fragments of a call whose arguments come in these pieces."""
    first = fragment(index=0, id="c0", name="get", arguments=pieces[0])
    return [first, *(fragment(index=0, arguments=piece) for piece in pieces[1:])]


def the_call(*pieces: Any, finish: str = "tool_calls") -> ToolCall:
    (call,) = run(ChatCompletionsAssembler(), rounds(*get(*pieces), finish=finish)).tool_calls
    return call


def assert_refused(call: ToolCall, code: str) -> None:
    assert not call.complete
    assert call.problem is not None
    assert call.problem.code == code
    with pytest.raises(InvalidToolCall) as raised:
        call.parse()
    assert raised.value.code == code
    assert raised.value.call == call


def test_arguments_as_an_object_are_compact_json() -> None:
    items = rounds(*get({"city": "Köln", "n": [1, 2.5, None, True]}))
    completion = tolerate(items, "arguments_not_string")
    (call,) = completion.tool_calls
    assert call.arguments == '{"city":"Köln","n":[1,2.5,null,true]}'
    assert call.parse() == {"city": "Köln", "n": [1, 2.5, None, True]}
    assert completion.message["tool_calls"][0]["function"]["arguments"] == call.arguments
    assert completion.complete
    assert refuse("arguments_not_string", 1, items).partial is not None


def test_arguments_as_the_same_object_again_are_read_once() -> None:
    items = rounds(*get({"x": 1}, {"x": 1}, ""))
    completion = tolerate(items, "arguments_not_string")
    assert completion.tool_calls[0].arguments == '{"x":1}'
    assert completion.complete
    refuse("arguments_not_string", 1, items)


@pytest.mark.parametrize(
    "pieces",
    [({"x": 1}, {"x": 2}), ({"x": 1}, {}), ('{"x"', {"x": 1}), ({}, {"x": 1}), ({"x": 1}, [1])],
)
def test_arguments_as_two_different_objects_are_never_run(pieces: tuple[Any, ...]) -> None:
    assert_refused(the_call(*pieces), "arguments_not_string")


@pytest.mark.parametrize("pieces", [({"x": 1}, '{"x":1}'), ({"x": 1}, "}"), ({}, '{"x":1}')])
def test_arguments_as_an_object_and_then_text_are_not_valid(pieces: tuple[Any, ...]) -> None:
    assert_refused(the_call(*pieces), "arguments_invalid_json")


@pytest.mark.parametrize("value", [[], [{"x": 1}], 5, 0, 2.5, True, False])
def test_arguments_of_another_type_are_no_object(value: Any) -> None:
    items = rounds(*get(value))
    (call,) = tolerate(items, "arguments_not_string").tool_calls
    assert call.arguments == json.dumps(value, separators=(",", ":"))
    assert_refused(call, "arguments_not_object")
    refuse("arguments_not_string", 1, items)


@pytest.mark.parametrize("text", ["[]", '[{"x":1}]', '"x"', "5", "null", "true", '"{\\"x\\":1}"'])
def test_arguments_of_text_that_is_no_object_are_refused(text: str) -> None:
    assert_refused(the_call(text), "arguments_not_object")
    error = refuse("arguments_not_object", None, rounds(*get(text)))
    assert isinstance(error, InvalidToolCall)
    assert error.call is not None
    assert error.call.arguments == text


@pytest.mark.parametrize("pieces", [('{"n":', "2", "}"), ('{"n":', "", "2", None, "}")])
def test_arguments_are_joined_as_text_whatever_a_piece_looks_like(pieces: tuple[Any, ...]) -> None:
    (call,) = accept(rounds(*get(*pieces))).tool_calls
    assert call.parse() == {"n": 2}


@pytest.mark.parametrize("nothing", [None, "", " ", "\n"])
def test_arguments_null_or_empty_are_an_empty_object(nothing: Any) -> None:
    completion = accept(rounds(*get(nothing)))
    (call,) = completion.tool_calls
    assert call.arguments == (nothing or "")
    assert (call.parse(), call.complete) == ({}, True)
    assert json.loads(completion.message["tool_calls"][0]["function"]["arguments"]) == {}


def test_arguments_missing_are_an_empty_object() -> None:
    (call,) = accept(rounds(fragment(index=0, id="c0", name="get"))).tool_calls
    assert (call.arguments, call.parse()) == ("", {})


@pytest.mark.parametrize("nothing", [None, ""])
def test_arguments_null_at_first_come_later(nothing: Any) -> None:
    items = rounds(*get(nothing, '{"x"', nothing, ":1}"))
    (call,) = accept(items).tool_calls
    assert call.parse() == {"x": 1}
    assert ToolArgumentsDelta(0, "") not in updates_of(items)


@pytest.mark.parametrize("pieces", [('{"a":1}', '{"a":1}'), ('{"a', '":1}', '{"a":1}')])
def test_arguments_once_more_as_a_whole_are_not_valid(pieces: tuple[str, ...]) -> None:
    assert_refused(the_call(*pieces), "arguments_invalid_json")
    refuse("arguments_invalid_json", None, rounds(*get(*pieces)))
    (call,) = run(ChatCompletionsAssembler(cumulative=True), rounds(*get(*pieces))).tool_calls
    assert call.parse() == {"a": 1}


CUT = ['{"amount": 10', "{", '{"a":"x', '{"a":{"b":1}', '{"a":1,', "[1", '{"a":tru']


@pytest.mark.parametrize("text", CUT)
@pytest.mark.parametrize(
    ("finish", "code"),
    [
        ("tool_calls", "arguments_invalid_json"),
        ("length", "truncated_call"),
        ("content_filter", "truncated_call"),
    ],
)
def test_arguments_that_are_cut_are_never_run(text: str, finish: str, code: str) -> None:
    call = the_call(text, finish=finish)
    assert call.arguments == text
    assert_refused(call, code)
    error = refuse(code, None, rounds(*get(text), finish=finish))
    assert isinstance(error, InvalidToolCall)
    assert error.call is not None
    assert error.call.arguments == text


@pytest.mark.parametrize("finish", ["length", "content_filter", "eos_of_some_kind", "error"])
def test_arguments_that_are_empty_are_not_whole_where_the_answer_was_cut(finish: str) -> None:
    assert_refused(the_call("", finish=finish), "truncated_call")
    assert the_call('{"a":1}', finish=finish).complete


def test_call_that_is_whole_may_be_run_where_the_next_one_was_cut() -> None:
    entries = [GET, fragment(index=1, id="c1", name="put", arguments='{"a":')]
    items = rounds(*entries, finish="length")
    completion = tolerate(items)
    assert not completion.complete
    first, second = completion.tool_calls
    assert first.parse() == {"a": 1}
    assert_refused(second, "truncated_call")
    refuse("truncated_call", None, items)


DEEP = 100_000
HUGE = "9" * 5_000


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('{"a":1,"a":2}', "arguments_duplicate_key"),
        ('{"a":1,"a":1}', "arguments_duplicate_key"),
        ('{"a":[{"b":{"c":1,"c":2}}]}', "arguments_duplicate_key"),
        ('{"a":1,"\\u0061":2}', "arguments_duplicate_key"),
        ('{"a":NaN}', "arguments_invalid_json"),
        ('{"a":Infinity}', "arguments_invalid_json"),
        ('{"a":[-Infinity]}', "arguments_invalid_json"),
        ('{"a":1e999}', "arguments_invalid_json"),
        ('{"a":-1e999}', "arguments_invalid_json"),
        ('{"a":' + HUGE + "}", "arguments_invalid_json"),
        ('{"a":' * DEEP + "1" + "}" * DEEP, "arguments_invalid_json"),
        ('{"a":' + "[" * DEEP + "]" * DEEP + "}", "arguments_invalid_json"),
        ("{'a':1}", "arguments_invalid_json"),
        ('{"a":1,}', "arguments_invalid_json"),
        ('{"a":1}}', "arguments_invalid_json"),
        ('{"a":1} // x', "arguments_invalid_json"),
        ('```json\n{"a":1}\n```', "arguments_invalid_json"),
        ('{"a":"x\ny"}', "arguments_invalid_json"),
        ('{"a":01}', "arguments_invalid_json"),
        ('\ufeff{"a":1}', "arguments_invalid_json"),
        ("{}{}", "arguments_invalid_json"),
        ("None", "arguments_invalid_json"),
    ],
    ids=range(22),
)
def test_arguments_that_are_not_exact_json_are_refused(text: str, code: str) -> None:
    call = the_call(text)
    assert call.arguments == text
    assert_refused(call, code)
    error = failure(ChatCompletionsAssembler(strict=True), rounds(*get(text)))
    assert isinstance(error, InvalidToolCall)
    assert (error.code, error.event) == (code, None)


def as_object(text: str) -> list[Event]:
    """A stream with a call whose arguments are this JSON and no text."""
    payload = calling(*get("@")).data.replace('"@"', text)
    return [says("a"), event(payload), ends("tool_calls"), DONE]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('{"a":1,"a":2}', "arguments_duplicate_key"),
        ('{"a":[{"b":1,"b":1}]}', "arguments_duplicate_key"),
        ('{"a":NaN}', "arguments_invalid_json"),
        ('{"a":-Infinity}', "arguments_invalid_json"),
        ('{"a":1e999}', "arguments_invalid_json"),
    ],
)
def test_arguments_as_an_object_that_is_not_exact_are_refused(text: str, code: str) -> None:
    (call,) = run(ChatCompletionsAssembler(), as_object(text)).tool_calls
    assert_refused(call, code)
    error = failure(ChatCompletionsAssembler(strict=True), as_object(text))
    assert error.event == 2
    assert error.code in (code, "arguments_not_string")


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("depth", [100, 900, 5_000, DEEP])
@pytest.mark.parametrize(("opened", "closed"), [('{"a":', "}"), ("[", "]")], ids=["object", "list"])
def test_arguments_as_an_object_nested_deep_raise_nothing_foreign(
    opened: str, closed: str, depth: int, strict: bool
) -> None:
    text = '{"a":' + opened * depth + "1" + closed * depth + "}"
    try:
        completion = run(ChatCompletionsAssembler(strict=strict), as_object(text))
    except AssemblyError as error:
        assert error.event == 2
    else:
        (call,) = completion.tool_calls
        assert call.arguments == text


@pytest.mark.parametrize("strict", [False, True])
def test_arguments_as_an_object_with_a_huge_integer_raise_nothing_foreign(strict: bool) -> None:
    error = failure(ChatCompletionsAssembler(strict=strict), as_object('{"a":' + HUGE + "}"))
    assert (error.code, error.event) == ("invalid_json", 2)


def decimals(text: str) -> Any:
    return json.loads(text, parse_int=Decimal, parse_float=Decimal)


def test_arguments_as_an_object_of_another_parser_raise_nothing_foreign() -> None:
    assembler = ChatCompletionsAssembler(loads=decimals)
    try:
        completion = run(assembler, as_object('{"a":' + HUGE + "}"))
    except AssemblyError as error:
        assert error.event == 2
    else:
        assert not completion.tool_calls[0].complete


def test_own_check_refuses_by_an_exception_or_by_false() -> None:
    seen: list[tuple[str, Any]] = []

    def check(name: str, arguments: Any) -> bool | None:
        seen.append((name, arguments))
        if name == "raises":
            raise KeyError("no")
        return {"false": False, "none": None}.get(name, True)

    names = ("true", "false", "none", "raises", "broken")
    entries = [
        fragment(index=index, id=name, name=name, arguments='{"a":' if name == "broken" else "")
        for index, name in enumerate(names)
    ]
    completion = tolerate(rounds(*entries), validate=check)
    assert not completion.complete
    problems = [call.problem and call.problem.code for call in completion.tool_calls]
    assert problems == [
        None,
        "arguments_refused",
        None,
        "arguments_refused",
        "arguments_invalid_json",
    ]
    assert ("true", {}) in seen
    assert "broken" not in {name for name, _ in seen}
    assert_refused(completion.tool_calls[3], "arguments_refused")
    for index, name in ((1, "false"), (3, "raises")):
        error = refuse("arguments_refused", None, rounds({**entries[index]}), validate=check)
        assert isinstance(error, InvalidToolCall)
        assert error.call is not None
        assert error.call.name == name


def test_own_check_is_never_asked_before_the_end() -> None:
    seen: list[str] = []
    assembler = ChatCompletionsAssembler(validate=lambda name, _: seen.append(name))
    for item in rounds(GET):
        assembler.feed(item)
        assert seen == []
    assert assembler.finish().complete
    assert seen == ["get"]


def custom(**fields: Any) -> Payload:
    body = {name: fields.pop(name) for name in ("name", "input") if name in fields}
    return {"index": 0, **fields, "custom": body}


@pytest.mark.parametrize("kind", [{}, {"type": None}, {"type": "custom"}])
def test_custom_tool_has_text_as_input(kind: Payload) -> None:
    items = rounds(
        custom(id="c0", type="custom", name="sh", input="ls"),
        custom(input=" -l", **kind),
        custom(input='{"a":', **kind),
    )
    completion = tolerate(items, "unsupported_tool_type")
    (call,) = completion.tool_calls
    assert (call.id, call.name, call.kind) == ("c0", "sh", "custom")
    assert call.complete
    assert call.parse() == call.arguments == 'ls -l{"a":'
    assert completion.message["tool_calls"] == [
        {"id": "c0", "type": "custom", "custom": {"name": "sh", "input": 'ls -l{"a":'}}
    ]
    assert updates_of(items)[:2] == [
        ToolCallStarted(0, "c0", "sh", kind="custom"),
        ToolArgumentsDelta(0, "ls"),
    ]
    refuse("unsupported_tool_type", 1, items)


def test_custom_tool_without_a_type_is_one() -> None:
    items = rounds(custom(id="c0", name="sh", input="ls"))
    assert tolerate(items, "unsupported_tool_type").tool_calls[0].kind == "custom"
    refuse("unsupported_tool_type", 1, items)


def test_custom_tool_whose_input_was_cut_is_never_run() -> None:
    items = rounds(custom(id="c0", type="custom", name="sh", input="rm -rf /tmp"), finish="length")
    (call,) = tolerate(items, "unsupported_tool_type").tool_calls
    assert_refused(call, "truncated_call")


def test_custom_null_beside_a_function_is_a_function() -> None:
    items = rounds(
        {**GET, "custom": None, "function": {"name": "get", "arguments": '{"a"'}},
        {
            "index": 0,
            "id": None,
            "type": None,
            "custom": None,
            "function": {"name": None, "arguments": ":1}"},
        },
    )
    (call,) = accept(items).tool_calls
    assert (call.kind, call.name, call.arguments) == ("function", "get", '{"a":1}')


def test_type_that_changes_does_not_make_cut_arguments_a_text_to_run() -> None:
    items = rounds(
        fragment(index=0, id="c0", type="function", name="get", arguments='{"a":'),
        {"index": 0, "type": "custom"},
    )
    completion = tolerate(items, "unsupported_tool_type")
    assert not completion.tool_calls[0].complete
    refuse("unsupported_tool_type", 2, items)


def legacy(*pieces: Any, finish: str = "function_call", name: str = "get") -> list[Event]:
    first: Payload = {"function_call": {"name": name, "arguments": pieces[0]}}
    more: list[Payload] = [{"function_call": {"arguments": piece}} for piece in pieces[1:]]
    return deltas({"content": None, **first}, *more, finish=finish)


def test_legacy_function_call_has_no_id() -> None:
    items = legacy("", '{"a"', ":1}")
    completion = accept(items)
    (call,) = completion.tool_calls
    assert (call.id, call.name, call.kind) == ("", "get", "function_call")
    assert call.parse() == {"a": 1}
    assert completion.complete
    assert (completion.finish_reason, completion.choices[0].ending) == (
        "function_call",
        "tool_calls",
    )
    assert completion.message == {
        "role": "assistant",
        "content": None,
        "function_call": {"name": "get", "arguments": '{"a":1}'},
    }
    assert updates_of(items) == [
        ToolCallStarted(0, "", "get", kind="function_call"),
        ToolArgumentsDelta(0, '{"a":1}'),
        Finished("function_call"),
    ]


@pytest.mark.parametrize("nothing", [None, {}])
def test_legacy_function_call_of_nothing_is_none(nothing: Any) -> None:
    assert accept(deltas({"content": "a", "function_call": nothing})).tool_calls == ()


def test_legacy_function_call_with_an_object_or_repeated_name() -> None:
    items = legacy({"a": 1})
    assert tolerate(items, "arguments_not_string").tool_calls[0].parse() == {"a": 1}
    refuse("arguments_not_string", 1, items)
    same: list[Payload] = [{"function_call": {"name": "get", "arguments": a}} for a in ("{", "}")]
    assert accept(deltas(*same, finish="function_call")).tool_calls[0].name == "get"


def test_legacy_function_call_whose_name_changes_is_never_run() -> None:
    both: list[Payload] = [{"function_call": {"name": name}} for name in ("get", "put")]
    items = deltas(*both, finish="function_call")
    assert_refused(tolerate(items, "tool_name_changed").tool_calls[0], "tool_name_changed")
    refuse("tool_name_changed", 2, items)


@pytest.mark.parametrize(
    ("finish", "code"), [("function_call", "arguments_invalid_json"), ("length", "truncated_call")]
)
def test_legacy_function_call_that_is_cut_is_never_run(finish: str, code: str) -> None:
    items = legacy('{"a":', finish=finish)
    assert_refused(tolerate(items).tool_calls[0], code)
    refuse(code, None, items)


def test_legacy_function_call_without_a_name_is_never_run() -> None:
    items = deltas({"function_call": {"arguments": "{}"}}, finish="function_call")
    assert_refused(tolerate(items, "tool_name_missing").tool_calls[0], "tool_name_missing")
    refuse("tool_name_missing", 2, items)


def test_legacy_function_call_of_an_unknown_tool_is_a_departure() -> None:
    tolerate(legacy("{}"), "unknown_tool", known_tools=["put"])
    refuse("unknown_tool", 2, legacy("{}"), known_tools=["put"])


def test_arguments_of_each_choice_are_judged_by_its_own_finish_reason() -> None:
    def part(index: int) -> Payload:
        return choice({"tool_calls": [{**GET, "id": f"c{index}", "function": body}]}, index=index)

    body = {"name": "get", "arguments": ""}
    items = [
        chunk(part(0), part(1)),
        chunk(choice(finish="length"), choice(finish="tool_calls", index=1)),
    ]
    completion = run(ChatCompletionsAssembler(), items)
    assert codes(completion) == []
    assert [each.tool_calls[0].complete for each in completion.choices] == [False, True]
    assert not completion.complete
