"""Calls of Responses streams that must never be run, and those that may be for all their quirks."""

from __future__ import annotations

from typing import Any

import pytest

from sansio_sse.llm import InvalidToolCall, ResponsesAssembler, ToolCallStarted

from .responses_writer import (
    ABSENT,
    COMPUTES,
    EXECUTES,
    GETS,
    LISTS,
    PUTS,
    REFUSES,
    SAYS,
    THINKS,
    THINKS_ALOUD,
    Item,
    Payload,
    arguments_of,
    around,
    assert_calls_as_announced,
    edited,
    events,
    function,
    inserted,
    lifecycle,
    message,
    number,
    placed,
    refuse,
    stream,
    text,
    tolerate,
    whole,
    without,
)
from .streams import codes, feed

ADDED = "response.output_item.added"
ITEM_DONE = "response.output_item.done"
ARGUMENTS_DELTA = "response.function_call_arguments.delta"
ARGUMENTS_DONE = "response.function_call_arguments.done"
INPUT_DONE = "response.custom_tool_call_input.done"
COMPLETED = "response.completed"
NULL_OUTPUT = edited([lifecycle("completed")], COMPLETED, {"response": {"output": None}})[0]
PAYS = function("fc_0", "pay", '{"amount":', "10}")
OTHER = '{"amount":100}'


def assert_not_run(payloads: list[Payload], code: str, place: int | None = None) -> None:
    """No call of the stream may be run; the code is found, and strictly it is an error."""
    completion = tolerate(payloads)
    assert code in codes(completion)
    assert completion.tool_calls
    assert not any(call.complete for call in completion.tool_calls)
    assert not completion.complete
    for call in completion.tool_calls:
        with pytest.raises(InvalidToolCall):
            call.parse()
    if place is not None:
        assert refuse(payloads) == (code, place)


@pytest.mark.parametrize("arguments", [OTHER, "", "{}", '{"amount":10,"to":"x"}'])
@pytest.mark.parametrize("item_too", [True, False], ids=["item agrees", "item differs"])
@pytest.mark.parametrize("null", [True, False], ids=["no output", "output"])
def test_responses_arguments_done_differ_from_deltas(
    arguments: str, item_too: bool, null: bool
) -> None:
    payloads = edited(stream(PAYS), ARGUMENTS_DONE, {"arguments": arguments})
    if item_too:
        payloads = edited(payloads, ITEM_DONE, {"item": {"arguments": arguments}})
    if null:
        payloads = [*payloads[:-1], NULL_OUTPUT]
    assert_not_run(payloads, "delta_done_mismatch", number(payloads, ARGUMENTS_DONE))


@pytest.mark.parametrize("arguments", [OTHER, "{}"])
@pytest.mark.parametrize("deltas", [True, False], ids=["deltas", "no deltas"])
@pytest.mark.parametrize("null", [True, False], ids=["no output", "output"])
def test_responses_item_done_with_other_arguments(arguments: str, deltas: bool, null: bool) -> None:
    payloads = edited(stream(PAYS), ITEM_DONE, {"item": {"arguments": arguments}})
    if not deltas:
        payloads = without(payloads, ARGUMENTS_DELTA)
    if null:
        payloads = [*payloads[:-1], NULL_OUTPUT]
    assert_not_run(payloads, "delta_done_mismatch", number(payloads, ITEM_DONE))


@pytest.mark.parametrize("arguments", ["", ABSENT, None])
def test_responses_item_done_without_arguments_that_were_streamed(arguments: Any) -> None:
    """Empty arguments would be a call of its own: `{}`."""
    payloads = edited(stream(PAYS), ITEM_DONE, {"item": {"arguments": arguments}})
    (call,) = tolerate(payloads).tool_calls
    assert not call.complete or call.parse() == {"amount": 10}
    assert refuse(payloads) == ("delta_done_mismatch", number(payloads, ITEM_DONE))


def test_responses_done_completes_arguments_whose_last_delta_was_lost() -> None:
    payloads = stream(PAYS)
    del payloads[4]
    completion = tolerate(payloads)
    assert codes(completion) == ["delta_done_mismatch"]
    assert completion.tool_calls[0].parse() == {"amount": 10}
    assert refuse(payloads) == ("delta_done_mismatch", 5)


def test_responses_custom_input_done_differs_from_deltas() -> None:
    payloads = edited(stream(EXECUTES), INPUT_DONE, {"input": "rm -r"})
    assert_not_run(payloads, "delta_done_mismatch", number(payloads, INPUT_DONE))


def test_responses_custom_input_of_the_item_differs() -> None:
    payloads = edited(stream(EXECUTES), ITEM_DONE, {"item": {"input": "rm -r"}})
    assert_not_run(payloads, "delta_done_mismatch", number(payloads, ITEM_DONE))


@pytest.mark.parametrize("item", [PAYS, EXECUTES], ids=["function", "custom"])
def test_responses_late_delta_never_changes_a_call(item: Item) -> None:
    """Not even if nothing said that its arguments were done but the item itself."""
    payloads = without(stream(item), ARGUMENTS_DONE if item is PAYS else INPUT_DONE)
    late = {"type": item.events[0]["type"], "output_index": 0, "item_id": item.begin["id"]}
    payloads = inserted(payloads, number(payloads, ITEM_DONE) + 1, {**late, "delta": " && reboot"})
    (call,) = tolerate(payloads).tool_calls
    field = "arguments" if item is PAYS else "input"
    assert call.arguments == item.done[field]


@pytest.mark.parametrize(
    ("field", "code"), [("name", "tool_name_changed"), ("call_id", "tool_id_changed")]
)
@pytest.mark.parametrize("item", [PAYS, EXECUTES], ids=["function", "custom"])
def test_responses_item_done_with_another_identity(item: Item, field: str, code: str) -> None:
    payloads = edited(stream(item), ITEM_DONE, {"item": {field: "other"}})
    assert_not_run(payloads, code, number(payloads, ITEM_DONE))
    payloads = [*payloads[:-1], NULL_OUTPUT]
    assert_not_run(payloads, code, number(payloads, ITEM_DONE))


@pytest.mark.parametrize("type", ["custom_tool_call", "mcp_call", "message", "", None])
def test_responses_item_done_with_another_type(type: Any) -> None:
    payloads = edited(stream(PAYS), ITEM_DONE, {"item": {"type": type}})
    assert_not_run(payloads, "item_type_changed", number(payloads, ITEM_DONE))


@pytest.mark.parametrize("field", ["name", "call_id"])
def test_responses_identity_in_the_done_item_alone(field: str) -> None:
    payloads = edited(stream(SAYS, PAYS, PUTS), ADDED, {"item": {field: ABSENT}}, 1)
    assembler = ResponsesAssembler()
    updates = feed(assembler, events(payloads))
    completion = assembler.finish()
    assert completion.complete
    assert [call.name for call in completion.tool_calls] == ["pay", "put"]
    assert [call.id for call in completion.tool_calls] == ["call_fc_0", "call_fc_1"]
    assert_calls_as_announced(updates, completion)
    assert arguments_of(updates, 0) == '{"amount":10}'


def test_responses_call_without_a_name_is_never_complete() -> None:
    payloads = edited(stream(PAYS), ADDED, {"item": {"name": ABSENT}})
    payloads = edited(payloads, ITEM_DONE, {"item": {"name": ABSENT}})
    assert_not_run(payloads, "tool_name_missing")


def test_responses_call_without_an_id_gets_one() -> None:
    payloads = edited(stream(PAYS), ADDED, {"item": {"call_id": ABSENT}})
    payloads = edited(payloads, ITEM_DONE, {"item": {"call_id": ABSENT}})
    assembler = ResponsesAssembler()
    updates = feed(assembler, events(payloads))
    completion = assembler.finish()
    assert "tool_id_missing" in codes(completion)
    assert completion.tool_calls[0].id
    assert completion.message[0]["call_id"] == completion.tool_calls[0].id
    assert_calls_as_announced(updates, completion)
    assert refuse(payloads)[0] in {"tool_id_missing", "completed_output_mismatch"}


def test_responses_call_id_used_twice() -> None:
    twin = Item(
        {**PUTS.begin, "call_id": "call_fc_0"}, PUTS.events, {**PUTS.done, "call_id": "call_fc_0"}
    )
    payloads = stream(PAYS, twin)
    completion = tolerate(payloads)
    assert codes(completion) == ["tool_id_reused"]
    assert [call.complete for call in completion.tool_calls] == [True, False]
    assert refuse(payloads) == ("tool_id_reused", number(payloads, ADDED, 1))
    assert refuse(stream(PAYS), seen_call_ids=["call_fc_0"]) == ("tool_id_reused", 3)


FINALS: dict[str, Payload] = {
    "arguments": {"arguments": OTHER},
    "empty arguments": {"arguments": ""},
    "no arguments": {"arguments": ABSENT},
    "null arguments": {"arguments": None},
    "name": {"name": "refund"},
    "call id and arguments": {"call_id": "call_x", "arguments": OTHER},
    "item id and arguments": {"id": "x", "arguments": OTHER},
    "type": {"type": "custom_tool_call", "arguments": ABSENT, "input": "10"},
}


def differing(changes: Payload) -> Payload:
    made = {**PAYS.done, **changes}
    return {name: value for name, value in made.items() if value is not ABSENT}


@pytest.mark.parametrize("changes", FINALS.values(), ids=FINALS)
def test_responses_final_output_has_another_call(changes: Payload) -> None:
    payloads = [*stream(PAYS)[:-1], lifecycle("completed", [differing(changes)])]
    assert_not_run(payloads, "completed_output_mismatch", len(payloads))


@pytest.mark.parametrize("changes", FINALS.values(), ids=FINALS)
def test_responses_final_output_of_an_incomplete_response_has_another_call(
    changes: Payload,
) -> None:
    """The call is whole by itself, and yet the server has two versions of it."""
    details: Payload = {"incomplete_details": {"reason": "max_output_tokens"}}
    payloads = [*stream(PAYS)[:-1], lifecycle("incomplete", [differing(changes)], **details)]
    (call,) = tolerate(payloads).tool_calls
    assert not call.complete


@pytest.mark.parametrize("order", [1, -1], ids=["differing first", "differing last"])
def test_responses_final_output_has_two_versions_of_a_call(order: int) -> None:
    output = [differing({"arguments": OTHER}), PAYS.done][::order]
    payloads = [*stream(PAYS)[:-1], lifecycle("completed", output)]
    assert_not_run(payloads, "completed_output_mismatch", len(payloads))


def test_responses_final_output_with_exchanged_arguments() -> None:
    output = [
        {**GETS.done, "arguments": PUTS.done["arguments"]},
        {**PUTS.done, "arguments": GETS.done["arguments"]},
    ]
    payloads = [*stream(GETS, PUTS)[:-1], lifecycle("completed", output)]
    assert_not_run(payloads, "completed_output_mismatch", len(payloads))


def test_responses_final_output_differs_in_one_call_of_two() -> None:
    output = [{**GETS.done, "arguments": "{}"}, PUTS.done]
    completion = tolerate([*stream(GETS, PUTS)[:-1], lifecycle("completed", output)])
    assert [call.complete for call in completion.tool_calls] == [False, True]
    assert not completion.complete


def test_responses_final_output_gained_a_call_that_was_not_streamed() -> None:
    """It is not handed out: nothing of it was streamed."""
    payloads = [*stream(GETS)[:-1], lifecycle("completed", [GETS.done, PUTS.done])]
    completion = tolerate(payloads)
    assert codes(completion) == ["completed_output_mismatch"]
    assert [call.name for call in completion.tool_calls] == ["get"]
    assert refuse(payloads) == ("completed_output_mismatch", len(payloads))


@pytest.mark.parametrize("field", ["arguments", "name", "call_id"])
@pytest.mark.parametrize("value", [{"amount": 10}, 5, ["x"]], ids=["object", "number", "array"])
@pytest.mark.parametrize("type", [ADDED, ITEM_DONE])
def test_responses_call_with_a_field_that_is_no_text(field: str, value: Any, type: str) -> None:
    payloads = edited(stream(PAYS), type, {"item": {field: value}})
    assert_not_run(payloads, "field_invalid", number(payloads, type))


@pytest.mark.parametrize("delta", [{"amount": 10}, 5, ["x"]], ids=["object", "number", "array"])
def test_responses_delta_that_is_no_text(delta: Any) -> None:
    payloads = edited(stream(PAYS), ARGUMENTS_DELTA, {"delta": delta}, 0)
    assert_not_run(payloads, "field_invalid", 4)


@pytest.mark.parametrize(
    "kept",
    [[ADDED], [ADDED, ITEM_DONE]],
    ids=["announced alone", "announced, and done with the status incomplete"],
)
@pytest.mark.parametrize("terminal", [NULL_OUTPUT, lifecycle("completed")], ids=["null", "empty"])
def test_responses_call_whose_arguments_never_came_is_never_complete(
    kept: list[str], terminal: Payload
) -> None:
    payloads = [payload for payload in stream(PAYS) if payload["type"] in kept]
    if ITEM_DONE in kept:
        changes = {"item": {"arguments": "", "status": "incomplete"}}
        payloads = edited(payloads, ITEM_DONE, changes)
    (call,) = tolerate(around(payloads, terminal)).tool_calls
    assert not call.complete


@pytest.mark.parametrize("item", [PAYS, EXECUTES], ids=["function", "custom"])
def test_responses_call_of_an_incomplete_item_is_never_complete(item: Item) -> None:
    cut = Item(item.begin, item.events, {**item.done, "status": "incomplete"})
    (call,) = tolerate(stream(cut)).tool_calls
    assert not call.complete


@pytest.mark.parametrize("end", range(1, len(placed(PAYS, 0)) + 1))
@pytest.mark.parametrize("item", [PAYS, EXECUTES, function("fc_0", "reset")])
def test_responses_incomplete_within_a_call(item: Item, end: int) -> None:
    begun = placed(item, 0)[:end]
    details: Payload = {"incomplete_details": {"reason": "max_output_tokens"}}
    completion = tolerate(around(begun, lifecycle("incomplete", [], **details)))
    assert not completion.complete
    (call,) = completion.tool_calls
    ended = begun[-1]["type"] == ITEM_DONE
    closed = call.arguments == '{"amount":10}'
    assert call.complete == (ended or closed)
    if not call.complete:
        assert call.problem is not None
        assert call.problem.code == "truncated_call"
        with pytest.raises(InvalidToolCall):
            call.parse()


@pytest.mark.parametrize("final", [whole(SAYS, PAYS), NULL_OUTPUT], ids=["output", "no output"])
@pytest.mark.parametrize("named", [True, False], ids=["id", "no id"])
@pytest.mark.parametrize("ended", [True, False], ids=["done", "not done"])
def test_responses_text_never_becomes_arguments(final: Payload, named: bool, ended: bool) -> None:
    """A delta of text that has the index of a call."""
    said = {"type": "response.output_text.delta", "output_index": 1, "content_index": 0}
    if named:
        said["item_id"] = "msg_0"
    call = placed(PAYS, 1)
    kept = [call[0], {**said, "delta": OTHER}, *(call[1:] if ended else [])]
    completion = tolerate(around([*placed(SAYS, 0), *kept], final))
    (made,) = completion.tool_calls
    assert not made.complete or made.parse() == {"amount": 10}
    assert completion.findings
    assert OTHER not in made.arguments


@pytest.mark.parametrize("named", [True, False], ids=["id", "no id"])
@pytest.mark.parametrize("final", [whole(SAYS, PAYS), NULL_OUTPUT], ids=["output", "no output"])
def test_responses_arguments_at_the_index_of_a_message(named: bool, final: Payload) -> None:
    """They are lost to the call, which may not be run without them."""
    added, *deltas, _, _ = placed(PAYS, 1)
    stray = [{**delta, "output_index": 0} for delta in deltas]
    if not named:
        stray = [{**delta, "item_id": ABSENT} for delta in stray]
    payloads = around([placed(SAYS, 0)[0], added, *stray], final)
    completion = tolerate(payloads)
    (call,) = completion.tool_calls
    assert not call.complete or call.parse() == {"amount": 10}
    assert refuse(payloads)[1] == number(payloads, ARGUMENTS_DELTA)


def test_responses_arguments_at_the_index_of_a_message_are_a_departure() -> None:
    payloads = stream(SAYS)
    stray = {"type": ARGUMENTS_DELTA, "output_index": 0, "item_id": "msg_0", "delta": "{}"}
    payloads = inserted(payloads, 5, stray)
    assert tolerate(payloads).findings
    assert refuse(payloads)[1] == 5


@pytest.mark.parametrize("type", [ARGUMENTS_DELTA, "response.output_text.delta"])
def test_responses_another_kind_of_delta_for_a_custom_call_is_a_departure(type: str) -> None:
    payloads = edited(stream(EXECUTES), "response.custom_tool_call_input.delta", {"type": type})
    assert tolerate(payloads).findings
    assert refuse(payloads)[1] == 4


SETTLED = {
    "text": (SAYS, {"content": [text("Bye").whole]}),
    "less text": (SAYS, {"content": [text("Hel").whole]}),
    "no content": (SAYS, {"content": []}),
    "lost part": (REFUSES, {"content": [text("Well,").whole]}),
    "refusal": (REFUSES, {"content": [text("Well,").whole, {"type": "refusal", "refusal": "x"}]}),
    "reasoning": (THINKS_ALOUD, {"content": [{"type": "reasoning_text", "text": "x"}]}),
    "summary": (THINKS, {"summary": [{"type": "summary_text", "text": "x"}]}),
    "lost summary": (THINKS, {"summary": THINKS.done["summary"][:1]}),
    "no summary": (THINKS, {"summary": []}),
    "mcp arguments": (LISTS, {"arguments": "{}"}),
    "code": (COMPUTES, {"code": "2 + 2"}),
}


@pytest.mark.parametrize(("item", "changes"), SETTLED.values(), ids=SETTLED)
def test_responses_item_done_differs_from_what_was_streamed(item: Item, changes: Payload) -> None:
    done = {**item.done, **changes}
    payloads = edited(stream(item), ITEM_DONE, {"item": changes})
    payloads = [*payloads[:-1], lifecycle("completed", [done])]
    assert codes(tolerate(payloads))[:1] == ["delta_done_mismatch"]
    assert refuse(payloads) == ("delta_done_mismatch", number(payloads, ITEM_DONE))


@pytest.mark.parametrize("item", [LISTS, COMPUTES], ids=["mcp", "code"])
def test_responses_server_tool_text_done_differs_from_deltas(item: Item) -> None:
    (place,) = [
        place
        for place, payload in enumerate(stream(item), 1)
        if {"arguments", "code"} & payload.keys()
    ]
    payloads = stream(item)
    payloads[place - 1] = {**payloads[place - 1], "arguments": "x", "code": "x"}
    completion = tolerate(payloads)
    assert codes(completion)[0] == "delta_done_mismatch"
    assert completion.message == [item.done]
    assert refuse(payloads) == ("delta_done_mismatch", place)


def test_responses_deltas_of_two_calls_with_exchanged_ids() -> None:
    """The index counts, and each `done` value agrees with it."""
    pays, puts = placed(PAYS, 0), placed(PUTS, 1)
    crossed = [{**payload, "item_id": "fc_1"} for payload in pays[1:-1]]
    payloads = around([pays[0], puts[0], *crossed, pays[-1], *puts[1:]], whole(PAYS, PUTS))
    completion = tolerate(payloads)
    assert codes(completion) == ["item_id_mismatch"]
    assert [call.arguments for call in completion.tool_calls] == ['{"amount":10}', '{"k":1}']
    assert refuse(payloads) == ("item_id_mismatch", 5)


def test_responses_calls_are_announced_at_their_places_whatever_their_indexes() -> None:
    payloads = around(
        [*placed(PUTS, 7), *placed(SAYS, 3), *placed(PAYS, 5), *placed(EXECUTES, 1)], NULL_OUTPUT
    )
    assembler = ResponsesAssembler()
    updates = feed(assembler, events(payloads))
    completion = assembler.finish()
    started = [update for update in updates if isinstance(update, ToolCallStarted)]
    assert [(update.index, update.name) for update in started] == [
        (0, "put"),
        (1, "pay"),
        (2, "exec"),
    ]
    assert_calls_as_announced(updates, completion)
    assert [item["id"] for item in completion.message] == ["ct_0", "msg_0", "fc_0", "fc_1"]


def test_responses_call_made_of_a_message_in_the_final_output_is_not_handed_out() -> None:
    item = message("msg_0", text("hi"))
    payloads = [*stream(item)[:-1], lifecycle("completed", [{**PAYS.done, "id": "msg_0"}])]
    completion = tolerate(payloads)
    assert codes(completion) == ["completed_output_mismatch"]
    assert completion.tool_calls == ()


@pytest.mark.parametrize("arguments", ["", ABSENT, None])
@pytest.mark.parametrize("null", [True, False], ids=["no output", "output"])
def test_responses_announced_arguments_are_not_lost_to_an_empty_done(
    arguments: Any, null: bool
) -> None:
    payloads = edited(stream(PAYS), ADDED, {"item": {"arguments": PAYS.done["arguments"]}})
    payloads = edited(payloads, ITEM_DONE, {"item": {"arguments": arguments}})
    payloads = without(payloads, ARGUMENTS_DELTA, ARGUMENTS_DONE)
    if null:
        payloads = [*payloads[:-1], NULL_OUTPUT]
    (call,) = tolerate(payloads).tool_calls
    assert call.arguments == '{"amount":10}'


def test_responses_arguments_of_a_late_announcement_that_differ_are_never_run() -> None:
    added, first, second, *_ = placed(PAYS, 0)
    late = edited([added], ADDED, {"item": {"arguments": OTHER}})
    payloads = around([first, second, *late], NULL_OUTPUT)
    (call,) = tolerate(payloads).tool_calls
    assert (call.name, call.complete) == ("pay", False)


def test_responses_late_announcement_of_a_call_with_its_arguments_adds_nothing() -> None:
    added, *rest = placed(PAYS, 0)
    late = edited([added], ADDED, {"item": {"arguments": '{"amount":10}'}})
    payloads = around([*rest[:2], *late, *rest[2:]], whole(PAYS))
    (call,) = tolerate(payloads).tool_calls
    assert call.arguments == '{"amount":10}'


@pytest.mark.parametrize("item", [PAYS, EXECUTES], ids=["function", "custom"])
def test_responses_final_output_says_that_a_call_is_incomplete(item: Item) -> None:
    output = [{**item.done, "status": "incomplete"}]
    (call,) = tolerate([*stream(item)[:-1], lifecycle("completed", output)]).tool_calls
    assert not call.complete


def test_responses_index_of_another_item_that_is_named() -> None:
    """The index counts; that an id known elsewhere comes with it is found."""
    payloads = around([*placed(SAYS, 0)[:-1], *placed(PAYS, 1), placed(SAYS, 0)[-1]], NULL_OUTPUT)
    place = number(payloads, ARGUMENTS_DELTA)
    payloads[place - 1] = {**payloads[place - 1], "item_id": "msg_0"}
    completion = tolerate(payloads)
    assert "item_id_mismatch" in codes(completion)
    assert completion.tool_calls[0].parse() == {"amount": 10}
    assert refuse(payloads) == ("item_id_mismatch", place)


def test_responses_announced_arguments_are_kept_if_nothing_is_done() -> None:
    (added,) = edited(placed(PAYS, 0)[:1], ADDED, {"item": {"arguments": '{"amount":10}'}})
    assembler = ResponsesAssembler()
    updates = feed(assembler, events(around([added], NULL_OUTPUT)))
    completion = assembler.finish()
    assert "missing_done" in codes(completion)
    assert completion.tool_calls[0].arguments == '{"amount":10}'
    assert arguments_of(updates, 0) == '{"amount":10}'
    assert completion.message[0]["arguments"] == '{"amount":10}'
