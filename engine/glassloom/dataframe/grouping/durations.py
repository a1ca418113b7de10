"""Stretches of durations: what ``pandas.Grouper(freq=...)`` makes of a column of them, beside other keys."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from glassloom.dataframe.wrap import operate


def are_durations(dtype: Any) -> bool:
    """Whether values are durations as NumPy has them."""
    return isinstance(dtype, np.dtype) and dtype.kind == "m"


def labels_of_durations(durations: Any, by: Any) -> Any:
    """Return for each duration of a lazy column the label of its bin. The first bin begins at the shortest, as in pandas."""
    if by.closed == "right" or by.label == "right" or by.offset is not None:
        raise NotImplementedError(
            f"groupby: {by!r} is of durations; beside other keys closed=, label= and offset= are of times only. Add them to a time"
        )
    step = pd.Timedelta(by.freq.n, "D") if isinstance(by.freq, pd.offsets.Day) else pd.Timedelta(by.freq)
    return operate(_binned_durations, durations, durations.min(), step, label="bins")


def _binned_durations(durations: Any, low: Any, step: Any) -> Any:
    if pd.isna(low):
        return durations
    return (low + (durations - low) // step * step).astype(durations.dtype).rename(durations.name)
