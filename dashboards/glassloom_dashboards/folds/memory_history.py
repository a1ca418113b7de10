"""The memory of a cluster over time: of all workers with what its layers held, and of each worker. It is bounded.

Times are seconds since the cluster's start. Older times are thinned out: what is kept of them are the moments with most memory.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from glassloom_metrics.protocol import WorkerJoined
from glassloom_metrics.worker_memory import MeasuredMemory, in_memory_bytes

from glassloom_dashboards.folds.thinned import Columns, Thinned

PARTS = ("managed", "shared", "unmanaged", "spilled", "device", "pool")
"""Of memory; what was spilled isn't in memory any more. ``device`` are results on devices, ``pool`` what is allocated there."""
TOP_LAYERS = 24
"""Of so many layers the bytes held are kept for each moment: those that held most."""
MAX_GONE = 100
"""Of how many workers that have left the history is kept."""
PAUSED = 2
"""The pressure at which a worker begins no task."""

_COLUMNS = ("at", *PARTS, "total", "low", "paused", "limit", "held")
_LAYERS = tuple(f"layer{place}" for place in range(TOP_LAYERS))
_BYTES = tuple(f"bytes{place}" for place in range(TOP_LAYERS))
_HIGHEST = ("paused", "device", "pool")
_KEEP_ROWS = 512
_KEEP_ROWS_OF_WORKER = 64


class Sample(MeasuredMemory, Protocol):
    """What is read of a measurement of a worker."""

    @property
    def spilled_bytes(self) -> int: ...
    @property
    def pressure(self) -> int: ...
    @property
    def device_held_bytes(self) -> int: ...
    @property
    def device_pool_bytes(self) -> int: ...


@dataclass(frozen=True)
class Peak:
    """A moment with much memory: when, how much, and the layers that held most then with their bytes, most first.

    Layers hold results in memory and on disk; ``spilled_bytes`` are on disk. ``unmanaged_bytes`` are no results.
    """

    at_s: float
    total_bytes: float
    held: tuple[tuple[int, float], ...]
    unmanaged_bytes: float = 0.0
    spilled_bytes: float = 0.0


def _series(names: Iterable[str], keep: int, typecode: str) -> Thinned:
    return Thinned(tuple(names), pick="total", lowest=["low"], highest=_HIGHEST, keep=keep, typecode=typecode)


class MemoryHistory:
    """A fold of samples: `total` is what is in memory (managed, shared and unmanaged), `low` the least since the last row.

    ``paused`` is how many workers began no task for want of memory; ``limit`` is not a number where there is none.
    """

    def __init__(self) -> None:
        self._cluster = _series((*_COLUMNS, *_LAYERS, *_BYTES), _KEEP_ROWS, "d")
        self._workers: dict[int, Thinned] = {}

    def __len__(self) -> int:
        return len(self._cluster)

    def add(
        self,
        at_s: float,
        measured: Iterable[int],
        samples: Mapping[int, Sample],
        workers: Mapping[int, WorkerJoined],
        held: Mapping[int, int],
    ) -> None:
        """Take a message of samples into account, of the workers `measured`; `samples` are the latest ones of all."""
        rows = {worker: _row(at_s, sample, workers.get(worker)) for worker, sample in samples.items()}
        top = heapq.nlargest(TOP_LAYERS, ((nbytes, layer) for layer, nbytes in held.items() if nbytes))
        blank = [0.0] * (TOP_LAYERS - len(top))
        layers = [*(float(layer) for _, layer in top), *blank]
        nbytes = [*(float(size) for size, _ in top), *blank]
        sums: list[float] = [sum(column) for column in zip(*rows.values(), strict=True)][1:-2] or [0.0] * (
            len(_COLUMNS) - 3
        )
        limits = [worker.memory_limit_bytes for worker in workers.values()]
        limit = float(sum(filter(None, limits))) if limits and all(limits) else math.nan
        self._cluster.append([at_s, *sums, limit, float(sum(held.values())), *layers, *nbytes])
        for worker in measured:
            if worker in rows and worker in workers:
                self._of(worker).append(rows[worker])
        if len(self._workers) > len(workers) + MAX_GONE:
            del self._workers[next(one for one in self._workers if one not in workers)]

    def _of(self, worker: int) -> Thinned:
        known = self._workers.get(worker)
        if known is None:
            known = self._workers[worker] = _series(_COLUMNS, _KEEP_ROWS_OF_WORKER, "f")
        return known

    def workers(self) -> list[int]:
        """Return the workers whose history is kept."""
        return sorted(self._workers)

    def columns(self, worker: int | None = None) -> dict[str, np.ndarray]:
        """Return the history of a worker, or of all together."""
        return (self._cluster if worker is None else self._of(worker)).columns()


def _row(at_s: float, sample: Sample, worker: WorkerJoined | None) -> tuple[float, ...]:
    """Return a worker's row: of all workers together it is the sum of theirs, but for the first and the last two values."""
    managed, shared, unmanaged = sample.managed_bytes, sample.shared_bytes, sample.unmanaged_bytes
    total = in_memory_bytes(sample)
    limit = (worker.memory_limit_bytes if worker is not None else None) or math.nan
    is_paused = sample.pressure >= PAUSED
    beside = (sample.spilled_bytes, sample.device_held_bytes, sample.device_pool_bytes)
    return (at_s, managed, shared, unmanaged, *beside, total, total, is_paused, limit, 0.0)


def held_of(columns: Columns, row: int) -> tuple[tuple[int, float], ...]:
    """Return the layers that held most at a row of the cluster's history, with their bytes, most first."""
    if "layer0" not in columns:
        return ()
    pairs = ((int(columns[layer][row]), float(columns[size][row])) for layer, size in zip(_LAYERS, _BYTES, strict=True))
    return tuple(pair for pair in pairs if pair[1])


def main_layers(columns: Columns, count: int) -> list[int]:
    """Return the layers that held most over all rows, at most `count`, most first."""
    layers = np.concatenate([columns[name] for name in _LAYERS]).astype(np.int64)
    nbytes = np.concatenate([columns[name] for name in _BYTES])
    distinct, place = np.unique(layers, return_inverse=True)
    together = np.bincount(place, nbytes, minlength=len(distinct))
    order = np.argsort(-together, kind="stable")[:count]
    return [int(distinct[number]) for number in order if together[number] > 0]


def bytes_of_layers(columns: Columns, layers: Iterable[int]) -> list[np.ndarray]:
    """Return for each of `layers` what it held at each row; 0 where it wasn't among those that held most."""
    pairs = [(columns[layer], columns[size]) for layer, size in zip(_LAYERS, _BYTES, strict=True)]
    none = np.zeros(len(columns["at"]))
    return [sum((np.where(ids == layer, size, 0.0) for ids, size in pairs), none) for layer in layers]


def peaks(columns: Columns, count: int = 3, apart: float = 0.12, dip: float = 0.1) -> list[Peak]:
    """Return the highest moments, the highest first.

    Each is apart from the others by a share of the whole time, and between two memory went down by a share of the lower one.
    """
    at_s, total = columns["at"], columns["total"]
    if not len(at_s) or not total.max() > 0:
        return []
    least_s = apart * (at_s[-1] - at_s[0])
    found: list[int] = []
    for row in np.argsort(-total, kind="stable").tolist():
        if len(found) == count or total[row] < 0.5 * total[found[0] if found else row]:
            break
        if all(
            abs(at_s[row] - at_s[one]) > least_s
            and total[min(row, one) : max(row, one)].min() < (1 - dip) * total[row]
            and total[row] >= total[max(row - 1, 0) : row + 2].max()
            for one in found
        ):
            found.append(row)
    none = np.zeros(len(at_s))
    beside = [columns.get(name, none) for name in ("unmanaged", "spilled")]
    return [
        Peak(float(at_s[row]), float(total[row]), held_of(columns, row), *(float(one[row]) for one in beside))
        for row in found
    ]


def pauses(columns: Columns) -> list[tuple[float, float, int]]:
    """Return the spans of time with paused workers: from, to, and how many were at most."""
    at_s, paused = columns["at"], columns["paused"]
    is_paused = np.concatenate([[False], paused > 0, [False]])
    starts = np.flatnonzero(is_paused[1:] & ~is_paused[:-1])
    stops = np.flatnonzero(~is_paused[1:] & is_paused[:-1])
    return [
        (float(at_s[start]), float(at_s[min(stop, len(at_s) - 1)]), int(paused[start:stop].max()))
        for start, stop in zip(starts.tolist(), stops.tolist(), strict=True)
    ]
