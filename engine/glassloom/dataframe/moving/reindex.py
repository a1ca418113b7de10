"""`reindex`: the rows of a list of labels, in its order."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from glassloom.backends.pandas_ import concat
from glassloom.dataframe.argument_kinds import collection_of
from glassloom.dataframe.call import Block, BlockCall, Method
from glassloom.dataframe.column_nodes import are_some
from glassloom.dataframe.column_places import columns_named
from glassloom.dataframe.nodes import FrameExpr, LabelKeeping, empty
from glassloom.dataframe.options import is_columns, refused
from glassloom.dataframe.positions import rows_of_labels
from glassloom.dataframe.reduce import Operation, tree
from glassloom.dataframe.repeated_labels import paired
from glassloom.dataframe.unlike_dtypes import of_all_rows, with_one_dtype
from glassloom.dataframe.wrap import is_node, operate, wrap


def reindexed_collection(frame: Any, labels: Any, index: Any, columns: Any, axis: Any, options: dict[str, Any]) -> Any:
    """Return what ``frame.reindex(labels, index=index, columns=columns, axis=axis, **options)`` makes of a lazy frame or series.

    Raises
    ------
    TypeError
        If rows or columns are given twice, or columns to a series.
    NotImplementedError
        If lazy labels aren't an index, or rows near theirs are asked for.
    """
    meta = frame.expr.meta
    is_frame = isinstance(meta, pd.DataFrame)
    if is_frame:
        _require_once(labels, index, columns, axis)
    elif labels is not None and index is not None:
        raise TypeError(f"reindex of a series: labels={labels!r} and index={index!r} are the same; give one of both")
    if labels is not None and is_frame and axis is not None and is_columns(axis, "reindex"):
        columns = labels
    elif labels is not None:
        index = labels
    if is_node(columns) or (is_node(index) and not isinstance(index.expr.meta, pd.Index)):
        raise NotImplementedError("reindex takes a lazy index, or labels that are at hand: compute() others before")
    if is_node(index) and not options.keys() <= {"fill_value"}:
        raise refused("reindex", "method", options.get("method"), "compute() the index before, or use merge_asof()")
    of_both: dict[str, Any] = {}
    if columns is not None:
        if not is_frame:
            raise TypeError("reindex of a series takes no columns")
        names = (
            columns
            if isinstance(columns, (pd.Index, pd.Series, pd.api.extensions.ExtensionArray))
            else collection_of("reindex", "columns", columns, "names")
        )
        if index is not None and _is_of_both(meta, names, options):
            of_both = {"columns": names}
        elif not options and _are_of_frame(names, frame.expr):
            frame = wrap(columns_named(frame.expr, list(names)))
        else:
            frame = operate(Method("reindex"), frame, kwargs={"columns": names, **options}, label="reindex")
    if is_node(index):
        return wrap(reindexed_to(frame.expr, index.to_series().expr, {**options, **of_both}))
    if index is None:
        return frame
    if "method" in options:
        return wrap(reindexed_near(frame.expr, index, {**options, **of_both}))
    by_name = labels is None or not is_frame
    return wrap(reindexed(frame.expr, index, {**options, **of_both}, by_name=by_name))


def _require_once(labels: Any, index: Any, columns: Any, axis: Any) -> None:
    """Check that rows and columns are given once: by their names, or as labels of an axis."""
    if axis is not None and (index is not None or columns is not None):
        raise TypeError("reindex: Cannot specify both 'axis' and any of 'index' or 'columns'")
    if labels is not None and index is not None and columns is not None:
        raise TypeError("reindex: Cannot specify all of 'labels', 'index', 'columns'.")


def _is_of_both(meta: pd.DataFrame, names: Any, options: dict[str, Any]) -> bool:
    """Whether pandas makes rows and columns together, and so the same dtype of all: those of a frame of one dtype of NumPy's."""
    dtypes = set(meta.dtypes)
    is_plain = len(dtypes) == 1 and isinstance(next(iter(dtypes)), np.dtype)
    return is_plain and "method" not in options and not pd.Index(names).isin(meta.columns).all()


def _are_of_frame(names: Any, node: FrameExpr) -> bool:
    """Whether names are labels of a frame's columns, each of one and only once."""
    if not isinstance(names, list) or not names or not are_some(names, node) or len(set(names)) < len(names):
        return False
    columns = node.meta.columns
    return pd.Index(names, name=columns.name).identical(columns[columns.get_indexer(pd.Index(names))])


def reindexed(node: FrameExpr, labels: Any, options: dict[str, Any], *, by_name: bool = False) -> FrameExpr:
    """Return the node of ``frame.reindex(labels, **options)``, in one partition: partitions without them aren't read.

    Parameters
    ----------
    by_name
        Whether the labels were given as ``index=labels``.
    """
    index = _index_of(node, labels)
    wanted = index
    if by_name and index.nlevels > 1 and node.meta.index.nlevels == 1 and node.meta.index.name in index.names:
        wanted = index.get_level_values(node.meta.index.name).unique()  # pandas takes that level, of index= alone
        options = {**options, "index": index}
    meta = empty(_reindexed(index, options, [node.meta]))
    finish = partial(_reindexed, index, options)
    return tree(rows_of_labels(node, list(wanted)), Operation(_same, concat, finish), meta, "reindex")


def _index_of(node: FrameExpr, labels: Any) -> pd.Index:
    """Return labels as an index that has the names of a frame's if they have none of their own."""
    index = labels if isinstance(labels, pd.Index) else pd.Index(labels) if len(labels) else node.meta.index[:0]
    if not hasattr(labels, "name"):
        index = index.rename(node.meta.index.names if index.nlevels > 1 else node.meta.index.name)
    return index


def reindexed_near(node: FrameExpr, labels: Any, options: dict[str, Any]) -> FrameExpr:
    """Return the node of ``frame.reindex(labels, method=..., **options)``, in one partition.

    Each partition gives its rows that are nearest to the labels. Those of all rows are among them.
    """
    index = _index_of(node, labels)
    meta = empty(node.meta.reindex(index[:0], **options))
    steps = Operation(partial(_nearest, index, options["method"]), concat, partial(_reindexed, index, options))
    return tree(node, steps, meta, "reindex")


def reindexed_to(node: FrameExpr, labels: FrameExpr, options: dict[str, Any]) -> FrameExpr:
    """Return the node of ``frame.reindex(other.index, **options)`` of a lazy frame or series `labels`, in its partitions.

    Raises
    ------
    DivisionError
        If partitions don't correspond, and the divisions aren't known.
    """
    pairs = paired([labels, of_all_rows(node, labels)], "reindex")
    to, own = pairs.nodes
    under = LabelKeeping(to, (own,), BlockCall(_under_labels_of, (Block(0), Block(1)), options, label="reindex"))
    made: FrameExpr = with_one_dtype(wrap(pairs.result(under))).expr
    return made


def _under_labels_of(labels: Any, block: Any, **options: Any) -> Any:
    return block.reindex(labels.index, **options)


def _reindexed(index: Any, options: dict[str, Any], blocks: list[Any]) -> Any:
    whole = concat(blocks)
    return whole.reindex(**options) if "index" in options else whole.reindex(index, **options)


def _same(block: Any) -> Any:
    return block


def _nearest(index: pd.Index, method: str, block: Any) -> Any:
    """Return the rows of a block that are the nearest ones to labels, its first one and its last one.

    By the ends of all blocks pandas sees whether labels rise or fall, or do neither.
    """
    if not block.index.is_unique:
        raise ValueError("reindex(method=...): cannot reindex on an axis with duplicate labels")
    found = block.index.get_indexer(index, method=method)
    ends = [0, len(block) - 1] if len(block) else []
    return block.iloc[np.unique([*found[found >= 0], *ends]).astype("int64")]
