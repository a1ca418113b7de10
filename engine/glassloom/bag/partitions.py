"""Which partitions a bag has: some of them, more, fewer, or as many as have about a size."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from glassloom.bag import blocks
from glassloom.bag.nodes import BagExpr, Chosen, Divided, Joined, Reduced
from glassloom.bag.reductions import reduced
from glassloom.errors import OptionError


def positive(count: Any, name: str) -> int:
    """Return a number that should be 1 or more, or refuse it by its name."""
    if not isinstance(count, int) or count < 1:
        raise OptionError(f"{name}={count!r} should be a whole number, 1 or more")
    return count


def chosen(bag: BagExpr, numbers: Iterable[int]) -> Chosen:
    """Return some partitions, by their numbers."""
    return Chosen((bag,), tuple([(0, number) for number in numbers]))


def taken(bag: BagExpr, k: int, npartitions: int) -> Reduced:
    """Return the first `k` items of the first partitions, of all of them with -1."""
    count = bag.npartitions if npartitions == -1 else npartitions
    if not 1 <= count <= bag.npartitions:
        raise OptionError(f"npartitions={npartitions!r} should be from 1 to {bag.npartitions}, or -1 for all")
    joined = partial(blocks.taken_of, k)
    return reduced(chosen(bag, range(count)), partial(blocks.taken, k), joined, joined, "take", None)


def repartitioned(bag: BagExpr, wanted: int) -> BagExpr:
    """Return the same items in a number of partitions: neighbours joined, or each cut into about equal parts."""
    there = bag.npartitions
    if wanted == there:
        return bag
    if wanted < there:
        return Joined(bag, tuple([number * there // wanted for number in range(wanted + 1)]))
    counts = [(number + 1) * wanted // there - number * wanted // there for number in range(there)]
    return Divided(bag, tuple(counts))


def resized(bag: BagExpr, sizes: Sequence[int], wanted_bytes: int) -> BagExpr:
    """Return the same items in partitions of about a size; `sizes`: how many bytes each has now."""
    counts = [max(1, -(-size // wanted_bytes)) for size in sizes]
    parts = [size / count for size, count in zip(sizes, counts, strict=True) for _ in range(count)]
    bounds, held = [0], 0.0
    for place, size in enumerate(parts):
        if held and held + size > wanted_bytes:
            bounds.append(place)
            held = 0.0
        held += size
    return Joined(Divided(bag, tuple(counts)), (*bounds, len(parts)))
