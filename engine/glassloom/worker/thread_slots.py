"""The threads that run a worker's tasks: as many slots as the worker has threads, given up by `secede`, taken again by `rejoin`."""

from __future__ import annotations

import heapq
import threading
from collections.abc import Callable

from glassloom._supervision import OnCrash, start_thread
from glassloom.errors import ClusterError

MAX_SECEDED = 1000
"""How many tasks of one worker may secede at once: each keeps a thread of its own."""


class ThreadSlots:
    """One slot per worker thread; each slot has a thread that runs task after task.

    A task that secedes keeps its thread, and a new thread takes its slot. When it rejoins it waits until the task of
    some slot has ended; the thread of that slot then ends too. Rejoining tasks go before tasks that have not begun. A
    task that can't wait oversubscribes the worker by one, until the task of some slot has ended.

    Parameters
    ----------
    n_slots
        How many tasks run at once.
    work
        What a thread does: called with the number of its lane, which no other thread has at the same time. It asks
        `must_end` after each task, and whenever it was woken.
    wake
        Called when a thread that waits for its next task must ask `must_end`.
    on_crash
        Called in a thread in which `work` raises; its slot is not taken again.
    """

    def __init__(
        self, n_slots: int, work: Callable[[int], None], wake: Callable[[], None], *, on_crash: OnCrash
    ) -> None:
        self._work = work
        self._wake = wake
        self._on_crash = on_crash
        self._n_slots = n_slots
        self._slot_is_free = threading.Condition()
        self._free_numbers: list[int] = []
        self._n_numbers = 0
        self._n_seceded = 0
        self._n_rejoining = 0
        self._n_oversubscribed = 0
        self._n_free = 0
        """Slots that were released for rejoining tasks, and that they have not taken yet."""

    def start(self) -> None:
        """Start a thread for each slot."""
        with self._slot_is_free:
            for _ in range(self._n_slots):
                self._begin()

    def secede(self) -> None:
        """Release the slot of the calling thread's task.

        Raises
        ------
        ClusterError
            If `MAX_SECEDED` tasks have seceded already.
        """
        with self._slot_is_free:
            if self._n_seceded >= MAX_SECEDED:
                raise ClusterError(
                    f"{MAX_SECEDED} tasks of this worker wait for other tasks already; let tasks wait less deeply, or "
                    "return what they would wait for"
                )
            self._n_seceded += 1
            self._release_slot()

    def rejoin(self, *, waits: bool = True) -> None:
        """Take a slot again for the calling thread's task, which has seceded; with `waits`, wait until one is free."""
        with self._slot_is_free:
            if waits:
                self._n_rejoining += 1
                self._wake()
                while not self._n_free:
                    self._slot_is_free.wait()
                self._n_free -= 1
                self._n_rejoining -= 1
            else:
                self._n_oversubscribed += 1
                self._wake()
            self._n_seceded -= 1

    def must_end(self, *, has_seceded: bool) -> bool:
        """Tell whether the calling thread, which runs no task now, must end: its slot is needed, or was released before."""
        if not has_seceded and not self._n_rejoining and not self._n_oversubscribed:
            return False
        with self._slot_is_free:
            if has_seceded:
                self._n_seceded -= 1
                return True
            if self._n_oversubscribed or self._n_rejoining > self._n_free:
                self._release_slot()
                return True
            return False

    def _release_slot(self) -> None:
        if self._n_oversubscribed:
            self._n_oversubscribed -= 1
        elif self._n_rejoining > self._n_free:
            self._n_free += 1
            self._slot_is_free.notify()
        else:
            self._begin()

    def _begin(self) -> None:
        if self._free_numbers:
            number = heapq.heappop(self._free_numbers)
        else:
            number, self._n_numbers = self._n_numbers, self._n_numbers + 1
        start_thread(f"lane-{number}", self._run, number, on_crash=self._on_crash)

    def _run(self, number: int) -> None:
        self._work(number)
        with self._slot_is_free:
            heapq.heappush(self._free_numbers, number)
