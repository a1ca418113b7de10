"""Text and Python objects that are added: objects that are all missing, which to Arrow are no text.

pandas adds objects to text of Arrow's as long as one of them is text, and refuses to where all are missing; before version 3.1 also where
there are none. A partition may have just these of a column that has text elsewhere, and metas have no rows at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

_REFUSED = ("operation 'add' not supported", "operation 'radd' not supported")


def with_text_for_missing(error: Exception, args: Sequence[Any]) -> list[Any] | None:
    """Return the arguments of a call with text for objects that are all missing, if they are why it has failed; else None."""
    if not isinstance(error, TypeError) or not str(error).startswith(_REFUSED):
        return None
    made = [_as_text(one, [other for other in args if other is not one]) for one in args]
    return None if all(new is old for new, old in zip(made, args, strict=True)) else made


def _as_text(values: Any, others: Sequence[Any]) -> Any:
    """Return values, or a frame's columns, of the text that others have, if they are objects that are all missing."""
    if isinstance(values, pd.DataFrame):
        texts = [_texts_by_name(other, values.columns) for other in others]
        dtypes = {name: dtype for each in texts for name, dtype in each.items() if _are_missing(values[name])}
        return values.astype(dtypes) if dtypes else values
    dtype = next((found for found in map(_text_dtype, others) if found is not None), None)
    if dtype is None or not _are_missing(values):
        return values
    return pd.array(values, dtype=dtype) if isinstance(values, np.ndarray) else values.astype(dtype)


def _texts_by_name(other: Any, names: pd.Index) -> dict[Any, Any]:
    """Return the dtypes of text that stand beside columns of some names."""
    if not isinstance(other, pd.DataFrame):
        dtype = _text_dtype(other)
        return {} if dtype is None or not names.is_unique else dict.fromkeys(names, dtype)
    if not names.is_unique or not other.columns.is_unique:
        return {}
    return {
        name: dtype for name in names.intersection(other.columns) if (dtype := _text_dtype(other[name])) is not None
    }


def _text_dtype(values: Any) -> Any:
    dtype = getattr(values, "dtype", None)
    is_arrow = isinstance(dtype, pd.ArrowDtype) and (
        pa.types.is_string(dtype.pyarrow_dtype) or pa.types.is_large_string(dtype.pyarrow_dtype)
    )
    return dtype if is_arrow or isinstance(dtype, pd.StringDtype) else None


def _are_missing(values: Any) -> bool:
    return hasattr(values, "dtype") and pd.api.types.is_object_dtype(values.dtype) and bool(pd.isna(values).all())
