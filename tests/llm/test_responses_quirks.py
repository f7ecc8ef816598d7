"""Section 1d of the table of quirks, row by row: read tolerantly, refused strictly."""

from __future__ import annotations

from typing import Any

import pytest

from sansio_sse.llm import (
    ProviderError,
    ReasoningPart,
    ResponsesAssembler,
    TextPart,
)

from .responses_writer import (
    ABSENT,
    EXECUTES,
    GETS,
    PUTS,
    SAYS,
    THINKS,
    THINKS_ALOUD,
    Item,
    Payload,
    around,
    assert_read,
    edited,
    events,
    everywhere,
    function,
    inserted,
    joined,
    lifecycle,
    message,
    number,
    parts_of,
    placed,
    reasoning,
    refusal,
    refuse,
    simple,
    stream,
    summary,
    text,
    tolerate,
    whole,
    without,
)
from .streams import codes, event, failure, run

ADDED = "response.output_item.added"
ITEM_DONE = "response.output_item.done"
COMPLETED = "response.completed"
TEXT_DELTA = "response.output_text.delta"
ARGUMENTS_DELTA = "response.function_call_arguments.delta"
ARGUMENTS_DONE = "response.function_call_arguments.done"


# Row 70
@pytest.mark.parametrize("keepalive", ["keepalive", "response.keep_alive", "ping"])
@pytest.mark.parametrize("place", range(1, 9))
def test_responses_70_keepalive_counts_in_sequence(keepalive: str, place: int) -> None:
    payloads = inserted(stream(GETS), place, {"type": keepalive})
    assert_read(payloads, GETS, found=[])
    assert tolerate(payloads, strict=True).findings == ()


# Rows 10 and 70
@pytest.mark.parametrize("keepalive", ["keepalive", "response.keep_alive", "ping"])
@pytest.mark.parametrize("place", [0, 3, 8])
def test_responses_70_keepalive_without_sequence_number(keepalive: str, place: int) -> None:
    made = events(stream(GETS))
    made.insert(place, event({"type": keepalive}, keepalive))
    completion = run(ResponsesAssembler(strict=True), made)
    assert completion.findings == ()
    assert completion.complete


# Row 71
def test_responses_71_unknown_event_is_noted() -> None:
    payloads = inserted(
        stream(SAYS), 5, {"type": "response.future.thing", "output_index": 0, "delta": "x"}
    )
    assert_read(payloads, SAYS, found=["unknown_event"])
    assert codes(tolerate(payloads, strict=True)) == ["unknown_event"]


# Row 72
@pytest.mark.parametrize(
    "error",
    [
        {"code": "server_error", "message": "boom", "param": None},
        {"error": {"type": "x", "code": "server_error", "message": "boom", "param": None}},
    ],
    ids=["flat", "nested"],
)
@pytest.mark.parametrize("strict", [True, False], ids=["strict", "tolerant"])
def test_responses_72_error_then_failed(error: Payload, strict: bool) -> None:
    payloads = around(
        placed(GETS, 0),
        {"type": "error", **error},
        lifecycle("failed", error={"code": "other", "message": "second"}),
    )
    assembler = ResponsesAssembler(strict=strict)
    made = events(payloads)
    raised = failure(assembler, made[:-1])
    assert isinstance(raised, ProviderError)
    assert (raised.code, raised.event) == ("provider_error", len(made) - 1)
    assert (raised.message, raised.provider_code) == ("boom", "server_error")
    assert (raised.status, raised.retryable) == (500, True)
    # The first one counts, whatever follows.
    with pytest.raises(ProviderError) as again:
        assembler.feed(made[-1])
    assert again.value is raised


# Row 73
@pytest.mark.parametrize("items", [[THINKS, SAYS, GETS], [GETS, PUTS], [THINKS_ALOUD]])
def test_responses_73_rotated_item_ids(items: list[Item]) -> None:
    payloads = stream(*items)
    rotated: list[Payload] = []
    for place, payload in enumerate(payloads):
        changed = dict(payload)
        if "item_id" in payload:
            changed["item_id"] = f"blob_{place}"
        if payload["type"] == ITEM_DONE:
            changed["item"] = {**payload["item"], "id": f"blob_{place}"}
        rotated.append(changed)
    assert_read(rotated, *items, found=["item_id_mismatch"])
    first = next(place for place, payload in enumerate(payloads, 1) if "item_id" in payload)
    assert refuse(rotated) == ("item_id_mismatch", first)


# Row 73
@pytest.mark.parametrize("type", [TEXT_DELTA, "response.content_part.added", ITEM_DONE])
def test_responses_73_one_event_has_another_id(type: str) -> None:
    change = {"item": {"id": "other"}} if type == ITEM_DONE else {"item_id": "other"}
    payloads = edited(stream(SAYS), type, change, 0)
    assert_read(payloads, SAYS, found=["item_id_mismatch"])
    assert refuse(payloads) == ("item_id_mismatch", number(payloads, type))


# Row 74
@pytest.mark.parametrize("items", [[THINKS, SAYS, GETS], [GETS, EXECUTES, PUTS], [THINKS_ALOUD]])
@pytest.mark.parametrize("ids", [True, False], ids=["ids", "no ids"])
@pytest.mark.parametrize("on", ["deltas", "all events"])
def test_responses_74_no_output_index(items: list[Item], ids: bool, on: str) -> None:
    payloads: list[Payload] = []
    for payload in stream(*items):
        changed = dict(payload)
        if on == "all events" or "item_id" in payload:
            changed.pop("output_index", None)
        if not ids:
            changed.pop("item_id", None)
        payloads.append(changed)
    assert_read(payloads, *items, found=["output_index_missing"])
    first = number(payloads, ADDED) + (on == "deltas")
    assert refuse(payloads) == ("output_index_missing", first)


# Row 74
def test_responses_74_no_output_index_on_overlapping_items_with_ids() -> None:
    listed = [placed(item, index) for index, item in enumerate([GETS, function("fc_9", "x", "{}")])]
    head = [each[0] for each in listed]
    rest = everywhere([*listed[1][1:], *listed[0][1:]], {"output_index": ABSENT})
    payloads = around([*head, *rest], whole(GETS, function("fc_9", "x", "{}")))
    assert_read(payloads, GETS, function("fc_9", "x", "{}"), found=["output_index_missing"])


# Row 74
@pytest.mark.parametrize("items", [[GETS], [SAYS], [THINKS, GETS, PUTS]])
def test_responses_74_no_output_index_and_no_ids_at_all(items: list[Item]) -> None:
    items = [
        Item(joined(item.begin, {"id": ABSENT}), item.events, joined(item.done, {"id": ABSENT}))
        for item in items
    ]
    payloads = everywhere(stream(*items), {"output_index": ABSENT, "item_id": ABSENT})
    assert_read(payloads, *items, found=["output_index_missing"])


# Row 74
def test_responses_74_no_output_index_and_rotated_ids() -> None:
    payloads = everywhere(stream(GETS), {"output_index": ABSENT, "item_id": "blob"})
    payloads = edited(payloads, ITEM_DONE, {"item": {"id": "blob2"}})
    assert_read(payloads, GETS, found=["output_index_missing", "item_id_mismatch"])


# Row 74
@pytest.mark.parametrize(
    ("items", "name"),
    [([SAYS], "content_index"), ([THINKS_ALOUD], "content_index"), ([THINKS], "summary_index")],
)
def test_responses_74_no_part_index_is_part_0(items: list[Item], name: str) -> None:
    items = [reasoning("rs_0", summary("a", "b"))] if name == "summary_index" else items
    payloads = everywhere(stream(*items), {name: ABSENT})
    assert_read(payloads, *items, found=["output_index_missing"])
    assert refuse(payloads) == ("output_index_missing", 4)


# Row 75
@pytest.mark.parametrize("value", [True, False, -1, "0", "", 0.5, 1.0, [], {}])
def test_responses_75_output_index_is_no_index(value: Any) -> None:
    payloads = everywhere(stream(GETS), {"output_index": value})
    assert_read(payloads, GETS, found=["output_index_invalid"])
    assert refuse(payloads) == ("output_index_invalid", 3)


# Row 75
def test_responses_75_output_index_reused_in_turn() -> None:
    payloads = around(
        [*placed(SAYS, 0), *placed(GETS, 0), *placed(PUTS, 0)], whole(SAYS, GETS, PUTS)
    )
    completion = tolerate(payloads)
    assert codes(completion)[0] == "output_index_reused"
    assert simple(completion) == parts_of([SAYS, GETS, PUTS])
    assert completion.message == [SAYS.done, GETS.done, PUTS.done]
    assert refuse(payloads) == ("output_index_reused", number(payloads, ADDED, 1))


# Row 75
@pytest.mark.parametrize("items", [[GETS, PUTS], [SAYS, GETS], [THINKS, SAYS, GETS, EXECUTES]])
def test_responses_75_output_index_reused_by_overlapping_items(items: list[Item]) -> None:
    listed = [placed(item, 0) for item in items]
    payloads = around(
        [*(each[0] for each in listed), *(payload for each in listed for payload in each[1:])],
        whole(*items),
    )
    completion = tolerate(payloads)
    assert codes(completion)[0] == "output_index_reused"
    assert sorted(map(repr, simple(completion))) == sorted(map(repr, parts_of(items)))
    assert completion.message == [item.done for item in items]
    assert refuse(payloads) == ("output_index_reused", 4)


# Row 75
def test_responses_75_same_item_announced_twice_is_one() -> None:
    payloads = stream(GETS)
    payloads = inserted(payloads, 4, payloads[2])
    assert_read(payloads, GETS, found=["output_index_reused"])
    assert refuse(payloads) == ("output_index_reused", 4)


# Row 76
@pytest.mark.parametrize("item", [SAYS, THINKS, THINKS_ALOUD, GETS, EXECUTES])
def test_responses_76_item_not_announced(item: Item) -> None:
    payloads = without(stream(item), ADDED)
    assert_read(payloads, item, found=["item_not_announced"])
    assert refuse(payloads) == ("item_not_announced", 3)


# Row 76
@pytest.mark.parametrize("item", [SAYS, THINKS, THINKS_ALOUD, GETS, EXECUTES])
def test_responses_76_done_items_alone(item: Item) -> None:
    payloads = [
        payload
        for payload in stream(item)
        if payload["type"] == ITEM_DONE or payload["type"].count(".") == 1
    ]
    assert_read(payloads, item, found=["item_not_announced"])
    assert refuse(payloads) == ("item_not_announced", 3)


# Row 76
@pytest.mark.parametrize(
    ("item", "type"),
    [
        (SAYS, "response.content_part.added"),
        (THINKS_ALOUD, "response.content_part.added"),
        (message("msg_0", refusal("no")), "response.content_part.added"),
        (reasoning("rs_0", summary("a", "b")), "response.reasoning_summary_part.added"),
    ],
)
def test_responses_76_part_not_announced(item: Item, type: str) -> None:
    payloads = without(stream(item), type)
    assert_read(payloads, item, found=["part_not_announced"])
    assert refuse(payloads) == ("part_not_announced", 4)


# Row 76
def test_responses_76_deltas_alone_make_items() -> None:
    deltas = [
        {"type": "response.reasoning_summary_text.delta", "output_index": 0, "summary_index": 0},
        {"type": TEXT_DELTA, "output_index": 1, "content_index": 0},
    ]
    payloads = around([{**delta, "delta": "ab"} for delta in deltas], lifecycle("completed"))
    completion = tolerate(payloads)
    assert completion.choices[0].parts == (ReasoningPart("ab", summary=True), TextPart("ab"))
    assert {"item_not_announced", "part_not_announced"} <= set(codes(completion))
    assert [item["type"] for item in completion.message] == ["reasoning", "message"]


# Row 76
def test_responses_76_item_announced_after_its_deltas() -> None:
    payloads = stream(GETS)
    payloads[2], payloads[3] = payloads[3], payloads[2]
    completion = tolerate(payloads)
    assert codes(completion)[0] == "item_not_announced"
    assert simple(completion) == parts_of([GETS])
    assert refuse(payloads) == ("item_not_announced", 3)


# Row 76
def test_responses_76_call_announced_after_its_deltas_and_not_done() -> None:
    """The late announcement is all that says which tool it is."""
    payloads = without(stream(GETS), ITEM_DONE)
    payloads[2], payloads[3] = payloads[3], payloads[2]
    (call,) = tolerate(payloads).tool_calls
    assert (call.id, call.name, call.arguments) == ("call_fc_0", "get", '{"k":"é"}')


# Row 77
@pytest.mark.parametrize(
    ("item", "type"),
    [
        (SAYS, "response.output_text.done"),
        (message("msg_0", refusal("no")), "response.refusal.done"),
        (THINKS_ALOUD, "response.reasoning_text.done"),
        (reasoning("rs_0", summary("a", "b")), "response.reasoning_summary_text.done"),
        (GETS, ARGUMENTS_DONE),
    ],
)
def test_responses_77_text_not_done(item: Item, type: str) -> None:
    payloads = without(stream(item), type)
    assert_read(payloads, item, found=["missing_done"])
    assert refuse(payloads)[0] == "missing_done"


# Row 77
@pytest.mark.parametrize(
    ("item", "types"),
    [
        (SAYS, ["response.output_text.done", "response.content_part.done"]),
        (
            reasoning("rs_0", summary("a", "b")),
            ["response.reasoning_summary_text.done", "response.reasoning_summary_part.done"],
        ),
    ],
)
def test_responses_77_text_and_part_not_done(item: Item, types: list[str]) -> None:
    payloads = without(stream(item), *types)
    assert_read(payloads, item, found=["missing_done"])
    assert refuse(payloads) == ("missing_done", number(payloads, ITEM_DONE))


# Row 77
def test_responses_77_custom_input_not_done_is_legal() -> None:
    """Recorded streams of OpenAI lack that event."""
    payloads = without(stream(EXECUTES), "response.custom_tool_call_input.done")
    assert_read(payloads, EXECUTES, found=[])
    assert tolerate(payloads, strict=True).complete


# Row 78
@pytest.mark.parametrize("items", [[GETS], [SAYS, GETS, PUTS], [THINKS, EXECUTES]])
def test_responses_78_items_not_done_and_output_generic(items: list[Item]) -> None:
    generic = lifecycle("completed", [message("msg_x", text("done")).done])
    payloads = [*without(stream(*items), ITEM_DONE)[:-1], generic]
    completion = tolerate(payloads)
    assert {"missing_done", "completed_output_mismatch"} == set(codes(completion))
    assert simple(completion) == parts_of(items)
    assert [item.get("call_id") for item in completion.message] == [
        item.done.get("call_id") for item in items
    ]
    code, place = refuse(payloads)
    assert code in {"missing_done", "completed_output_mismatch"}
    assert place == len(payloads)


# Row 79
@pytest.mark.parametrize("item", [SAYS, THINKS_ALOUD, THINKS, GETS, EXECUTES])
@pytest.mark.parametrize("strict", [True, False], ids=["strict", "tolerant"])
def test_responses_79_done_without_deltas(item: Item, strict: bool) -> None:
    payloads = [payload for payload in stream(item) if not payload["type"].endswith(".delta")]
    completion = tolerate(payloads, strict=strict)
    assert completion.findings == ()
    assert completion.complete
    assert simple(completion) == parts_of([item])


# Row 80
@pytest.mark.parametrize(
    ("item", "type", "field"),
    [
        (SAYS, "response.output_text.done", "text"),
        (message("msg_0", refusal("no", "t so")), "response.refusal.done", "refusal"),
        (THINKS_ALOUD, "response.reasoning_text.done", "text"),
        (reasoning("rs_0", summary("a", "b")), "response.reasoning_summary_text.done", "text"),
        (EXECUTES, "response.custom_tool_call_input.done", "input"),
    ],
)
@pytest.mark.parametrize("shape", ["other", "longer", "shorter", "empty"])
def test_responses_80_done_differs_from_deltas(
    item: Item, type: str, field: str, shape: str
) -> None:
    base = stream(item)
    said = base[number(base, type) - 1][field]
    new = {"other": "XX", "longer": said + "X", "shorter": said[:-1], "empty": ""}[shape]
    payloads = edited(base, type, {field: new})
    completion = tolerate(payloads)
    assert codes(completion)[0] == "delta_done_mismatch"
    assert completion.findings[0].event == number(payloads, type)
    assert refuse(payloads) == ("delta_done_mismatch", number(payloads, type))


# Row 80
def test_responses_80_done_is_preferred() -> None:
    payloads = without(stream(message("msg_0", text("Hel", "lo"))), ITEM_DONE)
    payloads = edited(payloads, "response.output_text.done", {"text": "Hello!"})
    payloads = edited(payloads, "response.content_part.done", {"part": {"text": "Hello!"}})
    assert tolerate(payloads).text == "Hello!"
