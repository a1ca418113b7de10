"""How much memory workers take: the one definition for pages, summaries and the panel. See ``WorkerSamples``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from glassloom_metrics.protocol import WorkerSamples


class MeasuredMemory(Protocol):
    """What is read of a measurement of a worker."""

    @property
    def managed_bytes(self) -> int: ...
    @property
    def shared_bytes(self) -> int: ...
    @property
    def unmanaged_bytes(self) -> int: ...


def in_memory_bytes(sample: MeasuredMemory) -> int:
    """Return the memory that a worker takes: results of its own and those that it shares, and what is no result.

    What others share isn't counted, though it may be resident in its process too: so workers can be summed.
    """
    return sample.managed_bytes + sample.shared_bytes + sample.unmanaged_bytes


def limited_bytes(sample: MeasuredMemory) -> int:
    """Return what a worker's limit is compared with: without shared results, which it lets go of and maps again."""
    return sample.managed_bytes + sample.unmanaged_bytes


def cluster_bytes(samples: Iterable[MeasuredMemory]) -> int:
    """Return the memory that workers take together, with each shared result once."""
    return sum(map(in_memory_bytes, samples))


def unmanaged_column(message: WorkerSamples) -> list[int]:
    """Return the unmanaged bytes of each worker; older clusters don't tell: then what is resident and no result.

    >>> unmanaged_column(WorkerSamples(0.0, [0], [0.0], [100], [20], [30], [0], [0], [0]))
    [50]
    """
    rows = zip(message.rss_bytes, message.managed_bytes, message.shared_bytes, strict=True)
    return message.unmanaged_bytes or [max(0, resident - managed - shared) for resident, managed, shared in rows]
