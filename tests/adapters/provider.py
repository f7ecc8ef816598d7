"""A provider of a model that asks for the weather once, and then says it.

It answers a request as the APIs do, Chat Completions and Responses, and refuses one that does not
carry what the model said before, or not the answer to its call.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request

CALL_ID = "call_1"
NAME = "get_weather"
PIECES = ['{"city": "Os', 'lo"}']
ARGUMENTS = "".join(PIECES)
WEATHER = {"city": "Oslo", "degrees": 7, "sky": "rain"}
ANSWER = ["It rains in Oslo, ", "at 7 degrees."]

# The reasoning of the model, which it wants back with its own call.
REASONING: dict[str, Any] = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [],
    "encrypted_content": "c2VjcmV0",
}
FUNCTION_CALL = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": CALL_ID,
    "name": NAME,
    "arguments": ARGUMENTS,
    "status": "completed",
}


async def _chat_completions(request: Request) -> Response:
    body = await request.json()
    match body["messages"]:
        case [{"role": "user"}]:
            deltas: list[dict[str, Any]] = [{"role": "assistant", "content": None}]
            function = {"name": NAME, "arguments": ""}
            head: dict[str, Any] = {"id": CALL_ID, "type": "function", "function": function}
            bodies = [head, *({"function": {"arguments": piece}} for piece in PIECES)]
            deltas += [{"tool_calls": [{"index": 0, **entry}]} for entry in bodies]
            return _stream(_chunks(deltas, "tool_calls"))
        case [{"role": "user"}, {"role": "assistant"} as message, {"role": "tool"} as answer]:
            function = {"name": NAME, "arguments": ARGUMENTS}
            call = {"id": CALL_ID, "type": "function", "function": function}
            if (
                message == {"role": "assistant", "content": None, "tool_calls": [call]}
                and answer["tool_call_id"] == CALL_ID
                and json.loads(answer["content"]) == WEATHER
            ):
                return _stream(_chunks([{"content": piece} for piece in ANSWER], "stop"))
    return JSONResponse({"error": {"message": "that is no conversation"}}, 400)


def _chunks(deltas: list[dict[str, Any]], reason: str) -> list[ServerSentEvent]:
    ends = [None] * len(deltas) + [reason]
    payloads = [
        {"id": "chatcmpl-1", "choices": [{"index": 0, "delta": delta, "finish_reason": end}]}
        for delta, end in zip([*deltas, {}], ends, strict=True)
    ]
    return [ServerSentEvent(json.dumps(payload)) for payload in payloads] + [
        ServerSentEvent("[DONE]")
    ]


async def _responses(request: Request) -> Response:
    body = await request.json()
    match body["input"]:
        case [{"role": "user"}]:
            begin = {**FUNCTION_CALL, "arguments": "", "status": "in_progress"}
            place = {"item_id": "fc_1", "output_index": 1}
            name = "response.function_call_arguments"
            pieces = [{"type": f"{name}.delta", **place, "delta": piece} for piece in PIECES]
            return _stream(
                _events(
                    {"type": "response.output_item.added", "output_index": 0, "item": REASONING},
                    {"type": "response.output_item.done", "output_index": 0, "item": REASONING},
                    {"type": "response.output_item.added", "output_index": 1, "item": begin},
                    *pieces,
                    {"type": f"{name}.done", **place, "arguments": ARGUMENTS},
                    {"type": "response.output_item.done", "output_index": 1, "item": FUNCTION_CALL},
                    output=[REASONING, FUNCTION_CALL],
                )
            )
        case [{"role": "user"}, reasoning, call, {"type": "function_call_output"} as answer]:
            if (
                [reasoning, call] == [REASONING, FUNCTION_CALL]
                and answer["call_id"] == CALL_ID
                and json.loads(answer["output"]) == WEATHER
            ):
                return _stream(_said("".join(ANSWER)))
    return JSONResponse({"error": {"message": "that is no conversation"}}, 400)


def _said(text: str) -> list[ServerSentEvent]:
    place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    part = {"type": "output_text", "text": text, "annotations": []}
    begin = {"type": "message", "id": "msg_1", "role": "assistant", "status": "in_progress"}
    item = {**begin, "status": "completed", "content": [part]}
    empty = {**begin, "content": []}
    name = "response.output_text"
    pieces = [{"type": f"{name}.delta", **place, "delta": piece} for piece in ANSWER]
    return _events(
        {"type": "response.output_item.added", "output_index": 0, "item": empty},
        {"type": "response.content_part.added", **place, "part": {**part, "text": ""}},
        *pieces,
        {"type": f"{name}.done", **place, "text": text},
        {"type": "response.content_part.done", **place, "part": part},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        output=[item],
    )


def _events(*payloads: dict[str, Any], output: list[dict[str, Any]]) -> list[ServerSentEvent]:
    response = {"id": "resp_1", "model": "weather-1", "output": output, "status": "completed"}
    created = {**response, "output": [], "status": "in_progress"}
    all_of_them = [
        {"type": "response.created", "response": created},
        *payloads,
        {"type": "response.completed", "response": response},
    ]
    return [
        ServerSentEvent(json.dumps({**payload, "sequence_number": n}), event=payload["type"])
        for n, payload in enumerate(all_of_them)
    ]


def _stream(events: list[ServerSentEvent]) -> Response:
    async def each() -> AsyncIterator[ServerSentEvent]:
        for event in events:
            yield event

    return EventSourceResponse(each())


PROVIDER_ROUTES = [
    Route("/v1/chat/completions", _chat_completions, methods=["POST"]),
    Route("/v1/responses", _responses, methods=["POST"]),
]
