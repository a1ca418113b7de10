"""Puts results where every process can reach them, on a thread of its own: writing a large one takes seconds.

The reading thread only says which (`publish`) and which no longer (`drop`), so that it hears of the next task, a
recalled one or the end of the cluster meanwhile.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable

from glassloom.protocol import messages
from glassloom.protocol.clock import monotonic_s
from glassloom.store.device_store import Results
from glassloom.store.segment import SegmentWriter, free_location
from glassloom.store.trim import reach_arena
from glassloom.worker.sender import BATCH_S, Sender
from glassloom.worker.user_code import Shared, share_result

QUICK_BYTES = 2**20
"""What takes more may take long to write: what is ready is announced before."""

_Announcement = messages.Published | messages.ResultsLost


class Publisher:
    """Publishes results one after the other, in the order in which the head asks for them.

    What is so small that the message carries it is announced with others, `BATCH_S` later at most. A result that is
    dropped before it is announced isn't announced, and what was written of it is removed again.
    """

    def __init__(self, store: Results, segments: SegmentWriter, sender: Sender) -> None:
        self._store = store
        self._segments = segments
        self._sender = sender
        self._changed = threading.Condition()
        self._waiting: dict[int, bool] = {}
        """Numbers, oldest first, and whether the result shall be on disk."""
        self._current = -1
        """What is being written; -1: nothing, or it was dropped meanwhile."""
        self._ready: dict[int, _Announcement] = {}
        """What is to be announced. These are small: nothing has to be removed if they are dropped."""
        self._announced_s = 0.0

    def publish(self, numbers: Iterable[int], *, on_disk: bool) -> None:
        """Publish these results soon."""
        with self._changed:
            self._waiting.update(dict.fromkeys(numbers, on_disk))
            self._changed.notify()

    def drop(self, number: int) -> None:
        """Nobody wants this result any more. Call it before the store forgets the result."""
        with self._changed:
            self._waiting.pop(number, None)
            self._ready.pop(number, None)
            if self._current == number:
                self._current = -1

    def run(self) -> None:
        """Publish until the process ends."""
        reach_arena()
        while True:
            self.step()

    def step(self) -> None:
        """Wait for something to publish, and publish it."""
        with self._changed:
            while not self._waiting:
                self._changed.wait()
            number = self._current = next(iter(self._waiting))
            on_disk = self._waiting.pop(number)
            if self._store.nbytes(number) > QUICK_BYTES:
                self._announce()
        start_s = monotonic_s()
        shared = share_result(number, self._store, self._segments, on_disk=on_disk)
        with self._changed:  # so that a drop comes either before this or after all of it
            if shared is not None:
                self._take(number, shared, start_s)
            if not self._waiting or monotonic_s() - self._announced_s > BATCH_S:
                self._announce()

    def _take(self, number: int, shared: Shared, start_s: float) -> None:
        location = shared.location
        if self._current != number:
            if location is not None:
                free_location(location)
        elif shared.lost:
            self._ready[number] = messages.ResultsLost([number], shared.lost)
        else:
            self._ready[number] = messages.Published(number, location, shared.reason, start_s, monotonic_s())
            if shared.view is not None:
                self._announce()
                self._store.replace(number, shared.view)

    def _announce(self) -> None:
        self._announced_s = monotonic_s()
        if self._ready:
            ready, self._ready = self._ready, {}
            self._sender.send_all(list(ready.values()))
