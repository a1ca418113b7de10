"""The tasks that run now, and those that a worker ran when it left: a fold of `Running`, task rows and departures.

>>> from glassloom_metrics.protocol import Running
>>> running = RunningTasks()
>>> running.set(Running(5.0, [0], [1], [7], ["3"], [2.0]))
>>> running.now
[RunningTask(worker=0, lane=1, layer=7, index='3', started_s=2.0)]
>>> running.leave(0, 6.0)
>>> running.now, [(lost.task.index, lost.at_s) for lost in running.lost_of(0)]
([], [('3', 6.0)])
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from glassloom_metrics.protocol import Action, Running
from numpy.typing import NDArray

ENDING_COLUMNS = ("action", "start_s", "worker", "layer")
"""The columns of task events that `RunningTasks.end` looks at."""
MAX_LEFT = 200
"""Of how many workers that have left, the last ones, it is known what they ran."""
_SAME_START_S = 1e-3
"""A row and a running task whose starts differ by less are the same attempt."""


@dataclass(frozen=True, slots=True)
class RunningTask:
    """A row of `protocol.Running`."""

    worker: int
    lane: int
    layer: int
    index: str
    started_s: float


@dataclass(frozen=True, slots=True)
class LostTask:
    """A task that a worker ran when it left at `at_s`."""

    task: RunningTask
    at_s: float


class RunningTasks:
    """What runs, as far as it was told: tasks of less than `protocol.LEAST_RUNNING_S` aren't.

    Attributes
    ----------
    at_s
        When it was told last; a task has run until then for sure. None: it was never told.
    """

    def __init__(self) -> None:
        self._tasks: dict[tuple[int, int, str], RunningTask] = {}
        self._lost: dict[int, tuple[LostTask, ...]] = {}
        self.at_s: float | None = None

    @property
    def now(self) -> list[RunningTask]:
        """All tasks that run, those that began first at the front."""
        return sorted(self._tasks.values(), key=lambda task: task.started_s)

    @property
    def lost(self) -> list[LostTask]:
        """What workers ran when they left."""
        return [lost for tasks in self._lost.values() for lost in tasks]

    def span_s(self) -> tuple[float, float] | None:
        """Return from when to when what runs has run as far as is known; if nothing runs, what was lost. None: nothing was."""
        if self._tasks:
            return min(task.started_s for task in self._tasks.values()), self.at_s or 0.0
        lost = self.lost
        return (min(one.task.started_s for one in lost), max(one.at_s for one in lost)) if lost else None

    @property
    def until_s(self) -> list[tuple[RunningTask, float]]:
        """All tasks that run or were lost, and until when each has run for sure."""
        now = [(task, max(self.at_s or 0.0, task.started_s)) for task in self._tasks.values()]
        return now + [(one.task, max(one.at_s, one.task.started_s)) for one in self.lost]

    def busy_s(self, layers: Container[int]) -> float:
        """Return how long the tasks of some layers that run or were lost have run, one after another."""
        return sum((until_s - task.started_s for task, until_s in self.until_s if task.layer in layers), 0.0)

    def of_worker(self, worker: int) -> list[RunningTask]:
        """Return what a worker runs now."""
        return [task for task in self.now if task.worker == worker]

    def of_layer(self, layer: int) -> list[RunningTask]:
        """Return which tasks of a layer run now."""
        return [task for task in self.now if task.layer == layer]

    def lost_of(self, worker: int) -> tuple[LostTask, ...]:
        """Return what a worker ran when it left."""
        return self._lost.get(worker, ())

    def set(self, message: Running) -> None:
        """Take what runs now; what isn't in the message has ended."""
        rows = zip(message.workers, message.lanes, message.layers, message.indices, message.started_s, strict=True)
        tasks = [RunningTask(*row) for row in rows]
        self._tasks = {(task.worker, task.layer, task.index): task for task in tasks}
        self.at_s = message.at_s

    def end(self, columns: Mapping[str, NDArray[Any]], index: Sequence[str]) -> bool:
        """Take note of rows that have come: tasks that have ended run no more. Return whether that were any.

        This costs nothing while none runs, and else a pass over the rows.
        """
        if not self._tasks:
            return False
        latest_s = max(task.started_s for task in self._tasks.values()) + _SAME_START_S
        workers = np.array(sorted({task.worker for task in self._tasks.values()}), np.int64)
        is_meant = (columns["action"] == Action.COMPUTE) & (columns["start_s"] <= latest_s)
        rows = np.flatnonzero(is_meant & np.isin(columns["worker"], workers))
        found = False
        for row in rows.tolist():
            key = int(columns["worker"][row]), int(columns["layer"][row]), index[row]
            task = self._tasks.get(key)
            if task is not None and float(columns["start_s"][row]) > task.started_s - _SAME_START_S:
                del self._tasks[key]
                found = True
        return found

    def leave(self, worker: int, at_s: float) -> None:
        """A worker has left: what it ran, it runs no more."""
        lost = tuple(LostTask(task, at_s) for task in self.of_worker(worker))
        for one in lost:
            del self._tasks[worker, one.task.layer, one.task.index]
        if lost:
            self._lost[worker] = lost
            if len(self._lost) > MAX_LEFT:
                del self._lost[next(iter(self._lost))]
