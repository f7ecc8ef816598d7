"""Values: what a completion, its calls and the updates are."""

from __future__ import annotations

import copy
import json
import pickle
from decimal import Decimal
from typing import Any

import pytest

from sansio_sse.llm import (
    Choice,
    Completion,
    Finding,
    Finished,
    InvalidToolCall,
    ReasoningDelta,
    ReasoningPart,
    RefusalDelta,
    RefusalPart,
    TextDelta,
    TextPart,
    ToolArgumentsDelta,
    ToolCall,
    ToolCallStarted,
    Usage,
    UsageUpdate,
)

USAGE = Usage(1, 2, 3, 0, 0, {"prompt_tokens": 1})


def call(arguments: str = "{}", **fields: Any) -> ToolCall:
    given = {"index": 0, "kind": "function", "complete": True, **fields}
    return ToolCall("call_1", "pay", arguments, **given)


CHOICE = Choice(
    index=0,
    parts=(ReasoningPart("hm"), TextPart("a"), RefusalPart("no"), call(), TextPart("b")),
    finish_reason="stop",
    ending="stop",
    message={"role": "assistant"},
    extra={},
)
COMPLETION = Completion(
    id="c", model="m", choices=(CHOICE,), usage=USAGE, complete=True, extra={}, findings=()
)
VALUES = [
    TextDelta("a"),
    RefusalDelta("a"),
    ReasoningDelta("a"),
    ToolCallStarted(0, "call_1", "pay"),
    ToolArgumentsDelta(0, "a"),
    Finished("a"),
    UsageUpdate(USAGE),
    TextPart("a"),
    RefusalPart("a"),
    ReasoningPart("a"),
    call(),
    CHOICE,
    COMPLETION,
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_values_survive_copy_and_pickle_and_are_equal_to_themselves_alone(value: object) -> None:
    for other in (copy.copy(value), copy.deepcopy(value), pickle.loads(pickle.dumps(value))):
        assert other == value
        assert other is not value
    assert [other for other in VALUES if other == value] == [value]
    assert value != "a"


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_values_cannot_be_changed(value: object) -> None:
    name = next(iter(vars(value)))
    with pytest.raises(AttributeError, match=f"cannot set '{name}'"):
        setattr(value, name, "other")
    with pytest.raises(AttributeError, match=f"cannot delete '{name}'"):
        delattr(value, name)


def test_values_of_different_kinds_are_two_in_a_set() -> None:
    assert len({TextDelta("a"), TextDelta("a"), RefusalDelta("a"), TextPart("a")}) == 3


def test_representation_is_the_way_to_make_the_value() -> None:
    update = ReasoningDelta("a", 1, 2, summary=True)
    assert repr(update) == "ReasoningDelta(text='a', choice=1, part=2, summary=True)"
    assert eval(repr(update)) == update


def test_updates_are_matched_by_position_and_name() -> None:
    match TextDelta("a", 1):
        case TextDelta(text, choice):
            assert (text, choice) == ("a", 1)
        case _:
            raise AssertionError
    match ToolCallStarted(1, "call_1", "pay"):
        case ToolCallStarted(index, call_id, name):
            assert (index, call_id, name) == (1, "call_1", "pay")
        case _:
            raise AssertionError


def test_completion_speaks_of_its_first_choice() -> None:
    assert COMPLETION.text == "ab"
    assert COMPLETION.reasoning == "hm"
    assert COMPLETION.refusal == "no"
    assert COMPLETION.tool_calls == (call(),)
    assert COMPLETION.finish_reason == "stop"
    assert COMPLETION.message == {"role": "assistant"}


@pytest.mark.parametrize("index", [None, 1])
def test_completion_without_choice_0_has_nothing_to_say(index: int | None) -> None:
    choices = () if index is None else (Choice(**{**vars(CHOICE), "index": index}),)
    completion = Completion(**{**vars(COMPLETION), "choices": choices})
    assert (completion.text, completion.reasoning, completion.refusal) == ("", "", "")
    assert completion.tool_calls == ()
    assert completion.finish_reason is None
    assert completion.message is None


@pytest.mark.parametrize("arguments", ["", " ", "{}", "\n{ }"])
def test_no_arguments_are_an_empty_object(arguments: str) -> None:
    assert call(arguments).parse() == {}


def test_arguments_are_parsed() -> None:
    text = '{"a": [1, 2.5, null, true, "\\u00e9", {"b": {}}], "é": -0.0, "big": 1e308}'
    assert call(text).parse() == json.loads(text)


REFUSED = {
    '{"a": 10': "arguments_invalid_json",
    '{"a": 1}}': "arguments_invalid_json",
    '{"a": 1}{"a": 1}': "arguments_invalid_json",
    '{"a": NaN}': "arguments_invalid_json",
    '{"a": Infinity}': "arguments_invalid_json",
    '{"a": [-Infinity]}': "arguments_invalid_json",
    '{"a": 1e999}': "arguments_invalid_json",
    '{"a": 1' + "0" * 5000 + "}": "arguments_invalid_json",
    "[" * 100_000: "arguments_invalid_json",
    '{"a": 1, "a": 1}': "arguments_duplicate_key",
    '{"x": [{"a": 1, "b": 2, "a": 3}]}': "arguments_duplicate_key",
    "{'a': 1}": "arguments_invalid_json",
    "x": "arguments_invalid_json",
    "null": "arguments_not_object",
    "true": "arguments_not_object",
    "1": "arguments_not_object",
    '"{}"': "arguments_not_object",
    "[{}]": "arguments_not_object",
}


@pytest.mark.parametrize("arguments", REFUSED, ids=lambda text: text[:30])
def test_arguments_that_are_not_one_exact_object_are_refused(arguments: str) -> None:
    asked = call(arguments)
    with pytest.raises(InvalidToolCall) as raised:
        asked.parse()
    assert raised.value.code == REFUSED[arguments]
    assert raised.value.call is asked
    assert str(raised.value).startswith("call 'call_1' of 'pay': ")
    assert len(str(raised.value)) < 300


def test_another_parser_makes_the_values_and_the_text_is_checked_all_the_same() -> None:
    def loads(text: str) -> Any:
        return json.loads(text, parse_float=Decimal)

    assert call('{"a": 1.10}').parse(loads) == {"a": Decimal("1.10")}
    with pytest.raises(InvalidToolCall) as raised:
        call('{"a": 1, "a": 2}').parse(loads)
    assert raised.value.code == "arguments_duplicate_key"

    def strange(text: str) -> Any:
        raise RuntimeError(f"no {text}")

    with pytest.raises(InvalidToolCall, match=r"no \{\}") as raised:
        call("{}").parse(strange)
    assert raised.value.code == "arguments_invalid_json"
    assert isinstance(raised.value.__cause__.__cause__, RuntimeError)  # type: ignore[union-attr]


def test_own_check_refuses_by_raising_or_by_false() -> None:
    def schema(name: str, arguments: Any) -> None:
        raise KeyError(f"{name} lacks an amount: {arguments}")

    with pytest.raises(InvalidToolCall, match=r"pay lacks an amount: \{\}") as raised:
        call("{}").parse(validate=schema)
    assert raised.value.code == "arguments_refused"
    with pytest.raises(InvalidToolCall, match="refused by validate"):
        call("{}").parse(validate=lambda *_: False)

    def silent(*_: Any) -> None:
        raise ValueError

    with pytest.raises(InvalidToolCall, match="ValueError"):
        call("{}").parse(validate=silent)
    verdicts: list[object] = [None, True, 0, {}]
    for verdict in verdicts:
        assert call("{}").parse(validate=lambda *_, verdict=verdict: verdict) == {}


def test_call_with_a_problem_is_never_parsed() -> None:
    problem = Finding("truncated_call", "cut off", 7)
    with pytest.raises(InvalidToolCall, match="cut off") as raised:
        call("{}", complete=False, problem=problem).parse()
    assert (raised.value.code, raised.value.event) == ("truncated_call", 7)


def test_input_of_a_custom_tool_is_text_and_never_json() -> None:
    assert call('{"a": 1}', kind="custom").parse() == '{"a": 1}'
    assert call("", kind="custom").parse() == ""
    with pytest.raises(InvalidToolCall):
        call("drop", kind="custom").parse(validate=lambda _, text: text != "drop")
