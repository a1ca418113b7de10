"""Methods of `Array` that are functions too: each calls the function that is registered for NumPy's, or for a name.

This is how the class stays in one file while its functions live in theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from glassloom.array.protocol import implementation_of


def _method(function: Any) -> Callable[..., Any]:
    name = function if isinstance(function, str) else function.__name__

    def method(self: Any, *args: Any, **options: Any) -> Any:
        return implementation_of(function)(self, *args, **options)  # type: ignore[misc]

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"Return `glassloom.array.{name}` of this array."
    return method


class FunctionMethods:
    """The methods."""

    choose = _method(np.choose)
    diagonal = _method(np.diagonal)
    nonzero = _method(np.nonzero)
    repeat = _method(np.repeat)
    searchsorted = _method(np.searchsorted)
    trace = _method(np.trace)

    def map_overlap(self, function: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """Apply a function to blocks that reach into their neighbours; see `glassloom.array.map_overlap`."""
        return implementation_of("map_overlap")(function, self, *args, **options)  # type: ignore[misc]

    @property
    def vindex(self) -> Any:
        """The points of the array: ``x.vindex[[0, 1], [3, 5]]`` is ``x[0, 3]`` and ``x[1, 5]``."""
        return implementation_of("vindex")(self)  # type: ignore[misc]
