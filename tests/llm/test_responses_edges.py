"""Responses streams whose events come where nothing waits for them."""

from __future__ import annotations

from sansio_sse.llm import InvalidToolCall, ResponsesAssembler, TextPart

from .responses_writer import (
    GETS,
    SAYS,
    around,
    assert_read,
    edited,
    events,
    inserted,
    message,
    number,
    placed,
    refuse,
    stream,
    text,
    tolerate,
)
from .streams import codes, failure

ADDED = "response.output_item.added"
ITEM_DONE = "response.output_item.done"
PART_DONE = "response.content_part.done"


def test_responses_text_done_behind_its_item_is_left_out() -> None:
    payloads = stream(SAYS)
    done = payloads.pop(number(payloads, "response.output_text.done") - 1)
    payloads = inserted(payloads, number(payloads, ITEM_DONE) + 1, {**done, "text": "other"})
    completion = tolerate(payloads)
    assert completion.text == "Hello 🚀"
    assert codes(completion) == ["missing_done", "delta_after_done"]


def test_responses_text_announced_after_its_deltas_is_one_item() -> None:
    added, *others = placed(SAYS, 0)
    place = next(n for n, each in enumerate(others) if each["type"].endswith("text.delta"))
    payloads = around([*others[: place + 1], added, *others[place + 1 :]], stream(SAYS)[-1])
    completion = tolerate(payloads)
    assert completion.message == [SAYS.done]
    assert codes(completion) == ["item_not_announced"]


def test_responses_parts_of_types_that_nobody_knows_are_kept() -> None:
    part = {"type": "output_future", "text": "x"}
    item = message("msg_0", text("a"))
    content = [*item.done["content"], part]
    payloads = edited(stream(item), ITEM_DONE, {"item": {"content": content}})
    payloads = edited(payloads, "response.completed", {"response": {"output": None}})
    ended = {**payloads[number(payloads, PART_DONE) - 1], "content_index": 1, "part": part}
    payloads = inserted(payloads, number(payloads, ITEM_DONE), ended)
    completion = tolerate(payloads)
    assert completion.message == [{**item.done, "content": content}]
    assert completion.choices[0].parts == (TextPart("a"),)


def test_responses_empty_text_is_no_part_of_the_answer() -> None:
    item = message("msg_0", text())
    payloads = [
        each for each in stream(item) if not each["type"].startswith("response.output_text")
    ]
    completion = tolerate(payloads)
    assert completion.choices[0].parts == ()
    assert completion.message == [item.done]


def test_responses_annotation_before_any_text_is_kept_beside_the_item() -> None:
    annotation = {"type": "url_citation", "url": "https://example.com"}
    added = {
        "type": "response.output_text.annotation.added",
        "item_id": "msg_0",
        "output_index": 0,
        "content_index": 0,
        "annotation_index": 0,
        "annotation": annotation,
    }
    payloads = inserted(stream(SAYS), 4, added)
    assert_read(payloads, SAYS, found=[])
    assert tolerate(payloads).choices[0].extra["annotations"] == [annotation]


def test_responses_call_that_its_item_calls_incomplete_is_refused_with_the_event() -> None:
    payloads = edited(stream(GETS), ITEM_DONE, {"item": {"status": "incomplete"}})
    payloads = edited(payloads, "response.completed", {"response": {"output": None}})
    error = failure(ResponsesAssembler(strict=True), events(payloads))
    assert isinstance(error, InvalidToolCall)
    place = number(payloads, ITEM_DONE)
    assert refuse(payloads) == ("truncated_call", place)
    assert (error.code, error.event) == ("truncated_call", place)
