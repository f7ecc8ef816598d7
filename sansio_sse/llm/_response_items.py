"""One output item of a Responses stream, event by event."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from ._completion import Finding
from ._drafts import CallDraft, Kind, TextDraft
from ._json import BadArguments, as_objects, as_text, read_arguments
from ._merge import Pieces, plain

if TYPE_CHECKING:
    from ._drafts import ChoiceDraft
    from ._journal import Journal

__all__ = ["TEXTS", "ItemDraft", "TextEvent", "call_meaning", "meaning"]


class TextEvent(NamedTuple):
    """A kind of text that an item carries.

    Attributes:
        item_type: The item that is made up for it if none was announced.
        index_name: The field that says which part of the item it is of; empty for those of no part.
        part_type: What that part is called.
        field: What the whole text is called, in the event that says it is done and in the item.
    """

    item_type: str
    index_name: str
    part_type: str
    field: str


# The events `<name>.delta` and `<name>.done`.
TEXTS = MappingProxyType(
    {
        "response.output_text": TextEvent("message", "content_index", "output_text", "text"),
        "response.refusal": TextEvent("message", "content_index", "refusal", "refusal"),
        "response.reasoning_text": TextEvent(
            "reasoning", "content_index", "reasoning_text", "text"
        ),
        "response.reasoning_summary_text": TextEvent(
            "reasoning", "summary_index", "summary_text", "text"
        ),
        "response.function_call_arguments": TextEvent("function_call", "", "", "arguments"),
        "response.custom_tool_call_input": TextEvent("custom_tool_call", "", "", "input"),
        "response.mcp_call_arguments": TextEvent("mcp_call", "", "", "arguments"),
        "response.code_interpreter_call_code": TextEvent("code_interpreter_call", "", "", "code"),
    }
)

_KINDS = MappingProxyType(
    {
        "output_text": Kind.TEXT,
        "text": Kind.TEXT,
        "refusal": Kind.REFUSAL,
        "reasoning_text": Kind.REASONING,
        "summary_text": Kind.SUMMARY,
    }
)
_TYPES = MappingProxyType(
    {
        Kind.TEXT: "output_text",
        Kind.REFUSAL: "refusal",
        Kind.REASONING: "reasoning_text",
        Kind.SUMMARY: "summary_text",
    }
)
# The calls that the caller runs, and where their arguments are.
_CALLS = MappingProxyType({"function_call": "arguments", "custom_tool_call": "input"})


def meaning(item: dict[str, Any]) -> tuple[Any, ...]:
    """Return what two versions of an item must have in common."""
    texts = [
        (part.get("type"), part.get("text") or part.get("refusal") or "")
        for name in ("content", "summary")
        for part in as_objects(item.get(name))
    ]
    return (item.get("id"), item.get("call_id"), call_meaning(item), texts)


def call_meaning(item: dict[str, Any]) -> tuple[Any, ...]:
    """Return what two versions of a call must have in common for one of them to be run."""
    names = ("type", "name", "arguments", "input")
    return (*(item.get(name) for name in names), item.get("status") == "incomplete")


def _closed(arguments: str) -> bool:
    """Whether arguments are one object, which nothing can follow."""
    try:
        read_arguments(arguments)
    except BadArguments:
        return False
    return bool(arguments.strip())


class _Part:
    """A part of an item: which text it is, whether it goes on, and whether its done event came."""

    def __init__(self, text: TextDraft) -> None:
        self.text = text
        self.ended = False
        self.done = False
        self.annotations: list[Any] = []


class ItemDraft:
    """An item that is not complete yet.

    Attributes:
        index: Its `output_index`.
        id: The id that it was announced with; those of later events may differ.
        done: Whether the server said that it is.
        announced: Whether the server announced it; else it began with its first delta.
        call: The call, if it is one that the caller runs.
    """

    def __init__(
        self,
        index: int,
        item: dict[str, Any],
        choice: ChoiceDraft,
        journal: Journal,
        *,
        announced: bool,
    ) -> None:
        journal.count("max_items")
        self.index = index
        self.id = as_text(item.get("id"))
        self.type = journal.read_text(item, "type")
        self.done = False
        self.announced = announced
        self.call: CallDraft | None = None
        self._item = item
        self._choice = choice
        self._journal = journal
        # The types of the parts that were announced, and the parts that have text.
        self._announced: dict[tuple[str, int], str] = {}
        self._parts: dict[tuple[str, int, Kind], _Part] = {}
        # Texts of no part: arguments of calls of the server, code.
        self._texts: dict[str, Pieces] = {}
        self._settled: set[str] = set()
        self._arguments_came = False
        # The whole arguments, as the server said them when they were done.
        self._arguments: str | None = None
        # Arguments that came with the announcement, and those that its deltas repeated.
        self._seed = self._repeated = ""
        if self.type in _CALLS:
            kind = "function" if self.type == "function_call" else "custom"
            self.call = choice.open_call(kind)
            self._seed = journal.read_text(item, _CALLS[self.type])
            self._identify(self.call, item)

    def announce(self, item: dict[str, Any]) -> None:
        """Take the announcement, for an item whose deltas came first."""
        self.announced = True
        self._item = item
        self.id = as_text(item.get("id")) or self.id
        if self.call is not None:
            self._identify(self.call, item)
            self._repeated = self._journal.read_text(item, _CALLS[self.type])

    def announce_part(self, name: str, index: int, part: dict[str, Any]) -> None:
        """Take the announcement of a part; `name` is that of its index."""
        self._announced[name, index] = as_text(part.get("type"))

    def add(self, what: TextEvent, index: int, text: str) -> None:
        """Add a piece of a text."""
        if not self._takes(what):
            return
        if self.call is not None:
            if self._arguments is not None:
                self._late()
                return
            self._plant(drop_whole=bool(text))
            self._arguments_came = self._arguments_came or bool(text)
            self.call.add(text, self._journal)
        elif not what.index_name:
            if what.field in self._settled:
                self._late()
                return
            self._texts.setdefault(what.field, Pieces("")).add(text)
        else:
            part = self._part(what, index)
            if part.ended:
                self._late()
                return
            part.text.add(text, self._journal)

    def settle(self, what: TextEvent, index: int, text: str) -> None:
        """Take the whole of a text, which ends it."""
        if not self._takes(what):
            return
        if self.call is not None:
            self._settle_arguments(self.call, text)
        elif not what.index_name:
            self._settle_text(what.field, text)
        else:
            part = self._part(what, index)
            if not part.text.settle(text, self._journal):
                self._differs(what.part_type)
            part.ended = part.done = True

    def _settle_text(self, field: str, text: str) -> None:
        before = self._texts.get(field)
        if before is not None and before.join() != text:
            self._differs(field)
        self._texts[field] = Pieces(text)
        self._settled.add(field)

    def settle_part(self, name: str, index: int, part: dict[str, Any]) -> None:
        """Take a whole part, as the server sends it once more when the part is done."""
        kind = _KINDS.get(as_text(part.get("type")))
        if kind is None:
            return
        held = self._parts.get((name, index, kind))
        text = self._journal.read_text(part, "refusal" if kind is Kind.REFUSAL else "text")
        if held is None:
            if any(key[:2] == (name, index) for key in self._parts):
                self._mismatch(index, part.get("type"))
                return
            if not text:
                return
            held = self._parts[name, index, kind] = _Part(self._choice.open(kind))
        if not held.text.settle(text, self._journal):
            self._differs(_TYPES[kind])
        held.ended = True

    def annotate(self, index: int, annotation: Any) -> None:
        """Add an annotation to a text."""
        held = self._parts.get(("content_index", index, Kind.TEXT))
        if held is not None:
            held.annotations.append(annotation)

    def settle_item(self, item: dict[str, Any]) -> None:
        """Take the whole item, which ends it."""
        if self.done:
            self._late()
            return
        self._check_done()
        self.done = True
        kind = self._journal.read_text(item, "type")
        if kind != self.type:
            message = f"item {self.index} was of type {self.type[:80]!r}, now {kind[:80]!r}"
            finding = self._journal.depart("item_type_changed", message)
            # One of the two may be a call, and none that can be trusted.
            self._journal.lost = self._journal.lost or finding
        if self.call is not None:
            self._identify(self.call, item)
            self._settle_arguments(self.call, self._journal.read_text(item, _CALLS[self.type]))
            self.call.closed = True
            self._check_announcement()
            if item.get("status") == "incomplete":
                message = f"the server says that call {self.call.index} is incomplete"
                self.call.spoil(Finding("truncated_call", message, self._journal.event))
        for name, field in (("content_index", "content"), ("summary_index", "summary")):
            parts = self._journal.read_objects(item, field)
            for index, part in enumerate(parts):
                self.settle_part(name, index, part)
            if any(key[0] == name and key[1] >= len(parts) for key in self._parts):
                self._differs(field)
                if not parts:
                    # The item says nothing of what was streamed.
                    item = {**item, field: self._rebuild(name)}
        for field in [field for field in self._texts if field in item]:
            self._settle_text(field, self._journal.read_text(item, field))
        self._item = {**item, "id": self.id} if self.id and "id" in item else item

    def finish(self, final: dict[str, Any] | None, *, whole: bool) -> None:
        """Take the end of the response: what was not done by now never will be.

        Args:
            final: The item in the final output, if there is one in its place.
            whole: Whether the response is complete, so that it should have been done.
        """
        if self.done:
            return
        self._plant(drop_whole=False)
        self._check_announcement()
        if whole:
            finding = self._journal.depart("missing_done", f"item {self.index} is not done")
            if self.call is not None and not self.call.arguments and self._arguments is None:
                # Without arguments `{}` is sent; here they never came.
                self.call.spoil(finding)
        if final is not None and meaning(final) == meaning(self.final()):
            # It may hold what was not streamed: encrypted reasoning that is complete.
            self._item, self.done = final, True
        elif "status" in self._item:
            self._item = {**self._item, "status": "completed" if whole else "incomplete"}

    def final(self) -> dict[str, Any]:
        """Return the item as the next request carries it."""
        item: dict[str, Any] = plain(self._item)
        if self.call is not None and self.call.id:
            # One that was made up, if the server sent none.
            item["call_id"] = self.call.id
        if self.done:
            return item
        if self.call is not None:
            item[_CALLS[self.type]] = self.call.arguments or self._seed
        for field, text in self._texts.items():
            item[field] = text.join()
        for name, field in (("content_index", "content"), ("summary_index", "summary")):
            if parts := self._rebuild(name):
                item[field] = parts
        return item

    def _rebuild(self, name: str) -> list[dict[str, Any]]:
        parts: list[dict[str, Any]] = []
        for key in sorted((key for key in self._parts if key[0] == name), key=lambda key: key[1]):
            kind, held = key[2], self._parts[key]
            field = "refusal" if kind is Kind.REFUSAL else "text"
            part: dict[str, Any] = {"type": _TYPES[kind], field: held.text.text}
            if kind is Kind.TEXT:
                part["annotations"] = held.annotations
            parts.append(part)
        return parts

    def _part(self, what: TextEvent, index: int) -> _Part:
        kind = _KINDS[what.part_type]
        held = self._parts.get((what.index_name, index, kind))
        if held is None:
            announced = self._announced.get((what.index_name, index))
            if announced is None:
                message = f"{what.part_type} {index} of item {self.index} was not announced"
                self._journal.depart("part_not_announced", message)
            elif _KINDS.get(announced) is not kind:
                self._mismatch(index, announced)
            held = _Part(self._choice.open(kind))
            self._parts[what.index_name, index, kind] = held
        return held

    def _identify(self, call: CallDraft, item: dict[str, Any]) -> None:
        """Take id and name of a call, which come when it begins and once more when it is done."""
        journal = self._journal
        call_id, name = journal.read_text(item, "call_id"), journal.read_text(item, "name")
        if call_id and call.id and call_id != call.id:
            message = f"a call has the ids {call.id[:80]!r} and {call_id[:80]!r}"
            call.spoil(journal.depart("tool_id_changed", message))
        if name and call.name and name != call.name:
            message = f"a call is named {call.name[:80]!r}, and then {name[:80]!r}"
            call.spoil(journal.depart("tool_name_changed", message))
        call.id = call.id or call_id
        call.name = call.name or name
        call.announce(journal)

    def _plant(self, *, drop_whole: bool) -> None:
        """Put the arguments of the announcement before the others, unless those repeat them."""
        seed, self._seed = self._seed, ""
        if self.call is None or not seed:
            return
        if drop_whole and _closed(seed):
            # What comes now is the same again.
            self._repeated = seed
            message = f"item {self.index} was announced with arguments, and they come again"
            self._journal.depart("delta_done_mismatch", message)
            return
        self.call.add(seed, self._journal)

    def _settle_arguments(self, call: CallDraft, text: str) -> None:
        """Take the whole arguments: from their done event, and once more from the item.

        What is done counts, where the deltas lack something. But of two whole ones that differ, or
        of none where there were deltas, nobody knows which the model meant.
        """
        if self._seed:
            # Without deltas the announcement may be all that there is.
            text = text or self._seed
            if not text.startswith(self._seed):
                self._repeated = self._seed
            self._seed = ""
        first = self._arguments is None
        before = call.arguments if self._arguments is None else self._arguments
        self._arguments = text
        if before and before != text:
            message = f"the arguments of item {self.index} are not what was streamed"
            finding = self._journal.depart("delta_done_mismatch", message)
            if not first or not text or _closed(before):
                call.spoil(finding)
                return
        call.settle(text, self._journal)

    def _check_announcement(self) -> None:
        """Depart if a call was announced with other arguments than it has now that it ended."""
        if self.call is not None and self._repeated not in ("", self.call.arguments):
            message = f"item {self.index} was announced with other arguments"
            self.call.spoil(self._journal.depart("delta_done_mismatch", message))

    def _check_done(self) -> None:
        """Depart if a text was streamed that nobody said is done."""
        open_parts = [part for part in self._parts.values() if not part.done]
        # Recorded streams lack that event for custom tools.
        came = self._arguments_came and self.type != "custom_tool_call"
        if open_parts or (came and self._arguments is None):
            self._journal.depart("missing_done", f"a text of item {self.index} is not done")

    def _takes(self, what: TextEvent) -> bool:
        """Whether a text is one that the item can have; if not, it is lost."""
        if self.done:
            self._late()
            return False
        if self.type == what.item_type or not {self.type, what.item_type} & _CALLS.keys():
            return True
        message = f"item {self.index} of type {self.type[:80]!r} gets {what.field}"
        finding = self._journal.depart("delta_type_mismatch", message)
        self._journal.lost = self._journal.lost or finding
        return False

    def _differs(self, what: str) -> None:
        message = f"{what} of item {self.index} is not what was streamed"
        self._journal.depart("delta_done_mismatch", message)

    def _mismatch(self, index: int, announced: object) -> None:
        message = (
            f"part {index} of item {self.index} is of type {str(announced)[:80]!r}, its text not"
        )
        self._journal.depart("part_type_mismatch", message)

    def _late(self) -> None:
        message = f"item {self.index} goes on behind its end"
        self._journal.depart("delta_after_done", message)
