"""Reductions as functions: `sum`, `mean`, `argmax`, `average`. Those that pass over NaN are in `nan_reductions`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from glassloom.array.api.array import Array, asarray
from glassloom.array.api.dispatch import implements
from glassloom.array.api.elementwise import copyto
from glassloom.array.api.elementwise import where as replace_where
from glassloom.array.ops.base import normalize_axes, normalize_axis

__all__ = [
    "all",
    "amax",
    "amin",
    "any",
    "argmax",
    "argmin",
    "average",
    "max",
    "mean",
    "min",
    "moment",
    "prod",
    "std",
    "sum",
    "var",
]

_IDENTITIES = {"sum": 0, "prod": 1, "any": False, "all": True}
"""What changes nothing: it stands for elements that `where` leaves out."""

_JOINS = {"sum": np.add, "prod": np.multiply, "min": np.minimum, "max": np.maximum}
"""How an initial value is joined to the result."""


@implements(np.sum)
def sum(
    array: Any,
    axis: Any = None,
    dtype: Any = None,
    keepdims: bool = False,
    *,
    split_every: int | dict[int, int] | None = None,
    out: Any = None,
    initial: Any = None,
    where: Any = True,
) -> Array:
    """Return the sum over axes.

    Parameters
    ----------
    array
        The array, or what `asarray` takes.
    axis
        An axis, a tuple of axes, or None for all.
    keepdims
        Whether the axes stay with length 1.
    split_every
        How many blocks a task of the tree joins, by default 16; or by axis how many along it.
    out, initial, where
        As NumPy's: a lazy array for the result, a value to begin with, and which elements are taken.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.sum(ga.arange(1, 5, chunks=2)).compute()
    np.int64(10)
    """
    taken = _taken("sum", array, where, initial)
    return _put("sum", taken.sum(axis, dtype, keepdims, split_every=split_every), initial, out)


@implements(np.prod)
def prod(
    array: Any,
    axis: Any = None,
    dtype: Any = None,
    keepdims: bool = False,
    *,
    split_every: int | dict[int, int] | None = None,
    out: Any = None,
    initial: Any = None,
    where: Any = True,
) -> Array:
    """Return the product over axes; see `sum` for the parameters.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.prod(ga.arange(1, 5, chunks=2)).compute()
    np.int64(24)
    """
    taken = _taken("prod", array, where, initial)
    return _put("prod", taken.prod(axis, dtype, keepdims, split_every=split_every), initial, out)


@implements(np.min)
def min(
    array: Any,
    axis: Any = None,
    keepdims: bool = False,
    *,
    split_every: int | dict[int, int] | None = None,
    out: Any = None,
    initial: Any = None,
    where: Any = True,
) -> Array:
    """Return the minimum over axes; see `sum` for the parameters.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.min(ga.arange(1, 5, chunks=2)).compute()
    np.int64(1)
    """
    taken = _taken("min", array, where, initial)
    return _put("min", taken.min(axis, keepdims, split_every=split_every), initial, out)


@implements(np.max)
def max(
    array: Any,
    axis: Any = None,
    keepdims: bool = False,
    *,
    split_every: int | dict[int, int] | None = None,
    out: Any = None,
    initial: Any = None,
    where: Any = True,
) -> Array:
    """Return the maximum over axes; see `sum` for the parameters.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.max(ga.arange(1, 5, chunks=2)).compute()
    np.int64(4)
    """
    taken = _taken("max", array, where, initial)
    return _put("max", taken.max(axis, keepdims, split_every=split_every), initial, out)


@implements(np.any)
def any(
    array: Any,
    axis: Any = None,
    keepdims: bool = False,
    *,
    split_every: int | dict[int, int] | None = None,
    out: Any = None,
    where: Any = True,
) -> Array:
    """Return whether any element is true, over axes; see `sum` for the parameters.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.any(ga.arange(1, 5, chunks=2)).compute()
    np.True_
    """
    taken = _taken("any", array, where, None)
    return _put("any", taken.any(axis, keepdims, split_every=split_every), None, out)


@implements(np.all)
def all(
    array: Any,
    axis: Any = None,
    keepdims: bool = False,
    *,
    split_every: int | dict[int, int] | None = None,
    out: Any = None,
    where: Any = True,
) -> Array:
    """Return whether all elements are true, over axes; see `sum` for the parameters.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.all(ga.arange(1, 5, chunks=2)).compute()
    np.True_
    """
    taken = _taken("all", array, where, None)
    return _put("all", taken.all(axis, keepdims, split_every=split_every), None, out)


@implements(np.mean)
def mean(
    array: Any,
    axis: Any = None,
    dtype: Any = None,
    keepdims: bool = False,
    *,
    split_every: int | dict[int, int] | None = None,
    out: Any = None,
    where: Any = True,
) -> Array:
    """Return the mean over axes; see `sum` for the parameters.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.mean(ga.arange(1, 5, chunks=2)).compute()
    np.float64(2.5)
    """
    taken = _taken("mean", array, where, None)
    return _put("mean", taken.mean(axis, dtype, keepdims, split_every=split_every), None, out)


@implements(np.var)
def var(
    array: Any,
    axis: Any = None,
    dtype: Any = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    correction: float | None = None,
    split_every: int | dict[int, int] | None = None,
    out: Any = None,
    where: Any = True,
) -> Array:
    """Return the variance over axes; the divisor is the number of elements less `ddof`, alias `correction`; see `sum` for the parameters.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.var(ga.arange(1, 5, chunks=2)).compute()
    np.float64(1.25)
    """
    taken = _taken("var", array, where, None)
    return _put(
        "var", taken.var(axis, dtype, ddof, keepdims, correction=correction, split_every=split_every), None, out
    )


@implements(np.std)
def std(
    array: Any,
    axis: Any = None,
    dtype: Any = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    correction: float | None = None,
    split_every: int | dict[int, int] | None = None,
    out: Any = None,
    where: Any = True,
) -> Array:
    """Return the standard deviation over axes: the root of `var`; see `sum` for the parameters.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.std(ga.arange(1, 5, chunks=2)).compute()
    np.float64(1.118033988749895)
    """
    taken = _taken("std", array, where, None)
    return _put(
        "std", taken.std(axis, dtype, ddof, keepdims, correction=correction, split_every=split_every), None, out
    )


@implements(np.argmin)
def argmin(
    array: Any,
    axis: int | None = None,
    keepdims: bool = False,
    *,
    split_every: int | dict[int, int] | None = None,
    out: Any = None,
    where: Any = True,
) -> Array:
    """Return where the smallest value is, along an axis or in the flat array; see `sum` for the parameters.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.argmin(ga.arange(1, 5, chunks=2)).compute()
    np.int64(0)
    """
    taken = _taken("argmin", array, where, None)
    return _put("argmin", taken.argmin(axis, keepdims, split_every=split_every), None, out)


@implements(np.argmax)
def argmax(
    array: Any,
    axis: int | None = None,
    keepdims: bool = False,
    *,
    split_every: int | dict[int, int] | None = None,
    out: Any = None,
    where: Any = True,
) -> Array:
    """Return where the largest value is, along an axis or in the flat array; see `sum` for the parameters.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.argmax(ga.arange(1, 5, chunks=2)).compute()
    np.int64(3)
    """
    taken = _taken("argmax", array, where, None)
    return _put("argmax", taken.argmax(axis, keepdims, split_every=split_every), None, out)


def _taken(name: str, array: Any, mask: Any, initial: Any) -> Array:
    """Return the array with what changes nothing in place of elements that `where` leaves out."""
    whole = asarray(array)
    if mask is True or mask is np._NoValue:
        return whole
    if name not in _TAKE_WHERE:
        raise NotImplementedError(
            f"{name}(where=...); {sorted(_TAKE_WHERE)} are there: use NaN and nan{name} elsewhere"
        )
    if name in _JOINS and name not in _IDENTITIES and initial is None:
        raise ValueError(f"{name}(where=...) needs an initial value, as where nothing is taken there would be none")
    other = _IDENTITIES.get(name, initial)
    return replace_where(mask, whole, whole.dtype.type(other))


_TAKE_WHERE = {*_IDENTITIES, *_JOINS}


def _put(name: str, made: Array, initial: Any, out: Any) -> Array:
    """Return a result joined to an initial value, or put it into `out` and return that."""
    made = made if initial is None else _JOINS[name](made, initial)
    if out is None:
        return made
    copyto(out, made)
    kept: Array = out
    return kept


def moment(
    array: Any, order: int, axis: Any = None, dtype: Any = None, keepdims: bool = False, ddof: float = 0, *,
    split_every: int | dict[int, int] | None = None,
) -> Array:  # fmt: skip
    """Return a central moment over axes: the mean of a power of distances from the mean.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.moment(ga.arange(5, chunks=2), 4).compute()
    np.float64(6.8)
    """
    return asarray(array).moment(order, axis, dtype, keepdims, ddof, split_every=split_every)


amin, amax = min, max


def not_zero(total: Any) -> Any:
    """Return sums of weights; raise `ZeroDivisionError` if one is 0."""
    if not total.all():
        raise ZeroDivisionError("average: the weights' sum is zero, so that nothing can be divided by it")
    return total


@implements(np.average)
def average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: bool = False) -> Any:
    """Return the mean over axes, weighted on request; with `returned` the sums of weights too.

    Raises
    ------
    ZeroDivisionError
        When it is computed, if weights add up to 0.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.average(ga.asarray([1.0, 5.0]), weights=[3, 1]).compute()
    np.float64(2.0)
    """
    whole = asarray(a)
    if weights is None:
        made = whole.mean(axis, keepdims=keepdims)
        count = math.prod(whole.shape[each] for each in normalize_axes(axis, whole.ndim))
        totals: Any = np.full(made.shape, count, dtype=made.dtype)
        return (made, asarray(totals)) if returned else made
    parts = asarray(weights)
    if parts.shape != whole.shape:
        if axis is None or isinstance(axis, (tuple, list)) or parts.ndim != 1:
            raise TypeError(
                f"average: weights of shape {parts.shape} for an array of shape {whole.shape}; say axis=..."
            )
        place = normalize_axis(axis, whole.ndim)
        if parts.shape[0] != whole.shape[place]:
            raise ValueError(f"average: {parts.shape[0]} weights for axis {place} with {whole.shape[place]} elements")
        parts = parts[(slice(None), *(None,) * (whole.ndim - place - 1))]
    dtype = np.result_type(whole.dtype, parts.dtype, "f8" if whole.dtype.kind in "biu" else whole.dtype)
    spread: Any = np.broadcast_to(parts, whole.shape)
    total = spread.sum(axis, dtype=dtype, keepdims=keepdims).map_blocks(not_zero, dtype=dtype)
    made = (whole * parts).sum(axis, dtype=dtype, keepdims=keepdims) / total
    return (made, total) if returned else made
