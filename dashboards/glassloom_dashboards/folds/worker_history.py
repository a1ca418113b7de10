"""The life of each worker: when it joined and left, and its samples of the last minutes, also after it has left."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import numpy as np
from glassloom_metrics.protocol import WorkerJoined, WorkerLeft
from numpy.typing import NDArray

MAX_SAMPLES = 600
"""How many samples are kept of each worker: some minutes, 24 KB."""
MAX_LEFT = 200
"""How many of the workers that have left are kept: the last ones."""
QUANTITIES = (
    "cpu_percent", "managed_bytes", "shared_bytes", "unmanaged_bytes", "spilled_bytes", "executing", "device_held_bytes",
    "device_pool_bytes", "device_moved_bytes",
)  # fmt: skip


class Sample(Protocol):
    """A measurement: the attributes named in `QUANTITIES`, and how short of memory the worker was."""

    @property
    def pressure(self) -> int:
        """One of `protocol.Pressure`."""


class WorkerHistory:
    """One worker.

    Attributes
    ----------
    last
        The last sample of it; it stays after the worker has left.
    """

    def __init__(self, joined: WorkerJoined) -> None:
        self.joined = joined
        self.left: WorkerLeft | None = None
        self.last: Any = None
        self._rows = np.empty((0, 1 + len(QUANTITIES)), np.float32)
        self._count = 0

    def add(self, at_s: float, sample: Sample) -> None:
        """Append a sample; the oldest goes if there are too many."""
        self.last = sample
        if len(self._rows) < MAX_SAMPLES and self._count == len(self._rows):
            grown = np.empty((min(max(2 * len(self._rows), 32), MAX_SAMPLES), 1 + len(QUANTITIES)), np.float32)
            grown[: len(self._rows)] = self._rows
            self._rows = grown
        values = [getattr(sample, name) for name in QUANTITIES]
        self._rows[self._count % MAX_SAMPLES] = [at_s - self.joined.at_s, *values]
        self._count += 1

    def columns(self) -> dict[str, NDArray[np.float32]]:
        """Return the samples, the oldest first: ``at_s`` since it joined, and `QUANTITIES`."""
        count = min(self._count, MAX_SAMPLES)
        rows = self._rows[(self._count - count + np.arange(count)) % MAX_SAMPLES]
        return {name: rows[:, place] for place, name in enumerate(("at_s", *QUANTITIES))}


class WorkerHistories:
    """All workers that are there, and the last ones that have left."""

    def __init__(self) -> None:
        self._workers: dict[int, WorkerHistory] = {}
        self._left: deque[int] = deque()

    def all(self) -> list[WorkerHistory]:
        """Return those of all workers that are there or kept, in the order in which they joined."""
        return list(self._workers.values())

    def get(self, worker: int) -> WorkerHistory | None:
        """Return a worker's, None if it isn't known or no longer kept."""
        return self._workers.get(worker)

    def join(self, message: WorkerJoined) -> None:
        """Begin a worker's history; a snapshot tells again of those that are known."""
        if message.worker not in self._workers:
            self._workers[message.worker] = WorkerHistory(message)

    def leave(self, message: WorkerLeft) -> None:
        """End a worker's history."""
        known = self._workers.get(message.worker)
        if known is None or known.left is not None:
            return
        known.left = message
        self._left.append(message.worker)
        if len(self._left) > MAX_LEFT:
            del self._workers[self._left.popleft()]

    def add(self, at_s: float, workers: Iterable[int], samples: Mapping[int, Sample]) -> None:
        """Append a sample of each of `workers`."""
        for worker in workers:
            known, sample = self._workers.get(worker), samples.get(worker)
            if known is not None and sample is not None:
                known.add(at_s, sample)
