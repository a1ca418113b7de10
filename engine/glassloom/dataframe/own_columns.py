"""Which column of a frame a series is, if it is one: pandas leaves it out of what groups by it are made of.

It looks at plans and at what pandas' objects refer to, never at values alone: an equal column of another frame is no column of this one.
What pandas copies, such as the rows that a filter leaves, is other data, even if the plans are the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeGuard

import pandas as pd

from glassloom.backends.pandas_ import have_same_values, refers_to
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE
from glassloom.dataframe.divisions import Redivide
from glassloom.dataframe.io.from_pandas import PandasSource
from glassloom.dataframe.io.read import Read
from glassloom.dataframe.moving.repartition import Regroup
from glassloom.dataframe.moving.shape import Repartition
from glassloom.dataframe.nodes import Assign, Filter, FrameExpr, Projection


def own_column(frame: FrameExpr, series: FrameExpr) -> Any:
    """Return the label of the column that a lazy series is; `NotOwn` if it is none, or was another one before."""
    if not isinstance(series, Projection) or isinstance(series.columns, list):
        return NotOwn
    if series.frame is frame:
        return series.columns
    if not HAS_COPY_ON_WRITE:  # pandas compares the objects
        return series.columns if series.frame.name == frame.name else NotOwn
    name = series.columns
    own = {(node.name, label): node for node, label in _same_data(frame, name)}
    before = [(node, own.get((node.name, label))) for node, label in _same_data(series.frame, name)]
    return name if any(other is not None and not _are_copies(one, other) for one, other in before) else NotOwn


def own_column_at_hand(frame: FrameExpr, series: pd.Series) -> Any:
    """Return the label of the column that a pandas series is of the pandas frame that `from_pandas` was given; else `NotOwn`."""
    if not _has_label(frame, series.name):
        return NotOwn
    *_, (read, label) = _same_data(frame, series.name)
    if not isinstance(read, Read) or not isinstance(read.source, PandasSource) or read.numbers is not None:
        return NotOwn
    if read.condition or not isinstance(read.source.data, pd.DataFrame):
        return NotOwn
    data, place = read.source.data, list(read.source.data.columns).index(label)
    is_own = refers_to(series, read.source.references[place]) and _are_equal(data[label], series)
    return series.name if is_own else NotOwn


class NotOwn:
    """What stands for no label: None is one."""


def _has_label(frame: FrameExpr, name: Any) -> bool:
    """Whether one column of a frame has a label."""
    return isinstance(frame.meta, pd.DataFrame) and list(frame.meta.columns).count(name) == 1


def _same_data(frame: FrameExpr, label: Any) -> Iterator[tuple[FrameExpr, Any]]:
    """Yield a frame and the label of a column, then all frames before of which pandas' frame has this column without a copy, and its label there."""
    node = frame
    while _has_label(node, label):
        yield node, label
        if _keeps_column(node, label):
            node = node.frame
        elif isinstance(node, Assign) and isinstance(value := _assigned(node, label), Projection):
            node, label = value.frame, value.columns
        else:
            return


def _are_copies(one: FrameExpr, other: FrameExpr) -> bool:
    """Whether two nodes of a name are two copies of the same rows: pandas copies the rows each time that a filter is asked for."""
    return one is not other and isinstance(one, Filter) and isinstance(other, Filter)


def _are_equal(column: pd.Series, series: pd.Series) -> bool:
    """Whether a series has the values of a column under each label. Pandas finds "the same" also other columns of the dtype, and other labels."""
    if not series.index.equals(column.index):
        series = series.reindex(column.index) if series.index.is_unique else series.sort_index(kind="stable")
    return bool(column.equals(series))


def _keeps_column(node: FrameExpr, label: Any) -> TypeGuard[Projection | Assign | Repartition | Regroup | Redivide]:
    """Whether a column is that of the frame before. It is in other partitions, too, of which pandas knows nothing."""
    if isinstance(node, Projection):
        return _is_view(node, label)
    return isinstance(node, (Repartition, Regroup, Redivide)) or (isinstance(node, Assign) and label not in node.names)


def _is_view(chosen: Projection, label: Any) -> bool:
    """Whether pandas chooses columns of a frame without copying one of them, as far as it is known how the frame lies in memory."""
    if not isinstance(chosen.frame, Read) or not isinstance(chosen.frame.source, PandasSource):
        return True
    data = chosen.frame.source.meta
    return have_same_values(data[chosen.columns][label], data[label])


def _assigned(node: Assign, label: Any) -> Any:
    return dict(zip(node.names, node.values, strict=True))[label]
