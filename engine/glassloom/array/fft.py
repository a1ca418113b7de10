"""Fourier transforms. Each axis that is transformed becomes one block; the others keep theirs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from glassloom.array.api.array import Array, asarray
from glassloom.array.api.creation import arange
from glassloom.array.api.dispatch import implements
from glassloom.array.api.joining import concatenate
from glassloom.array.ops.base import make_meta, normalize_axes, normalize_axis
from glassloom.array.ops.labelled_axes import indexed
from glassloom.backends.arrays import namespace_of

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2", "ifftn", "ifftshift", "ihfft", "irfft",
    "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]  # fmt: skip


class Transform:
    """A function of the array library's ``fft`` applied to a block."""

    def __init__(self, name: str, options: dict[str, Any]) -> None:
        self.name, self.options = name, options

    @property
    def __name__(self) -> str:
        return self.name

    def __glassloom_tokenize__(self) -> Any:
        return (self.name, self.options)

    def __call__(self, block: Any) -> Any:
        return getattr(namespace_of(block).fft, self.name)(block, **self.options)


def _transformed(name: str, whole: Array, axes: Sequence[int], options: dict[str, Any]) -> Array:
    """Return a transform over axes; NumPy is asked for its lengths and type with short lines."""
    tiny = np.ones(tuple(whole.shape[axis] if axis in axes else 1 for axis in range(whole.ndim)), dtype=whole.dtype)
    sample = getattr(np.fft, name)(tiny, **options)
    own = tuple(range(whole.ndim))
    inner = tuple(("line", axis) if axis in axes else axis for axis in own)
    out = tuple(("new", axis) if axis in axes else axis for axis in own)
    sizes: dict[Any, Any] = {("new", axis): (sample.shape[axis],) for axis in axes}
    meta = make_meta(whole.expr.meta, whole.ndim, sample.dtype)
    return Array(indexed(Transform(name, options), [whole.expr], [inner], out, meta=meta, sizes=sizes))


def _along_axis(name: str, a: Any, n: int | None, axis: int, norm: str | None) -> Array:
    whole = asarray(a)
    place = normalize_axis(axis, whole.ndim)
    return _transformed(name, whole, [place], {"n": n, "axis": place, "norm": norm})


def _over_axes(name: str, a: Any, s: Any, axes: Any, norm: str | None) -> Array:
    whole = asarray(a)
    if axes is None and s is not None:
        axes = tuple(range(whole.ndim - len(s), whole.ndim))
    places = normalize_axes(axes, whole.ndim)
    ordered = places if axes is None else tuple(normalize_axis(axis, whole.ndim) for axis in axes)
    return _transformed(name, whole, places, {"s": s, "axes": ordered, "norm": norm})


@implements(np.fft.fft)
def fft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """Return the Fourier transform along an axis, which becomes one block.

    Parameters
    ----------
    n
        Length of the axis that is transformed: cut, or filled with zeros. Default: as it is.
    norm
        Which direction is scaled: ``"backward"``, ``"ortho"`` or ``"forward"``.

    Examples
    --------
    >>> import numpy as np
    >>> import glassloom.array as ga
    >>> x = np.arange(16.0).reshape(4, 4)
    >>> bool(np.allclose(ga.fft.fft(ga.from_array(x, chunks=2)), np.fft.fft(x)))
    True
    """
    return _along_axis("fft", a, n, axis, norm)


@implements(np.fft.ifft)
def ifft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """Return the inverse Fourier transform along an axis, which becomes one block; see `fft` for the parameters.

    Examples
    --------
    >>> import numpy as np
    >>> import glassloom.array as ga
    >>> x = np.arange(16.0).reshape(4, 4)
    >>> bool(np.allclose(ga.fft.ifft(ga.from_array(x, chunks=2)), np.fft.ifft(x)))
    True
    """
    return _along_axis("ifft", a, n, axis, norm)


@implements(np.fft.rfft)
def rfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """Return the Fourier transform of real numbers along an axis, which becomes one block; see `fft` for the parameters.

    Examples
    --------
    >>> import numpy as np
    >>> import glassloom.array as ga
    >>> x = np.arange(16.0).reshape(4, 4)
    >>> bool(np.allclose(ga.fft.rfft(ga.from_array(x, chunks=2)), np.fft.rfft(x)))
    True
    """
    return _along_axis("rfft", a, n, axis, norm)


@implements(np.fft.irfft)
def irfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """Return the inverse of `rfft` along an axis, which becomes one block; see `fft` for the parameters.

    Examples
    --------
    >>> import numpy as np
    >>> import glassloom.array as ga
    >>> x = np.arange(16.0).reshape(4, 4)
    >>> bool(np.allclose(ga.fft.irfft(ga.from_array(x, chunks=2)), np.fft.irfft(x)))
    True
    """
    return _along_axis("irfft", a, n, axis, norm)


@implements(np.fft.hfft)
def hfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """Return the Fourier transform of numbers with Hermitian symmetry along an axis, which becomes one block; see `fft` for the parameters.

    Examples
    --------
    >>> import numpy as np
    >>> import glassloom.array as ga
    >>> x = np.arange(16.0).reshape(4, 4)
    >>> bool(np.allclose(ga.fft.hfft(ga.from_array(x, chunks=2)), np.fft.hfft(x)))
    True
    """
    return _along_axis("hfft", a, n, axis, norm)


@implements(np.fft.ihfft)
def ihfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """Return the inverse of `hfft` along an axis, which becomes one block; see `fft` for the parameters.

    Examples
    --------
    >>> import numpy as np
    >>> import glassloom.array as ga
    >>> x = np.arange(16.0).reshape(4, 4)
    >>> bool(np.allclose(ga.fft.ihfft(ga.from_array(x, chunks=2)), np.fft.ihfft(x)))
    True
    """
    return _along_axis("ihfft", a, n, axis, norm)


@implements(np.fft.fft2)
def fft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = None) -> Array:
    """Return the Fourier transform over two axes, which become one block; see `fftn` for the parameters.

    Examples
    --------
    >>> import numpy as np
    >>> import glassloom.array as ga
    >>> x = np.arange(16.0).reshape(4, 4)
    >>> bool(np.allclose(ga.fft.fft2(ga.from_array(x, chunks=2)), np.fft.fft2(x)))
    True
    """
    return _over_axes("fft2", a, s, axes, norm)


@implements(np.fft.ifft2)
def ifft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = None) -> Array:
    """Return the inverse Fourier transform over two axes, which become one block; see `fftn` for the parameters.

    Examples
    --------
    >>> import numpy as np
    >>> import glassloom.array as ga
    >>> x = np.arange(16.0).reshape(4, 4)
    >>> bool(np.allclose(ga.fft.ifft2(ga.from_array(x, chunks=2)), np.fft.ifft2(x)))
    True
    """
    return _over_axes("ifft2", a, s, axes, norm)


@implements(np.fft.rfft2)
def rfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = None) -> Array:
    """Return the Fourier transform of real numbers over two axes, which become one block; see `fftn` for the parameters.

    Examples
    --------
    >>> import numpy as np
    >>> import glassloom.array as ga
    >>> x = np.arange(16.0).reshape(4, 4)
    >>> bool(np.allclose(ga.fft.rfft2(ga.from_array(x, chunks=2)), np.fft.rfft2(x)))
    True
    """
    return _over_axes("rfft2", a, s, axes, norm)


@implements(np.fft.irfft2)
def irfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = None) -> Array:
    """Return the inverse of `rfft2` over two axes, which become one block; see `fftn` for the parameters.

    Examples
    --------
    >>> import numpy as np
    >>> import glassloom.array as ga
    >>> x = np.arange(16.0).reshape(4, 4)
    >>> bool(np.allclose(ga.fft.irfft2(ga.from_array(x, chunks=2)), np.fft.irfft2(x)))
    True
    """
    return _over_axes("irfft2", a, s, axes, norm)


@implements(np.fft.fftn)
def fftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> Array:
    """Return the Fourier transform over axes (all by default), which become one block.

    Parameters
    ----------
    s
        Lengths of the axes that are transformed: cut, or filled with zeros. Default: as they are.
    norm
        Which direction is scaled: ``"backward"``, ``"ortho"`` or ``"forward"``.

    Examples
    --------
    >>> import numpy as np
    >>> import glassloom.array as ga
    >>> x = np.arange(16.0).reshape(4, 4)
    >>> bool(np.allclose(ga.fft.fftn(ga.from_array(x, chunks=2)), np.fft.fftn(x)))
    True
    """
    return _over_axes("fftn", a, s, axes, norm)


@implements(np.fft.ifftn)
def ifftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> Array:
    """Return the inverse Fourier transform over axes (all by default), which become one block; see `fftn` for the parameters.

    Examples
    --------
    >>> import numpy as np
    >>> import glassloom.array as ga
    >>> x = np.arange(16.0).reshape(4, 4)
    >>> bool(np.allclose(ga.fft.ifftn(ga.from_array(x, chunks=2)), np.fft.ifftn(x)))
    True
    """
    return _over_axes("ifftn", a, s, axes, norm)


@implements(np.fft.rfftn)
def rfftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> Array:
    """Return the Fourier transform of real numbers over axes (all by default), which become one block; see `fftn` for the parameters.

    Examples
    --------
    >>> import numpy as np
    >>> import glassloom.array as ga
    >>> x = np.arange(16.0).reshape(4, 4)
    >>> bool(np.allclose(ga.fft.rfftn(ga.from_array(x, chunks=2)), np.fft.rfftn(x)))
    True
    """
    return _over_axes("rfftn", a, s, axes, norm)


@implements(np.fft.irfftn)
def irfftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> Array:
    """Return the inverse of `rfftn` over axes (all by default), which become one block; see `fftn` for the parameters.

    Examples
    --------
    >>> import numpy as np
    >>> import glassloom.array as ga
    >>> x = np.arange(16.0).reshape(4, 4)
    >>> bool(np.allclose(ga.fft.irfftn(ga.from_array(x, chunks=2)), np.fft.irfftn(x)))
    True
    """
    return _over_axes("irfftn", a, s, axes, norm)


def fftfreq(n: int, d: float = 1.0, *, chunks: Any = "auto", dtype: Any = None, device: Any = None) -> Array:
    """Return the frequencies of `fft`'s results, for `n` samples at a distance `d`.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.fft.fftfreq(4, chunks=2).compute()
    array([ 0.  ,  0.25, -0.5 , -0.25])
    """
    if n < 1:
        raise ValueError(f"fftfreq of {n} samples")
    half = (n - 1) // 2 + 1
    position = arange(n, chunks=chunks)
    made: Array = (position - n * (position >= half)) * (1.0 / (n * d))
    return made if dtype is None else made.astype(dtype)


def rfftfreq(n: int, d: float = 1.0, *, chunks: Any = "auto", dtype: Any = None, device: Any = None) -> Array:
    """Return the frequencies of `rfft`'s results, for `n` samples at a distance `d`.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.fft.rfftfreq(4, chunks=2).compute()
    array([0.  , 0.25, 0.5 ])
    """
    if n < 1:
        raise ValueError(f"rfftfreq of {n} samples")
    made: Array = arange(n // 2 + 1, chunks=chunks) * (1.0 / (n * d))
    return made if dtype is None else made.astype(dtype)


def _shifted(x: Any, axes: Any, backwards: bool) -> Array:
    whole = asarray(x)
    for axis in normalize_axes(axes, whole.ndim):
        length = whole.shape[axis]
        first = length // 2 if backwards else (length + 1) // 2
        before = (slice(None),) * axis
        if first and first != length:
            parts = [whole[(*before, slice(first, None))], whole[(*before, slice(0, first))]]
            whole = concatenate(parts, axis)
    return whole


@implements(np.fft.fftshift)
def fftshift(x: Any, axes: Any = None) -> Array:
    """Return the array with the zero frequency moved to the middle.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.fft.fftshift(ga.fft.fftfreq(4)).compute()
    array([-0.5 , -0.25,  0.  ,  0.25])
    """
    return _shifted(x, axes, False)


@implements(np.fft.ifftshift)
def ifftshift(x: Any, axes: Any = None) -> Array:
    """Return the array with the zero frequency moved back to the front.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.fft.ifftshift(ga.asarray([-0.5, -0.25, 0.0, 0.25])).compute()
    array([ 0.  ,  0.25, -0.5 , -0.25])
    """
    return _shifted(x, axes, True)
