"""Which column of a frame a series is, if it is one: pandas leaves it out of what groups by it are made of.

It looks at plans and at what pandas' objects refer to, never at values alone: an equal column of another frame is no column of this one.
What pandas copies, such as the rows that a filter leaves, is other data, even if the plans are the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeGuard

import pandas as pd

from glassloom.backends.pandas_ import References, references_of, refers_to
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE
from glassloom.dataframe.divisions import Redivide
from glassloom.dataframe.io.from_pandas import PandasSource
from glassloom.dataframe.io.read import Read
from glassloom.dataframe.moving.repartition import Regroup
from glassloom.dataframe.moving.shape import Repartition
from glassloom.dataframe.nodes import Assign, Filter, FrameExpr, Held, Projection
from glassloom.dataframe.wrap import wrap


def own_column(frame: FrameExpr, series: FrameExpr) -> Any:
    """Return the label of the column that a lazy series is; `NotOwn` if it is none, or was another one before."""
    if not isinstance(series, Projection) or isinstance(series.columns, list):
        return NotOwn
    if series.frame is frame:
        return series.columns
    if not HAS_COPY_ON_WRITE:  # pandas compares the objects
        return series.columns if series.frame.name == frame.name else NotOwn
    name = series.columns
    own = {(one.name, one.label): one.node for one in _same_data(frame, name)}
    before = [(one.node, own.get((one.name, one.label))) for one in _same_data(series.frame, name)]
    return name if any(other is not None and not _are_copies(node, other) for node, other in before) else NotOwn


def own_column_at_hand(frame: FrameExpr, series: pd.Series) -> Any:
    """Return the label of the column that a pandas series is of the pandas frame that `from_pandas` was given; else `NotOwn`.

    Of a persisted frame, which doesn't keep pandas' frame, the column is computed to be compared, if the series is likely to be it.
    """
    if not _has_label(frame, series.name):
        return NotOwn
    *_, last = _same_data(frame, series.name)
    references = _references(last)
    if references is None or not refers_to(series, references):
        return NotOwn
    if isinstance(last.node, Read):
        column = last.node.source.data[last.label]  # type: ignore[attr-defined]
    else:
        column = wrap(Projection(frame, series.name)).compute()
    return series.name if _are_equal(column, series) else NotOwn


def with_noted_columns(held: Held, node: FrameExpr) -> Held:
    """Return a persisted frame that knows which columns of which frame its own were, without keeping that."""
    labels, node = _labels_before(node)
    noted = {label: (node.name, _references(_Place(node, node.name, label))) for label in labels}
    return Held(*held.operands, origin=held.origin, noted_columns=noted)


class NotOwn:
    """What stands for no label: None is one."""


def _has_label(frame: FrameExpr, name: Any) -> bool:
    """Whether one column of a frame has a label."""
    return isinstance(frame.meta, pd.DataFrame) and list(frame.meta.columns).count(name) == 1


class _Place(NamedTuple):
    """A column: a node, its name or that of a frame before it that isn't kept, and the label."""

    node: FrameExpr
    name: str
    label: Any


def _same_data(frame: FrameExpr, label: Any) -> Iterator[_Place]:
    """Yield a column of a frame, then that of all frames before of which pandas' frame has this column without a copy."""
    node = frame
    while _has_label(node, label):
        yield _Place(node, node.name, label)
        if _keeps_column(node, label):
            node = node.frame
        elif isinstance(node, Assign) and isinstance(value := _assigned(node, label), Projection):
            node, label = value.frame, value.columns
        elif isinstance(node, Held) and label in node.noted_columns:
            yield _Place(node, node.noted_columns[label][0], label)
            return
        else:
            return


def _labels_before(node: FrameExpr) -> tuple[list[Any], FrameExpr]:
    """Return the labels of a frame's columns that one before has without a copy, and that frame."""
    labels = list(node.meta.columns) if node.meta.columns.is_unique else []
    while labels and isinstance(node, (Projection, Assign, Repartition, Regroup, Redivide)):
        if isinstance(node, Assign):
            labels = [label for label in labels if label not in node.names]
        elif isinstance(node, Projection):
            labels = _views(node, labels)
        node = node.frame
    return labels, node


def _references(place: _Place) -> References | None:
    """Return what pandas notes of a column of the frame that `from_pandas` was given; None if it is none."""
    node, label = place.node, place.label
    if isinstance(node, Held):
        return node.noted_columns[label][1] if label in node.noted_columns else None
    if not isinstance(node, Read) or not isinstance(node.source, PandasSource) or node.numbers is not None:
        return None
    data = node.source.data
    if node.condition or not isinstance(data, pd.DataFrame):
        return None
    number: Any = data.columns.get_loc(label)  # of one column: others with its label have no own ones
    return node.source.references[number]


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
        return bool(_views(node, [label]))
    return isinstance(node, (Repartition, Regroup, Redivide)) or (isinstance(node, Assign) and label not in node.names)


def _views(chosen: Projection, labels: list[Any]) -> list[Any]:
    """Return the labels of columns that pandas chooses without copying them, as far as it is known how the frame lies in memory."""
    if not isinstance(chosen.frame, Read) or not isinstance(chosen.frame.source, PandasSource):
        return labels
    data = chosen.frame.source.meta
    made = data[chosen.columns]
    noted, before = (dict(zip(frame.columns, references_of(frame), strict=True)) for frame in (made, data))
    return [label for label in labels if noted[label].noted is before[label].noted]


def _assigned(node: Assign, label: Any) -> Any:
    return dict(zip(node.names, node.values, strict=True))[label]
