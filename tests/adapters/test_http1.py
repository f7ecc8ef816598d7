"""HTTP/1.1 without I/O: where a URL leads, redirects, content codings."""

from __future__ import annotations

import gzip
import ssl
import zlib
from typing import TYPE_CHECKING

import pytest
from sansio_sse_adapters._http1 import Decoder, Route, Target, prepare, redirect

from sansio_sse import Backoff, LocalProtocolError, RemoteProtocolError, Request

from .drivers import ADAPTERS, Adapter, over, run
from .hostile import HostileServer, no_content, stream
from .hostile import redirect as redirect_to

if TYPE_CHECKING:
    from collections.abc import Callable

HEADERS = (("Authorization", b"Bearer secret"), ("Cookie", b"a=b"), ("X-Kept", b"1"))


@pytest.mark.parametrize(
    ("url", "target", "host"),
    [
        ("http://example.com", Target(False, "example.com", 80, "/"), b"example.com"),
        ("https://example.com", Target(True, "example.com", 443, "/"), b"example.com"),
        (
            "HTTP://EXAMPLE.com:8080/a",
            Target(False, "example.com", 8080, "/a"),
            b"example.com:8080",
        ),
        ("http://[::1]:81/x", Target(False, "::1", 81, "/x"), b"[::1]:81"),
        ("http://h/a?b=c#d", Target(False, "h", 80, "/a?b=c"), b"h"),
        ("http://h?b", Target(False, "h", 80, "/?b"), b"h"),
        ("http://h/ä b", Target(False, "h", 80, "/%C3%A4%20b"), b"h"),
        ("http://h/%C3%A4?q=%20", Target(False, "h", 80, "/%C3%A4?q=%20"), b"h"),
        ("http://bücher.example/", Target(False, "xn--bcher-kva.example", 80, "/"), None),
    ],
)
def test_url_leads_to_a_target(url: str, target: Target, host: bytes | None) -> None:
    found, request = prepare(Request("GET", url))
    assert found == target
    assert request.header("Host") == (host or b"xn--bcher-kva.example")


@pytest.mark.parametrize(
    "url",
    [
        "example.com",
        "ftp://h/",
        "http://",
        "http:///path",
        "http://h:port/",
        "http://h:99999/",
        "//h",
    ],
)
def test_url_that_is_none_is_an_error(url: str) -> None:
    with pytest.raises(LocalProtocolError, match="the URL"):
        prepare(Request("GET", url))


def test_credentials_of_a_url_are_sent_and_not_shown_to_the_name_resolution() -> None:
    target, request = prepare(Request("GET", "http://me:p%40ss@h/"))
    assert target.host == "h"
    assert request.header("Authorization") == b"Basic bWU6cEBzcw=="
    own = Request("GET", "http://me:x@h/", (("authorization", b"Bearer y"),))
    assert prepare(own)[1].header("Authorization") == b"Bearer y"


def test_length_and_codings_are_added_where_nobody_did() -> None:
    request = prepare(Request("POST", "http://h/", body=b"abc"))[1]
    assert request.header("Content-Length") == b"3"
    assert request.header("Accept-Encoding") == b"gzip, deflate"
    identity = Request("GET", "http://h/", (("accept-encoding", b"identity"),))
    assert prepare(identity)[1].header("Accept-Encoding") == b"identity"
    assert prepare(identity)[1].header("Content-Length") is None


@pytest.mark.parametrize(
    ("status", "method", "becomes"),
    [
        (301, "POST", "GET"),
        (302, "POST", "GET"),
        (303, "POST", "GET"),
        (303, "PUT", "GET"),
        (303, "HEAD", "HEAD"),
        (301, "PUT", "PUT"),
        (307, "POST", "POST"),
        (308, "POST", "POST"),
        (301, "GET", "GET"),
    ],
)
def test_redirect_keeps_or_changes_the_method(status: int, method: str, becomes: str) -> None:
    headers = (*HEADERS, ("Content-Type", b"text/plain"))
    request = Request(method, "http://h/a/b?c", headers, b"body", 3)
    followed = redirect(request, status, "../d")
    assert followed is not None
    assert (followed.method, followed.url, followed.attempt) == (becomes, "http://h/d", 3)
    kept = becomes == method
    assert followed.body == (b"body" if kept else None)
    assert followed.header("Content-Type") == (b"text/plain" if kept else None)
    assert followed.header("Authorization") == b"Bearer secret"


@pytest.mark.parametrize(
    "location", ["http://other/", "https://h/", "http://h:81/", "//other/x", "http://h.evil/"]
)
def test_secrets_stay_with_their_origin(location: str) -> None:
    followed = redirect(Request("GET", "http://h/", HEADERS), 307, location)
    assert followed is not None
    assert followed.header("Authorization") is None
    assert followed.header("Cookie") is None
    assert followed.header("X-Kept") == b"1"


@pytest.mark.parametrize(
    ("status", "location"),
    [(200, "/"), (300, "/"), (304, "/"), (301, None), (301, "ftp://h/"), (301, "http://h:port/")],
)
def test_what_is_no_redirect_is_not_followed(status: int, location: str | None) -> None:
    assert redirect(Request("GET", "http://h/"), status, location) is None


def test_context_of_tls_is_made_once_and_that_of_the_caller_is_kept() -> None:
    default = Route(None, None)
    assert default.ssl_context() is default.ssl_context()
    own = ssl.create_default_context()
    assert Route(own, None).ssl_context() is own


@over([adapter for adapter in ADAPTERS if adapter.make_client is None])
def test_redirect_to_another_origin_carries_no_credentials(adapter: Adapter) -> None:
    async def scenario(adapter: Adapter) -> None:
        headers = {"Authorization": "Bearer secret", "X-Kept": "1"}
        async with adapter.source(first.url, headers=headers) as source:
            assert await source.rest() == []

    with (
        HostileServer(no_content()) as second,
        HostileServer(redirect_to(307, second.url + "/")) as first,
    ):
        run(adapter, scenario)
        assert first.requests[0].header("Authorization") == b"Bearer secret"
        assert second.requests[0].header("Authorization") is None
        assert second.requests[0].header("X-Kept") == b"1"


@pytest.mark.parametrize("compress", [gzip.compress, zlib.compress], ids=["gzip", "deflate"])
def test_body_is_expanded_in_small_pieces(compress: Callable[[bytes], bytes]) -> None:
    body = b"data: x\n\n" + b": " + b"0" * 10_000_000
    decoder = Decoder("GZIP" if compress is gzip.compress else "deflate")
    pieces = [decoder.decode(compress(body))]
    while decoder.has_more:
        pieces.append(decoder.decode(b""))
    assert max(map(len, pieces)) == 65536
    assert b"".join(pieces) == body


def test_body_is_expanded_as_it_comes() -> None:
    compressor = zlib.compressobj(wbits=31)
    decoder = Decoder("gzip")
    for block in (b"data: a\n\n", b"data: b\n\n"):
        sent = compressor.compress(block) + compressor.flush(zlib.Z_SYNC_FLUSH)
        assert b"".join(decoder.decode(sent[at : at + 1]) for at in range(len(sent))) == block


def expand(decoder: Decoder, body: bytes, size: int) -> bytes:
    expanded = b""
    for at in range(0, len(body), size):
        expanded += decoder.decode(body[at : at + size])
        while decoder.has_more:
            expanded += decoder.decode(b"")
    return expanded


@pytest.mark.parametrize("size", [1, 2, 7, 10_000])
def test_members_of_gzip_and_deflate_without_a_header(size: int) -> None:
    members = gzip.compress(b"data: a\n\n") + gzip.compress(b"data: b\n\n" * 100)
    assert expand(Decoder("gzip"), members, size) == b"data: a\n\n" + b"data: b\n\n" * 100
    compressor = zlib.compressobj(wbits=-15)
    raw = compressor.compress(b"data: c\n\n") + compressor.flush()
    assert expand(Decoder("deflate"), raw, size) == b"data: c\n\n"
    assert expand(Decoder("identity, gzip"), gzip.compress(b"x"), size) == b"x"


@pytest.mark.parametrize("coding", ["", "identity", " Identity "])
def test_body_without_a_coding_is_left_alone(coding: str) -> None:
    decoder = Decoder(coding)
    assert decoder.decode(b"abc") == b"abc"
    assert not decoder.has_more


@pytest.mark.parametrize("coding", ["br", "zstd", "gzip, gzip"])
def test_coding_that_nobody_asked_for_is_an_error(coding: str) -> None:
    with pytest.raises(RemoteProtocolError, match="not asked for"):
        Decoder(coding)


# When decoding fails, httpx leaves generators behind that it does not run to their end, and trio
# warns of those.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@over(ADAPTERS)
def test_garbage_that_claims_to_be_compressed_is_a_lost_connection(adapter: Adapter) -> None:

    async def scenario(adapter: Adapter) -> list[str]:

        async with adapter.source(server.url, backoff=Backoff(base=0.01, jitter=0)) as source:
            return [event.data for event in await source.rest()]

    garbage = stream(b"data: no gzip\n\n", headers=[("Content-Encoding", "gzip")])
    with HostileServer(garbage, stream(b"data: a\n\n"), no_content()) as server:
        assert run(adapter, scenario) == ["a"]
