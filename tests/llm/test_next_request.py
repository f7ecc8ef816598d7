"""`.message` goes into the next request as it is: checked with the types of the providers.

The types of openai and anthropic are TypedDicts, for which keys that they do not have are no error.
`strict_types` makes them one, and so finds what a server would refuse.
"""

from __future__ import annotations

import base64
import json
from copy import deepcopy
from pathlib import Path
from types import GenericAlias
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from anthropic.types.message_create_params import MessageCreateParamsStreaming
from google.genai import types as genai_types
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
from openai.types.responses.response_create_params import ResponseCreateParamsStreaming
from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic_core import SchemaValidator

from sansio_sse.llm import (
    ChatCompletionsAssembler,
    GenerateContentAssembler,
    MessagesAssembler,
    ResponsesAssembler,
)

from .streams import DONE, event, items_of, run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sansio_sse import Event
    from sansio_sse.llm import Completion

CAPTURES = Path(__file__).parents[1] / "captures"

# What servers want back that OpenAI's types do not know: reasoning under its names, signatures.
COMPATIBLE_KEYS = frozenset(
    {"reasoning_content", "reasoning", "reasoning_details", "thinking_blocks", "extra_content"}
)
# Citations have it in Anthropic's answers, and not in the types of requests. The SDK takes its own
# answers as they are, and sends it.
CITATION_KEYS = frozenset({"file_id"})
# Recorded streams have it in calls of custom tools, and OpenAI's types know it of all other items.
CUSTOM_KEYS = frozenset({"status"})


def strict_types(type_: Any) -> SchemaValidator:
    """A validator of a list of what a TypedDict describes, which refuses any other key.

    Iterables are validated only when somebody iterates, which nobody would: they are lists here.
    Where a package accepts its own response models too, which allow any key, only the types of
    requests are left.
    """
    config = ConfigDict(extra="forbid", strict=True, arbitrary_types_allowed=True)
    requests: Any = GenericAlias(list, (type_,))
    schema: Any = TypeAdapter(requests, config=config).core_schema
    definitions = {each["ref"]: each for each in schema.get("definitions", ())}

    def is_model(choice: Any) -> bool:
        if isinstance(choice, tuple):
            choice = choice[0]
        if choice["type"] == "definition-ref":
            choice = definitions[choice["schema_ref"]]
        return bool(choice["type"] == "model" or choice.get("choices") == [])

    def eager(part: Any) -> Any:
        if isinstance(part, (list, tuple)):
            return type(part)(map(eager, part))
        if not isinstance(part, dict) or part.get("type") == "model":
            return part
        made = {name: eager(value) for name, value in part.items() if name != "metadata"}
        if made.get("type") == "generator":
            made["type"] = "list"
        if made.get("type") == "union":
            made["choices"] = [choice for choice in made["choices"] if not is_model(choice)]
        return made

    return SchemaValidator(eager(schema))


CHAT_REQUESTS = strict_types(CompletionCreateParamsStreaming)
RESPONSES_REQUESTS = strict_types(ResponseCreateParamsStreaming)
MESSAGES_REQUESTS = strict_types(MessageCreateParamsStreaming)


def without(value: Any, names: frozenset[str]) -> Any:
    """A JSON value less the keys that are known to be in it on purpose."""
    if isinstance(value, list):
        return [without(item, names) for item in value]
    if isinstance(value, dict):
        return {name: without(item, names) for name, item in value.items() if name not in names}
    return value


def keys(value: Any) -> set[str]:
    if isinstance(value, list):
        return set().union(*map(keys, value))
    if isinstance(value, dict):
        return set(value).union(*map(keys, value.values()))
    return set()


class WrongRequest(AssertionError):
    """A request that is not what the types say."""


def check(requests: SchemaValidator, **request: Any) -> None:
    try:
        requests.validate_python([{"model": "m", "stream": True, **request}])
    except ValidationError as error:
        # A union has an error for each of its choices: the one that came furthest is the nearest.
        nearest = max(error.errors(include_url=False), key=lambda each: len(each["loc"]))
        where = ".".join(map(str, nearest["loc"]))[-200:]
        raise WrongRequest(f"{nearest['msg']} at {where}: {request}") from None


def check_chat(messages: list[Any]) -> None:
    check(CHAT_REQUESTS, messages=messages)


def check_responses(items: list[Any]) -> None:
    check(RESPONSES_REQUESTS, input=items)


def check_messages(messages: list[Any]) -> None:
    check(MESSAGES_REQUESTS, messages=messages, max_tokens=9)


def check_contents(contents: list[Any]) -> None:
    for content in contents:
        # As the wire has it, and as the package takes it from its users.
        read = genai_types.Content.model_validate_json(json.dumps(content))
        assert genai_types.Content.model_validate(deepcopy(content)) == read
        written = json.loads(read.model_dump_json(by_alias=True, exclude_none=True))
        assert unsigned(written) == unsigned(content)
        given = content["parts"]
        assert len(read.parts or []) == len(given)
        for part, wire in zip(read.parts or [], given, strict=True):
            signature = wire.get("thoughtSignature")
            assert part.thought_signature == (signature and base64.b64decode(signature))


def unsigned(value: Any) -> Any:
    """Without the signatures, for which the package writes the other alphabet of base64."""
    return without(value, frozenset({"thoughtSignature"}))


class Case(NamedTuple):
    """A stream, the `.message` that it must come to, and keys that the types do not know."""

    id: str
    events: Sequence[Any]
    message: Any
    extra: frozenset[str] = frozenset()


def cases(*each: Case) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", each, ids=[case.id for case in each])


# --- Chat Completions


def chunk(delta: dict[str, Any], reason: str | None = None) -> Event:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return event({"id": "c1", "object": "chat.completion.chunk", "model": "m", "choices": [choice]})


def calling(*entries: dict[str, Any]) -> Event:
    return chunk({"tool_calls": list(entries)})


def opening(index: int, call_id: str, name: str, arguments: str = "") -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {"index": index, "id": call_id, "type": "function", "function": function}


def piece(index: int, arguments: str) -> dict[str, Any]:
    return {"index": index, "function": {"arguments": arguments}}


def sent(call_id: str, name: str, arguments: str, **extra: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function, **extra}


def assistant(content: Any, **rest: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **rest}


BEGIN = chunk({"role": "assistant", "content": ""})
SIGNED = {"google": {"thought_signature": "U0lHLTE="}}
DETAILS = [
    {"type": "reasoning.text", "text": "Hm, so", "format": "f", "index": 0, "signature": "c2ln"},
    {"type": "reasoning.encrypted", "data": "RU5D", "index": 1},
]
BLOCKS = [
    {"type": "thinking", "thinking": "Hm, so", "signature": "c2ln"},
    {"type": "redacted_thinking", "data": "UkVE"},
]
CALLING = calling(opening(0, "a", "f", '{"x":1}'))
CALLED = [sent("a", "f", '{"x":1}')]

CHAT = (
    Case(
        "text",
        [BEGIN, chunk({"content": "Hel"}), chunk({"content": "lo"}), chunk({}, "stop"), DONE],
        assistant("Hello"),
    ),
    Case("nothing", [BEGIN, chunk({}, "stop"), DONE], assistant("")),
    Case(
        "role and obfuscation in each chunk",
        [
            chunk({"role": "assistant", "content": "Hel", "obfuscation": "x9"}),
            chunk({"role": "assistant", "content": "lo", "obfuscation": "ab"}),
            chunk({"role": "assistant", "content": ""}, "stop"),
        ],
        assistant("Hello"),
    ),
    Case(
        "call",
        [
            BEGIN,
            calling(opening(0, "a", "f")),
            calling(piece(0, '{"x"')),
            calling(piece(0, ":1}")),
            chunk({}, "tool_calls"),
            DONE,
        ],
        assistant(None, tool_calls=CALLED),
    ),
    Case(
        "text and call",
        [BEGIN, chunk({"content": "Wait."}), CALLING, chunk({}, "tool_calls"), DONE],
        assistant("Wait.", tool_calls=CALLED),
    ),
    Case(
        "parallel calls that interleave",
        [
            calling(opening(0, "a", "f")),
            calling(opening(1, "b", "g")),
            calling(piece(1, '{"y"'), piece(0, '{"x"')),
            calling(piece(1, ":2}"), piece(0, ":1}")),
            chunk({}, "tool_calls"),
            DONE,
        ],
        assistant(None, tool_calls=[*CALLED, sent("b", "g", '{"y":2}')]),
    ),
    Case(
        "call without arguments",
        [calling(opening(0, "a", "now")), chunk({}, "tool_calls"), DONE],
        assistant(None, tool_calls=[sent("a", "now", "{}")]),
    ),
    Case(
        "arguments as an object",
        [
            calling({"id": "a", "function": {"name": "f", "arguments": {"x": 1}}}),
            chunk({}, "tool_calls"),
        ],
        assistant(None, tool_calls=CALLED),
    ),
    Case(
        "two calls without ids and indexes",
        [
            calling({"function": {"name": "f", "arguments": '{"x":1}'}}),
            calling({"function": {"name": "g", "arguments": "{}"}}),
            chunk({}, "stop"),
        ],
        assistant(None, tool_calls=[sent("call_0", "f", '{"x":1}'), sent("call_1", "g", "{}")]),
    ),
    Case(
        "custom tool",
        [
            calling({"index": 0, "id": "a", "type": "custom", "custom": {"name": "sh"}}),
            calling({"index": 0, "custom": {"input": "ls "}}),
            calling({"index": 0, "custom": {"input": "-l"}}),
            chunk({}, "tool_calls"),
            DONE,
        ],
        assistant(
            None,
            tool_calls=[{"id": "a", "type": "custom", "custom": {"name": "sh", "input": "ls -l"}}],
        ),
    ),
    Case(
        "legacy call",
        [
            chunk({"role": "assistant", "function_call": {"name": "f", "arguments": ""}}),
            chunk({"function_call": {"arguments": '{"x":1}'}}),
            chunk({}, "function_call"),
            DONE,
        ],
        assistant(None, function_call={"name": "f", "arguments": '{"x":1}'}),
    ),
    Case(
        "refusal",
        [BEGIN, chunk({"refusal": "I can"}), chunk({"refusal": "not."}), chunk({}, "stop"), DONE],
        assistant(None, refusal="I cannot."),
    ),
    Case(
        "content as parts",
        [
            chunk({"content": [{"type": "text", "text": "Hel"}]}),
            chunk({"content": "lo"}),
            chunk({}, "stop"),
        ],
        assistant([{"type": "text", "text": "Hello"}]),
    ),
    Case(
        "audio",
        [
            chunk({"role": "assistant", "audio": {"id": "au1"}}),
            chunk({"audio": {"transcript": "Hi"}}),
            chunk({"audio": {"data": "QUJD"}}),
            chunk({"audio": {"expires_at": 9}}),
            chunk({}, "stop"),
        ],
        assistant(None, audio={"id": "au1"}),
    ),
    Case(
        "annotations",
        [
            chunk({"content": "So"}),
            chunk({"annotations": [{"type": "url_citation", "url_citation": {"url": "u"}}]}),
            chunk({}, "stop"),
        ],
        assistant("So"),
    ),
    Case(
        "reasoning before text",
        [chunk({"reasoning_content": "Hm"}), chunk({"content": "Hi"}), chunk({}, "stop"), DONE],
        assistant("Hi"),
    ),
    Case(
        "reasoning before a call",
        [
            chunk({"reasoning_content": "Hm,"}),
            chunk({"reasoning_content": " so"}),
            CALLING,
            chunk({}, "tool_calls"),
            DONE,
        ],
        assistant(None, reasoning_content="Hm, so", tool_calls=CALLED),
        frozenset({"reasoning_content"}),
    ),
    Case(
        "reasoning with details",
        [
            chunk(
                {
                    "reasoning": "Hm,",
                    "reasoning_details": [
                        {"type": "reasoning.text", "text": "Hm,", "format": "f", "index": 0}
                    ],
                }
            ),
            chunk(
                {
                    "reasoning": " so",
                    "reasoning_details": [
                        {
                            "type": "reasoning.text",
                            "text": " so",
                            "format": "f",
                            "index": 0,
                            "signature": "c2ln",
                        }
                    ],
                }
            ),
            chunk({"reasoning_details": [DETAILS[1]]}),
            CALLING,
            chunk({}, "tool_calls"),
            DONE,
        ],
        assistant(None, reasoning="Hm, so", reasoning_details=DETAILS, tool_calls=CALLED),
        frozenset({"reasoning", "reasoning_details"}),
    ),
    Case(
        "thinking blocks",
        [
            chunk({"thinking_blocks": [{"type": "thinking", "thinking": "Hm,"}]}),
            chunk({"thinking_blocks": [{"type": "thinking", "thinking": " so"}]}),
            chunk({"thinking_blocks": [{"type": "thinking", "thinking": "", "signature": "c2ln"}]}),
            chunk({"thinking_blocks": [BLOCKS[1]]}),
            CALLING,
            chunk({}, "tool_calls"),
            DONE,
        ],
        assistant(None, thinking_blocks=BLOCKS, tool_calls=CALLED),
        frozenset({"thinking_blocks"}),
    ),
    Case(
        "thought signature on the first of two calls",
        [
            calling(
                {**opening(0, "a", "f", '{"x":1}'), "extra_content": SIGNED},
                opening(1, "b", "g", "{}"),
            ),
            chunk({}, "stop"),
            DONE,
        ],
        assistant(
            None, tool_calls=[sent("a", "f", '{"x":1}', extra_content=SIGNED), sent("b", "g", "{}")]
        ),
        frozenset({"extra_content"}),
    ),
    Case(
        "thought signature in a delta of its own",
        [CALLING, chunk({"extra_content": SIGNED}), chunk({}, "stop"), DONE],
        assistant(None, tool_calls=[sent("a", "f", '{"x":1}', extra_content=SIGNED)]),
        frozenset({"extra_content"}),
    ),
    Case(
        "capture 01",
        items_of((CAPTURES / "01_openai_chat_text_usage.sse").read_bytes()),
        assistant("Hello 👋🏽 世界! café"),
    ),
    Case(
        "capture 04",
        items_of((CAPTURES / "04_deepseek_parallel_tools.sse").read_bytes()),
        assistant(
            None,
            reasoning_content="需要查两个城市。",
            tool_calls=[
                sent("call_A", "get_weather", '{"city": "北京", "unit": "C"}'),
                sent("call_B", "get_weather", '{"city": "上海", "unit": "C"}'),
            ],
        ),
        frozenset({"reasoning_content"}),
    ),
    Case(
        "capture 05",
        items_of((CAPTURES / "05_gemini_compat_no_index.sse").read_bytes()),
        assistant(
            None,
            tool_calls=[
                sent("function-call-1", "lookup", '{"q":"kiwi"}', extra_content=SIGNED),
                sent("function-call-2", "lookup", '{"q":"plum"}'),
            ],
        ),
        frozenset({"extra_content"}),
    ),
    Case(
        "capture 07",
        items_of((CAPTURES / "07_dashscope_nospace_crlf.sse").read_bytes()),
        assistant(None, tool_calls=[sent("call_q1", "天气", '{"城市": "杭州"}')]),
    ),
    Case(
        "capture 08",
        items_of((CAPTURES / "08_late_reasoning_index1_no_done.sse").read_bytes()),
        assistant(
            "Checking now. ",
            reasoning="I need the clock.",
            tool_calls=[sent("chatcmpl-tool-c1", "now", "{}")],
        ),
        frozenset({"reasoning"}),
    ),
)


def chat_answers(completion: Completion) -> list[dict[str, Any]]:
    return [
        {"role": "function", "name": call.name, "content": "42"}
        if call.kind == "function_call"
        else {"role": "tool", "tool_call_id": call.id, "content": "42"}
        for call in completion.tool_calls
    ]


@cases(*CHAT)
def test_chat_message_is_one_of_the_next_request(case: Case) -> None:
    completion = run(ChatCompletionsAssembler(), case.events)
    assert completion.message == case.message
    assert keys(completion.message) & COMPATIBLE_KEYS == case.extra
    user = {"role": "user", "content": "Hi"}
    answers = chat_answers(completion)
    check_chat([user, without(completion.message, case.extra), *answers])
    wanted = [call["id"] for call in completion.message.get("tool_calls", ())]
    assert [answer["tool_call_id"] for answer in answers if answer["role"] == "tool"] == wanted


@pytest.mark.parametrize(
    "message",
    [
        assistant("Hi", bogus=1),
        assistant("Hi", reasoning_content="Hm"),
        assistant(None, tool_calls=[{"index": 0, **sent("a", "f", "{}")}]),
        assistant(None, tool_calls=[sent("a", "f", "{}", extra_content=SIGNED)]),
        assistant(None, tool_calls=[{"type": "function", "function": {"name": "f"}}]),
        assistant(None, tool_calls=[{"id": "a", "function": {"name": "f", "arguments": "{}"}}]),
        assistant(
            None,
            tool_calls=[
                {"id": "a", "type": "function", "function": {"name": "f", "arguments": {}}}
            ],
        ),
        assistant(None, tool_calls=[{"id": "a", "type": "custom", "custom": {"name": "f"}}]),
        assistant([{"type": "thinking", "thinking": "Hm"}]),
        assistant([{"type": "text", "text": "Hi", "index": 0}]),
        {"role": "", "content": "Hi"},
        {"content": "Hi"},
    ],
    ids=[
        "unknown key",
        "reasoning",
        "index of a call",
        "signature of a call",
        "no id",
        "no type",
        "arguments as an object",
        "no input of a custom tool",
        "unknown part",
        "unknown key of a part",
        "empty role",
        "no role",
    ],
)
def test_chat_types_refuse_a_wrong_message(message: dict[str, Any]) -> None:
    with pytest.raises(WrongRequest):
        check_chat([message])


# --- Responses


def response(*items: Sequence[dict[str, Any]], end: str = "completed", **rest: Any) -> list[Event]:
    """A stream of some items, each the events of its own: without their output_index."""
    payloads: list[dict[str, Any]] = [{"type": "response.created", "response": {"id": "r"}}]
    output: list[Any] = []
    for index, of_item in enumerate(items):
        payloads += [{**payload, "output_index": index} for payload in of_item]
        output += [payload["item"] for payload in of_item if payload["type"].endswith("item.done")]
    final = {"id": "r", "status": end, "output": output, **rest}
    payloads.append({"type": f"response.{end}", "response": final})
    return [
        event({**payload, "sequence_number": number}, payload["type"])
        for number, payload in enumerate(payloads)
    ]


def added(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "response.output_item.added", "item": item}


def done(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "response.output_item.done", "item": item}


def said(kind: str, item_id: str, **fields: Any) -> dict[str, Any]:
    return {"type": f"response.{kind}", "item_id": item_id, **fields}


def spoken(
    part: dict[str, Any], *between: dict[str, Any], item_id: str = "msg_1", **fields: Any
) -> list[dict[str, Any]]:
    """The events of a message of one part."""
    kind, name = part["type"], "refusal" if part["type"] == "refusal" else "text"
    head = {"id": item_id, "type": "message", "role": "assistant", **fields}
    empty = {**part, name: ""}
    return [
        added({**head, "status": "in_progress", "content": []}),
        said("content_part.added", item_id, content_index=0, part=empty),
        said(f"{kind}.delta", item_id, content_index=0, delta=part[name][:2], obfuscation="x"),
        said(f"{kind}.delta", item_id, content_index=0, delta=part[name][2:]),
        *between,
        said(f"{kind}.done", item_id, content_index=0, **{name: part[name]}),
        said("content_part.done", item_id, content_index=0, part=part),
        done({**head, "status": "completed", "content": [part]}),
    ]


def message_item(part: dict[str, Any], **fields: Any) -> dict[str, Any]:
    head = {"id": "msg_1", "type": "message", "role": "assistant"}
    return {**head, "status": "completed", "content": [part], **fields}


TEXT = {"type": "output_text", "text": "Hello", "annotations": [], "logprobs": []}
REFUSED = {"type": "refusal", "refusal": "I cannot."}
CITED = {
    **TEXT,
    "annotations": [
        {"type": "url_citation", "start_index": 0, "end_index": 5, "title": "t", "url": "u"}
    ],
}
REASONING = {
    "id": "rs_1",
    "type": "reasoning",
    "encrypted_content": "RU5D",
    "summary": [{"type": "summary_text", "text": "Hm"}],
}
REASONED = [
    added({**REASONING, "encrypted_content": "RQ==", "summary": []}),
    said(
        "reasoning_summary_part.added",
        "rs_1",
        summary_index=0,
        part={"type": "summary_text", "text": ""},
    ),
    said("reasoning_summary_text.delta", "rs_1", summary_index=0, delta="Hm"),
    said("reasoning_summary_text.done", "rs_1", summary_index=0, text="Hm"),
    said("reasoning_summary_part.done", "rs_1", summary_index=0, part=REASONING["summary"][0]),
    done(REASONING),
]
SEARCH = {
    "id": "ws_1",
    "type": "web_search_call",
    "status": "completed",
    "action": {"type": "search", "query": "q"},
}
CUSTOM = {
    "id": "ctc_1",
    "type": "custom_tool_call",
    "status": "completed",
    "call_id": "call_c",
    "name": "sh",
    "input": "ls -l",
}


def function_item(number: int, arguments: str, **fields: Any) -> dict[str, Any]:
    return {
        "id": f"fc_{number}",
        "type": "function_call",
        "status": "completed",
        "call_id": f"call_{number}",
        "name": "f",
        "arguments": arguments,
        **fields,
    }


def function_events(number: int, arguments: str) -> list[dict[str, Any]]:
    item_id = f"fc_{number}"
    return [
        added(function_item(number, "", status="in_progress")),
        *(
            said("function_call_arguments.delta", item_id, delta=delta)
            for delta in (arguments[:4], arguments[4:])
            if delta
        ),
        said("function_call_arguments.done", item_id, arguments=arguments),
        done(function_item(number, arguments)),
    ]


RESPONSES = (
    Case("text", response(spoken(TEXT)), [message_item(TEXT)]),
    Case(
        "text with a phase",
        response(spoken(TEXT, phase="commentary")),
        [message_item(TEXT, phase="commentary")],
    ),
    Case(
        "annotated text",
        response(
            spoken(
                CITED,
                said(
                    "output_text.annotation.added",
                    "msg_1",
                    content_index=0,
                    annotation_index=0,
                    annotation=CITED["annotations"][0],
                ),
            )
        ),
        [message_item(CITED)],
    ),
    Case("refusal", response(spoken(REFUSED)), [message_item(REFUSED)]),
    Case(
        "encrypted reasoning and parallel calls",
        response(REASONED, function_events(1, '{"x":1}'), function_events(2, '{"x":2}')),
        [REASONING, function_item(1, '{"x":1}'), function_item(2, '{"x":2}')],
    ),
    Case(
        "reasoning as text",
        response(
            [
                added({"id": "rs_2", "type": "reasoning", "summary": []}),
                said(
                    "content_part.added",
                    "rs_2",
                    content_index=0,
                    part={"type": "reasoning_text", "text": ""},
                ),
                said("reasoning_text.delta", "rs_2", content_index=0, delta="Hm"),
                said("reasoning_text.done", "rs_2", content_index=0, text="Hm"),
                done(
                    {
                        "id": "rs_2",
                        "type": "reasoning",
                        "summary": [],
                        "content": [{"type": "reasoning_text", "text": "Hm"}],
                    }
                ),
            ],
            function_events(1, "{}"),
        ),
        [
            {
                "id": "rs_2",
                "type": "reasoning",
                "summary": [],
                "content": [{"type": "reasoning_text", "text": "Hm"}],
            },
            function_item(1, "{}"),
        ],
    ),
    Case("call without arguments", response(function_events(1, "")), [function_item(1, "")]),
    Case(
        "custom tool",
        response(
            [
                added({**CUSTOM, "status": "in_progress", "input": ""}),
                said("custom_tool_call_input.delta", "ctc_1", delta="ls "),
                said("custom_tool_call_input.delta", "ctc_1", delta="-l"),
                said("custom_tool_call_input.done", "ctc_1", input="ls -l"),
                done(CUSTOM),
            ]
        ),
        [CUSTOM],
        CUSTOM_KEYS,
    ),
    Case(
        "tool of the server",
        response(
            [
                added({"id": "ws_1", "type": "web_search_call", "status": "in_progress"}),
                said("web_search_call.searching", "ws_1"),
                done(SEARCH),
            ],
            spoken(CITED),
        ),
        [SEARCH, message_item(CITED)],
    ),
    Case(
        "item ids that change",
        response([{**payload, "item_id": f"x{n}"} for n, payload in enumerate(spoken(TEXT))]),
        [message_item(TEXT)],
    ),
    Case(
        "items that are not done",
        response(spoken(TEXT)[:4], function_events(1, '{"x":1}')[:3], output=None),
        [
            message_item({"type": "output_text", "text": "Hello", "annotations": []}),
            function_item(1, '{"x":1}'),
        ],
    ),
    Case(
        "text that was not announced",
        response(spoken(TEXT)[2:4]),
        [message_item({"type": "output_text", "text": "Hello", "annotations": []})],
    ),
    Case(
        "items in the final output alone",
        response(output=[REASONING, function_item(1, "{}")]),
        [REASONING, function_item(1, "{}")],
    ),
    Case(
        "cut by a limit",
        response(
            REASONED,
            spoken(TEXT)[:4],
            end="incomplete",
            incomplete_details={"reason": "max_output_tokens"},
        ),
        [
            REASONING,
            message_item(
                {"type": "output_text", "text": "Hello", "annotations": []}, status="incomplete"
            ),
        ],
    ),
    Case(
        "capture 11",
        items_of((CAPTURES / "11_responses_reasoning_tools.sse").read_bytes()),
        [
            {
                "id": "rs_1",
                "type": "reasoning",
                "summary": [{"type": "summary_text", "text": "Compare both."}],
                "encrypted_content": "RU5D",
            },
            message_item({**TEXT, "text": "On it 🚀"}),
            function_item(1, '{"k":"\u03b1"}', name="get"),
            function_item(2, '{"k":"β"}', name="get"),
        ],
    ),
)


def responses_answers(completion: Completion) -> list[dict[str, Any]]:
    return [
        {
            "type": "custom_tool_call_output" if call.kind == "custom" else "function_call_output",
            "call_id": call.id,
            "output": "42",
        }
        for call in completion.tool_calls
    ]


@cases(*RESPONSES)
def test_responses_items_are_input_of_the_next_request(case: Case) -> None:
    completion = run(ResponsesAssembler(), case.events)
    assert completion.message == case.message
    answers = responses_answers(completion)
    items = without(completion.message, case.extra)
    check_responses([{"role": "user", "content": "Hi"}, *items, *answers])
    wanted = [item["call_id"] for item in completion.message if "call_id" in item]
    assert [answer["call_id"] for answer in answers] == wanted


def test_responses_reasoning_not_done_has_what_the_final_output_has() -> None:
    # OpenAI's types say that the encrypted content of the announcement may be incomplete.
    events = response(REASONED[:-1], output=[REASONING])
    assert run(ResponsesAssembler(), events).message == [REASONING]


def test_responses_call_without_a_name_is_no_input_of_the_next_request() -> None:
    # Not announced, and not done: nobody can answer it, and the types refuse it.
    delta = said("function_call_arguments.delta", "fc_1", delta="{}")
    completion = run(ResponsesAssembler(), response([delta], spoken(TEXT)))
    assert not completion.complete
    check_responses(completion.message)


@pytest.mark.parametrize(
    "item",
    [
        {**REASONING, "bogus": 1},
        {**REASONING, "summary": "Hm"},
        {**function_item(1, "{}"), "parsed_arguments": {}},
        {name: value for name, value in function_item(1, "{}").items() if name != "call_id"},
        {**function_item(1, "{}"), "arguments": {}},
        message_item({**TEXT, "parsed": None}),
        message_item({"type": "output_text", "text": "Hello"}),
        message_item({"type": "text", "text": "Hello"}),
        {**CUSTOM, "arguments": "ls"},
        {**SEARCH, "bogus": 1},
        {"type": "bogus"},
    ],
    ids=[
        "unknown key of reasoning",
        "summary as text",
        "unknown key of a call",
        "no call_id",
        "arguments as an object",
        "unknown key of a part",
        "no annotations",
        "unknown part",
        "arguments of a custom tool",
        "unknown key of a search",
        "unknown item",
    ],
)
def test_responses_types_refuse_a_wrong_item(item: dict[str, Any]) -> None:
    with pytest.raises(WrongRequest):
        check_responses([item])


# --- Messages


def message(*blocks: tuple[dict[str, Any], list[dict[str, Any]]], reason: str) -> list[Event]:
    """A stream of some blocks, each as it starts and its deltas."""
    start = {"id": "m1", "type": "message", "role": "assistant", "model": "c", "content": []}
    payloads: list[dict[str, Any]] = [{"type": "message_start", "message": start}]
    for index, (block, deltas) in enumerate(blocks):
        payloads += [
            {"type": "content_block_start", "index": index, "content_block": block},
            *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
            {"type": "content_block_stop", "index": index},
        ]
    ending = {"stop_reason": reason, "stop_sequence": None}
    payloads += [
        {"type": "message_delta", "delta": ending, "usage": {"output_tokens": 9}},
        {"type": "message_stop"},
    ]
    return [event(payload, payload["type"]) for payload in payloads]


def text_block(*texts: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    block = {"type": "text", "text": "", "citations": None}
    return block, [{"type": "text_delta", "text": text} for text in texts]


def tool_block(
    call_id: str, *pieces: str, kind: str = "tool_use", **fields: Any
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    block = {"type": kind, "id": call_id, "name": "web_search", "input": {}, **fields}
    return block, [{"type": "input_json_delta", "partial_json": text} for text in pieces]


def used(call_id: str, arguments: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": "web_search", "input": arguments, **fields}


THINKING = (
    {"type": "thinking", "thinking": "", "signature": ""},
    [
        {"type": "thinking_delta", "thinking": "Hm,"},
        {"type": "thinking_delta", "thinking": " so"},
        {"type": "signature_delta", "signature": "c2ln"},
    ],
)
THOUGHT = {"type": "thinking", "thinking": "Hm, so", "signature": "c2ln"}
REDACTED = {"type": "redacted_thinking", "data": "UkVE"}
CITATION = {
    "type": "char_location",
    "cited_text": "c",
    "document_index": 0,
    "document_title": None,
    "start_char_index": 0,
    "end_char_index": 1,
}
FOUND = {
    "type": "web_search_tool_result",
    "tool_use_id": "srvtoolu_1",
    "content": [
        {
            "type": "web_search_result",
            "title": "t",
            "url": "u",
            "encrypted_content": "RU5D",
            "page_age": None,
        }
    ],
}
SEARCHED = {
    "type": "server_tool_use",
    "id": "srvtoolu_1",
    "name": "web_search",
    "input": {"query": "q"},
}


def plain_text(text: str, **fields: Any) -> dict[str, Any]:
    return {"type": "text", "text": text, "citations": None, **fields}


MESSAGES = (
    Case(
        "text",
        message(text_block("Hel", "lo"), reason="end_turn"),
        assistant([plain_text("Hello")]),
    ),
    Case(
        "text and parallel calls",
        message(
            text_block("Wait."),
            tool_block("toolu_1", "", '{"x"', ":1}"),
            tool_block("toolu_2", '{"x":2}', caller={"type": "direct"}),
            reason="tool_use",
        ),
        assistant(
            [
                plain_text("Wait."),
                used("toolu_1", {"x": 1}),
                used("toolu_2", {"x": 2}, caller={"type": "direct"}),
            ]
        ),
    ),
    Case(
        "calls without arguments",
        message(tool_block("toolu_1"), tool_block("toolu_2", ""), reason="tool_use"),
        assistant([used("toolu_1", {}), used("toolu_2", {})]),
    ),
    Case(
        "input that is there from the start",
        message(tool_block("toolu_1", input={"x": 1}), reason="tool_use"),
        assistant([used("toolu_1", {"x": 1})]),
    ),
    Case(
        "thinking, redacted thinking and interleaved thinking",
        message(
            THINKING,
            (REDACTED, []),
            text_block("So."),
            tool_block("toolu_1", "{}"),
            THINKING,
            tool_block("toolu_2", "{}"),
            reason="tool_use",
        ),
        assistant(
            [
                THOUGHT,
                REDACTED,
                plain_text("So."),
                used("toolu_1", {}),
                THOUGHT,
                used("toolu_2", {}),
            ]
        ),
    ),
    Case(
        "thinking that is not shown",
        message((THINKING[0], THINKING[1][-1:]), tool_block("toolu_1", "{}"), reason="tool_use"),
        assistant([{**THOUGHT, "thinking": ""}, used("toolu_1", {})]),
    ),
    Case(
        "citations",
        message(
            (
                {"type": "text", "text": "", "citations": []},
                [
                    {"type": "text_delta", "text": "So."},
                    {"type": "citations_delta", "citation": {**CITATION, "file_id": None}},
                ],
            ),
            reason="end_turn",
        ),
        assistant([plain_text("So.", citations=[{**CITATION, "file_id": None}])]),
        CITATION_KEYS,
    ),
    Case(
        "tool of the server",
        message(
            tool_block("srvtoolu_1", '{"query"', ': "q"}', kind="server_tool_use"),
            (FOUND, []),
            text_block("So."),
            reason="end_turn",
        ),
        assistant([SEARCHED, FOUND, plain_text("So.")]),
    ),
    Case(
        "pause",
        message(
            tool_block("srvtoolu_1", '{"query": "q"}', kind="server_tool_use"),
            reason="pause_turn",
        ),
        assistant([SEARCHED]),
    ),
    Case(
        "call cut by a limit",
        message(tool_block("toolu_1", '{"x":1'), reason="max_tokens"),
        assistant([used("toolu_1", {"INVALID_JSON": '{"x":1'})]),
    ),
    Case(
        "capture 13",
        items_of((CAPTURES / "13_anthropic_thinking_tools.sse").read_bytes()),
        assistant(
            [
                {"type": "thinking", "thinking": "Two calls needed.", "signature": "c2lnLTEz"},
                {"type": "redacted_thinking", "data": "UkVEQUNURUQ="},
                {"type": "text", "text": "好的 👍"},
                {
                    "type": "tool_use",
                    "id": "toolu_1",
                    "name": "get_price",
                    "input": {"sym": "ABC", "ccy": "€"},
                },
                {"type": "tool_use", "id": "toolu_2", "name": "now", "input": {}},
            ]
        ),
    ),
)


def messages_answers(completion: Completion) -> list[dict[str, Any]]:
    results = [
        {"type": "tool_result", "tool_use_id": call.id, "content": "42"}
        for call in completion.tool_calls
    ]
    return [{"role": "user", "content": results}] if results else []


@cases(*MESSAGES)
def test_messages_message_is_one_of_the_next_request(case: Case) -> None:
    completion = run(MessagesAssembler(), case.events)
    assert completion.message == case.message
    assert keys(completion.message) & CITATION_KEYS == case.extra
    answers = messages_answers(completion)
    user = {"role": "user", "content": "Hi"}
    check_messages([user, without(completion.message, case.extra), *answers])
    wanted = [b["id"] for b in completion.message["content"] if b["type"] == "tool_use"]
    results = [result for answer in answers for result in answer["content"]]
    assert [result["tool_use_id"] for result in results] == wanted


def test_messages_empty_text_is_no_block_of_the_next_request() -> None:
    # The API refuses it: "text content blocks must be non-empty".
    events = message(text_block(), tool_block("toolu_1", "{}"), reason="tool_use")
    assert run(MessagesAssembler(), events).message == assistant([used("toolu_1", {})])


@pytest.mark.parametrize(
    "block",
    [
        plain_text("Hi", bogus=1),
        {"type": "thinking", "thinking": "Hm"},
        {**THOUGHT, "bogus": 1},
        {"type": "redacted_thinking"},
        used("toolu_1", {}, partial_json="{}"),
        used("toolu_1", {}, index=0),
        {**used("toolu_1", {}), "input": "{}"},
        {"type": "tool_use", "name": "f", "input": {}},
        plain_text("Hi", citations=[{**CITATION, "file_id": None}]),
        {"type": "bogus"},
    ],
    ids=[
        "unknown key of a text",
        "no signature",
        "unknown key of thinking",
        "no data",
        "unknown key of a call",
        "index of a call",
        "input as text",
        "no id",
        "unknown key of a citation",
        "unknown block",
    ],
)
def test_messages_types_refuse_a_wrong_block(block: dict[str, Any]) -> None:
    with pytest.raises(WrongRequest):
        check_messages([assistant([block])])


# --- generateContent


def generated(*chunks: list[dict[str, Any]], reason: str = "STOP") -> list[Event]:
    payloads: list[dict[str, Any]] = [
        {"candidates": [{"content": {"role": "model", "parts": parts}}]} for parts in chunks
    ]
    payloads[-1]["candidates"][0]["finishReason"] = reason
    return [event(payload) for payload in payloads]


def model(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": "model", "parts": list(parts)}


# In both alphabets this has other letters.
SIGNATURE = base64.b64encode(b"gem\xfb\xff\xfe").decode()
FIRST = {"functionCall": {"name": "f", "args": {"x": 1}}, "thoughtSignature": SIGNATURE}
SECOND = {"functionCall": {"name": "g", "args": {}}}

CONTENTS = (
    Case("text", generated([{"text": "Hel"}], [{"text": "lo"}]), model({"text": "Hello"})),
    Case(
        "thought and text",
        generated(
            [{"text": "Hm", "thought": True}], [{"text": ", so", "thought": True}], [{"text": "Hi"}]
        ),
        model({"text": "Hm, so", "thought": True}, {"text": "Hi"}),
    ),
    Case(
        "signature on text",
        generated([{"text": "Hel"}], [{"text": "lo", "thoughtSignature": SIGNATURE}]),
        model({"text": "Hel"}, {"text": "lo", "thoughtSignature": SIGNATURE}),
    ),
    Case(
        "signature on an empty text",
        generated([{"text": "Hi"}], [{"text": "", "thoughtSignature": SIGNATURE}]),
        model({"text": "Hi"}, {"text": "", "thoughtSignature": SIGNATURE}),
    ),
    Case("parallel calls, one signed", generated([FIRST, SECOND]), model(FIRST, SECOND)),
    Case(
        "call with an id",
        generated([{"functionCall": {"id": "fc1", "name": "f", "args": {"x": 1}}}]),
        model({"functionCall": {"id": "fc1", "name": "f", "args": {"x": 1}}}),
    ),
    Case(
        "call without arguments",
        generated([{"functionCall": {"name": "g"}}]),
        model(SECOND),
    ),
    Case(
        "arguments value by value",
        generated(
            [
                {
                    "functionCall": {"name": "f", "willContinue": True},
                    "thoughtSignature": SIGNATURE,
                }
            ],
            [
                {
                    "functionCall": {
                        "partialArgs": [
                            {"jsonPath": "$.q", "stringValue": "he", "willContinue": True}
                        ],
                        "willContinue": True,
                    }
                }
            ],
            [
                {
                    "functionCall": {
                        "partialArgs": [
                            {"jsonPath": "$.q", "stringValue": "llo"},
                            {"jsonPath": "$.deep[0].n", "numberValue": 1},
                        ],
                        "willContinue": True,
                    }
                }
            ],
            [{"functionCall": {}}],
        ),
        model(
            {
                "functionCall": {"name": "f", "args": {"q": "hello", "deep": [{"n": 1}]}},
                "thoughtSignature": SIGNATURE,
            }
        ),
    ),
    Case(
        "code that the server ran",
        generated(
            [{"executableCode": {"language": "PYTHON", "code": "print(1)"}}],
            [{"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1\n"}}],
            [{"text": "1"}],
        ),
        model(
            {"executableCode": {"language": "PYTHON", "code": "print(1)"}},
            {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1\n"}},
            {"text": "1"},
        ),
    ),
    Case(
        "capture 15",
        items_of((CAPTURES / "15_gemini_native_crlf.sse").read_bytes()),
        model(
            {"text": "**Plan** 两步", "thought": True},
            {"text": "Looking up 日本🗾"},
            {
                "functionCall": {"name": "geo", "args": {"q": "Tokyo", "deep": {"n": [1, 2]}}},
                "thoughtSignature": "Z2VtLXNpZw==",
            },
            {"functionCall": {"name": "clock", "args": {}}},
        ),
    ),
)


def contents_answers(completion: Completion) -> list[dict[str, Any]]:
    """The results by name; by id where the server gave one."""
    calls = [part["functionCall"] for part in completion.message["parts"] if "functionCall" in part]
    parts = [
        {
            "functionResponse": {
                **({"id": call["id"]} if "id" in call else {}),
                "name": call["name"],
                "response": {"result": 42},
            }
        }
        for call in calls
    ]
    return [{"role": "user", "parts": parts}] if parts else []


@cases(*CONTENTS)
def test_generate_content_message_is_one_of_the_next_request(case: Case) -> None:
    completion = run(GenerateContentAssembler(), case.events)
    assert completion.message == case.message
    answers = contents_answers(completion)
    check_contents([{"role": "user", "parts": [{"text": "Hi"}]}, completion.message, *answers])
    results = [part["functionResponse"]["name"] for each in answers for part in each["parts"]]
    assert results == [call.name for call in completion.tool_calls]


@pytest.mark.parametrize(
    "part",
    [
        {"text": "Hi", "bogus": 1},
        {"text": 1},
        {"functionCall": {"name": "f", "args": "{}"}},
        {"functionCall": {"name": "f", "args": {}, "bogus": 1}},
        {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "not base64!"},
    ],
    ids=[
        "unknown key",
        "text as a number",
        "arguments as text",
        "unknown key of a call",
        "signature that is none",
    ],
)
def test_generate_content_types_refuse_a_wrong_part(part: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        check_contents([model(part)])


def test_generate_content_check_refuses_a_part_that_comes_back_as_something_else() -> None:
    # Camel and snake case are both read, and only one is written.
    with pytest.raises(AssertionError):
        check_contents([model({"text": "Hi", "thought_signature": SIGNATURE})])
