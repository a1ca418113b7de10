"""`Release`: ends what nobody needs any more: work that is under way, results, and the tasks themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from glassloom.scheduler.restrictions import claim
from glassloom.scheduler.state import ERRED, FORGOTTEN, MEMORY, RELEASED, RUNNING, UNDER_WAY, TaskState
from glassloom.scheduler.tables import Tables


class Release(Tables):
    """Takes tasks off their way, drops results and forgets tasks once nobody needs them, or once they have failed."""

    def __init__(self, make_error: Callable[[str, TaskState], Any]) -> None:
        super().__init__(make_error)
        self._to_review: list[TaskState] = []
        self._reviewing = False

    def _review(self, task: TaskState) -> None:
        """Let go of what is not needed any more. Works through a list, as one end leads to the next."""
        self._to_review.append(task)
        if self._reviewing:
            return
        self._reviewing = True
        try:
            while self._to_review:
                self._let_go(self._to_review.pop())
        finally:
            self._reviewing = False  # else one error, and nothing would be released any more

    def _let_go(self, task: TaskState) -> None:
        """First the way to a result, then the result, then the task itself."""
        if task.is_needed or task.state is FORGOTTEN:
            return
        if task.state in UNDER_WAY:
            self._stop(task)
        elif task.state is MEMORY and task.dependents:
            if task.spec is None:
                return  # scattered data can't be computed again: kept while a known task may read it
            self._drop_result(task, tell=True)
            self._set_state(task, RELEASED)
        self._end_search(task)
        if not task.dependents:
            self._forget(task)

    def _stop(self, task: TaskState) -> None:
        """Take a task off its way."""
        self._call_off(task)
        self._set_state(task, RELEASED)
        for dep in task.deps:
            dep.n_live_dependents -= 1
            self._review(dep)

    def _call_off(self, task: TaskState) -> None:
        """Take a task from its worker, which must answer for it if it was sent there."""
        worker = task.worker
        if worker is None:
            return
        has_seceded = task.number in worker.seceded
        self._leave_worker(task)
        if task.state is RUNNING:
            worker.stopping[task.number] = task
            self._leaving[task] = None
            self._actions.recall[worker].append(task)
            if has_seceded:
                worker.seceded.add(task.number)
            if task.restrictions is not None:
                claim(worker, task.number, task.restrictions)

    def _drop_result(self, task: TaskState, *, tell: bool) -> None:
        if task.owner is not None:
            task.owner.has.pop(task, None)
            task.owner.publishing.pop(task, None)
            if tell:
                self._actions.drop[task.owner].append(task.number)
            task.owner = None
        if task.shared_location is not None:
            self._actions.free.append((task.number, task.shared_location))
            task.shared_location = None
        task.pinned = False
        task.was_held = True
        task.layer.n_released += 1

    def _forget(self, task: TaskState) -> None:
        """Forget a task that nobody wants and no known task depends on, then what only it depended on."""
        stack = [task]
        while stack:
            task = stack.pop()
            if task.state is FORGOTTEN or task.clients or task.dependents:
                continue
            if task.state in UNDER_WAY:
                self._stop(task)
            elif task.state is MEMORY:
                self._drop_result(task, tell=True)
            elif task.state is ERRED:
                task.layer.n_failed += 1
            self._set_state(task, FORGOTTEN)
            if self._sought:
                self._end_search(task)
            self.tasks.pop(task.key, None)
            self.by_number.pop(task.number, None)
            for dep in task.deps:
                if dep.dependents is not None:
                    dep.dependents.pop(task, None)
                    if not dep.dependents:
                        dep.dependents = None
                        stack.append(dep)
            task.deps = ()

    def _err(self, task: TaskState, error: Any) -> None:
        """The task has failed for good, and with it all that waits for it."""
        stack = [task]
        while stack:
            task = stack.pop()
            if task.state is ERRED:
                continue
            was_under_way = task.state in UNDER_WAY
            self._call_off(task)
            self._set_state(task, ERRED)
            task.error = error
            self._end_search(task)
            for client in task.clients or ():
                self._actions.erred[client].append(task)
            stack.extend(other for other in task.dependents or () if other.state in UNDER_WAY)
            if was_under_way:
                for dep in task.deps:
                    dep.n_live_dependents -= 1
                    self._review(dep)
