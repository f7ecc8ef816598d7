"""The shortcut for plain blocks must not be visible in any result."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from sansio_sse import Event, EventStreamParser, _parser
from sansio_sse._block import Block
from sansio_sse._plain_blocks import whole_blocks

from . import reference
from .strategies import PLAIN_BLOCKS, STREAMS, cuttings
from .test_parser_vectors import VECTORS, stream


def refuse(chunk: bytes, block: Block) -> None:
    del chunk, block


def events_without_shortcut(chunks: list[bytes]) -> list[Event]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_parser, "whole_blocks", refuse)
        # No read begins with that where a block does: a blank line would end it.
        return events_of(chunks)


def events_of(chunks: list[bytes]) -> list[Event]:
    parser = EventStreamParser(last_event_id="seed")
    return [event for chunk in chunks for event in parser.feed(chunk)] + parser.finish()


@given(cuttings())
def test_shortcut_is_invisible(chunks: list[bytes]) -> None:
    assert events_of(chunks) == events_without_shortcut(chunks)


def test_shortcut_is_invisible_in_long_streams() -> None:
    # Long enough for blocks to be read together, with one odd block among them at each place.
    plain = [b"data: %d\n\n" % number for number in range(100)]
    named = [b"event: e\ndata: %d\n\n" % number for number in range(100)]
    identified = [b"id: %d\ndata: %d\n\n" % (number, number) for number in range(100)]
    odd = [
        b": ping\n\n",
        b"id: 7\ndata: x\n\n",
        b"data: x\ndata: y\n\n",
        b"event: x\n\n",
        b"event: \ndata: x\n\n",
        b"data:x\n\n",
        b"\n",
        b"data: \xff\n\n",
        b"data: a\rdata: b\n\n",
        b"data: x\r\n\r\n",
        b"event: y\rx: z\ndata: x\n\n",
        b"event: y\nx: z\ndata: x\n\n",
        b"event: e\ndata: x\nid: 9\n\n",
        b"id: 1\0\ndata: x\n\n",
        b"id: \ndata: x\n\n",
        b"id: 8\nevent: z\ndata: x\n\n",
        b"id: 8\nevent: \ndata: x\n\n",
        b"event: z\nid: 8\ndata: x\n\n",
        b"id\ndata: x\n\n",
        b"data: x\nevent: z\n\n",
    ]
    for blocks in (plain, named, identified):
        for end in (b"\n", b"\r\n", b"\r"):
            for block in odd:
                for place in (0, 1, 50, 99, 100):
                    data = b"".join([*blocks[:place], block, *blocks[place:]]).replace(b"\n", end)
                    expected = [Event(*event) for event in reference.parse(data).events]
                    for chunks in ([data], [data[:700], data[700:]], [data[:9], data[9:]]):
                        parser = EventStreamParser()
                        events = [e for chunk in chunks for e in parser.feed(chunk)]
                        assert events == expected


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["id"])
def test_vectors_pass_without_the_shortcut(vector: dict[str, Any]) -> None:
    data = stream(vector)
    seen = [
        {"type": event.type, "data": event.data}
        for event in events_without_shortcut([data[:7], data[7:]])
    ]
    assert seen == [{"type": e["type"], "data": e["data"]} for e in vector["events"]]


@given(PLAIN_BLOCKS | STREAMS)
def test_what_the_shortcut_takes_it_takes_right(data: bytes) -> None:
    block = Block(1000, "")
    events = whole_blocks(data, block)
    if events is not None:
        outcome = reference.parse(data)
        assert events == [Event(*event) for event in outcome.events]
        assert block.last_event_id == outcome.last_event_id
        assert data.endswith((b"\n\n", b"\r\n\r\n"))


@pytest.mark.parametrize(
    "chunk",
    [
        b"data: x\n\n",
        b"data: \n\n",
        b"data: x\n\ndata: y\n\n",
        b"data: x\r\n\r\ndata: y\r\n\r\n",
        b"event: a\ndata: x\n\n",
        b"event: a\r\ndata: x\r\n\r\nevent: b\r\ndata: y\r\n\r\n",
        "data: 日本\u2028\n\n".encode(),
        b"id: 1\ndata: x\n\n",
        b"id: 1\ndata: x\n\nid: \ndata: y\n\nid: 2\ndata: z\n\n",
        b"id: 1\r\ndata: x\r\n\r\nid: 2\r\ndata: y\r\n\r\n",
        b"id: 1\nevent: e\ndata: x\n\nid: 2\ndata: y\n\nid: \nevent: f\ndata: z\n\n",
        b"id: 1\r\nevent: e\r\ndata: x\r\n\r\nid: 2\r\ndata: y\r\n\r\n",
    ],
)
def test_shortcut_takes_the_plain_shapes(chunk: bytes) -> None:
    events = reference.parse(b"id: 7\n\n" + chunk).events
    block = Block(1000, "7")
    assert whole_blocks(chunk, block) == [Event(*event) for event in events]
    assert block.last_event_id == events[-1].last_event_id


@pytest.mark.parametrize(
    "chunk",
    [
        b"",
        b"\n\n",
        b"data: x\n",
        b"data:x\n\n",
        b"data: x\n\ndata: y\r\n\r\n",
        b"data: x\r\n\r\ndata: y\n\n",
        b"data: x\ndata: y\n\n",
        b"data: x\n\n\n",
        b"data: x\ry\n\n",
        b"data: \xff\n\n",
        b"event: \ndata: x\n\n",
        b"event: a\n\n",
        b"event: a\ndata: x\ndata: y\n\n",
        b"event: a\rb\ndata: x\n\n",
        b"event: a\nb\ndata: x\n\n",
        b"event: a\ndata: x\ry\n\n",
        b"event: a\ndata: x\n",
        b"event: \xff\ndata: x\n\n",
        b": c\n\n",
        b"id: 1\0\ndata: x\n\n",
        b"id: 1\n\n",
        b"id: 1\nevent: \ndata: x\n\n",
        b"id: 1\nevent: e\nretry: 1\ndata: x\n\n",
        b"id: 1\nevent: e\ndata: x\ry\n\n",
        b"id: 1\nevent: e\rf\ndata: x\n\n",
        b"id: 1\nevent: e\n\n",
        b"id: 1\rdata: x\n\n",
        b"id: 1\ndata: x\n\nid: 2\0\ndata: y\n\n",
        b"id: 1\ndata: x\n",
    ],
)
def test_shortcut_leaves_other_shapes_alone(chunk: bytes) -> None:
    block = Block(1000, "7")
    assert whole_blocks(chunk, block) is None
    assert block.last_event_id == "7"
