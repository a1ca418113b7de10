"""Why a worker has ended, as the head learns it: what the worker says counts, whichever of its two connections is read first."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from glassloom.head import server
from glassloom.head.server import Head
from glassloom.protocol import messages
from glassloom.protocol.identity import new_cluster_id
from glassloom.protocol.messages import framed
from glassloom.protocol.options import HeadOptions, MemoryLimits
from glassloom.protocol.places import make_places


class OneWorker:
    """A head and a worker of it: a process that says nothing by itself. The test says when the head can read which message."""

    def __init__(self, head: Head, pid: int) -> None:
        self.head, self.pid = head, pid
        self.said = asyncio.StreamReader()
        self.log: list[str] = []

    async def joins(self) -> None:
        """Connect, and be let in."""
        writer = SimpleNamespace(write=lambda _: None, close=lambda: None)
        self.says(messages.WorkerReady(0, self.pid, 1, None))
        self.head._tasks.start("worker", self.head._serve_worker(Any, self.said, writer))  # type: ignore[arg-type]
        await until(lambda: self.is_there)

    def says(self, message: Any) -> None:
        """Let the head read a message of the worker's."""
        self.said.feed_data(framed(message))

    @property
    def is_there(self) -> bool:
        """Whether the head counts it among its workers."""
        return 0 in self.head._worker_pool.connections


async def until(condition: Any) -> None:
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0)


@asynccontextmanager
async def one_worker(monkeypatch: pytest.MonkeyPatch, last_words_s: float) -> AsyncIterator[OneWorker]:
    monkeypatch.setattr(server, "_LAST_WORDS_S", last_words_s)
    monkeypatch.setattr(server, "_STATUS_TIMEOUT_S", 0.0)
    memory = MemoryLimits()
    places = make_places(new_cluster_id())
    head = Head(HeadOptions("test", 1, 1, memory), places)
    process = subprocess.Popen(["sleep", "600"], start_new_session=True)
    worker = OneWorker(head, process.pid)
    head._metrics_writer.log = lambda level, text, number=None: worker.log.append(text)  # type: ignore[method-assign]
    head._worker_pool.start(SimpleNamespace(spawn=lambda _: None))  # type: ignore[arg-type]
    try:
        await worker.joins()
        yield worker
    finally:
        worker.said.feed_eof()
        await until(lambda: not head._tasks._running)
        process.kill()
        process.wait()
        places.remove()


def test_what_a_worker_has_said_is_read_before_it_counts_as_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        async with one_worker(monkeypatch, 60.0) as worker:
            worker.head._worker_exited(0, "it has ended with status 1")  # the fork server's message is read first
            assert worker.is_there
            worker.says(messages.WorkerCrashed("lane-0 crashed: ValueError: why"))
            worker.said.feed_eof()
            await until(lambda: not worker.is_there)
            assert worker.log == [f"worker test-0 (pid {worker.pid}) is gone: lane-0 crashed: ValueError: why"]

    asyncio.run(run())


def test_a_worker_whose_connection_stays_open_is_lost_for_the_reason_that_the_fork_server_gives(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A process that the worker has forked may keep it open."""

    async def run() -> None:
        async with one_worker(monkeypatch, 0.0) as worker:
            worker.head._worker_exited(0, "it has ended with status 1")
            await until(lambda: not worker.is_there)
            assert worker.log == [f"worker test-0 (pid {worker.pid}) is gone: it has ended with status 1"]

    asyncio.run(run())
