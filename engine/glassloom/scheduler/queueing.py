"""`Queueing`: in which queue a ready task waits, and which queues a worker may take from."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from glassloom.scheduler.release import LettingGo
from glassloom.scheduler.restrictions import Demand
from glassloom.scheduler.state import PAUSED, READY, WAITING, Entry, ReadyQueue, TaskState, WorkerState


class Queueing(LettingGo):
    """Queues ready tasks: at the worker that holds most of their data, for any worker, or by what they demand."""

    def __init__(self, make_error: Callable[[str, TaskState], Any]) -> None:
        super().__init__(make_error)
        self._ready = ReadyQueue()
        """Tasks that any worker may run as well as any other."""
        self._demanding: dict[Demand, ReadyQueue] = {}
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
        if task.demand is not None:
            self._enqueue_demanding(task)
            return
        best = self._place_of_data(task) if task.deps else None
        if task.state is not READY:
            return  # it can run nowhere
        if best is None:
            self._ready.push(task)
        else:
            best.ready.push(task)
            self._may_have_room[best] = None

    def _enqueue_demanding(self, task: TaskState) -> None:
        """Queue a task by what it needs of its worker. Where its data is counts only if that can't be sent."""
        demand = task.demand
        owners = {dep.where for dep in task.deps if dep.pinned and dep.where is not None}
        if owners:
            owner = owners.pop()
            if owners or not demand.names(owner) or not demand.is_met_by(owner.resources):
                self._err(task, self._make_error("pinned", next(dep for dep in task.deps if dep.pinned)))
                return
            demand = Demand(demand.resources, frozenset([owner.number]))
        if self._is_met_nowhere(demand):
            self._err(task, self._make_error("nowhere", task))
            return
        if demand not in self._demanding:
            self._demanding[demand] = ReadyQueue()
        self._demanding[demand].push(task)

    def _place_of_data(self, task: TaskState) -> WorkerState | None:
        """Return the worker that holds most of what the task reads and that isn't reachable from everywhere."""
        owners: dict[WorkerState, int] = {}
        must: set[WorkerState] = set()
        for dep in task.deps:
            if dep.where is None:
                continue
            if dep.pinned:
                must.add(dep.where)
            if not dep.where.retiring and dep.where.pressure is not PAUSED:
                owners[dep.where] = owners.get(dep.where, 0) + dep.nbytes + 1
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

    def _is_met_nowhere(self, demand: Demand) -> bool:
        """Tell whether the workers that may run such tasks are all gone. Resources may come with the next worker."""
        if demand.allows_others or not demand.workers:
            return False
        return not any(demand.names(worker) and not worker.retiring for worker in self.workers.values())

    def _give_up_what_runs_nowhere(self) -> None:
        for demand, queue in list(self._demanding.items()):
            if self._is_met_nowhere(demand):
                for task in queue.take_all():
                    self._err(task, self._make_error("nowhere", task))

    def _may_run(self, demand: Demand, worker: WorkerState) -> bool:
        if not demand.is_met_by(worker.free):
            return False
        if demand.names(worker):
            return True
        there = (other for other in self.workers.values() if not other.retiring and other.pressure < PAUSED)
        return demand.allows_others and not any(demand.names(other) for other in there)

    def _best_for(self, worker: WorkerState, shrinking: bool) -> tuple[ReadyQueue, Entry | None]:
        """Return the best entry among those of the worker's own queue and those for any worker, and its queue."""
        queue, best = worker.ready, worker.ready.first(shrinking)
        common = self._ready.first(shrinking)
        if common is not None and (best is None or common < best):
            queue, best = self._ready, common
        if self._demanding:
            for demand, other in self._demanding.items():
                if self._may_run(demand, worker):
                    entry = other.first(shrinking)
                    if entry is not None and (best is None or entry < best):
                        queue, best = other, entry
        return queue, best
