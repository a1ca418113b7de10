"""The order of the task stream's lanes: one for each thread of each worker, and below them one for moving its data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from glassloom_dashboards.folds.aggregate import ClusterAggregate
from glassloom_dashboards.folds.task_table import DATA_LANE
from glassloom_dashboards.parts.theme import middle_cut, plain

MAX_LABELS = 20
MAX_LABEL_LENGTH = 18

_FEW_ROWS = 4_000
"""Of no more events in view it is known which lanes they are in before they are drawn."""
DATA_HEIGHT = 0.4
"""How high the lane of a worker's data is beside that of a thread, which is 1."""
NO_LANE = -1
"""The lane of a thread that isn't shown."""

Key = tuple[int, int]


@dataclass(frozen=True)
class ThreadSlots:
    """The lanes in order, each a (worker, lane) pair, and where each thread of the `TaskTable` is among them.

    They are drawn from -0.5 downwards, so that lanes of threads alone have whole numbers in their middles.
    """

    keys: tuple[Key, ...]
    lane_of_thread: NDArray[np.int64]

    @cached_property
    def heights(self) -> NDArray[np.float64]:
        """How high each lane is."""
        return np.array([DATA_HEIGHT if lane == DATA_LANE else 1.0 for _, lane in self.keys])

    @cached_property
    def edges(self) -> NDArray[np.float64]:
        """Where each lane begins, and where the last ends."""
        return np.append(0.0, np.cumsum(self.heights)) - 0.5

    @cached_property
    def middles(self) -> NDArray[np.float64]:
        """Where the middle of each lane is."""
        return self.edges[:-1] + self.heights / 2

    @cached_property
    def are_equal(self) -> bool:
        """Whether all lanes are of threads, and equally high."""
        return bool((self.heights == 1.0).all())

    @property
    def bottom(self) -> float:
        """Where the last lane ends; as if there were one, if there is none."""
        return float(self.edges[-1]) if self.keys else 0.5

    def at(self, y: float) -> int | None:
        """Return the lane at a height, None if there is none."""
        place = int(np.searchsorted(self.edges, y, side="right")) - 1
        return place if 0 <= place < len(self) else None

    def between(self, top: float, bottom: float) -> tuple[int, int]:
        """Return the lanes of which something is between two heights, as the first and the one after the last; at least one."""
        low = max(int(np.searchsorted(self.edges, top, side="right")) - 1, 0)
        high = min(int(np.searchsorted(self.edges, bottom, side="left")), max(len(self), 1))
        return low, max(high, low + 1)

    def __len__(self) -> int:
        return len(self.keys)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, ThreadSlots)
            and self.keys == other.keys
            and np.array_equal(self.lane_of_thread, other.lane_of_thread)
        )


def lanes_of(aggregate: ClusterAggregate, start_s: float, stop_s: float, kept: Sequence[Key] = ()) -> ThreadSlots:
    """Return the lanes to show for a time: of the workers that are there, and of those gone that did anything then.

    What they ran when they left counts. The lane of a worker's data is there only when there was something in it.

    `kept` are lanes that stay where they are, before all others.
    """
    threads = aggregate.tasks.threads
    present = {(worker.worker, lane) for worker in aggregate.workers.values() for lane in range(worker.nthreads)}
    in_view = _seen_between(aggregate, start_s, stop_s)
    shown = [
        key
        for key, is_seen in zip(threads, in_view, strict=True)
        if is_seen or key[1] != DATA_LANE and key[0] in aggregate.workers
    ]
    unfinished = {
        (lost.task.worker, lost.task.lane)
        for lost in aggregate.running.lost
        if lost.task.started_s <= stop_s and lost.at_s >= start_s
    }
    unfinished |= {(task.worker, task.lane) for task in aggregate.running.now}
    wanted = present.union(shown, unfinished).difference(kept)
    keys = (*kept, *sorted(wanted))
    place = {key: number for number, key in enumerate(keys)}
    return ThreadSlots(keys, np.array([place.get(thread, NO_LANE) for thread in threads], np.int64))


def _seen_between(aggregate: ClusterAggregate, start_s: float, stop_s: float) -> NDArray[np.bool_]:
    """Tell of each thread whether it did anything then; of a time with many events whether it did before its end and after its start."""
    tasks = aggregate.tasks
    seen = tasks.threads_between(start_s, stop_s)
    if not np.isfinite([start_s, stop_s]).all() or not len(seen):
        return seen
    rows = tasks.few_rows_between(start_s, stop_s, _FEW_ROWS)
    if rows is not None:
        seen &= np.bincount(tasks.take("thread", rows), minlength=len(seen)) > 0
    return seen


def lane_names(lanes: ThreadSlots, aggregate: ClusterAggregate) -> list[str]:
    """Return what a person calls each lane, such as ``"w0 · 1"``, or ``"w0 · data"`` for moving data."""
    threads_a_worker = Counter(worker for worker, lane in lanes.keys if lane != DATA_LANE)
    names = []
    for worker, lane in lanes.keys:
        name = middle_cut(aggregate.worker_name(worker), MAX_LABEL_LENGTH)
        if lane == DATA_LANE:
            names.append(f"{name} · data")
        else:
            names.append(name if threads_a_worker[worker] == 1 else f"{name} · {lane}")
    return names


def lane_labels(lanes: ThreadSlots, aggregate: ClusterAggregate) -> dict[float, str]:
    """Return the labels of the axis by their heights: every lane if they fit, else one for each worker, else some of the workers."""
    middles = lanes.middles.tolist()
    if len(lanes) <= MAX_LABELS:
        return {middle: plain(name) for middle, name in zip(middles, lane_names(lanes, aggregate), strict=True)}
    first_of_worker: dict[int, int] = {}
    for place, (worker, _) in enumerate(lanes.keys):
        first_of_worker.setdefault(worker, place)
    every = -(-len(first_of_worker) // MAX_LABELS)
    return {
        middles[place]: plain(middle_cut(aggregate.worker_name(worker), MAX_LABEL_LENGTH))
        for number, (worker, place) in enumerate(first_of_worker.items())
        if number % every == 0
    }
