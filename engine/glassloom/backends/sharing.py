"""`read_only_view`: what a task is handed of a result that others read too, so that none can change it for the others.

Arrays are handed over as read-only views: writing to one is NumPy's own error, on threads as between processes. Frames
are handed over as shallow copies, which pandas turns into real ones when they are written to.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from glassloom.graph.lazy_registration import load_for

_ATOMS = frozenset([int, float, bool, complex, str, bytes, type(None), type(Ellipsis), slice, range])
_MOST_ITEMS = 10_000
"""Longer lists are handed over as they are: looking at each item would take longer than many tasks."""
_MRO = type.__dict__["__mro__"].__get__  # whatever a metaclass of the user's says
_registry: dict[type, Callable[[Any], Any]] = {}


def register_read_only_view(kind: type) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Register the function that makes a value of `kind` (or a subclass) safe to share."""

    def register(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        _registry[kind] = function
        return function

    return register


def read_only_view(value: Any) -> Any:
    """Return `value` such that who gets it can't change it for others, without copying its data.

    Knows arrays and frames, also inside lists, tuples and dicts. Other objects are returned as they are.

    >>> import numpy as np
    >>> read_only_view(np.ones(3)).flags.writeable
    False
    """
    kind = type(value)
    if kind in _ATOMS:
        return value
    function = _registry.get(kind)
    if function is None:
        function = _look_up(kind)
    return value if function is None else function(value)


def private_copy(value: Any) -> Any:
    """Return a result as its user's own: a copy if it is an array that `read_only_view` has lent, and others may hold."""
    if type(value) in _ATOMS:
        return value
    numpy = sys.modules.get("numpy")
    if numpy is None or type(value) is not numpy.ndarray or value.flags.writeable or 0 in value.strides:
        return value
    is_lent = isinstance(value.base, numpy.ndarray) and value.base.flags.writeable
    return value.copy() if is_lent else value


def _look_up(kind: type) -> Callable[[Any], Any] | None:
    load_for(kind)
    return next((_registry[base] for base in _MRO(kind) if base in _registry), None)


@register_read_only_view(list)
@register_read_only_view(tuple)
@register_read_only_view(dict)
def _share_items(value: Any) -> Any:
    kind = type(value)
    if kind not in (list, tuple, dict) or len(value) > _MOST_ITEMS:
        return value
    if kind is dict:
        return {name: read_only_view(item) for name, item in value.items()}
    return kind([read_only_view(item) for item in value])
