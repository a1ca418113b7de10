"""Products of sequences and values of polynomials: `convolve`, `correlate`, `polyval`."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from glassloom.array.array import Array, asarray
from glassloom.array.chunks import starts
from glassloom.array.nodes.creation import from_numpy
from glassloom.array.nodes.elementwise import elementwise
from glassloom.array.nodes.indexed import indexed
from glassloom.array.nodes.overlap import Overlap
from glassloom.array.nodes.rechunk import rechunk
from glassloom.array.protocol import implements
from glassloom.backends.arrays import namespace_of

__all__ = ["convolve", "correlate", "polyval"]


@implements(np.convolve)
def convolve(a: Any, v: Any, mode: str = "full") -> Array:
    """Return the sums of products of a sequence with another that is turned round and moved along it.

    The shorter sequence becomes one block; each block of the longer is read with so many elements of its neighbours.

    Parameters
    ----------
    mode
        ``"full"``: wherever they overlap; ``"same"``: as long as the longer one; ``"valid"``: where they overlap wholly.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.convolve(ga.arange(4, chunks=2), [1, 1]).compute()
    array([0, 1, 3, 5, 3])
    """
    long, short = asarray(a), asarray(v)
    if max(long.ndim, short.ndim) > 1:
        raise ValueError(f"convolve of arrays of shapes {long.shape} and {short.shape}; they need one axis")
    long, short = (whole if whole.ndim else whole[None] for whole in (long, short))
    n, m = operator.index(long.shape[0]), operator.index(short.shape[0])
    if m > n:
        long, short, n, m = short, long, m, n
    if not m:
        raise ValueError("convolve of a sequence without elements")
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"convolve: mode={mode!r} is none of 'full', 'same' and 'valid'")
    blocks = (*long.chunks[0], m - 1) if m > 1 else long.chunks[0]
    begins = starts(blocks)
    windows = tuple(
        (max(begin - m + 1, 0), max(min(begin + length, n), 0)) for begin, length in zip(begins, blocks, strict=True)
    )
    parts = [(begin - window[0], length) for begin, length, window in zip(begins, blocks, windows, strict=True)]
    wanted = rechunk(from_numpy(np.ravel(parts), copy=False), ((2,) * len(parts),))
    dtype = np.convolve(np.ones(1, long.dtype), np.ones(1, short.dtype)).dtype
    reached = Overlap(long.expr, (windows,))
    whole = Array(indexed(
        convolve_block, [reached, short.rechunk(-1).expr, wanted], [("n",), ("m",), ("n",)], ("n",), dtype=dtype,
        sizes={"n": blocks}, align=False,
    ))  # fmt: skip
    if mode == "full":
        return whole
    made: Array = whole[(m - 1) // 2 : (m - 1) // 2 + n] if mode == "same" else whole[m - 1 : n]
    return made


def convolve_block(window: Any, short: Any, part: Any) -> Any:
    """Return a part of the sums of products of a window: of the ends of a sequence, or where the short one lies in it.

    `part` is where it begins among the sums, and how many they are. Nothing stands beyond the ends: zeros there would
    make NaN of infinity.
    """
    xp = namespace_of(window)
    if not len(part) or not part[1]:
        return xp.convolve(xp.ones(1, dtype=window.dtype), short[:1])[:0]
    begin, length = map(int, part)
    if begin == len(short) - 1 and begin + length == len(window):
        return xp.convolve(window, short, mode="valid")
    return xp.convolve(window, short)[begin : begin + length]


@implements(np.correlate)
def correlate(a: Any, v: Any, mode: str = "valid") -> Array:
    """Return the sums of products of a sequence with another, conjugated, that is moved along it; see `convolve`.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.correlate(ga.arange(4, chunks=2), [0, 1]).compute()
    array([1, 2, 3])
    """
    one, other = asarray(a).ravel(), asarray(v).ravel()
    if operator.index(other.shape[0]) > operator.index(one.shape[0]):
        return _conjugated(correlate(other, one, mode)[::-1])
    return convolve(one, _conjugated(other)[::-1], mode)


def _conjugated(sequence: Array) -> Array:
    """Return the conjugate; truth values, of which NumPy makes small integers, as they are."""
    return asarray(sequence if sequence.dtype.kind == "b" else np.conjugate(sequence))


@implements(np.polyval)
def polyval(p: Any, x: Any) -> Array:
    """Return the values of a polynomial, whose coefficients begin with that of the highest power.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.polyval([1, 0, 2], ga.arange(3, chunks=2)).compute()
    array([2, 3, 6])
    """
    points: Any = asarray(x)
    coefficients = asarray(p) if isinstance(p, Array) else np.asarray(p)
    made: Any = Array(elementwise(np.zeros_like, points.expr))  # not `points * 0`, which is NaN for infinity
    for number in range(coefficients.shape[0]):
        made = made * points + coefficients[number]
    return asarray(made)
