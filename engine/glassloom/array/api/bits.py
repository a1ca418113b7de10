"""Truth values packed into bytes, and taken out of them: `packbits`, `unpackbits`."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from glassloom.array.api.array import Array, asarray
from glassloom.array.api.creation import zeros
from glassloom.array.api.dispatch import implements
from glassloom.array.api.joining import concatenate
from glassloom.array.ops.base import make_meta, normalize_axis
from glassloom.array.ops.labelled_axes import indexed
from glassloom.backends.arrays import namespace_of

__all__ = ["packbits", "unpackbits"]


@implements(np.packbits)
def packbits(a: Any, axis: int | None = None, bitorder: str = "big") -> Array:
    """Return the truth values along an axis, or of the flat array, as bits of bytes; the last byte is filled with zeros.

    Blocks are cut at every eighth element.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.packbits(ga.ones(10, dtype=bool, chunks=4)).compute()
    array([255, 192], dtype=uint8)
    """
    whole = asarray(a)
    if whole.dtype.kind not in "biu":
        raise TypeError(f"packbits of an array of type {whole.dtype}; it needs truth values or integers")
    whole = whole.ravel() if axis is None else whole
    place = normalize_axis(0 if axis is None else axis, whole.ndim)
    ends = [min(-(-end // 8) * 8, whole.shape[place]) for end in itertools.accumulate(whole.chunks[place])]
    lengths = [end - begin for begin, end in itertools.pairwise([0, *ends]) if end > begin] or [0]
    lined = whole.rechunk({place: tuple(lengths)})
    return _by_blocks(pack_block, lined, place, tuple(-(-length // 8) for length in lengths), bitorder)


@implements(np.unpackbits)
def unpackbits(a: Any, axis: int | None = None, count: int | None = None, bitorder: str = "big") -> Array:
    """Return the bits of bytes along an axis, or of the flat array, as zeros and ones.

    Parameters
    ----------
    count
        How many bits to return, filled with zeros if there are fewer; a negative number leaves out so many at the end.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.unpackbits(ga.asarray([255, 192]).astype("uint8"), count=10).compute()
    array([1, 1, 1, 1, 1, 1, 1, 1, 1, 1], dtype=uint8)
    """
    whole = asarray(a)
    if whole.dtype != np.uint8:
        raise TypeError(f"unpackbits of an array of type {whole.dtype}; it needs uint8")
    whole = whole.ravel() if axis is None else whole
    place = normalize_axis(0 if axis is None else axis, whole.ndim)
    made = _by_blocks(unpack_block, whole, place, tuple(8 * length for length in whole.chunks[place]), bitorder)
    if count is None:
        return made
    missing = count - made.shape[place]
    if missing > 0:
        shape = (*made.shape[:place], missing, *made.shape[place + 1 :])
        return concatenate([made, zeros(shape, dtype=np.uint8, like=made)], place)
    kept: Array = made[(*(slice(None),) * place, slice(0, count))]
    return kept


def _by_blocks(function: Any, whole: Array, axis: int, lengths: tuple[int, ...], bitorder: str) -> Array:
    if bitorder not in ("big", "little"):
        raise ValueError(f"bitorder={bitorder!r} is neither 'big' nor 'little'")
    own = tuple(range(whole.ndim))
    made = indexed(
        function, [whole.expr], [own], own, meta=make_meta(whole.expr.meta, whole.ndim, np.uint8),
        kwargs={"axis": axis, "bitorder": bitorder}, sizes={axis: lengths}, align=False,
    )  # fmt: skip
    return Array(made)


def pack_block(block: Any, axis: int, bitorder: str) -> Any:
    """Return the truth values of a block as bits of bytes."""
    xp = namespace_of(block)
    if xp is np:
        return np.packbits(block, axis=axis, bitorder=bitorder)  # type: ignore[call-overload]
    lined = xp.moveaxis(block != 0, axis, -1)  # CuPy packs flat arrays alone
    n_missing = -lined.shape[-1] % 8
    filled = xp.concatenate([lined, xp.zeros((*lined.shape[:-1], n_missing), dtype=bool)], axis=-1)
    bits = filled.reshape((*lined.shape[:-1], filled.shape[-1] // 8, 8)).astype(np.uint8)
    packed = xp.sum(xp.left_shift(bits, _places(xp, bitorder)), axis=-1, dtype=np.uint8)
    return xp.moveaxis(packed, -1, axis)


def unpack_block(block: Any, axis: int, bitorder: str) -> Any:
    """Return the bits of a block of bytes."""
    xp = namespace_of(block)
    if xp is np:
        return np.unpackbits(block, axis=axis, bitorder=bitorder)  # type: ignore[call-overload]
    lined = xp.moveaxis(block, axis, -1)
    bits = xp.bitwise_and(xp.right_shift(lined[..., None], _places(xp, bitorder)), xp.asarray(1, dtype=np.uint8))
    return xp.moveaxis(bits.reshape((*lined.shape[:-1], 8 * lined.shape[-1])), -1, axis)


def _places(xp: Any, bitorder: str) -> Any:
    """Return by how much each of eight bits is shifted in a byte."""
    places = xp.arange(8, dtype=np.uint8)
    return places if bitorder == "little" else places[::-1]
