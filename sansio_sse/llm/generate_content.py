"""The Gemini API of Google, and Vertex AI: `streamGenerateContent` with `alt=sse`."""

from __future__ import annotations

from itertools import count
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ._assembler import Assembler
from ._completion import Usage
from ._drafts import Kind, TextDraft
from ._errors import InvalidToolCall, ProviderError
from ._json import as_int, as_object, as_text, dump
from ._merge import keep
from ._partial_args import PartialArguments
from ._updates import UsageUpdate
from ._usage import number

if TYPE_CHECKING:
    from .._events import Event
    from ._completion import Finding
    from ._drafts import CallDraft, ChoiceDraft
    from ._journal import Journal

__all__ = ["GenerateContentAssembler"]

_RESPONSE_FIELDS = frozenset({"candidates", "usageMetadata", "modelVersion", "responseId", "error"})
_CANDIDATE_FIELDS = frozenset({"index", "content", "finishReason"})

# The model meant to call a tool, and no call came of it.
_FAILED_CALLS = frozenset(
    {
        "MALFORMED_FUNCTION_CALL",
        "UNEXPECTED_TOOL_CALL",
        "TOO_MANY_TOOL_CALLS",
        "MISSING_THOUGHT_SIGNATURE",
        "MALFORMED_RESPONSE",
    }
)


class GenerateContentAssembler(Assembler):
    """Makes a `Completion` of a stream of generateContent.

    Each choice is a candidate; its `message` is the content object for the `contents` of the next
    request, with every thought signature on the part that it came with. Calls have no ids there
    unless the server sent them: those of `tool_calls` are made up. The stream has no end of its
    own: an answer is whole if it has a finish reason. Arguments that come value by value are shown
    when they are whole. See `Assembler` for the arguments.

    Source: the API references of Gemini and Vertex AI, "GenerateContentResponse".
    """

    _REASONS_TELL_CALLS = False
    _ENDINGS = MappingProxyType(
        {
            "STOP": "stop",
            "MAX_TOKENS": "length",
            "SAFETY": "content_filter",
            "RECITATION": "content_filter",
            "BLOCKLIST": "content_filter",
            "PROHIBITED_CONTENT": "content_filter",
            "SPII": "content_filter",
            "IMAGE_SAFETY": "content_filter",
            **dict.fromkeys(_FAILED_CALLS, "error"),
        }
    )

    def _begin(self) -> None:
        self._candidates: dict[int, _Candidate] = {}
        self._blocked = ""

    def _read(self, payload: dict[str, Any], event: Event) -> None:
        self._id = self._id or as_text(payload.get("responseId"))
        self._model = self._model or as_text(payload.get("modelVersion"))
        keep(self._extra, payload, _RESPONSE_FIELDS)
        seen: set[int] = set()
        for position, fields in enumerate(self._journal.read_objects(payload, "candidates")):
            index = self._index_of(fields, position, seen)
            seen.add(index)
            candidate = self._candidates.get(index)
            if candidate is None:
                draft = self._choice(index)
                candidate = self._candidates[index] = _Candidate(draft, self._journal)
            candidate.take(fields, event.data)
        usage = as_object(payload.get("usageMetadata"))
        new = {**self._usage, **{name: item for name, item in usage.items() if item is not None}}
        if new != self._usage:
            self._usage = new
            self._journal.updates.append(UsageUpdate(self._normalised_usage()))
        blocked = as_text(as_object(payload.get("promptFeedback")).get("blockReason"))
        if blocked and not self._choices:
            self._blocked = blocked
            self._journal.depart(
                "prompt_blocked", f"the prompt was blocked: {blocked[:80]}", ProviderError
            )

    def _index_of(self, candidate: dict[str, Any], position: int, seen: set[int]) -> int:
        value = candidate.get("index")
        # Left out where it is 0.
        index = 0 if value is None else as_int(value)
        if index is not None and index >= 0 and index not in seen:
            return index
        message = f"a candidate has the index {str(value)[:80]!r}"
        self._journal.depart("candidate_index_invalid", message)
        return next(free for free in count(position) if free not in seen)

    def _normalised_usage(self) -> Usage:
        raw = self._usage
        thoughts = number(raw.get("thoughtsTokenCount"))
        spent = number(raw.get("promptTokenCount")) + number(raw.get("toolUsePromptTokenCount"))
        made = number(raw.get("candidatesTokenCount")) + thoughts
        return Usage(
            input=spent,
            output=made,
            total=number(raw.get("totalTokenCount")) or spent + made,
            cached=number(raw.get("cachedContentTokenCount")),
            reasoning=thoughts,
            raw=raw,
        )

    def _check_end(self) -> None:
        if self._blocked and not self._choices:
            # There is no answer, and the provider said why.
            self._choice(0).finish(self._blocked)
            return
        super()._check_end()
        for index, candidate in sorted(self._candidates.items()):
            reason = self._choices[index].finish_reason
            candidate.end(whole=reason == "STOP")
            if reason in _FAILED_CALLS:
                message = f"candidate {index} ended with {reason}"
                self._journal.depart("malformed_function_call", message, InvalidToolCall)

    def _messages(self) -> dict[int, Any]:
        # The API refuses a content without parts.
        return {
            index: {"role": candidate.role, "parts": parts}
            for index, candidate in self._candidates.items()
            if (parts := candidate.parts())
        }


class _Candidate:
    """A candidate that is not complete yet."""

    def __init__(self, draft: ChoiceDraft, journal: Journal) -> None:
        self.role = "model"
        self._draft = draft
        self._journal = journal
        # The parts of the content, and for those that were joined of several what they say.
        self._parts: list[tuple[dict[str, Any], TextDraft | _Call | None]] = []
        # The call whose arguments are still coming.
        self._open: _Call | None = None

    def take(self, fields: dict[str, Any], data: str) -> None:
        """Take what a response says of this candidate."""
        draft, journal = self._draft, self._journal
        finished, shown = draft.finish_reason is not None, len(journal.updates)
        content = journal.read_object(fields, "content")
        self.role = as_text(content.get("role")) or self.role
        for part in journal.read_objects(content, "parts"):
            self._take_part(part, data)
        if finished and len(journal.updates) > shown:
            journal.note("delta_after_finish", "a candidate goes on behind its finish reason")
        keep(draft.extra, fields, _CANDIDATE_FIELDS)
        if reason := journal.read_text(fields, "finishReason"):
            draft.finish(reason)

    def _take_part(self, part: dict[str, Any], data: str) -> None:
        if part.get("functionCall") is not None:
            self._take_call(part, data)
        elif part.get("text") is not None:
            self._take_text(part)
        elif any(value is not None for value in part.values()):
            self._journal.count("max_items")
            self._parts.append((part, None))

    def _take_text(self, part: dict[str, Any]) -> None:
        text = self._journal.read_text(part, "text")
        kind = Kind.REASONING if part.get("thought") else Kind.TEXT
        rest = {name: value for name, value in part.items() if name != "text"}
        if set(rest) <= {"thought"}:
            if not text:
                return
            # A signature belongs to exactly one part: what has one is not joined with others.
            before, last = self._parts[-1] if self._parts else ({}, None)
            if isinstance(last, TextDraft) and last.kind is kind and set(before) <= {"thought"}:
                last.add(text, self._journal)
                return
        self._journal.count("max_items")
        held = self._draft.open(kind)
        held.add(text, self._journal)
        self._parts.append((rest, held))

    def _take_call(self, part: dict[str, Any], data: str) -> None:
        journal = self._journal
        call = journal.read_object(part, "functionCall")
        name, call_id = journal.read_text(call, "name"), journal.read_text(call, "id")
        pieces = journal.read_objects(call, "partialArgs")
        if name and self._open is not None and not self._open.named(name, call_id):
            self._close_unmarked(f"{name[:80]!r} was called")
        if self._open is None:
            if not name:
                message = "arguments came without a call"
                finding = journal.depart("partial_args_without_call", message)
                if pieces or call.get("args"):
                    journal.lost = journal.lost or finding
                return
            journal.count("max_items")
            draft = self._draft.open_call()
            draft.id, draft.name, draft.id_optional = call_id, name, True
            self._open = _Call(draft, call, journal)
            self._parts.append((self._open.beside, self._open))
        opened = self._open
        # What stands beside the call belongs to its part: a thought signature.
        opened.beside.update(
            {name: value for name, value in part.items() if name != "functionCall"}
        )
        opened.take(call, pieces, data)
        if not call.get("willContinue"):
            opened.close()
            self._open = None

    def _close_unmarked(self, why: str, *, whole: bool = True) -> None:
        if self._open is not None:
            finding = self._journal.depart("call_not_closed", f"a call was open when {why}")
            self._open.close(finding, whole=whole)
            self._open = None

    def end(self, *, whole: bool) -> None:
        """Take the end of the stream.

        Args:
            whole: Whether the model ended the answer by itself. If not, more may have belonged to a
                call that is still open.
        """
        self._close_unmarked("the stream ended", whole=whole)

    def parts(self) -> list[dict[str, Any]]:
        """Return the parts as the next request carries them."""
        parts: list[dict[str, Any]] = []
        for rest, held in self._parts:
            if isinstance(held, TextDraft):
                parts.append({"text": held.text, **rest})
            elif held is not None:
                parts.append({"functionCall": held.final(), **rest})
            else:
                parts.append(rest)
        return parts


class _Call:
    """A call, whose arguments come as one object or value by value.

    Attributes:
        beside: What stands beside the call in its part.
    """

    def __init__(self, draft: CallDraft, fields: dict[str, Any], journal: Journal) -> None:
        self._draft = draft
        self._journal = journal
        self._fields = {
            name: value
            for name, value in fields.items()
            if name not in ("args", "partialArgs", "willContinue")
        }
        self.beside: dict[str, Any] = {}
        self._partial = PartialArguments(journal)
        # The arguments as objects: more than one only if the server sends several.
        self._objects: list[dict[str, Any]] = []

    def named(self, name: str, call_id: str) -> bool:
        """Whether it is the call of that name and id: some servers say both again."""
        return bool(call_id) and (self._draft.name, self._draft.id) == (name, call_id)

    def take(self, call: dict[str, Any], pieces: list[dict[str, Any]], data: str) -> None:
        """Take what a `functionCall` says of it.

        Args:
            call: The `functionCall`.
            pieces: Its `partialArgs`.
            data: The payload that it came in.
        """
        if self._journal.has_duplicate_keys(data):
            message = "the payload of a call holds a key twice"
            self._draft.spoil(self._journal.depart("arguments_duplicate_key", message))
        if arguments := self._journal.read_object(call, "args"):
            self._objects.append(arguments)
        for piece in pieces:
            wrong = self._partial.take(piece)
            if wrong is not None:
                self._draft.spoil(self._journal.depart("partial_args_type_conflict", wrong))

    def close(self, unmarked: Finding | None = None, *, whole: bool = True) -> None:
        """Take the end of the arguments.

        Args:
            unmarked: That the server did not say so itself.
            whole: Whether they may be all there are.
        """
        if self._partial.open_path is not None:
            message = f"the string at {self._partial.open_path[:80]} did not end"
            self._draft.spoil(unmarked or self._journal.depart("call_not_closed", message))
        elif unmarked and not whole:
            self._draft.spoil(unmarked)
        if built := self._partial.value():
            self._objects.append(built)
        arguments = self._objects[0] if self._objects else {}
        # As text: to Python true, 1 and 1.0 are equal.
        if len({dump(each) for each in self._objects}) > 1:
            message = "a call has two versions of its arguments"
            self._draft.spoil(self._journal.depart("partial_args_type_conflict", message))
        self._fields["args"] = arguments
        self._draft.add(dump(arguments), self._journal)
        self._draft.closed = True
        self._draft.announce(self._journal, at_last=True)

    def final(self) -> dict[str, Any]:
        """Return the `functionCall` as the next request carries it."""
        return self._fields
