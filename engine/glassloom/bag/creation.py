"""Bags of what is at hand, of delayed calls, and of other bags."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from glassloom.bag import blocks
from glassloom.bag.collection import Bag
from glassloom.bag.nodes import Chosen, FromDelayed, Partitionwise, Pieces
from glassloom.dataframe.call import Block, BlockCall
from glassloom.delayed_call import Delayed, delayed
from glassloom.errors import OptionError

_MOST = 100
"""Into how many partitions a sequence is cut unless told."""


def from_sequence(seq: Iterable[Any], partition_size: int | None = None, npartitions: int | None = None) -> Bag:
    """Make a bag of an iterable's items.

    Parameters
    ----------
    seq
        Is read here and now. For much data make each part where it is needed: `from_delayed`, `read_text`.
    partition_size
        How many items a partition has.
    npartitions
        How many partitions there are. Default, if there is no `partition_size` either: one for each item, at most 100.

    Raises
    ------
    OptionError
        If both are given, or one isn't positive.

    Examples
    --------
    >>> import glassloom.bag as gb
    >>> gb.from_sequence("abcd", npartitions=2).map(str.upper).compute()
    ['A', 'B', 'C', 'D']
    """
    items = list(seq)
    if partition_size is not None and npartitions is not None:
        raise OptionError("from_sequence() takes either partition_size or npartitions")
    for name, given in (("partition_size", partition_size), ("npartitions", npartitions)):
        if given is not None and (not isinstance(given, int) or given < 1):
            raise OptionError(f"{name}={given!r} should be a whole number, 1 or more")
    if partition_size is not None:
        count = max(1, -(-len(items) // partition_size))
        parts = [items[number * partition_size : (number + 1) * partition_size] for number in builtins.range(count)]
    else:
        count = min(npartitions or _MOST, max(1, len(items)))
        parts = [blocks.part_of(items, number, count) for number in builtins.range(count)]
    return Bag(Pieces(parts, blocks.same, "from-sequence"))


def range(n: int, npartitions: int) -> Bag:
    """Make a bag of the numbers from 0 to before `n`.

    Examples
    --------
    >>> import glassloom.bag as gb
    >>> gb.range(5, npartitions=2).compute()
    [0, 1, 2, 3, 4]
    """
    if not isinstance(npartitions, int) or npartitions < 1:
        raise OptionError(f"npartitions={npartitions!r} should be a whole number, 1 or more")
    bounds = [number * n // npartitions for number in builtins.range(npartitions + 1)]
    pieces = list(builtins.zip(bounds, bounds[1:], strict=False))
    return Bag(Pieces(pieces, _numbers, "range"))


def _numbers(bounds: tuple[int, int]) -> list[int]:
    return list(builtins.range(*bounds))


def from_delayed(values: Delayed | Iterable[Delayed]) -> Bag:
    """Make a bag of delayed calls, each of which returns the items of a partition.

    Parameters
    ----------
    values
        One or more `glassloom.delayed` calls, which return lists or other iterables; a value that holds no items is one.

    Examples
    --------
    >>> import glassloom as gl
    >>> import glassloom.bag as gb
    >>> load = gl.delayed(lambda n: [n] * n)
    >>> gb.from_delayed([load(1), load(2)]).compute()
    [1, 2, 2]
    """
    many = [values] if isinstance(values, Delayed) else list(values)
    if not many:
        raise ValueError("from_delayed needs at least one delayed call")
    for value in many:
        if not isinstance(value, Delayed):
            raise TypeError(f"from_delayed takes delayed calls, got {type(value).__name__}")
    return Bag(FromDelayed(tuple([delayed(value).expr for value in many])))


def concat(bags: Iterable[Bag]) -> Bag:
    """Return a bag with the partitions of several, one bag after the other.

    Examples
    --------
    >>> import glassloom.bag as gb
    >>> gb.concat([gb.range(2, 1), gb.range(3, 1)]).compute()
    [0, 1, 0, 1, 2]
    """
    many = _bags(bags, "concat")
    places = [(place, number) for place, bag in enumerate(many) for number in builtins.range(bag.npartitions)]
    return Bag(Chosen(tuple([bag._expr for bag in many]), tuple(places)))


def zip(*bags: Bag) -> Bag:
    """Return tuples of the items at the same places of several bags, which have as many partitions and items in each.

    Examples
    --------
    >>> import glassloom.bag as gb
    >>> gb.zip(gb.range(3, 2), gb.range(3, 2).map(str)).compute()
    [(0, '0'), (1, '1'), (2, '2')]
    """
    many = _bags(bags, "zip")
    counts = {bag.npartitions for bag in many}
    if len(counts) > 1:
        raise ValueError(f"zip() takes bags of as many partitions, got {[bag.npartitions for bag in many]}")
    args = tuple([Block(number) for number in builtins.range(len(many))])
    call = BlockCall(blocks.zipped, args, label="zip")
    return Bag(Partitionwise(tuple([bag._expr for bag in many]), call))


def map(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Bag:
    """Call a function with the items of bags, taken together one by one. See `Bag.map`.

    Examples
    --------
    >>> import glassloom.bag as gb
    >>> gb.map(pow, gb.range(3, 1), gb.range(3, 1)).compute()
    [1, 1, 4]
    """
    first, rest, order = _bag_first(args, kwargs, "map")
    return first.map(_Reordered(func, order) if order is not None else func, *rest, **kwargs)


def map_partitions(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Bag:
    """Call a function with the partitions of bags. See `Bag.map_partitions`.

    Examples
    --------
    >>> import glassloom.bag as gb
    >>> gb.map_partitions(sorted, gb.from_sequence([2, 1, 4, 3], npartitions=2)).compute()
    [1, 2, 3, 4]
    """
    first, rest, order = _bag_first(args, kwargs, "map_partitions")
    return first.map_partitions(_Reordered(func, order) if order is not None else func, *rest, **kwargs)


def _bag_first(args: tuple[Any, ...], kwargs: dict[str, Any], name: str) -> tuple[Bag, list[Any], int | None]:
    """Return the first bag among positional arguments, the others, and the place of the bag if it isn't the first."""
    for place, arg in enumerate(args):
        if isinstance(arg, Bag):
            return arg, [*args[:place], *args[place + 1 :]], place or None
    hint = "; give it first, by position" if any(isinstance(value, Bag) for value in kwargs.values()) else ""
    raise TypeError(f"{name}() needs a bag among its arguments{hint}")


class _Reordered:
    """A function that gets its argument number `place` first."""

    def __init__(self, function: Callable[..., Any], place: int) -> None:
        self.function, self.place = function, place
        self.__name__ = getattr(function, "__name__", type(function).__name__)

    def __glassloom_tokenize__(self) -> Any:
        return (self.function, self.place)

    def __call__(self, item: Any, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args[: self.place], item, *args[self.place :], **kwargs)


def _bags(bags: Iterable[Bag], name: str) -> Sequence[Bag]:
    many = list(bags)
    if not many:
        raise ValueError(f"{name}() needs at least one bag")
    for bag in many:
        if not isinstance(bag, Bag):
            raise TypeError(f"{name}() takes bags, got {type(bag).__name__}; see from_sequence()")
    return many
