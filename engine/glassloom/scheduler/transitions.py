"""`Transitions`: how a task goes on when something has happened to it, and with it what depends on it."""

from __future__ import annotations

from typing import Any

from glassloom.scheduler.placement import Placement
from glassloom.scheduler.restrictions import unclaim
from glassloom.scheduler.state import (
    DEATHS_ALLOWED,
    ERRED,
    MEMORY,
    READY,
    RELEASED,
    RUNNING,
    STAGING,
    WAITING,
    TaskState,
    WorkerState,
)


class Transitions(Placement):
    """Takes tasks from one state to the next: started, held, lost, tried again, or unwanted by the time they end."""

    def _start(self, task: TaskState) -> None:
        """Set a released task, and what it needs, on its way. An explicit stack: chains may be long."""
        stack = [task]
        while stack:
            task = stack.pop()
            if task.state is not RELEASED or not task.is_needed:
                continue
            if task.was_held:
                self._begin_anew(task)
            if task.spec is None:
                self._err(task, self._make_error("data-lost", task))
                continue
            if not task.deps:
                task.n_missing_inputs = 0
                self._enqueue(task)
                continue
            self._set_state(task, WAITING)
            n_missing_inputs = 0
            broken: TaskState | None = None
            for dep in task.deps:
                dep.n_live_dependents += 1
                state = dep.state
                if state is MEMORY:
                    continue
                n_missing_inputs += 1
                if state is RELEASED:
                    stack.append(dep)
                elif state is RUNNING:
                    self._may_go_ahead.append(task)
                elif state is ERRED:
                    broken = dep
            task.n_missing_inputs = n_missing_inputs
            if broken is not None:
                self._err(task, broken.error)
            elif not n_missing_inputs:
                self._enqueue(task)

    def _hold(self, task: TaskState, owner: WorkerState | None, location: Any, nbytes: int) -> None:
        """The task has a result: tell who wants it, and let dependents go on."""
        self._set_state(task, MEMORY)
        task.owner = owner
        task.shared_location = location
        task.nbytes = nbytes
        if owner is not None:
            owner.has[task] = None
        if self._sought and task in self._sought:
            if location is None:
                self._publish(task)
            else:
                self._end_search(task)
        for client in task.clients or ():
            self._actions.finished[client].append(task)
        for dependent in task.dependents or ():
            if dependent.state is WAITING:
                dependent.n_missing_inputs -= 1
                if not dependent.n_missing_inputs:
                    self._enqueue(dependent)
            elif dependent.n_missing_inputs and dependent.worker is not None:
                dependent.n_missing_inputs -= 1
                dependent.worker.n_ahead -= not dependent.n_missing_inputs
        if not task.n_live_dependents and not task.clients:
            self._review(task)

    def _lose(self, task: TaskState) -> None:
        """The only copy of a result is gone: compute it again if it is needed."""
        self._drop_result(task, tell=False)
        self._set_state(task, RELEASED)
        for dependent in task.dependents or ():
            if dependent.state in (READY, STAGING):
                self._leave_worker(dependent)
                self._set_state(dependent, WAITING)
            if dependent.state is WAITING:
                dependent.n_missing_inputs = _count_missing(dependent)
            elif dependent.state is RUNNING and dependent.n_missing_inputs:
                dependent.n_missing_inputs += 1
        if task.is_needed:
            self._start(task)

    def _take_back(self, task: TaskState, *, suspect: bool) -> None:
        """The task's worker died with it."""
        self._leave_worker(task)
        if task.state not in (STAGING, RUNNING):
            return
        if suspect:
            task.n_deaths += 1
            if task.n_deaths >= DEATHS_ALLOWED:
                self._err(task, self._make_error("worker-lost", task))
                return
        self._wait_again(task)

    def _wait_again(self, task: TaskState) -> None:
        """A task that was under way goes back to wait: for inputs that are gone, or for room."""
        self._set_state(task, WAITING)
        task.n_missing_inputs = _count_missing(task)
        if not task.n_missing_inputs:
            self._enqueue(task)
        else:
            for dep in task.deps:
                self._start(dep)

    def _pin(self, task: TaskState) -> None:
        """The result cannot leave its worker: whoever waits for a copy must go there instead."""
        task.pinned = True
        self._end_search(task)
        for dependent in list(task.dependents or ()):
            if dependent.state in (READY, STAGING):
                self._leave_worker(dependent)
                self._set_state(dependent, READY)
                self._enqueue(dependent)

    def _finish_unwanted(self, worker: WorkerState, task: TaskState | None, task_number: int, location: Any) -> None:
        """A worker is done with a task that was stopped or taken back meanwhile."""
        was_stopped = self._answered(worker, task_number)
        if location is not None:
            self._actions.free.append((-1, location))
        elif task is None or (was_stopped and task.owner is not worker):
            self._actions.drop[worker].append(task_number)
        self._may_have_room[worker] = None

    def _answered(self, worker: WorkerState, number: int) -> bool:
        """A worker will not come back to a task; return whether it had been stopped there."""
        task = worker.stopping.pop(number, None)
        if task is None:
            return False
        self._leaving.pop(task, None)
        worker.seceded.discard(number)
        unclaim(worker, number)
        if task.state is WAITING and not task.n_missing_inputs:
            self._enqueue(task)
        return True


def _count_missing(task: TaskState) -> int:
    return sum(dep.state is not MEMORY for dep in task.deps)
