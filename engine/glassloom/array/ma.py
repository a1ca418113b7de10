"""Masked arrays: lazy arrays whose blocks are `numpy.ma.MaskedArray`.

Arithmetic, reductions, indexing, joining and scans pass over what is masked, as NumPy's own do. `ga.where`, sorting,
quantiles, histograms and linear algebra don't know of masks: fill them first.

>>> import glassloom.array as ga
>>> x = ga.ma.masked_greater(ga.arange(6, chunks=3), 3)
>>> x.mean().compute(), ga.ma.filled(x, -1).compute()
(np.float64(1.5), array([ 0,  1,  2,  3, -1, -1]))
"""

from __future__ import annotations

from typing import Any

import numpy as np

from glassloom.array.api.array import Array, asarray, operand_of
from glassloom.array.api.dispatch import implements
from glassloom.array.ops.elementwise import elementwise

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


@implements(np.ma.masked_equal)
def masked_equal(x: Any, value: Any) -> Array:
    """Return the array without what equals a value.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.ma.masked_equal(ga.asarray([1.0, 2.0, ga.nan]), 2).compute().tolist()
    [1.0, None, nan]
    """
    return Array(elementwise(np.ma.masked_equal, asarray(x).expr, value))


@implements(np.ma.masked_greater)
def masked_greater(x: Any, value: Any) -> Array:
    """Return the array without what is greater.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.ma.masked_greater(ga.asarray([1.0, 2.0, ga.nan]), 1).compute().tolist()
    [1.0, None, nan]
    """
    return Array(elementwise(np.ma.masked_greater, asarray(x).expr, value))


@implements(np.ma.masked_greater_equal)
def masked_greater_equal(x: Any, value: Any) -> Array:
    """Return the array without what isn't less.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.ma.masked_greater_equal(ga.asarray([1.0, 2.0, ga.nan]), 2).compute().tolist()
    [1.0, None, nan]
    """
    return Array(elementwise(np.ma.masked_greater_equal, asarray(x).expr, value))


@implements(np.ma.masked_inside)
def masked_inside(x: Any, v1: Any, v2: Any) -> Array:
    """Return the array without what is in a range, ends included.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.ma.masked_inside(ga.asarray([1.0, 2.0, ga.nan]), 0, 1).compute().tolist()
    [None, 2.0, nan]
    """
    return Array(elementwise(np.ma.masked_inside, asarray(x).expr, v1, v2))


@implements(np.ma.masked_invalid)
def masked_invalid(a: Any) -> Array:
    """Return the array without NaN and infinity.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.ma.masked_invalid(ga.asarray([1.0, 2.0, ga.nan])).compute().tolist()
    [1.0, 2.0, None]
    """
    return Array(elementwise(np.ma.masked_invalid, asarray(a).expr))


@implements(np.ma.masked_less)
def masked_less(x: Any, value: Any) -> Array:
    """Return the array without what is less.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.ma.masked_less(ga.asarray([1.0, 2.0, ga.nan]), 2).compute().tolist()
    [None, 2.0, nan]
    """
    return Array(elementwise(np.ma.masked_less, asarray(x).expr, value))


@implements(np.ma.masked_less_equal)
def masked_less_equal(x: Any, value: Any) -> Array:
    """Return the array without what isn't greater.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.ma.masked_less_equal(ga.asarray([1.0, 2.0, ga.nan]), 1).compute().tolist()
    [None, 2.0, nan]
    """
    return Array(elementwise(np.ma.masked_less_equal, asarray(x).expr, value))


@implements(np.ma.masked_not_equal)
def masked_not_equal(x: Any, value: Any) -> Array:
    """Return the array without what differs from a value.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.ma.masked_not_equal(ga.asarray([1.0, 2.0, ga.nan]), 1).compute().tolist()
    [1.0, None, None]
    """
    return Array(elementwise(np.ma.masked_not_equal, asarray(x).expr, value))


@implements(np.ma.masked_outside)
def masked_outside(x: Any, v1: Any, v2: Any) -> Array:
    """Return the array without what isn't in a range.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.ma.masked_outside(ga.asarray([1.0, 2.0, ga.nan]), 0, 1).compute().tolist()
    [1.0, None, nan]
    """
    return Array(elementwise(np.ma.masked_outside, asarray(x).expr, v1, v2))


@implements(np.ma.masked_values)
def masked_values(x: Any, value: float, rtol: float = 1e-5, atol: float = 1e-8) -> Array:
    """Return the array without what is near to a value.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.ma.masked_values(ga.asarray([1.0, 2.0, ga.nan]), 2.0).compute().tolist()
    [1.0, None, nan]
    """
    return Array(elementwise(np.ma.masked_values, asarray(x).expr, value, rtol=rtol, atol=atol))


@implements(np.ma.fix_invalid)
def fix_invalid(a: Any, fill_value: Any = None) -> Array:
    """Return the array without NaN and infinity, and numbers below the mask: `fill_value`, or NumPy's own for the type.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.ma.fix_invalid(ga.asarray([1.0, 2.0, ga.nan])).compute().tolist()
    [1.0, 2.0, None]
    """
    return Array(elementwise(np.ma.fix_invalid, asarray(a).expr, fill_value=fill_value))


@implements(np.ma.getdata)
def getdata(a: Any) -> Array:
    """Return the elements, masked or not.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.ma.getdata(ga.asarray([1.0, 2.0, ga.nan])).compute().tolist()
    [1.0, 2.0, nan]
    """
    return Array(elementwise(np.ma.getdata, asarray(a).expr))


@implements(np.ma.getmaskarray)
def getmaskarray(arr: Any) -> Array:
    """Return where elements are masked.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.ma.getmaskarray(ga.asarray([1.0, 2.0, ga.nan])).compute().tolist()
    [False, False, False]
    """
    return Array(elementwise(np.ma.getmaskarray, asarray(arr).expr))


@implements(np.ma.filled)
def filled(a: Any, fill_value: Any = None) -> Array:
    """Return the array with a value in place of what is masked, by default the one that the blocks have for it.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.ma.filled(ga.asarray([1.0, 2.0, ga.nan]), 0).compute().tolist()
    [1.0, 2.0, nan]
    """
    return Array(elementwise(np.ma.filled, asarray(a).expr, fill_value))


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
