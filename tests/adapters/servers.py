"""Real servers with the same routes, each on an event loop of its own in a thread of its own.

`GET /count?to=N&each=K`
    Continues behind the request's `Last-Event-ID`, with at most K events a response: a client
    that reconnects sees 1 to N once each, and then a 204.
`POST /chat`
    One event a word of `{"words": [...]}`, then `[DONE]`; 400 if the body is no such JSON.
`GET /bytes?name=ID&size=S`
    The bytes of the parser vector with that id, S bytes a write (all at once if missing).
`GET /heartbeat`
    A comment every 20 ms, for ever.
`GET /silent`
    One event, and then nothing (starlette alone).
`GET /gzip`
    Three events, compressed whether the client asks for it or not, each flushed by itself.
`POST /v1/chat/completions`, `POST /v1/responses`
    What `provider.py` says (starlette alone).
`GET /redirect?status=S&to=PATH`, `GET /html`, `GET /busy` (503)
    No streams at all.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import socket
import threading
import zlib
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakSet

import aiohttp.web
import aiohttp_sse
import uvicorn
from hypercorn.asyncio import serve as serve_hypercorn
from hypercorn.config import Config as HypercornConfig
from hypercorn.config import Sockets
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.applications import Starlette
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from .provider import PROVIDER_ROUTES

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
    from typing import TypeAlias

    from starlette.requests import Request

# Until then every server has ended long ago.
STOP_TIMEOUT = 10.0
HEARTBEAT = 0.02
HTML = "<!doctype html><title>Not a stream</title>"
BUSY = {"error": "try again"}
BAD_CHAT = {"error": "expected words"}
NO_VECTOR = {"error": "no such vector"}
GZIP = {"Content-Encoding": "gzip", "Content-Type": "text/event-stream"}


class RealServer(NamedTuple):
    """A running server; its url has no slash at the end."""

    url: str


# What both of the apps answer


def count_events(to: str, each: str | None, last: str | None) -> range:
    """The numbers of one response of `/count`; empty at the end."""
    start = int(last or 0)
    end = int(to) if each is None else min(int(to), start + int(each))
    return range(start + 1, end + 1)


def chat_words(body: bytes) -> list[str] | None:
    """The words of `/chat`, None when the body is not what it should be."""
    try:
        words = json.loads(body)["words"]
    except (ValueError, TypeError, KeyError):
        return None
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        return None
    return words


@cache
def vectors() -> dict[str, bytes]:
    """The bytes of the parser vectors, by id."""
    path = Path(__file__).parent.parent / "vectors" / "parser.json"
    cases = json.loads(path.read_text("utf-8"))
    return {case["id"]: case["bytes"].encode("latin-1") for case in cases}


def writes(data: bytes, size: str | None) -> list[bytes]:
    step = int(size) if size is not None else max(len(data), 1)
    return [data[at : at + step] for at in range(0, len(data), step)]


def gzip_writes() -> Iterator[bytes]:
    """Each piece decodes to one event as soon as it is there."""
    coder = zlib.compressobj(wbits=31)
    for n in (1, 2, 3):
        yield coder.compress(b"data: packed %d\n\n" % n) + coder.flush(zlib.Z_SYNC_FLUSH)
    yield coder.flush()


# Starlette


async def _count(request: Request) -> Response:
    query = request.query_params
    numbers = count_events(query["to"], query.get("each"), request.headers.get("last-event-id"))

    async def events() -> AsyncIterator[ServerSentEvent]:
        yield ServerSentEvent(retry=10)
        for n in numbers:
            yield ServerSentEvent(json.dumps({"n": n}), id=str(n), event="tick")

    return EventSourceResponse(events()) if numbers else Response(status_code=204)


async def _chat(request: Request) -> Response:
    words = chat_words(await request.body())
    if words is None:
        return JSONResponse(BAD_CHAT, 400)

    async def events() -> AsyncIterator[str]:
        for word in words:
            yield json.dumps({"word": word})
        yield "[DONE]"

    return EventSourceResponse(events())


async def _bytes(request: Request) -> Response:
    data = vectors().get(request.query_params["name"])
    if data is None:
        return JSONResponse(NO_VECTOR, 404)
    pieces = writes(data, request.query_params.get("size"))
    return StreamingResponse(_each(pieces), media_type="text/event-stream")


async def _silent(_: Request) -> Response:
    async def body() -> AsyncIterator[bytes]:
        yield b"data: a\n\n"
        await asyncio.Event().wait()

    return StreamingResponse(body(), media_type="text/event-stream")


async def _heartbeat(_: Request) -> Response:
    async def events() -> AsyncIterator[ServerSentEvent]:
        while True:
            yield ServerSentEvent(comment="heartbeat")
            await asyncio.sleep(HEARTBEAT)

    return EventSourceResponse(events())


async def _gzip(_: Request) -> Response:
    return StreamingResponse(_each(gzip_writes()), headers=GZIP)


async def _redirect(request: Request) -> Response:
    query = request.query_params
    return Response(status_code=int(query["status"]), headers={"Location": query["to"]})


async def _html(_: Request) -> Response:
    return HTMLResponse(HTML)


async def _busy(_: Request) -> Response:
    return JSONResponse(BUSY, 503, {"Retry-After": "1"})


async def _each(pieces: Iterator[bytes] | list[bytes]) -> AsyncIterator[bytes]:
    # Starlette would take them from a thread each.
    for piece in pieces:
        yield piece


def starlette_app() -> Starlette:
    return Starlette(
        routes=[
            Route("/count", _count),
            Route("/chat", _chat, methods=["POST"]),
            Route("/bytes", _bytes),
            Route("/heartbeat", _heartbeat),
            Route("/silent", _silent),
            Route("/gzip", _gzip),
            Route("/redirect", _redirect),
            Route("/html", _html),
            Route("/busy", _busy),
            *PROVIDER_ROUTES,
        ]
    )


# aiohttp


async def _aiohttp_count(request: aiohttp.web.Request) -> aiohttp.web.StreamResponse:
    query = request.query
    numbers = count_events(query["to"], query.get("each"), request.headers.get("Last-Event-ID"))
    if not numbers:
        return aiohttp.web.Response(status=204)
    async with aiohttp_sse.sse_response(request) as response:
        # send() would add a data line.
        await response.write(b"retry: 10\r\n\r\n")
        for n in numbers:
            await response.send(json.dumps({"n": n}), id=str(n), event="tick")
    return response


async def _aiohttp_chat(request: aiohttp.web.Request) -> aiohttp.web.StreamResponse:
    words = chat_words(await request.read())
    if words is None:
        return aiohttp.web.json_response(BAD_CHAT, status=400)
    # aiohttp-sse 3 refuses a POST unless told; what there is for Python 3.10 knows no such option.
    known = inspect.signature(aiohttp_sse.sse_response).parameters
    options: dict[str, Any] = {"allow_all_methods": True} if "allow_all_methods" in known else {}
    response: aiohttp_sse.EventSourceResponse
    async with aiohttp_sse.sse_response(request, **options) as response:
        for word in words:
            await response.send(json.dumps({"word": word}))
        await response.send("[DONE]")
    return response


async def _aiohttp_bytes(request: aiohttp.web.Request) -> aiohttp.web.StreamResponse:
    data = vectors().get(request.query["name"])
    if data is None:
        return aiohttp.web.json_response(NO_VECTOR, status=404)
    headers = {"Content-Type": "text/event-stream"}
    return await _aiohttp_write(request, headers, writes(data, request.query.get("size")))


async def _aiohttp_heartbeat(request: aiohttp.web.Request) -> aiohttp.web.StreamResponse:
    async with aiohttp_sse.sse_response(request) as response:
        # The client leaves at some time: there is no other end.
        with suppress(ConnectionResetError):
            while True:
                await response.write(b": heartbeat\r\n\r\n")
                await asyncio.sleep(HEARTBEAT)
    return response


async def _aiohttp_gzip(request: aiohttp.web.Request) -> aiohttp.web.StreamResponse:
    return await _aiohttp_write(request, GZIP, gzip_writes())


async def _aiohttp_write(
    request: aiohttp.web.Request, headers: dict[str, str], pieces: Iterator[bytes] | list[bytes]
) -> aiohttp.web.StreamResponse:
    response = aiohttp.web.StreamResponse(headers=headers)
    await response.prepare(request)
    for piece in pieces:
        await response.write(piece)
    await response.write_eof()
    return response


async def _aiohttp_redirect(request: aiohttp.web.Request) -> aiohttp.web.StreamResponse:
    headers = {"Location": request.query["to"]}
    return aiohttp.web.Response(status=int(request.query["status"]), headers=headers)


async def _aiohttp_html(_: aiohttp.web.Request) -> aiohttp.web.StreamResponse:
    return aiohttp.web.Response(text=HTML, content_type="text/html")


async def _aiohttp_busy(_: aiohttp.web.Request) -> aiohttp.web.StreamResponse:
    return aiohttp.web.json_response(BUSY, status=503, headers={"Retry-After": "1"})


def aiohttp_app() -> aiohttp.web.Application:
    app = aiohttp.web.Application()
    app.router.add_get("/count", _aiohttp_count)
    app.router.add_post("/chat", _aiohttp_chat)
    app.router.add_get("/bytes", _aiohttp_bytes)
    app.router.add_get("/heartbeat", _aiohttp_heartbeat)
    app.router.add_get("/gzip", _aiohttp_gzip)
    app.router.add_get("/redirect", _aiohttp_redirect)
    app.router.add_get("/html", _aiohttp_html)
    app.router.add_get("/busy", _aiohttp_busy)
    return app


# Running them


class _Listener(socket.socket):
    """Listens on loopback, and can drop all whom it let in.

    To a server that looks as if its clients had left, which it handles at any time and at once,
    whereas its graceful shutdown waits for endless streams, and over TLS for idle clients too.
    """

    def __init__(self) -> None:
        # With the protocol named: without, asyncio leaves Nagle's algorithm on.
        super().__init__(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        self._accepted: WeakSet[socket.socket] = WeakSet()
        try:
            self.bind(("127.0.0.1", 0))
            # From now on clients queue up: nobody has to wait for the server to start.
            self.listen()
        except BaseException:
            self.close()
            raise

    def accept(self) -> tuple[socket.socket, Any]:
        client, address = super().accept()
        self._accepted.add(client)
        return client, address

    def drop_clients(self) -> None:
        for client in self._accepted:
            # Most of them are closed.
            with suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)


Serve: TypeAlias = "Callable[[socket.socket, asyncio.Event], Awaitable[None]]"


@contextmanager
def _running(serve: Serve, base: str) -> Iterator[RealServer]:
    ended: Future[None] = Future()
    control: SimpleQueue[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = SimpleQueue()

    async def main(listener: _Listener) -> None:
        stop = asyncio.Event()
        control.put((asyncio.get_running_loop(), stop))
        serving = asyncio.ensure_future(serve(listener, stop))
        stopped = asyncio.ensure_future(stop.wait())
        await asyncio.wait([serving, stopped], return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        while not serving.done():
            # More than once, for a client may come in while the server still stops.
            listener.drop_clients()
            await asyncio.wait([serving], timeout=0.05)
        await serving

    def run(listener: _Listener) -> None:
        try:
            # It is closed even if the server failed: then clients are refused and do not hang.
            with listener:
                asyncio.run(main(listener))
        except BaseException as error:
            ended.set_exception(error)
        else:
            ended.set_result(None)

    listener = _Listener()
    url = f"{base}:{listener.getsockname()[1]}"
    # A daemon, so that a server that hangs fails the tests and does not keep them from ending.
    thread = threading.Thread(target=run, args=(listener,), name=url, daemon=True)
    thread.start()
    loop, stop = control.get()
    try:
        yield RealServer(url)
    finally:
        # The loop is closed already if the server failed.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(stop.set)
        ended.result(STOP_TIMEOUT)
        thread.join()


def _uvicorn(**options: Any) -> Serve:
    config = uvicorn.Config(
        starlette_app(),
        http="h11",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        **options,
    )

    async def serve(listener: socket.socket, stop: asyncio.Event) -> None:
        server = uvicorn.Server(config)

        async def end() -> None:
            await stop.wait()
            server.should_exit = True

        ending = asyncio.ensure_future(end())
        await server.serve(sockets=[listener])
        ending.cancel()

    return serve


@contextmanager
def starlette_server() -> Iterator[RealServer]:
    """uvicorn, Starlette and sse-starlette."""
    with _running(_uvicorn(), "http://127.0.0.1") as server:
        yield server


@contextmanager
def tls_server(cert_path: Path, key_path: Path) -> Iterator[RealServer]:
    """The same over TLS, HTTP/1.1 alone."""
    serve = _uvicorn(ssl_certfile=cert_path, ssl_keyfile=key_path)
    with _running(serve, "https://localhost") as server:
        yield server


@contextmanager
def http2_server(cert_path: Path, key_path: Path) -> Iterator[RealServer]:
    """Hypercorn with the app of `starlette_server`, over TLS: HTTP/2 if the client offers it."""

    # Starlette's types of the ASGI messages are wider than Hypercorn's.
    app: Any = starlette_app()

    async def serve(listener: socket.socket, stop: asyncio.Event) -> None:
        class Config(HypercornConfig):
            certfile = str(cert_path)
            keyfile = str(key_path)
            errorlog = None

            def create_sockets(self) -> Sockets:
                return Sockets([listener], [], [])

        await serve_hypercorn(app, Config(), shutdown_trigger=stop.wait)

    with _running(serve, "https://localhost") as server:
        yield server


@contextmanager
def aiohttp_server() -> Iterator[RealServer]:
    """aiohttp's server and aiohttp-sse."""

    async def serve(listener: socket.socket, stop: asyncio.Event) -> None:
        runner = aiohttp.web.AppRunner(aiohttp_app(), access_log=None)
        await runner.setup()
        try:
            await aiohttp.web.SockSite(runner, listener).start()
            await stop.wait()
        finally:
            await runner.cleanup()

    with _running(serve, "http://127.0.0.1") as server:
        yield server
