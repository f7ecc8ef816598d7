"""What the stream of a language model comes to, and what is odd in it, as plain facts."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from .._events import Event
from ..llm import (
    AnyAssembler,
    AssemblyError,
    Finding,
    Finished,
    IncompleteStream,
    LimitExceeded,
    ProviderError,
)
from ..llm._json import as_int, as_object, as_objects, as_text, is_object
from ._bounds import MAX_JSON_CHARACTERS, MAX_NAME_CHARACTERS, Sample
from ._dialects import recognise

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .._events import Item
    from ..llm import Completion

__all__ = ["Answer", "AnswerReader", "Departure", "FinishReason", "InvalidCall", "UsagePlace"]

# Behind an error, the events that may still tell the dialect.
_MAX_UNDECIDED = 100

# Why no call may be run where the end was not seen.
_UNREAD = Finding("not_read", "not all of the stream was read")

# Of the words for how an answer ended: the model chose to.
_NATURAL = ("stop", "tool_calls")


class FinishReason(NamedTuple):
    """Why an answer ended, and in which event the provider said so."""

    event: int
    choice: int
    reason: str


@dataclass
class InvalidCall:
    """A call that must not be run: the answer and the place that it is in, and why."""

    choice: int
    index: int
    name: str
    problem: Finding


@dataclass
class UsagePlace:
    """A place of a payload that holds usage: in how many events, the first and the last one."""

    name: str
    first: int
    last: int = 0
    count: int = 0


@dataclass
class Departure:
    """A departure from the dialect that a tolerant reader takes: its events, None for the end.

    An assembler says the first ten of a code.
    """

    code: str
    message: str
    events: list[int | None] = field(default_factory=list[int | None])


@dataclass
class Answer:
    """The facts about one answer. Numbers are those of events, from 1."""

    dialect: str | None = None
    # None if it can't be known: not all of the stream was read.
    complete: bool | None = None
    error: AssemblyError | None = None
    # How each choice ended, in the words for all providers, and how many calls there are.
    endings: list[str] = field(default_factory=list[str])
    calls: int = 0
    invalid_calls: Sample[InvalidCall] = field(default_factory=Sample[InvalidCall])
    finish_reasons: Sample[FinishReason] = field(default_factory=Sample[FinishReason])
    # Events that hold a JSON object.
    payloads: int = 0
    usage: dict[str, UsagePlace] = field(default_factory=dict[str, UsagePlace])
    empty_choices: Sample[int] = field(default_factory=Sample[int])
    repeated_roles: Sample[int] = field(default_factory=Sample[int])
    departures: list[Departure] = field(default_factory=list[Departure])

    @property
    def losses(self) -> list[str]:
        """What means that data is lost or damaged: the names that the JSON output uses.

        A limit, a filter or a refusal that ends an answer is none, nor is an odd way to say things
        that can be read.
        """
        found = {
            "provider_error": isinstance(self.error, ProviderError),
            "incomplete_answer": isinstance(self.error, IncompleteStream)
            or (self.error is None and "error" in self.endings),
            "damaged_answer": self.damaged,
            "invalid_calls": self.invalid_calls.count > 0,
        }
        return [name for name, is_so in found.items() if is_so]

    @property
    def damaged(self) -> bool:
        """Whether something of the answer came, or was announced, and can't be read."""
        if self.error is not None:
            return not isinstance(self.error, (ProviderError, IncompleteStream, LimitExceeded))
        natural = all(ending in _NATURAL for ending in self.endings)
        return self.complete is False and natural and not self.invalid_calls.count


class AnswerReader:
    """Looks at the items of a stream as an assembler reads them.

    It stops where the assembler does: at an error, which is part of the answer.
    """

    def __init__(self) -> None:
        self._answer = Answer()
        self._assembler = AnyAssembler(loads=self._loads)
        self._events = 0
        # What was parsed last: several ask for the same. The very same: what an assembler took of
        # an equal text it may have changed.
        self._text: str | None = None
        self._value: Any = None
        # Choices that have named their role.
        self._roles: set[int] = set()

    def take(self, item: Item) -> None:
        """Take the next item of the stream."""
        answer = self._answer
        self._events += isinstance(item, Event)
        if answer.error is not None:
            if answer.dialect is None and self._events <= _MAX_UNDECIDED:
                answer.dialect = recognise(item, self._loads)
            return
        try:
            if isinstance(item, Event):
                self._look_at(item)
            for update in self._assembler.feed(item):
                if isinstance(update, Finished):
                    reason = update.reason[:MAX_NAME_CHARACTERS]
                    case = FinishReason(self._events, update.choice, reason)
                    answer.finish_reasons.add(case)
        except AssemblyError as error:
            answer.error = error
        answer.dialect = self._assembler.dialect

    def finish(self, *, truncated: bool, whole: bool) -> Answer | None:
        """End the stream.

        Args:
            truncated: Whether it ended within a block.
            whole: Whether it was read to its end.

        Returns:
            The facts; None if this is no stream of a language model.
        """
        answer = self._answer
        if answer.dialect is None and not _is_plain(answer.error):
            return None
        completion: Completion | None = None
        if whole and answer.error is None:
            try:
                completion = self._assembler.finish(truncated=truncated)
            except AssemblyError as error:
                answer.error = error
        reason = answer.error
        known = completion is not None or (
            reason is not None and not isinstance(reason, LimitExceeded)
        )
        completion = completion or (reason and reason.partial) or self._assembler.partial(_UNREAD)
        _judge(answer, completion, known=known)
        return answer

    def _loads(self, text: str) -> Any:
        if text is not self._text:
            self._value = json.loads(text)
            self._text = text
        return self._value

    def _look_at(self, event: Event) -> None:
        """Note what is legal, and odd or good to know."""
        answer = self._answer
        if len(event.data) > MAX_JSON_CHARACTERS:
            error = LimitExceeded("max_json_characters", MAX_JSON_CHARACTERS)
            error.event = self._events
            raise error
        try:
            payload = self._loads(event.data)
        except (ValueError, RecursionError):
            return
        if not is_object(payload):
            return
        answer.payloads += 1
        if payload.get("choices") == []:
            answer.empty_choices.add(self._events)
        if self._repeats_role(payload):
            answer.repeated_roles.add(self._events)
        for name in _usage_places(payload):
            place = answer.usage.setdefault(name, UsagePlace(name, self._events))
            place.last = self._events
            place.count += 1

    def _repeats_role(self, payload: dict[str, Any]) -> bool:
        named = [
            as_int(choice.get("index")) or 0
            for choice in as_objects(payload.get("choices"))
            if as_text(as_object(choice.get("delta")).get("role"))
        ]
        repeats = not self._roles.isdisjoint(named)
        self._roles.update(named)
        return repeats


def _usage_places(payload: dict[str, Any]) -> Iterator[str]:
    """Yield where there is usage in a payload of any dialect."""
    if as_object(payload.get("usage")):
        yield "usage"
    for name in ("x_groq", "response", "message"):
        if as_object(as_object(payload.get(name)).get("usage")):
            yield f"{name}.usage"
    if any(as_object(choice.get("usage")) for choice in as_objects(payload.get("choices"))):
        yield "choices[].usage"
    if as_object(payload.get("usageMetadata")):
        yield "usageMetadata"


def _is_plain(error: AssemblyError | None) -> bool:
    """Whether this is the error of a provider, in whatever dialect.

    Any stream may have events of type `error`, with anything in them.
    """
    return isinstance(error, ProviderError) and bool(as_text(as_object(error.raw).get("message")))


def _judge(answer: Answer, completion: Completion, *, known: bool) -> None:
    """Take the result.

    Args:
        answer: The facts so far.
        completion: What the assembler made of them.
        known: Whether it was read as far as there is something to read.
    """
    departures: dict[str, Departure] = {}
    for code, message, event in completion.findings:
        departure = departures.setdefault(code, Departure(code, message))
        departure.events.append(event)
    answer.departures = list(departures.values())
    answer.endings = [choice.ending for choice in completion.choices if choice.ending]
    calls = [(choice.index, call) for choice in completion.choices for call in choice.tool_calls]
    answer.calls = len(calls)
    if not known:
        return
    answer.complete = completion.complete
    for choice, call in calls:
        if call.problem is not None:
            name = call.name[:MAX_NAME_CHARACTERS]
            answer.invalid_calls.add(InvalidCall(choice, call.index, name, call.problem))
