"""What `inspect` makes of the payloads of a language model: facts, and which of them are losses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from sansio_sse import EventStreamParser
from sansio_sse._cli._answer import Answer, Departure, FinishReason, UsagePlace
from sansio_sse._cli._scanner import Scanner
from sansio_sse.llm import ProviderError

from .streams import DONE, block, chunk, delta, messages, tool

if TYPE_CHECKING:
    from sansio_sse._cli._findings import Findings

HELLO = chunk(delta(content="Hello"))
STOP = chunk(delta("stop"))
ERROR: dict[str, Any] = {"error": {"message": "no", "code": 5}}


def findings_of(
    stream: bytes, *, interrupted: bool = False, limit: int | None = 10_000_000
) -> Findings:
    scanner = Scanner(EventStreamParser(max_event_bytes=limit))
    scanner.feed(stream)
    scanner.findings.interrupted = interrupted
    return scanner.finish()


def answer_of(stream: bytes, *, interrupted: bool = False) -> Answer:
    answer = findings_of(stream, interrupted=interrupted).answer
    assert answer is not None
    return answer


def test_a_good_answer_has_its_places_and_no_losses() -> None:
    usage = {"prompt_tokens": 1}
    answer = answer_of(HELLO + STOP + chunk(usage=usage) + DONE)
    assert (answer.dialect, answer.complete, answer.error) == ("chat", True, None)
    assert answer.finish_reasons.first == [FinishReason(2, 0, "stop")]
    assert answer.usage == {"usage": UsagePlace("usage", 3, 3, 1)}
    assert (answer.empty_choices.first, answer.repeated_roles.count) == ([3], 0)
    assert (answer.payloads, answer.departures, answer.losses) == (3, [], [])


@pytest.mark.parametrize(
    "stream",
    [
        b"",
        b"data: hello\n\n",
        b"data: {}\n\n" * 3,
        b"<html>",
        b'{"error": {"message": "no"}}',
        block({"error": "no"}),
        block({"error": {"code": 500}}),
        block("what", "error"),
        block({"n": 1}, "error"),
        b"error: out of memory\n\n",
        block({"n": 1}) * 200 + HELLO + STOP,
        block("hello") * 200 + HELLO + STOP,
        DONE,
    ],
)
def test_a_stream_of_no_dialect_has_no_answer(stream: bytes) -> None:
    assert findings_of(stream).answer is None


@pytest.mark.parametrize(
    "stream",
    [
        block(ERROR),
        block({"type": "error", "error": {"type": "overloaded_error", "message": "no"}}, "error"),
        block({"message": "no"}, "error"),
        b'error: {"code": 400, "message": "no"}\n\n' + DONE,
        block({"n": 1}) + block(ERROR),
    ],
)
def test_an_error_of_a_provider_is_one_in_any_dialect(stream: bytes) -> None:
    answer = answer_of(stream)
    assert (answer.dialect, answer.complete, answer.losses) == (None, False, ["provider_error"])
    assert answer.error is not None
    assert answer.error.message == "no"


def test_data_that_is_not_json_does_not_hide_the_dialect() -> None:
    findings = findings_of(block("hello") + HELLO + STOP)
    assert findings.answer is not None
    assert findings.answer.dialect == "chat"
    assert findings.losses == ["not_json", "damaged_answer"]


@pytest.mark.parametrize(
    ("stream", "losses"),
    [
        (HELLO + block(ERROR), ["provider_error"]),
        (HELLO + chunk(delta("error"), **ERROR), ["provider_error"]),
        (HELLO + chunk(delta("error")), ["incomplete_answer"]),
        (HELLO, ["incomplete_answer"]),
        (HELLO + DONE, ["incomplete_answer"]),
        (HELLO * 2 + block("{"), ["not_json", "damaged_answer"]),
        # A text that can't be read is lost.
        (HELLO + chunk(delta("stop", content=5)), ["damaged_answer"]),
        # Calls were announced.
        (HELLO + chunk(delta("tool_calls")), ["damaged_answer"]),
        (chunk(delta("tool_calls", tool_calls=[tool('{"a": 1')])), ["invalid_calls"]),
        (chunk(delta("length", tool_calls=[tool('{"a": 1')])), ["invalid_calls"]),
        (chunk(delta(tool_calls=[tool("{}")])), ["incomplete_answer", "invalid_calls"]),
        (HELLO + chunk(delta("length")), []),
        (HELLO + chunk(delta("content_filter")), []),
        (HELLO + chunk(delta("strange")), []),
        (messages({"type": "message_delta", "delta": {"stop_reason": "pause_turn"}}), []),
        (messages({"type": "message_delta", "delta": {"stop_reason": "refusal"}}), []),
        (messages({"type": "new"}, {"type": "message_delta"}), ["incomplete_answer"]),
        (HELLO + STOP + DONE + HELLO, []),
        (chunk(delta("stop", role="assistant", content=[{"type": "text", "text": "x"}])), []),
        # More than an assembler takes.
        (HELLO + chunk(*[delta("stop", n) for n in range(200)]), []),
    ],
)
def test_what_is_lost_or_damaged_is_told_from_what_is_odd(stream: bytes, losses: list[str]) -> None:
    findings = findings_of(stream)
    assert findings.losses == losses
    assert findings.status == (1 if losses else 0)


def test_a_stream_that_is_cut_off_is_incomplete() -> None:
    findings = findings_of(HELLO + b"data: {")
    assert findings.losses == ["pending_block", "incomplete_answer"]
    assert findings.answer is not None
    assert findings.answer.error is not None
    assert findings.answer.error.code == "truncated"


def test_an_interrupt_leaves_the_answer_open() -> None:
    answer = answer_of(HELLO + chunk(delta(tool_calls=[tool("{")])), interrupted=True)
    assert (answer.dialect, answer.complete, answer.error) == ("chat", None, None)
    assert (answer.calls, answer.invalid_calls.count, answer.losses) == (1, 0, [])


def test_an_error_before_an_interrupt_is_kept() -> None:
    assert answer_of(HELLO + block(ERROR), interrupted=True).losses == ["provider_error"]


def test_a_block_too_large_leaves_the_answer_open() -> None:
    findings = findings_of(HELLO + b"data: " + b"x" * 2000, limit=1000)
    assert findings.losses == ["event_too_large"]
    assert findings.answer is not None
    assert findings.answer.complete is None


def test_data_that_is_too_large_to_be_judged_leaves_the_answer_open() -> None:
    large = block('{"choices": [' + " " * (4 * 1024 * 1024) + "]}")
    findings = findings_of(HELLO + large + STOP, limit=None)
    answer = findings.answer
    assert answer is not None
    assert answer.error is not None
    assert (answer.complete, answer.error.code, answer.error.event) == (None, "limit_exceeded", 2)
    assert (findings.losses, answer.payloads) == ([], 1)


@pytest.mark.parametrize(
    ("payload", "place"),
    [
        ({"choices": [], "usage": {"a": 1}}, "usage"),
        ({"choices": [{**delta(), "usage": {"a": 1}}]}, "choices[].usage"),
        ({"choices": [], "x_groq": {"usage": {"a": 1}}}, "x_groq.usage"),
        ({"type": "response.completed", "response": {"usage": {"a": 1}}}, "response.usage"),
        ({"type": "message_start", "message": {"usage": {"a": 1}}}, "message.usage"),
        ({"candidates": [], "usageMetadata": {"a": 1}}, "usageMetadata"),
    ],
)
def test_usage_has_its_place(payload: dict[str, Any], place: str) -> None:
    assert list(answer_of(block(payload)).usage.values()) == [UsagePlace(place, 1, 1, 1)]


def test_usage_that_is_empty_is_none() -> None:
    payload = {"choices": [{**delta(), "usage": None}, 3], "usage": {}, "x_groq": {"id": "x"}}
    assert answer_of(block(payload)).usage == {}


def test_usage_in_every_event_is_counted() -> None:
    answer = answer_of(chunk(delta(), usage={"total_tokens": 1}) * 3 + STOP)
    assert answer.usage == {"usage": UsagePlace("usage", 1, 3, 3)}
    assert answer.payloads == 4


def test_a_role_is_repeated_within_its_choice() -> None:
    stream = chunk(delta(role="assistant"), delta(None, 1, role="assistant"))
    stream += chunk(delta(role="")) + chunk(delta(None, 1, role="assistant")) + STOP
    stream += block({"choices": [{"delta": {"role": "assistant"}}]})
    assert answer_of(stream).repeated_roles.first == [3, 5]


def test_departures_are_gathered_by_their_code() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    stream = chunk(delta(tool_calls=[call])) + HELLO + chunk(delta(tool_calls=[call]))
    answer = answer_of(stream + STOP)
    message = "the finish reason is 'stop', and there are 1 calls"
    assert answer.departures == [
        Departure("tool_index_missing", "a fragment of a call has no index", [1, 3]),
        Departure("finish_mismatch", message, [None]),
    ]


def test_what_came_before_the_dialect_was_known_is_judged_too() -> None:
    answer = answer_of(block({"new": 1}) + block("", "ping") + HELLO + STOP)
    assert [(each.code, each.events) for each in answer.departures] == [("choices_missing", [1])]


def test_payloads_with_the_same_text_are_read_apart() -> None:
    piece = chunk(delta(annotations=[{"a": "x"}], new={"b": "y"}))
    answer = answer_of(piece * 5 + STOP)
    assert (answer.complete, answer.payloads, answer.departures) == (True, 6, [])


def test_names_and_reasons_are_kept_within_bounds() -> None:
    long = "x" * 1000
    calls = [{**tool("{", n), "function": {"name": long, "arguments": "{"}} for n in range(15)]
    answer = answer_of(chunk(delta(long, tool_calls=calls)))
    assert answer.invalid_calls.count == answer.calls == 15
    assert [len(call.name) for call in answer.invalid_calls.first] == [200] * 10
    assert [len(reason.reason) for reason in answer.finish_reasons.first] == [200]


def test_an_answer_without_an_error_of_a_provider_has_none() -> None:
    assert Answer(error=ProviderError("x")).losses == ["provider_error"]
    assert Answer().losses == []
