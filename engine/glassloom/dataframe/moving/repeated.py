"""Rows that repeat others, found by one number for each row. The rows are those that ``DataFrame.duplicated`` finds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from glassloom.backends.pandas_ import concat
from glassloom.dataframe.arrow.text import encode_text
from glassloom.dataframe.moving.lookup import WholeNumbers
from glassloom.dataframe.sorting import is_in_order, is_nearly_sorted, sorted_runs

_MOST_CELLS = 2**62
_MOST_OF_32_BITS = 2**31 - 1
_CELLS_PER_ROW = 4
"""Numbers are looked for in a table if it has no more cells for each row: hashing takes two to four times as long."""
_OVERLAP = 0.8
"""Two of several blocks that have this part of their rows left when joined are taken for disjoint, and the others too."""
_LONGEST_RUN = 16
"""Rows of one key that are compared with each other: of longer runs to sort takes less time."""
_MOST_SHARED = 1 / 4
"""If more of the rows than this may be repeated in another block, all are compared."""


def is_repeated(block: Any, subset: Sequence[Any] | None, keep: str | bool) -> Any:
    """Return a mask of the rows that repeat another one, as ``block.duplicated(subset, keep=keep)`` has it.

    Parameters
    ----------
    block
        A frame, series or index.
    subset
        The columns of a frame to compare; None: all.
    keep
        ``"first"``, ``"last"`` or False: which of equal rows isn't counted as repeated.
    """
    if not isinstance(block, pd.DataFrame) or not block.columns.is_unique or not len(block):
        return np.asarray(_by_pandas(block, subset, keep))
    columns = [block[name] for name in (block.columns if subset is None else subset)]
    if len(columns) == 1 and pd.api.types.is_object_dtype(columns[0].dtype):  # None, NaN and NaT differ there
        return np.asarray(_by_pandas(columns[0], None, keep))
    if len(columns) == 1 and _are_whole_numbers(columns[0].dtype) and is_in_order(columns[0].to_numpy()):
        return _in_order(columns[0].to_numpy(), keep)
    cells, size = _cells(columns)
    if cells is None:
        return np.asarray(_by_pandas(block, subset, keep))
    if size <= _CELLS_PER_ROW * len(cells):
        return _by_table(cells, size, keep)
    if is_nearly_sorted(cells):
        found = _in_runs(columns[0], cells, keep)
        return _by_sorting(cells, keep) if found is None else found
    return pd.Series(cells, copy=False).duplicated(keep=keep).to_numpy()  # type: ignore[arg-type]


def without_repeated(block: Any, subset: Sequence[Any] | None, keep: str | bool) -> Any:
    """Return the rows of ``block.drop_duplicates(subset, keep=keep)``."""
    repeated = is_repeated(block, subset, keep)
    return block[~repeated] if repeated.any() else block


def joined_without_repeated(
    several: Sequence[Sequence[Any]], subset: Sequence[Any] | None, keep: str | bool, *, is_last: bool
) -> list[Any]:
    """Return lists of blocks, each without repeated rows, as one list, in which no row repeats one of another block either.

    Before the last step, blocks that seem disjoint stay as they are: to compare them more than once is in vain.
    """
    blocks = [block for some in several for block in some]
    filled = [block for block in blocks if len(block)] or blocks[:1]
    if len(filled) == 1:
        return filled
    if not is_last and len(filled) > 2:
        tried = without_repeated(concat(filled[:2]), subset, keep)
        if len(tried) > _OVERLAP * (len(filled[0]) + len(filled[1])):
            return filled
        filled = [tried, *filled[2:]]
    apart = _without_repeated_in_ranges(filled, subset, keep)
    return [without_repeated(concat(filled), subset, keep)] if apart is None else apart


def _without_repeated_in_ranges(
    blocks: Sequence[Any], subset: Sequence[Any] | None, keep: str | bool
) -> list[Any] | None:
    """Return blocks, each without repeated rows, without those of others; None unless the ranges of a key mostly lie apart.

    Only rows whose key lies in the range of another block can be repeated there: in sorted files those are few.
    """
    first = blocks[0]
    if not isinstance(first, pd.DataFrame) or not first.columns.is_unique or not first.shape[1]:
        return None
    name = first.columns[0] if subset is None else subset[0]
    dtype = first[name].dtype
    if not _are_whole_numbers(dtype) or any(one[name].dtype != dtype for one in blocks):
        return None
    keys = [block[name].to_numpy() for block in blocks]
    ranges = [(int(key.min()), int(key.max())) for key in keys]
    pairs = _overlaps(ranges)
    if len(pairs) > 2 * len(blocks):
        return None
    shared = [np.zeros(len(key), bool) for key in keys]
    for one, other in pairs:
        low, high = max(ranges[one][0], ranges[other][0]), min(ranges[one][1], ranges[other][1])
        for place in (one, other):
            shared[place] |= (keys[place] >= low) & (keys[place] <= high)
    n_shared = sum(map(np.count_nonzero, shared))
    if n_shared > _MOST_SHARED * sum(map(len, blocks)):
        return None
    repeated = is_repeated(concat([block[mask] for block, mask in zip(blocks, shared, strict=True)]), subset, keep)
    parts, before = [], 0
    for block, mask in zip(blocks, shared, strict=True):
        rows = np.flatnonzero(mask)
        parts.append(_without(block, rows[repeated[before : before + len(rows)]]))
        before += len(rows)
    return [part for part in parts if len(part)] or parts[:1]


def _without(block: Any, rows: Any) -> Any:
    """Return a block without the rows of these numbers, which rise: a view of it where the first or the last rows go."""
    n_first = int(np.count_nonzero(rows == np.arange(len(rows))))
    n_last = int(np.count_nonzero(rows[::-1] == np.arange(len(block) - 1, len(block) - 1 - len(rows), -1)))
    if len(rows) == len(block):
        return block.iloc[:0]
    if n_first + n_last == len(rows):
        return block.iloc[n_first : len(block) - n_last]
    kept = np.ones(len(block), bool)
    kept[rows] = False
    return block[kept]


def _overlaps(ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return pairs of numbers of ranges that have values in common; not more than three for each range."""
    order = sorted(range(len(ranges)), key=lambda place: ranges[place])
    pairs: list[tuple[int, int]] = []
    for place, one in enumerate(order):
        for other in order[place + 1 :]:
            if ranges[other][0] > ranges[one][1]:
                break
            pairs.append((one, other))
            if len(pairs) > 3 * len(ranges):
                return pairs
    return pairs


def _in_order(numbers: Any, keep: str | bool) -> Any:
    """Return which of numbers that never decrease are repeated."""
    repeated = np.zeros(len(numbers), bool)
    follows = numbers[1:] == numbers[:-1]
    if keep != "last":
        repeated[1:] = follows
    if keep != "first":
        repeated[:-1] |= follows
    return repeated


def _in_runs(first: Any, cells: Any, keep: str | bool) -> Any:
    """Return which numbers are repeated, by the first column of the rows; None unless it never decreases and its runs are short.

    Rows of equal numbers are in the same run, less than its length apart.
    """
    if not _are_whole_numbers(first.dtype) or not is_in_order(keys := first.to_numpy()):
        return None
    begins = np.flatnonzero(keys[1:] != keys[:-1]) + 1
    longest = int(np.diff(begins, prepend=0, append=len(keys)).max())
    if longest > _LONGEST_RUN:
        return None
    repeated = np.zeros(len(cells), bool)
    for distance in range(1, longest):
        is_same = cells[distance:] == cells[:-distance]
        if keep != "last":
            repeated[distance:] |= is_same
        if keep != "first":
            repeated[:-distance] |= is_same
    return repeated


def _by_table(cells: Any, size: int, keep: str | bool) -> Any:
    """Return which numbers below `size` are repeated, by a table that has a cell for each."""
    if keep is False:
        return np.bincount(cells, minlength=size)[cells] > 1
    rows = np.arange(len(cells), dtype=np.int32 if len(cells) <= _MOST_OF_32_BITS else np.int64)
    kept = np.empty(size, rows.dtype)
    forth = slice(None, None, -1 if keep == "first" else 1)  # of equal places, the one that is written last counts
    kept[cells[forth]] = rows[forth]
    return kept.take(cells) != rows


def _by_sorting(cells: Any, keep: str | bool) -> Any:
    order, begins = sorted_runs(cells)
    ends = np.append(begins[1:], True)
    repeated = np.empty(len(cells), bool)
    repeated[order] = ~begins if keep == "first" else ~ends if keep == "last" else ~(begins & ends)
    return repeated


def _by_pandas(block: Any, subset: Any, keep: Any) -> Any:
    if isinstance(block, pd.DataFrame):
        return block.duplicated(None if subset is None else list(subset), keep=keep)
    return block.duplicated(keep=keep)


def _cells(columns: Sequence[Any]) -> tuple[Any, int]:
    """Return one number for each row, equal where all columns are, and how many there may be; None if those are too many."""
    cells: Any = None
    total = 1
    for column in columns:
        codes, size = _codes(column)
        total *= size
        if total > _MOST_CELLS:
            return None, total
        cells = codes if cells is None else cells * size + codes
    return cells, total


def _are_whole_numbers(dtype: Any) -> bool:
    return isinstance(dtype, np.dtype) and dtype.kind in "iu"


def _codes(column: Any) -> tuple[Any, int]:
    """Return a number of each value, and how many there may be."""
    dtype = column.dtype
    if isinstance(dtype, np.dtype) and dtype.kind in "iub" and dtype != np.uint64:
        numbers = WholeNumbers.of(column)
        assert numbers is not None
        return numbers.encode(column), numbers.size
    encoded = encode_text(column)
    codes, values = pd.factorize(column) if encoded is None else encoded
    return codes + np.int64(1), len(values) + 1  # missing is the first
