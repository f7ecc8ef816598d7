"""The request of each attempt: its headers, its body, and the hook that may change it."""

from __future__ import annotations

import json
import pickle
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sansio_sse import Connect, LocalProtocolError, Request, Wait

from .sources import EVENT_STREAM, URL, connect, due, make_source, open_stream, reconnect

if TYPE_CHECKING:
    from collections.abc import Callable

DEFAULTS = (
    ("Accept", b"text/event-stream"),
    ("Cache-Control", b"no-cache"),
    ("Accept-Encoding", b"identity"),
)


def test_request_is_a_get_with_the_headers_of_the_specification() -> None:
    assert connect(make_source()) == Request("GET", URL, DEFAULTS, None, 1)


def test_compression_leaves_the_encoding_to_the_library() -> None:
    request = connect(make_source(compression=True))
    assert request.headers == DEFAULTS[:2]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("accept", "text/event-stream, application/json"),
        ("ACCEPT", b"*/*"),
        ("cache-control", "no-store"),
        ("Accept-encoding", "gzip"),
    ],
)
def test_header_of_the_caller_replaces_the_default_in_any_case(
    name: str, value: str | bytes
) -> None:
    encoded = value.encode() if isinstance(value, str) else value
    for headers in ([(name, value)], {name: value}, MappingProxyType({name: value})):
        request = connect(make_source(headers=headers))
        same = [pair for pair in request.headers if pair[0].lower() == name.lower()]
        assert same == [(name, encoded)]
        assert len(request.headers) == 3


def test_headers_of_the_caller_keep_their_order_and_may_repeat() -> None:
    headers = [("X", "1"), ("Authorization", "Bearer é"), ("X", b"\xff")]
    request = connect(make_source(headers=iter(headers)))
    assert request.headers == (
        *DEFAULTS,
        ("X", b"1"),
        ("Authorization", "Bearer é".encode()),
        ("X", b"\xff"),
    )
    assert request.header("x") == b"\xff"
    assert request.header("y") is None


def test_headers_of_the_caller_are_left_alone() -> None:
    # Seen in httpx-sse: it writes its own into the dictionary of the caller.
    headers = {"X": "1", "Last-Event-ID": "7"}
    source = make_source(headers=headers)
    connect(source)
    assert headers == {"X": "1", "Last-Event-ID": "7"}
    headers["X"] = "2"
    source.connection_lost(0.0)
    assert reconnect(source).header("X") == b"1"


@pytest.mark.parametrize(
    ("options", "method", "body", "content_type"),
    [
        ({}, "GET", None, None),
        ({"body": b""}, "POST", b"", None),
        ({"body": b"\xff"}, "POST", b"\xff", None),
        ({"body": b"x", "method": "PUT"}, "PUT", b"x", None),
        ({"method": "POST"}, "POST", None, None),
        ({"method": "get"}, "GET", None, None),
        ({"method": "Patch"}, "Patch", None, None),
        ({"json": {"a": "é"}}, "POST", b'{"a": "\\u00e9"}', b"application/json"),
        ({"json": []}, "POST", b"[]", b"application/json"),
        ({"json": False}, "POST", b"false", b"application/json"),
        ({"json": 0, "method": "PATCH"}, "PATCH", b"0", b"application/json"),
        ({"json": {}, "headers": {"content-type": "a/b"}}, "POST", b"{}", b"a/b"),
        ({"body": b"{}", "headers": {"Content-Type": "a/b"}}, "POST", b"{}", b"a/b"),
    ],
)
def test_method_and_content_type_follow_the_body(
    options: dict[str, Any], method: str, body: bytes | None, content_type: bytes | None
) -> None:
    request = connect(make_source(**options))
    assert (request.method, request.body) == (method, body)
    assert request.header("Content-Type") == content_type
    assert len([name for name, _ in request.headers if name.lower() == "content-type"]) == (
        content_type is not None
    )


def test_json_is_written_when_the_source_is_made() -> None:
    payload = {"messages": ["a"]}
    source = make_source(json=payload, reconnect=True)
    payload["messages"].append("b")
    body = connect(source).body
    assert body is not None
    assert json.loads(body) == {"messages": ["a"]}
    source.connection_lost(0.0)
    assert reconnect(source).body == body


CIRCLE: list[Any] = []
CIRCLE.append(CIRCLE)


@pytest.mark.parametrize(
    "value",
    [{"a": b"x"}, object(), {("a",): 1}, CIRCLE, float("nan"), [float("-inf")]],
    ids=["bytes", "object", "key", "circle", "nan", "infinity"],
)
def test_what_json_can_not_say_is_an_error(value: Any) -> None:
    with pytest.raises((TypeError, LocalProtocolError)):
        make_source(json=value)


# The id


def test_no_id_is_sent_before_there_is_one() -> None:
    source = make_source()
    assert connect(source).header("Last-Event-ID") is None
    assert not source.last_event_id_withheld
    source.connection_lost(0.0)
    assert reconnect(source).header("Last-Event-ID") is None


def test_empty_id_takes_the_header_away_and_is_not_withheld() -> None:
    source = open_stream(make_source(last_event_id="7"))
    source.feed(b"id\n\n", 0.0)
    source.connection_lost(0.0)
    assert reconnect(source).header("Last-Event-ID") is None
    assert not source.last_event_id_withheld


@pytest.mark.parametrize("seed", ["7", "日本", "a b", "é", "\U0001f600"])
def test_seed_is_in_the_first_request_and_kept_until_the_stream_sets_another(seed: str) -> None:
    source = make_source(last_event_id=seed)
    assert source.last_event_id == seed
    assert connect(source).header("Last-Event-ID") == seed.encode()
    # A stream that is resumed and dies before its first id: the seed is what is known.
    source.receive_response(200, EVENT_STREAM, 0.0)
    source.feed(b"data: x\n\n", 0.0)
    source.feed(b"id: 8\n", 0.0)
    source.connection_lost(0.0)
    assert reconnect(source).header("Last-Event-ID") == seed.encode()
    source.receive_response(200, EVENT_STREAM, 10.0)
    source.feed(b"id: 8\n\n", 10.0)
    source.connection_lost(10.0)
    assert reconnect(source).header("Last-Event-ID") == b"8"


@pytest.mark.parametrize("name", ["Last-Event-ID", "last-event-id", "LAST-EVENT-ID"])
def test_id_in_a_header_of_the_caller_is_only_a_seed(name: str) -> None:
    # Seen in EventSource/eventsource#182: in other case it won over the tracked id, for ever.
    source = make_source(headers=[(name, "日本"), ("X", "y")])
    request = connect(source)
    assert request.header("Last-Event-ID") == "日本".encode()
    assert len(request.headers) == len(DEFAULTS) + 2
    source.receive_response(200, EVENT_STREAM, 0.0)
    source.feed(b"id: 8\n\n", 0.0)
    source.connection_lost(0.0)
    request = reconnect(source)
    assert [value for key, value in request.headers if key.lower() == "last-event-id"] == [b"8"]
    source.receive_response(200, EVENT_STREAM, 10.0)
    source.feed(b"id\n\n", 10.0)
    source.connection_lost(10.0)
    assert reconnect(source).header("Last-Event-ID") is None


def test_seed_by_name_wins_over_one_in_a_header() -> None:
    source = make_source(headers={"Last-Event-ID": "1"}, last_event_id="2")
    request = connect(source)
    assert [value for key, value in request.headers if key == "Last-Event-ID"] == [b"2"]


@pytest.mark.parametrize(
    "value",
    [
        b"a\x01b",
        b"\x1b[0m",
        b"\x7f",
        b"a\x0bb",
        b" a",
        b"a ",
        b"\ta",
        b"a\t",
        b" ",
        b"x" * 8193,
        "é".encode() * 4097,
    ],
)
def test_id_that_no_header_can_have_is_withheld_and_that_is_visible(value: bytes) -> None:
    # Seen in requests-sse and launchdarkly-eventsource: no connection ever again.
    source = open_stream(make_source())
    # The space after the colon is not part of it.
    source.feed(b"id: " + value + b"\ndata: x\n\n", 0.0)
    assert source.last_event_id == value.decode()
    source.connection_lost(0.0)
    assert not source.last_event_id_withheld
    request = reconnect(source)
    assert request.header("Last-Event-ID") is None
    assert source.last_event_id_withheld
    assert source.last_event_id == value.decode()
    # With the next id it is over.
    source.receive_response(200, EVENT_STREAM, 10.0)
    source.feed(b"id: 2\n\n", 10.0)
    source.connection_lost(10.0)
    assert reconnect(source).header("Last-Event-ID") == b"2"
    assert not source.last_event_id_withheld


@pytest.mark.parametrize("value", [b"x" * 8192, b"a\tb", b"a b", b"\xc2\x80", b"!", b"~", b',;"'])
def test_id_that_a_header_can_have_is_sent_as_it_came(value: bytes) -> None:
    source = open_stream(make_source())
    source.feed(b"id: " + value + b"\n\n", 0.0)
    source.connection_lost(0.0)
    assert reconnect(source).header("Last-Event-ID") == value
    assert not source.last_event_id_withheld


def test_seed_with_half_a_surrogate_pair_is_withheld() -> None:
    source = make_source(last_event_id="\ud800")
    assert connect(source).header("Last-Event-ID") is None
    assert source.last_event_id_withheld


@given(value=st.binary(max_size=12))
def test_whatever_id_a_server_sets_the_header_is_legal_or_missing(value: bytes) -> None:
    source = open_stream(make_source())
    source.feed(b"id: " + value + b"\n\n", 0.0)
    source.connection_lost(0.0)
    sent = reconnect(source).header("Last-Event-ID")
    tracked = source.last_event_id.encode()
    if sent is None:
        assert source.last_event_id_withheld == bool(tracked)
    else:
        assert sent == tracked
        assert sent.strip(b" \t") == sent
        assert not any((byte < 32 and byte != 9) or byte == 127 for byte in sent)


# The hook


def test_hook_sees_each_attempt_with_its_number_and_the_tracked_id() -> None:
    seen: list[Request] = []

    def look(request: Request) -> Request:
        seen.append(request)
        return request

    source = open_stream(make_source(on_request=look))
    source.feed(b"id: 1\n\n", 0.0)
    source.connection_lost(0.0)
    reconnect(source)
    source.connection_lost(10.0)
    reconnect(source)
    assert [request.attempt for request in seen] == [1, 2, 3]
    assert [request.header("Last-Event-ID") for request in seen] == [None, b"1", b"1"]


def test_hook_may_change_everything_and_starts_from_the_original_each_time() -> None:
    seen: list[Request] = []

    def change(request: Request) -> Request:
        seen.append(request)
        return Request(
            "PUT",
            f"{request.url}?attempt={request.attempt}",
            (("X", b"y"), ("last-event-id", b"mine")),
            b"body",
        )

    source = make_source(on_request=change, headers={"A": "b"})
    request = connect(source)
    assert request[:4] == (
        "PUT",
        f"{URL}?attempt=1",
        (("X", b"y"), ("last-event-id", b"mine")),
        b"body",
    )
    source.connection_lost(0.0)
    assert reconnect(source).url == f"{URL}?attempt=2"
    assert seen[1] == seen[0]._replace(attempt=2)


def test_hook_may_give_header_values_as_text() -> None:
    def change(request: Request) -> Request:
        headers: Any = {"X": "é"}
        return request._replace(headers=headers)

    assert connect(make_source(on_request=change)).headers == (("X", "é".encode()),)


def test_hook_may_resume_a_post_by_get() -> None:
    # The Model Context Protocol does: the POST is sent once, each resumption is a GET.
    def resume(request: Request) -> Request:
        if request.header("Last-Event-ID") is None:
            return request
        return request._replace(method="GET", body=None).with_header("Content-Type", None)

    source = make_source(json={"a": 1}, on_request=resume, reconnect=True)
    assert connect(source).method == "POST"
    source.receive_response(200, EVENT_STREAM, 0.0)
    source.feed(b"id: 1\n\n", 0.0)
    source.end_of_body(0.0)
    request = reconnect(source)
    assert (request.method, request.body) == ("GET", None)
    assert request.header("Content-Type") is None
    assert request.header("Last-Event-ID") == b"1"


def test_method_that_the_hook_chose_decides_whether_it_may_be_sent_again() -> None:
    def post(request: Request) -> Request:
        return request._replace(method="POST")

    def get(request: Request) -> Request:
        return request._replace(method="GET")

    source = open_stream(make_source(on_request=post))
    source.end_of_body(0.0)
    assert source.ready_state.name == "CLOSED"
    source = open_stream(make_source(body=b"", on_request=get))
    source.end_of_body(0.0)
    assert source.ready_state.name == "CONNECTING"


def test_attempt_is_still_due_when_the_hook_raises() -> None:
    failures = [KeyError("token"), None, KeyError("token"), KeyError("token"), None]

    def flaky(request: Request) -> Request:
        error = failures.pop(0)
        if error is not None:
            raise error
        return request

    source = make_source(on_request=flaky)
    with pytest.raises(KeyError, match="token"):
        source.next_action(0.0)
    assert source.progress == (0, 0, None, None)
    assert connect(source, 1.0).attempt == 1
    source.connection_lost(1.0)
    deadline = due(source)
    for now in (deadline, deadline + 1):
        with pytest.raises(KeyError, match="token"):
            source.next_action(now)
        assert source.next_deadline() == deadline
    assert connect(source, deadline + 2).attempt == 2


RUBBISH: list[tuple[str, Callable[[Any], Any], str]] = [
    ("none", lambda _: None, "the request is None: on_request is a plain"),
    ("tuple", lambda request: tuple(request), "returns a Request"),  # noqa: PLW0108 (of any type)
    ("url alone", lambda request: request.url, "returns a Request"),
    ("two words", lambda request: request._replace(method="GE T"), "method is 'GE T'"),
    ("line end", lambda request: request._replace(method="GET\r\nX: y"), "method is "),
    ("no method", lambda request: request._replace(method=None), "method is None: pass a str"),
    ("empty url", lambda request: request._replace(url=""), "url is empty"),
    ("no url", lambda request: request._replace(url=None), "url is None: pass a str"),
    ("text body", lambda request: request._replace(body="text"), "body is of type str: pass bytes"),
    ("split", lambda request: request._replace(headers=(("X", b"a\r\nb"),)), "the header X"),
    ("name", lambda request: request._replace(headers=(("X:", b"a"),)), "have the name 'X:'"),
    (
        "number",
        lambda request: request._replace(headers=(("X", 5),)),
        "the value of the header X is of type int: pass",
    ),
    ("surrogate", lambda request: request._replace(headers=(("X", "\ud800"),)), "X"),
    ("single", lambda request: request._replace(headers=(("X",),)), "header"),
    ("text headers", lambda request: request._replace(headers="text"), "header"),
    ("no headers", lambda request: request._replace(headers=None), "header"),
    ("int headers", lambda request: request._replace(headers=5), "header"),
]


@pytest.mark.parametrize(
    ("spoil", "message"), [case[1:] for case in RUBBISH], ids=[case[0] for case in RUBBISH]
)
def test_what_a_hook_returns_is_checked_before_it_is_sent(
    spoil: Callable[[Request], Any], message: str
) -> None:
    rubbish = [True]

    def hook(request: Request) -> Any:
        return spoil(request) if rubbish else request

    source = make_source(on_request=hook)
    for _ in range(2):
        with pytest.raises(LocalProtocolError) as caught:
            source.next_action(0.0)
        assert message in str(caught.value)
    rubbish.clear()
    assert connect(source).attempt == 1


@pytest.mark.parametrize("how", ["close", "fail"])
@pytest.mark.parametrize("attempt", [1, 2])
def test_source_that_is_closed_while_the_hook_runs_stays_closed(how: str, attempt: int) -> None:
    error = RuntimeError("no token")

    def hook(request: Request) -> Request:
        if request.attempt == attempt:
            if how == "close":
                source.close()
            else:
                source.fail(error)
        return request

    source = make_source(on_request=hook)
    if attempt == 2:
        connect(source)
        source.connection_lost(0.0)
        assert isinstance(source.next_action(0.0), Wait)
    action = source.next_action(100.0)
    assert not isinstance(action, Connect)
    assert action == (None if how == "close" else error,)
    assert source.ready_state.name == "CLOSED"
    assert source.progress.attempt == attempt - 1


# The value


def test_request_is_a_value() -> None:
    request = Request("GET", URL)
    assert request == Request("GET", URL, (), None, 1)
    assert pickle.loads(pickle.dumps(request)) == request
    assert hash(request) == hash(Request("GET", URL))


def test_with_header_replaces_all_of_the_same_name() -> None:
    request = Request("GET", URL, (("x", b"1"), ("Y", b"2"), ("X", b"3")))
    assert request.header("X") == b"3"
    assert request.with_header("X", "é").headers == (("Y", b"2"), ("X", "é".encode()))
    assert request.with_header("x", b"").headers == (("Y", b"2"), ("x", b""))
    assert request.with_header("X", None).headers == (("Y", b"2"),)
    assert request.with_header("Z", None) == request
    assert request.headers == (("x", b"1"), ("Y", b"2"), ("X", b"3"))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("", "x"),
        ("a b", "x"),
        ("a:", "x"),
        ("é", "x"),
        ("a\n", "x"),
        ("X", "a\nb"),
        ("X", "a\rb"),
        ("X", "a\0b"),
        ("X", " a"),
        ("X", "a\t"),
        ("X", b"\x7f"),
        ("X", b"a\n"),
    ],
)
def test_with_header_refuses_what_no_header_can_have(name: str, value: str | bytes) -> None:
    with pytest.raises(LocalProtocolError):
        Request("GET", URL).with_header(name, value)
    with pytest.raises(LocalProtocolError):
        make_source(headers=[(name, value)])


def test_value_of_a_header_that_is_refused_is_not_shown() -> None:
    for value in ("secret\n", b"secret\n", bytearray(b"secret"), ["secret"]):
        headers: Any = {"Authorization": value}
        with pytest.raises(LocalProtocolError) as caught:
            make_source(headers=headers)
        assert "Authorization" in str(caught.value)
        assert "secret" not in str(caught.value)
