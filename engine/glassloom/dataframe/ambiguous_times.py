"""`tz_localize` of times that a clock shows twice: which of both each is may be given for each row, or follow from the times beside.

What follows from the times beside is found out now, for all rows: a stretch of such times may be cut by partitions.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.column_at_hand import BesideValues, WithLabels, pieces_by_place
from glassloom.dataframe.options import refused
from glassloom.dataframe.reduce import Operation, tree
from glassloom.dataframe.wrap import is_node, operate, wrap


class _Found(NamedTuple):
    """The ambiguous times of a partition."""

    length: int
    places: Any
    times: Any


def is_of_rows(ambiguous: Any) -> bool:
    """Whether `ambiguous` doesn't say the same of each time."""
    is_inferred = isinstance(ambiguous, str) and ambiguous == "infer"
    return is_inferred or is_node(ambiguous) or pd.api.types.is_list_like(ambiguous)


def is_of_plain_times(values: Any) -> bool:
    """Whether values are times without a zone, of NumPy's dtype: pandas says what is wrong with others."""
    return isinstance(values.dtype, np.dtype) and values.dtype.kind == "M"


_ARGUMENTS = {
    "tz_localize": ("tz", "ambiguous", "nonexistent"),
    **dict.fromkeys(("floor", "ceil", "round"), ("freq", "ambiguous", "nonexistent")),
}
"""Methods to which one may say which of two times each is."""


def by_rows_beside(times: Any, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return what a method makes of a series of times, or an index, where `ambiguous` doesn't say the same of each; None if it does.

    Raises
    ------
    NotImplementedError
        If it is no `tz_localize`.
    """
    given = dict(zip(_ARGUMENTS.get(method, ()), args, strict=False)) | kwargs
    if not is_of_rows(given.get("ambiguous")):
        return None
    if method == "tz_localize" and is_of_plain_times(times.expr.meta) and given.get("tz") is not None:
        made = localized_labels if isinstance(times.expr.meta, pd.Index) else localized_values
        return made(times, given["tz"], given["ambiguous"], given.get("nonexistent", "raise"))
    if isinstance(times.expr.meta.dtype, pd.DatetimeTZDtype) and method != "tz_localize":
        raise refused(method, "ambiguous", given["ambiguous"], "say 'NaT' or a boolean")
    return None


def localized_values(series: Any, tz: Any, ambiguous: Any, nonexistent: Any) -> Any:
    """Return a series of times as times of a zone, where `ambiguous` is ``"infer"`` or says of each row whether it is summer time.

    Raises
    ------
    ValueError
        If it can't be inferred, as pandas says it, or there are more or fewer values than rows.
    """
    to = partial(_with_values, tz, nonexistent)
    if is_node(ambiguous):
        return operate(partial(_by_series, to), series, ambiguous, label="tz-localize")
    pieces = _summer_times(series, pd.DatetimeIndex, tz, ambiguous)
    return wrap(BesideValues(series.expr, BlockCall(to, (Block(0), Block(1)), label="tz-localize"), pieces))


def localized_labels(frame: Any, tz: Any, ambiguous: Any, nonexistent: Any) -> Any:
    """Return an index, or a frame or series with labels, as times of a zone. See `localized_values`."""
    if is_node(ambiguous):
        raise refused("tz_localize", "ambiguous", ambiguous, "of labels give 'infer', or an array of booleans")
    pieces = _summer_times(frame, _labels_of, tz, ambiguous)
    call = BlockCall(partial(_with_labels, tz, nonexistent), (Block(0), Block(1)), label="tz-localize")
    return wrap(WithLabels(frame.expr, call, pieces))


def _summer_times(times: Any, values_of: Callable[[Any], Any], tz: Any, ambiguous: Any) -> tuple[Any, ...]:
    """Return for each partition the places of the rows that are summer time."""
    if not isinstance(ambiguous, str):
        flags = np.asarray(ambiguous, dtype=bool)
        return tuple(np.flatnonzero(piece) for piece in pieces_by_place(times, flags, "ambiguous"))
    chunk = partial(_ambiguous, values_of, tz)
    found: list[_Found] = wrap(tree(times.expr, Operation(chunk, _joined, _joined), [], "ambiguous")).compute()
    starts = np.cumsum([0, *(one.length for one in found)])
    places = np.concatenate([one.places + start for one, start in zip(found, starts, strict=False)])
    flags = _inferred(places, found[0].times.append([one.times for one in found[1:]]), tz)
    ends = np.cumsum([len(one.places) for one in found])[:-1]
    return tuple(one.places[some] for one, some in zip(found, np.split(flags, ends), strict=True))


def _ambiguous(values_of: Callable[[Any], Any], tz: Any, block: Any) -> list[_Found]:
    times = values_of(block)
    missing = times.tz_localize(tz, ambiguous="NaT", nonexistent="shift_forward").isna() & ~times.isna()
    return [_Found(len(times), np.flatnonzero(missing), times[missing])]


def _joined(many: list[list[_Found]]) -> list[_Found]:
    return [one for found in many for one in found]


def _inferred(places: Any, times: pd.DatetimeIndex, tz: Any) -> Any:
    """Return which ambiguous times are summer time. pandas looks at each stretch of rows that follow each other."""
    if not len(places):
        return np.zeros(0, dtype=bool)
    gaps = np.cumsum(np.diff(places, prepend=places[0]) != 1)  # one before each stretch
    values = times.to_numpy()
    apart = np.full(len(places) + gaps[-1], np.datetime64("NaT"), dtype=values.dtype)
    at = np.arange(len(places)) + gaps
    apart[at] = values
    made = pd.DatetimeIndex(apart).tz_localize(tz, ambiguous="infer")
    return np.asarray(made[at] == times.tz_localize(tz, ambiguous=np.ones(len(times), dtype=bool)))


def _labels_of(block: Any) -> Any:
    return block if isinstance(block, pd.Index) else block.index


def _with_values(tz: Any, nonexistent: Any, block: Any, summer: Any) -> Any:
    return block.dt.tz_localize(tz, ambiguous=_flags(len(block), summer), nonexistent=nonexistent)


def _with_labels(tz: Any, nonexistent: Any, block: Any, summer: Any) -> Any:
    return block.tz_localize(tz, ambiguous=_flags(len(block), summer), nonexistent=nonexistent)


def _by_series(to: Callable[[Any, Any], Any], block: Any, flags: Any) -> Any:
    return to(block, np.flatnonzero(flags.to_numpy(dtype=bool)))


def _flags(count: int, places: Any) -> Any:
    made = np.zeros(count, dtype=bool)
    made[places] = True
    return made
