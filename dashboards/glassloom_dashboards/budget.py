"""Where the time of the threads went: threads times wall clock, in parts that add up to all of it. Pure but for `BudgetBins`.

Threads compute, and move data: they read what other workers have made for their tasks. What a worker does beside them (publish, move, spill) is done by other threads; it takes from what its threads
have left while they don't compute, as they then wait for it or could. The rest is idle. So all parts of a worker together are
its threads times the time that it was there, in each bin of time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from glassloom_metrics.protocol import Action
from numpy.typing import NDArray

from glassloom_dashboards.aggregate import ClusterAggregate, TaskTable
from glassloom_dashboards.lod import Grid, busy_by_kind, column_of, nice_width

PARTS = ("compute", "transfer", "publish", "spill", "idle")
WORDS = {
    "compute": "compute",
    "transfer": "move data",
    "publish": "publish results",
    "spill": "spill and read back",
    "idle": "idle",
}
COLUMNS = 240
"""Bins in view at most."""
_ROOM = 512
"""Bins that are counted: those in view and some that are still to come."""

_PLACES = {
    Action.COMPUTE: 0,
    Action.TRANSFER: 1,
    Action.DEVICE_TO_HOST: 1,
    Action.HOST_TO_DEVICE: 1,
    Action.SERIALISE: 2,
    Action.SPILL_WRITE: 3,
    Action.SPILL_READ: 3,
}
_PLACE_OF_ACTION = np.array([_PLACES.get(Action(n), 1) if n in set(Action) else 1 for n in range(256)], np.int64)

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


def split(threads_s: Floats, busy_s: Floats) -> Floats:
    """Return the parts of each worker and bin, all at least 0, that add up to its threads' time.

    Parameters
    ----------
    threads_s
        By worker and bin: threads times the time that the worker was there.
    busy_s
        By worker, part (without idle) and bin: how long events took. Tasks that ran beyond the threads (after `secede`) count
        as threads of their own.
    """
    ran_s = np.maximum(busy_s[:, 0], 0.0)
    left_s = np.maximum(threads_s - ran_s, 0.0)
    beside_s = np.maximum(busy_s[:, 1:], 0.0)
    read_s = np.minimum(beside_s[:, 0], ran_s)  # tasks read their inputs while they run
    beside_s[:, 0] -= read_s
    wanted_s = beside_s.sum(axis=1)
    fits = np.minimum(left_s / np.maximum(wanted_s, 1e-12), 1.0)
    beside_s = beside_s * fits[:, np.newaxis]
    idle_s = np.maximum(left_s - beside_s.sum(axis=1), 0.0)
    beside_s[:, 0] += read_s
    return np.concatenate([(ran_s - read_s)[:, np.newaxis], beside_s, idle_s[:, np.newaxis]], axis=1)


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
        self._busy_s = np.zeros((0, len(PARTS) - 1, _ROOM))

    def busy(self, tasks: TaskTable, start_s: float, width_s: float, workers: int) -> Floats:
        """Return the busy seconds by worker number, part and bin, from `start_s`."""
        size = max(workers, int(tasks["worker"].max()) + 1 if len(tasks) else 0, 1)
        grid = Grid(start_s, width_s, _ROOM, 0, size, 1)
        same = self._grid is not None and (self._grid.start_s, self._grid.width_s) == (start_s, width_s)
        if not same or self._table is not tasks:
            self._table, self._rows = tasks, 0
            self._busy_s = np.zeros((0, len(PARTS) - 1, _ROOM))
        self._grid = grid
        missing = size - len(self._busy_s)
        if missing > 0:
            self._busy_s = np.concatenate([self._busy_s, np.zeros((missing, *self._busy_s.shape[1:]))])
        if self._rows == 0:
            rows = tasks.rows_between(grid.start_s, grid.stop_s)
        else:
            rows = np.arange(self._rows, len(tasks))
        self._rows = len(tasks)
        if len(rows):
            self._busy_s += _busy(tasks, rows, grid)
        return self._busy_s


def _busy(tasks: TaskTable, rows: NDArray[np.int64], grid: Grid) -> Floats:
    start_s = np.clip(tasks["start_s"][rows], grid.start_s, grid.stop_s)
    stop_s = np.clip(tasks["stop_s"][rows], start_s, grid.stop_s)
    first = column_of(start_s, grid)
    last = np.maximum(column_of(stop_s, grid), first)
    kinds = len(PARTS) - 1
    series = tasks["worker"][rows].astype(np.int64) * kinds + _PLACE_OF_ACTION[tasks["action"][rows]]
    return busy_by_kind(series, first, last, start_s, stop_s, grid, kinds)


def stays_of(aggregate: ClusterAggregate) -> tuple[NDArray[np.int64], Floats]:
    """Return the numbers of the workers that are known, and when each came, left (never: infinity), and its threads."""
    lives = aggregate.histories.all()
    numbers = np.array([life.joined.worker for life in lives], np.int64)
    rows = [
        (life.joined.at_s, life.left.at_s if life.left is not None else np.inf, life.joined.nthreads) for life in lives
    ]
    return numbers, np.array(rows, np.float64).reshape(-1, 3)


def budget_of(aggregate: ClusterAggregate, bins: BudgetBins, start_s: float, stop_s: float) -> Budget:
    """Return the budget of a span of time (since the epoch): in whole bins of a grid that doesn't move, up to now."""
    width_s = nice_width(max(stop_s - start_s, 1e-3) / COLUMNS)
    origin_s = aggregate.started_at_s
    first_s = origin_s + np.floor((start_s - origin_s) / width_s) * width_s
    now_s = max(aggregate.last_at_s, aggregate.tasks.stop_s)
    end_s = min(stop_s, now_s)
    columns = max(int(np.ceil((end_s - first_s) / width_s - 1e-9)), 0)
    numbers, stays = stays_of(aggregate)
    busy_s = bins.busy(aggregate.tasks, first_s, width_s, int(numbers.max(initial=-1)) + 1)[:, :, :columns]
    threads_s = np.zeros((len(busy_s), columns))
    threads_s[numbers] = threads_time(stays, first_s, now_s, width_s, columns)
    seconds = split(threads_s, busy_s).sum(axis=0).T
    return Budget(first_s + width_s * np.arange(columns), width_s, seconds)
