"""Tables that find whole numbers: by their place if they are close together, else by hashing. NumPy only, no lock held."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from glassloom.dataframe.moving.counting import rows_in_order

Numbers = np.ndarray[Any, np.dtype[np.int64]]
Places = np.ndarray[Any, np.dtype[np.int32]]

_CELLS = 2**21
"""So many cells, 8 MiB, are looked up by their place however few numbers there are: hashing takes 2 to 6 times as long."""
_DENSE_FACTOR = 8
"""As many cells as this times the numbers are looked up by their place."""
_SPARSE_FACTOR, _SPARSE_CELLS = 256, 2**23
"""The same as far as the table has at most so many cells, 32 MiB."""
_FEW, _FEW_BITS, _MANY_BITS = 2**17, 4, 2
"""A hash table of so many numbers, or fewer, has ``2**_FEW_BITS`` slots for each at least, of more ``2**_MANY_BITS``. The fewer slots are taken, the fewer
numbers are looked for twice: with twice as many slots as numbers it took two to five times as long."""
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
"""2**64 divided by the golden ratio: products with it have well mixed upper bits (Knuth, volume 3, 6.4)."""


@dataclass(frozen=True)
class DirectTable:
    """Numbers from 0 to before the table's length: one more than the place of each, 0 for those that there aren't.

    So memory that no number is in needn't be written.
    """

    cells: Places

    def find(self, numbers: Numbers) -> Places:
        """Return the place of each number, -1 where there is none; negative numbers have none."""
        found = self.cells.take(numbers)  # one more cell, 0, is last: it stands for number -1
        found -= 1
        return found


@dataclass(frozen=True)
class HashedTable:
    """Distinct numbers, and an open-addressed table of their places, at most a quarter full."""

    numbers: Numbers
    slots: Places
    shift: int

    def find(self, numbers: Numbers) -> Places:
        """Return the place of each number, -1 where there is none; negative numbers have none."""
        slots = _slots_of(numbers, self.shift)
        found = self.slots.take(slots)
        left = self._mistaken(found, numbers, None)
        mask = len(self.slots) - 1
        while len(left):
            slots[left] = (slots[left] + 1) & mask
            found[left] = self.slots.take(slots[left])
            left = self._mistaken(found, numbers, left)
        return found

    def _mistaken(self, found: Places, numbers: Numbers, among: Any) -> Any:
        """Return the rows (of all, or some) in whose slot another number is."""
        if among is None:
            return np.flatnonzero((self.numbers.take(found) != numbers) & (found >= 0))
        some = found[among]
        return among[(self.numbers.take(some) != numbers[among]) & (some >= 0)]


@dataclass(frozen=True)
class NumberTable:
    """Numbers that may occur several times, and the rows that have each.

    Attributes
    ----------
    distinct
        Finds the place of a number among the distinct ones.
    rows, starts
        The rows in the order of those places, and where those of each begin; None if every number occurs once: then the
        place is the row.
    """

    distinct: DirectTable | HashedTable
    rows: Any
    starts: Any

    @classmethod
    def of(cls, numbers: Numbers, size: int) -> NumberTable:
        """Return the table of a column of numbers, each from 0 to before `size`."""
        if _is_for_places(size, len(numbers)):
            cells = np.zeros(size + 1, np.int32)
            rows = np.arange(1, len(numbers) + 1, dtype=np.int32)
            cells[numbers] = rows
            if bool((cells[numbers] == rows).all()):
                return cls(DirectTable(cells), None, None)
            occurring = np.flatnonzero(cells)
            cells[occurring] = np.arange(1, len(occurring) + 1, dtype=np.int32)
            return cls(DirectTable(cells), *_by_place(cells[numbers] - 1, len(occurring)))
        codes, distinct = pd.factorize(numbers)
        table = _hashed(distinct)
        if len(distinct) == len(numbers):
            return cls(table, None, None)
        return cls(table, *_by_place(codes, len(distinct)))

    def find(self, numbers: Numbers) -> tuple[Any, Any]:
        """Return pairs of rows with equal numbers: of those given (None: each once, in order), and of the table's.

        The second has -1 for a row that is equal to none. Rows come in the order of `numbers`, those that are equal to
        the same in the table's order.
        """
        places = self.distinct.find(numbers)
        if self.rows is None:
            return None, places
        counts = np.append(np.diff(self.starts), 1)[places]  # the last one stands for -1
        own = np.repeat(np.arange(len(numbers)), counts)
        within = np.arange(len(own)) - np.repeat(np.cumsum(counts) - counts, counts)
        expanded = places[own]
        return own, np.where(expanded < 0, -1, self.rows.take(self.starts.take(expanded) + within, mode="clip"))


def _is_for_places(size: int, count: int) -> bool:
    return size <= max(_CELLS, _DENSE_FACTOR * count, min(_SPARSE_FACTOR * count, _SPARSE_CELLS))


def _by_place(places: Any, count: int) -> tuple[Any, Any]:
    rows, starts = rows_in_order(places, count)
    return rows.astype(np.int32), starts


def _hashed(numbers: Numbers) -> HashedTable:
    """Return the table of distinct numbers. All are placed at once; those whose slot another has got go on to the next."""
    bits = len(numbers).bit_length() + (_FEW_BITS if len(numbers) <= _FEW else _MANY_BITS)
    shift = 64 - bits
    table = np.full(1 << bits, -1, np.int32)
    rows = np.arange(len(numbers), dtype=np.int32)
    slots = _slots_of(numbers, shift)
    while len(rows):
        free = table[slots] < 0
        table[slots[free]] = rows[free]
        lost = table[slots] != rows
        rows, slots = rows[lost], (slots[lost] + 1) & (len(table) - 1)
    return HashedTable(numbers if len(numbers) else np.array([-1]), table, shift)  # so that there is one to look at


def _slots_of(numbers: Numbers, shift: int) -> Any:
    return ((numbers.view(np.uint64) * _MULTIPLIER) >> np.uint64(shift)).astype(np.int64)
