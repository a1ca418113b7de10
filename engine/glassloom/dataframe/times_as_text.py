"""Times as text: pandas writes all times of a column alike, in as fine a unit as the finest needs. So partitions agree on it first."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from glassloom.dataframe.nodes import FrameExpr, Rowwise
from glassloom.dataframe.reduce import Operation, tree
from glassloom.dataframe.wrap import operate, wrap

_UNITS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_STEPS = (10**3, 10**6, 10**9, 86400 * 10**9)
"""Nanoseconds. What is a multiple of a step is written without smaller units if all of the column are."""


def places_of_times(meta: Any, dtype: Any) -> list[int]:
    """Return the places of the columns of times that `astype(dtype)` makes text."""
    columns = [meta] if isinstance(meta, pd.Series) else [meta.iloc[:, place] for place in range(meta.shape[1])]
    wanted = [dtype.get(column.name) if isinstance(dtype, dict) else dtype for column in columns]
    pairs = enumerate(zip(columns, wanted, strict=True))
    return [place for place, (column, to) in pairs if _is_time(column.dtype) and _is_text(to)]


def astype(frame: Any, dtype: Any, places: Sequence[int]) -> Any:
    """Return a frame or series converted, with text in the columns of times at `places`, as if it were one partition."""
    finest = wrap(_finest_of(frame.expr, places))
    return operate(partial(_converted, tuple(places), dtype), frame, finest, kind=Rowwise, label="astype")


def _finest_of(node: FrameExpr, places: Sequence[int]) -> FrameExpr:
    """Return the node of a tuple: for each column of times a series of one value that is written in the finest unit, or of none."""
    empty = tuple(column.iloc[:0] for column in _columns(node.meta, places))
    steps = Operation(partial(_finest, tuple(places)), _finest_of_all, _finest_of_all)
    return tree(node, steps, empty, "finest-times")


def _columns(block: Any, places: Sequence[int]) -> list[Any]:
    return [block] if isinstance(block, pd.Series) else [block.iloc[:, place] for place in places]


def _is_time(dtype: Any) -> bool:
    return isinstance(dtype, pd.DatetimeTZDtype) or (isinstance(dtype, np.dtype) and dtype.kind in "mM")


def _is_text(dtype: Any) -> bool:
    if dtype is None or dtype is str:
        return dtype is str
    made = pd.api.types.pandas_dtype(dtype)
    return made.kind == "U" or isinstance(made, pd.StringDtype)


def _finest(places: Sequence[int], block: Any) -> tuple[Any, ...]:
    return tuple(map(_finest_value, _columns(block, places)))


def _finest_of_all(several: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    return tuple(_finest_value(pd.concat(values)) for values in zip(*several, strict=True))


def _finest_value(column: Any) -> Any:
    """Return the first of the values that aren't multiples of as small a step as possible, as a series of one or none."""
    known = column[column.notna()]
    numbers = known.array.view("i8")
    unit = _UNITS[known.dt.unit]
    for step in _STEPS:
        if step > unit:
            is_finer = numbers % (step // unit) != 0
            if is_finer.any():
                return known.iloc[[is_finer.argmax()]]
    return known.iloc[:1]


def _converted(places: Sequence[int], dtype: Any, block: Any, finest: tuple[Any, ...]) -> Any:
    if isinstance(block, pd.Series):
        return _text(block, dtype, finest[0])
    made = block.copy(deep=False)
    for place, column, value in zip(places, _columns(block, places), finest, strict=True):
        made.isetitem(place, _text(column, dtype[column.name] if isinstance(dtype, dict) else dtype, value))
    return made.astype(dtype)


def _text(column: Any, dtype: Any, finest: Any) -> Any:
    """Return a column as text that is written as if `finest` were in it."""
    both = pd.concat([column, finest]) if len(finest) else column
    return both.astype(dtype).iloc[: len(column)]
