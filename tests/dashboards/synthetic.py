"""Made-up clusters: what their recorders hold, and how they are put where the dashboards find them."""

from __future__ import annotations

import asyncio
import os
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from glassloom_metrics.framing import frame
from glassloom_metrics.gpu_messages import GpuDevice, gpu_devices, gpu_samples
from glassloom_metrics.protocol import (
    Action,
    Command,
    Hello,
    Layers,
    Life,
    Progress,
    WorkerJoined,
    WorkerSamples,
    task_events,
)
from glassloom_metrics.publisher import Publisher
from glassloom_metrics.recorder import Recorder
from glassloom_metrics.recording_writer import RecordingWriter
from glassloom_metrics.registry import ClusterRecord, process_started_s, remove_record, write_record

STARTED_AT_S = 1_700_000_000.0
MIB = 2**20
LAYER_NAMES = ["read_parquet", "getitem", "add", "mean-chunk", "mean-combine", "rechunk-split", "rechunk-merge", "sum"]
HOSTILE_NAMES = ["<img src=x onerror=alert(1)>", "a" * 300, "'\"><script>alert(1)</script>", "$$\\frac{a}{b}$$", "名前"]


@dataclass(frozen=True)
class Shape:
    """How large a made-up cluster is."""

    workers: int = 2
    threads: int = 2
    tasks: int = 200
    names: tuple[str, ...] = tuple(LAYER_NAMES)
    failures: bool = False
    gpus: int = 0
    layers: int = 0  # 0: one for each name


def make_recorder(shape: Shape, cluster_id: str = "c1", name: str = "demo") -> Recorder:
    """Return the recorder of a made-up cluster of that shape, everything flushed."""
    recorder = Recorder(Hello(2, cluster_id, name, "processes", STARTED_AT_S))
    recorder.record(Life(STARTED_AT_S, "started"))
    limit = 4096 * MIB
    for worker in range(shape.workers):
        recorder.record(WorkerJoined(STARTED_AT_S, worker, f"w{worker}", 1000 + worker, shape.threads, limit))
    record_tasks(recorder, shape)
    record_samples(recorder, shape)
    if shape.failures:
        for number in range(3):
            recorder.add_error(
                STARTED_AT_S + 3,
                layer=0,
                exception="ValueError",
                message="<img src=x onerror=alert(1)> bad value",
                traceback="Traceback ...",
                worker=0,
                origin="cell 3, line 7",
                key=f"('sum-1', {number})",
            )
        recorder.flush(STARTED_AT_S + 3)
    if shape.gpus:
        devices = [gpu_device(n) for n in range(shape.gpus)]
        recorder.record(gpu_devices(STARTED_AT_S + 1, "580.1", "", devices))
        busy = {n: {"utilization_percent": 71.0 if n % 2 == 0 else "not supported"} for n in range(shape.gpus)}
        known = {"memory_used_bytes": 12.0 * 2**30, "power_w": 300.0, "temperature_c": 60.0}
        recorder.record(gpu_samples(STARTED_AT_S + 1, {n: busy[n] | known for n in busy}))
    return recorder


def gpu_device(number: int, **fields: object) -> GpuDevice:
    """Return a device that answers."""
    facts = dict(
        id=number, uuid=f"GPU-{number}", name="NVIDIA H100", index=number, parent=-1, memory_total_bytes=80 * 2**30,
        power_limit_w=700.0, sm_clock_max_mhz=1980, pcie_generation=5, pcie_width=16, nvlinks=18, mig_enabled=0, state="ok",
        since_s=STARTED_AT_S, reason="",
    )  # fmt: skip
    return GpuDevice(**facts | fields)


def task_columns(shape: Shape, seed: int = 0) -> dict[str, np.ndarray]:
    """Return the numeric columns of the tasks: each lane works without a pause, in phases of one layer after another."""
    rng = np.random.default_rng(seed)
    count, lanes = shape.tasks, shape.workers * shape.threads
    layers = shape.layers or len(shape.names)
    lane = np.arange(count) % max(lanes, 1)
    turn = np.arange(count) // max(lanes, 1)
    turns = max(int(turn.max(initial=0)) + 1, 1)
    busy_s = rng.gamma(3.0, 0.05, count)
    busy_s += np.where(turn % 7 == 3, 0.08, 0.0)
    gap_s = rng.exponential(0.01, count)
    start_s, stop_s = np.empty(count), np.empty(count)
    for place in range(min(max(lanes, 1), count)):
        mine = slice(place, None, max(lanes, 1))
        ends = np.cumsum(busy_s[mine] + gap_s[mine])
        stop_s[mine], start_s[mine] = ends, ends - busy_s[mine]
    phase = turn * layers / turns + rng.normal(0, 0.35, count)
    action = np.where(rng.random(count) < 0.06, Action.TRANSFER, Action.COMPUTE)
    action = np.where(rng.random(count) < 0.02, Action.SPILL_WRITE, action)
    columns = {
        "layer": np.clip(phase, 0, layers - 1).astype("u4"),
        "worker": (lane // max(shape.threads, 1)).astype("u4"),
        "lane": (lane % max(shape.threads, 1)).astype("u2"),
        "action": action.astype("u1"),
        "start_s": STARTED_AT_S + 0.4 + start_s,
        "stop_s": STARTED_AT_S + 0.4 + stop_s,
        "nbytes": rng.integers(-1, 2**28, count),
        "ok": (rng.random(count) > (0.02 if shape.failures else 0.0)).astype("u1"),
    }
    order = np.argsort(columns["stop_s"], kind="stable")
    return {name: column[order] for name, column in columns.items()}


def record_tasks(recorder: Recorder, shape: Shape) -> None:
    """Add the layers, the task events in batches, and the layers' progress to the recorder."""
    layers = shape.layers or len(shape.names)
    columns = task_columns(shape)
    compute = columns["action"] == Action.COMPUTE
    totals = np.bincount(columns["layer"][compute], minlength=layers) if shape.tasks else np.zeros(layers, int)
    if not shape.tasks:
        return
    waiting = totals // 5
    ids = list(range(layers))
    names = [shape.names[number % len(shape.names)] for number in ids]
    recorder.record(Layers(ids, names, (totals + waiting).tolist(), [f"cell {n}, line {n + 1}" for n in ids]))
    size = 5000
    for first in range(0, shape.tasks, size):
        part = {name: column[first : first + size].tolist() for name, column in columns.items()}
        part["duration_s"] = (columns["stop_s"] - columns["start_s"])[first : first + size].tolist()
        del part["stop_s"]
        count = min(size, shape.tasks - first)
        index = [f"{number // 10}, {number % 10}" for number in range(first, first + count)]
        recorder.record(task_events(first, index, **part))
    running = np.minimum(waiting, 2)
    done = totals.tolist()
    released = [count * 2 // 3 for count in done]
    memory = [count - gone for count, gone in zip(done, released, strict=True)]
    zeros = [0] * layers
    erred = [1 if shape.failures and n == 0 else 0 for n in ids]
    recorder.record(
        Progress(STARTED_AT_S + 5, ids, (waiting - running).tolist(), zeros, running.tolist(), memory, released, erred)
    )


def record_samples(recorder: Recorder, shape: Shape, moments: int = 40) -> None:
    """Add a measurement of every worker twice a second."""
    rng = np.random.default_rng(1)
    workers = list(range(shape.workers))
    if not workers:
        return
    base = rng.uniform(300, 1600, len(workers)) * MIB
    for moment in range(moments):
        grown = base * (0.5 + 0.5 * np.sin(moment / 9 + np.arange(len(workers))) ** 2) + 300 * MIB
        recorder.record(
            WorkerSamples(
                STARTED_AT_S + moment / 2,
                workers,
                (100 * shape.threads * rng.beta(5, 2, len(workers))).tolist(),
                (grown * 1.4).astype(int).tolist(),
                (grown * 0.7).astype(int).tolist(),
                (grown * 0.2).astype(int).tolist(),
                (base * 0.1 * (np.arange(len(workers)) % 3 == 1)).astype(int).tolist(),
                [shape.threads] * len(workers),
                [3] * len(workers),
            )
        )


def write_recording(path: Path, recorder: Recorder) -> None:
    """Write what a recorder has as a recording."""
    writer = RecordingWriter(path)
    payloads, _ = recorder.read(0, limit=10**9)
    for payload in payloads:
        writer.add(payload)
    writer.close()


@contextmanager
def published(
    recorder: Recorder, directory: Path, cluster_id: str = "c1", name: str = "demo"
) -> Iterator[ClusterHandle]:
    """Serve `recorder` from a thread of this process and write its registry record, until the block ends."""
    handle = ClusterHandle(recorder, directory, cluster_id, name)
    handle.start()
    try:
        yield handle
    finally:
        handle.stop()


class ClusterHandle:
    """A made-up cluster that runs: it can be told to record more, and to end."""

    def __init__(self, recorder: Recorder, directory: Path, cluster_id: str, name: str) -> None:
        self.recorder = recorder
        self.commands: list[str] = []
        self.record = ClusterRecord(
            id=cluster_id,
            name=name,
            kind="processes",
            pid=os.getpid(),
            pid_started_s=process_started_s(os.getpid()),
            socket=str(directory / f"{cluster_id}.sock"),
            secret=secrets.token_hex(8),
            started_at_s=STARTED_AT_S,
            directory=str(directory / "not-ours"),
            shm_prefix="",
        )
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._running = False

    def start(self) -> None:
        """Listen, and appear in the registry."""
        self._thread.start()
        self.run(self._serve())
        write_record(self.record)
        self._running = True

    def run(self, coroutine):
        """Run a coroutine in the cluster's thread and return its result."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(60)

    def add(self, *messages) -> None:
        """Record messages and tell the subscribers."""

        async def add() -> None:
            for message in messages:
                self.recorder.record(message)
            self.publisher.notify()

        self.run(add())

    async def _serve(self) -> None:
        async def obey(command: Command) -> str:
            self.commands.append(command.name)
            return "done"

        self.publisher = Publisher(self.recorder, self.record.secret, obey)
        await self.publisher.serve(self.record.socket)

    def drop_connections(self) -> None:
        """Close every connection, then listen again: to subscribers the network went away for a moment."""

        async def drop() -> None:
            await self.publisher.close()
            os.unlink(self.record.socket)
            await self._serve()

        self.run(drop())

    def answer_with(self, payloads: list[bytes]) -> None:
        """Answer every connection from now on with these frames and nothing else."""

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.writelines(frame(payload) for payload in payloads)
            await writer.drain()
            writer.close()

        async def serve() -> None:
            await self.publisher.close()
            os.unlink(self.record.socket)
            await asyncio.start_unix_server(answer, self.record.socket)

        self.run(serve())

    def stop(self) -> None:
        """End the cluster and take it out of the registry."""
        if not self._running:
            return
        self._running = False
        remove_record(self.record.id)
        self.run(self.publisher.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(60)
        self._loop.close()
