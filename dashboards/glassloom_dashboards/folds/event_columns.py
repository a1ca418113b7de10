"""The numeric columns of `TaskEvents` as NumPy arrays, of one message or of several that follow each other. Pure.

>>> from glassloom_metrics.protocol import task_events
>>> messages = [task_events(0, ["a", "b"], layer=[7, 8]), task_events(2, ["c"], layer=9)]
>>> values = values_of(messages)
>>> values["layer"], values["worker"]
(array([7, 8, 9], dtype=uint32), array([0], dtype=uint32))
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from glassloom_metrics.protocol import COLUMN_TYPECODES, TaskEvents, given_columns
from numpy.typing import NDArray

_DTYPES = {name: np.dtype(typecode) for name, typecode in COLUMN_TYPECODES.items()}

Values = dict[str, NDArray[Any]]
"""Columns by name: a value for each row, or only one if it is that of all."""


def values_of(messages: Sequence[TaskEvents], skip: int = 0) -> Values:
    """Return the columns of the rows of all messages but the first `skip`; only one value where all messages have one for all rows.

    NumPy broadcasts that one value, so what is computed of it costs nothing.
    """
    rows = [len(message) for message in messages]
    return {name: _column(given, rows, _DTYPES[name], skip) for name, given in given_columns(messages).items()}


def _column(given: Sequence[Any], rows: Sequence[int], dtype: np.dtype[Any], skip: int) -> NDArray[Any]:
    is_packed = [type(value) is bytes for value in given]
    if not any(is_packed):
        distinct = np.unique(np.array(given, dtype))
        if len(distinct) == 1:
            return distinct
    elif all(is_packed):
        sizes = {len(value) // max(count, 1) for value, count in zip(given, rows, strict=True)}
        if len(sizes) == 1:
            return _unpacked(b"".join(given), sizes.pop(), dtype)[skip:]
    parts = [_part(value, count, dtype) for value, count in zip(given, rows, strict=True)]
    return (parts[0] if len(parts) == 1 else np.concatenate(parts))[skip:]


def _part(value: Any, rows: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    if not isinstance(value, bytes):
        return np.full(rows, value, dtype)
    return _unpacked(value, len(value) // max(rows, 1), dtype)


def _unpacked(value: bytes, size: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    return np.frombuffer(value, dtype if size == dtype.itemsize else f"<u{size}").astype(dtype, copy=False)
