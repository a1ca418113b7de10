"""`ReadyQueue`: what could run now, best first."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Sequence
from typing import Any, Generic, Protocol, TypeVar

from glassloom.scheduler.layers import Layer
from glassloom.scheduler.states import READY, State

NEGLIGIBLE_BYTES = 4096
"""A result that is larger than what its task frees by no more than this doesn't count as growth."""


class Runnable(Protocol):
    """What a queue needs to know of a task."""

    state: State
    stamp: int
    priority: int
    layer: Layer

    @property
    def deps(self) -> Sequence[Any]: ...

    @property
    def reads(self) -> Sequence[Any] | None: ...

    @property
    def freed_in_slices_bytes(self) -> int: ...


T = TypeVar("T", bound=Runnable)
Entry = tuple[int, int, T]
"""Priority, stamp, task: an entry counts as long as its task is READY and has that stamp."""


class ReadyQueue(Generic[T]):
    """Ready tasks, best first. Entries whose task has moved on are thrown away when they come to the top.

    Those that come in their order, as independent tasks do, wait in a line, which costs a tenth of a heap; the others in a heap.
    """

    __slots__ = ("_heap", "_held_back", "_line")

    def __init__(self) -> None:
        self._line: deque[Entry[T]] = deque()
        self._heap: list[Entry[T]] = []
        self._held_back: list[Entry[T]] = []
        """Tasks that a worker short of memory has passed over; any other worker may take them."""

    def __len__(self) -> int:
        return len(self._line) + len(self._heap) + len(self._held_back)

    def push(self, task: T) -> None:
        """Add a task that has just become ready."""
        entry = task.priority, task.stamp, task
        line = self._line
        if not line or line[-1] < entry:
            line.append(entry)
        else:
            heapq.heappush(self._heap, entry)

    def first(self, shrinking: bool) -> Entry[T] | None:
        """Return the best entry; with `shrinking`, the best of those that don't need more memory than they free."""
        best = self._best()
        if shrinking:
            while best is not None and would_grow_memory(best[2]):
                self.take(best)
                heapq.heappush(self._held_back, best)
                best = self._best()
            return best
        if self._held_back:
            held_back = _top(self._held_back)
            if held_back is not None and (best is None or held_back < best):
                return held_back
        return best

    def take(self, entry: Entry[T]) -> T:
        """Remove what `first` has just returned."""
        if self._line and self._line[0] is entry:
            self._line.popleft()
        else:
            heapq.heappop(self._heap if self._heap and self._heap[0] is entry else self._held_back)
        return entry[2]

    def take_all(self) -> list[T]:
        """Empty the queue; return its tasks."""
        entries = [*self._line, *self._heap, *self._held_back]
        self._line.clear()
        self._heap, self._held_back = [], []
        return [task for _, stamp, task in entries if task.state is READY and task.stamp == stamp]

    def reconsider(self) -> None:
        """Look again at the tasks that were held back: what they free may have become more."""
        if self._held_back:
            self._heap += self._held_back
            heapq.heapify(self._heap)
            self._held_back = []

    def _best(self) -> Entry[T] | None:
        """Return the best entry of line and heap."""
        line = self._line
        while line and (line[0][2].state is not READY or line[0][2].stamp != line[0][1]):
            line.popleft()
        top = _top(self._heap) if self._heap else None
        if line and (top is None or line[0] < top):
            return line[0]
        return top


def would_grow_memory(task: Runnable) -> bool:
    """Tell whether the task's result is expected to take more memory than is freed by its end.

    What isn't known yet is taken to be large for a task that reads nothing, and to be small for any other.
    """
    expected = task.layer.nbytes
    if expected is None:
        return not task.deps and task.reads is None
    freed = 0 if task.reads is None else task.freed_in_slices_bytes
    for dep in task.deps:
        if dep.n_live_dependents == 1 and not dep.clients:
            freed += dep.nbytes
    return expected > freed + NEGLIGIBLE_BYTES


def _top(heap: list[Entry[T]]) -> Entry[T] | None:
    while heap:
        entry = heap[0]
        if entry[2].state is READY and entry[2].stamp == entry[1]:
            return entry
        heapq.heappop(heap)
    return None
