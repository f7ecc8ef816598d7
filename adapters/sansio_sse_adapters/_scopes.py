"""The runtime of trio, and of anyio, which has the same cancel scopes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol, TypeVar

from ._async import Elapsed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from types import TracebackType

    from typing_extensions import Self

__all__ = ["ScopeRuntime"]

_T = TypeVar("_T")


class _Scope(Protocol):
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        etype: type[BaseException] | None,
        exc: BaseException | None,
        tb: TracebackType | None,
        /,
    ) -> bool | None: ...
    def cancel(self) -> None: ...


class _MakesScopes(Protocol):
    def __call__(self, *, deadline: float) -> _Scope: ...


class ScopeRuntime:
    """What runs operations in cancel scopes; see `_async.Runtime`."""

    def __init__(
        self,
        make_scope: _MakesScopes,
        now: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]],
    ) -> None:
        self._make_scope = make_scope
        self._scope: _Scope | None = None
        self.now = now
        self._sleep = sleep

    async def sleep(self, seconds: float) -> None:
        """Let time pass."""
        await self._sleep(seconds)

    async def run(self, operation: Callable[[], Awaitable[_T]], seconds: float | None) -> _T:
        """Run an operation for so long at most."""
        deadline = math.inf if seconds is None else self.now() + seconds
        with self._make_scope(deadline=deadline) as self._scope:
            return await operation()
        raise Elapsed

    def interrupt(self) -> None:
        """End the operation that another task runs."""
        if self._scope is not None:
            self._scope.cancel()
