"""About how large a frame is, from what is known without computing."""

from __future__ import annotations

import math
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import pandas as pd

from glassloom.dataframe.io.read import Read
from glassloom.dataframe.moving.joining import AnyJoin
from glassloom.dataframe.moving.shape import Concat
from glassloom.dataframe.nodes import Filter, FrameExpr, Rowwise
from glassloom.dataframe.partitions import Partitions

TEXT_BYTES = 24
"""What a value of text, or another object, is taken to need."""
FILTERED = 0.25
"""The part of the rows that a filter is taken to leave."""
UNLIKE_LINES = 4
"""How many times as many rows a text file is taken to have at most as lines like its first ones would be."""
_of_joins: dict[bool, WeakKeyDictionary[FrameExpr, tuple[int, float] | None]] = {
    guesses: WeakKeyDictionary() for guesses in (False, True)
}
"""What has been found of joins, known and guessed, so that a chain of them isn't walked down again for each one."""


class Size(NamedTuple):
    """How large a frame is at most, as far as is known, and likely.

    Of a join that is a guess: it is taken to have as many rows as its longer side, since keys mostly are of one row on
    one side.
    """

    most_rows: int
    likely_rows: float
    row_bytes: int

    @property
    def most_bytes(self) -> int:
        return self.most_rows * self.row_bytes

    @property
    def likely_bytes(self) -> float:
        return self.likely_rows * self.row_bytes


def size_of(node: FrameExpr) -> Size | None:
    """Return how large a frame is; None if nothing is known of its rows."""
    rows = _rows(node, guesses=False)
    return None if rows is None else Size(*rows, row_bytes(node.meta))


def guessed_size_of(node: FrameExpr) -> Size | None:
    """Return how large a frame is if whatever is done with partitions, as by users' functions, makes no more rows than it gets; None if nothing is known of what it is made of."""
    rows = _rows(node, guesses=True)
    return None if rows is None else Size(*rows, row_bytes(node.meta))


def row_bytes(meta: Any) -> int:
    """Return about how many bytes a row takes of a frame, series or index like an empty one."""
    dtypes = list(meta.dtypes) if isinstance(meta, pd.DataFrame) else [meta.dtype]
    return sum(map(_value_bytes, dtypes)) + _index_bytes(meta)


def _rows(node: FrameExpr, *, guesses: bool) -> tuple[int, float] | None:
    """Return how many rows a frame has at most, and likely. With `guesses`, what isn't known to add rows is taken to add none."""
    part = 1.0
    while node.lengths is None:
        if isinstance(node, Filter):
            part *= FILTERED
        if isinstance(node, Partitions):
            part *= len(node.numbers) / max(node.frame.npartitions, 1)
        if isinstance(node, AnyJoin):
            return _times(_rows_of_join(node, guesses=guesses), part)
        if isinstance(node, Concat):
            return _times(_sum([_rows(frame, guesses=guesses) for frame in node.frames]), part)
        if isinstance(node, Read) and node.condition:
            return _times(_rows(node.unfiltered, guesses=guesses), part * FILTERED)
        if isinstance(node, Read) and (likely := node.likely_rows) is not None:
            return _times((math.ceil(UNLIKE_LINES * likely), likely), part)
        keeps_rows = node.adds_no_rows and (not isinstance(node, Rowwise) or node.keeps_rows)
        frame = getattr(node, "frame", None) if guesses or keeps_rows else None
        if not isinstance(frame, FrameExpr):
            return None
        node = frame
    return _times((sum(node.lengths), float(sum(node.lengths))), part)


def _sum(several: list[tuple[int, float] | None]) -> tuple[int, float] | None:
    known = [rows for rows in several if rows is not None]
    if len(known) < len(several):
        return None
    return sum(most for most, _ in known), sum(likely for _, likely in known)


def _times(rows: tuple[int, float] | None, part: float) -> tuple[int, float] | None:
    return None if rows is None else (rows[0], rows[1] * part)


def _rows_of_join(node: AnyJoin, *, guesses: bool) -> tuple[int, float] | None:
    found = _of_joins[guesses]
    if node not in found:
        left, right = (_rows(side, guesses=guesses) for side in node.sides)
        found[node] = None if left is None or right is None else _joined(node.joining.how, left, right)
    return found[node]


def _joined(how: str, left: tuple[int, float], right: tuple[int, float]) -> tuple[int, float]:
    if how in ("leftsemi", "leftanti", "left_anti"):
        return left[0], left[1] / 2
    if how == "right_anti":
        return right[0], right[1] / 2
    if how == "cross":
        return left[0] * right[0], left[1] * right[1]
    most = max(left[0], right[0])
    likely = most * left[1] / max(left[0], 1) * right[1] / max(right[0], 1)
    if how == "outer":
        return left[0] + right[0], left[1] + right[1]
    return most, max(likely, {"left": left[1], "right": right[1]}.get(how, 0.0))


def _index_bytes(meta: Any) -> int:
    return 0 if isinstance(meta, pd.Index) or isinstance(meta.index, pd.RangeIndex) else 8 * meta.index.nlevels


def _value_bytes(dtype: Any) -> int:
    if isinstance(dtype, pd.CategoricalDtype):
        return 4
    if isinstance(dtype, np.dtype) and dtype.kind != "O":
        return dtype.itemsize
    return 9 if getattr(dtype, "kind", "O") in "iufbmM" else TEXT_BYTES
