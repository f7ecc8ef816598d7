"""What an assembler returns while the stream goes on: pieces to show, never to act on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._value import Value

if TYPE_CHECKING:
    from ._completion import Usage

__all__ = [
    "Finished",
    "ReasoningDelta",
    "RefusalDelta",
    "TextDelta",
    "ToolArgumentsDelta",
    "ToolCallStarted",
    "Update",
    "UsageUpdate",
]


class TextDelta(Value):
    """A piece of the text of the answer; never empty.

    Attributes:
        text: The piece.
        choice: Which of several answers, from 0.
        part: Which part of that answer: the place that it has in `Choice.parts`. Pieces of one part
            may alternate with those of others.
    """

    __match_args__ = ("text", "choice", "part")
    text: str
    choice: int
    part: int

    def __init__(self, text: str, choice: int = 0, part: int = 0) -> None:
        self.__dict__.update(text=text, choice=choice, part=part)


class ReasoningDelta(Value):
    """A piece of the reasoning, or of a summary of it; never empty.

    Attributes:
        text: The piece.
        choice: As in `TextDelta`.
        part: As in `TextDelta`.
        summary: Whether it is of a summary that the provider made of the reasoning.
    """

    __match_args__ = ("text", "choice", "part", "summary")
    text: str
    choice: int
    part: int
    summary: bool

    def __init__(self, text: str, choice: int = 0, part: int = 0, *, summary: bool = False) -> None:
        self.__dict__.update(text=text, choice=choice, part=part, summary=summary)


class RefusalDelta(Value):
    """A piece of what the model says in place of an answer; never empty.

    Attributes:
        text: The piece.
        choice: As in `TextDelta`.
        part: As in `TextDelta`.
    """

    __match_args__ = ("text", "choice", "part")
    text: str
    choice: int
    part: int

    def __init__(self, text: str, choice: int = 0, part: int = 0) -> None:
        self.__dict__.update(text=text, choice=choice, part=part)


class ToolCallStarted(Value):
    """The model calls a tool. Comes once for each call, before its arguments.

    It comes when both id and name are known, or can't come any more. Run nothing before `finish()`
    has returned.

    Attributes:
        index: The place that the call has in `Choice.tool_calls`.
        id: The id to answer it with; one that the assembler made up if the server sent none.
        name: The tool; empty if the server never named it.
        choice: As in `TextDelta`.
        part: As in `TextDelta`.
        kind: As in `ToolCall`.
    """

    __match_args__ = ("index", "id", "name", "choice", "part", "kind")
    index: int
    id: str
    name: str
    choice: int
    part: int
    kind: str

    def __init__(
        self,
        index: int,
        id: str,
        name: str,
        *,
        choice: int = 0,
        part: int = 0,
        kind: str = "function",
    ) -> None:
        self.__dict__.update(index=index, id=id, name=name, choice=choice, part=part, kind=kind)


class ToolArgumentsDelta(Value):
    """A piece of the arguments of a call, as text; never empty.

    Attributes:
        index: As in `ToolCallStarted`.
        text: The piece. It is for showing: half an argument may be valid JSON.
        choice: As in `TextDelta`.
    """

    __match_args__ = ("index", "text", "choice")
    index: int
    text: str
    choice: int

    def __init__(self, index: int, text: str, choice: int = 0) -> None:
        self.__dict__.update(index=index, text=text, choice=choice)


class UsageUpdate(Value):
    """How many tokens it took so far.

    Attributes:
        usage: Cumulative: it replaces what came before.
    """

    __match_args__ = ("usage",)
    usage: Usage

    def __init__(self, usage: Usage) -> None:
        self.__dict__.update(usage=usage)


class Finished(Value):
    """The provider said why an answer ends.

    More may follow: some servers say it first. That the answer is whole is known from `finish()`.

    Attributes:
        reason: As the provider spells it.
        choice: As in `TextDelta`.
    """

    __match_args__ = ("reason", "choice")
    reason: str
    choice: int

    def __init__(self, reason: str, choice: int = 0) -> None:
        self.__dict__.update(reason=reason, choice=choice)


Update = (
    TextDelta
    | ReasoningDelta
    | RefusalDelta
    | ToolCallStarted
    | ToolArgumentsDelta
    | UsageUpdate
    | Finished
)
"""What `feed` of an assembler returns."""
