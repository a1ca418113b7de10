"""Time limits that end by what happens, not by the clock: where a test's own processes must have come to a place before the time is up."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from glassloom_metrics.time_limit import time_limit

_BOUND_S = 60.0
_LOOK_EVERY_S = 0.01


def limit_until(
    is_up: Callable[[], Any], *, of_s: float
) -> Callable[[float | None], AbstractAsyncContextManager[asyncio.Timeout]]:
    """Return what stands in for `time_limit` in a module: a limit of `of_s` seconds is over when `is_up` is true, others by the clock."""

    @asynccontextmanager
    async def limit(seconds: float | None) -> AsyncGenerator[asyncio.Timeout]:
        if seconds != of_s:
            async with time_limit(seconds) as deadline:
                yield deadline
            return
        async with time_limit(_BOUND_S) as deadline:
            watching = asyncio.create_task(_expire(deadline, is_up))
            try:
                yield deadline
            finally:
                watching.cancel()

    return limit


async def _expire(deadline: asyncio.Timeout, is_up: Callable[[], Any]) -> None:
    while not is_up():
        await asyncio.sleep(_LOOK_EVERY_S)
    deadline.reschedule(asyncio.get_running_loop().time())


class ClockUntil:
    """Stands in for the module `time`: its clock goes forward by days as soon as `is_up` is true, and stays there."""

    def __init__(self, is_up: Callable[[], Any]) -> None:
        self._is_up = is_up
        self._ahead_s = 0.0

    def monotonic(self) -> float:
        if not self._ahead_s and self._is_up():
            self._ahead_s = 1e6
        return time.monotonic() + self._ahead_s
