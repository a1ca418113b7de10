"""Functions applied element by element, with NumPy's broadcasting and types. Operands get equal blocks first.

Scalars and lists are converted to an array's type by NumPy's own assignment (`fitted`), which says at the user's line whether they
fit. Arrays aren't checked: NumPy casts them, and so do the blocks that they are put into.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from glassloom.array.chunks import Chunks, common_refinement, is_known, text_of
from glassloom.array.ops.base import ArrayExpr, BlockwiseArray, SameChunks
from glassloom.array.ops.rechunk import rechunk
from glassloom.array.sources.memory import frozen
from glassloom.array.tiling.steps import TiledCast, TiledElementwise
from glassloom.backends.arrays import backend_of, converted, is_of_device, meta_namespace, namespace_of
from glassloom.errors import ChunkError
from glassloom.graph import function_label


def fitted(value: Any, dtype: Any, *, key: Any = ..., has_mask: bool = False) -> Any:
    """Return a scalar or nested lists as an array of a type, as ``array[key] = value`` of NumPy makes them one.

    Parameters
    ----------
    value
        A scalar, an array without axes, or nested lists of scalars.
    key
        How it is assigned: ``[0]`` for positions and masks, where NumPy casts its own scalars, which it refuses
        elsewhere; 0 for one element, which is no list; ``...`` for slices.
    has_mask
        Whether the array is a masked one: what the value masks then stays masked.

    Raises
    ------
    TypeError, ValueError, OverflowError
        What NumPy raises, if the value can't be an element: ``1j`` of floats, NaN of integers, 300 of ``uint8``.
    """
    if isinstance(value, (list, tuple)) and key != 0:
        return np.asarray(value, dtype=dtype)
    keeps_mask = has_mask and isinstance(value, np.ma.MaskedArray)
    made: Any = (np.ma.zeros if keeps_mask else np.zeros)(1, dtype)
    made[key] = value
    return made.reshape(())


def copied_for(block: Any, value: Any) -> Any:
    """Return a copy of a block that a value can be assigned to, or to a view of it."""
    made = block.copy()
    if isinstance(made, np.ma.MaskedArray) and isinstance(value, np.ma.MaskedArray):
        made.mask = np.ma.getmaskarray(made)  # a mask made for a view alone wouldn't be the block's
    return made


def is_masked(node: Any) -> bool:
    """Return whether the blocks of a node are masked arrays."""
    return isinstance(node.meta, np.ma.MaskedArray)


class Elementwise(BlockwiseArray):
    """``ufunc(*args, **kwargs)`` of arrays and scalars whose blocks are aligned."""

    parameters = ("ufunc", "args", "kwargs")

    ufunc: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    @property
    def label(self) -> str:
        return function_label(self.ufunc) if hasattr(self.ufunc, "__name__") else "elementwise"

    @cached_property
    def chunks(self) -> Chunks:
        return broadcast_chunks([node.chunks for node in self.dependencies])

    @cached_property
    def meta(self) -> Any:
        metas = [arg.meta if isinstance(arg, ArrayExpr) else arg for arg in self.args]
        with np.errstate(all="ignore"):
            made = self.ufunc(*metas, **self.kwargs)
        is_chunk = hasattr(made, "dtype") and not isinstance(made, np.generic)
        return made if is_chunk else np.asarray(made)

    @cached_property
    def function(self) -> Callable[..., Any]:
        if not self.kwargs and all(isinstance(arg, ArrayExpr) for arg in self.args):
            return self.ufunc
        return Applied(self.ufunc, self._args, self.kwargs)

    @property
    def tiled(self) -> Any:
        if self.ufunc is cast:
            return TiledCast(self.kwargs["dtype"])
        return TiledElementwise.of(self.ufunc, self._args, self.kwargs, _BLOCK)

    @property
    def _args(self) -> tuple[Any, ...]:
        return tuple(_BLOCK if isinstance(arg, ArrayExpr) else arg for arg in self.args)


class _Block:
    """Stands for a block among the arguments of `Applied`."""

    def __repr__(self) -> str:
        return "BLOCK"

    def __reduce__(self) -> str:
        return "_BLOCK"


_BLOCK = _Block()


class Applied:
    """A function with its scalars bound: called with the blocks alone."""

    __slots__ = ("_places", "args", "function", "kwargs")

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.function, self.args, self.kwargs = function, args, kwargs
        self._places = tuple(place for place, arg in enumerate(args) if arg is _BLOCK)

    def __reduce__(self) -> tuple[Any, ...]:
        return (Applied, (self.function, self.args, self.kwargs))

    @property
    def __name__(self) -> str:
        return str(getattr(self.function, "__name__", "elementwise"))

    def __call__(self, *blocks: Any) -> Any:
        args = list(self.args)
        for place, block in zip(self._places, blocks, strict=True):
            args[place] = block
        return self.function(*args, **self.kwargs)


class Output:
    """One of the outputs of a ufunc that has several."""

    def __init__(self, ufunc: np.ufunc, number: int) -> None:
        self.ufunc, self.number = ufunc, number

    @property
    def __name__(self) -> str:
        return f"{self.ufunc.__name__}{self.number}"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.ufunc(*args, **kwargs)[self.number]


def elementwise(ufunc: Callable[..., Any], *args: Any, **kwargs: Any) -> Elementwise:
    """Return the node of a function of arrays and scalars, with their blocks aligned.

    Raises
    ------
    ValueError
        If the shapes don't broadcast.
    """
    return Elementwise(ufunc, tuple(align(frozen(args))), frozen(kwargs))


def astype(node: ArrayExpr, dtype: Any, casting: str = "unsafe") -> ArrayExpr:
    """Return the array in another type; itself if it has it already."""
    wanted = np.dtype(dtype)
    if wanted == node.dtype:
        return node
    if not np.can_cast(node.dtype, wanted, casting=casting):  # type: ignore[arg-type]
        raise TypeError(f"cannot cast from {node.dtype} to {wanted} with casting={casting!r}")
    return Elementwise(cast, (node,), {"dtype": wanted})


def cast(block: Any, dtype: Any) -> Any:
    """Return a block in another type."""
    return block.astype(dtype)


def complex_expm1(block: Any) -> Any:
    """Return ``exp(z) - 1``: NumPy's own values, but what C and the array API standard say where it leaves them open: of
    infinity and NaN, and 0 for the imaginary part of what has none."""
    if not isinstance(block, np.ndarray):
        return namespace_of(block).expm1(block)
    made = np.asarray(np.expm1(block))
    real, imaginary = block.real, block.imag
    is_real, is_wild = imaginary == 0, ~np.isfinite(imaginary)
    made.real = np.where(is_real, np.expm1(real) + 0.0, made.real)  # without the sign of -0
    made.imag = np.where(is_real, imaginary, made.imag)
    for end, value in ((np.inf, complex(np.inf, np.nan)), (-np.inf, -1 + 0j)):
        made[is_wild & (real == end)] = value
    return made


def align(args: Sequence[Any]) -> list[Any]:
    """Return the arguments with arrays rechunked so that blocks of one position cover the same elements."""
    arrays = [arg for arg in args if isinstance(arg, ArrayExpr)]
    if len(arrays) < 2:
        return list(args)
    shape = broadcast_shape(arrays)
    wanted = [_axis_blocks(arrays, axis, len(shape)) for axis in range(len(shape))]
    return [fit(arg, wanted) if isinstance(arg, ArrayExpr) else arg for arg in on_one_device(args)]


def on_one_device(args: Sequence[Any], *, with_axes: bool = True) -> Sequence[Any]:
    """Return the arguments with arrays of the host moved to the device that others are on.

    Libraries of devices take numbers, but no array of NumPy's, not even one without axes.

    Parameters
    ----------
    with_axes
        Whether arrays with axes are moved too, not those of one number alone.
    """
    arrays = [arg for arg in args if isinstance(arg, ArrayExpr)]
    if all(type(node.meta) is np.ndarray for node in arrays):
        return args
    of_devices = {name for name in (backend_of(node.meta) for node in arrays) if is_of_device(name)}
    if len(of_devices) != 1:
        return args
    (device,) = of_devices
    return [
        ToBackend(arg, device)
        if isinstance(arg, ArrayExpr) and backend_of(arg.meta) == "numpy" and (with_axes or not arg.ndim)
        else arg
        for arg in args
    ]


def broadcast_shape(arrays: Sequence[ArrayExpr]) -> tuple[int, ...]:
    """Return the shape of several arrays together.

    Raises
    ------
    ValueError
        If they don't broadcast.
    """
    ndim = max(node.ndim for node in arrays)
    shape = [1] * ndim
    for node in arrays:
        for axis, length in enumerate(node.shape, start=ndim - node.ndim):
            if shape[axis] == 1:
                shape[axis] = length
            elif length not in (1, shape[axis]) and length == length and shape[axis] == shape[axis]:
                texts = [f"{other.shape} in chunks {text_of(other.chunks)}" for other in arrays]
                raise ValueError(f"shapes don't broadcast: {' and '.join(texts)}")
    return tuple(shape)


def _axis_blocks(arrays: Sequence[ArrayExpr], axis: int, ndim: int) -> tuple[int, ...]:
    """Return the blocks that all arrays get along an axis of the result."""
    several = []
    for node in arrays:
        own = axis - (ndim - node.ndim)
        if own >= 0 and node.shape[own] != 1:
            several.append(node.chunks[own])
    if not several:
        return (1,)
    if all(map(is_known, several)):
        return common_refinement(several)
    if len({len(blocks) for blocks in several}) != 1:
        raise ChunkError(
            f"axis {axis} has blocks of unknown length, {' and '.join(str(len(blocks)) for blocks in several)} of them; "
            "call compute_chunk_sizes() first"
        )
    return next((blocks for blocks in several if is_known(blocks)), several[0])


def fit(node: ArrayExpr, wanted: Sequence[tuple[int, ...]]) -> ArrayExpr:
    """Return an operand in the blocks that a result is to have; axes along which it is repeated keep theirs."""
    own = wanted[len(wanted) - node.ndim :]
    chunks = tuple(
        (1,) if length == 1 else (blocks if is_known(now) else now)
        for blocks, now, length in zip(own, node.chunks, node.shape, strict=True)
    )
    return rechunk(node, chunks)


def broadcast_chunks(several: Sequence[Chunks]) -> Chunks:
    """Return the blocks of aligned arrays together: along each axis those of an array that isn't broadcast there."""
    ndim = max(len(chunks) for chunks in several)
    found: list[tuple[int, ...]] = [(1,)] * ndim
    for chunks in several:
        for axis, blocks in enumerate(chunks, start=ndim - len(chunks)):
            if found[axis] == (1,) or not is_known(found[axis]):
                found[axis] = blocks if blocks != (1,) or found[axis] == (1,) else found[axis]
    return tuple(found)


class ToBackend(SameChunks, BlockwiseArray):
    """The same elements in blocks of another library."""

    parameters = ("array", "backend")

    backend: str

    @property
    def label(self) -> str:
        return f"to-{self.backend}"

    @cached_property
    def meta(self) -> Any:
        return meta_namespace(self.backend).ones((0,) * self.ndim, dtype=self.array.dtype)

    @cached_property
    def function(self) -> Any:
        return Converted(self.backend)


class Converted:
    """Makes a block one of a library."""

    __slots__ = ("backend",)

    def __init__(self, backend: str) -> None:
        self.backend = backend

    def __reduce__(self) -> tuple[Any, ...]:
        return (Converted, (self.backend,))

    def __glassloom_tokenize__(self) -> Any:
        return self.backend

    @property
    def __name__(self) -> str:
        return f"to-{self.backend}"

    def __call__(self, block: Any) -> Any:
        return converted(block, self.backend)
