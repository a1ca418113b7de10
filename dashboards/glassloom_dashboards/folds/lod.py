"""Level of detail of the task stream: which rectangles to draw for what is on screen. Pure; it knows no colours.

Few events in view are drawn singly. More of them are drawn in bins of time, on a fixed grid, so that bins don't crawl while new
events arrive, and by groups of neighbouring lanes where there are more lanes than rows of pixels. The bins are sums of those
of the task table's pyramid, so that a frame costs as much as it has bins, not as there are events.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from glassloom_dashboards.folds.bins import KIND_BITS, Spans, busy_by_column, sum_by
from glassloom_dashboards.folds.pyramid import ACTION_BITS, Gathered
from glassloom_dashboards.folds.pyramid import OTHER_KIND as OTHER_KIND
from glassloom_dashboards.folds.task_table import TaskTable

MAX_SINGLE_EVENTS = 2000
"""More events than these are drawn in bins: with a page's models they must fit into 200 KB, and a screen has about as many columns."""
MAX_LOOKED_AT = 2**18
"""More events than these in the time on screen are not looked at one by one."""
MAX_BINS = 3000
MAX_BIN_ROWS = 80
MAX_BIN_COLUMNS = 400
MAX_KINDS = 128
"""Of more kinds in view (names of layers, and actions) the rarest count together, by action: see `OTHER_KIND`."""
LONG_COLUMNS = 4
"""An event that is at least so many bins long can be drawn by itself among bins;"""
MAX_LONG = 250
"""at most so many are."""

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

    ``tasks`` counts each event once, where its middle is; ``busy_s`` is the time that events spend in the bin, ``failed`` how
    many of ``tasks`` failed.
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
    """Equal bins: `columns` of `width_us`, from number `first` since `origin_s`, and rows of `lanes_a_row` lanes from lane `low`."""

    origin_s: float
    width_us: int
    first: int
    columns: int
    low: int
    high: int
    lanes_a_row: int

    @property
    def rows(self) -> int:
        return -(-(self.high - self.low) // self.lanes_a_row)

    @property
    def width_s(self) -> float:
        return self.width_us / 1e6

    @property
    def start_us(self) -> int:
        return self.first * self.width_us

    @property
    def stop_us(self) -> int:
        return (self.first + self.columns) * self.width_us

    @property
    def start_s(self) -> float:
        return self.origin_s + self.start_us / 1e6

    @property
    def stop_s(self) -> float:
        return self.origin_s + self.stop_us / 1e6


def rows_in_view(tasks: TaskTable, lane_of_thread: Integers, view: View, lanes: int) -> Integers | None:
    """Return the numbers of the events that are on screen, in recorded order; None if they are too many, or not all kept.

    ``lanes`` is the number of all lanes, of which those that never ran anything are in no event; threads without a lane
    (`NO_LANE`) are not on screen.
    """
    rows = tasks.few_rows_between(view.start_s, view.stop_s, MAX_LOOKED_AT)
    if rows is None:
        return None
    if view.low > 0 or view.high < lanes or (lane_of_thread < 0).any():
        lane = lane_of_thread[tasks.take("thread", rows)]
        rows = rows[(lane >= view.low) & (lane < view.high)]
    return rows if len(rows) <= MAX_SINGLE_EVENTS else None


def grid_for(view: View, origin_s: float, width_us: int = 1) -> Grid:
    """Return the grid for `view`: widths are 1, 2 or 5 times a power of ten, edges whole multiples from `origin_s`.

    The width is at least `width_us`.
    """
    lanes = max(view.high - view.low, 1)
    lanes_a_row = -(-lanes // MAX_BIN_ROWS)
    rows = -(-lanes // lanes_a_row)
    columns = max(min(MAX_BINS // rows, MAX_BIN_COLUMNS), 2)
    span_us = max((view.stop_s - view.start_s) * 1e6, 1.0)
    width_us = max(round(nice_width(span_us / (columns - 1))), width_us)
    first = int((view.start_s - origin_s) * 1e6 // width_us)
    last = int((view.stop_s - origin_s) * 1e6 // width_us)
    return Grid(origin_s, width_us, first, last - first + 1, view.low, view.low + lanes, lanes_a_row)


def allowed_grid(tasks: TaskTable, view: View) -> Grid:
    """Return the grid for `view` with bins as narrow as the pyramid has them there."""
    grid, width_us = grid_for(view, tasks.origin_s), 0
    while width_us != grid.width_us:  # wider bins begin earlier and end later
        width_us = grid.width_us
        finest_us = tasks.pyramid.finest_width_us(grid.start_us, grid.stop_us, tasks.first_row, width_us)
        grid = grid_for(view, tasks.origin_s, finest_us)
    return grid


def bins_in_view(tasks: TaskTable, lane_of_thread: Integers, view: View) -> tuple[Bins, Grid, bool]:
    """Return the bins of what is on screen, their grid, and whether its bins are wider than they should be.

    That is so where nothing finer is kept: see `Pyramid`.
    """
    gathered, grid, is_coarse = _gathered_in_view(tasks, view)
    return _bins(gathered, tasks, lane_of_thread, grid), grid, is_coarse


def bins_beside_long(tasks: TaskTable, lane_of_thread: Integers, view: View) -> tuple[Bins, Grid, bool, Integers]:
    """Return what `bins_in_view` does, but without events that are long beside the bins, and the rows of those.

    In bins they would look like many short events.
    """
    gathered, grid, is_coarse = _gathered_in_view(tasks, view)
    is_long = _are_long(gathered.spans, lane_of_thread, grid) & (gathered.spans.row >= tasks.first_row)
    short = replace(gathered, spans=gathered.spans.take(~is_long))
    rows = np.sort(gathered.spans.row[is_long])
    return _bins(short, tasks, lane_of_thread, grid), grid, is_coarse, rows


def _gathered_in_view(tasks: TaskTable, view: View) -> tuple[Gathered, Grid, bool]:
    wanted, grid = grid_for(view, tasks.origin_s), allowed_grid(tasks, view)
    gathered = tasks.pyramid.gather(grid.start_us, grid.stop_us, tasks.first_row, tasks.next_row, grid.width_us)
    return gathered, grid, grid.width_us > wanted.width_us


def _are_long(spans: Spans, lane_of_thread: Integers, grid: Grid) -> NDArray[np.bool_]:
    """Tell which spans are drawn by themselves: the longest, where a row of bins is one lane."""
    duration_us = spans.stop_us - spans.start_us
    is_long = (duration_us >= LONG_COLUMNS * grid.width_us) & (_rows_of(spans.key, lane_of_thread, grid) >= 0)
    is_long &= grid.lanes_a_row == 1
    if np.count_nonzero(is_long) > MAX_LONG:
        places = np.flatnonzero(is_long)
        is_long[places[np.argpartition(-duration_us[places], MAX_LONG)[MAX_LONG:]]] = False
    return is_long


def _bins(gathered: Gathered, tasks: TaskTable, lane_of_thread: Integers, grid: Grid) -> Bins:
    """Sum up what was gathered in the bins of `grid`."""
    in_rows = _rows_of(gathered.bins.key, lane_of_thread, grid)
    binned, bin_row = gathered.bins.take(in_rows >= 0), in_rows[in_rows >= 0]
    of_spans = _rows_of(gathered.spans.key, lane_of_thread, grid)
    spans, span_row = gathered.spans.take(of_spans >= 0), of_spans[of_spans >= 0]
    mask = (1 << KIND_BITS) - 1
    weights = sum_by(binned.key & mask, binned.busy_us + 1, tasks.pyramid.n_kinds)
    weights += sum_by(spans.key & mask, spans.stop_us - spans.start_us + 1, tasks.pyramid.n_kinds)
    kinds, place_of_number = _main_kinds(weights, tasks)

    column = binned.column * gathered.width_us // grid.width_us - grid.first
    cell = bin_row * grid.columns + column
    size = grid.rows * grid.columns
    events = sum_by(cell, binned.events, size)
    failed = sum_by(cell, binned.failed, size)
    series = place_of_number[binned.key & mask] * grid.rows + bin_row
    busy_us = sum_by(series * grid.columns + column, binned.busy_us, size * len(kinds))
    _count_spans(spans, span_row, events, failed, grid)
    series = place_of_number[spans.key & mask] * grid.rows + span_row
    busy_us += busy_by_column(spans, series, size * len(kinds), grid.start_us, grid.width_us, grid.columns)

    busy_us = busy_us.reshape(len(kinds), size)
    total_us = busy_us.sum(axis=0)
    used = np.flatnonzero((events > 0) | (total_us > 0))
    low = grid.low + (used // grid.columns) * grid.lanes_a_row
    start_s = grid.origin_s + (grid.first + used % grid.columns) * grid.width_us / 1e6
    return Bins(
        start_s=start_s,
        stop_s=start_s + grid.width_s,
        low=low,
        high=np.minimum(low + grid.lanes_a_row, grid.high),
        kind=kinds[_place_of_most(busy_us)[used]],
        tasks=events[used].astype(np.int64),
        failed=failed[used].astype(np.int64),
        busy_s=total_us[used] / 1e6,
    )


def _place_of_most(values: Floats) -> Integers:
    """Return the row that has the highest value of each column; much faster than `argmax` for few rows."""
    most, place = values[0], np.zeros(values.shape[1], np.int64)
    for row in range(1, len(values)):
        is_more = values[row] > most
        place[is_more] = row
        most = np.maximum(most, values[row])
    return place


def _rows_of(key: Integers, lane_of_thread: Integers, grid: Grid) -> Integers:
    """Return the grid's row for each key, -1 if its lane isn't in the grid."""
    lane = lane_of_thread[key >> KIND_BITS]
    return np.where((lane >= grid.low) & (lane < grid.high), (lane - grid.low) // grid.lanes_a_row, -1)


def _main_kinds(weights: Floats, tasks: TaskTable) -> tuple[Integers, Integers]:
    """Return the kinds that weigh anything, and the place among them of each number of a kind.

    Layers of one name are one kind. If kinds are many, the lightest are `OTHER_KIND` with their action.
    """
    numbers = np.flatnonzero(weights)
    numbers = numbers if len(numbers) else np.zeros(1, np.int64)
    kinds, place = np.unique(tasks.named(tasks.pyramid.kinds(numbers)), return_inverse=True)
    if len(kinds) > MAX_KINDS:
        lightest = np.argsort(np.bincount(place, weights[numbers]))[: 1 + len(kinds) - MAX_KINDS]
        kinds[lightest] = OTHER_KIND | kinds[lightest] & (1 << ACTION_BITS) - 1
        kinds, again = np.unique(kinds, return_inverse=True)
        place = again[place]
    place_of_number = np.zeros(len(weights), np.int64)
    place_of_number[numbers] = place
    return kinds, place_of_number


def _count_spans(spans: Spans, row: Integers, tasks: Floats, failed: Floats, grid: Grid) -> None:
    """Add spans to the counts of the bins that have their middle."""
    column = (spans.start_us + spans.stop_us) // 2 // grid.width_us - grid.first
    inside = np.flatnonzero((column >= 0) & (column < grid.columns))
    cell = row[inside] * grid.columns + column[inside]
    tasks += np.bincount(cell, minlength=len(tasks))
    failed += np.bincount(cell[spans.failed[inside]], minlength=len(failed))


def nice_width(at_least_s: float) -> float:
    """Return the least of 1, 2, 5 times a power of ten that is `at_least_s`."""
    power = 10.0 ** np.floor(np.log10(at_least_s))
    return float(next(power * step for step in (1, 2, 5, 10) if power * step >= at_least_s * (1 - 1e-9)))
