"""The complete answer: what an assembler gives out when the stream has ended and been checked."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from ._errors import InvalidToolCall
from ._json import BadArguments, read_arguments
from ._value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = [
    "Choice",
    "Completion",
    "Finding",
    "Part",
    "ReasoningPart",
    "RefusalPart",
    "TextPart",
    "ToolCall",
    "Usage",
    "invalid",
    "refused",
]


class Finding(NamedTuple):
    """A departure from the dialect that was tolerated, or what is wrong with a call.

    Attributes:
        code: A stable word: the one that a strict assembler raises it with. docs/quirks.md lists
            them.
        message: What happened.
        event: The number of the event that showed it, from 1; None if it was the end of the stream.
    """

    code: str
    message: str
    event: int | None = None


class Usage(NamedTuple):
    """How many tokens it took, in the same numbers for every provider. 0 where nothing was said.

    Attributes:
        input: Tokens of the request, those from a cache included.
        output: Tokens of the answer, those of the reasoning included where the provider says so.
        total: As the provider reports it, else the sum.
        cached: Tokens of the request that came from a cache.
        reasoning: Tokens of the reasoning.
        raw: What the provider sent.
    """

    input: int
    output: int
    total: int
    cached: int
    reasoning: int
    raw: Mapping[str, Any]


class ToolCall(Value):
    """One call of a tool of yours.

    Attributes:
        id: The id to answer it with; one that the assembler made up if the server sent none.
        name: The tool.
        arguments: The text of the arguments, exactly as streamed. Where the server sends an object,
            that object as compact JSON.
        index: The place in `Choice.tool_calls`; the same as in the updates.
        kind: "function"; "custom" for a tool whose input is plain text; "function_call" for the
            legacy form of Chat Completions, which has no id.
        complete: Whether it may be run: the answer ended, the arguments are whole and valid, and
            the caller's own check let them pass.
        problem: Why it may not be run; None if it may.
    """

    __match_args__ = ("id", "name", "arguments", "index", "kind", "complete", "problem")
    id: str
    name: str
    arguments: str
    index: int
    kind: str
    complete: bool
    problem: Finding | None

    def __init__(
        self,
        id: str,
        name: str,
        arguments: str,
        *,
        index: int,
        kind: str,
        complete: bool,
        problem: Finding | None = None,
    ) -> None:
        self.__dict__.update(
            id=id,
            name=name,
            arguments=arguments,
            index=index,
            kind=kind,
            complete=complete,
            problem=problem,
        )

    def parse(
        self,
        loads: Callable[[str], Any] = json.loads,
        *,
        validate: Callable[[str, Any], object] | None = None,
    ) -> Any:
        """Return the arguments: an object as a dict, or the plain text of a custom tool.

        An empty text is an empty object: so it is sent for tools that take no arguments.

        Args:
            loads: What makes the values (`orjson.loads`, for instance). The text is checked before.
            validate: Your own check, called with name and arguments. It refuses by raising, or by
                returning False.

        Raises:
            InvalidToolCall: The call is not complete; its arguments are not exactly one JSON
                object, or hold a key twice, NaN or an infinity; or `validate` refused them.
        """
        if self.problem is not None:
            raise invalid(self, self.problem)
        if self.kind == "custom":
            value: Any = self.arguments
        else:
            try:
                value = read_arguments(self.arguments, loads)
            except BadArguments as error:
                raise invalid(self, Finding(error.code, str(error))) from error
        problem = refused(self.name, value, validate)
        if problem is not None:
            raise invalid(self, problem)
        return value


def refused(
    name: str, arguments: Any, validate: Callable[[str, Any], object] | None
) -> Finding | None:
    """Return why the caller's own check refuses a call; None if it doesn't."""
    if validate is None:
        return None
    try:
        verdict = validate(name, arguments)
    # Whatever the caller's check raises is its refusal: schema libraries have errors of their own.
    except Exception as error:
        return Finding("arguments_refused", str(error) or type(error).__name__)
    return Finding("arguments_refused", "refused by validate") if verdict is False else None


def invalid(call: ToolCall, problem: Finding) -> InvalidToolCall:
    """Return the error for a call that must not be run."""
    error = InvalidToolCall(f"call {call.id!r} of {call.name!r}: {problem.message}", problem.code)
    error.call = call
    error.event = problem.event
    return error


class TextPart(Value):
    """Text of an answer that stands together."""

    __match_args__ = ("text",)
    text: str

    def __init__(self, text: str) -> None:
        self.__dict__.update(text=text)


class ReasoningPart(Value):
    """Reasoning that stands together, or a summary of it."""

    __match_args__ = ("text", "summary")
    text: str
    summary: bool

    def __init__(self, text: str, *, summary: bool = False) -> None:
        self.__dict__.update(text=text, summary=summary)


class RefusalPart(Value):
    """What the model said in place of an answer."""

    __match_args__ = ("text",)
    text: str

    def __init__(self, text: str) -> None:
        self.__dict__.update(text=text)


Part = TextPart | ReasoningPart | RefusalPart | ToolCall
"""What an answer is made of."""


class Choice(Value):
    """One answer; most streams have one.

    Attributes:
        index: Its number in the stream, from 0.
        parts: Text, reasoning, refusals and calls in the order in which they began.
        finish_reason: Why it ended, as the provider spells it; None if the provider never said.
        ending: The same in the same words for every provider: "stop", "tool_calls" (there are
            calls, whatever the provider called it), "length", "content_filter", "refusal", "pause",
            "error" or "other"; None if the provider never said.
        message: What the next request must carry of it: an assistant message; for Responses a list
            of output items, for generateContent a content object. None if there is nothing.
        extra: What else came: annotations, logprobs, audio, fields that this version doesn't know.
    """

    __match_args__ = ("index", "parts", "finish_reason", "ending", "message", "extra")
    index: int
    parts: tuple[Part, ...]
    finish_reason: str | None
    ending: str | None
    message: Any
    extra: Mapping[str, Any]

    def __init__(
        self,
        *,
        index: int,
        parts: tuple[Part, ...],
        finish_reason: str | None,
        ending: str | None,
        message: Any,
        extra: Mapping[str, Any],
    ) -> None:
        self.__dict__.update(
            index=index,
            parts=parts,
            finish_reason=finish_reason,
            ending=ending,
            message=message,
            extra=extra,
        )

    @property
    def text(self) -> str:
        """The text; empty if there was none."""
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))

    @property
    def reasoning(self) -> str:
        """The reasoning and its summaries; empty if there was none."""
        return "".join(part.text for part in self.parts if isinstance(part, ReasoningPart))

    @property
    def refusal(self) -> str:
        """What the model said in place of an answer; empty if it didn't."""
        return "".join(part.text for part in self.parts if isinstance(part, RefusalPart))

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The calls, in the order in which they began: each at its `index`."""
        return tuple(part for part in self.parts if isinstance(part, ToolCall))


class Completion(Value):
    """What a stream said, from its first event to its last.

    Attributes:
        id: The provider's id of the response.
        model: The model, as the provider names it.
        choices: The answers, by index. Never two of the same index, and none if there was none.
        usage: How many tokens it took; None if the provider didn't say.
        complete: Whether every answer ended by itself, and each call of it may be run. False for
            one that a limit, a filter, a refusal or a pause ended, and for `partial` of an error.
        extra: What else the response said, as the provider sent it.
        findings: Departures from the dialect that were tolerated: the first ten of a code.
    """

    __match_args__ = ("id", "model", "choices", "usage", "complete", "extra", "findings")
    id: str | None
    model: str | None
    choices: tuple[Choice, ...]
    usage: Usage | None
    complete: bool
    extra: Mapping[str, Any]
    findings: tuple[Finding, ...]

    def __init__(
        self,
        *,
        id: str | None,
        model: str | None,
        choices: tuple[Choice, ...],
        usage: Usage | None,
        complete: bool,
        extra: Mapping[str, Any],
        findings: tuple[Finding, ...],
    ) -> None:
        self.__dict__.update(
            id=id,
            model=model,
            choices=choices,
            usage=usage,
            complete=complete,
            extra=extra,
            findings=findings,
        )

    @property
    def _first(self) -> Choice:
        if self.choices and self.choices[0].index == 0:
            return self.choices[0]
        return Choice(index=0, parts=(), finish_reason=None, ending=None, message=None, extra={})

    @property
    def text(self) -> str:
        """The text of choice 0; empty if there was none."""
        return self._first.text

    @property
    def reasoning(self) -> str:
        """The reasoning of choice 0 and its summaries; empty if there was none."""
        return self._first.reasoning

    @property
    def refusal(self) -> str:
        """What the model said in place of an answer, in choice 0; empty if it didn't."""
        return self._first.refusal

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The calls of choice 0, each at its `index`."""
        return self._first.tool_calls

    @property
    def finish_reason(self) -> str | None:
        """Why choice 0 ended, as the provider spells it; None if it never said."""
        return self._first.finish_reason

    @property
    def message(self) -> Any:
        """What the next request must carry of choice 0; None if there is none."""
        return self._first.message
