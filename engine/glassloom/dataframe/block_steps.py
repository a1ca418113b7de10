"""What nodes do with a partition to add columns and to choose rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from glassloom.backends.pandas_ import is_frame, rows_between

_MOST_BLOCKS = 90
"""pandas warns where a column is added to a frame of more than 100 blocks, which a user who has added them one by one can't help.
A copy of the values puts those of a dtype into one block."""
_TAKEN = 0.75
"""Up to this share of a series' rows it is quicker to take values by their places, as pandas does with frames, than by a mask, as it
does with series: several times as quick where every other row is chosen."""


def with_columns(frame: Any, names: tuple[Any, ...], *values: Any) -> Any:
    """Return a partition with some columns added or replaced."""
    frame = frame.copy(deep=len(getattr(getattr(frame, "_mgr", None), "blocks", ())) > _MOST_BLOCKS)
    for name, value in zip(names, values, strict=True):
        if not len(frame) and is_frame(value):  # pandas would add its rows to a partition that has none
            if len(value) and not getattr(value, "index", value).is_unique:
                raise ValueError("cannot reindex on an axis with duplicate labels")  # as where the frame has rows
            value = rows_between(value, None, 0)
        frame[name] = value
    return frame


def chosen_rows(frame: Any, predicate: Any) -> Any:
    """Return the rows of a partition for which a condition is true."""
    if type(frame) is pd.Series and type(predicate) is pd.Series and predicate.dtype.kind == "b":
        is_plain = isinstance(predicate.dtype, np.dtype)
        chosen = predicate.to_numpy() if is_plain else predicate.to_numpy(dtype=bool, na_value=False)
        if np.count_nonzero(chosen) <= _TAKEN * len(chosen):
            return frame.loc[predicate]  # the same rows and errors, by places
    return frame[predicate]
