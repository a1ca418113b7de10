"""What a real cluster tells of itself: also when nothing happens, when its workers come and go, and when its head stops."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from typing import Any

import pytest
import tasks
from glassloom import Client, LocalCluster
from glassloom_metrics.protocol import (
    EngineSamples,
    Errors,
    HostSamples,
    Position,
    WorkerJoined,
    WorkerLeft,
    WorkerSamples,
    decode,
)
from glassloom_metrics.registry import find_record
from glassloom_metrics.subscriber import subscribe_frames


class Stream:
    """A cluster's messages, as a subscriber in this process gets them."""

    def __init__(self, cluster: str) -> None:
        self._frames = subscribe_frames(find_record(cluster))
        self.seen: list[Any] = []

    async def until(self, kind: type, wanted: Callable[[Any], bool] = lambda message: True) -> Any:
        """Return the next message of a kind that is wanted; fails if there is none for 20 s."""
        async with asyncio.timeout(60):
            while True:
                self.seen.append(decode(await anext(self._frames)))
                if isinstance(self.seen[-1], kind) and wanted(self.seen[-1]):
                    return self.seen[-1]

    async def close(self) -> None:
        await self._frames.aclose()


def watch(cluster: str, body: Callable[[Stream], Any]) -> None:
    async def main() -> None:
        stream = Stream(cluster)
        try:
            await body(stream)
        finally:
            await stream.close()

    asyncio.run(main())


@pytest.mark.fault("a cluster is idle")
def test_an_idle_cluster_tells_of_workers_that_come_go_and_are_killed() -> None:
    with LocalCluster(2, 1) as cluster:

        async def body(stream: Stream) -> None:
            first = await stream.until(WorkerSamples, lambda sample: sorted(sample.workers) == [0, 1])
            assert (await stream.until(WorkerSamples)).at_s > first.at_s
            await asyncio.to_thread(cluster.scale, 3)
            joined = await stream.until(WorkerJoined, lambda message: message.worker == 2)
            assert joined.baseline_bytes > 2**20
            os.kill(joined.pid, signal.SIGKILL)
            left = await stream.until(WorkerLeft)
            assert left.worker == 2 and left.reason
            replaced = await stream.until(WorkerJoined, lambda message: message.worker == 3)
            await asyncio.to_thread(cluster.scale, 1)
            gone = {(await stream.until(WorkerLeft)).worker, (await stream.until(WorkerLeft)).worker}
            assert replaced.worker in gone

        watch(cluster.id, body)


def test_memory_is_told_in_parts_that_add_up() -> None:
    with Client(n_workers=1, threads_per_worker=1, set_as_default=False) as client:
        kept = client.submit(bytes, 40 * 2**20)
        kept.result()

        async def body(stream: Stream) -> None:
            sample = await stream.until(WorkerSamples, lambda sample: sample.workers and sample.shared_bytes[0] > 0)
            (own,), (unmanaged,), (managed,) = sample.own_bytes, sample.unmanaged_bytes, sample.managed_bytes
            assert unmanaged == max(0, own - managed)
            assert own <= sample.rss_bytes[0]  # of the same moment, whenever the worker looked at its memory last
            host = await stream.until(HostSamples, lambda host: not isinstance(host.network_sent_bytes_s, str))
            assert 0 < host.memory_used_bytes < host.memory_total_bytes
            assert host.cpus >= 1 and 0 <= host.cpu_percent <= 100
            engine = await stream.until(EngineSamples, lambda engine: engine.subscribers >= 1)
            assert engine.log_frames > 0 and engine.rss_bytes > 2**20
            assert 0 <= engine.loop_lag_s < 20

        watch(client.id, body)


def test_failures_that_are_alike_are_one_group_with_the_first_traceback() -> None:
    with Client(n_workers=2, threads_per_worker=1, set_as_default=False) as client:
        futures = client.map(tasks.divide, range(30), [0] * 30)
        other = client.submit(tasks.divide, "a", 1)
        for future in (*futures, other):
            assert future.exception() is not None

        async def body(stream: Stream) -> None:
            groups: dict[int, tuple[str, int, list[str]]] = {}
            while sum(count for _, count, _ in groups.values()) < 31:
                message = await stream.until(Errors)
                for row in zip(message.ids, message.exceptions, message.counts, message.keys, strict=True):
                    groups[row[0]] = row[1:]
                assert all("in divide" in trace for trace in message.tracebacks)
            assert sorted((exception, count) for exception, count, _ in groups.values()) == [
                ("TypeError", 1),
                ("ZeroDivisionError", 30),
            ]
            assert all(len(keys) == min(count, 10) for _, count, keys in groups.values())

        watch(client.id, body)


@pytest.mark.fault("the head is stopped, and somebody watches")
def test_a_stopped_head_is_silent_and_goes_on_where_it_was() -> None:
    with LocalCluster(1, 1) as cluster:
        pid = find_record(cluster.id).pid

        async def body(stream: Stream) -> None:
            await stream.until(Position)
            os.kill(pid, signal.SIGSTOP)
            try:
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(3):  # three heartbeats; first what was on its way
                        while True:
                            await stream.until(Position)
            finally:
                os.kill(pid, signal.SIGCONT)

        watch(cluster.id, body)
        watch(cluster.id, lambda stream: stream.until(Position))
