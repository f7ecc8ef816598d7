"""Timeouts around one `__anext__`: no event is lost, and the iteration goes on."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from sansio_sse import Backoff, Event, LocalProtocolError

from .drivers import AWAITING, Adapter, over, run, within
from .hostile import (
    Answer,
    HostileServer,
    Pause,
    Send,
    Silence,
    chunk,
    no_content,
    silent,
    unfinished,
)

if TYPE_CHECKING:
    from .hostile import RecordedRequest, Step

SOON = Backoff(base=0.01, factor=1, jitter=0)
COUNT = 12


def resumed(request: RecordedRequest) -> Answer:
    """Events behind the last one that was seen, each in two halves with a pause before each."""
    seen = int(request.header("Last-Event-ID") or 0)
    steps: list[Step] = []
    for number in range(seen + 1, COUNT + 1):
        block = b"id: %d\ndata: %d\n\n" % (number, number)
        half = len(block) // 2
        steps += [Send(chunk(block[:half])), Pause(0.02), Send(chunk(block[half:])), Pause(0.02)]
    return unfinished(b"", *steps, Silence()) if seen < COUNT else no_content()


def is_httpx(adapter: Adapter) -> bool:
    return adapter.name.startswith("httpx")


@over(AWAITING)
def test_timeouts_lose_no_event_and_repeat_none(adapter: Adapter) -> None:
    async def scenario(adapter: Adapter) -> list[str]:
        data: list[str] = []
        timeouts = 0
        # What is shorter than a block takes is for those that go on in the middle of one. httpx
        # begins again, and needs the time for an event.
        seconds = 0.09 if is_httpx(adapter) else 0.013
        async with adapter.source(server.url, backoff=SOON) as source:
            while len(data) < COUNT:
                event = await within(seconds, source.__anext__)
                if event is None:
                    timeouts += 1
                    await within(0.05, source.__anext__) if timeouts % 100 == 99 else None
                else:
                    data.append(event.data)
                assert timeouts < 1000
        assert timeouts > 0 or is_httpx(adapter)
        return data

    with HostileServer(resumed) as server:
        assert run(adapter, scenario) == [str(number) for number in range(1, COUNT + 1)]
        if not is_httpx(adapter):
            assert len(server.requests) == 1
    gc.collect()


@over(AWAITING)
@pytest.mark.parametrize(
    "answer", [silent(), unfinished(b": hi\n", Silence())], ids=["head", "body"]
)
def test_cancelled_wait_goes_on(adapter: Adapter, answer: Answer) -> None:
    """Before the head it is a lost connection in all of them; in the body in httpx alone."""

    async def scenario(adapter: Adapter) -> list[Event]:
        async with adapter.source(server.url, backoff=SOON) as source:
            assert await within(0.1, source.__anext__) is None
            return await source.rest()

    end = unfinished(b": hi\n", Send(b"0\r\n\r\n"))
    with HostileServer(answer, end, no_content()) as server:
        if answer.steps[0] == Silence() or is_httpx(adapter):
            assert run(adapter, scenario) == []
            assert len(server.requests) == 3
    gc.collect()


@over(AWAITING)
def test_cancelled_post_is_not_sent_again(adapter: Adapter) -> None:
    async def scenario(adapter: Adapter) -> None:
        async with adapter.source(server.url, json={}) as source:
            assert await within(0.1, source.__anext__) is None
            with pytest.raises(Exception, match="the connection was lost"):
                await source.rest()

    with HostileServer(silent()) as server:
        run(adapter, scenario)
        assert len(server.requests) == 1
    gc.collect()


@over(AWAITING)
def test_cancelled_delay_goes_on_where_it_was(adapter: Adapter) -> None:
    async def scenario(adapter: Adapter) -> list[Event]:
        async with adapter.source(server.url, backoff=Backoff(base=0.3, jitter=0)) as source:
            for _ in range(3):
                assert await within(0.06, source.__anext__) is None
            assert len(server.requests) == 1
            return await source.rest()

    with HostileServer(unfinished(b": hi\n"), no_content()) as server:
        assert run(adapter, scenario) == []
        assert len(server.requests) == 2


@over(AWAITING)
def test_idle_timeout_counts_over_cancelled_reads(adapter: Adapter) -> None:
    if is_httpx(adapter):
        return

    errors: list[str] = []

    def watch(progress: Any) -> None:
        if progress.error is not None:
            errors.append(str(progress.error))

    async def scenario(adapter: Adapter) -> None:
        options = {"backoff": SOON, "idle_timeout": 0.3, "on_progress": watch}
        async with adapter.source(server.url, **options) as source:
            for _ in range(20):
                assert await within(0.05, source.__anext__) is None

    with HostileServer(unfinished(b": hi\n", Silence())) as server:
        run(adapter, scenario)
        assert len(server.requests) > 1
    assert set(errors) == {"nothing came for 0.3 seconds"}


@over(AWAITING)
def test_slow_consumer_is_no_idle_server(adapter: Adapter) -> None:
    async def scenario(adapter: Adapter) -> list[str]:
        async with adapter.source(server.url, backoff=SOON, idle_timeout=0.15) as source:
            data = [event.data for event in await source.take(1)]
            # Meanwhile the second one comes, and waits to be read.
            await anyio.sleep(0.4)
            return data + [event.data for event in await source.take(1)]

    steps = (Pause(0.05), Send(chunk(b"data: b\n\n")), Silence())
    with HostileServer(unfinished(b"data: a\n\n", *steps)) as server:
        assert run(adapter, scenario) == ["a", "b"]
        assert len(server.requests) == 1


@over(AWAITING)
def test_second_task_is_refused_and_the_first_goes_on(adapter: Adapter) -> None:
    async def scenario(adapter: Adapter) -> list[str]:
        data: list[str] = []

        async def read(source: Any) -> None:
            data.append((await source.__anext__()).data)

        async with adapter.source(server.url) as source, anyio.create_task_group() as group:
            group.start_soon(read, source)
            await anyio.sleep(0.05)
            with pytest.raises(LocalProtocolError, match="another task"):
                await source.__anext__()
        return data

    with HostileServer(unfinished(b": hi\n", Pause(0.2), Send(chunk(b"data: a\n\n")))) as server:
        assert run(adapter, scenario) == ["a"]
