"""`TaskBlock`: tasks of one layer that are alike, as columns; `TaskSlice`: some of them that follow each other.

Tasks that come from one submission, belong to one layer, are wanted by one client, and read the same results, or none, need no
object each: what happens to them happens to many of them at once, in a few operations for a slice. Other tasks may read a
block's results, each of them those of a slice: see `block_readers`.
"""

from __future__ import annotations

import math
import sys
from array import array
from bisect import bisect_right, insort
from collections.abc import Iterator, Sequence
from itertools import pairwise
from operator import itemgetter
from typing import Any, NamedTuple

from glassloom.graph.keys import Key, key_indices
from glassloom.scheduler.layers import Layer
from glassloom.scheduler.state import NO_ROW, PLACE_BITS, Places, TaskState, WorkerState
from glassloom.scheduler.states import READY, RUNNING, UNDER_WAY, State

MIN_TASKS = 8
"""Fewer tasks aren't made a block: it wouldn't pay."""


class Reader(NamedTuple):
    """A task that reads the results of a block's tasks from position `start` to before `stop`."""

    task: TaskState
    start: int
    stop: int


class TaskBlock:
    """Tasks with consecutive numbers and places. Columns have an element for each task, whether it is still here or not."""

    __slots__ = (
        "client",
        "cursor",
        "deps",
        "estimates_s",
        "first",
        "keys",
        "layer",
        "locations",
        "n_known",
        "n_missing_inputs",
        "n_ready",
        "nbytes",
        "own_origin",
        "parts",
        "place",
        "places",
        "positions",
        "priority",
        "readers",
        "ready_s",
        "released",
        "retries",
        "rows",
        "sent",
        "specs",
        "stamp",
        "state",
        "states",
        "wanted",
        "workers",
    )

    reads: None = None
    n_deaths = n_awaited = freed_in_slices_bytes = 0
    is_on_last_chance = False
    """As of a task that waits in a queue, or for another: see `ready_queue.Runnable` and `TaskState.dependents`."""

    def __init__(
        self,
        first: int,
        client: Any,
        layer: Layer,
        keys: Sequence[Key],
        specs: Any,
        deps: tuple[TaskState, ...] = (),
    ) -> None:
        n = len(keys)
        self.first = first
        """Number of the first task."""
        self.client = client
        self.layer = layer
        self.keys = keys
        self.specs = specs
        """What the runtime needs to run the tasks, by position."""
        self.deps = deps
        """What each of the tasks reads; every process can reach it as soon as they are READY."""
        self.n_missing_inputs = 0
        """While the tasks are WAITING: dependencies that are not held."""
        self.wanted: bytearray | None = None
        """Of each task 1, or 0 if the client doesn't want it any more and it is here because others read it. None: all 1."""
        self.readers: list[Reader] = []
        """Known tasks that read slices of the results, set by `read_by`. All tasks of such a slice are here."""
        self.parts: list[tuple[int, int, list[TaskState]]] | None = None
        """The block from edge to edge of what is read, with who reads each part; None: not looked for yet. See `unread`."""
        self.own_origin = ""
        self.retries = 0
        self.place = 0
        """Priority of the first task."""
        self.places: Places | None = None
        """Those of the client, among which are the tasks' priorities."""
        self.states = bytearray([READY]) * n
        self.workers = array("q", [-1]) * n
        """Number of the worker that runs a task, or has its result."""
        self.estimates_s = array("d", [0.0]) * n
        self.nbytes = array("q", [0]) * n
        self.locations: list[Any] | None = None
        """Of results, where they can be reached; None: on their worker only. No list: that is true of all."""
        self.n_known = n
        """Tasks that are still here."""
        self.n_ready = n
        self.cursor = 0
        """No task before this position is READY."""
        self.ready_s = math.nan
        """When the tasks had become READY: `Scheduler.now_s` then."""
        self.sent: list[tuple[int, float, int]] = []
        """Of each slice that was sent the first position, when, and its number among all that is sent.

        In the order of positions, and so of these numbers.
        """
        self.rows: list[tuple[int, int, int]] = []
        """Of finished slices the first position, the first row that tells of them in the metrics, and how many they are.

        In the order of positions; the runtime adds them.
        """
        self.released = 0, 0
        """Where the tasks are that were released last: start and stop. Those beside them are likely to be the next."""
        self.positions: dict[Key, int] | None = None
        self.priority = 0
        """Of the first READY task."""
        self.stamp = 0
        self.state: State = READY
        """WAITING as long as the tasks are, READY as long as any task is."""

    def __repr__(self) -> str:
        return f"<TaskBlock {self.keys[0]!r} ... {len(self.keys)} tasks, {self.n_known} known>"

    @property
    def is_under_way(self) -> bool:
        """Whether any of the tasks is."""
        return any(self.states.find(state) >= 0 for state in UNDER_WAY)

    def position(self, key: Key) -> int:
        """Return where a task is in the block."""
        keys = self.keys
        before, after = self.released
        if after < len(keys) and keys[after] == key:
            return after
        if before and keys[before - 1] == key:
            return before - 1
        if keys[-1] == key:
            return len(keys) - 1
        if self.positions is None:
            self.positions = {key: position for position, key in enumerate(keys)}
        return self.positions[key]

    def sent_s(self, position: int) -> float:
        """Return when a task was sent to a worker."""
        place = bisect_right(self.sent, (position, math.inf)) - 1
        return self.sent[place][1] if place >= 0 else math.nan

    def sent_number(self, position: int) -> int:
        """Return the number of the slice in which a task was sent, among all that is sent."""
        return self.sent[bisect_right(self.sent, (position, math.inf)) - 1][2]

    def count_sent_before(self, worker: int, turn: tuple[int, int, int]) -> int:
        """Return how many tasks a worker was sent, and hasn't finished, that it begins before that of a `TaskState.turn`."""
        if self.states.find(RUNNING) < 0:
            return 0
        n_before = 0
        level = min(0, self.place >> PLACE_BITS)
        stops = [start for start, _, _ in self.sent[1:]] + [len(self.keys)]
        for (start, _, sent_number), stop in zip(self.sent, stops, strict=True):
            if self.workers[start] == worker and (level, sent_number) <= turn[:2]:
                is_same = (level, sent_number) == turn[:2]
                n_before += self.states.count(RUNNING, start, turn[2] - self.first if is_same else stop)
        return n_before

    def note_rows(self, start: int, row: int, n_tasks: int) -> None:
        """The metrics tell of a finished slice in consecutive rows."""
        insort(self.rows, (start, row, n_tasks))

    def row(self, position: int) -> int:
        """Return the number of the row that tells of a finished task; `NO_ROW` if there is none."""
        place = bisect_right(self.rows, (position, sys.maxsize, 0)) - 1
        if place < 0:
            return NO_ROW
        start, row, n_tasks = self.rows[place]
        return row + position - start if position - start < n_tasks else NO_ROW

    def sent_spans(self, start: int, stop: int) -> Iterator[tuple[int, float]]:
        """Yield, for the tasks from one position to before another, how many were sent together, and when."""
        while start < stop:
            place = bisect_right(self.sent, (start, math.inf))
            end = self.sent[place][0] if place < len(self.sent) else stop
            yield min(end, stop) - start, self.sent_s(start)
            start = end

    def unread(self, start: int, stop: int) -> Iterator[tuple[int, int, bool]]:
        """Yield the parts from one position to before another whose results no task under way reads.

        With each goes whether a known task reads it, which may have to be run again.
        """
        if not self.readers:
            yield start, stop, False
            return
        if self.parts is None:
            self.parts = _parts(self.readers, len(self.keys))
        at = bisect_right(self.parts, start, key=itemgetter(0)) - 1
        while start < stop:
            _, end, readers = self.parts[at]
            if not readers or UNDER_WAY.isdisjoint([task.state for task in readers]):
                yield start, min(end, stop), bool(readers)
            start, at = end, at + 1

    def read_by(self, readers: list[Reader]) -> None:
        """Set which known tasks read slices of the results."""
        self.readers, self.parts = readers, None

    def row_of_last(self, start: int, stop: int) -> int:
        """Return the last of the rows that tell of finished tasks from one position to before another; else `NO_ROW`."""
        parts = [
            (row + min(stop, first + n_tasks) - 1 - first)
            for first, row, n_tasks in self.rows
            if first < stop and start < first + n_tasks
        ]
        return max(parts, default=NO_ROW)

    def span(self, keys: Sequence[Key], at: int) -> tuple[int, int]:
        """Return the positions of the first and the last of those keys from element `at` on that follow each other here.

        They may do so forward or backward: a list that Python frees lets go of its last element first.
        """
        first = self.position(keys[at])
        following = keys[at + 1] if at + 1 < len(keys) else None
        for step in (1, -1):
            if 0 <= first + step < len(self.keys) and self.keys[first + step] == following:
                return first, first + step * (_count_common(keys, at, self.keys, first, step) - 1)
        return first, first


def _count_common(keys: Sequence[Key], at: int, others: Sequence[Key], start: int, step: int) -> int:
    """Return how many of `keys` from `at` on are those of `others` from `start` on, by `step` 1 or -1; the first are equal.

    It looks at pieces that double in size, so that it costs what it finds.
    """
    n, size = 1, 1
    while True:
        left = keys[at + n : at + n + size]
        begin = start + step * n
        right = others[begin : begin + size] if step > 0 else others[max(0, begin - size + 1) : begin + 1][::-1]
        if left != right or not left:
            return n + next(
                (i for i, (key, other) in enumerate(zip(left, right, strict=False)) if key != other),
                min(len(left), len(right)),
            )
        n += len(left)
        size *= 2


def _parts(readers: list[Reader], stop: int) -> list[tuple[int, int, list[TaskState]]]:
    """Return the parts of a block of `stop` tasks all of which the same tasks read, with these."""
    edges = sorted({0, stop, *[edge for reader in readers for edge in reader[1:]]})
    return [
        (begin, end, [task for task, first, last in readers if first <= begin and end <= last])
        for begin, end in pairwise(edges)
    ]


def spans_of(positions: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield start and stop of those ascending positions that follow each other.

    >>> list(spans_of([2, 3, 4, 7, 9, 10]))
    [(2, 5), (7, 8), (9, 11)]
    """
    start = stop = positions[0]
    for position in positions:
        if position > stop:
            yield start, stop
            start = position
        stop = position + 1
    yield start, stop


class TaskSlice:
    """Some tasks of a block, by position from `start` to before `stop`."""

    __slots__ = ("block", "start", "stop")

    def __init__(self, block: TaskBlock, start: int, stop: int) -> None:
        self.block = block
        self.start = start
        self.stop = stop

    def __repr__(self) -> str:
        return f"<TaskSlice {self.start}:{self.stop} of {self.block!r}>"

    def __len__(self) -> int:
        return self.stop - self.start

    @property
    def numbers(self) -> range:
        """The tasks' numbers."""
        return range(self.block.first + self.start, self.block.first + self.stop)

    @property
    def keys(self) -> Sequence[Key]:
        """The tasks' keys."""
        return self.block.keys[self.start : self.stop]

    @property
    def nbytes(self) -> list[int]:
        """The sizes of the results."""
        return self.block.nbytes[self.start : self.stop].tolist()

    @property
    def freed_bytes(self) -> int:
        """How many bytes are freed when the only task that reads the slice has run."""
        block = self.block
        if block.wanted is None or len(block.readers) != 1:
            return 0
        pairs = zip(block.nbytes[self.start : self.stop], block.wanted[self.start : self.stop], strict=True)
        return sum([nbytes for nbytes, is_wanted in pairs if not is_wanted])

    @property
    def locations(self) -> Sequence[Any]:
        """Where the results can be reached; None: on their worker only."""
        locations = self.block.locations
        return [None] * len(self) if locations is None else locations[self.start : self.stop]

    @property
    def indices(self) -> list[str]:
        """What tells the tasks from the others of their layer."""
        return key_indices(self.keys)

    def is_running_on(self, worker: WorkerState) -> bool:
        """Tell whether a worker runs the first of the tasks."""
        block = self.block
        return block.states[self.start] == RUNNING and block.workers[self.start] == worker.number

    def split(self, n_tasks: int) -> Iterator[TaskSlice]:
        """Return slices of no more than `n_tasks` tasks."""
        for start in range(self.start, self.stop, n_tasks):
            yield TaskSlice(self.block, start, min(start + n_tasks, self.stop))


def append_slice(items: list[Any], block: TaskBlock, start: int, stop: int) -> None:
    """Append a slice to a list; one that continues the last is added to it."""
    last = items[-1] if items else None
    if type(last) is TaskSlice and last.block is block and last.stop == start:
        last.stop = stop
    else:
        items.append(TaskSlice(block, start, stop))
