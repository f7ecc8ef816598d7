"""One driver for each decoder: chunks of bytes in, its own events out.

Each is driven as its users or its HTTP client drive it, less the network. Some keep their decoder
private; then the nearest public entrance is used, or the private class where there is none.

Peers are imported by name at run time: the checks of this project run in environments that lack
them, and several carry no types. That makes them `Any` here, and only here.
"""

import codecs
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module, metadata
from typing import Any

from .cases import Pair

Convert = Callable[[Any], tuple[str | None, str] | None]
"""Gives an event's type and data, or None for an item that is no event."""


@dataclass(frozen=True, slots=True)
class Driver:
    """A decoder that is ready to run.

    Attributes:
        drain: Decodes the chunks and pulls every event out. This is what is timed.
        pairs: Decodes the chunks and returns what came out, for the comparison.
    """

    drain: Callable[[Iterable[bytes]], None]
    pairs: Callable[[Iterable[bytes]], list[Pair]]


@dataclass(frozen=True, slots=True)
class Peer:
    """A decoder written in Python.

    Attributes:
        name: What `--peer` takes and the table says.
        distribution: The name of its distribution.
        load: Imports it and returns its driver; raises ImportError where it is not installed.
    """

    name: str
    distribution: str
    load: Callable[[], Driver]

    def version(self) -> str:
        """Return the installed version, or an empty string."""
        try:
            return metadata.version(self.distribution)
        except metadata.PackageNotFoundError:
            return ""


def _named(pairs: Iterable[tuple[str | None, str] | None]) -> list[Pair]:
    """Drop what is no event, and call events without a name what the specification calls them."""
    return [(pair[0] or "message", pair[1]) for pair in pairs if pair is not None]


def _pulling(start: Callable[[Iterable[bytes]], Iterable[Any]], convert: Convert) -> Driver:
    """Drive a decoder that takes an iterable of chunks and is an iterable of events."""

    def drain(chunks: Iterable[bytes]) -> None:
        for _ in start(chunks):
            pass

    def pairs(chunks: Iterable[bytes]) -> list[Pair]:
        return _named(convert(event) for event in start(chunks))

    return Driver(drain, pairs)


Entrance = tuple[Callable[[bytes], Iterable[Any]], Callable[[], Iterable[Any]]]
"""What takes a chunk, and what ends the stream; both return the events that this completed."""


def _pushed(start: Callable[[], Entrance], convert: Convert) -> Driver:
    """Drive a decoder that is handed one chunk after another."""

    def drain(chunks: Iterable[bytes]) -> None:
        feed, finish = start()
        for chunk in chunks:
            for _ in feed(chunk):
                pass
        for _ in finish():
            pass

    def pairs(chunks: Iterable[bytes]) -> list[Pair]:
        feed, finish = start()
        events = [event for chunk in chunks for event in feed(chunk)]
        return _named(convert(event) for event in (*events, *finish()))

    return Driver(drain, pairs)


class _TextResponse:
    """What httpx-sse and httpx2 need of a response.

    Both decode text, so bytes become text as their own response does it, with the same incremental
    decoder; the rest of its plumbing is left out, which favours them.
    """

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self.headers = {"content-type": "text/event-stream"}
        self.request = None
        self._chunks = chunks

    def iter_text(self) -> Iterator[str]:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        for chunk in self._chunks:
            # An empty text never leaves the real response either.
            if text := decoder.decode(chunk):
                yield text
        if text := decoder.decode(b"", True):
            yield text


def _event_and_data(event: Any) -> tuple[str | None, str]:
    return event.event, event.data


def _sansio_sse() -> Driver:
    parser_class = import_module("sansio_sse").EventStreamParser

    def start() -> Entrance:
        parser = parser_class()
        return parser.feed, parser.finish

    return _pushed(start, lambda event: (event.type, event.data))


def our_feed() -> Callable[[bytes], object]:
    """Return `feed` of a fresh parser of ours."""
    feed: Callable[[bytes], object] = import_module("sansio_sse").EventStreamParser().feed
    return feed


def our_version() -> str:
    """Return the version of the package that is imported, which need not be installed."""
    return str(import_module("sansio_sse").__version__)


def _httpx_sse() -> Driver:
    event_source = import_module("httpx_sse").EventSource
    return _pulling(lambda chunks: event_source(_TextResponse(chunks)).iter_sse(), _event_and_data)


def _httpx2() -> Driver:
    event_source = import_module("httpx2").EventSource
    # Its default limit of 1 MiB refuses the large event; without a limit it can show its speed.
    return _pulling(
        lambda chunks: event_source(_TextResponse(chunks), max_event_size=None), _event_and_data
    )


def _sseclient_py() -> Driver:
    client = import_module("sseclient").SSEClient
    return _pulling(lambda chunks: client(chunks).events(), _event_and_data)


def _launchdarkly() -> Driver:
    reader = import_module("ld_eventsource.reader")
    event_class = import_module("ld_eventsource.actions").Event
    lines_from = getattr(reader, "_BufferedLineReader").lines_from  # noqa: B009 (private to it)
    sse_reader = getattr(reader, "_SSEReader")  # noqa: B009

    def convert(item: Any) -> tuple[str | None, str] | None:
        return (item.event, item.data) if isinstance(item, event_class) else None

    return _pulling(
        lambda chunks: sse_reader(lines_from(chunks), None, None).events_and_comments(), convert
    )


def _axio_sse() -> Driver:
    decoder_class = import_module("axio_sse").Decoder

    def start() -> Entrance:
        decoder = decoder_class()
        return decoder.decode, lambda: decoder.decode(b"", True)

    return _pushed(start, _event_and_data)


def _assel() -> Driver:
    parser_class = import_module("assel").Parser
    # It has no call for the end of the stream.
    return _pushed(lambda: (parser_class().receive_bytes, tuple), _event_and_data)


def _sdk(module: str) -> Callable[[], Driver]:
    """Load the decoder inside the openai or the anthropic package."""

    def load() -> Driver:
        decoder_class = import_module(module).SSEDecoder
        return _pulling(lambda chunks: decoder_class().iter_bytes(iter(chunks)), _event_and_data)

    return load


OURS = Peer("sansio-sse", "sansio-sse", _sansio_sse)

PEERS = (
    Peer("httpx-sse", "httpx-sse", _httpx_sse),
    Peer("httpx2", "httpx2", _httpx2),
    Peer("sseclient-py", "sseclient-py", _sseclient_py),
    Peer("launchdarkly", "launchdarkly-eventsource", _launchdarkly),
    Peer("axio-sse", "axio-sse", _axio_sse),
    Peer("assel", "assel", _assel),
    Peer("openai", "openai", _sdk("openai._streaming")),
    Peer("anthropic", "anthropic", _sdk("anthropic._streaming")),
)
"""Every Python peer, in the order of the table."""
