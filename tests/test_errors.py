"""The tree of errors, and what they carry."""

from __future__ import annotations

import copy
import pickle

import pytest

from sansio_sse import EventTooLarge, LocalProtocolError, RemoteProtocolError, SSEError


def test_errors_form_the_documented_tree() -> None:
    assert issubclass(LocalProtocolError, SSEError)
    assert issubclass(LocalProtocolError, ValueError)
    assert issubclass(RemoteProtocolError, SSEError)
    assert not issubclass(RemoteProtocolError, ValueError)
    assert issubclass(EventTooLarge, RemoteProtocolError)


@pytest.mark.parametrize(
    "error",
    [
        SSEError("a"),
        LocalProtocolError("b"),
        RemoteProtocolError("invalid UTF-8 at byte 7", 7),
        RemoteProtocolError("elsewhere"),
        EventTooLarge(70000, 65536),
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
