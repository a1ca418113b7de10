"""Time limits also hold in the cleanup of what was cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest
from glassloom_metrics.time_limit import time_limit


async def cancelled_at_its_first_pause(running: Coroutine[Any, Any, None]) -> None:
    task = asyncio.create_task(running)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_what_takes_too_long_is_a_timeout_error():
    async def run() -> None:
        with pytest.raises(TimeoutError):
            async with time_limit(0.01):
                await asyncio.sleep(60)

    asyncio.run(run())


def test_what_comes_in_time_is_left_alone():
    async def run() -> None:
        async with time_limit(60), time_limit(None) as none:
            await asyncio.sleep(0)
        assert none.when() is None and not none.expired()

    asyncio.run(run())


def test_cleanup_of_a_cancelled_task_goes_on_after_a_time_limit():
    steps = []

    async def run() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            for step in range(2):
                with pytest.raises(TimeoutError):
                    async with time_limit(0.01):
                        await asyncio.sleep(60)
                steps.append(step)

    asyncio.run(cancelled_at_its_first_pause(run()))
    assert steps == [0, 1]


def test_who_is_cancelled_within_a_time_limit_is_cancelled():
    async def run() -> None:
        async with time_limit(60):
            await asyncio.sleep(60)

    asyncio.run(cancelled_at_its_first_pause(run()))


def test_the_outer_limit_holds_where_the_inner_is_longer():
    async def run() -> None:
        with pytest.raises(TimeoutError):
            async with time_limit(0.01) as outer, time_limit(60) as inner:
                await asyncio.sleep(60)
        assert outer.expired() and not inner.expired()

    asyncio.run(run())
