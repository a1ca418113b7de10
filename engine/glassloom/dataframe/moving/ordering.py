"""`stable_order`: where the rows of a block go when it is sorted by keys; as pandas' stable sorts, in less time. `places_of_ends`: of a few.

Whole numbers are sorted by `stable_places`. Of other numbers NumPy's unstable sorts take a fifth of the time of its stable
ones, so those that are equal are sorted by their place after that. Rows that are equal in the first part of their keys are sorted by the next.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from glassloom.dataframe.moving.boundaries import Order, comparable_parts
from glassloom.dataframe.sorting import stable_places


def stable_order(keys: Any, order: Order) -> Any:
    """Return the places of the rows in sorted order, or None where keys are objects that NumPy doesn't compare itself.

    Parameters
    ----------
    keys
        A frame with a column for each key.
    """
    parts = _parts_of(keys, order)
    if parts is None:
        return None
    differing = _differing(parts, len(keys))
    values = next(differing, None)
    if values is None:
        return np.arange(len(keys))
    is_stable = values.dtype.kind in "iu"
    places = stable_places(values) if is_stable else np.argsort(values)
    following = next(differing, None)
    if following is None and is_stable:
        return places
    runs = _runs(values[places])
    while following is not None and runs is not None:
        places, runs = _refined(places, runs, following)
        following = next(differing, None)
    return places if is_stable or runs is None else _in_order_of_place(places, runs)


def places_of_ends(keys: Any, order: Order, n: int, *, is_last: bool) -> Any:
    """Return the first or last `n` of the places that `stable_order` returns, or None where they aren't found. There are `n` rows or more.

    One part of the keys after the other, all rows on the near side of the `n`-th value are among them, and those that are
    equal to it are compared by the next part. Only these rows are sorted.
    """
    parts = _parts_of(keys, order)
    if parts is None:
        return None
    rows, chosen, wanted = np.arange(len(keys)), [], n
    for part in parts:
        values = part.values(rows)
        values = values if part.ascending else _reversed(values)
        if values.dtype.kind == "f" and np.isnan(values).any():  # Arrow's, beside missing ones
            return None
        nth = len(rows) - wanted if is_last else wanted - 1
        cut = np.partition(values, nth)[nth]
        near = rows[values > cut] if is_last else rows[values < cut]
        rows, wanted = rows[values == cut], wanted - len(near)
        chosen.append(near)
    some = np.sort(np.concatenate([*chosen, rows[len(rows) - wanted :] if is_last else rows[:wanted]]))
    places = stable_order(keys.iloc[some], order)
    return None if places is None else some[places]


def _parts_of(keys: Any, order: Order) -> list[Any] | None:
    """Return the keys as parts that NumPy compares; None if it doesn't."""
    parts = []
    for number, ascending in enumerate(order.ascending):
        is_alone = len(order.ascending) == 1
        found = comparable_parts(keys.iloc[:, number], ascending, order.na_position, is_alone=is_alone)
        if found is None:
            return None
        parts.extend(found)
    return parts


def _differing(parts: list[Any], count: int) -> Iterator[Any]:
    """Yield the parts of the keys that aren't the same in all rows, ascending."""
    for part in parts:
        values = part.values(slice(None))
        if count and values.min() != values.max():
            yield values if part.ascending else _reversed(values)


def _reversed(values: Any) -> Any:
    return -values if values.dtype.kind in "fc" else ~values


def _runs(values: Any) -> Any:
    """Return for each of some sorted values how many others lie before; None if all differ."""
    starts = values[1:] != values[:-1]
    if starts.all():
        return None
    runs = np.zeros(len(values), np.int64)
    np.cumsum(starts, out=runs[1:])
    return runs


def _refined(places: Any, runs: Any, values: Any) -> tuple[Any, Any]:
    """Return the order by the runs and then by `values`, and its runs."""
    own = values[places]
    by_value = stable_places(own) if own.dtype.kind in "iu" else np.argsort(own)
    ranks = np.empty(len(own), np.int64)
    found = _runs(own[by_value])
    ranks[by_value] = np.arange(len(own)) if found is None else found
    both = runs * len(own) + ranks
    order = stable_places(both)
    return places[order], _runs(both[order])


def _in_order_of_place(places: Any, runs: Any) -> Any:
    """Return the order with the rows of each run in their old order."""
    both = runs * len(places) + places
    both.sort()
    return both % len(places)
