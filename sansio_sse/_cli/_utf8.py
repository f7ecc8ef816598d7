"""Where a stream of bytes is not UTF-8."""

from __future__ import annotations

from codecs import utf_8_decode
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._bounds import Sample

__all__ = ["Utf8Check"]

_REPLACEMENT = "\ufffd"
_REPLACEMENT_BYTES = _REPLACEMENT.encode()

# What the decoder is told of each chunk: a character may go on in the next one.
_FINAL = False


class Utf8Check:
    """Finds the invalid sequences of a stream that arrives in chunks.

    An invalid sequence is what a decoder replaces with one U+FFFD: the Encoding Standard's rule,
    which the parser follows.

    Args:
        invalid: Where the byte offsets go. Once it is full, sequences are only counted, which
            bounds what hostile bytes cost: an error of the strict decoder takes a copy of its
            input.
    """

    def __init__(self, invalid: Sample[int]) -> None:
        self._invalid = invalid
        self._offset = 0
        # The start of a character that a read split.
        self._undecoded = b""

    def feed(self, chunk: bytes) -> None:
        """Check the next bytes."""
        data = self._undecoded + chunk
        position = 0
        while not self._invalid.full and (wrong := _first_invalid(data[position:])) is not None:
            start, end = wrong
            self._invalid.add(self._offset + position + start)
            position += end
        text, decoded = utf_8_decode(data[position:], "replace", _FINAL)
        # The character itself may be in the stream too; no other bytes contain its own.
        genuine = data.count(_REPLACEMENT_BYTES, position)
        self._invalid.count += text.count(_REPLACEMENT) - genuine
        position += decoded
        self._offset += position
        self._undecoded = data[position:]

    def finish(self) -> None:
        """End the stream: a character that is not complete by now never will be."""
        if self._undecoded:
            self._invalid.add(self._offset)
            self._undecoded = b""


def _first_invalid(data: bytes) -> tuple[int, int] | None:
    """Return where the first invalid sequence begins and ends."""
    try:
        utf_8_decode(data, "strict", _FINAL)
    except UnicodeDecodeError as wrong:
        return wrong.start, wrong.end
    return None
