"""A stream of whatever dialect: which one it is shows when it comes."""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from .._checks import check_bool
from .._errors import LocalProtocolError
from .._events import Event, UnknownField
from ._detect import detect
from ._errors import IncompleteStream, InvalidPayload
from ._limits import Limits
from .chat_completions import ChatCompletionsAssembler
from .generate_content import GenerateContentAssembler
from .messages import MessagesAssembler
from .responses import ResponsesAssembler

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from .._events import Item
    from ._assembler import Assembler
    from ._completion import Completion, Finding
    from ._updates import Update

__all__ = ["DIALECTS", "AnyAssembler"]

DIALECTS: Final[Mapping[str, type[Assembler]]] = MappingProxyType(
    {
        "chat": ChatCompletionsAssembler,
        "responses": ResponsesAssembler,
        "messages": MessagesAssembler,
        "gemini": GenerateContentAssembler,
    }
)
"""The assemblers, by short names of their dialects."""

_NAMES: Final[Mapping[type[Assembler], str]] = MappingProxyType(
    {assembler: name for name, assembler in DIALECTS.items()}
)

_DEFAULT_LIMITS: Final = Limits()

# What is held while none of it tells the dialect.
_MAX_UNDECIDED: Final = 100
_MAX_UNDECIDED_CHARACTERS: Final = 1024 * 1024


class AnyAssembler(ChatCompletionsAssembler):
    """Makes a `Completion` of a stream of any dialect: the one that it finds, or is told.

    Ends, and errors of providers, are the same in all dialects. Until the dialect is known, this is
    a tolerant assembler of Chat Completions, which sees those; what came is kept for the right one.

    Args:
        dialect: Its name in `DIALECTS`; None to find it.
        strict: See `Assembler`.
        limits: See `Assembler`.
        loads: See `Assembler`.
        validate: See `Assembler`.
        known_tools: See `Assembler`.
        seen_call_ids: See `Assembler`.

    Attributes:
        dialect: Its name, once it is known; until then None.
        events: How many events came.
    """

    def __init__(
        self,
        dialect: str | None = None,
        *,
        strict: bool = False,
        limits: Limits = _DEFAULT_LIMITS,
        loads: Callable[[str], Any] = json.loads,
        validate: Callable[[str, Any], object] | None = None,
        known_tools: Collection[str] | None = None,
        seen_call_ids: Collection[str] = (),
    ) -> None:
        options: dict[str, Any] = {
            "limits": limits,
            "loads": loads,
            "validate": validate,
            "known_tools": known_tools,
            "seen_call_ids": seen_call_ids,
        }
        super().__init__(**options)
        self._wanted: dict[str, Any] = {**options, "strict": check_bool("strict", strict)}
        self.dialect: str | None = None
        self.events = 0
        self._current: Assembler | None = None
        self._undecided: list[Item] = []
        self._undecided_characters = 0
        if dialect is not None:
            if dialect not in DIALECTS:
                names = ", ".join(map(repr, DIALECTS))
                raise LocalProtocolError(f"dialect is {dialect!r}: pass one of {names}")
            self._become(dialect)

    @property
    def done(self) -> bool:
        """See `Assembler.done`."""
        return self._current.done if self._current else super().done

    def feed(self, item: Item) -> list[Update]:
        """See `Assembler.feed`.

        Raises:
            InvalidPayload: There have been many events, and none tells the dialect.
        """
        self.events += isinstance(item, Event)
        if self._current is not None:
            return self._current.feed(item)
        found = detect(item, self._loads)
        if found is not None:
            return self._become(_NAMES[found]).feed(item)
        updates = super().feed(item)
        self._hold(item)
        return updates

    def finish(self, *, truncated: bool = False) -> Completion:
        """See `Assembler.finish`.

        Raises:
            InvalidPayload: There were events with payloads, and none tells the dialect.
        """
        if self._current is not None:
            return self._current.finish(truncated=truncated)
        try:
            return super().finish(truncated=truncated)
        except IncompleteStream as error:
            if error.code == "empty_stream":
                raise
            self._fail(self._unknown())

    def partial(self, problem: Finding | None = None) -> Completion:
        """See `Assembler.partial`."""
        if self._current is not None:
            return self._current.partial(problem)
        return super().partial(problem)

    def _become(self, dialect: str) -> Assembler:
        self.dialect = dialect
        self._current = DIALECTS[dialect](**self._wanted)
        for item in self._undecided:
            self._current.feed(item)
        self._undecided.clear()
        return self._current

    def _hold(self, item: Item) -> None:
        match item:
            case Event(data=text) | UnknownField(value=text):
                self._undecided_characters += len(text)
            case _:
                # Some servers send hundreds of comments before the first event.
                return
        self._undecided.append(item)
        many = len(self._undecided) > _MAX_UNDECIDED
        if many or self._undecided_characters > _MAX_UNDECIDED_CHARACTERS:
            self._fail(self._unknown())

    def _unknown(self) -> InvalidPayload:
        return InvalidPayload("no event of the stream tells its dialect", "unknown_dialect")
