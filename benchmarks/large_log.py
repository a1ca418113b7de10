"""Logs of very many made-up tasks, for dashboards to open: a cluster of four workers that have been at work without a pause."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import numpy as np
from glassloom_metrics.protocol import Action, Hello, Layers, Message, Progress, TaskEvents, WorkerJoined, task_events
from glassloom_metrics.recorder import Recorder
from glassloom_metrics.recording_writer import RecordingWriter

STARTED_AT_S = 1_700_000_000.0
WORKERS, THREADS, LAYERS = 4, 4, 40
_ROWS_A_MESSAGE = 5_000
_LANES = WORKERS * THREADS
MEAN_S = 0.16


def beginning(tasks: int) -> Iterator[Message]:
    """Yield what comes before the tasks."""
    for worker in range(WORKERS):
        yield WorkerJoined(STARTED_AT_S, worker, f"w{worker}", 1000 + worker, THREADS, 2**32)
    ids, each = list(range(LAYERS)), tasks // LAYERS
    yield Layers(ids, [f"layer-{number}" for number in ids], [each] * LAYERS, ["cell 3, line 1"] * LAYERS)
    none = [0] * LAYERS
    yield Progress(STARTED_AT_S + 1, ids, none, none, none, [each] * LAYERS, none, none)


def task_messages(tasks: int, first: int = 0, rows_a_message: int = _ROWS_A_MESSAGE) -> Iterator[TaskEvents]:
    """Yield the rows from number `first` up to `tasks`, in the order in which they end, about; one in ten moves data."""
    rng = np.random.default_rng(first)
    for start in range(first, tasks, rows_a_message):
        rows = np.arange(start, min(start + rows_a_message, tasks))
        lane = rows % _LANES
        took_s = MEAN_S * rng.uniform(0.1, 0.9, len(rows))
        start_s = STARTED_AT_S + 1 + rows // _LANES * MEAN_S + rng.uniform(0, 0.1 * MEAN_S, len(rows))
        layer = np.minimum((rows / tasks * LAYERS + rng.normal(0, 0.3, len(rows))).clip(0), LAYERS - 1)
        columns = {
            "layer": layer.astype(int), "worker": lane // THREADS, "lane": lane % THREADS, "start_s": start_s,
            "action": np.where(rng.random(len(rows)) < 0.1, Action.TRANSFER, Action.COMPUTE), "duration_s": took_s,
            "nbytes": rng.integers(0, 2**28, len(rows)),
        }  # fmt: skip
        index = [f"{row // 10}, {row % 10}" for row in rows.tolist()]
        yield task_events(start, index, ok=1, **{name: column.tolist() for name, column in columns.items()})


def recorder_of(tasks: int, rows_a_message: int = _ROWS_A_MESSAGE) -> Recorder:
    """Return the log of so many tasks, as a head has it."""
    recorder = Recorder(Hello(2, "bench", "bench", "processes", STARTED_AT_S))
    for message in chain(beginning(tasks), task_messages(tasks, rows_a_message=rows_a_message)):
        recorder.record(message)
    return recorder


def write_recording(path: Path, tasks: int) -> None:
    """Write a recording of so many tasks."""
    recorder = recorder_of(tasks)
    writer = RecordingWriter(path)
    for payload in recorder.read(0, limit=10**9)[0]:
        writer.add(payload)
    writer.close()
