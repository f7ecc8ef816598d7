"""Where invalid UTF-8 is: what Python's own decoder replaces, at any cut."""

from __future__ import annotations

import random

import pytest

from sansio_sse._cli._bounds import Sample
from sansio_sse._cli._utf8 import Utf8Check


def check(*chunks: bytes) -> Sample[int]:
    invalid = Sample[int]()
    utf8 = Utf8Check(invalid)
    for chunk in chunks:
        utf8.feed(chunk)
    utf8.finish()
    return invalid


@pytest.mark.parametrize(
    ("data", "offsets"),
    [
        (b"", []),
        (b"abc", []),
        ("é€😀\ufffd\ufeff".encode(), []),
        (b"a\xffb\xfe", [1, 3]),
        # A truncated sequence is one error; each byte of an impossible one is its own.
        (b"\xe2\x82x", [0]),
        (b"\xed\xa0\x80", [0, 1, 2]),
        (b"\xc0\xaf", [0, 1]),
        (b"ok \xf0\x9f\x98", [3]),
        (b"\x80\n\xf0\x9f\n\x9f", [0, 2, 5]),
    ],
)
def test_offsets_are_those_of_the_replaced_sequences(data: bytes, offsets: list[int]) -> None:
    for chunks in ([data], [data[i : i + 1] for i in range(len(data))]):
        invalid = check(*chunks)
        assert (invalid.first, invalid.count) == (offsets, len(offsets))


def test_sequences_beyond_the_sample_are_counted() -> None:
    invalid = check(b"\xff" * 5000, "\ufffd".encode() * 3, b"\xff\xe2", b"\x82", b"\xac\xe2\x82")
    assert invalid.first == list(range(10))
    assert invalid.count == 5002


def test_the_count_is_what_the_decoder_replaces_at_any_cut() -> None:
    chance = random.Random(8)
    units = [b"\xff", b"\xf0\x9f\x98", b"\x80", b"\xef\xbf\xbd", b"\xef\xbf", b"a", b"\xe2\x82\xac"]
    for _ in range(500):
        data = b"".join(chance.choices(units, k=30))
        replaced = data.decode("utf-8", "replace").count("\ufffd") - data.count(b"\xef\xbf\xbd")
        cut = chance.randrange(len(data))
        assert check(data[:cut], data[cut:]).count == check(data).count == replaced
