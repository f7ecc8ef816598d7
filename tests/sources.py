"""What the tests of the event source share: a source, and the steps that lead it somewhere."""

from __future__ import annotations

from typing import Any

from sansio_sse import Backoff, Connect, EventSourceProtocol, Request, Stop, Wait

URL = "http://origin.test/stream"
EVENT_STREAM = [("Content-Type", "text/event-stream")]
HTML = [("Content-Type", "text/html")]

# The plain client of the specification: the reconnection time, each time.
PLAIN = Backoff(factor=1, jitter=0)


def make_source(**options: Any) -> EventSourceProtocol:
    """A source whose delays have no random part, unless the options say otherwise."""
    options.setdefault("random", lambda: 0.0)
    return EventSourceProtocol(options.pop("url", URL), **options)


def connect(source: EventSourceProtocol, now: float = 0.0) -> Request:
    action = source.next_action(now)
    assert isinstance(action, Connect)
    return action.request


def open_stream(source: EventSourceProtocol, now: float = 0.0) -> EventSourceProtocol:
    connect(source, now)
    source.receive_response(200, EVENT_STREAM, now)
    return source


def opened(**options: Any) -> EventSourceProtocol:
    return open_stream(make_source(**options))


def refused(status: int = 404, **options: Any) -> EventSourceProtocol:
    source = make_source(**options)
    connect(source)
    source.receive_response(status, HTML, 0.0)
    return source


def waited(source: EventSourceProtocol, now: float = 0.0) -> float:
    """The delay, of a source that has just begun to wait."""
    action = source.next_action(now)
    assert isinstance(action, Wait)
    assert action.seconds > 0
    assert source.progress.delay is not None
    assert abs(action.seconds - source.progress.delay) < 1e-6
    return source.progress.delay


def due(source: EventSourceProtocol) -> float:
    deadline = source.next_deadline()
    assert deadline is not None
    return deadline


def reconnect(source: EventSourceProtocol) -> Request:
    """The request of the next attempt, at the time when it is due and not before."""
    deadline = due(source)
    assert isinstance(source.next_action(deadline - 0.0001), Wait)
    return connect(source, deadline)


def stop_error(source: EventSourceProtocol, now: float = 0.0) -> Exception | None:
    action = source.next_action(now)
    assert isinstance(action, Stop)
    return action.error


def answer(source: EventSourceProtocol, status: int, now: float = 0.0, **headers: str) -> None:
    fields = [(name.replace("_", "-"), value) for name, value in headers.items()]
    source.receive_response(status, fields, now)


def ready() -> EventSourceProtocol:
    return make_source()


def connecting() -> EventSourceProtocol:
    source = make_source()
    connect(source)
    return source


def waiting() -> EventSourceProtocol:
    source = opened()
    source.connection_lost(0.0, OSError())
    return source


def closed() -> EventSourceProtocol:
    source = opened()
    source.close()
    return source
