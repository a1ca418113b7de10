"""`ReadyQueues`: in which queue a ready task waits, and which queues a worker may take from."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from glassloom.scheduler.ready_queue import Entry, ReadyQueue, Runnable
from glassloom.scheduler.restrictions import Restrictions
from glassloom.scheduler.state import TaskState, WorkerState
from glassloom.scheduler.states import PAUSED


@dataclass(frozen=True)
class Refusal:
    """Why a task can run nowhere: ``"pinned"`` or ``"nowhere"``, and the task that is the reason."""

    kind: str
    cause: TaskState


class ReadyQueues:
    """Queues ready tasks: at the worker that holds most of their data, for any worker, or by their restrictions.

    Parameters
    ----------
    workers
        The workers by number, as others change them.
    """

    def __init__(self, workers: dict[int, WorkerState]) -> None:
        self._workers = workers
        self.common: ReadyQueue[Any] = ReadyQueue()
        """Tasks, and blocks of tasks, that any worker may run as well as any other."""
        self.restricted: dict[Restrictions, ReadyQueue[TaskState]] = {}
        """Tasks that not every worker may run."""
        self._with_queue: dict[WorkerState, None] = {}
        """Workers with a queue of their own that isn't empty, or wasn't."""
        self._stamps = itertools.count(1)

    def __bool__(self) -> bool:
        """Tell whether anything may be queued."""
        return bool(len(self.common) or self._with_queue or self.restricted)

    def push(self, task: TaskState) -> WorkerState | Refusal | None:
        """Queue a task. Return the worker in whose queue it is, if it is in one, or why it can run nowhere."""
        task.stamp = next(self._stamps)
        if task.restrictions is not None:
            return self._push_restricted(task, task.restrictions)
        best = _place_of_data(task) if task.deps else None
        if best is None:
            self.common.push(task)
        elif isinstance(best, WorkerState):
            best.ready.push(task)
            self._with_queue[best] = None
        return best

    def push_block(self, block: Runnable) -> None:
        """Queue what is left of a block of tasks."""
        block.stamp = next(self._stamps)
        self.common.push(block)

    def _push_restricted(self, task: TaskState, restrictions: Restrictions) -> Refusal | None:
        """Queue a task by what it needs of its worker. Where its data is counts only if that can't be sent."""
        pinned = [dep for dep in task.deps if dep.pinned and dep.owner is not None]
        if pinned:
            owner = pinned[0].owner
            assert owner is not None
            is_elsewhere = any(dep.owner is not owner for dep in pinned)
            if is_elsewhere or not restrictions.names(owner) or not restrictions.fits(owner.resources):
                return Refusal("pinned", pinned[0])
            restrictions = Restrictions(restrictions.resources, frozenset([owner.number]))
        if self._fits_nowhere(restrictions):
            return Refusal("nowhere", task)
        if restrictions not in self.restricted:
            self.restricted[restrictions] = ReadyQueue()
        self.restricted[restrictions].push(task)
        return None

    def best_for(self, worker: WorkerState, shrinking: bool) -> tuple[ReadyQueue[Any], Entry[Any] | None]:
        """Return the best entry among those of the worker's own queue and those for any worker, and its queue."""
        queue, best = worker.ready, worker.ready.first(shrinking)
        common = self.common.first(shrinking)
        if common is not None and (best is None or common < best):
            queue, best = self.common, common
        if self.restricted:
            for restrictions, other in self.restricted.items():
                if self.may_run(restrictions, worker):
                    entry = other.first(shrinking)
                    if entry is not None and (best is None or entry < best):
                        queue, best = other, entry
        return queue, best

    def may_run(self, restrictions: Restrictions, worker: WorkerState) -> bool:
        """Tell whether a worker may run tasks of these restrictions now."""
        if not restrictions.fits(worker.free):
            return False
        if restrictions.names(worker):
            return True
        there = (other for other in self._workers.values() if not other.retiring and other.pressure < PAUSED)
        return restrictions.is_loose and not any(restrictions.names(other) for other in there)

    def longest(self) -> LongestQueues:
        """Return the workers' own queues, for taking from the longest of them."""
        self._with_queue = {worker: None for worker in self._with_queue if len(worker.ready)}
        return LongestQueues(self._with_queue)

    def forget_empty(self) -> None:
        """Forget queues that are empty."""
        if self.restricted:
            self.restricted = {restrictions: queue for restrictions, queue in self.restricted.items() if len(queue)}
        if self._with_queue:
            self._with_queue = {worker: None for worker in self._with_queue if len(worker.ready)}

    def take_what_runs_nowhere(self) -> list[TaskState]:
        """Return tasks that no worker may run any more. They are queued no longer."""
        return [
            task
            for restrictions, queue in self.restricted.items()
            if self._fits_nowhere(restrictions)
            for task in queue.take_all()
        ]

    def _fits_nowhere(self, restrictions: Restrictions) -> bool:
        """Tell whether the workers that may run such tasks are all gone. Resources may come with the next worker."""
        if restrictions.is_loose or not restrictions.workers:
            return False
        return not any(restrictions.names(worker) and not worker.retiring for worker in self._workers.values())


class LongestQueues:
    """Workers' own queues, longest first, while tasks are taken from them and none is added: O(log n) for each task."""

    def __init__(self, workers: Iterable[WorkerState]) -> None:
        self._heap = [(_negative_length(worker), worker.number, worker) for worker in workers]
        heapq.heapify(self._heap)

    def first(self) -> WorkerState | None:
        """Return the worker with the longest queue for its threads; None if all are empty."""
        heap = self._heap
        while heap:
            length, number, worker = heap[0]
            now = _negative_length(worker)
            if now == length:
                return worker if length else None
            heapq.heapreplace(heap, (now, number, worker))
        return None


def _negative_length(worker: WorkerState) -> float:
    return -len(worker.ready) / worker.nthreads


def _place_of_data(task: TaskState) -> WorkerState | Refusal | None:
    """Return the worker that holds most of what the task reads and that isn't reachable from everywhere."""
    owners: dict[WorkerState, int] = {}
    must: set[WorkerState] = set()
    for dep in task.deps:
        owner = dep.owner
        if owner is None:
            continue
        if dep.pinned:
            must.add(owner)
        if not owner.retiring and owner.pressure is not PAUSED:
            owners[owner] = owners.get(owner, 0) + dep.nbytes + 1
    if must:
        return must.pop() if len(must) == 1 else Refusal("pinned", next(dep for dep in task.deps if dep.pinned))
    if len(owners) > 1:
        return max(owners, key=owners.__getitem__)
    return next(iter(owners), None)
