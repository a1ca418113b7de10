"""`Scheduler`: decides what runs where and when, and what may be forgotten. Pure: see `Actions` for what it wants done.

Each method is an event; the runtime calls it with what happened, in batches, then carries out `take_actions()`.
Invariants (checked by ``tests/engine/invariants.py``): a READY task has all dependencies held; ``waiters`` of a task is
the number of its dependents that are WAITING to RUNNING; a result is held as long as ``needed``; a task is known as long
as it is wanted or a dependent is known, so that lost results can be computed again; a task is sent to a worker only
after all workers have answered for its earlier runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from glassloom.errors import GraphError
from glassloom.graph.keys import Key
from glassloom.scheduler.fairness import FairShare
from glassloom.scheduler.order import Cycle, order
from glassloom.scheduler.restrictions import Restrictions, unclaim
from glassloom.scheduler.state import (
    ERRED,
    HIGH_PRESSURE,
    MEMORY,
    PAUSED,
    RELEASED,
    RUNNING,
    STAGING,
    UNDER_WAY,
    WAITING,
    Pressure,
    TaskState,
    WorkerState,
)
from glassloom.scheduler.transitions import Transitions


class Scheduler(Transitions):
    """The state machine. Not thread-safe; deterministic for equal sequences of events.

    Parameters
    ----------
    make_error
        Called with a kind (``"worker-lost"``, ``"data-lost"``, ``"pinned"``, ``"nowhere"``) and the task; returns what is kept as the
        task's error. The scheduler itself never looks into errors.
    sends_ahead
        Whether a worker lets a task wait for inputs that are still being made there.
    """

    def __init__(self, make_error: Callable[[str, TaskState], Any], *, sends_ahead: bool = True) -> None:
        super().__init__(make_error, sends_ahead=sends_ahead)
        self._fair_share = FairShare()

    def submit(
        self,
        client: Any,
        keys: Sequence[Key],
        specs: Sequence[Any],
        deps: Sequence[Sequence[int]],
        *,
        external: Sequence[Key] = (),
        wanted: Iterable[Key] = (),
        priority: int = 0,
        retries: int = 0,
        restrictions: Restrictions | None = None,
        labels: dict[str, tuple[str, str]] | None = None,
    ) -> None:
        """A client hands in a graph.

        Parameters
        ----------
        keys, specs, deps
            One element a task: its key, what the runtime needs to run it, and its dependencies as positions in
            ``keys + external``. A key that is known already keeps its task.
        external
            Keys of known tasks that this graph builds on.
        wanted
            Keys whose results the client wants held.
        priority
            Larger goes first. Of graphs of equal priority, one client's go in the order in which they came, and different
            clients' task by task in turn.
        demand
            What the tasks need of their workers.
        labels
            For layers: what to call it, and the user's line.

        Raises
        ------
        GraphError
            If an external key is unknown, or there is a cycle. Nothing has changed then.
        """
        n_new = len(keys)
        for key in external:
            if key not in self.tasks:
                raise GraphError(
                    f"the graph builds on {key!r}, which the cluster doesn't know (released or cancelled?)"
                )
        inner = [[dep for dep in below if dep < n_new] for below in deps] if external else deps
        try:
            ranks = order(inner)
        except Cycle as cycle:
            raise GraphError(f"the graph has a cycle through {keys[cycle.task]!r}") from cycle
        first_place = self._fair_share.assign(client, priority, n_new)
        elsewhere = self._layers_built_elsewhere(labels or {})
        states = [self._known_or_new(key, labels) for key in keys]
        everyone = [*states, *(self.tasks[key] for key in external)]
        for state, spec, below, rank in zip(states, specs, deps, ranks, strict=True):
            if state.state is ERRED:
                self._set_state(state, RELEASED)  # handed in again: it gets another chance
                state.error = None
            if state.spec is not None or state.state is not RELEASED:
                continue
            state.spec = spec
            if elsewhere:
                state.own_origin = elsewhere.get(state.layer.name, "")
            state.priority = first_place + rank
            state.retries = retries
            state.restrictions = restrictions
            if below:
                state.deps = tuple([everyone[dep] for dep in below])
                for dep in state.deps:
                    if dep.dependents is None:
                        dep.dependents = {}
                    dep.dependents[state] = None
        self.want(client, wanted)
        for state in states:
            if state.state is RELEASED:
                if state.clients:
                    self._start(state)
                elif not state.dependents:
                    self._forget(state)

    def want(self, client: Any, keys: Iterable[Key]) -> None:
        """A client wants results held, and to be told when they are there. Unknown keys are reported as cancelled."""
        for key in keys:
            task = self.tasks.get(key)
            if task is None:
                self._actions.cancelled[client].append(key)
                continue
            if task.clients is None:
                task.clients = {client}
            else:
                task.clients.add(client)
            if task.state is MEMORY:
                self._actions.finished[client].append(task)
            elif task.state is ERRED:
                self._actions.erred[client].append(task)
            else:
                self._start(task)

    def release(self, client: Any, keys: Iterable[Key]) -> None:
        """A client doesn't want results any more."""
        for key in keys:
            task = self.tasks.get(key)
            if task is not None and task.clients:
                task.clients.discard(client)
                if task.dependents:
                    self._review(task)
                else:
                    self._forget(task)

    def cancel(self, keys: Iterable[Key]) -> None:
        """Nobody shall wait for these any more, whoever wanted them."""
        stack = [self.tasks[key] for key in keys if key in self.tasks]
        given_up: dict[TaskState, None] = {}
        while stack:
            task = stack.pop()
            if task in given_up:
                continue
            given_up[task] = None
            for client in task.clients or ():
                self._actions.cancelled[client].append(task.key)
            task.clients = None
            stack.extend(dependent for dependent in task.dependents or () if dependent.state in UNDER_WAY)
        for task in reversed(given_up):
            self._review(task)

    def client_left(self, client: Any) -> None:
        """A client is gone, with all its wishes."""
        self._fair_share.forget(client)
        self.release(client, [task.key for task in self.tasks.values() if task.clients and client in task.clients])

    def add_data(self, client: Any, key: Key, location: Any, nbytes: int) -> None:
        """A client has put a value where every process can reach it."""
        task = self.tasks.get(key) or self._new_task(key, self._data)
        if task.clients is None:
            task.clients = set()
        task.clients.add(client)
        if task.state in (RELEASED, ERRED):
            task.error = None
            self._begin_anew(task)
            self._hold(task, None, location, nbytes)
            return
        self._actions.free.append((-1, location))  # known already: equal keys mean equal values
        if task.state is MEMORY:
            self._actions.finished[client].append(task)

    def has_ended_keys_of(self, client: Any) -> bool:
        """Tell whether the next actions will say to a client that a key has failed or was cancelled."""
        return client in self._actions.erred or client in self._actions.cancelled

    def worker_joined(
        self, number: int, name: str, nthreads: int, resources: dict[str, float] | None = None
    ) -> WorkerState:
        """A worker is there and can run tasks, with resources that its tasks may take up."""
        worker = self.workers[number] = WorkerState(number, name, nthreads, resources)
        self._may_have_room[worker] = None
        return worker

    def worker_left(self, number: int, *, blame: bool = True) -> None:
        """A worker is gone with what it ran and held. With `blame`, tasks that had been sent to it are suspects."""
        worker = self.workers.pop(number, None)
        if worker is None:
            return
        worker.retiring = True  # so that nothing is queued for it while its results are taken from the books
        self._retiring.pop(worker, None)
        self._short_of_memory.pop(worker, None)
        self._may_have_room = dict.fromkeys(self.workers.values())
        suspects = {task for task in worker.running if blame and task.state is RUNNING and not task.n_missing_inputs}
        for task in list(worker.has):
            self._lose(task)
        for task in list(worker.running):
            self._take_back(task, suspect=task in suspects)
        for number in list(worker.stopping):
            self._answered(worker, number)
        self._queue_elsewhere(worker)
        self._give_up_what_runs_nowhere()

    def retire(self, number: int) -> None:
        """A worker shall go: it gets no more tasks, its results move to where everybody can reach them.

        `Actions.stop` says when it may end. What can't be moved is computed again elsewhere if it is still needed then.
        """
        worker = self.workers.get(number)
        if worker is None or worker.retiring:
            return
        worker.retiring = True
        self._retiring[worker] = None
        self._queue_elsewhere(worker)
        self._ask_back(worker, list(worker.running))
        self._give_up_what_runs_nowhere()

    def finished(
        self,
        number: int,
        tasks: Sequence[int],
        nbytes: Sequence[int],
        durations_s: Sequence[float],
        locations: Sequence[Any],
    ) -> None:
        """A worker has results. Element by element: task number, size, duration, and location if it isn't private."""
        worker = self.workers.get(number)
        if worker is None:
            self._actions.free.extend((-1, location) for location in locations if location is not None)
            return
        by_number = self.by_number
        task: TaskState | None = None
        for task_number, size, duration_s, location in zip(tasks, nbytes, durations_s, locations, strict=True):
            task = by_number.get(task_number)
            if task is None or task.worker is not worker or task.state is not RUNNING:
                if task is None or task.state is not WAITING or task_number not in worker.stopping:
                    self._finish_unwanted(worker, task, task_number, location)
                    continue
                del worker.stopping[task_number], self._leaving[task]  # stopped, then wanted again: it is welcome
                worker.seceded.discard(task_number)
                unclaim(worker, task_number)
                self._may_have_room[worker] = None
            self._leave_worker(task)
            worker.n_finished += 1
            task.layer.learn(duration_s, size)
            self._hold(task, worker if location is None else None, location, size)
            for dep in task.deps:
                dep.n_live_dependents -= 1
                if not dep.n_live_dependents and not dep.clients:
                    self._review(dep)
        if task is not None:
            self._fair_share.advance(task.priority)  # once a batch is near enough

    def failed(self, number: int, task_number: int, error: Any) -> bool:
        """A task raised. Returns whether that is final (False: it is tried again)."""
        worker = self.workers.get(number)
        task = self.by_number.get(task_number)
        if worker is None or task is None or task.worker is not worker or task.state is not RUNNING:
            if worker is not None:
                self._finish_unwanted(worker, task, task_number, None)
            return False
        self._leave_worker(task)
        if task.retries:
            task.retries -= 1
            self._wait_again(task)
            return False
        self._err(task, error)
        return True

    def recalled(self, number: int, tasks: Iterable[int]) -> None:
        """A worker gives back tasks that it hasn't begun: it was asked to, or an input is gone.

        What it knows to be gone it tells first: see `results_lost`.
        """
        worker = self.workers.get(number)
        if worker is None:
            return
        for task_number in tasks:
            task = self.by_number.get(task_number)
            if task is not None and task.worker is worker and task.state is RUNNING:
                self._leave_worker(task)
                self._wait_again(task)
            else:
                self._finish_unwanted(worker, task, task_number, None)

    def seceded(self, number: int, task_number: int) -> None:
        """A running task waits for other tasks: its thread and its time are left to them."""
        worker = self.workers.get(number)
        if worker is None:
            return
        task = self.by_number.get(task_number)
        if task is not None and task.worker is worker and task.state is RUNNING:
            worker.occupancy_s = max(0.0, worker.occupancy_s - task.estimate_s)
            task.estimate_s = 0.0
            worker.reserved = False
        elif task_number not in worker.stopping:
            return
        worker.seceded.add(task_number)
        self._may_have_room[worker] = None

    def rejoined(self, number: int, task_number: int) -> None:
        """A task that had seceded goes on: it takes a thread again, even if that makes one too many."""
        worker = self.workers.get(number)
        if worker is None or task_number not in worker.seceded:
            return
        worker.seceded.remove(task_number)
        task = self.by_number.get(task_number)
        if task is not None and task in worker.running:
            task.estimate_s = task.layer.duration_s
            worker.occupancy_s += task.estimate_s

    def results_lost(self, number: int, tasks: Iterable[int]) -> int:
        """Results that only this worker has can't be read any more: they are made again if they are needed.

        Returns how many of them were held there.

        A task that was sent to the worker and hasn't begun is given back by it (`recalled`); one that has read them goes on.
        """
        worker = self.workers.get(number)
        if worker is None:
            return 0
        known = [self.by_number[task] for task in tasks if task in self.by_number]
        lost = [task for task in known if task.owner is worker]
        for task in lost:
            self._lose(task)
        return len(lost)

    def set_pressure(self, number: int, pressure: Pressure) -> None:
        """A worker's memory is short, or isn't any more."""
        worker = self.workers.get(number)
        if worker is None:
            return
        worker.pressure = pressure
        self._short_of_memory.pop(worker, None)
        if pressure is HIGH_PRESSURE:
            self._short_of_memory[worker] = None
        if pressure is PAUSED:
            self._queue_elsewhere(worker)
        else:
            self._ready.reconsider()
            worker.ready.reconsider()
        self._may_have_room[worker] = None

    def published(self, number: int, task_number: int, location: Any) -> None:
        """A worker has put a result where every process can reach it; `shared_location` None: that cannot be done."""
        task = self.by_number.get(task_number)
        worker = self.workers.get(number)
        if worker is not None and task is not None:
            worker.publishing.pop(task, None)
        if task is None or task.state is not MEMORY or task.shared_location is not None:
            if location is not None:
                self._actions.free.append((-1, location))
            return
        if location is None:
            self._pin(task)
            return
        owner, task.owner, task.shared_location = task.owner, None, location
        if owner is not None:
            owner.has.pop(task, None)
        self._end_search(task)
        for dependent in task.dependents or ():
            if dependent.state is STAGING and dependent.worker is not owner:
                dependent.n_staging -= 1
                if not dependent.n_staging:
                    self._send(dependent)

    def locate(self, key: Key) -> TaskState | None:
        """Somebody wants to read a result: make it reachable. Returns the task, or None if it isn't known.

        Unless it is reachable or erred already, `Actions.located` has the task once it is, or once it is known that it
        never will be: because it can't leave its worker, has failed, or is wanted by nobody.
        """
        task = self.tasks.get(key)
        if task is None or task.shared_location is not None or task.pinned or task.state in (ERRED, RELEASED):
            return task
        self._sought[task] = None
        if task.state is MEMORY:
            self._publish(task)
        return task
