"""Random frames, and what a random operation is. See `frame_differential`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pyarrow as pa
from pandas.api import types

INLINE = {"scheduler": "inline"}

ROWS = "rows"
"""The result is pandas': values, labels and order. Another operation may follow."""
LAST = "last"
"""The same, but nothing follows: values are rounded, or it is no frame or series."""
UNLABELLED = "unlabelled"
"""The values are in pandas' order; the labels of rows are not promised."""
UNORDERED = "unordered"
"""Neither order nor labels of rows are promised."""


@dataclass(frozen=True)
class Operation:
    """What a person reads, a function of an object, and what of its result is promised."""

    text: str
    call: Callable[[Any], Any]
    promised: str = ROWS


class Draw:
    """Random choices."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def one(self, choices: Any) -> Any:
        return choices[int(self.rng.integers(len(choices)))]

    def chance(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def integer(self, low: int, high: int) -> int:
        """Return an integer from `low` to `high`, both included."""
        return int(self.rng.integers(low, high + 1))

    def some(self, choices: Any, least: int = 1, most: int = 3) -> list[Any]:
        """Return some of the choices, each once, in any order."""
        chosen = list(choices)
        places = self.rng.permutation(len(chosen))[: self.integer(min(least, len(chosen)), min(most, len(chosen)))]
        return [chosen[place] for place in places]

    def options(self, **choices: Any) -> dict[str, Any]:
        """Return some of the options, each with one of its values."""
        return {name: self.one(values) for name, values in choices.items() if self.chance(0.4)}


def lazy(value: Any) -> bool:
    return hasattr(value, "expr")


def replacing(method: str, value: Any, condition: Any, *other: Any) -> Any:
    """Return ``value.where(...)`` or ``value.mask(...)``, of pandas' objects with the dtypes that they have if a value is replaced.

    pandas keeps whole numbers where none is, which partitions can't know of each other.
    """
    made = getattr(value, method)(condition, *other)
    if lazy(value):
        return made
    columns = [value] if isinstance(value, pd.Series) else [value.iloc[:, place] for place in range(value.shape[1])]
    for place, column in enumerate(columns):
        if not isinstance(column.dtype, np.dtype) or column.dtype.kind not in "iub":
            continue
        wide = pd.Series([1, 1], dtype=column.dtype).where([True, False], *other).dtype
        if getattr(wide, "kind", "O") == "O" and column.dtype.kind != "b":
            continue
        if isinstance(made, pd.Series):
            return made.astype(wide)
        made.isetitem(place, made.iloc[:, place].astype(wide))
    return made


# Frames

TIMES = ("2020-01-01", "2020-01-01 12:00", "2020-03-08", "1999-12-31", "2021-02-28 23:59:59")
TEXTS = ("ant", "bee", "Cat", "dög", "", "a b", "bee")


def _times(zone: str | None, unit: str) -> Callable[[Any], Any]:
    def make(places: Any) -> Any:
        values = pd.DatetimeIndex(list(TIMES)).as_unit(unit)
        return pd.Series((values if zone is None else values.tz_localize(zone)).take(places % len(TIMES)))

    return make


def _taken(values: Any, dtype: Any) -> Callable[[Any], Any]:
    return lambda places: pd.Series([values[place % len(values)] for place in places], dtype=dtype)


DTYPES: dict[str, tuple[Callable[[Any], Any], bool]] = {
    "i8": (_taken((0, 1, 2, -1, 3), "int64"), False),
    "i4": (_taken((0, 1, 2, -3), "int32"), False),
    "u1": (_taken((0, 1, 2, 200), "uint8"), False),
    "f8": (_taken((0.0, 1.5, -2.25, 1.0, 8.0), "float64"), True),
    "f4": (_taken((0.0, 0.5, -1.0, 3.0), "float32"), True),
    "bool": (_taken((True, False), "bool"), False),
    "str": (_taken(TEXTS, "str"), True),
    "object": (_taken(TEXTS, "object"), True),
    "mixed": (_taken((1, "a", 2.5, True, "b"), "object"), True),
    "Int64": (_taken((0, 1, 2, -1), "Int64"), True),
    "Float64": (_taken((0.0, 0.5, -1.5), "Float64"), True),
    "boolean": (_taken((True, False), "boolean"), True),
    "category": (_taken(("u", "v", "w"), pd.CategoricalDtype(["w", "u", "v", "x"])), True),
    "ordered": (_taken((3, 1, 2), pd.CategoricalDtype([1, 2, 3], ordered=True)), True),
    "time": (_times(None, "ns"), True),
    "zone": (_times("Europe/Paris", "us"), True),
    "delta": (_taken((pd.Timedelta("1D"), pd.Timedelta("2h"), pd.Timedelta("-3s")), "timedelta64[ns]"), True),
    "arrow int": (_taken((0, 1, 2, -1), pd.ArrowDtype(pa.int64())), True),
    "arrow float": (_taken((2.0, 0.5, -1.5), pd.ArrowDtype(pa.float64())), True),
    "arrow text": (_taken(TEXTS, pd.ArrowDtype(pa.string())), True),
}


def column(d: Draw, kind: str, count: int) -> Any:
    make, may_miss = DTYPES[kind]
    series = make(d.rng.integers(0, 20, count))
    if may_miss and count and d.chance(0.6):
        series = series.mask(d.rng.random(count) < d.one((0.2, 0.2, 0.6)))
        series = series.astype(make(np.zeros(1, int)).dtype)
    return series


def frame(d: Draw, kinds: Any = tuple(DTYPES)) -> pd.DataFrame:
    count = d.one((0, 1, 2, 5, 8, 12, 16, 20))
    chosen = [d.one(("i8", "f8", "str")) if d.chance(0.3) else d.one(kinds) for _ in range(d.integer(1, 5))]
    made = pd.DataFrame({name: column(d, kind, count) for name, kind in zip("abcde", chosen, strict=False)})
    kind = d.one(("range", "range", "sorted", "unsorted", "text", "time"))
    if kind in ("sorted", "unsorted"):
        labels = d.rng.integers(0, 12, count)
        made.index = pd.Index(np.sort(labels) if kind == "sorted" else labels, name=d.one((None, "row")))
    elif kind == "text":
        made.index = pd.Index([TEXTS[place] for place in d.rng.integers(0, len(TEXTS), count)], dtype="str", name="t")
    elif kind == "time":
        made.index = pd.DatetimeIndex(
            pd.to_datetime("2020-01-01") + pd.to_timedelta(np.sort(d.rng.integers(0, 100, count)), "h")
        )
    return made


def cut(d: Draw, made: Any) -> Any:
    """Return a lazy frame of the same rows in the same order."""
    if made.index.is_monotonic_increasing and d.chance(0.5):
        return gd.from_pandas(made, npartitions=d.integer(1, 5))
    cuts = sorted(d.integer(0, len(made)) for _ in range(d.integer(0, 4)))
    bounds = [0, *cuts, len(made)]
    pieces = [made.iloc[start:end] for start, end in zip(bounds, bounds[1:], strict=False)]
    return gd.from_map(pieces.__getitem__, range(len(pieces)), meta=made.iloc[:0])


# What is chosen by the columns there are


def is_number(dtype: Any) -> bool:
    return types.is_numeric_dtype(dtype) and not types.is_bool_dtype(dtype)


def is_text(dtype: Any) -> bool:
    return not isinstance(dtype, pd.CategoricalDtype) and types.is_string_dtype(dtype)


def columns_of(x: Any, test: Callable[[Any], bool]) -> list[Any]:
    return [name for name in x.columns if test(x[name].dtype)] if x.columns.is_unique else []


def value_of(d: Draw, x: Any) -> Any:
    """Return a value of a series; something like it if there is none."""
    held = x.dropna()
    if not len(held) or d.chance(0.1):
        return d.one((1, 0.5, "ant", True))
    return held.iloc[d.integer(0, len(held) - 1)]
