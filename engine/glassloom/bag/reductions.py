"""Reductions of bags: a small value of each partition, joined in a tree to one block or one value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from glassloom.bag.nodes import SPLIT_EVERY, BagExpr, Partial, Reduced, ReducedValue
from glassloom.dataframe.call import Block, BlockCall
from glassloom.errors import OptionError


def reduced(bag: BagExpr, chunk: Any, combine: Any, finish: Any, title: str, split_every: Any) -> Reduced:
    """Return the node of a reduction to one list of items: of `chunk` of each partition, `combine` and at the end `finish`."""
    return Reduced(_partial(bag, chunk, title), combine, finish, _split_every(bag, split_every), title)


def reduced_value(bag: BagExpr, chunk: Any, combine: Any, finish: Any, title: str, split_every: Any) -> ReducedValue:
    """Return the node of a reduction to a value that is no list of items. See `reduced`."""
    return ReducedValue(_partial(bag, chunk, title), combine, finish, _split_every(bag, split_every), title)


def _partial(bag: BagExpr, function: Callable[..., Any], title: str) -> Partial:
    return Partial((bag,), BlockCall(function, (Block(0),), label=f"{title}-chunk"))


def _split_every(bag: BagExpr, given: int | bool | None) -> int:
    if given is False:
        return max(2, bag.npartitions)
    every = SPLIT_EVERY if given is None else given
    if not isinstance(every, int) or every < 2:
        raise OptionError(f"split_every={given!r} should be a whole number, 2 or more, or False")
    return every
