"""About how large a frame is, from what is known without computing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from glassloom.dataframe.moving.exchange import Exchange
from glassloom.dataframe.moving.shape import Repartition, SetDivisions
from glassloom.dataframe.nodes import Assign, Filter, FrameExpr, LabelKeeping, Partitions, Projection

TEXT_BYTES = 24
"""What a value of text, or another object, is taken to need."""
_NO_MORE_ROWS = (Projection, Assign, Filter, LabelKeeping, Partitions, Exchange, Repartition, SetDivisions)


def most_rows(node: FrameExpr) -> int | None:
    """Return how many rows a frame has at most; None if that isn't known."""
    while True:
        if node.lengths is not None:
            return sum(node.lengths)
        if not isinstance(node, _NO_MORE_ROWS):
            return None
        node = node.frame


def most_bytes(node: FrameExpr) -> int | None:
    """Return about how many bytes a frame has at most; None if that isn't known."""
    rows = most_rows(node)
    if rows is None:
        return None
    meta = node.meta
    dtypes = list(meta.dtypes) if isinstance(meta, pd.DataFrame) else [meta.dtype]
    return rows * (sum(map(_value_bytes, dtypes)) + _index_bytes(meta))


def _index_bytes(meta: Any) -> int:
    return 0 if isinstance(meta, pd.Index) or isinstance(meta.index, pd.RangeIndex) else 8 * meta.index.nlevels


def _value_bytes(dtype: Any) -> int:
    if isinstance(dtype, pd.CategoricalDtype):
        return 4
    if isinstance(dtype, np.dtype) and dtype.kind != "O":
        return dtype.itemsize
    return 9 if getattr(dtype, "kind", "O") in "iufbmM" else TEXT_BYTES
