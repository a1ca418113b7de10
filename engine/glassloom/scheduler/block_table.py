"""`BlockTable`: all blocks of tasks, and what happens to slices of them.

A task leaves its block, and gets a `TaskState`, as soon as anything happens to it that doesn't happen to slices: it fails, is
recalled, is looked up, is wanted by a second client, or another task depends on it.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from glassloom.graph.keys import Key
from glassloom.scheduler.layers import Layer
from glassloom.scheduler.ready_queues import ReadyQueues
from glassloom.scheduler.state import Places, TaskState, WorkerState
from glassloom.scheduler.states import FORGOTTEN, MEMORY, READY, RELEASED, RUNNING, State
from glassloom.scheduler.tables import Tables
from glassloom.scheduler.task_block import TaskBlock, TaskSlice, append_slice, spans_of

_GONE = FORGOTTEN
"""State in a block of tasks that are forgotten, or have left the block."""
_LEGAL = frozenset([(RELEASED, READY), (READY, RUNNING), (RUNNING, MEMORY), (MEMORY, FORGOTTEN), (READY, FORGOTTEN)])
"""The changes of state that slices make; forgetting a READY task passes by RELEASED."""
_STATES = tuple(State)
_FEW = 8
"""So many tasks or more that follow each other are released without looking for their neighbours first."""
_READY_RUN, _RUNNING_RUN, _MEMORY_RUN = (
    re.compile(re.escape(bytes([state])) + b"+") for state in (READY, RUNNING, MEMORY)
)
_UNDER_WAY_RUN = re.compile(b"[" + re.escape(bytes([READY])) + re.escape(bytes([RUNNING])) + b"]+")
_KNOWN_RUN = re.compile(b"[^" + re.escape(bytes([_GONE])) + b"]+")
_ANY_RUN = re.compile(b"|".join(pattern.pattern for pattern in (_READY_RUN, _RUNNING_RUN, _MEMORY_RUN)))


class BlockTable:
    """The blocks that have tasks, by key, by number, and by client."""

    def __init__(self, tables: Tables, queues: ReadyQueues) -> None:
        self._tables = tables
        self._queues = queues
        self._starts: list[int] = []
        self._blocks: list[TaskBlock] = []
        """In the order of their numbers; `_starts` has the first of each."""
        self._by_key: dict[Key, TaskBlock] = {}
        self._by_client: dict[Any, dict[TaskBlock, None]] = {}

    def __len__(self) -> int:
        """Return the number of tasks in blocks."""
        return len(self._by_key)

    def __iter__(self) -> Iterator[TaskBlock]:
        return iter(self._blocks)

    def __contains__(self, key: object) -> bool:
        return key in self._by_key

    def known_keys(self) -> list[Key]:
        """Return the keys of the tasks in blocks."""
        return list(self._by_key)

    def knows_any(self, keys: Collection[Key]) -> bool:
        """Tell whether any of the keys belongs to a task in a block."""
        return not self._by_key.keys().isdisjoint(keys)

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
    ) -> None:
        """Make a block of new tasks that could run now, and queue it."""
        tables = self._tables
        block = TaskBlock(tables.take_numbers(len(keys)), client, layer, keys, specs)
        block.place = block.priority = place
        block.places = places
        block.retries = retries
        block.own_origin = origin
        block.ready_s = tables.now_s
        self._by_key.update(dict.fromkeys(keys, block))
        self._by_client.setdefault(client, {})[block] = None
        self._starts.append(block.first)
        self._blocks.append(block)
        tables.layers.add(layer, len(keys))
        self._count(block, RELEASED, READY, len(keys))
        self._queues.push_block(block)

    def task(self, key: Key) -> TaskState | None:
        """Return a known task by its key; if it is in a block, it leaves it."""
        return self._tables.tasks.get(key) or self.find(key)

    def numbered(self, number: int) -> TaskState | None:
        """Return a known task by its number; if it is in a block, it leaves it."""
        return self._tables.by_number.get(number) or self.find_number(number)

    def find(self, key: Key) -> TaskState | None:
        """Let a task leave its block, if it is in one."""
        block = self._by_key.get(key)
        return None if block is None else self._make_individual(block, block.position(key))

    def find_number(self, number: int) -> TaskState | None:
        """Let a task leave its block, if it is in one."""
        found = self.at(number)
        return None if found is None else self._make_individual(*found)

    def at(self, number: int) -> tuple[TaskBlock, int] | None:
        """Return the block of a task and its position there."""
        index = bisect_right(self._starts, number) - 1
        if index < 0:
            return None
        block = self._blocks[index]
        position = number - block.first
        if position >= len(block.keys) or block.states[position] == _GONE:
            return None
        return block, position

    def numbers_of(self, keys: Sequence[Key]) -> Sequence[int]:
        """Return the numbers of known tasks; quick for keys that follow each other in a block."""
        block = self._by_key.get(keys[0]) if keys else None
        if block is not None:
            start = block.position(keys[0])
            if block.keys[start : start + len(keys)] == keys and _GONE not in block.states[start : start + len(keys)]:
                return range(block.first + start, block.first + start + len(keys))
        return [number for number in map(self.number_of, keys) if number is not None]

    def number_of(self, key: Key) -> int | None:
        """Return a known task's number, None if there is no such task."""
        block = self._by_key.get(key)
        if block is not None:
            return block.first + block.position(key)
        task = self._tables.tasks.get(key)
        return None if task is None else task.number

    def items_of(self, numbers: Sequence[int]) -> Iterator[TaskState | TaskSlice | None]:
        """Yield the known tasks of these numbers, in order; those that follow each other in a block as one slice."""
        at = 0
        while at < len(numbers):
            found = None if numbers[at] in self._tables.by_number else self.at(numbers[at])
            if found is None:
                yield self._tables.by_number.get(numbers[at])
                at += 1
                continue
            block, start = found
            stop = start + _consecutive(numbers, at, len(block.keys) - start)
            gone = block.states.find(_GONE, start, stop)
            stop = stop if gone < 0 else gone
            yield TaskSlice(block, start, stop)
            at += stop - start

    def count_before(self, task: TaskState) -> int:
        """Return how many tasks in blocks go before a task that is READY, or are ahead of it on its worker."""
        if task.worker is None:
            return sum(block.states.count(READY, 0, max(0, task.priority - block.place)) for block in self._blocks)
        return sum(block.count_sent_before(task.worker.number, task.turn) for block in self._blocks)

    def make_individual_on(self, worker: WorkerState, *, with_results: bool) -> None:
        """Let tasks leave their blocks that a worker runs; `with_results` also those whose result only it has."""
        if not worker.n_in_blocks and not (with_results and worker.n_held_in_blocks):
            return
        pattern = _ANY_RUN if with_results else _RUNNING_RUN
        for block in list(self._blocks):
            for match in list(pattern.finditer(block.states)):
                for position in range(*match.span()):
                    if _is_on(worker, block, position):
                        self._make_individual(block, position)

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
        tables.clients.add(block.client, task)
        if state is READY:
            self._queues.push(task)
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
            if _is_private(block, position):
                owner = task.owner = tables.workers[block.workers[position]]
                owner.n_held_in_blocks -= 1
                owner.has[task] = None
            elif block.locations is not None:
                task.shared_location, block.locations[position] = block.locations[position], None
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
        found = self.at(tasks[at])
        if found is None:
            return 0
        block, start = found
        n = _consecutive(tasks, at, len(block.keys) - start)
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
        block.layer.learn_many(n, sum(durations_s[at:end]) / n, size / n)
        block.layer.held_bytes += size
        self._count(block, RUNNING, MEMORY, n)
        append_slice(self._tables.actions.finished[block.client], block, start, stop)
        self._tables.may_have_room[worker] = None
        return n

    def release(self, client: Any, keys: Sequence[Key]) -> list[Key]:
        """Forget the tasks of the client's that are in blocks, in whichever order; return the other keys.

        Tasks that run leave their block, and nobody wants them any more: the caller reviews them. Keys that follow each
        other in a block, forward or backward, are released at once; so are, of the others of a block, those that turn out
        to be neighbours.
        """
        return self._let_go(keys, self._release, client=client)

    def cancel(self, keys: Sequence[Key], *, client: Any = None) -> list[Key]:
        """As `release`, for all clients or for one, and tell them that the keys are cancelled."""
        return self._let_go(keys, self._cancel, client=client)

    def _let_go(self, keys: Sequence[Key], let_go: Callable[[TaskBlock, int, int], None], *, client: Any) -> list[Key]:
        rest: list[Key] = []
        scattered: dict[TaskBlock, list[int]] = {}
        at = 0
        while at < len(keys):
            block = self._by_key.get(keys[at])
            if block is None or (client is not None and block.client != client):
                rest.append(keys[at])
                at += 1
                continue
            start, stop = self._trim(block, *block.span(keys, at))
            if stop - start < _FEW:
                scattered.setdefault(block, []).extend(range(start, stop))
            else:
                let_go(block, start, stop)
            at += stop - start
        for block, positions in scattered.items():
            for start, stop in spans_of(sorted(positions)):
                let_go(block, start, stop)
        return rest

    @staticmethod
    def _trim(block: TaskBlock, first: int, last: int) -> tuple[int, int]:
        """Return the positions from `first` towards `last` whose tasks are in the block, as start and stop."""
        if first <= last:
            gone = block.states.find(_GONE, first, last + 1)
            return first, last + 1 if gone < 0 else gone
        return max(last, block.states.rfind(_GONE, last, first) + 1), first + 1

    def client_left(self, client: Any) -> None:
        """Forget all tasks of a client; those that run leave their block."""
        for block in list(self._by_client.get(client, ())):
            self._release(block, 0, len(block.keys))

    def under_way(self, client: Any = None) -> Iterator[TaskSlice]:
        """Yield the tasks in blocks that aren't finished: of a client, or all."""
        for block in list(self._blocks if client is None else self._by_client.get(client, ())):
            for match in list(_UNDER_WAY_RUN.finditer(block.states)):
                yield TaskSlice(block, *match.span())

    def _cancel(self, block: TaskBlock, start: int, stop: int) -> None:
        cancelled = self._tables.actions.cancelled[block.client]
        for match in _KNOWN_RUN.finditer(block.states, start, stop):
            cancelled += block.keys[match.start() : match.end()]
        self._release(block, start, stop)

    def _release(self, block: TaskBlock, start: int, stop: int) -> None:
        block.released = start, stop
        for match in list(_ANY_RUN.finditer(block.states, start, stop)):
            begin, end = match.span()
            state = block.states[begin]
            if state == RUNNING:
                for position in range(begin, end):
                    task = self._make_individual(block, position)
                    self._tables.clients.clear(task)
                    self._tables.to_review.append(task)
            else:
                if state == MEMORY:
                    self._drop(block, begin, end)
                elif block.places is not None:
                    block.places.give_up(block.place + begin, end - begin)
                self._count(block, _STATES[state], FORGOTTEN, end - begin)
                self._take_out(block, begin, end, is_ready=state == READY)

    def _drop(self, block: TaskBlock, start: int, stop: int) -> None:
        """Let go of results."""
        actions, numbers = self._tables.actions, range(block.first + start, block.first + stop)
        block.layer.n_released += len(numbers)
        block.layer.held_bytes -= sum(block.nbytes[start:stop])
        locations = block.locations[start:stop] if block.locations is not None else None
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

    # Bookkeeping

    def _take_out(self, block: TaskBlock, start: int, stop: int, *, is_ready: bool) -> None:
        """Forget that tasks were in the block."""
        n = stop - start
        block.states[start:stop] = bytes([_GONE]) * n
        if len(self._by_key) == n:
            self._by_key.clear()  # they are all there are
        else:
            deque(map(self._by_key.pop, block.keys[start:stop]), maxlen=0)
        if is_ready:
            self._use_up(block, stop if start <= block.cursor else block.cursor, n)
        if block.layer.counts[FORGOTTEN] == block.layer.total:
            self._tables.layers.note_end(block.layer)
        block.n_known -= n
        if not block.n_known:
            index = bisect_right(self._starts, block.first) - 1
            del self._starts[index], self._blocks[index]
            blocks = self._by_client[block.client]
            del blocks[block]
            if not blocks:
                del self._by_client[block.client]

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


def _consecutive(numbers: Sequence[int], at: int, limit: int) -> int:
    """Return how many elements from `at` on follow each other as whole numbers do, no more than `limit`."""
    if isinstance(numbers, range):
        return min(len(numbers) - at, limit)
    first = numbers[at]
    some = list(numbers[at : at + limit])
    expected = list(range(first, first + len(some)))
    if some == expected:
        return len(some)
    return next(n for n, (number, other) in enumerate(zip(some, expected, strict=True)) if number != other)
