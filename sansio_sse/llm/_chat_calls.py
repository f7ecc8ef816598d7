"""Which call a fragment of Chat Completions belongs to, and what it adds to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ._errors import InvalidPayload
from ._json import as_digits, as_int, dump
from ._merge import fresh, merge

if TYPE_CHECKING:
    from ._drafts import CallDraft, ChoiceDraft
    from ._journal import Journal

__all__ = ["ChatCalls", "ChatOptions"]

_BODY_FIELDS = frozenset({"name", "arguments", "input"})
_ENTRY_FIELDS = frozenset({"index", "id", "type", "function", "custom"})


class ChatOptions(NamedTuple):
    """How a server writes, where the stream does not tell; see `ChatCompletionsAssembler`."""

    contiguous: bool
    name_fragments: bool
    cumulative: bool


class ChatCalls:
    """The calls of one answer.

    A fragment belongs to the call of its id; without an id to the newest call of its index; without
    both to the last call opened.

    Args:
        draft: The answer.
        journal: Where departures go.
        options: How the server writes.
    """

    def __init__(self, draft: ChoiceDraft, journal: Journal, options: ChatOptions) -> None:
        self._draft = draft
        self._journal = journal
        self._options = options
        self._by_id: dict[str, CallDraft] = {}
        self._by_index: dict[int, CallDraft] = {}
        # The type and the index of each call, by its place, once they are known.
        self._kinds: dict[int, str] = {}
        self._indexes: dict[int, int] = {}
        self._last: CallDraft | None = None
        self._legacy: CallDraft | None = None

    def take(self, entry: dict[str, Any], data: str) -> None:
        """Take one entry of `tool_calls`.

        Args:
            entry: The entry.
            data: The payload that it came in.
        """
        custom = entry.get("custom") is not None
        body = self._journal.read_object(entry, "custom" if custom else "function")
        name = self._journal.read_text(body, "name")
        call = self._find(self._journal.read_text(entry, "id"), self._index(entry), name)
        self._set_kind(call, self._journal.read_text(entry, "type") or "custom" * custom)
        self._name(call, name)
        self._argue(call, body.get("input" if custom else "arguments"), data)
        merge(call.extra, entry, _ENTRY_FIELDS)
        if not body.keys() <= _BODY_FIELDS:
            new = {name: value for name, value in body.items() if name not in _BODY_FIELDS}
            merge(call.extra, {"custom" if custom else "function": new})
        if not self._options.name_fragments or call.arguments:
            call.announce(self._journal)

    def take_legacy(self, body: dict[str, Any], data: str) -> None:
        """Take a `function_call`, of which an answer has at most one."""
        if self._legacy is None:
            self._legacy = self._draft.open_call("function_call")
            self._legacy.id_optional = True
        self._name(self._legacy, self._journal.read_text(body, "name"))
        self._argue(self._legacy, body.get("arguments"), data)

    def attach(self, extra: dict[str, Any]) -> bool:
        """Keep fields that came beside the calls with the last call opened.

        Returns:
            Whether there is one.
        """
        if self._last is None:
            return False
        merge(self._last.extra, extra)
        return True

    def _set_kind(self, call: CallDraft, kind: str) -> None:
        """Take the type of a call, which may come late or with each fragment, and never changes."""
        if not kind:
            return
        before = self._kinds.setdefault(call.index, kind)
        if kind != before or (kind != call.kind and call.arguments):
            message = f"a call is of type {call.kind[:80]!r}, and then {kind[:80]!r}"
            call.spoil(self._journal.depart("unsupported_tool_type", message))
            return
        if kind not in (call.kind, "function"):
            self._journal.depart("unsupported_tool_type", f"a call is of type {kind[:80]!r}")
        call.kind = kind

    def _index(self, entry: dict[str, Any]) -> int | None:
        value = entry.get("index")
        if value is None:
            self._journal.depart("tool_index_missing", "a fragment of a call has no index")
            return None
        index = as_int(value)
        if index is not None and index >= 0:
            return index
        self._journal.depart("tool_index_invalid", f"a call has the index {str(value)[:80]!r}")
        return as_digits(value)

    def _find(self, call_id: str, index: int | None, name: str) -> CallDraft:
        if call_id in self._by_id:
            call = self._by_id[call_id]
            if index is not None and self._indexes.setdefault(call.index, index) != index:
                message = f"call {call_id[:80]!r} has two indexes"
                self._journal.depart("tool_index_invalid", message)
            if index is not None:
                self._by_index.setdefault(index, call)
            return call
        found = self._last if index is None else self._by_index.get(index)
        if found is not None and self._continues(found, call_id, index, name):
            if call_id:
                found.id = call_id
                self._by_id[call_id] = found
            return found
        if found is not None and index is not None:
            message = f"index {index} is that of the calls {found.id!r} and {call_id!r}"
            # What comes for this index now may still have been its arguments.
            found.doubt = self._journal.depart("tool_id_changed", message)
        return self._open(call_id, index)

    @staticmethod
    def _continues(found: CallDraft, call_id: str, index: int | None, name: str) -> bool:
        """Whether a fragment of an id that is not known goes on with a call."""
        if not call_id:
            # A name opens a call only if nothing else tells which one it is of.
            return index is not None or not name
        # An id that comes late is that of the call which lacks one, unless it brings another name.
        return not found.id and (not name or found.name in ("", name))

    def _open(self, call_id: str, index: int | None) -> CallDraft:
        number = len(self._draft.calls)
        if self._options.contiguous and index != number:
            message = f"call {number} has the index {index}"
            raise InvalidPayload(message, "tool_index_not_contiguous")
        call = self._draft.open_call()
        if call_id:
            call.id = call_id
            self._by_id[call_id] = call
        if index is not None:
            self._by_index[index] = call
            self._indexes[call.index] = index
        self._last = call
        return call

    def _name(self, call: CallDraft, name: str) -> None:
        if not name or name == call.name:
            return
        if not call.name:
            call.name = name
        elif self._options.name_fragments and not call.announced:
            call.name += name
        else:
            message = f"a call is named {call.name[:80]!r}, and then {name[:80]!r}"
            call.spoil(self._journal.depart("tool_name_changed", message))

    def _argue(self, call: CallDraft, arguments: Any, data: str) -> None:
        if arguments is None:
            return
        if isinstance(arguments, str):
            if self._options.cumulative:
                arguments = fresh(call.arguments, arguments)
            call.add(arguments, self._journal)
            return
        text = dump(arguments)
        if self._journal.has_duplicate_keys(data):
            message = "the payload of a call holds a key twice"
            call.spoil(self._journal.depart("arguments_duplicate_key", message))
        finding = self._journal.depart("arguments_not_string", f"arguments are {text[:80]}")
        if not call.arguments:
            call.add(text, self._journal)
        elif text != call.arguments:
            # Which of the two is meant nobody knows.
            call.spoil(finding)
