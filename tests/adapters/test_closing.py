"""Leaving, closing from elsewhere, and what is left then: nothing."""

from __future__ import annotations

import contextvars
import gc
import signal
import socket
import threading
import time
from typing import Any

import anyio
import pytest

from sansio_sse import Backoff, Event, ReadyState

from .drivers import ADAPTERS, AWAITING, BLOCKING, Adapter, no_thread_left, over, run
from .hostile import (
    Answer,
    HostileServer,
    Pause,
    Silence,
    no_content,
    silent,
    stream,
    unfinished,
)

BODY = b"id: 1\ndata: a\n\ndata: b\n\n"
NEVER = Backoff(base=1000.0)
SILENT = unfinished(BODY, Silence())
# What a reader can wait for while somebody closes.
SITUATIONS: dict[str, tuple[Answer, list[str]]] = {
    "for the head": (silent(), []),
    "for the next event": (SILENT, ["a", "b"]),
    "for the reason of a refusal": (unfinished(b"why", Silence(), status=500), []),
    "for the delay to pass": (stream(BODY), ["a", "b"]),
}
# Far less than any of them takes by itself.
AT_ONCE = 1.0


@over(BLOCKING)
@pytest.mark.parametrize("situation", SITUATIONS)
def test_close_from_another_thread_ends_the_reader_at_once(
    adapter: Adapter, situation: str
) -> None:
    answer, data = SITUATIONS[situation]
    with HostileServer(answer) as server:
        with adapter.event_source(server.url, backoff=NEVER) as source:
            got: list[str] = []
            failures: list[BaseException] = []
            arrived = threading.Event()

            def read() -> None:
                try:
                    if not data:
                        arrived.set()
                    for event in source:
                        got.append(event.data)
                        if len(got) == len(data):
                            arrived.set()
                except BaseException as error:
                    failures.append(error)

            reader = threading.Thread(target=read)
            reader.start()
            server.wait_for_requests(1)
            assert arrived.wait(5)
            # The reader is on its way to where it waits.
            time.sleep(0.1)
            begin = time.monotonic()
            source.close()
            assert time.monotonic() - begin < AT_ONCE
            reader.join(AT_ONCE)
            assert not reader.is_alive()
        assert got == data
        refused = situation == "for the reason of a refusal"
        assert [type(failure).__name__ for failure in failures] == (
            ["UnexpectedStatus"] if refused else []
        )
        assert source.ready_state is ReadyState.CLOSED
        if (adapter.name, situation) != ("requests", "for the head"):
            server.wait_for_disconnect(1, AT_ONCE)
    gc.collect()


@over(BLOCKING)
def test_close_during_a_tls_handshake_ends_the_reader(
    adapter: Adapter,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"https://127.0.0.1:{listener.getsockname()[1]}/"
        with adapter.event_source(url, backoff=NEVER) as source:
            reader = threading.Thread(target=lambda: list(source))
            reader.start()
            accepted, _ = listener.accept()
            with accepted:
                # It is in the handshake.
                time.sleep(0.1)
                begin = time.monotonic()
                source.close()
                reader.join(AT_ONCE)
                assert not reader.is_alive()
                assert time.monotonic() - begin < AT_ONCE
                if adapter.name != "requests":
                    # The connection has gone as well.
                    accepted.settimeout(AT_ONCE)
                    while accepted.recv(4096):
                        pass


@over(BLOCKING)
def test_close_by_two_threads_while_one_reads(adapter: Adapter) -> None:
    with HostileServer(SILENT) as server, adapter.event_source(server.url) as source:
        assert next(source).data == "a"
        readers = [threading.Thread(target=lambda: list(source)) for _ in range(2)]
        closers = [threading.Thread(target=source.close) for _ in range(2)]
        for thread in readers:
            thread.start()
        time.sleep(0.05)
        for thread in closers:
            thread.start()
        for thread in readers + closers:
            thread.join(AT_ONCE)
            assert not thread.is_alive()


@over(AWAITING)
@pytest.mark.parametrize("situation", SITUATIONS)
def test_close_by_another_task_ends_the_reader_at_once(adapter: Adapter, situation: str) -> None:
    answer, data = SITUATIONS[situation]

    async def scenario(adapter: Adapter) -> None:
        got: list[str] = []

        async def close_later(source: Any) -> None:
            await anyio.sleep(0.2)
            await source.aclose()

        async with adapter.source(server.url, backoff=NEVER) as source:
            begin = time.monotonic()
            async with anyio.create_task_group() as group:
                group.start_soon(close_later, source.raw)
                try:
                    async for event in source:
                        got.append(event.data)  # noqa: PERF401 (those before an error count)
                except Exception as error:
                    assert situation == "for the reason of a refusal"
                    assert type(error).__name__ == "UnexpectedStatus"
            assert time.monotonic() - begin < 0.2 + AT_ONCE
            assert source.raw.ready_state is ReadyState.CLOSED
        assert got == data

    with HostileServer(answer) as server:
        run(adapter, scenario)
        server.wait_for_disconnect(1, AT_ONCE)
    gc.collect()


@over(ADAPTERS)
def test_leaving_the_block_closes_the_connection(adapter: Adapter) -> None:
    async def scenario(adapter: Adapter) -> None:
        async with adapter.source(server.url) as source:
            async for event in source:
                assert event.data == "a"
                break
        # While the scenario, and its loop, goes on.
        server.wait_for_disconnect(1, AT_ONCE)
        # What had come is gone: nothing is dispatched behind a close.
        assert await source.rest() == []

    with no_thread_left(), HostileServer(SILENT) as server:
        run(adapter, scenario)
        assert len(server.requests) == 1
    gc.collect()


@over(ADAPTERS)
def test_leaving_the_block_by_an_error_closes_the_connection(adapter: Adapter) -> None:
    async def scenario(adapter: Adapter) -> None:
        with pytest.raises(ZeroDivisionError):
            async with adapter.source(server.url) as source:
                await source.take(1)
                raise ZeroDivisionError
        server.wait_for_disconnect(1, AT_ONCE)

    with no_thread_left(), HostileServer(SILENT) as server:
        run(adapter, scenario)
    gc.collect()


@over(ADAPTERS)
def test_close_in_any_state_and_twice(adapter: Adapter) -> None:
    async def scenario(adapter: Adapter) -> None:
        async with adapter.source(server.url) as source:
            await source.close()
            await source.close()
            assert await source.rest() == []
        async with adapter.source(server.url) as source:
            assert await source.take(1) == [Event(data="a", id="1", last_event_id="1")]
            await source.close()
            await source.close()
            assert await source.rest() == []
            assert source.raw.last_event_id == "1"

    with no_thread_left(), HostileServer(SILENT) as server:
        run(adapter, scenario)
        assert len(server.requests) == 1
    gc.collect()


@over(BLOCKING)
def test_close_within_a_hook(adapter: Adapter) -> None:
    sources: list[Any] = []

    def close(progress: Any) -> None:
        if progress.ready_state is ReadyState.OPEN:
            sources[0].close()

    async def scenario(adapter: Adapter) -> list[Event]:
        async with adapter.source(server.url, on_progress=close) as source:
            sources.append(source.raw)
            return await source.rest()

    with no_thread_left(), HostileServer(SILENT, no_content()) as server:
        assert run(adapter, scenario) == []
        assert len(server.requests) == 1


@over(ADAPTERS)
def test_source_that_nobody_iterates_makes_no_connection(adapter: Adapter) -> None:
    async def scenario(adapter: Adapter) -> None:
        async with adapter.source(server.url) as source:
            assert source.raw.ready_state is ReadyState.CONNECTING

    with HostileServer(SILENT) as server:
        run(adapter, scenario)
        assert server.connections == 0


@over([adapter for adapter in ADAPTERS if adapter.make_client is not None])
def test_client_of_the_caller_is_left_open_and_usable(adapter: Adapter) -> None:
    async def scenario(adapter: Adapter) -> None:
        async with adapter.client() as client:
            for _ in range(2):
                async with adapter.source(server.url, client=client) as source:
                    assert [event.data for event in await source.take(2)] == ["a", "b"]

    with HostileServer(SILENT) as server:
        run(adapter, scenario)
        assert len(server.requests) == 2
    gc.collect()


@over(BLOCKING)
def test_close_before_the_request_is_sent_keeps_it_unsent(adapter: Adapter) -> None:
    sources: list[Any] = []

    def close(request: Any) -> Any:
        sources[0].close()
        return request

    with no_thread_left(), HostileServer(silent()) as server:
        with adapter.event_source(server.url, json={}, on_request=close) as source:
            sources.append(source)
            assert list(source) == []
        # A thread that was on its way would be there by now.
        time.sleep(0.1)
        assert server.connections == 0


@over(AWAITING)
def test_close_twice_while_a_task_reads(adapter: Adapter) -> None:
    async def scenario(adapter: Adapter) -> None:
        async with adapter.source(server.url) as source:
            await source.take(2)

            async def close() -> None:
                await anyio.sleep(0.1)
                await source.close()
                await anyio.sleep(0)
                await source.close()

            async with anyio.create_task_group() as group:
                group.start_soon(close)
                assert await source.rest() == []

    with HostileServer(SILENT) as server:
        run(adapter, scenario)
    gc.collect()


@over(ADAPTERS)
def test_error_of_a_hook_is_the_callers_and_leaves_nothing_open(adapter: Adapter) -> None:
    """It is no fault of the transport, whatever it is, and is not tried again."""

    def fail(progress: Any) -> None:
        if progress.ready_state is ReadyState.OPEN:
            raise FileNotFoundError("the log")

    async def scenario(adapter: Adapter) -> None:
        async with adapter.source(server.url, on_progress=fail) as source:
            with pytest.raises(FileNotFoundError):
                await source.rest()

    with no_thread_left(), HostileServer(SILENT) as server:
        run(adapter, scenario)
        assert len(server.requests) == 1
        server.wait_for_disconnect(1, AT_ONCE)
    gc.collect()


@over(ADAPTERS)
def test_hook_that_fails_at_the_close_leaves_nothing_open(adapter: Adapter) -> None:
    def fail(progress: Any) -> None:
        if progress.ready_state is ReadyState.CLOSED:
            raise FileNotFoundError("the log")

    kept: list[Any] = []

    async def scenario(adapter: Adapter) -> None:
        with pytest.raises(FileNotFoundError):
            async with adapter.source(server.url, on_progress=fail) as source:
                # Else it would be closed because nobody had it any more.
                kept.append(source.raw)
                await source.take(1)
        server.wait_for_disconnect(1, AT_ONCE)
        assert kept[0].ready_state is ReadyState.CLOSED

    with no_thread_left(), HostileServer(SILENT) as server:
        run(adapter, scenario)
    gc.collect()


@over(BLOCKING)
def test_response_that_comes_behind_the_close_is_closed(adapter: Adapter) -> None:
    late = Answer((Pause(0.3), *SILENT.steps))
    with no_thread_left(), HostileServer(late) as server:
        with adapter.event_source(server.url) as source:
            closer = threading.Timer(0.1, source.close)
            closer.start()
            assert list(source) == []
            closer.join()
        server.wait_for_disconnect(1, AT_ONCE)
    gc.collect()


@over(BLOCKING)
@pytest.mark.parametrize("answer", [SILENT, silent()], ids=["body", "head"])
def test_interrupted_reader_can_go_on(adapter: Adapter, answer: Answer) -> None:
    main = threading.main_thread().ident
    assert main == threading.get_ident()
    soon = Backoff(base=0.01, factor=1, jitter=0)
    got: list[str] = []
    with HostileServer(answer, stream(b"data: c\n\n"), no_content()) as server:
        with adapter.event_source(server.url, backoff=soon) as source:
            timer = threading.Timer(0.3, signal.pthread_kill, (main, signal.SIGINT))
            timer.start()
            with pytest.raises(KeyboardInterrupt):
                got.extend(event.data for event in iter(source.__next__, None))
            timer.join()
            assert [event.data for event in source] == ["c"]
        assert len(server.requests) == 3
    gc.collect()


def test_request_is_made_in_the_context_of_who_iterates() -> None:
    (adapter,) = (adapter for adapter in BLOCKING if adapter.name == "requests")
    tenant: contextvars.ContextVar[str] = contextvars.ContextVar("tenant", default="nobody")
    seen: list[str] = []

    def sign(request: Any) -> Any:
        seen.append(tenant.get())
        return request

    assert adapter.make_client is not None
    with HostileServer(no_content()) as server, adapter.make_client(None) as session:
        session.auth = sign
        tenant.set("me")
        assert list(adapter.event_source(server.url, client=session)) == []
    assert seen == ["me"]
