"""`StackSampler`: the thread that looks now and then what the tasks of this process are doing.

It looks at random moments, so that no task that repeats itself is always seen in the same place. It costs at most one per
cent of the time of a CPU: if looks are dear there are fewer of them. While no task runs it sleeps.

What a thread is seen doing is worth all the time for which it has run tasks since it was seen before: no more and no less,
however late a look is, and however short the tasks. A look may come when the thread runs none, or when one has ended that
held Python's lock: then that time waits for the next look. After some such looks it counts as of the last task, not seen.
"""

from __future__ import annotations

import random
import sys
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from queue import Empty, SimpleQueue
from types import FrameType
from typing import NamedTuple

from glassloom._gc import gc_paused
from glassloom.sampling.stack_samples import StackSamples
from glassloom.sampling.taken_samples import TakenSamples
from glassloom.sampling.task_stacks import NOT_SEEN, TaskStacks

MAX_SHARE = 0.01
"""Of a CPU, for looking."""
_VAIN_LOOKS = 10
"""After so many looks at a thread that didn't run a task its time counts as not seen, and the sampler sleeps."""


class SampledThread(NamedTuple):
    """A thread that runs tasks.

    Attributes
    ----------
    ident
        Python's identifier of the thread.
    task
        What it runs, or ran last.
    busy_s
        For how long it has run tasks.
    runs
        Whether it runs one now.
    """

    ident: int
    task: int
    busy_s: float
    runs: bool


RunningThreads = Callable[[], Iterable[SampledThread]]
"""Called in the sampler's thread: returns the threads that run tasks, or have."""


class _Seen:
    """What has been told of a thread: up to which of its busy time, and how many looks have come in vain since."""

    __slots__ = ("busy_s", "vain")

    def __init__(self) -> None:
        self.busy_s = 0.0
        self.vain = 0


class StackSampler:
    """Samples the stacks of tasks. `run` is called in a thread of its own, `wake` and `take` in any.

    Parameters
    ----------
    interval_s
        How long there is between two looks, on average.
    running
        See `RunningThreads`.
    has_work
        Called in the sampler's thread: tells whether tasks run, or are about to.
    stacks
        Reads a thread's stack.
    """

    def __init__(
        self, interval_s: float, running: RunningThreads, has_work: Callable[[], bool], stacks: TaskStacks
    ) -> None:
        self._interval_s = interval_s
        self._running = running
        self._has_work = has_work
        self._stacks = stacks
        self._samples = StackSamples()
        self._lock = threading.Lock()
        self._random = random.Random()
        self._wakes: SimpleQueue[bool] = SimpleQueue()
        self._sleeps = True
        self._ended = False
        self._seen: dict[int, _Seen] = {}
        self.looks = 0
        """How often it has looked."""
        self.cost_s = 0.0
        """How much CPU time looking has taken."""

    @property
    def has_samples(self) -> bool:
        """Whether there is anything to take."""
        return bool(self._samples)

    def wake(self) -> None:
        """Tasks are about to run. Costs next to nothing if it is awake."""
        if self._sleeps:
            self._sleeps = False
            self._wakes.put(True)

    def end(self) -> None:
        """Let `run` return soon."""
        self._ended = True
        self._wakes.put(True)

    def take(self) -> TakenSamples | None:
        """Take out the samples. What was seen of a task that has ended before this call is among them."""
        with self._lock:
            return self._samples.take()

    def run(self) -> None:
        """Look until `end`."""
        while not self._ended:
            self._sleeps = True
            if not self._has_work():  # else it may have come before, when nobody needed to wake this thread
                self._wakes.get()
            self._sleeps = False
            self._forget_wakes()
            self._look_until_idle()

    def _look_until_idle(self) -> None:
        vain = 0
        while vain <= _VAIN_LOOKS and not self._ended:
            with suppress(Empty):
                self._wakes.get(timeout=self._next_wait_s())  # `end` puts one
            vain = 0 if self.look(time.monotonic()) else vain + 1

    def _forget_wakes(self) -> None:
        with suppress(Empty):
            while not self._ended:
                self._wakes.get_nowait()

    def _next_wait_s(self) -> float:
        usual_s = self._interval_s * self._random.uniform(0.5, 1.5)
        return max(usual_s, self.cost_s / self.looks / MAX_SHARE) if self.looks else usual_s

    def look(self, now_s: float) -> bool:
        """Take a sample of each thread that has run tasks since it was seen last; return whether any has."""
        begun_s = time.thread_time()
        with self._lock, gc_paused():
            threads = list(self._running())
            frames = sys._current_frames() if any(thread.runs for thread in threads) else {}
            has_any = False
            for thread in threads:
                has_any |= self._sample(thread, frames.get(thread.ident) if thread.runs else None, now_s)
            del frames
            if len(self._seen) > len(threads):
                self._seen = {thread.ident: self._seen[thread.ident] for thread in threads}
        self.looks += 1
        self.cost_s += time.thread_time() - begun_s
        return has_any

    def _sample(self, thread: SampledThread, frame: FrameType | None, now_s: float) -> bool:
        """Take a sample of a thread; return whether there is anything to tell of it, now or later."""
        seen = self._seen.get(thread.ident)
        if seen is None:
            seen = self._seen[thread.ident] = _Seen()
        seconds = thread.busy_s - seen.busy_s
        if seconds <= 0:  # or it has ended a task while this was being looked up
            return thread.runs
        if frame is None and seen.vain < _VAIN_LOOKS:
            seen.vain += 1
            return True
        self._samples.add(thread.task, NOT_SEEN if frame is None else self._stacks.of(frame), now_s, seconds)
        seen.busy_s, seen.vain = thread.busy_s, 0
        return True
