"""What the assemblers of all dialects do alike."""

from __future__ import annotations

import copy
import json
import pickle
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

import sansio_sse.llm
from sansio_sse import Comment, Event, LocalProtocolError, Retry, SSEError, UnknownField
from sansio_sse.llm import (
    Assembler,
    AssemblyError,
    ChatCompletionsAssembler,
    IncompleteStream,
    InvalidPayload,
    InvalidToolCall,
    LimitExceeded,
    Limits,
    ProviderError,
    TextDelta,
    read_error_body,
)

from .answers import DIALECTS, Answer, Call, Said, Thought
from .streams import DONE, codes, event, failure, feed, run

if TYPE_CHECKING:
    from collections.abc import Callable

    from sansio_sse import Item

each_dialect = pytest.mark.parametrize("name", DIALECTS)


class First:
    """A source of randomness that cuts nothing and always takes the first."""

    def randrange(self, _stop: int) -> int:
        return 0

    def choice(self, values: list[Any]) -> Any:
        return values[0]


ANSWER = Answer([Thought("hm"), Said("text"), Call("f", {"a": 1}), Call("g", {})], (3, 4))


def stream(name: str, answer: Answer = ANSWER) -> list[Event]:
    return DIALECTS[name].write(answer, First())  # type: ignore[arg-type]


def make(name: str, **options: Any) -> Assembler:
    return DIALECTS[name].assembler(**options)


@each_dialect
def test_what_is_no_event_adds_nothing(name: str) -> None:
    assembler = make(name, strict=True)
    for item in (Comment(" ping"), Retry(5), UnknownField("x", "1"), Event(data=""), Event("x")):
        assert assembler.feed(item) == []
    assert run(assembler, stream(name)).complete


@each_dialect
def test_item_of_another_kind_is_a_mistake_of_the_caller(name: str) -> None:
    items: list[Any] = [b"data: x", "x", None, {"choices": []}]
    for item in items:
        with pytest.raises(TypeError, match="feed\\(\\) takes what a parser returns"):
            make(name).feed(item)


@each_dialect
def test_assembler_takes_one_stream(name: str) -> None:
    assembler = make(name)
    completion = run(assembler, stream(name))
    assert assembler.finish() is completion
    with pytest.raises(LocalProtocolError, match="a new stream needs a new assembler"):
        assembler.feed(DONE)


@each_dialect
def test_assembler_can_be_copied_and_pickled_in_the_middle(name: str) -> None:
    events = stream(name)
    whole = run(make(name), events)
    for cut in range(len(events)):
        assembler = make(name)
        feed(assembler, events[:cut])
        for other in (copy.deepcopy(assembler), pickle.loads(pickle.dumps(assembler))):
            assert run(other, events[cut:]) == whole


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strict": 1}, "strict is 1: pass True or False"),
        ({"loads": "json"}, "loads is 'json': pass something that can be called"),
        ({"validate": 5}, "validate is 5: pass something that can be called"),
        ({"limits": {}}, r"limits is of type dict: pass Limits\(...\)"),
        ({"limits": Limits(max_calls=0)}, "max_calls is 0: pass 1 or more, or None for no limit"),
        ({"known_tools": "f"}, "known_tools is a str: pass a collection of them"),
        ({"seen_call_ids": "f"}, "seen_call_ids is a str: pass a collection of them"),
    ],
)
@each_dialect
def test_wrong_option_is_refused(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(LocalProtocolError, match=message):
        make(name, **options)


@each_dialect
def test_truncated_is_a_bool(name: str) -> None:
    with pytest.raises(LocalProtocolError, match="truncated is 1"):
        run_to_end = make(name)
        feed(run_to_end, stream(name))
        run_to_end.finish(truncated=1)  # type: ignore[arg-type]


@each_dialect
def test_error_is_raised_again_by_every_later_call(name: str) -> None:
    assembler = make(name)
    feed(assembler, stream(name)[:3])
    with pytest.raises(ProviderError) as raised:
        assembler.feed(event({"error": {"message": "boom"}}))
    error = raised.value
    assert error.event == 4
    for call in (assembler.finish, lambda: assembler.feed(DONE)):
        with pytest.raises(ProviderError) as again:
            call()
        assert again.value is error


@each_dialect
@pytest.mark.parametrize("strict", [False, True])
def test_stream_without_a_payload_is_empty(name: str, strict: bool) -> None:
    streams: list[list[Item]] = [
        [],
        [Comment("x")],
        [DONE],
        [Event(data=""), UnknownField("x", "y")],
    ]
    for items in streams:
        error = failure(make(name, strict=strict), items)
        assert isinstance(error, IncompleteStream)
        assert error.code == "empty_stream"
        assert error.event is None


@each_dialect
@pytest.mark.parametrize("strict", [False, True])
def test_body_that_is_no_stream_is_an_error_of_the_provider(name: str, strict: bool) -> None:
    lines = ['{"error":', '{"message": "quota",', '"type": "insufficient_quota", "code": 429', "}}"]
    fields = [
        UnknownField(*line.split(":", 1)) if ":" in line else UnknownField(line, "")
        for line in lines
    ]
    error = failure(make(name, strict=strict), fields)
    # The first colon of a line that ends with it is lost in its field.
    assert isinstance(error, ProviderError)
    assert error.code == "not_event_stream"
    html = [UnknownField("<html><body>Bad gateway", "")]
    error = failure(make(name, strict=strict), html)
    assert isinstance(error, ProviderError)
    assert (error.code, error.message) == ("not_event_stream", "<html><body>Bad gateway")


def test_body_of_json_gives_its_message_and_kind() -> None:
    fields = [UnknownField('{"error"', '{"message": "quota", "type": "insufficient_quota"}}')]
    error = failure(ChatCompletionsAssembler(), fields)
    assert isinstance(error, ProviderError)
    assert (error.message, error.type, error.status) == ("quota", "insufficient_quota", 429)
    assert not error.retryable


def test_only_the_beginning_of_a_body_is_kept() -> None:
    fields = [UnknownField("{" + "x" * 1000, "y" * 1000)] * 1000
    error = failure(ChatCompletionsAssembler(), fields)
    assert isinstance(error, ProviderError)
    assert len(error.raw) < 70_000
    assert len(error.message) == 1000


def test_lines_between_events_are_no_body() -> None:
    events = stream("chat")
    items: list[Item] = [events[0], UnknownField("{", ""), *events[1:]]
    assert run(ChatCompletionsAssembler(), items).complete


@each_dialect
def test_truncated_transport_behind_the_answer(name: str) -> None:
    events = stream(name)
    if name in {"chat", "messages"}:
        events = events[:-1]
    elif name == "responses":
        # Its answer is whole with the terminal event, and that is the end.
        assembler = make(name, strict=True)
        feed(assembler, events)
        assert assembler.finish(truncated=True).complete
        return
    assembler = make(name)
    feed(assembler, events)
    completion = assembler.finish(truncated=True)
    assert completion.complete
    assert "truncated" in codes(completion)
    strict = make(name, strict=True)
    feed(strict, events)
    with pytest.raises(IncompleteStream) as raised:
        strict.finish(truncated=True)
    assert raised.value.code == "truncated"


@each_dialect
@pytest.mark.parametrize("strict", [False, True])
def test_truncated_transport_within_the_answer(name: str, strict: bool) -> None:
    assembler = make(name, strict=strict)
    feed(assembler, stream(name)[:4])
    with pytest.raises(IncompleteStream) as raised:
        assembler.finish(truncated=True)
    assert raised.value.code == "truncated"


@each_dialect
def test_own_check_is_asked_for_each_call_and_refuses_one(name: str) -> None:
    asked: list[tuple[str, Any]] = []

    def validate(tool: str, arguments: Any) -> bool:
        asked.append((tool, arguments))
        return tool != "f"

    completion = run(make(name, validate=validate), stream(name))
    assert asked == [("f", {"a": 1}), ("g", {})]
    assert [call.complete for call in completion.tool_calls] == [False, True]
    assert not completion.complete
    with pytest.raises(InvalidToolCall) as raised:
        completion.tool_calls[0].parse()
    assert raised.value.code == "arguments_refused"
    error = failure(make(name, validate=validate, strict=True), stream(name))
    assert isinstance(error, InvalidToolCall)
    assert error.code == "arguments_refused"


@each_dialect
def test_unknown_tool_is_a_departure(name: str) -> None:
    completion = run(make(name, known_tools=["f"]), stream(name))
    assert completion.complete
    assert codes(completion) == ["unknown_tool"]
    assert failure(make(name, known_tools={"f"}, strict=True), stream(name)).code == "unknown_tool"
    assert run(make(name, known_tools=("f", "g"), strict=True), stream(name)).complete


@each_dialect
def test_call_id_of_an_earlier_round_is_a_departure(name: str) -> None:
    seen = [call.id for call in run(make(name), stream(name)).tool_calls]
    if name == "generate_content":
        # Ids that are made up avoid those that were seen.
        completion = run(make(name, seen_call_ids=seen, strict=True), stream(name))
        assert not {call.id for call in completion.tool_calls} & set(seen)
        return
    assert codes(run(make(name, seen_call_ids=seen), stream(name))) == ["tool_id_reused"]
    error = failure(make(name, seen_call_ids=seen[1:], strict=True), stream(name))
    assert error.code == "tool_id_reused"


LIMITS: dict[str, Callable[[int], Answer]] = {
    "max_text_characters": lambda size: Answer([Said("x" * size)], (0, 0)),
    "max_arguments_characters": lambda size: Answer([Call("f", {"a": "x" * (size - 8)})], (0, 0)),
    "max_calls": lambda size: Answer([Call(f"f{i}", {}) for i in range(size)], (0, 0)),
}


@each_dialect
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("limit", LIMITS)
def test_limit_is_passed_by_one_more(name: str, strict: bool, limit: str) -> None:
    options: dict[str, Any] = {limit: 20}
    for size in (19, 20):
        events = stream(name, LIMITS[limit](size))
        assert run(make(name, strict=strict, limits=Limits(**options)), events).complete
    error = failure(
        make(name, strict=strict, limits=Limits(**options)), stream(name, LIMITS[limit](21))
    )
    assert isinstance(error, LimitExceeded)
    assert (error.name, error.limit, error.code) == (limit, 20, "limit_exceeded")
    assert str(error) == f"more than 20 {limit[4:].replace('_', ' ')}"


@each_dialect
def test_events_and_their_data_have_limits(name: str) -> None:
    events = stream(name)
    for limit, needed in (
        ("max_events", len(events)),
        ("max_data_characters", sum(len(each.data) for each in events)),
    ):
        enough: dict[str, Any] = {limit: needed}
        assert run(make(name, limits=Limits(**enough)), events).complete
        less: dict[str, Any] = {limit: needed - 1}
        error = failure(make(name, limits=Limits(**less)), events)
        assert isinstance(error, LimitExceeded)
        assert error.name == limit


@each_dialect
def test_items_have_a_limit(name: str) -> None:
    parts: list[Said | Thought | Call] = [Said("a"), Thought("b")] * 5
    events = stream(name, Answer(parts, (0, 0)))
    assert run(make(name, limits=Limits(max_items=10)), events).complete
    error = failure(make(name, limits=Limits(max_items=9)), events)
    assert isinstance(error, LimitExceeded)
    assert error.name == "max_items"


@each_dialect
def test_no_limits_at_all(name: str) -> None:
    limits = Limits(*[None] * len(Limits()))
    assert run(make(name, limits=limits), stream(name)).complete


@each_dialect
def test_another_parser_reads_the_payloads(name: str) -> None:
    def loads(text: str) -> Any:
        return json.loads(text, parse_float=Decimal)

    completion = run(make(name, loads=loads), stream(name))
    assert completion == run(make(name), stream(name))
    answer = Answer([Call("f", {"a": 1.5})], (0, 0))
    for call in run(make(name, loads=loads), stream(name, answer)).tool_calls:
        assert call.parse(loads) == {"a": Decimal("1.5")}


@each_dialect
@pytest.mark.parametrize("strict", [False, True])
def test_error_of_another_parser_is_invalid_json(name: str, strict: bool) -> None:
    def loads(_: str) -> Any:
        raise RuntimeError("cannot")

    error = failure(make(name, loads=loads, strict=strict), stream(name))
    assert isinstance(error, InvalidPayload)
    assert error.code == "invalid_json"
    assert "cannot" in str(error)


def test_findings_are_the_first_ten_of_a_code_and_a_hundred_at_most() -> None:
    def chunk(**fields: Any) -> Event:
        choice = {"index": 0, "delta": {"content": "a"}, **fields}
        return event({"choices": [choice]})

    events = [chunk(index=-1) for _ in range(50)] + [chunk(finish_reason="stop")]
    completion = run(ChatCompletionsAssembler(), events)
    assert [finding.code for finding in completion.findings].count("choice_index_invalid") == 10
    assert [finding.event for finding in completion.findings[:10]] == list(range(1, 11))
    assert len(completion.text) == 51


def test_every_error_is_in_the_tree_and_survives_copy_and_pickle() -> None:
    partial = run(ChatCompletionsAssembler(), stream("chat"))
    errors: list[AssemblyError] = [
        AssemblyError("text", "code"),
        IncompleteStream("text", "code"),
        InvalidPayload("text", "code"),
        InvalidToolCall("text", "code"),
        LimitExceeded("max_calls", 4),
        ProviderError(
            "text", type="t", provider_code="c", status=429, retryable=True, raw={"a": 1}
        ),
    ]
    for error in errors:
        assert isinstance(error, SSEError)
        assert error.partial is None
        error.partial, error.event = partial, 3
        for other in (copy.copy(error), pickle.loads(pickle.dumps(error))):
            assert type(other) is type(error)
            assert str(other) == str(error)
            assert vars(other) == vars(error)


def test_names_of_the_package_are_documented_as_public() -> None:
    assert set(sansio_sse.llm.__all__) <= set(vars(sansio_sse.llm))


BODIES: dict[str, tuple[str | bytes, dict[str, Any]]] = {
    "openai": (
        b'{"error": {"message": "slow down", "type": "requests", "code": "rate_limit_exceeded"}}',
        {
            "message": "slow down",
            "type": "requests",
            "provider_code": "rate_limit_exceeded",
            "status": 429,
            "retryable": True,
        },
    ),
    "google": (
        '[{"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}}]',
        {
            "message": "overloaded",
            "type": "UNAVAILABLE",
            "provider_code": 503,
            "status": 503,
            "retryable": True,
        },
    ),
    "anthropic": (
        '{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}',
        {"message": "Overloaded", "type": "overloaded_error", "status": 529, "retryable": True},
    ),
    "fastapi": ('{"detail": "no such model"}', {"message": "no such model", "status": None}),
    "flat": ('{"message": "boom", "code": 400}', {"message": "boom", "status": 400}),
    "text": ("upstream gone\n", {"message": "upstream gone", "raw": "upstream gone\n"}),
    "bytes": (b"\xff{", {"message": "\ufffd{"}),
    "empty": ("", {"message": "", "retryable": False}),
    "array": ("[1]", {"message": "[1]"}),
}


@pytest.mark.parametrize("name", BODIES)
def test_body_of_an_error_is_read(name: str) -> None:
    body, expected = BODIES[name]
    error = read_error_body(body)
    assert error.code == "not_event_stream"
    assert {key: getattr(error, key) for key in expected} == expected


def test_status_of_the_response_comes_before_what_the_body_says() -> None:
    error = read_error_body('{"error": {"message": "x", "code": 400}}', status=503)
    assert (error.status, error.retryable, error.provider_code) == (503, True, 400)
    # What says nothing of an error does not count.
    assert read_error_body('{"error": {"message": "x", "code": 400}}', status=200).status == 400
    assert read_error_body("<html>", status=502).retryable


def test_quota_that_is_used_up_does_not_pass_by_itself() -> None:
    for fields in ({"code": "insufficient_quota"}, {"type": "insufficient_quota"}):
        error = read_error_body(json.dumps({"error": {"message": "x", **fields}}), status=429)
        assert (error.status, error.retryable) == (429, False)


def test_text_update_is_returned_by_the_call_that_completes_its_event() -> None:
    assembler = ChatCompletionsAssembler()
    for text in ("a", "b"):
        chunk = {"choices": [{"index": 0, "delta": {"content": text}}]}
        assert assembler.feed(event(chunk)) == [TextDelta(text)]


def test_assembler_without_a_dialect_can_not_be_made() -> None:
    with pytest.raises(TypeError, match="abstract"):
        Assembler()  # type: ignore[abstract]


def test_nothing_in_another_form_is_a_departure_that_loses_nothing() -> None:
    """An empty text where an array belongs, false where an object belongs."""
    delta = {"content": "a", "tool_calls": "", "function_call": False}
    events = [event({"choices": [{"index": 0, "delta": delta, "finish_reason": "stop"}]}), DONE]
    completion = run(ChatCompletionsAssembler(), events)
    assert completion.complete
    assert codes(completion) == ["field_invalid"]
    assert failure(ChatCompletionsAssembler(strict=True), events).code == "field_invalid"


def test_arguments_that_another_parser_makes_and_nothing_can_write_are_never_run() -> None:
    def loads(text: str) -> Any:
        payload = json.loads(text)
        for choice in payload["choices"]:
            for entry in choice["delta"].get("tool_calls", ()):
                entry["function"]["arguments"] = {"a": {1, 2}}
        return payload

    entry = {"index": 0, "id": "a", "function": {"name": "f", "arguments": {}}}
    choice = {"index": 0, "delta": {"tool_calls": [entry]}, "finish_reason": "tool_calls"}
    completion = run(ChatCompletionsAssembler(loads=loads), [event({"choices": [choice]}), DONE])
    (call,) = completion.tool_calls
    assert not call.complete
    assert call.arguments.startswith("not JSON: ")


def test_finish_reasons_that_alternate_are_each_counted_once() -> None:
    def reason(word: str) -> Event:
        return event({"candidates": [{"finishReason": word}]})

    assembler = DIALECTS["generate_content"].assembler()
    updates = feed(assembler, [reason("STOP"), reason("OTHER"), reason("STOP")])
    assert [getattr(update, "reason", None) for update in updates] == ["STOP", "OTHER", "STOP"]
    completion = assembler.finish()
    assert completion.finish_reason == "STOP"
    assert (completion.choices[0].ending, completion.complete) == ("other", False)


@pytest.mark.parametrize("strict", [True, False])
def test_messages_stay_short_whatever_the_stream_holds(strict: bool) -> None:
    long = "x" * 100_000

    def loads(text: str) -> Any:
        if text.startswith("{"):
            return json.loads(text)
        raise ValueError(text)

    streams: list[list[Event]] = [
        [event({"choices": [{"index": 0, "delta": {}, "finish_reason": long}]}), DONE],
        [event({"choices": [{"index": long, "delta": {}, "finish_reason": "stop"}]}), DONE],
        [
            event({"choices": [{"index": 0, "finish_reason": "stop"}]}),
            Event(data=" [DONE]" + " " * 9999),
        ],
        [event("[" + long)],
    ]
    for events in streams:
        assembler = ChatCompletionsAssembler(strict=strict, loads=loads)
        try:
            findings = run(assembler, events).findings
        except AssemblyError as error:
            assert len(str(error)) < 600
            assert error.partial is not None
            findings = error.partial.findings
        for finding in findings:
            assert len(finding.message) <= 500
