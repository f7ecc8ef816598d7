"""The servers of the adapters' tests do what they say."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import threading
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from .hostile import (
    LAST_CHUNK,
    Answer,
    HostileServer,
    Pause,
    RecordedRequest,
    Reset,
    Send,
    SendSlowly,
    Silence,
    chunk,
    close_at_once,
    cut_before_last_chunk,
    cut_before_length,
    cut_in_chunk,
    cut_in_chunk_header,
    head,
    no_content,
    page,
    redirect,
    reset_at_once,
    silent,
    stream,
    stream_then_reset,
    stream_then_silence,
    unfinished,
)
from .servers import (
    BAD_CHAT,
    BUSY,
    HTML,
    RealServer,
    _running,
    aiohttp_server,
    http2_server,
    starlette_server,
    tls_server,
    vectors,
)

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from .certificates import Certificates

BODY = b"data: one\n\ndata: two\n\n"
GET = b"GET /path?q=1 HTTP/1.1\r\nHost: h\r\n\r\n"
STREAM_HEAD = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/event-stream\r\n"
# The time that a server may take to stop, on a machine that has more to do.
SOON = 1.0


def connect(server: HostileServer) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=5)


def get(url: str, **options: Any) -> httpx.Response:
    # Without the certificates and the proxies of the machine.
    return httpx.get(url, **{"verify": False, "trust_env": False, **options})


def read_to_end(sock: socket.socket) -> bytes:
    return b"".join(iter(lambda: sock.recv(65536), b""))


def raw(*answers: Answer, request: bytes = GET) -> list[bytes]:
    """What each of the answers is, to the byte."""
    seen: list[bytes] = []
    with HostileServer(*answers) as server:
        for _ in answers:
            with connect(server) as sock:
                sock.sendall(request)
                seen.append(read_to_end(sock))
    return seen


def read_until_reset(sock: socket.socket) -> bytes:
    """What comes before the RST. An orderly end fails the test."""
    data = b""
    with pytest.raises(ConnectionResetError):
        while True:
            more = sock.recv(65536)
            assert more, "an orderly end"
            data += more
    return data


def threads_of_hostile_servers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "hostile"]


# The hostile server: complete answers


def test_stream_is_framed_as_told() -> None:
    chunked, cut, length, to_the_end = raw(
        stream(BODY),
        stream(b"abcde", size=2),
        stream(BODY, framing="length", size=3),
        stream(BODY, framing="close", headers=[("X-A", "b")]),
    )
    assert (
        chunked == STREAM_HEAD + b"Transfer-Encoding: chunked\r\n\r\n16\r\n%b\r\n0\r\n\r\n" % BODY
    )
    assert cut.endswith(b"\r\n\r\n2\r\nab\r\n2\r\ncd\r\n1\r\ne\r\n0\r\n\r\n")
    assert length == STREAM_HEAD + b"Content-Length: 22\r\n\r\n" + BODY
    assert to_the_end == STREAM_HEAD + b"X-A: b\r\n\r\n" + BODY


def test_empty_stream_has_no_chunk_but_the_last() -> None:
    assert raw(stream(b"")) == [STREAM_HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"]


def test_other_answers() -> None:
    assert raw(
        page(503, "application/json", b"{}", [("Retry-After", "1")]),
        redirect(307, "/there"),
        no_content(),
        stream(b"", status=299, content_type=None, framing="close"),
    ) == [
        b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n"
        b"Content-Type: application/json\r\nRetry-After: 1\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 307 Temporary Redirect\r\nConnection: close\r\n"
        b"Location: /there\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n",
        b"HTTP/1.1 299 Unknown\r\nConnection: close\r\n\r\n",
    ]


def test_answers_are_played_in_turn_and_the_last_for_ever() -> None:
    with HostileServer(page(200, None, b"first"), page(200, None, b"last")) as server:
        url = server.url
        assert [get(url).text for _ in range(4)] == ["first", "last", "last", "last"]
        assert server.connections == len(server.requests) == 4


def test_function_answers_by_request() -> None:
    def echo(request: RecordedRequest) -> Answer:
        return page(200, None, request.target.encode() + (request.header("Last-Event-ID") or b"-"))

    with HostileServer(echo) as server:
        assert get(server.url + "/a").text == "/a-"
        assert get(server.url + "/b", headers={"Last-Event-ID": "7"}).text == "/b7"


def test_requests_are_recorded() -> None:
    plain = b"POST / HTTP/1.1\r\nHost: h\r\nX-Y:  \xe9 \r\nX-Y: z\r\nContent-Length: 5\r\n\r\nhello"
    chunked = (
        b"PUT /c HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\nTrailer: t\r\n\r\n"
    )
    with HostileServer(no_content()) as server:
        for request in (GET, plain, chunked):
            with connect(server) as sock:
                for at in range(len(request)):
                    sock.sendall(request[at : at + 1])
                assert read_to_end(sock).startswith(b"HTTP/1.1 204 ")
        assert server.requests == [
            ("GET", "/path?q=1", [("host", b"h")], b""),
            (
                "POST",
                "/",
                [("host", b"h"), ("x-y", b"\xe9"), ("x-y", b"z"), ("content-length", b"5")],
                b"hello",
            ),
            ("PUT", "/c", [("transfer-encoding", b"chunked")], b"hello"),
        ]
        assert server.requests[1].header("X-Y") == b"z"
        assert server.requests[1].header("X-Z") is None


# The hostile server: answers that end where they should not


@pytest.mark.parametrize("reset", [False, True])
@pytest.mark.parametrize(
    ("make", "end"),
    [
        (cut_in_chunk_header, b"\r\n\r\n16\r\n" + BODY + b"\r\n5"),
        (cut_in_chunk, b"\r\n\r\n1b\r\n" + BODY),
        (cut_before_last_chunk, b"\r\n\r\n16\r\n" + BODY + b"\r\n"),
        (cut_before_length, b"\r\nContent-Length: 27\r\n\r\n" + BODY),
    ],
)
def test_cut(make: Callable[..., Answer], end: bytes, reset: bool) -> None:
    with HostileServer(make(BODY, reset=reset)) as server, connect(server) as sock:
        sock.sendall(GET)
        data = read_until_reset(sock) if reset else read_to_end(sock)
    assert data.startswith(STREAM_HEAD)
    assert data.endswith(end)


def test_reset_comes_after_what_was_sent() -> None:
    with HostileServer(stream_then_reset(BODY, size=11)) as server, connect(server) as sock:
        sock.sendall(GET)
        assert read_until_reset(sock).endswith(
            b"\r\n\r\nb\r\ndata: one\n\n\r\nb\r\ndata: two\n\n\r\n"
        )


def test_reset_instead_of_an_answer() -> None:
    with HostileServer(Answer((Reset(),))) as server, connect(server) as sock:
        sock.sendall(GET)
        assert read_until_reset(sock) == b""
        assert len(server.requests) == 1


def test_close_at_once_does_not_wait_for_the_request() -> None:
    with HostileServer(close_at_once(), no_content()) as server:
        with connect(server) as sock:
            assert sock.recv(1) == b""
            # The close is orderly: what comes too late makes no RST of it.
            sock.sendall(GET)
            assert sock.recv(1) == b""
        assert get(server.url).status_code == 204
        assert (server.connections, len(server.requests)) == (2, 1)


def test_reset_at_once_does_not_wait_for_the_request() -> None:
    with HostileServer(reset_at_once()) as server:
        # It may be faster than the return from connect.
        with pytest.raises(ConnectionResetError), connect(server) as sock:
            assert sock.recv(1), "an orderly end"
        assert (server.connections, server.requests) == (1, [])


@pytest.mark.parametrize(("answer", "sent"), [(silent(), b""), (stream_then_silence(BODY), BODY)])
def test_silence_lasts_until_the_client_leaves(answer: Answer, sent: bytes) -> None:
    with HostileServer(answer) as server:
        with connect(server) as sock:
            sock.sendall(GET)
            data = b""
            while not data.endswith(sent + b"\r\n" if sent else b""):
                data += sock.recv(65536)
            sock.settimeout(0.1)
            with pytest.raises(TimeoutError):
                sock.recv(1)
            assert server.disconnects == 0
        server.wait_for_disconnect()
        assert server.disconnects == 1


def test_silence_notices_a_reset_of_the_client() -> None:
    with HostileServer(silent()) as server:
        with connect(server) as sock:
            sock.sendall(GET)
            server.wait_for_requests(1)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        server.wait_for_disconnect()


# The hostile server: the other steps


def test_each_send_is_one_send(certificates: Certificates) -> None:
    # A TLS record is what one send wrote and one read gets, whatever TCP does on the way.
    answer = Answer((Send(b"first"), SendSlowly(b"abc"), SendSlowly(b"defgh", size=2), Send(b"")))
    with (
        HostileServer(answer, tls=certificates.server_context) as server,
        certificates.client_context.wrap_socket(
            connect(server), server_hostname="localhost"
        ) as sock,
    ):
        sock.sendall(GET)
        seen = list(iter(lambda: sock.recv(100), b""))
    assert seen == [b"first", b"a", b"b", b"c", b"de", b"fg", b"h"]


def test_pause_takes_its_time() -> None:
    start = time.monotonic()
    answer = Answer((Send(head(200)), Pause(0.1), Send(b"late")))
    assert raw(answer)[0].endswith(b"\r\n\r\nlate")
    assert time.monotonic() - start >= 0.1


def test_unfinished_plays_steps_after_the_chunks() -> None:
    steps = (Send(b"3\r\n"), SendSlowly(b"abc\r\n"), Send(LAST_CHUNK))
    (seen,) = raw(unfinished(b"12", *steps, status=201, content_type="a/b"))
    assert seen == (
        head(201, "a/b", [("Transfer-Encoding", "chunked")]) + b"2\r\n12\r\n3\r\nabc\r\n0\r\n\r\n"
    )
    assert chunk(b"12") == b"2\r\n12\r\n"


# The hostile server: where it listens, and its end


def test_tls(certificates: Certificates) -> None:
    with HostileServer(stream(BODY), tls=certificates.server_context) as server:
        assert server.url == f"https://localhost:{server.port}"
        assert get(server.url, verify=certificates.client_context).content == BODY
        # A client that does not trust it is no error of the server.
        with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
            get(server.url, verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
        server.wait_for_disconnect(2)
        assert len(server.requests) == 1


def test_tls_that_is_closed_or_reset_before_the_handshake(certificates: Certificates) -> None:
    answers = (close_at_once(), reset_at_once())
    with HostileServer(*answers, tls=certificates.server_context) as server:
        with closing(connect(server)) as sock, pytest.raises(ssl.SSLEOFError):
            certificates.client_context.wrap_socket(sock, server_hostname="localhost")
        with pytest.raises(ConnectionResetError), connect(server) as sock:
            assert sock.recv(1), "an orderly end"
        assert (server.connections, server.requests) == (2, [])


def test_orderly_end_of_tls_is_told_from_a_cut(certificates: Certificates) -> None:
    context = certificates.client_context
    answer = stream(BODY, framing="close")
    with HostileServer(answer, tls=certificates.server_context) as server:
        with context.wrap_socket(
            connect(server), server_hostname="localhost", suppress_ragged_eofs=False
        ) as sock:
            sock.sendall(GET)
            assert read_to_end(sock).endswith(BODY)
        server.wait_for_disconnect()


def test_unix_socket(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with HostileServer(stream(BODY), unix_socket=path) as server:
        assert server.url == "http://localhost"
        with httpx.Client(transport=httpx.HTTPTransport(uds=str(path))) as client:
            assert client.get(server.url).content == BODY
    assert not path.exists()


def test_complete_answer_waits_for_the_client_to_leave() -> None:
    with HostileServer(stream(BODY)) as server:
        with connect(server) as sock:
            sock.sendall(GET)
            read_to_end(sock)
            with pytest.raises(TimeoutError, match=r"0 disconnects after 0\.05 s, expected 1"):
                server.wait_for_disconnect(timeout=0.05)
        server.wait_for_disconnect()


def test_client_that_leaves_within_its_request_is_no_request() -> None:
    with HostileServer(no_content()) as server:
        with connect(server) as sock:
            sock.sendall(GET[:-1])
        server.wait_for_disconnect()
        assert server.requests == []
        with pytest.raises(TimeoutError, match=r"0 requests after 0\.01 s, expected 1"):
            server.wait_for_requests(1, timeout=0.01)


@pytest.mark.parametrize(
    "answer",
    [
        silent(),
        stream(BODY),
        Answer((Pause(60),)),
        # More than the buffers of both sides take, to a client that does not read.
        Answer((Send(bytes(50_000_000)),)),
        Answer((SendSlowly(bytes(1_000_000)),)),
    ],
    ids=["silence", "closed", "pause", "full", "slow"],
)
def test_end_is_prompt_and_leaves_nothing_behind(answer: Answer) -> None:
    with HostileServer(answer) as server:
        port = server.port
        unsent = connect(server)
        asking = connect(server)
        asking.sendall(GET)
        server.wait_for_requests(1)
        server.wait_for_connections(2)
        start = time.monotonic()
    assert time.monotonic() - start < SOON
    assert threads_of_hostile_servers() == []
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))
    unsent.close()
    asking.close()


@pytest.mark.parametrize("error", [ZeroDivisionError("bug"), ConnectionResetError("bug")])
def test_bug_in_the_function_of_a_test_is_raised_at_the_end(error: Exception) -> None:
    def fail(_: RecordedRequest) -> Answer:
        raise error

    with pytest.raises(type(error), match="bug"), HostileServer(fail) as server:
        with pytest.raises(httpx.RemoteProtocolError):
            get(server.url)
        assert server.errors == [error]
    assert threads_of_hostile_servers() == []


def test_request_that_is_not_http_is_raised_at_the_end() -> None:
    with (
        pytest.raises(ValueError, match=r"the client speaks HTTP/1\.0"),
        HostileServer(no_content()) as server,
        connect(server) as sock,
    ):
        sock.sendall(b"GET / HTTP/1.0\r\n\r\n")
        assert sock.recv(1) == b""


def test_server_needs_an_answer() -> None:
    with pytest.raises(ValueError, match="needs an answer"):
        HostileServer()


def test_client_of_the_standard_library_sees_the_cut() -> None:
    with HostileServer(cut_in_chunk(BODY)) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)
        with closing(connection):
            connection.request("GET", "/")
            with connection.getresponse() as response, pytest.raises(http.client.IncompleteRead):
                response.read()


def test_many_connections_at_once() -> None:
    count = 20
    with HostileServer(Answer((Silence(),))) as server:
        socks = [connect(server) for _ in range(count)]
        for sock in socks:
            sock.sendall(GET)
        assert len(server.wait_for_requests(count)) == server.connections == count
        for sock in socks:
            sock.close()
        server.wait_for_disconnect(count)


# The real servers

REAL = ["real_starlette", "real_aiohttp", "real_tls", "real_http2"]


@pytest.fixture(params=REAL)
def client(request: pytest.FixtureRequest, certificates: Certificates) -> Iterator[httpx.Client]:
    server: RealServer = request.getfixturevalue(request.param)
    http2 = request.param == "real_http2"
    with httpx.Client(
        base_url=server.url,
        verify=certificates.client_context,
        http2=http2,
        timeout=5,
        trust_env=False,
    ) as made:
        yield made


def test_version_of_http(client: httpx.Client, request: pytest.FixtureRequest) -> None:
    is_http2 = request.node.callspec.params["client"] == "real_http2"
    assert client.get("/html").http_version == ("HTTP/2" if is_http2 else "HTTP/1.1")


def test_count_goes_on_behind_the_last_event_id_until_all_were_sent(client: httpx.Client) -> None:
    seen: list[str] = []
    headers: dict[str, str] = {}
    for _ in range(3):
        response = client.get("/count?to=5&each=2", headers=headers)
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        first, *blocks, end = response.text.replace("\r\n", "\n").split("\n\n")
        assert first == "retry: 10"
        assert end == ""
        seen += blocks
        headers = {"Last-Event-ID": blocks[-1].split("\n")[0].removeprefix("id: ")}
    assert seen == [f'id: {n}\nevent: tick\ndata: {{"n": {n}}}' for n in range(1, 6)]
    response = client.get("/count?to=5&each=2", headers=headers)
    assert (response.status_code, response.content) == (204, b"")


def test_count_sends_all_at_once_if_not_told_how_many(client: httpx.Client) -> None:
    assert client.get("/count?to=30", headers={"Last-Event-ID": ""}).text.count("data: ") == 30


def test_chat(client: httpx.Client) -> None:
    response = client.post("/chat", json={"words": ["grüß", "dich"]})
    assert response.headers["content-type"].startswith("text/event-stream")
    *blocks, done, end = response.text.replace("\r\n", "\n").split("\n\n")
    words = [json.loads(block.removeprefix("data: "))["word"] for block in blocks]
    assert words == ["grüß", "dich"]
    assert (done, end) == ("data: [DONE]", "")


def test_chat_with_a_body_that_is_none(client: httpx.Client) -> None:
    for body in (b"", b"{", b"[]", b"{}", b'{"words": 1}', b'{"words": [1]}'):
        response = client.post("/chat", content=body)
        assert (body, response.status_code, response.json()) == (body, 400, BAD_CHAT)


@pytest.mark.parametrize("name", ["empty-stream", "eol-mixed-between-events"])
def test_bytes(client: httpx.Client, name: str) -> None:
    for size in ("", "&size=1", "&size=7"):
        response = client.get(f"/bytes?name={name}{size}")
        assert response.headers["content-type"].startswith("text/event-stream")
        assert response.content == vectors()[name]
    assert client.get("/bytes?name=none").status_code == 404


def test_heartbeat(client: httpx.Client) -> None:
    with client.stream("GET", "/heartbeat") as response:
        seen = ""
        for text in response.iter_text():
            seen += text
            if seen.count("\r\n\r\n") >= 3:
                break
    assert set(seen.split("\r\n\r\n")) == {": heartbeat", ""}


def test_gzip_that_nobody_asked_for(client: httpx.Client) -> None:
    with client.stream("GET", "/gzip", headers={"Accept-Encoding": "identity"}) as response:
        assert response.headers["content-encoding"] == "gzip"
        packed = b"".join(response.iter_raw())
    assert packed.startswith(b"\x1f\x8b")
    assert client.get("/gzip").text == "".join(f"data: packed {n}\n\n" for n in (1, 2, 3))


def test_redirect(client: httpx.Client) -> None:
    for status in (301, 302, 303, 307, 308):
        response = client.get(f"/redirect?status={status}&to=/html")
        assert (response.status_code, response.headers["location"]) == (status, "/html")


def test_html(client: httpx.Client) -> None:
    response = client.get("/html")
    assert (response.status_code, response.text) == (200, HTML)
    assert response.headers["content-type"].startswith("text/html")


def test_busy(client: httpx.Client) -> None:
    response = client.get("/busy")
    assert (response.status_code, response.json()) == (503, BUSY)
    assert response.headers["retry-after"] == "1"


def test_real_server_fixture_is_each_of_both(real_server: RealServer) -> None:
    server = get(real_server.url + "/html").headers["server"]
    assert server == "uvicorn" or "aiohttp" in server


@pytest.mark.parametrize("name", REAL)
def test_end_waits_neither_for_streams_nor_for_idle_clients(
    name: str, certificates: Certificates
) -> None:
    files = (certificates.cert_path, certificates.key_path)
    starts: dict[str, Callable[[], AbstractContextManager[RealServer]]] = {
        "real_starlette": starlette_server,
        "real_aiohttp": aiohttp_server,
        "real_tls": lambda: tls_server(*files),
        "real_http2": lambda: http2_server(*files),
    }
    options: Any = {
        "verify": certificates.client_context,
        "http2": name == "real_http2",
        "trust_env": False,
    }
    with httpx.Client(**options) as idle, httpx.Client(**options) as busy:
        with starts[name]() as server:
            assert idle.get(server.url + "/html").status_code == 200
            response = busy.send(busy.build_request("GET", server.url + "/heartbeat"), stream=True)
            beats = response.iter_raw()
            assert next(beats) == b": heartbeat\r\n\r\n"
            start = time.monotonic()
        assert time.monotonic() - start < SOON + 1
        assert server.url not in {thread.name for thread in threading.enumerate()}
        with pytest.raises(httpx.ConnectError):
            get(server.url + "/html", verify=certificates.client_context)
        response.close()


def test_server_that_fails_refuses_its_clients_and_raises() -> None:
    async def fail(listener: socket.socket, stop: asyncio.Event) -> None:  # noqa: ARG001
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), _running(fail, "http://127.0.0.1") as server:
        for thread in threading.enumerate():
            if thread.name == server.url:
                thread.join(5)
        with pytest.raises(httpx.ConnectError):
            get(server.url)
