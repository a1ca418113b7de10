"""The rows of a condition, for `filter`: unlike in ``frame[condition]`` a missing value isn't true, whatever the dtype, and labels are no condition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from glassloom.array.api.array import Array
from glassloom.dataframe.column_expressions import evaluated
from glassloom.dataframe.keys_at_hand import are_booleans
from glassloom.dataframe.time_labels import require_rows
from glassloom.dataframe.wrap import is_node


def rows_of_condition(frame: Any, cond: Any, others: tuple[Any, ...], axis: Any) -> Any:
    """Return the rows where a condition holds.

    Raises
    ------
    TypeError
        If rows or columns are chosen by `others`, too, or it isn't of booleans, one for each row.
    """
    if any(one is not None for one in others):
        raise TypeError("filter: keyword arguments `items`, `like`, `regex` and `cond` are mutually exclusive")
    require_rows("filter", axis)
    condition = evaluated(cond, frame)
    if is_node(condition):
        meta = condition.expr.meta
        if isinstance(meta, pd.DataFrame) or not hasattr(meta, "dtype") or meta.dtype.kind not in "bO":
            raise _no_condition(cond)
    elif not isinstance(condition, Array):
        condition = _at_hand(cond, condition)
    return frame[condition]


def _at_hand(cond: Any, condition: Any) -> Any:
    """Return booleans at hand, none of them missing."""
    if not isinstance(condition, (list, np.ndarray, pd.Series, pd.Index, pd.api.extensions.ExtensionArray)):
        raise _no_condition(cond)
    if getattr(condition, "ndim", 1) != 1:
        raise _no_condition(cond)
    column: Any = condition if isinstance(condition, pd.Series) else pd.Series(condition)
    if len(column) and not are_booleans(column):
        raise _no_condition(cond)
    found = column.astype("boolean").fillna(False).astype(bool)
    return found if isinstance(condition, pd.Series) else found.to_numpy()


def _no_condition(cond: Any) -> TypeError:
    return TypeError(f"filter: cond={cond!r} passed to filter must be a one-dimensional boolean mask")
