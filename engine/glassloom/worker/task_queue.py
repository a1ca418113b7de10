"""The tasks that a worker was sent and that haven't ended here: which of them can begin, and which wait for others."""

from __future__ import annotations

import heapq
import itertools
import threading
from collections import deque
from collections.abc import Iterable
from queue import SimpleQueue

from glassloom.protocol.messages import RunSlice, RunTask
from glassloom.worker.slice_tasks import SliceTasks


class _Entry:
    """A task on its way through the queue."""

    __slots__ = ("has_begun", "is_withdrawn", "n_missing", "task")

    def __init__(self, task: RunTask) -> None:
        self.task = task
        self.n_missing = 0
        """Inputs that other tasks of the queue are still to make."""
        self.has_begun = False
        self.is_withdrawn = False

    @property
    def priority(self) -> int:
        """The task's."""
        return self.task.priority


class TaskQueue:
    """First come, first served; but tasks of a priority over 0, such as those that tasks submit, go before the others,
    and a task that was sent ahead of its inputs waits until they are here.

    Thread-safe. The reading thread puts tasks and recalls them; lanes get them, and say of each how it has ended. A slice
    of tasks is one item, which all lanes get until none of its tasks is left to begin. Lanes take its tasks without the
    queue's lock, and remove them from `SliceTasks.left` as they end; only if they see `readers` then do they ask the queue.

    Attributes
    ----------
    urgent
        A heap of what goes before everything else: tasks and slices of a priority over 0.
    readers
        Who waits for the result of a task that is here, by the task's number.
    """

    def __init__(self) -> None:
        self._line: deque[_Entry | SliceTasks | None] = deque()
        self.urgent: list[tuple[int, int, _Entry | SliceTasks]] = []
        self.readers: dict[int, list[_Entry]] = {}
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._here: dict[int, _Entry] = {}
        self._slices: list[SliceTasks] = []
        self._n_waiting = 0
        self._signals: SimpleQueue[None] = SimpleQueue()
        """One for each waiting lane that shall look again."""

    def __len__(self) -> int:
        """Return the number of tasks that haven't ended, those that run included."""
        return len(self._here) + sum([len(tasks.left) for tasks in self._slices])

    def put(self, task: RunTask) -> None:
        """Add a task: see `put_all`."""
        self.put_all([task])

    def put_all(self, tasks: Iterable[RunTask]) -> None:
        """Add tasks. An input that no process but this one can reach, and that a task here makes, is waited for."""
        with self._lock:
            n_offered = 0
            for task in tasks:
                entry = self._here[task.number] = _Entry(task)
                if task.deps:
                    self._await_inputs(entry)
                if not entry.n_missing:
                    self._offer(entry)
                    n_offered += 1
            self._signal(n_offered)

    def put_slice(self, message: RunSlice) -> None:
        """Add the tasks of a slice."""
        tasks = SliceTasks(message)
        with self._lock:
            self._slices = [other for other in self._slices if other.left]
            self._slices.append(tasks)
            self._offer(tasks)
            self._signal(len(tasks.todo))

    def _await_inputs(self, entry: _Entry) -> None:
        for number, location in entry.task.deps:
            if location is not None:
                continue
            if number in self._here:
                self.readers.setdefault(number, []).append(entry)
                entry.n_missing += 1
            elif (tasks := self._slice_of(number)) is not None:
                self._await_task_of(tasks, number, entry)

    def _await_task_of(self, tasks: SliceTasks, number: int, entry: _Entry) -> None:
        """Let an entry wait for a task of a slice, which may end at any moment: a lane looks for readers after that."""
        waiting = self.readers.setdefault(number, [])
        if number in tasks.left:
            waiting.append(entry)
            entry.n_missing += 1
        elif not waiting:
            del self.readers[number]

    def _slice_of(self, number: int) -> SliceTasks | None:
        return next((tasks for tasks in self._slices if number in tasks.numbers), None)

    def put_back(self, task: RunTask) -> None:
        """Add a task that was taken and not begun."""
        with self._lock:
            entry = self._here[task.number]
            entry.has_begun = False
            self._offer(entry)
            self._signal(1)

    def get(self) -> RunTask | SliceTasks | None:
        """Wait for a task, or a slice of tasks, that can begin; None if `wake` was called.

        Others may get the same slice, and may have begun its last task when it is returned.
        """
        while True:
            with self._lock:
                if self._has_next():
                    return self._next()
                self._n_waiting += 1
            self._signals.get()

    def wake(self) -> None:
        """Let one thread that waits for a task return without one."""
        with self._lock:
            self._line.append(None)
            self._signal(1)

    def empty(self) -> bool:
        """Tell whether there is no task that could begin. Threads that are to be woken may be in the line."""
        with self._lock:
            return not self._has_next() or (not self.urgent and all(item is None for item in self._line))

    def _has_next(self) -> bool:
        """Tell whether there is something to get, having removed what isn't any more."""
        urgent, line = self.urgent, self._line
        while urgent and urgent[0][2].is_withdrawn:
            heapq.heappop(urgent)
        while line and (item := line[0]) is not None and item.is_withdrawn:
            line.popleft()
        return bool(urgent or line)

    def _next(self) -> RunTask | SliceTasks | None:
        item = self.urgent[0][2] if self.urgent else self._line[0]
        if isinstance(item, SliceTasks):
            return item  # it stays the next until all of its tasks have begun
        if self.urgent:
            heapq.heappop(self.urgent)
        else:
            self._line.popleft()
        if item is None:
            return None
        item.has_begun = True
        return item.task

    def ended(self, number: int, source: RunTask | SliceTasks) -> RunTask | None:
        """A task's result is there. Return a task that has waited for it, for the caller to run next.

        Parameters
        ----------
        source
            What `get` has returned: the task, or the slice that it is of.
        """
        with self._lock:
            self._forget(number, source)
            readers = self.readers.pop(number, None)
            if readers is None:
                return None
            following: RunTask | None = None
            for entry in readers:
                entry.n_missing -= 1
                if entry.n_missing or entry.is_withdrawn:
                    continue
                if following is None and not self.urgent:
                    entry.has_begun = True
                    following = entry.task
                else:
                    self._offer(entry)
                    self._signal(1)
            return following

    def gave_up(self, number: int, source: RunTask | SliceTasks) -> list[int]:
        """A task has ended without a result. Return the tasks that waited for it: they are withdrawn."""
        with self._lock:
            self._forget(number, source)
            return self._withdraw(self.readers.pop(number, ()))

    def recall(self, numbers: Iterable[int]) -> list[int]:
        """Withdraw tasks that haven't begun, and what waits for them; return which."""
        with self._lock:
            entries: list[_Entry] = []
            withdrawn: list[int] = []
            for number in numbers:
                entry = self._here.get(number)
                if entry is not None:
                    entries += [entry] * (not entry.has_begun)
                elif (tasks := self._slice_of(number)) is not None and tasks.withdraw(number):
                    withdrawn.append(number)
            return self._withdraw_with_readers(withdrawn, entries)

    def recall_all(self) -> list[int]:
        """Withdraw all tasks that haven't begun; return which."""
        with self._lock:
            withdrawn = [number for tasks in self._slices for number in tasks.withdraw_all()]
            entries = [entry for entry in self._here.values() if not entry.has_begun]
            return self._withdraw_with_readers(withdrawn, entries)

    def _forget(self, number: int, source: RunTask | SliceTasks) -> None:
        if isinstance(source, SliceTasks):
            source.left.discard(number)
            return
        entry = self._here.get(number)
        if entry is not None and entry.task is source:  # the head may have heard of its end already, and sent it again
            del self._here[number]

    def _offer(self, item: _Entry | SliceTasks) -> None:
        priority = item.priority
        if priority > 0:
            heapq.heappush(self.urgent, (-priority, next(self._numbers), item))
        else:
            self._line.append(item)

    def _signal(self, n_items: int) -> None:
        """Let waiting lanes look again, as many as there may be work for."""
        n_lanes = min(n_items, self._n_waiting)
        self._n_waiting -= n_lanes
        for _ in range(n_lanes):
            self._signals.put(None)

    def _withdraw_with_readers(self, withdrawn: list[int], entries: list[_Entry]) -> list[int]:
        for number in withdrawn if self.readers else ():
            entries += self.readers.pop(number, ())
        return withdrawn + self._withdraw(entries)

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
            stack.extend(self.readers.pop(entry.task.number, ()))
        return numbers
