"""The helpers for users' own tests."""

from __future__ import annotations

from sansio_sse import Comment, Event, EventStreamParser
from sansio_sse.testing import chunkings, replay

DATA = b": c\r\ndata: x\n\n"


def test_every_chunking_is_the_same_stream() -> None:
    for chunks in chunkings(DATA):
        assert b"".join(chunks) == DATA


def test_chunkings_have_every_way_that_is_promised() -> None:
    ways = list(chunkings(DATA, random_cuts=7))
    assert ways[0] == [DATA]
    assert ways[1] == [bytes([byte]) for byte in DATA]
    assert ways[2][::2] == [b""] * len(DATA)
    assert ways[2][1::2] == ways[1]
    assert ways[3:-7] == [[DATA[:cut], DATA[cut:]] for cut in range(1, len(DATA))]
    assert len(ways) == 3 + len(DATA) - 1 + 7


def test_random_cuts_depend_on_the_seed_alone() -> None:
    first = list(chunkings(DATA, seed=1))[-20:]
    assert list(chunkings(DATA, seed=1))[-20:] == first
    assert list(chunkings(DATA, seed=2))[-20:] != first
    assert {len(chunks) for chunks in first} == set(range(2, 11))


def test_cuts_in_two_can_be_bounded() -> None:
    data = bytes(1000)
    assert len(list(chunkings(data, random_cuts=0))) == 3 + 999
    assert len(list(chunkings(data, random_cuts=0, max_pairs=10))) == 3 + 10
    assert len(list(chunkings(data, random_cuts=0, max_pairs=0))) == 3


def test_empty_stream_has_chunkings_too() -> None:
    assert all(b"".join(chunks) == b"" for chunks in chunkings(b""))


def test_replay_gives_every_item() -> None:
    assert replay([DATA]) == [Comment(" c"), Event(data="x")]
    assert replay([b"data: y"], EventStreamParser(tail="dispatch")) == [Event(data="y")]
