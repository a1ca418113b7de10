"""`mode`: the most frequent values of a series or of each column."""

from __future__ import annotations

from functools import partial
from typing import Any

import pandas as pd

from glassloom.dataframe.assembled import assembled
from glassloom.dataframe.nodes import FrameExpr
from glassloom.dataframe.reduce import value_counts
from glassloom.dataframe.widening import is_narrowing


def mode_of(node: FrameExpr, dropna: bool, split_every: int | None) -> FrameExpr:
    """Return the node of the most frequent values of a series, sorted."""
    counts = value_counts(node, sort=False, ascending=False, dropna=dropna, normalize=False, split_every=split_every)
    meta = node.meta.mode(dropna=dropna)
    return assembled(partial(_most_frequent, meta, dropna), [counts], "mode", meta).expr


def _most_frequent(meta: Any, dropna: bool, counts: Any) -> Any:
    if not len(counts) and not is_narrowing(counts.index.dtype, meta.dtype):
        return meta
    top = counts.index[(counts == counts.max()).to_numpy() & (counts > 0).to_numpy()]
    is_wider = is_narrowing(top.dtype, meta.dtype) and (top.dtype != object or meta.dtype.kind in "biuf")
    dtype = top.dtype if is_wider else meta.dtype
    return pd.Series(top, dtype=dtype, name=meta.name).mode(dropna=dropna).rename(meta.name)


def modes_side_by_side(names: Any, *columns: Any) -> Any:
    """Return the most frequent values of columns as a frame."""
    made = pd.concat([column.reset_index(drop=True) for column in columns], axis=1)
    made.columns = names
    return made
