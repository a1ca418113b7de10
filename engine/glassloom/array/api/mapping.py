"""Functions of the user's applied to blocks, lines and windows: `map_blocks`, `blockwise`, `reduction`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from glassloom.array.api.array import Array, asarray
from glassloom.array.api.dispatch import implements
from glassloom.array.ops import mapping
from glassloom.array.ops.base import ArrayExpr, make_meta, normalize_axes, normalize_axis
from glassloom.array.ops.labelled_axes import IndexedBlocks, check_labels, indexed
from glassloom.array.ops.mapping import BLOCK, MappedCall, split_lazy, tried, value_node
from glassloom.array.ops.reductions import reduce_with
from glassloom.array.ops.scans import user_scan
from glassloom.array.sources.memory import frozen
from glassloom.array.tiling.kernels import UserReduction
from glassloom.backends.arrays import namespace_of
from glassloom.backends.standard_ import OnOwnArrays, StandardChunk
from glassloom.errors import ChunkError

__all__ = [
    "apply_along_axis",
    "apply_over_axes",
    "blockwise",
    "coarsen",
    "cumreduction",
    "map_blocks",
    "rechunk",
    "reduction",
]


def map_blocks(
    function: Callable[..., Any],
    *args: Any,
    dtype: Any = None,
    chunks: Any = None,
    drop_axis: Any = (),
    new_axis: Any = None,
    meta: Any = None,
    block_id: bool = False,
    name: str | None = None,
    token: str | None = None,
    enforce_ndim: bool = False,
    align_arrays: bool = True,
    **kwargs: Any,
) -> Array:
    """Apply a function to each block.

    Parameters
    ----------
    function
        Called as ``function(*blocks, **kwargs)``; blocks of several arrays are those at the same place.
    args
        Arrays, which may broadcast, or have other shapes but as many blocks; other values are passed on, lazy ones when
        they are computed. Without an array, `chunks` says what the function makes.
    dtype
        Type of the result. Without it the function is tried on blocks of one element.
    chunks
        Lengths of the result's blocks, an entry for each axis; needed where they differ from the arrays'.
    drop_axis, new_axis
        Axes that the function removes (they become one block) and then puts in. If `chunks` has more axes than the
        arrays, new ones are in front by default.
    meta
        A chunk without elements that says library and type of the result, instead of `dtype`.
    block_id
        Whether the function also gets the block's index as ``block_id``; it does anyway if it has a parameter of that
        name. If it has a parameter ``block_info``, it gets a dict of where the blocks are: by position of the argument
        for each array, and under None for the result, with ``"shape"``, ``"num-chunks"``, ``"array-location"`` (where
        the block begins and ends along each axis) and ``"chunk-location"`` (its index); None where it is tried.
    name, token
        What to call it in keys and dashboards instead of the function's name; `token` if there is no `name`.
    enforce_ndim
        Whether a task fails if the function returns another number of axes than the result has.
    align_arrays
        Whether arrays whose shapes broadcast are rechunked to equal blocks; otherwise blocks go together by number.
    kwargs
        Passed on to the function; lazy values when they are computed.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.map_blocks(lambda block: block[::-1], ga.arange(6, chunks=3)).compute()
    array([2, 1, 0, 5, 4, 3])
    >>> def first_of(block, block_info=None):
    ...     return block * 0 + (0 if block_info is None else block_info[0]["array-location"][0][0])
    >>> ga.map_blocks(first_of, ga.arange(6, chunks=3)).compute()
    array([0, 0, 0, 3, 3, 3])
    """
    ndim_in = max((arg.ndim for arg in args if isinstance(arg, Array)), default=0)
    dropped = _axes_of(drop_axis, ndim_in)
    if new_axis is None and chunks is not None:
        new_axis = tuple(range(len(chunks) - (ndim_in - len(dropped))))
    added = _axes_of(new_axis, ndim_in - len(dropped) + _count(new_axis))
    if chunks is None and not any(isinstance(arg, Array) for arg in args):
        raise ChunkError("map_blocks without an array needs chunks=...: the lengths of the blocks that it makes")
    nodes = tuple(arg.expr if isinstance(arg, Array) else arg for arg in args)
    called = of_users(function, nodes)
    made = mapping.map_blocks(
        OfNdim(called, ndim_in - len(dropped) + len(added)) if enforce_ndim else called, nodes, kwargs, dtype=dtype,
        chunks=chunks, drop_axis=dropped, new_axis=added, meta=meta, called=name or token,
        align_arrays=align_arrays, wants_block_id=block_id or "block_id" not in kwargs and takes(function, "block_id"),
        wants_block_info="block_info" not in kwargs and takes(function, "block_info"),
    )  # fmt: skip
    return Array(made)


def takes(function: Callable[..., Any], name: str) -> bool:
    """Whether a function has a parameter of a name."""
    try:
        return name in inspect.signature(function).parameters
    except (TypeError, ValueError):  # NumPy's and others' that don't say
        return False


class OfNdim:
    """A function whose results must have a number of axes."""

    def __init__(self, function: Callable[..., Any], ndim: int) -> None:
        self.function, self.ndim = function, ndim

    @property
    def __name__(self) -> str:
        return str(getattr(self.function, "__name__", "map-blocks"))

    def __glassloom_tokenize__(self) -> Any:
        return (self.function, self.ndim)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        made = self.function(*args, **kwargs)
        if np.ndim(made) != self.ndim:
            raise ValueError(
                f"{self.__name__} returned a block with {np.ndim(made)} axes where {self.ndim} are expected"
            )
        return made


def of_users(function: Callable[..., Any], nodes: Sequence[Any]) -> Callable[..., Any]:
    """Return a user's function so that it gets blocks as their library has them; NumPy's and ours take wrapped ones."""
    is_wrapped = any(isinstance(node, ArrayExpr) and isinstance(node.meta, StandardChunk) for node in nodes)
    package = str(getattr(function, "__module__", None)).partition(".")[0]
    is_known = isinstance(function, np.ufunc) or package in ("numpy", "glassloom")
    return OnOwnArrays(function) if is_wrapped and not is_known else function


def _axes_of(axes: Any, ndim: int) -> tuple[int, ...]:
    return () if axes is None or axes == () or axes == [] else normalize_axes(axes, ndim)


def _count(axes: Any) -> int:
    if axes is None:
        return 0
    return len(axes) if isinstance(axes, (tuple, list)) else 1


def blockwise(
    function: Callable[..., Any],
    out_ind: Sequence[Any],
    *args: Any,
    dtype: Any = None,
    meta: Any = None,
    new_axes: Mapping[Any, Any] | None = None,
    adjust_chunks: Mapping[Any, Any] | None = None,
    align_arrays: bool = True,
    concatenate: bool | None = None,
    name: str | None = None,
    token: str | None = None,
    **kwargs: Any,
) -> Array:
    """Apply a function to blocks whose axes are named, as in Einstein's notation.

    Parameters
    ----------
    function
        Called as ``function(*blocks, **kwargs)``.
    out_ind
        The names of the result's axes, such as ``"ij"``.
    args
        Pairs of an array and the names of its axes; a value with None for names is passed on as it is, a lazy one when
        it is computed. Axes that `out_ind` lacks arrive as a whole.
    dtype, meta
        Type of the result, or a chunk without elements. Without them the function is tried on blocks of one element.
    new_axes
        Lengths of axes that no array has: an integer, or a tuple of lengths of blocks.
    adjust_chunks
        New lengths of blocks along axes: an integer, lengths, or a function from old length to new.
    align_arrays
        Whether to rechunk arrays until axes of one name have equal blocks.
    concatenate
        Always so: axes that `out_ind` lacks arrive as a whole. False, lists of blocks, is refused.
    name, token
        What to call it in keys and dashboards instead of the function's name; `token` if there is no `name`.
    kwargs
        Passed on to the function; lazy values when they are computed.

    Examples
    --------
    >>> import numpy as np
    >>> import glassloom.array as ga
    >>> x = ga.arange(4, chunks=2)
    >>> ga.blockwise(np.multiply.outer, "ij", x, "i", x, "j").sum().compute()
    np.int64(36)
    """
    if concatenate is False:
        raise NotImplementedError(
            "blockwise(concatenate=False): blocks along axes that out_ind lacks come as one array"
        )
    if len(args) % 2:
        raise ValueError(f"blockwise takes pairs of an array and the names of its axes, got {len(args)} arguments")
    pairs = list(zip(args[::2], args[1::2], strict=True))
    arrays = [(asarray(array).expr, tuple(names)) for array, names in pairs if names is not None]
    if not arrays:
        raise ValueError("blockwise needs at least one array with names of axes")
    plain, lazy = split_lazy(kwargs)
    sizes = {name: size if isinstance(size, tuple) else (size,) for name, size in (new_axes or {}).items()}
    for node, names in arrays:
        check_labels(node, names)
    unknown = set(out_ind) - {name for _, names in arrays for name in names} - set(sizes)
    if unknown:
        raise ValueError(
            f"blockwise: {sorted(map(str, unknown))} of {out_ind!r} are axes of no array; say new_axes=..."
        )
    made = indexed(
        function, [node for node, _ in arrays], [names for _, names in arrays], tuple(out_ind),
        meta=np.empty((0,) * len(out_ind)), sizes=sizes, align=align_arrays,
    )  # fmt: skip
    chunks = tuple(
        _adjusted(blocks, (adjust_chunks or {}).get(name)) for name, blocks in zip(out_ind, made.chunks, strict=True)
    )
    aligned = iter(zip(made.arrays, made.indices, strict=True))
    several = [(value_node(value), ()) if names is None else next(aligned) for value, names in pairs]
    call_args = tuple(BLOCK if isinstance(value, ArrayExpr) else value for value, _ in several)
    several = [(value, names) for value, names in several if isinstance(value, ArrayExpr)]
    several += [(value, ()) for value in lazy.values()]
    nodes = tuple(node for node, _ in several)
    call = MappedCall(
        of_users(function, nodes), call_args, plain, takes(function, "block_id") and "block_id" not in kwargs,
        lazy=tuple(lazy), called=name or token,
    )  # fmt: skip
    if meta is None:
        kind = tried(call, nodes, len(chunks), what="blockwise").dtype if dtype is None else dtype
        meta = make_meta(arrays[0][0].meta, len(chunks), kind)
    return Array(IndexedBlocks(call, nodes, tuple(names for _, names in several), made.out, chunks, meta))


def _adjusted(blocks: tuple[int, ...], change: Any) -> tuple[int, ...]:
    if change is None:
        return blocks
    if callable(change):
        return tuple(change(length) for length in blocks)
    if isinstance(change, (int, np.integer)):
        return (int(change),) * len(blocks)
    if len(change) != len(blocks):
        raise ChunkError(f"adjust_chunks={change!r} has {len(change)} lengths for {len(blocks)} blocks")
    return tuple(change)


def _tried(function: Callable[..., Any], tiny: Sequence[Any], what: str) -> Any:
    """Return what a function makes of blocks of one element."""
    try:
        with np.errstate(all="ignore"):
            return np.asarray(function(*tiny))
    except Exception as error:  # the function is the user's: it may do anything to a block of one element
        name = getattr(function, "label", getattr(function, "__name__", "the function"))
        raise ValueError(
            f"{what} tried {name} on blocks of one element to learn its type, but it raised "
            f"{type(error).__name__}: {error}. Say dtype=..."
        ) from error


@implements(np.apply_along_axis)
def apply_along_axis(
    function: Callable[..., Any], axis: int, arr: Any, *args: Any, dtype: Any = None, shape: Any = None, **kwargs: Any
) -> Array:
    """Apply a function to each line along an axis, which becomes one block.

    Parameters
    ----------
    dtype, shape
        Type and shape of what the function returns; without them it is tried on a line of ones.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.apply_along_axis(sorted, 1, ga.asarray([[3, 1], [2, 5]])).compute()
    array([[1, 3],
           [2, 5]])
    """
    whole = asarray(arr)
    function = of_users(function, [whole.expr])
    place = normalize_axis(axis, whole.ndim)
    if dtype is None or shape is None:
        line = namespace_of(whole.expr.meta).ones(whole.shape[place], dtype=whole.dtype)
        tried = _tried(lambda row: function(row, *args, **kwargs), [line], "apply_along_axis")
        dtype, shape = tried.dtype if dtype is None else dtype, tried.shape if shape is None else shape
    own = tuple(range(whole.ndim))
    new = tuple(f"new {number}" for number in range(len(shape)))
    made = indexed(
        AlongAxis(function, place, args, kwargs, tuple(shape), np.dtype(dtype)), [whole.expr], [own], (*own[:place], *new, *own[place + 1 :]),
        dtype=np.dtype(dtype), sizes={name: (length,) for name, length in zip(new, shape, strict=True)},
    )  # fmt: skip
    return Array(made)


class AlongAxis:
    """Applies a function to each line of a block."""

    def __init__(
        self, function: Callable[..., Any], axis: int, args: tuple[Any, ...], kwargs: dict[str, Any],
        shape: tuple[int, ...], dtype: Any,
    ) -> None:  # fmt: skip
        self.function, self.axis, self.args, self.kwargs = function, axis, frozen(args), frozen(kwargs)
        self.shape, self.dtype = shape, dtype

    @property
    def __name__(self) -> str:
        return str(getattr(self.function, "__name__", "apply-along-axis"))

    def __glassloom_tokenize__(self) -> Any:
        return (self.function, self.axis, self.args, self.kwargs, self.shape, self.dtype)

    def __call__(self, block: Any) -> Any:
        before, behind = block.shape[: self.axis], block.shape[self.axis + 1 :]
        if 0 in (*before, *behind):  # no lines
            return namespace_of(block).zeros((*before, *self.shape, *behind), dtype=self.dtype)
        return namespace_of(block).apply_along_axis(self.function, self.axis, block, *self.args, **self.kwargs)


@implements(np.apply_over_axes)
def apply_over_axes(function: Callable[..., Any], a: Any, axes: Any) -> Array:
    """Apply a function over several axes, one after the other; axes that it removes stay with length 1.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.apply_over_axes(ga.sum, ga.ones((2, 3), chunks=2), [0, 1]).compute()
    array([[6.]])
    """
    whole = asarray(a)
    for axis in normalize_axes(axes, whole.ndim):
        made = asarray(function(whole, axis))
        whole = made if made.ndim == whole.ndim else made[(*(slice(None),) * axis, None)]
    return whole


def reduction(
    x: Any,
    chunk: Callable[..., Any],
    aggregate: Callable[..., Any],
    axis: Any = None,
    keepdims: bool = False,
    *,
    combine: Callable[..., Any] | None = None,
    dtype: Any = None,
    split_every: int | dict[int, int] | None = None,
    name: str | None = None,
) -> Array:
    """Reduce an array with functions of your own, in a tree.

    Parameters
    ----------
    chunk, combine, aggregate
        Called as ``f(array, axis=axes, keepdims=True)``: of each block, of several results joined, and in the end.
        `combine` is `aggregate` by default.
    axis
        An axis, a tuple of axes, or None for all.
    dtype
        Type of the result; without it the functions are tried on one element.
    split_every
        How many blocks a task joins.

    Examples
    --------
    >>> import numpy as np
    >>> import glassloom.array as ga
    >>> ga.reduction(ga.arange(10, chunks=3), np.max, np.max).compute()
    np.int64(9)
    """
    whole = asarray(x)
    axes = normalize_axes(axis, whole.ndim)
    label = name or str(getattr(chunk, "__name__", "reduction")).strip("<>")
    steps = [of_users(step, [whole.expr]) for step in (chunk, combine or aggregate, aggregate)]
    kernel = UserReduction(label, *steps)
    if dtype is None:
        tiny = namespace_of(whole.expr.meta).ones((1,) * whole.ndim, dtype=whole.dtype)
        dtype = _tried(lambda block: kernel.finish(kernel.first(block, axes), axes), [tiny], "reduction").dtype
    return Array(reduce_with(whole.expr, kernel, axes, keepdims, dtype, split_every))


def cumreduction(
    func: Callable[..., Any], binop: Callable[..., Any], ident: Any, x: Any, axis: int | None = None, dtype: Any = None,
    *, method: str | None = None, preop: Callable[..., Any] | None = None,
) -> Array:  # fmt: skip
    """Accumulate functions of your own along an axis: each block alone, then joined to the total of the blocks before it.

    Parameters
    ----------
    func
        Called as ``func(block, axis=axis)``; returns an array of the same shape.
    binop
        Called with what the last elements before a block have come to, and with the block's result.
    ident, preop, method
        As Dask's, and without effect: nothing is joined to the first block.
    axis
        None: that of the flat array.
    dtype
        Type of the result, by default that of the array.

    Examples
    --------
    >>> import numpy as np
    >>> import glassloom.array as ga
    >>> ga.cumreduction(np.maximum.accumulate, np.maximum, 0, ga.asarray([3, 1, 4, 1], chunks=2)).compute()
    array([3, 3, 4, 4])
    """
    whole = asarray(x) if axis is not None else asarray(x).ravel()
    along = normalize_axis(axis or 0, whole.ndim)
    wanted = whole.dtype if dtype is None else np.dtype(dtype)
    function, join = (of_users(each, [whole.expr]) for each in (func, binop))
    return Array(user_scan(whole.expr, function, join, along, wanted))


def coarsen(
    reduction: Callable[..., Any], x: Any, axes: Mapping[int, int], trim_excess: bool = False, **kwargs: Any
) -> Array:
    """Reduce groups of neighbours along axes.

    Parameters
    ----------
    reduction
        A function such as `numpy.mean`, called with ``axis=``.
    axes
        How many elements a group has, by axis.
    trim_excess
        Whether elements at the end that don't fill a group are left out; otherwise they are an error.

    Examples
    --------
    >>> import numpy as np
    >>> import glassloom.array as ga
    >>> ga.coarsen(np.sum, ga.arange(7, chunks=3), {0: 2}, trim_excess=True).compute()
    array([1, 5, 9])
    """
    whole = asarray(x)
    sizes = {normalize_axis(axis, whole.ndim): size for axis, size in axes.items()}
    for axis, size in sizes.items():
        rest = whole.shape[axis] % size
        if rest and not trim_excess:
            raise ValueError(f"coarsen: axis {axis} has {whole.shape[axis]} elements, no multiple of {size}")
        whole = whole[(*(slice(None),) * axis, slice(None, whole.shape[axis] - rest))]
    shape: list[int] = []
    groups: list[int] = []
    for axis, length in enumerate(whole.shape):
        size = sizes.get(axis, 1)
        shape += [length // size, size] if axis in sizes else [length]
        if axis in sizes:
            groups.append(len(shape) - 1)
    return asarray(reduction(whole.reshape(shape), axis=tuple(groups), **kwargs))


def rechunk(x: Any, chunks: Any = "auto", **options: Any) -> Array:
    """Return the same array in other blocks; see `Array.rechunk`.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.rechunk(ga.ones(4, chunks=2), 3).chunks
    ((3, 1),)
    """
    return asarray(x).rechunk(chunks, **options)
