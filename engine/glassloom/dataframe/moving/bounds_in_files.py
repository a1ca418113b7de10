"""What files say of the keys of a sort: where their partitions are in order already, nothing needs to be read to find out where rows belong."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from glassloom.dataframe.io.read import Read
from glassloom.dataframe.nodes import FrameExpr, Projection
from glassloom.expr import apply_rules


def bounds_in_files(keys: FrameExpr) -> list[tuple[Any, Any]] | None:
    """Return the smallest and the largest key of each partition, if files say them, and the partitions are in order; else None."""
    (column,) = apply_rules([keys])
    if not isinstance(column, Projection) or not isinstance(column.frame, Read) or isinstance(column.columns, list):
        return None
    read, dtype = column.frame, column.meta.dtype
    if read.condition or not isinstance(dtype, (np.dtype, pd.DatetimeTZDtype)):
        return None
    known = read.source.bounds_of(column.columns)
    if known is None:
        return None
    some = known if read.numbers is None else [known[number] for number in read.numbers]
    if any(one.high > other.low for one, other in pairwise(some)):
        return None
    lows, highs = (pd.Series(list(values), dtype=dtype).tolist() for values in zip(*((one.low, one.high) for one in some), strict=True))  # fmt: skip
    return list(zip(lows, highs, strict=True))
