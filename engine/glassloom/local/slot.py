"""`Slot`: a thread of the pool as others see it: what it runs, and what it has run since it last told."""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import Any

from glassloom.graph import Key
from glassloom.scheduler import TaskSlice, TaskState


class SliceRun:
    """A slice of a block of tasks that a thread runs.

    Attributes
    ----------
    position
        Where in the block the task is that runs now.
    todo
        The positions of the tasks that haven't begun. Whoever takes one out, on whatever thread, sees to that task.
    """

    __slots__ = ("block", "position", "todo")

    def __init__(self, piece: TaskSlice) -> None:
        self.block = piece.block
        self.position = piece.start
        self.todo = deque(range(piece.start, piece.stop))


Finished = tuple[list[int], list[int], list[float], list[float]]
"""Tasks that have run, as columns: their numbers, the sizes of the results, and when they began and ended."""


class Slot:
    """A thread of the pool. Its thread writes, others read; `finished` is emptied under the pool's lock.

    Attributes
    ----------
    number
        Of the thread, in its name and in the metrics.
    item
        What it runs: a task, or a slice of a block of tasks; None while it waits.
    finished
        What it has run since it last told the scheduler. Of each task four elements, added in one step: its number, the size of
        its result, and when it began and ended. (A tuple for each would be work for Python's cycle collector.)
    told_s
        When that was.
    cpu_clock
        Tells how much CPU time the thread has used; None where the system has no such clock.
    """

    __slots__ = ("cpu_clock", "finished", "item", "number", "thread", "told_s")

    def __init__(self, number: int) -> None:
        self.thread: threading.Thread | None = None
        self.number = number
        self.item: TaskState | SliceRun | None = None
        self.finished: list[Any] = []
        self.told_s = 0.0
        self.cpu_clock: int | None = None

    def running(self) -> tuple[int, Key] | None:
        """Return number and key of the task that the thread runs; None while it waits."""
        item = self.item
        if isinstance(item, SliceRun):
            position = item.position
            return item.block.first + position, item.block.keys[position]
        return None if item is None else (item.number, item.key)

    def take_finished(self) -> Finished:
        """Take out what has run."""
        flat = self.finished[:]  # its thread may append meanwhile
        del self.finished[: len(flat)]
        return flat[0::4], flat[1::4], flat[2::4], flat[3::4]

    def cpu_s(self) -> float:
        """Return the CPU time that the thread has used; always 0 where the system doesn't tell."""
        try:
            return 0.0 if self.cpu_clock is None else time.clock_gettime(self.cpu_clock)
        except OSError:  # the thread has ended
            return 0.0
