"""Puts results where every process can reach them, on a thread of its own: writing a large one takes seconds.

The reading thread only says which (`publish`) and which no longer (`drop`), so that it hears of the next task, a
recalled one or the end of the cluster meanwhile.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable

from glassloom.protocol import messages
from glassloom.protocol.clock import monotonic_s
from glassloom.store.segment import SegmentWriter, free_location
from glassloom.store.store import Store
from glassloom.worker.sender import Sender
from glassloom.worker.user_code import Shared, share_result


class Publisher:
    """Publishes results one after the other, in the order in which the head asks for them.

    A result that is dropped while it waits isn't published; one that is dropped while it is written is removed again,
    and the head hears nothing of it.
    """

    def __init__(self, store: Store, segments: SegmentWriter, sender: Sender) -> None:
        self._store = store
        self._segments = segments
        self._sender = sender
        self._changed = threading.Condition()
        self._waiting: dict[int, bool] = {}
        """Numbers, oldest first, and whether the result shall be on disk."""
        self._current = -1
        """What is being written; -1: nothing, or it was dropped meanwhile."""

    def publish(self, numbers: Iterable[int], *, on_disk: bool) -> None:
        """Publish these results soon."""
        with self._changed:
            self._waiting.update(dict.fromkeys(numbers, on_disk))
            self._changed.notify()

    def drop(self, number: int) -> None:
        """Nobody wants this result any more. Call it before the store forgets the result."""
        with self._changed:
            self._waiting.pop(number, None)
            if self._current == number:
                self._current = -1

    def run(self) -> None:
        """Publish until the process ends."""
        while True:
            self.step()

    def step(self) -> None:
        """Wait for something to publish, and publish it."""
        with self._changed:
            while not self._waiting:
                self._changed.wait()
            number = self._current = next(iter(self._waiting))
            on_disk = self._waiting.pop(number)
        start_s = monotonic_s()
        shared = share_result(number, self._store, self._segments, on_disk=on_disk)
        if shared is not None:
            self._tell(number, shared, start_s)

    def _tell(self, number: int, shared: Shared, start_s: float) -> None:
        with self._changed:  # so that a drop comes either before this or after all of it
            if self._current != number:
                if shared.location is not None:
                    free_location(shared.location)
            elif shared.lost:
                self._sender.send(messages.ResultsLost([number], shared.lost))
            else:
                published = messages.Published(number, shared.location, shared.reason, start_s, monotonic_s())
                self._sender.send(published)
                if shared.view is not None:
                    self._store.replace(number, shared.view)
