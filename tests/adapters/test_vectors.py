"""The parser vectors through every adapter: what is before the parser changes nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sansio_sse import Backoff, EventStreamParser

from .drivers import ADAPTERS, Adapter, over, run
from .hostile import Answer, HostileServer, no_content, stream

if TYPE_CHECKING:
    from collections.abc import Callable

VECTORS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "vectors" / "parser.json").read_text("utf-8")
)


def body_of(vector: dict[str, Any]) -> bytes:
    body: str = vector["bytes"]
    return body.encode("latin-1")


def check(
    adapter: Adapter, answer: Callable[[bytes], Answer], vectors: list[dict[str, Any]]
) -> None:
    async def scenario(adapter: Adapter) -> None:
        if adapter.make_client is None:
            await read_all(adapter, {})
            return
        async with adapter.client() as client:
            await read_all(adapter, {"client": client})

    async def read_all(adapter: Adapter, options: dict[str, Any]) -> None:
        for vector in vectors:
            # A POST is read once, to its end.
            async with adapter.source(server.url, body=vector["id"].encode(), **options) as source:
                events = await source.rest()
            dispatched = [
                {"type": type_, "data": data, "last_event_id": last_event_id}
                for type_, data, _, last_event_id in events
            ]
            assert dispatched == vector["events"], vector["id"]
            assert source.raw.last_event_id == vector["last_event_id"], vector["id"]
            parser = EventStreamParser()
            parser.feed(body_of(vector))
            assert source.raw.reconnection_time == parser.reconnection_time, vector["id"]

    bodies = {vector["id"].encode(): body_of(vector) for vector in vectors}
    with HostileServer(lambda request: answer(bodies[request.body])) as server:
        run(adapter, scenario)
        assert len(server.requests) == len(vectors)


@over(ADAPTERS)
def test_vectors_in_one_chunk(adapter: Adapter) -> None:
    check(adapter, stream, VECTORS)


@over(ADAPTERS)
def test_vectors_byte_by_byte(adapter: Adapter) -> None:
    # Not those that are long: a chunk a byte takes its time, and says the same after the first.
    short = [vector for vector in VECTORS if len(body_of(vector)) < 300]
    check(adapter, lambda body: stream(body, size=1), short[::3])


@over(ADAPTERS)
def test_vectors_in_turn_on_one_source(adapter: Adapter) -> None:
    """Each is a stream of its own: none sees what the one before left unfinished."""

    async def scenario(adapter: Adapter) -> list[str]:
        async with adapter.source(server.url, backoff=Backoff(base=0, jitter=0, cap=0)) as source:
            return [event.data for event in await source.rest()]

    # A reconnection time would be waited for.
    chosen = [vector for vector in VECTORS if b"retry" not in body_of(vector)][::4]
    answers = [stream(body_of(vector)) for vector in chosen]
    with HostileServer(*answers, no_content()) as server:
        assert run(adapter, scenario) == [
            event["data"] for vector in chosen for event in vector["events"]
        ]
        assert len(server.requests) == len(chosen) + 1
