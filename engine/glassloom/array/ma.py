"""Masked arrays: lazy arrays whose blocks are `numpy.ma.MaskedArray`.

Arithmetic, reductions, indexing, joining and scans pass over what is masked, as NumPy's own do. `ga.where`, sorting,
quantiles, histograms and linear algebra don't know of masks: fill them first.

>>> import glassloom.array as ga
>>> x = ga.ma.masked_greater(ga.arange(6, chunks=3), 3)
>>> x.mean().compute(), ga.ma.filled(x, -1).compute()
(np.float64(1.5), array([ 0,  1,  2,  3, -1, -1]))
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from glassloom.array.array import Array, asarray, operand_of
from glassloom.array.elements import of_each
from glassloom.array.nodes.elementwise import elementwise

__all__ = [
    "average",
    "count",
    "filled",
    "fix_invalid",
    "getdata",
    "getmaskarray",
    "is_masked_kind",
    "masked_array",
    "masked_equal",
    "masked_greater",
    "masked_greater_equal",
    "masked_inside",
    "masked_invalid",
    "masked_less",
    "masked_less_equal",
    "masked_not_equal",
    "masked_outside",
    "masked_values",
    "masked_where",
    "set_fill_value",
    "where",
]


def _of_each(name: str, what: str, arguments: str, expected: str) -> Callable[..., Array]:
    call = f"ga.ma.{name}(ga.asarray([1.0, 2.0, ga.nan]){arguments}).compute().tolist()"
    return of_each(getattr(np.ma, name), __name__, what, call, expected)


masked_equal = _of_each("masked_equal", "the array without what equals a value", ", 2", "[1.0, None, nan]")
masked_greater = _of_each("masked_greater", "the array without what is greater", ", 1", "[1.0, None, nan]")
masked_greater_equal = _of_each("masked_greater_equal", "the array without what isn't less", ", 2", "[1.0, None, nan]")
masked_inside = _of_each("masked_inside", "the array without what is in a range", ", 0, 1", "[None, 2.0, nan]")
masked_invalid = _of_each("masked_invalid", "the array without NaN and infinity", "", "[1.0, 2.0, None]")
masked_less = _of_each("masked_less", "the array without what is less", ", 2", "[None, 2.0, nan]")
masked_less_equal = _of_each("masked_less_equal", "the array without what isn't greater", ", 1", "[None, 2.0, nan]")
masked_not_equal = _of_each(
    "masked_not_equal", "the array without what differs from a value", ", 1", "[1.0, None, None]"
)
masked_outside = _of_each("masked_outside", "the array without what isn't in a range", ", 0, 1", "[1.0, None, nan]")
masked_values = _of_each("masked_values", "the array without what is near to a value", ", 2.0", "[1.0, None, nan]")
fix_invalid = _of_each("fix_invalid", "the array without NaN and infinity, and numbers below", "", "[1.0, 2.0, None]")
getdata = _of_each("getdata", "the elements, masked or not", "", "[1.0, 2.0, nan]")
getmaskarray = _of_each("getmaskarray", "where elements are masked", "", "[False, False, False]")
filled = _of_each("filled", "the array with a value in place of what is masked", ", 0", "[1.0, 2.0, nan]")


def is_masked_kind(x: Any) -> bool:
    """Return whether the blocks of a lazy array are masked arrays, whatever they mask.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.ma.is_masked_kind(ga.ma.masked_array([1, 2])), ga.ma.is_masked_kind(ga.ones(2))
    (True, False)
    """
    return isinstance(asarray(x).expr.meta, np.ma.MaskedArray)


def masked_array(data: Any, mask: Any = False, fill_value: Any = None) -> Array:
    """Return the elements with some of them masked.

    Parameters
    ----------
    mask
        Where, as an array that broadcasts.
    fill_value
        What stands for masked elements when they are filled; NumPy's own for the type by default.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.ma.masked_array(ga.arange(3, chunks=2), [False, True, False]).sum().compute()
    np.int64(2)
    """
    return Array(elementwise(mask_block, asarray(data).expr, operand_of(mask), fill_value=fill_value))


def mask_block(block: Any, mask: Any, fill_value: Any) -> Any:
    """Return a block with some of its elements masked."""
    return np.ma.masked_array(block, np.broadcast_to(mask, block.shape), fill_value=fill_value)


def masked_where(condition: Any, a: Any) -> Array:
    """Return an array without the elements where a condition is true.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> x = ga.arange(3, chunks=2)
    >>> ga.ma.masked_where(x == 1, x).compute().tolist()
    [0, None, 2]
    """
    return Array(elementwise(np.ma.masked_where, operand_of(condition), asarray(a).expr))


def where(condition: Any, x: Any, y: Any) -> Array:
    """Return elements of `x` where the condition is true, else of `y`, masked where they or the condition are.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> x = ga.ma.masked_equal(ga.arange(3, chunks=2), 1)
    >>> ga.ma.where(x > 1, x, 0).compute().tolist()
    [0, None, 2]
    """
    return Array(elementwise(np.ma.where, asarray(condition).expr, operand_of(x), operand_of(y)))


def set_fill_value(a: Array, fill_value: Any) -> None:
    """Set, in place, the value of masked elements when they are filled.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> x = ga.ma.masked_equal(ga.arange(3, chunks=2), 1)
    >>> ga.ma.set_fill_value(x, 7)
    >>> ga.ma.filled(x).compute()
    array([0, 7, 2])
    """
    a._expr = elementwise(with_fill_value, a.expr, fill_value=fill_value)


def with_fill_value(block: Any, fill_value: Any) -> Any:
    """Return a block with another fill value."""
    made = np.ma.array(block, copy=True)
    made.set_fill_value(fill_value)
    return made


def count(a: Any, axis: Any = None, keepdims: bool = False) -> Array:
    """Return how many elements aren't masked, over axes.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.ma.count(ga.ma.masked_equal(ga.arange(3, chunks=2), 1)).compute()
    np.int64(2)
    """
    valid: Array = ~getmaskarray(a)
    return valid.sum(axis, dtype=np.intp, keepdims=keepdims)


def average(a: Any, axis: Any = None, weights: Any = None) -> Array:
    """Return the mean of what isn't masked, over axes; with weights of the array's shape, the weighted mean.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.ma.average(ga.ma.masked_equal(ga.arange(4, chunks=2), 1), weights=[1, 1, 1, 3]).compute()
    np.float64(2.2)
    """
    whole = asarray(a)
    if weights is None:
        return whole.mean(axis)
    parts = asarray(weights)
    if parts.shape != whole.shape:
        raise TypeError(f"average: weights of shape {parts.shape} for an array of shape {whole.shape}")
    made: Array = (whole * parts).sum(axis, dtype=float) / (parts * ~getmaskarray(whole)).sum(axis, dtype=float)
    return made
