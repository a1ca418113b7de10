"""Reading a log stands back while pages are opened, and not for ever; so do documents while files are sent."""

from __future__ import annotations

import asyncio

import pytest
from glassloom_dashboards.serving import turns as module
from glassloom_dashboards.serving.turns import Turn, Turns


async def steps(count: int = 10) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def ends_while(turn: Turn, waiting: asyncio.Task[None]) -> list[bool]:
    """Tell whether a task is done while something has its turn twice, then once, and then no more."""
    done = []
    with turn.taken():
        with turn.taken():
            await steps()
            done.append(waiting.done())
        await steps()
        done.append(waiting.done())
    await steps()
    return [*done, waiting.done()]


def ends(way: str, turn: str, monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    monkeypatch.setattr(module, "LONGEST_WAIT_S", 1e6)

    async def run() -> list[bool]:
        turns = Turns()
        await getattr(turns, way)()
        return await ends_while(getattr(turns, turn), asyncio.create_task(getattr(turns, way)()))

    return asyncio.run(asyncio.wait_for(run(), 60))


@pytest.mark.parametrize("turn", ["files", "documents"])
def test_a_log_goes_on_at_once_unless_something_of_a_page_is_made_or_sent(turn, monkeypatch):
    assert ends("give_way", turn, monkeypatch) == [False, False, True]


def test_a_document_stands_back_for_files_and_not_for_other_documents(monkeypatch):
    assert ends("give_way_to_files", "files", monkeypatch) == [False, False, True]
    assert ends("give_way_to_files", "documents", monkeypatch) == [True, True, True]


def test_what_is_made_or_sent_without_end_holds_nobody_up_for_ever(monkeypatch):
    monkeypatch.setattr(module, "LONGEST_WAIT_S", 0.0)

    async def run() -> None:
        turns = Turns()
        with turns.files.taken(), turns.documents.taken():
            await turns.give_way()

    asyncio.run(asyncio.wait_for(run(), 60))


def test_what_fails_has_no_turn_any_more():
    async def run() -> None:
        turns = Turns()
        with pytest.raises(RuntimeError), turns.documents.taken():
            raise RuntimeError
        await asyncio.wait_for(turns.give_way(), 60)

    asyncio.run(run())
