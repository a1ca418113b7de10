"""All values of a frame as one series, which reductions with ``axis=None`` are of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.nodes import BlockOp, FrameExpr
from glassloom.dataframe.reduce import OF_NUMBERS


def flattened(node: FrameExpr, how: str) -> FrameExpr:
    """Return the node of all values of a frame as one series, for a reduction.

    Moments and medians of columns whose only common dtype is that of objects, such as booleans beside numbers, are those of floats.

    Raises
    ------
    ValueError
        If it has no columns.
    """
    if not len(node.meta.columns):
        raise ValueError("axis=None needs a column; the frame has none")
    is_mixed = how in (*OF_NUMBERS, "median") and pd.api.types.is_object_dtype(_flat(node.meta).dtype)
    others = [
        f"{name!r} ({dtype})" for name, dtype in node.meta.dtypes.items() if not pd.api.types.is_numeric_dtype(dtype)
    ]
    if is_mixed and others:
        raise TypeError(
            f"{how}(axis=None) takes the values of all columns together, and these aren't of numbers: {', '.join(others)}; "
            "use numeric_only=True, or convert them"
        )
    dtype = "float64" if is_mixed else None
    if how in ("any", "all") and pd.api.types.is_object_dtype(_flat(node.meta).dtype):
        dtype = "object"  # as such pandas' missing values of nullable columns are neither true nor false
    return BlockOp(node, (), BlockCall(_flat, (Block(0), dtype), label="all-values"))


def _flat(block: Any, dtype: str | None = None) -> Any:
    columns = [block.iloc[:, place] for place in range(block.shape[1])]
    if dtype is not None:
        columns = [_converted(one, dtype) for one in columns]
    return pd.concat(columns).rename(None)


def _converted(column: Any, dtype: str) -> Any:
    is_as_it_is = dtype == "object" and column.dtype == object
    return (
        column
        if is_as_it_is
        else pd.Series(column.to_numpy(dtype=dtype, na_value=np.nan), index=column.index, dtype=dtype)
    )
