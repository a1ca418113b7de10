"""Futures inside nested containers: finding them, and putting results in their places.

Looked into are lists, tuples, named tuples, sets, frozen sets, dicts of all kinds, and dataclasses.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from glassloom.client.future import Future
from glassloom.graph import Key
from glassloom.graph.structures import as_set, emptied, filled, is_structure, items_of

_PLAIN = (list, tuple, set)


def find_futures(value: Any, found: list[Future]) -> None:
    """Add the futures in `value` to `found`, in order.

    Raises
    ------
    TypeError
        If there is an iterator, which could be gone through only once.
    """
    kind = type(value)
    if isinstance(value, Future):
        found.append(value)
    elif is_flat(value):
        found += value
    elif kind in _PLAIN:
        for item in value:
            find_futures(item, found)
    elif kind is dict:
        for item in value.values():
            find_futures(item, found)
    elif is_structure(kind):
        for _, item in items_of(value):
            find_futures(item, found)
    elif hasattr(kind, "__next__"):
        raise TypeError(f"expected futures, got {kind.__name__}; make a list of it first")


def is_flat(value: Any) -> bool:
    """Tell whether a value is a list of futures and of nothing else."""
    return type(value) is list and set(map(type, value)) == {Future}


def replace_futures(value: Any, results: dict[Key, Any]) -> Any:
    """Return `value` with results in the places of futures; items whose future has none in `results` are left out.

    A set of futures becomes a set of results, or a list if these can't be in a set or two of them are equal.
    """
    kind = type(value)
    if isinstance(value, Future):
        return results[value.key]
    if kind in _PLAIN:
        values = [replace_futures(item, results) for item in value if _is_there(item, results)]
        return as_set(set, values) if kind is set else kind(values)
    if kind is dict:
        return {name: replace_futures(item, results) for name, item in value.items() if _is_there(item, results)}
    if is_structure(kind):
        items = [(name, replace_futures(item, results)) for name, item in items_of(value) if _is_there(item, results)]
        return filled(emptied(value), items)
    return value


def rebuilt(data: Any, futures: Iterable[Future]) -> Any:
    """Return futures in a container like `data`, a list, tuple or set of any kind."""
    make = getattr(type(data), "_make", type(data))
    return make(futures)


def _is_there(value: Any, results: dict[Key, Any]) -> bool:
    return not isinstance(value, Future) or value.key in results
