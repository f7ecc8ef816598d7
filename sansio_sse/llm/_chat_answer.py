"""One answer of Chat Completions, delta by delta."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._chat_calls import ChatCalls, ChatOptions
from ._drafts import Kind, TextDraft
from ._json import as_list, as_object, as_text, is_list
from ._merge import (
    Pieces,
    fresh,
    keep,
    merge,
    merge_audio,
    merge_logprobs,
    merge_reasoning_details,
    merge_thinking_blocks,
    plain,
    thinking_texts,
)

if TYPE_CHECKING:
    from ._drafts import CallDraft, ChoiceDraft
    from ._journal import Journal

__all__ = ["ChatAnswer", "ChatOptions"]

_CHOICE_FIELDS = frozenset({"index", "delta", "message", "finish_reason", "logprobs", "usage"})

# What servers call the reasoning. Where several of them come in one delta they say the same.
_REASONING_NAMES = ("reasoning_content", "reasoning", "reasoning_text", "thinking")

_REASONING_FIELDS = frozenset({*_REASONING_NAMES, "reasoning_details", "thinking_blocks"})
_RARE_FIELDS = frozenset({"refusal", "function_call", "audio", "annotations", "extra_content"})
# Obfuscation is padding against eavesdroppers who measure lengths.
_DELTA_FIELDS = (
    frozenset({"role", "content", "tool_calls", "obfuscation"}) | _RARE_FIELDS | _REASONING_FIELDS
)

# Mean that the answer has not ended; the last one is DashScope's.
_NO_REASONS = ("", "null")


class ChatAnswer:
    """One choice of a stream.

    Args:
        draft: What the updates come from.
        journal: Where departures go.
        options: How the server writes.
    """

    def __init__(self, draft: ChoiceDraft, journal: Journal, options: ChatOptions) -> None:
        self._draft = draft
        self._journal = journal
        self._cumulative = options.cumulative
        self._calls = ChatCalls(draft, journal, options)
        self._role = ""
        self._reasoning_name = ""
        # The content as parts, once a server sends it so.
        self._contents: list[dict[str, Any]] = []
        self._details: list[dict[str, Any]] = []
        self._blocks: list[dict[str, Any]] = []
        self._unknown: dict[str, Any] = {}
        # All of a text so far, by kind, for servers that repeat it.
        self._whole: dict[Kind, str] = {}

    def take(self, choice: dict[str, Any], data: str) -> None:
        """Take what a chunk says of this choice.

        Args:
            choice: The entry of `choices`.
            data: The payload that it came in.
        """
        draft, journal = self._draft, self._journal
        finished, shown = draft.finish_reason is not None, len(journal.updates)
        delta = journal.read_object(choice, "delta")
        if not delta and choice.get("message"):
            journal.depart("delta_missing", "a choice has a message in place of a delta")
            delta = journal.read_object(choice, "message")
        self._take_delta(delta, data)
        calls = delta.get("tool_calls") or delta.get("function_call")
        if finished and (len(journal.updates) > shown or calls):
            message = f"choice {draft.index} goes on behind its finish reason"
            journal.depart("delta_after_finish", message)
        if choice.get("logprobs"):
            merge_logprobs(draft.extra, choice["logprobs"])
        keep(draft.extra, choice, _CHOICE_FIELDS)
        reason = choice.get("finish_reason")
        if isinstance(reason, str):
            if reason not in _NO_REASONS:
                if draft.finish_reason not in (None, reason):
                    message = f"the finish reason was {draft.finish_reason!r}, now {reason[:80]!r}"
                    journal.depart("finish_mismatch", message)
                draft.finish(reason)
        elif reason is not None:
            message = f"a finish reason is {str(reason)[:80]}"
            journal.depart("finish_reason_unknown", message)

    def _take_delta(self, delta: dict[str, Any], data: str) -> None:
        role = as_text(delta.get("role"))
        if role and self._role not in ("", role):
            message = f"the role was {self._role[:80]!r}, now {role[:80]!r}"
            self._journal.depart("role_changed", message)
        self._role = self._role or role
        # Most deltas have one or two fields: only those that are there are looked at.
        if not _REASONING_FIELDS.isdisjoint(delta):
            self._take_reasoning(delta)
        if "content" in delta:
            self._take_content(delta)
        for entry in self._journal.read_objects(delta, "tool_calls"):
            self._calls.take(entry, data)
        if not _RARE_FIELDS.isdisjoint(delta):
            self._take_rare(delta, data)
        if not delta.keys() <= _DELTA_FIELDS:
            merge(self._unknown, delta, _DELTA_FIELDS)

    def _take_rare(self, delta: dict[str, Any], data: str) -> None:
        self._add(Kind.REFUSAL, self._journal.read_text(delta, "refusal"))
        legacy = self._journal.read_object(delta, "function_call")
        if legacy and delta.get("tool_calls"):
            # The same call in both forms would be run twice.
            self._journal.depart("tool_id_reused", "a delta has tool_calls and function_call")
        elif legacy:
            self._calls.take_legacy(legacy, data)
        merge_audio(self._draft.extra, self._journal.read_object(delta, "audio"))
        if annotations := as_list(delta.get("annotations")):
            merge(self._draft.extra, {"annotations": annotations})
        google = {"extra_content": delta.get("extra_content")}
        if not self._calls.attach(google):
            merge(self._unknown, google)

    def _take_content(self, delta: dict[str, Any]) -> None:
        content = delta.get("content")
        if isinstance(content, str):
            text = self._add(Kind.TEXT, content)
            if text and self._contents:
                self._add_content("text", text)
        elif is_list(content):
            self._journal.depart("content_not_string", "content is a list of parts")
            if not self._contents and (before := self._text(Kind.TEXT)):
                self._add_content("text", before)
            for part in self._journal.read_objects(delta, "content"):
                self._take_part(part)
        elif content is not None:
            self._journal.read_text(delta, "content")

    def _take_part(self, part: dict[str, Any]) -> None:
        match part.get("type"):
            case "text":
                if text := self._journal.read_text(part, "text"):
                    self._draft.add(Kind.TEXT, text)
                    self._add_content("text", text)
            case "thinking":
                for text in thinking_texts(part.get("thinking")):
                    if text:
                        self._draft.add(Kind.REASONING, text)
                        self._add_content("thinking", text)
            case _:
                self._journal.count("max_items")
                self._contents.append(part)

    def _add_content(self, kind: str, text: str) -> None:
        """Add text to the last part of the content, or to a new one if that is of another kind."""
        if not self._contents or self._contents[-1].get("type") != kind:
            pieces = Pieces("")
            thinking = [{"type": "text", "text": pieces}]
            part = {"type": kind, kind: pieces if kind == "text" else thinking}
            self._contents.append(part)
        last = self._contents[-1][kind]
        (last if kind == "text" else last[0]["text"]).add(text)

    def _take_reasoning(self, delta: dict[str, Any]) -> None:
        texts = [(name, as_text(delta.get(name))) for name in _REASONING_NAMES]
        name, text = next((pair for pair in texts if pair[1]), ("", ""))
        details = merge_reasoning_details(self._details, delta.get("reasoning_details"))
        blocks = merge_thinking_blocks(self._blocks, delta.get("thinking_blocks"))
        for other in _REASONING_NAMES:
            value = delta.get(other)
            if value is not None and not isinstance(value, str):
                self._journal.depart("reasoning_not_string", f"{other} of a delta is no text")
                merge(self._unknown, {other: value})
        if text:
            self._reasoning_name = self._reasoning_name or name
            self._add(Kind.REASONING, text)
        else:
            for piece, summary in details or blocks:
                self._draft.add(Kind.SUMMARY if summary else Kind.REASONING, piece)

    def _add(self, kind: Kind, text: str) -> str:
        """Add text, and return what of it is new."""
        if self._cumulative and text:
            whole = self._whole.get(kind, "")
            new = fresh(whole, text)
            self._whole[kind] = text if new != text else whole + text
            text = new
        self._draft.add(kind, text)
        return text

    def _text(self, kind: Kind) -> str:
        return "".join(
            part.text
            for part in self._draft.parts
            if isinstance(part, TextDraft) and part.kind is kind
        )

    def message(self) -> dict[str, Any]:
        """Return the assistant message for the next request.

        Reasoning goes back where a server may need it: in the structured forms always, they hold
        signatures; as plain text only beside calls of tools, in the middle of a thought. Some
        servers require it there, and one refuses it elsewhere.
        """
        calls = self._draft.calls
        text, refusal = self._text(Kind.TEXT), self._text(Kind.REFUSAL)
        audio = as_object(plain(self._draft.extra.get("audio"))).get("id")
        empty = None if calls or refusal or audio else ""
        message: dict[str, Any] = {
            "role": self._role or "assistant",
            "content": plain(self._contents) or text or empty,
        }
        if refusal:
            message["refusal"] = refusal
        if audio:
            message["audio"] = {"id": audio}
        if self._details:
            message["reasoning_details"] = plain(self._details)
        if self._blocks:
            message["thinking_blocks"] = plain(self._blocks)
        if self._reasoning_name and calls:
            message[self._reasoning_name] = self._text(Kind.REASONING)
        # A call that was never named can be part of no request.
        named = [call for call in calls if call.name]
        entries = [_entry(call) for call in named if call.kind != "function_call"]
        if entries:
            message["tool_calls"] = entries
        for call in named:
            if call.kind == "function_call":
                message["function_call"] = {"name": call.name, "arguments": _arguments(call)}
        return {**plain(self._unknown), **message}


def _entry(call: CallDraft) -> dict[str, Any]:
    extra: dict[str, Any] = plain(call.extra)
    if call.kind == "custom":
        body = {"name": call.name, "input": call.arguments, **extra.pop("custom", {})}
        return {"id": call.id, "type": call.kind, "custom": body, **extra}
    body = {"name": call.name, "arguments": _arguments(call), **extra.pop("function", {})}
    return {"id": call.id, "type": call.kind, "function": body, **extra}


def _arguments(call: CallDraft) -> str:
    """Return arguments for a server, which parses them again when it gets them back."""
    return call.arguments if call.arguments.strip() else "{}"
