"""The order of the task stream's lanes: one for each thread (or device stream) of each worker, from top to bottom."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from glassloom_dashboards.aggregate import ClusterAggregate
from glassloom_dashboards.theme import ellipsis, plain

MAX_LABELS = 20
MAX_LABEL_LENGTH = 18


@dataclass(frozen=True)
class ThreadSlots:
    """The lanes in order, each a (worker, lane) pair, and where each thread of the `TaskTable` is among them."""

    keys: tuple[tuple[int, int], ...]
    lane_of_thread: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.keys)


def lanes_of(aggregate: ClusterAggregate) -> ThreadSlots:
    """Return the lanes of all threads that ran anything, and of all that could."""
    threads = aggregate.tasks.threads
    idle = {(worker.worker, lane) for worker in aggregate.workers.values() for lane in range(worker.nthreads)}
    keys = tuple(sorted(idle.union(threads)))
    place = {key: number for number, key in enumerate(keys)}
    return ThreadSlots(keys, np.array([place[thread] for thread in threads], np.int64))


def lane_names(lanes: ThreadSlots, aggregate: ClusterAggregate) -> list[str]:
    """Return what a person calls each lane, such as ``"w0 · 1"``."""
    lanes_a_worker: dict[int, int] = {}
    for worker, _ in lanes.keys:
        lanes_a_worker[worker] = lanes_a_worker.get(worker, 0) + 1
    names = []
    for worker, lane in lanes.keys:
        name = ellipsis(aggregate.worker_name(worker), MAX_LABEL_LENGTH)
        names.append(name if lanes_a_worker[worker] == 1 else f"{name} · {lane}")
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
        place: plain(ellipsis(aggregate.worker_name(worker), MAX_LABEL_LENGTH))
        for number, (worker, place) in enumerate(first_of_worker.items())
        if number % every == 0
    }
