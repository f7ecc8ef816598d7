"""The servers that people run: uvicorn, aiohttp.web, hypercorn, over TLS and HTTP/2."""

from __future__ import annotations

import gc
import json
import threading
from typing import TYPE_CHECKING, Any

import pytest

from sansio_sse import RETRYABLE_STATUSES, Backoff, UnexpectedContentType, UnexpectedStatus

from .drivers import ADAPTERS, Adapter, over, run, within
from .hostile import HostileServer, close_at_once, cut_before_last_chunk, no_content, stream
from .servers import BUSY, HTML

if TYPE_CHECKING:
    import ssl
    from pathlib import Path

    from .certificates import Certificates
    from .servers import RealServer

SOON = Backoff(base=0.01, factor=1, jitter=0)
NUMBERS = [f'{{"n": {number}}}' for number in range(1, 8)]
ANSWER = ['{"word": "Hallo"}', '{"word": "Welt \N{GRINNING FACE}"}', "[DONE]"]
CHAT = {"words": ["Hallo", "Welt \N{GRINNING FACE}"]}


async def all_data(adapter: Adapter, url: str, **options: Any) -> list[str]:
    async with adapter.source(url, backoff=SOON, **options) as source:
        return [event.data for event in await source.rest()]


@over(ADAPTERS)
def test_stream_that_is_resumed_is_seen_whole_and_once(
    adapter: Adapter, real_server: RealServer
) -> None:
    async def scenario(adapter: Adapter) -> list[str]:
        return await all_data(adapter, f"{real_server.url}/count?to=7&each=3")

    assert run(adapter, scenario) == NUMBERS
    gc.collect()


@over(ADAPTERS)
def test_chat_request_is_answered(adapter: Adapter, real_server: RealServer) -> None:
    async def scenario(adapter: Adapter) -> list[str]:
        return [
            json_text(text)
            for text in await all_data(adapter, f"{real_server.url}/chat", json=CHAT)
        ]

    assert run(adapter, scenario) == ANSWER


def json_text(text: str) -> str:
    """Servers differ in what they escape."""
    return text if text == "[DONE]" else json.dumps(json.loads(text), ensure_ascii=False)


@over(ADAPTERS)
def test_error_of_a_chat_request_can_be_read(adapter: Adapter, real_server: RealServer) -> None:
    async def scenario(adapter: Adapter) -> None:
        with pytest.raises(UnexpectedStatus) as caught:
            await all_data(adapter, f"{real_server.url}/chat", json={"word": "no list"})
        assert caught.value.status == 400
        assert b"expected words" in caught.value.body

    run(adapter, scenario)


@over(ADAPTERS)
def test_body_that_is_compressed_unasked_is_decompressed(
    adapter: Adapter, real_server: RealServer
) -> None:
    async def scenario(adapter: Adapter) -> list[str]:
        async with adapter.source(f"{real_server.url}/gzip") as source:
            return [event.data for event in await source.take(3)]

    assert len(run(adapter, scenario)) == 3


@over(ADAPTERS)
def test_heartbeats_keep_an_idle_stream_open(adapter: Adapter, real_server: RealServer) -> None:
    async def scenario(adapter: Adapter) -> None:
        attempts: list[int] = []
        source = adapter.source(
            f"{real_server.url}/heartbeat",
            idle_timeout=0.3,
            on_progress=lambda progress: attempts.append(progress.attempt),
        )
        async with source as opened:
            if adapter.is_async:
                assert await within(0.7, opened.__anext__) is None
            else:
                timer = threading.Timer(0.7, opened.raw.close)
                timer.start()
                assert await opened.rest() == []
                timer.join()
        assert set(attempts) == {1}

    run(adapter, scenario)
    gc.collect()


@over(ADAPTERS)
def test_redirect_page_and_busy_server(adapter: Adapter, real_server: RealServer) -> None:
    async def scenario(adapter: Adapter) -> None:
        url = real_server.url
        assert (
            await all_data(adapter, f"{url}/redirect?status=307&to=/count%3Fto%3D2") == NUMBERS[:2]
        )
        with pytest.raises(UnexpectedContentType) as page:
            await all_data(adapter, f"{url}/html")
        assert page.value.body.decode() == HTML
        with pytest.raises(UnexpectedStatus) as busy:
            await all_data(adapter, f"{url}/busy")
        assert BUSY["error"].encode() in busy.value.body

    run(adapter, scenario)


@over(ADAPTERS)
def test_retry_after_is_waited_for(adapter: Adapter, real_starlette: RealServer) -> None:
    delays: list[float] = []

    async def scenario(adapter: Adapter) -> None:
        def watch(progress: Any) -> None:
            if progress.delay is not None:
                delays.append(progress.delay)
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await all_data(
                adapter,
                f"{real_starlette.url}/busy",
                retry_statuses=RETRYABLE_STATUSES,
                on_progress=watch,
            )

    run(adapter, scenario)
    assert delays == [1.0]


@over(ADAPTERS)
def test_tls(adapter: Adapter, real_tls: RealServer, certificates: Certificates) -> None:
    async def scenario(adapter: Adapter) -> list[str]:
        async with adapter.trusting(certificates) as options:
            return await all_data(adapter, f"{real_tls.url}/count?to=7&each=3", **options)

    assert run(adapter, scenario) == NUMBERS
    gc.collect()


@over(ADAPTERS)
def test_certificate_that_nobody_vouches_for_is_a_lost_connection(
    adapter: Adapter, real_tls: RealServer
) -> None:
    async def scenario(adapter: Adapter) -> None:
        once = Backoff(base=0.01, max_attempts=2)
        async with adapter.source(f"{real_tls.url}/count?to=7", backoff=once) as source:
            with pytest.raises(Exception) as caught:  # noqa: PT011 (of six libraries)
                await source.rest()
            assert source.raw.progress.attempt == 2
            error: BaseException | None = caught.value
            while error is not None and "certificate" not in str(error).lower():
                error = error.__cause__ or error.__context__
            assert error is not None

    run(adapter, scenario)
    gc.collect()


# Python 3.10 forgets that a transport is closed when TLS is reset, under aiohttp alone as well.
@pytest.mark.filterwarnings("ignore:unclosed transport <asyncio.sslproto:ResourceWarning")
@over(ADAPTERS)
def test_tls_that_is_cut_is_a_lost_connection(adapter: Adapter, certificates: Certificates) -> None:
    async def scenario(adapter: Adapter) -> list[str]:
        async with adapter.trusting(certificates) as options:
            return await all_data(adapter, server.url, **options)

    answers = [
        close_at_once(),
        cut_before_last_chunk(b"data: a\n\n", reset=True),
        stream(b"data: b\n\n"),
        no_content(),
    ]
    with HostileServer(*answers, tls=certificates.server_context) as server:
        assert run(adapter, scenario) == ["a", "b"]
    gc.collect()


@over([adapter for adapter in ADAPTERS if adapter.name in ("httpx", "httpx-asyncio", "httpx-trio")])
def test_http2(adapter: Adapter, real_http2: RealServer, certificates: Certificates) -> None:
    async def scenario(adapter: Adapter) -> None:
        versions: list[str] = []
        async with adapter.trusting(certificates) as options:
            hooks = options["client"].event_hooks

            def note(response: Any) -> None:
                versions.append(response.http_version)

            async def anote(response: Any) -> None:
                note(response)

            hooks["response"].append(anote if adapter.is_async else note)
            options["client"].event_hooks = hooks
            url = real_http2.url
            assert await all_data(adapter, f"{url}/count?to=7&each=3", **options) == NUMBERS
            chat = await all_data(adapter, f"{url}/chat", json=CHAT, **options)
            assert list(map(json_text, chat)) == ANSWER
            async with adapter.source(f"{url}/heartbeat", **options) as source:
                if adapter.is_async:
                    assert await within(0.2, source.__anext__) is None
            # Leaving one whose server is silent: the connection stays, it is the client's.
            async with adapter.source(f"{url}/silent", **options) as source:
                assert [event.data for event in await source.take(1)] == ["a"]
        assert set(versions) == {"HTTP/2"}

    run(adapter, scenario)
    gc.collect()


@over([adapter for adapter in ADAPTERS if adapter.make_client is None])
@pytest.mark.parametrize("secure", [False, True], ids=["plain", "TLS"])
def test_unix_socket(
    adapter: Adapter, secure: bool, tmp_path: Path, certificates: Certificates
) -> None:
    async def scenario(adapter: Adapter) -> list[str]:
        options = {"ssl_context": certificates.client_context} if secure else {}
        return await all_data(adapter, server.url, unix_socket=str(tmp_path / "s"), **options)

    context: ssl.SSLContext | None = certificates.server_context if secure else None
    answers = [stream(b"data: a\n\n"), no_content()]
    with HostileServer(*answers, unix_socket=tmp_path / "s", tls=context) as server:
        assert run(adapter, scenario) == ["a"]
