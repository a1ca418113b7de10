"""Which column of a frame a series is, if it is one: pandas leaves it out of what groups by it are made of.

It looks at plans and at what pandas' objects refer to, never at values: an equal column of another frame is no column of this one.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from glassloom.backends.pandas_ import have_same_values
from glassloom.dataframe.io.from_pandas import PandasSource
from glassloom.dataframe.io.read import Read
from glassloom.dataframe.nodes import FrameExpr, Projection
from glassloom.expr import simplify


def own_column(frame: FrameExpr, series: FrameExpr) -> Any:
    """Return the label of the column that a lazy series is; `NotOwn` if it is none, or was another one before."""
    if isinstance(series, Projection) and series.frame.name == frame.name and not isinstance(series.columns, list):
        return series.columns
    if not isinstance(series.meta, pd.Series) or not _is_label(frame, name := series.meta.name):
        return NotOwn
    same, other = simplify([Projection(frame, name), series])
    return name if same.name == other.name else NotOwn


def own_column_at_hand(frame: FrameExpr, series: pd.Series) -> Any:
    """Return the label of the column that a pandas series is of the pandas frame that `from_pandas` was given; else `NotOwn`."""
    if not _is_label(frame, series.name):
        return NotOwn
    (node,) = simplify([Projection(frame, series.name)])
    read = node.frame if isinstance(node, Projection) else node
    if not isinstance(read, Read) or not isinstance(read.source, PandasSource) or read.numbers is not None:
        return NotOwn
    data = read.source.data
    is_own = isinstance(data, pd.DataFrame) and not read.condition and have_same_values(data[series.name], series)
    return series.name if is_own else NotOwn


class NotOwn:
    """What stands for no label: None is one."""


def _is_label(frame: FrameExpr, name: Any) -> bool:
    return isinstance(frame.meta, pd.DataFrame) and list(frame.meta.columns).count(name) == 1
