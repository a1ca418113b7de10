"""Rewrite rules that read of a source no more than what is wanted of it."""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence

from glassloom.array.chunks import Chunks, starts
from glassloom.array.nodes.creation import FromArray
from glassloom.array.nodes.slicing import Selector, Slice
from glassloom.array.sources.source import Region, slice_of
from glassloom.expr import Expr, rule, walk, whole_plan

_MOST_BLOCKS = 100_000
"""Of slices that lie in more blocks it isn't found out which way reads less."""


@rule(Slice, FromArray)
def slice_of_source(parent: Slice, child: FromArray) -> FromArray | None:
    """A slice of an array that is in memory is a view of it."""
    return _part_of(parent, child) if child.source.views_are_free else None


@rule(Slice, FromArray, unshared=True)
def slice_of_stored_source(parent: Slice, child: FromArray) -> FromArray:
    """Only the slice is read, if no other node reads the blocks that it lies in."""
    return _part_of(parent, child)


@whole_plan
def read_parts_apart(roots: Sequence[Expr]) -> list[Expr]:
    """Several slices of what is stored are read each by itself if that is less than the blocks that they lie in."""
    order = walk(roots)
    if not any([isinstance(node, FromArray) and not node.source.views_are_free for node in order]):
        return list(roots)
    readers: dict[str, list[Expr]] = defaultdict(list)
    for node in order:
        for below in node.dependencies:
            readers[below.name].append(node)
    kept = {root.name for root in roots}
    apart = {
        node.name
        for node in order
        if isinstance(node, FromArray) and node.name not in kept and _is_less_apart(node, readers[node.name])
    }
    if not apart:
        return list(roots)
    done: dict[str, Expr] = {}
    for node in order:
        made = node.substitute(lambda below: done[below.name])
        if isinstance(made, Slice) and isinstance(made.array, FromArray) and made.array.name in apart:
            made = _part_of(made, made.array)
        done[node.name] = made
    return [done[root.name] for root in roots]


def reads_no_more(source: FromArray, chunks: Chunks) -> bool:
    """Whether no unit of a source is read more often if it is read in other blocks."""
    if source.source.views_are_free:
        return True
    before, after = (_read_along(source.region, each, source.source.unit) for each in (source.chunks, chunks))
    return math.prod(map(sum, after)) <= math.prod(map(sum, before))


def _is_less_apart(source: FromArray, readers: Sequence[Expr]) -> bool:
    if source.source.views_are_free:
        return False
    slices = [node for node in readers if isinstance(node, Slice)]
    if len(slices) < len(readers) or sum(node.n_tasks for node in slices) > _MOST_BLOCKS:
        return False
    unit = source.source.unit
    parts = [_part_of(node, source) for node in slices]
    of_parts = sum(math.prod(map(sum, _read_along(part.region, part.chunks, unit))) for part in parts)
    along = _read_along(source.region, source.chunks, unit)
    begins = [starts(lengths) for lengths in source.chunks]
    touched = {
        block for node in slices for block in itertools.product(*map(_blocks, node.index, source.chunks, begins))
    }
    axes = [axis for axis, taken in enumerate(source.region) if isinstance(taken, range)]
    fixed = math.prod(sum(along[axis]) for axis in range(len(along)) if axis not in axes)
    of_blocks = fixed * sum(
        math.prod(along[axis][number] for axis, number in zip(axes, block, strict=True)) for block in touched
    )
    return of_parts <= of_blocks


def _blocks(selector: Selector, lengths: tuple[int, ...], begins: list[int]) -> list[int]:
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


def _read_along(region: Region, chunks: Chunks, unit: tuple[int, ...]) -> list[list[int]]:
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


def _part_of(parent: Slice, child: FromArray) -> FromArray:
    entries = iter(parent.index)
    region = [_narrowed(each, next(entries)) if isinstance(each, range) else each for each in child.region]
    return FromArray(child.source, tuple(region), parent.chunks, origin=child.origin)


def _narrowed(taken: range, selector: Selector) -> int | range:
    if selector is None:
        return taken
    if isinstance(selector, int):
        return taken[selector]
    found = slice_of(selector)
    assert isinstance(found, slice)
    return taken[found]
