"""`sizeof`: how many bytes a result holds, by registered dispatch."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from glassloom.graph.lazy_registration import load_for

ATOM_BYTES = 32
"""Taken for the size of a value of one of `ATOMS`, and of what can't be measured."""
_MAX_BYTES = 2**62
"""What messages can carry as a number of bytes, also when a few of them are added up."""
_SAMPLES = 10
ATOMS = frozenset([int, float, bool, type(None)])
"""Types of which every value is taken to be equally large."""
_MRO = type.__dict__["__mro__"].__get__
_registry: dict[type, Callable[[Any], int]] = {}


def register_sizeof(kind: type) -> Callable[[Callable[[Any], int]], Callable[[Any], int]]:
    """Register the function that measures values of `kind` and its subclasses."""

    def register(function: Callable[[Any], int]) -> Callable[[Any], int]:
        _registry[kind] = function
        return function

    return register


def sizeof(value: Any) -> int:
    """Return about how many bytes `value` holds. Never raises: what can't be measured counts as a small object.

    >>> import numpy as np
    >>> sizeof(np.zeros(1000))
    8000
    """
    if type(value) in ATOMS:
        return ATOM_BYTES
    try:
        return min(max(int(_measured(value)), 0), _MAX_BYTES)
    except Exception:  # the measured object is the user's; its size must not fail their task
        return ATOM_BYTES


def _measured(value: Any) -> int:
    """Return what the value's class says of its size."""
    kind = type(value)
    for base in _MRO(kind):
        measure = _registry.get(base)
        if measure is not None:
            return measure(value)
    if load_for(kind):
        return _measured(value)
    nbytes = getattr(value, "nbytes", None)
    return nbytes if isinstance(nbytes, int) else sys.getsizeof(value)


@register_sizeof(list)
@register_sizeof(tuple)
@register_sizeof(set)
@register_sizeof(frozenset)
def _sizeof_sequence(value: Any) -> int:
    """Measure a sample and scale it up: a long list must not cost time in proportion."""
    size = sys.getsizeof(value)
    if not value:
        return size
    sample = [item for item, _ in zip(value, range(_SAMPLES), strict=False)]
    return size + sum(map(sizeof, sample)) * len(value) // len(sample)


@register_sizeof(dict)
def _sizeof_dict(value: dict[Any, Any]) -> int:
    return sys.getsizeof(value) + _sizeof_sequence(list(value.keys())) + _sizeof_sequence(list(value.values()))
