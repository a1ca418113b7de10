"""Memory beside its limit in words: results in shared memory are a worker's, and count against no worker's limit."""

from __future__ import annotations

from collections.abc import Iterable

from glassloom_metrics.worker_memory import MeasuredMemory, cluster_bytes, limited_bytes

from glassloom_dashboards.parts.theme import bytes_text

IN_MEMORY = ("managed", "unmanaged", "shared")
"""What is in memory, in the order in which it is drawn: a limit counts all but the last."""
NOT_MEASURED = "not measured yet"
"""What is said of a worker that has told nothing of its memory and CPU: never 0."""
SHARED_WORDS = "shared, not counted against the limit"


def part_words(part: str, *, has_limit: bool) -> str:
    """Return what a part is called in legends."""
    return SHARED_WORDS if part == "shared" and has_limit else part


def excess_text(samples: Iterable[MeasuredMemory], limit_bytes: float) -> str:
    """Return why workers take more than their limit together; ``""`` if they don't."""
    samples = list(samples)
    over_bytes = sum(map(limited_bytes, samples)) - limit_bytes
    if over_bytes > 0:
        return f"{bytes_text(over_bytes)} over"
    shared_bytes = sum(sample.shared_bytes for sample in samples)
    return f"{bytes_text(shared_bytes)} shared" if cluster_bytes(samples) > limit_bytes else ""


def of_limit_text(samples: Iterable[MeasuredMemory], limit_bytes: int | None) -> str:
    """Return what workers take, of what they may take together; without that if it has no bounds."""
    samples = list(samples)
    if not samples:
        return NOT_MEASURED
    used = bytes_text(cluster_bytes(samples))
    if not limit_bytes:
        return used
    excess = excess_text(samples, limit_bytes)
    return f"{used} of {bytes_text(limit_bytes)}{f', {excess}' if excess else ''}"
