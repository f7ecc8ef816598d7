"""Every conformance vector, under every cutting."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sansio_sse import Comment, Event, EventStreamParser
from sansio_sse.testing import chunkings, replay

from . import reference

VECTORS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "vectors" / "parser.json").read_text("utf-8")
)


def stream(vector: dict[str, Any]) -> bytes:
    text: str = vector["bytes"]
    return text.encode("latin-1")


def check(vector: dict[str, Any], events: list[Event], parser: EventStreamParser) -> None:
    seen = [
        {"type": event.type, "data": event.data, "last_event_id": event.last_event_id}
        for event in events
    ]
    assert seen == vector["events"]
    assert parser.last_event_id == vector["last_event_id"]
    if "retry_at_least" in vector:
        assert parser.reconnection_time is not None
        assert parser.reconnection_time >= vector["retry_at_least"]
    else:
        assert parser.reconnection_time == vector["retry"]


def test_vectors_are_all_there() -> None:
    assert len(VECTORS) == 203
    assert len({vector["id"] for vector in VECTORS}) == 203


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["id"])
def test_feed_gives_the_events_of_a_vector_however_it_is_cut(vector: dict[str, Any]) -> None:
    # All cuts in two, except of the eight vectors of more than 5,000 bytes.
    for chunks in chunkings(stream(vector), max_pairs=5000):
        parser = EventStreamParser()
        events = [event for chunk in chunks for event in parser.feed(chunk)]
        check(vector, events + parser.finish(), parser)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["id"])
def test_feed_items_gives_the_comments_of_a_vector_too(vector: dict[str, Any]) -> None:
    for chunks in chunkings(stream(vector), max_pairs=1000):
        parser = EventStreamParser()
        items = replay(chunks, parser)
        check(vector, [item for item in items if isinstance(item, Event)], parser)
        assert [item.text for item in items if isinstance(item, Comment)] == vector["comments"]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["id"])
def test_the_reference_parser_agrees_with_a_vector(vector: dict[str, Any]) -> None:
    outcome = reference.parse(stream(vector))
    seen = [
        {"type": event.type, "data": event.data, "last_event_id": event.last_event_id}
        for event in outcome.events
    ]
    assert seen == vector["events"]
    assert outcome.comments == vector["comments"]
    assert outcome.last_event_id == vector["last_event_id"]
