"""Creating arrays: from shapes, ranges and formulas, from memory, from files, from delayed calls."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from glassloom import config
from glassloom.array.api.array import Array, asarray, check_device
from glassloom.array.api.dispatch import implements
from glassloom.array.api.joining import stack
from glassloom.array.api.shapes import broadcast_to, moveaxis
from glassloom.array.chunks import normalize_chunks
from glassloom.array.ops.base import ArrayExpr
from glassloom.array.ops.creation import Arange, FromBlock, Full, from_source
from glassloom.array.ops.elementwise import elementwise
from glassloom.array.ops.mapping import map_blocks
from glassloom.array.sources.choice import source_of
from glassloom.array.sources.source import Source
from glassloom.backends.arrays import backend_named, backend_of, meta_namespace
from glassloom.backends.standard_ import wrapped
from glassloom.delayed_call import Delayed
from glassloom.errors import ChunkError, OptionError

__all__ = [
    "arange",
    "array",
    "empty",
    "empty_like",
    "from_array",
    "from_delayed",
    "fromfunction",
    "full",
    "full_like",
    "geomspace",
    "indices",
    "linspace",
    "logspace",
    "meshgrid",
    "ones",
    "ones_like",
    "zeros",
    "zeros_like",
]


def full(
    shape: int | tuple[int, ...],
    fill_value: Any,
    *,
    chunks: Any = "auto",
    dtype: Any = None,
    like: Any = None,
    device: Any = None,
) -> Array:
    """Return an array of one value.

    Parameters
    ----------
    shape
        Length of each axis, 0 or more.
    fill_value
        The value.
    chunks
        Elements per block along each axis, bytes such as ``"128 MiB"``, or ``"auto"``.
    dtype
        Type of the elements; the value's own by default.
    like
        An array whose library makes the blocks, or the library's name, such as ``"cupy"``. Default NumPy.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.full(3, 7, chunks=2).compute()
    array([7, 7, 7])
    """
    check_device(device)
    if np.ndim(fill_value) != 0:
        raise ValueError(f"fill_value must be one value, got {fill_value!r}; use broadcast_to for an array")
    kind = np.asarray(fill_value).dtype if dtype is None else np.dtype(dtype)
    return _filled(shape, _as_element(fill_value, kind), chunks, kind, like)


def _as_element(value: Any, dtype: Any) -> Any:
    """Return a value as `numpy.full` puts it into an array of a type, or raise what NumPy raises."""
    if dtype.kind not in "biufcmMUS" or (dtype.kind in "US" and not dtype.itemsize):
        return value
    made = np.full((), value, dtype=dtype)
    return made.item() if dtype.kind in "biufc" else made[()]


def ones(
    shape: int | tuple[int, ...], *, chunks: Any = "auto", dtype: Any = float, like: Any = None, device: Any = None
) -> Array:
    """Return an array of ones; see `full` for the parameters.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.ones((15,), chunks=5).sum().compute()
    np.float64(15.0)
    """
    check_device(device)
    return _filled(shape, 1, chunks, np.dtype(dtype), like)


def zeros(
    shape: int | tuple[int, ...], *, chunks: Any = "auto", dtype: Any = float, like: Any = None, device: Any = None
) -> Array:
    """Return an array of zeros; see `full` for the parameters.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.zeros(3, chunks=2, dtype=int).compute()
    array([0, 0, 0])
    """
    check_device(device)
    return _filled(shape, _zero(np.dtype(dtype)), chunks, np.dtype(dtype), like)


def empty(
    shape: int | tuple[int, ...], *, chunks: Any = "auto", dtype: Any = float, like: Any = None, device: Any = None
) -> Array:
    """Return an uninitialised array; see `full` for the parameters.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.empty((2, 3), chunks=2).shape
    (2, 3)
    """
    check_device(device)
    return _filled(shape, None, chunks, np.dtype(dtype), like)


@implements(np.full_like)
def full_like(
    array: Any, fill_value: Any, *, dtype: Any = None, chunks: Any = None, shape: Any = None, device: Any = None
) -> Array:
    """Return an array of one value with the shape, type and blocks of another.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.full_like(ga.arange(3), 5).compute()
    array([5, 5, 5])
    """
    check_device(device)
    other = asarray(array)
    wanted = other.shape if shape is None else shape
    blocks = chunks if chunks is not None else (other.chunks if wanted == other.shape else "auto")
    return full(wanted, fill_value, chunks=blocks, dtype=dtype or other.dtype, like=other)


@implements(np.ones_like)
def ones_like(array: Any, *, dtype: Any = None, chunks: Any = None, shape: Any = None, device: Any = None) -> Array:
    """Return ones with the shape, type and blocks of another array.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.ones_like(ga.arange(3)).compute()
    array([1, 1, 1])
    """
    check_device(device)
    return full_like(array, 1, dtype=dtype, chunks=chunks, shape=shape)


@implements(np.zeros_like)
def zeros_like(array: Any, *, dtype: Any = None, chunks: Any = None, shape: Any = None, device: Any = None) -> Array:
    """Return zeros with the shape, type and blocks of another array.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.zeros_like(ga.arange(3)).compute()
    array([0, 0, 0])
    """
    check_device(device)
    return full_like(array, _zero(np.dtype(dtype or asarray(array).dtype)), dtype=dtype, chunks=chunks, shape=shape)


@implements(np.empty_like)
def empty_like(array: Any, *, dtype: Any = None, chunks: Any = None, shape: Any = None, device: Any = None) -> Array:
    """Return an uninitialised array with the shape, type and blocks of another array.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.empty_like(ga.arange(3)).dtype
    dtype('int64')
    """
    check_device(device)
    other = asarray(array)
    wanted = other.shape if shape is None else shape
    blocks = chunks if chunks is not None else (other.chunks if wanted == other.shape else "auto")
    return empty(wanted, chunks=blocks, dtype=dtype or other.dtype, like=other)


def arange(
    start: Any,
    stop: Any = None,
    step: Any = 1,
    *,
    chunks: Any = "auto",
    dtype: Any = None,
    like: Any = None,
    device: Any = None,
) -> Array:
    """Return evenly spaced values from `start` up to, but without, `stop`.

    Parameters
    ----------
    start, stop, step
        As for `numpy.arange`; with one argument it is `stop`.
    chunks, dtype, like
        As for `full`.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.arange(1, 50, 3, chunks=5).chunks
    ((5, 5, 5, 2),)
    """
    check_device(device)
    if stop is None:
        start, stop = 0, start
    for name, value in (("start", start), ("stop", stop), ("step", step)):
        if not isinstance(value, (int, float, np.integer, np.floating)):
            raise TypeError(f"arange: {name}={value!r} is not a real number")
    if step == 0:
        raise ValueError("arange: step=0")
    length = max(0, math.ceil((stop - start) / step))
    if all(isinstance(value, (int, np.integer)) for value in (start, stop, step)):
        length = len(range(int(start), int(stop), int(step)))
    kind = np.result_type(*map(type, (start, stop, step))) if dtype is None else np.dtype(dtype)
    if kind.kind not in "biuf":
        raise TypeError(f"arange: dtype={kind} is not a real number's")
    if kind.kind in "iu" and length:
        for value in (start, start + step)[:length]:  # as NumPy, which lets later ones wrap
            if not np.iinfo(kind).min <= value <= np.iinfo(kind).max:
                raise OverflowError(f"arange: {value} is out of bounds for dtype={kind}")
    blocks = normalize_chunks(chunks, (length,), kind)
    return Array(Arange(start, step, 0, 1, blocks, kind, _backend_name(like)))


def from_array(
    array: Any, chunks: Any = "auto", *, name: str | None = None, lock: Any = False, asarray: bool | None = None,
    inline_array: bool = False, copy: bool | None = None,
) -> Array:  # fmt: skip
    """Return an array that exists already, cut into blocks.

    Writeable memory is copied, so that later changes have no effect. Files are read when a task needs them, with what was
    written to them until then.

    Parameters
    ----------
    array
        An array of NumPy, CuPy or another library of the array API standard, or anything with ``shape``, ``dtype``
        and slicing (zarr, h5py...), which is read block by block. Memory maps are read like files.
    chunks
        As for `full`.
    name
        What stands for the content; equal names mean equal content. By default arrays in memory are hashed (about
        1 second per GB), files go by their name and the time of their last change, and objects that say neither, nor
        define ``__dask_tokenize__``, are equal to nothing.
    lock
        Of what is read block by block: True if one thread of a process at a time may read, or a lock of yours.
    asarray
        Whether blocks are made NumPy arrays. None: those that are read, but not arrays in memory. False: blocks are
        what slicing returns, such as masked arrays; one without elements is asked for at once.
    inline_array
        Taken as Dask has it, without effect: tasks always hold what they read from, which is sent once.
    copy
        Whether an array in memory is copied. None: if it, or what it is a view of, may be written to. False: never;
        nobody may change it before it is computed, or results are wrong, also those of other arrays.

    Examples
    --------
    >>> import numpy as np
    >>> import glassloom.array as ga
    >>> ga.from_array(np.arange(10), chunks=4).sum().compute()
    np.int64(45)
    """
    if isinstance(array, Array):
        raise TypeError(f"{array!r} is a lazy array already; use rechunk to cut it differently")
    array = wrapped(array)
    is_there = isinstance(array, Source) or all(hasattr(array, a) for a in ("shape", "dtype", "__getitem__"))
    if not is_there or type(array).__module__.partition(".")[0] == "pandas":
        array = np.asarray(array)
    source = source_of(array, name, copy=copy, asarray=asarray, lock=lock)
    return Array(from_source(source, normalize_chunks(chunks, source.shape, source.dtype)))


def array(
    object: Any, dtype: Any = None, *, copy: bool | None = True, ndmin: int = 0, chunks: Any = None, device: Any = None,
    like: Any = None,
) -> Array:  # fmt: skip
    """Return a value as a lazy array, copied so that later changes of the value don't show; see `asarray`.

    Parameters
    ----------
    ndmin
        How many axes there are at least: others, of length 1, are put in front.
    chunks
        As for `full`; by default one block, or those of a lazy array.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.array([1, 2, 3], ndmin=2).compute()
    array([[1, 2, 3]])
    """
    made = asarray(object, dtype, copy=copy, device=device, like=like)
    made = made[(None,) * (ndmin - made.ndim)] if made.ndim < ndmin else made
    return made if chunks is None else made.rechunk(chunks)


def from_delayed(value: Delayed, shape: tuple[int, ...], dtype: Any, *, like: Any = None) -> Array:
    """Return the result of a delayed call as an array of one block.

    Parameters
    ----------
    value
        The delayed call; what it returns is checked against shape and type when it has run.
    shape
        Length of each axis; ``math.nan`` where it isn't known.
    dtype
        Type of the elements.

    Examples
    --------
    >>> import numpy as np
    >>> import glassloom as gl
    >>> import glassloom.array as ga
    >>> lazy = gl.delayed(np.ones)(3)
    >>> (ga.from_delayed(lazy, (3,), float) + 1).compute()
    array([2., 2., 2.])
    """
    if not isinstance(value, Delayed):
        raise TypeError(f"from_delayed needs a Delayed, got {type(value).__name__}")
    meta = meta_namespace(_backend_name(like)).ones((0,) * len(shape), dtype=dtype)
    return Array(FromBlock(value.expr, tuple((length,) for length in shape), meta))


def _zero(dtype: np.dtype[Any]) -> Any:
    """Return what arrays of zeros hold: of text it is empty, and of records in each field its own."""
    return np.zeros((), dtype)[()] if dtype.kind in "USTV" else 0


def _filled(shape: Any, fill: Any, chunks: Any, dtype: Any, like: Any) -> Array:
    lengths = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    for length in lengths:
        is_unknown = isinstance(length, float) and math.isnan(length)
        if not is_unknown and (not isinstance(length, (int, np.integer)) or length < 0):
            raise ValueError(f"shape={shape!r} holds {length!r}; lengths must be integers of 0 or more")
    blocks = normalize_chunks(chunks, lengths, dtype)
    if any(isinstance(length, float) for axis in blocks for length in axis):
        raise ChunkError(f"shape={shape!r} has an unknown length; call compute_chunk_sizes() first")
    return Array(Full(fill, blocks, dtype, _backend_name(like)))


def _backend_name(like: Any) -> str:
    if like is None:
        name: str = config.get("array.backend")
        return name
    if isinstance(like, str):
        backend_named(like)
        return like
    chunk = like.expr.meta if isinstance(like, Array) else like
    if not hasattr(chunk, "dtype") and not isinstance(chunk, ArrayExpr):
        raise OptionError(f"like={like!r} is neither an array nor the name of a library")
    return backend_of(chunk)


@implements(np.linspace)
def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    chunks: Any = "auto",
    device: Any = None,
) -> Any:
    """Return `num` evenly spaced values from `start` to `stop`.

    Parameters
    ----------
    start, stop
        Numbers or arrays, lazy ones too; of arrays all pairs of ends are taken, side by side.
    retstep
        Whether to return the distance of the values too.
    axis
        Where the new axis goes if the ends are arrays.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.linspace(0, 1, 5, chunks=2).compute()
    array([0.  , 0.25, 0.5 , 0.75, 1.  ])
    """
    check_device(device)
    if num < 0:
        raise ValueError(f"linspace: num={num} is negative")
    gaps = num - 1 if endpoint else num
    is_plain = not any(isinstance(end, Array) or np.ndim(end) for end in (start, stop))
    first, last = (start, stop) if is_plain else (asarray(start), asarray(stop))
    kind = np.result_type(*(end.dtype if isinstance(end, Array) else np.asarray(end) for end in (first, last)), 1.0)
    first, last = (kind.type(end) if is_plain else end.astype(kind) for end in (first, last))
    span = last - first
    positions = arange(num, chunks=chunks, dtype=float, like=None if is_plain else span)
    if span.ndim:
        positions = positions[(slice(None), *(None,) * span.ndim)]
    step = span / gaps if gaps > 0 else span * np.nan
    values = positions * step + first if gaps > 0 else positions + first
    if endpoint and num > 1:
        end = last.expr if isinstance(last, Array) else last
        values = Array(elementwise(np.where, (positions == num - 1).expr, end, values.expr))
    values = moveaxis(values, 0, axis) if values.ndim > 1 else values
    if dtype is not None and np.dtype(dtype).kind in "iu":
        values = np.floor(values)
    made = values if dtype is None else values.astype(dtype)
    return (made, step) if retstep else made


@implements(np.meshgrid)
def meshgrid(*xi: Any, indexing: str = "xy", sparse: bool = False, copy: bool = True) -> tuple[Array, ...]:
    """Return the coordinates of a grid's points: an array for each axis.

    Parameters
    ----------
    indexing
        ``"xy"`` (the first two axes swapped, as for pictures) or ``"ij"``.
    sparse
        Whether axes along which nothing changes keep length 1.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.meshgrid(ga.arange(2), ga.arange(3))[0].compute()
    array([[0, 1],
           [0, 1],
           [0, 1]])
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing={indexing!r} is neither 'xy' nor 'ij'")
    lines = [asarray(x).ravel() for x in xi]
    order = list(range(len(lines)))
    if indexing == "xy" and len(lines) > 1:
        order[0], order[1] = 1, 0
    shape = tuple(lines[axis].shape[0] for axis in order)
    chunks = tuple(lines[axis].chunks[0] for axis in order)
    made = []
    for number, line in enumerate(lines):
        place = order.index(number)
        spread = line[tuple(slice(None) if axis == place else None for axis in range(len(lines)))]
        made.append(spread if sparse else broadcast_to(spread, shape, chunks=chunks))
    return tuple(made)


def indices(dimensions: Any, dtype: Any = int, *, sparse: bool = False, chunks: Any = "auto") -> Any:
    """Return the positions along each axis of every point of a grid.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.indices((2, 2), chunks=1)[0].compute()
    array([[0, 0],
           [1, 1]])
    """
    shape = tuple(dimensions)
    blocks = normalize_chunks(chunks, shape, dtype)
    lines = [arange(n, chunks=(own,), dtype=dtype) for n, own in zip(shape, blocks, strict=True)]
    grids = meshgrid(*lines, indexing="ij", sparse=sparse) if lines else ()
    if sparse:
        return grids
    return stack(grids) if grids else asarray(np.empty((0,), dtype=dtype))


def fromfunction(
    function: Callable[..., Any], shape: Any, *, dtype: Any = float, chunks: Any = "auto", **kwargs: Any
) -> Array:
    """Return an array made by a function of positions, block by block.

    Parameters
    ----------
    function
        Called with an array of positions for each axis, all of a block's shape.
    dtype
        Type of the positions.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.fromfunction(lambda i, j: i * 10 + j, (2, 3), chunks=2, dtype=int).compute()
    array([[ 0,  1,  2],
           [10, 11, 12]])
    """
    lengths = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    blocks = normalize_chunks(chunks, lengths, dtype)
    lines = [arange(n, chunks=(own,), dtype=dtype) for n, own in zip(lengths, blocks, strict=True)]
    grids = tuple(grid.expr for grid in meshgrid(*lines, indexing="ij"))
    if not grids:
        raise ValueError("fromfunction of a shape without axes")
    return Array(map_blocks(function, grids, kwargs))


def logspace(
    start: float, stop: float, num: int = 50, *, endpoint: bool = True, base: float = 10.0, chunks: Any = "auto",
    dtype: Any = None,
) -> Array:  # fmt: skip
    """Return powers of `base` whose exponents are evenly spaced.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.logspace(0, 2, 3, chunks=2).compute()
    array([  1.,  10., 100.])
    """
    made: Array = base ** linspace(start, stop, num, endpoint=endpoint, chunks=chunks)
    return made if dtype is None else made.astype(dtype)


@implements(np.geomspace)
def geomspace(
    start: float, stop: float, num: int = 50, *, endpoint: bool = True, chunks: Any = "auto", dtype: Any = None
) -> Array:
    """Return positive numbers from `start` to `stop`, each the same multiple of the one before.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.geomspace(1, 100, 3, chunks=2).compute()
    array([  1.,  10., 100.])
    """
    if start <= 0 or stop <= 0:
        raise ValueError(f"geomspace from {start} to {stop}; both must be positive")
    ends = (np.log10(start), np.log10(stop))
    return logspace(*ends, num, endpoint=endpoint, chunks=chunks, dtype=dtype)
