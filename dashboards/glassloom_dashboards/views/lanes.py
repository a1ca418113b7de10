"""The order of the task stream's lanes: one for each thread of each worker, and below them one for moving its data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from glassloom_dashboards.folds.aggregate import ClusterAggregate
from glassloom_dashboards.folds.task_table import DATA_LANE
from glassloom_dashboards.parts.theme import middle_cut, plain

MAX_LABELS = 20
MAX_LABEL_LENGTH = 18

_FEW_ROWS = 4_000
"""Of no more events in view it is known which lanes they are in before they are drawn."""
NO_LANE = -1
"""The lane of a thread that isn't shown."""

Key = tuple[int, int]


@dataclass(frozen=True)
class ThreadSlots:
    """The lanes in order, each a (worker, lane) pair, and where each thread of the `TaskTable` is among them."""

    keys: tuple[Key, ...]
    lane_of_thread: NDArray[np.int64]

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


def lane_labels(lanes: ThreadSlots, aggregate: ClusterAggregate) -> dict[int, str]:
    """Return the labels of the axis: every lane if they fit, else one for each worker, else some of the workers."""
    if len(lanes) <= MAX_LABELS:
        return {place: plain(name) for place, name in enumerate(lane_names(lanes, aggregate))}
    first_of_worker: dict[int, int] = {}
    for place, (worker, _) in enumerate(lanes.keys):
        first_of_worker.setdefault(worker, place)
    every = -(-len(first_of_worker) // MAX_LABELS)
    return {
        place: plain(middle_cut(aggregate.worker_name(worker), MAX_LABEL_LENGTH))
        for number, (worker, place) in enumerate(first_of_worker.items())
        if number % every == 0
    }
