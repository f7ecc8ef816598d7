"""The runtime of asyncio, for the adapters of it and of aiohttp."""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from ._async import Elapsed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from ._async import Runtime

__all__ = ["asyncio_runtime"]

_T = TypeVar("_T")

if sys.version_info >= (3, 11):

    class _TimeoutRuntime:
        """What runs operations under a timeout of asyncio; see `_async.Runtime`."""

        def __init__(self) -> None:
            self._running: asyncio.Timeout | None = None

        def now(self) -> float:
            return asyncio.get_running_loop().time()

        async def sleep(self, seconds: float) -> None:
            await asyncio.sleep(seconds)

        async def run(self, operation: Callable[[], Awaitable[_T]], seconds: float | None) -> _T:
            running = asyncio.timeout(seconds)
            try:
                async with running:
                    self._running = running
                    return await operation()
            except TimeoutError:
                # Else it is one of the operation's own.
                if running.expired():
                    raise Elapsed from None
                raise
            finally:
                self._running = None

        def interrupt(self) -> None:
            if self._running is not None:
                # It may be expiring already.
                with suppress(RuntimeError):
                    self._running.reschedule(self.now())

    def asyncio_runtime() -> Runtime:
        """Return what runs operations on asyncio."""
        return _TimeoutRuntime()

else:
    import anyio

    from ._scopes import ScopeRuntime

    def asyncio_runtime() -> Runtime:
        """Return what runs operations on asyncio, which has no timeout of its own there."""
        return ScopeRuntime(anyio.CancelScope, anyio.current_time, anyio.sleep)
