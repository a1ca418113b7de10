"""`Queueing`: in which queue a ready task waits, and which queues a worker may take from."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from glassloom.scheduler.release import Release
from glassloom.scheduler.restrictions import Restrictions
from glassloom.scheduler.state import PAUSED, READY, WAITING, Entry, ReadyQueue, TaskState, WorkerState


class Queueing(Release):
    """Queues ready tasks: at the worker that holds most of their data, for any worker, or by what they demand."""

    def __init__(self, make_error: Callable[[str, TaskState], Any]) -> None:
        super().__init__(make_error)
        self._ready = ReadyQueue()
        """Tasks that any worker may run as well as any other."""
        self._restricted: dict[Restrictions, ReadyQueue] = {}
        """Ready tasks that not every worker may run."""
        self._stamps = itertools.count(1)

    def _enqueue(self, task: TaskState) -> None:
        """All dependencies are held: queue the task where its data is."""
        if self._leaving and task in self._leaving:  # first its worker must answer for the last run
            if task.state is not WAITING:
                self._set_state(task, WAITING)
            return
        if task.state is not READY:
            self._set_state(task, READY)
        task.stamp = next(self._stamps)
        if task.restrictions is not None:
            self._enqueue_restricted(task)
            return
        best = self._place_of_data(task) if task.deps else None
        if task.state is not READY:
            return  # it can run nowhere
        if best is None:
            self._ready.push(task)
        else:
            best.ready.push(task)
            self._may_have_room[best] = None

    def _enqueue_restricted(self, task: TaskState) -> None:
        """Queue a task by what it needs of its worker. Where its data is counts only if that can't be sent."""
        restrictions = task.restrictions
        owners = {dep.owner for dep in task.deps if dep.pinned and dep.owner is not None}
        if owners:
            owner = owners.pop()
            if owners or not restrictions.names(owner) or not restrictions.fits(owner.resources):
                self._err(task, self._make_error("pinned", next(dep for dep in task.deps if dep.pinned)))
                return
            restrictions = Restrictions(restrictions.resources, frozenset([owner.number]))
        if self._fits_nowhere(restrictions):
            self._err(task, self._make_error("nowhere", task))
            return
        if restrictions not in self._restricted:
            self._restricted[restrictions] = ReadyQueue()
        self._restricted[restrictions].push(task)

    def _place_of_data(self, task: TaskState) -> WorkerState | None:
        """Return the worker that holds most of what the task reads and that isn't reachable from everywhere."""
        owners: dict[WorkerState, int] = {}
        must: set[WorkerState] = set()
        for dep in task.deps:
            if dep.owner is None:
                continue
            if dep.pinned:
                must.add(dep.owner)
            if not dep.owner.retiring and dep.owner.pressure is not PAUSED:
                owners[dep.owner] = owners.get(dep.owner, 0) + dep.nbytes + 1
        if len(must) > 1:
            self._err(task, self._make_error("pinned", next(dep for dep in task.deps if dep.pinned)))
            return None
        if must:
            return must.pop()
        if len(owners) > 1:
            return max(owners, key=owners.__getitem__)
        return next(iter(owners), None)

    def _queue_elsewhere(self, worker: WorkerState) -> None:
        """Find other workers for what is queued for one that goes."""
        for task in worker.ready.take_all():
            self._enqueue(task)

    def _fits_nowhere(self, restrictions: Restrictions) -> bool:
        """Tell whether the workers that may run such tasks are all gone. Resources may come with the next worker."""
        if restrictions.is_loose or not restrictions.workers:
            return False
        return not any(restrictions.names(worker) and not worker.retiring for worker in self.workers.values())

    def _give_up_what_runs_nowhere(self) -> None:
        for restrictions, queue in list(self._restricted.items()):
            if self._fits_nowhere(restrictions):
                for task in queue.take_all():
                    self._err(task, self._make_error("nowhere", task))

    def _may_run(self, restrictions: Restrictions, worker: WorkerState) -> bool:
        if not restrictions.fits(worker.free):
            return False
        if restrictions.names(worker):
            return True
        there = (other for other in self.workers.values() if not other.retiring and other.pressure < PAUSED)
        return restrictions.is_loose and not any(restrictions.names(other) for other in there)

    def _best_for(self, worker: WorkerState, shrinking: bool) -> tuple[ReadyQueue, Entry | None]:
        """Return the best entry among those of the worker's own queue and those for any worker, and its queue."""
        queue, best = worker.ready, worker.ready.first(shrinking)
        common = self._ready.first(shrinking)
        if common is not None and (best is None or common < best):
            queue, best = self._ready, common
        if self._restricted:
            for restrictions, other in self._restricted.items():
                if self._may_run(restrictions, worker):
                    entry = other.first(shrinking)
                    if entry is not None and (best is None or entry < best):
                        queue, best = other, entry
        return queue, best
