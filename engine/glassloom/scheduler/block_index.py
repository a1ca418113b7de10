"""`BlockIndex`: which blocks of tasks there are, and where in them a task is. What is looked up here stays in its block."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

from glassloom.graph.keys import Key
from glassloom.scheduler.state import NO_WORKER, TaskState
from glassloom.scheduler.states import FORGOTTEN, READY, State
from glassloom.scheduler.tables import Tables
from glassloom.scheduler.task_block import TaskBlock, TaskSlice

GONE = FORGOTTEN
"""State in a block of tasks that are forgotten, or have left the block."""


class Standing(NamedTuple):
    """How a task stands. ``owner`` is the worker that alone has its result, ``location`` how all processes reach it, if they do."""

    number: int
    state: State
    owner: int
    location: Any


class BlockIndex:
    """The blocks that have tasks, by key, by number, and by client."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
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

    def block_of(self, key: Key) -> TaskBlock | None:
        """Return the block that a task is in, if it is in one."""
        return self._by_key.get(key)

    def of_client(self, client: Any) -> list[TaskBlock]:
        """Return the blocks of tasks that a client has handed in."""
        return list(self._by_client.get(client, ()))

    def at(self, number: int) -> tuple[TaskBlock, int] | None:
        """Return the block of a task and its position there."""
        index = bisect_right(self._starts, number) - 1
        if index < 0:
            return None
        block = self._blocks[index]
        position = number - block.first
        if position >= len(block.keys) or block.states[position] == GONE:
            return None
        return block, position

    def numbers_of(self, keys: Sequence[Key]) -> Sequence[int]:
        """Return the numbers of known tasks; quick for keys that follow each other in a block."""
        block = self._by_key.get(keys[0]) if keys else None
        if block is not None:
            start = block.position(keys[0])
            if block.keys[start : start + len(keys)] == keys and GONE not in block.states[start : start + len(keys)]:
                return range(block.first + start, block.first + start + len(keys))
        return [number for number in map(self.number_of, keys) if number is not None]

    def number_of(self, key: Key) -> int | None:
        """Return a known task's number, None if there is no such task."""
        block = self._by_key.get(key)
        if block is not None:
            return block.first + block.position(key)
        task = self._tables.tasks.get(key)
        return None if task is None else task.number

    def standing(self, key: Key) -> Standing | None:
        """Return how a task stands, None if there is no such task."""
        task = self._tables.tasks.get(key)
        if task is not None:
            owner = NO_WORKER if task.owner is None else task.owner.number
            return Standing(task.number, task.state, owner, task.shared_location)
        block = self._by_key.get(key)
        if block is None:
            return None
        position = block.position(key)
        location = None if block.locations is None else block.locations[position]
        owner = NO_WORKER if location is not None else block.workers[position]
        return Standing(block.first + position, State(block.states[position]), owner, location)

    def slice_of(self, keys: Sequence[Key], at: int) -> TaskSlice:
        """Return the task of the key at a position, which is in a block, and those of the next keys that follow it there."""
        block = self._by_key[keys[at]]
        first, last = block.span(keys, at)
        return TaskSlice(block, *trim(block, first, max(first, last)))

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
            stop = start + consecutive(numbers, at, len(block.keys) - start)
            gone = block.states.find(GONE, start, stop)
            stop = stop if gone < 0 else gone
            yield TaskSlice(block, start, stop)
            at += stop - start

    def count_before(self, task: TaskState) -> int:
        """Return how many tasks in blocks go before a task that is READY, or are ahead of it on its worker."""
        if task.worker is None:
            return sum(block.states.count(READY, 0, max(0, task.priority - block.place)) for block in self._blocks)
        return sum(block.count_sent_before(task.worker.number, task.turn) for block in self._blocks)

    # Changed by `BlockTable` only

    def add(self, block: TaskBlock) -> None:
        """Add a new block, whose numbers are the last so far."""
        self._by_key.update(dict.fromkeys(block.keys, block))
        self._by_client.setdefault(block.client, {})[block] = None
        self._starts.append(block.first)
        self._blocks.append(block)

    def remove_keys(self, keys: Sequence[Key]) -> None:
        """Tasks aren't in their block any more."""
        if len(self._by_key) == len(keys):
            self._by_key.clear()  # they are all there are
        else:
            deque(map(self._by_key.pop, keys), maxlen=0)

    def remove(self, block: TaskBlock) -> None:
        """The last task of a block isn't in it any more."""
        at = bisect_right(self._starts, block.first) - 1
        del self._starts[at], self._blocks[at]
        blocks = self._by_client[block.client]
        del blocks[block]
        if not blocks:
            del self._by_client[block.client]


def trim(block: TaskBlock, first: int, last: int) -> tuple[int, int]:
    """Return the positions from `first` towards `last` whose tasks are still in a block, as start and stop."""
    if first <= last:
        gone = block.states.find(GONE, first, last + 1)
        return first, last + 1 if gone < 0 else gone
    return max(last, block.states.rfind(GONE, last, first) + 1), first + 1


def consecutive(numbers: Sequence[int], at: int, limit: int) -> int:
    """Return how many elements from `at` on follow each other as whole numbers do, no more than `limit`."""
    if isinstance(numbers, range):
        return min(len(numbers) - at, limit)
    first = numbers[at]
    some = list(numbers[at : at + limit])
    expected = list(range(first, first + len(some)))
    if some == expected:
        return len(some)
    return next(n for n, (number, other) in enumerate(zip(some, expected, strict=True)) if number != other)
