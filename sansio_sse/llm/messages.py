"""The Messages API of Anthropic, and of servers that claim to be compatible."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ._assembler import Assembler
from ._completion import Finding, Usage
from ._drafts import Kind, TextDraft
from ._errors import IncompleteStream
from ._json import (
    BadArguments,
    as_digits,
    as_int,
    as_object,
    as_text,
    dump,
    read_arguments,
)
from ._merge import merge, plain
from ._updates import UsageUpdate
from ._usage import number

if TYPE_CHECKING:
    from .._events import Event
    from ._drafts import CallDraft, ChoiceDraft
    from ._journal import Journal

__all__ = ["MessagesAssembler"]

# The delta that each type of block has, and where its text goes.
_DELTAS = MappingProxyType(
    {
        "text_delta": ("text", "text"),
        "citations_delta": ("text", "citation"),
        "thinking_delta": ("thinking", "thinking"),
        "signature_delta": ("thinking", "signature"),
        "input_json_delta": ("tool_use", "partial_json"),
        "compaction_delta": ("compaction", "content"),
    }
)

_KINDS = MappingProxyType({"text": Kind.TEXT, "thinking": Kind.REASONING})


class MessagesAssembler(Assembler):
    """Makes a `Completion` of a stream of the Messages API.

    It has one choice, whose `message` is the assistant message for the next request: its content
    blocks in the order in which they began, with signatures, redacted thinking and citations.
    `tool_calls` are the calls of your own tools (`tool_use`); those of the server's tools stay in
    the message. The finish reason is the stop reason. See `Assembler` for the arguments.

    Source: the API documentation of Anthropic, "Streaming messages".
    """

    _ENDINGS = MappingProxyType(
        {
            "end_turn": "stop",
            "stop_sequence": "stop",
            "tool_use": "tool_calls",
            "max_tokens": "length",
            "model_context_window_exceeded": "length",
            "refusal": "refusal",
            "pause_turn": "pause",
        }
    )

    def _begin(self) -> None:
        self._blocks: list[_Block] = []
        self._by_index: dict[int, _Block] = {}
        self._role = "assistant"
        self._started = self._greeted = self._stopped = False

    def _read(self, payload: dict[str, Any], event: Event) -> None:
        kind = as_text(payload.get("type"))
        if kind and event.type not in ("message", kind):
            message = f"an event of type {event.type[:80]!r} holds one of type {kind[:80]!r}"
            self._journal.depart("event_type_mismatch", message)
        kind = kind or event.type
        if kind == "ping":
            return
        if not self._started:
            self._started = True
            self._choice(0)
            if kind != "message_start":
                message = f"the stream begins with {kind[:80]!r}"
                self._journal.depart("message_start_missing", message)
        match kind:
            case "message_start":
                if self._greeted:
                    self._journal.depart("message_start_repeated", "a second message starts")
                self._greeted = True
                self._read_start(self._journal.read_object(payload, "message"))
            case "content_block_start":
                self._check_late()
                self._start_block(payload, event.data)
            case "content_block_delta":
                self._check_late()
                self._read_delta(payload)
            case "content_block_stop":
                block = self._block_of(payload)
                if block is not None:
                    block.stop()
            case "message_delta":
                self._read_message_delta(payload)
            case "message_stop":
                self._stopped = True
                self._settle_blocks()
                self._end()
            case "error":
                pass
            case _:
                # Anthropic's versioning policy: new types of events may be added at any time.
                self._journal.note("unknown_event", f"an event of type {kind[:80]!r}")

    def _check_late(self) -> None:
        if self._choice(0).finish_reason is not None:
            self._journal.depart("delta_after_finish", "content comes behind the stop reason")

    def _settle_blocks(self) -> None:
        for block in self._blocks:
            block.settle()

    def _read_start(self, message: dict[str, Any]) -> None:
        if message.get("content"):
            self._journal.lose("content", message["content"], "empty when the message starts")
        self._id = as_text(message.get("id")) or self._id
        self._model = as_text(message.get("model")) or self._model
        self._role = as_text(message.get("role")) or self._role
        self._read_usage(message.get("usage"))
        known = {"id", "type", "role", "model", "content", "stop_reason", "stop_sequence", "usage"}
        merge(self._extra, message, known)

    def _start_block(self, payload: dict[str, Any], data: str) -> None:
        index = self._index_of(payload)
        before = self._by_index.pop(index, None)
        if before is not None:
            message = f"index {index} is that of two content blocks"
            before.abandon(self._journal.depart("block_index_reused", message))
        elif index != len(self._blocks):
            message = f"content block {len(self._blocks)} has the index {index}"
            self._journal.depart("block_index_not_contiguous", message)
        self._open(index, self._journal.read_object(payload, "content_block"), data)

    def _open(self, index: int, block: dict[str, Any], data: str = "") -> _Block:
        if self._blocks:
            # What comes behind it shows that it was whole, whatever ends the answer.
            self._blocks[-1].close()
        opened = _Block(index, block, self._choice(0), self._journal, data)
        self._blocks.append(opened)
        self._by_index[index] = opened
        return opened

    def _index_of(self, payload: dict[str, Any]) -> int:
        index = as_int(payload.get("index"))
        if index is None:
            value = payload.get("index")
            message = f"a content block has the index {str(value)[:80]!r}"
            self._journal.depart("block_index_invalid", message)
            digits = as_digits(value)
            # Else the last one, or the first one.
            return next(reversed(self._by_index), 0) if digits is None else digits
        return index

    def _block_of(self, payload: dict[str, Any]) -> _Block | None:
        index = self._index_of(payload)
        block = self._by_index.get(index)
        if block is None:
            message = f"content block {index} was not started"
            self._journal.depart("block_not_started", message)
        return block

    def _read_delta(self, payload: dict[str, Any]) -> None:
        delta = self._journal.read_object(payload, "delta")
        block = self._block_of(payload)
        if block is None:
            if delta.get("partial_json"):
                # Of which call, nobody knows.
                self._journal.lose("partial_json", delta["partial_json"], "of a block that started")
            kind, _ = _DELTAS.get(as_text(delta.get("type")), ("", ""))
            # A call without a name can't be run, and a block of no known type holds nothing.
            if not kind:
                return
            made = {"type": kind, kind: ""} if kind in _KINDS else {"type": kind}
            block = self._open(self._index_of(payload), made)
        block.add(delta)

    def _read_message_delta(self, payload: dict[str, Any]) -> None:
        delta = self._journal.read_object(payload, "delta")
        if reason := self._journal.read_text(delta, "stop_reason"):
            self._settle_blocks()
            self._choice(0).finish(reason)
        self._read_usage(payload.get("usage"))
        merge(self._extra, delta, {"stop_reason"})
        merge(self._extra, payload, {"type", "delta", "usage"})

    def _read_usage(self, usage: object) -> None:
        """Take usage, which is cumulative: each field that is there replaces the one before."""
        new = {name: value for name, value in as_object(usage).items() if value is not None}
        if new:
            self._usage = {**self._usage, **new}
            self._journal.updates.append(UsageUpdate(self._normalised_usage()))

    def _normalised_usage(self) -> Usage:
        raw = self._usage
        cached = number(raw.get("cache_read_input_tokens"))
        spent = number(raw.get("input_tokens")) + cached
        spent += number(raw.get("cache_creation_input_tokens"))
        made = number(raw.get("output_tokens"))
        return Usage(
            input=spent, output=made, total=spent + made, cached=cached, reasoning=0, raw=raw
        )

    def _check_end(self) -> None:
        super()._check_end()
        if not self._stopped:
            message = "the stream ended without message_stop"
            self._journal.depart("missing_message_stop", message, IncompleteStream)
        for block in self._blocks:
            if not block.stopped:
                message = f"content block {block.index} was not stopped"
                self._journal.depart("missing_block_stop", message)

    def _messages(self) -> dict[int, Any]:
        content = [block.final() for block in self._blocks if not block.empty]
        # The API refuses a message without content.
        return {0: {"role": self._role, "content": content} if content else None}


class _Block:
    """A content block that is not complete yet."""

    def __init__(
        self,
        index: int,
        block: dict[str, Any],
        choice: ChoiceDraft,
        journal: Journal,
        data: str,
    ) -> None:
        journal.count("max_items")
        self.index = index
        self.type = journal.read_text(block, "type")
        if not self.type:
            journal.depart("field_invalid", f"content block {index} has no type")
        self.stopped = False
        self._journal = journal
        self._block = dict(block)
        self._citations: list[Any] = []
        self._fields: dict[str, Any] = {}
        self._text: TextDraft | None = None
        self._call: CallDraft | None = None
        self._input: list[str] = []
        if self.type in _KINDS:
            self._text = choice.open(_KINDS[self.type])
            self._text.add(journal.read_text(block, self.type), journal)
        elif self.type == "tool_use":
            self._call = choice.open_call()
            self._call.id = journal.read_text(block, "id")
            self._call.name = journal.read_text(block, "name")
            self._call.announce(journal)
        given = journal.read_object(block, "input")
        # Some servers send all of the input at once, in place of the empty object.
        self._given = dump(given) if given else ""
        if self._given and self._call and journal.has_duplicate_keys(data):
            message = "the payload of a call holds a key twice"
            self._call.spoil(journal.depart("arguments_duplicate_key", message))

    def add(self, delta: dict[str, Any]) -> None:
        """Take a delta."""
        kind = self._journal.read_text(delta, "type")
        if self.stopped:
            message = f"content block {self.index} goes on behind its stop"
            self._miss(delta, self._journal.depart("delta_after_stop", message))
            return
        wanted, field = _DELTAS.get(kind, ("", ""))
        if not wanted:
            finding = self._journal.note("unknown_event", f"a delta of type {kind[:80]!r}")
            if self._call:
                # It may be a new way to send arguments.
                self._call.spoil(finding)
            return
        # Tools of the server have types of their own: server_tool_use, mcp_tool_use.
        if wanted != self.type and not (wanted == "tool_use" and self.type.endswith("_tool_use")):
            message = f"a {kind} is for content block {self.index}, which is {self.type[:80]!r}"
            self._miss(delta, self._journal.depart("delta_type_mismatch", message))
            return
        text = "" if kind == "citations_delta" else self._journal.read_text(delta, field)
        match kind:
            case "text_delta" | "thinking_delta" if self._text:
                self._text.add(text, self._journal)
            case "citations_delta":
                if delta.get(field) is not None:
                    self._citations.append(delta[field])
            case "signature_delta":
                # The last one counts.
                self._fields["signature"] = text
            case "input_json_delta" if self._call:
                self._call.add(text, self._journal)
            case "input_json_delta":
                self._input.append(text)
            case _:
                merge(self._fields, delta, {"type"})

    def _miss(self, delta: dict[str, Any], finding: Finding) -> None:
        """Note that a delta is left out: arguments are then missing where they belong."""
        if delta.get("partial_json"):
            self._journal.lost = self._journal.lost or finding

    def abandon(self, finding: Finding) -> None:
        """Say that another block took its index: what comes now may still have been its own."""
        if self._call and not self.stopped:
            self._call.spoil(finding)

    def stop(self) -> None:
        """Take the end of the block."""
        if self.stopped:
            message = f"content block {self.index} is stopped twice"
            self._journal.depart("delta_after_stop", message)
        self.stopped = True
        self.settle()

    def settle(self) -> None:
        """Take the input that came when the block was started, if none came later."""
        call, given = self._call, self._given
        if call is None or not given:
            return
        self._given = ""
        if not call.arguments.strip():
            call.add(given, self._journal)
            return
        try:
            same = dump(read_arguments(call.arguments)) == given
        except BadArguments:
            same = False
        finding = self._journal.depart("input_conflict", "a call has its input twice")
        if not same:
            call.spoil(finding)

    def close(self) -> None:
        """Say that another block began behind it."""
        if self._call and self.stopped:
            self._call.closed = True

    @property
    def empty(self) -> bool:
        """Whether it is a text of nothing, which the API refuses; a signature is something."""
        signed = self._fields.get("signature") or self._block.get("signature")
        return not self.type or (self._text is not None and self._text.empty and not signed)

    def final(self) -> dict[str, Any]:
        """Return the block as the next request carries it."""
        block: dict[str, Any] = {**plain(self._block), **plain(self._fields)}
        if self._text:
            block[self.type] = self._text.text
        if self._citations:
            block["citations"] = [*(block.get("citations") or []), *self._citations]
        if self._call:
            block["id"] = self._call.id
            block["input"] = _as_input(self._call.arguments or self._given)
        elif self._input:
            text = "".join(self._input)
            block["input"] = _as_input(text) if text.strip() else block.get("input", {})
        return block


def _as_input(text: str) -> dict[str, Any]:
    """Return the input of a tool as an object.

    Where it is none, the text stands in an object: the way in which Anthropic's documentation of
    fine-grained tool streaming hands invalid JSON back to the model.
    """
    try:
        return read_arguments(text)
    except BadArguments:
        return {"INVALID_JSON": text}
