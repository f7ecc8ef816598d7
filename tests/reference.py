"""A slow parser, written straight from the specifications, to compare the real one with.

The Encoding Standard's UTF-8 decoder, byte by byte; WHATWG HTML section 9.2.6, character by
character. It shares no code with the library, and takes the whole stream at once.
"""

from __future__ import annotations

from typing import NamedTuple

REPLACEMENT = "\ufffd"


class Dispatched(NamedTuple):
    type: str
    data: str
    id: str | None
    last_event_id: str


class Outcome:
    """What a whole stream comes to."""

    def __init__(self) -> None:
        self.events: list[Dispatched] = []
        self.comments: list[str] = []
        self.unknown: list[tuple[str, str]] = []
        self.retries: list[int] = []
        self.last_event_id = ""


def decode(data: bytes) -> str:
    """Encoding Standard, section 8.1.1, "UTF-8 decoder", with the error mode "replacement"."""
    out: list[str] = []
    code_point = bytes_seen = bytes_needed = 0
    lower, upper = 0x80, 0xBF
    position = 0
    while position < len(data):
        byte = data[position]
        position += 1
        if bytes_needed == 0:
            if byte <= 0x7F:
                out.append(chr(byte))
            elif 0xC2 <= byte <= 0xDF:
                bytes_needed, code_point = 1, byte & 0x1F
            elif 0xE0 <= byte <= 0xEF:
                lower = 0xA0 if byte == 0xE0 else lower
                upper = 0x9F if byte == 0xED else upper
                bytes_needed, code_point = 2, byte & 0xF
            elif 0xF0 <= byte <= 0xF4:
                lower = 0x90 if byte == 0xF0 else lower
                upper = 0x8F if byte == 0xF4 else upper
                bytes_needed, code_point = 3, byte & 0x7
            else:
                out.append(REPLACEMENT)
            continue
        if not lower <= byte <= upper:
            code_point = bytes_seen = bytes_needed = 0
            lower, upper = 0x80, 0xBF
            position -= 1  # "Restore byte to ioQueue."
            out.append(REPLACEMENT)
            continue
        lower, upper = 0x80, 0xBF
        code_point = (code_point << 6) | (byte & 0x3F)
        bytes_seen += 1
        if bytes_seen == bytes_needed:
            out.append(chr(code_point))
            code_point = bytes_seen = bytes_needed = 0
    if bytes_needed:
        out.append(REPLACEMENT)
    return "".join(out)


def parse(data: bytes) -> Outcome:
    """Interpret a whole event stream."""
    text = decode(data).removeprefix("\ufeff")
    outcome = Outcome()
    data_buffer = event_type = ""
    last_event_id_buffer = ""
    block_id: str | None = None
    for line in _lines(text):
        if line == "":
            outcome.last_event_id = last_event_id_buffer
            if data_buffer != "":
                outcome.events.append(
                    Dispatched(
                        event_type or "message",
                        data_buffer[:-1],
                        block_id,
                        outcome.last_event_id,
                    )
                )
            data_buffer = event_type = ""
            block_id = None
            continue
        if line[0] == ":":
            outcome.comments.append(line[1:])
            continue
        name, value = line, ""
        for index, character in enumerate(line):
            if character == ":":
                name, value = line[:index], line[index + 1 :]
                break
        if value[:1] == " ":
            value = value[1:]
        if name == "event":
            event_type = value
        elif name == "data":
            data_buffer += value + "\n"
        elif name == "id":
            if "\0" not in value:
                last_event_id_buffer = block_id = value
        elif name == "retry":
            if value and all(character in "0123456789" for character in value):
                outcome.retries.append(_base_ten(value))
        else:
            outcome.unknown.append((name, value))
    return outcome


def _lines(text: str) -> list[str]:
    """The complete lines: what is behind the last line end is never one."""
    lines: list[str] = []
    start = position = 0
    while position < len(text):
        if text[position] == "\r":
            lines.append(text[start:position])
            position += 2 if text[position : position + 2] == "\r\n" else 1
            start = position
        elif text[position] == "\n":
            lines.append(text[start:position])
            position += 1
            start = position
        else:
            position += 1
    return lines


def _base_ten(digits: str) -> int:
    number = 0
    for digit in digits:
        number = number * 10 + "0123456789".index(digit)
    return number
