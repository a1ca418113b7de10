"""`Slot`: a thread of the pool as others see it: what it runs, and what it has run since it last told."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from dataclasses import dataclass
from operator import sub
from typing import Any

from glassloom.graph import Key
from glassloom.graph.keys import key_index
from glassloom.protocol.clock import monotonic_s
from glassloom.sampling.stack_sampler import SampledThread
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


@dataclass(frozen=True, slots=True)
class Finished:
    """Tasks that have run, as columns: their numbers, the sizes of the results, when they began, and for how long they ran.

    ``cpu_share`` is the part of that time in which the thread used a CPU, not a number if that isn't known.
    """

    numbers: list[int]
    nbytes: list[int]
    starts_s: list[float]
    durations_s: list[float]
    cpu_share: float

    @property
    def cpu_s(self) -> list[float]:
        """How much CPU time each task took."""
        return [self.cpu_share * duration_s for duration_s in self.durations_s]


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
    started_s
        When it began its task; infinity while it runs none.
    cpu_clock
        Tells how much CPU time the thread has used; None where the system has no such clock.
    begun_s, busy_s
        When it began what it runs, infinity: nothing; and how long what it ran before has taken.
    layer
        Of what it runs, or ran last.
    cpu_share
        Which part of the time of the last tasks the thread used a CPU; not a number: unknown.
    """

    __slots__ = (
        "_share_begun_cpu_s",
        "_share_begun_s",
        "begun_s",
        "busy_s",
        "cpu_clock",
        "cpu_share",
        "finished",
        "item",
        "layer",
        "number",
        "started_s",
        "thread",
        "told_s",
    )

    def __init__(self, number: int) -> None:
        self.thread: threading.Thread | None = None
        self.number = number
        self.item: TaskState | SliceRun | None = None
        self.finished: list[Any] = []
        self.told_s = 0.0
        self.cpu_clock: int | None = None
        self.cpu_share = math.nan
        self.started_s = self.begun_s = math.inf
        self.busy_s = 0.0
        self.layer = -1
        self._share_begun_s = self._share_begun_cpu_s = 0.0

    def running(self) -> tuple[int, Key] | None:
        """Return number and key of the task that the thread runs; None while it waits."""
        item = self.item
        if isinstance(item, SliceRun):
            position = item.position
            return item.block.first + position, item.block.keys[position]
        return None if item is None else (item.number, item.key)

    def running_since(self, before_s: float) -> tuple[int, str, float] | None:
        """Return layer, index and start of the task that the thread runs, if that began before a time."""
        started_s, item = self.started_s, self.item
        if started_s > before_s or item is None:
            return None
        if isinstance(item, SliceRun):
            return item.block.layer.number, key_index(item.block.keys[item.position]), started_s
        return item.layer.number, item.index, started_s

    def begin(self, item: TaskState | SliceRun) -> None:
        """The thread is about to run something."""
        self.item = item
        self.layer = (item.block if isinstance(item, SliceRun) else item).layer.number
        self.begun_s = monotonic_s()

    def end(self) -> None:
        """The thread has run what it had to, if anything."""
        self.started_s = math.inf
        if self.begun_s < math.inf:
            self.busy_s += monotonic_s() - self.begun_s
            self.begun_s = math.inf

    def sampled(self) -> SampledThread | None:
        """Return the thread as a sampler sees it, which takes the layer for the task; None if it hasn't begun."""
        busy_s, begun_s = self.busy_s, self.begun_s
        if self.thread is None or self.thread.ident is None:
            return None
        runs = begun_s < math.inf
        return SampledThread(self.thread.ident, self.layer, busy_s + (monotonic_s() - begun_s if runs else 0.0), runs)

    def take_finished(self) -> Finished:
        """Take out what has run."""
        flat = self.finished[:]  # its thread may append meanwhile
        del self.finished[: len(flat)]
        starts_s = flat[2::4]
        return Finished(flat[0::4], flat[1::4], starts_s, list(map(sub, flat[3::4], starts_s)), self.cpu_share)

    def note_cpu_share(self) -> None:
        """Measure which part of the time since `begin_cpu_share` the thread used a CPU. Called on the thread."""
        passed_s = monotonic_s() - self._share_begun_s
        self.cpu_share = min(1.0, (time.thread_time() - self._share_begun_cpu_s) / max(passed_s, 1e-9))

    def begin_cpu_share(self) -> None:
        """The thread is about to run tasks. Called on the thread."""
        self._share_begun_s, self._share_begun_cpu_s = monotonic_s(), time.thread_time()

    def cpu_s(self) -> float:
        """Return the CPU time that the thread has used; always 0 where the system doesn't tell."""
        try:
            return 0.0 if self.cpu_clock is None else time.clock_gettime(self.cpu_clock)
        except OSError:  # the thread has ended
            return 0.0
