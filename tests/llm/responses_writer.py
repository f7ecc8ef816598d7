"""A writer of legal Responses streams, which the tests beside it read and break."""

from __future__ import annotations

from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

from sansio_sse.llm import (
    ReasoningDelta,
    ReasoningPart,
    RefusalDelta,
    RefusalPart,
    ResponsesAssembler,
    TextDelta,
    TextPart,
    ToolArgumentsDelta,
    ToolCall,
    ToolCallStarted,
)

from .streams import codes, event, failure, feed, run

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sansio_sse import Event
    from sansio_sse.llm import Completion, Update

Payload = dict[str, Any]

ABSENT: Any = object()
"""In `joined`, for a member that is to be left out."""

USAGE: Payload = {
    "input_tokens": 50,
    "input_tokens_details": {"cached_tokens": 16, "cache_write_tokens": 0},
    "output_tokens": 30,
    "output_tokens_details": {"reasoning_tokens": 12},
    "total_tokens": 80,
}


class Text(NamedTuple):
    """A part of an item: as announced, its events, and whole."""

    empty: Payload
    events: list[Payload]
    whole: Payload


class Item(NamedTuple):
    """An item: as announced, its events, and whole."""

    begin: Payload
    events: list[Payload]
    done: Payload


def _texts(stem: str, field: str, pieces: Iterable[str], **more: Any) -> list[Payload]:
    pieces = list(pieces)
    deltas = [{"type": f"{stem}.delta", "delta": piece, **more} for piece in pieces]
    return [*deltas, {"type": f"{stem}.done", field: "".join(pieces), **more}]


def text(*pieces: str, annotations: Iterable[Payload] = (), **more: Any) -> Text:
    whole = {"type": "output_text", "text": "".join(pieces), "annotations": list(annotations)}
    made = _texts("response.output_text", "text", pieces, logprobs=[], **more)
    noted = [
        {
            "type": "response.output_text.annotation.added",
            "annotation_index": number,
            "annotation": annotation,
        }
        for number, annotation in enumerate(whole["annotations"])
    ]
    return Text({**whole, "text": "", "annotations": []}, [*made[:-1], *noted, made[-1]], whole)


def refusal(*pieces: str) -> Text:
    whole = {"type": "refusal", "refusal": "".join(pieces)}
    return Text({**whole, "refusal": ""}, _texts("response.refusal", "refusal", pieces), whole)


def thought(*pieces: str) -> Text:
    """Reasoning as it is."""
    whole = {"type": "reasoning_text", "text": "".join(pieces)}
    return Text({**whole, "text": ""}, _texts("response.reasoning_text", "text", pieces), whole)


def summary(*pieces: str) -> Text:
    whole = {"type": "summary_text", "text": "".join(pieces)}
    made = _texts("response.reasoning_summary_text", "text", pieces)
    return Text({**whole, "text": ""}, made, whole)


def _parts(kind: str, index_name: str, texts: Iterable[Text]) -> list[Payload]:
    made: list[Payload] = []
    for index, part in enumerate(texts):
        place = {index_name: index}
        made.append({"type": f"{kind}.added", **place, "part": part.empty})
        made += [{**payload, **place} for payload in part.events]
        made.append({"type": f"{kind}.done", **place, "part": part.whole})
    return made


def message(id: str, *texts: Text, **more: Any) -> Item:
    item = {"id": id, "type": "message", "role": "assistant", **more}
    return Item(
        {**item, "status": "in_progress", "content": []},
        _parts("response.content_part", "content_index", texts),
        {**item, "status": "completed", "content": [part.whole for part in texts]},
    )


def reasoning(id: str, *texts: Text, **more: Any) -> Item:
    """Summaries, then reasoning as it is; no status, as OpenAI sends it."""
    summaries = [part for part in texts if part.whole["type"] == "summary_text"]
    contents = [part for part in texts if part.whole["type"] != "summary_text"]
    item: Payload = {"id": id, "type": "reasoning"}
    done = {**item, "summary": [part.whole for part in summaries], **more}
    if contents:
        done["content"] = [part.whole for part in contents]
    return Item(
        {**item, "summary": []},
        [
            *_parts("response.reasoning_summary_part", "summary_index", summaries),
            *_parts("response.content_part", "content_index", contents),
        ],
        done,
    )


def _carrier(type: str, stem: str, field: str, pieces: Iterable[str], item: Payload) -> Item:
    pieces = list(pieces)
    begin = {**item, "type": type, field: "", "status": "in_progress"}
    done = {**begin, field: "".join(pieces), "status": "completed"}
    return Item(begin, _texts(f"response.{stem}", field, pieces, obfuscation="x7"), done)


def function(id: str, name: str, *pieces: str) -> Item:
    item = {"id": id, "call_id": f"call_{id}", "name": name}
    return _carrier("function_call", "function_call_arguments", "arguments", pieces, item)


def custom(id: str, name: str, *pieces: str) -> Item:
    item = {"id": id, "call_id": f"call_{id}", "name": name}
    return _carrier("custom_tool_call", "custom_tool_call_input", "input", pieces, item)


def mcp(id: str, *pieces: str) -> Item:
    item = {"id": id, "name": "list", "server_label": "files"}
    made = _carrier("mcp_call", "mcp_call_arguments", "arguments", pieces, item)
    return Item(
        made.begin,
        [
            {"type": "response.mcp_call.in_progress"},
            *made.events,
            {"type": "response.mcp_call.completed"},
        ],
        {**made.done, "output": "3 files"},
    )


def code(id: str, *pieces: str) -> Item:
    stem = "response.code_interpreter_call"
    made = _carrier(
        "code_interpreter_call",
        "code_interpreter_call_code",
        "code",
        pieces,
        {"id": id, "container_id": "cntr_1", "outputs": []},
    )
    return Item(
        made.begin,
        [
            {"type": f"{stem}.in_progress"},
            *made.events,
            {"type": f"{stem}.interpreting"},
            {"type": f"{stem}.completed"},
        ],
        made.done,
    )


def built_in(id: str, type: str, *events: Payload, **more: Any) -> Item:
    item = {"id": id, "type": type}
    return Item(
        {**item, "status": "in_progress"}, list(events), {**item, "status": "completed", **more}
    )


def placed(item: Item, index: int) -> list[Payload]:
    """All events of an item."""
    place = {"output_index": index, "item_id": item.begin.get("id", "")}
    return [
        {"type": "response.output_item.added", "output_index": index, "item": item.begin},
        *({**payload, **place} for payload in item.events),
        {"type": "response.output_item.done", "output_index": index, "item": item.done},
    ]


def lifecycle(name: str, output: Iterable[Payload] = (), **more: Any) -> Payload:
    status = "in_progress" if name == "created" else name
    response = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1790000000,
        "status": status,
        "model": "m1",
        "output": list(output),
        "error": None,
        "incomplete_details": None,
        "usage": None if status in ("in_progress", "queued") else USAGE,
    }
    return {"type": f"response.{name}", "response": joined(response, more)}


def around(payloads: Iterable[Payload], *terminal: Payload) -> list[Payload]:
    return [lifecycle("created"), lifecycle("in_progress"), *payloads, *terminal]


def whole(*items: Item) -> Payload:
    """The terminal event of a response of these items."""
    return lifecycle("completed", [item.done for item in items])


def stream(*items: Item) -> list[Payload]:
    """A complete response, one item after another."""
    listed = [placed(item, index) for index, item in enumerate(items)]
    return around(chain.from_iterable(listed), whole(*items))


def overlapping(*items: Item) -> list[Payload]:
    """A complete response whose items go on side by side."""
    listed = [placed(item, index) for index, item in enumerate(items)]
    rows = [payload for row in zip_longest(*listed) for payload in row if payload is not None]
    return around(rows, whole(*items))


def joined(value: Payload, changes: Payload) -> Payload:
    """An object with other members; objects in it are changed member by member."""
    made = dict(value)
    for name, new in changes.items():
        old = value.get(name)
        made[name] = joined(old, new) if isinstance(old, dict) and isinstance(new, dict) else new
    return {name: member for name, member in made.items() if member is not ABSENT}


def edited(
    payloads: list[Payload], type: str, changes: Payload, nth: int | None = None
) -> list[Payload]:
    """The stream with other events of a type: all of them, or one."""
    places = [place for place, payload in enumerate(payloads) if payload["type"] == type]
    chosen = places if nth is None else [places[nth]]
    assert chosen
    return [
        joined(payload, changes) if place in chosen else payload
        for place, payload in enumerate(payloads)
    ]


def everywhere(payloads: list[Payload], changes: Payload) -> list[Payload]:
    """The stream with other members in all events that have them."""
    return [
        joined(payload, {name: new for name, new in changes.items() if name in payload})
        for payload in payloads
    ]


def without(payloads: list[Payload], *types: str) -> list[Payload]:
    assert set(types) <= {payload["type"] for payload in payloads}
    return [payload for payload in payloads if payload["type"] not in types]


def number(payloads: list[Payload], type: str, nth: int = 0) -> int:
    """The number of an event, from 1."""
    return [place for place, payload in enumerate(payloads, 1) if payload["type"] == type][nth]


def inserted(payloads: list[Payload], place: int, *more: Payload) -> list[Payload]:
    """The stream with further events before the one of that number, counted from 1."""
    return [*payloads[: place - 1], *more, *payloads[place - 1 :]]


def events(payloads: Iterable[Payload]) -> list[Event]:
    """Events with sequence numbers, except where a payload has one of its own, or an absent one."""
    return [
        event(joined({"sequence_number": place}, payload), payload["type"])
        for place, payload in enumerate(payloads)
    ]


def tolerate(payloads: Iterable[Payload], **options: Any) -> Completion:
    return run(ResponsesAssembler(**options), events(payloads))


def refuse(payloads: Iterable[Payload], **options: Any) -> tuple[str, int | None]:
    """The code of what a strict assembler raises, and the number of the event."""
    error = failure(ResponsesAssembler(strict=True, **options), events(payloads))
    return error.code, error.event


def text_of(
    updates: Iterable[Update], kind: type[TextDelta | ReasoningDelta | RefusalDelta]
) -> str:
    return "".join(update.text for update in updates if isinstance(update, kind))


def arguments_of(updates: Iterable[Update], index: int) -> str:
    return "".join(
        update.text
        for update in updates
        if isinstance(update, ToolArgumentsDelta) and update.index == index
    )


def assert_calls_as_announced(updates: list[Update], completion: Completion) -> None:
    """Each call was announced once, in order, at its place, before its arguments."""
    started = [update for update in updates if isinstance(update, ToolCallStarted)]
    assert sorted(update.index for update in started) == list(range(len(completion.tool_calls)))
    for update in started:
        call = completion.tool_calls[update.index]
        assert call.index == update.index
        assert (call.id, call.name, call.kind) == (update.id, update.name, update.kind)
        assert completion.choices[0].parts[update.part] is call
        first = next(
            (
                other
                for other in updates
                if isinstance(other, ToolArgumentsDelta) and other.index == update.index
            ),
            None,
        )
        assert first is None or updates.index(update) < updates.index(first)


def parts_of(items: Iterable[Item]) -> list[object]:
    """The parts of an answer made of these items, one after another; calls as tuples."""
    parts: list[object] = []
    for item in items:
        done = item.done
        match done["type"]:
            case "function_call":
                parts.append(("function", done["call_id"], done["name"], done["arguments"]))
            case "custom_tool_call":
                parts.append(("custom", done["call_id"], done["name"], done["input"]))
        for part in (*done.get("summary", ()), *done.get("content", ())):
            match part["type"]:
                case "output_text":
                    parts.append(TextPart(part["text"]))
                case "refusal":
                    parts.append(RefusalPart(part["refusal"]))
                case kind:
                    parts.append(ReasoningPart(part["text"], summary=kind == "summary_text"))
    return parts


def simple(completion: Completion) -> list[object]:
    """The parts of a completion as `parts_of` has them. Each call must be complete."""
    parts: list[object] = []
    for part in completion.choices[0].parts:
        if isinstance(part, ToolCall):
            assert part.complete
            parts.append((part.kind, part.id, part.name, part.arguments))
        else:
            parts.append(part)
    return parts


def assert_read(payloads: list[Payload], *items: Item, found: list[str]) -> None:
    """The stream is read as these items, with these codes in findings and what was announced."""
    assembler = ResponsesAssembler()
    updates = feed(assembler, events(payloads))
    completion = assembler.finish()
    assert codes(completion) == found
    assert completion.complete
    assert simple(completion) == parts_of(items)
    assert completion.message == [item.done for item in items]
    assert_calls_as_announced(updates, completion)


CITED = {"type": "url_citation", "url": "https://x.example", "title": "x"}
THINKS = reasoning("rs_0", summary("Com", "pare"), summary("Then"), encrypted_content="RU5D")
THINKS_ALOUD = reasoning("rs_1", thought("2", "+2"))
SAYS = message("msg_0", text("Hel", "lo 🚀"), phase="commentary")
CITES = message("msg_1", text("See ", "x", annotations=[CITED, CITED]), text("also y"))
REFUSES = message("msg_2", text("Well,"), refusal("I can", "not."))
GETS = function("fc_0", "get", '{"k":', '"é"', "}")
PUTS = function("fc_1", "put", '{"k":1}')
RESETS = function("fc_2", "reset")
EXECUTES = custom("ct_0", "exec", "ls ", "-l")
LISTS = mcp("mcp_0", '{"path":', '"/"}')
COMPUTES = code("ci_0", "1 +", " 1")
SEARCHES = built_in(
    "ws_0",
    "web_search_call",
    *({"type": f"response.web_search_call.{name}"} for name in ("in_progress", "searching")),
    {"type": "response.web_search_call.completed"},
    action={"type": "search", "query": "x"},
)
