"""Which of our functions stands for which of NumPy's, which `__array_function__` looks up; and our functions for `Array`'s methods."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])

_table: dict[Any, Callable[..., Any]] = {}


def implements(*numpy_functions: Any) -> Callable[[Function], Function]:
    """Register a function as ours for NumPy's functions (or for a name, for what another collection makes of arrays)."""

    def register(function: Function) -> Function:
        for numpy_function in numpy_functions:
            _table[numpy_function] = function
        return function

    return register


def implementation_of(numpy_function: Any) -> Callable[..., Any] | None:
    """Return our function for one of NumPy's, or None."""
    return _table.get(numpy_function)


def functions() -> Any:
    """Return `glassloom.array.api`: its modules import `Array`, so that the methods of `Array` can't import them."""
    return sys.modules["glassloom.array.api"]


def namespace() -> Any:
    """Return `glassloom.array`."""
    return sys.modules["glassloom.array"]
