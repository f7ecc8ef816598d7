"""The runtime of asyncio, for the adapters of it and of aiohttp."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, TypeVar

from ._async import Elapsed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

if sys.version_info >= (3, 11):
    from asyncio import Timeout, timeout

    def _expire(running: Timeout) -> None:
        running.reschedule(asyncio.get_running_loop().time())

    def _is_expired(running: Timeout) -> bool:
        return running.expired()

else:
    from async_timeout import Timeout, timeout

    def _expire(running: Timeout) -> None:
        running.update(asyncio.get_running_loop().time())

    def _is_expired(running: Timeout) -> bool:
        return running.expired


__all__ = ["AsyncioRuntime"]

_T = TypeVar("_T")


class AsyncioRuntime:
    """What runs operations under a timeout of asyncio; see `_async.Runtime`."""

    def __init__(self) -> None:
        self._running: Timeout | None = None

    def now(self) -> float:
        """Return the time in seconds."""
        return asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        """Let time pass."""
        await asyncio.sleep(seconds)

    async def run(self, operation: Callable[[], Awaitable[_T]], seconds: float | None) -> _T:
        """Run an operation for so long at most."""
        running = timeout(seconds)
        try:
            async with running:
                self._running = running
                return await operation()
        except asyncio.TimeoutError:
            # Else it is one of the operation's own.
            if _is_expired(running):
                raise Elapsed from None
            raise
        finally:
            self._running = None

    def interrupt(self) -> None:
        """End the operation that another task runs."""
        if self._running is not None:
            _expire(self._running)
