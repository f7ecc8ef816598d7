"""Answers that hypothesis makes up, and each of them as the streams of four dialects."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from hypothesis import strategies as st

from sansio_sse.llm import (
    Assembler,
    ChatCompletionsAssembler,
    GenerateContentAssembler,
    MessagesAssembler,
    ReasoningPart,
    ResponsesAssembler,
    TextPart,
    ToolCall,
)

from .streams import DONE, event

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from sansio_sse import Event

TEXTS = st.text(min_size=1, max_size=10)
JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda values: (
        st.lists(values, max_size=3) | st.dictionaries(st.text(max_size=3), values, max_size=3)
    ),
    max_leaves=6,
)


class Call(NamedTuple):
    name: str
    arguments: dict[str, Any]


class Said(NamedTuple):
    text: str


class Thought(NamedTuple):
    text: str


class Answer(NamedTuple):
    """Parts, of which no two neighbours are texts of the same kind."""

    parts: list[Said | Thought | Call]
    tokens: tuple[int, int]

    @property
    def calls(self) -> list[Call]:
        return [part for part in self.parts if isinstance(part, Call)]


def _apart(parts: list[Said | Thought | Call]) -> list[Said | Thought | Call]:
    kept: list[Said | Thought | Call] = []
    for part in parts:
        if isinstance(part, Call) or not kept or type(kept[-1]) is not type(part):
            kept.append(part)
    return kept


PARTS: st.SearchStrategy[Said | Thought | Call] = st.one_of(
    st.builds(Said, TEXTS),
    st.builds(Thought, TEXTS),
    st.builds(Call, TEXTS, st.dictionaries(st.text(max_size=4), JSON_VALUES, max_size=3)),
)
ANSWERS = st.builds(
    Answer,
    st.lists(PARTS, min_size=1, max_size=6).map(_apart),
    st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)),
)


def pieces(text: str, random: Random) -> list[str]:
    """A text in up to four pieces, of which some are empty."""
    cuts = sorted(random.randrange(len(text) + 1) for _ in range(random.randrange(4)))
    return [text[i:j] for i, j in zip([0, *cuts], [*cuts, len(text)], strict=True)]


def interleaved(lists: list[list[Any]], random: Random) -> list[Any]:
    """Several lists as one, each in its own order."""
    rest = [list(reversed(each)) for each in lists if each]
    mixed: list[Any] = []
    while rest:
        chosen = random.choice(rest)
        mixed.append(chosen.pop())
        rest = [each for each in rest if each]
    return mixed


def runs(answer: Answer) -> list[list[tuple[int, Said | Thought | Call]]]:
    """Numbered parts, of which neighbouring calls stand together: those may overlap."""
    grouped: list[list[tuple[int, Said | Thought | Call]]] = []
    for number, part in enumerate(answer.parts):
        if isinstance(part, Call) and grouped and isinstance(grouped[-1][0][1], Call):
            grouped[-1].append((number, part))
        else:
            grouped.append([(number, part)])
    return grouped


def chat(answer: Answer, random: Random) -> list[Event]:
    def chunk(delta: dict[str, Any], reason: str | None = None) -> Event:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return event({"id": "c1", "model": "m1", "choices": [choice]})

    events = [chunk({"role": "assistant", "content": ""})]
    calls = 0
    for run in runs(answer):
        lists: list[list[Event]] = []
        for _, part in run:
            match part:
                case Said(text):
                    lists.append([chunk({"content": piece}) for piece in pieces(text, random)])
                case Thought(text):
                    name = random.choice(["reasoning_content", "reasoning"])
                    lists.append([chunk({name: piece}) for piece in pieces(text, random)])
                case Call(name, arguments):
                    body = {"name": name, "arguments": ""}
                    head = {
                        "index": calls,
                        "id": f"id{calls}",
                        "type": "function",
                        "function": body,
                    }
                    bodies = [{"arguments": piece} for piece in pieces(dump(arguments), random)]
                    entries = [head, *({"index": calls, "function": body} for body in bodies)]
                    lists.append([chunk({"tool_calls": [entry]}) for entry in entries])
                    calls += 1
        # They begin in order.
        events += [each[0] for each in lists]
        events += interleaved([each[1:] for each in lists], random)
    spent, made = answer.tokens
    usage = {"prompt_tokens": spent, "completion_tokens": made, "total_tokens": spent + made}
    events.append(chunk({}, "tool_calls" if calls else "stop"))
    events.append(event({"id": "c1", "model": "m1", "choices": [], "usage": usage}))
    return [*events, DONE]


def responses(answer: Answer, random: Random) -> list[Event]:
    def lifecycle(name: str, **fields: Any) -> dict[str, Any]:
        response = {"id": "c1", "model": "m1", "status": name, "output": [], **fields}
        return {"type": f"response.{name}", "response": response}

    payloads: list[dict[str, Any]] = [
        {"type": "response.created", "response": {"id": "c1", "model": "m1", "output": []}}
    ]
    output: list[dict[str, Any]] = []
    for run in runs(answer):
        lists: list[list[dict[str, Any]]] = []
        for number, part in run:
            made = _item(number, part, random)
            output.append(made[-1]["item"])
            lists.append(made)
        payloads += [each[0] for each in lists]
        payloads += interleaved([each[1:] for each in lists], random)
    spent, made_tokens = answer.tokens
    usage = {
        "input_tokens": spent,
        "output_tokens": made_tokens,
        "total_tokens": spent + made_tokens,
    }
    payloads.append(lifecycle("completed", output=output, usage=usage))
    return [
        event({"sequence_number": number, **payload}, payload["type"])
        for number, payload in enumerate(payloads)
    ]


def _item(number: int, part: Said | Thought | Call, random: Random) -> list[dict[str, Any]]:
    """The events of one item, of which the last one carries it whole."""
    place = {"item_id": f"i{number}", "output_index": number}
    item: dict[str, Any]
    match part:
        case Said(text):
            item = {"type": "message", "id": f"i{number}", "role": "assistant"}
            whole: dict[str, Any] = {"type": "output_text", "text": text, "annotations": []}
            done = {**item, "status": "completed", "content": [whole]}
            begin = {**item, "status": "in_progress", "content": []}
            name, of_part = "response.output_text", {"content_index": 0}
            added, ended = "response.content_part.added", "response.content_part.done"
        case Thought(text):
            item = {"type": "reasoning", "id": f"i{number}"}
            whole = {"type": "summary_text", "text": text}
            done, begin = {**item, "summary": [whole]}, {**item, "summary": []}
            name, of_part = "response.reasoning_summary_text", {"summary_index": 0}
            added = "response.reasoning_summary_part.added"
            ended = "response.reasoning_summary_part.done"
        case Call(name, arguments):
            text = dump(arguments)
            item = {"type": "function_call", "id": f"i{number}", "call_id": f"id{number}"}
            begin = {**item, "name": name, "arguments": "", "status": "in_progress"}
            done = {**item, "name": name, "arguments": text, "status": "completed"}
            name, of_part, added, ended, whole = (
                "response.function_call_arguments",
                {},
                "",
                "",
                {},
            )
    field = "arguments" if isinstance(part, Call) else "text"
    events: list[dict[str, Any]] = [
        {"type": "response.output_item.added", "output_index": number, "item": begin}
    ]
    if added:
        empty = {**whole, "text": ""}
        events.append({"type": added, **place, **of_part, "part": empty})
    events += [
        {"type": f"{name}.delta", **place, **of_part, "delta": piece}
        for piece in pieces(text, random)
    ]
    events.append({"type": f"{name}.done", **place, **of_part, field: text})
    if ended:
        events.append({"type": ended, **place, **of_part, "part": whole})
    events.append({"type": "response.output_item.done", "output_index": number, "item": done})
    return events


def messages(answer: Answer, random: Random) -> list[Event]:
    spent, made = answer.tokens
    start = {"id": "c1", "model": "m1", "role": "assistant", "content": []}
    usage = {"input_tokens": spent, "output_tokens": 1}
    payloads: list[dict[str, Any]] = [
        {"type": "message_start", "message": {**start, "usage": usage}},
        {"type": "ping"},
    ]
    for number, part in enumerate(answer.parts):
        block: dict[str, Any]
        deltas: list[dict[str, Any]]
        match part:
            case Said(text):
                block = {"type": "text", "text": ""}
                deltas = [{"type": "text_delta", "text": piece} for piece in pieces(text, random)]
            case Thought(text):
                block = {"type": "thinking", "thinking": "", "signature": ""}
                deltas = [
                    {"type": "thinking_delta", "thinking": piece} for piece in pieces(text, random)
                ]
                deltas.append({"type": "signature_delta", "signature": "c2ln"})
            case Call(name, arguments):
                block = {"type": "tool_use", "id": f"id{number}", "name": name, "input": {}}
                deltas = [
                    {"type": "input_json_delta", "partial_json": piece}
                    for piece in pieces(dump(arguments), random)
                ]
        payloads.append({"type": "content_block_start", "index": number, "content_block": block})
        payloads += [
            {"type": "content_block_delta", "index": number, "delta": delta} for delta in deltas
        ]
        payloads.append({"type": "content_block_stop", "index": number})
    reason = {"stop_reason": "tool_use" if answer.calls else "end_turn", "stop_sequence": None}
    payloads.append({"type": "message_delta", "delta": reason, "usage": {"output_tokens": made}})
    payloads.append({"type": "message_stop"})
    return [event(payload, payload["type"]) for payload in payloads]


def generate_content(answer: Answer, random: Random) -> list[Event]:
    spent, made = answer.tokens
    usage = {
        "promptTokenCount": spent,
        "candidatesTokenCount": made,
        "totalTokenCount": spent + made,
    }

    def chunk(parts: list[dict[str, Any]], **fields: Any) -> Event:
        candidate = {"content": {"role": "model", "parts": parts}, "index": 0, **fields}
        return event(
            {
                "candidates": [candidate],
                "usageMetadata": usage,
                "responseId": "c1",
                "modelVersion": "m1",
            }
        )

    events: list[Event] = []
    for part in answer.parts:
        match part:
            case Said(text):
                events += [chunk([{"text": piece}]) for piece in pieces(text, random)]
            case Thought(text):
                events += [
                    chunk([{"text": piece, "thought": True}]) for piece in pieces(text, random)
                ]
            case Call(name, arguments):
                events.append(chunk([{"functionCall": {"name": name, "args": arguments}}]))
    return [*events, chunk([{"text": ""}], finishReason="STOP")]


def dump(arguments: dict[str, Any]) -> str:
    return json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))


class Dialect(NamedTuple):
    assembler: type[Assembler]
    write: Callable[[Answer, Random], list[Event]]


DIALECTS = {
    "chat": Dialect(ChatCompletionsAssembler, chat),
    "responses": Dialect(ResponsesAssembler, responses),
    "messages": Dialect(MessagesAssembler, messages),
    "generate_content": Dialect(GenerateContentAssembler, generate_content),
}


def simplified(parts: tuple[object, ...]) -> list[Said | Thought | Call]:
    """The parts of a completion, as those of an answer. Each call must be complete."""
    simple: list[Said | Thought | Call] = []
    for part in parts:
        match part:
            case TextPart(text=text):
                simple.append(Said(text))
            case ReasoningPart(text=text):
                simple.append(Thought(text))
            case ToolCall():
                simple.append(Call(part.name, part.parse()))
            case _:
                raise AssertionError(part)
    return simple
