"""An assembler that finds the dialect: the same as that of the dialect, once it is known."""

from __future__ import annotations

from pathlib import Path

import pytest

from sansio_sse import Comment, Event, EventStreamParser, Retry, UnknownField
from sansio_sse._cli._dialects import TITLES, recognise
from sansio_sse.llm import (
    DIALECTS,
    AnyAssembler,
    AssemblyError,
    Finding,
    InvalidPayload,
    ProviderError,
    assemble_chunks,
)

from .streams import DONE, block, chunk, delta

CAPTURES = sorted((Path(__file__).parents[1] / "captures").glob("*.sse"))
NAMES = {
    "01": "chat",
    "03": "chat",
    "04": "chat",
    "05": "chat",
    "07": "chat",
    "08": "chat",
    "10": None,
    "11": "responses",
    "13": "messages",
    "15": "gemini",
}
ANSWER = chunk(delta(content="hi")) + chunk(delta("stop")) + DONE
HI = Event(data='{"choices": [{"index": 0, "delta": {"content": "hi"}}]}')


def outcome(data: bytes, assembler: AnyAssembler | None) -> object:
    try:
        return assemble_chunks([data], assembler)
    except AssemblyError as error:
        return (type(error), error.code, error.message, error.event, error.partial)


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.name[:2])
def test_a_capture_gives_what_the_assembler_of_its_dialect_gives(path: Path) -> None:
    data = path.read_bytes()
    assembler = AnyAssembler()
    assert outcome(data, assembler) == outcome(data, None)
    assert assembler.dialect == NAMES[path.name[:2]]
    assert assembler.events <= len(EventStreamParser().feed(data))


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.name[:2])
def test_a_dialect_that_is_told_gives_the_same(path: Path, strict: bool) -> None:
    data, name = path.read_bytes(), NAMES[path.name[:2]]
    told = AnyAssembler(name or "chat", strict=strict)
    assert outcome(data, told) == outcome(data, AnyAssembler(strict=strict))
    assert told.dialect == (name or "chat")


def test_every_dialect_has_a_title() -> None:
    assert TITLES.keys() == DIALECTS.keys()


def test_an_item_that_is_no_event_tells_no_dialect() -> None:
    assert [recognise(item) for item in (Comment("x"), Retry(3), Event(data="x"))] == [None] * 3
    assert recognise(HI) == "chat"


def test_strictness_holds_for_what_came_before_the_dialect_was_known() -> None:
    strict, tolerant = AnyAssembler(strict=True), AnyAssembler()
    strange = Event(data='{"strange": 1}')
    for assembler in (strict, tolerant):
        assert assembler.feed(strange) == []
    with pytest.raises(InvalidPayload) as raised:
        strict.feed(HI)
    assert (raised.value.code, raised.value.event) == ("choices_missing", 1)
    assert tolerant.feed(HI)
    assert tolerant.dialect == strict.dialect == "chat"


def test_any_number_of_comments_may_come_before_the_first_event() -> None:
    stream = b": ping\n\n" * 1000 + b"retry: 5\n\n" * 1000
    answer = block({"candidates": [{"content": {"parts": [{"text": "hi"}]}}]})
    answer += block({"candidates": [{"finishReason": "STOP"}]})
    assembler = AnyAssembler()
    assert assemble_chunks([stream, answer], assembler).text == "hi"
    assert assembler.dialect == "gemini"


def test_a_ping_of_a_proxy_is_of_no_dialect() -> None:
    path = next(path for path in CAPTURES if path.name.startswith("11_"))
    ping = block({"type": "ping"}, "ping")
    assembler = AnyAssembler()
    outcome(ping + path.read_bytes(), assembler)
    assert assembler.dialect == "responses"


@pytest.mark.parametrize(
    "items",
    [
        [Event(data='{"n": 1}')] * 101,
        [UnknownField("x", "y")] * 101,
        [Event(data='{"n": "%s"}' % ("x" * 2**20))],
        [UnknownField("x", "y" * (2**20 + 1))],
    ],
    ids=["events", "fields", "large event", "large field"],
)
def test_a_dialect_that_nothing_tells_is_given_up(items: list[Event | UnknownField]) -> None:
    assembler = AnyAssembler()
    with pytest.raises(InvalidPayload) as raised:
        for item in items:
            assembler.feed(item)
    assert raised.value.code == "unknown_dialect"
    assert raised.value.event == (sum(isinstance(item, Event) for item in items) or None)
    assert assembler.dialect is None


@pytest.mark.parametrize("end", [b"", DONE, b"data: {"], ids=["end", "[DONE]", "cut"])
def test_a_stream_of_no_dialect_is_told_apart_from_an_answer_without_an_end(end: bytes) -> None:
    with pytest.raises(InvalidPayload) as raised:
        assemble_chunks([block({"n": 1}) + end], AnyAssembler())
    assert (raised.value.code, raised.value.event) == ("unknown_dialect", None)


def test_an_error_of_the_provider_needs_no_dialect() -> None:
    assembler = AnyAssembler()
    with pytest.raises(ProviderError, match=r"^boom$"):
        assembler.feed(Event("error", "boom"))
    assert assembler.dialect is None


def test_the_end_needs_no_dialect() -> None:
    assembler = AnyAssembler()
    assembler.feed(Event(data="[DONE]"))
    assert assembler.done


def test_what_arrived_is_never_complete() -> None:
    assembler = AnyAssembler()
    for event in EventStreamParser().feed(ANSWER):
        assembler.feed(event)
    partial = assembler.partial(Finding("why", "not"))
    assert (partial.text, partial.complete) == ("hi", False)
