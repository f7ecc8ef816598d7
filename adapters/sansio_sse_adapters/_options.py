"""The options of an `EventSource`, and what it shows of itself, in all adapters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypedDict

from sansio_sse import LocalProtocolError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from sansio_sse import Backoff, EventSourceProtocol, Progress, ReadyState, Request

__all__ = ["Options", "Watchable", "check_client"]


class Options(TypedDict, total=False):
    """The options of `sansio_sse.EventSourceProtocol`, which explains them."""

    method: str | None
    headers: Mapping[str, str | bytes] | Iterable[tuple[str, str | bytes]]
    body: bytes | None
    json: object
    last_event_id: str
    reconnect: bool | None
    retry_statuses: Collection[int]
    backoff: Backoff
    idle_timeout: float | None
    compression: bool
    max_event_bytes: int | None
    utf8: Literal["replace", "strict"]
    tail: Literal["discard", "dispatch"]
    on_request: Callable[[Request], Request] | None
    on_progress: Callable[[Progress], None] | None


def check_client(client: object, kinds: tuple[type, ...]) -> None:
    """Check that a client, if there is one, is of a library and a kind that can be used.

    Raises:
        LocalProtocolError: It is not.
    """
    if client is not None and not isinstance(client, kinds):
        names = " or ".join(f"{kind.__module__.split('.')[0]}.{kind.__name__}" for kind in kinds)
        raise LocalProtocolError(f"client is {client!r}: pass a {names}")


class Watchable:
    """What can be asked of a source at any time."""

    def __init__(self, protocol: EventSourceProtocol) -> None:
        self._protocol = protocol

    @property
    def ready_state(self) -> ReadyState:
        """The state of the connection: CONNECTING, OPEN or CLOSED."""
        return self._protocol.ready_state

    @property
    def progress(self) -> Progress:
        """The state, the number of the attempt, the delay before the next one, the last error."""
        return self._protocol.progress

    @property
    def last_event_id(self) -> str:
        """The last event ID string, for `last_event_id=` of a source that goes on with this one."""
        return self._protocol.last_event_id

    @property
    def last_event_id_withheld(self) -> bool:
        """Whether the last request went without it, because no header can carry it."""
        return self._protocol.last_event_id_withheld

    @property
    def reconnection_time(self) -> int | None:
        """The reconnection time in milliseconds that the server set last; None if it set none."""
        return self._protocol.reconnection_time

    @property
    def pending(self) -> bool:
        """Whether something unfinished is at the end of this stream, or was at that of the last."""
        return self._protocol.pending
