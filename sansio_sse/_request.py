"""The request of one attempt."""

from __future__ import annotations

from json import dumps
from typing import TYPE_CHECKING, NamedTuple

from ._checks import check_bytes, check_str
from ._errors import LocalProtocolError
from ._headers import TOKEN, VALUE, check_headers
from ._limits import MAX_ID_HEADER_BYTES

if TYPE_CHECKING:
    from ._headers import Headers

__all__ = ["Request", "check_request", "first_request", "id_header"]


# Fetch, section "Methods": those that are known in any case; others are taken as they are.
_NORMALIZED = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "POST", "PUT"})


class Request(NamedTuple):
    """What to send to open the connection: an immutable value.

    Attributes:
        method: The request method.
        url: The URL, as the caller gave it.
        headers: The header fields: pairs of name and value, the value in bytes as it is sent.
        body: The body; None for none.
        attempt: The number of this request: 1 for the first that the source sends.
    """

    method: str
    url: str
    headers: tuple[tuple[str, bytes], ...] = ()
    body: bytes | None = None
    attempt: int = 1

    def header(self, name: str) -> bytes | None:
        """Return the value of the last header field of this name, in any case; None without one."""
        values = [value for known, value in self.headers if known.lower() == name.lower()]
        return values[-1] if values else None

    def with_header(self, name: str, value: str | bytes | None) -> Request:
        """Return the request with this header field in place of any of the same name.

        Args:
            name: The name; its case does not matter.
            value: The value, text as UTF-8; None only takes the field away.

        Raises:
            LocalProtocolError: The name or the value is one that no header field can have.
        """
        kept = [(known, old) for known, old in self.headers if known.lower() != name.lower()]
        if value is not None:
            kept.extend(check_headers([(name, value)]))
        return self._replace(headers=tuple(kept))


def check_request(request: object) -> Request:
    """Return the request, all its header values as bytes, if it can be sent.

    Raises:
        LocalProtocolError: It is no request, or has a method, a URL or a header field that can't
            be sent: no library need be asked, and no attempt be repeated, to know that.
    """
    if not isinstance(request, Request):
        raise LocalProtocolError(
            f"the request is {request!r}: on_request is a plain function that returns a Request"
        )
    if not TOKEN.fullmatch(check_str("method", request.method)):
        raise LocalProtocolError(f"method is {request.method!r}: pass a word such as 'GET'")
    if not check_str("url", request.url).strip():
        raise LocalProtocolError("url is empty")
    if request.body is not None:
        check_bytes("body", request.body)
    method = request.method
    if method.upper() in _NORMALIZED:
        method = method.upper()
    return request._replace(method=method, headers=check_headers(request.headers))


def id_header(last_event_id: str) -> bytes | None:
    """Return what to send as `Last-Event-ID`: the id "encoded as UTF-8".

    None where it can't be sent: it has a control character in it or a space at one of its ends,
    which no header value can have, half a surrogate pair, or more than 8 KiB.
    """
    try:
        value = last_event_id.encode()
    except UnicodeEncodeError:
        return None
    return value if len(value) <= MAX_ID_HEADER_BYTES and VALUE.fullmatch(value) else None


def first_request(
    url: str,
    method: str | None,
    headers: Headers[str | bytes],
    body: bytes | None,
    json: object,
    *,
    compression: bool,
) -> Request:
    """Return the request that a source starts from; its arguments are those of the source.

    Raises:
        LocalProtocolError: It can't be sent.
        TypeError: `json` can't be written as JSON.
    """
    defaults = [
        ("Accept", b"text/event-stream"),
        # The specification's cache mode is "no-store", and this is what that sends.
        ("Cache-Control", b"no-cache"),
    ]
    if not compression:
        defaults.append(("Accept-Encoding", b"identity"))
    if json is not None:
        if body is not None:
            raise LocalProtocolError("both body and json are given: pass one of them")
        try:
            body = dumps(json, allow_nan=False).encode()
        except ValueError as error:
            raise LocalProtocolError(f"json can't be written: {error}") from None
        defaults.append(("Content-Type", b"application/json"))
    if method is None:
        method = "GET" if body is None else "POST"
    own = check_headers(headers)
    names = {name.lower() for name, _ in own}
    kept = [(name, value) for name, value in defaults if name.lower() not in names]
    return check_request(Request(method, url, (*kept, *own), body))
