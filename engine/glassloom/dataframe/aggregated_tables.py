"""What `agg` makes of several lazy values: series and frames with a row for each reduction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from glassloom.backends.pandas_ import of_samples
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE
from glassloom.dataframe.nodes import Projection
from glassloom.dataframe.wrap import operate, wrap


def reduced_rows(frame: Any, how: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return a reduction of each row of a lazy frame."""
    if how == "size":
        return operate(_widths, frame, label="size")
    return getattr(frame, how)(*args, axis=1, **kwargs)


def reductions_of_rows(
    frame: Any, how: list[str], names: list[Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Return several reductions of each row of a lazy frame, beside each other: of the dtype that pandas finds for all those of a row."""
    parts = [reduced_rows(frame, one, args, kwargs) for one in how]
    if all(isinstance(part.dtype, np.dtype) for part in parts):
        dtypes = of_samples(lambda some: some.agg(how, 1, *args, **kwargs), frame.expr.meta).dtypes
        pairs = list(zip(parts, dtypes, strict=True))
        parts = [part if part.dtype == dtype else part.astype(dtype) for part, dtype in pairs]
    rows = wrap(Projection(frame.expr, []))
    return wrap(rows._assigned(dict(zip(names, parts, strict=True))))


def _widths(block: Any) -> Any:
    return pd.Series(block.shape[1], index=block.index, dtype="int64")


def stacked(names: list[str], name: Any, *values: Any) -> Any:
    """Return several reductions of a series, each under its name."""
    return pd.Series(list(values), index=names, name=name)


def named_parts(one: Any) -> tuple[Any, ...]:
    """Return column and reduction of what is named in `agg`, and what the reduction gets with `pandas.NamedAgg`."""
    if hasattr(one, "aggfunc"):
        return (one.column, one.aggfunc, getattr(one, "args", ()), getattr(one, "kwargs", {}))
    return tuple(one) if isinstance(one, (tuple, list)) else (one,)


def dtype_of(column: Any, how: Sequence[Any], is_list: bool, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the dtype of several reductions of a frame's only column, as pandas has it; None if only values tell.

    pandas has a common dtype for a list of reductions of a frame, and infers one where they are listed by column.
    """
    wanted = list(how) if is_list else {column.columns[0]: list(how)}
    try:
        dtype = of_samples(lambda some: some.agg(wanted, 0, *args, **kwargs), column).dtypes.iloc[0]
    except (TypeError, ValueError):  # what pandas objects to is raised where a reduction is made
        return None
    return dtype if is_list or pd.api.types.is_object_dtype(dtype) else None


def named_rows(names: list[str], columns: list[Any], *values: Any) -> Any:
    """Return a row for each named reduction of a column."""
    cells = pd.DataFrame(index=names, columns=list(dict.fromkeys(columns)), dtype=object)
    for name, column, value in zip(names, columns, values, strict=True):
        cells.at[name, column] = value
    made = cells.infer_objects()
    for place, column in enumerate(cells.columns):
        if (
            any(cells[column].map(lambda value: value is pd.NaT)) and cells[column].isna().all()
        ):  # of which nothing tells the dtype
            times: Any = pd.Series([pd.NaT] * len(cells), index=cells.index)
            made.isetitem(place, times)
    return made


def rows_by_column(
    names: dict[Any, tuple[str, ...]], are_single: bool, dtypes: dict[Any, Any], labels: Any, *values: Any
) -> Any:
    """Return a column of the reductions of each column, called by `labels` if these are given; of single ones a row of these."""
    left = iter(values)
    columns = {
        column: _cells({how: next(left) for how in every}, dtypes.get(column)) for column, every in names.items()
    }
    if are_single:
        return pd.Series({column: one.iloc[0] for column, one in columns.items()})
    made = pd.concat(columns, axis=1)
    if labels is not None:
        made.columns = labels if labels.nlevels == 1 else made.columns.set_names(labels.names)
    return made


def _cells(values: dict[str, Any], dtype: Any) -> Any:
    made = pd.Series(values)
    is_plain = isinstance(dtype, np.dtype) and dtype.kind != "O"
    is_wider = is_plain and dtype.kind in "iub" and made.dtype.kind == "f"  # values were missing among whole numbers
    keeps_dtype = (
        HAS_COPY_ON_WRITE and is_plain and dtype.kind in "mM"
    )  # before pandas 3, times that are missing had another
    has_no_rows = is_plain and not keeps_dtype and made.hasnans
    return made if is_wider or has_no_rows else pd.Series(values, dtype=dtype)


def row_of_scalars(dtype: Any, names: Any, *values: Any) -> Any:
    """Return a value of each column as a row."""
    if isinstance(dtype, pd.api.extensions.ExtensionDtype) or pd.api.types.is_object_dtype(dtype):
        return pd.Series(list(values), index=names, dtype=dtype)
    are_missing_times = getattr(dtype, "kind", "O") in "mM" and all(value is pd.NaT for value in values)
    return pd.Series(list(values), index=names, dtype=dtype if are_missing_times else None).infer_objects()


def frame_of_quantiles(fractions: tuple[float, ...], is_list: bool, names: Any, *columns: Any) -> Any:
    """Return the quantiles of columns beside each other; of one fraction as a row."""
    made = pd.concat(list(columns), axis=1)
    made.columns = names
    if is_list:
        return made
    row = made.iloc[0] if len(made) else pd.Series(np.nan, index=names)
    return row.rename(fractions[0])


def described_columns(names: pd.Index, *columns: Any) -> Any:
    """Return what `describe` says of columns beside each other, with the rows that any has."""
    order: list[Any] = []
    for one in sorted((column.index for column in columns), key=len):
        order.extend(label for label in one if label not in order)
    made = pd.concat([column.reindex(order) for column in columns], axis=1)
    made.columns = names
    return made


def description_of_numbers(labels: list[str], name: Any, dtype: Any, *values: Any) -> Any:
    """Return what `describe` says of a column of numbers or times."""
    flat = [item for value in values for item in (list(value) if isinstance(value, pd.Series) else [value])]
    return pd.Series(flat, index=labels, name=name, dtype=dtype)


def description_of_text(name: Any, dtype: Any, counts: Any) -> Any:
    """Return what `describe` says of a column of other values."""
    n_distinct = int((counts > 0).sum())
    top, freq = (counts.index[0], counts.iloc[0]) if n_distinct else (np.nan, np.nan)
    values = [counts.sum(), n_distinct, top, freq]
    return pd.Series(values, index=["count", "unique", "top", "freq"], name=name, dtype=None if n_distinct else object)
