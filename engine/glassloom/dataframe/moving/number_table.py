"""Tables that find whole numbers: by their place if they are close together, else by hashing. NumPy only, no lock held."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from glassloom.dataframe.moving.counting import rows_in_order
from glassloom.dataframe.sorting import is_in_order

Numbers = np.ndarray[Any, np.dtype[np.int64]]
Places = np.ndarray[Any, np.dtype[np.int32]]

_CELLS = 2**21
"""So many cells, 8 MiB, are looked up by their place however few numbers there are: hashing takes 2 to 6 times as long."""
_DENSE_FACTOR = 8
"""As many cells as this times the numbers are looked up by their place."""
_SPARSE_FACTOR, _SPARSE_CELLS = 256, 2**23
"""The same as far as the table has at most so many cells, 32 MiB."""
_MOST_IN_BUCKET = 8
"""Numbers of a bucket, each of which is compared with what is looked for."""
_FEW, _FEW_BITS, _MANY_BITS = 2**17, 4, 2
"""A hash table of so many numbers, or fewer, has ``2**_FEW_BITS`` slots for each at least, of more ``2**_MANY_BITS``. The fewer slots are taken, the fewer
numbers are looked for twice: with twice as many slots as numbers it took two to five times as long."""
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
"""2**64 divided by the golden ratio: products with it have well mixed upper bits (Knuth, volume 3, 6.4)."""


@dataclass(frozen=True)
class DirectTable:
    """Numbers from 1 to before the table's last: one more than the place of each, 0 for those that there aren't.

    So memory that no number is in needn't be written. The first and the last cell stand for all numbers before and after.
    """

    cells: Places

    def find(self, numbers: Numbers) -> Places:
        """Return the place of each number, -1 where there is none."""
        found = self.cells.take(numbers, mode="clip")
        found -= 1
        return found


@dataclass(frozen=True)
class BucketTable:
    """Distinct numbers whose buckets, of `width` numbers each, never decrease: where those of each bucket begin.

    It is made without hashing, and has few cells. `most` is how many numbers a bucket has at most.
    """

    numbers: Numbers
    starts: Places
    width: int
    most: int

    @classmethod
    def of(cls, numbers: Numbers, width: int) -> BucketTable | None:
        """Return the table of many numbers; None if buckets aren't in order or have many, or a number occurs twice."""
        buckets = numbers // width
        if not is_in_order(buckets):
            return None
        counts = np.bincount(buckets)
        most = int(counts.max())
        if most > _MOST_IN_BUCKET or any((numbers[by:] == numbers[:-by]).any() for by in range(1, most)):
            return None
        starts = np.zeros(len(counts) + 1, np.int32)
        np.cumsum(counts, out=starts[1:])
        return cls(numbers, starts, width, most)

    def find(self, numbers: Numbers) -> Places:
        """Return the place of each number, -1 where there is none."""
        found = self.starts.take(numbers // self.width, mode="clip").astype(np.intp)
        is_other = self.numbers.take(found, mode="clip") != numbers
        for _ in range(1, self.most):  # also past the bucket's end, where none is equal
            found += is_other
            is_other &= self.numbers.take(found, mode="clip") != numbers
        found[is_other] = -1
        return found.astype(np.int32)


@dataclass(frozen=True)
class HashedTable:
    """Distinct numbers, and an open-addressed table of their places, at most a quarter full."""

    numbers: Numbers
    slots: Places
    shift: int

    def find(self, numbers: Numbers) -> Places:
        """Return the place of each number, -1 where there is none."""
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

    distinct: DirectTable | BucketTable | HashedTable
    rows: Any
    starts: Any

    @classmethod
    def of(cls, numbers: Numbers, size: int, width: int | None = None) -> NumberTable:
        """Return the table of a column of numbers.

        Parameters
        ----------
        numbers
            Numbers from 1 to before `size` - 1: those before and after are none of the table's, so they can be looked for.
        size
            One more than the largest number that there may be, which none is.
        width
            How many numbers belong together, as those do of equal first keys. Files are often sorted by these.
        """
        if is_in_order(numbers):
            return cls._in_order(numbers, size, width)
        if _is_for_places(size, len(numbers)):
            return cls._by_places(numbers, size)
        finder = _sparse_table(numbers, size, width)
        if finder is not None:
            return cls(finder, None, None)
        codes, distinct = pd.factorize(numbers)
        return cls(_table_of_distinct(distinct, size, width), *_by_place(codes, len(distinct)))

    @classmethod
    def _in_order(cls, numbers: Numbers, size: int, width: int | None) -> NumberTable:
        begins = np.ones(len(numbers), bool)
        np.not_equal(numbers[1:], numbers[:-1], out=begins[1:])
        if begins.all():
            return cls(_table_of_distinct(numbers, size, width), None, None)
        first = np.flatnonzero(begins)
        finder = _table_of_distinct(numbers[first], size, width)
        return cls(finder, np.arange(len(numbers), dtype=np.int32), np.append(first, len(numbers)))

    @classmethod
    def _by_places(cls, numbers: Numbers, size: int) -> NumberTable:
        cells = _placed(numbers, size)
        if bool((cells[numbers] == np.arange(1, len(numbers) + 1, dtype=np.int32)).all()):
            return cls(DirectTable(cells), None, None)
        occurring = np.flatnonzero(cells)
        cells[occurring] = np.arange(1, len(occurring) + 1, dtype=np.int32)
        return cls(DirectTable(cells), *_by_place(cells[numbers] - 1, len(occurring)))

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


def _placed(numbers: Numbers, size: int) -> Places:
    """Return the cells of a direct table. Of equal numbers one stays."""
    cells = np.zeros(size, np.int32)
    cells[numbers] = np.arange(1, len(numbers) + 1, dtype=np.int32)
    return cells


def _table_of_distinct(numbers: Numbers, size: int, width: int | None) -> DirectTable | BucketTable | HashedTable:
    if _is_for_places(size, len(numbers)):
        return DirectTable(_placed(numbers, size))
    found = _sparse_table(numbers, size, width)
    assert found is not None
    return found


def _sparse_table(numbers: Numbers, size: int, width: int | None) -> BucketTable | HashedTable | None:
    """Return a table of numbers that are far apart; None if two of them are equal."""
    for one in (width, size // max(len(numbers), 1) + 1):
        if one is not None and _is_for_places(size // one, len(numbers)):
            found = BucketTable.of(numbers, one)
            if found is not None:
                return found
    return _hashed(numbers)


def _hashed(numbers: Numbers) -> HashedTable | None:
    """Return the table of distinct numbers; None if two are equal: they look for the same slots, so one finds the other.

    All are placed at once; those whose slot another has got go on to the next.
    """
    bits = len(numbers).bit_length() + (_FEW_BITS if len(numbers) <= _FEW else _MANY_BITS)
    shift = 64 - bits
    table = np.full(1 << bits, -1, np.int32)
    rows = np.arange(len(numbers), dtype=np.int32)
    slots = _slots_of(numbers, shift)
    while len(rows):
        free = table[slots] < 0
        table[slots[free]] = rows[free]
        holders = table[slots]
        lost = holders != rows
        rows, slots = rows[lost], slots[lost]
        if (numbers[holders[lost]] == numbers[rows]).any():
            return None
        slots = (slots + 1) & (len(table) - 1)
    return HashedTable(numbers if len(numbers) else np.array([-1]), table, shift)  # so that there is one to look at


def _slots_of(numbers: Numbers, shift: int) -> Any:
    return ((numbers.view(np.uint64) * _MULTIPLIER) >> np.uint64(shift)).astype(np.int64)
