"""The reconnecting event source: what callers get wrong."""

from __future__ import annotations

from typing import Any

import pytest

from sansio_sse import (
    Backoff,
    EventSourceProtocol,
    LocalProtocolError,
)

from .sources import (
    connecting,
    due,
    make_source,
    opened,
    ready,
    reconnect,
    refused,
    waiting,
)

# Errors of the caller


@pytest.mark.parametrize(
    ("make", "call", "message"),
    [
        (ready, lambda s: s.receive_response(200, [], 0.0), "a response can't come now: the "),
        (ready, lambda s: s.feed(b"", 0.0), "data can't come now: the source is not connected yet"),
        (ready, lambda s: s.end_of_body(0.0), "the end of a body can't come now"),
        (ready, lambda s: s.connection_lost(0.0), "the loss of a connection can't come now"),
        (connecting, lambda s: s.feed(b"x", 0.0), "the source is waiting for a response"),
        (opened, lambda s: s.receive_response(200, [], 0.0), "the source is open"),
        (waiting, lambda s: s.connection_lost(0.0), "the source is waiting to be reestablished"),
        (refused, lambda s: s.receive_response(200, [], 0.0), "is reading why it was refused"),
    ],
)
def test_what_can_not_come_is_an_error_that_says_so_and_changes_nothing(
    make: Any, call: Any, message: str
) -> None:
    source: EventSourceProtocol = make()
    before = (source.progress, source.next_deadline())
    with pytest.raises(LocalProtocolError) as caught:
        call(source)
    assert message in str(caught.value)
    assert (source.progress, source.next_deadline()) == before


def test_second_loss_of_a_connection_starts_no_second_delay() -> None:
    source = waiting()
    deadline = due(source)
    for call in (source.connection_lost, source.end_of_body):
        with pytest.raises(LocalProtocolError):
            call(1.0)
    assert due(source) == deadline
    assert reconnect(source).attempt == 2


WRONG: list[tuple[str, Any, str]] = [
    ("url", 5, "url is 5: pass a str"),
    ("url", b"http://a", "url is b'http://a': pass a str"),
    ("url", "", "url is empty"),
    ("url", " \n", "url is empty"),
    ("method", "", "method is '': pass a word such as 'GET'"),
    ("method", "GE T", "method is 'GE T'"),
    ("method", "GET\r\n", "method is "),
    ("method", 5, "method is 5: pass a str"),
    ("headers", [("a b", "c")], "no header can have the name 'a b'"),
    ("headers", {"": "x"}, "no header can have the name ''"),
    ("headers", {5: "x"}, "the name of a header is 5: pass a str"),
    ("headers", {"X": "a\r\nb"}, "the value of the header X has a control character"),
    ("headers", {"X": " a"}, "the value of the header X has"),
    ("headers", {"X": 5}, "the value of the header X is of type int: pass"),
    ("headers", {"X": None}, "the value of the header X is of type NoneType: pass"),
    ("headers", {"X": "\ud800"}, "X"),
    ("headers", {"Last-Event-ID": "\0"}, "the value of the header Last-Event-ID"),
    ("headers", None, "headers"),
    ("headers", 5, "headers"),
    ("headers", "text", "header"),
    ("headers", [("X",)], "header"),
    ("headers", [("X", "a", "b")], "header"),
    ("body", "text", "body is of type str: pass bytes"),
    ("body", bytearray(b"x"), "body is of type bytearray: pass bytes"),
    ("last_event_id", 5, "last_event_id is 5: pass a str"),
    ("last_event_id", None, "last_event_id is None: pass a str"),
    ("last_event_id", "a\nb", "last_event_id has a line end in it"),
    ("last_event_id", "a\0", "last_event_id has a NUL in it"),
    ("retry_statuses", ["503"], "one of retry_statuses is '503': pass an int"),
    ("retry_statuses", [True], "one of retry_statuses is True: pass an int"),
    ("retry_statuses", "503", "one of retry_statuses is '5': pass an int"),
    ("retry_statuses", 503, "retry_statuses"),
    ("retry_statuses", None, "retry_statuses"),
    ("backoff", None, "backoff is None: pass a Backoff"),
    ("backoff", 3.0, "backoff is 3.0: pass a Backoff"),
    ("backoff", (3.0, 2.0, 60.0, 0.5, None, None), "pass a Backoff"),
    ("backoff", Backoff(base=-1), "backoff.base is -1: pass 0 or more"),
    ("backoff", Backoff(base=float("nan")), "backoff.base is nan"),
    ("backoff", Backoff(cap=float("inf")), "backoff.cap is inf"),
    ("backoff", Backoff(cap=-0.5), "backoff.cap is -0.5: pass 0 or more"),
    ("backoff", Backoff(jitter=-1), "backoff.jitter is -1: pass 0 or more"),
    ("backoff", Backoff(jitter=True), "backoff.jitter is True: pass a number"),
    ("backoff", Backoff(factor=0.5), "backoff.factor is 0.5: pass 1 or more"),
    ("backoff", Backoff(reset_after=-1), "backoff.reset_after is -1: pass 0 or more"),
    ("backoff", Backoff(max_attempts=0), "backoff.max_attempts is 0: pass 1 or more, or None"),
    ("backoff", Backoff(max_attempts=True), "backoff.max_attempts is True: pass an int"),
    ("idle_timeout", 0, "idle_timeout is 0: pass 0.001 or more"),
    ("idle_timeout", -1, "idle_timeout is -1: pass 0.001 or more"),
    ("idle_timeout", float("nan"), "idle_timeout is nan"),
    ("idle_timeout", float("inf"), "idle_timeout is inf"),
    ("idle_timeout", "3", "idle_timeout is '3': pass a number"),
    ("idle_timeout", True, "idle_timeout is True: pass a number"),
    ("idle_timeout", 10**400, "idle_timeout is 1000"),
    ("max_event_bytes", 0, "max_event_bytes is 0: pass 1 or more, or None for no limit"),
    ("utf8", "x", "utf8 is 'x': pass 'replace' or 'strict'"),
    ("tail", "x", "tail is 'x': pass 'discard' or 'dispatch'"),
    ("random", None, "random is None"),
    ("random", 0.5, "random is 0.5"),
    ("on_request", 5, "on_request is 5"),
    ("on_progress", "x", "on_progress is 'x'"),
    ("reconnect", "no", "reconnect is 'no'"),
]


@pytest.mark.parametrize(("name", "value", "message"), WRONG, ids=lambda value: str(value)[:30])
def test_wrong_argument_is_an_error_that_names_it(name: str, value: Any, message: str) -> None:
    with pytest.raises(LocalProtocolError) as caught:
        make_source(**{name: value})
    assert message in str(caught.value)


def test_body_and_json_together_are_an_error() -> None:
    with pytest.raises(LocalProtocolError, match="both body and json are given: pass one"):
        make_source(body=b"", json={})


@pytest.mark.parametrize(
    "backoff",
    [
        {"base": 3.5},
        {"base": -1},
        {"cap": "x"},
        {"cap": float("nan")},
        {"jitter": float("inf")},
        {"factor": 0.99},
        {"factor": None},
        {"reset_after": "x"},
        {"max_attempts": 1.0},
        {"max_attempts": -1},
    ],
)
def test_each_part_of_a_backoff_is_looked_at(backoff: dict[str, Any]) -> None:
    if backoff == {"base": 3.5}:
        make_source(backoff=Backoff(**backoff))
        return
    with pytest.raises(LocalProtocolError, match=f"backoff.{next(iter(backoff))} is "):
        make_source(backoff=Backoff(**backoff))


def test_arguments_at_the_edge_of_what_is_allowed_are_taken() -> None:
    make_source(
        idle_timeout=0.001,
        backoff=Backoff(base=0, factor=1, cap=0, jitter=0, max_attempts=1, reset_after=0),
        retry_statuses=frozenset(),
        headers=(),
        max_event_bytes=1,
    )


def test_last_event_id_of_the_callers_headers_is_utf8_or_an_error() -> None:
    seeded = EventSourceProtocol("http://a", random=float, headers={"Last-Event-ID": "é".encode()})
    assert seeded.last_event_id == "é"
    with pytest.raises(LocalProtocolError, match="Last-Event-ID is not UTF-8"):
        EventSourceProtocol("http://a", random=float, headers={"last-event-id": b"\xff"})
