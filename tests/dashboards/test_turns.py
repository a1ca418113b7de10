"""Reading a log stands back while pages are being made, and not for ever."""

from __future__ import annotations

import asyncio

from glassloom_dashboards.serving import turns as module
from glassloom_dashboards.serving.turns import Turns


async def steps(count: int = 10) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def test_whoever_gives_way_goes_on_at_once_unless_a_page_is_being_made(monkeypatch):
    monkeypatch.setattr(module, "LONGEST_WAIT_S", 1e6)

    async def run() -> list[bool]:
        turns, done = Turns(), []
        await turns.give_way()
        with turns.making_page():
            with turns.making_page():
                waiting = asyncio.create_task(turns.give_way())
                await steps()
                done.append(waiting.done())
            await steps()
            done.append(waiting.done())
        await steps()
        done.append(waiting.done())
        return done

    assert asyncio.run(asyncio.wait_for(run(), 30)) == [False, False, True]


def test_pages_that_are_made_without_end_hold_nobody_up_for_ever(monkeypatch):
    monkeypatch.setattr(module, "LONGEST_WAIT_S", 0.0)

    async def run() -> None:
        turns = Turns()
        with turns.making_page():
            await turns.give_way()

    asyncio.run(asyncio.wait_for(run(), 30))


def test_a_page_that_fails_to_be_made_counts_no_more():
    async def run() -> None:
        turns = Turns()
        try:
            with turns.making_page():
                raise RuntimeError
        except RuntimeError:
            await asyncio.wait_for(turns.give_way(), 30)
        assert turns._no_page.is_set()

    asyncio.run(run())
