"""The tasks that a worker has been given and hasn't begun."""

from __future__ import annotations

import contextlib
import heapq
import itertools
import threading
from queue import Empty, SimpleQueue

from glassloom.runtime.messages import RunTask


class TaskQueue:
    """First come, first served; but tasks of a priority over 0, such as those that tasks submit, go before the others.

    Thread-safe. Ordinary tasks pass through a plain queue, which costs a tenth of a heap. One of priority lies in a
    heap, and a None stands for it in the queue; whoever takes something takes the best of both instead.
    """

    def __init__(self) -> None:
        self._queue: SimpleQueue[RunTask | None] = SimpleQueue()
        self._heap: list[tuple[int, int, RunTask]] = []
        self._lock = threading.Lock()
        self._numbers = itertools.count()

    def put(self, task: RunTask) -> None:
        """Add a task."""
        if task.priority > 0:
            with self._lock:
                heapq.heappush(self._heap, (-task.priority, next(self._numbers), task))
            self._queue.put(None)
        else:
            self._queue.put(task)

    def wake(self) -> None:
        """Let one thread that waits for a task return without one."""
        self._queue.put(None)

    def get(self) -> RunTask | None:
        """Wait for a task and return it; None if `wake` was called."""
        task = self._queue.get()
        if not self._heap:
            return task
        with self._lock:
            if task is not None:
                heapq.heappush(self._heap, (-task.priority, next(self._numbers), task))
            return heapq.heappop(self._heap)[2] if self._heap else None

    def take_all(self) -> list[RunTask]:
        """Take what is there, without waiting."""
        tasks, n_stand_ins = [], 0
        with self._lock:
            with contextlib.suppress(Empty):
                while True:
                    task = self._queue.get_nowait()
                    if task is None:
                        n_stand_ins += 1
                    else:
                        tasks.append(task)
            heap, self._heap = sorted(self._heap), []
        for _ in range(n_stand_ins - len(heap)):  # those were to wake somebody
            self.wake()
        return [task for _, _, task in heap] + tasks

    def empty(self) -> bool:
        """Tell whether there is nothing to take."""
        return self._queue.empty()

    def qsize(self) -> int:
        """Return the number of tasks."""
        return self._queue.qsize()
