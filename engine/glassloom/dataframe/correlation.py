"""Covariances and correlations of columns: each partition yields the moments of each pair, which are joined by a tree."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from glassloom.dataframe.column_nodes import are_found_in_lists
from glassloom.dataframe.nodes import FrameExpr, Projection, empty
from glassloom.dataframe.reduce import Operation, tree
from glassloom.dataframe.reduction_nodes import Chunk, TreeReduce


class Pairs(NamedTuple):
    """Of each pair of columns, over the rows where both are there and finite: their number, means, sums of squares and of products.

    ``about[i] + rest[i, j]`` and ``squares[i, j]`` are the mean and the squares of column i where column j is there too. (Of large
    values that differ little, one number isn't exact enough for a mean.) `odd` says of which pairs a value is infinite where both
    are there, `lacks` whether any value is missing.
    """

    rows: int
    there: Any
    about: Any
    rest: Any
    squares: Any
    products: Any
    odd: Any
    lacks: bool


def correlation(node: FrameExpr, how: str, min_periods: int, ddof: int, split_every: int | None = None) -> FrameExpr:
    """Return the node of the matrix of covariances (``cov``) or correlations (``corr``) of a frame of numbers.

    As in pandas, `ddof` is 1 if values are missing.
    """
    columns = node.meta.columns
    meta = empty(pd.DataFrame(index=columns, columns=columns, dtype="float64"))
    finish = partial(_matrix, how, min_periods, ddof, columns)
    return tree(node, Operation(_pairs, _joined, finish), meta, how, split_every=split_every)


def narrowed_correlation(node: TreeReduce, labels: Collection[Any]) -> FrameExpr | None:
    """Return the matrix of some columns if a node is that of more; None else."""
    finish, chunk = node.steps.finish, node.source
    if not isinstance(finish, partial) or finish.func is not _matrix or not isinstance(chunk, Chunk):
        return None
    how, min_periods, ddof, columns = finish.args
    kept = [name for name in columns if name in labels]
    is_apart = how == "corr" or ddof == 1  # else it depends on whether any value is missing
    is_plain = columns.is_unique and not isinstance(columns, pd.MultiIndex) and are_found_in_lists(columns)
    if not is_plain or not is_apart or not 0 < len(kept) < len(columns):
        return None
    return correlation(Projection(chunk.frame, kept), how, min_periods, ddof, node.split_every)


def correlation_of_two(
    node: FrameExpr, how: str, min_periods: int, ddof: int, split_every: int | None = None
) -> FrameExpr:
    """Return the node of the covariance or correlation of a frame's two columns: a scalar."""
    finish = partial(_single, how, min_periods, ddof, node.meta.columns)
    return tree(node, Operation(_pairs, _joined, finish), np.float64(0.5), how, split_every=split_every)


def _pairs(block: Any) -> Pairs | None:
    if not len(block):
        return None
    values = np.stack([_numbers(block.iloc[:, place]) for place in range(block.shape[1])])  # a row for each column
    means = values.mean(axis=1)
    if np.isfinite(means).all():
        return _pairs_of_all(values, means)
    known, there = ~np.isnan(values), np.isfinite(values)
    infinite = (known & ~there).astype("float64") @ known.astype("float64").T > 0
    shift = np.array(
        [column[is_there].mean() if is_there.any() else 0.0 for column, is_there in zip(values, there, strict=True)]
    )
    filled = np.where(there, values, shift[:, None]) - shift[:, None]
    some = there.astype("float64")
    count = some @ some.T
    sums = filled @ some.T
    divisor = np.where(count > 0, count, 1.0)
    squares = (filled * filled) @ some.T - sums * sums / divisor
    products = filled @ filled.T - sums * sums.T / divisor
    odd, lacks = infinite | infinite.T, not known.all()
    return Pairs(len(block), count, shift, sums / divisor, np.maximum(squares, 0.0), products, odd, lacks)


def _pairs_of_all(values: Any, means: Any) -> Pairs:
    """Return the moments of columns of finite values: one matrix product in place of four."""
    values -= means[:, None]
    n_columns, n_rows = values.shape
    sums = np.repeat(values.sum(axis=1)[:, None], n_columns, axis=1)
    products = values @ values.T - sums * sums.T / n_rows
    squares = np.repeat(np.maximum(np.diag(products), 0.0)[:, None], n_columns, axis=1)
    count, odd = np.full(products.shape, float(n_rows)), np.zeros(products.shape, bool)
    return Pairs(n_rows, count, means, sums / n_rows, squares, products, odd, lacks=False)


def _numbers(column: Any) -> Any:
    try:
        return column.to_numpy(dtype="float64", na_value=np.nan)
    except ValueError as error:
        raise ValueError(
            f"column {column.name!r} with dtype {column.dtype} isn't of numbers: {error}; give numeric_only=True to leave it out"
        ) from error


def _joined(parts: list[Pairs | None]) -> Pairs | None:
    some = [part for part in parts if part is not None]
    if not some:
        return None
    whole = some[0]
    for other in some[1:]:
        count = whole.there + other.there
        divisor = np.where(count > 0, count, 1.0)
        weight = whole.there * other.there / divisor
        about = np.where(np.diag(whole.there) > 0, whole.about, other.about)
        rests = [one.rest + (one.about - about)[:, None] for one in (whole, other)]
        apart = np.where((whole.there > 0) & (other.there > 0), rests[1] - rests[0], 0.0)
        rest = np.where(whole.there > 0, rests[0] + apart * other.there / divisor, rests[1])
        squares = whole.squares + other.squares + apart * apart * weight
        products = whole.products + other.products + apart * apart.T * weight
        odd, lacks = whole.odd | other.odd, whole.lacks or other.lacks
        whole = Pairs(whole.rows + other.rows, count, about, rest, squares, products, odd, lacks)
    return whole


def _matrix(how: str, min_periods: int, ddof: int, columns: Any, parts: list[Pairs | None]) -> Any:
    whole = _joined(parts)
    if whole is None:
        return pd.DataFrame(np.full((len(columns), len(columns)), np.nan), index=columns, columns=columns)
    made = _of_pairs(how, min_periods, ddof, whole)
    if how == "cov" and not whole.lacks:  # else pandas takes infinite values for missing
        made = np.where(whole.odd, np.nan, made)
    return pd.DataFrame(made, index=columns, columns=columns)


def _of_pairs(how: str, min_periods: int, ddof: int, whole: Pairs) -> Any:
    with np.errstate(divide="ignore", invalid="ignore"):
        if how == "corr":
            made = np.clip(whole.products / np.sqrt(whole.squares * whole.squares.T), -1.0, 1.0)
            np.fill_diagonal(made, 1.0)  # squares are rounded in another way than products
            made[(_is_constant(whole)) | _is_constant(whole).T] = np.nan
        else:
            free = whole.there - (1 if whole.lacks else ddof)  # pandas heeds it only then
            made = np.where(free > 0, whole.products / free, np.nan)
    return np.where(whole.there >= max(min_periods, 1), made, np.nan)


def _is_constant(whole: Pairs) -> Any:
    """Return where a column has one value but for rounding."""
    return whole.squares <= whole.there * (np.finfo("float64").eps * np.abs(whole.about[:, None] + whole.rest)) ** 2


def _single(how: str, min_periods: int, ddof: int, columns: Any, parts: list[Pairs | None]) -> Any:
    whole = _joined(parts)
    if whole is None or whole.odd[0, 1]:
        return np.float64("nan")
    return _of_pairs(how, min_periods, ddof, whole._replace(lacks=False))[
        0, 1
    ]  # of two series pandas always heeds `ddof`
