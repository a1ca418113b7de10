"""Tables of partial results: columns by name, of which text is held as codes where it repeats. They become frames at the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from glassloom.backends.pandas_ import concat
from glassloom.backends.sizeof import register_sizeof, sizeof
from glassloom.dataframe.arrow.text import joined_texts

Codes = np.ndarray[Any, np.dtype[np.intp]]
Table = Mapping[str, Any]
"""Columns of equal length: NumPy arrays of numbers, `CodedKey`, and series of anything else."""


@dataclass(frozen=True)
class CodedKey:
    """A key column of text: the code of each row, -1 for missing, and the distinct values."""

    codes: Any
    values: Any

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def dtype(self) -> Any:
        """pandas' dtype."""
        return self.values.dtype

    @property
    def array(self) -> Any:
        """The text of each row."""
        return self.values.take(self.codes, allow_fill=True)


@register_sizeof(CodedKey)
def _sizeof_key(key: CodedKey) -> int:
    return sizeof(key.codes) + sizeof(key.values)


def column_of(values: Any) -> Any:
    """Return an array, as pandas or NumPy hold it, or a series as a column of a table."""
    if type(values) is pd.arrays.NumpyExtensionArray:
        values = values.to_numpy()
    if isinstance(values, pd.Series):
        return values.to_numpy() if _is_plain(values.dtype) else values.reset_index(drop=True)
    if isinstance(values, np.ndarray) and _is_plain(values.dtype):
        return values
    return pd.Series(
        values, copy=False, dtype=object if values.dtype == object else None
    )  # else pandas 3 makes text of it


def _is_plain(dtype: Any) -> bool:
    return isinstance(dtype, np.dtype) and dtype.kind in "iufb"


def series_of(column: Any) -> Any:
    """Return a column as a series with labels from 0 on."""
    if isinstance(column, pd.Series):
        return column
    return pd.Series(column.array if isinstance(column, CodedKey) else column, copy=False)


def key_of(column: Any) -> Any:
    """Return a column as what keys are encoded of."""
    return column if isinstance(column, CodedKey) else series_of(column)


def rows_of(table: Table) -> int:
    """Return the number of rows."""
    return len(next(iter(table.values())))


def frame_of(table: Table) -> pd.DataFrame:
    """Return a table as a frame."""
    return pd.DataFrame({name: series_of(column) for name, column in table.items()}, copy=False)


def table_of(frame: pd.DataFrame) -> Table:
    """Return a frame as a table."""
    return {name: column_of(frame[name]) for name in frame.columns}


def joined(tables: Sequence[Table]) -> Table:
    """Return the rows of several tables as one, first to last. Tables without rows don't decide on dtypes."""
    filled = [table for table in tables if rows_of(table)] or list(tables[:1])
    if len(filled) == 1:
        return filled[0]
    known: dict[tuple[int, ...], Any] = {}  # some columns are one object, such as sizes and counts
    made = {}
    for name in filled[0]:
        columns = [table[name] for table in filled]
        same = tuple(map(id, columns))
        if same not in known:
            known[same] = _joined_column(columns)
        made[name] = known[same]
    return made


def _joined_column(columns: list[Any]) -> Any:
    first = columns[0]
    are_alike = all(type(one) is type(first) and one.dtype == first.dtype for one in columns)
    if are_alike and isinstance(first, np.ndarray):
        return np.concatenate(columns)
    if are_alike and isinstance(first, CodedKey):
        return _joined_codes(columns)
    return column_of(concat([series_of(one) for one in columns]))


def _joined_codes(columns: list[CodedKey]) -> CodedKey:
    """Return columns of text as one: their distinct values are encoded, not the rows."""
    places, values = joined_texts([one.values for one in columns])
    # The last place stands for missing.
    parts = [np.append(own, -1)[one.codes] for one, own in zip(columns, places, strict=True)]
    return CodedKey(np.concatenate(parts), values)
