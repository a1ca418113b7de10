"""`StackSampler`: the thread that looks now and then what the tasks of this process are doing.

It looks at random moments, so that no task that repeats itself is always seen in the same place. Each look at a thread is
worth the time since the look before it: no more and no less than has passed, however late the look is. It costs at most
one per cent of the time of a CPU: if looks are dear there are fewer of them. While no task runs it sleeps.

A thread is only seen when it lets go of Python's lock. So a task counts if it ran when the look was due: else those that
hold the lock until they end would never be seen.
"""

from __future__ import annotations

import random
import sys
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from queue import Empty, SimpleQueue

from glassloom.sampling.stack_samples import StackSamples, TakenSamples
from glassloom.sampling.task_stacks import NOT_SEEN, TaskStacks

MAX_SHARE = 0.01
"""Of a CPU, for looking."""
_IDLE_LOOKS = 3
"""After so many looks without a task the thread sleeps."""

RunningThreads = Callable[[float], Iterable[tuple[int, int, bool]]]
"""Called in the sampler's thread with a time that has just been: returns the identifier and the task of each thread that
ran one then, and whether it still runs one."""


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
        self._looked_s = 0.0
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
        # As if it had looked all the time: the first look may come at any moment of its interval.
        wait_s = self._next_wait_s()
        self._looked_s = time.monotonic() - wait_s * self._random.random()
        idle = 0
        while idle < _IDLE_LOOKS and not self._ended:
            with suppress(Empty):
                self._wakes.get(timeout=max(0.0, self._looked_s + wait_s - time.monotonic()))  # `end` puts one
            idle = 0 if self.look(self._looked_s + wait_s, time.monotonic()) else idle + 1
            wait_s = self._next_wait_s()

    def _forget_wakes(self) -> None:
        with suppress(Empty):
            while not self._ended:
                self._wakes.get_nowait()

    def _next_wait_s(self) -> float:
        usual_s = self._interval_s * self._random.uniform(0.5, 1.5)
        return max(usual_s, self.cost_s / self.looks / MAX_SHARE) if self.looks else usual_s

    def look(self, due_s: float, now_s: float) -> bool:
        """Take a sample of each thread that ran a task at `due_s`; return whether any did."""
        begun_s = time.thread_time()
        seconds, self._looked_s = now_s - self._looked_s, now_s
        with self._lock:
            threads = list(self._running(due_s))
            frames = sys._current_frames() if threads else {}
            for thread, task, still_runs in threads:
                frame = frames.get(thread) if still_runs else None
                stack = NOT_SEEN if frame is None else self._stacks.of(frame)
                self._samples.add(task, stack, now_s, seconds)
            del frames
        self.looks += 1
        self.cost_s += time.thread_time() - begun_s
        return bool(threads)
