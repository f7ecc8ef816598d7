"""For the tests of whoever embeds this library: a stream cut in every way that matters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._parser import EventStreamParser

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ._events import Item

__all__ = ["chunkings", "replay"]


def chunkings(
    data: bytes, *, seed: int = 0, random_cuts: int = 20, max_pairs: int | None = None
) -> Iterator[list[bytes]]:
    """Yield ways in which a transport may deliver the same bytes.

    Whole; byte by byte; byte by byte with an empty chunk before each; cut in two at each place;
    cut at random places. What a parser makes of them must be the same.

    Args:
        data: The stream.
        seed: What the random cuts depend on, and nothing else.
        random_cuts: How many random cuttings there are, into 2 to 10 chunks each.
        max_pairs: How many of the cuts in two there are at most, spread evenly; None for all of
            them, which takes time quadratic in the length.
    """
    single = [data[i : i + 1] for i in range(len(data))]
    yield [data]
    yield single
    yield [chunk for byte in single for chunk in (b"", byte)]
    places = range(1, len(data))
    if max_pairs is not None:
        places = places[:: -(-len(places) // max_pairs) or 1] if max_pairs else range(0)
    for cut in places:
        yield [data[:cut], data[cut:]]
    numbers = _numbers_below(len(data) + 1, seed)
    for number in range(random_cuts):
        cuts = sorted(next(numbers) for _ in range(1 + number % 9))
        yield [data[i:j] for i, j in zip([0, *cuts], [*cuts, len(data)], strict=True)]


def _numbers_below(limit: int, seed: int) -> Iterator[int]:
    # Knuth's linear congruential generator (MMIX): the same on every version of Python, and no
    # state but its own.
    state = seed
    while True:
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        yield (state >> 33) % limit


def replay(chunks: Iterable[bytes], parser: EventStreamParser | None = None) -> list[Item]:
    """Return everything that a stream has in it: its items, and what finishing it dispatches.

    Args:
        chunks: The stream, cut anyhow.
        parser: What reads and finishes it; by default a new `EventStreamParser()`.

    Raises:
        As `EventStreamParser.feed_items` and `finish`.
    """
    parser = EventStreamParser() if parser is None else parser
    items: list[Item] = []
    for chunk in chunks:
        items += parser.feed_items(chunk)
    items += parser.finish()
    return items
