"""The largest or smallest values of each group: each partition keeps those that may be among them, a tree joins them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from glassloom.backends.pandas_ import concat
from glassloom.dataframe.grouping.encode import encode
from glassloom.dataframe.grouping.groups import Groups
from glassloom.dataframe.grouping.recipe import Recipe
from glassloom.dataframe.grouping.wholes import Grouping
from glassloom.dataframe.nodes import FrameExpr
from glassloom.dataframe.numbered_levels import level_at
from glassloom.dataframe.reduce import Operation, tree

_MOST = 15
"""Of more values pandas sorts small groups without keeping equal ones in order."""
_Kept = tuple[Any, list[Any]]
"""Values, and their keys."""


@dataclass(frozen=True)
class _Choice:
    recipe: Recipe
    method: str
    n: int
    meta: Any

    def groups(self, keys: Sequence[Any], order: str) -> Groups:
        return encode(keys, dropna=self.recipe.dropna, order=order, arrow=self.recipe.arrow)

    def ranked(self, groups: Groups, values: Any) -> Any:
        """Return the rows that are kept, by group and rank; equal values stay in order, missing ones are last."""
        numbers = values.to_numpy()
        by = numbers if self.method == "nsmallest" else _reversed(numbers)
        rows = np.argsort(by, kind="stable")  # NaN is last
        rows = rows[np.argsort(groups.codes[rows], kind="stable")]
        rows = rows[np.searchsorted(groups.codes[rows], 0) :]
        starts = np.cumsum(groups.sizes) - groups.sizes
        return rows[np.arange(len(rows)) - starts[groups.codes[rows]] < self.n]


def largest(grouping: Grouping, method: str, n: int, meta: Any) -> FrameExpr | None:
    """Return the node of ``nlargest(n)`` or ``nsmallest(n)`` of one column, or None if it needs whole groups.

    Parameters
    ----------
    grouping
        What is grouped; one column.
    method
        ``"nlargest"`` or ``"nsmallest"``.
    n
        How many values.
    meta
        An empty object like the result.
    """
    recipe = grouping.recipe
    metas = [block.meta for block in grouping.blocks]
    is_categorical = any(
        isinstance(key.dtype, pd.CategoricalDtype) for key in recipe.key_values(grouping.node.meta, metas)
    )
    is_usual = recipe.as_index and recipe.group_keys and recipe.sort  # a group's first row may not be kept
    if not _is_plain(meta.dtype) or not 0 < n <= _MOST or is_categorical or not is_usual:
        return None
    choice = _Choice(recipe, method, n, meta)
    steps = Operation(partial(_chunk, choice), partial(_combine, choice), partial(_finish, choice))
    return tree(grouping.node, steps, meta, f"groupby-{method}", others=grouping.blocks)


def _is_plain(dtype: Any) -> bool:
    return isinstance(dtype, np.dtype) and dtype.kind in "iuf"


def _reversed(numbers: Any) -> Any:
    """Return numbers in whose order the given ones are from large to small."""
    return -numbers if numbers.dtype.kind == "f" else ~numbers


def _chunk(choice: _Choice, block: Any, *blocks: Any) -> _Kept | None:
    if not len(block):
        return None
    recipe = choice.recipe
    values = block if recipe.selection is None else block[recipe.selected[0]]  # type: ignore[index]
    return _kept(choice, values, recipe.key_values(block, blocks))


def _kept(choice: _Choice, values: Any, keys: list[Any]) -> _Kept:
    rows = np.sort(choice.ranked(choice.groups(keys, "any"), values))
    return values.take(rows), [key.take(rows) for key in keys]


def _joined(partials: Sequence[_Kept | None]) -> _Kept | None:
    filled = [one for one in partials if one is not None]
    if not filled:
        return None
    keys = [concat(list(many)) for many in zip(*[keys for _, keys in filled], strict=True)]
    return concat([values for values, _ in filled]), keys


def _combine(choice: _Choice, partials: Sequence[_Kept | None]) -> _Kept | None:
    joined = _joined(partials)
    return None if joined is None else _kept(choice, *joined)


def _finish(choice: _Choice, partials: Sequence[_Kept | None]) -> Any:
    joined = _joined(partials)
    if joined is None or not len(joined[0]):
        return choice.meta
    values, keys = joined
    rows = choice.ranked(choice.groups(keys, "sorted"), values)
    found = values.take(rows)
    labels = [level_at(found.index, level) for level in range(found.index.nlevels)]
    index = pd.MultiIndex.from_arrays([*[key.array[rows] for key in keys], *labels], names=choice.meta.index.names)
    return found.set_axis(index).rename(choice.meta.name)
