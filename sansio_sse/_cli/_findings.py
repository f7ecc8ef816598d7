"""What there is to say about a stream beside its items, as plain facts."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from ._bounds import MAX_JSON_CHARACTERS, MAX_NAME_CHARACTERS, SAMPLE_SIZE, Sample
from ._statuses import INTERRUPTED, LOSSES

if TYPE_CHECKING:
    from ._answer import Answer

__all__ = [
    "Arrival",
    "Findings",
    "Ignored",
    "LineEndings",
    "NotJson",
    "TooLarge",
    "Unknown",
]

_DONE = "[DONE]"

# A wait shorter than this is the network's or the model's, and says nothing about a buffer.
_LONG_WAIT_SECONDS = 1.0
# A server that streams spreads its events over a time that compares with the wait for the first.
# One that is held back delivers all of them in a moment: within this part of the wait.
_MOMENT = 0.05

_KNOWN_NAMES = frozenset(("data", "event", "id", "retry"))

_HTTP_START = "HTTP/"
_HTTP_HEAD = "the head of an HTTP response, as curl -i prints it: only the body is an event stream"

# What the first bytes of a body say that it is, if no event was in it.
_BODIES = (
    (b"\x1f\x8b", "it is gzip, a compressed body that nobody decompressed"),
    (b"\xff\xfe", "it is UTF-16, and an event stream is always UTF-8"),
    (b"\xfe\xff", "it is UTF-16, and an event stream is always UTF-8"),
    (_HTTP_START.encode(), f"it begins with {_HTTP_HEAD}"),
    (b"{", "it begins like JSON"),
    (b"[", "it begins like JSON"),
    (b"<", "it begins like HTML or XML"),
)


@dataclass
class LineEndings:
    """How many lines each line end ended."""

    lf: int = 0
    crlf: int = 0
    cr: int = 0

    def add(self, ends: bytes) -> None:
        """Count a run of line ends."""
        if ends == b"\n\n":
            self.lf += 2
        else:
            crlf = ends.count(b"\r\n")
            self.crlf += crlf
            self.cr += ends.count(b"\r") - crlf
            self.lf += ends.count(b"\n") - crlf

    def complete_crlf(self) -> None:
        """The CR counted last got its LF in a later read."""
        self.cr -= 1
        self.crlf += 1


class Ignored(NamedTuple):
    """An id or retry field that a client ignores: where, its value, and why."""

    offset: int
    value: str
    reason: str


class NotJson(NamedTuple):
    """An event whose data is not JSON: its number, where its block begins, and what is wrong."""

    number: int
    offset: int
    reason: str


class TooLarge(NamedTuple):
    """The block at `offset` passed the parser's limit when it had `size` bytes."""

    offset: int
    size: int
    limit: int


@dataclass
class Unknown:
    """A field name that the specification does not know: how often it came, and where first."""

    name: str
    offset: int
    count: int = 0

    @property
    def hint(self) -> str | None:
        """What mistake the name tells of, a known name that was spoiled for one; else None."""
        if self.offset == 0 and self.name.startswith(_HTTP_START):
            return _HTTP_HEAD
        bare = self.name.strip("\ufeff \t")
        if bare.lower() not in _KNOWN_NAMES:
            return None
        if self.name.startswith("\ufeff"):
            return f"{bare} behind a byte order mark"
        if bare != self.name:
            return f"{bare} with white space around it"
        return f"{bare.lower()} in the wrong case"


class Arrival(NamedTuple):
    """When the bytes came: seconds to the first read, and from there to the last one."""

    wait: float
    span: float

    @property
    def at_once(self) -> bool:
        """Whether everything came in one moment after a long wait."""
        return self.wait >= _LONG_WAIT_SECONDS and self.span <= self.wait * _MOMENT


@dataclass
class Findings:
    """The facts about one stream, gathered while it is read.

    Byte offsets count from the first byte of the stream, a byte order mark included.
    """

    size: int = 0
    events: int = 0
    comments: int = 0
    retries: int = 0
    # Lines that are a comment or a field that the specification knows.
    known_lines: int = 0
    line_endings: LineEndings = field(default_factory=LineEndings)
    byte_order_mark: bool = False
    invalid_utf8: Sample[int] = field(default_factory=Sample[int])
    ignored_ids: Sample[Ignored] = field(default_factory=Sample[Ignored])
    ignored_retries: Sample[Ignored] = field(default_factory=Sample[Ignored])
    unknown_fields: int = 0
    unknown_names: dict[str, Unknown] = field(default_factory=dict[str, Unknown])
    # Blocks with fields but without data, from which no event comes. That is how an id or a
    # reconnection time is sent alone; one that names an event type was meant to be an event.
    blocks_without_data: Sample[int] = field(default_factory=Sample[int])
    types_without_data: Sample[int] = field(default_factory=Sample[int])
    # Where the block begins that lacks its blank line at the end of the stream.
    pending_block: int | None = None
    event_too_large: TooLarge | None = None
    not_an_event_stream: str | None = None
    # Event numbers.
    done: int | None = None
    json_events: int = 0
    other_events: int = 0
    not_json: Sample[NotJson] = field(default_factory=Sample[NotJson])
    # What a stream in a dialect of a language model comes to; None for any other stream.
    answer: Answer | None = None
    arrival: Arrival | None = None
    interrupted: bool = False

    @property
    def json_stream(self) -> bool:
        """Whether most events carry a JSON object or array, as LLM streams do."""
        return self.json_events > self.other_events + self.not_json.count

    @property
    def held_back(self) -> bool:
        """Whether several events came at once after a wait: a proxy that buffers, perhaps."""
        return self.events > 1 and self.arrival is not None and self.arrival.at_once

    @property
    def losses(self) -> list[str]:
        """What means that data is lost or damaged: the names that the JSON output uses."""
        found = {
            "not_an_event_stream": self.not_an_event_stream is not None,
            "event_too_large": self.event_too_large is not None,
            "invalid_utf8": self.invalid_utf8.count > 0,
            "ignored_ids": self.ignored_ids.count > 0,
            "ignored_retries": self.ignored_retries.count > 0,
            "unknown_fields": self.unknown_fields > 0,
            "types_without_data": self.types_without_data.count > 0,
            "pending_block": self.pending_block is not None and not self.interrupted,
            "not_json": self.json_stream and self.not_json.count > 0,
        }
        names = [name for name, is_so in found.items() if is_so]
        return names + self.answer.losses if self.answer else names

    @property
    def status(self) -> int:
        """The exit status that these findings come with."""
        if self.interrupted:
            return INTERRUPTED
        return LOSSES if self.losses else 0

    def add_unknown(self, name: str, offset: int) -> None:
        """Count a field that the specification does not know."""
        self.unknown_fields += 1
        name = name[:MAX_NAME_CHARACTERS]
        unknown = self.unknown_names.get(name)
        if unknown is None:
            if len(self.unknown_names) >= SAMPLE_SIZE:
                return
            unknown = self.unknown_names[name] = Unknown(name, offset)
        unknown.count += 1

    def add_event(self, offset: int, data: str) -> int:
        """Count an event, judge its data, and return its number."""
        self.events += 1
        if len(data) > MAX_JSON_CHARACTERS:
            self.other_events += 1
        elif data.strip() == _DONE:
            self.done = self.events
        else:
            try:
                value = _read_json(data)
            except (ValueError, RecursionError) as error:
                self.not_json.add(NotJson(self.events, offset, _reason(error)))
            else:
                if isinstance(value, (dict, list)):
                    self.json_events += 1
                else:
                    self.other_events += 1
        return self.events

    def judge_body(self, beginning: bytes, unfinished: bytes) -> None:
        """Say so if this, going by its first bytes and all else, is no event stream at all.

        Args:
            beginning: The first bytes of the stream.
            unfinished: The first bytes of a last line that lacks its end, if there is one.
        """
        if self.events:
            return
        if not beginning:
            if not self.interrupted:
                self.not_an_event_stream = "it is empty: not one byte"
            return
        begins_with = beginning.lstrip().startswith
        for start, what in _BODIES:
            if begins_with(start):
                self.not_an_event_stream = what
                return
        strange = not _may_belong(unfinished) if unfinished else self.unknown_fields > 0
        if strange and self.known_lines == 0:
            self.not_an_event_stream = "it is text: no line of it is a field or a comment"


def _may_belong(line: bytes) -> bool:
    """Return whether the first bytes of a line may be those of a known field or a comment."""
    name, colon, _ = line.decode("utf-8", "replace").partition(":")
    if colon:
        return not name or name in _KNOWN_NAMES
    return any(known.startswith(name) for known in _KNOWN_NAMES)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


# Numbers are checked, not converted: a conversion can be refused (more than 4,300 digits).
_read_json = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=_refuse).decode


def _reason(error: ValueError | RecursionError) -> str:
    match error:
        case json.JSONDecodeError():
            # Some of its messages end with the word that leads on to the place.
            return f"{error.msg.removesuffix(' at')} at character {error.pos}"
        case RecursionError():
            return "nested too deep"
        case _:
            return str(error)
