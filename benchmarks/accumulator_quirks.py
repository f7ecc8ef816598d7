"""Small streams, each with one quirk that servers are known for or one fault."""

import json
from collections.abc import Iterator
from typing import Any

from .accumulator_streams import Answer, Call, Failure, Json, Stream


def _body(*payloads: Json | str, named: bool = False) -> bytes:
    blocks: list[str] = []
    for payload in payloads:
        if isinstance(payload, str):
            blocks.append(f"data: {payload}\n\n")
            continue
        head = f"event: {payload['type']}\n" if named else ""
        blocks.append(f"{head}data: {json.dumps(payload, ensure_ascii=False)}\n\n")
    return "".join(blocks).encode()


def _chunk(delta: Json, reason: str | None = None, **fields: Any) -> Json:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    head = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return {**head, "choices": [choice], **fields}


def _call(arguments: object, name: str | None = None, **fields: Any) -> Json:
    function = {"arguments": arguments} if name is None else {"name": name, "arguments": arguments}
    return _chunk({"tool_calls": [{**fields, "function": function}]})


_BEGIN = _chunk({"role": "assistant", "content": ""})
_HELLO = (_BEGIN, _chunk({"content": "Hel"}), _chunk({"content": "lo"}))
_STOP = _chunk({}, "stop")
_CALLS = _chunk({}, "tool_calls")
_TWO = (Call("a", "f", {"x": 1}), Call("b", "g", {"y": 2}))
_USAGE = {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}


def _chat(name: str, right: Answer | Failure, *payloads: Json | str) -> Stream:
    return Stream(name, "chat", _body(*payloads), (right,))


def _chats() -> Iterator[Stream]:
    yield _chat(
        "calls without an index",
        Answer("", _TWO, "tool_calls"),
        _call('{"x":1}', "f", id="a", type="function"),
        _call('{"y":2}', "g", id="b", type="function"),
        _CALLS,
        "[DONE]",
    )
    yield _chat(
        "two calls at the same index",
        Answer("", _TWO, "tool_calls"),
        _call('{"x":1}', "f", index=0, id="a", type="function"),
        _call('{"y":2}', "g", index=0, id="b", type="function"),
        _CALLS,
        "[DONE]",
    )
    yield _chat(
        "index from 1",
        Answer("", _TWO, "tool_calls"),
        _call('{"x":1}', "f", index=1, id="a", type="function"),
        _call('{"y":2}', "g", index=2, id="b", type="function"),
        _CALLS,
        "[DONE]",
    )
    yield _chat(
        "id and name repeated",
        Answer("", _TWO[:1], "tool_calls"),
        _call("", "f", index=0, id="a", type="function"),
        _call('{"x"', "f", index=0, id="a", type="function"),
        _call(":1}", "f", index=0, id="a", type="function"),
        _CALLS,
        "[DONE]",
    )
    yield _chat(
        "parallel calls that interleave",
        Answer("", _TWO, "tool_calls"),
        _call("", "f", index=0, id="a", type="function"),
        _call("", "g", index=1, id="b", type="function"),
        _call('{"x"', index=0),
        _call('{"y"', index=1),
        _call(":1}", index=0),
        _call(":2}", index=1),
        _CALLS,
        "[DONE]",
    )
    yield _chat(
        "arguments as an object",
        Answer("", _TWO[:1], "tool_calls"),
        _call({"x": 1}, "f", index=0, id="a", type="function"),
        _CALLS,
        "[DONE]",
    )
    yield _chat(
        "role in each chunk",
        Answer("Hello", (), "stop", role="assistant"),
        _chunk({"role": "assistant", "content": "Hel"}),
        _chunk({"role": "assistant", "content": "lo"}),
        _STOP,
        "[DONE]",
    )
    yield _chat(
        "usage, then a chunk without",
        Answer("Hello", (), "stop", tokens=7),
        *_HELLO,
        _chunk({}, "stop", usage=_USAGE),
        {**_BEGIN, "choices": [], "usage": None},
        "[DONE]",
    )
    yield _chat(
        "no choices in the first chunk",
        Answer("Hello", (), "stop"),
        {"id": "", "object": "", "created": 0, "model": "", "choices": []},
        *_HELLO,
        _STOP,
        "[DONE]",
    )
    yield _chat(
        "choices null",
        Answer("Hello", (), "stop"),
        *_HELLO,
        {**_BEGIN, "choices": None},
        _STOP,
        "[DONE]",
    )
    yield _chat(
        "content null",
        Answer("", _TWO[:1], "tool_calls"),
        _chunk({"role": "assistant", "content": None}),
        _call('{"x":1}', "f", index=0, id="a", type="function"),
        _chunk({"content": None}, "tool_calls"),
        "[DONE]",
    )
    yield _chat(
        "content as a list of parts",
        Answer("Hello", (), "stop"),
        _chunk({"role": "assistant", "content": [{"type": "text", "text": "Hel"}]}),
        _chunk({"content": "lo"}),
        _STOP,
        "[DONE]",
    )
    yield _chat("no [DONE]", Answer("Hello", (), "stop"), *_HELLO, _STOP)
    yield from _broken_chats()


def _broken_chats() -> Iterator[Stream]:
    error = {"message": "quota exceeded", "type": "insufficient_quota"}
    yield _chat(
        "error in the middle", Failure("quota exceeded"), *_HELLO, {"error": error}, "[DONE]"
    )
    named = _body(*_HELLO) + b'event: error\ndata: {"message":"quota exceeded"}\n\n'
    yield Stream("event: error, no error key", "chat", named, (Failure("quota exceeded"),))
    yield _chat("no finish reason", Failure(""), *_HELLO, "[DONE]")
    cut = _body(*_HELLO, _STOP)
    yield Stream("cut within the last event", "chat", cut[:-20], (Failure(""),))
    # Whoever says that it was too long says so in either way.
    too_long = (Answer("", (Call("a", "pay", None),), "length"), Failure(""))
    pieces = (
        _call("", "pay", index=0, id="a", type="function"),
        _call('{"amount": 10', index=0),
        _chunk({}, "length"),
        "[DONE]",
    )
    yield Stream("call cut at finish reason length", "chat", _body(*pieces), too_long)
    page = b"<html><body>502 Bad Gateway</body></html>"
    yield Stream("a page in place of a stream", "chat", page, (Failure("502"),), "text/html")
    answer = json.dumps({"error": error}).encode()
    yield Stream(
        "a JSON error in place of a stream",
        "chat",
        answer,
        (Failure("quota exceeded"),),
        "application/json",
    )


def _responses(name: str, right: Answer | Failure, *payloads: Json) -> Stream:
    numbered = [{**payload, "sequence_number": n} for n, payload in enumerate(payloads)]
    return Stream(name, "responses", _body(*numbered, named=True), (right,))


def _response(status: str, *output: Json, **fields: Any) -> Json:
    head = {"id": "r1", "object": "response", "created_at": 1, "model": "m", "status": status}
    rest: Json = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    return {**head, **rest, "output": list(output), **fields}


def _item(number: int, arguments: str, status: str = "completed") -> Json:
    head = {"id": f"fc_{number}", "type": "function_call", "status": status}
    return {**head, "call_id": f"call_{number}", "name": "f", "arguments": arguments}


def _item_events(number: int, streamed: str, done: str) -> list[Json]:
    place = {"output_index": number, "item_id": f"fc_{number}"}
    return [
        {
            "type": "response.output_item.added",
            "output_index": number,
            "item": _item(number, "", "in_progress"),
        },
        {"type": "response.function_call_arguments.delta", **place, "delta": streamed},
        {"type": "response.function_call_arguments.done", **place, "arguments": done},
        {
            "type": "response.output_item.done",
            "output_index": number,
            "item": _item(number, done),
        },
    ]


def _text_events() -> list[Json]:
    item: Json = {"id": "msg_0", "type": "message", "role": "assistant", "content": []}
    part: Json = {"type": "output_text", "text": "", "annotations": []}
    place = {"output_index": 0, "item_id": "msg_0", "content_index": 0}
    return [
        {
            "type": "response.output_item.added",
            "output_index": 0,
            "item": {**item, "status": "in_progress"},
        },
        {"type": "response.content_part.added", **place, "part": part},
        {"type": "response.output_text.delta", **place, "delta": "Hel", "logprobs": []},
        {"type": "response.output_text.delta", **place, "delta": "lo", "logprobs": []},
    ]


def _responses_streams() -> Iterator[Stream]:
    created = {"type": "response.created", "response": _response("in_progress")}
    first, second = Call("call_0", "f", {"x": 1}), Call("call_1", "f", {"x": 2})
    yield _responses(
        "arguments done differ from the deltas",
        Answer("", (first,), "completed"),
        created,
        *_item_events(0, '{"x":9}', '{"x":1}'),
        {"type": "response.completed", "response": _response("completed", _item(0, '{"x":1}'))},
    )
    both = [*_item_events(0, '{"x":1}', '{"x":1}'), *_item_events(1, '{"x":2}', '{"x":2}')]
    yield _responses(
        "a call lost in the final output",
        Answer("", (first, second), "completed"),
        created,
        *both,
        {"type": "response.completed", "response": _response("completed", _item(0, '{"x":1}'))},
    )
    yield _responses(
        "no final output",
        Answer("", (first, second), "completed"),
        created,
        *both,
        {"type": "response.completed", "response": _response("completed", output=None)},
    )
    text: Json = {"type": "output_text", "text": "Hello", "annotations": []}
    message = {"id": "msg_0", "type": "message", "role": "assistant", "status": "incomplete"}
    incomplete = _response(
        "incomplete",
        {**message, "content": [text]},
        incomplete_details={"reason": "max_output_tokens"},
    )
    yield _responses(
        "response.incomplete",
        Answer("Hello", (), "max_output_tokens"),
        created,
        *_text_events(),
        {"type": "response.incomplete", "response": incomplete},
    )
    error = {"code": "server_error", "message": "quota exceeded"}
    yield _responses(
        "response.failed",
        Failure("quota exceeded"),
        created,
        *_text_events(),
        {"type": "response.failed", "response": _response("failed", error=error)},
    )
    yield _responses(
        "error event as documented",
        Failure("quota exceeded"),
        created,
        *_text_events(),
        {"type": "error", "param": None, **error},
    )
    yield _responses("no terminal event", Failure(""), created, *_text_events())


def _messages(name: str, right: Answer | Failure, *payloads: Json) -> Stream:
    message: Json = {"id": "m1", "type": "message", "role": "assistant", "model": "c"}
    rest: Json = {
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 5, "output_tokens": 1},
    }
    start = {"type": "message_start", "message": {**message, **rest}}
    return Stream(name, "messages", _body(start, *payloads, named=True), (right,))


def _block(index: int, block: Json, *deltas: Json) -> list[Json]:
    return [
        {"type": "content_block_start", "index": index, "content_block": block},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def _input(*pieces: str) -> list[Json]:
    return [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]


def _ends(reason: str) -> list[Json]:
    delta = {"stop_reason": reason, "stop_sequence": None}
    return [
        {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 7}},
        {"type": "message_stop"},
    ]


def _messages_streams() -> Iterator[Stream]:
    hello = _block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": "Hello"})
    tool: Json = {"type": "tool_use", "id": "toolu_1", "name": "pay", "input": {}}
    call = Call("toolu_1", "pay", {"amount": 100})
    yield _messages("no message_stop, no stop reason", Failure(""), *hello)
    yield _messages(
        "a gap in the block indexes",
        Answer("Hello", (call,), "tool_use", tokens=7),
        *hello,
        *_block(2, tool, *_input('{"amount"', ": 100}")),
        *_ends("tool_use"),
    )
    yield _messages(
        "input cut at max_tokens",
        Answer("", (Call("toolu_1", "pay", None),), "max_tokens"),
        *_block(0, tool, *_input('{"amount": 10'))[:-1],
        *_ends("max_tokens"),
    )
    yield _messages(
        "input that is no JSON",
        Answer("", (Call("toolu_1", "pay", None),), "tool_use"),
        *_block(0, tool, *_input('{"amount": 10')),
        *_ends("tool_use"),
    )
    error = {"type": "overloaded_error", "message": "Overloaded"}
    yield _messages(
        "error event", Failure("Overloaded"), *hello[:2], {"type": "error", "error": error}
    )
    unnamed = _messages("", Failure(""), *hello, *_ends("end_turn")).body
    body = b"".join(
        line for line in unnamed.splitlines(keepends=True) if not line.startswith(b"event:")
    )
    yield Stream("events without names", "messages", body, (Answer("Hello", (), "end_turn"),))


def _parts(*parts: Json, reason: str | None = None) -> Json:
    candidate: Json = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    return {"candidates": [candidate if reason is None else {**candidate, "finishReason": reason}]}


def _contents_streams() -> Iterator[Stream]:
    hello = Answer("Hello", (), "STOP")
    payloads = (_parts({"text": "Hel"}), _parts({"text": "lo"}, reason="STOP"))
    yield Stream("[DONE] at the end", "contents", _body(*payloads, "[DONE]"), (hello,))
    yield Stream(
        "a comment between events",
        "contents",
        _body(payloads[0]) + b": keep-alive\n\n" + _body(payloads[1]),
        (hello,),
    )
    yield Stream("no finish reason", "contents", _body(payloads[0]), (Failure(""),))
    error = {"error": {"code": 503, "status": "UNAVAILABLE", "message": "Overloaded"}}
    body = _body(payloads[0], error)
    yield Stream("error in the middle", "contents", body, (Failure("Overloaded"),))
    piece = {"jsonPath": "$.q", "stringValue": "he", "willContinue": True}
    body = _body(
        _parts({"functionCall": {"name": "f", "willContinue": True}}),
        _parts({"functionCall": {"partialArgs": [piece], "willContinue": True}}),
        _parts(
            {
                "functionCall": {
                    "partialArgs": [{"jsonPath": "$.q", "stringValue": "llo"}],
                    "willContinue": True,
                }
            }
        ),
        _parts({"functionCall": {}}, reason="STOP"),
    )
    right = Answer("", (Call("", "f", {"q": "hello"}),), "STOP")
    yield Stream("arguments value by value", "contents", body, (right,))


def quirks() -> Iterator[Stream]:
    """Yield all of them."""
    yield from _chats()
    yield from _responses_streams()
    yield from _messages_streams()
    yield from _contents_streams()
