"""Spearman's correlation: Pearson's of the ranks among all partitions. Of rows where one of both values is missing neither counts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from glassloom.dataframe.options import refused
from glassloom.dataframe.widening import can_miss_nothing


def require_method(of: str, method: Any) -> None:
    """Check that a correlation can be computed of partitions.

    Raises
    ------
    NotImplementedError
        If it isn't Pearson's or Spearman's.
    """
    if method not in ("pearson", "spearman"):
        raise refused(
            of, "method", method, "there are 'pearson', 'spearman', and of frames and series 'kendall' and functions"
        )


def matrix_by_pandas(options: dict[str, Any], block: Any) -> Any:
    """Return pandas' correlations of all pairs of columns of a pandas frame."""
    return block.corr(**options)


def pair_by_pandas(method: Any, min_periods: int | None, block: Any) -> Any:
    """Return pandas' correlation of both columns of a pandas frame."""
    return block.iloc[:, 0].corr(block.iloc[:, 1], method, min_periods)


def ranks_of_two(one: Any, other: Any) -> tuple[Any, Any]:
    """Return the ranks of two lazy series of the same rows, missing where one of both is."""
    return _ranks(one, other), _ranks(other, one)


def matrix_of_ranks(frame: Any, correlate: Callable[[Any, Any], Any]) -> tuple[Callable[..., Any], list[Any]]:
    """Return the function that makes a matrix of the correlations of each pair of columns, and the nodes of these.

    A column is ranked once for each other one that may have missing values.

    Parameters
    ----------
    frame
        A lazy frame of columns with different names.
    correlate
        Returns Spearman's correlation of two lazy series.
    """
    names = list(frame.columns)
    columns = [_finite(frame[name]) for name in names]
    pairs = [(row, column) for row in range(len(names)) for column in range(row + 1)]
    parts = [correlate(columns[row], columns[column]).expr for row, column in pairs]
    return partial(_matrix, frame.columns, pairs), parts


def _finite(column: Any) -> Any:
    """Return a column without infinite values: in a matrix they don't count, as in pandas."""
    dtype = column.expr.meta.dtype
    is_float = isinstance(dtype, np.dtype) and dtype.kind == "f"
    return column.where(column.abs() != np.inf) if is_float else column


def _ranks(values: Any, other: Any) -> Any:
    numbers = values.astype("float64")
    return (numbers if _has_all(other) else numbers.where(other.notna())).rank()


def _has_all(series: Any) -> bool:
    return can_miss_nothing(series.expr.meta.dtype)


def _matrix(columns: pd.Index, pairs: list[tuple[int, int]], *values: Any) -> Any:
    made = np.full((len(columns), len(columns)), np.nan)
    for (row, column), value in zip(pairs, values, strict=True):
        is_exact = row == column and not np.isnan(value)
        made[row, column] = made[column, row] = 1.0 if is_exact else value
    return pd.DataFrame(made, index=columns, columns=columns)
