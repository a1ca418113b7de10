"""`concat(union_categories=True)`: columns of unlike categories get those of all frames before the frames are concatenated."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import pandas as pd

from glassloom.dataframe.columns import has_known_categories


def with_united_categories(many: Sequence[Any]) -> list[Any]:
    """Return lazy frames, or series, whose columns of categories have those of all of them, in order of appearance as in pandas.

    Columns that are no categories in one of the frames stay as they are. Categories that aren't known are found out now.
    """
    if all(frame.expr.meta.ndim == 1 for frame in many):
        return _united_series(many)
    metas = [frame.expr.meta for frame in many]
    for meta in metas:
        if meta.ndim == 2 and not meta.columns.is_unique:
            raise NotImplementedError(
                f"concat(union_categories=True) of a frame with several columns {meta.columns[meta.columns.duplicated()][0]!r}: "
                "set_axis(names, axis=1) gives them names of their own"
            )
    made = [frame.copy() for frame in many]
    for name in dict.fromkeys(name for meta in metas for name in meta.columns):
        having = [frame for frame in made if name in frame.columns]
        for frame, column in zip(having, _united_series([frame[name] for frame in having]), strict=True):
            frame[name] = column
    return made


def _united_series(many: Sequence[Any]) -> list[Any]:
    if not all(isinstance(series.dtype, pd.CategoricalDtype) for series in many):
        return list(many)
    many = [series if has_known_categories(series.expr.meta) else series.cat.as_known() for series in many]
    dtype = _union([series.dtype for series in many])
    return [series if series.dtype == dtype else series.astype(dtype) for series in many]


def _union(dtypes: Sequence[pd.CategoricalDtype]) -> pd.CategoricalDtype:
    """Return the categories of all: ordered if all have the same in the same order."""
    filled = [pd.Series(dtype.categories) for dtype in dtypes if len(dtype.categories)]
    if filled and len({dtype.categories.dtype for dtype in dtypes}) > 1:
        common = pd.concat(filled).dtype
        dtypes = [pd.CategoricalDtype(dtype.categories.astype(common).unique(), dtype.ordered) for dtype in dtypes]
    if all(dtype == dtypes[0] for dtype in dtypes):
        return dtypes[0]
    joined = reduce(lambda one, other: one.append(other), [dtype.categories for dtype in dtypes])
    return pd.CategoricalDtype(joined.unique())
