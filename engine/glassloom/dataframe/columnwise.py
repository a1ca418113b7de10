"""``frame.apply(function)`` along the rows: the function gets each column as a lazy series, so that nothing is gathered."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from glassloom.collection import Collection
from glassloom.dataframe.options import refused
from glassloom.dataframe.statistics import assembled, constant
from glassloom.dataframe.wrap import is_node, wrap

_HINT = (
    "apply(axis=0) calls the function with each column as a lazy series, so that it should use methods and operators of series; "
    "for one that needs all values at hand, call it with frame[column].compute(), and for one that treats each row by itself use "
    "map_partitions(function)"
)


def applied_to_columns(frame: Any, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return what a function makes of each column: a lazy series by column of values, or a lazy frame of series.

    Raises
    ------
    NotImplementedError
        If it returns series of several partitions that aren't of the frame's rows.
    TypeError
        If it returns something else than values or series.
    """
    names = frame.columns
    if not names.is_unique:
        raise refused("apply", "axis", 0, f"columns need different names, and are {list(names)}")
    if not len(names):
        return frame.copy()
    made = [_called(func, frame[name], args, kwargs) for name in names]
    if all(is_node(one) and isinstance(one.expr.meta, pd.Series) for one in made):
        return _beside(frame, made)
    if all(_is_scalar(one) for one in made):
        parts = [one if is_node(one) else constant(frame.expr, one, "apply") for one in made]
        return assembled(partial(_values, names), [part.expr for part in parts], "apply")
    if all(isinstance(one, np.ndarray) and one.ndim == 1 for one in made):
        return wrap(wrap(frame.expr)._assigned(dict(zip(names, made, strict=True))))
    kinds = list(dict.fromkeys(type(one).__name__ for one in made))
    raise TypeError(
        f"apply(axis=0): the function should return a value, or a lazy series, for every column; it returned {kinds}"
    )


def _called(func: Callable[..., Any], column: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    try:
        return func(column, *args, **kwargs)
    except Exception as error:  # the user's function may raise anything
        error.add_note(_HINT)
        raise


def _is_scalar(value: Any) -> bool:
    if is_node(value):
        return not value.expr.has_rows
    return not isinstance(value, Collection) and pd.api.types.is_scalar(value)


def _beside(frame: Any, columns: list[Any]) -> Any:
    nodes = [one.expr for one in columns]
    if all(node.rows == frame.expr.rows for node in nodes):
        return wrap(wrap(frame.expr)._assigned(dict(zip(frame.columns, columns, strict=True))))
    if any(node.npartitions > 1 for node in nodes):
        raise NotImplementedError(
            "apply(axis=0): the function chose or moved rows of each column, and columns of different rows aren't brought together; "
            "return a value or a series of the same rows, or use glassloom.dataframe.concat([...], axis=1) where divisions are known"
        )
    return assembled(partial(_side_by_side, frame.columns), nodes, "apply")


def _values(names: pd.Index, *values: Any) -> pd.Series:
    return pd.Series(dict(enumerate(values))).set_axis(names)


def _side_by_side(names: pd.Index, *columns: Any) -> pd.DataFrame:
    return pd.DataFrame(dict(enumerate(columns))).set_axis(names, axis=1)
