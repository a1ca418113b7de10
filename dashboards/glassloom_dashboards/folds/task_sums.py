"""Running sums over tasks by layer and by worker: kept up as events come, so that no page goes through all of them.

>>> sums = Sums()
>>> sums.add(np.array([7, 7]), np.array([1.0, 2.0]), np.array([2.0, 4.0]), np.array([1, 0]))
>>> sums[7]
TaskSum(count=2, failed=1, busy_s=3.0, longest_s=2.0, first_s=1.0, last_s=4.0)
>>> sums[8].count
0
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from glassloom_metrics.protocol import Action
from numpy.typing import NDArray

from glassloom_dashboards.folds.grouping import distinct_of


@dataclass(frozen=True, slots=True)
class TaskSum:
    """How many tasks have run, how many of them failed, how long they took, and from when to when."""

    count: int = 0
    failed: int = 0
    busy_s: float = 0.0
    longest_s: float = 0.0
    first_s: float = float("inf")
    last_s: float = float("-inf")

    @property
    def mean_s(self) -> float:
        """How long a task took on average."""
        return self.busy_s / self.count if self.count else 0.0

    def __add__(self, other: TaskSum) -> TaskSum:
        """Return the sum over both."""
        return TaskSum(
            self.count + other.count,
            self.failed + other.failed,
            self.busy_s + other.busy_s,
            max(self.longest_s, other.longest_s),
            min(self.first_s, other.first_s),
            max(self.last_s, other.last_s),
        )


NONE = TaskSum()


class Sums:
    """Sums by an id: a layer's or a worker's."""

    def __init__(self) -> None:
        self._sums: dict[int, TaskSum] = {}

    def __getitem__(self, id_: int) -> TaskSum:
        return self._sums.get(id_, NONE)

    @property
    def all(self) -> TaskSum:
        """The sum over all ids."""
        return sum(self._sums.values(), NONE)

    def of(self, ids: Iterable[int]) -> TaskSum:
        """Return the sum over several ids."""
        return sum((self[id_] for id_ in ids), NONE)

    def fold(self, kept: Container[int], newest: int, into: int) -> None:
        """Count those of the ids up to `newest` that aren't `kept` under one."""
        gone = [id_ for id_ in self._sums if id_ <= newest and id_ not in kept and id_ != into]
        self._sums[into] = sum((self._sums.pop(id_) for id_ in gone), self[into])

    def add(
        self,
        ids: NDArray[Any],
        start_s: NDArray[np.float64],
        stop_s: NDArray[np.float64],
        ok: NDArray[Any],
    ) -> None:
        """Add tasks, given as columns. This costs O(tasks), not O(ids)."""
        self.take(sums_of(ids, start_s, stop_s, ok))

    def take(self, sums: Mapping[int, TaskSum]) -> None:
        """Add what `sums_of` returns."""
        for id_, sum_ in sums.items():
            self._sums[id_] = self[id_] + sum_


def sums_of(
    ids: NDArray[Any], start_s: NDArray[np.float64], stop_s: NDArray[np.float64], ok: NDArray[Any]
) -> dict[int, TaskSum]:
    """Return the sums of tasks, given as columns, by id."""
    distinct, place = distinct_of(ids)
    size = len(distinct)
    took_s = stop_s - start_s
    longest_s, first_s, last_s = np.zeros(size), np.full(size, np.inf), np.full(size, -np.inf)
    np.maximum.at(longest_s, place, took_s)
    np.minimum.at(first_s, place, start_s)
    np.maximum.at(last_s, place, stop_s)
    columns = (
        np.bincount(place, minlength=size),
        np.bincount(place, ok == 0, minlength=size).astype(int),
        np.bincount(place, took_s, minlength=size),
        longest_s,
        first_s,
        last_s,
    )
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return {id_: TaskSum(*row) for id_, row in zip(distinct.tolist(), rows, strict=True)}


class EventSums(NamedTuple):
    """What events add to `TaskSums`."""

    nbytes: dict[int, int]
    layers: dict[int, TaskSum]
    workers: dict[int, TaskSum]


def event_sums(columns: dict[str, NDArray[Any]]) -> EventSums:
    """Return the sums of events, given as `TaskTable.extend` takes them."""
    nbytes = np.bincount(columns["action"], np.maximum(columns["nbytes"], 0))
    moved = {action: int(nbytes[action]) for action in np.flatnonzero(nbytes).tolist()}
    computed = columns["action"] == Action.COMPUTE
    if not computed.any():
        return EventSums(moved, {}, {})
    rest = [columns[name][computed] for name in ("start_s", "stop_s", "ok")]
    return EventSums(moved, sums_of(columns["layer"][computed], *rest), sums_of(columns["worker"][computed], *rest))


class TaskSums:
    """Sums over computed tasks, by layer and by worker, and over all events by their action.

    Attributes
    ----------
    nbytes
        The bytes that events of each action made or moved, by the action's number.
    """

    def __init__(self) -> None:
        self.layers = Sums()
        self.workers = Sums()
        self.nbytes: Counter[int] = Counter()

    @property
    def computed(self) -> TaskSum:
        """The sum over all computed tasks."""
        return self.workers.all

    def take(self, sums: EventSums) -> None:
        """Add the sums of events."""
        self.nbytes.update(sums.nbytes)
        self.layers.take(sums.layers)
        self.workers.take(sums.workers)
