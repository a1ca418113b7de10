"""Arrays as sets: `unique`, `isin`, `union1d`, `intersect1d`, `setdiff1d`, `setxor1d`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from glassloom.array.api.array import Array, asarray
from glassloom.array.api.creation import arange
from glassloom.array.api.dispatch import implements
from glassloom.array.api.joining import concatenate
from glassloom.array.chunks import UNKNOWN, is_known
from glassloom.array.ops.base import describe, make_meta, normalize_axis
from glassloom.array.ops.elementwise import on_one_device
from glassloom.array.ops.joining import collect
from glassloom.array.ops.labelled_axes import indexed
from glassloom.array.ops.mapping import Part
from glassloom.backends.arrays import namespace_of
from glassloom.errors import ChunkError

__all__ = [
    "intersect1d",
    "isin",
    "setdiff1d",
    "setxor1d",
    "union1d",
    "unique",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
]


class UniqueAll(NamedTuple):
    """Values, where each is first, where to find each element among them, and how often each occurs."""

    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueCounts(NamedTuple):
    """Values, and how often each occurs."""

    values: Array
    counts: Array


class UniqueInverse(NamedTuple):
    """Values, and where to find each element among them."""

    values: Array
    inverse_indices: Array


@implements(np.isin)
def isin(
    element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *, kind: Any = None
) -> Array:
    """Return where elements are among others.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.isin(ga.arange(4, chunks=2), [1, 3]).compute()
    array([False,  True, False,  True])
    """
    whole, others = map(Array, on_one_device([asarray(element).expr, asarray(test_elements).ravel().expr]))
    places = tuple(f"x{axis}" for axis in range(whole.ndim))
    found = indexed(
        isin_block, [whole.expr, others.expr], [places, ("t",)], (*places, "t"), dtype=bool,
        kwargs={"assume_unique": assume_unique}, sizes={"t": 1},
    )  # fmt: skip
    is_in = Array(found).any(axis=-1)
    return ~is_in if invert else is_in


def isin_block(block: Any, others: Any, assume_unique: bool) -> Any:
    """Return where elements of a block are among others."""
    xp = namespace_of(block)
    return xp.asarray(xp.isin(block, others, assume_unique=assume_unique))[..., None]


@implements(np.unique)
def unique(
    ar: Any, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False, axis: Any = None,
    *, equal_nan: bool = True, sorted: bool = True,
) -> Any:  # fmt: skip
    """Return the different elements, sorted; how many they are is known when they have been computed.

    Parameters
    ----------
    axis
        None for the elements of the flat array, or the axis along which whole slices are compared: the other axes
        become one block, and slices with NaN differ from each other.
    return_index, return_inverse, return_counts
        Whether also to return where each is first in the flat array, where each element of the array is among them,
        and how often each occurs.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.unique(ga.asarray([3, 1, 3])).compute()
    array([1, 3])
    """
    whole = asarray(ar)
    if axis is not None:
        return _unique_along(whole, normalize_axis(axis, whole.ndim), return_index, return_inverse, return_counts)
    flat = whole.ravel()
    if return_index and not is_known(flat.chunks[0]):
        raise ChunkError(
            f"unique: where elements of an array of {describe(flat.expr)} are first isn't known; "
            "call compute_chunk_sizes() first"
        )
    sources: list[Any] = [flat.expr]
    if return_index:
        sources.append(arange(flat.size, chunks=flat.chunks, dtype=np.intp).expr)
    counted = indexed(
        unique_of_block,
        sources,
        [(0,)] * len(sources),
        (0,),
        meta=flat.expr.meta,
        kwargs={"equal_nan": equal_nan},
        align=False,
    )
    joined = collect(counted, UniqueOfAll(equal_nan), ((UNKNOWN,),), flat.expr.meta)
    values, index, counts = (
        Array(indexed(Part(number), [joined], [(0,)], (0,), meta=make_meta(flat.expr.meta, 1, dtype)))
        for number, dtype in enumerate((flat.dtype, np.dtype(np.intp), np.dtype(np.intp)))
    )
    results = [values]
    if return_index:
        results.append(index)
    if return_inverse:
        names = tuple(range(whole.ndim))
        inverse = indexed(place_among, [whole.expr, values.expr], [names, ("v",)], names, dtype=np.intp)
        results.append(Array(inverse))
    if return_counts:
        results.append(counts)
    return results[0] if len(results) == 1 else tuple(results)


def _unique_along(whole: Array, axis: int, index: bool, inverse: bool, counts: bool) -> Any:
    joined = whole.rechunk({other: -1 for other in range(whole.ndim) if other != axis})
    own = tuple(range(whole.ndim))
    position = arange(whole.shape[axis], chunks=(whole.chunks[axis],), dtype=np.intp)
    meta = joined.expr.meta
    counted = indexed(
        slices_of_block, [joined.expr, position.expr], [own, (axis,)], own, meta=meta, kwargs={"axis": axis}
    )
    chunks = tuple((UNKNOWN,) if each == axis else blocks for each, blocks in enumerate(joined.chunks))
    together = collect(counted, SlicesOfAll(axis), chunks, meta)

    def part(number: int, axes: tuple[int, ...], dtype: Any) -> Array:
        part_meta = make_meta(meta, len(axes), dtype)
        return Array(indexed(Part(number), [together], [own], axes, meta=part_meta, align=False))

    values = part(0, own, whole.dtype)
    results = [values]
    if index:
        results.append(part(1, (axis,), np.intp))
    if inverse:
        names = tuple("v" if each == axis else each for each in own)
        found = indexed(
            slice_among, [joined.expr, values.expr], [own, names], (axis,), dtype=np.intp, kwargs={"axis": axis},
            align=False,
        )  # fmt: skip
        results.append(Array(found))
    if counts:
        results.append(part(2, (axis,), np.intp))
    return results[0] if len(results) == 1 else tuple(results)


def slices_of_block(block: Any, position: Any, axis: int) -> tuple[Any, Any, Any]:
    """Return the different slices of a block, where each is first in the whole array, and how often it occurs."""
    xp = namespace_of(block)
    values, first, counts = xp.unique(block, return_index=True, return_counts=True, axis=axis)
    return values, xp.asarray(position)[first], counts


class SlicesOfAll:
    """Joins what `slices_of_block` found."""

    __name__ = "unique"

    def __init__(self, axis: int) -> None:
        self.axis = axis

    def __glassloom_tokenize__(self) -> Any:
        return self.axis

    def __call__(self, parts: list[Any]) -> tuple[Any, Any, Any]:
        xp = namespace_of(parts[0][0])
        values = xp.concatenate([part[0] for part in parts], axis=self.axis)
        first, counts = (xp.concatenate([part[number] for part in parts]) for number in (1, 2))
        found, leader, inverse = xp.unique(values, return_index=True, return_inverse=True, axis=self.axis)
        totals = xp.bincount(inverse.ravel(), weights=counts, minlength=found.shape[self.axis]).astype(np.intp)
        return found, first[leader], totals


def slice_among(block: Any, values: Any, axis: int) -> Any:
    """Return where each slice of a block is among the different ones."""
    xp = namespace_of(block)
    together = xp.concatenate([values, block], axis=axis)
    return xp.unique(together, return_inverse=True, axis=axis)[1].ravel()[values.shape[axis] :]


def unique_of_block(block: Any, position: Any = None, *, equal_nan: bool) -> tuple[Any, Any, Any]:
    """Return the different elements of a block, where each is first in the whole array (or in the block, if nothing asks
    for the former), and how often it occurs."""
    xp = namespace_of(block)
    values, first, counts = xp.unique(block, return_index=True, return_counts=True, equal_nan=equal_nan)
    return values, first if position is None else xp.asarray(position)[first], counts


class UniqueOfAll:
    """Joins what `unique_of_block` found."""

    __name__ = "unique"

    def __init__(self, equal_nan: bool) -> None:
        self.equal_nan = equal_nan

    def __glassloom_tokenize__(self) -> Any:
        return self.equal_nan

    def __call__(self, parts: list[Any]) -> tuple[Any, Any, Any]:
        xp = namespace_of(parts[0][0])
        values, first, counts = (xp.concatenate(several) for several in zip(*parts, strict=True))
        found, leader, inverse = xp.unique(values, return_index=True, return_inverse=True, equal_nan=self.equal_nan)
        totals = xp.bincount(inverse.ravel(), weights=counts, minlength=len(found)).astype(np.intp)
        return found, first[leader], totals


def place_among(block: Any, values: Any) -> Any:
    """Return where each element of a block is among sorted values."""
    xp = namespace_of(block)
    return xp.asarray(xp.searchsorted(values, block))


@implements(np.unique_values)
def unique_values(x: Any) -> Array:
    """Return the different elements, each NaN on its own.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.unique_values(ga.asarray([3, 1, 3])).compute()
    array([1, 3])
    """
    made: Array = unique(x, equal_nan=False)
    return made


@implements(np.unique_counts)
def unique_counts(x: Any) -> UniqueCounts:
    """Return the different elements, each NaN on its own, and how often each occurs.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.unique_counts(ga.asarray([3, 1, 3])).counts.compute()
    array([1, 2])
    """
    return UniqueCounts(*unique(x, return_counts=True, equal_nan=False))


@implements(np.unique_inverse)
def unique_inverse(x: Any) -> UniqueInverse:
    """Return the different elements, and where each element is among them.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.unique_inverse(ga.asarray([3, 1, 3])).inverse_indices.compute()
    array([1, 0, 1])
    """
    return UniqueInverse(*unique(x, return_inverse=True, equal_nan=False))


@implements(np.unique_all)
def unique_all(x: Any) -> UniqueAll:
    """Return the different elements, where each is first, where each element is among them, and how often it occurs.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.unique_all(ga.asarray([3, 1, 3])).indices.compute()
    array([1, 0])
    """
    return UniqueAll(*unique(x, True, True, True, equal_nan=False))


@implements(np.union1d)
def union1d(ar1: Any, ar2: Any) -> Array:
    """Return the different elements of two arrays, sorted.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.union1d(ga.asarray([3, 1]), ga.asarray([1, 2])).compute()
    array([1, 2, 3])
    """
    made: Array = unique(concatenate([asarray(ar1).ravel(), asarray(ar2).ravel()]))
    return made


@implements(np.intersect1d)
def intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
    """Return the different elements that both arrays have, sorted.

    With `return_indices` also where each is first in the flat arrays.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.intersect1d(ga.asarray([3, 1, 3]), ga.asarray([1, 2, 3])).compute()
    array([1, 3])
    """
    one, other = asarray(ar1), asarray(ar2)
    dtype = np.result_type(one.dtype, other.dtype)
    one, other = one.astype(dtype), other.astype(dtype)
    if not return_indices:
        found: Array = unique(one)
        made: Array = found[isin(found, other)]
        return made
    (left, first_left), (right, first_right) = unique(one, return_index=True), unique(other, return_index=True)
    is_in_both = isin(left, other)
    return left[is_in_both], first_left[is_in_both], first_right[isin(right, one)]


@implements(np.setdiff1d)
def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Array:
    """Return the different elements that the first array has and the second hasn't, sorted.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.setdiff1d(ga.asarray([3, 1, 3]), ga.asarray([1, 2])).compute()
    array([3])
    """
    one: Array = unique(ar1)
    made: Array = one[isin(one, ar2, invert=True)]
    return made


@implements(np.setxor1d)
def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Array:
    """Return the different elements that only one of two arrays has, sorted.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.setxor1d(ga.asarray([3, 1, 3]), ga.asarray([1, 2])).compute()
    array([2, 3])
    """
    made: Array = unique(
        concatenate([setdiff1d(ar1, ar2), setdiff1d(ar2, ar1)]), equal_nan=False
    )  # NaN of both is twice
    return made
