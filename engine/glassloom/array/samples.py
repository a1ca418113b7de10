"""`Sample`: lines of numbers along an axis, and what statistics ask of them; with NaN left out on request."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from glassloom.array.array import Array, asarray
from glassloom.array.elements import where
from glassloom.array.nodes.base import normalize_axis
from glassloom.array.nodes.elementwise import elementwise
from glassloom.errors import OptionError


@dataclass(frozen=True)
class Sample:
    """Floats, whose lines along `axis` are samples of `n` numbers: an integer, or a lazy array of one for each line."""

    values: Array
    axis: int
    n: Any
    left_out: Array | None = None
    """Where the values don't count; None if all do."""

    def of(self, values: Array) -> Sample:
        """Return other values, of which the same are left out."""
        return self if values is self.values else Sample(values, self.axis, self.n, self.left_out)

    def mean(self, *, keepdims: bool = False) -> Array:
        """Return the mean of each line."""
        if self.left_out is None:
            return self.values.mean(self.axis, keepdims=keepdims)
        n: Any = _or_nan(self.n, 1)
        return self.sum(keepdims=keepdims) / (np.expand_dims(n, self.axis) if keepdims else n)

    def sum(self, *, keepdims: bool = False) -> Array:
        """Return the sum of each line."""
        return self._sum(self.values, keepdims)

    def var(self, ddof: int = 0) -> Array:
        """Return the variance of each line."""
        if self.left_out is None:
            return self.values.var(self.axis, ddof=ddof)
        return self.squares() / _or_nan(self.n - ddof, 1)

    def squares(self) -> Array:
        """Return the sum of the squared distances from the mean."""
        if self.left_out is None:
            return self.values.var(self.axis) * self.n
        return self._sum((self.values - self.mean(keepdims=True)) ** 2)

    def moment(self, order: int) -> Array:
        """Return the mean of a power of the distances from the mean."""
        if self.left_out is None:
            return self.values.moment(order, self.axis)
        if order == 1:
            return 0 * self.mean()
        return self._sum((self.values - self.mean(keepdims=True)) ** order) / _or_nan(self.n, 1)

    def extremes(self) -> tuple[Array, Array]:
        """Return the least and the largest number of each line."""
        if self.left_out is None:
            return self.values.min(self.axis), self.values.max(self.axis)
        least, most = (where(self.left_out, end, self.values) for end in (math.inf, -math.inf))
        return where(self.n > 0, least.min(self.axis), math.nan), where(self.n > 0, most.max(self.axis), math.nan)

    def at_least(self, n: int, what: str) -> Sample:
        """Return the sample, with NaN for the number of lines that are shorter than that.

        Raises
        ------
        ValueError
            If all are.
        """
        if isinstance(self.n, Array):
            return Sample(self.values, self.axis, _or_nan(self.n, n), self.left_out)
        if self.n < n:
            raise ValueError(f"{what} needs at least {n} elements along the axis, there are {self.n}")
        return self

    def _sum(self, values: Array, keepdims: bool = False) -> Array:
        counted = values if self.left_out is None else where(self.left_out, 0, values)
        return counted.sum(self.axis, keepdims=keepdims)


def sample(a: Any, axis: int | None, nan_policy: str = "propagate") -> Sample:
    """Return the lines of an array along an axis; of the flat array for None.

    Parameters
    ----------
    nan_policy
        ``"propagate"``: a line with NaN has NaN as its result. ``"omit"``: NaN is left out. ``"raise"``: computing raises a
        ValueError if there is one.
    """
    (made,) = samples([a], axis, nan_policy)
    return made


def samples(arrays: list[Any], axis: int | None, nan_policy: str, *, paired: bool = False) -> list[Sample]:
    """Return the lines of several arrays.

    Parameters
    ----------
    paired
        Whether what is left out of one is left out of all. They have one shape then.
    """
    if nan_policy not in ("propagate", "omit", "raise"):
        raise OptionError(f"nan_policy={nan_policy!r} is none of 'propagate', 'omit' and 'raise'")
    lines = [_line(each, axis) for each in arrays]
    may_be_nan = any(asarray(each).dtype.kind in "fc" for each in arrays)
    if nan_policy == "raise" and may_be_nan:
        lines = [(Array(elementwise(without_nan, values.expr)), place) for values, place in lines]
    if nan_policy != "omit" or not may_be_nan:
        return [Sample(values, place, values.shape[place]) for values, place in lines]
    left_out: list[Any] = [np.isnan(values) for values, _ in lines]
    if paired:
        left_out = [functools.reduce(np.logical_or, left_out)] * len(lines)
    return [
        Sample(values, place, (~gone).sum(place), gone) for (values, place), gone in zip(lines, left_out, strict=True)
    ]


def _line(a: Any, axis: int | None) -> tuple[Array, int]:
    whole = asarray(a)
    if axis is None:
        whole, axis = whole.ravel(), 0
    return whole if whole.dtype.kind in "fc" else whole.astype(float), normalize_axis(axis, whole.ndim)


def _or_nan(n: Any, least: int) -> Any:
    """Return numbers as divisors: NaN for those that are too small."""
    return where(n >= least, n, math.nan) if isinstance(n, Array) else n


def without_nan(block: Any) -> Any:
    """Return a block that holds no NaN.

    Raises
    ------
    ValueError
        If it holds one.
    """
    if np.isnan(block).any():
        raise ValueError("the input contains nan values, and nan_policy='raise'")
    return block
