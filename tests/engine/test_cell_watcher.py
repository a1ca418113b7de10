"""The threads that follow cells: one that ends late doesn't touch what the next one does, and none ends before its work."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest
from glassloom.graph.notebook import Cell
from glassloom.notebook import cell_watcher
from glassloom.notebook.cell_watcher import CellWatcher
from glassloom_metrics.protocol import Hello, Position, Runs, encode
from glassloom_metrics.registry import ClusterRecord

RECORD = ClusterRecord("c1", "loom", "processes", 1, 0.0, "/s", "secret", 0.0, "/d", "p")
TIMEOUT_S = 60


class Comm:
    """Keeps what is sent."""

    is_there = True

    def __init__(self, asked: Callable[[dict[str, Any]], None]) -> None:
        self.asked = asked
        self.sent: list[list[dict[str, Any]]] = []
        self.arrived = threading.Condition()

    def send(self, cells: list[dict[str, Any]], now_s: float) -> None:
        with self.arrived:
            self.sent.append(cells)
            self.arrived.notify_all()

    def wait_for(self, is_right: Callable[[list[dict[str, Any]]], bool]) -> None:
        with self.arrived:
            assert self.arrived.wait_for(lambda: any(map(is_right, self.sent)), TIMEOUT_S), self.sent


class Streams:
    """Stands in for the clusters' streams: each is kept open until its test says so, however often it is cancelled."""

    def __init__(self, kernel: str) -> None:
        self.kernel = kernel
        self.open = 0
        self.run_may_end = threading.Event()
        self.run_may_end.set()
        self.ending = threading.Event()
        self.may_end = threading.Event()

    async def subscribe(self, record: ClusterRecord, topics: Any, *, since: int) -> AsyncGenerator[bytes]:
        self.open += 1
        number = self.open
        yield encode(Hello(2, "c1", "loom", "processes", 0.0))
        yield encode(Position(1e9, 1))
        if not self.run_may_end.is_set():
            yield encode(run(number, self.kernel, has_ended=False))
            await asyncio.to_thread(self.run_may_end.wait, TIMEOUT_S)
        yield encode(run(number, self.kernel))
        try:
            await asyncio.Event().wait()
        finally:
            self.ending.set()
            await asyncio.to_thread(self.may_end.wait, TIMEOUT_S)


def run(number: int, kernel: str, *, has_ended: bool = True) -> Runs:
    started_s, ended_s = 2e9 + number, 2e9 + number + 0.5 if has_ended else None
    cell, outcome = f"cell{number}", "finished" if has_ended else "running"
    return Runs([number], ["compute"], [""], [""], [cell], [kernel], [""], [started_s], [ended_s], [outcome], [1], [1], [0])  # fmt: skip


@pytest.fixture
def streams(monkeypatch: pytest.MonkeyPatch) -> Streams:
    made = Streams(cell_watcher.asker_id())
    monkeypatch.setattr(cell_watcher, "subscribe_frames", made.subscribe)
    monkeypatch.setattr(cell_watcher, "LINGER_S", 0.3)
    monkeypatch.setattr(cell_watcher, "_LOOK_S", 0.05)
    return made


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "glassloom-cells"]


def test_a_thread_that_ends_late_leaves_the_next_one_alone(streams: Streams) -> None:
    watcher = CellWatcher(Comm)  # type: ignore[arg-type]
    comm: Any = watcher.comm
    watcher.note(Cell(1, "cell1", ""), "c1", lambda: RECORD)
    comm.wait_for(lambda cells: cells[0]["cell"] == "cell1")
    watcher.cell_ended()
    assert streams.ending.wait(TIMEOUT_S)  # and the first thread waits for its stream

    watcher.cell_begins()
    watcher.note(Cell(2, "cell2", ""), "c1", lambda: RECORD)
    comm.wait_for(lambda cells: cells[0]["cell"] == "cell2")
    first, second = threads()
    streams.may_end.set()
    first.join(TIMEOUT_S)
    assert not first.is_alive() and second.is_alive(), "the cell still runs"
    comm.sent.clear()
    watcher.note(Cell(3, "cell2", ""), "c1", lambda: RECORD)
    comm.wait_for(lambda cells: cells[0]["execution"] == 3)
    assert threads() == [second] and streams.open == 2
    comm.asked({"ask": "cells"})
    assert [cell["cell"] for cell in comm.sent[-1]] == ["cell1", "cell2"]
    watcher.cell_ended()
    second.join(TIMEOUT_S)
    assert threads() == []


def test_after_a_crash_the_next_run_is_followed_again(
    streams: Streams, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    streams.may_end.set()
    watcher = CellWatcher(Comm)  # type: ignore[arg-type]
    comm: Any = watcher.comm

    def find_nothing() -> ClusterRecord:
        raise ValueError("no record")

    watcher.note(Cell(1, "cell1", ""), "c1", find_nothing)
    for thread in threads():
        thread.join(TIMEOUT_S)
    assert "progress below cells has stopped" in caplog.text
    caplog.clear()
    watcher.note(Cell(1, "cell1", ""), "c1", lambda: RECORD)
    comm.wait_for(lambda cells: cells[0]["cell"] == "cell1")
    watcher.cell_ended()
    for thread in threads():
        thread.join(TIMEOUT_S)


@pytest.mark.parametrize("has_ended", [False, True])
def test_a_cell_that_runs_is_told_again_though_nothing_changes_for_pages_that_are_loaded_meanwhile(
    streams: Streams, monkeypatch: pytest.MonkeyPatch, has_ended: bool
) -> None:
    """Also one whose runs have ended, while it executes: the kernel answers nobody who asks."""
    monkeypatch.setattr(cell_watcher, "TELL_AGAIN_S", 0.0)
    streams.may_end.set()
    if not has_ended:
        streams.run_may_end.clear()
    watcher = CellWatcher(Comm)  # type: ignore[arg-type]
    comm: Any = watcher.comm
    watcher.note(Cell(1, "cell1", ""), "c1", lambda: RECORD)
    comm.wait_for(lambda cells: cells[0]["cell"] == "cell1")
    outcome = "finished" if has_ended else "running"
    comm.wait_for(lambda cells: cells[0]["outcome"] == outcome)
    comm.sent.clear()
    comm.wait_for(lambda cells: (cells[0]["outcome"], cells[0]["executing"]) == (outcome, True))
    (follower,) = threads()
    streams.run_may_end.set()
    watcher.cell_ended()
    follower.join(TIMEOUT_S)
    assert threads() == []


def test_a_run_that_begins_when_no_cell_runs_is_of_no_cell_that_executes(streams: Streams) -> None:
    """Such as one that a timer of the cell begins later."""
    watcher = CellWatcher(Comm)  # type: ignore[arg-type]
    watcher.cell_ended()
    watcher.note(Cell(1, "cell1", ""), "c1", lambda: RECORD)
    assert watcher.executing is None
    watcher.cell_begins()
    watcher.note(Cell(2, "cell2", ""), "c1", lambda: RECORD)
    assert watcher.executing == "cell2"
    watcher.cell_ended()
    streams.may_end.set()
    for thread in threads():
        thread.join(TIMEOUT_S)
