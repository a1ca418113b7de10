"""`interpolate`: missing values on the line between the values before and after them, which may lie in other partitions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.nodes import FrameExpr
from glassloom.dataframe.prefix import Carried, meta_of, scan
from glassloom.dataframe.widening import is_narrowing

METHODS = ("linear", "index", "values", "time")


@dataclass(frozen=True)
class Line:
    """The options of pandas' ``interpolate``."""

    method: str
    limit: int | None
    limit_direction: str
    limit_area: str | None

    def __glassloom_tokenize__(self) -> Any:
        return (self.method, self.limit, self.limit_direction, self.limit_area)

    def of_pandas(self, block: Any) -> Any:
        return block.interpolate(
            method=self.method, limit=self.limit, limit_direction=self.limit_direction, limit_area=self.limit_area
        )


class Nearest(NamedTuple):
    """The last value of each column (or the first), where it lies, and how many rows lie after it (before it).

    `places` are labels as numbers, all 0 for rows at equal distances. `rows` is infinite where there is no value: the
    number of rows of all partitions is no matter then.
    """

    values: Any
    places: Any
    rows: Any


def interpolated(frame: FrameExpr, line: Line) -> FrameExpr:
    """Return the node of a frame or series with its gaps filled."""
    meta = meta_of(line.of_pandas, frame)
    both = () if frame.npartitions == 1 else (_scan(frame, line, False), _scan(frame, line, True))
    blocks = tuple(Block(number) for number in range(1 + len(both)))
    call = BlockCall(partial(_filled, line, meta), blocks, label="interpolate")
    is_frame = isinstance(frame.meta, pd.DataFrame)
    return Carried(frame, both, call, meta, partial(_remade, line) if is_frame else None)


def _remade(line: Line, frame: FrameExpr) -> FrameExpr:
    return interpolated(frame, line)


def _scan(frame: FrameExpr, line: Line, is_reversed: bool) -> FrameExpr:
    title = "values-after" if is_reversed else "values-before"
    chunk = partial(_nearest, line, is_reversed)
    return scan(frame, chunk, partial(_nearest_of, is_reversed), title, is_reversed=is_reversed)


def _columns(block: Any) -> list[Any]:
    return [block] if isinstance(block, pd.Series) else [block.iloc[:, place] for place in range(block.shape[1])]


def _numbers(column: Any) -> Any:
    if not pd.api.types.is_numeric_dtype(column.dtype) or column.dtype.kind == "c":
        return np.zeros(len(column))  # nothing is missing: `interpolated` has refused other dtypes
    return column.to_numpy(dtype="float64", na_value=np.nan)


def _labels(line: Line, block: Any) -> Any:
    """Return where the rows lie."""
    index = block.index
    if line.method == "linear":
        return np.arange(len(block), dtype="float64")
    if isinstance(index.dtype, pd.ArrowDtype) and index.dtype.kind in "mM":
        numbers = index.astype("int64[pyarrow]").to_numpy()
    else:
        numbers = index.asi8 if index.dtype.kind in "mM" else index.to_numpy()
    if not index.is_monotonic_increasing:
        raise ValueError(f"interpolate(method={line.method!r}) needs labels in ascending order; sort_index() before")
    return numbers.astype("float64")


def _nearest(line: Line, is_reversed: bool, block: Any) -> Nearest | None:
    if not len(block):
        return None
    labels = _labels(line, block)
    found = []
    for column in _columns(block):
        there = np.flatnonzero(~np.isnan(_numbers(column)))
        if not len(there):
            found.append((np.nan, np.nan, float(len(block))))
            continue
        place = there[0] if is_reversed else there[-1]
        rows = place if is_reversed else len(block) - 1 - place
        found.append((_numbers(column)[place], labels[place], float(rows)))
    values, places, rows = (
        (np.array(one, dtype="float64") for one in zip(*found, strict=True)) if found else (np.empty(0),) * 3
    )
    return Nearest(values, places, rows)


def _nearest_of(is_reversed: bool, parts: list[Nearest]) -> Nearest:
    """Return what is nearest of several partitions, which come in their order."""
    ordered = parts if is_reversed else parts[::-1]
    whole = ordered[0]
    for farther in ordered[1:]:
        missing = np.isnan(whole.values)
        whole = Nearest(
            np.where(missing, farther.values, whole.values),
            np.where(missing, farther.places, whole.places),
            np.where(missing, farther.rows + whole.rows, whole.rows),
        )
    return whole


def _filled(line: Line, meta: Any, block: Any, before: Nearest | None = None, after: Nearest | None = None) -> Any:
    if before is None and after is None:
        return line.of_pandas(block)
    if not len(block):
        return meta
    labels = _labels(line, block)
    made = []
    for place, column in enumerate(_columns(block)):
        values = _numbers(column)
        if not np.isnan(values).any():
            made.append(column)
            continue
        ends = [
            None if one is None or np.isnan(one.values[place]) else Nearest(*(v[place] for v in one))
            for one in (before, after)
        ]
        filled = pd.Series(_on_line(line, values, labels, ends[0], ends[1]), index=column.index, name=column.name)
        made.append(filled)
    dtypes = [meta.dtype] if isinstance(meta, pd.Series) else list(meta.dtypes)
    made = [
        column if column.dtype == dtype or is_narrowing(column.dtype, dtype) else column.astype(dtype)
        for column, dtype in zip(made, dtypes, strict=True)
    ]
    if isinstance(meta, pd.Series):
        return made[0]
    frame = pd.DataFrame(dict(enumerate(column.array for column in made)), index=block.index)
    return frame.set_axis(block.columns, axis=1)


def _on_line(line: Line, values: Any, labels: Any, before: Nearest | None, after: Nearest | None) -> Any:
    count = len(values)
    there = np.flatnonzero(~np.isnan(values))
    known, at = values[there], labels[there]
    rows = np.arange(count, dtype="float64")
    last = np.maximum.accumulate(np.where(np.isnan(values), -np.inf, rows))
    following = np.minimum.accumulate(np.where(np.isnan(values), np.inf, rows)[::-1])[::-1]
    if before is not None:
        last = np.maximum(last, -1 - before.rows)
        place = -1 - before.rows if line.method == "linear" else before.places
        known, at = np.append(before.values, known), np.append(place, at)
    if after is not None:
        following = np.minimum(following, count + after.rows)
        place = count + after.rows if line.method == "linear" else after.places
        known, at = np.append(known, after.values), np.append(at, place)
    if not len(known):
        return values
    limit = np.inf if line.limit is None else line.limit
    has_before, has_after = np.isfinite(last), np.isfinite(following)
    forward, backward = has_before & (rows - last <= limit), has_after & (following - rows <= limit)
    chosen = {"forward": forward, "backward": backward, "both": forward | backward}[line.limit_direction]
    if line.limit_area == "inside":
        chosen &= has_before & has_after
    elif line.limit_area == "outside":
        chosen &= ~(has_before & has_after)
    chosen &= np.isnan(values)
    made = values.copy()
    made[chosen] = np.interp(labels[chosen], at, known)
    return made
