"""What the tasks of bags do with partitions, which are lists."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from heapq import nlargest
from random import Random
from typing import Any

_HOLD_ITEMS = (tuple, set, frozenset, range, Iterator, Counter)


class _Nothing:
    """Stands for an argument that wasn't given. There is one, also in other processes."""

    def __reduce__(self) -> str:
        return "NOTHING"

    def __repr__(self) -> str:
        return "<nothing>"


NOTHING: Any = _Nothing()


def as_items(made: Any) -> list[Any]:
    """Return what a function has made of a partition as a list of items: a value that holds none is one itself."""
    if type(made) is list:
        return made
    return list(made) if isinstance(made, (list, *_HOLD_ITEMS)) else [made]


def same(block: list[Any]) -> list[Any]:
    """Return the items as they are."""
    return block


def mapped(function: Callable[..., Any], each: Sequence[Any], named: dict[str, Any], block: list[Any], *others: Any) -> list[Any]:  # fmt: skip
    """Call a function with each item.

    Parameters
    ----------
    each
        The arguments after the item: a number is that of one of `others`; anything else is a `Constant`.
    named
        The same by name.
    """
    if not each and not named:
        return [function(item) for item in block]
    columns = [block, *[_column(arg, others, len(block)) for arg in each]]
    if not named:
        return [function(*args) for args in _rows(columns)]
    names = list(named)
    values = [_column(arg, others, len(block)) for arg in named.values()]
    width = len(columns)
    return [function(*row[:width], **dict(zip(names, row[width:], strict=True))) for row in _rows(columns + values)]


class Constant:
    """An argument that is the same for all items."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __glassloom_tokenize__(self) -> Any:
        return self.value

    def __reduce__(self) -> Any:
        return (Constant, (self.value,))


class Shared:
    """The number, among the other blocks, of a value that goes to all items."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number

    def __glassloom_tokenize__(self) -> Any:
        return self.number

    def __reduce__(self) -> Any:
        return (Shared, (self.number,))


def _column(arg: Any, others: Sequence[Any], count: int) -> Iterable[Any]:
    if isinstance(arg, Constant):
        return itertools.repeat(arg.value, count)
    if isinstance(arg, Shared):
        return itertools.repeat(others[arg.number], count)
    found: Iterable[Any] = others[arg]
    return found


def _rows(columns: Sequence[Iterable[Any]]) -> Iterator[tuple[Any, ...]]:
    try:
        yield from zip(*columns, strict=True)
    except ValueError as error:
        counts = [len(column) if isinstance(column, list) else "any" for column in columns]
        raise ValueError(
            f"the bags' partitions have different numbers of items: {counts}; items are taken together one by one"
        ) from error


def starmapped(function: Callable[..., Any], named: dict[str, Any], block: list[Any]) -> list[Any]:
    """Call a function with the parts of each item."""
    return [function(*item, **named) for item in block]


def filtered(predicate: Callable[[Any], Any], keep: bool, block: list[Any]) -> list[Any]:
    """Return the items for which a predicate holds, or doesn't."""
    return [item for item in block if bool(predicate(item)) is keep]


def plucked(key: Any, default: Any, block: list[Any]) -> list[Any]:
    """Return ``item[key]`` of each item, or a tuple of those of a list of keys."""
    if isinstance(key, list):
        return [tuple([_item_of(item, one, default) for one in key]) for item in block]
    return [_item_of(item, key, default) for item in block]


def _item_of(item: Any, key: Any, default: Any) -> Any:
    if default is NOTHING:
        return item[key]
    try:
        return item[key]
    except (KeyError, IndexError):
        return default


def flattened(block: list[Any]) -> list[Any]:
    """Return the items of the items."""
    return list(itertools.chain.from_iterable(block))


def zipped(*blocks: list[Any]) -> list[Any]:
    """Return tuples of the items at the same places."""
    return list(_rows(blocks))


def product(left: list[Any], right: list[Any]) -> list[Any]:
    """Return all pairs of two lists' items."""
    return list(itertools.product(left, right))


def sampled(prob: float, seed: str, block: list[Any], number: int) -> list[Any]:
    """Return some of the items by chance, the same for the same seed and number."""
    draw = Random(f"{seed} {number}").random
    return [item for item in block if draw() < prob]


def joined(parts: list[list[Any]]) -> list[Any]:
    """Return the items of several lists."""
    return list(itertools.chain.from_iterable(parts))


def part_of(block: list[Any], place: int, count: int) -> list[Any]:
    """Return the items at a place of `count` about equal parts."""
    return block[place * len(block) // count : (place + 1) * len(block) // count]


def first(pair: tuple[Any, Any]) -> Any:
    """Return the first of two."""
    return pair[0]


def second(pair: tuple[Any, Any]) -> Any:
    """Return the second of two."""
    return pair[1]


def taken(count: int, block: list[Any]) -> list[Any]:
    """Return the first items of a list."""
    return block[:count]


def taken_of(count: int, partials: list[list[Any]]) -> list[Any]:
    """Return the first items of several lists."""
    return joined(partials)[:count]


# Running results.


class Carry:
    """What a partition's running results begin with."""

    __slots__ = ("is_first", "value")

    def __init__(self, value: Any, *, is_first: bool) -> None:
        self.value = value
        self.is_first = is_first

    def __reduce__(self) -> Any:
        return (_carry, (self.value, self.is_first))

    def __glassloom_tokenize__(self) -> Any:
        return (self.value, self.is_first)


def _carry(value: Any, is_first: bool) -> Carry:
    return Carry(value, is_first=is_first)


def accumulated(binop: Callable[[Any, Any], Any], block: list[Any], carry: Carry) -> tuple[list[Any], Carry]:
    """Return the running results of a partition, and what the next one begins with."""
    if carry.value is NOTHING:
        results = list(itertools.accumulate(block, binop))
        return results, Carry(results[-1] if results else NOTHING, is_first=not results)
    results = list(itertools.accumulate(block, binop, initial=carry.value))
    return (results if carry.is_first else results[1:]), Carry(results[-1], is_first=False)


# Reductions: partial results of partitions without items are `NOTHING` where nothing can be said of them.


def folded(binop: Callable[[Any, Any], Any], initial: Any, block: list[Any]) -> Any:
    """Return the items joined by a function of two arguments."""
    if initial is not NOTHING:
        return reduce(binop, block, initial)
    return reduce(binop, block) if block else NOTHING


def combined(binop: Callable[[Any, Any], Any], partials: list[Any]) -> Any:
    """Return partial results joined by a function of two arguments."""
    return folded(binop, NOTHING, [one for one in partials if one is not NOTHING])


def folded_to_end(binop: Callable[[Any, Any], Any], partials: list[Any]) -> Any:
    """Return the last partial results joined.

    Raises
    ------
    ValueError
        If no partition has items.
    """
    return _required(combined(binop, partials), "fold() of a bag without items: give initial=")


def extreme(choose: Callable[..., Any], partials: list[Any]) -> Any:
    """Return the largest or least of a list, in which `NOTHING` doesn't count."""
    found = [one for one in partials if one is not NOTHING]
    return choose(found) if found else NOTHING


def extreme_at_end(choose: Callable[..., Any], partials: list[Any]) -> Any:
    """Return the largest or least of all partitions'."""
    return _required(extreme(choose, partials), f"{choose.__name__}() of a bag without items")


def _required(found: Any, message: str) -> Any:
    if found is NOTHING:
        raise ValueError(message)
    return found


Moments = tuple[int, Any, Any]
"""How many numbers there are, their mean, and the sum of the squares of the distances from it."""


def moments(block: list[Any]) -> Moments:
    """Return the moments of a partition's numbers."""
    count = len(block)
    if not count:
        return (0, 0.0, 0.0)
    mean = sum(block) / count
    return (count, mean, sum([(item - mean) ** 2 for item in block]))


def joined_moments(partials: list[Moments]) -> Moments:
    """Return the moments of all numbers.

    Chan, Golub, LeVeque: Updating Formulae and a Pairwise Algorithm for Computing Sample Variances (1979).
    """
    count, mean, squares = 0, 0.0, 0.0
    for more, its_mean, its_squares in partials:
        if more:
            apart, total = its_mean - mean, count + more
            squares += its_squares + apart**2 * count * more / total
            mean += apart * more / total
            count = total
    return (count, mean, squares)


def mean_of(partials: list[Moments]) -> Any:
    """Return the mean of all numbers."""
    count, mean, _ = joined_moments(partials)
    if not count:
        raise ValueError("mean() of a bag without items")
    return mean


def variance_of(ddof: int, root: bool, partials: list[Moments]) -> Any:
    """Return the variance of all numbers, or its square root."""
    count, _, squares = joined_moments(partials)
    if count <= ddof:
        raise ValueError(f"var(ddof={ddof}) and std() need more than {ddof} items, got {count}")
    variance = squares / (count - ddof)
    return variance**0.5 if root else variance


def counted(block: list[Any]) -> Counter[Any]:
    """Return how often each item occurs."""
    return Counter(block)


def joined_counts(partials: list[Counter[Any]]) -> Counter[Any]:
    """Return the sums of counts, by item."""
    total: Counter[Any] = Counter()
    for one in partials:
        total.update(one)
    return total


def all_counts(sort: bool, partials: list[Counter[Any]]) -> list[Any]:
    """Return pairs of an item and how often it occurs."""
    total = joined_counts(partials)
    return total.most_common() if sort else list(total.items())


def largest(k: int, key: Callable[[Any], Any] | None, block: list[Any]) -> list[Any]:
    """Return the `k` largest items, the largest first."""
    return nlargest(k, block, key=key)


def largest_of(k: int, key: Callable[[Any], Any] | None, partials: list[list[Any]]) -> list[Any]:
    """Return the `k` largest items of several lists."""
    return nlargest(k, itertools.chain.from_iterable(partials), key=key)


def distinct(key: Callable[[Any], Any] | None, block: list[Any]) -> list[Any]:
    """Return each item once, or one for each key: those that come first."""
    if key is None:
        return list(dict.fromkeys(block))
    found: dict[Any, Any] = {}
    for item in block:
        found.setdefault(key(item), item)
    return list(found.values())


def distinct_of(key: Callable[[Any], Any] | None, partials: list[list[Any]]) -> list[Any]:
    """Return each item of several lists once."""
    return distinct(key, joined(partials))


def folded_by(key: Any, binop: Any, initial: Any, block: list[Any]) -> dict[Any, Any]:
    """Return for each key its items joined by a function of two arguments."""
    found: dict[Any, Any] = {}
    for item in block:
        group = key(item)
        before = found.get(group, initial)
        found[group] = item if before is NOTHING else binop(before, item)
    return found


def joined_folds(combine: Any, initial: Any, partials: list[dict[Any, Any]]) -> dict[Any, Any]:
    """Return for each key its partial results joined."""
    found: dict[Any, Any] = {}
    for partial in partials:
        for group, value in partial.items():
            before = found.get(group, initial)
            found[group] = value if before is NOTHING else combine(before, value)
    return found


def all_folds(combine: Any, initial: Any, partials: list[dict[Any, Any]]) -> list[Any]:
    """Return pairs of a key and its result."""
    return list(joined_folds(combine, initial, partials).items())


def looked_up(on_self: Any, on_other: Any, block: list[Any], other: Iterable[Any]) -> list[Any]:
    """Return pairs of an item of the other collection and one of the partition with the same key."""
    by_key: dict[Any, list[Any]] = {}
    for item in other:
        by_key.setdefault(on_other(item), []).append(item)
    return [(match, item) for item in block for match in by_key.get(on_self(item), ())]


def key_function(key: Any) -> Callable[[Any], Any]:
    """Return the function of a key: itself, or what looks it up in an item."""
    return key if callable(key) else ItemGetter(key)


class ItemGetter:
    """Looks up a key, or a tuple of those in a list, in an item."""

    __slots__ = ("key",)

    def __init__(self, key: Any) -> None:
        self.key = key

    def __reduce__(self) -> Any:
        return (ItemGetter, (self.key,))

    def __glassloom_tokenize__(self) -> Any:
        return self.key

    def __call__(self, item: Any) -> Any:
        return tuple([item[one] for one in self.key]) if isinstance(self.key, list) else item[self.key]
