"""The numeric columns of `TaskEvents` as NumPy arrays, of one message or of several that follow each other. Pure.

>>> from glassloom_metrics.protocol import task_events
>>> messages = [task_events(0, ["a", "b"], layer=[7, 8]), task_events(2, ["c"], layer=9)]
>>> values_of(messages, "layer"), values_of(messages, "worker")
(array([7, 8, 9], dtype=uint32), array([0], dtype=uint32))
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from glassloom_metrics.protocol import COLUMN_TYPECODES, TaskEvents
from numpy.typing import NDArray

_DTYPES = {name: np.dtype(typecode) for name, typecode in COLUMN_TYPECODES.items()}


def values_of(messages: Sequence[TaskEvents], name: str, skip: int = 0) -> NDArray[Any]:
    """Return a column of the rows of all messages but the first `skip`; only one value if all messages have one for all rows.

    NumPy broadcasts that one value, so what is computed of it costs nothing.
    """
    dtype = _DTYPES[name]
    given = [getattr(message, name) for message in messages]
    if not any(isinstance(value, bytes) for value in given):
        distinct = np.unique(np.array(given, dtype))
        if len(distinct) == 1:
            return distinct
    parts = [_part(value, len(message), dtype) for value, message in zip(given, messages, strict=True)]
    return (parts[0] if len(parts) == 1 else np.concatenate(parts))[skip:]


def _part(value: Any, rows: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    if not isinstance(value, bytes):
        return np.full(rows, value, dtype)
    size = len(value) // max(rows, 1)
    return np.frombuffer(value, dtype if size == dtype.itemsize else f"<u{size}").astype(dtype, copy=False)
