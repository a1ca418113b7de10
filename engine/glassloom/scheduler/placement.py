"""`Placement`: which worker runs which of the tasks that could run, and when."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Any

from glassloom.scheduler.actions import Actions
from glassloom.scheduler.queueing import Queueing
from glassloom.scheduler.restrictions import claim
from glassloom.scheduler.state import (
    MEMORY,
    NO_PRESSURE,
    PAUSED,
    RUNNING,
    STAGING,
    WAITING,
    Entry,
    ReadyQueue,
    TaskState,
    WorkerState,
)

PREFETCH_S = 0.010
"""How much work a worker's thread has queued, so that it doesn't wait for the head between short tasks."""
MAX_QUEUED = 1000
MAX_AHEAD_INPUTS = 4
"""A task is sent ahead of no more inputs than these: finding out whether it may be is work for each."""
MAX_AHEAD_READERS = 2
"""No task is sent ahead of a result with more readers than these: they are for all workers to share."""

_MOVE_S = 0.002
_MOVE_BYTES_PER_S = 1e9
"""What it costs to run a task elsewhere than where its inputs are."""


class Placement(Queueing):
    """Gives queued tasks to workers that have room, and asks slow ones for what they haven't begun."""

    def __init__(self, make_error: Callable[[str, TaskState], Any], *, sends_ahead: bool = True) -> None:
        super().__init__(make_error)
        self._max_ahead_readers = MAX_AHEAD_READERS if sends_ahead else 0
        self._may_go_ahead: list[TaskState] = []
        """Waiting tasks one of whose inputs has just begun."""
        self._has_placed_suspect = False
        self._short_of_memory: dict[WorkerState, None] = {}
        """Workers that get only tasks that free memory."""
        self._retiring: dict[WorkerState, None] = {}

    def take_actions(self) -> Actions:
        """Give work to workers that have room, then return all that is to be done since the last call."""
        self._fill_all()
        while self._has_placed_suspect:  # others may have waited behind it
            self._has_placed_suspect = False
            self._fill_all()
        if self._may_go_ahead:
            self._send_ahead()
        if self._short_of_memory:
            self._let_one_grow()
        self._may_have_room = {worker: None for worker in self._may_have_room if self._has_room(worker)}
        if self._restricted:
            self._restricted = {restrictions: queue for restrictions, queue in self._restricted.items() if len(queue)}
        for worker in list(self._retiring):
            self._move_results(worker)
        actions, self._actions = self._actions, Actions()
        return actions

    def rebalance(self, interval_s: float) -> bool:
        """Time has passed: let idle workers begin what is queued at others that are slower than was expected.

        Such a worker gives back what it hasn't begun, and gets no more than it can begin at once until it is fast again: so
        a task is not sent to and fro. Call it every `interval_s`; returns whether there is anything to do now.
        """
        n_idle_threads = sum(max(0, w.nthreads - w.n_busy) for w in self.workers.values() if self._has_room(w))
        asks = False
        for worker in self.workers.values():
            n_finished, worker.n_finished = worker.n_finished, 0
            n_queued = worker.n_busy - worker.nthreads
            is_behind = n_queued > n_finished
            is_fast = n_finished * PREFETCH_S >= worker.nthreads * interval_s
            worker.is_slow = not is_fast and worker.n_busy > 0 and (is_behind or worker.is_slow)
            if worker.is_slow and is_behind and n_idle_threads:
                last = itertools.islice(
                    (task for task in reversed(worker.running) if not task.n_missing_inputs), n_queued
                )
                asks |= self._ask_back(worker, list(last))
        return asks

    def _ask_back(self, worker: WorkerState, tasks: Iterable[TaskState]) -> bool:
        """Ask for tasks that the worker hasn't begun; one that it has simply ends. Return whether there are any."""
        asked = [task for task in tasks if task.state is RUNNING and task.number not in worker.asked_back]
        if asked:
            worker.asked_back.update(task.number for task in asked)
            self._actions.recall[worker] += asked
        return bool(asked)

    def _fill_all(self) -> None:
        # Who has work of its own goes first: others then see what is left to take over.
        with_room = sorted(
            self._may_have_room, key=lambda worker: (not worker.ready, len(worker.running) / worker.nthreads)
        )
        portion = 1  # in growing rounds, so that one worker's queue doesn't swallow what another could begin at once
        while with_room:
            with_room = [worker for worker in with_room if self._fill(worker, portion * worker.nthreads)]
            portion *= 2

    def _fill(self, worker: WorkerState, limit: int) -> bool:
        """Give the worker up to `limit` tasks; return whether it may take more."""
        for _ in range(limit):
            task = self._pop_for(worker) if self._has_room(worker) else None
            if task is None:
                return False
            self._assign(task, worker)
            if self._may_go_ahead:
                self._send_ahead()
        return True

    def _has_room(self, worker: WorkerState) -> bool:
        if worker.retiring or worker.reserved or worker.pressure is PAUSED:
            return False
        # As `worker.n_busy`, which would cost a call for each task.
        n_busy = len(worker.running) + len(worker.stopping) - len(worker.seceded) - worker.n_ahead
        return n_busy < worker.nthreads or self._has_room_for_more(worker)

    def _has_room_for_more(self, worker: WorkerState) -> bool:
        """Tell whether the worker may have tasks queued that none of its threads can begin yet."""
        return (
            worker.occupancy_s < PREFETCH_S * worker.nthreads
            and len(worker.running) < MAX_QUEUED
            and not worker.stopping  # a task that was stopped may never end: nothing shall wait behind it
            and not worker.is_slow
            and not worker.retiring
            and not worker.reserved
        )

    def _pop_for(self, worker: WorkerState) -> TaskState | None:
        """Return the best task for the worker; if there is none that it may run, one that is queued for another."""
        is_short = worker.pressure is not NO_PRESSURE
        queue, best = self._best_for(worker, is_short)
        if best is not None:
            return None if _must_wait(best[2], worker) else queue.take(best)
        return self._take_over(worker, is_short) if worker.n_busy < worker.nthreads else None

    def _take_over(self, worker: WorkerState, shrinking: bool) -> TaskState | None:
        """Return the best task of the longest queue if that is worth fetching its inputs for."""
        victim = max(self.workers.values(), key=lambda other: len(other.ready) / other.nthreads, default=None)
        if victim is None or victim is worker or not len(victim.ready):
            return None
        best = victim.ready.first(shrinking)
        if best is None or any(dep.pinned for dep in best[2].deps) or _must_wait(best[2], worker):
            return None
        if len(victim.ready) <= victim.nthreads and not _is_worth_moving(best[2]):
            return None  # it is in the victim's next round
        return victim.ready.take(best)

    def _let_one_grow(self) -> None:
        """If nothing runs anywhere, let one task go although it needs more memory than it frees: else nothing ever would."""
        if any(task.number not in worker.seceded for worker in self.workers.values() for task in worker.running):
            return
        found: tuple[Entry, ReadyQueue, WorkerState] | None = None
        for worker in self._short_of_memory:
            queue, entry = self._best_for(worker, shrinking=False)
            if entry is not None and (found is None or entry < found[0]) and self._has_room(worker):
                found = entry, queue, worker
        if found is not None and not _must_wait(found[0][2], found[2]):
            self._assign(found[1].take(found[0]), found[2])

    def _send_ahead(self) -> None:
        """Send tasks to where all that they miss is being made: the worker begins them without asking again."""
        while self._may_go_ahead:
            task = self._may_go_ahead.pop()
            worker = self._place_ahead(task)
            if worker is not None:
                worker.n_ahead += 1
                self._take_on(task, worker)
                self._send(task)

    def _place_ahead(self, task: TaskState) -> WorkerState | None:
        """Return the worker that makes all that the task misses, if it can reach the rest and has room for short tasks."""
        if task.state is not WAITING or not 0 < task.n_missing_inputs <= MAX_AHEAD_INPUTS or task.is_on_last_chance:
            return None
        places = {dep.worker for dep in task.deps if dep.state is not MEMORY}
        worker = places.pop()
        if places or worker is None or task.restrictions is not None or task in self._leaving:
            return None
        for dep in task.deps:
            if dep.state is not MEMORY:
                if dep.state is not RUNNING or len(dep.dependents or ()) > self._max_ahead_readers:
                    return None
            elif dep.shared_location is None and dep.owner is not worker:
                return None
        if worker.pressure is not NO_PRESSURE or not self._has_room_for_more(worker):
            return None
        _, best = self._best_for(worker, shrinking=False)
        return None if best is not None and best[0] < task.priority else worker

    def _assign(self, task: TaskState, worker: WorkerState) -> None:
        self._take_on(task, worker)
        if task.n_deaths and task.is_on_last_chance:
            worker.reserved = self._has_placed_suspect = True
        n_staging = 0
        for dep in task.deps:
            if dep.shared_location is None and dep.owner is not worker:
                n_staging += 1
                self._publish(dep)
        if n_staging:
            task.n_staging = n_staging
            self._set_state(task, STAGING)
        else:
            self._send(task)

    def _take_on(self, task: TaskState, worker: WorkerState) -> None:
        """The task is the worker's from now on."""
        task.worker = worker
        worker.running[task] = None
        task.estimate_s = task.layer.duration_s
        worker.occupancy_s += task.estimate_s
        if task.restrictions is not None:
            claim(worker, task.number, task.restrictions)

    def _send(self, task: TaskState) -> None:
        assert task.worker is not None
        self._set_state(task, RUNNING)
        self._actions.run[task.worker].append(task)
        dependents = task.dependents
        if dependents is not None and len(dependents) <= self._max_ahead_readers:
            self._may_go_ahead += dependents

    def _move_results(self, worker: WorkerState) -> None:
        """Publish what a retiring worker holds; let it stop when nothing is left on it."""
        for task in worker.has:
            if not task.pinned:
                self._publish(task)
        if not worker.running and not worker.stopping and not worker.publishing:
            del self._retiring[worker]
            self._actions.stop.append(worker)


def _must_wait(task: TaskState, worker: WorkerState) -> bool:
    """A task on its last chance runs alone, so that no other is blamed for its worker's death."""
    return task.n_deaths > 0 and task.is_on_last_chance and worker.n_busy > 0


def _is_worth_moving(task: TaskState) -> bool:
    """Tell whether the task is known to take longer than fetching its inputs to another worker would."""
    if task.layer.nbytes is None:
        return False
    private_bytes = sum(dep.nbytes for dep in task.deps if dep.shared_location is None)
    return task.layer.duration_s > _MOVE_S + private_bytes / _MOVE_BYTES_PER_S
