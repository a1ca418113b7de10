"""Level of detail of the task stream: which rectangles to draw for what is on screen. Pure; it knows no colours.

Few events in view are drawn singly. More of them are binned in time on a fixed grid, so that bins don't crawl while new
events arrive, and by groups of neighbouring lanes where there are more lanes than rows of pixels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from glassloom_dashboards.task_table import TaskTable

MAX_SINGLE_EVENTS = 4000
MAX_BINS = 3000
MAX_BIN_ROWS = 80
MAX_BIN_COLUMNS = 400
MAX_KINDS = 512
OTHER_KIND = -1
ACTION_BITS = 8
"""A kind is ``layer << ACTION_BITS | action``; bins of more than `MAX_KINDS` kinds count the rarest as `OTHER_KIND`."""

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class View:
    """What is on screen: times in seconds since the epoch, and the lanes `low` <= lane < `high`."""

    start_s: float
    stop_s: float
    low: int
    high: int


@dataclass(frozen=True)
class Bins:
    """Bins that hold anything, one element each: place, dominant kind, and sums over the events in them.

    ``tasks`` counts each event once (where its visible part has its middle), so that bins add up to the events in
    view; ``busy_s`` is the time that events spend in the bin, ``failed`` how many of ``tasks`` failed.
    """

    start_s: Floats
    stop_s: Floats
    low: Integers
    high: Integers
    kind: Integers
    tasks: Integers
    failed: Integers
    busy_s: Floats

    @property
    def utilisation(self) -> Floats:
        """The busy share of each bin, from 0 to 1."""
        return np.minimum(self.busy_s / ((self.stop_s - self.start_s) * (self.high - self.low)), 1.0)


@dataclass(frozen=True)
class Grid:
    """Equal bins: `columns` of `width_s` from `start_s`, and `rows` of `lanes_a_row` lanes from lane `low`."""

    start_s: float
    width_s: float
    columns: int
    low: int
    high: int
    lanes_a_row: int

    @property
    def rows(self) -> int:
        return -(-(self.high - self.low) // self.lanes_a_row)

    @property
    def stop_s(self) -> float:
        return self.start_s + self.width_s * self.columns


def kinds_of(layer: NDArray[np.uint32], action: NDArray[np.uint8]) -> Integers:
    """Return the kind of each event: its layer and action in one number."""
    return (layer.astype(np.int64) << ACTION_BITS) | action


def rows_in_view(tasks: TaskTable, lane_of_thread: Integers, view: View, lanes: int) -> Integers:
    """Return the numbers of the events that are on screen, in recorded order.

    ``lanes`` is the number of all lanes, of which those that never ran anything are in no event; threads without a lane
    (`NO_LANE`) are not on screen.
    """
    rows = tasks.rows_between(view.start_s, view.stop_s)
    if view.low <= 0 and view.high >= lanes and (lane_of_thread >= 0).all():
        return rows
    lane = lane_of_thread[tasks.take("thread", rows)]
    return rows[(lane >= view.low) & (lane < view.high)]


def grid_for(view: View, origin_s: float) -> Grid:
    """Return the grid for `view`: widths are 1, 2 or 5 times a power of ten, edges whole multiples from `origin_s`."""
    lanes = max(view.high - view.low, 1)
    lanes_a_row = -(-lanes // MAX_BIN_ROWS)
    rows = -(-lanes // lanes_a_row)
    columns = max(min(MAX_BINS // rows, MAX_BIN_COLUMNS), 2)
    span_s = max(view.stop_s - view.start_s, 1e-9)
    width_s = nice_width(span_s / (columns - 1))
    first = np.floor((view.start_s - origin_s) / width_s)
    last = np.floor((view.stop_s - origin_s) / width_s)
    return Grid(
        origin_s + float(first) * width_s, width_s, int(last - first) + 1, view.low, view.low + lanes, lanes_a_row
    )


def nice_width(at_least_s: float) -> float:
    """Return the least of 1, 2, 5 times a power of ten that is `at_least_s`."""
    power = 10.0 ** np.floor(np.log10(at_least_s))
    return float(next(power * step for step in (1, 2, 5, 10) if power * step >= at_least_s * (1 - 1e-9)))


def bin_events(tasks: TaskTable, lane_of_thread: Integers, grid: Grid, lanes: int) -> Bins:
    """Return the bins of `grid` for all events in it; ``lanes`` is the number of all lanes."""
    view = View(grid.start_s, grid.stop_s, grid.low, grid.high)
    rows = rows_in_view(tasks, lane_of_thread, view, lanes)
    whole = len(rows) == len(tasks)

    def taken(name: str) -> NDArray:
        return tasks[name] if whole else tasks.take(name, rows)

    kinds, place_of_kind = _main_kinds(kinds_of(taken("layer"), taken("action")))
    start_s = np.maximum(taken("start_s"), grid.start_s)
    stop_s = np.maximum(np.minimum(taken("stop_s"), grid.stop_s), start_s)
    row = (lane_of_thread[taken("thread")] - grid.low) // grid.lanes_a_row
    columns = grid.columns
    first = column_of(start_s, grid)
    last = np.maximum(column_of(stop_s, grid), first)

    tasks_in_bin, failed_in_bin = _counts(row * columns + (first + last) // 2, taken("ok"), grid.rows * columns)
    busy_s = busy_by_kind(row * len(kinds) + place_of_kind, first, last, start_s, stop_s, grid, len(kinds))
    total_s = busy_s.sum(axis=1).ravel()
    dominant = kinds[busy_s.argmax(axis=1).ravel()] if len(kinds) else np.empty(0, np.int64)

    used = np.flatnonzero((tasks_in_bin > 0) | (total_s > 0))
    low = grid.low + (used // columns) * grid.lanes_a_row
    bin_start_s = np.asarray(grid.start_s + (used % columns) * grid.width_s, np.float64)
    return Bins(
        start_s=bin_start_s,
        stop_s=bin_start_s + grid.width_s,
        low=low,
        high=np.minimum(low + grid.lanes_a_row, grid.high),
        kind=dominant[used],
        tasks=tasks_in_bin[used],
        failed=failed_in_bin[used],
        busy_s=total_s[used],
    )


def column_of(at_s: Floats, grid: Grid) -> Integers:
    """Return the column of the grid that each time is in."""
    columns = ((at_s - grid.start_s) / grid.width_s).astype(np.int64)
    return np.clip(columns, 0, grid.columns - 1)


def _main_kinds(kinds: Integers) -> tuple[Integers, Integers]:
    """Return the distinct kinds (at most `MAX_KINDS`, the rest as `OTHER_KIND`) and each event's place among them."""
    if not len(kinds):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    top = int(kinds.max())
    if top < 4 * len(kinds) + 4096:  # a look-up table is much faster than sorting
        counts = np.bincount(kinds, minlength=top + 1)
        distinct = np.flatnonzero(counts)
        table = np.zeros(top + 1, np.int64)
        table[distinct] = np.arange(len(distinct))
        places, counts = table[kinds], counts[distinct]
    else:
        distinct, places, counts = np.unique(kinds, return_inverse=True, return_counts=True)
    if len(distinct) <= MAX_KINDS:
        return distinct, places
    kept = np.sort(np.argsort(counts)[-(MAX_KINDS - 1) :])
    new_place = np.full(len(distinct), MAX_KINDS - 1)
    new_place[kept] = np.arange(MAX_KINDS - 1)
    return np.append(distinct[kept], OTHER_KIND), new_place[places]


def _counts(cells: Integers, ok: NDArray[np.uint8], size: int) -> tuple[Integers, Integers]:
    return np.bincount(cells, minlength=size), np.bincount(cells[ok == 0], minlength=size)


def busy_by_kind(
    series: Integers, first: Integers, last: Integers, start_s: Floats, stop_s: Floats, grid: Grid, kinds: int
) -> Floats:
    """Return the busy seconds by row, kind and column; an event over several columns is shared among them."""
    columns, width_s = grid.columns, grid.width_s
    shape = (grid.rows, kinds, columns)
    size = grid.rows * kinds * columns
    several = np.flatnonzero(first < last)
    in_first_s = stop_s - start_s
    in_first_s[several] = grid.start_s + (first[several] + 1) * width_s - start_s[several]
    in_first = np.bincount(series * columns + first, np.maximum(in_first_s, 0.0), minlength=size)
    busy_s = in_first.astype(np.float64, copy=False).reshape(shape)
    if len(several):
        in_last_s = np.maximum(stop_s[several] - (grid.start_s + last[several] * width_s), 0.0)
        line = series[several] * columns
        busy_s = busy_s + np.bincount(line + last[several], in_last_s, minlength=size).reshape(shape)
        # Whole columns between the first and the last: +1 where they begin, -1 where they end, summed along the row.
        whole = np.bincount(line + first[several] + 1, minlength=size) - np.bincount(
            line + last[several], minlength=size
        )
        busy_s = busy_s + np.cumsum(whole.reshape(shape), axis=2) * width_s
    return busy_s
