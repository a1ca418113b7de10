"""The values of a series for the labels of a frame's rows, where both are cut otherwise: labels move to the values of their hash, and values come back.

So a column is set that was made of sorted rows, as in ``df["gap"] = df.sort_values("t").groupby("k").t.diff()``.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.divisions import cut_alike
from glassloom.dataframe.grouping.wholes import NumberedSplit, Returned
from glassloom.dataframe.moving.exchange import Pieces, split
from glassloom.dataframe.moving.hashing import hash_keys, places_of
from glassloom.dataframe.moving.returning import moved_keys
from glassloom.dataframe.moving.shuffle import hash_shuffle
from glassloom.dataframe.moving.values_by_place import counts_partitions, values_by_place
from glassloom.dataframe.nodes import FrameExpr, Projection
from glassloom.dataframe.unlike_dtypes import with_one_dtype
from glassloom.dataframe.wrap import wrap
from glassloom.errors import DivisionError


def with_rows_of(node: FrameExpr, value: FrameExpr, what: str) -> FrameExpr:
    """Return a series that can be set as a column of a frame, partition by partition: `value`, or its values for the frame's labels if it can't.

    Raises
    ------
    DivisionError
        If labels count the rows of each partition, so that they are in several rows, and say nothing of values.
    """
    if value.rows == node.rows or not isinstance(value.meta, pd.Series):
        return value
    if node.backend != "pandas" or value.backend != "pandas":
        return value
    try:
        cut_alike([node, value], what, takes_single=True)
    except DivisionError as error:
        if counts_partitions(node) or counts_partitions(value):
            if (found := values_by_place(node, value)) is not None:
                return found
            raise DivisionError(
                f"{error}. Labels of rows count those of each partition: frame = glassloom.dataframe.concat([frame], ignore_index=True) numbers "
                "all rows, so that a column is found for them by their labels"
            ) from None
        if not _have_equal_hashes(node.meta.index, value.meta.index):
            raise
        return values_by_label(node, value)
    return value


def _have_equal_hashes(labels: pd.Index, others: pd.Index) -> bool:
    """Whether labels that are equal to pandas have equal hashes. A date isn't hashed as the time that it is equal to, nor a tuple as levels are."""
    if labels.nlevels != others.nlevels or isinstance(labels, pd.MultiIndex) != isinstance(others, pd.MultiIndex):
        return False
    pairs = zip(_dtypes(labels), _dtypes(others), strict=True)
    return all(one == other or _kind(one) == _kind(other) != "" for one, other in pairs)


def _dtypes(labels: pd.Index) -> list[Any]:
    dtypes = list(labels.dtypes) if isinstance(labels, pd.MultiIndex) else [labels.dtype]
    return [dtype.categories.dtype if isinstance(dtype, pd.CategoricalDtype) else dtype for dtype in dtypes]


def _kind(dtype: Any) -> str:
    """Return the name of the dtypes whose values are hashed as those of this one are; an empty text if only its own are."""
    if pd.api.types.is_object_dtype(dtype) or isinstance(dtype, pd.StringDtype):
        return "text"
    if isinstance(dtype, (np.dtype, pd.DatetimeTZDtype)) and dtype.kind in "mM":
        return str(dtype.kind)
    return "number" if getattr(dtype, "kind", "O") in "biuf" else ""


def values_by_label(node: FrameExpr, value: FrameExpr) -> FrameExpr:
    """Return the node of the values of a series under the labels of a frame's rows, in the frame's partitions: missing where there is none.

    Its labels must be unique, as for pandas, which is found out when it is computed.
    """
    count = max(node.npartitions, value.npartitions)
    meta = value.meta.reindex(node.meta.index[:0])
    meta = meta if meta.dtype == value.meta.dtype else meta.astype(value.meta.dtype)
    labels = Projection(node, []) if isinstance(node.meta, pd.DataFrame) else node
    moved = moved_keys(labels, partial(_places, count), count)
    blocks = (Block(0), Block(1), Block(2))
    call = BlockCall(partial(_split_back, meta.dtype, node.npartitions), blocks, label="split-back")
    found = NumberedSplit(moved, (hash_shuffle(value, (), count),), call)
    made: FrameExpr = with_one_dtype(wrap(Returned(found, node.npartitions, node, meta, True))).expr
    return made


def _places(count: int, block: Any) -> Any:
    return places_of(hash_keys([block.index]), count)


def _split_back(dtype: Any, count: int, labels: Any, values: Any, number: int) -> Pieces:
    """Return the values for labels that have moved, to go back to where these come from."""
    if not values.index.is_unique:
        shown = values.index[values.index.duplicated()][:1].tolist()[0]
        raise ValueError(
            f"cannot reindex on an axis with duplicate labels: the series that is set has several values for the label {shown!r}, and its "
            "rows aren't known to be the frame's. groupby(level=0).first() of it has one for each label"
        )
    found = values.reindex(labels.index)
    if found.dtype != dtype and not found.isna().any():
        found = found.astype(dtype)
    partitions, rows = labels.iloc[:, -2].to_numpy(), labels.iloc[:, -1].to_numpy()
    made = found.to_frame(0)  # the constructor makes text of objects
    made[1], made[2] = partitions, rows
    return split(made, partitions, count)
