"""The task events of a cluster, as columns. It has no clock, socket or viewer."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from glassloom_metrics.protocol import PUBLISH_LANE, Action
from numpy.typing import NDArray

from glassloom_dashboards.folds import task_waits
from glassloom_dashboards.folds.bins import Spans, microseconds
from glassloom_dashboards.folds.deferred import ROWS_AT_ONCE, DeferredFold
from glassloom_dashboards.folds.event_columns import Values
from glassloom_dashboards.folds.grouping import distinct_of
from glassloom_dashboards.folds.growing import GrowingTable
from glassloom_dashboards.folds.growing_texts import GrowingTexts
from glassloom_dashboards.folds.pyramid import ACTION_BITS as ACTION_BITS
from glassloom_dashboards.folds.pyramid import Pyramid, parts_between_pauses
from glassloom_dashboards.folds.same_names import SameNames
from glassloom_dashboards.folds.task_index import TaskIndex
from glassloom_dashboards.folds.worker_spans import worker_spans

RUN_GAP_S = 2.0
"""After so long without any event, the next one begins a new run."""
DATA_LANE = PUBLISH_LANE
"""The lane of a worker for what its threads don't do: publishing, spilling, moving data."""
_EVENT_DTYPES = {
    "layer": "<u4",
    "action": "u1",
    "ok": "u1",
    "start_s": "<f8",
    "stop_s": "<f8",
    "nbytes": "<f4",
    "thread": "<u4",
    "held_up_s": "<f2",
} | task_waits.DTYPES
"""What is kept of task events: 49 bytes a row, beside their texts and two bytes for finding them.

``held_up_s`` is for how long before it began a computed task was ready while the thread that ran it was free.
"""
_BLOCK_ROWS = 8192
"""So many rows are put in bins together; those after them are looked at one by one."""
MAX_ROWS = 2**21
"""How many rows are kept, the newest: with their texts they take about 128 MiB, and there may be several clusters."""
_MAX_SHORT = 2**16 - 1
_DROPPED_ROWS = 2**18
"""How many rows are dropped at once, as those that stay are moved."""


def kinds_of(layer: NDArray[np.uint32], action: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the kind of each event: its layer and action in one number."""
    return (layer.astype(np.int64) << ACTION_BITS) | action


def event_columns(values: Values, n_rows: int) -> dict[str, NDArray[Any]]:
    """Return what `TaskTable.extend` needs of rows, but waits, of what `values_of` returns for them."""
    names = ("layer", "worker", "lane", "action", "ok", "start_s", "nbytes")
    columns = {name: np.broadcast_to(values[name], n_rows) for name in names}
    return columns | {"stop_s": columns["start_s"] + values["duration_s"]}


def _by_thread_and_start(thread: NDArray[np.uint32], start_s: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the order of rows by thread and then start. Most come in the order of their threads' starts: that costs less."""
    if int(thread.max(initial=0)) > _MAX_SHORT:
        return np.lexsort((start_s, thread))
    order = np.argsort(thread.astype(np.uint16), kind="stable")  # in time linear in the rows
    of_order, at_s = thread[order], start_s[order]
    is_early = (of_order[1:] == of_order[:-1]) & (at_s[1:] < at_s[:-1])
    if not is_early.any():
        return order
    is_mixed = np.zeros(int(of_order[-1]) + 1, bool)
    is_mixed[of_order[1:][is_early]] = True
    places = np.flatnonzero(is_mixed[of_order])
    mixed = order[places]
    order[places] = mixed[np.lexsort((start_s[mixed], thread[mixed]))]
    return order


class TaskTable:
    """The task events of a cluster as columns (see `TaskEvents`; ``thread`` numbers the pairs of worker and lane).

    What isn't computing is in the worker's `DATA_LANE`: other threads do it, over what the workers' own do meanwhile.

    Attributes
    ----------
    start_s, stop_s
        The earliest start and the latest stop of all events.
    latest_run_start_s
        When the work since the last pause of `RUN_GAP_S` began.
    first_row
        The number of the oldest row that is kept. Rows are numbered from 0 and keep their numbers for ever; only the newest
        `MAX_ROWS` or some more are kept. Who refers to rows by number compares with this to learn that some have gone.
    index
        The texts of rows, by their numbers.
    pyramid
        Bins of all events, also of rows that have gone. The series is the thread, the kind as in `kinds_of`, with the layer that
        stands for those of its name, as far as names were known then.
    names
        Which layers have the same name.
    deferred
        What else is made of the rows, by name. It is brought up to date when it is asked for; who opens a page of a long history
        doesn't wait for what that page doesn't show.

    Parameters
    ----------
    origin_s
        When times of bins begin to count.
    """

    def __init__(self, origin_s: float = 0.0) -> None:
        self._events = GrowingTable(_EVENT_DTYPES)
        self.origin_s = origin_s
        self.pyramid = Pyramid(self.spans)
        self._by_worker = Pyramid(self._worker_spans)
        self.names = SameNames()
        self._threads: dict[int, int] = {}
        self._workers = np.empty(0, np.uint32)  # by thread
        self._thread_start_s = np.empty(0)
        self._thread_stop_s = np.empty(0)
        self.index = GrowingTexts()
        self._finder = TaskIndex()
        self.first_row = 0
        self._binned = 0
        self.deferred = {
            "finder": DeferredFold(self._add_to_finder),
            "by_worker": DeferredFold(partial(self._add_bins, self._by_worker), _BLOCK_ROWS),
        }
        self.start_s = np.inf
        self.stop_s = -np.inf
        self.latest_run_start_s = 0.0
        self._pause_s = -np.inf  # until when there was work before the last pause
        self.compute_tasks = 0

    def __len__(self) -> int:
        """Return how many rows are kept."""
        return len(self._events)

    @property
    def next_row(self) -> int:
        """The number that the next row will have: how many there have been."""
        return self.first_row + len(self._events)

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Return a column of all rows that are kept; its first element is row number `first_row`."""
        return self.between(name, self.first_row, self.next_row)

    def between(self, name: str, first: int, stop: int) -> NDArray[Any]:
        """Return a column's values of the rows from number `first` to before `stop`, none of which may have gone."""
        return self._values(name, slice(first - self.first_row, stop - self.first_row))

    def _values(self, name: str, places: Any) -> NDArray[Any]:
        if name == "worker":
            return self._workers[self._events["thread"][places]]
        return self._events[name][places]

    def take(self, name: str, rows: NDArray[np.int64]) -> NDArray[Any]:
        """Return a column's values of rows by number, none of which may have gone."""
        return self._values(name, rows - self.first_row)

    @property
    def threads(self) -> list[tuple[int, int]]:
        """The (worker, lane) pairs seen so far, in order of appearance; a row's ``thread`` is a place in this list."""
        return [(code >> 16, code & 0xFFFF) for code in self._threads]

    def extend(self, columns: dict[str, NDArray[Any]], index: list[str]) -> None:
        """Append events: the protocol's columns as arrays, and their index texts."""
        if not index:
            return
        thread = self._threads_of(columns)
        waits = dict.fromkeys(task_waits.DTYPES, np.broadcast_to(0.0, len(index))) | columns
        free_s = columns["start_s"] - self._stops_before(thread, columns["start_s"], columns["stop_s"])
        waits["held_up_s"] = np.clip(free_s, 0.0, waits["ready_s"])
        self._note_times(thread, columns["start_s"], columns["stop_s"])
        self._events.extend(waits | {"thread": thread})
        self.index.extend(index)
        self._note_pauses(columns["start_s"], columns["stop_s"])
        self.start_s = min(self.start_s, float(columns["start_s"].min()))
        self.stop_s = max(self.stop_s, float(columns["stop_s"].max()))
        self.compute_tasks += int(np.count_nonzero(columns["action"] == Action.COMPUTE))
        while self.next_row - self._binned >= _BLOCK_ROWS:
            self._add_bins(self.pyramid, self._binned, self._binned + _BLOCK_ROWS)
            self._binned += _BLOCK_ROWS
        if len(self) >= MAX_ROWS + _DROPPED_ROWS:
            self._drop(_DROPPED_ROWS)

    def _threads_of(self, columns: dict[str, NDArray[Any]]) -> NDArray[np.uint32]:
        """Return the thread of each row; one that is new gets a number."""
        lane = np.where(columns["action"] == Action.COMPUTE, columns["lane"], DATA_LANE).astype(np.int64)
        place = (lane + 1) & 0xFFFF  # small numbers, with `DATA_LANE` as 0
        width = int(place.max()) + 1
        distinct, inverse = distinct_of(columns["worker"].astype(np.int64) * width + place)
        codes = (distinct // width << 16 | (distinct % width - 1) & 0xFFFF).tolist()
        numbers = [self._threads.setdefault(code, len(self._threads)) for code in codes]
        if len(self._threads) > len(self._workers):
            self._workers = np.array([code >> 16 for code in self._threads], np.uint32)
        return np.array(numbers, np.uint32)[inverse]

    def _add_bins(self, pyramid: Pyramid, first: int, stop: int) -> None:
        """Put rows into bins, in blocks that begin with a multiple of `_BLOCK_ROWS`."""
        for block in range(first, stop, _BLOCK_ROWS):
            block_stop = min(block + _BLOCK_ROWS, stop)
            stop_us = microseconds(self.between("stop_s", block, block_stop), self.origin_s)
            for begin, end in parts_between_pauses(stop_us):
                pyramid.add(block + begin, block + end)

    def _add_to_finder(self, first: int, stop: int) -> None:
        self._finder.add(self.between("layer", first, stop), first)

    @property
    def finder(self) -> TaskIndex:
        """Where the rows of a layer are: see `task_finding`."""
        self.deferred["finder"].reach(self.next_row)
        return self._finder

    @property
    def by_worker(self) -> Pyramid:
        """Bins of all events by worker, also of rows that have gone: see `worker_spans`."""
        self.deferred["by_worker"].reach(self.next_row)
        return self._by_worker

    @property
    def n_behind(self) -> int:
        """How many rows the deferred folds lack, those of the one that lacks most."""
        return self.next_row - min(fold.row for fold in self.deferred.values())

    def catch_up(self) -> None:
        """Bring one of the deferred folds nearer to the newest row: a piece of work that takes some milliseconds."""
        last = min(self.deferred.values(), key=lambda fold: fold.row)
        last.reach(min(last.row + ROWS_AT_ONCE, self.next_row))

    def _drop(self, count: int) -> None:
        """Forget the oldest rows; `count` is a multiple of `_BLOCK_ROWS`."""
        for fold in self.deferred.values():
            fold.reach(self.first_row + count)
        self._events.drop(count)
        self.first_row += count
        self.index.drop_before(self.first_row)
        self._finder.drop_before(self.first_row)
        for pyramid in (self.pyramid, self._by_worker):
            pyramid.limit(self.first_row)

    def _stops_before(
        self, thread: NDArray[np.uint32], start_s: NDArray[np.float64], stop_s: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return for each of the rows that come until when its thread was busy before; minus infinity if it wasn't yet."""
        order = _by_thread_and_start(thread, start_s)
        is_same = thread[order[1:]] == thread[order[:-1]]
        known_s = np.append(self._thread_stop_s, np.full(len(self._threads) - len(self._thread_stop_s), -np.inf))
        before_s = known_s[thread]
        before_s[order[1:][is_same]] = np.maximum(before_s[order[1:]], stop_s[order[:-1]])[is_same]
        return before_s

    def _note_pauses(self, start_s: NDArray[np.float64], stop_s: NDArray[np.float64]) -> None:
        """Find the last pause before one of the rows that come, and when the work after it began. This goes row by row: it doesn't
        matter how many come at once.
        """
        reached_s = np.maximum.accumulate(np.append(self.stop_s, stop_s[:-1]))
        after_pause = np.flatnonzero(start_s > reached_s + RUN_GAP_S)
        first = int(after_pause[-1]) if len(after_pause) else 0
        if len(after_pause):
            self._pause_s, self.latest_run_start_s = float(reached_s[first]), np.inf
        of_run_s = start_s[first:][start_s[first:] > self._pause_s]  # others are told of late
        self.latest_run_start_s = float(min(self.latest_run_start_s, of_run_s.min(initial=np.inf)))

    def _note_times(
        self, thread: NDArray[np.uint32], start_s: NDArray[np.float64], stop_s: NDArray[np.float64]
    ) -> None:
        """Keep the first start and the last stop of each thread."""
        missing = len(self._threads) - len(self._thread_stop_s)
        self._thread_start_s = np.append(self._thread_start_s, np.full(missing, np.inf))
        self._thread_stop_s = np.append(self._thread_stop_s, np.full(missing, -np.inf))
        np.minimum.at(self._thread_start_s, thread, start_s)
        np.maximum.at(self._thread_stop_s, thread, stop_s)

    def threads_between(self, start_s: float, stop_s: float) -> NDArray[np.bool_]:
        """Tell of each thread whether the time from its first event to its last overlaps that from `start_s` to `stop_s`."""
        return (self._thread_start_s <= stop_s) & (self._thread_stop_s >= start_s)

    def few_rows_between(self, start_s: float, stop_s: float, limit: int) -> NDArray[np.int64] | None:
        """Return what `rows_between` does; None if more than `limit` rows had to be looked at, or some have gone."""
        start_us, stop_us = microseconds(np.array([start_s, stop_s]), self.origin_s).tolist()
        blocks = self.pyramid.blocks_between(start_us, stop_us)
        long = self.pyramid.long_between(start_us, stop_us).row
        looked_at = int((blocks[:, 1] - blocks[:, 0]).sum()) + len(long)
        is_gone = (blocks[:, 0] < self.first_row).any() or (long < self.first_row).any()
        return None if is_gone or looked_at > limit else self.rows_between(start_s, stop_s)

    def rows_between(self, start_s: float, stop_s: float) -> NDArray[np.int64]:
        """Return the numbers of the rows, of those kept, that overlap the time from `start_s` to `stop_s`, in recorded order."""
        start_us, stop_us = microseconds(np.array([start_s, stop_s]), self.origin_s).tolist()
        blocks = self.pyramid.blocks_between(start_us - 1, stop_us + 1)
        blocks = blocks[blocks[:, 0] >= self.first_row]
        parts = [np.arange(begin, end) for begin, end, _ in blocks.tolist()]
        parts.append(np.arange(max(self._binned, self.first_row), self.next_row))
        long = self.pyramid.long_between(start_us - 1, stop_us + 1).row
        long = long[long >= self.first_row]
        if len(long):
            block = np.searchsorted(blocks[:, 0], long, side="right") - 1
            is_missing = (block < 0) | (blocks[block, 1] <= long) if len(blocks) else np.ones(len(long), bool)
            parts = [np.sort(np.concatenate([long[is_missing], *parts]))]
        rows = np.concatenate(parts)
        return rows[(self.take("start_s", rows) <= stop_s) & (self.take("stop_s", rows) >= start_s)]

    def spans(self, first: int, stop: int) -> Spans:
        """Return the rows from number `first` up to `stop` as spans of the pyramid."""
        names = ("layer", "action", "thread", "start_s", "stop_s", "ok")
        layer, action, thread, start_s, stop_s, ok = (self.between(name, first, stop) for name in names)
        return Spans(
            self.pyramid.keys(thread.astype(np.int64), self.named(kinds_of(layer, action))),
            microseconds(start_s, self.origin_s),
            microseconds(stop_s, self.origin_s),
            ok == 0,
            np.arange(first, stop),
        )

    def named(self, kinds: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return kinds with the layer that stands for all of its name: the same for layers that look the same to a person."""
        return self.names.first_of(kinds >> ACTION_BITS) << ACTION_BITS | kinds & (1 << ACTION_BITS) - 1

    def _worker_spans(self, first: int, stop: int) -> Spans:
        return worker_spans(lambda name: self.between(name, first, stop), first, self.origin_s)
