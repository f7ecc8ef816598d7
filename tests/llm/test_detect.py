"""Which dialect a stream is of, and the shortest way from a stream to its answer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from sansio_sse import (
    Comment,
    Event,
    EventStreamParser,
    EventTooLarge,
    LocalProtocolError,
    Retry,
    UnknownField,
    encode,
)
from sansio_sse.llm import (
    AnyAssembler,
    Assembler,
    AssemblyError,
    ChatCompletionsAssembler,
    GenerateContentAssembler,
    IncompleteStream,
    InvalidPayload,
    Limits,
    MessagesAssembler,
    ProviderError,
    ResponsesAssembler,
    assemble,
    assemble_chunks,
    detect,
)

from .streams import DONE, event

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sansio_sse import Item

CHAT = {"choices": [{"index": 0, "delta": {"content": "hi"}, "finish_reason": "stop"}]}

TELLING: list[tuple[Event, type[Assembler] | None]] = [
    (event(CHAT), ChatCompletionsAssembler),
    # Azure's first chunk, and one of a proxy.
    (event({"choices": [], "prompt_filter_results": []}), ChatCompletionsAssembler),
    (event({"object": "chat.completion.chunk"}), ChatCompletionsAssembler),
    (event({"type": "response.created", "response": {}}), ResponsesAssembler),
    # A type in the event alone, and a keep-alive that has a number.
    (event({"response": {}}, "response.created"), ResponsesAssembler),
    (event({"type": "response.future.thing"}), ResponsesAssembler),
    (event({"type": "keepalive", "sequence_number": 3}), ResponsesAssembler),
    (event({"type": "message_start", "message": {}}), MessagesAssembler),
    (event({}, "content_block_delta"), MessagesAssembler),
    # Proxies of Responses send it too.
    (event({"type": "ping"}), None),
    (event({"type": "ping"}, "ping"), None),
    (event({"candidates": []}), GenerateContentAssembler),
    (event({"promptFeedback": {"blockReason": "SAFETY"}}), GenerateContentAssembler),
    (event({"usageMetadata": {"trafficType": "ON_DEMAND"}}), GenerateContentAssembler),
    (DONE, None),
    (event({"error": {"message": "boom"}}), None),
    (event({"type": "error", "error": {}}, "error"), None),
    (event({"type": "keepalive"}), None),
    (event("[]"), None),
    (event("null"), None),
    (event("hello"), None),
    (Event(data=""), None),
    (event("[" * 100_000), None),
]


@pytest.mark.parametrize("number", range(len(TELLING)))
def test_dialect_is_told_by_one_event(number: int) -> None:
    told, dialect = TELLING[number]
    assert detect(told) is dialect


def test_what_is_no_event_tells_nothing() -> None:
    items: list[Item] = [Comment("x"), Retry(1), UnknownField("data ", json.dumps(CHAT))]
    for item in items:
        assert detect(item) is None


def test_another_parser_tells_it_too() -> None:
    def loads(text: str) -> Any:
        return CHAT if text == "chat" else json.loads("x")

    assert detect(event("chat"), loads) is ChatCompletionsAssembler
    assert detect(event(CHAT), loads) is None


def test_reading_stops_where_the_stream_says_that_it_ends() -> None:
    def endless(last: Event) -> Iterator[Item]:
        yield event(CHAT)
        yield last
        raise AssertionError("read behind the end")

    assert assemble(endless(DONE)).text == "hi"
    assert assemble(endless(DONE), ChatCompletionsAssembler(strict=True)).text == "hi"


def test_end_and_error_of_a_stream_of_no_dialect_are_seen_at_once() -> None:
    def endless(last: Item) -> Iterator[Item]:
        yield Comment("x")
        yield last
        raise AssertionError("read behind the end")

    with pytest.raises(IncompleteStream) as raised:
        assemble(endless(DONE))
    assert raised.value.code == "empty_stream"
    lasts: list[Item] = [
        UnknownField("error", '{"message": "boom"}'),
        event({"error": "boom"}),
        event("boom", "error"),
    ]
    for last in lasts:
        with pytest.raises(ProviderError, match="boom"):
            assemble(endless(last))


def test_items_before_the_telling_one_are_read_too() -> None:
    start = {"type": "message_start", "message": {"id": "m", "content": []}}
    delta = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}
    events = [event({"hello": 1}), event(start), event(delta), event({"type": "message_stop"})]
    completion = assemble([Comment("x"), *events])
    assert (completion.id, completion.complete) == ("m", True)
    # The first of them was read as the dialect reads it.
    assert [finding.code for finding in completion.findings] == [
        "message_start_missing",
        "unknown_event",
    ]


def test_stream_that_never_tells_is_given_up() -> None:
    late = [*[event({"hello": 1})] * 100, event({"candidates": [{"finishReason": "STOP"}]})]
    assert assemble(late).finish_reason == "STOP"
    for events in ([event({"hello": 1})] * 3, [event({"hello": 1}), *late]):
        with pytest.raises(InvalidPayload) as raised:
            assemble(events)
        assert raised.value.code == "unknown_dialect"
        assert raised.value.partial is not None


def test_comments_before_the_first_event_are_not_counted() -> None:
    assert assemble([*[Comment(" ping")] * 500, event({"candidates": [{"finishReason": "STOP"}]})])


def test_options_of_any_dialect_are_those_of_the_one_that_is_found() -> None:
    call = {"functionCall": {"name": "f", "args": {"a": 1}}}
    candidate = {"content": {"parts": [call]}, "finishReason": "STOP"}
    events = [event({"hello": 1}), event({"candidates": [candidate]})]
    options: list[tuple[dict[str, Any], str]] = [
        ({"known_tools": []}, "unknown_tool"),
        ({"validate": lambda *_: False}, "arguments_refused"),
        ({"limits": Limits(max_events=1)}, "limit_exceeded"),
    ]
    for given, code in options:
        with pytest.raises(AssemblyError) as raised:
            assemble(events, AnyAssembler(strict=True, **given))
        assert raised.value.code == code


def test_wrong_options_of_any_dialect_are_refused() -> None:
    wrong: list[dict[str, Any]] = [
        {"dialect": "claude"},
        {"strict": 1},
        {"loads": None},
        {"limits": None},
        {"known_tools": "f"},
    ]
    for options in wrong:
        with pytest.raises(LocalProtocolError):
            AnyAssembler(**options)
    with pytest.raises(LocalProtocolError, match="pass one of 'chat', 'responses', 'messages'"):
        AnyAssembler("claude")


def test_partial_of_a_stream_that_was_given_up_has_nothing_to_run() -> None:
    entry = {"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}
    delta = {"content": "hi", "tool_calls": [entry]}
    for assembler in (AnyAssembler(), ChatCompletionsAssembler()):
        assembler.feed(event({"choices": [{"index": 0, "delta": delta}]}))
        partial = assembler.partial()
        assert (partial.text, partial.complete) == ("hi", False)
        (call,) = partial.tool_calls
        assert call.problem is not None
        assert (call.complete, call.problem.code) == (False, "unfinished")
    assert AnyAssembler().partial().choices == ()


def test_stream_of_no_events_is_empty() -> None:
    for make in (None, MessagesAssembler()):
        with pytest.raises(IncompleteStream) as raised:
            assemble([], make)
        assert raised.value.code == "empty_stream"


def test_bytes_make_an_answer_in_one_call() -> None:
    data = encode(event(CHAT)) + encode(DONE)
    assert assemble_chunks([data[:7], bytearray(data[7:20]), memoryview(data[20:])]).text == "hi"
    strict = ChatCompletionsAssembler(strict=True)
    assert assemble_chunks([data], strict, EventStreamParser(tail="dispatch")).complete


BODIES = {
    "json": (b'{"error":{"message":"quota","code":"insufficient_quota"}}', "quota"),
    "json-lines": (b'{"error": {\n  "message": "quota"\n}}\n', "quota"),
    "array": (b'[{"error": {"code": 503, "message": "quota", "status": "UNAVAILABLE"}}]', "quota"),
    "html": (b"<!DOCTYPE html>\n<title>502</title>", "<!DOCTYPE html>\n<title>502</title>"),
    "blank-first": (b'\n\n  {"detail": "quota"}', "quota"),
    "latin-1": (b"<p>caf\xe9</p>", "<p>caf\ufffd</p>"),
}


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_body_that_is_no_stream_is_an_error_of_the_provider(name: str, size: int) -> None:
    body, message = BODIES[name]
    chunks = [body[start : start + size] for start in range(0, len(body), size)]
    with pytest.raises(ProviderError) as raised:
        assemble_chunks(chunks)
    error = raised.value
    assert error.code == "not_event_stream"
    assert error.message == message
    assert error.partial is not None
    assert error.partial.choices == ()


@pytest.mark.parametrize("body", [b"", b"hello", b": comment\n", b"data: x", b"\xff\xfe"])
def test_body_of_nothing_known_is_an_empty_stream(body: bytes) -> None:
    with pytest.raises(IncompleteStream) as raised:
        assemble_chunks([body])
    assert raised.value.code == "empty_stream"


def test_only_the_beginning_of_a_body_is_kept() -> None:
    with pytest.raises(ProviderError) as raised:
        assemble_chunks([b"<p>" + b"x" * 100_000] * 20)
    assert len(raised.value.raw) == 64 * 1024


def test_error_behind_events_is_not_taken_for_the_body() -> None:
    data = b"{\n" + encode(event({"choices": []}))
    with pytest.raises(IncompleteStream) as raised:
        assemble_chunks([data])
    assert raised.value.code == "missing_finish_reason"


def test_stream_that_is_cut_within_an_event_says_so() -> None:
    data = encode(event({"choices": [{"index": 0, "delta": {"content": "hi"}}]}))
    with pytest.raises(IncompleteStream) as raised:
        assemble_chunks([data, b'data: {"choi'])
    assert raised.value.code == "truncated"
    # Behind the answer it is tolerated, and behind the mark of the end nobody looks.
    whole = encode(event(CHAT))
    cut = assemble_chunks([whole, b"data: [DON"])
    assert [finding.code for finding in cut.findings] == ["truncated"]
    assert assemble_chunks([whole, encode(DONE), b"data: x"]).findings == ()


def test_errors_of_the_source_and_of_the_parser_come_through() -> None:
    def failing() -> Iterator[bytes]:
        yield encode(event(CHAT))
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        assemble_chunks(failing())
    with pytest.raises(EventTooLarge):
        assemble_chunks([b"data: " + b"x" * 100], parser=EventStreamParser(max_event_bytes=50))


def test_data_that_is_no_json_is_invalid_in_every_dialect() -> None:
    with pytest.raises(InvalidPayload) as raised:
        assemble([event("error: out of memory")])
    assert raised.value.code == "invalid_json"
    assert "error: out of memory" in str(raised.value)
    assert isinstance(raised.value, AssemblyError)
