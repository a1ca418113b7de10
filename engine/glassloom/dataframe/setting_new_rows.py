"""Values set for a label that no row has, by `loc` and `at`: a row is added after all others, as in pandas.

Whether a row has the label is known where the divisions leave it out, and else counted when partitions are there. It is found out now where a
whole row, or a value of a series, would have other dtypes if it were added.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from datetime import time
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from glassloom.backends.pandas_ import columns_of, sample
from glassloom.dataframe.call import BlockCall
from glassloom.dataframe.columns import has_known_categories
from glassloom.dataframe.moving.shape import conform
from glassloom.dataframe.nodes import FrameBlockwise, FrameExpr, Projection, empty
from glassloom.dataframe.prefix import OfPartitionsBefore
from glassloom.dataframe.reduce import Operation, tree
from glassloom.dataframe.setting_rows import labels_to_set, partitions_with
from glassloom.dataframe.setting_values import Cell, set_values
from glassloom.dataframe.widening import dtypes_of
from glassloom.dataframe.wrap import bind, is_node, wrap
from glassloom.graph import Key, Task


class _IsLast(OfPartitionsBefore):
    """For each partition of a frame whether it is the last."""

    parameters = ("source",)
    operation = "is-last"

    def tasks(self) -> dict[Key, Task]:
        keys = self.output_keys()
        return {key: Task(key, _same, (key == keys[-1],)) for key in keys}


class _WithRow(FrameBlockwise):
    """The rows of a frame, and after all others one more. Choices of its partitions aren't made before it: the last one must stay the last."""

    parameters = ("frame", "others", "call", "given_meta", "given_divisions", "given_lengths")

    frame: FrameExpr
    others: tuple[FrameExpr, ...]
    call: BlockCall
    given_meta: Any
    given_divisions: tuple[Any, ...]
    given_lengths: tuple[int, ...] | None

    @property
    def label(self) -> str:
        return self.call.label

    @property
    def function(self) -> Callable[..., Any]:
        return self.call

    @property
    def meta(self) -> Any:
        return self.given_meta

    @property
    def divisions(self) -> tuple[Any, ...]:
        return self.given_divisions

    @property
    def lengths(self) -> tuple[int, ...] | None:
        return self.given_lengths


def set_or_add(frame: Any, label: Any, columns: Any, value: Any, what: str) -> bool:
    """Set values of the rows of one label, or add a row. Only this collection changes.

    Parameters
    ----------
    columns
        The columns, as `set_values` takes them; None for a whole row, and of a series.

    Returns
    -------
    bool
        Whether that is done. If not, `set_values` is to set rows that are there.
    """
    node: FrameExpr = frame.expr
    if not _can_be_added(node, label) or (is_node(value) and isinstance(value.expr.meta, pd.DataFrame)):
        return False
    is_of_cells = columns is not None and not _is_all(columns)
    if is_node(value) and value.expr.has_rows and not is_of_cells:
        value = value._computed_by_pandas()
    if _is_outside(node, label):
        frame._expr = _with_row(node, label, columns, value, None)
        return True
    count = _count(node, label)
    is_inside = node.divisions[0] is not None
    made, added = _set(frame, label, columns, value, what), None
    if made is not None and not is_inside:
        added = _added_alike(node, made, label, columns, value, count)
    elif made is not None and (is_of_cells or node.meta.ndim == 1):
        return False
    if added is not None:
        frame._expr = added
    elif made is not None and is_of_cells:
        return False
    elif not wrap(count).compute():
        frame._expr = _with_row(node, label, columns, value, None)
    else:
        set_values(frame, labels_to_set(frame, label, what), slice(None) if columns is None else columns, value, what)
    return True


def _is_all(columns: Any) -> bool:
    return isinstance(columns, slice) and columns == slice(None)


def _can_be_added(node: FrameExpr, label: Any) -> bool:
    """Whether a row of a label can be added. Text among times may be a stretch of time, and a missing label isn't looked for."""
    index = node.meta.index
    if not pd.api.types.is_scalar(label) or pd.isna(label) or isinstance(label, time) or node.backend != "pandas":
        return False
    has_own_labels = isinstance(index, (pd.MultiIndex, pd.IntervalIndex, pd.CategoricalIndex))
    is_text_of_time = isinstance(label, str) and isinstance(
        index, (pd.DatetimeIndex, pd.PeriodIndex, pd.TimedeltaIndex)
    )
    if (has_own_labels or is_text_of_time) and not _is_of_another_kind(index, label):
        return False
    return isinstance(node.meta, pd.Series) or node.meta.columns.is_unique


def _is_of_another_kind(index: pd.Index, label: Any) -> bool:
    """Whether a label is a text, such as ``"Total"``, that can't be among some labels: it is no time, no interval, or none of the categories."""
    if not isinstance(label, str):
        return False
    if isinstance(index, pd.CategoricalIndex):
        return has_known_categories(index) and label not in index.categories
    if not isinstance(index, (pd.DatetimeIndex, pd.PeriodIndex, pd.TimedeltaIndex)):
        return isinstance(index, pd.IntervalIndex)
    try:
        pd.Timedelta(label) if isinstance(index, pd.TimedeltaIndex) else pd.Period(label, freq="D")
    except ValueError:
        return True
    return False


def _is_outside(node: FrameExpr, label: Any) -> bool:
    """Whether a label is of another kind than those there are, or divisions are known that leave it out."""
    if _is_of_another_kind(node.meta.index, label):
        return True
    known = node.divisions
    if known[0] is None or node.meta.index.dtype == object:
        return False
    try:
        return bool(label < known[0] or label > known[-1])
    except TypeError:  # a label of another kind
        return True


def _count(node: FrameExpr, label: Any) -> FrameExpr:
    """Return the node of how many rows have a label."""
    own = Projection(node, []) if isinstance(node.meta, pd.DataFrame) else node
    return tree(partitions_with(own, [label]), Operation(partial(_count_of, label), sum, sum), 0, "labels")


def _set(frame: Any, label: Any, columns: Any, value: Any, what: str) -> FrameExpr | None:
    """Return the node of a frame with values set in the rows of a label, of which there may be none; None if that is an error."""
    made = wrap(frame.expr)
    try:
        rows = labels_to_set(made, label, what, may_lack=True)
        set_values(made, rows, slice(None) if columns is None else columns, value, what)
    except (TypeError, ValueError, KeyError):  # of which a row that is added may know nothing
        return None
    node: FrameExpr = made.expr
    return node


def _added_alike(
    node: FrameExpr, made: FrameExpr, label: Any, columns: Any, value: Any, count: FrameExpr
) -> FrameExpr | None:
    """Return the node of a frame with values set and a row added if no row has its label, if the dtypes are the same either way; else None."""
    if not _keeps_dtypes(node.meta, made.meta):  # as pandas 2 does, which adds a row to the dtypes before
        return None
    try:
        added = _with_row(made, label, columns, value, count)
    except (TypeError, ValueError, KeyError):  # no error if a row has the label
        return None
    return added if _are_alike(made.meta, added.meta) else None


def _keeps_dtypes(before: Any, after: Any) -> bool:
    own = columns_of(after, list(before.columns)) if isinstance(before, pd.DataFrame) else after
    return list(dtypes_of(own)) == list(dtypes_of(before))


def _are_alike(one: Any, other: Any) -> bool:
    if isinstance(one, pd.DataFrame) and not one.columns.equals(other.columns):
        return False
    return bool(one.index.dtype == other.index.dtype and list(dtypes_of(one)) == list(dtypes_of(other)))


def _with_row(node: FrameExpr, label: Any, columns: Any, value: Any, count: FrameExpr | None) -> FrameExpr:
    """Return the node of a frame with one more row; if `count` is given only if that is 0."""
    key = label if columns is None else (label, columns)
    call = partial(_row_added, key)
    given: Any = value.value if isinstance(value, Cell) else value
    nodes, bound = bind(call, (wrap(node), given), {}, label="setitem")
    meta = _meta_with_row(node, label, bound, nodes)
    others = () if count is None else (wrap(count),)
    nodes, whole = bind(
        partial(_of_partition, key, meta, _rows_like(node, label)),
        (wrap(node), given, wrap(_IsLast(node)), *others),
        {},
        label="setitem",
    )
    divisions = _divisions(node, label, meta) if count is None else (None,) * (node.npartitions + 1)
    own = node.lengths if count is None else None
    lengths = None if own is None else (*own[:-1], own[-1] + 1)
    return _WithRow(nodes[0], tuple(nodes[1:]), whole, meta, divisions, lengths)


def _divisions(node: FrameExpr, label: Any, meta: Any) -> tuple[Any, ...]:
    """Return the divisions of a frame to which a row of a label that they leave out is added."""
    known = node.divisions
    if known[0] is not None and meta.index.dtype == node.meta.index.dtype and label > known[-1]:
        return (*known[:-1], label)
    return (None,) * len(known)


def _meta_with_row(node: FrameExpr, label: Any, call: BlockCall, nodes: list[FrameExpr]) -> Any:
    """Return the meta of a frame with a row added, which is found out with made-up rows: pandas gives columns a dtype that holds old and new values."""
    own = _rows_like(node, label)
    metas = [own if one is node else sample(one.meta) for one in nodes]
    made = empty(call(*metas))
    if node.meta.index.dtype == object:  # made-up labels are text, others may be of several kinds
        made = made.set_axis(made.index.astype(object), axis=0)
    if isinstance(made, pd.Series) and node.meta.dtype == object:
        made = made.astype(object)
    return made if isinstance(node.meta, pd.Series) else made.rename_axis(columns=node.meta.columns.names)


def _rows_like(node: FrameExpr, label: Any) -> Any:
    """Return made-up rows of other labels than one, by which pandas decides on dtypes; none if it is known that a frame has none."""
    meta = node.meta
    if node.lengths is not None and not sum(node.lengths):
        return meta.copy()
    rows = sample(meta)
    kept = rows[rows.index != label]
    if len(kept):
        return kept
    raise NotImplementedError(
        f"loc[{label!r}] = ... of rows with {meta.index.dtype} labels: rows are added by concat()"
    )


# What is done with partitions.


def _row_added(key: Any, block: Any, value: Any) -> Any:
    made = block.copy()
    made.loc[key] = value
    if isinstance(block, pd.Series) and block.dtype == object and made.dtype != object:
        made = pd.Series([*block, value], index=made.index, dtype=object, name=block.name)
    if block.index.dtype == object and made.index.dtype != object:
        label = key[0] if isinstance(key, tuple) else key
        made.index = pd.Index([*block.index, label], dtype=object, name=block.index.name)
    return made


def _of_partition(key: Any, meta: Any, made_up: Any, block: Any, value: Any, is_last: bool, count: int = 0) -> Any:
    """Return a partition with the dtypes of `meta`, the last one with a row added unless a row has its label, as to `made_up` rows if it has none."""
    if is_last and not count:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # was given where the dtypes were found out
            made = _row_added(key, block, value) if len(block) else _row_added(key, made_up, value).iloc[len(made_up) :]
    else:
        made = block
    return _conformed(made, meta)


def _conformed(block: Any, meta: Any) -> Any:
    made = conform(block, meta)
    if made.index.dtype == meta.index.dtype:
        return made
    return made.set_axis(made.index.astype(meta.index.dtype), axis=0)


def _count_of(label: Any, block: Any) -> int:
    return int(np.asarray(block.index.get_indexer_for([label]) >= 0).sum())


def _same(value: Any) -> Any:
    return value
