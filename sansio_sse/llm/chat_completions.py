"""Chat Completions of OpenAI, and of all servers that claim to be compatible."""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from .._checks import check_bool
from ._assembler import Assembler
from ._chat_answer import ChatAnswer, ChatOptions
from ._completion import Usage
from ._errors import IncompleteStream
from ._json import as_digits, as_int, as_object, as_objects, as_text, is_list
from ._limits import Limits
from ._merge import keep
from ._updates import UsageUpdate
from ._usage import first_number, number

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from .._events import Event

__all__ = ["ChatCompletionsAssembler"]

_DEFAULT_LIMITS: Final = Limits()

# Obfuscation is padding against eavesdroppers who measure lengths.
_CHUNK_FIELDS = frozenset(
    {"id", "model", "object", "choices", "usage", "created", "error", "obfuscation"}
)


# A chunk with one of these may lack its choices.
_NEED_NO_CHOICES = frozenset({"error", "moderation"})


class ChatCompletionsAssembler(Assembler):
    """Makes a `Completion` of a stream of Chat Completions.

    The stream ends with `[DONE]`, or without: an answer is whole if it has a finish reason. See
    `Assembler` for the arguments that all dialects have.

    Args:
        strict: See `Assembler`.
        limits: See `Assembler`.
        loads: See `Assembler`.
        validate: See `Assembler`.
        known_tools: See `Assembler`.
        seen_call_ids: See `Assembler`.
        require_done: Raise `IncompleteStream` if the stream ends without `[DONE]`.
        require_contiguous_indexes: Raise `InvalidPayload` if the indexes of calls don't count up
            from 0: a sign that one got lost, with a server that does count so.
        name_fragments: Join names of tools that come in pieces. By default a call whose name
            changes is not to be run, for most servers that send a name again send all of it.
        cumulative: Each text repeats what came before it (DashScope without
            `incremental_output`). By default it is only added, for a model may repeat itself.

    Source: the API reference of OpenAI, "The chat completion chunk object".
    """

    _LATE = "event_after_done"
    _ENDINGS = MappingProxyType(
        {
            "stop": "stop",
            "tool_calls": "tool_calls",
            "function_call": "tool_calls",
            "length": "length",
            "content_filter": "content_filter",
            # What servers say that only claim to be compatible.
            "STOP": "stop",
            "end_turn": "stop",
            "eos": "stop",
            "stop_sequence": "stop",
            "tool_use": "tool_calls",
            "max_tokens": "length",
            "model_length": "length",
            "error": "error",
            "insufficient_system_resource": "error",
        }
    )
    _DOCUMENTED_REASONS = frozenset(
        {"stop", "length", "tool_calls", "content_filter", "function_call"}
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
        require_done: bool = False,
        require_contiguous_indexes: bool = False,
        name_fragments: bool = False,
        cumulative: bool = False,
    ) -> None:
        super().__init__(
            strict=strict,
            limits=limits,
            loads=loads,
            validate=validate,
            known_tools=known_tools,
            seen_call_ids=seen_call_ids,
        )
        self._require_done = check_bool("require_done", require_done)
        self._options = ChatOptions(
            contiguous=check_bool("require_contiguous_indexes", require_contiguous_indexes),
            name_fragments=check_bool("name_fragments", name_fragments),
            cumulative=check_bool("cumulative", cumulative),
        )

    def _begin(self) -> None:
        self._answers: dict[int, ChatAnswer] = {}

    def _read(self, payload: dict[str, Any], event: Event) -> None:
        self._read_head(payload)
        choices = payload.get("choices")
        if not is_list(choices) and _NEED_NO_CHOICES.isdisjoint(payload):
            self._journal.depart("choices_missing", f"choices are {str(choices)[:80]}")
        for position, choice in enumerate(self._journal.read_objects(payload, "choices")):
            index = self._choice_index(choice, position)
            answer = self._answers.get(index)
            if answer is None:
                draft = self._choice(index)
                answer = self._answers[index] = ChatAnswer(draft, self._journal, self._options)
            answer.take(choice, event.data)
        # The chunk's own usage, else that of a choice (Moonshot), else that of Groq.
        holders = [payload, *as_objects(choices), as_object(payload.get("x_groq"))]
        usages = (as_object(holder.get("usage")) for holder in holders)
        if usage := next(filter(None, usages), None):
            self._read_usage(usage)

    def _read_head(self, payload: dict[str, Any]) -> None:
        new_id, model = as_text(payload.get("id")), as_text(payload.get("model"))
        if new_id and self._id and new_id != self._id:
            self._journal.note("id_changed", f"the id was {self._id[:80]!r}, now {new_id[:80]!r}")
        self._id = self._id or new_id
        self._model = self._model or model
        keep(self._extra, payload, _CHUNK_FIELDS)
        if payload.get("created"):
            self._extra.setdefault("created", payload["created"])

    def _choice_index(self, choice: dict[str, Any], position: int) -> int:
        value = choice.get("index")
        index = as_int(value)
        if index is not None and index >= 0:
            return index
        message = f"a choice has the index {str(value)[:80]!r}"
        self._journal.depart("choice_index_invalid", message)
        digits = as_digits(value)
        return position if digits is None else digits

    def _read_usage(self, usage: dict[str, Any]) -> None:
        before = self._normalised_usage().total
        changed = usage != self._usage
        self._usage = usage
        now = self._normalised_usage()
        if now.total < before:
            self._journal.note("usage_decreased", f"total usage was {before}, now {now.total}")
        if changed:
            self._journal.updates.append(UsageUpdate(now))

    def _normalised_usage(self) -> Usage:
        raw = self._usage
        details = as_object(raw.get("prompt_tokens_details"))
        spent = first_number(raw, "prompt_tokens", "input_tokens")
        made = first_number(raw, "completion_tokens", "output_tokens")
        return Usage(
            input=spent,
            output=made,
            total=number(raw.get("total_tokens")) or spent + made,
            cached=number(details.get("cached_tokens"))
            or first_number(raw, "prompt_cache_hit_tokens", "cached_tokens"),
            reasoning=number(
                as_object(raw.get("completion_tokens_details")).get("reasoning_tokens")
            ),
            raw=raw,
        )

    def _check_end(self) -> None:
        super()._check_end()
        if self._require_done and not self._done:
            raise IncompleteStream("the stream ended without [DONE]", "missing_done")
        for index, draft in sorted(self._choices.items()):
            if draft.finish_reason not in self._DOCUMENTED_REASONS:
                message = f"choice {index} ended with {draft.finish_reason!r}"
                self._journal.depart("finish_reason_unknown", message)

    def _messages(self) -> dict[int, Any]:
        return {index: answer.message() for index, answer in self._answers.items()}
