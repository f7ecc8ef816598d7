"""The tree of errors, and what they carry."""

from __future__ import annotations

import copy
import pickle

import pytest

from sansio_sse import (
    EventTooLarge,
    LocalProtocolError,
    RemoteProtocolError,
    SSEError,
    UnexpectedContentType,
    UnexpectedStatus,
)


def test_errors_form_the_documented_tree() -> None:
    assert issubclass(LocalProtocolError, SSEError)
    assert issubclass(LocalProtocolError, ValueError)
    assert issubclass(RemoteProtocolError, SSEError)
    assert not issubclass(RemoteProtocolError, ValueError)
    for kind in (EventTooLarge, UnexpectedStatus, UnexpectedContentType):
        assert issubclass(kind, RemoteProtocolError)
    assert not issubclass(UnexpectedStatus, UnexpectedContentType)
    assert not issubclass(UnexpectedContentType, UnexpectedStatus)


@pytest.mark.parametrize(
    "error",
    [
        SSEError("a"),
        LocalProtocolError("b"),
        RemoteProtocolError("invalid UTF-8 at byte 7", 7),
        RemoteProtocolError("elsewhere"),
        EventTooLarge(70000, 65536),
        UnexpectedStatus(503),
        UnexpectedStatus(503, (("Retry-After", "5"), ("X", "y")), b"\xff busy"),
        UnexpectedContentType(200),
        UnexpectedContentType(200, (("content-type", "text/html"),), b"<html>"),
    ],
    ids=repr,
)
def test_error_survives_copy_and_pickle(error: SSEError) -> None:
    for twin in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert type(twin) is type(error)
        assert str(twin) == str(error)
        assert vars(twin) == vars(error)


def test_event_too_large_says_how_large() -> None:
    error = EventTooLarge(70000, 65536)
    assert str(error) == "event is 70000 bytes so far, the limit is 65536"
    assert (error.size, error.limit, error.offset) == (70000, 65536, None)


def test_unexpected_response_carries_what_came_and_says_it() -> None:
    headers = (("Content-Type", "text/html"), ("X", "y"))
    status = UnexpectedStatus(503, headers, b"busy")
    assert (status.status, status.headers, status.body) == (503, headers, b"busy")
    assert str(status) == "the server answered with status 503, not 200: 'busy'"
    assert str(UnexpectedStatus(404)) == "the server answered with status 404, not 200"
    kind = UnexpectedContentType(200, headers, b"<p>")
    assert (kind.status, kind.headers, kind.body) == (200, headers, b"<p>")
    assert str(kind) == (
        "the server answered with content type 'text/html', not 'text/event-stream': '<p>'"
    )
    assert str(UnexpectedContentType(200)) == (
        "the server answered without a content type, not 'text/event-stream'"
    )
    assert status.offset is kind.offset is None
