"""Fourier transforms. Each axis that is transformed becomes one block; the others keep theirs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from glassloom.array.array import Array, asarray
from glassloom.array.creation import arange
from glassloom.array.nodes.base import make_meta, normalize_axes, normalize_axis
from glassloom.array.nodes.indexed import indexed
from glassloom.array.protocol import implements
from glassloom.array.shapes import concatenate
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


def _one_axis(name: str) -> Callable[..., Array]:
    def transform(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
        whole = asarray(a)
        place = normalize_axis(axis, whole.ndim)
        return _transformed(name, whole, [place], {"n": n, "axis": place, "norm": norm})

    return _documented(transform, name, "along an axis", "n", "Length of the axis that is transformed")


def _many_axes(name: str) -> Callable[..., Array]:
    default: Any = (-2, -1) if name.endswith("2") else None

    def transform(a: Any, s: Any = None, axes: Any = default, norm: str | None = None) -> Array:
        whole = asarray(a)
        if axes is None and s is not None:
            axes = tuple(range(whole.ndim - len(s), whole.ndim))
        places = normalize_axes(axes, whole.ndim)
        ordered = places if axes is None else tuple(normalize_axis(axis, whole.ndim) for axis in axes)
        return _transformed(name, whole, places, {"s": s, "axes": ordered, "norm": norm})

    return _documented(transform, name, "over several axes", "s", "Lengths of the axes that are transformed")


def _documented(function: Callable[..., Array], name: str, where: str, length: str, what: str) -> Callable[..., Array]:
    function.__name__ = function.__qualname__ = name
    function.__module__ = __name__
    function.__doc__ = f"""Return `numpy.fft.{name}` {where}; each becomes one block.

    Parameters
    ----------
    a
        The array.
    {length}
        {what}: cut, or filled with zeros. Default: as they are.
    norm
        Which direction is scaled: ``"backward"``, ``"ortho"`` or ``"forward"``.

    Examples
    --------
    >>> import numpy as np
    >>> import glassloom.array as ga
    >>> x = np.arange(16.0).reshape(4, 4)
    >>> bool(np.allclose(ga.fft.{name}(ga.from_array(x, chunks=2)), np.fft.{name}(x)))
    True
    """
    return implements(getattr(np.fft, name))(function)


fft = _one_axis("fft")
ifft = _one_axis("ifft")
rfft = _one_axis("rfft")
irfft = _one_axis("irfft")
hfft = _one_axis("hfft")
ihfft = _one_axis("ihfft")
fft2 = _many_axes("fft2")
ifft2 = _many_axes("ifft2")
rfft2 = _many_axes("rfft2")
irfft2 = _many_axes("irfft2")
fftn = _many_axes("fftn")
ifftn = _many_axes("ifftn")
rfftn = _many_axes("rfftn")
irfftn = _many_axes("irfftn")


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
