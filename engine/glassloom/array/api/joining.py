"""Arrays put together and cut up: `concatenate`, `stack`, `block`, `tile`, `split`, `insert`, `roll`..."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from glassloom.array.api.array import Array, asarray
from glassloom.array.api.dispatch import implements
from glassloom.array.api.shapes import atleast_3d, broadcast_to, moveaxis
from glassloom.array.chunks import longest
from glassloom.array.ops import joining, slicing
from glassloom.array.ops.base import normalize_axis
from glassloom.array.ops.mapping import map_blocks
from glassloom.backends.arrays import backend_of, namespace_of

__all__ = [
    "append",
    "array_split",
    "block",
    "column_stack",
    "concat",
    "concatenate",
    "delete",
    "dsplit",
    "dstack",
    "hsplit",
    "hstack",
    "insert",
    "repeat",
    "roll",
    "shuffle",
    "split",
    "stack",
    "tile",
    "unstack",
    "vsplit",
    "vstack",
]


@implements(np.concatenate)
def concatenate(arrays: Sequence[Any], axis: int | None = 0, dtype: Any = None, casting: str = "same_kind") -> Array:
    """Return arrays one after the other along an axis; raveled if `axis` is None.

    Parameters
    ----------
    dtype, casting
        The type of the result, and which casts to it are allowed; by default that which holds all.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.concatenate([ga.arange(2), ga.arange(3)]).compute()
    array([0, 1, 0, 1, 2])
    """
    wholes = _in_type(arrays, dtype, casting)
    if axis is None:
        return Array(joining.concatenate([whole.ravel().expr for whole in wholes], 0))
    return Array(joining.concatenate([whole.expr for whole in wholes], axis))


def _in_type(arrays: Sequence[Any], dtype: Any, casting: str) -> list[Array]:
    wholes = [asarray(array) for array in arrays]
    return wholes if dtype is None else [whole.astype(dtype, casting=casting) for whole in wholes]


@implements(np.stack)
def stack(arrays: Sequence[Any], axis: int = 0, *, dtype: Any = None, casting: str = "same_kind") -> Array:
    """Return arrays of one shape side by side along a new axis.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.stack([ga.ones(3), ga.zeros(3)]).shape
    (2, 3)
    """
    return Array(joining.stack([whole.expr for whole in _in_type(arrays, dtype, casting)], axis))


@implements(np.vstack)
def vstack(arrays: Sequence[Any], *, dtype: Any = None, casting: str = "same_kind") -> Array:
    """Return arrays below each other.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.vstack([ga.ones(3), ga.zeros(3)]).shape
    (2, 3)
    """
    wholes = [asarray(array) for array in arrays]
    return concatenate(
        [whole[(None,) * (2 - whole.ndim)] if whole.ndim < 2 else whole for whole in wholes], 0, dtype, casting
    )


@implements(np.hstack)
def hstack(arrays: Sequence[Any], *, dtype: Any = None, casting: str = "same_kind") -> Array:
    """Return arrays beside each other.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.hstack([ga.ones(3), ga.zeros(2)]).shape
    (5,)
    """
    wholes = [whole if whole.ndim else whole[None] for whole in map(asarray, arrays)]
    return concatenate(wholes, 0 if wholes and wholes[0].ndim == 1 else 1, dtype, casting)


concat = concatenate


@implements(np.block)
def block(arrays: Any) -> Array:
    """Return an array put together out of nested lists of arrays: the innermost along the last axis.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.block([[ga.eye(2), ga.zeros((2, 1))], [ga.ones((1, 3))]]).compute()
    array([[1., 0., 0.],
           [0., 1., 0.],
           [1., 1., 1.]])
    """
    depth = _depth(arrays)
    ndim = max(depth, _most_axes(arrays))
    return _block(arrays, depth, ndim)


def _depth(arrays: Any) -> int:
    if not isinstance(arrays, list):
        return 0
    if not arrays:
        raise ValueError("block: a list without arrays")
    depths = {_depth(each) for each in arrays}
    if len(depths) > 1:
        raise ValueError(f"block: lists are nested to different depths {sorted(depths)}")
    return 1 + depths.pop()


def _most_axes(arrays: Any) -> int:
    return max(map(_most_axes, arrays)) if isinstance(arrays, list) else asarray(arrays).ndim


def _block(arrays: Any, depth: int, ndim: int) -> Array:
    if depth:
        return concatenate([_block(each, depth - 1, ndim) for each in arrays], -depth)
    whole = asarray(arrays)
    return whole[(None,) * (ndim - whole.ndim)] if whole.ndim < ndim else whole


@implements(np.tile)
def tile(A: Any, reps: Any) -> Array:
    """Return the array repeated along each axis.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.tile(ga.arange(2), (2, 2)).compute()
    array([[0, 1, 0, 1],
           [0, 1, 0, 1]])
    """
    counts = tuple(reps) if isinstance(reps, (tuple, list, np.ndarray)) else (reps,)
    if any(count < 0 for count in counts):
        raise ValueError(f"tile: reps={reps!r} holds a negative number")
    whole = asarray(A)
    if len(counts) > whole.ndim:
        whole = whole[(None,) * (len(counts) - whole.ndim)]
    counts = (1,) * (whole.ndim - len(counts)) + counts
    for axis, count in enumerate(counts):
        if count == 0:
            whole = whole[(*(slice(None),) * axis, slice(0, 0))]
        elif count > 1:
            whole = concatenate([whole] * int(count), axis)
    return whole


@implements(np.repeat)
def repeat(a: Any, repeats: Any, axis: int | None = None) -> Array:
    """Return each element repeated, along an axis or of the flat array.

    Parameters
    ----------
    repeats
        How often: an integer, or one for each element along the axis.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.repeat(ga.arange(3, chunks=2), 2).compute()
    array([0, 0, 1, 1, 2, 2])
    """
    whole = asarray(a).ravel() if axis is None else asarray(a)
    place = 0 if axis is None else normalize_axis(axis, whole.ndim)
    counts = np.asarray(repeats.compute() if isinstance(repeats, Array) else repeats)
    if counts.dtype.kind not in "iu" and counts.size:
        raise TypeError(f"repeat: repeats={repeats!r} must be integers")
    if (counts < 0).any():
        raise ValueError(f"repeat: repeats={repeats!r} holds a negative number")
    if counts.size != 1:
        if counts.shape != (operator.index(whole.shape[place]),):
            raise ValueError(f"repeat: {counts.shape} repeats for axis {place} with {whole.shape[place]} elements")
        return whole.take(np.repeat(np.arange(len(counts)), counts), axis=place)
    count = int(counts.reshape(())[()])
    chunks = tuple(
        tuple(length * count for length in blocks) if each == place else blocks
        for each, blocks in enumerate(whole.chunks)
    )
    options = {"repeats": count, "axis": place}
    return Array(map_blocks(repeat_block, (whole.expr,), options, dtype=whole.dtype, chunks=chunks))


def repeat_block(block: Any, repeats: int, axis: int) -> Any:
    """Return each element of a block repeated along an axis."""
    return namespace_of(block).repeat(block, repeats, axis=axis)


@implements(np.roll)
def roll(a: Any, shift: Any, axis: Any = None) -> Array:
    """Return the elements moved along axes; those that leave at one end come in at the other.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.roll(ga.arange(5, chunks=2), 2).compute()
    array([3, 4, 0, 1, 2])
    """
    whole = asarray(a)
    if axis is None:
        shifts = shift if isinstance(shift, (tuple, list)) else (shift,)
        flat = whole.ravel()
        return _rolled(flat, int(sum(shifts)), 0).reshape(whole.shape)
    for by, along in np.broadcast(shift, axis):
        whole = _rolled(whole, int(by), normalize_axis(int(along), whole.ndim))
    return whole


def _rolled(whole: Array, by: int, axis: int) -> Array:
    length = whole.shape[axis]
    first = -by % length if length else 0
    if not first:
        return whole
    before = (slice(None),) * axis
    return concatenate([whole[(*before, slice(first, None))], whole[(*before, slice(0, first))]], axis)


@implements(np.dstack)
def dstack(tup: Sequence[Any]) -> Array:
    """Return arrays behind each other, along the third axis.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.dstack([ga.ones(3), ga.zeros(3)]).shape
    (1, 3, 2)
    """
    return concatenate([atleast_3d(array) for array in tup], 2)


@implements(np.column_stack)
def column_stack(tup: Sequence[Any]) -> Array:
    """Return arrays as the columns of one.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.column_stack([ga.ones(3), ga.zeros((3, 2))]).shape
    (3, 3)
    """
    wholes = [asarray(array) for array in tup]
    return concatenate([whole if whole.ndim > 1 else whole.ravel()[:, None] for whole in wholes], 1)


@implements(np.unstack)
def unstack(x: Any, /, *, axis: int = 0) -> tuple[Array, ...]:
    """Return the parts of an array along an axis, without that axis.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> [part.compute().tolist() for part in ga.unstack(ga.eye(2))]
    [[1.0, 0.0], [0.0, 1.0]]
    """
    whole = asarray(x)
    before = (slice(None),) * normalize_axis(axis, whole.ndim)
    return tuple(whole[(*before, number)] for number in range(whole.shape[len(before)]))


@implements(np.array_split)
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    """Return the array cut into parts along an axis: a number of about equal ones, or at positions.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> [part.shape for part in ga.array_split(ga.arange(5), 2)]
    [(3,), (2,)]
    """
    whole = asarray(ary)
    place = normalize_axis(axis, whole.ndim)
    length = whole.shape[place]
    if isinstance(indices_or_sections, (int, np.integer)):
        count = int(indices_or_sections)
        if count <= 0:
            raise ValueError(f"array_split into {count} parts")
        each, extra = divmod(length, count)
        edges = np.cumsum([0] + [each + 1] * extra + [each] * (count - extra)).tolist()
    else:
        edges = [0, *map(int, indices_or_sections), length]
    before = (slice(None),) * place
    parts = []
    for number, (begin, end) in enumerate(zip(edges, edges[1:], strict=False)):
        is_last = number == len(edges) - 2
        parts.append(whole[(*before, slice(begin, None if is_last else end))])
    return parts


@implements(np.split)
def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    """Return the array cut into equal parts along an axis, or at positions.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> [part.shape for part in ga.split(ga.arange(6), 2)]
    [(3,), (3,)]
    """
    whole = asarray(ary)
    length = whole.shape[normalize_axis(axis, whole.ndim)]
    if isinstance(indices_or_sections, (int, np.integer)) and length % indices_or_sections:
        raise ValueError(f"split of {length} elements into {indices_or_sections} equal parts; use array_split")
    return array_split(whole, indices_or_sections, axis)


@implements(np.vsplit)
def vsplit(ary: Any, indices_or_sections: Any) -> list[Array]:
    """Return the array cut into parts below each other.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> [part.shape for part in ga.vsplit(ga.ones((4, 2)), 2)]
    [(2, 2), (2, 2)]
    """
    return split(ary, indices_or_sections, 0)


@implements(np.hsplit)
def hsplit(ary: Any, indices_or_sections: Any) -> list[Array]:
    """Return the array cut into parts beside each other.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> [part.shape for part in ga.hsplit(ga.ones((4, 2)), 2)]
    [(4, 1), (4, 1)]
    """
    whole = asarray(ary)
    return split(whole, indices_or_sections, 0 if whole.ndim == 1 else 1)


@implements(np.append)
def append(arr: Any, values: Any, axis: int | None = None) -> Array:
    """Return values behind an array, along an axis or both flat.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.append(ga.arange(2), 7).compute()
    array([0, 1, 7])
    """
    whole = asarray(arr)
    new = _beside(whole, values)
    return concatenate([whole, new], axis) if axis is not None else concatenate([whole.ravel(), new.ravel()])


def _beside(whole: Array, values: Any, dtype: Any = None) -> Array:
    """Return values as an array that can be joined to another: what was no lazy array gets blocks of its library."""
    made = asarray(values, dtype=dtype)
    if isinstance(values, Array) or backend_of(made.expr.meta) != "numpy":
        return made
    found: Array = made.to_backend(backend_of(whole.expr.meta))
    return found


@implements(np.delete)
def delete(arr: Any, obj: Any, axis: int | None = None) -> Array:
    """Return the array without the elements at positions, along an axis or of the flat array.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.delete(ga.arange(5, chunks=2), [0, 3]).compute()
    array([1, 2, 4])
    """
    whole = asarray(arr).ravel() if axis is None else asarray(arr)
    place = 0 if axis is None else normalize_axis(axis, whole.ndim)
    kept = np.delete(np.arange(operator.index(whole.shape[place])), obj)
    return Array(slicing.take(whole.expr, kept, place))


@implements(np.insert)
def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Array:
    """Return the array with values put in before positions along an axis; of the flat array by default.

    Parameters
    ----------
    obj
        A position, several, or a slice.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.insert(ga.arange(4, chunks=2), [1, 3], [10, 30]).compute()
    array([ 0, 10,  1,  2, 30,  3])
    """
    whole = asarray(arr).ravel() if axis is None else asarray(arr)
    place = 0 if axis is None else normalize_axis(axis, whole.ndim)
    length = operator.index(whole.shape[place])
    is_single = isinstance(obj, (int, np.integer))
    new = _beside(
        whole, values, dtype=whole.dtype
    )  # lists and scalars as their elements are: what doesn't fit is refused
    if is_single and new.ndim == whole.ndim:
        new = moveaxis(new, 0, place)  # as NumPy does for one position
        obj = [obj] * new.shape[place]
    where = np.insert(np.arange(length), obj, np.full(np.asarray(np.r_[obj]).size, -1))
    count = len(where) - length
    if is_single and new.ndim and new.ndim < whole.ndim:
        new = new[(*(slice(None),) * place, None)] if new.ndim >= place else new
    shape = tuple(count if each == place else n for each, n in enumerate(whole.shape))
    spread = broadcast_to(new, shape)
    where[where < 0] = length + np.arange(count)
    if not is_single and not isinstance(obj, slice):  # values go with positions as they were given, not as sorted
        order = np.argsort(np.where(np.asarray(obj) < 0, np.asarray(obj) + length, obj), kind="stable").ravel()
        where[where >= length] = length + order
    return concatenate([whole, spread], place).take(where, axis=place)


def shuffle(x: Any, indexer: Sequence[Sequence[int]], axis: int = 0, chunks: Any = "auto") -> Array:
    """Return the elements at groups of positions along an axis, one group after the other; no block cuts a group.

    Parameters
    ----------
    indexer
        The groups: lists of positions.
    chunks
        How many elements a block may have, unless one group has more; ``"auto"``: as many as the longest block.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.shuffle(ga.arange(6, chunks=3), [[0, 3], [1, 4], [2, 5]]).compute()
    array([0, 3, 1, 4, 2, 5])
    """
    whole = asarray(x)
    place = normalize_axis(axis, whole.ndim)
    limit = longest(whole.chunks[place]) if chunks == "auto" else int(chunks)
    groups = [np.asarray(group, dtype=np.intp) for group in indexer]
    lengths: list[int] = []
    for group in groups:
        if lengths and lengths[-1] + len(group) <= limit:
            lengths[-1] += len(group)
        else:
            lengths.append(len(group))
    order = np.concatenate(groups) if groups else np.empty(0, dtype=np.intp)
    return whole.take(order, axis=place).rechunk({place: tuple(lengths) or (0,)})


@implements(np.dsplit)
def dsplit(ary: Any, indices_or_sections: Any) -> list[Array]:
    """Return the array cut into parts along the third axis.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> [part.shape for part in ga.dsplit(ga.ones((2, 2, 4)), 2)]
    [(2, 2, 2), (2, 2, 2)]
    """
    return split(ary, indices_or_sections, 2)
