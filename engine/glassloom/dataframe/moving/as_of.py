"""`asof`: the last rows with values up to some labels."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from glassloom.backends.pandas_ import concat, of_samples
from glassloom.dataframe.nodes import FrameExpr, empty
from glassloom.dataframe.reduce import Operation, tree


def last_rows_before(node: FrameExpr, where: Any, subset: tuple[Any, ...] | None) -> FrameExpr:
    """Return the node of ``frame.asof(where, subset=subset)``, in one partition.

    Each partition gives its last row with values up to each label, its first row and its last one: the rows that all rows give are among them.
    """
    meta: Any = node.meta
    if isinstance(where, str):
        where = pd.Timestamp(where)
    is_list = pd.api.types.is_list_like(where)
    if not is_list and isinstance(meta.index, pd.PeriodIndex):
        freq: Any = meta.index.freq
        where = pd.Period(where, freq=freq)
    wanted = pd.Index(where if is_list else [where])
    names = None if isinstance(meta, pd.Series) else list(meta.columns if subset is None else subset)
    options = {} if names is None else {"subset": names}
    made = empty(meta.reindex(meta.index[:0])) if is_list else of_samples(lambda some: some.iloc[-1], meta)
    if is_list:
        made = made.set_axis(wanted[:0], axis=0)
    steps = Operation(partial(_candidates, wanted, names), concat, partial(_found, where, options))
    return tree(node, steps, made, "asof")


def _candidates(wanted: pd.Index, names: list[Any] | None, block: Any) -> Any:
    if not len(block):
        return block
    if not block.index.is_monotonic_increasing:
        raise ValueError("asof requires a sorted index: sort_index() before")
    missing = block.isna() if names is None else block[names].isna().any(axis=1)
    if missing.all():
        return block.iloc[np.unique([0, len(block) - 1])]
    found = block.index.asof_locs(wanted, ~missing.to_numpy())
    return block.iloc[np.unique([0, *found[found >= 0], len(block) - 1])]


def _found(where: Any, options: dict[str, Any], blocks: list[Any]) -> Any:
    return concat(blocks).asof(where, **options)
