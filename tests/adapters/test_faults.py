"""One table of what networks and servers do, run on every adapter over real connections."""

from __future__ import annotations

import gc
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from sansio_sse import (
    RETRYABLE_STATUSES,
    Backoff,
    Event,
    EventTooLarge,
    RemoteProtocolError,
    UnexpectedContentType,
    UnexpectedStatus,
)

from .drivers import ADAPTERS, Adapter, no_thread_left, over, run
from .hostile import (
    Answer,
    HostileServer,
    Pause,
    Reset,
    Send,
    Silence,
    chunk,
    close_at_once,
    no_content,
    page,
    redirect,
    reset_at_once,
    silent,
    stream,
    unfinished,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .hostile import RecordedRequest

SOON = Backoff(base=0.01, factor=1, jitter=0)
# The second event has data that each cut can fall into: a CRLF, a character of four bytes.
FIRST = b"id: 1\r\ndata: a\r\n\r\n"
SECOND = "data: \N{GRINNING FACE}\r\n\r\n".encode()
WHOLE = FIRST + SECOND
EVENTS = ["a", "\N{GRINNING FACE}"]
LONG = b"data: " + b"x" * (10 * 1024 * 1024) + b"\n\n"
JSON = b'{"error": {"message": "no such key"}}'
HTML = b"<!doctype html><title>Sign in</title>"
HEAD_CUT = Answer((Send(b"HTTP/1.1 200 OK\r\nContent-"),))


class Case(NamedTuple):
    """What is answered in turn, and what comes of it."""

    answers: tuple[Answer, ...]
    data: list[str]
    # The error that ends it; None where a 204, or the end of what is sent once, ends it.
    error: type[Exception] | None = None
    options: Mapping[str, Any] = MappingProxyType({})
    # What the last request says it has seen.
    last_event_id: bytes | None = None


def interrupted(*answers: Answer, data: list[str] = EVENTS[:1]) -> Case:
    """The first event, a loss, and then what has no event: it must have been sent once."""
    return Case((*answers, no_content()), data, last_event_id=b"1")


CASES = {
    "chunked": interrupted(stream(WHOLE), data=EVENTS),
    "content length": interrupted(stream(WHOLE, framing="length"), data=EVENTS),
    "until closed": interrupted(stream(WHOLE, framing="close"), data=EVENTS),
    "a byte a chunk": interrupted(stream(WHOLE, size=1), data=EVENTS),
    "a byte a send": interrupted(stream(WHOLE, framing="close", size=1), data=EVENTS),
    "no event": Case((stream(b": hello\n\n"), no_content()), []),
    "cut in a chunk header": interrupted(unfinished(FIRST, Send(b"5"))),
    "cut in a chunk": interrupted(unfinished(FIRST, Send(b"20\r\ndata: never whole"))),
    # The block is whole, although its chunk is not.
    "cut behind a block": interrupted(
        unfinished(FIRST, Send(chunk(b"data: b\r\n\r\n")[:-2])), data=["a", "b"]
    ),
    "cut before the last chunk": interrupted(unfinished(FIRST)),
    "cut before the length": interrupted(unfinished(FIRST, framing="length")),
    "no chunk header at all": interrupted(unfinished(FIRST, Pause(0.05), Send(b"not hex\r\n"))),
    "reset": interrupted(unfinished(FIRST, Reset())),
    "reset before any event": Case((unfinished(b": hi\n", Reset()), no_content()), []),
    "closed at once": interrupted(close_at_once(), stream(FIRST)),
    "reset at once": interrupted(reset_at_once(), stream(FIRST)),
    "no HTTP": interrupted(Answer((Send(b"220 mail ready\r\n\r\n"),)), stream(FIRST)),
    "head cut": interrupted(HEAD_CUT, stream(FIRST)),
    "silent before the head": interrupted(silent(), stream(FIRST))._replace(
        options={"idle_timeout": 0.15}
    ),
    "silent behind an event": interrupted(unfinished(FIRST, Silence()))._replace(
        options={"idle_timeout": 0.15}
    ),
    "retry": interrupted(stream(b"retry: 5\n" + FIRST))._replace(
        options={"backoff": Backoff(base=1000.0, factor=1, jitter=0)}
    ),
    "one line of 10 MiB": Case((stream(LONG, size=65536), no_content()), ["x" * (10 * 2**20)]),
    "a line that never ends": Case(
        (unfinished(b"data: " + b"x" * 300_000, Silence()),),
        [],
        EventTooLarge,
        {"max_event_bytes": 100_000},
    ),
    "204": Case((no_content(),), []),
    "HTML": Case((page(200, "text/html; charset=utf-8", HTML),), [], UnexpectedContentType),
    "JSON": Case((page(200, "application/json", JSON),), [], UnexpectedContentType),
    "no content type": Case((page(200, None, JSON),), [], UnexpectedContentType),
    "401": Case((page(401, "application/json", JSON),), [], UnexpectedStatus),
    "500 in chunks": Case((stream(JSON, status=500),), [], UnexpectedStatus),
    "500 that is cut": Case((unfinished(JSON, status=500),), [], UnexpectedStatus),
    "503 while reconnecting": Case(
        (stream(FIRST), page(503, None, b"")), EVENTS[:1], UnexpectedStatus, last_event_id=b"1"
    ),
    "429 tried again": Case(
        (page(429, None, b"", [("Retry-After", "0")]), stream(FIRST), no_content()),
        EVENTS[:1],
        options={"retry_statuses": RETRYABLE_STATUSES},
        last_event_id=b"1",
    ),
    "503 too often": Case(
        (page(503, "application/json", JSON),),
        [],
        UnexpectedStatus,
        {"retry_statuses": {503}, "backoff": SOON._replace(max_attempts=3)},
    ),
    "invalid UTF-8 where it counts": Case(
        (stream(FIRST + b"data: \xff\n\n"),), EVENTS[:1], RemoteProtocolError, {"utf8": "strict"}
    ),
}


@over(ADAPTERS)
@pytest.mark.parametrize("name", CASES)
def test_source_survives_what_it_should_and_fails_with_what_it_should(
    adapter: Adapter, name: str
) -> None:
    case = CASES[name]
    if (adapter.name, name) == ("requests", "head cut"):
        # http.client takes what there is of a head for all of it, and requests can't know.
        case = Case((HEAD_CUT,), [], UnexpectedContentType)

    async def scenario(adapter: Adapter) -> list[Event]:
        events: list[Event] = []
        options = {"backoff": SOON, "idle_timeout": 10, **case.options}
        async with adapter.source(server.url + "/stream?a=b%20c", **options) as source:
            try:
                async for event in source:
                    events.append(event)  # noqa: PERF401 (those before an error count)
            except Exception as error:
                assert type(error) is case.error
            else:
                assert case.error is None
            # It has ended, and stays so.
            assert source.raw.ready_state.name == "CLOSED"
        return events

    with no_thread_left(), HostileServer(*case.answers) as server:
        events = run(adapter, scenario)
        assert [event.data for event in events] == case.data
        request = server.requests[-1]
        assert (request.method, request.target) == ("GET", "/stream?a=b%20c")
        assert request.header("Last-Event-ID") == case.last_event_id
        assert request.header("Accept") == b"text/event-stream"
        assert request.header("Cache-Control") == b"no-cache"
        assert request.header("Accept-Encoding") == b"identity"
    # What was not closed is found now, and is an error.
    gc.collect()


@over(ADAPTERS)
@pytest.mark.parametrize(
    ("name", "body"), [("HTML", HTML), ("JSON", JSON), ("401", JSON), ("500 in chunks", JSON)]
)
def test_error_carries_the_body_that_says_why(adapter: Adapter, name: str, body: bytes) -> None:
    async def scenario(adapter: Adapter) -> None:
        async with adapter.source(server.url) as source:
            with pytest.raises((UnexpectedStatus, UnexpectedContentType)) as caught:
                await source.rest()
            assert caught.value.body == body
            # Once more, for whoever did not look the first time.
            with pytest.raises(type(caught.value)):
                await source.rest()

    with HostileServer(*CASES[name].answers) as server:
        run(adapter, scenario)
        assert len(server.requests) == 1


@over(ADAPTERS)
def test_refused_connection_is_tried_again_and_its_error_comes_through_in_the_end(
    adapter: Adapter,
) -> None:
    async def scenario(adapter: Adapter) -> None:
        backoff = SOON._replace(max_attempts=3)
        async with adapter.source(url, backoff=backoff) as source:
            with pytest.raises(Exception, match=r"(?i)refused|connect") as caught:
                await source.rest()
            assert source.raw.progress.attempt == 3
            assert source.raw.progress.error is caught.value

    with HostileServer(no_content()) as server:
        url = server.url
    run(adapter, scenario)


@over(ADAPTERS)
def test_host_that_does_not_resolve_is_a_lost_connection(adapter: Adapter) -> None:
    async def scenario(adapter: Adapter) -> None:
        backoff = SOON._replace(max_attempts=2)
        async with adapter.source("http://host.invalid/", backoff=backoff) as source:
            with pytest.raises(Exception) as caught:  # noqa: PT011 (of six libraries)
                await source.rest()
            assert source.raw.progress.attempt == 2
            assert source.raw.progress.error is caught.value

    run(adapter, scenario)


@over(ADAPTERS)
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirect_is_followed_and_the_first_url_is_asked_again(
    adapter: Adapter, status: int
) -> None:
    async def scenario(adapter: Adapter) -> list[str]:
        async with adapter.source(server.url + "/old", backoff=SOON) as source:
            return [event.data for event in await source.rest()]

    answers = [redirect(status, "/new?x=1"), stream(FIRST), no_content()]
    with HostileServer(*answers) as server:
        assert run(adapter, scenario) == ["a"]
        targets = [request.target for request in server.requests]
        assert targets == ["/old", "/new?x=1", "/old"]


@over(ADAPTERS)
def test_redirects_without_end_are_not_followed_for_ever(adapter: Adapter) -> None:
    async def scenario(adapter: Adapter) -> None:
        async with adapter.source(server.url, backoff=SOON) as source:
            with pytest.raises(Exception, match=r"(?i)redirect|301"):
                await source.rest()

    with HostileServer(redirect(301, "")) as server:
        run(adapter, scenario)
        assert len(server.requests) <= 32


@over(ADAPTERS)
def test_post_is_sent_once_with_its_body_and_ends_with_its_stream(adapter: Adapter) -> None:
    async def scenario(adapter: Adapter) -> list[str]:
        async with adapter.source(server.url, json={"stream": True}) as source:
            return [event.data for event in await source.rest()]

    with HostileServer(stream(WHOLE)) as server:
        assert run(adapter, scenario) == EVENTS
        (request,) = server.requests
        assert (request.method, request.body) == ("POST", b'{"stream": true}')
        assert request.header("Content-Type") == b"application/json"


@over(ADAPTERS)
@pytest.mark.parametrize(
    "answer",
    [unfinished(FIRST), unfinished(FIRST, Reset()), unfinished(FIRST, framing="length")],
    ids=["cut", "reset", "short"],
)
def test_post_that_is_cut_off_is_neither_repeated_nor_taken_for_whole(
    adapter: Adapter, answer: Answer
) -> None:
    async def scenario(adapter: Adapter) -> list[Event]:
        async with adapter.source(server.url, body=b"{}", backoff=SOON) as source:
            events = await source.take(1)
            with pytest.raises(Exception) as caught:  # noqa: PT011 (of six libraries)
                await source.rest()
            assert source.raw.progress.error is caught.value
            return events

    with HostileServer(answer) as server:
        assert run(adapter, scenario) == [Event(data="a", id="1", last_event_id="1")]
        assert len(server.requests) == 1


@over(ADAPTERS)
def test_post_is_resumed_by_get_where_the_caller_says_so(adapter: Adapter) -> None:
    def resume(request: Any) -> Any:
        if request.attempt == 1:
            return request
        return request._replace(method="GET", url=server.url + "/resume", body=None).with_header(
            "Content-Type", None
        )

    async def scenario(adapter: Adapter) -> list[str]:
        options = {"json": {}, "reconnect": True, "on_request": resume, "backoff": SOON}
        async with adapter.source(server.url, **options) as source:
            return [event.data for event in await source.rest()]

    with HostileServer(unfinished(FIRST), stream(SECOND), no_content()) as server:
        assert run(adapter, scenario) == EVENTS
        sent = [(request.method, request.target, request.body) for request in server.requests]
        assert sent == [("POST", "/", b"{}"), ("GET", "/resume", b""), ("GET", "/resume", b"")]
        assert server.requests[1].header("Last-Event-ID") == b"1"


@over(ADAPTERS)
@pytest.mark.parametrize("last_event_id", ["7", "\N{GRINNING FACE}é", "a b", "a\tb"])
def test_last_event_id_is_sent_in_utf8(adapter: Adapter, last_event_id: str) -> None:
    async def scenario(adapter: Adapter) -> None:
        async with adapter.source(server.url, last_event_id=last_event_id) as source:
            assert await source.rest() == []

    with HostileServer(no_content()) as server:
        run(adapter, scenario)
        assert server.requests[0].header("Last-Event-ID") == last_event_id.encode()


@over(ADAPTERS)
@pytest.mark.parametrize("last_event_id", ["\x01", "a\x7fb", " ", " a", "a ", "\t", "x" * 9000])
def test_id_that_no_header_can_carry_is_withheld_and_does_not_fail_the_attempt(
    adapter: Adapter, last_event_id: str
) -> None:
    async def scenario(adapter: Adapter) -> None:
        # Two spaces: the first one is none of the value.
        async with adapter.source(server.url, backoff=SOON) as source:
            assert await source.rest() == []
            assert source.raw.last_event_id == last_event_id
            assert source.raw.last_event_id_withheld

    with HostileServer(stream(b"id: " + last_event_id.encode() + b"\n\n"), no_content()) as server:
        run(adapter, scenario)
        assert server.requests[1].header("Last-Event-ID") is None


@over(ADAPTERS)
def test_cut_block_leaves_neither_data_nor_id_behind(adapter: Adapter) -> None:
    async def scenario(adapter: Adapter) -> list[str]:
        async with adapter.source(server.url, backoff=SOON) as source:
            return [event.data for event in await source.rest()]

    half = b"id: 2\ndata: lost \xf0\x9f"
    with HostileServer(unfinished(FIRST + half), stream(b"data: b\n\n"), no_content()) as server:
        assert run(adapter, scenario) == ["a", "b"]
        ids = [request.header("Last-Event-ID") for request in server.requests]
        assert ids == [None, b"1", b"1"]


@over(ADAPTERS)
def test_server_that_accepts_and_closes_is_not_hammered(adapter: Adapter) -> None:
    delays: list[float] = []

    def watch(progress: Any) -> None:
        if progress.delay is not None:
            delays.append(progress.delay)

    async def scenario(adapter: Adapter) -> None:
        backoff = Backoff(base=0.01, factor=2, cap=0.3, jitter=0, max_attempts=4)
        async with adapter.source(server.url, backoff=backoff, on_progress=watch) as source:
            with pytest.raises(RemoteProtocolError, match="4 attempts in a row"):
                await source.rest()

    with HostileServer(stream(b": hi\n\n")) as server:
        run(adapter, scenario)
        assert len(server.requests) == 4
    assert delays == [0.01, 0.2, 0.3]


@over(ADAPTERS)
def test_progress_shows_each_state(adapter: Adapter) -> None:
    seen: list[tuple[str, int, float | None, bool]] = []

    def watch(progress: Any) -> None:
        state, attempt, delay, error = progress
        seen.append((state.name, attempt, delay, error is not None))

    async def scenario(adapter: Adapter) -> None:
        async with adapter.source(server.url, backoff=SOON, on_progress=watch) as source:
            await source.rest()

    with HostileServer(unfinished(FIRST), no_content()) as server:
        run(adapter, scenario)
    assert seen == [
        ("CONNECTING", 1, None, False),
        ("OPEN", 1, None, False),
        ("CONNECTING", 1, 0.01, True),
        ("CONNECTING", 2, None, True),
        ("CLOSED", 2, None, False),
    ]


@over(ADAPTERS)
def test_server_sees_no_header_of_another_source(adapter: Adapter) -> None:
    """A caller's headers are not written to, as httpx-sse does it."""
    headers = {"X-Mine": "1", "last-event-id": "from the caller"}

    def answer(request: RecordedRequest) -> Answer:
        return no_content() if request.header("Last-Event-ID") == b"5" else stream(b"id: 5\n\n")

    async def scenario(adapter: Adapter) -> None:
        async with adapter.source(server.url, headers=headers, backoff=SOON) as source:
            await source.rest()

    with HostileServer(answer) as server:
        run(adapter, scenario)
        ids = [
            [value for name, value in request.headers if name == "last-event-id"]
            for request in server.requests
        ]
        assert ids == [[b"from the caller"], [b"5"]]
        assert {request.header("X-Mine") for request in server.requests} == {b"1"}
    assert headers == {"X-Mine": "1", "last-event-id": "from the caller"}


@over(ADAPTERS)
def test_reason_that_does_not_come_is_waited_for_five_seconds_at_most(
    adapter: Adapter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sansio_sse._event_source.MAX_ERROR_BODY_SECONDS", 0.2)

    async def scenario(adapter: Adapter) -> None:
        async with adapter.source(server.url) as source:
            with pytest.raises(UnexpectedStatus) as caught:
                await source.rest()
            assert caught.value.body == JSON

    with no_thread_left(), HostileServer(unfinished(JSON, Silence(), status=500)) as server:
        run(adapter, scenario)
        server.wait_for_disconnect(1, 1.0)


@over([adapter for adapter in ADAPTERS if adapter.name != "requests"])
def test_early_hints_are_passed_by(adapter: Adapter) -> None:
    """http.client takes 103 for the response, and requests can't but believe it."""
    hints = Send(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 2)

    async def scenario(adapter: Adapter) -> list[str]:
        async with adapter.source(server.url, body=b"{}") as source:
            return [event.data for event in await source.rest()]

    with HostileServer(Answer((hints, *stream(FIRST).steps))) as server:
        assert run(adapter, scenario) == ["a"]


@over(ADAPTERS)
def test_two_header_fields_of_one_name_are_both_sent(adapter: Adapter) -> None:
    async def scenario(adapter: Adapter) -> None:
        headers = [("X-Tag", "a"), ("X-Tag", "b")]
        async with adapter.source(server.url, headers=headers) as source:
            assert await source.rest() == []

    with HostileServer(no_content()) as server:
        run(adapter, scenario)
        tags = [value for name, value in server.requests[0].headers if name == "x-tag"]
        assert b", ".join(tags) == b"a, b"
