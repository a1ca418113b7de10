"""Functions that find elements, or pick them: `nonzero`, `searchsorted`, `choose`, triangles, diagonals."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from glassloom.array.array import Array, asarray, operand_of
from glassloom.array.chunks import UNKNOWN
from glassloom.array.creation import arange, ones, zeros
from glassloom.array.elements import where
from glassloom.array.nodes import slicing
from glassloom.array.nodes.base import make_meta, normalize_axis
from glassloom.array.nodes.elementwise import elementwise
from glassloom.array.nodes.indexed import indexed
from glassloom.array.nodes.mapping import map_blocks
from glassloom.array.nodes.points import take_points
from glassloom.array.protocol import implements
from glassloom.array.shapes import broadcast_to
from glassloom.backends.arrays import namespace_of

__all__ = [
    "argwhere",
    "choose",
    "compress",
    "count_nonzero",
    "diag",
    "diagflat",
    "diagonal",
    "extract",
    "flatnonzero",
    "nonzero",
    "ravel_multi_index",
    "searchsorted",
    "select",
    "take",
    "take_along_axis",
    "trace",
    "tril",
    "tril_indices",
    "tril_indices_from",
    "triu",
    "triu_indices",
    "triu_indices_from",
    "unravel_index",
]


@implements(np.take)
def take(array: Any, indices: Any, axis: int | None = None) -> Array:
    """Return the elements at positions along an axis, or of the flat array.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.take(ga.arange(10, 20, chunks=4), [7, 0]).compute()
    array([17, 10])
    """
    return asarray(array).take(indices, axis)


@implements(np.compress)
def compress(condition: Any, array: Any, axis: int | None = None) -> Array:
    """Return the elements along an axis where a mask is true.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.compress([True, False, True], ga.arange(3, chunks=2)).compute()
    array([0, 2])
    """
    whole = asarray(array)
    whole = whole if axis is not None and whole.ndim else whole.ravel()
    place = 0 if axis is None else normalize_axis(axis, whole.ndim)
    mask = condition.expr if isinstance(condition, Array) else np.asarray(condition, dtype=bool)
    if isinstance(mask, np.ndarray) and mask.ndim == 1:  # NumPy lets the end of it go
        missing = operator.index(whole.shape[place]) - len(mask)
        mask = np.concatenate([mask, np.zeros(max(missing, 0), bool)])
        mask = mask if missing >= 0 or mask[missing:].any() else mask[:missing]
    return Array(slicing.take(whole.expr, mask, place))


@implements(np.flatnonzero)
def flatnonzero(array: Any) -> Array:
    """Return the positions in the flat array of elements that are not zero.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.flatnonzero(ga.asarray([0, 3, 0, 5])).compute()
    array([1, 3])
    """
    flat = asarray(array).ravel()
    made: Array = arange(flat.size, chunks=flat.chunks, dtype=np.intp, like=flat)[flat.astype(bool)]
    return made


@implements(np.nonzero)
def nonzero(array: Any) -> tuple[Array, ...]:
    """Return the positions of elements that are not zero: one array for each axis, of unknown length.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> [found.compute().tolist() for found in ga.nonzero(ga.eye(2, chunks=1))]
    [[0, 1], [0, 1]]
    """
    whole = asarray(array)
    if not whole.ndim:
        raise ValueError("nonzero of an array without axes; use ravel() first")
    flat = flatnonzero(whole)
    found, step = [], 1
    for length in reversed(whole.shape):
        found.append(flat // step % length if length else flat)
        step *= max(length, 1)
    return tuple(reversed(found))


@implements(np.argwhere)
def argwhere(array: Any) -> Array:
    """Return the positions of elements that are not zero, one row for each.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.argwhere(ga.eye(2, chunks=1)).compute()
    array([[0, 0],
           [1, 1]])
    """
    whole = asarray(array)
    flat = flatnonzero(whole)
    chunks = ((UNKNOWN,) * flat.numblocks[0], (whole.ndim,))
    made = map_blocks(unravel_block, (flat.expr,), {"shape": whole.shape}, dtype=np.intp, chunks=chunks, new_axis=(1,))
    return Array(made)


def unravel_block(block: Any, shape: tuple[int, ...]) -> Any:
    """Return the positions on each axis of positions in the flat array, as rows."""
    xp = namespace_of(block)
    steps = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    columns = [block // max(step, 1) % max(length, 1) for step, length in zip(steps, shape, strict=True)]
    return xp.stack(columns, axis=1) if shape else xp.zeros((len(block), 0), dtype=np.intp)


@implements(np.count_nonzero)
def count_nonzero(array: Any, axis: Any = None, *, keepdims: bool = False) -> Array:
    """Return the number of elements that are not zero, over axes.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.count_nonzero(ga.eye(3, chunks=2)).compute()
    np.int64(3)
    """
    return asarray(array).astype(bool).sum(axis, dtype=np.intp, keepdims=keepdims)


@implements(np.searchsorted)
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Array:
    """Return where values would have to be put into a sorted array.

    Parameters
    ----------
    a
        A sorted array with one axis.
    v
        The values.
    side
        ``"left"`` of equal elements, or ``"right"``.
    sorter
        Positions that sort `a`.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.searchsorted(ga.arange(10, chunks=4), [3, 20]).compute()
    array([ 3, 10])
    """
    whole, values = asarray(a), asarray(v)
    if whole.ndim != 1:
        raise ValueError(f"searchsorted in an array with {whole.ndim} axes, shape {whole.shape}; it needs 1")
    if side not in ("left", "right"):
        raise ValueError(f"side={side!r} is neither 'left' nor 'right'")
    if sorter is not None:
        whole = whole[sorter]
    places = tuple(f"v{axis}" for axis in range(values.ndim))
    counts = indexed(
        count_before, [whole.expr, values.expr], [("a",), places], ("a", *places), dtype=np.intp,
        kwargs={"side": side}, sizes={"a": 1},
    )  # fmt: skip
    return Array(counts).sum(axis=0)


def count_before(block: Any, values: Any, side: str) -> Any:
    """Return how many elements of a sorted block stand before each value."""
    return namespace_of(block).asarray(namespace_of(block).searchsorted(block, values, side=side))[None]


@implements(np.take_along_axis)
def take_along_axis(array: Any, indices: Any, axis: int | None = -1) -> Array:
    """Return elements at positions along an axis, other positions for each line.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.take_along_axis(ga.asarray([[5, 3], [7, 9]]), ga.asarray([[1], [0]]), axis=1).compute()
    array([[3],
           [7]])
    """
    whole, positions = asarray(array), asarray(indices)
    if axis is None:
        whole, axis = whole.ravel(), 0
    place = normalize_axis(axis, whole.ndim)
    if positions.ndim != whole.ndim:
        raise ValueError(f"take_along_axis: positions of shape {positions.shape} for an array of shape {whole.shape}")
    own = tuple(range(whole.ndim))
    theirs = tuple("new" if each == place else each for each in own)
    joined = whole.rechunk({place: -1})
    made = indexed(
        take_along_block, [joined.expr, positions.expr], [own, theirs], theirs,
        meta=make_meta(whole.expr.meta, whole.ndim), kwargs={"axis": place},
    )  # fmt: skip
    return Array(made)


def take_along_block(block: Any, positions: Any, axis: int) -> Any:
    """Return elements of a block at positions along an axis."""
    return namespace_of(block).take_along_axis(block, positions, axis=axis)


@implements(np.choose)
def choose(a: Any, choices: Sequence[Any]) -> Array:
    """Return, for each element, that of the choice with its number.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.choose(ga.asarray([0, 1, 0]), [10, ga.arange(3)]).compute()
    array([10,  1, 10])
    """
    return Array(elementwise(choose_block, *(operand_of(value) for value in (asarray(a), *choices))))


def choose_block(which: Any, *choices: Any) -> Any:
    """Return, for each element, that of the choice with its number."""
    xp = namespace_of(which)
    return xp.choose(which, [xp.broadcast_to(choice, which.shape) for choice in choices])


@implements(np.select)
def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Array:
    """Return elements of the first choice whose condition is true, else the default.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> x = ga.arange(4, chunks=2)
    >>> ga.select([x > 2, x > 0], [x, -x], 9).compute()
    array([ 9, -1, -2,  3])
    """
    if len(condlist) != len(choicelist) or not condlist:
        raise ValueError(f"select: {len(condlist)} conditions for {len(choicelist)} choices")
    made = default
    for condition, choice in zip(reversed(condlist), reversed(choicelist), strict=True):
        made = where(condition, choice, made)
    return asarray(made)


@implements(np.tril)
def tril(m: Any, k: int = 0) -> Array:
    """Return a copy with zeros above a diagonal.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.tril(ga.ones((2, 2), chunks=1, dtype=int)).compute()
    array([[1, 0],
           [1, 1]])
    """
    whole = _matrix(m, "tril")
    return _where_typed(_below(whole, k), whole)


@implements(np.triu)
def triu(m: Any, k: int = 0) -> Array:
    """Return a copy with zeros below a diagonal.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.triu(ga.ones((2, 2), chunks=1, dtype=int)).compute()
    array([[1, 1],
           [0, 1]])
    """
    whole = _matrix(m, "triu")
    return _where_typed(~_below(whole, k - 1), whole)


def _matrix(m: Any, what: str) -> Array:
    whole = asarray(m)
    if not whole.ndim:
        raise ValueError(f"{what} of an array without axes")
    return broadcast_to(whole, (operator.index(whole.shape[0]),) * 2) if whole.ndim == 1 else whole


def _below(whole: Array, k: int) -> Array:
    rows = arange(whole.shape[-2], chunks=(whole.chunks[-2],), like=whole)[:, None]
    columns = arange(whole.shape[-1], chunks=(whole.chunks[-1],), like=whole)[None, :]
    made: Array = columns <= rows + k
    return made


def _where_typed(mask: Array, whole: Array) -> Array:
    return Array(elementwise(np.where, mask.expr, whole.expr, np.zeros((), whole.dtype)[()]))


@implements(np.diagonal)
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """Return a diagonal of the matrices in two axes, as the last axis.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.diagonal(ga.arange(9).reshape(3, 3)).compute()
    array([0, 4, 8])
    """
    whole = asarray(a)
    if whole.ndim < 2:
        raise ValueError(f"diagonal of an array with {whole.ndim} axes, shape {whole.shape}; it needs at least 2")
    row, column = normalize_axis(axis1, whole.ndim, "axis1"), normalize_axis(axis2, whole.ndim, "axis2")
    if row == column:
        raise ValueError(f"diagonal: axis1={axis1} and axis2={axis2} are the same axis")
    first_row, first_column = max(-offset, 0), max(offset, 0)
    count = max(0, min(whole.shape[row] - first_row, whole.shape[column] - first_column))
    points = np.arange(count)
    made = Array(take_points(whole.expr, (row, column), (points + first_row, points + first_column)))
    return made.transpose((*range(1, made.ndim), 0))


@implements(np.diag)
def diag(v: Any, k: int = 0) -> Array:
    """Return the diagonal of a matrix, or a matrix with this diagonal.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.diag(ga.asarray([1, 2])).compute()
    array([[1, 0],
           [0, 2]])
    """
    whole = asarray(v)
    if whole.ndim == 2:
        return diagonal(whole, k)
    if whole.ndim != 1:
        raise ValueError(f"diag of an array with {whole.ndim} axes, shape {whole.shape}; it needs 1 or 2")
    length = whole.shape[0]
    square = _where_typed_row(whole)
    if not k:
        return square
    made = zeros((length + abs(k),) * 2, chunks=(whole.chunksize[0] or 1,) * 2, dtype=whole.dtype, like=whole)
    made[max(-k, 0) : max(-k, 0) + length, max(k, 0) : max(k, 0) + length] = square
    return made


def _where_typed_row(row: Array) -> Array:
    positions = arange(row.shape[0], chunks=row.chunks, like=row)
    return _where_typed(positions[:, None] == positions[None, :], row)


@implements(np.trace)
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Array:
    """Return the sum of a diagonal.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.trace(ga.arange(9).reshape(3, 3)).compute()
    np.int64(12)
    """
    return diagonal(a, offset, axis1, axis2).sum(axis=-1, dtype=dtype)


@implements(np.extract)
def extract(condition: Any, arr: Any) -> Array:
    """Return the elements of the flat array where a mask is true.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.extract(ga.asarray([[True, False]]), ga.asarray([[1, 2]])).compute()
    array([1])
    """
    return compress(asarray(condition).ravel().astype(bool), asarray(arr).ravel(), 0)


@implements(np.unravel_index)
def unravel_index(indices: Any, shape: Any, order: str = "C") -> tuple[Array, ...]:
    """Return positions on each axis for positions in the flat array, in C order or in that of ``"F"``.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> [axis.compute().tolist() for axis in ga.unravel_index(ga.asarray([5]), (2, 3))]
    [[1], [2]]
    """
    flat, lengths = asarray(indices), tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    parts = [elementwise(unravel_one, flat.expr, shape=lengths, order=order, axis=axis) for axis in range(len(lengths))]
    return tuple(map(Array, parts))


def unravel_one(block: Any, shape: tuple[int, ...], order: str, axis: int) -> Any:
    """Return positions on one axis for positions in the flat array."""
    if not block.size:
        return block.astype(np.intp)
    xp = namespace_of(block)
    return xp.asarray(xp.unravel_index(block, shape, order)[axis])


@implements(np.ravel_multi_index)
def ravel_multi_index(multi_index: Sequence[Any], dims: Sequence[int], mode: Any = "raise", order: str = "C") -> Array:
    """Return positions in the flat array for positions on each axis.

    Parameters
    ----------
    mode
        What becomes of positions beyond an axis: ``"raise"`` (its task fails), ``"wrap"`` or ``"clip"``; or one for
        each axis.
    order
        ``"C"``: the last axis changes fastest; or ``"F"``: the first.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.ravel_multi_index((ga.asarray([1]), ga.asarray([2])), (2, 3)).compute()
    array([5])
    """
    if len(multi_index) != len(dims):
        raise ValueError(f"ravel_multi_index: positions on {len(multi_index)} axes for {len(dims)} lengths")
    nodes = [asarray(position).expr for position in multi_index]
    lengths = tuple(int(length) for length in dims)
    return Array(elementwise(ravel_positions, *nodes, dims=lengths, mode=mode, order=order))


def ravel_positions(*positions: Any, dims: tuple[int, ...], mode: Any, order: str) -> Any:
    """Return positions in the flat array for positions on each axis."""
    xp = namespace_of(positions[0])
    spread = xp.broadcast_arrays(*positions)
    if not spread[0].size:
        return spread[0].astype(np.intp)
    return xp.asarray(xp.ravel_multi_index(tuple(spread), dims, mode, order))


def tril_indices(n: int, k: int = 0, m: int | None = None, *, chunks: Any = "auto") -> tuple[Array, ...]:
    """Return the positions of the lower triangle of an n by m matrix: rows and columns, of unknown length.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> [axis.compute().tolist() for axis in ga.tril_indices(2)]
    [[0, 1, 1], [0, 0, 1]]
    """
    return nonzero(tril(ones((n, n if m is None else m), chunks=chunks, dtype=bool), k))


def triu_indices(n: int, k: int = 0, m: int | None = None, *, chunks: Any = "auto") -> tuple[Array, ...]:
    """Return the positions of the upper triangle of an n by m matrix: rows and columns, of unknown length.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> [axis.compute().tolist() for axis in ga.triu_indices(2)]
    [[0, 0, 1], [0, 1, 1]]
    """
    return nonzero(triu(ones((n, n if m is None else m), chunks=chunks, dtype=bool), k))


@implements(np.tril_indices_from)
def tril_indices_from(arr: Any, k: int = 0) -> tuple[Array, ...]:
    """Return the positions of the lower triangle of a matrix; see `tril_indices`.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> len(ga.tril_indices_from(ga.eye(3)))
    2
    """
    whole = asarray(arr)
    return tril_indices(whole.shape[0], k, whole.shape[1], chunks=whole.chunks)


@implements(np.triu_indices_from)
def triu_indices_from(arr: Any, k: int = 0) -> tuple[Array, ...]:
    """Return the positions of the upper triangle of a matrix; see `triu_indices`.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> len(ga.triu_indices_from(ga.eye(3)))
    2
    """
    whole = asarray(arr)
    return triu_indices(whole.shape[0], k, whole.shape[1], chunks=whole.chunks)


@implements(np.diagflat)
def diagflat(v: Any, k: int = 0) -> Array:
    """Return a matrix with the elements of the flat array on a diagonal.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.diagflat(ga.asarray([[1, 2]])).compute()
    array([[1, 0],
           [0, 2]])
    """
    return diag(asarray(v).ravel(), k)
