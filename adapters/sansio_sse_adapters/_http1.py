"""HTTP/1.1 for the adapters whose library has no client of it, as far as that needs no I/O.

Where a URL leads, redirects, content codings, and one exchange over h11.
"""

from __future__ import annotations

import base64
import ssl
import zlib
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote, unquote, urljoin, urlsplit

from sansio_sse import LocalProtocolError, RemoteProtocolError

if TYPE_CHECKING:
    from sansio_sse import Request

__all__ = ["MAX_REDIRECTS", "Decoder", "Route", "Target", "prepare", "redirect"]

MAX_REDIRECTS = 20
"""As many as the Fetch standard follows."""

_DECODED_BYTES = 65536
# What a request line can have in it as it is; RFC 3986, section 2.
_URL_CHARACTERS = "%:/?#[]@!$&'()*+,;=-._~"


class Target(NamedTuple):
    """Where a request goes.

    Attributes:
        secure: Whether the connection is made over TLS.
        host: The name or address of the host.
        port: The port.
        path: What stands in the request line: path and query.
    """

    secure: bool
    host: str
    port: int
    path: str


class Route:
    """How the connections of a source are made, beside what the URL says.

    Attributes:
        unix_socket: The path of a Unix socket, in place of host and port; None for none.
    """

    def __init__(self, ssl_context: ssl.SSLContext | None, unix_socket: str | None) -> None:
        self.unix_socket = unix_socket
        self._ssl_context = ssl_context

    def ssl_context(self) -> ssl.SSLContext:
        """Return what secures the connections: the same each time, for making one takes long."""
        if self._ssl_context is None:
            self._ssl_context = ssl.create_default_context()
        return self._ssl_context


def prepare(request: Request) -> tuple[Target, Request]:
    """Return where a request goes, and the request with all that HTTP/1.1 asks for.

    Raises:
        LocalProtocolError: The URL is none of http or https.
    """
    try:
        parts = urlsplit(request.url)
        port = parts.port
        host = parts.hostname or ""
        if not host.isascii():
            host = host.encode("idna").decode()
    except ValueError as error:
        raise LocalProtocolError(f"the URL {request.url!r} can't be read: {error}") from None
    # A backslash ends the host in browsers, and belongs to it here: what is checked by one must not
    # lead elsewhere by the other.
    if parts.scheme not in ("http", "https") or not host or "\\" in parts.netloc:
        raise LocalProtocolError(f"the URL {request.url!r} is none of http:// or https://")
    secure = parts.scheme == "https"
    path = quote((parts.path or "/") + ("?" + parts.query if parts.query else ""), _URL_CHARACTERS)
    shown = f"[{host}]" if ":" in host else host
    additions: list[tuple[str, str]] = [("Host", shown if port is None else f"{shown}:{port}")]
    if parts.username is not None:
        credentials = f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode()
        additions.append(("Authorization", f"Basic {base64.b64encode(credentials).decode()}"))
    # Where nobody asked for something else: what `Decoder` can undo.
    additions.append(("Accept-Encoding", "gzip, deflate"))
    if request.body is not None:
        additions.append(("Content-Length", str(len(request.body))))
    for name, value in additions:
        if request.header(name) is None:
            request = request.with_header(name, value)
    default = 443 if secure else 80
    return Target(secure, host, default if port is None else port, path), request


def redirect(request: Request, status: int, location: str | None) -> Request | None:
    """Return the request that a redirect leads to; None if the response is none to be followed.

    Source: Fetch, section "HTTP-redirect fetch"; what is secret stays with its origin.
    """
    if status not in (301, 302, 303, 307, 308) or location is None:
        return None
    try:
        # A header is bytes; what is not ASCII in this one is UTF-8, mostly.
        with suppress(UnicodeError):
            location = location.encode("latin-1").decode()
        url = urljoin(request.url, location)
        before, after = prepare(request)[0], prepare(request._replace(url=url))[0]
    except (ValueError, LocalProtocolError):
        return None
    dropped = ["Host"]
    method, body = request.method, request.body
    if (status in (301, 302) and method == "POST") or (
        status == 303 and method not in ("GET", "HEAD")
    ):
        method, body = "GET", None
        dropped += ["Content-Type", "Content-Length", "Content-Encoding"]
    if before[:3] != after[:3]:
        dropped += ["Authorization", "Cookie", "Proxy-Authorization"]
    for name in dropped:
        request = request.with_header(name, None)
    return request._replace(method=method, url=url, body=body)


class Decoder:
    """Undoes the content coding of a body, 64 KiB at a time whatever that expands to.

    Raises:
        RemoteProtocolError: The coding is none that was asked for.
    """

    def __init__(self, coding: str) -> None:
        words = [word.strip().lower() for word in coding.split(",")]
        codings = [word for word in words if word not in ("", "identity")]
        if codings and codings not in (["gzip"], ["x-gzip"], ["deflate"]):
            raise RemoteProtocolError(
                f"the body has the coding {coding!r}, which was not asked for"
            )
        # 32: a header of zlib or of gzip.
        self._inflate = zlib.decompressobj(32 + zlib.MAX_WBITS) if codings else None
        self._may_be_raw = codings == ["deflate"]
        self._first = b""
        self._tail = b""

    def decode(self, data: bytes) -> bytes:
        """Return what bytes of the body stand for.

        Raises:
            zlib.error: They are not what the coding says.
        """
        if self._inflate is None:
            return data
        if self._may_be_raw:
            # Some send "deflate" without the header of zlib, which is of two bytes.
            self._first += data
            if len(self._first) < 2:
                return b""
            data, self._may_be_raw = self._first, False
            if data[0] & 15 != 8 or int.from_bytes(data[:2], "big") % 31:
                self._inflate = zlib.decompressobj(-zlib.MAX_WBITS)
        decoded = self._inflate.decompress(self._tail + data, _DECODED_BYTES)
        self._tail = self._inflate.unconsumed_tail
        if self._inflate.eof:
            # The next member, if there is one: RFC 1952, section 2.2.
            self._tail = self._inflate.unused_data
            self._inflate = zlib.decompressobj(32 + zlib.MAX_WBITS)
        return decoded

    @property
    def has_more(self) -> bool:
        """Whether there is more to be had from `decode(b"")`."""
        return bool(self._tail)
