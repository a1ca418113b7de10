"""Rewrite rules that read of a source no more than what is wanted of it."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Sequence

from glassloom.array.chunks import Chunks, starts
from glassloom.array.ops.creation import FromArray
from glassloom.array.ops.slicing import Selector, Slice
from glassloom.array.optimize.read_cost import blocks_read, read_along
from glassloom.array.sources.source import slice_of
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
    before, after = (read_along(source.region, each, source.source.unit) for each in (source.chunks, chunks))
    return math.prod(map(sum, after)) <= math.prod(map(sum, before))


def _is_less_apart(source: FromArray, readers: Sequence[Expr]) -> bool:
    if source.source.views_are_free:
        return False
    slices = [node for node in readers if isinstance(node, Slice)]
    if len(slices) < len(readers) or sum(node.n_tasks for node in slices) > _MOST_BLOCKS:
        return False
    unit = source.source.unit
    parts = [_part_of(node, source) for node in slices]
    of_parts = sum(math.prod(map(sum, read_along(part.region, part.chunks, unit))) for part in parts)
    along = read_along(source.region, source.chunks, unit)
    begins = [starts(lengths) for lengths in source.chunks]
    touched = {
        block for node in slices for block in itertools.product(*map(blocks_read, node.index, source.chunks, begins))
    }
    axes = [axis for axis, taken in enumerate(source.region) if isinstance(taken, range)]
    fixed = math.prod(sum(along[axis]) for axis in range(len(along)) if axis not in axes)
    of_blocks = fixed * sum(
        math.prod(along[axis][number] for axis, number in zip(axes, block, strict=True)) for block in touched
    )
    return of_parts <= of_blocks


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
