"""NumPy columns that grow by doubling. They hold numbers only and forget nothing.

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


class GrowingTexts:
    """Short texts by row number, held as one string a batch: a few bytes a row instead of an object each.

    >>> texts = GrowingTexts()
    >>> texts.extend(["0, 1", "0, 2"])
    >>> texts[1]
    '0, 2'
    """

    def __init__(self) -> None:
        self._firsts: list[int] = []
        self._batches: list[tuple[str, NDArray[np.uint32]]] = []
        self._rows = 0

    def __len__(self) -> int:
        return self._rows

    def __getitem__(self, row: int) -> str:
        return self.take(np.array([row]))[0]

    def extend(self, texts: list[str]) -> None:
        """Append `texts` as the next rows."""
        if not texts:
            return
        stops = np.cumsum(np.fromiter(map(len, texts), np.uint32, len(texts)), dtype=np.uint32)
        self._firsts.append(self._rows)
        self._batches.append(("".join(texts), stops))
        self._rows += len(texts)

    def take(self, rows: NDArray[Any]) -> list[str]:
        """Return the texts of the given row numbers."""
        batches = np.searchsorted(np.asarray(self._firsts), rows, side="right") - 1
        taken = []
        for row, batch in zip(rows.tolist(), batches.tolist(), strict=True):
            text, stops = self._batches[batch]
            place = row - self._firsts[batch]
            taken.append(text[stops[place - 1] if place else 0 : stops[place]])
        return taken
