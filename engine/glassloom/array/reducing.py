"""Reductions as functions: `sum`, `mean`, `argmax`, and those that pass over NaN."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from glassloom.array.array import Array, asarray
from glassloom.array.elements import copyto, where
from glassloom.array.nodes import reductions
from glassloom.array.protocol import implements

__all__ = [
    "all",
    "amax",
    "amin",
    "any",
    "argmax",
    "argmin",
    "max",
    "mean",
    "min",
    "moment",
    "nanargmax",
    "nanargmin",
    "nanmax",
    "nanmean",
    "nanmin",
    "nanprod",
    "nanstd",
    "nansum",
    "nanvar",
    "prod",
    "std",
    "sum",
    "var",
]

_PARAMETERS = """
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
"""
_NUMPYS_PARAMETERS = """    out, initial, where
        As NumPy's: a lazy array for the result, a value to begin with, and which elements are taken.
"""


_IDENTITIES = {"sum": 0, "prod": 1, "any": False, "all": True}
"""What changes nothing: it stands for elements that `where` leaves out."""

_JOINS = {"sum": np.add, "prod": np.multiply, "min": np.minimum, "max": np.maximum}
"""How an initial value is joined to the result."""


def _reduction(name: str, example: str) -> Callable[..., Array]:
    """Return the function that calls the method of this name; its parameters are the method's and NumPy's others."""
    method = getattr(Array, name)

    def function(
        array: Any, *args: Any, out: Any = None, initial: Any = None, where: Any = True, **options: Any
    ) -> Array:
        made: Array = method(_taken(name, asarray(array), where, initial), *args, **options)
        made = made if initial is None else _JOINS[name](made, initial)
        if out is None:
            return made
        copyto(out, made)
        return out

    own, *others = inspect.signature(method).parameters.values()
    added = [
        inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None),
        *([inspect.Parameter("initial", inspect.Parameter.KEYWORD_ONLY, default=None)] if name in _JOINS else []),
        *([inspect.Parameter("where", inspect.Parameter.KEYWORD_ONLY, default=True)] if name in _TAKE_WHERE else []),
    ]
    function.__signature__ = inspect.signature(method).replace(  # type: ignore[attr-defined]
        parameters=[own.replace(name="array", annotation=Any), *others, *added], return_annotation=Array
    )
    what = f"Return `numpy.{name}` of a lazy array, over one axis, several, or all."
    call = f"ga.{name}(ga.arange(1, 5, chunks=2)).compute()"
    return _documented(function, name, what, call, example, _PARAMETERS + _NUMPYS_PARAMETERS)


def _taken(name: str, whole: Array, mask: Any, initial: Any) -> Array:
    """Return the array with what changes nothing in place of elements that `where` leaves out."""
    if initial is not None and name not in _JOINS:
        raise TypeError(f"{name} takes no initial value; {sorted(_JOINS)} do")
    if mask is True or mask is np._NoValue:
        return whole
    if name not in _TAKE_WHERE:
        raise NotImplementedError(
            f"{name}(where=...); {sorted(_TAKE_WHERE)} are there: use NaN and nan{name} elsewhere"
        )
    if name in _JOINS and name not in _IDENTITIES and initial is None:
        raise ValueError(f"{name}(where=...) needs an initial value, as where nothing is taken there would be none")
    other = _IDENTITIES.get(name, initial)
    return where(mask, whole, whole.dtype.type(other))


_TAKE_WHERE = {*_IDENTITIES, *_JOINS}


def _documented(
    function: Callable[..., Array], name: str, what: str, call: str, example: str, parameters: str = _PARAMETERS
) -> Callable[..., Array]:
    function.__name__ = function.__qualname__ = name
    function.__module__ = __name__
    function.__doc__ = f"""{what}
{parameters}
    Examples
    --------
    >>> import glassloom.array as ga
    >>> {call}
    {example}
    """
    return implements(getattr(np, name))(function)


sum = _reduction("sum", "np.int64(10)")
prod = _reduction("prod", "np.int64(24)")
min = _reduction("min", "np.int64(1)")
max = _reduction("max", "np.int64(4)")
any = _reduction("any", "np.True_")
all = _reduction("all", "np.True_")
mean = _reduction("mean", "np.float64(2.5)")
var = _reduction("var", "np.float64(1.25)")
std = _reduction("std", "np.float64(1.118033988749895)")
argmin = _reduction("argmin", "np.int64(0)")
argmax = _reduction("argmax", "np.int64(3)")


def _nan_reduction(function: Callable[..., Array], what: str, example: str) -> Callable[..., Array]:
    name = function.__name__.removeprefix("_")
    call = f"ga.{name}(ga.asarray([3.0, float('nan'), 2.0])).compute()"
    return _documented(function, name, what, call, example)


def _nansum(
    array: Any,
    axis: Any = None,
    dtype: Any = None,
    keepdims: bool = False,
    *,
    split_every: int | dict[int, int] | None = None,
) -> Array:
    made = reductions.fold(
        asarray(array).expr, np.nansum, "add", axis=axis, dtype=dtype, keepdims=keepdims, split_every=split_every,
        skips_nan=True,
    )  # fmt: skip
    return Array(made)


def _nanprod(
    array: Any,
    axis: Any = None,
    dtype: Any = None,
    keepdims: bool = False,
    *,
    split_every: int | dict[int, int] | None = None,
) -> Array:
    made = reductions.fold(
        asarray(array).expr, np.nanprod, "multiply", axis=axis, dtype=dtype, keepdims=keepdims,
        split_every=split_every, skips_nan=True,
    )  # fmt: skip
    return Array(made)


def _nanmin(
    array: Any, axis: Any = None, keepdims: bool = False, *, split_every: int | dict[int, int] | None = None
) -> Array:
    made = reductions.fold(
        asarray(array).expr, np.nanmin, "fmin", axis=axis, keepdims=keepdims, split_every=split_every,
        empty_is_error=True,
    )  # fmt: skip
    return Array(made)


def _nanmax(
    array: Any, axis: Any = None, keepdims: bool = False, *, split_every: int | dict[int, int] | None = None
) -> Array:
    made = reductions.fold(
        asarray(array).expr, np.nanmax, "fmax", axis=axis, keepdims=keepdims, split_every=split_every,
        empty_is_error=True,
    )  # fmt: skip
    return Array(made)


def _nanmean(
    array: Any,
    axis: Any = None,
    dtype: Any = None,
    keepdims: bool = False,
    *,
    split_every: int | dict[int, int] | None = None,
) -> Array:
    made = reductions.mean(
        asarray(array).expr, axis=axis, dtype=dtype, keepdims=keepdims, split_every=split_every, skips_nan=True
    )
    return Array(made)


def _nanvar(
    array: Any, axis: Any = None, dtype: Any = None, ddof: float = 0, keepdims: bool = False, *,
    split_every: int | dict[int, int] | None = None,
) -> Array:  # fmt: skip
    return _nan_variance(array, axis, dtype, ddof, keepdims, split_every, root=False)


def _nanstd(
    array: Any, axis: Any = None, dtype: Any = None, ddof: float = 0, keepdims: bool = False, *,
    split_every: int | dict[int, int] | None = None,
) -> Array:  # fmt: skip
    return _nan_variance(array, axis, dtype, ddof, keepdims, split_every, root=True)


def _nan_variance(
    array: Any, axis: Any, dtype: Any, ddof: float, keepdims: bool, split_every: int | dict[int, int] | None, root: bool
) -> Array:
    made = reductions.variance(
        asarray(array).expr, axis=axis, dtype=dtype, ddof=ddof, keepdims=keepdims, split_every=split_every,
        root=root, skips_nan=True,
    )  # fmt: skip
    return Array(made)


nansum = _nan_reduction(_nansum, "Return the sum over axes with NaN taken as zero.", "np.float64(5.0)")
nanprod = _nan_reduction(_nanprod, "Return the product over axes with NaN taken as one.", "np.float64(6.0)")
nanmin = _nan_reduction(_nanmin, "Return the minimum over axes of what isn't NaN, if anything.", "np.float64(2.0)")
nanmax = _nan_reduction(_nanmax, "Return the maximum over axes of what isn't NaN, if anything.", "np.float64(3.0)")
nanmean = _nan_reduction(_nanmean, "Return the mean over axes of what isn't NaN.", "np.float64(2.5)")
nanvar = _nan_reduction(_nanvar, "Return the variance over axes of what isn't NaN.", "np.float64(0.25)")
nanstd = _nan_reduction(_nanstd, "Return the standard deviation over axes of what isn't NaN.", "np.float64(0.5)")


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


def _with_nan_as(array: Any, value: float) -> Array:
    whole = asarray(array)
    return where(np.isnan(whole), whole.dtype.type(value), whole) if whole.dtype.kind in "fc" else whole


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
