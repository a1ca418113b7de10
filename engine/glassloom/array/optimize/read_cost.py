"""What reading parts of a source costs: which blocks they lie in, and how many positions are read of them. Doesn't know nodes."""

from __future__ import annotations

from bisect import bisect_right

from glassloom.array.chunks import Chunks, starts
from glassloom.array.ops.slicing import Selector
from glassloom.array.sources.source import Region


def blocks_read(selector: Selector, lengths: tuple[int, ...], begins: list[int]) -> list[int]:
    """Return the numbers of the blocks of which something is taken; `begins` is where each begins."""
    if selector is None:
        return list(range(len(lengths)))
    n = begins[-1] + lengths[-1] if lengths else 0
    taken = range(n)[selector : selector + 1] if isinstance(selector, int) else selector
    if not taken:
        return []
    rising = taken if taken.step > 0 else taken[::-1]
    between = range(bisect_right(begins, rising[0]) - 1, bisect_right(begins, rising[-1]))
    return [
        number
        for number in between
        if range(_first(rising, begins[number]), min(begins[number] + lengths[number], rising.stop), rising.step)
    ]


def _first(rising: range, begin: int) -> int:
    """Return the first of the positions that isn't before another."""
    return rising.start + max(0, -(-(begin - rising.start) // rising.step)) * rising.step


def read_along(region: Region, chunks: Chunks, unit: tuple[int, ...]) -> list[list[int]]:
    """Return, for each axis of a source, how many positions each block of a region reads of it: whole units."""
    found, blocks = [], iter(chunks)
    for taken, length in zip(region, unit, strict=True):
        if isinstance(taken, range):
            cuts = [taken[start : start + n] for start, n in _spans(next(blocks))]
            found.append([_n_units(cut, length) * length for cut in cuts])
        else:
            found.append([length])
    return found


def _spans(lengths: tuple[int, ...]) -> list[tuple[int, int]]:
    return list(zip(starts(lengths), lengths, strict=True))


def _n_units(taken: range, length: int) -> int:
    """Return in how many units positions lie."""
    if not taken:
        return 0
    if abs(taken.step) >= length:
        return len(taken)
    return abs(taken[-1] // length - taken[0] // length) + 1
