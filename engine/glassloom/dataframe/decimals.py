"""Arrow's decimals in reductions: which columns have them, and how their means are rounded."""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import Any

import pandas as pd
import pyarrow as pa


def is_decimal(dtype: Any) -> bool:
    """Whether a column's dtype is one of Arrow's decimals."""
    return isinstance(dtype, pd.ArrowDtype) and bool(pa.types.is_decimal(dtype.pyarrow_dtype))


def of_decimals(how: str, join_sums: Callable[..., Any], dtype: Any) -> tuple[Any, Any, Any]:
    """Return chunk, combine and finish of the mean of a column of decimals.

    Raises
    ------
    NotImplementedError
        For their product, which Arrow rounds after each factor.
    """
    if how == "prod":
        raise NotImplementedError(
            f"prod of a column of dtype {dtype}: each product is rounded; astype('float64') before"
        )
    return _sums, join_sums, _mean


def _sums(column: Any, options: dict[str, Any]) -> tuple[int, Any]:
    return int(column.count()), column.sum(skipna=options.get("skipna", True))


def _mean(sums: tuple[int, Any], dtype: pd.ArrowDtype, options: dict[str, Any]) -> pd.Series:
    """Return the mean in a series, with as many digits as the decimals have, as Arrow rounds it; missing if there are none."""
    count, total = sums
    if not count or pd.isna(total):
        return pd.Series([None], dtype=dtype)
    with localcontext(prec=100):
        mean = Decimal(total) / count
        rounded = mean.quantize(Decimal((0, (1,), -dtype.pyarrow_dtype.scale)), ROUND_HALF_UP)
    return pd.Series([rounded], dtype=dtype)
