"""Groups by stretches of time: ``pandas.Grouper(freq=...)``, alone or beside other keys."""

from __future__ import annotations

from functools import partial
from typing import Any

import pandas as pd

from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE, PANDAS_VERSION
from glassloom.dataframe.grouping.all_rows import Binned
from glassloom.dataframe.grouping.durations import are_durations, labels_of_durations
from glassloom.dataframe.grouping.groups_of_times import Grouped, GroupsOfTimes
from glassloom.dataframe.grouping.keys import require_one_place
from glassloom.dataframe.resample import ArrowResampler
from glassloom.dataframe.time_bins import bins_of, bins_of_labels, bins_of_times, plain_times
from glassloom.dataframe.wrap import operate


def only_bins(by: Any) -> Any:
    """Return the `pandas.Grouper` of stretches of time that is all there is to group by; None if there is something else."""
    if isinstance(by, list) and len(by) == 1:
        by = by[0]
    return by if _has_freq(by) else None


def _has_freq(by: Any) -> bool:
    return isinstance(by, pd.Grouper) and getattr(by, "freq", None) is not None


def resampled(frame: Any, by: Any, *, as_index: bool, group_keys: bool = True) -> GroupsOfTimes:
    """Return the groups by one stretch of time after the other, also those without rows: the bins of `resample`.

    Parameters
    ----------
    frame
        The lazy frame or series.
    by
        The `pandas.Grouper`.
    as_index, group_keys
        As in ``groupby``.
    """
    require_one_place(by)
    if not as_index:
        raise NotImplementedError(
            f"groupby({by!r}, as_index=False): reset_index() of the result makes the times a column"
        )
    _require_level(frame, by)
    bins = frame.resample(by.freq, on=by.key, **_options(by))
    if isinstance(bins, ArrowResampler):
        raise NotImplementedError(
            f"groupby({by!r}) of times or durations of Arrow's isn't supported: use resample(), or astype() of them before"
        )
    return GroupsOfTimes(bins, Grouped(frame, by, None, group_keys, partial(_labelled, by)))


def _labelled(by: Any, frame: Any) -> tuple[Any, Any]:
    """Return a frame without the column that is grouped by stretches of time, and the label of each row's."""
    made, keys, _ = with_bins(frame, [by], dropna=True)
    return made, keys[0]


def with_bins(frame: Any, by: Any, *, dropna: bool, as_index: bool = True) -> tuple[Any, Any, Binned]:
    """Return a frame and its keys with stretches of time as their labels.

    Parameters
    ----------
    frame
        The lazy frame or series.
    by, dropna, as_index
        The keys of ``groupby``, and its options. Rows without a time are of no group in any case, as in pandas.

    Returns
    -------
    frame
        The frame without the columns that are grouped so.
    by
        The keys without any `pandas.Grouper` of stretches of time.
    Binned
        Of each such column its frequency.
    """
    if not isinstance(by, (list, tuple)) or not any(map(_has_freq, by)):
        return frame, by, Binned()
    columns = Binned({one.key: one.freq.freqstr for one in by if _has_freq(one) and one.key is not None})
    if not dropna and columns:
        columns.times = frame[list(columns)]
        for name in columns:
            frame = frame[frame[name].notna()]
    keys = []
    for one in by:
        if not _has_freq(one):
            is_binned = isinstance(one, (str, int, tuple)) and one in columns
            keys.append(frame[one] if is_binned else one)
        elif one.key is not None and are_durations(frame[one.key].expr.meta.dtype):
            keys.append(labels_of_durations(frame[one.key], one))
        elif one.key is not None:
            keys.append(_labels_of_times(frame[one.key], one))
        else:
            _require_level(frame, one)
            if not are_durations(frame.expr.meta.index.dtype):
                require_times(frame.expr.meta.index.dtype, one)
            keys.append(operate(bins_of_labels, frame, bins_of(frame, one.freq, _options(one)), label="bins"))
    made = frame[[name for name in frame.columns if name not in columns]] if columns else frame
    if not as_index and not HAS_COPY_ON_WRITE:
        made, keys = _with_columns_of_bins(made, by, keys)
    return made, keys, columns


def _labels_of_times(times: Any, by: Any) -> Any:
    """Return for each time of a lazy column the label of its stretch, as pandas 3 also has them of Arrow's times."""
    own = times.expr.meta.dtype
    of_arrow = HAS_COPY_ON_WRITE and isinstance(own, pd.ArrowDtype) and own.kind == "M"
    if of_arrow:
        times = times.astype(plain_times(own))
    require_times(times.expr.meta.dtype, by)
    bins = bins_of(times.to_frame(by.key).set_index(by.key, sort=False), by.freq, _options(by))
    labels = operate(bins_of_times, times, bins, label="bins")
    if not of_arrow:
        return labels
    name = times.name if PANDAS_VERSION >= (3, 1) else None  # which pandas 3.0 leaves out of Arrow's
    return labels.astype(own).rename(name)


def _with_columns_of_bins(frame: Any, by: Any, keys: list[Any]) -> tuple[Any, list[Any]]:
    """Return a frame with stretches of time as columns, and their names as keys: pandas 2 shows no others beside a result."""
    columns = [one.key if isinstance(one, pd.Grouper) else one for one in by if isinstance(one, (str, pd.Grouper))]
    for place, one in enumerate(by):
        if _has_freq(one) and isinstance(one.key, str) and columns.count(one.key) == 1:
            frame, keys = frame.assign(**{one.key: keys[place]}), [*keys[:place], one.key, *keys[place + 1 :]]
    return frame, keys


def require_times(dtype: Any, by: Any) -> None:
    """Check that what is grouped by stretches of time are times as NumPy has them, with or without a zone.

    Raises
    ------
    TypeError
        If they are others, or no times.
    """
    if not pd.api.types.is_datetime64_any_dtype(dtype) or isinstance(dtype, pd.ArrowDtype):
        raise TypeError(
            f"groupby: {by!r} is of values of dtype {dtype}; beside other keys it takes times, and durations of a column: convert them "
            "with to_datetime() or astype('datetime64[ns]')"
        )


def require_own_keys(binned: dict[Any, str], shown: Any) -> None:
    """Check that no column that is grouped by stretches of time is itself among what is asked for.

    Parameters
    ----------
    binned
        What `with_bins` returned.
    shown
        The labels of what is asked for; None: all columns.

    Raises
    ------
    NotImplementedError
        If one is.
    """
    for column, freq in binned.items():
        if shown is None or column in shown:
            raise NotImplementedError(
                f"groups by pandas.Grouper(key={column!r}, freq={freq!r}) beside other keys don't have column {column!r} itself: choose "
                f"others, or give its values another name before, as in frame.assign(times=frame[{column!r}])"
            )


def _options(by: Any) -> dict[str, Any]:
    options = {"closed": by.closed, "label": by.label, "origin": by.origin, "offset": by.offset}
    return {**options, "convention": by.convention} if by.convention is not None else options


def _require_level(frame: Any, by: Any) -> None:
    index = frame.expr.meta.index
    if by.key is None and by.level not in (None, 0, index.name) or (by.key is None and index.nlevels > 1):
        raise NotImplementedError(f"{by!r} is of a level of several: call reset_index(), and give key={by.level!r}")
