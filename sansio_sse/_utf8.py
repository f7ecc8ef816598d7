"""Strict decoding: where the bytes of a stream stop being UTF-8."""

from __future__ import annotations

from codecs import utf_8_decode

__all__ = ["decodable"]


def decodable(data: bytes) -> tuple[int, bool]:
    """Return how many bytes are whole characters, and whether those behind them are invalid.

    If they are not, they are the start of a character, or none.
    """
    try:
        return utf_8_decode(data)[1], False
    except UnicodeDecodeError as wrong:
        return wrong.start, True
