"""NumPy columns that grow by doubling. They hold numbers only; the oldest rows can be dropped.

>>> table = GrowingTable({"start_s": "f8"})
>>> table.extend({"start_s": np.array([1.0, 2.0])})
>>> table["start_s"]
array([1., 2.])
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

_FIRST_CAPACITY_ROWS = 1024
_SMALL_BATCH_ROWS = 512
"""Batches of texts that are smaller are joined to the next: each costs as much as some dozens of texts."""

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


class GrowingTexts:
    """Short texts by row number, held as one string a batch: a few bytes a row instead of an object each.

    Row numbers stay what they are when the oldest rows are dropped.

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
        text, stops = "".join(texts), np.cumsum(np.fromiter(map(len, texts), np.uint32, len(texts)), dtype=np.uint32)
        if self._batches and len(self._batches[-1][1]) < _SMALL_BATCH_ROWS:
            before, known = self._batches[-1]
            self._batches[-1] = before + text, np.concatenate([known, stops + known[-1]])
        else:
            self._firsts.append(self._rows)
            self._batches.append((text, stops))
        self._rows += len(texts)

    def drop_before(self, row: int) -> None:
        """Forget the batches that end before row number `row`."""
        gone = bisect_right(self._firsts, row) - 1
        del self._firsts[:gone], self._batches[:gone]

    def take(self, rows: NDArray[Any]) -> list[str]:
        """Return the texts of the given row numbers, none of which may have been dropped."""
        taken = []
        for row in rows.tolist():
            batch = bisect_right(self._firsts, row) - 1
            text, stops = self._batches[batch]
            place = row - self._firsts[batch]
            taken.append(text[stops[place - 1] if place else 0 : stops[place]])
        return taken

    def holds(self, text: str, start: int, stop: int) -> bool:
        """Tell whether `text` may be in a text of the rows from `start` to before `stop`; if not, it surely isn't.

        This is much faster than looking at each text: what it finds may begin in one and end in the next.
        """
        row = start
        while row < stop:
            batch = bisect_right(self._firsts, row) - 1
            joined, stops = self._batches[batch]
            first, size = self._firsts[batch], len(stops)
            low, high = row - first, min(stop - first, size)
            if joined.find(text, int(stops[low - 1]) if low else 0, int(stops[high - 1])) >= 0:
                return True
            row = first + high
        return False
