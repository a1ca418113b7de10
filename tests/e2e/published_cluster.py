"""A cluster without an engine: it registers, and publishes workers, samples and tasks that it makes up.

python published_cluster.py ID NAME [--tasks 100] [--workers 4] [--kind processes] [--started-by script] [--busy]
"""

from __future__ import annotations

import argparse
import asyncio
import math
import os
import shutil
import signal
import tempfile
import time
from pathlib import Path

from glassloom_metrics.protocol import PROTOCOL_VERSION, Command, EngineSamples, Hello, WorkerJoined, WorkerSamples
from glassloom_metrics.publisher import Publisher
from glassloom_metrics.recorder import Recorder
from glassloom_metrics.registry import ClusterRecord, process_started_s, remove_record, write_record

THREADS = 2
LIMIT_BYTES = 2 * 2**30


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("id")
    parser.add_argument("name")
    parser.add_argument("--tasks", type=int, default=100)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--kind", default="processes")
    parser.add_argument("--started-by", default="script")
    parser.add_argument("--busy", action="store_true")
    return parser.parse_args()


def record_tasks(recorder: Recorder, tasks: int, workers: int, started_s: float, busy: bool) -> None:
    """Add finished tasks of two layers, and the counts that go with them."""
    lanes = workers * THREADS
    for layer, name in enumerate(("load", "sum")):
        recorder.add_layer(layer, name, tasks // 2, "cell 1, line 2")
        for index in range(tasks // 2):
            start_s = started_s + layer * 2.0 + (index // lanes) * 0.1
            recorder.add_task(
                str(index),
                layer=layer,
                worker=index % workers,
                lane=index // workers % THREADS,
                start_s=start_s,
                stop_s=start_s + 0.08,
                nbytes=8000,
            )
        recorder.set_progress(layer, (12 * busy, 0, 4 * busy, tasks // 2, 0, busy * 1))
    recorder.flush(started_s + 5)


def sample(at_s: float, workers: int, busy: bool) -> WorkerSamples:
    load = [busy * (90 + 80 * math.sin(at_s / 3 + worker)) + 3 for worker in range(workers)]
    memory = [int(LIMIT_BYTES * (0.2 + 0.12 * worker + 0.1 * busy)) for worker in range(workers)]
    zeros = [0] * workers
    return WorkerSamples(at_s, list(range(workers)), load, memory, memory, zeros, zeros, zeros, zeros)


async def main() -> None:
    options = arguments()
    now_s = time.time()
    directory = Path(tempfile.mkdtemp(prefix="glassloom-"))
    started_s = now_s - 75
    recorder = Recorder(Hello(PROTOCOL_VERSION, options.id, options.name, options.kind, started_s))
    for worker in range(options.workers):
        recorder.record(WorkerJoined(started_s, worker, f"w{worker}", os.getpid(), THREADS, LIMIT_BYTES))
    for second in range(70):
        recorder.record(sample(started_s + second, options.workers, options.busy))
    record_tasks(recorder, options.tasks, options.workers, started_s, options.busy)

    ended = asyncio.Event()

    async def on_command(command: Command) -> str:
        if command.name == "shutdown":
            ended.set()
        return f"{command.name} is done"

    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    publisher = Publisher(recorder, "sekret", on_command)
    await publisher.serve(str(directory / "head"))
    record = ClusterRecord(
        id=options.id,
        name=options.name,
        kind=options.kind,
        pid=os.getpid(),
        pid_started_s=process_started_s(os.getpid()),
        socket=str(directory / "head"),
        secret="sekret",
        started_at_s=started_s,
        directory=str(directory),
        shm_prefix=f"glassloom-{options.id}-",
        started_by=options.started_by,
    )
    write_record(record)
    print("ready", flush=True)
    while not ended.is_set():
        recorder.record(sample(time.time(), options.workers, options.busy))
        if options.kind == "processes":
            recorder.record(
                EngineSamples(time.time(), 0.004, 1.3, 64 * 2**20, len(recorder), recorder.memory_bytes, 0, 1)
            )
        publisher.notify()
        try:
            await asyncio.wait_for(ended.wait(), 0.5)
        except TimeoutError:
            continue
    remove_record(record.id)
    shutil.rmtree(directory, ignore_errors=True)
    await publisher.close()


if __name__ == "__main__":
    asyncio.run(main())
