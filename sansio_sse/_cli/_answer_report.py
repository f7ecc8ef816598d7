"""What there is to say about an answer, as text to read."""

from __future__ import annotations

from types import MappingProxyType, NoneType
from typing import TYPE_CHECKING

from ..llm import IncompleteStream, LimitExceeded, ProviderError
from ._dialects import TITLES
from ._entries import Entry, events, listed, loss, plural, quoted, said

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..llm import AssemblyError
    from ._answer import Answer, Departure, InvalidCall, UsagePlace
    from ._terminal import Terminal

__all__ = ["answer_entries"]

# What else than the model ends an answer.
_ENDINGS = MappingProxyType(
    {
        "length": "a limit of its length",
        "content_filter": "a content filter",
        "refusal": "a refusal",
        "pause": "a pause",
        "error": "an error",
        "other": "a reason that is not known here",
    }
)


def answer_entries(answer: Answer, terminal: Terminal) -> Iterator[Entry]:
    """Yield what there is to say about an answer, the most important first."""
    if answer.dialect is not None:
        yield Entry("dialect", f"{answer.dialect} ({TITLES[answer.dialect]})")
    if answer.error is not None:
        yield _error(answer.error, terminal)
    elif answer.complete is not None:
        yield _ending(answer)
    invalid = answer.invalid_calls
    if invalid.count:
        calls = [_call(call, answer.error, terminal) for call in invalid.first]
        text = f"{invalid.count} of {answer.calls} must not be run: {listed(calls, invalid.count)}"
        yield loss("invalid calls", text)
    if answer.dialect is not None:
        yield from _places(answer, terminal)
    for departure in answer.departures:
        yield Entry("departure", _departure(departure, terminal), "notice")


def _error(error: AssemblyError, terminal: Terminal) -> Entry:
    message = said(error.message, terminal)
    if error.event is not None:
        message = f"event {error.event}: {message}"
    match error:
        case ProviderError():
            details = [f"type {quoted(error.type, terminal)}"] if error.type else []
            code = error.provider_code
            if code is not None and code not in (error.type, error.status):
                details.append(f"code {quoted(str(code), terminal)}")
            details += [f"status {error.status}"] if error.status else []
            details.append("retryable" if error.retryable else "not retryable")
            return loss("provider error", f"{message} ({', '.join(details)})")
        case IncompleteStream():
            return loss("answer", f"incomplete: {message} ({error.code})")
        case LimitExceeded():
            return Entry("answer", f"not judged: {message}", "notice")
        case _:
            return loss("answer", f"can't be read: {message} ({error.code})")


def _ending(answer: Answer) -> Entry:
    if answer.complete:
        calls = f", {plural(answer.calls, 'call')}" if answer.calls else ""
        return Entry("answer", f"complete{calls}")
    if answer.damaged:
        return loss("answer", "damaged: something of it came, or was announced, and can't be read")
    words = [_ENDINGS[ending] for ending in dict.fromkeys(answer.endings) if ending in _ENDINGS]
    text = f"not complete: ended by {listed(words, len(words))}" if words else "not complete"
    return loss("answer", text) if "error" in answer.endings else Entry("answer", text, "notice")


def _call(call: InvalidCall, error: AssemblyError | None, terminal: Terminal) -> str:
    """Return the name of the call, and why it is invalid, unless that is the error."""
    name = quoted(call.name, terminal)
    if error is not None:
        return name
    return f"{name} ({said(call.problem.message, terminal)})"


def _places(answer: Answer, terminal: Terminal) -> Iterator[Entry]:
    """Yield where things are that have a place of their own with each provider."""
    ended = answer.complete is not None and isinstance(answer.error, (IncompleteStream, NoneType))
    reasons = answer.finish_reasons
    if reasons.count:
        cases = [
            f"{quoted(reason, terminal)} in event {event}" for event, _, reason in reasons.first
        ]
        yield Entry("finish reason", listed(cases, reasons.count))
    elif ended:
        yield Entry("finish reason", "did not come")
    if answer.usage:
        places = [_usage(place, answer.payloads) for place in answer.usage.values()]
        yield Entry("usage", "; ".join(places))
    elif ended:
        yield Entry("usage", "did not come")
    for label, found in (
        ("empty choices", answer.empty_choices),
        ("role repeated", answer.repeated_roles),
    ):
        if found.count:
            yield Entry(label, events(found.first, found.count))


def _usage(place: UsagePlace, payloads: int) -> str:
    if place.count == 1:
        return f"event {place.first} ({place.name})"
    which = "every event" if place.count == payloads else f"{place.count} events"
    return f"{which}, {place.first} to {place.last} ({place.name})"


def _departure(departure: Departure, terminal: Terminal) -> str:
    numbers = list(dict.fromkeys(event for event in departure.events if event is not None))
    where = f" ({events(numbers, len(numbers))})" if numbers else ""
    return f"{departure.code}: {said(departure.message, terminal)}{where}"
