"""`Scheduler`: decides what runs where and when, and what may be forgotten. Pure: see `Actions` for what it wants done.

Each method is an event; the runtime calls it with what happened, in batches, then carries out `take_actions()`.
Invariants (checked by ``tests/engine/invariants.py``): a READY task has all dependencies held; ``n_live_dependents`` of a
task is the number of its dependents that are WAITING to RUNNING; a result is held as long as ``is_needed``; a task is known
as long as it is wanted or a dependent is known, so that lost results can be computed again; a task is sent to a worker only
after all workers have answered for its earlier runs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

from glassloom.graph.keys import Key
from glassloom.scheduler.actions import Actions
from glassloom.scheduler.block_index import BlockIndex, Standing
from glassloom.scheduler.block_readers import BlockReaders
from glassloom.scheduler.block_table import BlockTable
from glassloom.scheduler.fairness import FairShare
from glassloom.scheduler.layers import NO_RUN, Layer, LayerTable
from glassloom.scheduler.placement import MAX_AHEAD_READERS, Placement
from glassloom.scheduler.ready_queues import ReadyQueues
from glassloom.scheduler.restrictions import Restrictions
from glassloom.scheduler.state import LOSSES_ALLOWED, PREFETCH_S, TaskState, WorkerState
from glassloom.scheduler.states import (
    ERRED,
    MEMORY,
    RELEASED,
    RUNNING,
    STAGING,
    UNDER_WAY,
    WAITING,
    Pressure,
)
from glassloom.scheduler.submissions import Submission, Submissions
from glassloom.scheduler.tables import Tables
from glassloom.scheduler.task_block import TaskSlice
from glassloom.scheduler.task_views import TasksByKey, TasksByNumber
from glassloom.scheduler.transitions import Transitions


class Scheduler:
    """The state machine. Not thread-safe; deterministic for equal sequences of events.

    Parameters
    ----------
    make_error
        Called with a kind (``"worker-lost"``, ``"data-lost"``, ``"lost-again"``, ``"pinned"``, ``"nowhere"``) and the task; returns
        what is kept as the task's error. The scheduler itself never looks into errors.
    sends_ahead
        Whether a worker lets a task wait for inputs that are still being made there.
    min_block
        How many alike tasks of one submission are made a block, and how many of those that follow each other in one another
        task reads as a slice; None: there are no blocks, and no `TaskSlice` in the actions.

    Attributes
    ----------
    tasks, by_number
        The known tasks by key, and by number. To look at, not to change; so are those that follow. A task that is looked
        up leaves its block.
    individual_tasks
        The known tasks by key, without those in blocks.
    workers
        The workers by number.
    layer_table
        The layers, and what has changed in them.
    """

    def __init__(
        self,
        make_error: Callable[[str, TaskState], Any],
        *,
        sends_ahead: bool = True,
        min_block: int | None = None,
    ) -> None:
        max_ahead_readers = MAX_AHEAD_READERS if sends_ahead else 0
        self._tables = tables = Tables()
        self._queues = ReadyQueues(tables.workers)
        least = min_block or sys.maxsize
        self._index = index = BlockIndex(tables)
        self._blocks = blocks = BlockTable(tables, self._queues, index)
        self._readers = readers = BlockReaders(tables, blocks, index, least)
        self._transitions = Transitions(tables, self._queues, blocks, readers, make_error, max_ahead_readers)
        self._placement = Placement(tables, blocks, self._queues, self._transitions, max_ahead_readers)
        self._fair_share = FairShare()
        self._submissions = Submissions(
            tables, blocks, index, readers, self._transitions, self._fair_share, min_block=least
        )
        self._make_error = make_error
        self.tasks: Mapping[Key, TaskState] = TasksByKey(tables, blocks, index)
        self.by_number: Mapping[int, TaskState] = TasksByNumber(tables, blocks, index)
        self.individual_tasks: Mapping[Key, TaskState] = tables.tasks
        self.workers: Mapping[int, WorkerState] = tables.workers
        self.layer_table: LayerTable = tables.layers

    @property
    def now_s(self) -> float:
        """When the events happen that it is told of: what the runtime has said last. It decides nothing by it."""
        return self._tables.now_s

    @now_s.setter
    def now_s(self, now_s: float) -> None:
        self._tables.now_s = now_s

    @property
    def layers(self) -> Mapping[str, Layer]:
        """The layers by name; of several runs the newest."""
        return self.layer_table.by_name

    def take_actions(self) -> Actions:
        """Give work to workers that have room, then return all that is to be done since the last call."""
        self._placement.place()
        self._transitions.review()
        actions, self._tables.actions = self._tables.actions, Actions()
        return actions

    def inputs_of(self, task: TaskState) -> tuple[TaskState, ...]:
        """Return all that a known task reads; that leaves its blocks."""
        return self._readers.make_inputs_individual(task)

    def dependents_under_way(self, task: TaskState) -> list[TaskState]:
        """Return the tasks under way that read a known task's result; they leave their blocks."""
        return self._transitions.dependents_under_way(task)

    def number_of(self, key: Key) -> int | None:
        """Return a known task's number, None if there is no such task; a task in a block stays there."""
        return self._index.number_of(key)

    def standing(self, key: Key) -> Standing | None:
        """Return how a task stands, None if there is no such task; a task in a block stays there."""
        return self._index.standing(key)

    def items_of(self, numbers: Sequence[int]) -> Iterator[TaskState | TaskSlice | None]:
        """Yield the known tasks of these numbers, in order; those that follow each other in a block as one slice."""
        return self._index.items_of(numbers)

    def tasks_on(self, number: int) -> tuple[list[TaskState], list[TaskState]]:
        """Return the tasks that a worker was given, in the order in which it begins them, and those whose result only it has.

        They leave their blocks.
        """
        worker = self.workers.get(number)
        if worker is None:
            return [], []
        self._blocks.make_individual_on(worker, with_results=True)
        return worker.running_in_turn(), list(worker.has)

    def count_before(self, task: TaskState) -> int:
        """Return how many tasks in blocks go before a task: where it is READY before it gets to a worker, else there."""
        return self._index.count_before(task)

    def numbers_of(self, keys: Sequence[Key]) -> Sequence[int]:
        """Return the numbers of known tasks; those in blocks stay there."""
        return self._index.numbers_of(keys)

    def rebalance(self, interval_s: float) -> bool:
        """Time has passed: let idle workers begin what is queued at others that are slower than was expected.

        Such a worker gives back what it hasn't begun, and gets no more than it can begin at once until it is fast again: so
        a task is not sent to and fro. Call it every `interval_s`; returns whether there is anything to do now.
        """
        return self._placement.rebalance(interval_s)

    def submit(
        self,
        client: Any,
        keys: Sequence[Key],
        specs: Sequence[Any],
        deps: Sequence[Sequence[int]],
        *,
        external: Sequence[Key] = (),
        wanted: Sequence[Key] = (),
        priority: int = 0,
        retries: int = 0,
        restrictions: Restrictions | None = None,
        labels: dict[str, tuple[str, str]] | None = None,
        run: int = NO_RUN,
    ) -> None:
        """A client hands in a graph.

        Parameters
        ----------
        keys, specs, deps
            One element a task: its key, what the runtime needs to run it, and its dependencies as positions in
            ``keys + external``. A single element of `deps` is that of all tasks. A key that is known already keeps its task.
        external
            Keys of known tasks that this graph builds on.
        wanted
            Keys whose results the client wants held.
        priority
            Larger goes first. Of graphs of equal priority, one client's go in the order in which they came, and different
            clients' task by task in turn.
        restrictions
            What the tasks need of their workers.
        labels
            For layers: what to call it, and the user's line.
        run
            Number of the run that new tasks belong to.

        Raises
        ------
        GraphError
            If an external key is unknown, or there is a cycle. Nothing has changed then.
        """
        self._submissions.submit(
            Submission(client, keys, specs, deps, external, wanted, priority, retries, restrictions, labels or {}, run)
        )

    def want(self, client: Any, keys: Iterable[Key]) -> None:
        """A client wants results held, and to be told when they are there. Unknown keys are reported as cancelled."""
        self._submissions.want(client, keys)
        self._transitions.review()

    def release(self, client: Any, keys: Iterable[Key]) -> None:
        """A client doesn't want results any more."""
        tasks, blocks = self._tables.tasks, self._blocks
        if not self._index:
            self._release(client, [tasks[key] for key in keys if key in tasks])
            return
        rest = blocks.release(client, keys if isinstance(keys, list) else list(keys))
        self._release(client, [tasks[key] for key in rest if key in tasks])

    def _release(self, client: Any, tasks: Iterable[TaskState]) -> None:
        clients, to_review = self._tables.clients, self._tables.to_review
        for task in tasks:
            if task.clients:
                clients.discard(client, task)
                to_review.append(task)
        self._transitions.review()

    def cancel(self, keys: Iterable[Key]) -> None:
        """Nobody shall wait for these any more, whoever wanted them."""
        tasks, blocks = self._tables.tasks, self._blocks
        rest = blocks.cancel(keys if isinstance(keys, list) else list(keys)) if self._index else keys
        self._transitions.cancel(tasks[key] for key in rest if key in tasks)

    def cancel_in_blocks_of(self, client: Any, keys: Sequence[Key]) -> Sequence[Key]:
        """Cancel those that are in a block, so that only this client wants them and nothing reads them; return the others."""
        if not self._index:
            return keys
        rest = self._blocks.cancel(keys, client=client)
        self._transitions.review()
        return rest

    def keys_under_way_in_blocks(self, client: Any = None, runs: Container[int] | None = None) -> list[Key]:
        """Return the keys of a client's tasks, or of all, that are in blocks and aren't finished; they stay there.

        With `runs`, only those of these runs.
        """
        found = self._blocks.under_way(client)
        return [key for tasks in found if runs is None or tasks.block.layer.run in runs for key in tasks.keys]

    def client_left(self, client: Any) -> None:
        """A client is gone: nothing is kept for it any more."""
        self._fair_share.forget(client)
        self._blocks.client_left(client)
        self._release(client, self._tables.clients.tasks_of(client))

    def add_data(self, client: Any, key: Key, location: Any, nbytes: int) -> None:
        """A client has put a value where every process can reach it."""
        tables = self._tables
        task = self._blocks.task(key) or tables.new_task(key, tables.layers.data)
        tables.clients.add(client, task)
        if task.state is RELEASED or task.state is ERRED:
            self._transitions.move(task, MEMORY, (None, location, nbytes))
            self._transitions.review()
            return
        tables.actions.free.append((-1, location))  # known already: equal keys mean equal values
        if task.state is MEMORY:
            tables.actions.finished[client].append(task)

    def has_ended_keys_of(self, client: Any) -> bool:
        """Tell whether the next actions will say to a client that a key has failed or was cancelled."""
        return client in self._tables.actions.erred or client in self._tables.actions.cancelled

    def worker_joined(
        self,
        number: int,
        name: str,
        nthreads: int,
        resources: dict[str, float] | None = None,
        prefetch_s: float = PREFETCH_S,
    ) -> WorkerState:
        """A worker is there and can run tasks, with resources that its tasks may take up.

        Parameters
        ----------
        prefetch_s
            How much work each of its threads has queued. What is queued runs before better tasks that become runnable
            meanwhile: less means fewer results in memory.
        """
        worker = self._tables.workers[number] = WorkerState(number, name, nthreads, resources, prefetch_s)
        self._tables.may_have_room[worker] = None
        return worker

    def worker_left(self, number: int, *, blame: bool = True) -> None:
        """A worker is gone with what it ran and held. With `blame`, tasks that had been sent to it are suspects."""
        worker = self.workers.get(number)
        if worker is None:
            return
        transitions = self._transitions
        self._placement.remove(worker)
        suspects = {task for task in worker.running if blame and task.state is RUNNING and not task.n_awaited}
        for task in list(worker.has):
            transitions.lose(task)
        for task in list(worker.running):
            if task.worker is worker:
                transitions.take_back(task, suspect=task in suspects)
        for number in list(worker.stopping):
            transitions.answered(worker, number)
        self._placement.queue_elsewhere(worker)
        self._give_up_what_runs_nowhere()
        transitions.review()

    def retire(self, number: int) -> None:
        """A worker shall go: it gets no more tasks, its results move to where everybody can reach them.

        `Actions.stop` says when it may end. What can't be moved is computed again elsewhere if it is still needed then.
        """
        worker = self.workers.get(number)
        if worker is not None and not worker.retiring:
            self._placement.retire(worker)
            self._give_up_what_runs_nowhere()
            self._transitions.review()

    def _give_up_what_runs_nowhere(self) -> None:
        for task in self._queues.take_what_runs_nowhere():
            self._transitions.fail(task, self._make_error("nowhere", task))

    def set_pressure(self, number: int, pressure: Pressure) -> None:
        """A worker's memory is short, or isn't any more."""
        worker = self.workers.get(number)
        if worker is not None:
            self._placement.set_pressure(worker, pressure)
            self._transitions.review()

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
            self._tables.actions.free.extend((-1, location) for location in locations if location is not None)
            return
        last_place: int | None = None
        at = 0
        while at < len(tasks):
            n_in_block = self._blocks.finish(worker, tasks, at, nbytes, durations_s, locations) if self._index else 0
            if n_in_block:
                if self._tables.complete:
                    self._transitions.make_complete_ready()
                found = self._index.at(tasks[at + n_in_block - 1])
                last_place = found[0].place + found[1] if found is not None else last_place
                at += n_in_block
                continue
            task = self._finish(worker, tasks[at], nbytes[at], durations_s[at], locations[at])
            last_place = task.priority if task is not None else last_place
            at += 1
        if last_place is not None:
            self._fair_share.advance(last_place)  # once a batch is near enough
        self._transitions.review()

    def _finish(
        self, worker: WorkerState, number: int, nbytes: int, duration_s: float, location: Any
    ) -> TaskState | None:
        """A worker has run a task. Return the task, if the result is welcome."""
        task = self._blocks.numbered(number)
        if task is None or task.worker is not worker or task.state is not RUNNING:
            if task is None or task.state is not WAITING or number not in worker.stopping:
                self._finish_unwanted(worker, task, number, location)
                return None
            self._transitions.end_stop(worker, number)  # stopped, then wanted again
        worker.n_finished += 1
        task.layer.learnt.add(duration_s, nbytes)
        self._transitions.move(task, MEMORY, (worker if location is None else None, location, nbytes))
        return task

    def failed(self, number: int, task_number: int, error: Any) -> bool:
        """A task raised. Returns whether that is final (False: it is tried again)."""
        worker = self.workers.get(number)
        if worker is None:
            return False
        task = self._blocks.numbered(task_number)
        if task is None or task.worker is not worker or task.state is not RUNNING:
            self._finish_unwanted(worker, task, task_number, None)
            is_final = False
        elif task.retries:
            task.retries -= 1
            task.attempt += 1
            self._transitions.wait_again(task)
            is_final = False
        else:
            self._fair_share.advance(task.priority)
            self._transitions.leave_worker(task)
            self._transitions.fail(task, error)
            is_final = True
        self._transitions.review()
        return is_final

    def recalled(self, number: int, tasks: Iterable[int]) -> None:
        """A worker gives back tasks that it hasn't begun: it was asked to, or an input is gone.

        What it knows to be gone it tells first: see `results_lost`.
        """
        worker = self.workers.get(number)
        if worker is None:
            return
        for task_number in tasks:
            task = self._blocks.numbered(task_number)
            if task is not None and task.worker is worker and task.state is RUNNING:
                self._transitions.wait_again(task)
            else:
                self._finish_unwanted(worker, task, task_number, None)
        self._transitions.review()

    def _finish_unwanted(self, worker: WorkerState, task: TaskState | None, task_number: int, location: Any) -> None:
        """A worker is done with a task that was stopped or taken back meanwhile."""
        was_stopped = self._transitions.answered(worker, task_number)
        if location is not None:
            self._tables.actions.free.append((-1, location))
        elif task is None or (was_stopped and task.owner is not worker):
            self._tables.actions.drop[worker].append(task_number)
        self._tables.may_have_room[worker] = None

    def seceded(self, number: int, task_number: int) -> None:
        """A running task waits for other tasks: its thread and its time are left to them."""
        worker = self.workers.get(number)
        if worker is None:
            return
        task = self._blocks.numbered(task_number)
        if task is not None and task.worker is worker and task.state is RUNNING:
            worker.occupancy_s = max(0.0, worker.occupancy_s - task.estimate_s)
            task.estimate_s = 0.0
            worker.reserved = False
        elif task_number not in worker.stopping:
            return
        worker.seceded.add(task_number)
        self._tables.may_have_room[worker] = None

    def rejoined(self, number: int, task_number: int) -> None:
        """A task that had seceded goes on: it takes a thread again, even if that makes one too many."""
        worker = self.workers.get(number)
        if worker is None or task_number not in worker.seceded:
            return
        worker.seceded.remove(task_number)
        task = self._blocks.numbered(task_number)
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
        known = map(self._blocks.numbered, tasks)
        lost = [task for task in known if task is not None and task.owner is worker]
        for task in lost:
            self._transitions.lose(task)
        self._transitions.review()
        return len(lost)

    def shared_result_lost(self, task_number: int, location: Any) -> bool:
        """A process couldn't read a task's result where every process reads it. It is made again if it is needed.

        Only so often: then the task fails. Returns whether the result was to be read there; else it was made again already.

        A task that was sent there and hasn't begun is given back by its worker (`recalled`).
        """
        task = self._blocks.numbered(task_number)
        if task is None or task.state is not MEMORY or task.shared_location != location:
            return False
        n_lost = self._tables.n_lost
        n_lost[task] = n_lost.get(task, 0) + 1
        self._transitions.lose(task)
        if n_lost[task] == LOSSES_ALLOWED:
            del n_lost[task]
            if task.state in UNDER_WAY:
                self._transitions.fail(task, self._make_error("lost-again", task))
        self._transitions.review()
        return True

    def published(self, number: int, task_number: int, location: Any) -> None:
        """A worker has put a result where every process can reach it; `location` None: that cannot be done."""
        task = self._blocks.numbered(task_number)
        worker = self.workers.get(number)
        if worker is not None and task is not None:
            worker.publishing.pop(task, None)
        if task is None or task.state is not MEMORY or task.shared_location is not None:
            if location is not None:
                self._tables.actions.free.append((-1, location))
            return
        if location is None:
            self._transitions.pin(task)
            self._transitions.review()
            return
        owner = task.publisher = task.owner
        task.owner, task.shared_location = None, location
        if owner is not None:
            owner.has.pop(task, None)
            owner.publishing.pop(task, None)  # it is asked too if this answers for an earlier run, elsewhere
        self._tables.end_search(task)
        for dependent in task.dependents or ():
            if dependent.state is STAGING and dependent.worker is not owner:
                dependent.n_staging -= 1
                if not dependent.n_staging:
                    self._transitions.move(dependent, RUNNING)

    def locate(self, key: Key) -> TaskState | None:
        """Make a result reachable that a client wants to read. Returns the task, or None if it isn't known.

        Unless it is reachable or erred already, `Actions.located` has the task once it is, or once it is known that it
        never will be: because it can't leave its worker, has failed, or is wanted by nobody.
        """
        task = self._blocks.task(key)
        if task is None or task.shared_location is not None or task.pinned or task.state in (ERRED, RELEASED):
            return task
        self._tables.sought[task] = None
        if task.state is MEMORY:
            self._tables.publish(task)
        return task
