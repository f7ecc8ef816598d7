"""Answers that are not complete yet."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any

from ._completion import Finding, ReasoningPart, RefusalPart, TextPart, ToolCall, refused
from ._json import BadArguments, read_arguments
from ._updates import (
    Finished,
    ReasoningDelta,
    RefusalDelta,
    TextDelta,
    ToolArgumentsDelta,
    ToolCallStarted,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._completion import Part
    from ._journal import Journal

__all__ = ["CallDraft", "ChoiceDraft", "Kind", "TextDraft"]


class Kind(Enum):
    """What a text is."""

    TEXT = 1
    REASONING = 2
    SUMMARY = 3
    REFUSAL = 4


class TextDraft:
    """A text, in pieces."""

    def __init__(self, kind: Kind, choice: int, part: int) -> None:
        self.kind = kind
        self._choice = choice
        self._part = part
        self._pieces: list[str] = []

    @property
    def text(self) -> str:
        """All of it so far; the pieces are joined once and again only after further ones."""
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""

    @property
    def empty(self) -> bool:
        """Whether nothing came yet."""
        return not self._pieces

    def add(self, text: str, journal: Journal) -> None:
        """Add a piece."""
        if not text:
            return
        journal.count("max_text_characters", len(text))
        self._pieces.append(text)
        match self.kind:
            case Kind.TEXT:
                journal.updates.append(TextDelta(text, self._choice, self._part))
            case Kind.REFUSAL:
                journal.updates.append(RefusalDelta(text, self._choice, self._part))
            case _:
                summary = self.kind is Kind.SUMMARY
                delta = ReasoningDelta(text, self._choice, self._part, summary=summary)
                journal.updates.append(delta)

    def settle(self, text: str, journal: Journal) -> bool:
        """Take the whole text, which a server sends once more when it is done.

        Returns:
            Whether it is what came in pieces, or nothing had come.
        """
        before = self.text
        if text.startswith(before):
            self.add(text[len(before) :], journal)
            return not before or text == before
        journal.count("max_text_characters", len(text))
        self._pieces = [text] if text else []
        return False

    def part(self) -> Part:
        """Return what it comes to."""
        match self.kind:
            case Kind.TEXT:
                return TextPart(self.text)
            case Kind.REFUSAL:
                return RefusalPart(self.text)
            case _:
                return ReasoningPart(self.text, summary=self.kind is Kind.SUMMARY)


class CallDraft:
    """A call of a tool, in pieces. Its arguments are shown when it has a name and an id.

    Attributes:
        index: The place among the calls of the choice.
        id: Empty while unknown.
        name: Empty while unknown.
        kind: As in `ToolCall`.
        problem: Why it must not be run, whatever comes.
        doubt: Why it must not be run if no arguments come.
        announced: Whether its start was told.
        closed: Whether the server said that nothing more belongs to it.
        id_optional: Whether the dialect allows calls without an id.
        extra: Fields to send back with it.
    """

    def __init__(self, choice: int, part: int, index: int, kind: str = "function") -> None:
        self.index = index
        self.id = ""
        self.name = ""
        self.kind = kind
        self.problem: Finding | None = None
        self.doubt: Finding | None = None
        self.closed = False
        self.id_optional = False
        self.extra: dict[str, Any] = {}
        self._choice = choice
        self._part = part
        self._pieces: list[str] = []
        self._size = 0
        self.announced = False

    @property
    def arguments(self) -> str:
        """All of the text so far."""
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""

    def add(self, text: str, journal: Journal) -> None:
        """Add a piece of the arguments."""
        if not text:
            return
        self._size += len(text)
        journal.check("max_arguments_characters", self._size)
        self._pieces.append(text)
        if self.announced:
            journal.updates.append(ToolArgumentsDelta(self.index, text, self._choice))

    def settle(self, text: str, journal: Journal) -> bool:
        """Take the whole text of the arguments; as `TextDraft.settle`."""
        before = self.arguments
        if text.startswith(before):
            self.add(text[len(before) :], journal)
            return not before or text == before
        journal.check("max_arguments_characters", len(text))
        self._size = len(text)
        self._pieces = [text] if text else []
        return False

    def announce(self, journal: Journal, *, at_last: bool = False) -> None:
        """Tell of the call, if its id and name are known, or if this is the last moment for it.

        A server that sends no id gets one made up: without it a call can't be answered.
        """
        if self.announced or not (at_last or (self.id and self.name)):
            return
        if self.name:
            journal.check_tool(self.name)
        else:
            finding = journal.depart("tool_name_missing", f"call {self.index} has no name")
            self.spoil(finding)
            if self.arguments:
                # They may be those of another call.
                journal.lost = journal.lost or finding
        if self.id:
            if (twice := journal.use_id(self.id, self._choice)) is not None:
                self.spoil(twice)
        else:
            if not self.id_optional:
                journal.depart("tool_id_missing", f"call {self.index} has no id")
            if self.kind != "function_call":
                self.id = journal.make_id()
        self.announced = True
        started = ToolCallStarted(
            self.index,
            self.id,
            self.name,
            choice=self._choice,
            part=self._part,
            kind=self.kind,
        )
        journal.updates.append(started)
        if arguments := self.arguments:
            journal.updates.append(ToolArgumentsDelta(self.index, arguments, self._choice))

    def spoil(self, problem: Finding) -> None:
        """Let it never be run; the first reason counts."""
        self.problem = self.problem or problem

    def finish(
        self,
        problem: Finding | None,
        *,
        cut: bool,
        loads: Callable[[str], Any],
        validate: Callable[[str, Any], object] | None,
    ) -> ToolCall:
        """Return the call, and whether it may be run.

        Args:
            problem: Why none may.
            cut: Whether the answer didn't end by itself. Arguments that are one closed object are
                whole even then; an empty text or the input of a custom tool proves nothing.
            loads: What reads the arguments for `validate`.
            validate: The caller's own check.
        """
        problem = problem or self.problem or self._judge(cut, loads, validate)
        return ToolCall(
            self.id,
            self.name,
            self.arguments,
            index=self.index,
            kind=self.kind,
            complete=problem is None,
            problem=problem,
        )

    def _judge(
        self,
        cut: bool,  # noqa: FBT001 - as in `finish`
        loads: Callable[[str], Any],
        validate: Callable[[str, Any], object] | None,
    ) -> Finding | None:
        if self.doubt is not None and not self.arguments.strip():
            return self.doubt
        if cut and not self.closed and (self.kind == "custom" or not self.arguments.strip()):
            return Finding("truncated_call", "the answer was cut off before it was whole")
        arguments: Any = self.arguments
        if self.kind != "custom":
            try:
                arguments = read_arguments(self.arguments, loads)
            except BadArguments as error:
                return Finding("truncated_call" if cut else error.code, str(error))
        return refused(self.name, arguments, validate)


class ChoiceDraft:
    """One answer, as far as it came.

    Attributes:
        index: Its number in the stream.
        parts: In the order in which they began.
        calls: Those of the parts that are calls.
        finish_reason: The last one that was given.
        reasons: All of them, each once.
        extra: What else came for it.
    """

    def __init__(self, index: int, journal: Journal) -> None:
        journal.count("max_choices")
        self.index = index
        self.parts: list[TextDraft | CallDraft] = []
        self.calls: list[CallDraft] = []
        self.finish_reason: str | None = None
        self.reasons: list[str] = []
        self.extra: dict[str, Any] = {}
        self._journal = journal

    def open(self, kind: Kind) -> TextDraft:
        """Begin a text."""
        draft = TextDraft(kind, self.index, len(self.parts))
        self.parts.append(draft)
        return draft

    def add(self, kind: Kind, text: str) -> None:
        """Add text that nothing places: to the last part if that is of its kind, or a new one."""
        if not text:
            return
        last = self.parts[-1] if self.parts else None
        if not isinstance(last, TextDraft) or last.kind is not kind:
            self._journal.count("max_items")
            last = self.open(kind)
        last.add(text, self._journal)

    def open_call(self, kind: str = "function") -> CallDraft:
        """Begin a call."""
        self._journal.count("max_calls")
        draft = CallDraft(self.index, len(self.parts), len(self.calls), kind)
        self.parts.append(draft)
        self.calls.append(draft)
        return draft

    def announce_all(self) -> None:
        """Tell of the calls that still wait for an id or a name."""
        for call in self.calls:
            call.announce(self._journal, at_last=True)

    def finish(self, reason: str) -> None:
        """Take a finish reason; the last one counts, for some servers send one in each chunk."""
        if reason == self.finish_reason:
            return
        self.announce_all()
        self.finish_reason = reason
        if reason not in self.reasons:
            self.reasons.append(reason)
        self._journal.updates.append(Finished(reason, self.index))
