"""Blocks that reach into their neighbours: `overlap`, `trim_overlap`, `map_overlap`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from glassloom.array.api.array import Array, asarray
from glassloom.array.api.dispatch import implements
from glassloom.array.api.mapping import map_blocks
from glassloom.array.api.padding import pad
from glassloom.array.chunks import Chunks, is_known, starts
from glassloom.array.ops.base import ArrayExpr, describe, normalize_axis
from glassloom.array.ops.elementwise import align
from glassloom.array.ops.overlap import Overlap, Trim, Windows
from glassloom.errors import ChunkError, OptionError

__all__ = [
    "map_overlap",
    "overlap",
    "trim_overlap",
]

_BOUNDARIES = {"reflect": "symmetric", "periodic": "wrap", "nearest": "edge"}


def overlap(x: Any, depth: Any, boundary: Any = "none") -> Array:
    """Return the array with blocks that reach `depth` elements into their neighbours.

    Parameters
    ----------
    depth
        An integer, a pair (in front, behind), one for each axis, or a dict by axis (0 for others).
    boundary
        What lies beyond the ends: ``"none"`` (nothing), ``"reflect"``, ``"periodic"``, ``"nearest"`` or a number; one
        for all axes, for each, or a dict by axis.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.overlap(ga.arange(6, chunks=3), depth=1, boundary=9).compute()
    array([9, 0, 1, 2, 3, 2, 3, 4, 5, 9])
    """
    whole = asarray(x)
    depths, ends = _depths(depth, whole.ndim), _boundaries(boundary, whole.ndim)
    return _overlapped(whole, depths, ends)


def _overlapped(whole: Array, depths: list[tuple[int, int]], ends: list[Any]) -> Array:
    if not all(map(is_known, whole.chunks)):
        raise ChunkError(f"overlap of an array of {describe(whole.expr)}; call compute_chunk_sizes() first")
    padded = whole
    for axis, (width, end) in enumerate(zip(depths, ends, strict=True)):
        if end == "none" or width == (0, 0):
            continue
        widths = [width if other == axis else (0, 0) for other in range(whole.ndim)]
        if isinstance(end, str):
            if max(width) > whole.shape[axis]:
                raise ChunkError(f"depth {max(width)} along axis {axis} with {whole.shape[axis]} elements")
            padded = pad(padded, widths, mode=_BOUNDARIES[end])
        else:
            padded = pad(padded, widths, mode="constant", constant_values=end)
    return Array(Overlap(padded.expr, _windows(whole.chunks, depths, ends)))


def _windows(chunks: Chunks, depths: list[tuple[int, int]], ends: list[Any]) -> Windows:
    found = []
    for blocks, (front, behind), end in zip(chunks, depths, ends, strict=True):
        total = sum(blocks)
        pairs = zip(starts(blocks), blocks, strict=True)
        if end == "none":
            found.append(tuple((max(0, s - front), min(total, s + n + behind)) for s, n in pairs))
        else:  # positions in the padded array
            found.append(tuple((s, s + n + front + behind) for s, n in pairs))
    return tuple(found)


def trim_overlap(x: Any, depth: Any, boundary: Any = "none") -> Array:
    """Return an array without the margins of its overlapping blocks: the inverse of `overlap`.

    Without a boundary only the first and last blocks are taken to have less than the whole margin.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> x = ga.arange(6, chunks=3)
    >>> ga.trim_overlap(ga.overlap(x, 1, "reflect"), 1, "reflect").compute()
    array([0, 1, 2, 3, 4, 5])
    """
    whole = asarray(x)
    depths, ends = _depths(depth, whole.ndim), _boundaries(boundary, whole.ndim)
    margins = []
    for blocks, (front, behind), end in zip(whole.chunks, depths, ends, strict=True):
        last = len(blocks) - 1
        is_open = end == "none"
        margins.append(
            tuple((0 if is_open and n == 0 else front, 0 if is_open and n == last else behind) for n in range(last + 1))
        )
    return Array(Trim(whole.expr, tuple(margins)))


def map_overlap(
    function: Callable[..., Any],
    *args: Any,
    depth: Any = None,
    boundary: Any = "none",
    trim: bool = True,
    dtype: Any = None,
    meta: Any = None,
    chunks: Any = None,
    align_arrays: bool = True,
    **kwargs: Any,
) -> Array:
    """Apply a function to blocks that reach into their neighbours, and take the margins off again.

    Parameters
    ----------
    function
        Called as ``function(*blocks, **kwargs)``; returns a block of the same shape (or of `chunks`, with
        ``trim=False``).
    args
        Arrays of one shape, and other values, which are passed on.
    depth, boundary
        As for `overlap`; or with several arrays a list with one for each of them.
    align_arrays
        Whether arrays get equal blocks first; otherwise blocks go together by number.
    trim
        Whether the margins are taken off, as the first array has them; otherwise the function does so, and says `chunks` where lengths change.
    dtype, meta
        As for `map_blocks`.

    Examples
    --------
    >>> import numpy as np
    >>> import glassloom.array as ga
    >>> x = ga.arange(6, chunks=3)
    >>> ga.map_overlap(lambda block: block + np.roll(block, 1), x, depth=1, boundary="periodic").compute()
    array([5, 1, 3, 5, 7, 9])
    """
    if depth is None:
        raise OptionError("map_overlap needs a depth: an integer, one for each axis, or a dict by axis")
    if align_arrays:
        args = tuple(Array(node) if isinstance(node, ArrayExpr) else node for node in align([
            arg.expr if isinstance(arg, Array) else arg for arg in args
        ]))  # fmt: skip
    arrays = [arg for arg in args if isinstance(arg, Array)]
    if not arrays:
        raise ValueError("map_overlap needs at least one array")
    ndim = max(array.ndim for array in arrays)
    several = [_depths(each, ndim) for each in _of_each_array(depth, len(arrays))]
    all_ends = [_boundaries(each, ndim) for each in _of_each_array(boundary, len(arrays))]
    depths, ends = several[0], all_ends[0]
    for arg in arrays:
        if align_arrays and arg.shape != arrays[0].shape:
            raise ValueError(f"map_overlap: arrays of shapes {arrays[0].shape} and {arg.shape}")
    if trim and any(0 in blocks and max(d) for blocks, d in zip(arrays[0].chunks, depths, strict=True)):
        raise ChunkError(f"map_overlap of an array of {describe(arrays[0].expr)}: rechunk blocks of length 0 away")
    margins = zip(several, all_ends, strict=True)
    extended = [_overlapped(arg, *next(margins)) if isinstance(arg, Array) else arg for arg in args]
    made = map_blocks(function, *extended, dtype=dtype, meta=meta, chunks=chunks, align_arrays=False, **kwargs)
    return Array(Trim(made.expr, _margins(arrays[0].chunks, depths, ends))) if trim else made


def _of_each_array(value: Any, count: int) -> list[Any]:
    return value if isinstance(value, list) and count > 1 and len(value) == count else [value] * count


def _margins(chunks: Chunks, depths: list[tuple[int, int]], ends: list[Any]) -> Windows:
    """Return what blocks of these lengths got in front and behind: less than the depth near an end without boundary."""
    found = []
    for blocks, windows, (front, _), end in zip(chunks, _windows(chunks, depths, ends), depths, ends, strict=True):
        first = [start + (0 if end == "none" else front) for start in starts(blocks)]
        found.append(tuple((s - low, high - s - n) for s, n, (low, high) in zip(first, blocks, windows, strict=True)))
    return tuple(found)


def _depths(depth: Any, ndim: int) -> list[tuple[int, int]]:
    """Return what a block gets in front and behind, for each axis."""
    return [_pair(each, axis) for axis, each in enumerate(_of_each_axis(depth, ndim, 0, "depth"))]


def _pair(depth: Any, axis: int) -> tuple[int, int]:
    pair = tuple(depth) if isinstance(depth, (tuple, list)) else (depth, depth)
    if len(pair) != 2 or not all(isinstance(each, (int, np.integer)) and each >= 0 for each in pair):
        raise OptionError(f"depth={depth!r} of axis {axis} is neither an integer of 0 or more nor a pair of such")
    return (int(pair[0]), int(pair[1]))


def _boundaries(boundary: Any, ndim: int) -> list[Any]:
    found = []
    for axis, each in enumerate(_of_each_axis(boundary, ndim, "none", "boundary")):
        end = "none" if each is None else each
        if isinstance(end, str) and end != "none" and end not in _BOUNDARIES:
            raise OptionError(f"boundary={end!r} of axis {axis} is no number and none of {['none', *_BOUNDARIES]}")
        found.append(end)
    return found


def _of_each_axis(value: Any, ndim: int, default: Any, what: str) -> list[Any]:
    if isinstance(value, Mapping):
        wrong = [axis for axis in value if not -ndim <= axis < ndim]
        if wrong:
            raise OptionError(f"{what}={value!r} names axis {wrong[0]} of an array with {ndim} axes")
        by_axis = {axis % ndim: each for axis, each in value.items()}
        return [by_axis.get(axis, default) for axis in range(ndim)]
    if isinstance(value, (tuple, list)):
        if len(value) != ndim:
            raise OptionError(f"{what}={value!r} has {len(value)} entries for an array with {ndim} axes")
        return list(value)
    return [value] * ndim


@implements(np.lib.stride_tricks.sliding_window_view)
def sliding_window_view(
    x: Any, window_shape: int | tuple[int, ...], axis: int | tuple[int, ...] | None = None, *, subok: bool = False,
    writeable: bool = False, automatic_rechunk: bool = True,
) -> Array:  # fmt: skip
    """Return all windows of an array, along new axes at the end; blocks read what they need of their neighbours.

    Parameters
    ----------
    window_shape, axis
        The length of the windows along each axis; without `axis` along all axes.
    subok, writeable, automatic_rechunk
        As NumPy's and Dask's, and without effect.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.lib.stride_tricks.sliding_window_view(ga.arange(4, chunks=2), 3).compute()
    array([[0, 1, 2],
           [1, 2, 3]])
    """
    whole = asarray(x)
    if not all(map(is_known, whole.chunks)):
        raise ChunkError(f"windows of an array of {describe(whole.expr)}; call compute_chunk_sizes() first")
    lengths = window_shape if isinstance(window_shape, (tuple, list)) else (window_shape,)
    named = (axis,) if isinstance(axis, (int, np.integer)) else axis
    axes = [normalize_axis(each, whole.ndim) for each in (range(whole.ndim) if named is None else named)]
    if len(lengths) != len(axes):
        raise ValueError(f"window_shape={window_shape!r} has {len(lengths)} lengths for {len(axes)} axes")
    chunks, windows = [], []
    for along, blocks in enumerate(whole.chunks):
        reach = sum(length - 1 for length, each in zip(lengths, axes, strict=True) if each == along)
        if reach < 0 or reach >= sum(blocks):
            raise ValueError(f"window_shape={window_shape!r} doesn't fit an array of shape {whole.shape}")
        found = _without_last(blocks, reach)
        chunks.append(found)
        windows.append(tuple((s, s + n + reach) for s, n in zip(starts(found), found, strict=True)))
    added = tuple(range(whole.ndim, whole.ndim + len(lengths)))
    return map_blocks(
        np.lib.stride_tricks.sliding_window_view, Array(Overlap(whole.expr, tuple(windows))), dtype=whole.dtype,
        chunks=(*chunks, *((length,) for length in lengths)), new_axis=added, window_shape=tuple(lengths),
        axis=tuple(axes),
    )  # fmt: skip


def _without_last(blocks: tuple[int, ...], count: int) -> tuple[int, ...]:
    """Return blocks without so many elements at the end.

    >>> _without_last((3, 3, 2), 4)
    (3, 1)
    """
    total = sum(blocks) - count
    pairs = zip(starts(blocks), blocks, strict=True)
    return tuple(min(length, total - start) for start, length in pairs if start < total)
