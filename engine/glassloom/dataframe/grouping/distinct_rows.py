"""`value_counts` and `unique` of groups: of the distinct rows of each partition, which are few where values occur again, no rows move.

The distinct rows of keys and values are joined by a tree, in the order in which they first come, with how often each occurs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE
from glassloom.dataframe.grouping.recipe import BLOCK, COLUMN, Key
from glassloom.dataframe.grouping.spec import Call
from glassloom.dataframe.grouping.tree import Aggregation, chunk, combine, finish
from glassloom.dataframe.grouping.wanted import Wanted
from glassloom.dataframe.grouping.wholes import Grouping
from glassloom.dataframe.nodes import FrameExpr
from glassloom.dataframe.numbered_levels import level_at
from glassloom.dataframe.reduce import Operation, tree
from glassloom.dataframe.reduction_nodes import RowsChunk


def of_distinct_rows(grouping: Grouping, call: Any, meta: Any, title: str) -> FrameExpr | None:
    """Return the node of what a call makes of groups, if it is ``value_counts`` or ``unique`` and the distinct rows suffice.

    They don't for categories, of which pandas lists also those without rows, and for objects, which may be equal and of different kinds.
    """
    if not (type(call) is Call and call.method in ("value_counts", "unique") and call.chain is None and not call.args):
        return None
    recipe, node = grouping.recipe, grouping.node
    labels = _value_labels(grouping, call)
    is_frame = call.method == "unique" and not recipe.as_index
    if labels is None or not HAS_COPY_ON_WRITE or is_frame or node.npartitions == 1:
        return None
    keys = recipe.key_values(node.meta, [block.meta for block in grouping.blocks])
    values = [node.meta] if grouping.is_series else [node.meta[label] for label in labels]
    if not all(_is_told_apart(one.dtype) for one in [*keys, *values]):
        return None
    blocks = (*grouping.blocks, node) if grouping.is_series else grouping.blocks
    own = [Key(BLOCK, len(grouping.blocks), node.meta.name)] if grouping.is_series else []
    own += [Key(COLUMN, label, label) for label in labels]
    all_keys = replace(
        recipe, keys=(*recipe.keys, *own), is_single=False, dropna=False, sort=False, observed=True, as_index=True,
        selection=None, orders_partitions=False,
    )  # fmt: skip
    plan = Aggregation(all_keys, (), (Wanted(-1, "size"),))
    of = _Counted if call.method == "value_counts" else _Unique
    last = of(len(recipe.keys), recipe.sort, recipe.dropna, dict(call.kwargs), meta)
    steps = Operation(partial(chunk, plan), partial(combine, plan), partial(_finished, plan, last))
    return tree(node, steps, meta, title, others=blocks, chunk_type=RowsChunk)


def _value_labels(grouping: Grouping, call: Call) -> list[Any] | None:
    """Return the labels of the columns whose values are looked at; None if columns have no labels of their own, or are keys."""
    if grouping.is_series:
        return [] if grouping.node.meta.name not in [key.name for key in grouping.recipe.keys] else None
    recipe, columns = grouping.recipe, grouping.node.meta.columns
    if not columns.is_unique:
        return None
    selected = columns if recipe.selected is None else recipe.selected
    subset = call.kwargs.get("subset")
    names = set(recipe.key_columns)  # a key that is no column may have the name of one
    labels = [label for label in selected if label not in names and (subset is None or label in subset)]
    is_of_one = recipe.selected is not None and not isinstance(recipe.selection, list)
    return labels if labels and (is_of_one or call.method == "value_counts") else None


def _is_told_apart(dtype: Any) -> bool:
    return (
        not isinstance(dtype, pd.CategoricalDtype) and not pd.api.types.is_object_dtype(dtype) and dtype != np.float16
    )


def _finished(plan: Aggregation, last: Callable[[Any], Any], partials: Any) -> Any:
    sizes = finish(plan, pd.Series([], dtype="int64"), lambda _: None, partials)
    return last.meta if sizes is None else last(sizes)  # type: ignore[attr-defined]


@dataclass(frozen=True)
class _OfRows:
    """What becomes of the distinct rows of keys and values, and how often each occurs.

    Attributes
    ----------
    n_keys
        How many of the columns are keys.
    sorts, drops
        `sort` and `dropna` of the groups.
    options
        Those of the method.
    meta
        An empty object like the result.
    """

    n_keys: int
    sorts: bool
    drops: bool
    options: dict[str, Any]
    meta: Any


class _Unique(_OfRows):
    def __call__(self, sizes: Any) -> Any:
        rows = sizes.index.to_frame(index=False, name=range(sizes.index.nlevels))
        keys = list(range(self.n_keys))
        grouped = rows.groupby(keys if len(keys) > 1 else keys[0], sort=self.sorts, dropna=self.drops)
        made = grouped[self.n_keys].unique()
        return made.set_axis(made.index.set_names(self.meta.index.names)).rename(self.meta.name)


class _Counted(_OfRows):
    def __call__(self, sizes: Any) -> Any:
        rows = [level_at(sizes.index, place) for place in range(sizes.index.nlevels)]
        found = [
            pd.factorize(
                column, sort=self.sorts and place < self.n_keys, use_na_sentinel=self._leaves_out_missing(place)
            )
            for place, column in enumerate(rows)
        ]
        kept = np.all([codes >= 0 for codes, _ in found], axis=0)
        if not kept.any():
            return self.meta
        levels, codes = [pd.Index(values) for _, values in found], [one[kept] for one, _ in found]
        index = pd.MultiIndex(levels=levels, codes=codes, verify_integrity=False)  # type: ignore[arg-type]
        made = self._in_order(pd.Series(sizes.to_numpy()[kept], index=index))
        if self.options.get("normalize", False):
            made = made / made.groupby(level=list(range(self.n_keys)), sort=False, dropna=False).transform("sum")
        if isinstance(self.meta, pd.DataFrame):
            numbered = made.reset_index()
            return numbered.set_axis(self.meta.columns, axis=1).astype(
                {self.meta.columns[-1]: self.meta.dtypes.iloc[-1]}
            )
        made.index.names = self.meta.index.names
        return made.rename(self.meta.name).astype(self.meta.dtype)

    def _leaves_out_missing(self, place: int) -> bool:
        return self.drops if place < self.n_keys else self.options.get("dropna", True)

    def _in_order(self, counts: Any) -> Any:
        """Return the counts in pandas' order, which among equal ones is that of the sorts that pandas does of the same rows."""
        keys = list(range(self.n_keys))
        if self.sorts:
            counts = counts.iloc[counts.index.droplevel(list(range(self.n_keys, counts.index.nlevels))).argsort()]
        if self.options.get("sort", True):
            counts = counts.sort_values(ascending=self.options.get("ascending", False), kind="stable")
        return counts.sort_index(level=keys, sort_remaining=False) if self.sorts else counts
