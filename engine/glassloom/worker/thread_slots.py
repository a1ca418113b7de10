"""The threads of a worker that run its tasks, and who of them may."""

from __future__ import annotations

import heapq
import threading
from collections.abc import Callable

from glassloom.errors import ClusterError

MAX_ASIDE = 1000
"""How many tasks of one worker may stand aside: each has a thread of its own."""


class Lanes:
    """As many places as the worker has threads; each place has a thread that takes task after task.

    A task that stands aside keeps its thread, and another thread takes its place. When it comes back it waits until the
    task of some place has ended; the thread of that place then ends too. Tasks that come back go before those that
    haven't begun. One that can't wait makes a task too many run, until the task of some place has ended.

    Parameters
    ----------
    n_places
        How many tasks run at once.
    work
        What a thread does: called with the number of its lane, which no other thread has at the same time. It asks
        `must_end` after each task, and whenever it was woken.
    wake
        Called when a thread that waits for its next task must ask `must_end`.
    """

    def __init__(self, n_places: int, work: Callable[[int], None], wake: Callable[[], None]) -> None:
        self._work = work
        self._wake = wake
        self._n_places = n_places
        self._place_is_free = threading.Condition()
        self._free_numbers: list[int] = []
        self._n_numbers = 0
        self._n_aside = 0
        self._n_coming_back = 0
        self._n_too_many = 0
        self._n_free = 0
        """Places that were left to those that come back, and that they haven't taken yet."""

    def start(self) -> None:
        """Start a thread for each place."""
        with self._place_is_free:
            for _ in range(self._n_places):
                self._begin()

    def stand_aside(self) -> None:
        """The task of the calling thread leaves its place to another one.

        Raises
        ------
        ClusterError
            If too many have done so already.
        """
        with self._place_is_free:
            if self._n_aside >= MAX_ASIDE:
                raise ClusterError(
                    f"{MAX_ASIDE} tasks of this worker wait for other tasks already; let tasks wait less deeply, or "
                    "return what they would wait for"
                )
            self._n_aside += 1
            self._leave_place()

    def come_back(self, *, waits: bool = True) -> None:
        """The task of the calling thread, which stood aside, takes a place again, which it may wait for."""
        with self._place_is_free:
            if waits:
                self._n_coming_back += 1
                self._wake()
                while not self._n_free:
                    self._place_is_free.wait()
                self._n_free -= 1
                self._n_coming_back -= 1
            else:
                self._n_too_many += 1
                self._wake()
            self._n_aside -= 1

    def must_end(self, *, is_aside: bool) -> bool:
        """Tell whether the calling thread, which runs no task now, shall end: its place is needed, or was left before."""
        if not is_aside and not self._n_coming_back and not self._n_too_many:
            return False
        with self._place_is_free:
            if is_aside:
                self._n_aside -= 1
                return True
            if self._n_too_many or self._n_coming_back > self._n_free:
                self._leave_place()
                return True
            return False

    def _leave_place(self) -> None:
        if self._n_too_many:
            self._n_too_many -= 1
        elif self._n_coming_back > self._n_free:
            self._n_free += 1
            self._place_is_free.notify()
        else:
            self._begin()

    def _begin(self) -> None:
        if self._free_numbers:
            number = heapq.heappop(self._free_numbers)
        else:
            number, self._n_numbers = self._n_numbers, self._n_numbers + 1
        threading.Thread(target=self._run, args=(number,), name=f"lane-{number}", daemon=True).start()

    def _run(self, number: int) -> None:
        self._work(number)
        with self._place_is_free:
            heapq.heappush(self._free_numbers, number)
