"""Event streams over requests.

    with EventSource("https://example.com/events") as source:
        for event in source:
            print(event.type, event.data)

It reconnects; `iter_events` is for one response that you have already.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import requests
import urllib3.exceptions

from sansio_sse import LocalProtocolError
from sansio_sse import iter_events as iter_chunks

from ._options import check_client
from ._sync import BlockingEventSource, iter_response

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from typing_extensions import Unpack

    from sansio_sse import Event, EventStreamParser, Request

    from ._options import Options

__all__ = ["EventSource", "iter_events"]

_CHUNK_BYTES = 65536

_FAULTS = (
    requests.ConnectionError,
    requests.Timeout,
    requests.exceptions.ChunkedEncodingError,
    requests.exceptions.RetryError,
)


def iter_events(
    response: requests.Response, *, parser: EventStreamParser | None = None, check: bool = True
) -> Iterator[Event]:
    """Iterate over the events of a response, each as soon as it has come.

    Get it with `stream=True`; one that has been read already is taken from memory. Closing it is up
    to the caller.

    Args:
        response: The response to any request.
        parser: What reads it; by default a new `sansio_sse.EventStreamParser()`.
        check: Whether it must have status 200, or 204, and the type `text/event-stream`.

    Raises:
        UnexpectedStatus, UnexpectedContentType: It does not; at once, with the start of its body.
        LocalProtocolError: It has been read already, and is not in memory; at once.
        RemoteProtocolError: While iterating, of the parser.
        requests.RequestException: While iterating, of the transport.
    """
    if response.raw.tell() or response.raw.closed:
        body = b""
        # It is in memory, or requests says that it is gone.
        with suppress(RuntimeError):
            body = response.content
        if not body:
            raise LocalProtocolError("the response has been read already: request it anew")
        return iter_chunks([body], parser)
    return iter_response(_Connection(response), parser, check=check)


class EventSource(BlockingEventSource):
    """An iterator of the events of a URL that reconnects, to be used in a `with` block.

    Args:
        url: Where the event stream is.
        client: The session that sends the requests; by default one of its own.
        options: As for `sansio_sse.EventSourceProtocol`: method, headers, body, json,
            last_event_id, reconnect, retry_statuses, backoff, idle_timeout, compression,
            max_event_bytes, utf8, tail, on_request, on_progress.

    Raises:
        LocalProtocolError: An option is none.

    `close()` may be called from any thread. When it is called while a server keeps silent before
    it has sent a head, the request goes on in the background until it is answered or the
    `idle_timeout` ends it: requests has no way to interrupt it.
    """

    def __init__(
        self, url: str, *, client: requests.Session | None = None, **options: Unpack[Options]
    ) -> None:
        check_client(client, (requests.Session,))
        super().__init__(_Library(client), url, options)


class _Connection:
    times_reads = False

    def __init__(self, response: requests.Response) -> None:
        self._response = response
        self.status = response.status_code
        self.headers: Mapping[str, str] = response.headers

    def read(self, timeout: float | None) -> bytes:
        # Not `iter_content`, which waits for whole chunks where the body is not chunked, and never
        # `iter_lines`. The timeout is that of the request.
        try:
            data: bytes = self._response.raw.read1(_CHUNK_BYTES, decode_content=True)
        except urllib3.exceptions.TimeoutError as error:
            raise requests.ReadTimeout(error) from error
        except urllib3.exceptions.HTTPError as error:
            raise requests.exceptions.ChunkedEncodingError(error) from error
        return data

    def abort(self) -> None:
        # Where the socket is given back already, there is nothing that blocks.
        with suppress(ValueError, RuntimeError, OSError):
            self._response.raw.shutdown()

    def close(self) -> None:
        self._response.close()


class _Library:
    def __init__(self, client: requests.Session | None) -> None:
        self._client = requests.Session() if client is None else client
        self._owned = client is None

    def open(
        self, request: Request, timeout: float | None, is_abandoned: Callable[[], bool]
    ) -> _Connection:
        headers: dict[str, bytes] = {}
        for name, value in request.headers:
            # What stands in two fields may stand in one: RFC 9110, section 5.3.
            headers[name] = headers[name] + b", " + value if name in headers else value
        response = self._client.request(
            request.method,
            request.url,
            headers=headers,
            data=request.body,
            stream=True,
            timeout=timeout,
        )
        return _Connection(response)

    def is_fault(self, error: Exception) -> bool:
        return isinstance(error, _FAULTS)

    def abort(self) -> None:
        pass

    def close(self) -> None:
        if self._owned:
            self._client.close()
