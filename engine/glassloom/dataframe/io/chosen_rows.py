"""The rows that a mask chooses among those of a table, and their numbers in all files. Nothing is read here."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_NEARLY_ALL = 0.95
"""Where a larger share of rows is chosen, Arrow copies them by a mask, run by run, in less time than one by one."""


class Choice:
    """The rows where a mask of NumPy's is true."""

    def __init__(self, mask: np.ndarray) -> None:
        self._mask = mask
        self.count = int(np.count_nonzero(mask))

    @property
    def is_all(self) -> bool:
        """Whether all rows are chosen."""
        return self.count == len(self._mask)

    @cached_property
    def places(self) -> np.ndarray:
        """Where the rows are."""
        return np.flatnonzero(self._mask)

    @cached_property
    def _bits(self) -> pa.Array:
        """The mask as Arrow has it; `pa.array` takes longer to make one than Arrow takes to apply it."""
        bits = np.packbits(self._mask, bitorder="little")
        return pa.Array.from_buffers(pa.bool_(), len(self._mask), [None, pa.py_buffer(bits)], null_count=0)

    @cached_property
    def _indices(self) -> pa.Array:
        return pa.array(self.places)

    def of(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return the chosen rows of a column."""
        if self.is_all:
            return column
        if column.num_chunks > 1 and pa.types.is_dictionary(column.type):
            column = column.unify_dictionaries()  # chunks without chosen rows are dropped, with their categories
        if not self.count:
            return column.slice(0, 0)
        if self.count > _NEARLY_ALL * len(self._mask):
            return column.filter(self._bits)
        return pc.take(column, self._indices, boundscheck=False)


class Places:
    """Rows by their numbers, which rise."""

    def __init__(self, places: np.ndarray) -> None:
        self.places = places
        self.count = len(places)

    def of(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return the chosen rows of a column."""
        if self.count == len(column):
            return column
        if column.num_chunks > 1 and pa.types.is_dictionary(column.type):
            column = column.unify_dictionaries()  # as chunks without chosen rows are dropped, with their categories
        return pc.take(column, pa.array(self.places), boundscheck=False)


class RowNumbers(NamedTuple):
    """The numbers of some rows in all files: of those that are chosen among others, or of all of these."""

    rows: range
    choice: Choice | Places | None = None

    @property
    def n_rows(self) -> int:
        """How many there are."""
        return len(self.rows) if self.choice is None else self.choice.count


def joined_numbers(parts: Sequence[RowNumbers]) -> range | np.ndarray:
    """Return the numbers of the rows of all parts: a range where they follow each other."""
    filled = [part for part in parts if part.n_rows]
    if not filled:
        return range(0)
    ends = zip(filled, filled[1:], strict=False)
    if all(part.choice is None for part in filled) and all(one.rows.stop == next_.rows.start for one, next_ in ends):
        return range(filled[0].rows.start, filled[-1].rows.stop)
    found = np.concatenate([_numbers(part) for part in filled])
    first, last = int(found[0]), int(found[-1])
    return range(first, last + 1) if last - first == len(found) - 1 else found


def _numbers(part: RowNumbers) -> np.ndarray:
    if part.choice is None:
        return np.arange(part.rows.start, part.rows.stop)
    return part.choice.places + part.rows.start
