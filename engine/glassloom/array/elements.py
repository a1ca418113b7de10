"""Functions of single elements that are not ufuncs: `where`, `clip`, `round`, `isclose`, `real`, `imag`..."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from glassloom.array.array import Array, asarray, operand_of
from glassloom.array.nodes.elementwise import elementwise
from glassloom.array.protocol import implements

__all__ = [
    "allclose",
    "clip",
    "imag",
    "isclose",
    "real",
    "round",
    "where",
]


@implements(np.where)
def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """Return elements of `x` where the condition is true, else of `y`; with the condition alone, as `nonzero`.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> x = ga.arange(4, chunks=2)
    >>> ga.where(x > 1, x, 0).compute()
    array([0, 0, 2, 3])
    """
    if x is None and y is None:
        return asarray(condition).nonzero()
    if x is None or y is None:
        raise ValueError("where takes either the condition alone, or both x and y")
    if not builtins.any(isinstance(value, Array) for value in (condition, x, y)):
        condition = asarray(condition)
    return Array(elementwise(np.where, *(operand_of(value) for value in (condition, x, y))))


@implements(np.clip)
def clip(array: Any, min: Any = None, max: Any = None) -> Array:
    """Return values limited to the range from `min` to `max`.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.clip(ga.arange(5, chunks=2), 1, 3).compute()
    array([1, 1, 2, 3, 3])
    """
    made: Array = asarray(array).clip(min, max)
    return made


@implements(np.round, np.around)
def round(array: Any, decimals: int = 0) -> Array:
    """Return values rounded to a number of decimals.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.round(ga.asarray([1.26, 2.34]), 1).compute()
    array([1.3, 2.3])
    """
    return asarray(array).round(decimals)


@implements(np.isclose)
def isclose(x: Any, y: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Array:
    """Return where values are equal within a tolerance.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.isclose(ga.asarray([1.0, 2.0]), [1.0, 2.1]).compute()
    array([ True, False])
    """
    return Array(elementwise(np.isclose, operand_of(x), operand_of(y), rtol=rtol, atol=atol, equal_nan=equal_nan))


@implements(np.allclose)
def allclose(x: Any, y: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Array:
    """Return whether all values are equal within a tolerance.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.allclose(ga.ones(3, chunks=2), 1).compute()
    np.True_
    """
    return isclose(asarray(x), y, rtol, atol, equal_nan).all()


@implements(np.real)
def real(array: Any) -> Array:
    """Return real parts.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.real(ga.asarray([1 + 2j])).compute()
    array([1.])
    """
    return asarray(array).real


@implements(np.imag)
def imag(array: Any) -> Array:
    """Return imaginary parts.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.imag(ga.asarray([1 + 2j])).compute()
    array([2.])
    """
    return asarray(array).imag
