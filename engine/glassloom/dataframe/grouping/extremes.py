"""`idxmin` and `idxmax` of groups: before rows move, partitions leave out those that can't be the result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from glassloom.backends.pandas_ import columns_of
from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.grouping.encode import encode
from glassloom.dataframe.grouping.recipe import Recipe
from glassloom.dataframe.grouping.spec import Call
from glassloom.dataframe.grouping.wholes import Grouping
from glassloom.dataframe.nodes import SomeRows
from glassloom.dataframe.sorting import distinct_numbers


def with_extremes_only(grouping: Grouping, call: Callable[[Any], Any]) -> Grouping:
    """Return a grouping of fewer rows of which a call makes the same, if it is ``idxmin`` or ``idxmax`` of numbers or times.

    Of each group and column a partition's first extreme is left, the group's first row, and its first missing value.
    """
    if not (type(call) is Call and call.method in ("idxmin", "idxmax") and call.chain is None) or grouping.blocks:
        return grouping
    meta = grouping.node.meta
    names = [] if grouping.is_series else grouping.recipe.selected or meta.columns.drop(grouping.recipe.key_columns)
    dtypes = [meta.dtype] if grouping.is_series else list(columns_of(meta, list(names)).dtypes)
    if not all(isinstance(dtype, np.dtype) and dtype.kind in "iufmM" and dtype != np.float16 for dtype in dtypes):
        return grouping
    function = partial(_extremes, grouping.recipe, call.method, None if grouping.is_series else list(names))
    return replace(grouping, node=SomeRows(grouping.node, (), BlockCall(function, (Block(0),), label="extremes")))


def _extremes(recipe: Recipe, method: str, names: list[Any] | None, block: Any) -> Any:
    if not isinstance(block, (pd.DataFrame, pd.Series)) or not len(block):
        return block
    groups = encode(recipe.key_values(block, ()), dropna=False, order="any", arrow=recipe.arrow)
    rows = [groups.first]
    for values in [block] if names is None else [block[name] for name in names]:
        missing = values.isna().to_numpy()
        numbers = values.to_numpy()
        numbers = numbers.view("int64") if numbers.dtype.kind in "mM" else numbers
        (known,) = np.nonzero(~missing)
        grouped = pd.Series(numbers[known]).groupby(groups.codes[known], sort=False)
        rows.append(known[getattr(grouped, method)().to_numpy(dtype=np.intp)])
        if len(known) < len(values):
            (unknown,) = np.nonzero(missing)
            rows.append(unknown[~pd.Series(groups.codes[unknown]).duplicated().to_numpy()])
    return block.take(distinct_numbers(np.concatenate(rows)))
