"""NumPy columns that grow by doubling. They hold numbers only; the oldest rows can be dropped.

>>> table = GrowingTable({"start_s": "f8"})
>>> table.extend({"start_s": np.array([1.0, 2.0])})
>>> table["start_s"]
array([1., 2.])
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

_FIRST_CAPACITY_ROWS = 1024

Column = NDArray[Any]


class GrowingTable:
    """Equally long columns; appending costs O(1) a row on average.

    Parameters
    ----------
    dtypes
        Each column's name and NumPy type.
    """

    def __init__(self, dtypes: Mapping[str, str]) -> None:
        self._columns: dict[str, Column] = {
            name: np.empty(_FIRST_CAPACITY_ROWS, dtype) for name, dtype in dtypes.items()
        }
        self._rows = 0

    def __len__(self) -> int:
        return self._rows

    def __getitem__(self, name: str) -> Column:
        """Return the filled part of a column; it is a view that the next `extend` may leave behind."""
        return self._columns[name][: self._rows]

    def drop(self, count: int) -> None:
        """Forget the first `count` rows: those after them move to the front."""
        if not count:
            return
        kept = self._rows - count
        for column in self._columns.values():
            column[:kept] = column[count : self._rows]
        self._rows = kept

    def extend(self, rows: Mapping[str, Column]) -> None:
        """Append rows, given as one array for each column of the table."""
        count = len(next(iter(rows.values())))
        total = self._rows + count
        for name, column in self._columns.items():
            if total > len(column):
                grown = np.empty(max(total, 2 * len(column)), column.dtype)
                grown[: self._rows] = column[: self._rows]
                self._columns[name] = column = grown
            column[self._rows : total] = rows[name]
        self._rows = total
