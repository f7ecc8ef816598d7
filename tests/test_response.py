"""What a response means: whether it opens, and when to ask again."""

from __future__ import annotations

import copy
import email.message
import http.client
import io
import pickle
import wsgiref.headers
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sansio_sse import (
    RETRYABLE_STATUSES,
    RemoteProtocolError,
    UnexpectedContentType,
    UnexpectedStatus,
    check_response,
    retry_after,
)

if TYPE_CHECKING:
    from collections.abc import Callable

LONGEST = (2**31 - 1) / 1000

OPENING = [
    ["text/event-stream"],
    ["TEXT/EVENT-STREAM"],
    ["Text/Event-Stream; Charset=UTF-8"],
    ["text/event-stream;charset=utf-8"],
    ["text/event-stream;charset=iso-8859-1"],
    ["text/event-stream ;charset=utf-8"],
    ["text/event-stream\t; charset=utf-8"],
    ["text/event-stream;"],
    ["text/event-stream;;; =; x"],
    [" \ttext/event-stream\t "],
    ['text/event-stream; a="b,c"'],
    ['text/event-stream; a="b,text/plain"; c=d'],
    ['text/event-stream; a="\\",text/plain,"'],
    # A list, as one value and as several: the last that is a type counts.
    ["text/plain, text/event-stream"],
    ["text/plain,text/event-stream;x=y"],
    ["text/plain", "text/event-stream"],
    ["text/event-stream", "text/event-stream; charset=utf-8"],
    ["text/event-stream, */*"],
    ["text/event-stream", "*/*;q=1"],
    ["text/event-stream", ""],
    ["text/event-stream,,"],
    ["text/event-stream, none"],
    ["text/event-stream, text/ plain"],
    ['text/plain; a="b", text/event-stream'],
    ["text/plain; a=\\, text/event-stream"],
    ['text/plain; a="\\\\", text/event-stream'],
]
REFUSED = [
    [],
    [""],
    [" "],
    ["*/*"],
    ["text/*"],
    ["text"],
    ["text/"],
    ["/event-stream"],
    ["event-stream"],
    ["text/event-streams"],
    ["text/event-strea"],
    ["text/event-stream+json"],
    ["text/event_stream"],
    ["xtext/event-stream"],
    ["text /event-stream"],
    ["text/ event-stream"],
    ["text/event-stream x"],
    ["text/event-stream\x0b"],
    ["text/event-\u017ftream"],
    ["text/plain; x=text/event-stream"],
    ["text/plain; x=;text/event-stream"],
    ['text/plain; x="a,text/event-stream"'],
    ['text/plain; x="a,text/event-stream'],
    ['text/plain; x="\\",text/event-stream'],
    ["text/event-stream, text/plain"],
    ["text/event-stream", "text/html; charset=utf-8"],
    ["application/json"],
    ["application/x-ndjson"],
    ["application/octet-stream"],
]


def as_headers(types: list[str]) -> list[tuple[str, str]]:
    return [("Server", "x"), *(("Content-Type", value) for value in types), ("X", "text/plain")]


@pytest.mark.parametrize("types", OPENING, ids=str)
def test_event_stream_opens(types: list[str]) -> None:
    assert check_response(200, as_headers(types)) is True


@pytest.mark.parametrize("types", REFUSED, ids=str)
def test_any_other_content_type_is_refused(types: list[str]) -> None:
    with pytest.raises(UnexpectedContentType) as caught:
        check_response(200, as_headers(types), b"<html>")
    assert caught.value.status == 200
    assert caught.value.headers == tuple(as_headers(types))
    assert caught.value.body == b"<html>"


@pytest.mark.parametrize("name", ["content-type", "CONTENT-TYPE", "cOnTeNt-TyPe"])
def test_header_name_is_compared_without_case(name: str) -> None:
    assert check_response(200, [(name, "text/event-stream")])
    with pytest.raises(UnexpectedContentType):
        check_response(200, [(name + "s", "text/event-stream")])


def read_head(head: bytes) -> Any:
    # To a type checker it is no mapping, and it has no base class that says so either.
    return http.client.parse_headers(io.BytesIO(head))


def email_message() -> email.message.Message:
    message = email.message.Message()
    message["Content-Type"] = "text/event-stream"
    message["Retry-After"] = "7"
    return message


PAIRS = [("Content-Type", "text/event-stream"), ("Retry-After", "7")]
CONTAINERS: dict[str, Callable[[], Any]] = {
    "list": lambda: PAIRS,
    "tuple": lambda: tuple(PAIRS),
    "lists": lambda: [list(pair) for pair in PAIRS],
    "iterator": lambda: iter(PAIRS),
    "generator": lambda: (pair for pair in PAIRS),
    "dict": lambda: dict(PAIRS),
    "items": lambda: dict(PAIRS).items(),
    "mapping": lambda: MappingProxyType(dict(PAIRS)),
    "HTTPMessage": lambda: read_head(b"content-type: text/event-stream\r\nRetry-After: 7\r\n\r\n"),
    "Message": email_message,
    "wsgiref": lambda: wsgiref.headers.Headers(PAIRS),
}


@pytest.mark.parametrize("container", CONTAINERS)
def test_headers_of_each_kind_are_taken(container: str) -> None:
    make = CONTAINERS[container]
    assert check_response(200, make()) is True
    assert retry_after(make()) == 7
    with pytest.raises(UnexpectedStatus) as caught:
        check_response(503, make())
    assert [value for _, value in caught.value.headers] == ["text/event-stream", "7"]


def test_repeated_headers_of_an_http_message_all_count() -> None:
    head = b"Content-Type: text/event-stream\r\nContent-Type: text/html\r\n\r\n"
    with pytest.raises(UnexpectedContentType):
        check_response(200, read_head(head))


@pytest.mark.parametrize("types", [[], ["text/event-stream"], ["text/html"]])
def test_no_content_is_a_clean_end_and_no_exception(types: list[str]) -> None:
    assert check_response(204, as_headers(types)) is False


@pytest.mark.parametrize(
    "status", [100, 201, 202, 205, 206, 299, 301, 304, 400, 401, 404, 429, 500, 503]
)
def test_any_other_status_is_refused_with_what_the_server_says(status: int) -> None:
    headers = [("content-type", "application/json"), ("X", "1"), ("X", "2")]
    with pytest.raises(UnexpectedStatus) as caught:
        check_response(status, headers, b'{"error": "quota"}')
    error = caught.value
    assert isinstance(error, RemoteProtocolError)
    assert (error.status, error.headers) == (status, tuple(headers))
    assert error.body == b'{"error": "quota"}'
    assert str(error) == (
        f'the server answered with status {status}, not 200: \'{{"error": "quota"}}\''
    )


def test_status_counts_before_the_content_type() -> None:
    with pytest.raises(UnexpectedStatus, match=r"status 503, not 200$"):
        check_response(503, as_headers(["text/event-stream"]))


def test_error_says_which_content_type_it_was() -> None:
    with pytest.raises(
        UnexpectedContentType, match="content type 'text/html, a/b', not 'text/event-stream': '<p>'"
    ):
        check_response(200, as_headers(["text/html", "a/b"]), b"<p>")
    with pytest.raises(UnexpectedContentType, match="without a content type, not 'text/event-"):
        check_response(200, [])


def test_text_of_an_error_shows_the_start_of_a_body_whatever_its_bytes() -> None:
    error = UnexpectedStatus(500, (), b"\xff" + b"x" * 1000)
    assert error.body == b"\xff" + b"x" * 1000
    assert str(error).endswith("not 200: '\ufffd" + "x" * 199 + "'")


@pytest.mark.parametrize("kind", [UnexpectedStatus, UnexpectedContentType])
def test_refusal_survives_copy_and_pickle(
    kind: type[UnexpectedStatus | UnexpectedContentType],
) -> None:
    error = kind(418, (("Content-Type", "text/html"), ("X", "y")), b"\xffbody")
    for twin in (copy.copy(error), copy.deepcopy(error), pickle.loads(pickle.dumps(error))):
        assert type(twin) is kind
        assert (twin.status, twin.headers, twin.body) == (error.status, error.headers, error.body)
        assert str(twin) == str(error)
        assert twin.offset is None
        assert vars(twin) == vars(error)


def test_retryable_statuses_are_the_seven() -> None:
    assert frozenset({408, 425, 429, 500, 502, 503, 504}) == RETRYABLE_STATUSES


# When the dates below are looked at: Sun, 06 Nov 1994 08:49:37 GMT.
NOW = 784111777
DATE = "Sun, 06 Nov 1994 08:49:37 GMT"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("0", 0),
        ("00", 0),
        ("1", 1),
        ("120", 120),
        (" 120\t", 120),
        ("000000000000120", 120),
        ("2147483", 2147483),
        ("2147484", LONGEST),
        ("9999999999", LONGEST),
        ("10000000000", LONGEST),
        ("9" * 5000, LONGEST),
        ("", None),
        ("-1", None),
        ("+1", None),
        ("1.5", None),
        ("1e3", None),
        ("0x10", None),
        ("1_0", None),
        ("1 0", None),
        ("10s", None),
        ("soon", None),
        ("\u0661\u0662", None),
        ("\u00b2", None),
        ("1, 2", None),
        ("1\n", 1),
        ("\x0b1", None),
    ],
)
def test_retry_after_in_seconds(value: str, expected: float | None) -> None:
    for name in ("Retry-After", "retry-after", "RETRY-AFTER"):
        assert retry_after([("Date", DATE), (name, value)], utc=NOW) == expected
        assert retry_after([(name, value)]) == expected


def test_response_without_retry_after_asks_for_nothing() -> None:
    assert retry_after([]) is None
    assert retry_after([("Date", DATE)], utc=NOW) is None
    assert retry_after([("X-Retry-After", "5")]) is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        # The three formats of RFC 9110, section 5.6.7.
        ("Sun, 06 Nov 1994 08:50:37 GMT", 60),
        ("Sunday, 06-Nov-94 08:50:37 GMT", 60),
        ("Sun Nov  6 08:50:37 1994", 60),
        ("Wed Nov 16 08:49:37 1994", 864000),
        ("Sun, 06 Nov 1994 08:49:37 GMT", 0),
        # Leap seconds and leap days.
        ("Sun, 06 Nov 1994 08:49:60 GMT", 22),
        ("Thu, 29 Feb 1996 08:49:37 GMT", LONGEST),
        # In the past: at once.
        ("Sun, 06 Nov 1994 08:49:36 GMT", 0),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
        ("Mon, 01 Jan 0001 00:00:00 GMT", 0),
        ("Sun Nov  6 08:49:37 1904", 0),
        # Far away: the longest delay that there is.
        ("Tue, 06 Dec 1994 08:49:37 GMT", LONGEST),
        ("Fri, 31 Dec 9999 23:59:59 GMT", LONGEST),
        # A year of two digits.
        ("Monday, 07-Nov-94 08:49:37 GMT", 86400),
        # No dates.
        ("Sun, 6 Nov 1994 08:50:37 GMT", None),
        ("Sun, 06 Nov 94 08:50:37 GMT", None),
        ("Sunday, 06-Nov-1994 08:50:37 GMT", None),
        ("sun, 06 nov 1994 08:50:37 gmt", None),
        ("Sun, 06 Nov 1994 08:50:37 UTC", None),
        ("Sun, 06 Nov 1994 08:50:37 +0000", None),
        ("Sun, 06 Nov 1994 08:50:37", None),
        ("Sun, 06 Nov 1994 8:50:37 GMT", None),
        ("Sun, 06 Nov 1994 08:50:37 GMT x", None),
        ("1994-11-06T08:50:37Z", None),
        ("Sun, 06 Foo 1994 08:50:37 GMT", None),
        # Days and times that there are not.
        ("Sun, 00 Nov 1994 08:50:37 GMT", None),
        ("Sun, 31 Nov 1994 08:50:37 GMT", None),
        ("Wed, 29 Feb 1995 08:50:37 GMT", None),
        ("Sun, 06 Nov 0000 08:50:37 GMT", None),
        ("Sun, 06 Nov 1994 24:00:00 GMT", None),
        ("Sun, 06 Nov 1994 08:60:00 GMT", None),
        ("Sun, 06 Nov 1994 08:49:61 GMT", None),
        ("Sun Nov    08:50:37 1994", None),
    ],
)
def test_retry_after_as_a_date(value: str, expected: float | None) -> None:
    assert retry_after([("Retry-After", value)], utc=NOW) == expected
    assert retry_after([("Retry-After", value), ("Date", DATE)]) == expected
    assert retry_after([("date", f" {DATE} "), ("retry-after", f" {value} ")]) == expected


def test_the_dates_of_the_server_are_compared_whosever_clock_is_wrong() -> None:
    headers = [("Retry-After", "Sun, 06 Nov 1994 08:50:37 GMT"), ("Date", DATE)]
    for utc in (None, 0.0, NOW + 30, NOW + 10**6):
        assert retry_after(headers, utc=utc) == 60


@pytest.mark.parametrize("date", ["", "now", "Sun, 31 Nov 1994 08:49:37 GMT", "784111777"])
def test_own_time_is_taken_where_the_server_says_none(date: str) -> None:
    headers = [("Retry-After", "Sun, 06 Nov 1994 08:50:37 GMT"), ("Date", date)]
    assert retry_after(headers, utc=NOW + 12.5) == 47.5
    assert retry_after(headers) is None


@pytest.mark.parametrize(
    ("utc", "value", "expected"),
    [
        # 2026-01-01, 2049-12-31, 2099-12-31.
        (1767225600, "Thursday, 01-Jan-26 00:01:00 GMT", 60),
        (1767225600, "Tuesday, 01-Jan-76 00:00:00 GMT", LONGEST),
        (1767225600, "Saturday, 01-Jan-77 00:00:00 GMT", 0),
        (1767225600, "Friday, 31-Dec-99 00:00:00 GMT", 0),
        (2524521600, "Friday, 31-Dec-49 00:01:00 GMT", 60),
        (4102358400, "Thursday, 31-Dec-99 00:01:00 GMT", 60),
    ],
)
def test_years_of_two_digits_are_near_the_present(utc: float, value: str, expected: float) -> None:
    assert retry_after([("Retry-After", value)], utc=utc) == expected


def test_years_of_two_digits_in_date_itself_are_read_too() -> None:
    for date, value in (
        ("Sunday, 06-Nov-94 08:49:37 GMT", "Sunday, 06-Nov-94 08:50:37 GMT"),
        ("Thursday, 01-Jan-26 00:00:00 GMT", "Thursday, 01-Jan-26 00:01:00 GMT"),
        ("Thursday, 01-Jan-26 00:00:00 GMT", "Thu, 01 Jan 2026 00:01:00 GMT"),
        ("Sunday, 06-Nov-94 08:49:37 GMT", "Sun, 06 Nov 1994 08:50:37 GMT"),
        # The century is that of `Date`, whatever time it is here.
        ("Thu, 01 Jan 2060 00:00:00 GMT", "Thursday, 01-Jan-60 00:01:00 GMT"),
    ):
        headers = [("Date", date), ("Retry-After", value)]
        assert retry_after(headers) == 60
        assert retry_after(headers, utc=1767225600) == 60


@given(
    value=st.text(max_size=40) | st.from_regex(r"[A-Za-z0-9 ,:-]{0,40}", fullmatch=True),
    date=st.sampled_from([DATE, "", "x"]) | st.text(max_size=40),
    utc=st.none() | st.floats(0, 1e10),
)
def test_whatever_a_server_writes_is_a_delay_or_none(
    value: str, date: str, utc: float | None
) -> None:
    seconds = retry_after([("Retry-After", value), ("Date", date)], utc=utc)
    assert seconds is None or 0 <= seconds <= LONGEST


@given(types=st.lists(st.text('tex/vn-sram;,="\\ *', max_size=30), max_size=3))
def test_whatever_the_content_type_is_it_opens_or_is_refused(types: list[str]) -> None:
    try:
        opened = check_response(200, as_headers(types))
    except UnexpectedContentType as error:
        assert error.headers == tuple(as_headers(types))
    else:
        assert opened
        assert any("text/event-stream" in value.lower() for value in types)
