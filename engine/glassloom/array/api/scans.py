"""Running sums and differences: `cumsum`, `cumprod`, `diff`, `gradient`..."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from glassloom.array.api.array import Array, asarray
from glassloom.array.api.dispatch import implements
from glassloom.array.api.elementwise import copyto, where
from glassloom.array.api.joining import concatenate
from glassloom.array.ops.base import normalize_axes, normalize_axis
from glassloom.array.ops.scans import scan
from glassloom.errors import OptionError

__all__ = [
    "cumprod",
    "cumsum",
    "cumulative_prod",
    "cumulative_sum",
    "diff",
    "ediff1d",
    "gradient",
    "nancumprod",
    "nancumsum",
    "trapezoid",
    "unwrap",
]


def _scanned(function: Any, ufunc: str, array: Any, axis: int | None, dtype: Any) -> Array:
    whole = asarray(array)
    if axis is None:
        whole = whole.ravel()
    place = 0 if axis is None else normalize_axis(axis, whole.ndim)
    result = function(np.ones(1, dtype=whole.dtype), dtype=dtype).dtype
    working = np.dtype(np.float32) if result == np.float16 else result  # rounded once, in the end
    return Array(scan(whole.expr, ufunc, place, working)).astype(result)


@implements(np.cumsum)
def cumsum(a: Any, axis: int | None = None, dtype: Any = None, out: Any = None, *, method: str | None = None) -> Array:
    """Return running sums along an axis, or of the flat array.

    Parameters
    ----------
    out
        A lazy array for the result.
    method
        As Dask's, ``"sequential"`` or ``"blelloch"``, and without effect: blocks are summed in parallel, and their
        totals one after the other.

    Blocks are summed in parallel, so sums of floats may differ from NumPy's in the last digits.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.cumsum(ga.arange(5, chunks=2)).compute()
    array([ 0,  1,  3,  6, 10])
    """
    return _put(_scanned(np.cumsum, "add", a, axis, dtype), out, method)


@implements(np.cumprod)
def cumprod(a: Any, axis: int | None = None, dtype: Any = None, out: Any = None, *, method: str | None = None) -> Array:
    """Return running products along an axis, or of the flat array; see `cumsum` for the parameters.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.cumprod(ga.arange(1, 5, chunks=2)).compute()
    array([ 1,  2,  6, 24])
    """
    return _put(_scanned(np.cumprod, "multiply", a, axis, dtype), out, method)


def _put(made: Array, out: Any, method: str | None) -> Array:
    if method not in (None, "sequential", "blelloch"):
        raise OptionError(f"method={method!r} is neither 'sequential' nor 'blelloch'")
    if out is None:
        return made
    copyto(out, made)
    return out


def _without_nan(a: Any, identity: int) -> Array:
    whole = asarray(a)
    if whole.dtype == object:
        return where(whole != whole, identity, whole)
    return where(np.isnan(whole), whole.dtype.type(identity), whole) if whole.dtype.kind in "fc" else whole


@implements(np.nancumsum)
def nancumsum(
    a: Any, axis: int | None = None, dtype: Any = None, out: Any = None, *, method: str | None = None
) -> Array:
    """Return running sums with NaN taken as zero.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.nancumsum(ga.asarray([1.0, float("nan"), 2.0])).compute()
    array([1., 1., 3.])
    """
    return cumsum(_without_nan(a, 0), axis, dtype, out, method=method)


@implements(np.nancumprod)
def nancumprod(
    a: Any, axis: int | None = None, dtype: Any = None, out: Any = None, *, method: str | None = None
) -> Array:
    """Return running products with NaN taken as one.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.nancumprod(ga.asarray([3.0, float("nan"), 2.0])).compute()
    array([3., 3., 6.])
    """
    return cumprod(_without_nan(a, 1), axis, dtype, out, method=method)


def _with_initial(scanned: Array, axis: int, include: bool, value: int) -> Array:
    if not include:
        return scanned
    shape = tuple(1 if each == axis else length for each, length in enumerate(scanned.shape))
    return concatenate([asarray(np.full(shape, value, dtype=scanned.dtype)), scanned], axis)


def _scan_axis(whole: Array, axis: int | None, what: str) -> int:
    if axis is None:
        if whole.ndim != 1:
            raise ValueError(f"{what} of an array with {whole.ndim} axes needs an axis")
        return 0
    return normalize_axis(axis, whole.ndim)


@implements(np.cumulative_sum)
def cumulative_sum(x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Array:
    """Return running sums along an axis, on request with a zero in front.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.cumulative_sum(ga.arange(3), include_initial=True).compute()
    array([0, 0, 1, 3])
    """
    whole = asarray(x)
    place = _scan_axis(whole, axis, "cumulative_sum")
    return _with_initial(cumsum(whole, place, dtype), place, include_initial, 0)


@implements(np.cumulative_prod)
def cumulative_prod(x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Array:
    """Return running products along an axis, on request with a one in front.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.cumulative_prod(ga.arange(1, 4), include_initial=True).compute()
    array([1, 1, 2, 6])
    """
    whole = asarray(x)
    place = _scan_axis(whole, axis, "cumulative_prod")
    return _with_initial(cumprod(whole, place, dtype), place, include_initial, 1)


@implements(np.diff)
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Array:
    """Return the n-th differences of neighbours along an axis.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.diff(ga.arange(4, chunks=2) ** 2).compute()
    array([1, 3, 5])
    """
    whole = asarray(a)
    if n == 0:
        return whole
    if n < 0:
        raise ValueError(f"diff: n={n} is negative")
    place = normalize_axis(axis, whole.ndim)
    ends = [None if end is None or end is np._NoValue else _end(end, whole, place) for end in (prepend, append)]
    parts = [part for part in (ends[0], whole, ends[1]) if part is not None]
    whole = concatenate(parts, place) if len(parts) > 1 else whole
    before = (slice(None),) * place
    for _ in range(n):
        after, first = whole[(*before, slice(1, None))], whole[(*before, slice(None, -1))]
        whole = after != first if whole.dtype.kind == "b" else after - first
    return whole


def _end(value: Any, whole: Array, axis: int) -> Array:
    end = asarray(value)
    if end.ndim:
        return end
    shape = tuple(1 if each == axis else length for each, length in enumerate(whole.shape))
    made: Array = np.broadcast_to(end, shape)  # type: ignore[assignment]
    return made


@implements(np.ediff1d)
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Array:
    """Return the differences of neighbours in the flat array, with values in front and behind.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.ediff1d(ga.asarray([1, 4, 9]), to_end=[0]).compute()
    array([3, 5, 0])
    """
    flat = asarray(ary).ravel()
    parts = [diff(flat)]
    if to_begin is not None:
        parts.insert(0, asarray(to_begin).ravel().astype(flat.dtype))
    if to_end is not None:
        parts.append(asarray(to_end).ravel().astype(flat.dtype))
    return concatenate(parts) if len(parts) > 1 else parts[0]


@implements(np.gradient)
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Return the slope along each axis: central differences inside, one-sided ones at the ends.

    Parameters
    ----------
    varargs
        The distance between elements, or their coordinates along an axis (with one axis): one for all axes, or one for
        each.
    axis
        An axis, several, or None for all.
    edge_order
        1 or 2: the accuracy at the ends.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.gradient(ga.arange(4, chunks=2) ** 2).compute()
    array([1., 2., 4., 5.])
    """
    whole = asarray(f)
    axes = normalize_axes(axis, whole.ndim)
    if isinstance(axis, (tuple, list)):
        axes = tuple(normalize_axis(each, whole.ndim) for each in axis)
    if len(varargs) not in (0, 1, len(axes)):
        raise TypeError(f"gradient along {len(axes)} axes takes no distance, 1 or {len(axes)}, got {len(varargs)}")
    if edge_order not in (1, 2):
        raise ValueError(f"gradient: edge_order={edge_order!r} is neither 1 nor 2")
    steps = varargs * len(axes) if len(varargs) == 1 else varargs or (1.0,) * len(axes)
    if whole.dtype.kind not in "iufcmM":
        raise TypeError(f"gradient of an array of type {whole.dtype}; convert it to numbers first, by astype()")
    if whole.dtype.kind == "M":
        whole = whole.view(np.dtype(whole.dtype.str.replace("M8", "m8")))
    whole = whole if whole.dtype.kind in "fcm" else whole.astype(float)
    made = tuple(_slope(whole, along, step, edge_order) for along, step in zip(axes, steps, strict=True))
    return made[0] if len(axes) == 1 else made


def _slope(whole: Array, axis: int, step: Any, edge_order: int) -> Array:
    if whole.shape[axis] < edge_order + 1:
        raise ValueError(f"gradient along axis {axis} with {whole.shape[axis]} elements; it needs {edge_order + 1}")

    def part(begin: int | None, end: int | None) -> Array:
        made: Array = whole[(*(slice(None),) * axis, slice(begin, end))]
        return made

    if np.ndim(step):
        return _slope_at(whole, axis, _steps(step, whole, axis), edge_order, part)
    inside = (part(2, None) - part(None, -2)) / (2.0 * step)
    if edge_order == 1:
        first, last = (part(1, 2) - part(0, 1)) / step, (part(-1, None) - part(-2, -1)) / step
    else:
        first = -1.5 / step * part(0, 1) + 2.0 / step * part(1, 2) - 0.5 / step * part(2, 3)
        last = 0.5 / step * part(-3, -2) - 2.0 / step * part(-2, -1) + 1.5 / step * part(-1, None)
    return _joined_slope(whole, axis, first, inside, last)


def _joined_slope(whole: Array, axis: int, first: Any, inside: Any, last: Any) -> Array:
    made = concatenate([first, inside, last], axis).rechunk({axis: whole.chunks[axis]})
    return made.astype(whole.dtype) if whole.dtype.kind != "m" else made


def _steps(coordinates: Any, whole: Array, axis: int) -> Any:
    """Return the distances between coordinates along an axis: one number if they are equal and in memory."""
    points = coordinates if isinstance(coordinates, Array) else np.asarray(coordinates)
    if points.ndim != 1 or points.shape[0] != whole.shape[axis]:
        raise ValueError(f"gradient: coordinates of shape {points.shape} for axis {axis} of shape {whole.shape}")
    points = points.astype(float) if points.dtype.kind in "biu" else points
    steps = np.diff(points) if isinstance(points, np.ndarray) else diff(points)
    if isinstance(steps, np.ndarray) and (steps == steps[0]).all():
        return steps[0]
    return asarray(steps)[(slice(None), *(None,) * (whole.ndim - axis - 1))]


def _slope_at(whole: Array, axis: int, steps: Any, edge_order: int, part: Callable[[Any, Any], Array]) -> Array:
    """Return the slope between coordinates that are not evenly spaced, with NumPy's weights."""
    if not np.ndim(steps):
        return _slope(whole, axis, steps, edge_order)

    def step(begin: int | None, end: int | None) -> Any:
        return steps[slice(begin, end)]

    before, behind = step(None, -1), step(1, None)
    inside = (
        -behind / (before * (before + behind)) * part(None, -2)
        + (behind - before) / (before * behind) * part(1, -1)
        + before / (behind * (before + behind)) * part(2, None)
    )
    if edge_order == 1:
        first = (part(1, 2) - part(0, 1)) / step(0, 1)
        last = (part(-1, None) - part(-2, -1)) / step(-1, None)
        return _joined_slope(whole, axis, first, inside, last)
    one, other = step(0, 1), step(1, 2)
    first = (
        -(2.0 * one + other) / (one * (one + other)) * part(0, 1)
        + (one + other) / (one * other) * part(1, 2)
        - one / (other * (one + other)) * part(2, 3)
    )
    one, other = step(-2, -1), step(-1, None)
    last = (
        other / (one * (one + other)) * part(-3, -2)
        - (one + other) / (one * other) * part(-2, -1)
        + (2.0 * other + one) / (other * (one + other)) * part(-1, None)
    )
    return _joined_slope(whole, axis, first, inside, last)


@implements(np.trapezoid)
def trapezoid(y: Any, x: Any = None, dx: float = 1.0, axis: int = -1) -> Array:
    """Return the integral along an axis by the trapezoidal rule.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.trapezoid(ga.asarray([1.0, 2.0, 3.0])).compute()
    np.float64(4.0)
    """
    whole = asarray(y)
    place = normalize_axis(axis, whole.ndim)
    steps: Any = dx
    if x is not None:
        points = asarray(x)
        steps = diff(points, axis=place if points.ndim == whole.ndim else -1)
        if points.ndim == 1:
            steps = steps[(slice(None), *(None,) * (whole.ndim - place - 1))]
    before = (slice(None),) * place
    heights = whole[(*before, slice(1, None))] + whole[(*before, slice(None, -1))]
    made: Array = (steps * heights / 2.0).sum(place)
    return made


@implements(np.unwrap)
def unwrap(p: Any, discont: float | None = None, axis: int = -1, *, period: float = 2 * np.pi) -> Array:
    """Return angles without jumps: where neighbours differ by more than half a period, whole periods are added.

    Parameters
    ----------
    p
        Angles, or other values that begin anew after a period.
    discont
        The least difference that is a jump, if more than half a period.
    period
        After how much values begin anew.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.unwrap(ga.asarray([0, 1, 2, 0, 1]), period=3).compute()
    array([0, 1, 2, 3, 4])
    """
    whole = asarray(p)
    place = normalize_axis(axis, whole.ndim)
    steps: Any = diff(whole, axis=place)
    dtype = np.result_type(steps.dtype, period)
    half: Any = period / 2
    is_even = True
    if dtype.kind in "iu":
        half, rest = divmod(period, 2)
        is_even = rest == 0
    within: Any = np.mod(steps + half, period) - half
    if is_even:  # a step of just half a period up stays one up
        within = where((within == -half) & (steps > 0), half, within)
    added = where(abs(steps) < (half if discont is None else max(discont, half)), 0, within - steps)
    first = whole[(*(slice(None),) * place, slice(0, 1))]
    rest_of = whole[(*(slice(None),) * place, slice(1, None))] + cumsum(added, axis=place)
    return concatenate([first.astype(dtype), rest_of.astype(dtype)], place)
