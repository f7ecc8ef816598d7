"""The reconnecting event source, without I/O: what to do next, and by when.

The rules are those of the WHATWG HTML specification, section 9.2.3, "Processing model": the user
agent *announces the connection* when a response is an event stream, *reestablishes the connection*
when it is lost, and *fails the connection* when a response is anything else.

Inputs are methods, named for what happened outside; `next_action` is the one output. What may
happen when is in one literal table (`_phases`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from ._actions import Connect, Progress, ReadyState, Receive, Stop, Wait
from ._backoff import Backoff, check_backoff
from ._checks import check_bool, check_callable, check_ints, check_number, check_view
from ._errors import (
    LocalProtocolError,
    RemoteProtocolError,
    UnexpectedContentType,
    UnexpectedStatus,
)
from ._headers import decode_value
from ._limits import (
    DEFAULT_MAX_EVENT_BYTES,
    MAX_DELAY_SECONDS,
    MAX_ERROR_BODY_BYTES,
    MAX_ERROR_BODY_SECONDS,
)
from ._parser import EventStreamParser
from ._phases import NEXT_PHASES, Input, Phase
from ._request import check_request, first_request, id_header
from ._response import check_response, retry_after

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from ._actions import Action
    from ._events import Event
    from ._headers import Headers
    from ._request import Request

__all__ = ["EventSourceProtocol"]

# RFC 9110, section 9.2.2: what can be sent again without doing it twice.
_IDEMPOTENT = frozenset({"GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"})

_DEFAULT_BACKOFF = Backoff()

# How long a read may last that begins behind the idle deadline, because whoever takes the events
# took their time. What came meanwhile is there at once; when nothing is, nothing came.
_LATE_READ_SECONDS = 0.1


class EventSourceProtocol:
    """A reconnecting event source that does no I/O: it decides, and somebody else does.

        while True:
            match protocol.next_action(now()):
                case Connect(request): send it; then protocol.receive_response(…)
                case Receive(): read; then events = protocol.feed(…), or protocol.end_of_body(…)
                case Wait(seconds): sleep
                case Stop(error): break

    Whatever the network does instead becomes `connection_lost`. All times (`now`) are seconds of
    one monotonic clock. It is not for use by two threads at a time.

    Args:
        url: Where the event stream is: any text, for the HTTP library to judge.
        random: Returns a number from 0 to 1, as `random.random` does: for the backoff's jitter.
        method: The request method; by default POST if there is a body, else GET.
        headers: Header fields of the caller: pairs of name and value, or a mapping. They replace
            those of the same name below, in any case. A `Last-Event-ID` is taken for
            `last_event_id`: from then on it is the stream that sets it.
        body: The body of the request.
        json: A body to be written as JSON, in place of `body`.
        last_event_id: What to send as `Last-Event-ID` in the first request.
        reconnect: Whether a connection that is lost or ended is reestablished. By default only
            where the method of its request is idempotent: a POST is not sent twice unasked.
        retry_statuses: Which statuses are worth another attempt, whatever the method is. None of
            them by default, as the specification says; `RETRYABLE_STATUSES` are the usual ones. A
            `Retry-After` in such a response is the least delay.
        backoff: How long to wait before each attempt, and how many there may be.
        idle_timeout: How many seconds without a byte make a connection a lost one, from the request
            on; None for no limit. Comments count: that is what servers send them for.
        compression: Whether to leave `Accept-Encoding` to the HTTP library. By default `identity`
            is asked for: what compresses a stream often holds its events back.
        max_event_bytes: As for `EventStreamParser`. A stream that passes it fails for good: it
            would pass it again.
        utf8: As for `EventStreamParser`; where it raises, the connection fails for good.
        tail: As for `EventStreamParser`; it is for streams that come to their end, those that are
            cut off lose their last block in any case.
        on_request: Sees each request before it is sent, and returns what to send instead (or the
            same): another method, URL, header, body.
        on_progress: Is called where the state changes or a delay begins.

    Raises:
        LocalProtocolError: An argument is none of the above.
        TypeError: `json` can't be written as JSON.

    Source: WHATWG HTML, section 9.2.
    """

    def __init__(
        self,
        url: str,
        *,
        random: Callable[[], float],
        method: str | None = None,
        headers: Headers[str | bytes] = (),
        body: bytes | None = None,
        json: object = None,
        last_event_id: str = "",
        reconnect: bool | None = None,
        retry_statuses: Collection[int] = (),
        backoff: Backoff = _DEFAULT_BACKOFF,
        idle_timeout: float | None = None,
        compression: bool = False,
        max_event_bytes: int | None = DEFAULT_MAX_EVENT_BYTES,
        utf8: Literal["replace", "strict"] = "replace",
        tail: Literal["discard", "dispatch"] = "discard",
        on_request: Callable[[Request], Request] | None = None,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> None:
        self._base = first_request(url, method, headers, body, json, compression=compression)
        seed = self._base.header("Last-Event-ID")
        if seed is not None and not last_event_id:
            last_event_id = decode_value("Last-Event-ID", seed)
        self._base = self._base.with_header("Last-Event-ID", None)
        self._parser = EventStreamParser(
            last_event_id=last_event_id, max_event_bytes=max_event_bytes, utf8=utf8, tail=tail
        )
        self._random = check_callable("random", random)
        self._reconnect = None if reconnect is None else check_bool("reconnect", reconnect)
        self._retry_statuses = check_ints("retry_statuses", retry_statuses)
        self._backoff = check_backoff(backoff)
        if idle_timeout is not None:
            idle_timeout = check_number("idle_timeout", idle_timeout, least=0.001)
            idle_timeout = min(idle_timeout, MAX_DELAY_SECONDS)
        self._idle_timeout = idle_timeout
        self._on_request = None if on_request is None else check_callable("on_request", on_request)
        self._on_progress = (
            None if on_progress is None else check_callable("on_progress", on_progress)
        )
        self._phase = Phase.READY
        self._request = self._base
        # Requests sent so far; and those, and the delays before them, since an event was dispatched
        # or a connection was open for long enough.
        self._attempt: int = 0
        self._attempts_in_a_row: int = 0
        self._delays_in_a_row: int = 0
        # The request of this attempt has not been handed out.
        self._unsent = False
        # When something is due, if nothing happens before: an attempt, a sign of life, the end of
        # what a refused response has to say.
        self._deadline: float | None = None
        # The idle deadline has passed once, and a last read is granted.
        self._reads_late = False
        self._delay: float | None = None
        self._opened_at: float | None = None
        self._withheld = False
        self._pending = False
        self._error: Exception | None = None
        # What is to be raised when the start of the body has been read as well.
        self._refusal: UnexpectedStatus | UnexpectedContentType = UnexpectedStatus(0)
        self._refusal_body = bytearray()

    @property
    def ready_state(self) -> ReadyState:
        """The state of the connection, as the specification's `readyState` has it."""
        if self._phase is Phase.OPEN:
            return ReadyState.OPEN
        if self._phase in (Phase.CLOSED, Phase.REFUSED):
            return ReadyState.CLOSED
        return ReadyState.CONNECTING

    @property
    def progress(self) -> Progress:
        """Where the source is."""
        return Progress(self.ready_state, self._attempt, self._delay, self._error)

    @property
    def last_event_id(self) -> str:
        """The last event ID string: that of the last block that was whole, over all streams."""
        return self._parser.last_event_id

    @property
    def last_event_id_withheld(self) -> bool:
        """Whether the last request went without the last event ID, which no header can carry.

        It has a control character in it, a space or a tab at one of its ends, or more than 8 KiB.
        """
        return self._withheld

    @property
    def reconnection_time(self) -> int | None:
        """The reconnection time in milliseconds that the server set last; None if it set none."""
        return self._parser.reconnection_time

    @property
    def pending(self) -> bool:
        """Whether something unfinished is at the end of this stream, or was at that of the last."""
        return self._pending or self._parser.pending

    def next_action(self, now: float) -> Action:
        """Return what to do next.

        `Connect` comes once for each attempt. Anything else comes again until something changes.

        Raises:
            LocalProtocolError: `on_request` returned something that can't be sent. The attempt is
                still due then, as it is when `on_request` raises.
        """
        self._accept(Input.NEXT_ACTION)
        self._act_on_time(now)
        if self._phase is Phase.CLOSED:
            return Stop(self._error)
        if self._unsent:
            self._unsent = False
            return Connect(self._request, self._idle_timeout)
        left = None if self._deadline is None else self._deadline - now
        if self._phase is Phase.WAITING and left is not None and self._delay is not None:
            # The sum of the delay and the time may be rounded.
            return Wait(min(left, self._delay))
        return Receive(left)

    def next_deadline(self) -> float | None:
        """Return when something is due if nothing happens before; None if nothing is.

        While a delay passes, it is the time of the next attempt: call `next_action` then. Else it
        is the end of the idle timeout: call `handle_timeout` then, if nothing could be read.
        """
        return self._deadline

    def handle_timeout(self, now: float) -> None:
        """Take that time has passed, and that nothing came in it.

        Does nothing before the deadline, nor where the deadline is that of a delay.
        """
        self._accept(Input.TIMEOUT)
        if self._deadline is None or now < self._deadline or self._phase is Phase.WAITING:
            return
        if self._phase is Phase.REFUSED:
            self._end_refusal()
        else:
            self._lose(now, self._nothing_came())

    def receive_response(
        self, status: int, headers: Headers[str], now: float, *, utc: float | None = None
    ) -> None:
        """Take the response to the request, behind all redirects.

        Args:
            status: The status code.
            headers: The header fields: pairs of name and value in any case, or a mapping.
            now: The time.
            utc: The time in seconds since 1970, for a `Retry-After` that names a date in a response
                that has none.

        Raises:
            LocalProtocolError: No request is under way.
        """
        if not self._accept(Input.RESPONSE):
            return
        try:
            announced = check_response(status, headers)
        except (UnexpectedStatus, UnexpectedContentType) as error:
            refusal = error.with_traceback(None)
        else:
            if announced:
                self._announce(now)
            else:
                self._stop(None)
            return
        # A caller who names statuses says with it that such a request may be sent again.
        again = refusal.status in self._retry_statuses and self._reconnect is not False
        if again and not self._gives_up(now):
            self._reestablish(now, refusal, retry_after(refusal.headers, utc=utc) or 0.0)
            return
        self._phase = Phase.REFUSED
        self._error = self._refusal = refusal
        seconds = MAX_ERROR_BODY_SECONDS
        self._deadline = now + min(seconds, self._idle_timeout or seconds)

    def feed(self, data: bytes | bytearray | memoryview, now: float) -> list[Event]:
        """Take the next bytes of the body.

        Args:
            data: Any number of bytes, cut anywhere. No bytes do nothing.
            now: The time.

        Returns:
            The events whose blank line is in `data`, in order.

        Raises:
            LocalProtocolError: There is no response that they could belong to.
            TypeError: `data` is not bytes.
        """
        if not self._accept(Input.DATA):
            return []
        if self._phase is Phase.REFUSED:
            room = MAX_ERROR_BODY_BYTES - len(self._refusal_body)
            self._refusal_body += check_view(data)[:room]
            if len(self._refusal_body) == MAX_ERROR_BODY_BYTES:
                self._end_refusal()
            return []
        events: list[Event] = []
        try:
            events = self._parser.feed(data)
            if events:
                # An error behind them would come with the next read, and there may be none.
                self._parser.feed(b"")
        except RemoteProtocolError as error:
            self._stop(error.with_traceback(None))
            return events
        if len(data):
            self._set_idle_deadline(now)
        self._count_events(events)
        return events

    def end_of_body(self, now: float) -> list[Event]:
        """Take the end of the body, where the peer ended it.

        Returns:
            What `EventStreamParser.finish` returns: nothing but with `tail="dispatch"`.

        Raises:
            LocalProtocolError: There is no response that could end.
        """
        if not self._accept(Input.END_OF_BODY):
            return []
        events: list[Event] = []
        if self._phase is Phase.OPEN:
            try:
                events = self._parser.finish()
            except RemoteProtocolError as error:
                self._stop(error.with_traceback(None))
                return []
            self._count_events(events)
        self._lose(now, None)
        return events

    def connection_lost(self, now: float, error: Exception | None = None) -> None:
        """Take that the connection can't be had, or is gone before its end.

        Args:
            now: The time.
            error: What the transport said. It is kept, and comes back in `Stop` if it was the last.

        Raises:
            LocalProtocolError: There is no connection, and none is being opened.
        """
        if self._accept(Input.LOST):
            self._lose(now, error or RemoteProtocolError("the connection was lost"))

    def fail(self, error: Exception) -> None:
        """Fail the connection for good: what happened is nothing that another attempt would mend.

        Args:
            error: Why. `Stop` will carry it.
        """
        if self._accept(Input.FAIL):
            self._stop(error)

    def close(self) -> None:
        """Close the source, in any state: nothing comes behind it but `Stop`."""
        if self._accept(Input.CLOSE):
            if self._phase is Phase.REFUSED:
                # The connection has failed already, and that is what is to be told.
                self._end_refusal()
            else:
                self._stop(None)

    def _accept(self, what: Input) -> bool:
        """Return whether an input changes anything: one that comes when all is over does not.

        Raises:
            LocalProtocolError: It can't come in this phase.
        """
        if (self._phase, what) not in NEXT_PHASES:
            raise LocalProtocolError(
                f"{what.value} can't come now: the source is {self._phase.value}"
            )
        return self._phase is not Phase.CLOSED

    def _report(self) -> None:
        if self._on_progress is not None:
            self._on_progress(self.progress)

    def _connect(self, now: float) -> None:
        request = self._base._replace(attempt=self._attempt + 1)
        value = id_header(self._parser.last_event_id)
        # "If the EventSource object's last event ID string is not the empty string, ..."
        if value:
            request = request.with_header("Last-Event-ID", value)
        if self._on_request is not None:
            request = check_request(self._on_request(request))
            if self._phase is Phase.CLOSED:
                return
        self._phase = Phase.CONNECTING
        self._request = request
        self._withheld = value is None
        self._attempt += 1
        self._attempts_in_a_row += 1
        self._unsent = True
        self._opened_at = self._delay = None
        self._set_idle_deadline(now)
        self._report()

    def _act_on_time(self, now: float) -> None:
        passed = self._deadline is not None and now >= self._deadline
        if self._phase is Phase.READY or (self._phase is Phase.WAITING and passed):
            self._connect(now)
        elif passed and self._phase is Phase.REFUSED:
            self._end_refusal()
        elif passed and self._phase in (Phase.CONNECTING, Phase.OPEN):
            if self._reads_late:
                self._lose(now, self._nothing_came())
            else:
                self._reads_late = True
                self._deadline = now + _LATE_READ_SECONDS

    def _set_idle_deadline(self, now: float) -> None:
        self._reads_late = False
        self._deadline = None if self._idle_timeout is None else now + self._idle_timeout

    def _nothing_came(self) -> RemoteProtocolError:
        return RemoteProtocolError(f"nothing came for {self._idle_timeout:g} seconds")

    def _announce(self, now: float) -> None:
        self._phase = Phase.OPEN
        self._pending = False
        self._error = None
        self._opened_at = now
        self._set_idle_deadline(now)
        self._report()

    def _count_events(self, events: list[Event]) -> None:
        if events and self._backoff.reset_after is None:
            self._attempts_in_a_row = self._delays_in_a_row = 0

    def _count_time_open(self, now: float) -> None:
        least, since = self._backoff.reset_after, self._opened_at
        if least is not None and since is not None and now - since >= least:
            self._attempts_in_a_row = self._delays_in_a_row = 0

    def _may_repeat(self) -> bool:
        if self._reconnect is None:
            return self._request.method.upper() in _IDEMPOTENT
        return self._reconnect

    def _gives_up(self, now: float) -> bool:
        self._count_time_open(now)
        most = self._backoff.max_attempts
        return most is not None and self._attempts_in_a_row >= most

    def _lose(self, now: float, error: Exception | None) -> None:
        """End the connection; reestablish it where that may be done."""
        if self._phase is Phase.REFUSED:
            self._end_refusal()
        elif not self._may_repeat():
            self._stop(error)
        elif self._gives_up(now):
            most = self._backoff.max_attempts
            ended = RemoteProtocolError(f"the stream ended, as in each of {most} attempts in a row")
            self._stop(error or ended)
        else:
            self._reestablish(now, error, 0.0)

    def _reestablish(self, now: float, error: Exception | None, floor: float) -> None:
        self._delay = self._backoff.delay(
            self._delays_in_a_row, self.reconnection_time, self._random, floor=floor
        )
        self._delays_in_a_row += 1
        self._phase = Phase.WAITING
        self._deadline = now + self._delay
        self._error = error
        self._unsent = False
        self._discard()
        self._report()

    def _end_refusal(self) -> None:
        status, headers, body = self._refusal.args
        self._stop(type(self._refusal)(status, headers, body + bytes(self._refusal_body)))

    def _stop(self, error: Exception | None) -> None:
        self._phase = Phase.CLOSED
        self._deadline = self._delay = None
        self._error = error
        self._discard()
        self._report()

    def _discard(self) -> None:
        # "... any pending data must be discarded": half a character, half a line, half a block.
        self._pending = self.pending
        self._parser.reset()
