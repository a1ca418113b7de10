"""Reductions that pass over NaN, as functions: `nansum`, `nanmean`, `nanargmax`. Those of an order are in `order_statistics`."""

from __future__ import annotations

from typing import Any

import numpy as np

from glassloom.array.api.array import Array, asarray
from glassloom.array.api.dispatch import implements
from glassloom.array.api.elementwise import where as replace_where
from glassloom.array.ops import reductions

__all__ = [
    "nanargmax",
    "nanargmin",
    "nanmax",
    "nanmean",
    "nanmin",
    "nanprod",
    "nanstd",
    "nansum",
    "nanvar",
]


@implements(np.nansum)
def nansum(
    array: Any,
    axis: Any = None,
    dtype: Any = None,
    keepdims: bool = False,
    *,
    split_every: int | dict[int, int] | None = None,
) -> Array:
    """Return the sum over axes with NaN taken as zero.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.nansum(ga.asarray([3.0, float('nan'), 2.0])).compute()
    np.float64(5.0)
    """
    made = reductions.fold(
        _objects_with_nan_as(array, 0).expr, np.nansum, "add", axis=axis, dtype=dtype, keepdims=keepdims, split_every=split_every,
        skips_nan=True,
    )  # fmt: skip
    return Array(made)


@implements(np.nanprod)
def nanprod(
    array: Any,
    axis: Any = None,
    dtype: Any = None,
    keepdims: bool = False,
    *,
    split_every: int | dict[int, int] | None = None,
) -> Array:
    """Return the product over axes with NaN taken as one.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.nanprod(ga.asarray([3.0, float('nan'), 2.0])).compute()
    np.float64(6.0)
    """
    made = reductions.fold(
        _objects_with_nan_as(array, 1).expr, np.nanprod, "multiply", axis=axis, dtype=dtype, keepdims=keepdims,
        split_every=split_every, skips_nan=True,
    )  # fmt: skip
    return Array(made)


@implements(np.nanmin)
def nanmin(
    array: Any, axis: Any = None, keepdims: bool = False, *, split_every: int | dict[int, int] | None = None
) -> Array:
    """Return the minimum over axes of what isn't NaN, if anything.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.nanmin(ga.asarray([3.0, float('nan'), 2.0])).compute()
    np.float64(2.0)
    """
    made = reductions.fold(
        asarray(array).expr, np.nanmin, "fmin", axis=axis, keepdims=keepdims, split_every=split_every,
        empty_is_error=True,
    )  # fmt: skip
    return Array(made)


@implements(np.nanmax)
def nanmax(
    array: Any, axis: Any = None, keepdims: bool = False, *, split_every: int | dict[int, int] | None = None
) -> Array:
    """Return the maximum over axes of what isn't NaN, if anything.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.nanmax(ga.asarray([3.0, float('nan'), 2.0])).compute()
    np.float64(3.0)
    """
    made = reductions.fold(
        asarray(array).expr, np.nanmax, "fmax", axis=axis, keepdims=keepdims, split_every=split_every,
        empty_is_error=True,
    )  # fmt: skip
    return Array(made)


@implements(np.nanmean)
def nanmean(
    array: Any,
    axis: Any = None,
    dtype: Any = None,
    keepdims: bool = False,
    *,
    split_every: int | dict[int, int] | None = None,
) -> Array:
    """Return the mean over axes of what isn't NaN.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.nanmean(ga.asarray([3.0, float('nan'), 2.0])).compute()
    np.float64(2.5)
    """
    made = reductions.mean(
        asarray(array).expr, axis=axis, dtype=dtype, keepdims=keepdims, split_every=split_every, skips_nan=True
    )
    return Array(made)


@implements(np.nanvar)
def nanvar(
    array: Any, axis: Any = None, dtype: Any = None, ddof: float = 0, keepdims: bool = False, *,
    split_every: int | dict[int, int] | None = None,
) -> Array:  # fmt: skip
    """Return the variance over axes of what isn't NaN.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.nanvar(ga.asarray([3.0, float('nan'), 2.0])).compute()
    np.float64(0.25)
    """
    return _nan_variance(array, axis, dtype, ddof, keepdims, split_every, root=False)


@implements(np.nanstd)
def nanstd(
    array: Any, axis: Any = None, dtype: Any = None, ddof: float = 0, keepdims: bool = False, *,
    split_every: int | dict[int, int] | None = None,
) -> Array:  # fmt: skip
    """Return the standard deviation over axes of what isn't NaN.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.nanstd(ga.asarray([3.0, float('nan'), 2.0])).compute()
    np.float64(0.5)
    """
    return _nan_variance(array, axis, dtype, ddof, keepdims, split_every, root=True)


def _nan_variance(
    array: Any, axis: Any, dtype: Any, ddof: float, keepdims: bool, split_every: int | dict[int, int] | None, root: bool
) -> Array:
    made = reductions.variance(
        asarray(array).expr, axis=axis, dtype=dtype, ddof=ddof, keepdims=keepdims, split_every=split_every,
        root=root, skips_nan=True,
    )  # fmt: skip
    return Array(made)


@implements(np.nanargmin)
def nanargmin(
    array: Any, axis: int | None = None, keepdims: bool = False, *, split_every: int | dict[int, int] | None = None
) -> Array:
    """Return where the smallest value is that isn't NaN; 0 where there is only NaN.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.nanargmin(ga.asarray([float("nan"), 3.0, 2.0])).compute()
    np.int64(2)
    """
    return _with_nan_as(array, np.inf).argmin(axis, keepdims, split_every=split_every)


@implements(np.nanargmax)
def nanargmax(
    array: Any, axis: int | None = None, keepdims: bool = False, *, split_every: int | dict[int, int] | None = None
) -> Array:
    """Return where the largest value is that isn't NaN; 0 where there is only NaN.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.nanargmax(ga.asarray([float("nan"), 3.0, 2.0])).compute()
    np.int64(1)
    """
    return _with_nan_as(array, -np.inf).argmax(axis, keepdims, split_every=split_every)


def _objects_with_nan_as(array: Any, value: float) -> Array:
    """Return the array; if of objects, with another value for those that differ from themselves."""
    whole = asarray(array)
    return replace_where(whole != whole, value, whole) if whole.dtype == object else whole


def _with_nan_as(array: Any, value: float) -> Array:
    whole = _objects_with_nan_as(array, value)
    return replace_where(np.isnan(whole), whole.dtype.type(value), whole) if whole.dtype.kind in "fc" else whole
