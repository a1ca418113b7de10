"""Windows, which signals are multiplied by: `bartlett`, `blackman`, `hamming`, `hanning`, `kaiser`."""

from __future__ import annotations

from typing import Any

import numpy as np

from glassloom.array.api.array import Array, asarray
from glassloom.array.api.creation import arange, ones
from glassloom.array.api.elementwise import i0

__all__ = ["bartlett", "blackman", "hamming", "hanning", "kaiser"]


def bartlett(M: int, *, chunks: Any = "auto") -> Array:
    """Return the Bartlett window: a triangle that begins and ends with 0, `M` points long.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.bartlett(3, chunks=2).compute().round(6)
    array([0., 1., 0.])
    """
    if M <= 1:
        return ones(max(M, 0), chunks=chunks)
    place: Any = arange(1 - M, M, 2, chunks=chunks) / (M - 1)
    return asarray(1 - abs(place))


def blackman(M: int, *, chunks: Any = "auto") -> Array:
    """Return the Blackman window, `M` points long.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.blackman(3, chunks=2).compute().round(6)
    array([-0.,  1., -0.])
    """
    if M <= 1:
        return ones(max(M, 0), chunks=chunks)
    place: Any = arange(1 - M, M, 2, chunks=chunks) / (M - 1)
    return asarray(0.42 + 0.5 * np.cos(np.pi * place) + 0.08 * np.cos(2 * np.pi * place))


def hamming(M: int, *, chunks: Any = "auto") -> Array:
    """Return the Hamming window: a raised cosine that begins and ends with 0.08, `M` points long.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.hamming(3, chunks=2).compute().round(6)
    array([0.08, 1.  , 0.08])
    """
    if M <= 1:
        return ones(max(M, 0), chunks=chunks)
    place: Any = arange(1 - M, M, 2, chunks=chunks) / (M - 1)
    return asarray(0.54 + 0.46 * np.cos(np.pi * place))


def hanning(M: int, *, chunks: Any = "auto") -> Array:
    """Return the Hann window: a raised cosine that begins and ends with 0, `M` points long.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.hanning(3, chunks=2).compute().round(6)
    array([0., 1., 0.])
    """
    if M <= 1:
        return ones(max(M, 0), chunks=chunks)
    place: Any = arange(1 - M, M, 2, chunks=chunks) / (M - 1)
    return asarray(0.5 + 0.5 * np.cos(np.pi * place))


def kaiser(M: int, beta: float, *, chunks: Any = "auto") -> Array:
    """Return the Kaiser window of the shape `beta`, `M` points long.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.kaiser(3, 0, chunks=2).compute().round(6)
    array([1., 1., 1.])
    """
    if M <= 1:
        return ones(max(M, 0), chunks=chunks)
    place: Any = arange(1 - M, M, 2, chunks=chunks) / (M - 1)
    return asarray(i0(beta * np.sqrt(1 - place**2)) / float(np.i0(float(beta))))
