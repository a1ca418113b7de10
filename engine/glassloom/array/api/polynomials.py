"""Products of sequences, and polynomials: `convolve`, `correlate`, `polyval`, `polyder`..."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from glassloom.array.api.array import Array, asarray
from glassloom.array.api.creation import zeros
from glassloom.array.api.dispatch import implements
from glassloom.array.api.joining import concatenate
from glassloom.array.chunks import starts
from glassloom.array.ops.creation import from_numpy
from glassloom.array.ops.elementwise import elementwise, on_one_device
from glassloom.array.ops.labelled_axes import indexed
from glassloom.array.ops.overlap import Overlap
from glassloom.array.ops.rechunk import rechunk
from glassloom.backends.arrays import namespace_of

__all__ = ["convolve", "correlate", "polyadd", "polyder", "polyint", "polysub", "polyval"]


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
    long, short = map(Array, on_one_device([asarray(a).expr, asarray(v).expr]))
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


@implements(np.polyadd)
def polyadd(a1: Any, a2: Any) -> Array:
    """Return the sum of two polynomials, whose coefficients begin with that of the highest power.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.polyadd(ga.arange(3, chunks=2), [1, 1]).compute()
    array([0, 2, 3])
    """
    one, other = _of_one_length(a1, a2)
    return one + other


@implements(np.polysub)
def polysub(a1: Any, a2: Any) -> Array:
    """Return the difference of two polynomials, whose coefficients begin with that of the highest power.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.polysub(ga.arange(3, chunks=2), [1, 1]).compute()
    array([0, 0, 1])
    """
    one, other = _of_one_length(a1, a2)
    return one - other


def _of_one_length(a1: Any, a2: Any) -> tuple[Any, Any]:
    """Return the coefficients of two polynomials, with zeros in front of the shorter."""
    both = [_coefficients(a1), _coefficients(a2)]
    longest = max(each.shape[0] for each in both)
    made = [
        each
        if each.shape[0] == longest
        else concatenate([zeros(longest - each.shape[0], dtype=each.dtype, like=each), each])
        for each in both
    ]
    return made[0], made[1]


@implements(np.polyder)
def polyder(p: Any, m: int = 1) -> Array:
    """Return the `m`-th derivative of a polynomial, whose coefficients begin with that of the highest power.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.polyder(ga.arange(1, 4, chunks=2)).compute()
    array([2, 2])
    """
    if operator.index(m) < 0:
        raise ValueError(f"polyder: m={m} must be at least 0; polyint integrates")
    made: Any = _coefficients(p)
    for _ in range(m):
        made = made[:-1] * np.arange(max(made.shape[0] - 1, 0), 0, -1)
    return asarray(made)


@implements(np.polyint)
def polyint(p: Any, m: int = 1, k: Any = None) -> Array:
    """Return the `m`-th integral of a polynomial, whose coefficients begin with that of the highest power.

    Parameters
    ----------
    k
        The constants of integration in the order in which they are added, or one for all; None is zeros.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.polyint(ga.asarray([3, 2]), k=5).compute()
    array([1.5, 2. , 5. ])
    """
    if operator.index(m) < 0:
        raise ValueError(f"polyint: m={m} must be at least 0; polyder differentiates")
    constants = np.atleast_1d(np.zeros(m) if k is None else np.asarray(k, dtype=float))
    if len(constants) == 1 and m > 1:
        constants = constants * np.ones(m)
    if len(constants) < m:
        raise ValueError(f"polyint: {len(constants)} constants k for m={m} integrals; there must be one or {m}")
    made: Any = _coefficients(p)
    for number in range(m):
        made = concatenate([made / np.arange(made.shape[0], 0, -1), asarray(constants[number : number + 1])])
    return asarray(made)


def _coefficients(p: Any) -> Any:
    made = asarray(p)
    whole = made if made.ndim else made[None]
    if whole.ndim > 1 or whole.shape[0] != whole.shape[0]:
        raise ValueError(f"coefficients of shape {made.shape}; they need one axis of known length")
    return whole


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
