"""Containers whose type says more than "list" or "dict": named tuples, dataclasses, frozen sets, kinds of dicts.

They are taken apart into items, so that what stands for a result in them can be replaced, and put together again. An object
that is taken apart and put together keeps its type and what isn't an item. None of its constructors are called.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any


def is_structure(kind: type) -> bool:
    """Tell whether values of a type can be taken apart, apart from plain lists, tuples, sets and dicts."""
    if issubclass(kind, (tuple, frozenset, dict)):
        return kind is not tuple and kind is not dict and (not issubclass(kind, tuple) or hasattr(kind, "_make"))
    return hasattr(kind, "__dataclass_fields__")


def items_of(value: Any) -> list[tuple[Any, Any]]:
    """Return a structure's items by name: keys, names of fields, or numbers."""
    if isinstance(value, dict):
        return list(value.items())
    if isinstance(value, (tuple, frozenset)):
        return list(enumerate(value))
    missing = object()
    fields = ((name, getattr(value, name, missing)) for name in value.__dataclass_fields__)
    return [(name, item) for name, item in fields if item is not missing]


def emptied(value: Any) -> Any:
    """Return what is left of a structure without its items: something that `filled` takes."""
    if isinstance(value, (tuple, frozenset)):
        return type(value)
    left = copy.copy(value)
    if isinstance(value, dict):
        left.clear()
        return left
    for name, _ in items_of(value):
        object.__setattr__(left, name, None)
    return left


def filled(left: Any, items: Iterable[tuple[Any, Any]]) -> Any:
    """Return a structure with these items, from what `emptied` returned."""
    if isinstance(left, type):
        values = [item for _, item in items]
        return as_set(left, values) if issubclass(left, frozenset) else left._make(values)  # type: ignore[attr-defined]
    whole = copy.copy(left)
    for name, item in items:
        if isinstance(whole, dict):
            whole[name] = item
        else:
            object.__setattr__(whole, name, item)
    return whole


def as_set(kind: Any, values: list[Any]) -> Any:
    """Return the results of a set's futures: a set, or a list if they can't be in one or two of them are equal."""
    try:
        found = kind(values)
    except TypeError:  # such as arrays, which have no hash
        return values
    return found if len(found) == len(values) else values
