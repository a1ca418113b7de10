"""`ohlc` of groups: of plain numbers a tree of tasks makes it, of others whole groups."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from glassloom.dataframe.call import Method
from glassloom.dataframe.grouping.spec import Call
from glassloom.dataframe.wrap import operate


def ohlc(groups: Any, split_out: Any) -> Any:
    """Return the first, highest, lowest and last value of each group of a `GroupBy`."""
    call = Call("ohlc")
    grouping = groups._needing(None, {})
    meta = grouping.sampled(call)
    columns = grouping.node.meta if groups._is_series else grouping.node.meta[groups._value_columns("ohlc", {})]
    dtypes = [columns.dtype] if isinstance(columns, pd.Series) else list(columns.dtypes)
    are_plain = all(isinstance(dtype, np.dtype) and dtype.kind in "iuf" for dtype in dtypes)
    if are_plain and grouping.recipe.as_index and (isinstance(columns, pd.Series) or columns.columns.is_unique):
        made = groups.agg(["first", "max", "min", "last"], split_out=split_out)
        if list(made.expr.meta.dtypes) == list(meta.dtypes):
            return operate(Method("set_axis"), made, meta.columns, kwargs={"axis": 1}, label="ohlc")
    return groups._in_order(call, "groupby-ohlc", split_out)
