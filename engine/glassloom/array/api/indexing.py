"""Functions that find elements or take them: `nonzero`, `searchsorted`, `take`, `choose`, `select`; and that put values in their place: `put`, `place`, `putmask`."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from glassloom.array.api.array import Array, asarray, operand_of
from glassloom.array.api.creation import arange
from glassloom.array.api.dispatch import implements
from glassloom.array.api.elementwise import where
from glassloom.array.api.shapes import broadcast_to
from glassloom.array.chunks import UNKNOWN
from glassloom.array.ops import slicing
from glassloom.array.ops.base import make_meta, normalize_axis
from glassloom.array.ops.elementwise import elementwise, on_one_device
from glassloom.array.ops.labelled_axes import indexed
from glassloom.array.ops.mapping import map_blocks
from glassloom.backends.arrays import namespace_of

__all__ = [
    "argwhere",
    "choose",
    "compress",
    "count_nonzero",
    "extract",
    "flatnonzero",
    "ix_",
    "nonzero",
    "place",
    "put",
    "put_along_axis",
    "putmask",
    "ravel_multi_index",
    "searchsorted",
    "select",
    "take",
    "take_along_axis",
    "unravel_index",
]


@implements(np.take)
def take(array: Any, indices: Any, axis: int | None = None, *, mode: str = "raise") -> Array:
    """Return the elements at positions along an axis, or of the flat array.

    Parameters
    ----------
    mode
        What positions beyond the ends are: an `IndexError` (``"raise"``), counted around (``"wrap"``), or the nearest end
        (``"clip"``, which takes negative ones for the first).

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.take(ga.arange(10, 20, chunks=4), [7, 0]).compute()
    array([17, 10])
    """
    whole = asarray(array)
    if mode not in ("raise", "wrap", "clip"):
        raise ValueError(f"take: mode={mode!r} is none of 'raise', 'wrap' and 'clip'")
    if mode != "raise":
        length = operator.index(whole.size if axis is None else whole.shape[normalize_axis(axis, whole.ndim)])
        positions = (
            indices if isinstance(indices, Array) else np.asarray(indices, dtype=None if np.size(indices) else int)
        )
        if not length and positions.size:
            raise IndexError(f"take of positions of shape {positions.shape} from no elements")
        indices = positions % max(length, 1) if mode == "wrap" else positions.clip(0, length - 1)
        indices = int(indices) if isinstance(indices, np.generic) else indices
    return whole.take(indices, axis)


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
    whole, values = map(Array, on_one_device([asarray(a).expr, asarray(v).expr]))
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
    spread = [xp.broadcast_to(choice, which.shape) for choice in choices]
    return xp.choose(which, spread if xp is np else xp.stack(spread))  # CuPy takes no lists


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


@implements(np.ix_)
def ix_(*args: Any) -> tuple[Array, ...]:
    """Return positions along each axis so that ``x[ga.ix_(rows, columns)]`` takes all pairs of them.

    Parameters
    ----------
    args
        A list of positions, or a mask, for each axis.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.arange(6, chunks=2).reshape(2, 3)[ga.ix_([0, 1], [2, 0])].compute()
    array([[2, 0],
           [5, 3]])
    """
    made = []
    for place, each in enumerate(args):
        line = asarray(each)
        if line.ndim != 1:
            raise ValueError(f"ix_: argument {place} has {line.ndim} axes; it needs one")
        if line.dtype.kind == "b":
            line = flatnonzero(line)
        elif not line.size:
            line = line.astype(np.intp)
        made.append(line[tuple(slice(None) if axis == place else None for axis in range(len(args)))])
    return tuple(made)


@implements(np.put)
def put(a: Array, ind: Any, v: Any, mode: str = "raise") -> None:
    """Put values at positions of the flat array, in place; values are repeated if they are fewer.

    Parameters
    ----------
    a
        A lazy array, which is changed.
    ind
        Positions in C order, which may be lazy.
    v
        Values; they are cast to the array's type.
    mode
        What positions beyond the ends do: ``"raise"``, ``"wrap"`` or ``"clip"``.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> x = ga.zeros(4, chunks=2, dtype=int)
    >>> ga.put(x, [0, 3], [7, 8])
    >>> x.compute()
    array([7, 0, 0, 8])
    """
    _check_lazy(a, "put")
    if mode not in ("raise", "wrap", "clip"):
        raise ValueError(f"put: mode={mode!r} is none of 'raise', 'wrap' and 'clip'")
    flat = a.ravel()
    positions: Any = ind.ravel() if isinstance(ind, Array) else np.asarray(ind, dtype=np.intp).ravel()
    values: Any = asarray(v).ravel().astype(a.dtype)
    if not values.size or positions.shape[0] == 0:
        return
    if mode == "wrap":
        positions = positions % flat.shape[0]
    elif mode == "clip":
        positions = np.clip(positions, 0, flat.shape[0] - 1)
    if values.shape[0] != 1:
        values = values[np.arange(operator.index(positions.shape[0])) % values.shape[0]]
    flat[positions] = values
    a._expr = flat.reshape(a.shape).rechunk(a.chunks).expr


@implements(np.putmask)
def putmask(a: Array, mask: Any, values: Any) -> None:
    """Put the values that have the same places where a mask is true, in place; they are repeated if they are fewer.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> x = ga.arange(5, chunks=2)
    >>> ga.putmask(x, x > 1, [-33, -44])
    >>> x.compute()
    array([  0,   1, -33, -44, -33])
    """
    _check_lazy(a, "putmask")
    where_true = _mask_of(a, mask, "putmask")
    _put_where(a, where_true, values, flat_positions(a), "putmask")


@implements(np.place)
def place(arr: Array, mask: Any, vals: Any) -> None:
    """Put values, one after the other, where a mask is true, in place; they are repeated if they are fewer.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> x = ga.arange(5, chunks=2)
    >>> ga.place(x, x > 1, [7, 8])
    >>> x.compute()
    array([0, 1, 7, 8, 7])
    """
    _check_lazy(arr, "place")
    where_true = _mask_of(arr, mask, "place")
    numbers = where_true.ravel().cumsum(axis=0, dtype=np.intp) - 1
    _put_where(arr, where_true, vals, numbers.reshape(arr.shape), "place")


def _check_lazy(array: Any, what: str) -> None:
    if not isinstance(array, Array):
        raise TypeError(f"{what} changes a lazy array in place, got {type(array).__name__}; use numpy.{what}")


def _mask_of(array: Array, mask: Any, what: str) -> Array:
    made = asarray(mask)
    if made.shape != array.shape:
        raise ValueError(f"{what}: a mask of shape {made.shape} for an array of shape {array.shape}")
    return made.astype(bool)


def _put_where(array: Array, mask: Array, values: Any, numbers: Array, what: str) -> None:
    line = asarray(values).ravel()
    if not line.size:
        raise ValueError(f"{what} of no values")
    if isinstance(values, (Array, np.ndarray)) and not np.can_cast(values.dtype, array.dtype, "safe"):
        raise TypeError(
            f"{what}: values of type {values.dtype} into an array of type {array.dtype}; use astype() first"
        )
    array._expr = where(mask, cycled(line.astype(array.dtype), numbers), array).rechunk(array.chunks).expr


def flat_positions(array: Array) -> Array:
    """Return, in blocks like those of an array, the position of each element in C order."""
    made: Any = 0
    stride = 1
    for axis in reversed(range(array.ndim)):
        along = arange(array.shape[axis], chunks=(array.chunks[axis],), like=array)
        made = along[(..., *(None,) * (array.ndim - axis - 1))] * stride + made
        stride *= operator.index(array.shape[axis])
    return asarray(made)


def cycled(line: Array, numbers: Array) -> Array:
    """Return the elements of a line, which begins anew where it ends, at numbers."""
    own = tuple(range(numbers.ndim))
    made = indexed(
        cycled_block, [line.rechunk(-1).expr, numbers.expr], [("line",), own], own,
        meta=make_meta(line.expr.meta, numbers.ndim),
    )  # fmt: skip
    return Array(made)


def cycled_block(line: Any, numbers: Any) -> Any:
    """Return the elements of a line, which begins anew where it ends, at numbers."""
    return line[numbers % len(line)]


@implements(np.put_along_axis)
def put_along_axis(arr: Array, indices: Any, values: Any, axis: int | None) -> None:
    """Put values at positions along an axis, other positions for each line, in place; the axis becomes one block meanwhile.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> x = ga.zeros((2, 2), chunks=1, dtype=int)
    >>> ga.put_along_axis(x, ga.asarray([[1], [0]]), 9, axis=1)
    >>> x.compute()
    array([[0, 9],
           [9, 0]])
    """
    _check_lazy(arr, "put_along_axis")
    whole = arr.ravel() if axis is None else arr
    place = normalize_axis(0 if axis is None else axis, whole.ndim)
    positions = asarray(indices)
    if positions.ndim != whole.ndim:
        raise ValueError(f"put_along_axis: positions of shape {positions.shape} for an array of shape {whole.shape}")
    shape = (*whole.shape[:place], positions.shape[place], *whole.shape[place + 1 :])
    given = [broadcast_to(each, shape).rechunk({place: -1}) for each in (positions, asarray(values))]
    own = tuple(range(whole.ndim))
    theirs = tuple("put" if each == place else each for each in own)
    made = indexed(
        put_along_block, [whole.rechunk({place: -1}).expr, given[0].expr, given[1].astype(arr.dtype).expr],
        [own, theirs, theirs], own, meta=make_meta(whole.expr.meta, whole.ndim), kwargs={"axis": place},
    )  # fmt: skip
    arr._expr = Array(made).reshape(arr.shape).rechunk(arr.chunks).expr


def put_along_block(block: Any, positions: Any, values: Any, axis: int) -> Any:
    """Return a copy of a block with values at positions along an axis."""
    made = block.copy()
    namespace_of(block).put_along_axis(made, positions, values, axis)
    return made
