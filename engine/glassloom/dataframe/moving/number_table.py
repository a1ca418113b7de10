"""Tables that find whole numbers: by their place if they are close together, else by hashing. NumPy only, no lock held."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from glassloom.dataframe.moving.counting import rows_in_order

Numbers = np.ndarray[Any, np.dtype[np.int64]]
Places = np.ndarray[Any, np.dtype[np.int32]]

_CELLS = 2**20
"""So many cells, 4 MiB, are looked up by their place however few numbers there are: hashing takes 5 to 30 times as long."""
_DENSE_FACTOR = 8
"""As many cells as this times the numbers are looked up by their place."""
_SPARSE_FACTOR, _SPARSE_CELLS = 256, 2**23
"""The same as far as the table has at most so many cells, 32 MiB."""
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
"""2**64 divided by the golden ratio: products with it have well mixed upper bits (Knuth, volume 3, 6.4)."""


@dataclass(frozen=True)
class DirectTable:
    """Numbers from 0 to before the table's length: the place of each, -1 for those that there aren't."""

    places: Places

    def find(self, numbers: Numbers) -> Places:
        """Return the place of each number, -1 where there is none; negative numbers have none."""
        # One more item, -1, is last: it stands for number -1.
        return self.places.take(numbers)


@dataclass(frozen=True)
class HashedTable:
    """Distinct numbers, and an open-addressed table of their places, at most half full."""

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
            places = np.full(size + 1, -1, np.int32)
            places[numbers] = np.arange(len(numbers), dtype=np.int32)
            if bool((places[numbers] == np.arange(len(numbers), dtype=np.int32)).all()):
                return cls(DirectTable(places), None, None)
            occurring = np.flatnonzero(places >= 0)
            places[occurring] = np.arange(len(occurring), dtype=np.int32)
            return cls(DirectTable(places), *_by_place(places[numbers], len(occurring)))
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
    bits = max(int(2 * len(numbers)).bit_length(), 4)
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
