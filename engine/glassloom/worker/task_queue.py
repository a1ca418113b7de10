"""The tasks that a worker was sent and that haven't ended here: which of them can begin, and which wait for others."""

from __future__ import annotations

import heapq
import itertools
import threading
from collections.abc import Iterable
from queue import SimpleQueue

from glassloom.protocol.messages import RunTask


class _Entry:
    """A task on its way through the queue."""

    __slots__ = ("has_begun", "is_withdrawn", "n_missing", "task")

    def __init__(self, task: RunTask) -> None:
        self.task = task
        self.n_missing = 0
        """Inputs that other tasks of the queue are still to make."""
        self.has_begun = False
        self.is_withdrawn = False


class TaskQueue:
    """First come, first served; but tasks of a priority over 0, such as those that tasks submit, go before the others,
    and a task that was sent ahead of its inputs waits until they are here.

    Thread-safe. The reading thread puts tasks and recalls them; lanes get them, and say of each how it has ended. Ordinary
    tasks pass through a plain queue, which costs a tenth of a heap. One of priority lies in a heap, and a None stands for
    it in the queue; whoever takes something takes the best of both instead.
    """

    def __init__(self) -> None:
        self._queue: SimpleQueue[_Entry | None] = SimpleQueue()
        self._urgent: list[tuple[int, int, _Entry]] = []
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._here: dict[int, _Entry] = {}
        self._readers: dict[int, list[_Entry]] = {}
        """Who waits for the result of a task that is here."""

    def __len__(self) -> int:
        """Return the number of tasks that haven't ended, those that run included."""
        return len(self._here)

    def put(self, task: RunTask) -> None:
        """Add a task: see `put_all`."""
        self.put_all([task])

    def put_all(self, tasks: Iterable[RunTask]) -> None:
        """Add tasks. An input that no process but this one can reach, and that a task here makes, is waited for."""
        with self._lock:
            here, queue = self._here, self._queue
            for task in tasks:
                entry = here[task.number] = _Entry(task)
                if task.deps:
                    self._await_inputs(entry)
                if task.priority > 0 and not entry.n_missing:
                    self._offer(entry)
                elif not entry.n_missing:
                    queue.put(entry)

    def _await_inputs(self, entry: _Entry) -> None:
        for number, location in entry.task.deps:
            if location is None and number in self._here:
                self._readers.setdefault(number, []).append(entry)
                entry.n_missing += 1

    def put_back(self, task: RunTask) -> None:
        """Add a task that was taken and not begun."""
        with self._lock:
            entry = self._here[task.number]
            entry.has_begun = False
            self._offer(entry)

    def get(self) -> RunTask | None:
        """Wait for a task that can begin; None if `wake` was called."""
        while True:
            entry = self._queue.get()
            with self._lock:
                if self._urgent:
                    entry = self._exchange_for_best(entry)
                if entry is None:
                    return None
                if not entry.is_withdrawn:
                    entry.has_begun = True
                    return entry.task

    def wake(self) -> None:
        """Let one thread that waits for a task return without one."""
        self._queue.put(None)

    def empty(self) -> bool:
        """Tell whether there is no task that could begin."""
        return self._queue.empty()

    def ended(self, task: RunTask) -> RunTask | None:
        """A task's result is there. Return a task that has waited for it, for the caller to run next."""
        with self._lock:
            self._forget(task)
            readers = self._readers.pop(task.number, None)
            if readers is None:
                return None
            following: RunTask | None = None
            for entry in readers:
                entry.n_missing -= 1
                if entry.n_missing or entry.is_withdrawn:
                    continue
                if following is None and not self._urgent:
                    entry.has_begun = True
                    following = entry.task
                else:
                    self._offer(entry)
            return following

    def gave_up(self, task: RunTask) -> list[int]:
        """A task has ended without a result. Return the tasks that waited for it: they are withdrawn."""
        with self._lock:
            self._forget(task)
            return self._withdraw(self._readers.pop(task.number, ()))

    def recall(self, numbers: Iterable[int]) -> list[int]:
        """Withdraw tasks that haven't begun, and what waits for them; return which."""
        with self._lock:
            entries = [self._here[number] for number in numbers if number in self._here]
            return self._withdraw([entry for entry in entries if not entry.has_begun])

    def recall_all(self) -> list[int]:
        """Withdraw all tasks that haven't begun; return which."""
        with self._lock:
            return self._withdraw([entry for entry in self._here.values() if not entry.has_begun])

    def _forget(self, task: RunTask) -> None:
        entry = self._here.get(task.number)
        if entry is not None and entry.task is task:  # the head may have heard of its end already, and sent it again
            del self._here[task.number]

    def _offer(self, entry: _Entry) -> None:
        if entry.task.priority > 0:
            heapq.heappush(self._urgent, (-entry.task.priority, next(self._numbers), entry))
            self._queue.put(None)
        else:
            self._queue.put(entry)

    def _exchange_for_best(self, entry: _Entry | None) -> _Entry:
        if entry is not None:
            heapq.heappush(self._urgent, (-entry.task.priority, next(self._numbers), entry))
        return heapq.heappop(self._urgent)[2]

    def _withdraw(self, entries: Iterable[_Entry]) -> list[int]:
        numbers = []
        stack = list(entries)
        while stack:
            entry = stack.pop()
            if entry.is_withdrawn:
                continue
            entry.is_withdrawn = True
            numbers.append(entry.task.number)
            del self._here[entry.task.number]
            stack.extend(self._readers.pop(entry.task.number, ()))
        return numbers
