"""`stable_order`: where the rows of a block go when it is sorted by keys; as pandas' stable sorts, in less time.

NumPy's unstable sorts take a fifth of the time of its stable ones. So rows are sorted by the first part of their keys, those
that are equal by the next part, and those that are equal in all parts by their place.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from glassloom.dataframe.moving.boundaries import Order, comparable_parts


def stable_order(keys: Any, order: Order) -> Any:
    """Return the places of the rows in sorted order, or None where keys are objects that NumPy doesn't compare itself.

    Parameters
    ----------
    keys
        A frame with a column for each key.
    """
    parts = []
    for number, ascending in enumerate(order.ascending):
        found = comparable_parts(keys.iloc[:, number], ascending, order.na_position)
        if found is None:
            return None
        parts.extend(found)
    count = len(keys)
    places: Any = None
    for values in _differing(parts, count):
        if places is None:
            places = np.argsort(values)
            runs = _runs(values[places])
        else:
            places, runs = _refined(places, runs, values)
        if runs is None:
            return places
    if places is None:
        return np.arange(count)
    return _in_order_of_place(places, runs, count)


def _differing(parts: list[Any], count: int) -> Iterator[Any]:
    """Yield the parts of the keys that aren't the same in all rows, ascending."""
    for part in parts:
        values = part.values(slice(None))
        if count and values.min() != values.max():
            yield values if part.ascending else _reversed(values)


def _reversed(values: Any) -> Any:
    return -values if values.dtype.kind == "f" else ~values


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
    by_value = np.argsort(own)
    ranks = np.empty(len(own), np.int64)
    found = _runs(own[by_value])
    ranks[by_value] = np.arange(len(own)) if found is None else found
    both = runs * len(own) + ranks
    order = np.argsort(both)
    return places[order], _runs(both[order])


def _in_order_of_place(places: Any, runs: Any, count: int) -> Any:
    """Return the order with the rows of each run in their old order."""
    both = runs * count + places
    both.sort()
    return both % count
