"""`Watchdog`: what a pool of threads needs someone for who never runs a task. It decides when; the pool does it.

While something runs it looks every few milliseconds:

- A thread may hold back results of short tasks and then begin a long one: they are told for it.
- All threads may be busy when a computation is posted: the mailbox is read for them.
- A caller may have been interrupted: what it asked for is released.
- A task may wait for another computation, as one does that computes in threads of its own. If no thread is left for that
  one, the task would wait for ever. So a thread that uses no CPU is replaced while a computation has no thread.

When the pool is idle, so is the watchdog.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from queue import Empty, SimpleQueue
from typing import Any, Protocol

from glassloom.graph import Key
from glassloom.local.computation import Computation
from glassloom.protocol.clock import monotonic_s

BLOCKED_S = 0.05
"""A task that uses no CPU for so long is taken to wait for something."""
_BLOCKED_CPU_S = 0.001
_LONGEST_INTERVAL_S = 0.05
_SLEEPY_S = 1.0
"""How long a pool is idle before its watchdog stops looking."""


class Thread(Protocol):
    """One of the pool's threads, as its watchdog sees it."""

    finished: list[Any]
    told_s: float

    def running(self) -> tuple[int, Key] | None:
        """Return number and key of the task that it runs."""

    def cpu_s(self) -> float:
        """Return the CPU time that the thread has used."""


class Pool(Protocol):
    """A pool of threads, as its watchdog sees it. See `ThreadPool` for what the methods do."""

    nthreads: int

    @property
    def slots(self) -> Sequence[Thread]: ...
    @property
    def computations(self) -> Mapping[int, Computation]: ...
    @property
    def is_idle(self) -> bool: ...
    def flush(self, slot: Any) -> None: ...
    def read_mailbox(self) -> None: ...
    def release_abandoned(self) -> None: ...
    def share_rest(self, slot: Any) -> None: ...
    def replace_blocked(self, tasks: Sequence[int], interval_s: float) -> None: ...
    def has_seceded(self, task: int) -> bool: ...
    def tidy(self) -> None: ...


class Watchdog:
    """Looks after a pool. Its methods are called by the pool's watchdog thread, `wake` by any.

    Parameters
    ----------
    pool
        What it looks after.
    hold_back_s
        How long a thread may hold back what it has finished.
    """

    def __init__(self, pool: Pool, hold_back_s: float) -> None:
        self.is_asleep = False
        self._pool = pool
        self._hold_back_s = hold_back_s
        self._interval_s = hold_back_s
        self._wake: SimpleQueue[None] = SimpleQueue()
        self._idle_since_s = monotonic_s()
        self._running: dict[Thread, int | None] = {}
        """Number of the task that each thread ran when it was last looked at."""
        self._sampled_s = 0.0
        self._samples: dict[Thread, tuple[int, Key, float]] = {}
        """What each thread ran, and how much CPU time it had used, when that was last measured."""

    def wake(self) -> None:
        """Let the watchdog look at once."""
        self._wake.put(None)

    def look(self) -> None:
        """Wait until it is time, then look after the pool."""
        self._sleep()
        now_s = monotonic_s()
        self._look_for_long(now_s)
        self._pool.read_mailbox()
        self._pool.release_abandoned()
        if now_s - self._sampled_s >= BLOCKED_S:
            self._look_for_blocked(now_s - self._sampled_s)
            self._sampled_s = now_s
            self._pool.tidy()

    def _sleep(self) -> None:
        if not self._pool.is_idle:
            self._idle_since_s = monotonic_s()
        is_sleepy = monotonic_s() - self._idle_since_s > _SLEEPY_S
        holds_back = any(slot.finished for slot in self._pool.slots)
        self._interval_s = self._hold_back_s if holds_back else min(2 * self._interval_s, _LONGEST_INTERVAL_S)
        self.is_asleep = is_sleepy  # before it looks whether it may sleep: see `ThreadPool._begin`
        try:
            self._wake.get(timeout=None if is_sleepy and self._pool.is_idle else self._interval_s)
        except Empty:
            return
        finally:
            self.is_asleep = False
        self._interval_s = self._hold_back_s
        self._idle_since_s = monotonic_s()

    def _look_for_long(self, now_s: float) -> None:
        """Tell for threads that run the same task as at the last look, and let others run what they have yet to begin."""
        running = {slot: slot.running() for slot in list(self._pool.slots)}
        before, self._running = self._running, {slot: task and task[0] for slot, task in running.items()}
        for slot, number in self._running.items():
            if slot in before and number == before[slot]:
                if slot.finished and now_s - slot.told_s > self._hold_back_s:
                    self._pool.flush(slot)
                self._pool.share_rest(slot)

    def _look_for_blocked(self, interval_s: float) -> None:
        """Let other tasks run in place of blocked ones, as many as there are computations without a thread."""
        running = {slot: slot.running() for slot in list(self._pool.slots)}
        before = self._samples
        self._samples = {slot: (*task, slot.cpu_s()) for slot, task in running.items() if task is not None}
        counted = {slot: sample for slot, sample in self._samples.items() if not self._pool.has_seceded(sample[0])}
        if len(counted) < self._pool.nthreads:
            return  # there is room for tasks: nothing waits for a thread
        computations = list(self._pool.computations.values())
        n_starving = sum(_is_starving(computation, self._samples) for computation in computations)
        blocked = [
            number for slot, (number, _, cpu_s) in counted.items() if _is_blocked(number, cpu_s, before.get(slot))
        ]
        if n_starving and blocked:
            self._pool.replace_blocked(blocked[:n_starving], interval_s)


def _is_starving(computation: Computation, running: Mapping[Thread, tuple[int, Key, float]]) -> bool:
    """Tell whether no thread runs a task of the computation."""
    return not any(key in computation.tasks for _, key, _ in running.values())


def _is_blocked(number: int, cpu_s: float, before: tuple[int, Key, float] | None) -> bool:
    """Tell whether the thread has run the same task for a while, and hasn't used CPU for it."""
    return before is not None and before[0] == number and cpu_s - before[2] < _BLOCKED_CPU_S
