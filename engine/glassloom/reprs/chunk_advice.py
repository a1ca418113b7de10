"""Advice where blocks are so small that handling them takes longer than computing them, or so large that few fit into memory."""

from __future__ import annotations

import math

from glassloom.units import format_bytes

MANY = 1_000
"""From so many blocks on, small ones are a fault: each task takes some 0.1 ms besides what it computes."""
SMALL_BYTES = 100_000
VERY_MANY = 100_000
LARGE_BYTES = 2 * 2**30


def chunk_advice(n_blocks: int, total_bytes: float, largest_bytes: float, *, noun: str, remedy: str) -> str:
    """Return a sentence or two, or ``""`` if all is well or nothing is known.

    Parameters
    ----------
    noun
        What blocks are called: ``"chunks"`` or ``"partitions"``.
    remedy
        What to call instead.
    """
    if math.isnan(total_bytes) or math.isnan(largest_bytes):
        return ""
    if largest_bytes >= LARGE_BYTES:
        return (
            f"{noun.capitalize()} of up to {format_bytes(largest_bytes)}: a worker needs memory for several at once, and "
            f"for what it makes of them. {remedy} makes smaller ones."
        )
    mean_bytes = total_bytes / n_blocks if n_blocks else 0.0
    if n_blocks >= MANY and mean_bytes < SMALL_BYTES or n_blocks >= VERY_MANY and mean_bytes < 10 * SMALL_BYTES:
        return (
            f"{n_blocks:,} {noun} of {format_bytes(mean_bytes)} on average: handling the tasks will take longer than computing "
            f"them. {remedy} makes fewer, larger ones."
        )
    return ""
