"""`time_limit`: `asyncio.timeout` that holds in cleanup, too."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager


@asynccontextmanager
async def time_limit(seconds: float | None) -> AsyncGenerator[asyncio.Timeout]:
    """Bound what is awaited inside, as `asyncio.timeout` does: raises `TimeoutError` after so many seconds; None: no bound.

    Before Python 3.11.3 (Debian 12 has 3.11.2) `asyncio.timeout` raises `asyncio.CancelledError` instead if the task's cancellation
    was asked for already, so that cleanup ended at its first time limit: https://github.com/python/cpython/issues/102780.
    """
    task = asyncio.current_task()
    asked_before = 0 if task is None else task.cancelling()
    deadline = asyncio.timeout(seconds)  # noqa: TID251
    try:
        async with deadline:
            yield deadline
    except asyncio.CancelledError as error:
        if task is not None and deadline.expired() and task.cancelling() <= asked_before:
            raise TimeoutError from error
        raise
