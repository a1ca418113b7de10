"""`Transitions`: every change of a task's state, and what follows from it. One table says which changes there are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from glassloom.scheduler.block_readers import BlockReaders, count_missing, count_missing_in_slices
from glassloom.scheduler.block_table import BlockTable
from glassloom.scheduler.ready_queues import ReadyQueues, Refusal
from glassloom.scheduler.state import DEATHS_ALLOWED, TaskState, WorkerState
from glassloom.scheduler.states import (
    ERRED,
    FORGOTTEN,
    MEMORY,
    READY,
    RELEASED,
    RUNNING,
    STAGING,
    UNDER_WAY,
    WAITING,
    State,
)
from glassloom.scheduler.tables import Tables, begin_anew
from glassloom.scheduler.task_block import TaskBlock

MakeError = Callable[[str, TaskState], Any]


class IllegalTransition(RuntimeError):
    """A task can't go from the state that it is in to the one that was asked for: a bug in the scheduler."""


class Transitions:
    """Takes tasks from one state to the next.

    `move` changes a state, then calls the function that the table has for that change. Such a function may move other
    tasks; what may not be needed any more it only puts on the list ``to_review``, which `review` works through, and what
    could run now, because of a result, on ``complete``: to queue a task may fail it, and what fails with it is anywhere.

    Parameters
    ----------
    max_ahead_readers
        A task isn't sent ahead of a result with more dependents than these.
    """

    def __init__(
        self,
        tables: Tables,
        queues: ReadyQueues,
        blocks: BlockTable,
        readers: BlockReaders,
        make_error: MakeError,
        max_ahead_readers: int,
    ) -> None:
        self._tables = tables
        self._queues = queues
        self._blocks = blocks
        self._readers = readers
        self._make_error = make_error
        self._max_ahead_readers = max_ahead_readers

    def move(self, task: TaskState, finish: State, detail: Any = None) -> None:
        """Change a task's state. What `detail` is depends on the change: see the function that the table has for it.

        Raises
        ------
        IllegalTransition
            If the table doesn't have the change.
        """
        start = task.state
        try:
            follow = TRANSITIONS[start, finish]
        except KeyError:
            raise IllegalTransition(
                f"{task!r} can't become {finish.name.lower()}; its table allows {_next(start)}"
            ) from None
        layer = task.layer
        counts = layer.counts
        counts[start] -= 1
        counts[finish] += 1
        task.state = finish
        self._tables.layers.changed.add(layer)
        if follow is not None:
            follow(self, task, detail)

    # What several events have in common

    def start(self, task: TaskState) -> None:
        """Set a released task, and what it needs, on its way. An explicit stack: chains may be long."""
        stack = [task]
        while stack:
            task = stack.pop()
            if task.state is not RELEASED or not task.is_needed:
                continue
            begin_anew(task)
            if task.spec is None:
                self.fail(task, self._make_error("data-lost", task))
            elif task.deps or task.reads is not None or task in self._tables.stopping:
                if task.reads is not None:
                    self._readers.prepare(task)
                self.move(task, WAITING, stack)
            else:
                self._make_ready(task)

    def make_ready(self, task: TaskState) -> None:
        """Queue a waiting task whose inputs are all held, once its worker has answered for its last run."""
        if task not in self._tables.stopping:
            self._make_ready(task)

    def make_complete_ready(self) -> None:
        """Queue tasks, and blocks of tasks, whose inputs are all held now.

        Only once all that wait for a result have counted it: one that can run nowhere fails here, which may fail others of
        these, or dissolve a block; the tasks of that are then added to the end.
        """
        complete = self._tables.complete
        for waiting in complete:
            if waiting.state is not WAITING or waiting.n_missing_inputs:
                continue
            if isinstance(waiting, TaskBlock):
                self._blocks.inputs_are_held(waiting)
            else:
                self.make_ready(waiting)
        complete.clear()

    def _make_ready(self, task: TaskState) -> None:
        if task.reads is not None:
            self._readers.make_reachable(task)
        task.ready_s = self._tables.now_s
        self.move(task, READY)

    def requeue(self, task: TaskState) -> None:
        """Queue a READY task anew: where it was queued is no place for it any more."""
        self._queue(task, None)

    def fail(self, task: TaskState, error: Any) -> None:
        """A task has failed for good, and with it all that waits for it."""
        stack = [task]
        while stack:
            task = stack.pop()
            if task.state is not ERRED:
                _give_up_place(task)
                self.move(task, ERRED, error)
                stack += self.dependents_under_way(task)

    def dependents_under_way(self, task: TaskState) -> list[TaskState]:
        """Return the tasks under way that read a task's result; they leave their blocks."""
        if task.dependents is None:
            return []
        for dependent in list(task.dependents):
            if isinstance(dependent, TaskBlock) and dependent.is_under_way:
                self._blocks.dissolve(dependent)
        return [other for other in task.dependents or () if isinstance(other, TaskState) and other.state in UNDER_WAY]

    def cancel(self, tasks: Iterable[TaskState]) -> None:
        """Let nobody wait for tasks any more, nor for what depends on them; tell the clients that did."""
        tables, stack = self._tables, list(tasks)
        given_up: dict[TaskState, None] = {}
        while stack:
            task = stack.pop()
            if task in given_up:
                continue
            given_up[task] = None
            for client in task.clients:
                tables.actions.cancelled[client].append(task.key)
            tables.clients.clear(task)
            stack += self.dependents_under_way(task)
        tables.to_review += given_up
        self.review()

    def lose(self, task: TaskState) -> None:
        """The only copy of a result is gone: compute it again if it is needed."""
        self.move(task, RELEASED, False)
        for dependent in self.dependents_under_way(task):
            if dependent.state is READY or dependent.state is STAGING:
                self.move(dependent, WAITING)
            elif dependent.state is WAITING:
                dependent.n_missing_inputs = count_missing(dependent)
            elif dependent.n_awaited:
                dependent.n_awaited += 1
        if task.is_needed:
            self.start(task)

    def wait_again(self, task: TaskState) -> None:
        """A task that was given to a worker goes back to wait: for inputs that are gone, or for room."""
        self.move(task, WAITING)
        if not task.n_missing_inputs:
            self.make_ready(task)
        else:
            for dep in task.deps:
                self.start(dep)

    def take_back(self, task: TaskState, *, suspect: bool) -> None:
        """The task's worker died with it."""
        task.attempt += task.state is RUNNING
        if suspect:
            task.n_deaths += 1
            if task.n_deaths >= DEATHS_ALLOWED:
                self.leave_worker(task)
                self.fail(task, self._make_error("worker-lost", task))
                return
        self.wait_again(task)

    def pin(self, task: TaskState) -> None:
        """The result cannot leave its worker: whatever waits for a copy must go there instead."""
        task.pinned = True
        self._tables.end_search(task)
        for dependent in self.dependents_under_way(task):
            if dependent.state is READY:
                self.requeue(dependent)
            elif dependent.state is STAGING:
                self.move(dependent, READY)

    def leave_worker(self, task: TaskState) -> None:
        """A worker won't come back to a task that it was given."""
        worker = task.worker
        if worker is not None:
            worker.leave(task)
            self._tables.may_have_room[worker] = None

    def answered(self, worker: WorkerState, number: int) -> bool:
        """A worker will not come back to a task that may have been stopped there; return whether it had been."""
        task = self.end_stop(worker, number)
        if task is not None and task.state is WAITING and not task.n_missing_inputs:
            self.make_ready(task)
        return task is not None

    def end_stop(self, worker: WorkerState, number: int) -> TaskState | None:
        """A worker has answered for a task. Return the task if it was stopped there."""
        task = worker.stopping.pop(number, None)
        if task is not None:
            del self._tables.stopping[task]
            worker.seceded.discard(number)
            worker.unclaim(number)
            self._tables.may_have_room[worker] = None
        return task

    def review(self) -> None:
        """Let go of what is not needed any more. Works through a list, as one end leads to the next."""
        to_review = self._tables.to_review
        while to_review:
            task = to_review.pop()
            if not task.clients and not task.n_live_dependents and task.state is not FORGOTTEN:
                self._let_go(task)

    def _let_go(self, task: TaskState) -> None:
        """First the way to a result, then the result, then the task itself."""
        if task.state is not MEMORY:
            _give_up_place(task)
        if task.state is MEMORY:
            if task.dependents:
                if task.spec is None:
                    return  # scattered data can't be computed again: kept while a known task may read it
                self.move(task, RELEASED, True)
        elif task.state in UNDER_WAY:
            self.move(task, RELEASED)
        if self._tables.sought:
            self._tables.end_search(task)
        if not task.dependents:
            self.move(task, FORGOTTEN)

    # What follows from a change of state: the functions of the table

    def _await_inputs(self, task: TaskState, to_start: list[TaskState]) -> None:
        """Wait for dependencies. Those that are released are put on the list `to_start`."""
        n_missing = 0 if task.reads is None else count_missing_in_slices(task)
        n_running = 0
        broken: TaskState | None = None
        for dep in task.deps:
            dep.n_live_dependents += 1
            state = dep.state
            if state is MEMORY:
                continue
            n_missing += 1
            if state is RUNNING:
                n_running += 1
            elif state is RELEASED:
                to_start.append(dep)
            elif state is ERRED:
                broken = dep
        task.n_missing_inputs = n_missing
        if broken is not None:
            self.fail(task, broken.error)
        elif not n_missing:
            self.make_ready(task)
        elif n_running == n_missing:
            self._tables.may_go_ahead.append(task)

    def _await_again(self, task: TaskState, _: Any) -> None:
        """Wait for dependencies that were held, or for the worker's answer."""
        self.leave_worker(task)
        task.n_missing_inputs = count_missing(task)

    def _queue(self, task: TaskState, _: Any) -> None:
        """Queue the task where its data is."""
        place = self._queues.push(task)
        if place is None:
            return
        if isinstance(place, Refusal):
            self.fail(task, self._make_error(place.kind, place.cause))
        else:
            self._tables.may_have_room[place] = None

    def _queue_elsewhere(self, task: TaskState, _: Any) -> None:
        """What was being published for the task can't be sent."""
        self.leave_worker(task)
        self._queue(task, None)

    def _stage(self, task: TaskState, worker: WorkerState) -> None:
        """Have published what the task's worker can't reach."""
        self._take_on(task, worker)
        task.n_staging = 0
        for dep in task.deps:
            if dep.shared_location is None and dep.owner is not worker:
                task.n_staging += 1
                self._tables.publish(dep)

    def _run(self, task: TaskState, worker: WorkerState) -> None:
        """Give the task to a worker, and send it."""
        self._take_on(task, worker)
        self._send(task, None)

    def _run_ahead(self, task: TaskState, worker: WorkerState) -> None:
        """Send the task to the worker that makes all that it misses, before that is there."""
        task.n_awaited, task.n_missing_inputs = task.n_missing_inputs, 0
        task.ready_s = self._tables.now_s
        worker.n_ahead += 1
        self._run(task, worker)

    def _send(self, task: TaskState, _: Any) -> None:
        tables = self._tables
        assert task.worker is not None
        task.sent_s, task.sent_number = tables.now_s, tables.take_sent_number()
        tables.actions.run[task.worker].append(task)
        dependents = task.dependents
        if dependents is not None and len(dependents) <= self._max_ahead_readers:
            tables.may_go_ahead += dependents

    def _take_on(self, task: TaskState, worker: WorkerState) -> None:
        """The task is the worker's from now on."""
        task.worker = worker
        worker.running[task] = None
        task.estimate_s = task.layer.duration_s
        worker.occupancy_s += task.estimate_s
        if task.restrictions is not None:
            worker.claim(task.number, task.restrictions.resources)

    def _finish(self, task: TaskState, result: tuple[WorkerState | None, Any, int]) -> None:
        """A worker has run the task. Of the result the worker that has it, if it is private, its location, and its size."""
        worker = task.worker
        if worker is not None:
            task.producer = worker.number
            worker.leave(task)
            self._tables.may_have_room[worker] = None
        task.n_missing_inputs = 0
        self._hold(task, result)
        if task.deps or task.reads is not None:
            self._let_inputs_go(task)

    def _hold(self, task: TaskState, result: tuple[WorkerState | None, Any, int]) -> None:
        """Keep a result, tell the clients that want it, and let dependents go on."""
        owner, location, task.nbytes = result
        task.layer.held_bytes += task.nbytes
        tables = self._tables
        task.owner = owner
        task.shared_location = location
        if owner is not None:
            owner.has[task] = None
            if owner.retiring:
                tables.publish(task)
        if tables.sought and task in tables.sought:
            if location is None:
                tables.publish(task)
            else:
                tables.end_search(task)
        for client in task.clients:
            tables.actions.finished[client].append(task)
        if task.dependents is not None:
            for dependent in task.dependents:
                self._note_input(dependent)
            if tables.complete:
                self.make_complete_ready()
        if not task.n_live_dependents and not task.clients:
            tables.to_review.append(task)

    def _note_input(self, dependent: Any) -> None:
        """An input of a task, or of those of a block, is held. It is only counted: see `make_complete_ready`."""
        if dependent.state is WAITING:
            dependent.n_missing_inputs -= 1
            if not dependent.n_missing_inputs:
                self._tables.complete.append(dependent)
        elif dependent.n_awaited:
            dependent.n_awaited -= 1
            if not dependent.n_awaited and dependent.worker is not None:
                dependent.worker.n_ahead -= 1

    def _hold_anew(self, task: TaskState, result: tuple[WorkerState | None, Any, int]) -> None:
        """A value takes the place of what has failed, or of what was let go."""
        task.error = None
        for erred in self._tables.actions.erred.values():
            if task in erred:
                erred.remove(task)  # clients hear of what has failed after what has finished
        begin_anew(task)
        self._hold(task, result)

    def _let_inputs_go(self, task: TaskState, _: Any = None) -> None:
        """The task doesn't read its dependencies any more."""
        for dep in task.deps:
            dep.n_live_dependents -= 1
            if not dep.n_live_dependents and not dep.clients:
                self._tables.to_review.append(dep)
        if task.reads is not None:
            self._readers.let_go(task)

    def _stop_staging(self, task: TaskState, _: Any) -> None:
        self.leave_worker(task)
        self._let_inputs_go(task)

    def _stop_running(self, task: TaskState, _: Any) -> None:
        self._recall(task)
        self._let_inputs_go(task)

    def _recall(self, task: TaskState) -> None:
        """Take a task from its worker, which must answer for it."""
        worker = task.worker
        if worker is None:
            return  # it has answered
        has_seceded = task.number in worker.seceded
        self.leave_worker(task)
        worker.stopping[task.number] = task
        self._tables.stopping[task] = None
        self._tables.actions.recall[worker].append(task)
        if has_seceded:
            worker.seceded.add(task.number)
        if task.restrictions is not None:
            worker.claim(task.number, task.restrictions.resources)

    def _fail(self, task: TaskState, error: Any) -> None:
        """Keep the error and tell the clients that want the result."""
        task.error = error
        self._tables.end_search(task)
        for client in task.clients:
            self._tables.actions.erred[client].append(task)

    def _fail_queued(self, task: TaskState, error: Any) -> None:
        self._fail(task, error)
        self._let_inputs_go(task)

    def _fail_running(self, task: TaskState, error: Any) -> None:
        self._recall(task)
        self._fail_queued(task, error)

    def _try_again(self, task: TaskState, _: Any) -> None:
        task.error = None
        task.attempt += 1

    def _drop(self, task: TaskState, tell: bool) -> None:
        """Let go of a result; `tell` its worker, unless the result is gone there."""
        tables, owner = self._tables, task.owner
        if owner is not None:
            owner.has.pop(task, None)
            owner.publishing.pop(task, None)
            if tell:
                tables.actions.drop[owner].append(task.number)
            task.owner = None
        if task.publisher is not None:
            tables.actions.drop[task.publisher].append(task.number)
            task.publisher = None
        if task.shared_location is not None:
            tables.actions.free.append((task.number, task.shared_location))
            task.shared_location = None
        task.pinned = False
        task.was_held = True
        task.attempt += 1
        task.layer.n_released += 1
        task.layer.held_bytes -= task.nbytes

    def _forget(self, task: TaskState, _: Any = None) -> None:
        """Forget a task that nobody wants and no known task depends on, then what only it depended on."""
        tables = self._tables
        del tables.tasks[task.key], tables.by_number[task.number]
        if tables.n_lost:
            tables.n_lost.pop(task, None)
        layer = task.layer
        if layer.counts[FORGOTTEN] == layer.total:
            tables.layers.note_end(layer)
        for dep in task.deps:
            if dep.dependents is not None:
                del dep.dependents[task]
                if not dep.dependents:
                    dep.dependents = None
                    tables.to_review.append(dep)
        task.deps = ()
        if task.reads is not None:
            self._readers.forget(task)

    def _forget_result(self, task: TaskState, _: Any) -> None:
        self._drop(task, True)
        self._forget(task)

    def _forget_failed(self, task: TaskState, _: Any) -> None:
        task.layer.n_failed += 1
        self._forget(task)


Follow = Callable[[Transitions, TaskState, Any], None]

TRANSITIONS: dict[tuple[State, State], Follow | None] = {
    (RELEASED, WAITING): Transitions._await_inputs,
    (RELEASED, READY): Transitions._queue,
    (RELEASED, MEMORY): Transitions._hold_anew,
    (RELEASED, ERRED): Transitions._fail,
    (RELEASED, FORGOTTEN): Transitions._forget,
    (WAITING, RELEASED): Transitions._let_inputs_go,
    (WAITING, READY): Transitions._queue,
    (WAITING, RUNNING): Transitions._run_ahead,
    (WAITING, MEMORY): Transitions._finish,
    (WAITING, ERRED): Transitions._fail_queued,
    (READY, RELEASED): Transitions._let_inputs_go,
    (READY, WAITING): Transitions._await_again,
    (READY, STAGING): Transitions._stage,
    (READY, RUNNING): Transitions._run,
    (READY, ERRED): Transitions._fail_queued,
    (STAGING, RELEASED): Transitions._stop_staging,
    (STAGING, WAITING): Transitions._await_again,
    (STAGING, READY): Transitions._queue_elsewhere,
    (STAGING, RUNNING): Transitions._send,
    (RUNNING, RELEASED): Transitions._stop_running,
    (RUNNING, WAITING): Transitions._await_again,
    (RUNNING, MEMORY): Transitions._finish,
    (RUNNING, ERRED): Transitions._fail_running,
    (MEMORY, RELEASED): Transitions._drop,
    (MEMORY, FORGOTTEN): Transitions._forget_result,
    (ERRED, RELEASED): Transitions._try_again,
    (ERRED, MEMORY): Transitions._hold_anew,
    (ERRED, FORGOTTEN): Transitions._forget_failed,
}
"""By start and finish: what follows from the change. A change that isn't here is a bug: see `IllegalTransition`."""


def _next(start: State) -> str:
    """Return for people the states that a task may go to from `start`."""
    return ", ".join(finish.name.lower() for begin, finish in TRANSITIONS if begin is start) or "none"


def _give_up_place(task: TaskState) -> None:
    """The client that is charged for the task isn't any more, as it won't run. A place that is reached already stays so."""
    if task.places is not None:
        task.places.give_up(task.priority)
        task.places = None  # it may be another task's by then, when this one is let go once more
