"""The second half of section 1d of the table of quirks: what comes late, and how streams end."""

from __future__ import annotations

from typing import Any

import pytest

from sansio_sse.llm import (
    IncompleteStream,
    ProviderError,
    ReasoningPart,
    ResponsesAssembler,
    TextDelta,
    ToolArgumentsDelta,
)

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
    around,
    assert_read,
    edited,
    events,
    function,
    inserted,
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
    text_of,
    thought,
    tolerate,
    whole,
    without,
)
from .streams import codes, event, failure, feed, run

ITEM_DONE = "response.output_item.done"
COMPLETED = "response.completed"
SEQUENTIAL = [THINKS, SAYS, GETS, PUTS]


def event_behind(payloads: list[Payload], place: int, type: str) -> list[Payload]:
    """The stream with the last delta of a type again, further down."""
    again = payloads[number(payloads, type, -1) - 1]
    return inserted(payloads, place, {**again, "delta": "}"})


LATE = {
    "text": (SAYS, "response.output_text"),
    "refusal": (message("msg_0", refusal("no")), "response.refusal"),
    "reasoning": (THINKS_ALOUD, "response.reasoning_text"),
    "summary": (reasoning("rs_0", summary("a")), "response.reasoning_summary_text"),
    "arguments": (GETS, "response.function_call_arguments"),
    "input": (EXECUTES, "response.custom_tool_call_input"),
    "mcp": (LISTS, "response.mcp_call_arguments"),
    "code": (COMPUTES, "response.code_interpreter_call_code"),
}
each_late = pytest.mark.parametrize(("item", "stem"), LATE.values(), ids=LATE)


# Row 81
@each_late
def test_responses_81_delta_after_done(item: Item, stem: str) -> None:
    payloads = stream(item)
    place = number(payloads, f"{stem}.done") + 1
    payloads = event_behind(payloads, place, f"{stem}.delta")
    assert_read(payloads, item, found=["delta_after_done"])
    assert refuse(payloads) == ("delta_after_done", place)


# Row 81
@each_late
def test_responses_81_delta_after_the_item_is_done(item: Item, stem: str) -> None:
    payloads = stream(item)
    place = number(payloads, ITEM_DONE) + 1
    payloads = event_behind(payloads, place, f"{stem}.delta")
    assert_read(payloads, item, found=["delta_after_done"])
    assert refuse(payloads) == ("delta_after_done", place)


# Rows 77 and 81
@each_late
def test_responses_81_delta_after_the_item_is_done_and_its_text_is_not(
    item: Item, stem: str
) -> None:
    payloads = without(stream(item), f"{stem}.done")
    payloads = event_behind(payloads, number(payloads, ITEM_DONE) + 1, f"{stem}.delta")
    completion = tolerate(payloads)
    assert "delta_after_done" in codes(completion)
    assert simple(completion) == parts_of([item])
    assert completion.message == [item.done]


# Row 81
@pytest.mark.parametrize("item", [SAYS, GETS, EXECUTES, THINKS])
def test_responses_81_item_done_twice(item: Item) -> None:
    payloads = stream(item)
    place = number(payloads, ITEM_DONE) + 1
    payloads = inserted(payloads, place, payloads[place - 2])
    assert_read(payloads, item, found=["delta_after_done"])
    assert refuse(payloads) == ("delta_after_done", place)


# Row 81
def test_responses_81_new_part_after_the_item_is_done() -> None:
    payloads = stream(SAYS)
    place = number(payloads, ITEM_DONE) + 1
    late = {"type": "response.output_text.delta", "output_index": 0, "content_index": 1}
    payloads = inserted(payloads, place, {**late, "item_id": "msg_0", "delta": "x"})
    assert_read(payloads, SAYS, found=["delta_after_done"])
    assert refuse(payloads) == ("delta_after_done", place)


OUTPUTS = {
    "lost text": [THINKS.done, GETS.done, PUTS.done],
    "lost call": [THINKS.done, SAYS.done, PUTS.done],
    "lost last": [THINKS.done, SAYS.done, GETS.done],
    "gained call": [*(item.done for item in SEQUENTIAL), function("fc_8", "rm", "{}").done],
    "gained text": [message("msg_8", text("x")).done, *(item.done for item in SEQUENTIAL)],
    "other order": [THINKS.done, SAYS.done, PUTS.done, GETS.done],
    "other text": [THINKS.done, {**SAYS.done, "content": []}, GETS.done, PUTS.done],
    "other id": [THINKS.done, {**SAYS.done, "id": "other"}, GETS.done, PUTS.done],
    "other ids": [{**item.done, "id": f"x{item.done['id']}"} for item in SEQUENTIAL],
    "empty": [],
}


# Rows 82 and 83
@pytest.mark.parametrize("output", OUTPUTS.values(), ids=OUTPUTS)
def test_responses_82_final_output_differs(output: list[Payload]) -> None:
    payloads = [*stream(*SEQUENTIAL)[:-1], lifecycle("completed", output)]
    assert_read(payloads, *SEQUENTIAL, found=["completed_output_mismatch"])
    assert tolerate(payloads).extra["response"]["output"] == output
    assert refuse(payloads) == ("completed_output_mismatch", len(payloads))


# Row 83
@pytest.mark.parametrize("output", [None, ABSENT], ids=["null", "absent"])
def test_responses_83_final_output_null(output: Any) -> None:
    payloads = edited(stream(*SEQUENTIAL), COMPLETED, {"response": {"output": output}})
    assert_read(payloads, *SEQUENTIAL, found=["completed_output_mismatch"])
    assert tolerate(payloads, strict=True).complete


# Rows 82 and 83
def test_responses_82_items_in_the_final_output_alone() -> None:
    payloads = around([], whole(*SEQUENTIAL))
    assert_read(payloads, *SEQUENTIAL, found=["completed_output_mismatch"])
    assert refuse(payloads) == ("completed_output_mismatch", 3)


# Row 84
@pytest.mark.parametrize("reason", ["max_output_tokens", "content_filter"])
def test_responses_84_incomplete(reason: str) -> None:
    cut = {**SAYS.done, "status": "incomplete", "content": [text("Hel").whole]}
    ended = {"type": ITEM_DONE, "output_index": 0, "item": cut}
    begun = placed(SAYS, 0)[:3]
    terminal = lifecycle("incomplete", [cut], incomplete_details={"reason": reason})
    (silent,) = edited([terminal], "response.incomplete", {"response": {"output": None}})
    for payloads in (
        around(begun, terminal),
        around(begun, silent),
        around([*begun, ended], terminal),
    ):
        completion = tolerate(payloads)
        assert completion.finish_reason == reason
        assert not completion.complete
        assert completion.text == "Hel"
        (item,) = completion.message
        assert (item["id"], item["status"]) == ("msg_0", "incomplete")
        assert item["content"][0]["text"] == "Hel"
    error = failure(ResponsesAssembler(strict=True), events(around(begun, terminal)))
    assert (type(error), error.code) == (IncompleteStream, "incomplete")
    assert error.partial is not None
    assert error.partial.text == "Hel"


# Row 85
@pytest.mark.parametrize("named", ["payload", "event"])
@pytest.mark.parametrize("strict", [True, False], ids=["strict", "tolerant"])
def test_responses_85_failed(named: str, strict: bool) -> None:
    error = {"code": "rate_limit_exceeded", "message": "slow down"}
    payloads = around(placed(GETS, 0), lifecycle("failed", [GETS.done], error=error))
    made = events(payloads)
    if named == "event":
        last = {"sequence_number": len(made) - 1, "response": payloads[-1]["response"]}
        made[-1] = event(last, "response.failed")
    raised = failure(ResponsesAssembler(strict=strict), made)
    assert isinstance(raised, ProviderError)
    assert (raised.code, raised.event) == ("failed", len(made))
    assert (raised.message, raised.provider_code) == ("slow down", "rate_limit_exceeded")
    assert (raised.status, raised.retryable) == (429, True)
    assert raised.partial is not None
    assert raised.partial.tool_calls[0].arguments == '{"k":"é"}'


# Row 85
@pytest.mark.parametrize("error", [None, ABSENT, {}])
def test_responses_85_failed_without_an_error(error: Any) -> None:
    payloads = around([], lifecycle("failed", error=error))
    raised = failure(ResponsesAssembler(), events(payloads))
    assert (type(raised), raised.code) == (ProviderError, "failed")


# Row 86
@pytest.mark.parametrize("strict", [True, False], ids=["strict", "tolerant"])
def test_responses_86_no_terminal(strict: bool) -> None:
    error = failure(ResponsesAssembler(strict=strict), events(stream(*SEQUENTIAL)[:-1]))
    assert (type(error), error.code) == (IncompleteStream, "missing_terminal")
    assert error.partial is not None
    assert error.partial.text == "Hello 🚀"
    assert [call.arguments for call in error.partial.tool_calls] == ['{"k":"é"}', '{"k":1}']


# Row 87
def test_responses_87_in_progress_before_created() -> None:
    early = event(lifecycle("in_progress"), "response.in_progress")
    made = [early, *events(stream(GETS))]
    completion = run(ResponsesAssembler(), made)
    assert codes(completion) == ["sequence_missing", "created_missing"]
    assert completion.complete
    assert simple(completion) == parts_of([GETS])
    error = failure(ResponsesAssembler(strict=True), made)
    assert (error.code, error.event) == ("sequence_missing", 1)


# Row 87
@pytest.mark.parametrize("gone", [1, 2])
def test_responses_87_created_missing(gone: int) -> None:
    payloads = stream(GETS)[gone:]
    assert_read(payloads, GETS, found=["created_missing"])
    assert refuse(payloads) == ("created_missing", 1)


# Row 87
def test_responses_87_deltas_before_created() -> None:
    payloads = stream(SAYS)
    payloads = [*payloads[2:5], *payloads[:2], *payloads[5:]]
    assert_read(payloads, SAYS, found=["created_missing"])
    assert refuse(payloads) == ("created_missing", 1)


# Row 87
def test_responses_87_no_sequence_numbers() -> None:
    payloads = [{**payload, "sequence_number": ABSENT} for payload in stream(*SEQUENTIAL)]
    assert_read(payloads, *SEQUENTIAL, found=["sequence_missing"])
    assert refuse(payloads) == ("sequence_missing", 1)


# Row 87
@pytest.mark.parametrize("value", ["5", None, True, 5.0, {}])
def test_responses_87_sequence_number_is_no_number(value: Any) -> None:
    payloads = stream(SAYS)
    payloads[5]["sequence_number"] = value
    assert "sequence_missing" in codes(tolerate(payloads))
    assert refuse(payloads) == ("sequence_missing", 6)


# Row 88
@pytest.mark.parametrize("first", [1, -1, 100])
def test_responses_88_sequence_does_not_begin_at_0(first: int) -> None:
    payloads = [
        {**payload, "sequence_number": first + place} for place, payload in enumerate(stream(GETS))
    ]
    assert_read(payloads, GETS, found=["sequence_broken"])
    assert refuse(payloads) == ("sequence_broken", 1)


# Row 88
@pytest.mark.parametrize("other", [2, 3, 5, 6, 0, -1, 1000])
def test_responses_88_sequence_broken(other: int) -> None:
    payloads = stream(GETS)
    payloads[4]["sequence_number"] = other
    assert_read(payloads, GETS, found=["sequence_broken"])
    assert refuse(payloads) == ("sequence_broken", 5)


# Row 88
def test_responses_88_sequence_restarts() -> None:
    payloads = stream(SAYS)
    for place, payload in enumerate(payloads[5:]):
        payload["sequence_number"] = place
    assert_read(payloads, SAYS, found=["sequence_broken"])
    assert refuse(payloads) == ("sequence_broken", 6)


# Row 88
def test_responses_88_events_are_never_reordered() -> None:
    payloads = stream(message("msg_0", text("a", "b")))
    first, second = payloads[4], payloads[5]
    first["sequence_number"], second["sequence_number"] = 5, 4
    assembler = ResponsesAssembler()
    assert text_of(feed(assembler, events(payloads)), TextDelta) == "ab"


# Row 89
@pytest.mark.parametrize("strict", [True, False], ids=["strict", "tolerant"])
def test_responses_89_replayed_events_are_left_out(strict: bool) -> None:
    made = events(stream(*SEQUENTIAL))
    cut = len(made) - 4
    assembler = ResponsesAssembler(strict=strict, resume=True)
    completion = run(assembler, [*made[:cut], *made[3:]])
    assert completion.findings == ()
    assert completion.complete
    assert simple(completion) == parts_of(SEQUENTIAL)


# Row 89
def test_responses_89_replayed_events_without_resume_are_a_departure() -> None:
    made = events(stream(SAYS))
    place = 6
    error = failure(ResponsesAssembler(strict=True), [*made[:place], *made[4:]])
    assert (error.code, error.event) == ("sequence_broken", place + 1)


# Row 90
def test_responses_90_reasoning_in_a_part_announced_as_text() -> None:
    item = reasoning("msg_0", thought("2", "+2"))
    payloads = edited(
        stream(item), "response.content_part.added", {"part": {"type": "output_text"}}
    )
    completion = tolerate(payloads)
    assert codes(completion) == ["part_type_mismatch"]
    assert completion.choices[0].parts == (ReasoningPart("2+2"),)
    assert completion.message == [item.done]
    assert refuse(payloads) == ("part_type_mismatch", 5)


# Row 90
def test_responses_90_part_done_as_text_too() -> None:
    item = reasoning("msg_0", thought("2", "+2"))
    payloads = stream(item)
    for type in ("response.content_part.added", "response.content_part.done"):
        payloads = edited(payloads, type, {"part": {"type": "output_text"}})
    completion = tolerate(payloads)
    assert codes(completion) == ["part_type_mismatch"]
    assert completion.text == ""
    assert completion.reasoning == "2+2"


# Row 91
def test_responses_91_call_in_the_text_is_text() -> None:
    item = message("msg_0", text("<tool_call>", '{"name":"rm","arguments":{}}', "</tool_call>"))
    assert_read(stream(item), item, found=[])
    assert tolerate(stream(item), strict=True).tool_calls == ()


# Row 92
@pytest.mark.parametrize("items", [[THINKS, SAYS, GETS, EXECUTES], [REFUSES, THINKS_ALOUD]])
def test_responses_92_obfuscation_is_dropped_and_unknown_fields_are_kept(
    items: list[Item],
) -> None:
    items = [Item(item.begin, item.events, {**item.done, "new": {"x": [1]}}) for item in items]
    payloads = [
        {**payload, "obfuscation": "x9f"} if payload["type"].endswith(".delta") else payload
        for payload in stream(*items)
    ]
    assert_read(payloads, *items, found=[])
    completion = tolerate(payloads, strict=True)
    assert completion.findings == ()
    assert "x9f" not in repr(completion)


# Row 93
def test_responses_93_parallel_wrapper_is_an_unknown_tool() -> None:
    item = function("fc_0", "multi_tool_use.parallel", '{"tool_uses":[]}')
    assert_read(stream(item), item, found=[])
    known = {"known_tools": ["get", "put"]}
    assert codes(tolerate(stream(item), **known)) == ["unknown_tool"]
    assert refuse(stream(item), **known) == ("unknown_tool", 3)


# Row 94
@pytest.mark.parametrize(
    "late",
    [
        {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "x"},
        lifecycle("completed"),
        lifecycle("created"),
        lifecycle("failed"),
        {"type": "error", "message": "late"},
        {"type": "response.future.thing"},
        placed(GETS, 0)[0],
    ],
    ids=lambda late: late["type"],
)
def test_responses_94_event_after_the_terminal(late: Payload) -> None:
    payloads = [*stream(SAYS), late]
    assert_read(payloads, SAYS, found=["event_after_terminal"])
    assert refuse(payloads) == ("event_after_terminal", len(payloads))


def seeded(item: Item, seed: str, deltas: list[str], end: str | None) -> list[Payload]:
    """A call whose announcement has arguments already."""
    field = "input" if item is EXECUTES else "arguments"
    deltas_type = item.events[0]["type"]
    done_type = item.events[-1]["type"]
    done = {**item.done, field: item.done[field] if end is None else end}
    made = Item(
        {**item.begin, field: seed},
        [
            *({"type": deltas_type, "delta": delta} for delta in deltas),
            {"type": done_type, field: done[field]},
        ],
        done,
    )
    return stream(made)


# Row 95
@pytest.mark.parametrize(
    ("seed", "deltas"),
    [
        ('{"k":"é"}', []),
        ('{"k":"é"}', [""]),
        ('{"k":', ['"é"', "}"]),
        ("{", ['"k":"é"}']),
        ('{"k":"é"', ["}"]),
    ],
)
def test_responses_95_arguments_in_the_announcement(seed: str, deltas: list[str]) -> None:
    payloads = seeded(GETS, seed, deltas, None)
    assert_read(payloads, GETS, found=[])
    assert tolerate(payloads, strict=True).findings == ()


# Row 95
@pytest.mark.parametrize(
    ("seed", "deltas"),
    [('{"k":"é"}', ['{"k":"é"}']), ('{"k":"é"}', ['{"k":', '"é"}'])],
    ids=["at once", "in pieces"],
)
def test_responses_95_deltas_repeat_the_announcement(seed: str, deltas: list[str]) -> None:
    payloads = seeded(GETS, seed, deltas, None)
    completion = tolerate(payloads)
    assert completion.tool_calls[0].arguments == '{"k":"é"}'
    assert completion.complete
    assembler = ResponsesAssembler()
    updates = feed(assembler, events(payloads))
    pieces = [update.text for update in updates if isinstance(update, ToolArgumentsDelta)]
    assert "".join(pieces) == '{"k":"é"}'
    assert refuse(payloads)[0] == "delta_done_mismatch"


# Row 95
@pytest.mark.parametrize("deltas", [[], ['{"k":2}']], ids=["no deltas", "deltas"])
def test_responses_95_announcement_with_other_arguments_is_never_complete(
    deltas: list[str],
) -> None:
    payloads = seeded(GETS, '{"k":1}', deltas, '{"k":2}')
    completion = tolerate(payloads)
    assert "delta_done_mismatch" in codes(completion)
    assert not completion.tool_calls[0].complete
    assert refuse(payloads)[0] == "delta_done_mismatch"


# Row 95
def test_responses_95_custom_input_in_the_announcement() -> None:
    payloads = seeded(EXECUTES, "ls ", ["-l"], None)
    assert_read(payloads, EXECUTES, found=[])
    payloads = seeded(EXECUTES, "ls -l", [], None)
    assert_read(payloads, EXECUTES, found=[])
