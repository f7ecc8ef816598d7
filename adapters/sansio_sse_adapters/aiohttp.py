"""Event streams over aiohttp.

    async with EventSource("https://example.com/events") as source:
        async for event in source:
            print(event.type, event.data)

It reconnects; `aiter_events` is for one response that you have already.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import aiohttp

from sansio_sse import LocalProtocolError

from ._async import AwaitingEventSource, ResponseEvents
from ._asyncio_runtime import asyncio_runtime
from ._options import check_client

if TYPE_CHECKING:
    import asyncio

    from typing_extensions import Unpack

    from sansio_sse import EventStreamParser, Request

    from ._options import Options

__all__ = ["EventSource", "aiter_events"]


def aiter_events(
    response: aiohttp.ClientResponse,
    *,
    parser: EventStreamParser | None = None,
    check: bool = True,
) -> ResponseEvents:
    """Iterate over the events of a response, each as soon as it has come.

    One that has been read already is taken from memory. Closing it is up to the caller. Give the
    request `timeout=aiohttp.ClientTimeout(total=None)`: by default it ends after five minutes.

    When `__anext__` is cancelled no event is lost, and the next call goes on.

    Args:
        response: The response to any request.
        parser: What reads it; by default a new `sansio_sse.EventStreamParser()`.
        check: Whether it must have status 200, or 204, and the type `text/event-stream`.

    Raises:
        UnexpectedStatus, UnexpectedContentType: It does not; with the start of its body.
        LocalProtocolError: It has been read already, and is not in memory.
        RemoteProtocolError: Of the parser.
        aiohttp.ClientError: Of the library.

    All of them come from the iteration.
    """
    return ResponseEvents(_Connection(response), parser, check=check)


class EventSource(AwaitingEventSource):
    """An asynchronous iterator of the events of a URL that reconnects: `async with`, `async for`.

    Args:
        url: Where the event stream is.
        client: The session that sends the requests; by default one of its own. Its total timeout
            does not count.
        options: As for `sansio_sse.EventSourceProtocol`: method, headers, body, json,
            last_event_id, reconnect, retry_statuses, backoff, idle_timeout, compression,
            max_event_bytes, utf8, tail, on_request, on_progress.

    Raises:
        LocalProtocolError: An option is none.
    """

    def __init__(
        self, url: str, *, client: aiohttp.ClientSession | None = None, **options: Unpack[Options]
    ) -> None:
        check_client(client, (aiohttp.ClientSession,))
        super().__init__(_Library(client), asyncio_runtime(), url, options)


class _Connection:
    resumable = True

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self._response = response
        # Whether somebody has read it before. Then it is in memory, or it is gone.
        self._read_before = response.content.at_eof() and response.content.total_bytes > 0
        self.status = response.status
        self.headers = response.headers
        # A chunk that can't be read closes the connection and tells nobody: aiohttp 3.14 would
        # wait for the next one for ever.
        connection = response.connection
        closed = (
            None
            if connection is None or connection.protocol is None
            else (connection.protocol.closed)
        )
        if closed is not None:
            closed.add_done_callback(self._end)

    def _end(self, closed: asyncio.Future[None]) -> None:
        if not closed.cancelled():
            # Whatever it is: the body has it as well, or gets it now.
            closed.exception()
        content = self._response.content
        if not content.is_eof() and content.exception() is None:
            content.set_exception(aiohttp.ClientPayloadError("the connection was closed"))

    async def read(self) -> bytes:
        if not self._read_before:
            # Not by line: aiohttp limits the length of one.
            return await self._response.content.readany()
        self._read_before = False
        body = await self._response.read()
        if not body:
            raise LocalProtocolError("the response has been read already: request it anew")
        return body

    async def close(self) -> None:
        self._response.close()


class _Library:
    def __init__(self, client: aiohttp.ClientSession | None) -> None:
        self._client = client
        self._owned = client is None

    async def open(self, request: Request) -> _Connection:
        if self._client is None:
            self._client = aiohttp.ClientSession()
        own = self._client.timeout
        response = await self._client.request(
            request.method,
            request.url,
            # aiohttp writes text as UTF-8.
            headers=[(name, value.decode()) for name, value in request.headers],
            data=request.body,
            timeout=aiohttp.ClientTimeout(
                total=None,
                connect=own.connect,
                sock_connect=own.sock_connect,
                sock_read=own.sock_read,
            ),
            raise_for_status=False,
        )
        return _Connection(response)

    def is_fault(self, error: Exception) -> bool:
        malformed = isinstance(error, aiohttp.ClientResponseError) and not isinstance(
            error, aiohttp.TooManyRedirects
        )
        return malformed or isinstance(
            error, (aiohttp.ClientConnectionError, aiohttp.ClientPayloadError)
        )

    async def close(self) -> None:
        if self._owned and self._client is not None:
            await self._client.close()
