"""The events of Responses streams: all types, places of items, what comes along, the ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from sansio_sse.llm import (
    IncompleteStream,
    ProviderError,
    ResponsesAssembler,
    TextPart,
    UsageUpdate,
)

from .responses_writer import (
    ABSENT,
    CITED,
    CITES,
    COMPUTES,
    EXECUTES,
    GETS,
    LISTS,
    PUTS,
    REFUSES,
    SAYS,
    SEARCHES,
    THINKS,
    THINKS_ALOUD,
    USAGE,
    Payload,
    around,
    assert_calls_as_announced,
    built_in,
    edited,
    events,
    inserted,
    lifecycle,
    message,
    number,
    parts_of,
    placed,
    reasoning,
    refuse,
    simple,
    stream,
    text,
    tolerate,
    whole,
)
from .streams import DONE, codes, event, failure, feed, run

if TYPE_CHECKING:
    from sansio_sse import Event

SHELL = built_in("sh_0", "shell_call", action={"commands": ["ls"]})

# Of each type that the reference lists and the writer has no use for: its own members.
OTHER_TYPES: dict[str, Payload] = {
    "response.audio.delta": {"delta": "QQ=="},
    "response.audio.done": {},
    "response.audio.transcript.delta": {"delta": "hi"},
    "response.audio.transcript.done": {},
    "response.compaction.compacting": {"item_id": "sh_0", "output_index": 0},
    **{
        f"response.{name}": {"item_id": "sh_0", "output_index": 0}
        for name in (
            "file_search_call.completed",
            "file_search_call.in_progress",
            "file_search_call.searching",
            "image_generation_call.completed",
            "image_generation_call.generating",
            "image_generation_call.in_progress",
            "mcp_call.failed",
            "mcp_list_tools.completed",
            "mcp_list_tools.failed",
            "mcp_list_tools.in_progress",
        )
    },
    "response.image_generation_call.partial_image": {
        "item_id": "sh_0",
        "output_index": 0,
        "partial_image_b64": "QQ==",
        "partial_image_index": 0,
    },
    "response.shell_call_command.added": {"command": "", "command_index": 0, "output_index": 0},
    "response.shell_call_command.delta": {"command_index": 0, "delta": "ls", "output_index": 0},
    "response.shell_call_command.done": {"command": "ls", "command_index": 0, "output_index": 0},
    "response.shell_call_output_content.delta": {
        "command_index": 0,
        "delta": {"stdout": "a"},
        "item_id": "sh_0",
        "output_index": 0,
    },
    "response.shell_call_output_content.done": {
        "command_index": 0,
        "item_id": "sh_0",
        "output": [{"stdout": "a"}],
        "output_index": 0,
    },
}
WRITTEN_TYPES = {
    payload["type"]
    for payload in stream(
        THINKS, THINKS_ALOUD, CITES, REFUSES, GETS, EXECUTES, LISTS, COMPUTES, SEARCHES
    )
}
ENDS = {"error", "response.failed", "response.incomplete"}


def test_responses_tests_have_all_59_event_types() -> None:
    assert len(WRITTEN_TYPES | OTHER_TYPES.keys() | ENDS | {"response.queued"}) == 59


@pytest.mark.parametrize("type", OTHER_TYPES)
def test_responses_takes_event_type(type: str) -> None:
    payloads = stream(SHELL, SAYS)
    payloads.insert(3, {"type": type, **OTHER_TYPES[type]})
    completion = tolerate(payloads, strict=True)
    assert completion.findings == ()
    assert completion.complete
    assert simple(completion) == parts_of([SAYS])
    assert completion.message == [SHELL.done, SAYS.done]


def test_responses_takes_queued() -> None:
    payloads = inserted(stream(SAYS), 2, lifecycle("queued"))
    assert tolerate(payloads, strict=True).findings == ()


@pytest.mark.parametrize("type", sorted(WRITTEN_TYPES | OTHER_TYPES.keys()))
def test_responses_takes_the_type_from_the_event(type: str) -> None:
    """Some servers leave `type` to the field of the event stream."""
    payloads = stream(
        THINKS, THINKS_ALOUD, CITES, REFUSES, GETS, EXECUTES, LISTS, COMPUTES, SEARCHES
    )
    if type in OTHER_TYPES:
        payloads.insert(3, {"type": type, **OTHER_TYPES[type]})
    made: list[Event] = []
    for place, payload in enumerate(payloads):
        fields = {"sequence_number": place, **payload}
        if payload["type"] == type:
            del fields["type"]
        made.append(event(fields, payload["type"]))
    completion = run(ResponsesAssembler(strict=True), made)
    assert completion.findings == ()
    assert completion.complete


def test_responses_takes_streams_without_event_names() -> None:
    made = [
        event({**payload, "sequence_number": place})
        for place, payload in enumerate(stream(THINKS, SAYS, GETS))
    ]
    completion = run(ResponsesAssembler(strict=True), made)
    assert completion.findings == ()
    assert simple(completion) == parts_of([THINKS, SAYS, GETS])


def test_responses_items_announced_out_of_order_of_index() -> None:
    payloads = around(
        [*placed(PUTS, 2), *placed(SAYS, 0), *placed(GETS, 1)], whole(SAYS, GETS, PUTS)
    )
    assembler = ResponsesAssembler(strict=True)
    updates = feed(assembler, events(payloads))
    completion = assembler.finish()
    assert completion.findings == ()
    # Calls are numbered in the order in which they began, items are in that of the response.
    assert [call.name for call in completion.tool_calls] == ["put", "get"]
    assert_calls_as_announced(updates, completion)
    assert completion.message == [SAYS.done, GETS.done, PUTS.done]


def test_responses_parts_of_one_message_interleaved() -> None:
    item = message("msg_0", text("ab", "cd"), text("ef", "gh"))
    added, *rest, done = placed(item, 0)
    half = len(rest) // 2
    mixed = [payload for pair in zip(rest[:half], rest[half:], strict=True) for payload in pair]
    completion = tolerate(around([added, *mixed, done], whole(item)), strict=True)
    assert completion.choices[0].parts == (TextPart("abcd"), TextPart("efgh"))
    assert completion.message == [item.done]


def test_responses_annotations_are_kept() -> None:
    completion = tolerate(stream(CITES))
    assert completion.choices[0].extra["annotations"] == [CITED, CITED]
    assert completion.message[0]["content"][0]["annotations"] == [CITED, CITED]


def test_responses_annotations_of_an_item_not_done_are_in_the_message() -> None:
    payloads = [
        payload for payload in stream(CITES) if payload["type"] != "response.output_item.done"
    ]
    payloads = edited(payloads, "response.completed", {"response": {"output": None}})
    content = tolerate(payloads).message[0]["content"]
    assert [part["text"] for part in content] == ["See x", "also y"]
    assert [part["annotations"] for part in content] == [[CITED, CITED], []]


def test_responses_logprobs_are_joined() -> None:
    first, second = {"token": "Hel", "logprob": -0.5}, {"token": "lo", "logprob": -0.25}
    payloads = stream(message("msg_0", text("Hel", "lo")))
    payloads = edited(payloads, "response.output_text.delta", {"logprobs": [first]}, 0)
    payloads = edited(payloads, "response.output_text.delta", {"logprobs": [second]}, 1)
    payloads = edited(payloads, "response.output_text.done", {"logprobs": [first, second]})
    completion = tolerate(payloads, strict=True)
    assert completion.choices[0].extra["logprobs"] == {"content": [first, second]}


def test_responses_text_done_without_logprobs_is_legal() -> None:
    """xAI leaves them out there."""
    payloads = edited(stream(SAYS), "response.output_text.done", {"logprobs": ABSENT})
    assert tolerate(payloads, strict=True).findings == ()


@pytest.mark.parametrize("pieces", [["Good ", "bye"], ["ha", "ha"], ["a", "a", "a"]])
def test_responses_audio_is_joined(pieces: list[str]) -> None:
    audio: list[Payload] = [
        *({"type": "response.audio.transcript.delta", "delta": piece} for piece in pieces),
        *({"type": "response.audio.delta", "delta": data} for data in ("QQ==", "QQ==", "Qg==")),
    ]
    completion = tolerate(inserted(stream(), 3, *audio), strict=True)
    assert completion.choices[0].extra["audio"] == {
        "transcript": "".join(pieces),
        "data": ["QQ==", "QQ==", "Qg=="],
    }


def test_responses_encrypted_reasoning_is_in_the_message() -> None:
    item = reasoning("rs_0", encrypted_content="RU5D")
    completion = tolerate(stream(item, SAYS), strict=True)
    assert completion.reasoning == ""
    assert completion.message[0] == {
        "id": "rs_0",
        "type": "reasoning",
        "summary": [],
        "encrypted_content": "RU5D",
    }


@pytest.mark.parametrize(
    "item", [SEARCHES, LISTS, COMPUTES, SHELL], ids=lambda item: item.begin["id"]
)
def test_responses_server_tools_are_no_calls_of_the_caller(item: Any) -> None:
    completion = tolerate(stream(item), strict=True)
    assert completion.tool_calls == ()
    assert completion.choices[0].ending == "stop"
    assert completion.message == [item.done]


@pytest.mark.parametrize(
    ("item", "field"), [(LISTS, "arguments"), (COMPUTES, "code")], ids=["mcp", "code"]
)
@pytest.mark.parametrize("settled", [True, False], ids=["text done", "text not done"])
def test_responses_server_tools_not_done_keep_their_text(
    item: Any, field: str, settled: bool
) -> None:
    payloads = [
        payload
        for payload in stream(item)
        if payload["type"] != "response.output_item.done" and (settled or field not in payload)
    ]
    completion = tolerate(payloads)
    assert codes(completion) == ["missing_done"]
    assert completion.message[0][field] == item.done[field]
    assert completion.tool_calls == ()


def test_responses_usage_is_normalised() -> None:
    assembler = ResponsesAssembler()
    updates = feed(assembler, events(stream(SAYS)))
    usage = assembler.finish().usage
    assert usage is not None
    assert tuple(usage) == (50, 30, 80, 16, 12, USAGE)
    assert [update for update in updates if isinstance(update, UsageUpdate)] == [UsageUpdate(usage)]


def test_responses_last_usage_counts() -> None:
    early = {**USAGE, "input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    payloads = edited(stream(SAYS), "response.in_progress", {"response": {"usage": early}})
    usage = tolerate(payloads).usage
    assert usage is not None
    assert (usage.input, usage.output, usage.total) == (50, 30, 80)


def test_responses_without_usage_has_none() -> None:
    payloads = edited(stream(SAYS), "response.completed", {"response": {"usage": None}})
    completion = tolerate(payloads, strict=True)
    assert completion.usage is None
    assert completion.complete


@pytest.mark.parametrize(
    ("reason", "ending"),
    [
        ("max_output_tokens", "length"),
        ("content_filter", "content_filter"),
        ("max_messages", "other"),
        ("steered", "other"),
        ("of_next_year", "other"),
    ],
)
def test_responses_incomplete_for_a_reason(reason: str, ending: str) -> None:
    details = {"incomplete_details": {"reason": reason}}
    payloads = around(placed(SAYS, 0), lifecycle("incomplete", [SAYS.done], **details))
    completion = tolerate(payloads)
    assert completion.finish_reason == reason
    assert completion.choices[0].ending == ending
    assert not completion.complete
    assert completion.text == "Hello 🚀"
    assert refuse(payloads) == ("incomplete", None)


@pytest.mark.parametrize("details", [None, {}, {"reason": None}])
def test_responses_incomplete_without_a_reason(details: Any) -> None:
    payloads = around(placed(SAYS, 0), lifecycle("incomplete", [SAYS.done]))
    payloads[-1]["response"]["incomplete_details"] = details
    completion = tolerate(payloads)
    assert completion.finish_reason == "incomplete"
    assert completion.choices[0].ending == "other"
    assert not completion.complete
    assert refuse(payloads) == ("incomplete", None)


@pytest.mark.parametrize("status", ["completed", "in_progress", "queued", None, 5])
def test_responses_incomplete_is_so_whatever_its_status_says(status: Any) -> None:
    payloads = around(placed(SAYS, 0), lifecycle("incomplete", [SAYS.done], status=status))
    assert not tolerate(payloads).complete
    assert refuse(payloads)[0] == "incomplete"


@pytest.mark.parametrize("status", ["in_progress", "queued", "incomplete", "of_next_year"])
def test_responses_completed_with_another_status_is_not_complete(status: str) -> None:
    payloads = edited(stream(GETS), "response.completed", {"response": {"status": status}})
    completion = tolerate(payloads)
    assert not completion.complete
    assert completion.finish_reason == status
    assert refuse(payloads)[0] == "incomplete"


def test_responses_completed_without_a_status_is_complete() -> None:
    payloads = edited(stream(GETS), "response.completed", {"response": {"status": ABSENT}})
    completion = tolerate(payloads)
    assert completion.complete
    assert completion.finish_reason == "completed"


@pytest.mark.parametrize("name", ["completed", "incomplete", "failed"])
@pytest.mark.parametrize("status", ["failed", "cancelled"])
@pytest.mark.parametrize("strict", [True, False], ids=["strict", "tolerant"])
def test_responses_failed_or_cancelled_by_its_status(name: str, status: str, strict: bool) -> None:
    payloads = around(placed(GETS, 0), lifecycle(name, [GETS.done], status=status))
    error = failure(ResponsesAssembler(strict=strict), events(payloads))
    assert isinstance(error, ProviderError)
    assert error.code == "failed"
    assert error.event == len(payloads)
    assert error.partial is not None
    assert error.partial.tool_calls[0].arguments == '{"k":"é"}'


@pytest.mark.parametrize("keepalive", ["keepalive", "response.keep_alive", "ping"])
def test_responses_keepalives_after_the_terminal_are_ignored(keepalive: str) -> None:
    payloads: list[Payload] = [*stream(SAYS), {"type": keepalive}]
    completion = tolerate(payloads, strict=True)
    assert completion.findings == ()
    assert completion.complete


def test_responses_done_marker_after_the_terminal_is_noted() -> None:
    """OpenAI sends none."""
    items = [*events(stream(GETS)), DONE]
    completion = run(ResponsesAssembler(), items)
    assert codes(completion) == ["event_after_terminal"]
    assert completion.complete
    error = failure(ResponsesAssembler(strict=True), items)
    assert (error.code, error.event) == ("event_after_terminal", len(items))


@pytest.mark.parametrize("strict", [True, False], ids=["strict", "tolerant"])
def test_responses_done_marker_without_a_terminal_is_incomplete(strict: bool) -> None:
    items = [*events(stream(GETS)[:-1]), DONE]
    error = failure(ResponsesAssembler(strict=strict), items)
    assert (type(error), error.code) == (IncompleteStream, "missing_terminal")


@pytest.mark.parametrize("strict", [True, False], ids=["strict", "tolerant"])
def test_responses_cut_by_the_transport_is_truncated(strict: bool) -> None:
    assembler = ResponsesAssembler(strict=strict)
    feed(assembler, events(stream(GETS)[:-1]))
    with pytest.raises(IncompleteStream) as raised:
        assembler.finish(truncated=True)
    assert raised.value.code == "truncated"
    assert raised.value.partial is not None
    assert not raised.value.partial.tool_calls[0].complete


def test_responses_cut_by_the_transport_after_the_terminal_is_complete() -> None:
    assembler = ResponsesAssembler(strict=True)
    feed(assembler, events(stream(GETS)))
    assert assembler.finish(truncated=True).complete


@pytest.mark.parametrize("end", range(1, len(stream(THINKS, GETS))))
def test_responses_resume_after_any_event_leaves_out_what_came(end: int) -> None:
    payloads = events(stream(THINKS, GETS))
    for again in range(end + 1):
        assembler = ResponsesAssembler(strict=True, resume=True)
        completion = run(assembler, [*payloads[:end], *payloads[again:]])
        assert completion.findings == ()
        assert completion.complete
        assert simple(completion) == parts_of([THINKS, GETS])


def test_responses_resume_with_a_gap_is_a_departure() -> None:
    payloads = stream(SAYS)
    gap = number(payloads, "response.output_text.delta")
    made = [item for place, item in enumerate(events(payloads), 1) if place != gap]
    completion = run(ResponsesAssembler(resume=True), made)
    assert "sequence_broken" in codes(completion)
    error = failure(ResponsesAssembler(strict=True, resume=True), made)
    assert (error.code, error.event) == ("sequence_broken", gap)


def test_responses_resume_does_not_hide_events_after_the_terminal() -> None:
    payloads = events(stream(SAYS))
    completion = run(ResponsesAssembler(resume=True), [*payloads, *payloads])
    assert completion.complete
    assert completion.text == "Hello 🚀"
