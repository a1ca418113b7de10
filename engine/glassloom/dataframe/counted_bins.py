"""Bins of several months and the like, which are counted from the first row: results of those with rows, and of all others."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from glassloom.backends.label_tables import holds_frames
from glassloom.dataframe.options import refused


def not_counted(rule: Any, what: str) -> Exception:
    """Return the error that says what such bins can't do."""
    freq = pd.tseries.frequencies.to_offset(rule).freqstr
    return refused(
        "resample",
        "rule",
        freq,
        f"{what}, bins that are counted from the first row aren't made; transform() and agg() take functions of each bin",
    )


@holds_frames("meta")
class NoGap(NamedTuple):
    """Stands for the row of a bin without rows, of which a user's function raises an error; with an empty result."""

    error: Exception
    meta: Any


def empty_bins(gap: Any, labels: Any) -> Any:
    """Return the rows of bins without rows; raise what the user's function raises of them."""
    if isinstance(gap, NoGap):
        if len(labels):
            raise gap.error
        return gap.meta
    return gap.iloc[np.zeros(len(labels), dtype="int64")].set_axis(labels.rename(gap.index.name), axis=0)


def with_all_bins(labels: Any, gap: Any, result: Any) -> Any:
    """Return a result of bins that have rows with those of all others, in order."""
    options = {} if isinstance(labels, pd.PeriodIndex) else {"freq": labels.freq}
    labels = type(labels)(labels.astype(result.index.dtype), name=result.index.name, **options)
    empty_ones = labels[~labels.isin(result.index)]
    if len(empty_ones) and isinstance(gap, NoGap):
        raise gap.error
    if len(empty_ones):
        result, gap = _of_like_dtypes(result, gap)
        result = pd.concat([result, empty_bins(gap, empty_ones)]).loc[labels]
    return result.set_axis(labels, axis=0)


def _of_like_dtypes(result: Any, gap: Any) -> tuple[Any, Any]:
    """Return results of bins with rows and of one without, so that both together have the dtypes that pandas gives them.

    Those are the ones of the bins with rows if no value is missing, and floats of booleans of which one is.
    """
    if isinstance(result, pd.Series):
        kept, one = _of_like_dtypes(result.to_frame("value"), gap.to_frame("value"))
        return kept["value"].rename(result.name), one["value"].rename(gap.name)
    fits = gap.notna().to_numpy().all(axis=0)
    own, others = list(result.dtypes), list(gap.dtypes)
    for place, (dtype, other) in enumerate(zip(own, others, strict=True)):
        if fits[place]:
            others[place] = dtype
        elif isinstance(dtype, np.dtype) and dtype.kind == "b":
            own[place] = np.dtype("float64") if other.kind in "fO" else dtype
    return _with_dtypes(result, own), _with_dtypes(gap, others)


def _with_dtypes(frame: Any, dtypes: list[Any]) -> Any:
    """Return a frame with a dtype for each column, some of which may have one name."""
    made = frame.set_axis(range(frame.shape[1]), axis=1).astype(dict(enumerate(dtypes)))
    return made.set_axis(frame.columns, axis=1)
