"""Where the time of the threads went: threads times wall clock, in parts that add up to all of it. Pure.

Threads compute, and move data: they read what other workers have made for their tasks. What a worker does beside them (publish, move, spill) is done by other threads; it takes from what its threads
have left while they don't compute, as they then wait for it or could. The rest is idle. So all parts of a worker together are
its threads times the time that it was there, in each bin of time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from glassloom_dashboards.folds.aggregate import ClusterAggregate
from glassloom_dashboards.folds.bins import KIND_BITS, busy_by_column, joined_spans, sum_by
from glassloom_dashboards.folds.lod import nice_width
from glassloom_dashboards.folds.running_tasks import RunningTasks
from glassloom_dashboards.folds.task_table import TaskTable
from glassloom_dashboards.folds.worker_spans import COMPUTE, HELD_UP, PLACES, TRANSFER, unfinished_spans

PARTS = ("compute", "inputs", "transfer", "publish", "spill", "engine", "unready", "idle")
WORDS = {
    "compute": "compute",
    "inputs": "read inputs",
    "transfer": "transfer",
    "publish": "publish results",
    "spill": "spill and read back",
    "engine": "scheduling",
    "unready": "no task ready",
    "idle": "idle",
}
MADE_OF = ("tasks", "running", "workers", "samples", "life")
"""The parts of the aggregate on which a budget depends (see `ClusterAggregate.versions`)."""
_OWN, _BESIDE = slice(COMPUTE, TRANSFER), slice(TRANSFER, HELD_UP)
COLUMNS = 240
"""Bins in view at most."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Budget:
    """Seconds of threads, by bin of time (rows) and part (columns, as in `PARTS`)."""

    start_s: Floats
    width_s: float
    seconds: Floats

    @property
    def totals(self) -> dict[str, float]:
        """The seconds of each part over all bins."""
        return dict(zip(PARTS, self.seconds.sum(axis=0).tolist(), strict=True))

    @property
    def shares(self) -> Floats:
        """The parts of each bin from 0 to 1; they add up to 1, or are all 0 where there was no thread."""
        return self.seconds / np.maximum(self.seconds.sum(axis=1, keepdims=True), 1e-12)


def split(threads_s: Floats, busy_s: Floats, run_share: Floats) -> Floats:
    """Return the parts of each worker and bin, all at least 0, that add up to its threads' time.

    Parameters
    ----------
    threads_s
        By worker and bin: threads times the time that the worker was there.
    busy_s
        By worker, kind and bin: how long events took, and how long free threads had a task that was ready. Tasks that ran beyond the threads (after
        `secede`) count as threads of their own.
    run_share
        By bin: the share of it in which a run was under way. What threads do counts as done in a run as far as it goes, so that
        bins that are wider than a run don't take the pauses after it for a part of it.
    """
    busy_s = np.maximum(busy_s, 0.0)
    own_s, beside_s, held_up_s = busy_s[:, _OWN], busy_s[:, _BESIDE], busy_s[:, HELD_UP]
    left_s = np.maximum(threads_s - own_s.sum(axis=1), 0.0)
    transfer_s = beside_s[:, 0]  # tasks read what other workers have made while they run: as a part of getting inputs
    of_inputs_s = np.minimum(transfer_s, own_s[:, 1])
    of_compute_s = np.minimum(transfer_s - of_inputs_s, own_s[:, 0])
    read_s = of_inputs_s + of_compute_s
    own_s = own_s - np.stack([of_compute_s, of_inputs_s], axis=1)
    beside_s[:, 0] -= read_s
    fits = np.minimum(left_s / np.maximum(beside_s.sum(axis=1), 1e-12), 1.0)
    beside_s = beside_s * fits[:, np.newaxis]
    left_s = np.maximum(left_s - beside_s.sum(axis=1), 0.0)
    beside_s[:, 0] += read_s
    engine_s = np.minimum(left_s, held_up_s)
    left_s = left_s - engine_s
    outside_s = threads_s * (1.0 - np.clip(run_share, 0.0, 1.0))
    idle_s = np.minimum(left_s, outside_s)
    unready_s = left_s - idle_s
    return np.concatenate([own_s, beside_s, np.stack([engine_s, unready_s, idle_s], axis=1)], axis=1)


def run_shares(runs: Sequence[tuple[float, float]], start_s: float, width_s: float, columns: int) -> Floats:
    """Return the share of each bin in which any of `runs`, (from, to) each, was under way."""
    edges_s = start_s + width_s * np.arange(columns + 1)
    covered_s = np.zeros(columns + 1)
    reached_s = -np.inf
    for from_s, to_s in sorted(runs):
        begin_s = max(from_s, reached_s)
        if to_s > begin_s:
            covered_s += np.clip(edges_s - begin_s, 0.0, to_s - begin_s)
            reached_s = to_s
    return np.clip(np.diff(covered_s) / width_s, 0.0, 1.0)


def threads_time(stays: Floats, start_s: float, stop_s: float, width_s: float, columns: int) -> Floats:
    """Return threads times seconds by worker and bin.

    ``stays`` has a row for each worker: when it came, when it left, and its threads. Nothing counts outside `start_s` to
    `stop_s`, where the first bin begins with `start_s`.
    """
    low_s = start_s + width_s * np.arange(columns)
    high_s = np.minimum(low_s + width_s, stop_s)
    came_s, left_s, threads = (stays[:, [place]] for place in range(3))
    return threads * np.maximum(np.minimum(left_s, high_s) - np.maximum(came_s, low_s), 0.0)


def busy_of(
    tasks: TaskTable, running: RunningTasks, start_us: int, width_us: int, columns: int, workers: int
) -> Floats:
    """Return the busy seconds by worker number, kind (see `worker_spans`) and bin, from a multiple of `width_us` since the origin.

    Tasks that haven't ended, or never will, count as far as they were told. ``workers`` are known, there may be more; `width_us` must be one that the pyramid allows.
    """
    pyramid = tasks.by_worker
    stop_us = start_us + columns * width_us
    found = pyramid.gather(start_us, stop_us, tasks.first_row, tasks.next_row, width_us)
    spans = joined_spans([found.spans, unfinished_spans(running, tasks.origin_s)])
    mask = (1 << KIND_BITS) - 1
    keys = [(part.key >> KIND_BITS) * PLACES + (part.key & mask) for part in (found.bins, spans)]
    workers = max([workers, 1, *(int(key.max(initial=-1)) // PLACES + 1 for key in keys)])
    column = found.bins.column * found.width_us // width_us - start_us // width_us
    size = workers * PLACES * columns
    busy_us = sum_by(keys[0] * columns + column, found.bins.busy_us, size)
    busy_us += busy_by_column(spans, keys[1], size, start_us, width_us, columns)
    return (busy_us / 1e6).reshape(workers, PLACES, columns)


def bins_between(tasks: TaskTable, origin_s: float, start_s: float, stop_s: float) -> tuple[int, int, int]:
    """Return the first bin's start since the origin, the bins' width (both in microseconds), and how many they are at most."""
    width_us = max(round(nice_width(max(stop_s - start_s, 1e-3) / COLUMNS) * 1e6), 1)
    while True:
        first, last = (int((at_s - origin_s) * 1e6 // width_us) for at_s in (start_s, stop_s))
        finest_us = tasks.by_worker.finest_width_us(first * width_us, (last + 1) * width_us, tasks.first_row, width_us)
        if finest_us == width_us:
            return first * width_us, width_us, last - first + 1
        width_us = finest_us


def stays_of(aggregate: ClusterAggregate) -> tuple[NDArray[np.int64], Floats]:
    """Return the numbers of the workers that are known, and when each came, left (never: infinity), and its threads."""
    lives = aggregate.histories.all()
    numbers = np.array([life.joined.worker for life in lives], np.int64)
    rows = [
        (life.joined.at_s, life.left.at_s if life.left is not None else np.inf, life.joined.nthreads) for life in lives
    ]
    return numbers, np.array(rows, np.float64).reshape(-1, 3)


def budget_of(aggregate: ClusterAggregate, start_s: float, stop_s: float, *, is_exact: bool = False) -> Budget:
    """Return the budget of a span of time (since the epoch): in bins of a grid that doesn't move, up to now.

    The first and the last bin count whole, unless `is_exact`: then idle threads count only between the two times.
    """
    start_us, width_us, most = bins_between(aggregate.tasks, aggregate.started_at_s, start_s, stop_s)
    width_s = width_us / 1e6
    first_s = aggregate.started_at_s + start_us / 1e6
    now_s = max(aggregate.last_at_s, aggregate.tasks.stop_s)
    end_s = min(stop_s, now_s)
    columns = min(max(int(np.ceil((end_s - first_s) / width_s - 1e-9)), 0), most)
    numbers, stays = stays_of(aggregate)
    if is_exact:
        stays[:, 0], stays[:, 1] = np.maximum(stays[:, 0], start_s), np.minimum(stays[:, 1], stop_s)
    known = int(numbers.max(initial=-1)) + 1
    busy_s = busy_of(aggregate.tasks, aggregate.running, start_us, width_us, most, known)[:, :, :columns]
    threads_s = np.zeros((len(busy_s), columns))
    threads_s[numbers] = threads_time(stays, first_s, now_s, width_s, columns)
    runs = [
        (run.started_s, now_s if run.ended_s is None else run.ended_s)
        for run in aggregate.runs.newest_first()
        if run.started_s < end_s and (run.ended_s is None or run.ended_s > first_s)
    ]
    low_s = first_s + width_s * np.arange(columns)
    from_s, to_s = (start_s, min(stop_s, now_s)) if is_exact else (-np.inf, now_s)
    counted_s = np.clip(np.minimum(low_s + width_s, to_s) - np.maximum(low_s, from_s), 1e-9, None)
    shares = run_shares(runs, first_s, width_s, columns) * width_s / counted_s
    seconds = split(threads_s, busy_s, shares).sum(axis=0).T
    return Budget(np.asarray(first_s + width_s * np.arange(columns), np.float64), width_s, seconds)
