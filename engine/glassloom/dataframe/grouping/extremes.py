"""`idxmin` and `idxmax` of groups: before rows move, partitions leave out those that can't be the result, and find missing values that raise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from glassloom.backends.pandas_ import columns_of
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE
from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.grouping.encode import encode
from glassloom.dataframe.grouping.groups import Groups
from glassloom.dataframe.grouping.recipe import Recipe
from glassloom.dataframe.grouping.spec import Call
from glassloom.dataframe.grouping.wholes import Grouping
from glassloom.dataframe.nodes import SomeRows
from glassloom.dataframe.sorting import distinct_numbers


def with_extremes_only(grouping: Grouping, call: Callable[[Any], Any]) -> Grouping:
    """Return a grouping of fewer rows of which a call makes the same, if it is ``idxmin`` or ``idxmax`` of numbers or times.

    Of each group and column a partition's first extreme is left, the group's first row, and its first missing value. Missing values that
    pandas refuses raise before.
    """
    grouping = _with_missing_refused(grouping, call)
    if not (type(call) is Call and call.method in ("idxmin", "idxmax") and call.chain is None) or grouping.blocks:
        return grouping
    meta = grouping.node.meta
    names = [] if grouping.is_series else grouping.recipe.selected or meta.columns.drop(grouping.recipe.key_columns)
    dtypes = [meta.dtype] if grouping.is_series else list(columns_of(meta, list(names)).dtypes)
    if not all(isinstance(dtype, np.dtype) and dtype.kind in "iufmM" and dtype != np.float16 for dtype in dtypes):
        return grouping
    function = partial(_extremes, grouping.recipe, call.method, None if grouping.is_series else list(names))
    return replace(grouping, node=SomeRows(grouping.node, (), BlockCall(function, (Block(0),), label="extremes")))


def _with_missing_refused(grouping: Grouping, call: Callable[[Any], Any]) -> Grouping:
    """Return a grouping that raises where pandas does if a value is missing, though it be in a row whose key is missing and that doesn't move.

    Before version 3 pandas refuses none. It doesn't look for missing values where it lists all categories of a key: these raise if one has no rows.
    """
    is_extreme = type(call) is Call and call.method in ("idxmin", "idxmax") and call.chain is None
    if not HAS_COPY_ON_WRITE or not is_extreme or (*call.args, call.kwargs.get("skipna", True))[0] is not False:  # type: ignore[attr-defined]
        return grouping
    recipe, meta = grouping.recipe, grouping.node.meta
    if not recipe.observed and grouping.has_categories:
        return grouping
    names = None if grouping.is_series else list(recipe.selected or meta.columns.drop(recipe.key_columns))
    function = partial(_require_values, call.method, names)  # type: ignore[attr-defined]
    return replace(grouping, node=SomeRows(grouping.node, (), BlockCall(function, (Block(0),), label="require-values")))


def _require_values(method: str, names: list[Any] | None, block: Any) -> Any:
    values = block if names is None else columns_of(block, names)
    if np.any(values.isna().to_numpy()):
        raise ValueError(f"{method} with skipna=False encountered an NA value.")
    return block


def _extremes(recipe: Recipe, method: str, names: list[Any] | None, block: Any) -> Any:
    if not isinstance(block, (pd.DataFrame, pd.Series)) or not len(block):
        return block
    groups = encode(recipe.key_values(block, ()), dropna=False, order="any", arrow=recipe.arrow)
    rows = [groups.first]
    for values in [block] if names is None else [block[name] for name in names]:
        missing = values.isna().to_numpy()
        rows.append(_first_extremes(groups, method == "idxmax", values.to_numpy(), missing))
        if missing.any():
            rows.append(_first_in_groups(groups, missing))
    return block.take(distinct_numbers(np.concatenate(rows)))


def _first_extremes(groups: Groups, is_max: bool, values: Any, missing: Any) -> Any:
    """Return the first row of each group with its largest (smallest) value; none of a group without values."""
    numbers = values.view("int64") if values.dtype.kind in "mM" else values
    limits = (
        (-np.inf, np.inf) if numbers.dtype.kind == "f" else (np.iinfo(numbers.dtype).min, np.iinfo(numbers.dtype).max)
    )
    numbers = np.where(missing, numbers.dtype.type(limits[0 if is_max else 1]), numbers) if missing.any() else numbers
    best = groups.extreme(np.maximum if is_max else np.minimum, numbers)
    return _first_in_groups(groups, (numbers == best[groups.codes]) & ~missing)


def _first_in_groups(groups: Groups, chosen: Any) -> Any:
    """Return the first of the chosen rows of each group that has any."""
    rows = np.flatnonzero(chosen)[::-1]
    first = np.full(groups.count, -1, np.intp)
    first[groups.codes[rows]] = rows  # of several rows, the last one stays
    return first[first >= 0]
