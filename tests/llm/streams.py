"""What the tests of the assemblers share: streams made of payloads, and ways to run them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from sansio_sse import Event, EventStreamParser
from sansio_sse.llm import AssemblyError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sansio_sse import Item
    from sansio_sse.llm import Assembler, Completion, Update

DONE = Event(data="[DONE]")


def event(payload: Any, type: str = "message") -> Event:
    """An event whose data is this payload, or this text."""
    data = payload if isinstance(payload, str) else json.dumps(payload, ensure_ascii=False)
    return Event(type=type, data=data)


def items_of(data: bytes) -> list[Item]:
    parser = EventStreamParser()
    return [*parser.feed_items(data), *parser.finish()]


def feed(assembler: Assembler, items: Iterable[Item]) -> list[Update]:
    return [update for item in items for update in assembler.feed(item)]


def run(assembler: Assembler, items: Iterable[Item]) -> Completion:
    feed(assembler, items)
    return assembler.finish()


def failure(assembler: Assembler, items: Iterable[Item]) -> AssemblyError:
    """The error that a stream ends with. None of the calls in its partial answer may be run."""
    with pytest.raises(AssemblyError) as raised:
        run(assembler, items)
    partial = raised.value.partial
    assert partial is not None
    assert not partial.complete
    for choice in partial.choices:
        for call in choice.tool_calls:
            assert not call.complete
    return raised.value


def codes(completion: Completion) -> list[str]:
    """The codes of what was tolerated, each once, in the order in which they came."""
    return list(dict.fromkeys(finding.code for finding in completion.findings))
