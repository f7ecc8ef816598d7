"""The Responses API of OpenAI, and of servers that claim to be compatible."""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from .._checks import check_bool
from ._assembler import Assembler
from ._completion import Usage
from ._errors import IncompleteStream
from ._json import as_int, as_list, as_object, as_objects, as_text
from ._limits import Limits
from ._merge import merge, merge_audio, merge_logprobs
from ._provider import read_error
from ._response_items import TEXTS, ItemDraft, TextEvent, call_meaning, meaning
from ._updates import UsageUpdate
from ._usage import first_number, number

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from .._events import Event

__all__ = ["ResponsesAssembler"]

_DEFAULT_LIMITS: Final = Limits()

_TERMINALS = frozenset({"response.completed", "response.incomplete", "response.failed"})
_LIFECYCLE = _TERMINALS | {"response.created", "response.in_progress", "response.queued"}

# Not documented, and sent all the same; they have a sequence number.
_KEEPALIVES = frozenset({"keepalive", "response.keep_alive", "ping"})

# What the item carries whole when it is done, or what only says that something goes on.
_PASSED_BY = frozenset(
    {
        "error",
        "response.audio.done",
        "response.audio.transcript.done",
        "response.code_interpreter_call.completed",
        "response.code_interpreter_call.in_progress",
        "response.code_interpreter_call.interpreting",
        "response.compaction.compacting",
        "response.file_search_call.completed",
        "response.file_search_call.in_progress",
        "response.file_search_call.searching",
        "response.image_generation_call.completed",
        "response.image_generation_call.generating",
        "response.image_generation_call.in_progress",
        "response.image_generation_call.partial_image",
        "response.mcp_call.completed",
        "response.mcp_call.failed",
        "response.mcp_call.in_progress",
        "response.mcp_list_tools.completed",
        "response.mcp_list_tools.failed",
        "response.mcp_list_tools.in_progress",
        "response.shell_call_command.added",
        "response.shell_call_command.delta",
        "response.shell_call_command.done",
        "response.shell_call_output_content.delta",
        "response.shell_call_output_content.done",
        "response.web_search_call.completed",
        "response.web_search_call.in_progress",
        "response.web_search_call.searching",
    }
)


class ResponsesAssembler(Assembler):
    """Makes a `Completion` of a stream of the Responses API.

    It has one choice, whose `message` is the list of output items for the `input` of the next
    request, by output index. Items of built-in tools are kept whole in it; `tool_calls` are the
    calls of your own tools, function and custom. The finish reason is "completed", or the reason
    of an incomplete response. The final response is in `extra["response"]`, as it was sent. See
    `Assembler` for the arguments that all dialects have.

    Args:
        strict: See `Assembler`.
        limits: See `Assembler`.
        loads: See `Assembler`.
        validate: See `Assembler`.
        known_tools: See `Assembler`.
        seen_call_ids: See `Assembler`.
        resume: Events may come again, as after a reconnection with `starting_after`: those whose
            sequence number is not above the last one are left out.

    Source: the API reference of OpenAI, "Streaming events".
    """

    _REASONS_TELL_CALLS = False
    _ENDINGS = MappingProxyType(
        {
            "completed": "stop",
            "max_output_tokens": "length",
            "content_filter": "content_filter",
            "failed": "error",
            "cancelled": "error",
        }
    )

    def __init__(
        self,
        *,
        strict: bool = False,
        limits: Limits = _DEFAULT_LIMITS,
        loads: Callable[[str], Any] = json.loads,
        validate: Callable[[str, Any], object] | None = None,
        known_tools: Collection[str] | None = None,
        seen_call_ids: Collection[str] = (),
        resume: bool = False,
    ) -> None:
        super().__init__(
            strict=strict,
            limits=limits,
            loads=loads,
            validate=validate,
            known_tools=known_tools,
            seen_call_ids=seen_call_ids,
        )
        self._resume = check_bool("resume", resume)

    def _begin(self) -> None:
        self._sequence: int | None = None
        self._created = False
        # All items as they came, and the newest of each output index.
        self._items: list[ItemDraft] = []
        self._by_index: dict[int, ItemDraft] = {}
        self._by_id: dict[str, ItemDraft] = {}
        # Those that are not done, by their place among all.
        self._opened: dict[int, ItemDraft] = {}

    def _read(self, payload: dict[str, Any], event: Event) -> None:
        kind = as_text(payload.get("type")) or event.type
        if kind in _KEEPALIVES and "sequence_number" not in payload:
            return
        if not self._in_sequence(payload) or kind in _KEEPALIVES:
            return
        if not self._created:
            self._created = True
            self._choice(0)
            if kind != "response.created":
                self._journal.depart("created_missing", f"the stream begins with {kind[:80]!r}")
        name, _, end = kind.rpartition(".")
        if kind in _LIFECYCLE:
            self._read_response(kind, self._journal.read_object(payload, "response"))
        elif name in TEXTS and end == "delta":
            self._read_delta(TEXTS[name], payload)
        elif name in TEXTS and end == "done":
            what = TEXTS[name]
            item = self._item_of(payload, what)
            text = self._journal.read_text(payload, what.field)
            item.settle(what, self._part_index(payload, what), text)
        else:
            self._read_other(kind, payload)

    def _in_sequence(self, payload: dict[str, Any]) -> bool:
        """Return whether an event is to be read: with `resume` one that came before is not."""
        number = as_int(payload.get("sequence_number"))
        last, journal = self._sequence, self._journal
        if number is None:
            journal.depart("sequence_missing", "an event has no sequence number")
            return True
        if self._resume and last is not None and number <= last:
            return False
        # Of a stream that is resumed, the first one may be any.
        if number != (0 if last is None else last + 1) and not (self._resume and last is None):
            message = f"sequence number {number} comes behind {last}"
            journal.depart("sequence_broken", message)
        self._sequence = number
        return True

    def _read_delta(self, what: TextEvent, payload: dict[str, Any]) -> None:
        item = self._item_of(payload, what)
        item.add(what, self._part_index(payload, what), self._journal.read_text(payload, "delta"))
        if logprobs := as_list(payload.get("logprobs")):
            merge_logprobs(self._choice(0).extra, {"content": logprobs})

    def _read_other(self, kind: str, payload: dict[str, Any]) -> None:
        part = self._journal.read_object(payload, "part")
        match kind:
            case "response.output_item.added":
                self._announce(payload)
            case "response.output_item.done":
                self._settle_item(payload)
            case "response.content_part.added" | "response.reasoning_summary_part.added":
                what = _of_part(kind, part)
                item = self._item_of(payload, what)
                item.announce_part(what.index_name, self._part_index(payload, what), part)
            case "response.content_part.done" | "response.reasoning_summary_part.done":
                what = _of_part(kind, part)
                item = self._item_of(payload, what)
                item.settle_part(what.index_name, self._part_index(payload, what), part)
            case "response.output_text.annotation.added":
                what = TEXTS["response.output_text"]
                annotation = payload.get("annotation")
                item = self._item_of(payload, what)
                item.annotate(self._part_index(payload, what), annotation)
                merge(self._choice(0).extra, {"annotations": [annotation]})
            case "response.audio.delta":
                merge_audio(self._choice(0).extra, {"data": payload.get("delta")})
            case "response.audio.transcript.delta":
                merge_audio(self._choice(0).extra, {"transcript": payload.get("delta")})
            case _:
                if kind not in _PASSED_BY:
                    self._journal.note("unknown_event", f"an event of type {kind[:80]!r}")

    def _index_of(self, payload: dict[str, Any]) -> int | None:
        value = payload.get("output_index")
        if value is None:
            self._journal.depart("output_index_missing", "an event has no output_index")
            return None
        index = as_int(value)
        if index is None or index < 0:
            message = f"an event has the output_index {str(value)[:80]!r}"
            self._journal.depart("output_index_invalid", message)
            return None
        return index

    def _item_of(self, payload: dict[str, Any], what: TextEvent) -> ItemDraft:
        """Return the item that an event is about: by its output index, whatever its id is.

        Without one, by its id, else the only item that is open; without any, a new one.
        """
        index = self._index_of(payload)
        item_id = as_text(payload.get("item_id"))
        item = self._find(index, item_id)
        if item is None:
            message = f"item {index} was not announced"
            self._journal.depart("item_not_announced", message)
            made: dict[str, Any] = {"type": what.item_type}
            if item_id:
                made["id"] = item_id
            if what.item_type == "message":
                made.update(role="assistant", status="in_progress", content=[])
            elif what.item_type == "reasoning":
                made.update(summary=[])
            return self._open(index, made, announced=False)
        if item_id and item.id and item_id != item.id:
            message = f"item {item.index} was {item.id[:80]!r}, now {item_id[:80]!r}"
            self._journal.depart("item_id_mismatch", message)
        return item

    def _part_index(self, payload: dict[str, Any], what: TextEvent) -> int:
        if not what.index_name:
            return 0
        index = as_int(payload.get(what.index_name))
        if index is None:
            self._journal.depart("output_index_missing", f"an event has no {what.index_name}")
        return index or 0

    def _find(self, index: int | None, item_id: str) -> ItemDraft | None:
        named = self._by_id.get(item_id)
        if index is not None:
            # Of two items of one index the id tells which one; else ids are known that change.
            return named if named and named.index == index else self._by_index.get(index)
        if named is None and len(self._opened) == 1:
            return next(iter(self._opened.values()))
        return named

    def _open(
        self, index: int | None, item: dict[str, Any], *, announced: bool = True
    ) -> ItemDraft:
        if index is None:
            index = max(self._by_index, default=-1) + 1
        draft = ItemDraft(index, item, self._choice(0), self._journal, announced=announced)
        self._opened[len(self._items)] = draft
        self._items.append(draft)
        self._by_index[index] = draft
        if draft.id:
            self._by_id.setdefault(draft.id, draft)
        return draft

    def _announce(self, payload: dict[str, Any]) -> None:
        index = self._index_of(payload)
        item = self._journal.read_object(payload, "item")
        before = None if index is None else self._by_index.get(index)
        if before is not None and not before.announced and before.type == item.get("type"):
            # Its deltas came first.
            before.announce(item)
            return
        if before is not None:
            message = f"output_index {index} is that of two items"
            self._journal.depart("output_index_reused", message)
            if before.id and before.id == item.get("id"):
                # The same item, announced again.
                return
        self._open(index, item)

    def _settle_item(self, payload: dict[str, Any]) -> None:
        item = self._journal.read_object(payload, "item")
        index = self._index_of(payload)
        item_id = as_text(item.get("id"))
        draft = self._find(index, item_id)
        if draft is None:
            self._journal.depart("item_not_announced", f"item {index} was not announced")
            draft = self._open(index, item)
        elif item_id and draft.id and item_id != draft.id:
            message = f"item {draft.index} was {draft.id[:80]!r}, now {item_id[:80]!r}"
            self._journal.depart("item_id_mismatch", message)
        draft.settle_item(item)
        self._opened = {place: item for place, item in self._opened.items() if not item.done}

    def _read_response(self, kind: str, response: dict[str, Any]) -> None:
        self._id = as_text(response.get("id")) or self._id
        self._model = as_text(response.get("model")) or self._model
        if usage := as_object(response.get("usage")):
            self._usage = usage
            self._journal.updates.append(UsageUpdate(self._normalised_usage()))
        if kind not in _TERMINALS:
            return
        self._extra["response"] = response
        # The worse of what the event says and what the response does.
        status = kind.removeprefix("response.")
        stated = as_text(response.get("status"))
        if status == "completed" or stated in ("failed", "cancelled"):
            status = stated or status
        details = as_object(response.get("incomplete_details"))
        reason = as_text(details.get("reason")) if status == "incomplete" else ""
        self._check_output(response, whole=status == "completed")
        final = dict(enumerate(as_objects(response.get("output"))))
        for item in self._items:
            item.finish(final.get(item.index), whole=status == "completed")
        self._choice(0).finish(reason or status)
        self._end()
        if status in ("failed", "cancelled") and kind != "response.failed":
            raise read_error(response.get("error") or f"the response is {status}", code="failed")

    def _check_output(self, response: dict[str, Any], *, whole: bool) -> None:
        """Compare the final output with the items that were streamed.

        The streamed ones count: final outputs are known that lack items, or have other ids or
        another order. A call that the final output has with other arguments is never run.
        """
        final, journal = self._journal.read_objects(response, "output"), self._journal
        if final and not self._items:
            journal.depart("completed_output_mismatch", "the items came in the final output alone")
            for index, item in enumerate(final):
                self._open(index, item).settle_item(item)
            return
        if response.get("output") is None:
            journal.note("completed_output_mismatch", "the final output is null")
            return
        streamed = {index: meaning(item.final()) for index, item in self._by_index.items()}
        if streamed == dict(enumerate(map(meaning, final))):
            return
        message = (
            f"{len(final)} items in the final output, {len(streamed)} streamed, or they differ"
        )
        if whole:
            finding = journal.depart("completed_output_mismatch", message)
        else:
            finding = journal.note("completed_output_mismatch", message)
        ids = {draft.call.id for draft in self._items if draft.call}
        for draft in self._items:
            if draft.call is None:
                continue
            # In its place, unless that is another call which only moved; and wherever its id is.
            versions = [item for item in final if item.get("call_id") == draft.call.id]
            here = final[draft.index : draft.index + 1]
            versions += [item for item in here if as_text(item.get("call_id")) not in {"", *ids}]
            mine = call_meaning(draft.final())
            if any(call_meaning(item) != mine for item in versions):
                draft.call.spoil(finding)

    def _normalised_usage(self) -> Usage:
        raw = self._usage
        spent = first_number(raw, "input_tokens", "prompt_tokens")
        made = first_number(raw, "output_tokens", "completion_tokens")
        return Usage(
            input=spent,
            output=made,
            total=number(raw.get("total_tokens")) or spent + made,
            cached=number(as_object(raw.get("input_tokens_details")).get("cached_tokens")),
            reasoning=number(as_object(raw.get("output_tokens_details")).get("reasoning_tokens")),
            raw=raw,
        )

    def _check_end(self) -> None:
        if not self._ended():
            raise IncompleteStream(
                "the stream ended without response.completed or its kin", "missing_terminal"
            )
        reason = self._choices[0].finish_reason
        if reason != "completed" and self._journal.strict:
            raise IncompleteStream(f"the response is incomplete: {reason}", "incomplete")

    def _messages(self) -> dict[int, Any]:
        # Sorting is stable: of two items with one index the first one stays first.
        items = sorted(self._items, key=lambda item: item.index)
        # A call that was never named can be part of no request.
        return {0: [item.final() for item in items if item.call is None or item.call.name]}


def _of_part(kind: str, part: dict[str, Any]) -> TextEvent:
    """Return which text the part has that an event is about."""
    if kind.startswith("response.reasoning_summary_part."):
        return TEXTS["response.reasoning_summary_text"]
    reasoning = part.get("type") == "reasoning_text"
    return TEXTS["response.reasoning_text" if reasoning else "response.output_text"]
