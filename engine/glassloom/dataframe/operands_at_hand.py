"""Operands that were at hand, an array or list with a value for each row, or of a frame for each row and column, as lazy objects of its rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from glassloom.array.api.array import Array
from glassloom.backends.pandas_version import PANDAS_VERSION
from glassloom.dataframe.column_at_hand import beside_lazy_array, with_column_at_hand
from glassloom.dataframe.nodes import Projection
from glassloom.dataframe.options import is_columns
from glassloom.dataframe.widening import dtypes_of
from glassloom.dataframe.wrap import is_node, operate, wrap


def operand_of_rows(frame: Any, values: Any, what: str, *, replaces: bool = False) -> Any:
    """Return an array or list with a value for each row of a series, or row and column of a frame, as a lazy object; anything else as it is.

    Parameters
    ----------
    replaces
        Whether some of them replace those of the series or frame: they get the dtype that pandas gives the result then.

    Raises
    ------
    ValueError
        If it has another shape than the series or frame.
    """
    given = values
    if replaces and isinstance(values, tuple) and not _takes_tuples(frame.expr.meta):
        raise TypeError(f"{what}: pandas takes a tuple for one value here; give list(...) for a value for each row")
    if isinstance(values, (list, tuple, range)):
        of_objects = frame.ndim == 1
        values = pd.Index(list(values), tupleize_cols=False).array if of_objects else np.asarray(list(values))
    elif isinstance(values, pd.Index):
        values = values.array
    if not isinstance(values, (np.ndarray, pd.api.extensions.ExtensionArray)) or not values.ndim:
        return values
    shape = np.shape(values)
    if len(shape) != frame.ndim or (frame.ndim == 2 and shape[1] != len(frame.columns)):
        wanted = (
            "a value for each row"
            if frame.ndim == 1
            else f"{len(frame.columns)} values for each row; a pandas series with axis=1 has a value for each column"
        )
        raise ValueError(f"{what}: an array of shape {shape} must be the same shape as self, with {wanted}")
    dtypes = dtypes_of(frame.expr.meta)
    if frame.ndim == 1:
        values = _replacing(dtypes[0], list(given) if isinstance(given, tuple) else given) if replaces else values
        made = wrap(with_column_at_hand(frame.to_frame()[[]], what, values, infers=False))[what]
        return operate(pd.Series.rename, made, frame.name, label="values")
    made = wrap(Projection(frame.expr, []))
    for place in range(shape[1]):
        column = np.asarray(values)[:, place]
        own = _replacing(dtypes[place], column) if replaces else column
        made = wrap(with_column_at_hand(made, place, own, infers=False))
    return made.set_axis(frame.columns, axis=1)


def with_lazy_arrays(frame: Any, values: Sequence[Any], what: str) -> tuple[Any, list[Any]]:
    """Return a series or frame, and values of which lazy arrays have become lazy objects of its rows.

    Raises
    ------
    ValueError
        If such an array has another shape, or other blocks than there are partitions.
    """
    made, own = frame, _Place(0, frame)
    found: list[Any] = list(values)
    stop = own.stop
    for number in sorted(range(len(found)), key=lambda number: isinstance(values[number], Array)):
        value = values[number]
        if isinstance(value, Array):
            if value.ndim != frame.ndim or (value.ndim == 2 and value.shape[1] != len(frame.columns)):
                raise ValueError(f"{what}: a lazy array of shape {value.shape} must be the same shape as self")
            whole = value if value.ndim == 1 else value.rechunk({1: -1})
            made, like = wrap(beside_lazy_array(made, _beside_block, whole, what, n_axes=value.ndim)), frame
        elif is_node(value) and value.expr.has_rows and value.expr.rows == frame.expr.rows:  # they must stay together
            made, like = operate(_beside_block, made, value, label=what), value
        else:
            continue
        found[number] = _Place(stop, like)
        stop = found[number].stop
    return own.of(made), [value.of(made) if isinstance(value, _Place) else value for value in found]


class _Place(NamedTuple):
    """Where the columns of an object are among those of several."""

    start: int
    like: Any

    @property
    def stop(self) -> int:
        return self.start + (1 if self.like.ndim == 1 else len(self.like.columns))

    def of(self, made: Any) -> Any:
        """Return the columns of a lazy frame that are here, as such an object."""
        part = made.iloc[:, self.start : self.stop]
        if self.like.ndim == 2:
            return part.set_axis(self.like.columns, axis=1)
        return part.set_axis(["values"], axis=1)["values"].rename(self.like.name)


def _beside_block(block: Any, values: Any) -> Any:
    """Return the columns of a block and of an array, or another block of its rows, numbered."""
    first = block.to_frame() if isinstance(block, pd.Series) else block
    others = values.to_frame() if isinstance(values, pd.Series) else values
    if isinstance(others, np.ndarray):
        others = pd.DataFrame(others, index=block.index)
    return pd.concat([first, others.set_axis(block.index, axis=0)], axis=1, ignore_index=True)


def limit_of_rows(frame: Any, limit: Any, axis: Any, what: str) -> Any:
    """Return limits at hand with a value for each row as a lazy object of the rows; others as they are."""
    if is_node(limit) or isinstance(limit, (pd.Series, pd.DataFrame)) or not pd.api.types.is_list_like(limit):
        return limit
    of_each_row = frame.ndim == 1 or len(np.shape(limit)) == 2
    if not of_each_row and axis is not None and not is_columns(axis, "clip"):
        return wrap(with_column_at_hand(frame[[]], what, limit))[what]
    return operand_of_rows(frame, limit, what) if of_each_row else limit


def value_of_rows(series: Any, value: Any, what: str) -> Any:
    """Return a function's result, or values at hand, one for each row, as a lazy series: pandas' series by label, others by position."""
    value = value(series) if callable(value) and not is_node(value) else value
    if isinstance(value, pd.Series):
        return wrap(with_column_at_hand(series.to_frame()[[]], what, value))[what]
    return operand_of_rows(series, value, what)


def _takes_tuples(meta: Any) -> bool:
    """Whether pandas takes a tuple for values of each row: of numbers and times, not of categories, since version 3.1 not of text or objects."""
    wants_list = (pd.CategoricalDtype, pd.StringDtype) if PANDAS_VERSION >= (3, 1) else pd.CategoricalDtype
    dtypes = dtypes_of(meta)
    has_objects = PANDAS_VERSION >= (3, 1) and any(map(pd.api.types.is_object_dtype, dtypes))
    return not has_objects and not any(isinstance(dtype, wants_list) for dtype in dtypes)


def _replacing(own: Any, values: Any) -> Any:
    """Return values of the dtype of a column in which some of them stand for numbers or booleans: its own where that holds them all.

    A partition has some of them alone, which may say something else.
    """
    if not isinstance(own, np.dtype) or own.kind not in "iufb":
        return values
    none = np.zeros(len(values), own)
    replaced = pd.Series(none).where(none.astype(bool), values)
    return replaced.to_numpy() if isinstance(replaced.dtype, np.dtype) else replaced.array
