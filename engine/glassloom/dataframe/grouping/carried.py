"""Cumulative sums, products, extremes and counts of groups: partitions hand on a row for each group, and no rows move."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from glassloom.backends.label_tables import holds_frames
from glassloom.backends.pandas_ import columns_of, concat
from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.grouping.encode import encode
from glassloom.dataframe.grouping.groups import Groups
from glassloom.dataframe.grouping.recipe import Recipe
from glassloom.dataframe.grouping.wholes import Grouping, OfRows
from glassloom.dataframe.nodes import FrameExpr
from glassloom.dataframe.prefix import Scan
from glassloom.dataframe.reduce import Operation, tree
from glassloom.dataframe.reduction_nodes import Chunk
from glassloom.dataframe.widening import is_narrowing

_TOTALS = {"cumsum": "sum", "cumprod": "prod", "cummin": "min", "cummax": "max"}
"""What each group's rows come to, of the methods that have a carried form."""


@holds_frames("keys", "values")
class Totals(NamedTuple):
    """A row for each group of some partitions: its keys (series, numbered) and what its rows come to (a frame)."""

    keys: list[Any]
    values: Any


@dataclass(frozen=True)
class _Cumulation:
    """A method of groups, its options, how rows are grouped, and what the result looks like."""

    method: str
    skipna: bool
    recipe: Recipe
    meta: Any

    def __glassloom_tokenize__(self) -> Any:
        return (self.method, self.skipna, self.recipe, self.meta)

    @property
    def labels(self) -> list[Any]:
        """The columns that are cumulated; a series has none."""
        return list(self.meta.columns) if isinstance(self.meta, pd.DataFrame) else []

    def values(self, block: Any) -> Any:
        """Return the values of a block as a frame with numbered columns and rows."""
        if self.method == "cumcount":
            return pd.DataFrame({0: np.ones(len(block), np.int64)})
        if isinstance(self.meta, pd.DataFrame):
            chosen = columns_of(block, self.labels)
        else:
            chosen = (block if isinstance(block, pd.Series) else block[self.meta.name]).to_frame()
        return chosen.set_axis(range(chosen.shape[1]), axis=1).reset_index(drop=True)

    def encoded(self, keys: list[Any]) -> Groups:
        """Return the group of each row."""
        return encode(keys, dropna=self.recipe.dropna)

    def cumulative(self, values: Any, groups: Groups) -> Any:
        """Return the method's result of each row."""
        made = _grouped(values, groups)
        return made.cumsum() if self.method == "cumcount" else getattr(made, self.method)(skipna=self.skipna)

    def totals(self, values: Any, keys: list[Any]) -> Totals:
        """Return what the rows of each group come to."""
        groups = self.encoded(keys)
        if self.method == "cumcount":
            made = _grouped(values, groups).sum()
        elif self.skipna:
            made = getattr(_grouped(values, groups), _TOTALS[self.method])()
        else:
            made = self.cumulative(values, groups).take(_last_rows(groups))
        made, first = made.reset_index(drop=True), groups.first
        if self.skipna and self.method in ("cumsum", "cumprod") and made.isna().to_numpy().any():
            made, places = self._with_pairs(made)
            first = np.asarray(first)[places]
        return Totals([key.take(first).reset_index(drop=True) for key in keys], made)

    def _with_pairs(self, made: Any) -> tuple[Any, Any]:
        """Return totals with two rows that make NaN for each that is NaN, though values are there, and the group of each row."""
        lost = made.isna()
        rows = np.flatnonzero(lost.to_numpy().any(axis=1))
        neutral, other = (0, -np.inf) if self.method == "cumsum" else (1, 0)
        second = made.iloc[rows].copy()
        for place in range(made.shape[1]):
            gone = lost.iloc[rows, place].to_numpy()
            second.isetitem(
                place, pd.Series(np.where(gone, other, neutral), second.index).astype(made.dtypes.iloc[place])
            )
        return concat([made.mask(lost, np.inf), second]).reset_index(drop=True), np.append(np.arange(len(made)), rows)


def _grouped(values: Any, groups: Groups) -> Any:
    """Return pandas' groups of rows whose groups are known: as categories, which pandas needn't look for."""
    labels = pd.Categorical.from_codes(groups.codes, pd.RangeIndex(groups.count), validate=False)
    return values.groupby(labels, observed=False)


def _last_rows(groups: Groups) -> Any:
    """Return the last row of each group."""
    rows = np.flatnonzero(groups.codes >= 0)
    last = np.zeros(groups.count, np.intp)
    last[groups.codes[rows]] = rows  # of several rows, the last one stays
    return last


def has_carried_form(method: str, meta: Any) -> bool:
    """Whether a method can be computed by carrying totals of groups."""
    if method == "cumcount":
        return True
    if method not in _TOTALS:
        return False
    dtypes = list(meta.dtypes) if isinstance(meta, pd.DataFrame) else [meta.dtype]
    have_names = not isinstance(meta, pd.DataFrame) or meta.columns.is_unique
    return have_names and all(pd.api.types.is_numeric_dtype(dtype) and dtype.kind in "iuf" for dtype in dtypes)


def cumulated(grouping: Grouping, method: str, options: Mapping[str, Any], meta: Any) -> FrameExpr:
    """Return the node of a cumulative method of groups, each row at its place.

    Parameters
    ----------
    method
        ``cumsum``, ``cumprod``, ``cummin``, ``cummax``, or ``cumcount`` from the first row on.
    options
        Its arguments.
    meta
        An empty object like the result.
    """
    cumulation = _Cumulation(method, bool(options.get("skipna", True)), grouping.recipe, meta)
    others = grouping.blocks
    blocks = tuple(Block(number) for number in range(1 + len(others)))
    chunk = Chunk(grouping.node, others, BlockCall(partial(_totals_of, cumulation), blocks, label="group-totals"))
    carried = Scan(chunk, partial(_joined, cumulation), False, None, f"groupby-{method}")
    function = partial(_continued, cumulation)
    call = BlockCall(function, (*blocks, Block(len(blocks))), label=f"groupby-{method}")
    return OfRows(grouping.node, (*others, carried), call, meta)


def of_one_dtype(grouping: Grouping, node: FrameExpr) -> FrameExpr:
    """Return rows of groups with booleans as floats in all partitions if a key is missing in any, as pandas has them."""
    meta = node.meta
    dtypes = list(meta.dtypes.items()) if isinstance(meta, pd.DataFrame) else [(None, meta.dtype)]
    names = [name for name, dtype in dtypes if dtype == np.dtype(bool)]
    if node.npartitions == 1 or not grouping.recipe.dropna or not names:
        return node
    steps = Operation(partial(_has_missing_key, grouping.recipe), any, any)
    is_missing = tree(grouping.node, steps, False, "missing-keys", others=grouping.blocks)
    return OfRows(node, (is_missing,), BlockCall(_without_booleans, (Block(0), Block(1), names), label="floats"), meta)


def _has_missing_key(recipe: Recipe, block: Any, *blocks: Any) -> bool:
    return any(bool(key.isna().any()) for key in recipe.key_values(block, blocks))


def _without_booleans(block: Any, is_missing: bool, names: list[Any]) -> Any:
    if not is_missing:
        return block
    return block.astype("float64" if isinstance(block, pd.Series) else dict.fromkeys(names, "float64"))


def _keys(cumulation: _Cumulation, block: Any, blocks: tuple[Any, ...]) -> list[Any]:
    return [key.reset_index(drop=True) for key in cumulation.recipe.key_values(block, blocks)]


def _totals_of(cumulation: _Cumulation, block: Any, *blocks: Any) -> Totals | None:
    if not len(block):
        return None
    return cumulation.totals(cumulation.values(block), _keys(cumulation, block, blocks))


def _joined(cumulation: _Cumulation, parts: list[Totals]) -> Totals:
    if len(parts) == 1:
        return parts[0]
    keys = [concat(list(many)).reset_index(drop=True) for many in zip(*[part.keys for part in parts], strict=True)]
    return cumulation.totals(concat([part.values for part in parts]).reset_index(drop=True), keys)


def _continued(cumulation: _Cumulation, block: Any, *others: Any) -> Any:
    *blocks, before = others
    if not len(block):
        return cumulation.meta
    keys, values = _keys(cumulation, block, tuple(blocks)), cumulation.values(block)
    start = 0
    if before is not None and len(before.values):
        start = len(before.values)
        own, carried = values.dtypes, before.values.dtypes
        wanted = {name: carried[name] for name in own.index if not is_narrowing(own[name], carried[name])}
        values = concat([before.values, values.astype(wanted)]).reset_index(drop=True)
        keys = [concat([old, own]).reset_index(drop=True) for old, own in zip(before.keys, keys, strict=True)]
    made = cumulation.cumulative(values, cumulation.encoded(keys)).iloc[start:]
    return _like(cumulation.meta, made - 1 if cumulation.method == "cumcount" else made, block)


def _like(meta: Any, made: Any, block: Any) -> Any:
    """Return computed rows under the labels of a block."""
    if isinstance(meta, pd.Series):
        return made[0].set_axis(block.index).rename(meta.name)
    return made.set_axis(block.index).set_axis(meta.columns, axis=1)
