"""What holds for every answer, in every dialect, and for every stream that is not one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sansio_sse import Event, EventStreamParser, encode
from sansio_sse.llm import (
    AssemblyError,
    IncompleteStream,
    ReasoningDelta,
    TextDelta,
    ToolArgumentsDelta,
    ToolCallStarted,
    assemble_chunks,
)

from .answers import ANSWERS, DIALECTS, Answer, Said, Thought, pieces, simplified
from .streams import DONE, feed

if TYPE_CHECKING:
    from random import Random

    from sansio_sse.llm import Completion, Update

# Each runs in eight combinations, on each interpreter.
few = settings(max_examples=40)
each_dialect = pytest.mark.parametrize("name", DIALECTS)
RANDOMS = st.randoms(use_true_random=False)


def encoded(events: list[Event]) -> bytes:
    return b"".join(encode(event) for event in events)


@each_dialect
@pytest.mark.parametrize("strict", [False, True])
@few
@given(answer=ANSWERS, random=RANDOMS)
def test_completion_is_what_was_written(
    name: str, strict: bool, answer: Answer, random: Random
) -> None:
    make, write = DIALECTS[name]
    data = encoded(write(answer, random))
    cuts = sorted(random.randrange(len(data) + 1) for _ in range(5))
    chunks = [data[i:j] for i, j in zip([0, *cuts], [*cuts, len(data)], strict=True)]
    completion = assemble_chunks(chunks, make(strict=strict))
    assert completion.complete
    assert (completion.id, completion.model) == ("c1", "m1")
    assert simplified(completion.choices[0].parts) == answer.parts
    assert [call.index for call in completion.tool_calls] == list(range(len(answer.calls)))
    assert completion.text == "".join(p.text for p in answer.parts if isinstance(p, Said))
    assert completion.reasoning == "".join(p.text for p in answer.parts if isinstance(p, Thought))
    assert completion.usage is not None
    spent, made = answer.tokens
    assert completion.usage[:3] == (spent, made, spent + made)
    assert completion.findings == ()


@each_dialect
@few
@given(answer=ANSWERS, random=RANDOMS)
def test_updates_come_to_the_parts_of_the_completion(
    name: str, answer: Answer, random: Random
) -> None:
    make, write = DIALECTS[name]
    assembler = make()
    updates = feed(assembler, write(answer, random))
    completion = assembler.finish()
    shown = joined(updates)
    for number, part in enumerate(completion.choices[0].parts):
        assert shown.pop(number) == getattr(part, "arguments", getattr(part, "text", None))
    assert shown == {}


def joined(updates: list[Update]) -> dict[int, str]:
    """The texts of the deltas, by the number of their part."""
    texts: dict[int, str] = {}
    places: dict[int, int] = {}
    for update in updates:
        match update:
            case TextDelta(text, part=part) | ReasoningDelta(text, part=part):
                texts[part] = texts.get(part, "") + text
            case ToolCallStarted(index, part=part):
                assert index == len(places)
                places[index] = part
                texts[part] = ""
            case ToolArgumentsDelta(index, text):
                texts[places[index]] += text
            case _:
                pass
    return texts


@each_dialect
@pytest.mark.parametrize("strict", [False, True])
@few
@given(answer=ANSWERS, random=RANDOMS)
def test_without_its_end_a_stream_has_no_call_to_run(
    name: str, strict: bool, answer: Answer, random: Random
) -> None:
    make, write = DIALECTS[name]
    data = encoded(write(answer, random))
    end = random.randrange(len(data))
    try:
        completion = assemble_chunks(pieces_of(data[:end], random), make(strict=strict))
    except IncompleteStream as error:
        assert error.partial is not None
        assert_nothing_to_run(error.partial)
    else:
        # The finish reason had come, and with it all there is but usage and end marks.
        assert simplified(completion.choices[0].parts) == answer.parts


def pieces_of(data: bytes, random: Random) -> list[bytes]:
    return [piece.encode("latin-1") for piece in pieces(data.decode("latin-1"), random)]


def assert_nothing_to_run(partial: Completion) -> None:
    assert not partial.complete
    for choice in partial.choices:
        for call in choice.tool_calls:
            assert not call.complete


STRANGE: list[Any] = [None, True, -1, 0, 7, 1.5, "", "x", "0", [], [None], [{}], {}, {"a": 1}]


def mutated(value: Any, random: Random) -> Any:
    """A payload with one thing in it that should not be there."""
    match value:
        case dict() if value and random.random() < 0.85:
            key = random.choice(sorted(value))
            if random.random() < 0.2:
                return {name: item for name, item in value.items() if name != key}
            return {**value, key: mutated(value[key], random)}
        case list() if value and random.random() < 0.85:
            place = random.randrange(len(value))
            return [*value[:place], mutated(value[place], random), *value[place + 1 :]]
        case _:
            return random.choice(STRANGE)


def broken(events: list[Event], random: Random) -> list[Event]:
    """A stream in which some events are odd, missing, repeated or in the wrong place."""
    events = list(events)
    for _ in range(random.randrange(1, 4)):
        place = random.randrange(len(events))
        action = random.randrange(6)
        if action == 0:
            events.insert(random.randrange(len(events) + 1), events[place])
        elif action == 1 and len(events) > 1:
            del events[place]
        elif action == 2:
            events.insert(place, random.choice([DONE, Event("error", "no"), Event(data="{}")]))
        elif events[place] != DONE and events[place].data.startswith("{"):
            data = json.dumps(mutated(json.loads(events[place].data), random))
            events[place] = events[place]._replace(data=data)
    return events


@each_dialect
@pytest.mark.parametrize("strict", [False, True])
@few
@given(answer=ANSWERS, random=RANDOMS)
def test_broken_streams_raise_nothing_but_documented_errors(
    name: str, strict: bool, answer: Answer, random: Random
) -> None:
    make, write = DIALECTS[name]
    events = broken(write(answer, random), random)
    assembler = make(strict=strict)
    try:
        updates = feed(assembler, events)
        completion = assembler.finish()
    except AssemblyError as error:
        assert error.partial is not None
        assert_nothing_to_run(error.partial)
        with pytest.raises(AssemblyError) as again:
            assembler.finish()
        assert again.value is error
        return
    assert assembler.finish() is completion
    json.dumps(completion.message)
    for choice in completion.choices:
        started = [
            (update.index, update.id, update.name)
            for update in updates
            if isinstance(update, ToolCallStarted) and update.choice == choice.index
        ]
        # What is announced at an index is delivered there.
        calls = choice.tool_calls
        assert [call.index for call in calls] == list(range(len(calls)))
        for index, call_id, call_name in started:
            assert (calls[index].id, calls[index].name) == (call_id, call_name)
        for call in calls:
            if call.complete:
                assert isinstance(call.parse(), dict)
    if completion.complete:
        assert all(call.complete for choice in completion.choices for call in choice.tool_calls)


@pytest.mark.parametrize("strict", [False, True])
@few
@given(data=st.binary(max_size=200), random=RANDOMS)
def test_bytes_that_are_no_stream_raise_nothing_but_documented_errors(
    strict: bool, data: bytes, random: Random
) -> None:
    for make, _ in DIALECTS.values():
        with pytest.raises(AssemblyError):
            assemble_chunks(pieces_of(data, random), make(strict=strict), EventStreamParser())
    with pytest.raises(AssemblyError):
        assemble_chunks([data])
