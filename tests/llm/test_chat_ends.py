"""Quirks of the framing that reach the assembler of Chat Completions: blank data, ends, no JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from sansio_sse import Comment, Event, Retry, UnknownField
from sansio_sse.llm import (
    AssemblyError,
    ChatCompletionsAssembler,
    IncompleteStream,
    InvalidPayload,
    ProviderError,
)

from .streams import DONE, codes, event, failure, items_of, run
from .test_chat_quirks import (
    GET,
    accept,
    calling,
    ends,
    fragment,
    refuse,
    says,
    tolerate,
    updates_of,
)

if TYPE_CHECKING:
    from sansio_sse import Item

HI = [says("Hi"), ends()]


def test_comments_and_retries_add_nothing() -> None:
    processing, empty = Comment(" OPENROUTER PROCESSING"), Comment("")
    items: list[Item] = [
        processing,
        processing,
        empty,
        Retry(3000),
        *HI,
        Comment(" keep-alive"),
        DONE,
    ]
    assert accept(items) == accept([*HI, DONE])
    assert [updates_of([item]) for item in items[:4]] == [[], [], [], []]


def test_comment_wrapped_as_data_is_left_out() -> None:
    items = [*items_of(b"data: : OPENROUTER PROCESSING\n\n"), *HI, DONE]
    completion = tolerate(items, "invalid_json")
    assert (completion.text, completion.complete) == ("Hi", True)
    assert isinstance(refuse("invalid_json", 1, items), InvalidPayload)


@pytest.mark.parametrize("data", ["", " ", "\n", "\t\n"])
@pytest.mark.parametrize("type_", ["message", "ping", "keepalive"])
def test_blank_data_is_left_out(data: str, type_: str) -> None:
    items = [Event(type=type_, data=data), *HI, Event(data=data), DONE, Event(data=data)]
    completion = accept(items)
    assert (completion.text, completion.complete) == ("Hi", True)


def test_event_without_a_data_field_is_none() -> None:
    items = items_of(b"event: ping\n\nid: 1\n\nretry: 3000\n\ndata:\n\n")
    assert accept([*items, *HI, DONE]).text == "Hi"
    assert failure(ChatCompletionsAssembler(), items).code == "empty_stream"


def test_ping_behind_the_end_is_left_out() -> None:
    assert accept([*HI, DONE, event({"type": "ping"}, "ping")]).complete


def test_end_without_done_is_complete_with_a_finish_reason() -> None:
    completion = accept(HI)
    assert (completion.text, completion.complete) == ("Hi", True)
    assembler = ChatCompletionsAssembler()
    run(assembler, HI)
    assert not assembler.done


@pytest.mark.parametrize("strict", [False, True])
def test_end_without_done_is_incomplete_if_done_is_required(strict: bool) -> None:
    items = [calling(GET), ends("tool_calls")]
    error = failure(ChatCompletionsAssembler(strict=strict, require_done=True), items)
    assert isinstance(error, IncompleteStream)
    assert (error.code, error.event) == ("missing_done", None)
    assert error.partial is not None
    assert error.partial.finish_reason == "tool_calls"
    whole = ChatCompletionsAssembler(strict=strict, require_done=True)
    assert run(whole, [*items, DONE]).complete


def test_done_is_the_end_while_the_connection_stays_open() -> None:
    for strict in (False, True):
        assembler = ChatCompletionsAssembler(strict=strict)
        for item in HI:
            assembler.feed(item)
            assert not assembler.done
        assert assembler.feed(DONE) == []
        assert assembler.done
        assert assembler.finish().complete


@pytest.mark.parametrize("data", ["[DONE] ", " [DONE]", "[DONE]\t", "\n[DONE]"])
def test_done_with_white_space_is_the_end(data: str) -> None:
    completion = accept([*HI, Event(data=data)], "done_not_exact")
    assert completion.findings[0].event == 3


def test_done_twice_is_counted() -> None:
    items = [*HI, DONE, DONE]
    completion = tolerate(items, "event_after_done")
    assert completion.complete
    assert completion.findings[0].event == 4
    refuse("event_after_done", 4, items)


def test_events_behind_done_are_left_out() -> None:
    items = [*HI, DONE, says("x"), calling(GET), event({"error": {"message": "late"}})]
    completion = tolerate(items, "event_after_done")
    assert (completion.text, completion.tool_calls) == ("Hi", ())
    assert [finding.event for finding in completion.findings] == [4, 5, 6]
    assert refuse("event_after_done", 4, items).partial is not None


@pytest.mark.parametrize("strict", [False, True])
def test_last_event_without_its_blank_line_is_not_there(strict: bool) -> None:
    data = f"data: {HI[0].data}\n\ndata: {HI[1].data}\n".encode()
    assembler = ChatCompletionsAssembler(strict=strict)
    for item in items_of(data):
        assembler.feed(item)
    with pytest.raises(IncompleteStream) as raised:
        assembler.finish(truncated=True)
    assert (raised.value.code, raised.value.event) == ("truncated", None)
    assert raised.value.partial is not None
    assert raised.value.partial.text == "Hi"


def test_cut_behind_the_finish_reason_is_a_departure() -> None:
    assembler = ChatCompletionsAssembler()
    for item in HI:
        assembler.feed(item)
    completion = assembler.finish(truncated=True)
    assert codes(completion) == ["truncated"]
    assert completion.complete
    strict = ChatCompletionsAssembler(strict=True)
    for item in HI:
        strict.feed(item)
    with pytest.raises(IncompleteStream) as raised:
        strict.finish(truncated=True)
    assert raised.value.code == "truncated"


@pytest.mark.parametrize("strict", [False, True])
def test_cut_behind_done_is_nothing(strict: bool) -> None:
    assembler = ChatCompletionsAssembler(strict=strict)
    for item in [*HI, DONE]:
        assembler.feed(item)
    completion = assembler.finish(truncated=True)
    assert (completion.complete, completion.findings) == (True, ())


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("items", [[], [DONE], [Comment("x"), DONE], [Event(data="")]])
def test_stream_without_a_payload_is_empty(items: list[Event], strict: bool) -> None:
    error = failure(ChatCompletionsAssembler(strict=strict), items)
    assert isinstance(error, IncompleteStream)
    assert (error.code, error.event) == ("empty_stream", None)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"error":{"message":"quota","type":"insufficient_quota","code":429}}', "quota"),
        (b'{\n  "error": {\n    "message": "quota"\n  }\n}\n', "quota"),
        (b'[{\n  "error": {"message": "quota", "code": 400}\n}\n]\n', "quota"),
        (b"<html>\n<body>502 Bad Gateway</body>\n</html>\n", "<html>"),
        (b'{"choices":[]}\n{"choices":[]}\n', '{"choices":[]}'),
    ],
    ids=["json", "json-lines", "json-array", "html", "objects"],
)
def test_body_that_is_no_event_stream_is_shown(body: bytes, message: str, strict: bool) -> None:
    error = failure(ChatCompletionsAssembler(strict=strict), items_of(body + b"\n"))
    assert isinstance(error, ProviderError)
    assert error.code == "not_event_stream"
    assert message in error.message
    assert not error.retryable


@pytest.mark.parametrize("data", ["null", "[]", "5", '"x"', "true", '[{"choices":[]}]'])
def test_payload_that_is_no_object_is_left_out(data: str) -> None:
    items = [says("a"), Event(data=data), says("b"), ends(), DONE]
    completion = tolerate(items, "payload_not_object")
    assert completion.text == "ab"
    assert completion.findings[0].event == 2
    assert isinstance(refuse("payload_not_object", 2, items), InvalidPayload)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("data", ["error: out of memory", '{"choices":[', "<html>", "Hi: there"])
def test_data_that_is_no_json_is_in_the_error(data: str, strict: bool) -> None:
    items = [says("a"), calling(GET), Event(data=data), ends("tool_calls"), DONE]
    error = failure(ChatCompletionsAssembler(strict=strict), items)
    assert isinstance(error, InvalidPayload)
    assert (error.code, error.event) == ("invalid_json", 3)
    assert data in error.message
    assert error.partial is not None
    assert error.partial.text == "a"


def test_error_event_within_a_torn_event_is_the_error() -> None:
    items = items_of(
        b'data: {"type":"response.comp\ndata: {"type":"error","error":{"message":"boom"}}\n\n'
    )
    error = failure(ChatCompletionsAssembler(), [says("a"), *items])
    assert isinstance(error, ProviderError)
    assert (error.code, error.message, error.event) == ("provider_error", "boom", 2)
    assert error.partial is not None
    assert error.partial.text == "a"
    refuse("invalid_json", 2, [says("a"), *items])


@pytest.mark.parametrize("strict", [False, True])
def test_frames_glued_on_one_line_are_not_guessed(strict: bool) -> None:
    glued = '{"id":"cc-1","object":"chat.completion.cdata: ' + says("b").data
    error = failure(ChatCompletionsAssembler(strict=strict), [says("a"), Event(data=glued)])
    assert isinstance(error, InvalidPayload)
    assert (error.code, error.event) == ("invalid_json", 2)
    assert "chat.completion.cdata" in error.message


def test_payloads_on_lines_of_one_event_are_read_one_by_one() -> None:
    joined = Event(data="\n".join(item.data for item in (says("a"), says("b"), calling(GET))))
    items = [joined, ends("tool_calls"), DONE]
    completion = tolerate(items, "invalid_json")
    assert (completion.text, completion.complete) == ("ab", True)
    assert completion.tool_calls[0].parse() == {"a": 1}
    refuse("invalid_json", 1, items)


def test_payloads_on_lines_of_one_event_may_have_arguments_as_objects() -> None:
    entry = fragment(index=0, id="c0", type="function", name="get", arguments={"a": 1})
    joined = Event(data="\n".join(item.data for item in (says("a"), calling(entry))))
    items = [joined, ends("tool_calls"), DONE]
    completion = tolerate(items, "invalid_json", "arguments_not_string")
    assert completion.tool_calls[0].parse() == {"a": 1}
    refuse("invalid_json", 1, items)


def test_error_among_payloads_on_lines_of_one_event_is_the_error() -> None:
    lines = [says("a").data, json.dumps({"error": {"message": "boom"}}), ends().data]
    error = failure(ChatCompletionsAssembler(), [Event(data="\n".join(lines)), DONE])
    assert isinstance(error, ProviderError)
    assert error.message == "boom"
    assert error.partial is not None
    assert error.partial.text == "a"


@pytest.mark.parametrize("broken", ['{"choices":[', "", "null", "{}"])
def test_line_that_is_no_payload_is_never_dropped(broken: str) -> None:
    data = "\n".join([calling(GET).data, broken, calling(GET).data])
    items = [Event(data=data), ends("tool_calls")]
    error = failure(ChatCompletionsAssembler(), items)
    assert (error.code, error.event) == ("invalid_json", 1)
    refuse("invalid_json", 1, items)


def test_payload_on_several_lines_is_one() -> None:
    pretty = Event(data=json.dumps(json.loads(says("a").data), indent=2))
    assert accept([pretty, ends(), DONE]).text == "a"


def test_whole_stream_at_once_is_nothing_special() -> None:
    data = b"".join(f"data: {item.data}\n\n".encode() for item in [*HI, DONE])
    assert accept(items_of(data)) == accept([*HI, DONE])


def test_field_of_another_name_than_error_is_left_out() -> None:
    assert accept([UnknownField("errors", '{"message":"x"}'), *HI, DONE]).complete


@pytest.mark.parametrize("depth", [100, 900, 2_000, 9_000, 100_000])
@pytest.mark.parametrize(
    "place",
    [
        '"new":@',
        '"usage":{"new":@}',
        '"choices":[{"index":0,"new":@}]',
        '"choices":[{"index":0,"logprobs":{"content":[@]}}]',
        '"choices":[{"index":0,"delta":{"new":@}}]',
        '"choices":[{"index":0,"delta":{"content":[{"type":"x","new":@}]}}]',
        '"choices":[{"index":0,"delta":{"audio":{"new":@}}}]',
        '"choices":[{"index":0,"delta":{"reasoning_details":[{"type":"x","new":@}]}}]',
        '"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"new":@}]}}]',
        '"error":{"new":@}',
    ],
    ids=[
        "head",
        "usage",
        "choice",
        "logprobs",
        "delta",
        "content",
        "audio",
        "reasoning_details",
        "tool_calls",
        "error",
    ],
)
def test_fields_nested_deep_raise_nothing_foreign(place: str, depth: int) -> None:
    head = "" if '"choices"' in place else '"choices":[],'
    foreign: set[str] = set()
    for opened, closed in (('{"x":', "}"), ("[", "]")):
        data = "{" + head + place.replace("@", opened * depth + "1" + closed * depth) + "}"
        try:
            completion = run(ChatCompletionsAssembler(), [says("a"), event(data), ends(), DONE])
        except AssemblyError as error:
            assert error.event == 2
        except RecursionError:
            # Let through, it would be compared frame by frame for the report, which takes minutes.
            foreign.add(opened)
        else:
            assert completion.text == "a"
    assert foreign == set()
