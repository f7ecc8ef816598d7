"""One way to run a test on every adapter: as a coroutine, whatever the adapter is.

async def scenario(adapter: Adapter) -> None:
    async with adapter.source(url) as source:
        assert [event.data async for event in source] == ["a"]

run(adapter, scenario)
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import threading
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import aiohttp
import anyio
import httpx
import httpx2
import pytest
import requests
import sansio_sse_adapters.aiohttp
import sansio_sse_adapters.asyncio
import sansio_sse_adapters.httpx
import sansio_sse_adapters.requests
import sansio_sse_adapters.sockets
import sansio_sse_adapters.trio
import trio

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
    from pathlib import Path
    from types import ModuleType

    from sansio_sse import Event

T = TypeVar("T")

# What a test that hangs may take: none takes a tenth of it.
HANG_SECONDS = 20.0


class Adapter(NamedTuple):
    name: str
    module: ModuleType
    # Of the module: what is tested.
    event_source: Callable[..., Any]
    # What runs it: nothing, asyncio or trio.
    backend: str | None
    # Of a client that trusts a certificate authority, and follows redirects; it is closed by
    # `close_client`. None where there are no clients.
    make_client: Callable[[Path | None], Any] | None = None

    def __repr__(self) -> str:
        return self.name

    @property
    def is_async(self) -> bool:
        return self.backend is not None

    @asynccontextmanager
    async def source(self, url: str, **options: Any) -> AsyncIterator[Source]:
        """Open a source, and close it."""
        if self.module is _httpx and "client" not in options:
            # By default it is one of httpx, and trusts the authorities of the world.
            async with (
                self.client() as client,
                self.source(url, client=client, **options) as source,
            ):
                yield source
        elif self.is_async:
            async with self.event_source(url, **options) as raw:
                yield Source(self, raw)
        else:
            with self.event_source(url, **options) as raw:
                yield Source(self, raw)

    @asynccontextmanager
    async def trusting(self, certificates: Any) -> AsyncIterator[dict[str, Any]]:
        """The options of a source that trusts a certificate authority."""
        if self.make_client is None:
            context: ssl.SSLContext = certificates.client_context
            yield {"ssl_context": context}
            return
        async with self.client(certificates.ca_path) as client:
            yield {"client": client}

    @asynccontextmanager
    async def client(self, ca_path: Path | None = None) -> AsyncIterator[Any]:
        assert self.make_client is not None
        client = self.make_client(ca_path)
        try:
            yield client
        finally:
            await close_client(client)


class Source:
    """A source of either kind, as an asynchronous one."""

    def __init__(self, adapter: Adapter, raw: Any) -> None:
        self.adapter = adapter
        self.raw = raw

    def __aiter__(self) -> Source:
        return self

    async def __anext__(self) -> Event:
        event: Event
        if self.adapter.is_async:
            event = await self.raw.__anext__()
            return event
        try:
            event = next(self.raw)
        except StopIteration:
            raise StopAsyncIteration from None
        return event

    async def take(self, count: int) -> list[Event]:
        return [await self.__anext__() for _ in range(count)]

    async def rest(self) -> list[Event]:
        return [event async for event in self]

    async def close(self) -> None:
        if self.adapter.is_async:
            await self.raw.aclose()
        else:
            self.raw.close()


async def close_client(client: Any) -> None:
    if isinstance(client, aiohttp.ClientSession):
        await client.close()
    elif hasattr(client, "aclose"):
        await client.aclose()
    else:
        client.close()


# Making one that knows the authorities of the world takes longer than most tests.
_NO_AUTHORITIES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _requests_session(ca_path: Path | None) -> requests.Session:
    session = requests.Session()
    if ca_path is not None:
        # Not those of the environment, which would go before.
        session.trust_env = False
        session.verify = str(ca_path)
    return session


def _httpx_client(kind: Any) -> Callable[[Path | None], Any]:
    def make(ca_path: Path | None) -> Any:
        context = _NO_AUTHORITIES
        if ca_path is not None:
            context = ssl.create_default_context(cafile=str(ca_path))
        # h2 is there for one of them.
        http2 = ca_path is not None and kind.__module__ == "httpx"
        return kind(follow_redirects=True, verify=context, http2=http2)

    return make


def _aiohttp_session(ca_path: Path | None) -> aiohttp.ClientSession:
    context = _NO_AUTHORITIES
    if ca_path is not None:
        context = ssl.create_default_context(cafile=str(ca_path))
    return aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context))


_requests = sansio_sse_adapters.requests
_httpx = sansio_sse_adapters.httpx
_aiohttp = sansio_sse_adapters.aiohttp
_sockets = sansio_sse_adapters.sockets
_asyncio = sansio_sse_adapters.asyncio
_trio = sansio_sse_adapters.trio

ADAPTERS = [
    Adapter("requests", _requests, _requests.EventSource, None, _requests_session),
    Adapter("httpx", _httpx, _httpx.EventSource, None, _httpx_client(httpx.Client)),
    Adapter("httpx2", _httpx, _httpx.EventSource, None, _httpx_client(httpx2.Client)),
    Adapter(
        "httpx-asyncio",
        _httpx,
        _httpx.AsyncEventSource,
        "asyncio",
        _httpx_client(httpx.AsyncClient),
    ),
    Adapter(
        "httpx-trio", _httpx, _httpx.AsyncEventSource, "trio", _httpx_client(httpx.AsyncClient)
    ),
    Adapter(
        "httpx2-asyncio",
        _httpx,
        _httpx.AsyncEventSource,
        "asyncio",
        _httpx_client(httpx2.AsyncClient),
    ),
    Adapter(
        "httpx2-trio", _httpx, _httpx.AsyncEventSource, "trio", _httpx_client(httpx2.AsyncClient)
    ),
    Adapter("aiohttp", _aiohttp, _aiohttp.EventSource, "asyncio", _aiohttp_session),
    Adapter("sockets", _sockets, _sockets.EventSource, None),
    Adapter("asyncio", _asyncio, _asyncio.EventSource, "asyncio"),
    Adapter("trio", _trio, _trio.EventSource, "trio"),
]
BLOCKING = [adapter for adapter in ADAPTERS if not adapter.is_async]
AWAITING = [adapter for adapter in ADAPTERS if adapter.is_async]


def over(adapters: list[Adapter]) -> pytest.MarkDecorator:
    """Run a test on each of these adapters."""
    return pytest.mark.parametrize("adapter", adapters, ids=repr)


def run(adapter: Adapter, scenario: Callable[[Adapter], Coroutine[Any, Any, T]]) -> T:
    """Run a scenario as its adapter needs it; one that hangs fails."""
    outcome: list[T] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            if adapter.backend == "asyncio":
                outcome.append(asyncio.run(scenario(adapter)))
            elif adapter.backend == "trio":
                outcome.append(trio.run(scenario, adapter))
            else:
                outcome.append(_run_blocking(scenario(adapter)))
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(HANG_SECONDS)
    if errors:
        raise errors[0]
    assert not thread.is_alive(), "the scenario hangs"
    return outcome[0]


def _run_blocking(coroutine: Coroutine[Any, Any, T]) -> T:
    # Nothing in it ever waits for a loop: what blocks, blocks.
    try:
        coroutine.send(None)
    except StopIteration as stop:
        result: T = stop.value
        return result
    raise AssertionError("a scenario of a blocking adapter waits for a loop")


async def within(seconds: float, operation: Callable[[], Awaitable[T]]) -> T | None:
    """Await with a timeout, on asyncio and trio; None where it passed."""
    with anyio.move_on_after(seconds):
        return await operation()
    return None


@contextlib.contextmanager
def no_thread_left() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    for thread in set(threading.enumerate()) - before:
        thread.join(2.0)
        assert not thread.is_alive(), f"{thread.name} goes on"
