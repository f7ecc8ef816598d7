"""All adapters offer the same names and options."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import pytest
import sansio_sse_adapters._options
from sansio_sse_adapters import aiohttp, asyncio, httpx, requests, sockets, trio

from sansio_sse import EventSourceProtocol, LocalProtocolError

if TYPE_CHECKING:
    from collections.abc import Callable

BLOCKING = [requests, httpx, sockets]
AWAITING = [aiohttp, asyncio, trio]
SOURCES = [*(module.EventSource for module in BLOCKING + AWAITING), httpx.AsyncEventSource]
# What is typed the same in each, beside what starts it and what closes it.
WATCHED = {
    "last_event_id",
    "last_event_id_withheld",
    "pending",
    "progress",
    "ready_state",
    "reconnection_time",
}
# What a source has of its own: how its connections are made.
CONNECTING = {
    requests.EventSource: {"client"},
    httpx.EventSource: {"client"},
    httpx.AsyncEventSource: {"client"},
    aiohttp.EventSource: {"client"},
    sockets.EventSource: {"ssl_context", "unix_socket"},
    asyncio.EventSource: {"ssl_context", "unix_socket"},
    trio.EventSource: {"ssl_context", "unix_socket"},
}


def public(thing: object) -> set[str]:
    return {name for name in dir(thing) if not name.startswith("_")}


def test_modules_export_the_same_names() -> None:
    assert requests.__all__ == sockets.__all__ == ["EventSource", "iter_events"]
    assert aiohttp.__all__ == asyncio.__all__ == trio.__all__ == ["EventSource", "aiter_events"]
    both = ["AsyncEventSource", "EventSource", "aiter_events", "iter_events"]
    assert httpx.__all__ == both


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.__module__)
def test_sources_have_the_same_attributes_and_parameters(source: type) -> None:
    is_async = hasattr(source, "__anext__")
    assert public(source) == WATCHED | {"aclose" if is_async else "close"}
    needed = {"__aenter__", "__aexit__", "__aiter__"} if is_async else {"__enter__", "__exit__"}
    assert needed <= set(dir(source))
    parameters = inspect.signature(source).parameters
    assert next(iter(parameters)) == "url"
    assert set(parameters) == {"url", "options"} | CONNECTING[source]
    assert parameters["options"].kind is inspect.Parameter.VAR_KEYWORD
    for name in CONNECTING[source]:
        assert parameters[name].kind is inspect.Parameter.KEYWORD_ONLY
        assert parameters[name].default is None


def test_options_are_those_of_the_machine() -> None:
    parameters = dict(inspect.signature(EventSourceProtocol).parameters)
    # The adapters have both: where to connect to is theirs, and what is random.
    del parameters["url"], parameters["random"]
    assert set(sansio_sse_adapters._options.Options.__annotations__) == set(parameters)


def test_each_option_reaches_the_machine() -> None:
    for source in SOURCES:
        with pytest.raises(LocalProtocolError, match="idle_timeout is -1"):
            source("http://localhost", idle_timeout=-1)
        with pytest.raises(TypeError, match="unheard_of"):
            source("http://localhost", unheard_of=1)


@pytest.mark.parametrize(
    "function",
    [
        requests.iter_events,
        httpx.iter_events,
        httpx.aiter_events,
        aiohttp.aiter_events,
        sockets.iter_events,
        asyncio.aiter_events,
        trio.aiter_events,
    ],
    ids=lambda function: f"{function.__module__}.{function.__name__}",
)
def test_functions_for_one_response_have_the_same_parameters(function: Callable[..., Any]) -> None:
    parameters = inspect.signature(function).parameters
    assert list(parameters)[:2] == ["response", "parser"]
    # Streams of bytes have no status and no type to be checked.
    of_a_stream = function in (asyncio.aiter_events, trio.aiter_events)
    assert list(parameters)[2:] == ([] if of_a_stream else ["check"])


@pytest.mark.parametrize(
    "thing",
    [getattr(module, name) for module in BLOCKING + AWAITING for name in module.__all__],
    ids=lambda thing: f"{thing.__module__}.{thing.__name__}",
)
def test_what_is_public_is_documented(thing: object) -> None:
    assert thing.__doc__
