"""Where the time of the threads went: threads times wall clock, in parts that add up to all of it. Pure but for `BudgetBins`.

Threads compute, and move data: they read what other workers have made for their tasks. What a worker does beside them (publish, move, spill) is done by other threads; it takes from what its threads
have left while they don't compute, as they then wait for it or could. The rest is idle. So all parts of a worker together are
its threads times the time that it was there, in each bin of time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from glassloom_metrics.protocol import Action
from numpy.typing import NDArray

from glassloom_dashboards.aggregate import ClusterAggregate
from glassloom_dashboards.lod import Grid, busy_by_kind, column_of, nice_width
from glassloom_dashboards.task_table import TaskTable

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
_OWN, _BESIDE, _READY = slice(0, 2), slice(2, 5), 5
"""Places of what is counted: by the threads themselves, by others, and of tasks that are ready and haven't begun."""
_KINDS = 6
COLUMNS = 240
"""Bins in view at most."""
_ROOM = 512
"""Bins that are counted: those in view and some that are still to come."""

_PLACES = {
    Action.COMPUTE: 0,
    Action.TRANSFER: 2,
    Action.DEVICE_TO_HOST: 2,
    Action.HOST_TO_DEVICE: 2,
    Action.SERIALISE: 3,
    Action.SPILL_WRITE: 4,
    Action.SPILL_READ: 4,
}
_PLACE_OF_ACTION = np.array([_PLACES.get(Action(n), 2) if n in set(Action) else 2 for n in range(256)], np.int64)

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
        By worker, kind and bin: how long events took, and how long tasks were ready. Tasks that ran beyond the threads (after
        `secede`) count as threads of their own.
    run_share
        By bin: the share of it in which a run was under way.
    """
    busy_s = np.maximum(busy_s, 0.0)
    own_s, beside_s, ready_s = busy_s[:, _OWN], busy_s[:, _BESIDE], busy_s[:, _READY]
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
    engine_s = np.minimum(left_s, ready_s)
    unready_s = (left_s - engine_s) * np.clip(run_share, 0.0, 1.0)
    idle_s = np.maximum(left_s - engine_s - unready_s, 0.0)
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


class BudgetBins:
    """The busy seconds of a fixed grid of bins: while the grid stays, only new events are counted."""

    def __init__(self) -> None:
        self._grid: Grid | None = None
        self._table: TaskTable | None = None
        self._rows = 0
        self._busy_s = np.zeros((0, _KINDS, _ROOM))

    def busy(self, tasks: TaskTable, start_s: float, width_s: float, workers: int) -> Floats:
        """Return the busy seconds by worker number, part and bin, from `start_s`."""
        size = max(workers, int(tasks["worker"].max()) + 1 if len(tasks) else 0, 1)
        grid = Grid(start_s, width_s, _ROOM, 0, size, 1)
        same = self._grid is not None and (self._grid.start_s, self._grid.width_s) == (start_s, width_s)
        if not same or self._table is not tasks:
            self._table, self._rows = tasks, 0
            self._busy_s = np.zeros((0, _KINDS, _ROOM))
        self._grid = grid
        missing = size - len(self._busy_s)
        if missing > 0:
            self._busy_s = np.concatenate([self._busy_s, np.zeros((missing, *self._busy_s.shape[1:]))])
        if self._rows == 0:
            rows = tasks.rows_between(grid.start_s, grid.stop_s)
        else:
            rows = np.arange(max(self._rows, tasks.first_row), tasks.next_row)
        self._rows = tasks.next_row
        if len(rows):
            self._busy_s += _busy(tasks, rows, grid)
        return self._busy_s


def _busy(tasks: TaskTable, rows: NDArray[np.int64], grid: Grid) -> Floats:
    start_s, stop_s = tasks.take("start_s", rows), tasks.take("stop_s", rows)
    worker = tasks.take("worker", rows).astype(np.int64)
    place = _PLACE_OF_ACTION[tasks.take("action", rows)]
    begun_s = np.minimum(start_s + tasks.take("fetch_s", rows), stop_s)
    spans = [(place, begun_s, stop_s)]
    fetched = np.flatnonzero(begun_s > start_s)
    if len(fetched):
        spans.append((np.where(place[fetched] == 0, 1, place[fetched]), start_s[fetched], begun_s[fetched]))
    ready_s = tasks.take("ready_s", rows)
    waited = np.flatnonzero(ready_s > 0)
    if len(waited):
        spans.append((np.full(len(waited), _READY), start_s[waited] - ready_s[waited], start_s[waited]))
    of = [worker, worker[fetched], worker[waited]] if len(fetched) else [worker, worker[waited]]
    return sum((_count(who, *span, grid) for who, span in zip(of, spans, strict=False)), np.zeros(()))


def _count(worker: NDArray[np.int64], place: NDArray[np.int64], start_s: Floats, stop_s: Floats, grid: Grid) -> Floats:
    start_s = np.clip(start_s, grid.start_s, grid.stop_s)
    stop_s = np.clip(stop_s, start_s, grid.stop_s)
    first = column_of(start_s, grid)
    last = np.maximum(column_of(stop_s, grid), first)
    return busy_by_kind(worker * _KINDS + place, first, last, start_s, stop_s, grid, _KINDS)


def stays_of(aggregate: ClusterAggregate) -> tuple[NDArray[np.int64], Floats]:
    """Return the numbers of the workers that are known, and when each came, left (never: infinity), and its threads."""
    lives = aggregate.histories.all()
    numbers = np.array([life.joined.worker for life in lives], np.int64)
    rows = [
        (life.joined.at_s, life.left.at_s if life.left is not None else np.inf, life.joined.nthreads) for life in lives
    ]
    return numbers, np.array(rows, np.float64).reshape(-1, 3)


def budget_of(
    aggregate: ClusterAggregate, bins: BudgetBins, start_s: float, stop_s: float, *, is_exact: bool = False
) -> Budget:
    """Return the budget of a span of time (since the epoch): in bins of a grid that doesn't move, up to now.

    The first and the last bin count whole, unless `is_exact`: then idle threads count only between the two times.
    """
    width_s = nice_width(max(stop_s - start_s, 1e-3) / COLUMNS)
    origin_s = aggregate.started_at_s
    first_s = origin_s + np.floor((start_s - origin_s) / width_s) * width_s
    now_s = max(aggregate.last_at_s, aggregate.tasks.stop_s)
    end_s = min(stop_s, now_s)
    columns = max(int(np.ceil((end_s - first_s) / width_s - 1e-9)), 0)
    numbers, stays = stays_of(aggregate)
    if is_exact:
        stays[:, 0], stays[:, 1] = np.maximum(stays[:, 0], start_s), np.minimum(stays[:, 1], stop_s)
    busy_s = bins.busy(aggregate.tasks, first_s, width_s, int(numbers.max(initial=-1)) + 1)[:, :, :columns]
    threads_s = np.zeros((len(busy_s), columns))
    threads_s[numbers] = threads_time(stays, first_s, now_s, width_s, columns)
    runs = [
        (run.started_s, now_s if run.ended_s is None else run.ended_s)
        for run in aggregate.runs.newest_first()
        if run.started_s < end_s and (run.ended_s is None or run.ended_s > first_s)
    ]
    seconds = split(threads_s, busy_s, run_shares(runs, first_s, width_s, columns)).sum(axis=0).T
    return Budget(first_s + width_s * np.arange(columns), width_s, seconds)
