"""`iter_events` and `aiter_events`: one response of the library's own."""

from __future__ import annotations

import asyncio as asyncio_library
import http.client
import socket
import urllib.request
from typing import Any

import aiohttp as aiohttp_library
import httpx as httpx_library
import httpx2 as httpx2_library
import pytest
import requests as requests_library
import trio as trio_library
from sansio_sse_adapters import aiohttp, asyncio, httpx, requests, sockets, trio
from trio.testing import memory_stream_one_way_pair

from sansio_sse import (
    Event,
    EventStreamParser,
    LocalProtocolError,
    RemoteProtocolError,
    UnexpectedContentType,
    UnexpectedStatus,
)

from .drivers import AWAITING, Adapter, over, run, within
from .hostile import (
    HostileServer,
    Pause,
    Send,
    Silence,
    chunk,
    no_content,
    page,
    stream,
    unfinished,
)

BODY = b"id: 1\ndata: a\n\ndata: b"
EVENTS = [Event(data="a", id="1", last_event_id="1")]
TAIL = [*EVENTS, Event(data="b", last_event_id="1")]
HTTPX = [httpx_library, httpx2_library]


# Each reads a URL with the library's own means, and gives `read` its response.
def with_requests(url: str, read: Any) -> Any:
    with requests_library.get(url, stream=True) as response:
        return read(requests.iter_events, response)


def with_httpx(library: Any) -> Any:
    def get(url: str, read: Any) -> Any:
        with library.Client() as client, client.stream("GET", url) as response:
            return read(httpx.iter_events, response)

    return get


def with_http_client(url: str, read: Any) -> Any:
    connection = http.client.HTTPConnection(url.removeprefix("http://"))
    connection.request("GET", "/")
    try:
        with connection.getresponse() as response:
            return read(sockets.iter_events, response)
    finally:
        connection.close()


async def _collect(events: Any) -> list[Event]:
    return [event async for event in events]


def with_async_httpx(library: Any, run: Any) -> Any:
    def get(url: str, read: Any) -> Any:
        async def main() -> Any:
            async with library.AsyncClient() as client, client.stream("GET", url) as response:
                options = read(lambda _, **options: options, response)
                return await _collect(httpx.aiter_events(response, **options))

        return run(main)

    return get


def with_aiohttp(url: str, read: Any) -> Any:
    async def main() -> Any:
        async with aiohttp_library.ClientSession() as session, session.get(url) as response:
            options = read(lambda _, **options: options, response)
            return await _collect(aiohttp.aiter_events(response, **options))

    return asyncio_library.run(main())


CALLS = {
    "requests": with_requests,
    "httpx": with_httpx(httpx_library),
    "httpx2": with_httpx(httpx2_library),
    "http.client": with_http_client,
    "httpx-asyncio": with_async_httpx(httpx_library, lambda main: asyncio_library.run(main())),
    "httpx-trio": with_async_httpx(httpx_library, trio_library.run),
    "httpx2-asyncio": with_async_httpx(httpx2_library, lambda main: asyncio_library.run(main())),
    "aiohttp": with_aiohttp,
}
calls = pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)


def everything(**options: Any) -> Any:
    def read(iter_events: Any, response: Any) -> Any:
        events = iter_events(response, **options)
        return events if isinstance(events, dict) else list(events)

    return read


@calls
@pytest.mark.parametrize("framing", ["chunked", "length", "close"])
def test_events_of_a_response(call: Any, framing: Any) -> None:
    with HostileServer(stream(BODY, framing=framing, size=3)) as server:
        assert call(server.url, everything()) == EVENTS


@calls
def test_parser_of_the_caller_reads_it(call: Any) -> None:
    parser = EventStreamParser(tail="dispatch", last_event_id="0")
    with HostileServer(stream(BODY)) as server:
        assert call(server.url, everything(parser=parser)) == TAIL
    assert parser.last_event_id == "1"


@calls
@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (page(200, "application/json", b'{"error": 1}'), UnexpectedContentType),
        (page(401, "text/event-stream", b'{"error": 1}'), UnexpectedStatus),
        (stream(b'{"error": 1}', status=500), UnexpectedStatus),
    ],
    ids=["type", "status", "chunked"],
)
def test_what_is_no_event_stream_is_an_error_with_its_body(
    call: Any, answer: Any, error: Any
) -> None:
    with HostileServer(answer) as server, pytest.raises(error) as caught:
        call(server.url, everything())
    assert caught.value.body == b'{"error": 1}'
    assert ("Connection", "close") in [
        (name.title(), value) for name, value in caught.value.headers
    ]


@calls
def test_endless_body_of_an_error_is_read_to_64_kib(call: Any) -> None:
    answer = unfinished(b"x" * 100_000, Silence(), status=500)
    with HostileServer(answer) as server, pytest.raises(UnexpectedStatus) as caught:
        call(server.url, everything())
    assert caught.value.body == b"x" * 65536


@calls
def test_check_can_be_left_out(call: Any) -> None:
    with HostileServer(stream(BODY, status=500, content_type="text/plain")) as server:
        assert call(server.url, everything(check=False)) == EVENTS


@calls
def test_204_has_no_events(call: Any) -> None:
    with HostileServer(no_content()) as server:
        assert call(server.url, everything()) == []


@calls
def test_cut_body_is_an_error_of_the_library_behind_its_events(call: Any) -> None:
    library_errors = (
        requests_library.RequestException,
        httpx_library.TransportError,
        httpx2_library.TransportError,
        aiohttp_library.ClientError,
        http.client.HTTPException,
    )
    answer = unfinished(BODY, framing="length")
    with HostileServer(answer) as server, pytest.raises(library_errors):
        call(server.url, everything())


@calls
def test_error_of_the_parser_comes_through(call: Any) -> None:
    parser = EventStreamParser(utf8="strict")
    with HostileServer(stream(b"data: \xff\n\n")) as server, pytest.raises(RemoteProtocolError):
        call(server.url, everything(parser=parser))


def test_urllib_response_is_one_of_http_client() -> None:
    with HostileServer(stream(BODY)) as server, urllib.request.urlopen(server.url) as response:
        assert list(sockets.iter_events(response)) == EVENTS


def test_events_come_before_the_body_ends() -> None:
    with HostileServer(unfinished(BODY, Silence())) as server:
        with requests_library.get(server.url, stream=True) as response:
            assert next(requests.iter_events(response)) == EVENTS[0]
        with httpx_library.Client() as client, client.stream("GET", server.url) as answer:
            assert next(httpx.iter_events(answer)) == EVENTS[0]
        with urllib.request.urlopen(server.url) as answer:
            assert next(sockets.iter_events(answer)) == EVENTS[0]


def test_requests_response_in_memory_is_read_and_one_that_is_gone_is_an_error() -> None:
    with HostileServer(stream(BODY)) as server:
        loaded = requests_library.get(server.url)
        assert list(requests.iter_events(loaded)) == EVENTS
        assert list(requests.iter_events(loaded)) == EVENTS
        with requests_library.get(server.url, stream=True) as streamed:
            assert list(requests.iter_events(streamed)) == EVENTS
            with pytest.raises(LocalProtocolError, match="read already"):
                requests.iter_events(streamed)
        with requests_library.get(server.url, stream=True) as consumed:
            assert b"".join(consumed.iter_content(10)) == BODY
            with pytest.raises(LocalProtocolError, match="read already"):
                requests.iter_events(consumed)


@pytest.mark.parametrize("library", HTTPX)
def test_httpx_response_in_memory_is_read_and_one_that_is_gone_is_an_error(library: Any) -> None:
    with HostileServer(stream(BODY)) as server, library.Client() as client:
        loaded = client.get(server.url)
        assert list(httpx.iter_events(loaded)) == EVENTS
        assert list(httpx.iter_events(loaded)) == EVENTS
        with client.stream("GET", server.url) as streamed:
            assert list(httpx.iter_events(streamed)) == EVENTS
            with pytest.raises(library.StreamConsumed):
                list(httpx.iter_events(streamed))
        with client.stream("GET", server.url) as closed:
            pass
        with pytest.raises(library.StreamError):
            list(httpx.iter_events(closed))


def test_aiohttp_response_in_memory_is_read_and_one_that_is_gone_is_an_error() -> None:
    async def main(url: str) -> None:
        async with aiohttp_library.ClientSession() as session:
            async with session.get(url) as loaded:
                await loaded.read()
                assert await _collect(aiohttp.aiter_events(loaded)) == EVENTS
                assert await _collect(aiohttp.aiter_events(loaded)) == EVENTS
            async with session.get(url) as streamed:
                assert await _collect(aiohttp.aiter_events(streamed)) == EVENTS
                with pytest.raises(LocalProtocolError, match="read already"):
                    await _collect(aiohttp.aiter_events(streamed))

    with HostileServer(stream(BODY)) as server:
        asyncio_library.run(main(server.url))


def test_connected_socket() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(BODY[:10])
        events = sockets.iter_events(ours)
        theirs.sendall(BODY[10:])
        assert next(events) == EVENTS[0]
        theirs.shutdown(socket.SHUT_WR)
        assert list(events) == []
    with pytest.raises(OSError, match=r"(?i)bad file"):
        list(sockets.iter_events(ours))


def test_stream_reader_of_asyncio() -> None:
    async def main() -> list[Event]:
        reader = asyncio_library.StreamReader()
        events = asyncio.aiter_events(reader)
        reader.feed_data(BODY[:10])
        with pytest.raises(asyncio_library.TimeoutError):
            await asyncio_library.wait_for(events.__anext__(), 0.01)
        reader.feed_data(BODY[10:])
        first = await events.__anext__()
        reader.feed_eof()
        return [first, *[event async for event in events]]

    assert asyncio_library.run(main()) == EVENTS


def test_receive_stream_of_trio() -> None:
    async def main() -> list[Event]:
        sender, receiver = memory_stream_one_way_pair()
        events = trio.aiter_events(receiver)
        await sender.send_all(BODY[:10])
        with trio_library.move_on_after(0.01):
            await events.__anext__()
        await sender.send_all(BODY[10:])
        first = await events.__anext__()
        await sender.aclose()
        rest = [event async for event in events]
        await receiver.aclose()
        with pytest.raises(trio_library.ClosedResourceError):
            await _collect(trio.aiter_events(receiver))
        return [first, *rest]

    assert trio_library.run(main) == EVENTS


@over([adapter for adapter in AWAITING if adapter.name not in ("asyncio", "trio")])
def test_timeout_around_a_read_of_a_response_loses_nothing_in_silence(adapter: Adapter) -> None:
    async def scenario(adapter: Adapter) -> None:
        async with adapter.client() as client:
            if adapter.name == "aiohttp":
                async with client.get(server.url) as response:
                    events = aiohttp.aiter_events(response)
                    assert await within(0.1, events.__anext__) is None
                    assert await events.__anext__() == Event(data="c")
            else:
                async with client.stream("GET", server.url) as response:
                    events = httpx.aiter_events(response)
                    assert await within(0.1, events.__anext__) is None
                    with pytest.raises(LocalProtocolError, match="cancelled"):
                        await events.__anext__()

    answer = unfinished(b"da", Pause(0.3), Send(chunk(b"ta: c\n\n")), Silence())
    with HostileServer(answer) as server:
        run(adapter, scenario)


@pytest.mark.parametrize(
    ("source", "client"),
    [
        (requests.EventSource, httpx_library),
        (httpx.EventSource, httpx_library.AsyncClient),
        (httpx.AsyncEventSource, httpx_library.Client),
        (httpx.AsyncEventSource, httpx2_library.Client),
        (aiohttp.EventSource, requests_library.Session),
    ],
)
def test_client_of_another_kind_is_refused_at_once(source: Any, client: Any) -> None:
    with pytest.raises(LocalProtocolError, match=r"client is .*: pass a "):
        source("http://localhost/", client=client)
