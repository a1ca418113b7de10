"""Which of our functions stands for which of NumPy's: what `__array_function__` looks up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])

_table: dict[Any, Callable[..., Any]] = {}


def implements(*numpy_functions: Any) -> Callable[[Function], Function]:
    """Register a function as ours for NumPy's functions (or for a name, where NumPy has none)."""

    def register(function: Function) -> Function:
        for numpy_function in numpy_functions:
            _table[numpy_function] = function
        return function

    return register


def implementation_of(numpy_function: Any) -> Callable[..., Any] | None:
    """Return our function for one of NumPy's, or None."""
    return _table.get(numpy_function)
