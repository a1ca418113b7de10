"""Python's own `max`, `min`, `sum`, `all` and `any` in `agg`: since version 3 pandas calls them with all values, one after the other; before, the methods of their names.

So whole numbers are added without bounds, and missing values are compared and added as Python does it: NaN and NaT are less and greater than
nothing, `pd.NA` and texts beside missing ones are an error. Of numbers, times and texts partial results tell the result; of others the column
moves into one task.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from glassloom.backends.pandas_ import concat, sample
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE
from glassloom.dataframe.assembled import assembled
from glassloom.dataframe.reduce import Length, Operation, tree
from glassloom.dataframe.wrap import wrap


def is_of_python(how: Any) -> bool:
    """Whether something is a function of Python's that pandas calls with all values since version 3; before, it called the method of its name."""
    return HAS_COPY_ON_WRITE and any(how is one for one in (max, min, sum, all, any))


def of_python(column: Any, how: Callable[..., Any]) -> Any:
    """Return the lazy result of a function of Python's for a series.

    Raises
    ------
    TypeError
        If there is no sum of such values.
    """
    name, dtype = how.__name__, column.expr.meta.dtype
    kind: str = dtype.kind if isinstance(dtype, np.dtype) else "M" if isinstance(dtype, pd.DatetimeTZDtype) else "O"
    is_text = isinstance(dtype, pd.StringDtype)
    if how is sum and (kind in "mM" or is_text):
        raise TypeError(f"agg(sum): Python's function adds no values of dtype {dtype}; give 'sum'")
    if how in (max, min):
        if is_text:
            nodes = [Length(column.expr), column.count().expr, getattr(column, name)().expr]
            return assembled(partial(_extreme_text, name, dtype.na_value), nodes, name, "")
        if kind in "biufmM":
            first = column.head(1, npartitions=-1, compute=False)
            return assembled(partial(_extreme, name), [first.expr, getattr(column, name)().expr], name)
    elif how is sum and kind in "iu":
        return wrap(tree(column.expr, Operation(_whole_sum, sum, sum), 0, name))
    elif kind in "biuf":
        of_numbers = column.astype("float64") if kind == "f" else column
        reduced = getattr(of_numbers, name)(**({"skipna": False} if kind == "f" else {})).expr
        return assembled(_sum if how is sum else _number, [reduced, Length(column.expr)], name)
    steps = Operation(_alone, _together, partial(_of_all, how))
    return wrap(tree(column.expr, steps, how(sample(column.expr.meta)), name))


def _extreme(name: str, first: Any, found: Any) -> Any:
    if not len(first):
        raise _without_rows(name)
    return _number(first.iloc[0] if pd.isna(first.iloc[0]) else found)


def _extreme_text(name: str, missing: Any, length: int, count: int, found: Any) -> Any:
    if not length:
        raise _without_rows(name)
    if count == length:
        return found
    if length == 1 or (not count and missing is not pd.NA):
        return missing
    raise TypeError(f"agg({name}): Python's function compares no texts with missing values; give {name!r}")


def _without_rows(name: str) -> ValueError:
    return ValueError(
        f"{name}() iterable argument is empty: agg({name}) calls Python's function; '{name}' is missing without rows"
    )


def _number(value: Any, _: Any = None) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _sum(value: Any, length: int) -> Any:
    """Return a sum as a number of Python's, which adds what there is to the whole number 0."""
    return _number(value) if length else 0


def _whole_sum(block: Any) -> int:
    values = block.to_numpy()
    if not len(values):
        return 0
    bound = max(abs(int(values.min())), abs(int(values.max()))) * len(values)
    return int(values.sum()) if bound < 2**63 else sum(values.tolist())


def _alone(block: Any) -> list[Any]:
    return [block]


def _together(many: list[list[Any]]) -> list[Any]:
    return [block for blocks in many for block in blocks]


def _of_all(how: Callable[..., Any], many: list[list[Any]]) -> Any:
    return how(concat(_together(many)))
