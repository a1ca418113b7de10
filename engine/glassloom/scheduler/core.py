"""`Scheduler`: decides what runs where and when, and what may be forgotten. Pure: see `Actions` for what it wants done.

Each method is an event; the runtime calls it with what happened, in batches, then carries out `take_actions()`.
Invariants (checked by ``tests/engine/invariants.py``): a READY task has all dependencies held; ``waiters`` of a task is
the number of its dependents that are WAITING to RUNNING; a result is held as long as ``needed``; a task is known as long
as it is wanted or a dependent is known, so that lost results can be computed again; a task is sent to a worker only
after all workers have answered for its earlier runs.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from glassloom.errors import GraphError
from glassloom.graph.keys import Key, key_layer, layer_name
from glassloom.scheduler.actions import Actions
from glassloom.scheduler.demand import Demand, claim, unclaim
from glassloom.scheduler.fairness import Turns
from glassloom.scheduler.order import Cycle, order
from glassloom.scheduler.state import (
    DATA_LAYER,
    ERRED,
    FORGOTTEN,
    MEMORY,
    READY,
    RELEASED,
    RUNNING,
    STAGING,
    WAITING,
    Entry,
    Layer,
    Pressure,
    ReadyQueue,
    State,
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
DEATHS_ALLOWED = 3
"""A task whose worker died this often is blamed for it."""

_MOVE_S = 0.002
_MOVE_BYTES_PER_S = 1e9
"""What it costs to run a task elsewhere than where its inputs are."""

_UNDER_WAY = frozenset([WAITING, READY, STAGING, RUNNING])


class Scheduler:
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
        self.tasks: dict[Key, TaskState] = {}
        self.by_number: dict[int, TaskState] = {}
        self.workers: dict[int, WorkerState] = {}
        self.layers: dict[str, Layer] = {}
        self.changed_layers: set[Layer] = set()
        self.grown_layers: dict[Layer, None] = {}
        self._make_error = make_error
        self._max_ahead_readers = MAX_AHEAD_READERS if sends_ahead else 0
        self._data = Layer(DATA_LAYER, "data", "data", "")
        self._actions = Actions()
        self._ready = ReadyQueue()
        self._demanding: dict[Demand, ReadyQueue] = {}
        """Ready tasks that not every worker may run."""
        self._numbers = itertools.count()
        self._layer_numbers = itertools.count()
        self._stamps = itertools.count(1)
        self._turns = Turns()
        self._may_have_room: dict[WorkerState, None] = {}
        self._retiring: dict[WorkerState, None] = {}
        self._short_of_memory: dict[WorkerState, None] = {}
        """Workers that get only tasks that free memory."""
        self._has_placed_suspect = False
        self._may_go_ahead: list[TaskState] = []
        """Waiting tasks one of whose inputs has just begun."""
        self._leaving: dict[TaskState, None] = {}
        """Tasks that were stopped and whose worker hasn't answered for them yet."""
        self._sought: dict[TaskState, None] = {}
        """Tasks whose result somebody waits to read."""
        self._to_review: list[TaskState] = []
        self._reviewing = False

    # Events

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
        demand: Demand | None = None,
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
        first_place = self._turns.take(client, priority, n_new)
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
            state.demand = demand
            if below:
                state.deps = tuple([everyone[dep] for dep in below])
                for dep in state.deps:
                    if dep.dependents is None:
                        dep.dependents = {}
                    dep.dependents[state] = None
        self.want(client, wanted)
        for state in states:
            if state.state is RELEASED:
                if state.wanted_by:
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
            if task.wanted_by is None:
                task.wanted_by = {client}
            else:
                task.wanted_by.add(client)
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
            if task is not None and task.wanted_by:
                task.wanted_by.discard(client)
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
            for client in task.wanted_by or ():
                self._actions.cancelled[client].append(task.key)
            task.wanted_by = None
            stack.extend(dependent for dependent in task.dependents or () if dependent.state in _UNDER_WAY)
        for task in reversed(given_up):
            self._review(task)

    def client_left(self, client: Any) -> None:
        """A client is gone, with all its wishes."""
        self._turns.forget(client)
        self.release(client, [task.key for task in self.tasks.values() if task.wanted_by and client in task.wanted_by])

    def add_data(self, client: Any, key: Key, location: Any, nbytes: int) -> None:
        """A client has put a value where every process can reach it."""
        task = self.tasks.get(key) or self._new_task(key, self._data)
        if task.wanted_by is None:
            task.wanted_by = set()
        task.wanted_by.add(client)
        if task.state in (RELEASED, ERRED):
            task.error = None
            self._begin_anew(task)
            self._hold(task, None, location, nbytes)
            return
        self._actions.free.append((-1, location))  # known already: equal keys mean equal values
        if task.state is MEMORY:
            self._actions.finished[client].append(task)

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
        suspects = {task for task in worker.running if blame and task.state is RUNNING and not task.n_waiting}
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
                dep.waiters -= 1
                if not dep.waiters and not dep.wanted_by:
                    self._review(dep)
        if task is not None:
            self._turns.reach(task.priority)  # once a batch is near enough

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
        lost = [task for task in known if task.where is worker]
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
        if pressure is Pressure.HIGH:
            self._short_of_memory[worker] = None
        if pressure is Pressure.PAUSED:
            self._queue_elsewhere(worker)
        else:
            self._ready.reconsider()
            worker.ready.reconsider()
        self._may_have_room[worker] = None

    def published(self, number: int, task_number: int, location: Any) -> None:
        """A worker has put a result where every process can reach it; `location` None: that cannot be done."""
        task = self.by_number.get(task_number)
        worker = self.workers.get(number)
        if worker is not None and task is not None:
            worker.publishing.pop(task, None)
        if task is None or task.state is not MEMORY or task.location is not None:
            if location is not None:
                self._actions.free.append((-1, location))
            return
        if location is None:
            self._pin(task)
            return
        owner, task.where, task.location = task.where, None, location
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
        if task is None or task.location is not None or task.pinned or task.state in (ERRED, RELEASED):
            return task
        self._sought[task] = None
        if task.state is MEMORY:
            self._publish(task)
        return task

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
                last = itertools.islice((task for task in reversed(worker.running) if not task.n_waiting), n_queued)
                asks |= self._ask_back(worker, list(last))
        return asks

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
        if self._demanding:
            self._demanding = {demand: queue for demand, queue in self._demanding.items() if len(queue)}
        for worker in list(self._retiring):
            self._move_results(worker)
        actions, self._actions = self._actions, Actions()
        return actions

    # From state to state

    def _known_or_new(self, key: Key, labels: dict[str, tuple[str, str]] | None) -> TaskState:
        task = self.tasks.get(key)
        if task is not None and not (task.layer is self._data and task.state is RELEASED):
            return task
        name = key_layer(key)
        layer = self.layers.get(name)
        if layer is None:
            label, origin = (labels or {}).get(name, ("", ""))
            layer = self.layers[name] = Layer(next(self._layer_numbers), name, label or layer_name(name), origin)
        self.grown_layers[layer] = None
        if task is None:
            return self._new_task(key, layer)
        self._begin_anew(task)
        self._data.count(RELEASED, -1)  # lost data that is now to be computed
        task.layer = layer
        layer.count(RELEASED, 1)
        return task

    def _new_task(self, key: Key, layer: Layer) -> TaskState:
        number = next(self._numbers)
        task = TaskState(number, key, layer)
        self.tasks[key] = self.by_number[number] = task
        layer.count(RELEASED, 1)
        self.changed_layers.add(layer)
        return task

    def _layers_built_elsewhere(self, labels: dict[str, tuple[str, str]]) -> dict[str, str]:
        """Return the user's line for known layers that this graph adds tasks to from another line."""
        known = ((self.layers[name], origin) for name, (_, origin) in labels.items() if name in self.layers)
        return {layer.name: origin for layer, origin in known if origin != layer.origin}

    def _set_state(self, task: TaskState, state: State) -> None:
        counts = task.layer.counts
        counts[task.state] -= 1
        counts[state] += 1
        task.state = state
        self.changed_layers.add(task.layer)

    def _start(self, task: TaskState) -> None:
        """Set a released task, and what it needs, on its way. An explicit stack: chains may be long."""
        stack = [task]
        while stack:
            task = stack.pop()
            if task.state is not RELEASED or not task.needed:
                continue
            if task.was_held:
                self._begin_anew(task)
            if task.spec is None:
                self._err(task, self._make_error("data-lost", task))
                continue
            if not task.deps:
                task.n_waiting = 0
                self._enqueue(task)
                continue
            self._set_state(task, WAITING)
            n_waiting = 0
            broken: TaskState | None = None
            for dep in task.deps:
                dep.waiters += 1
                state = dep.state
                if state is MEMORY:
                    continue
                n_waiting += 1
                if state is RELEASED:
                    stack.append(dep)
                elif state is RUNNING:
                    self._may_go_ahead.append(task)
                elif state is ERRED:
                    broken = dep
            task.n_waiting = n_waiting
            if broken is not None:
                self._err(task, broken.error)
            elif not n_waiting:
                self._enqueue(task)

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
        there = (other for other in self.workers.values() if not other.retiring and other.pressure < Pressure.PAUSED)
        return demand.allows_others and not any(demand.names(other) for other in there)

    def _place_of_data(self, task: TaskState) -> WorkerState | None:
        """Return the worker that holds most of what the task reads and that isn't reachable from everywhere."""
        owners: dict[WorkerState, int] = {}
        must: set[WorkerState] = set()
        for dep in task.deps:
            if dep.where is None:
                continue
            if dep.pinned:
                must.add(dep.where)
            if not dep.where.retiring and dep.where.pressure is not Pressure.PAUSED:
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

    def _move_results(self, worker: WorkerState) -> None:
        """Publish what a retiring worker holds; let it stop when nothing is left on it."""
        for task in worker.has:
            if not task.pinned:
                self._publish(task)
        if not worker.running and not worker.stopping and not worker.publishing:
            del self._retiring[worker]
            self._actions.stop.append(worker)

    def _ask_back(self, worker: WorkerState, tasks: Iterable[TaskState]) -> bool:
        """Ask for tasks that the worker hasn't begun; one that it has simply ends. Return whether there are any."""
        asked = [task for task in tasks if task.state is RUNNING and task.number not in worker.asked_back]
        if asked:
            worker.asked_back.update(task.number for task in asked)
            self._actions.recall[worker] += asked
        return bool(asked)

    def _has_room(self, worker: WorkerState) -> bool:
        if worker.retiring or worker.reserved or worker.pressure is Pressure.PAUSED:
            return False
        n_busy = (
            len(worker.running) + len(worker.stopping) - len(worker.seceded) - worker.n_ahead
        )  # called for each task
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

    def _pop_for(self, worker: WorkerState) -> TaskState | None:
        """Return the best task for the worker; if there is none that it may run, one that is queued for another."""
        is_short = worker.pressure is not Pressure.NONE
        queue, best = self._best_for(worker, is_short)
        if best is not None:
            return None if _must_wait(best[2], worker) else queue.take(best)
        return self._take_over(worker, is_short) if worker.n_busy < worker.nthreads else None

    def _best_for(self, worker: WorkerState, shrinking: bool = False) -> tuple[ReadyQueue, Entry | None]:
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
            queue, entry = self._best_for(worker)
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
        if task.state is not WAITING or not 0 < task.n_waiting <= MAX_AHEAD_INPUTS or _is_on_last_chance(task):
            return None
        places = {dep.worker for dep in task.deps if dep.state is not MEMORY}
        worker = places.pop()
        if places or worker is None or task.demand is not None or task in self._leaving:
            return None
        for dep in task.deps:
            if dep.state is not MEMORY:
                if dep.state is not RUNNING or len(dep.dependents or ()) > self._max_ahead_readers:
                    return None
            elif dep.location is None and dep.where is not worker:
                return None
        if worker.pressure is not Pressure.NONE or not self._has_room_for_more(worker):
            return None
        _, best = self._best_for(worker)
        return None if best is not None and best[0] < task.priority else worker

    def _take_on(self, task: TaskState, worker: WorkerState) -> None:
        """The task is the worker's from now on."""
        task.worker = worker
        worker.running[task] = None
        task.estimate_s = task.layer.duration_s
        worker.occupancy_s += task.estimate_s
        if task.demand is not None:
            claim(worker, task.number, task.demand)

    def _assign(self, task: TaskState, worker: WorkerState) -> None:
        self._take_on(task, worker)
        if _is_on_last_chance(task):
            worker.reserved = self._has_placed_suspect = True
        n_staging = 0
        for dep in task.deps:
            if dep.location is None and dep.where is not worker:
                n_staging += 1
                self._publish(dep)
        if n_staging:
            task.n_staging = n_staging
            self._set_state(task, STAGING)
        else:
            self._send(task)

    def _send(self, task: TaskState) -> None:
        assert task.worker is not None
        self._set_state(task, RUNNING)
        self._actions.run[task.worker].append(task)
        dependents = task.dependents
        if dependents is not None and len(dependents) <= self._max_ahead_readers:
            self._may_go_ahead += dependents

    def _publish(self, task: TaskState) -> None:
        assert task.where is not None
        if task not in task.where.publishing:
            task.where.publishing[task] = None
            self._actions.publish[task.where].append(task)

    def _leave_worker(self, task: TaskState) -> None:
        worker = task.worker
        if worker is not None:
            worker.running.pop(task, None)
            if task.n_waiting:
                task.n_waiting = 0
                worker.n_ahead -= 1
            if worker.seceded:
                worker.seceded.discard(task.number)
            if worker.asked_back:
                worker.asked_back.discard(task.number)
            if worker.claims:
                unclaim(worker, task.number)
            if worker.running:
                worker.occupancy_s = max(0.0, worker.occupancy_s - task.estimate_s)
            else:
                worker.occupancy_s = 0.0
            if worker.reserved and _is_on_last_chance(task):
                worker.reserved = False
            task.worker = None
            self._may_have_room[worker] = None

    def _finish_unwanted(self, worker: WorkerState, task: TaskState | None, task_number: int, location: Any) -> None:
        """A worker is done with a task that was stopped or taken back meanwhile."""
        was_stopped = self._answered(worker, task_number)
        if location is not None:
            self._actions.free.append((-1, location))
        elif task is None or (was_stopped and task.where is not worker):
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
        if task.state is WAITING and not task.n_waiting:
            self._enqueue(task)
        return True

    def _end_search(self, task: TaskState) -> None:
        """Whoever wants to read the result can now be answered."""
        if task in self._sought:
            del self._sought[task]
            self._actions.located.append(task)

    def _hold(self, task: TaskState, where: WorkerState | None, location: Any, nbytes: int) -> None:
        """The task has a result: tell who wants it, and let dependents go on."""
        self._set_state(task, MEMORY)
        task.where = where
        task.location = location
        task.nbytes = nbytes
        if where is not None:
            where.has[task] = None
        if self._sought and task in self._sought:
            if location is None:
                self._publish(task)
            else:
                self._end_search(task)
        for client in task.wanted_by or ():
            self._actions.finished[client].append(task)
        for dependent in task.dependents or ():
            if dependent.state is WAITING:
                dependent.n_waiting -= 1
                if not dependent.n_waiting:
                    self._enqueue(dependent)
            elif dependent.n_waiting and dependent.worker is not None:
                dependent.n_waiting -= 1
                dependent.worker.n_ahead -= not dependent.n_waiting
        if not task.waiters and not task.wanted_by:
            self._review(task)

    def _err(self, task: TaskState, error: Any) -> None:
        """The task has failed for good, and with it all that waits for it."""
        stack = [task]
        while stack:
            task = stack.pop()
            if task.state is ERRED:
                continue
            was_under_way = task.state in _UNDER_WAY
            self._call_off(task)
            self._set_state(task, ERRED)
            task.error = error
            self._end_search(task)
            for client in task.wanted_by or ():
                self._actions.erred[client].append(task)
            stack.extend(other for other in task.dependents or () if other.state in _UNDER_WAY)
            if was_under_way:
                for dep in task.deps:
                    dep.waiters -= 1
                    self._review(dep)

    def _lose(self, task: TaskState) -> None:
        """The only copy of a result is gone: compute it again if it is needed."""
        self._drop_result(task, tell=False)
        self._set_state(task, RELEASED)
        for dependent in task.dependents or ():
            if dependent.state in (READY, STAGING):
                self._leave_worker(dependent)
                self._set_state(dependent, WAITING)
            if dependent.state is WAITING:
                dependent.n_waiting = _count_missing(dependent)
            elif dependent.state is RUNNING and dependent.n_waiting:
                dependent.n_waiting += 1
        if task.needed:
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
        task.n_waiting = _count_missing(task)
        if not task.n_waiting:
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

    # Letting go

    def _review(self, task: TaskState) -> None:
        """Let go of what is not needed any more. Works through a list, as one end leads to the next."""
        self._to_review.append(task)
        if self._reviewing:
            return
        self._reviewing = True
        while self._to_review:
            self._let_go(self._to_review.pop())
        self._reviewing = False

    def _let_go(self, task: TaskState) -> None:
        """First the way to a result, then the result, then the task itself."""
        if task.needed or task.state is FORGOTTEN:
            return
        if task.state in _UNDER_WAY:
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
            dep.waiters -= 1
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
            if task.demand is not None:
                claim(worker, task.number, task.demand)

    def _drop_result(self, task: TaskState, *, tell: bool) -> None:
        if task.where is not None:
            task.where.has.pop(task, None)
            task.where.publishing.pop(task, None)
            if tell:
                self._actions.drop[task.where].append(task.number)
            task.where = None
        if task.location is not None:
            self._actions.free.append((task.number, task.location))
            task.location = None
        task.pinned = False
        task.was_held = True
        task.layer.n_released += 1

    def _begin_anew(self, task: TaskState) -> None:
        """A result that was let go is made once more: its task doesn't count as done meanwhile."""
        if task.was_held:
            task.was_held = False
            task.layer.n_released -= 1

    def _forget(self, task: TaskState) -> None:
        """Forget a task that nobody wants and no known task depends on, then what only it depended on."""
        stack = [task]
        while stack:
            task = stack.pop()
            if task.state is FORGOTTEN or task.wanted_by or task.dependents:
                continue
            if task.state in _UNDER_WAY:
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


def _is_on_last_chance(task: TaskState) -> bool:
    """Tell whether the task will be blamed if its worker dies once more."""
    return task.n_deaths == DEATHS_ALLOWED - 1


def _must_wait(task: TaskState, worker: WorkerState) -> bool:
    """A task on its last chance runs alone, so that no other is blamed for its worker's death."""
    return _is_on_last_chance(task) and worker.n_busy > 0


def _is_worth_moving(task: TaskState) -> bool:
    """Tell whether the task is known to take longer than fetching its inputs to another worker would."""
    if task.layer.nbytes is None:
        return False
    private_bytes = sum(dep.nbytes for dep in task.deps if dep.location is None)
    return task.layer.duration_s > _MOVE_S + private_bytes / _MOVE_BYTES_PER_S


def _count_missing(task: TaskState) -> int:
    return sum(dep.state is not MEMORY for dep in task.deps)
