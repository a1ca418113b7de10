"""The reductions of an array as methods. `Array` inherits them; the functions in `reducing` call them.

`axis` is an axis, a tuple of axes, or None for all; `split_every` is how many blocks a task of the tree joins, or
by axis how many along it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from glassloom.array.nodes import reductions
from glassloom.array.nodes.base import ArrayExpr
from glassloom.collection import Collection


class Reducible(Collection):
    """The methods."""

    _expr: ArrayExpr

    def sum(
        self,
        axis: Any = None,
        dtype: Any = None,
        keepdims: bool = False,
        *,
        split_every: int | dict[int, int] | None = None,
    ) -> Self:
        """Return the sum over axes."""
        return self._fold(np.sum, "add", axis=axis, dtype=dtype, keepdims=keepdims, split_every=split_every)

    def prod(
        self,
        axis: Any = None,
        dtype: Any = None,
        keepdims: bool = False,
        *,
        split_every: int | dict[int, int] | None = None,
    ) -> Self:
        """Return the product over axes."""
        return self._fold(np.prod, "multiply", axis=axis, dtype=dtype, keepdims=keepdims, split_every=split_every)

    def min(self, axis: Any = None, keepdims: bool = False, *, split_every: int | dict[int, int] | None = None) -> Self:
        """Return the minimum over axes."""
        return self._fold(np.min, "minimum", axis=axis, keepdims=keepdims, split_every=split_every, empty_is_error=True)

    def max(self, axis: Any = None, keepdims: bool = False, *, split_every: int | dict[int, int] | None = None) -> Self:
        """Return the maximum over axes."""
        return self._fold(np.max, "maximum", axis=axis, keepdims=keepdims, split_every=split_every, empty_is_error=True)

    def any(self, axis: Any = None, keepdims: bool = False, *, split_every: int | dict[int, int] | None = None) -> Self:
        """Return whether any element is true."""
        return self._fold(np.any, "logical_or", axis=axis, keepdims=keepdims, split_every=split_every)

    def all(self, axis: Any = None, keepdims: bool = False, *, split_every: int | dict[int, int] | None = None) -> Self:
        """Return whether all elements are true."""
        return self._fold(np.all, "logical_and", axis=axis, keepdims=keepdims, split_every=split_every)

    def mean(
        self,
        axis: Any = None,
        dtype: Any = None,
        keepdims: bool = False,
        *,
        split_every: int | dict[int, int] | None = None,
    ) -> Self:
        """Return the mean over axes."""
        made = reductions.mean(self._expr, axis=axis, dtype=dtype, keepdims=keepdims, split_every=split_every)
        return self._with_expr(made)

    def var(
        self, axis: Any = None, dtype: Any = None, ddof: float = 0, keepdims: bool = False, *,
        correction: float | None = None, split_every: int | dict[int, int] | None = None,
    ) -> Self:  # fmt: skip
        """Return the variance over axes; the divisor is the number of elements less `ddof`, alias `correction`."""
        return self._spread(axis, dtype, _degrees(ddof, correction), keepdims, split_every, root=False)

    def std(
        self, axis: Any = None, dtype: Any = None, ddof: float = 0, keepdims: bool = False, *,
        correction: float | None = None, split_every: int | dict[int, int] | None = None,
    ) -> Self:  # fmt: skip
        """Return the standard deviation over axes: the root of `var`."""
        return self._spread(axis, dtype, _degrees(ddof, correction), keepdims, split_every, root=True)

    def moment(
        self, order: int, axis: Any = None, dtype: Any = None, keepdims: bool = False, ddof: float = 0, *,
        split_every: int | dict[int, int] | None = None,
    ) -> Self:  # fmt: skip
        """Return a central moment over axes: the mean of a power of distances from the mean; 0 for the first."""
        if order in (0, 1):
            constant: Any = self.mean(axis, dtype, keepdims, split_every=split_every) * 0 + (1 - order)  # type: ignore[operator]
            return constant
        made = reductions.moment(
            self._expr, order=order, axis=axis, dtype=dtype, ddof=ddof, keepdims=keepdims, split_every=split_every
        )
        return self._with_expr(made)

    def argmin(
        self, axis: int | None = None, keepdims: bool = False, *, split_every: int | dict[int, int] | None = None
    ) -> Self:
        """Return where the smallest value is, along an axis or in the flat array."""
        made = reductions.arg_extreme(self._expr, smallest=True, axis=axis, keepdims=keepdims, split_every=split_every)
        return self._with_expr(made)

    def argmax(
        self, axis: int | None = None, keepdims: bool = False, *, split_every: int | dict[int, int] | None = None
    ) -> Self:
        """Return where the largest value is, along an axis or in the flat array."""
        made = reductions.arg_extreme(self._expr, smallest=False, axis=axis, keepdims=keepdims, split_every=split_every)
        return self._with_expr(made)

    def _fold(self, function: Callable[..., Any], ufunc: str, **options: Any) -> Self:
        return self._with_expr(reductions.fold(self._expr, function, ufunc, **options))

    def _spread(
        self,
        axis: Any,
        dtype: Any,
        ddof: float,
        keepdims: bool,
        split_every: int | dict[int, int] | None,
        *,
        root: bool,
    ) -> Self:
        made = reductions.variance(
            self._expr, axis=axis, dtype=dtype, ddof=ddof, keepdims=keepdims, split_every=split_every, root=root
        )
        return self._with_expr(made)


def _degrees(ddof: float, correction: float | None) -> float:
    if correction is None:
        return ddof
    if ddof:
        raise ValueError(f"ddof={ddof} and correction={correction} mean the same; give one of them")
    return correction
