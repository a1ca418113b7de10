"""Which blocks lie between old and new ones: rechunking in stages, so that no task reads more than it may.

Going from whole rows to whole columns at once, each new block reads all old ones: the whole array for one task, and a
number of reads that is the square of the number of blocks. By way of blocks whose sides lie between the two, each task
reads few blocks. That idea is the rechunker package's (T. Augspurger and R. Abernathey, "Rechunker", 2020,
rechunker.readthedocs.io, "Algorithm"); here the sides of stage k of n are ``old ** (1 - k / n) * new ** (k / n)``, the
edges of blocks are put where old or new ones are, and the number of stages is the one that costs least among those that
keep to the limit. Knows no arrays.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from glassloom.array.chunks import Chunks

MOST_STAGES = 8
_TASK_US, _READ_US, _BYTES_PER_US = 25.0, 1.5, 3000.0
"""What a task, a block that it reads, and a byte that it writes cost: rough measurements, used to compare plans."""


class Stage(NamedTuple):
    """What a stage needs at most."""

    task_bytes: int
    """For one task: the blocks that it reads and the one that it makes."""
    n_reads: int
    n_tasks: int


def default_limit(old: Chunks, new: Chunks, itemsize: int) -> int:
    """Return how many bytes a task may need by default: 1 GiB, or a few of the largest blocks.

    Not less, since tasks read blocks where they lie: a stage more copies all of the array to save memory that is
    needed only if blocks were spilled.
    """
    return max(2**30, 8 * itemsize * max(_largest(old), _largest(new)))


def plan(old: Chunks, new: Chunks, itemsize: int, limit_bytes: int) -> list[Chunks]:
    """Return the blocks of each stage, those of the result last.

    If no plan keeps to the limit, the one whose tasks need least is returned.

    >>> rows, columns = ((1,) * 64, (64,)), ((64,), (1,) * 64)
    >>> [tuple(map(max, chunks)) for chunks in plan(rows, columns, 8, 64 * 8 * 20)]
    [(8, 8), (64, 1)]
    """
    best: tuple[tuple[float, float], list[Chunks]] | None = None
    for n_stages in range(1, MOST_STAGES + 1):
        stages = _stages(old, new, n_stages)
        needs = [need(before, after, itemsize) for before, after in pairwise([old, *stages])]
        too_much = max(0, max(each.task_bytes for each in needs) - limit_bytes)
        cost = sum(each.n_tasks * _TASK_US + each.n_reads * _READ_US for each in needs)
        cost += len(stages) * _n_elements(new) * itemsize / _BYTES_PER_US
        if best is None or (too_much, cost) < best[0]:
            best = ((too_much, cost), stages)
        if n_stages == 1 and not too_much and needs[0].n_reads <= 4 * max(_n_blocks(old), _n_blocks(new)):
            break
    assert best is not None
    return best[1]


def need(old: Chunks, new: Chunks, itemsize: int) -> Stage:
    """Return what a stage from one to the other needs.

    >>> need(((2, 2), (4,)), ((4,), (4,)), 8)
    Stage(task_bytes=256, n_reads=2, n_tasks=1)
    """
    spans, n_pieces = zip(*(_overlaps(before, after) for before, after in zip(old, new, strict=True)), strict=True)
    n_elements = math.prod(spans) + _largest(new)
    return Stage(n_elements * itemsize, math.prod(n_pieces), _n_blocks(new))


def _stages(old: Chunks, new: Chunks, n_stages: int) -> list[Chunks]:
    found: list[Chunks] = []
    before = old
    for number in range(1, n_stages):
        share = number / n_stages
        before = tuple(_between(start, now, end, share) for start, now, end in zip(old, before, new, strict=True))
        if before not in found and before not in (old, new):
            found.append(before)
    return [*found, new]


def _between(start: tuple[int, ...], now: tuple[int, ...], end: tuple[int, ...], share: float) -> tuple[int, ...]:
    """Return the blocks of an axis part of the way from `start` to `end`; `now` are those of the stage before."""
    if start == end or not sum(end):
        return end
    first, last = sum(start) / len(start), sum(end) / len(end)
    wanted = first ** (1 - share) * last**share
    if last >= first:  # blocks grow: ends of some of them go away
        return _merged(now, wanted)
    wanted_ends = set(accumulate(_merged(end, wanted)))  # blocks shrink: ends of new ones are added
    edges = sorted({0, *accumulate(now), *wanted_ends})
    return tuple(stop - begin for begin, stop in pairwise(edges))


def _merged(blocks: tuple[int, ...], wanted: float) -> tuple[int, ...]:
    """Return neighbouring blocks joined until they are about as long as wanted."""
    merged: list[int] = []
    for length in blocks:
        if merged and merged[-1] + length / 2 <= wanted:
            merged[-1] += length
        else:
            merged.append(length)
    return tuple(merged)


def _overlaps(old: Sequence[int], new: Sequence[int]) -> tuple[int, int]:
    """Return the longest stretch of whole old blocks that a new one touches, and how many pieces there are in all."""
    ends = list(accumulate(old))
    longest = n_pieces = 0
    number = begin = 0
    for length in new:
        end = begin + length
        while number < len(ends) - 1 and ends[number] <= begin:
            number += 1
        last = number
        while last < len(ends) - 1 and ends[last] < end:
            last += 1
        longest = max(longest, ends[last] - (ends[number] - old[number]))
        n_pieces += last - number + 1
        number, begin = last, end
    return longest, n_pieces


def _largest(chunks: Chunks) -> int:
    return math.prod(max(blocks) for blocks in chunks)


def _n_blocks(chunks: Chunks) -> int:
    return math.prod(len(blocks) for blocks in chunks)


def _n_elements(chunks: Chunks) -> int:
    return math.prod(sum(blocks) for blocks in chunks)
