"""`Placement`: which worker runs which of the tasks that could run, and when."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

from glassloom.scheduler.block_table import BlockTable
from glassloom.scheduler.ready_queue import Entry, ReadyQueue
from glassloom.scheduler.ready_queues import LongestQueues, ReadyQueues
from glassloom.scheduler.state import MAX_QUEUED, PREFETCH_S, TaskState, WorkerState
from glassloom.scheduler.states import HIGH_PRESSURE, MEMORY, NO_PRESSURE, PAUSED, RUNNING, STAGING, WAITING, Pressure
from glassloom.scheduler.tables import Tables
from glassloom.scheduler.task_block import TaskBlock
from glassloom.scheduler.transitions import Transitions

MAX_AHEAD_INPUTS = 4
"""A task is sent ahead of no more inputs than these: finding out whether it may be is work for each."""
MAX_AHEAD_READERS = 2
"""No task is sent ahead of a result with more readers than these: they are for all workers to share."""

_MOVE_S = 0.002
_MOVE_BYTES_PER_S = 1e9
"""What it costs to run a task elsewhere than where its inputs are."""


class Placement:
    """Gives queued tasks to workers that have room, and asks slow ones for what they haven't begun."""

    def __init__(
        self,
        tables: Tables,
        blocks: BlockTable,
        queues: ReadyQueues,
        transitions: Transitions,
        max_ahead_readers: int,
    ) -> None:
        self._tables = tables
        self._blocks = blocks
        self._queues = queues
        self._transitions = transitions
        self._max_ahead_readers = max_ahead_readers
        self._longest: LongestQueues | None = None
        """The workers' own queues in the course of one `place`, made when a worker first looks for the longest."""
        self._has_placed_suspect = False
        self.short_of_memory: dict[WorkerState, None] = {}
        """Workers that get only tasks that free memory."""
        self._retiring: dict[WorkerState, None] = {}

    # Deciding what runs where

    def place(self) -> None:
        """Give work to workers that have room."""
        tables, queues = self._tables, self._queues
        if queues:
            self._fill_all()
            while self._has_placed_suspect:  # others may have waited behind it
                self._has_placed_suspect = False
                self._fill_all()
            self._longest = None
        if tables.may_go_ahead:
            self._send_ahead()
        if self.short_of_memory:
            self._let_one_grow()
        tables.may_have_room = {worker: None for worker in tables.may_have_room if worker.has_room()}
        queues.forget_empty()
        for worker in list(self._retiring):
            self._stop_if_empty(worker)

    def rebalance(self, interval_s: float) -> bool:
        """Ask workers that are slower than was expected for what idle ones could begin: see `Scheduler.rebalance`."""
        workers = self._tables.workers.values()
        n_idle_threads = sum(max(0, worker.nthreads - worker.n_busy) for worker in workers if worker.has_room())
        asks = False
        for worker in workers:
            n_finished, worker.n_finished = worker.n_finished, 0
            n_queued = max(0, worker.n_busy - worker.nthreads)
            n_queued_before, worker.n_queued_before = worker.n_queued_before, n_queued
            is_behind = min(n_queued, n_queued_before) > n_finished  # what was sent since then may be fast
            is_fast = n_finished * PREFETCH_S >= worker.nthreads * interval_s
            was_slow = worker.is_slow
            worker.is_slow = not is_fast and worker.n_busy > 0 and (is_behind or worker.is_slow)
            if was_slow and not worker.is_slow:
                self._tables.may_have_room[worker] = None
                asks |= bool(self._queues)
            if worker.is_slow and is_behind and n_idle_threads:
                self._blocks.make_individual_on(worker, with_results=False)
                asks |= self._ask_back(worker, self._last_sent(worker, n_queued))
        return asks

    @staticmethod
    def _last_sent(worker: WorkerState, n_tasks: int) -> Iterator[TaskState]:
        """Yield up to so many tasks that the worker begins last, but none that it was asked for before.

        It has begun one that it didn't give back: to ask for that again would leave the others where they are.
        """
        last = reversed(worker.running_in_turn())
        return itertools.islice(
            (task for task in last if not task.n_awaited and task.number not in worker.asked_back), n_tasks
        )

    # What happens to workers

    def retire(self, worker: WorkerState) -> None:
        """Give a worker no more tasks, and have its results moved to where every process can reach them."""
        worker.retiring = True
        self._retiring[worker] = None
        self._blocks.make_individual_on(worker, with_results=True)
        self.queue_elsewhere(worker)
        self._ask_back(worker, list(worker.running))
        for task in worker.has:
            if not task.pinned:
                self._tables.publish(task)

    def remove(self, worker: WorkerState) -> None:
        """A worker is about to be gone: prepare for what it runs and holds to be taken from it."""
        self._blocks.make_individual_on(worker, with_results=True)
        worker.retiring = True  # so that nothing is queued for it while its results are taken from the tables
        self._retiring.pop(worker, None)
        self.short_of_memory.pop(worker, None)
        del self._tables.workers[worker.number]
        self._tables.may_have_room = dict.fromkeys(self._tables.workers.values())

    def set_pressure(self, worker: WorkerState, pressure: Pressure) -> None:
        """A worker's memory is short, or isn't any more."""
        worker.pressure = pressure
        self.short_of_memory.pop(worker, None)
        if pressure is HIGH_PRESSURE:
            self.short_of_memory[worker] = None
        if pressure is PAUSED:
            self.queue_elsewhere(worker)
        else:
            self._queues.common.reconsider()
            worker.ready.reconsider()
        self._tables.may_have_room[worker] = None

    def queue_elsewhere(self, worker: WorkerState) -> None:
        """Find other workers for what is queued for one that goes."""
        for task in worker.ready.take_all():
            self._transitions.requeue(task)

    def _ask_back(self, worker: WorkerState, tasks: Iterable[TaskState]) -> bool:
        """Ask for tasks that the worker hasn't begun; one that it has simply ends. Return whether there are any."""
        asked = [task for task in tasks if task.state is RUNNING and task.number not in worker.asked_back]
        if asked:
            worker.asked_back.update(task.number for task in asked)
            self._tables.actions.recall[worker] += asked
        return bool(asked)

    def _stop_if_empty(self, worker: WorkerState) -> None:
        """Let a retiring worker stop when nothing is left on it."""
        if not worker.n_running and not worker.stopping and not worker.publishing:
            del self._retiring[worker]
            self._tables.actions.stop.append(worker)

    # Filling workers

    def _fill_all(self) -> None:
        # Who has work of its own goes first: others then see what is left to take over.
        with_room = sorted(
            self._tables.may_have_room, key=lambda worker: (not worker.ready, worker.n_running / worker.nthreads)
        )
        portion = 1  # in growing rounds, so that one worker's queue doesn't swallow what another could begin at once
        while with_room:
            n_left = len(with_room)
            with_room = [
                worker
                for place, worker in enumerate(with_room)
                if self._fill(worker, portion * worker.nthreads, n_left - place)
            ]
            portion *= 2

    def _fill(self, worker: WorkerState, limit: int, n_sharing: int) -> bool:
        """Give the worker up to `limit` tasks, or its share of a block; return whether it may take more.

        `n_sharing` is how many workers, this one included, are still to be filled in this round.
        """
        while limit > 0:
            task = self._pop_for(worker) if worker.has_room() else None
            if task is None:
                return False
            if isinstance(task, TaskBlock):
                limit -= self._assign_some(task, worker, max(limit, -(-task.n_ready // n_sharing)))
            else:
                self._assign(task, worker)
                limit -= 1
            if self._tables.may_go_ahead:
                self._send_ahead()
        return True

    def _pop_for(self, worker: WorkerState) -> TaskState | TaskBlock | None:
        """Return the best task for the worker; if there is none that it may run, one that is queued for another."""
        is_short = worker.pressure is not NO_PRESSURE
        queue, best = self._queues.best_for(worker, is_short)
        if best is not None:
            return None if _must_wait(best[2], worker) else queue.take(best)
        return self._take_over(worker, is_short) if worker.n_busy < worker.nthreads else None

    def _take_over(self, worker: WorkerState, shrinking: bool) -> TaskState | None:
        """Return the best task of the longest queue if that is worth fetching its inputs for."""
        if self._longest is None:
            self._longest = self._queues.longest()
        victim = self._longest.first()
        if victim is None or victim is worker:
            return None
        best = victim.ready.first(shrinking)
        if best is None or any(dep.pinned for dep in best[2].deps) or _must_wait(best[2], worker):
            return None
        if len(victim.ready) <= victim.nthreads and not _is_worth_moving(best[2]):
            return None  # it is in the victim's next round
        return victim.ready.take(best)

    def _let_one_grow(self) -> None:
        """If nothing runs anywhere, let one task go although it needs more memory than it frees: else nothing ever would."""
        workers = self._tables.workers.values()
        if any(worker.n_in_blocks for worker in workers):
            return
        if any(task.number not in worker.seceded for worker in workers for task in worker.running):
            return
        found: tuple[Entry[Any], ReadyQueue[Any], WorkerState] | None = None
        for worker in self.short_of_memory:
            queue, entry = self._queues.best_for(worker, shrinking=False)
            if entry is not None and (found is None or entry < found[0]) and worker.has_room():
                found = entry, queue, worker
        if found is not None and not _must_wait(found[0][2], found[2]):
            task = found[1].take(found[0])
            if isinstance(task, TaskBlock):
                self._blocks.run(task, found[2], 1)
                self._fill_all()  # the rest of the block may need no more memory, by what has been learnt meanwhile
            else:
                self._assign(task, found[2])

    def _assign_some(self, block: TaskBlock, worker: WorkerState, limit: int) -> int:
        """Give the worker tasks of a block: what it has room for, but none that is to go after another task.

        If there are enough for all workers, it gets what it has room for at once, not its share.
        """
        if block.n_ready >= MAX_QUEUED * len(self._tables.workers):
            limit = MAX_QUEUED
        _, following = self._queues.best_for(worker, worker.pressure is not NO_PRESSURE)
        if following is not None:
            limit = min(limit, max(1, following[0] - block.priority))
        return self._blocks.run(block, worker, min(limit, worker.room(block.layer.duration_s)))

    def _assign(self, task: TaskState, worker: WorkerState) -> None:
        if task.n_deaths and task.is_on_last_chance:
            worker.reserved = self._has_placed_suspect = True
        for dep in task.deps:
            if dep.shared_location is None and dep.owner is not worker:
                self._transitions.move(task, STAGING, worker)
                return
        self._transitions.move(task, RUNNING, worker)

    # Sending ahead

    def _send_ahead(self) -> None:
        """Send tasks to where all that they miss is being made: the worker begins them without asking again."""
        may_go_ahead = self._tables.may_go_ahead
        while may_go_ahead:
            task = may_go_ahead.pop()
            worker = self._place_ahead(task)
            if worker is not None:
                self._transitions.move(task, RUNNING, worker)

    def _place_ahead(self, task: TaskState | TaskBlock) -> WorkerState | None:
        """Return the worker that makes all that the task misses, if it can reach the rest and has room for short tasks."""
        if task.state is not WAITING or not 0 < task.n_missing_inputs <= MAX_AHEAD_INPUTS or task.is_on_last_chance:
            return None
        if task.reads is not None or isinstance(task, TaskBlock):
            return None
        worker = holder = None
        for dep in task.deps:
            if dep.state is RUNNING:
                if worker is None:
                    worker = dep.worker
                elif dep.worker is not worker:
                    return None
                readers = dep.dependents
                if readers is not None and len(readers) > self._max_ahead_readers:
                    return None
                if dep.n_live_dependents > self._max_ahead_readers:
                    return None  # a dependent is a block of so many
            elif dep.state is not MEMORY:
                return None
            elif dep.shared_location is None:
                if holder is not None and dep.owner is not holder:
                    return None
                holder = dep.owner
        if worker is None or (holder is not None and holder is not worker):
            return None
        if task.restrictions is not None or task in self._tables.stopping:
            return None
        if worker.pressure is not NO_PRESSURE or not worker.has_room_for_more():
            return None
        _, best = self._queues.best_for(worker, shrinking=False)
        return None if best is not None and best[0] < task.priority else worker


def _must_wait(task: TaskState | TaskBlock, worker: WorkerState) -> bool:
    """A task on its last chance runs alone, so that no other is blamed for its worker's death."""
    return task.n_deaths > 0 and task.is_on_last_chance and worker.n_busy > 0


def _is_worth_moving(task: TaskState) -> bool:
    """Tell whether the task is known to take longer than fetching its inputs to another worker would."""
    if task.layer.nbytes is None:
        return False
    private_bytes = sum(dep.nbytes for dep in task.deps if dep.shared_location is None)
    return task.layer.duration_s > _MOVE_S + private_bytes / _MOVE_BYTES_PER_S
