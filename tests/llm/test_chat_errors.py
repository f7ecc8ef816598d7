"""Errors within streams of Chat Completions, in every shape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from sansio_sse import Event, UnknownField
from sansio_sse.llm import ChatCompletionsAssembler, ProviderError

from .streams import DONE, event, failure, items_of
from .test_chat_quirks import (
    GET,
    Payload,
    assert_no_cut_completes_a_call,
    calling,
    choice,
    chunk,
    ends,
    says,
)

if TYPE_CHECKING:
    from sansio_sse import Item


def provider_error(*items: Event | UnknownField, strict: bool = False) -> ProviderError:
    """The error of a stream that begins with a text and a call, both whole."""
    stream = [says("Hal"), calling(GET), *items]
    assert_no_cut_completes_a_call(stream, strict=strict)
    error = failure(ChatCompletionsAssembler(strict=strict), stream)
    assert isinstance(error, ProviderError)
    assert (error.code, error.event) == ("provider_error", 3)
    assert error.partial is not None
    assert error.partial.text.startswith("Hal")
    (call,) = error.partial.tool_calls
    assert (call.id, call.name, call.arguments) == ("c0", "get", '{"a":1}')
    assert call.problem is not None
    assert call.problem.code == "provider_error"
    return error


QUOTA = {"message": "quota", "type": "insufficient_quota", "code": "insufficient_quota"}


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("behind", [(), (DONE,), (ends("tool_calls"), DONE)])
def test_error_object_ends_the_stream(behind: tuple[Event, ...], strict: bool) -> None:
    error = provider_error(event({"error": QUOTA}), *behind, strict=strict)
    assert error.message == "quota"
    assert error.raw == QUOTA


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(
    ("payload", "message"),
    [
        ({"error": {"message": "boom"}}, "boom"),
        ({"error": "boom"}, "boom"),
        ({"error": ["boom"]}, '["boom"]'),
        ({"error": {"code": 500}}, '{"code":500}'),
        ({"error": {"msg": "boom"}}, "boom"),
        ({"object": "error", "message": "boom"}, "boom"),
        ({"type": "error", "message": "boom"}, "boom"),
        ({"type": "error", "error": {"message": "boom"}}, "boom"),
        ({"detail": "boom"}, "boom"),
        (
            {"detail": [{"loc": ["body"], "msg": "boom"}]},
            '{"detail":[{"loc":["body"],"msg":"boom"}]}',
        ),
        ({"error": {"message": ""}}, '{"message":""}'),
        ({"choices": [], "error": {"message": "boom"}}, "boom"),
        ({"choices": None, "error": "boom"}, "boom"),
        ({"error": True, "message": "boom"}, "boom"),
    ],
)
def test_error_of_any_shape_is_raised(payload: Payload, message: str, strict: bool) -> None:
    assert provider_error(event(payload), DONE, strict=strict).message == message


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(
    ("data", "message", "raw"),
    [
        ('{"message":"boom"}', "boom", {"message": "boom"}),
        ('{"error":{"message":"boom"}}', "boom", {"message": "boom"}),
        ('{"error":null,"message":"boom"}', "boom", {"error": None, "message": "boom"}),
        ('{"code":500}', '{"code":500}', {"code": 500}),
        ("out of memory", "out of memory", "out of memory"),
        ('"boom"', "boom", "boom"),
        ("null", "null", None),
        ('["boom"]', '["boom"]', ["boom"]),
        ("", "", ""),
    ],
)
def test_error_event_is_one_whatever_its_data_is(
    data: str, message: str, raw: Any, strict: bool
) -> None:
    error = provider_error(Event(type="error", data=data), DONE, strict=strict)
    assert error.message == message
    assert error.raw == raw


@pytest.mark.parametrize("strict", [False, True])
def test_error_field_is_read_where_the_events_have_none(strict: bool) -> None:
    text = "request exceeds the context size"
    field = items_of(f'error: {{"code":400,"message":"{text}","type":"x"}}\n\n'.encode())
    assembler = ChatCompletionsAssembler(strict=strict)
    error = failure(assembler, [*field, DONE])
    assert isinstance(error, ProviderError)
    assert (error.code, error.event, error.message) == ("provider_error", None, text)
    assert (error.type, error.provider_code, error.status) == ("x", 400, 400)
    assert not error.retryable
    assert failure(ChatCompletionsAssembler(strict=strict), [DONE]).code == "empty_stream"


@pytest.mark.parametrize("strict", [False, True])
def test_error_field_within_the_stream_keeps_what_came(strict: bool) -> None:
    items: list[Item] = [says("Hal"), UnknownField("error", "boom"), ends(), DONE]
    error = failure(ChatCompletionsAssembler(strict=strict), items)
    assert isinstance(error, ProviderError)
    assert (error.message, error.raw) == ("boom", "boom")
    assert error.partial is not None
    assert error.partial.text == "Hal"


@pytest.mark.parametrize("strict", [False, True])
def test_error_within_a_chunk_wins_over_its_choices(strict: bool) -> None:
    details = {"code": 502, "message": "Provider returned error", "metadata": {"raw": "x"}}
    last = choice({"content": "f", "role": "assistant"}, "error", native_finish_reason="error")
    error = provider_error(chunk(last, error=details), DONE, strict=strict)
    assert (error.message, error.provider_code) == ("Provider returned error", 502)
    assert (error.status, error.retryable, error.raw) == (502, True, details)
    assert error.partial is not None
    assert (error.partial.text, error.partial.finish_reason) == ("Half", "error")


@pytest.mark.parametrize("strict", [False, True])
def test_error_within_the_chunk_that_ends_calls_lets_none_run(strict: bool) -> None:
    last = chunk(choice(finish="tool_calls"), error={"message": "boom"})
    assert provider_error(last, DONE, strict=strict).message == "boom"


@pytest.mark.parametrize("strict", [False, True])
def test_error_of_a_failed_tool_use_keeps_the_generation(strict: bool) -> None:
    failed = {
        "message": "Failed to call a function.",
        "type": "invalid_request_error",
        "code": "tool_use_failed",
        "failed_generation": '<function=get{"a":1}',
        "status_code": 400,
    }
    error = provider_error(event({"error": failed}, "error"), strict=strict)
    assert (error.type, error.provider_code) == ("invalid_request_error", "tool_use_failed")
    assert (error.status, error.retryable) == (400, False)
    assert error.raw == failed


@pytest.mark.parametrize(
    ("fields", "type_", "code", "status", "retryable"),
    [
        (QUOTA, "insufficient_quota", "insufficient_quota", 429, False),
        ({"code": 429}, None, 429, 429, True),
        ({"code": "429"}, None, "429", 429, True),
        ({"code": "rate_limit_exceeded"}, None, "rate_limit_exceeded", 429, True),
        ({"type": "server_error", "code": None}, "server_error", None, 500, True),
        ({"type": "invalid_request_error"}, "invalid_request_error", None, 400, False),
        ({"type": "overloaded_error"}, "overloaded_error", None, 529, True),
        ({"type": "BadRequestError", "code": 400}, "BadRequestError", 400, 400, False),
        ({"status": "UNAVAILABLE", "code": 503}, "UNAVAILABLE", 503, 503, True),
        ({"status": 504}, None, None, 504, True),
        ({"status_code": 401, "code": "bad_key"}, None, "bad_key", 401, False),
        ({"code": 1305}, None, 1305, None, False),
        ({"code": "1305"}, None, "1305", None, False),
        ({"code": 200}, None, 200, None, False),
        ({"code": {"x": 1}, "type": 5}, None, None, None, False),
        ({}, None, None, None, False),
    ],
)
def test_error_has_its_type_code_and_status(
    fields: Payload, type_: str | None, code: Any, status: int | None, retryable: bool
) -> None:
    fields = {"message": "boom", **fields}
    for payload in ({"error": fields}, {"object": "error", **fields}):
        error = provider_error(event(payload))
        assert error.message == fields["message"]
        assert (error.type, error.provider_code) == (type_, code)
        assert (error.status, error.retryable) == (status, retryable)


@pytest.mark.parametrize("nothing", [None, False, ""])
def test_error_of_nothing_is_none(nothing: Any) -> None:
    items = [chunk(choice({"content": "a"}), error=nothing), ends(), DONE]
    assembler = ChatCompletionsAssembler(strict=True)
    for item in items:
        assembler.feed(item)
    completion = assembler.finish()
    assert (completion.text, completion.complete) == ("a", True)
