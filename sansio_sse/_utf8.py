"""Strict decoding: where the bytes of a stream stop being UTF-8."""

from __future__ import annotations

from codecs import utf_8_decode

from ._errors import RemoteProtocolError

__all__ = ["split_decodable"]


def split_decodable(data: bytes, offset: int) -> tuple[bytes, bytes, RemoteProtocolError | None]:
    """Split off the start of a character whose other bytes are still to come.

    Args:
        data: Bytes that begin where a character does.
        offset: Where they stand in the stream.

    Returns:
        The whole characters; what is behind them; and the error, if that is no such start.
    """
    try:
        _, end = utf_8_decode(data)
    except UnicodeDecodeError as wrong:
        offset += wrong.start
        error = RemoteProtocolError(f"invalid UTF-8 at byte {offset}", offset)
        return data[: wrong.start], b"", error
    return data[:end], data[end:], None
