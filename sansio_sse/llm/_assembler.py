"""What the assemblers of all dialects have in common: events in, updates and a completion out."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from contextlib import suppress
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NoReturn, cast

from .._checks import check_bool, check_callable
from .._errors import LocalProtocolError
from .._events import Comment, Event, Item, Retry, UnknownField
from ._completion import Choice, Completion, Finding, Usage, invalid
from ._drafts import CallDraft, ChoiceDraft
from ._errors import AssemblyError, IncompleteStream, InvalidPayload
from ._journal import Journal
from ._json import as_object, as_objects, as_text, load
from ._limits import Limits
from ._merge import plain
from ._provider import find_error, read_error, read_error_body

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from ._updates import Update

__all__ = ["Assembler"]

_DEFAULT_LIMITS: Final = Limits()

# Sent to keep a connection alive, also behind the end.
_KEEPALIVES = frozenset({"ping", "keepalive", "response.keep_alive"})

# Of a body that is no event stream, or of data that is not JSON.
_MAX_HEAD_CHARACTERS = 64 * 1024
_SHOWN_CHARACTERS = 200

# Endings that the model chose, and behind which an answer is whole.
_NATURAL = frozenset({"stop", "tool_calls"})


class Assembler(ABC):
    """Makes one complete, checked answer of the stream of a provider; each dialect has its own.

    Tolerant (the default), it takes every legal stream and every known quirk that can be read in
    one safe way, and lists what it tolerated in `Completion.findings`. Strict, it raises at the
    first departure from what the dialect's own documentation allows.

    Args:
        strict: Which of the two.
        limits: What bounds the answer, in both.
        loads: What parses the payloads (`orjson.loads`, for instance).
        validate: Your own check of each call, called with its name and parsed arguments when the
            stream has ended. It refuses by raising, or by returning False: the call is not complete
            then, and strictly that is an error.
        known_tools: The names of your tools. A call of another one is a departure.
        seen_call_ids: Ids of the calls of earlier rounds. A call that has one of them is a
            departure: to run it might be to run that one again.

    Raises:
        LocalProtocolError: An argument is not what it should be.
    """

    _ENDINGS: Mapping[str, str] = MappingProxyType({})
    # Whether a finish reason of the dialect says that there are calls.
    _REASONS_TELL_CALLS = True
    # What an event behind the end of the stream is called.
    _LATE = "event_after_terminal"

    def __init__(
        self,
        *,
        strict: bool = False,
        limits: Limits = _DEFAULT_LIMITS,
        loads: Callable[[str], Any] = json.loads,
        validate: Callable[[str, Any], object] | None = None,
        known_tools: Collection[str] | None = None,
        seen_call_ids: Collection[str] = (),
    ) -> None:
        for name, names in (("known_tools", known_tools), ("seen_call_ids", seen_call_ids)):
            # A text is a collection of texts too.
            if isinstance(names, str):
                raise LocalProtocolError(f"{name} is a str: pass a collection of them")
        if not isinstance(cast("object", limits), Limits):
            raise LocalProtocolError(f"limits is of type {type(limits).__name__}: pass Limits(...)")
        self._journal = Journal(
            strict=check_bool("strict", strict),
            limits=limits,
            known_tools=known_tools,
            seen_call_ids=seen_call_ids,
        )
        self._loads = check_callable("loads", loads)
        self._validate = validate if validate is None else check_callable("validate", validate)
        self._choices: dict[int, ChoiceDraft] = {}
        self._id = ""
        self._model = ""
        self._usage: dict[str, Any] = {}
        self._extra: dict[str, Any] = {}
        self._payloads = 0
        self._done = False
        # Lines that are no fields, from which a body that is no event stream can be told.
        self._head: list[str] = []
        self._head_size = 0
        self._completion: Completion | None = None
        self._error: AssemblyError | None = None
        self._begin()

    @property
    def done(self) -> bool:
        """Whether the stream said that it ends: nothing more is needed, the caller may close it."""
        return self._done

    def feed(self, item: Item) -> list[Update]:
        """Take the next item of the stream, and return what it adds to the answer.

        Args:
            item: What a parser returned. Events matter; of the fields that `feed_items` returns,
                one named `error`.

        Raises:
            ProviderError: The provider reported an error.
            InvalidPayload: The event can't be read in one safe way; strictly, it departs from the
                dialect.
            InvalidToolCall: Strictly, a call can never be run.
            LimitExceeded: It was more than `limits` allow.
            LocalProtocolError: The stream was finished already.
            TypeError: It is no item of an event stream.

        After an error every call raises it again.
        """
        if self._error is not None:
            raise self._error
        if self._completion is not None:
            raise LocalProtocolError("feed() after finish(): a new stream needs a new assembler")
        try:
            match item:
                case Event():
                    self._take_event(item)
                case UnknownField():
                    self._take_field(item)
                case Comment() | Retry():
                    pass
                case _:
                    raise TypeError(
                        f"feed() takes what a parser returns, not {type(item).__name__}"
                    )
        except AssemblyError as error:
            self._fail(error)
        updates = self._journal.updates
        self._journal.updates = []
        return updates

    def finish(self, *, truncated: bool = False) -> Completion:
        """End the stream, check it, and return the answer.

        Args:
            truncated: Whether the transport ended within a block (`EventStreamParser.pending`), or
                by a fault.

        Raises:
            IncompleteStream: It ended before the answer did.
            ProviderError: The provider answered with something that is no event stream.
            InvalidPayload, InvalidToolCall: Strictly, what is there does not fit together.

        A second call returns, or raises, the same.
        """
        if self._error is not None:
            raise self._error
        if self._completion is None:
            self._journal.event = None
            try:
                self._completion = self._finish(check_bool("truncated", truncated))
            except AssemblyError as error:
                self._fail(error)
        return self._completion

    def partial(self, problem: Finding | None = None) -> Completion:
        """Return what arrived so far: not complete, and none of its calls may be run.

        For whoever gives a stream up: a timeout, a user who has seen enough.

        Args:
            problem: Why, for the calls; by default that the stream was not finished.
        """
        return self._complete(problem or Finding("unfinished", "the stream was not finished"))

    def _take_event(self, event: Event) -> None:
        journal = self._journal
        journal.count("max_events")
        journal.count("max_data_characters", len(event.data))
        journal.event = (journal.event or 0) + 1
        data = event.data.strip()
        if not data and event.type != "error":
            return
        if self._done:
            kinds = {event.type, as_text(self._read_line(data).get("type"))}
            if not kinds & _KEEPALIVES:
                journal.depart(self._LATE, f"{event.data[:_SHOWN_CHARACTERS]!r} behind the end")
            return
        if data == "[DONE]":
            if event.data != data:
                journal.note("done_not_exact", f"the end is marked by {event.data!r}")
            self._end()
            return
        for payload, part in self._read_payloads(event):
            self._payloads += 1
            error = find_error(payload, part.type)
            if error is None:
                self._read(payload, part)
                continue
            # What else the payload holds is of use in the partial answer, and no more than that.
            with suppress(AssemblyError):
                self._read(payload, part)
            raise error

    def _take_field(self, field: UnknownField) -> None:
        if field.name == "error":
            # Builds of llama.cpp report their errors in a field of their own.
            try:
                value = load(field.value, self._loads)
            # Each parser has errors of its own.
            except Exception:
                value = field.value
            raise read_error(value)
        if not self._payloads and self._head_size < _MAX_HEAD_CHARACTERS:
            line = f"{field.name}:{field.value}" if field.value else field.name
            self._head.append(line[:_MAX_HEAD_CHARACTERS])
            self._head_size += len(line)

    def _read_payloads(self, event: Event) -> list[tuple[dict[str, Any], Event]]:
        """Return the payload of an event, with it.

        Several if a server forgot the blank lines between events, each with an event of its own.
        """
        try:
            value = load(event.data, self._loads)
        except Exception as error:
            if event.type == "error":
                raise read_error(event.data) from error
            return self._recover_payloads(event, error)
        if isinstance(value, dict):
            return [(cast("dict[str, Any]", value), event)]
        # Google's servers put errors in an array.
        for first in as_objects(value)[:1]:
            if (reported := find_error(first, event.type)) is not None:
                raise reported
        if event.type == "error":
            raise read_error(value)
        shown = event.data[:_SHOWN_CHARACTERS]
        self._journal.depart("payload_not_object", f"the data of an event is {shown}")
        return []

    def _recover_payloads(
        self, event: Event, error: Exception
    ) -> list[tuple[dict[str, Any], Event]]:
        data = event.data
        reason = str(error)[:_SHOWN_CHARACTERS]
        message = f"data is not JSON ({reason}): {data[:_SHOWN_CHARACTERS]!r}"
        if data.startswith(":"):
            # A proxy made data of a comment.
            self._journal.depart("invalid_json", message)
            return []
        lines = data.split("\n")
        if len(lines) > 1 and not self._journal.strict:
            values = [self._read_line(line) for line in lines]
            if (reported := find_error(values[-1], event.type)) is not None:
                # A server cut an event off, and reported why in the same block.
                raise reported
            if all(values):
                self._journal.note("invalid_json", message)
                return [
                    (value, event._replace(data=line))
                    for value, line in zip(values, lines, strict=True)
                ]
        raise InvalidPayload(message, "invalid_json")

    def _read_line(self, line: str) -> dict[str, Any]:
        try:
            return as_object(load(line, self._loads))
        # Each parser has errors of its own.
        except Exception:
            return {}

    def _finish(self, truncated: bool) -> Completion:  # noqa: FBT001 - as in `finish`
        journal = self._journal
        if not self._payloads:
            head = "\n".join(self._head)
            if head.lstrip().startswith(("{", "[", "<")):
                raise read_error_body(head, loads=self._loads)
            raise IncompleteStream("the stream has no event with a payload", "empty_stream")
        if truncated and not self._done:
            if not self._ended():
                raise IncompleteStream("the stream was cut off", "truncated")
            journal.depart(
                "truncated", "the stream was cut off behind the answer", IncompleteStream
            )
        self._check_end()
        for draft in self._choices.values():
            draft.announce_all()
            self._check_reason(draft)
        completion = self._complete(None)
        for choice in completion.choices if journal.strict else ():
            for call in choice.tool_calls:
                if call.problem is not None:
                    raise invalid(call, call.problem)
        return completion

    def _check_reason(self, draft: ChoiceDraft) -> None:
        """Depart if the finish reason does not fit to what came."""
        ending = self._ENDINGS.get(draft.finish_reason or "")
        if self._REASONS_TELL_CALLS and ending in _NATURAL:
            calls = len(draft.calls)
            if (ending == "tool_calls") != (calls > 0):
                message = (
                    f"the finish reason is {draft.finish_reason!r}, and there are {calls} calls"
                )
                self._journal.depart("finish_mismatch", message)

    def _fail(self, error: AssemblyError) -> NoReturn:
        if error.event is None:
            error.event = self._journal.event or None
        error.partial = self._complete(Finding(error.code, error.message, error.event))
        self._error = error
        self._journal.updates.clear()
        raise error

    def _complete(self, problem: Finding | None) -> Completion:
        """Return what is there; with a problem, none of its calls may be run."""
        problem = problem or self._journal.lost
        messages = self._messages()
        choices = tuple(
            self._complete_choice(draft, messages.get(index), problem)
            for index, draft in sorted(self._choices.items())
        )
        complete = problem is None and all(
            choice.ending in _NATURAL
            and all(call.complete for call in choice.tool_calls)
            # Calls that were announced and never came are lost.
            and (choice.ending != "tool_calls" or choice.tool_calls)
            for choice in choices
        )
        return Completion(
            id=self._id or None,
            model=self._model or None,
            choices=choices,
            usage=self._normalised_usage() if self._usage else None,
            complete=complete and bool(choices),
            extra=plain(self._extra),
            findings=tuple(self._journal.findings),
        )

    def _complete_choice(self, draft: ChoiceDraft, message: Any, problem: Finding | None) -> Choice:
        reason = draft.finish_reason
        ending = None if reason is None else self._ENDINGS.get(reason, "other")
        # A reason that cut the answer is not taken back by another one.
        cuts = [self._ENDINGS.get(each, "other") for each in draft.reasons]
        ending = next((each for each in cuts if each not in _NATURAL), ending)
        cut = ending not in _NATURAL
        parts = tuple(
            part.finish(problem, cut=cut, loads=self._loads, validate=self._validate)
            if isinstance(part, CallDraft)
            else part.part()
            for part in draft.parts
        )
        return Choice(
            index=draft.index,
            parts=parts,
            finish_reason=reason,
            ending="tool_calls" if draft.calls and ending == "stop" else ending,
            message=message,
            extra=plain(draft.extra),
        )

    def _choice(self, index: int) -> ChoiceDraft:
        """Return the answer of that number, which begins with what is asked for first."""
        draft = self._choices.get(index)
        if draft is None:
            draft = self._choices[index] = ChoiceDraft(index, self._journal)
        return draft

    def _ended(self) -> bool:
        """Whether the provider said of each answer why it ends."""
        return bool(self._choices) and all(
            draft.finish_reason is not None for draft in self._choices.values()
        )

    def _end(self) -> None:
        """Take the end of the stream, as the stream itself says it."""
        self._done = True
        for draft in self._choices.values():
            draft.announce_all()

    def _check_end(self) -> None:
        """Raise if the stream ended before the answer did."""
        if not self._ended():
            raise IncompleteStream(
                "the stream ended without a finish reason", "missing_finish_reason"
            )

    @abstractmethod
    def _begin(self) -> None:
        """Set the state of the dialect."""

    @abstractmethod
    def _read(self, payload: dict[str, Any], event: Event) -> None:
        """Take one payload."""

    @abstractmethod
    def _messages(self) -> dict[int, Any]:
        """Return what the next request must carry of each answer, by its index."""

    @abstractmethod
    def _normalised_usage(self) -> Usage:
        """Return the usage in the numbers of all providers."""
