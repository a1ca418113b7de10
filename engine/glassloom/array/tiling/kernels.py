"""What reductions compute: of a block, of several partial results, and in the end. No graphs here.

A partial result is an array, or a tuple of arrays, that keeps the reduced axes with length 1 (length 0 if the block
had no elements there, so that nothing needs an identity).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from glassloom.backends.arrays import namespace_of

_SHORT_ROW = 8
"""Up to this length adding up columns is faster than adding up rows."""

Axes = tuple[int, ...]
Partial = Any


class Kernel:
    """A reduction. `combine` gets partial results joined along the reduced axes, and so does `finish`, once."""

    name: str
    needs_position: ClassVar[bool] = False
    merges_tiles: ClassVar[bool] = False
    """Whether a block's partial result may be that of its parts combined, and has length 1 along reduced axes."""

    joins_cheaply: ClassVar[bool] = False
    """Whether a block's partial result is found in one quick pass, and has length 1 along reduced axes."""
    by_position: ClassVar[bool] = False
    """Whether what becomes of a position along the kept axes depends only on the elements there."""

    @property
    def ignores_order(self) -> bool:
        """Whether elements may be reduced in any order, but for rounding."""
        return False

    @property
    def makes_temporaries(self) -> bool:
        """Whether `first` makes arrays as large as the block."""
        return False

    def first(self, block: Any, axes: Axes, *position: Any) -> Partial:
        raise NotImplementedError

    def scratch_dtype(self, dtype: Any) -> Any:
        """Return the type of a memory as large as a block of a type that saves `first` its own; None if it needs none."""
        return None

    def first_with(self, block: Any, axes: Axes, scratch: Any) -> Partial:
        """Return what `first` does, for a NumPy array, writing over `scratch`."""
        raise NotImplementedError

    def combine(self, joined: Partial, axes: Axes) -> Partial:
        raise NotImplementedError

    def finish(self, joined: Partial, axes: Axes) -> Any:
        return self.combine(joined, axes)


def summed_in(dtype: Any) -> Any:
    """Return the type to tell `numpy.sum` and its like; None for durations, whose unit ufuncs don't accept."""
    return None if dtype is None or np.dtype(dtype).kind in "mM" else dtype


@dataclass(frozen=True)
class Fold(Kernel):
    """A ufunc applied over and over, such as ``add`` for sums. `skips_nan` replaces NaN by `identity` first."""

    by_position: ClassVar[bool] = True
    merges_tiles: ClassVar[bool] = True
    joins_cheaply: ClassVar[bool] = True
    name: str
    ufunc: str
    dtype: Any = None
    skips_nan: bool = False
    result: Any = None

    @property
    def ignores_order(self) -> bool:
        return True

    @property
    def makes_temporaries(self) -> bool:
        return self.skips_nan

    def first(self, block: Any, axes: Axes, *position: Any) -> Partial:
        if self.skips_nan:
            xp = namespace_of(block)
            identity = getattr(np, self.ufunc).identity
            block = xp.where(xp.isnan(block), xp.asarray(identity, dtype=block.dtype), block)
        return self._fold(block, axes, self.dtype)

    def combine(self, joined: Partial, axes: Axes) -> Partial:
        return self._fold(joined, axes, self.dtype)

    def finish(self, joined: Partial, axes: Axes) -> Any:
        folded = self.combine(joined, axes)
        if folded.size == 0:  # along reduced axes without elements nothing was folded
            folded = folded.reshape(tuple(1 if axis in axes else n for axis, n in enumerate(folded.shape)))
        return folded if self.result is None else folded.astype(self.result)

    def _fold(self, block: Any, axes: Axes, dtype: Any) -> Any:
        if self.ufunc in _BY_COLUMNS and _is_short_row(block, axes):
            return self._fold_columns(block, dtype)
        xp = namespace_of(block)
        ufunc = getattr(np, self.ufunc)
        if ufunc.identity is None:
            axes = tuple(axis for axis in axes if block.shape[axis])
        method = _METHODS.get(self.ufunc)
        if method is not None:  # the functions, not ufunc.reduce: every array library has them
            told = summed_in(dtype)
            extra = {} if told is None or self.ufunc not in ("add", "multiply") else {"dtype": told}
            return getattr(xp, method)(block, axis=axes, keepdims=True, **extra)
        if xp is np or self.ufunc not in _OF_WHAT_IS_THERE:
            return ufunc.reduce(block, axis=axes, keepdims=True)
        return _extreme_of_what_is_there(xp, block, axes, *_OF_WHAT_IS_THERE[self.ufunc])

    def _fold_columns(self, block: Any, dtype: Any) -> Any:
        """Return the fold along a short last axis: NumPy's own takes 20 ns for each row, however short."""
        ufunc = getattr(np, self.ufunc)
        folded = block[..., :1].astype(dtype or block.dtype)
        for column in range(1, block.shape[-1]):
            ufunc(folded, block[..., column : column + 1], out=folded)
        return folded


_BY_COLUMNS = frozenset({"add", "multiply", "minimum", "maximum"})
_METHODS = {
    "add": "sum", "multiply": "prod", "minimum": "min", "maximum": "max", "logical_and": "all", "logical_or": "any",
}  # fmt: skip
_OF_WHAT_IS_THERE = {"fmin": ("min", math.inf), "fmax": ("max", -math.inf)}
"""What finds the extreme of what isn't NaN, and what it is told in place of NaN."""


def _extreme_of_what_is_there(xp: Any, block: Any, axes: Axes, method: str, end: float) -> Any:
    """Return the extreme of what isn't NaN by a library that reduces no `fmin` and `fmax`, such as CuPy; its `nanmax` would wait for the device."""
    if block.dtype.kind not in "fc":
        return getattr(xp, method)(block, axis=axes, keepdims=True)
    is_missing = xp.isnan(block)
    replaced = xp.where(is_missing, xp.asarray(end, dtype=block.dtype), block)
    found = getattr(xp, method)(replaced, axis=axes, keepdims=True)
    return xp.where(xp.all(is_missing, axis=axes, keepdims=True), xp.asarray(math.nan, dtype=block.dtype), found)


@dataclass(frozen=True)
class Mean(Kernel):
    """The sum over the number of elements; with `skips_nan` over the number of those that are not NaN."""

    by_position: ClassVar[bool] = True
    merges_tiles: ClassVar[bool] = True
    joins_cheaply: ClassVar[bool] = True
    dtype: Any
    result: Any
    skips_nan: bool = False

    @property
    def name(self) -> str:  # type: ignore[override]
        return "nanmean" if self.skips_nan else "mean"

    @property
    def ignores_order(self) -> bool:
        return True

    @property
    def makes_temporaries(self) -> bool:
        return self.skips_nan

    def first(self, block: Any, axes: Axes, *position: Any) -> Partial:
        xp = namespace_of(block)
        if not self.skips_nan:
            total = xp.sum(block, axis=axes, keepdims=True, dtype=summed_in(self.dtype))
            return (_count(xp, block, axes), total)
        valid = ~xp.isnan(block)
        zero = xp.zeros((), dtype=block.dtype)
        total = xp.sum(xp.where(valid, block, zero), axis=axes, keepdims=True, dtype=summed_in(self.dtype))
        return (xp.sum(valid, axis=axes, keepdims=True), total)

    def combine(self, joined: Partial, axes: Axes) -> Partial:
        count, total = joined
        xp = namespace_of(total)
        return (xp.sum(count, axis=axes, keepdims=True), xp.sum(total, axis=axes, keepdims=True))

    def finish(self, joined: Partial, axes: Axes) -> Any:
        count, total = self.combine(joined, axes)
        return (total / count).astype(self.result)


@dataclass(frozen=True)
class Variance(Kernel):
    """Count, mean and sum of squared distances from it, merged as in Chan, Golub and LeVeque (1979), "Updating
    formulae and a pairwise algorithm for computing sample variances": sound however large the mean is."""

    by_position: ClassVar[bool] = True
    merges_tiles: ClassVar[bool] = True
    joins_cheaply: ClassVar[bool] = True
    dtype: Any
    result: Any
    ddof: float
    root: bool
    skips_nan: bool = False

    @property
    def name(self) -> str:  # type: ignore[override]
        return ("nan" if self.skips_nan else "") + ("std" if self.root else "var")

    @property
    def ignores_order(self) -> bool:
        return True

    @property
    def makes_temporaries(self) -> bool:
        return True

    def first(self, block: Any, axes: Axes, *position: Any) -> Partial:
        xp = namespace_of(block)
        if not self.skips_nan:
            count = _count(xp, block, axes)
            mean = xp.sum(block, axis=axes, keepdims=True, dtype=self.dtype) / xp.maximum(count, 1)
            distance = block - mean
        else:
            valid = ~xp.isnan(block)
            count = xp.sum(valid, axis=axes, keepdims=True)
            zero = xp.zeros((), dtype=block.dtype)
            total = xp.sum(xp.where(valid, block, zero), axis=axes, keepdims=True, dtype=self.dtype)
            mean = total / xp.maximum(count, 1)
            distance = xp.where(valid, block - mean, zero)
        return (count, mean.astype(self.dtype), xp.sum(_square(xp, distance), axis=axes, keepdims=True))

    def scratch_dtype(self, dtype: Any) -> Any:
        is_plain = dtype.kind in "iuf" and dtype.itemsize <= 8 and not self.skips_nan
        return np.dtype(np.float64) if is_plain else None

    def first_with(self, block: Any, axes: Axes, scratch: Any) -> Partial:
        count = _count(np, block, axes)
        mean = np.sum(block, axis=axes, keepdims=True, dtype=self.dtype) / np.maximum(count, 1)
        np.subtract(block, mean, out=scratch)
        np.multiply(scratch, scratch, out=scratch)
        return (count, mean.astype(self.dtype), np.sum(scratch, axis=axes, keepdims=True))

    def combine(self, joined: Partial, axes: Axes) -> Partial:
        count, mean, squares = joined
        xp = namespace_of(mean)
        whole = xp.sum(count, axis=axes, keepdims=True)
        common = xp.sum(mean * count, axis=axes, keepdims=True) / xp.maximum(whole, 1)
        apart = xp.sum(_square(xp, mean - common) * count, axis=axes, keepdims=True)
        return (whole, common.astype(mean.dtype), xp.sum(squares, axis=axes, keepdims=True) + apart)

    def finish(self, joined: Partial, axes: Axes) -> Any:
        count, _, squares = self.combine(joined, axes)
        xp = namespace_of(squares)
        rest = count - self.ddof
        divisor = xp.where(rest < 0, xp.zeros_like(rest), rest)
        if self.skips_nan:
            divisor = xp.where(rest <= 0, xp.full(rest.shape, np.nan), rest)
        variance = squares / divisor
        return (xp.sqrt(variance) if self.root else variance).astype(self.result)


@dataclass(frozen=True)
class CentralMoment(Kernel):
    """The mean of powers of distances from the mean: count, mean and the sums of all powers up to the order, moved to a
    common mean by the binomial theorem (Pébay, 2008, "Formulas for robust, one-pass parallel computation of
    covariances and arbitrary-order statistical moments")."""

    merges_tiles: ClassVar[bool] = True
    joins_cheaply: ClassVar[bool] = True
    dtype: Any
    order: int
    ddof: float

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"moment-{self.order}"

    @property
    def makes_temporaries(self) -> bool:
        return True

    def first(self, block: Any, axes: Axes, *position: Any) -> Partial:
        xp = namespace_of(block)
        count = _count(xp, block, axes)
        mean = xp.sum(block, axis=axes, keepdims=True, dtype=self.dtype) / xp.maximum(count, 1)
        distance = block - mean
        sums = [xp.sum(distance**power, axis=axes, keepdims=True) for power in range(2, self.order + 1)]
        return (count, mean, *sums)

    def combine(self, joined: Partial, axes: Axes) -> Partial:
        count, mean, *sums = joined
        xp = namespace_of(mean)
        whole = xp.sum(count, axis=axes, keepdims=True)
        common = xp.sum(mean * count, axis=axes, keepdims=True) / xp.maximum(whole, 1)
        apart = mean - common
        by_power = [count, xp.zeros_like(mean), *sums]
        moved = [
            xp.sum(
                sum(math.comb(power, k) * by_power[power - k] * apart**k for k in range(power + 1)),
                axis=axes, keepdims=True,
            )
            for power in range(2, self.order + 1)
        ]  # fmt: skip
        return (whole, common, *moved)

    def finish(self, joined: Partial, axes: Axes) -> Any:
        combined = self.combine(joined, axes)
        return (combined[-1] / (combined[0] - self.ddof)).astype(self.dtype)


@dataclass(frozen=True)
class ArgExtreme(Kernel):
    """The extreme value and where it is in the whole array; of equal ones the first. NaN counts as extreme."""

    joins_cheaply: ClassVar[bool] = True
    name: str
    smallest: bool
    shape: tuple[int, ...]
    flat: bool
    by_position: ClassVar[bool] = True
    needs_position: ClassVar[bool] = True

    @property
    def ignores_order(self) -> bool:
        return not self.flat

    def first(self, block: Any, axes: Axes, *position: Any) -> Partial:
        xp = namespace_of(block)
        (begin,) = position
        lengths = tuple(min(n, 1) if axis in axes else n for axis, n in enumerate(block.shape))
        if block.size == 0:
            return (block.reshape(lengths), xp.zeros(lengths, dtype=np.int64))
        find = xp.argmin if self.smallest else xp.argmax
        if not self.flat:
            place = xp.expand_dims(find(block, axis=axes[0]), axes[0])
            return (xp.take_along_axis(block, place, axis=axes[0]), place + begin[axes[0]])
        place = int(find(block))
        inside = np.unravel_index(place, block.shape)
        index = tuple(int(i) + b for i, b in zip(inside, begin, strict=True))
        value = block[tuple(slice(i, i + 1) for i in inside)]
        return (value, xp.full(lengths, np.ravel_multi_index(index, self.shape), dtype=np.int64))

    def combine(self, joined: Partial, axes: Axes) -> Partial:
        values, places = joined
        axes = tuple(axis for axis in axes if values.shape[axis])
        values = values.astype(object) if values.dtype.kind in "US" else values  # NumPy has no minimum of text
        xp = namespace_of(values)
        extreme = (xp.min if self.smallest else xp.max)(values, axis=axes, keepdims=True)
        is_extreme = (values == extreme) | (values != values)  # if there is NaN, it is the extreme
        far = np.iinfo(np.int64).max
        return (extreme, xp.min(xp.where(is_extreme, places, far), axis=axes, keepdims=True))

    def finish(self, joined: Partial, axes: Axes) -> Any:
        return self.combine(joined, axes)[1]


@dataclass(frozen=True)
class Top(Kernel):
    """The `k` largest elements along an axis, largest first; the smallest, smallest first, if `k` is negative."""

    k: int
    name: ClassVar[str] = "topk"  # type: ignore[misc]

    def first(self, block: Any, axes: Axes, *position: Any) -> Partial:
        (axis,) = axes
        return self._best(namespace_of(block).sort(block, axis=axis), axis)

    def combine(self, joined: Partial, axes: Axes) -> Partial:
        return self.first(joined, axes)

    def _best(self, ordered: Any, axis: int) -> Any:
        """Return the best elements of a block in ascending order."""
        which = slice(None, -self.k - 1, -1) if self.k > 0 else slice(None, -self.k)
        return ordered[(*(slice(None),) * axis, which)]


@dataclass(frozen=True)
class ArgTop(Top):
    """The values and positions of the `k` largest (smallest) elements along an axis; of equal ones, which are ordered by
    position, the last (first)."""

    name: ClassVar[str] = "argtopk"  # type: ignore[misc]
    needs_position: ClassVar[bool] = True

    def first(self, block: Any, axes: Axes, *position: Any) -> Partial:
        xp = namespace_of(block)
        ((axis,), (begin,)) = axes, position
        lengths = tuple(-1 if each == axis else 1 for each in range(block.ndim))
        places = xp.reshape(xp.arange(begin[axis], begin[axis] + block.shape[axis]), lengths)
        return self._sorted(xp, block, xp.broadcast_to(places, block.shape), axis)

    def combine(self, joined: Partial, axes: Axes) -> Partial:
        values, places = joined
        xp, (axis,) = namespace_of(values), axes
        by_place = xp.argsort(places, axis=axis)
        return self._sorted(
            xp, xp.take_along_axis(values, by_place, axis=axis), xp.take_along_axis(places, by_place, axis=axis), axis
        )

    def finish(self, joined: Partial, axes: Axes) -> Any:
        return self.combine(joined, axes)[1]

    def _sorted(self, xp: Any, values: Any, places: Any, axis: int) -> Partial:
        order = self._best(xp.argsort(values, axis=axis, kind="stable"), axis)
        return (xp.take_along_axis(values, order, axis=axis), xp.take_along_axis(places, order, axis=axis))


def _is_short_row(block: Any, axes: Axes) -> bool:
    """Whether a plain array of numbers is reduced along its last axis alone, which is short beside the others."""
    if axes != (block.ndim - 1,) or type(block) is not np.ndarray or block.dtype.kind not in "iuf":
        return False
    return 0 < block.shape[-1] <= _SHORT_ROW and block.size > 100 * block.shape[-1]


def _count(xp: Any, block: Any, axes: Axes) -> Any:
    """Return how many elements each partial result stands for, as an array that broadcasts like one."""
    if isinstance(block, np.ma.MaskedArray):
        return np.asarray(block.count(axis=axes, keepdims=True))
    number = 1
    for axis in axes:
        number *= block.shape[axis]
    return xp.full(tuple(1 if axis in axes else n for axis, n in enumerate(block.shape)), number, dtype=np.int64)


def _square(xp: Any, distance: Any) -> Any:
    if distance.dtype.kind == "c":
        return distance.real**2 + distance.imag**2
    return distance * distance


@dataclass(frozen=True)
class UserReduction(Kernel):
    """`chunk` of each block, `merge` of several joined, `aggregate` in the end: ``f(array, axis=..., keepdims=True)``."""

    name: str
    chunk: Callable[..., Any]
    merge: Callable[..., Any]
    aggregate: Callable[..., Any]

    def first(self, block: Any, axes: Axes, *position: Any) -> Partial:
        return self.chunk(block, axis=axes, keepdims=True)

    def combine(self, joined: Partial, axes: Axes) -> Partial:
        return self.merge(joined, axis=axes, keepdims=True)

    def finish(self, joined: Partial, axes: Axes) -> Any:
        return self.aggregate(joined, axis=axes, keepdims=True)
