"""`BlockTable`: blocks of tasks, and what happens to slices of them.

A task leaves its block, and gets a `TaskState`, as soon as anything happens to it that doesn't happen to slices: it fails, is
recalled, is looked up, is wanted by a second client, or another task depends on it alone. If there are tasks that read slices of
its block, all tasks of the block leave it then: so what follows from that is written once, for tasks by themselves.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from glassloom.graph.keys import Key
from glassloom.scheduler.block_index import GONE, BlockIndex, consecutive, trim
from glassloom.scheduler.layers import Layer
from glassloom.scheduler.ready_queues import ReadyQueues
from glassloom.scheduler.state import Places, TaskState, WorkerState
from glassloom.scheduler.states import FORGOTTEN, MEMORY, READY, RELEASED, RUNNING, UNDER_WAY, WAITING, State
from glassloom.scheduler.tables import Tables
from glassloom.scheduler.task_block import TaskBlock, TaskSlice, append_slice, spans_of

_LEGAL = frozenset(
    [
        (RELEASED, WAITING),
        (RELEASED, READY),
        (WAITING, READY),
        (READY, RUNNING),
        (RUNNING, MEMORY),
        (MEMORY, RELEASED),
        (MEMORY, FORGOTTEN),
        (RELEASED, FORGOTTEN),
        (WAITING, FORGOTTEN),
        (READY, FORGOTTEN),
    ]
)
"""The changes of state that slices make; forgetting a WAITING or READY task passes by RELEASED."""
_STATES = tuple(State)
_FEW = 8
"""So many tasks or more that follow each other are released without looking for their neighbours first."""
_READY_RUN, _RUNNING_RUN, _MEMORY_RUN, *_OTHER_RUNS = (
    re.compile(re.escape(bytes([state])) + b"+") for state in (READY, RUNNING, MEMORY, WAITING, RELEASED)
)
_UNDER_WAY_RUN = re.compile(b"[" + re.escape(bytes([WAITING, READY, RUNNING])) + b"]+")
_KNOWN_RUN = re.compile(b"[^" + re.escape(bytes([GONE])) + b"]+")
_ANY_RUN = re.compile(b"|".join(run.pattern for run in (_READY_RUN, _RUNNING_RUN, _MEMORY_RUN, *_OTHER_RUNS)))
_WANTED_RUN, _UNWANTED_RUN = re.compile(b"\1+"), re.compile(b"\0+")


class BlockTable:
    """Makes blocks of tasks, takes them from state to state slice by slice, and tasks out of them."""

    def __init__(self, tables: Tables, queues: ReadyQueues, index: BlockIndex) -> None:
        self._tables = tables
        self._queues = queues
        self._index = index

    # Making blocks, and tasks of their own

    def add(
        self,
        client: Any,
        layer: Layer,
        keys: Sequence[Key],
        specs: Sequence[Any],
        *,
        place: int,
        places: Places,
        retries: int,
        origin: str,
        deps: tuple[TaskState, ...] = (),
    ) -> None:
        """Make a block of new tasks, and queue it if they could run now. What they read must be held or under way."""
        tables = self._tables
        block = TaskBlock(tables.take_numbers(len(keys)), client, layer, keys, specs, deps)
        block.place = block.priority = place
        block.places = places
        block.retries = retries
        block.own_origin = origin
        self._index.add(block)
        tables.layers.add(layer, len(keys))
        for dep in deps:
            dep.n_live_dependents += len(keys)
            dep.add_dependent(block)
            tables.layers.note_input(layer, dep.layer)
        block.n_missing_inputs = sum([dep.state is not MEMORY for dep in deps])
        if block.n_missing_inputs:
            block.states[:] = bytes([WAITING]) * len(keys)
            block.state = WAITING
            block.n_ready = 0
            self._count(block, RELEASED, WAITING, len(keys))
        else:
            self._count(block, RELEASED, READY, len(keys))
            self._queue(block)

    def inputs_are_held(self, block: TaskBlock) -> None:
        """All that WAITING tasks read is held: queue them. If not every process can reach it, they leave the block instead.

        They are `complete` then, and are to be queued one by one, where their inputs are.
        """
        if any(dep.shared_location is None for dep in block.deps):
            self.dissolve(block)
            return
        block.states = block.states.replace(bytes([WAITING]), bytes([READY]))
        block.n_ready = block.n_known
        block.state = READY
        self._count(block, WAITING, READY, block.n_ready)
        self._queue(block)

    def _queue(self, block: TaskBlock) -> None:
        block.ready_s = self._tables.now_s
        block.cursor = block.states.find(READY)
        block.priority = block.place + block.cursor
        self._queues.push_block(block)

    def task(self, key: Key) -> TaskState | None:
        """Return a known task by its key; if it is in a block, it leaves it."""
        return self._tables.tasks.get(key) or self.find(key)

    def numbered(self, number: int) -> TaskState | None:
        """Return a known task by its number; if it is in a block, it leaves it."""
        return self._tables.by_number.get(number) or self.find_number(number)

    def find(self, key: Key) -> TaskState | None:
        """Let a task leave its block, if it is in one."""
        block = self._index.block_of(key)
        return None if block is None else self._single_out(block, block.position(key))

    def find_number(self, number: int) -> TaskState | None:
        """Let a task leave its block, if it is in one."""
        found = self._index.at(number)
        return None if found is None else self._single_out(*found)

    def make_individual_on(self, worker: WorkerState, *, with_results: bool) -> None:
        """Let tasks leave their blocks that a worker runs; `with_results` also those whose result only it has."""
        if not worker.n_in_blocks and not (with_results and worker.n_held_in_blocks):
            return
        pattern = _ANY_RUN if with_results else _RUNNING_RUN
        for block in list(self._index):
            spans = [match.span() for match in pattern.finditer(block.states)]
            there = [position for span in spans for position in range(*span) if _is_on(worker, block, position)]
            if there and block.readers:
                self.dissolve(block)
            else:
                for position in there:
                    self._make_individual(block, position)

    def dissolve_if_read(self, keys: Collection[Key]) -> None:
        """Let tasks leave their blocks that are in one with some of these keys, where slices are read."""
        if any(block.readers for block in self._index):
            for block in dict.fromkeys(map(self._index.block_of, keys)):
                if block is not None and block.readers:
                    self.dissolve(block)

    def dissolve(self, block: TaskBlock) -> list[TaskState]:
        """Let all tasks leave a block; return them. Those that read slices of it then read the tasks, one by one."""
        readers = block.readers
        block.read_by([])
        known = [position for match in _KNOWN_RUN.finditer(block.states) for position in range(*match.span())]
        tasks = {position: self._make_individual(block, position) for position in known}
        for reader in dict.fromkeys(reader.task for reader in readers):
            items: list[TaskState | TaskSlice] = []
            for item in reader.reads or ():
                if isinstance(item, TaskSlice) and item.block is block:
                    items += [tasks[position] for position in range(item.start, item.stop)]
                else:
                    items.append(item)
            reader.read(items)
        for reader, start, stop in readers:
            for position in range(start, stop):
                tasks[position].add_dependent(reader)
                tasks[position].n_live_dependents += reader.state in UNDER_WAY
        return list(tasks.values())

    def _single_out(self, block: TaskBlock, position: int) -> TaskState:
        """Let a task leave its block; if slices of that are read, with all others."""
        if not block.readers:
            return self._make_individual(block, position)
        key = block.keys[position]
        self.dissolve(block)
        return self._tables.tasks[key]

    def _make_individual(self, block: TaskBlock, position: int) -> TaskState:
        """Give a task of a block an object of its own, which takes its place everywhere."""
        tables = self._tables
        state = State(block.states[position])
        task = TaskState(block.first + position, block.keys[position], block.layer, state)
        task.spec = block.specs[position]
        task.own_origin = block.own_origin
        task.retries = block.retries
        task.priority, task.places = block.place + position, block.places
        task.ready_s = block.ready_s
        tables.tasks[task.key] = tables.by_number[task.number] = task
        task.deps = block.deps
        for dep in block.deps:
            dep.add_dependent(task)
        is_wanted = block.wanted is None or block.wanted[position] == 1
        if is_wanted:
            tables.clients.add(block.client, task)
        if state is READY:
            self._queues.push(task)
        elif state is WAITING:
            task.n_missing_inputs = block.n_missing_inputs
            if not block.n_missing_inputs:  # the block was about to be queued
                tables.complete.append(task)
        elif state is RUNNING:
            worker = task.worker = tables.workers[block.workers[position]]
            worker.n_in_blocks -= 1
            worker.running[task] = None
            task.estimate_s = block.estimates_s[position]
            task.sent_s, task.sent_number = block.sent_s(position), block.sent_number(position)
        else:
            task.producer = block.workers[position]
            task.row = block.row(position)
            task.nbytes = block.nbytes[position]
            if state is RELEASED:
                task.was_held = True
                task.attempt += 1
            elif _is_private(block, position):
                owner = task.owner = tables.workers[block.workers[position]]
                owner.n_held_in_blocks -= 1
                owner.has[task] = None
            elif block.locations is not None:
                task.shared_location, block.locations[position] = block.locations[position], None
            if is_wanted and state is MEMORY:
                self._tell_alone(block, position, task)
        self._take_out(block, position, position + 1, is_ready=state is READY)
        return task

    def _tell_alone(self, block: TaskBlock, position: int, task: TaskState) -> None:
        """Cut a task out of the slice that its client is about to be told of."""
        finished = self._tables.actions.finished.get(block.client, [])
        for at in reversed(range(len(finished))):
            item = finished[at]
            if isinstance(item, TaskSlice) and item.block is block and item.start <= position < item.stop:
                pieces = (TaskSlice(block, item.start, position), task, TaskSlice(block, position + 1, item.stop))
                finished[at : at + 1] = [piece for piece in pieces if isinstance(piece, TaskState) or len(piece)]
                return

    # What happens to slices

    def run(self, block: TaskBlock, worker: WorkerState, n_tasks: int) -> int:
        """Send up to `n_tasks` tasks of a block that was taken out of its queue to a worker. Return how many."""
        start = block.states.find(READY, block.cursor)
        match = _READY_RUN.match(block.states, start, min(start + n_tasks, len(block.states)))
        assert match is not None
        stop, n = match.end(), match.end() - start
        estimate_s = block.layer.duration_s
        block.workers[start:stop] = array("q", [worker.number]) * n
        block.estimates_s[start:stop] = array("d", [estimate_s]) * n
        block.states[start:stop] = bytes([RUNNING]) * n
        block.sent.append((start, self._tables.now_s, self._tables.take_sent_number()))
        worker.n_in_blocks += n
        worker.occupancy_s += n * estimate_s
        self._count(block, READY, RUNNING, n)
        append_slice(self._tables.actions.run[worker], block, start, stop)
        self._use_up(block, stop, n)
        if block.n_ready:
            self._queues.push_block(block)
        return n

    def finish(
        self,
        worker: WorkerState,
        tasks: Sequence[int],
        at: int,
        nbytes: Sequence[int],
        durations_s: Sequence[float],
        locations: Sequence[Any],
    ) -> int:
        """Take in the results of the tasks from element `at` on that follow each other in a block and run on the worker.

        Returns how many that are, 0 if the first is no such task.
        """
        found = self._index.at(tasks[at])
        if found is None:
            return 0
        block, start = found
        n = consecutive(tasks, at, len(block.keys) - start)
        match = _RUNNING_RUN.match(block.states, start, start + n)
        n = 0 if match is None else match.end() - start
        if block.workers[start : start + n] != array("q", [worker.number]) * n:
            n = 1 if block.workers[start] == worker.number else 0
        if not n:
            return 0
        stop, end = start + n, at + n
        n_private = locations[at:end].count(None)
        if n_private < n:
            if block.locations is None:
                block.locations = [None] * len(block.keys)
            block.locations[start:stop] = locations[at:end]
        sizes = nbytes[at:end]
        block.nbytes[start:stop] = array("q", sizes)
        block.states[start:stop] = bytes([MEMORY]) * n
        worker.n_held_in_blocks += n_private
        worker.n_in_blocks -= n
        is_busy = worker.running or worker.n_in_blocks
        worker.occupancy_s = max(0.0, worker.occupancy_s - sum(block.estimates_s[start:stop])) if is_busy else 0.0
        worker.n_finished += n
        size = sum(sizes)
        block.layer.learnt.add_many(durations_s[at:end], size / n)
        block.layer.held_bytes += size
        self._count(block, RUNNING, MEMORY, n)
        for begin, end in _spans(_WANTED_RUN, block, start, stop):
            append_slice(self._tables.actions.finished[block.client], block, begin, end)
        self._tables.may_have_room[worker] = None
        self._let_inputs_go(block, n)
        for reader, first, last in block.readers:
            if reader.state is WAITING and first < stop and start < last:
                reader.n_missing_inputs -= min(stop, last) - max(start, first)
                if not reader.n_missing_inputs:
                    self._tables.complete.append(reader)
        return n

    def release(self, client: Any, keys: Sequence[Key]) -> list[Key]:
        """Forget the tasks of the client's that are in blocks, in whichever order; return the other keys.

        Tasks that run leave their block, and nobody wants them any more: the caller reviews them. Keys that follow each
        other in a block, forward or backward, are released at once; so are, of the others of a block, those that turn out
        to be neighbours.
        """
        return self._let_go(keys, self._release, client=client)

    def cancel(self, keys: Sequence[Key], *, client: Any = None) -> list[Key]:
        """As `release`, for all clients or for one, and tell them that the keys are cancelled.

        Tasks that others read leave their block: what depends on them is to be cancelled too.
        """
        self.dissolve_if_read(keys)
        return self._let_go(keys, self._cancel, client=client)

    def _let_go(self, keys: Sequence[Key], let_go: Callable[[TaskBlock, int, int], None], *, client: Any) -> list[Key]:
        rest: list[Key] = []
        scattered: dict[TaskBlock, list[int]] = {}
        at = 0
        while at < len(keys):
            block = self._index.block_of(keys[at])
            if block is None or (client is not None and block.client != client):
                rest.append(keys[at])
                at += 1
                continue
            start, stop = trim(block, *block.span(keys, at))
            if stop - start < _FEW:
                scattered.setdefault(block, []).extend(range(start, stop))
            else:
                let_go(block, start, stop)
            at += stop - start
        for block, positions in scattered.items():
            for start, stop in spans_of(sorted(positions)):
                if block.n_known:
                    let_go(block, start, stop)
                else:
                    rest += block.keys[start:stop]  # it was dissolved meanwhile
        return rest

    def client_left(self, client: Any) -> None:
        """Forget all tasks of a client; those that run leave their block."""
        for block in self._index.of_client(client):
            self._release(block, 0, len(block.keys))

    def under_way(self, client: Any = None) -> Iterator[TaskSlice]:
        """Yield the tasks in blocks that are wanted and aren't finished: by a client, or by any."""
        for block in list(self._index) if client is None else self._index.of_client(client):
            for match in list(_UNDER_WAY_RUN.finditer(block.states)):
                for span in _spans(_WANTED_RUN, block, *match.span()):
                    yield TaskSlice(block, *span)

    def _cancel(self, block: TaskBlock, start: int, stop: int) -> None:
        cancelled = self._tables.actions.cancelled[block.client]
        for match in _KNOWN_RUN.finditer(block.states, start, stop):
            cancelled += block.keys[match.start() : match.end()]
        self._release(block, start, stop)

    def _release(self, block: TaskBlock, start: int, stop: int) -> None:
        """The client doesn't want these tasks any more."""
        block.released = start, stop
        if block.readers:
            if block.wanted is None:
                block.wanted = bytearray(b"\1") * len(block.keys)
            block.wanted[start:stop] = bytes(stop - start)
            self.release_unneeded(block, start, stop)
        else:
            self._forget(block, start, stop)

    def release_unneeded(self, block: TaskBlock, start: int, stop: int) -> None:
        """Forget those of some tasks that nobody wants or reads; let go of the results of those that nobody reads now."""
        for begin, end, may_be_read in list(block.unread(start, stop)):
            for span in list(_spans(_UNWANTED_RUN, block, begin, end)):
                if not may_be_read:
                    self._forget(block, *span)
                elif _UNDER_WAY_RUN.search(block.states, *span):
                    self._tables.to_review += self.dissolve(block)
                    return
                else:
                    for match in list(_MEMORY_RUN.finditer(block.states, *span)):
                        self._drop(block, *match.span())
                        self._count(block, MEMORY, RELEASED, match.end() - match.start())
                        block.states[slice(*match.span())] = bytes([RELEASED]) * (match.end() - match.start())

    def _forget(self, block: TaskBlock, start: int, stop: int) -> None:
        """Forget tasks that nobody wants or reads. Those that run leave the block, and are reviewed."""
        for match in list(_ANY_RUN.finditer(block.states, start, stop)):
            begin, end = match.span()
            state = block.states[begin]
            if state == RUNNING:
                for position in range(begin, end):
                    task = self._make_individual(block, position)
                    self._tables.clients.clear(task)
                    self._tables.to_review.append(task)
                continue
            if state == MEMORY:
                self._drop(block, begin, end)
            elif state != RELEASED:
                if block.places is not None:
                    block.places.give_up(block.place + begin, end - begin)
                self._let_inputs_go(block, end - begin)
            self._count(block, _STATES[state], FORGOTTEN, end - begin)
            self._take_out(block, begin, end, is_ready=state == READY)

    def _drop(self, block: TaskBlock, start: int, stop: int) -> None:
        """Let go of results."""
        actions, numbers = self._tables.actions, range(block.first + start, block.first + stop)
        block.layer.n_released += len(numbers)
        block.layer.held_bytes -= sum(block.nbytes[start:stop])
        locations = None
        if block.locations is not None:
            locations = block.locations[start:stop]
            block.locations[start:stop] = [None] * len(locations)  # they may be the results themselves
        if locations is not None and None not in locations:
            actions.free_slices.append((numbers, locations))
            return
        workers = block.workers[start:stop]
        if locations is None and workers.count(workers[0]) == len(workers):
            worker = self._tables.workers[workers[0]]
            worker.n_held_in_blocks -= len(numbers)
            actions.drop[worker].extend(numbers)
            return
        for number, owner, location in zip(numbers, workers, locations or [None] * len(numbers), strict=True):
            if location is None:
                worker = self._tables.workers[owner]
                worker.n_held_in_blocks -= 1
                actions.drop[worker].append(number)
            else:
                actions.free.append((number, location))

    def _let_inputs_go(self, block: TaskBlock, n_tasks: int) -> None:
        """So many tasks of the block don't read its dependencies any more."""
        for dep in block.deps:
            dep.n_live_dependents -= n_tasks
            if not dep.n_live_dependents and not dep.clients:
                self._tables.to_review.append(dep)

    # Bookkeeping

    def _take_out(self, block: TaskBlock, start: int, stop: int, *, is_ready: bool) -> None:
        """Forget that tasks were in the block."""
        n = stop - start
        block.states[start:stop] = bytes([GONE]) * n
        self._index.remove_keys(block.keys[start:stop])
        if is_ready:
            self._use_up(block, stop if start <= block.cursor else block.cursor, n)
        if block.layer.counts[FORGOTTEN] == block.layer.total:
            self._tables.layers.note_end(block.layer)
        block.n_known -= n
        if not block.n_known:
            block.state = FORGOTTEN  # whoever still has it shall see that it waits for nothing
            self._index.remove(block)
            for dep in block.deps:
                if dep.dependents is not None:
                    del dep.dependents[block]
                    if not dep.dependents:
                        dep.dependents = None
                        self._tables.to_review.append(dep)

    @staticmethod
    def _use_up(block: TaskBlock, cursor: int, n_ready: int) -> None:
        """So many tasks of the block aren't READY any more, among them all before `cursor`."""
        block.n_ready -= n_ready
        block.cursor = cursor
        block.priority = block.place + cursor
        if not block.n_ready:
            block.state = FORGOTTEN  # so that its entry in a queue counts no more

    def _count(self, block: TaskBlock, start: State, finish: State, n: int) -> None:
        assert (start, finish) in _LEGAL
        counts = block.layer.counts
        counts[start] -= n
        counts[finish] += n
        self._tables.layers.changed.add(block.layer)


def _is_on(worker: WorkerState, block: TaskBlock, position: int) -> bool:
    """Tell whether a task runs on a worker, or whether its result is only there."""
    if block.workers[position] != worker.number:
        return False
    state = block.states[position]
    return state == RUNNING or (state == MEMORY and _is_private(block, position))


def _is_private(block: TaskBlock, position: int) -> bool:
    return block.locations is None or block.locations[position] is None


def _spans(pattern: re.Pattern[bytes], block: TaskBlock, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Yield the parts from one position to before another of tasks that are wanted, or of those that aren't."""
    if block.wanted is not None:
        yield from (match.span() for match in pattern.finditer(block.wanted, start, stop))
    elif pattern is _WANTED_RUN:
        yield start, stop
