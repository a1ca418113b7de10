"""Arrays with further elements before and behind: `pad`."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from glassloom.array.api.array import Array, asarray
from glassloom.array.api.creation import arange, full
from glassloom.array.api.dispatch import implements
from glassloom.array.api.joining import concatenate
from glassloom.array.api.shapes import broadcast_to, flip
from glassloom.array.ops.elementwise import elementwise, fitted
from glassloom.array.ops.mapping import map_blocks

__all__ = ["pad"]

_BY_POSITION = ("edge", "reflect", "symmetric", "wrap")
_OPTIONS = {
    "constant": {"constant_values"}, "empty": set(), "linear_ramp": {"end_values"}, "maximum": {"stat_length"},
    "mean": {"stat_length"}, "median": {"stat_length"}, "minimum": {"stat_length"}, "edge": set(),
    "reflect": {"reflect_type"}, "symmetric": {"reflect_type"}, "wrap": set(),
}  # fmt: skip
"""The modes, and the options of each."""

_STATISTICS: dict[str, Any] = {"maximum": np.max, "mean": np.mean, "median": np.median, "minimum": np.min}

Ends = list[Any]
"""What belongs to an axis: one value for the elements before it, one for those behind."""


@implements(np.pad)
def pad(array: Any, pad_width: Any, mode: Any = "constant", **options: Any) -> Array:
    """Return the array with further elements before and behind, along each axis.

    Parameters
    ----------
    pad_width
        How many: an integer, a pair (before, behind), or a pair for each axis; or a dict by axis.
    mode
        What they are: ``"constant"`` (with ``constant_values``), ``"empty"``, ``"edge"``, ``"reflect"``,
        ``"symmetric"`` or ``"wrap"``; ``"linear_ramp"`` (with ``end_values``); ``"mean"``, ``"median"``,
        ``"maximum"`` or ``"minimum"`` of ``stat_length`` elements at the end, by default of all. ``"reflect"`` and
        ``"symmetric"`` take ``reflect_type="odd"``: twice the element at the end less the reflected ones. Or a
        function ``f(line, widths, axis, options)`` that fills the ends of a line, with zeros there, in place.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.pad(ga.arange(3, chunks=2), 2, mode="reflect").compute()
    array([2, 1, 0, 1, 2, 1, 0])
    >>> ga.pad(ga.arange(3.0, chunks=2), 1, mode="mean").compute()
    array([1., 0., 1., 2., 1.])
    """
    whole = asarray(array)
    if callable(mode):
        return _by_function(whole, _widths(pad_width, whole.ndim), mode, options)
    _check_mode(mode, options)
    widths = _widths(pad_width, whole.ndim)
    for axis, (before, behind) in enumerate(widths):
        if before or behind:
            if options.get("reflect_type") == "odd" and whole.shape[axis] > 1:
                whole = _oddly(whole, axis, before, behind, mode == "symmetric")
            else:
                whole = _padded(whole, axis, before, behind, mode, _of_axis(options, axis, whole.ndim))
    return whole


def _check_mode(mode: Any, options: dict[str, Any]) -> None:
    if mode not in _OPTIONS:
        raise ValueError(f"pad: mode={mode!r} is none of {sorted(_OPTIONS)}")
    allowed = _OPTIONS[mode]
    if set(options) - allowed:
        raise TypeError(f"pad: mode={mode!r} takes {sorted(allowed) or 'no options'}, got {sorted(options)}")
    if options.get("reflect_type", "even") not in ("even", "odd"):
        raise ValueError(f"pad: reflect_type={options['reflect_type']!r} is neither 'even' nor 'odd'")


def _by_function(whole: Array, widths: list[list[int]], function: Any, options: dict[str, Any]) -> Array:
    """Return the array with zeros around it, into which a function puts values: line by line, axis after axis."""
    for axis, (before, behind) in enumerate(widths):
        if before or behind:
            whole = _padded(whole, axis, before, behind, "constant", {})
    for axis, width in enumerate(widths):
        joined = whole.rechunk({axis: -1})
        call = FillEnds(function, tuple(width), axis, options)
        whole = Array(map_blocks(call, (joined.expr,), {}, dtype=whole.dtype))
    return whole


class FillEnds:
    """Calls a function that fills the ends of each line along an axis."""

    __name__ = "pad"

    def __init__(self, function: Any, width: tuple[int, ...], axis: int, options: dict[str, Any]) -> None:
        self.function, self.width, self.axis, self.options = function, width, axis, options

    def __glassloom_tokenize__(self) -> Any:
        return (self.function, self.width, self.axis, self.options)

    def __call__(self, block: Any) -> Any:
        made = block.copy()
        lines = np.moveaxis(made, self.axis, -1)
        for place in np.ndindex(lines.shape[:-1]):
            self.function(lines[place], self.width, self.axis, self.options)
        return made


def _widths(pad_width: Any, ndim: int) -> list[list[int]]:
    if isinstance(pad_width, dict):
        pad_width = [pad_width.get(axis, pad_width.get(axis - ndim, 0)) for axis in range(ndim)]
        pad_width = [width if isinstance(width, tuple) else (width, width) for width in pad_width]
    widths: list[list[int]] = np.broadcast_to(np.asarray(pad_width, dtype=np.intp), (ndim, 2)).tolist()
    if any(width < 0 for pair in widths for width in pair):
        raise ValueError(f"pad: pad_width={pad_width!r} holds a negative number")
    return widths


def _of_axis(options: dict[str, Any], axis: int, ndim: int) -> dict[str, Ends]:
    """Return the options that differ from end to end, those of an axis alone."""
    several = {
        name: value
        for name, value in options.items()
        if name != "reflect_type" and (value is not None or name != "stat_length")
    }
    return {name: list(np.broadcast_to(np.asarray(value), (ndim, 2))[axis]) for name, value in several.items()}


def _padded(whole: Array, axis: int, before: int, behind: int, mode: str, options: dict[str, Ends]) -> Array:
    if mode in ("constant", "empty"):
        values = options.get("constant_values", [0, 0])
        return _between(
            whole, axis, [_filled(whole, axis, n, v) for n, v in zip((before, behind), values, strict=True)]
        )
    if mode in _BY_POSITION:
        return _by_position(whole, axis, before, behind, mode)
    if not whole.shape[axis]:
        raise ValueError(f"pad: axis {axis} has no elements, so mode={mode!r} has nothing to start from")
    if mode == "linear_ramp":
        ends = options.get("end_values", [0, 0])
        return _between(whole, axis, [_ramp(whole, axis, before, ends[0], 0), _ramp(whole, axis, behind, ends[1], 1)])
    lengths = options.get("stat_length", [whole.shape[axis]] * 2)
    return _between(whole, axis, [
        _statistic(whole, axis, n, mode, int(length), end)
        for end, (n, length) in enumerate(zip((before, behind), lengths, strict=True))
    ])  # fmt: skip


def _by_position(whole: Array, axis: int, before: int, behind: int, mode: str) -> Array:
    positions = np.pad(np.arange(operator.index(whole.shape[axis])), (before, behind), mode=mode)  # type: ignore[call-overload]
    front, back = positions[:before], positions[len(positions) - behind :]
    return _between(whole, axis, [whole.take(end, axis=axis) if len(end) else None for end in (front, back)])


def _oddly(whole: Array, axis: int, before: int, behind: int, has_edge: bool) -> Array:
    """Return the array with twice the elements at its ends less its reflection, as often as it takes, as NumPy does."""
    period = whole.shape[axis]
    while before or behind:
        length = whole.shape[axis]
        most = length // period * period if has_edge else (length - 1) // (period - 1) * (period - 1)
        n_before, n_behind = min(before, most), min(behind, most)
        first, skip = 0 if has_edge else 1, length if has_edge else length - 1
        front = 2 * _slice(whole, axis, 0, 1) - flip(_slice(whole, axis, first, first + n_before), axis)
        back = 2 * _slice(whole, axis, length - 1, None) - flip(_slice(whole, axis, skip - n_behind, skip), axis)
        whole = _between(whole, axis, [front if n_before else None, back if n_behind else None])
        before, behind = before - n_before, behind - n_behind
    return whole


def _filled(whole: Array, axis: int, length: int, value: Any) -> Array | None:
    if not length:
        return None
    shape = tuple(length if each == axis else n for each, n in enumerate(whole.shape))
    chunks = tuple((length,) if each == axis else blocks for each, blocks in enumerate(whole.chunks))
    return full(shape, fitted(value, whole.dtype)[()], chunks=chunks, dtype=whole.dtype, like=whole)


def _ramp(whole: Array, axis: int, length: int, end_value: Any, end: int) -> Array | None:
    """Return numbers on a line from the end value to the element at the end: as `numpy.linspace` makes them."""
    if not length:
        return None
    shape = [1] * whole.ndim
    shape[axis] = length
    steps = arange(length, dtype=float, like=whole).reshape(shape)
    edge = _slice(whole, axis, 0, 1) if end == 0 else _slice(whole, axis, whole.shape[axis] - 1, None)
    ramp = steps * ((edge - end_value) / length) + end_value
    ramp = np.floor(ramp) if whole.dtype.kind in "iu" else ramp
    made: Array = ramp.astype(whole.dtype)
    return made if end == 0 else flip(made, axis)


def _statistic(whole: Array, axis: int, length: int, mode: str, count: int, end: int) -> Array | None:
    if not length:
        return None
    if count < 1:
        raise ValueError(f"pad: stat_length={count} is less than 1")
    n = min(count, whole.shape[axis])
    part = _slice(whole, axis, 0, n) if end == 0 else _slice(whole, axis, whole.shape[axis] - n, None)
    found = asarray(_STATISTICS[mode](part, axis=axis, keepdims=True))
    if whole.dtype.kind in "iu" and found.dtype.kind == "f":
        found = Array(elementwise(np.rint, found.expr))
    shape = tuple(length if each == axis else n for each, n in enumerate(whole.shape))
    return broadcast_to(found.astype(whole.dtype), shape)


def _slice(whole: Array, axis: int, begin: int, end: int | None) -> Array:
    made: Array = whole[(*(slice(None),) * axis, slice(begin, end))]
    return made


def _between(whole: Array, axis: int, ends: Sequence[Array | None]) -> Array:
    parts = [ends[0], whole, ends[1]]
    kept = [part for part in parts if part is not None]
    return concatenate(kept, axis) if len(kept) > 1 else whole
