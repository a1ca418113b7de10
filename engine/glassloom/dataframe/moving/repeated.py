"""Rows that repeat others, found by one number for each row. The rows are those that ``DataFrame.duplicated`` finds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from glassloom.backends.pandas_ import concat
from glassloom.dataframe.arrow.text import encode_text
from glassloom.dataframe.grouping.nearly_sorted import is_nearly_sorted, sorted_runs
from glassloom.dataframe.moving.lookup import WholeNumbers

_MOST_CELLS = 2**62
_OVERLAP = 0.8
"""Two of several blocks that have this part of their rows left when joined are taken for disjoint, and the others too."""


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
    cells = _cells(columns)
    if cells is None:
        return np.asarray(_by_pandas(block, subset, keep))
    if is_nearly_sorted(cells):
        return _by_sorting(cells, keep)
    return pd.Series(cells, copy=False).duplicated(keep=keep).to_numpy()  # type: ignore[arg-type]


def without_repeated(block: Any, subset: Sequence[Any] | None, keep: str | bool) -> Any:
    """Return the rows of ``block.drop_duplicates(subset, keep=keep)``."""
    repeated = is_repeated(block, subset, keep)
    return block[~repeated] if repeated.any() else block


def joined_without_repeated(
    several: Sequence[Sequence[Any]], subset: Sequence[Any] | None, keep: str | bool, *, is_last: bool
) -> list[Any]:
    """Return lists of blocks, each without repeated rows, as one list of one block without any.

    Blocks that are disjoint stay as they are unless this is the last step: to compare them more than once is in vain.
    """
    blocks = [block for some in several for block in some]
    filled = [block for block in blocks if len(block)] or blocks[:1]
    if not is_last and len(filled) > 2:
        tried = without_repeated(concat(filled[:2]), subset, keep)
        if len(tried) > _OVERLAP * (len(filled[0]) + len(filled[1])):
            return filled
        filled = [tried, *filled[2:]]
    return [without_repeated(concat(filled), subset, keep)]


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


def _cells(columns: Sequence[Any]) -> Any:
    """Return one number for each row, equal where all columns are; None if there are too many combinations."""
    cells: Any = None
    total = 1
    for column in columns:
        codes, size = _codes(column)
        total *= size
        if total > _MOST_CELLS:
            return None
        cells = codes if cells is None else cells * size + codes
    return cells


def _codes(column: Any) -> tuple[Any, int]:
    """Return a number of each value, and how many there may be."""
    dtype = column.dtype
    if isinstance(dtype, np.dtype) and dtype.kind in "iub" and dtype != np.uint64:
        numbers = WholeNumbers.of(column)
        assert numbers is not None
        return numbers.encode(column)[0], numbers.size
    encoded = encode_text(column)
    codes, values = pd.factorize(column) if encoded is None else encoded
    return codes + np.int64(1), len(values) + 1  # missing is the first
