"""Keeps a worker within its memory limits: lets results go to disk, gives freed memory back, says how short memory is.

What counts is measured: a process takes what its results take, what it took before it had any, and what is *unmanaged* -
temporary arrays of tasks, caches of libraries, freed memory that the allocator keeps, leaks. Results make room for it.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable

from glassloom.protocol.clock import monotonic_s
from glassloom.protocol.options import MemoryLimits
from glassloom.sampling.process import Memory, memory_of
from glassloom.scheduler import Pressure
from glassloom.store.mapping import unload_mapped
from glassloom.store.store import Store
from glassloom.store.trim import trim_freed_memory

TRIM_BYTES = 32 * 2**20
"""How much results must have freed before it is worth while to give it back."""
TRIM_AFTER_S = 2.0
"""For how long a worker must have had nothing to do before it gives that back: until then the next blocks are given the same pages."""
TRIM_EVERY_S = 0.5
"""How often it is tried to give back what tasks may have freed, while memory is short."""
LOOK_SHARE = 0.02
"""Share of the limit in results after which whoever made them looks, if the watching thread hasn't had its turn."""
SLACK = 0.05
"""Share of the limit by which memory must fall below a threshold before that counts: else it would flutter."""


class MemoryMonitor:
    """Watches over the memory of the process in which it was made.

    Parameters
    ----------
    limits
        What the worker may take.
    store
        Where its results are.
    on_pressure
        Called when memory becomes short or isn't any more, with the bytes that the process takes.
    measure
        Returns what the process takes now.
    trim
        Gives freed memory back.
    unload
        Lets go of the pages of shared results, which come back when they are read.
    clock
        Returns the time in seconds, monotonic.
    """

    def __init__(
        self,
        limits: MemoryLimits,
        store: Store,
        on_pressure: Callable[[Pressure, int], None],
        *,
        measure: Callable[[], Memory] = lambda: memory_of(os.getpid()),
        trim: Callable[[], None] = trim_freed_memory,
        unload: Callable[[], None] = unload_mapped,
        clock: Callable[[], float] = monotonic_s,
    ) -> None:
        self.pressure = Pressure.NONE
        self.own_bytes = measure().own_bytes
        self._limits = limits
        self._store = store
        self._on_pressure = on_pressure
        self._measure = measure
        self._trim = trim
        self._unload = unload
        self._clock = clock
        self._target_bytes = limits.bytes_at(limits.target)
        self._spill_bytes = limits.bytes_at(limits.spill)
        self._freed_before = 0
        self._trimmed_at_s = 0.0
        self._idle_since_s = math.inf
        self._look_after_bytes = limits.bytes_at(LOOK_SHARE) or 0
        self._unseen_bytes = 0
        self._looking = threading.Lock()
        if self._spill_bytes is not None:
            store.target_bytes = self._room_for_results()

    def note_result(self, nbytes: int) -> None:
        """A task has left a result: look, if there were many since the last time.

        A thread of its own may not get its turn when tasks are busy; so those that fill the memory see to it themselves.
        """
        self._unseen_bytes += nbytes
        if self._look_after_bytes and self._unseen_bytes >= self._look_after_bytes:
            self.look(is_idle=False)

    def look(self, *, is_idle: bool) -> None:
        """Measure, and do what is to be done about it. Returns when results have gone to disk, if they must.

        Thread-safe; returns at once if another thread is at it.

        Parameters
        ----------
        is_idle
            Whether no task runs or waits here.
        """
        if self._looking.acquire(blocking=False):
            try:
                self._unseen_bytes = 0
                self._look(is_idle)
            finally:
                self._looking.release()

    def _look(self, is_idle: bool) -> None:
        memory = self._measure()
        self.own_bytes = memory.own_bytes
        if self._spill_bytes is not None:
            if memory.mapped_bytes and memory.own_bytes + memory.mapped_bytes >= self._spill_bytes:
                self._unload()
            if self.own_bytes >= self._spill_bytes:
                self._give_back(TRIM_EVERY_S)
            self._store.target_bytes = self._room_for_results()
            if self.own_bytes >= self._spill_bytes:
                self._store.spill_down_to(self._store.target_bytes)
                self.own_bytes = self._measure().own_bytes
        if self._has_been_idle(is_idle) or self._is_over(self._target_bytes):
            self._give_back()
        pressure = pressure_at(self.own_bytes, self._limits, self.pressure)
        if pressure is not self.pressure:
            self.pressure = pressure
            self._on_pressure(pressure, self.own_bytes)

    def _has_been_idle(self, is_idle: bool) -> bool:
        """Return whether the worker has had nothing to do for a while. Called at each look."""
        now_s = self._clock()
        self._idle_since_s = min(self._idle_since_s, now_s) if is_idle else math.inf
        return now_s - self._idle_since_s >= TRIM_AFTER_S

    def _room_for_results(self) -> int:
        """Return what results may take, so that with all else the process stays below the share at which it spills."""
        assert self._spill_bytes is not None
        target = self._spill_bytes if self._target_bytes is None else self._target_bytes
        goal = (self._spill_bytes + target) // 2
        unmanaged = self.own_bytes - self._store.managed_bytes
        return max(0, min(target, goal - unmanaged))

    def _give_back(self, every_s: float | None = None) -> None:
        """Give freed memory back if results have freed enough, or if it wasn't tried for a while."""
        freed, now_s = self._store.freed_bytes, self._clock()
        if freed - self._freed_before >= TRIM_BYTES or (every_s is not None and now_s - self._trimmed_at_s >= every_s):
            self._freed_before, self._trimmed_at_s = freed, now_s
            self._trim()
            self.own_bytes = self._measure().own_bytes

    def _is_over(self, threshold_bytes: int | None) -> bool:
        return threshold_bytes is not None and self.own_bytes >= threshold_bytes


def pressure_at(own_bytes: int, limits: MemoryLimits, before: Pressure) -> Pressure:
    """Return how short memory is for a process that takes `own_bytes`, and `before` of which it was so short.

    >>> limits = MemoryLimits(1000, spill=0.7, pause=0.8)
    >>> pressure_at(790, limits, Pressure.NONE).name, pressure_at(790, limits, Pressure.PAUSED).name
    ('HIGH', 'PAUSED')
    """
    slack = int(SLACK * (limits.limit_bytes or 0))
    for pressure, share in ((Pressure.PAUSED, limits.pause), (Pressure.HIGH, limits.spill)):
        threshold = limits.bytes_at(share)
        if threshold is not None and own_bytes >= threshold - (slack if before >= pressure else 0):
            return pressure
    return Pressure.NONE
