"""Arrow's dates and times of day as whole numbers of days or of parts of a second."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pyarrow as pa


def is_date(dtype: Any) -> bool:
    """Whether a column's dtype is one of Arrow's dates, which have no time of day."""
    return isinstance(dtype, pd.ArrowDtype) and bool(pa.types.is_date(dtype.pyarrow_dtype))


def counts_units(dtype: Any) -> bool:
    """Whether a column's dtype is one of Arrow's dates or times of day, whose values are numbers of days or of parts of a second."""
    return is_date(dtype) or (isinstance(dtype, pd.ArrowDtype) and bool(pa.types.is_time(dtype.pyarrow_dtype)))


def units_of(series: Any) -> Any:
    """Return dates or times of day, none of which is missing, as an array of whole numbers."""
    values = pa.chunked_array(pa.array(series.array)) if len(series) else pa.chunked_array([], _of_units(series.dtype))
    return values.cast(_of_units(series.dtype)).to_numpy()


def of_units(numbers: Any, dtype: Any) -> Any:
    """Return whole numbers as an array of dates or times of day."""
    values = pa.array(numbers, type=_of_units(dtype)).cast(dtype.pyarrow_dtype)
    return pd.arrays.ArrowExtensionArray(values)


def _of_units(dtype: Any) -> Any:
    return pa.int32() if dtype.pyarrow_dtype.bit_width == 32 else pa.int64()
