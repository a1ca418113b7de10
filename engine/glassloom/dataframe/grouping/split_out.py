"""Reductions of groups: by a tree to one partition, or with partial results moved by the hash of the keys, to several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd

from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.grouping.recipe import LEVEL, key_labels
from glassloom.dataframe.grouping.spec import Call, NamedCall
from glassloom.dataframe.grouping.tables import frame_of, table_of
from glassloom.dataframe.grouping.tree import (
    Aggregation,
    Partial,
    chunk,
    chunk_of_rows,
    combine,
    finish,
    finish_as_columns,
    rows,
)
from glassloom.dataframe.grouping.wanted import Wanted
from glassloom.dataframe.grouping.wholes import Grouping, OfBlock
from glassloom.dataframe.grouping.wider import NoRows, of_no_rows
from glassloom.dataframe.moving.exchange import Exchange, Split, split
from glassloom.dataframe.moving.hashing import hash_keys, places_of
from glassloom.dataframe.moving.shape import Repartition
from glassloom.dataframe.moving.shuffle import require_shuffle_method
from glassloom.dataframe.moving.sort import Sorting, sort, sort_order
from glassloom.dataframe.nodes import FrameExpr
from glassloom.dataframe.numbered_levels import level_at
from glassloom.dataframe.options import number_of_outputs
from glassloom.dataframe.own_columns import blocks_of_columns
from glassloom.dataframe.reduce import Operation, tree
from glassloom.dataframe.reduction_nodes import Chunk, RowsChunk, UnorderedChunk, ValuesChunk, is_unordered


@dataclass(frozen=True)
class Reduction:
    """An aggregation whose partial results can be joined."""

    grouping: Grouping
    call: Call | NamedCall
    values: tuple[Any, ...]
    wanted: tuple[Wanted, ...]
    meta: Any
    title: str


class HashedGroups(Exchange):
    """Partial results of groups, in the partition that the hash of their keys says, joined there."""

    parameters = ("split", "count", "given_meta", "joined")
    operation = "groupby-split-out"

    given_meta: Any
    joined: Callable[[list[Any]], Any]

    @property
    def meta(self) -> Any:
        return self.given_meta

    @cached_property
    def finish(self) -> Callable[[list[Any]], Any]:
        return self.joined


def partitions_of(grouping: Grouping, split_out: int | bool | None, shuffle_method: str | bool | None) -> int:
    """Return the number of partitions of a result.

    Raises
    ------
    OptionError
        If `split_out` is no number of partitions, or `shuffle_method` none of Dask's.
    """
    require_shuffle_method(shuffle_method)
    return number_of_outputs(split_out, grouping.node.npartitions)


def _chunk_type(reduction: Reduction) -> type[Chunk]:
    """Return the kind of the first step: what it looks at, beside values."""
    grouping, recipe = reduction.grouping, reduction.grouping.recipe
    if any(key.kind == LEVEL for key in recipe.keys):
        return RowsChunk
    meta = grouping.node.meta
    keys = recipe.key_values(meta, [block.meta for block in grouping.blocks])
    # Groups may come in the order of their first rows, or have the keys of these: -0.0, or one of several equal objects.
    if not recipe.sort or any(getattr(key.dtype, "kind", "O") in "fc" or key.dtype == object for key in keys):
        return ValuesChunk
    columns = [meta if grouping.is_series else meta[label] for label in reduction.values]
    dtypes = [getattr(column, "dtype", None) for column in columns]  # None: several are called so
    is_any_order = all(one.place < 0 or is_unordered(one.how, dtypes[one.place]) for one in reduction.wanted)
    return UnorderedChunk if is_any_order else ValuesChunk


def reduced(reduction: Reduction, split_every: int | None, split_out: int) -> FrameExpr:
    """Return the node of an aggregation."""
    grouping, recipe = reduction.grouping, reduction.grouping.recipe
    plain = replace(recipe, as_index=True)
    meta = (
        reduction.meta
        if recipe.as_index
        else replace(grouping, recipe=plain).sampled(reduction.call.without("min_count"))
    )
    plan = Aggregation(plain, reduction.values, reduction.wanted, blocks=_blocks(reduction, meta))
    metas = tuple(block.meta for block in grouping.blocks)
    run = partial(of_no_rows, plain, reduction.call, grouping.node.meta, metas)
    last = partial(finish, plan, meta, run)
    reset = partial(_with_keys_as_columns, reduction.meta)
    has_all_keys = not recipe.as_index and len(reduction.meta.columns) == len(recipe.keys) + _n_columns(meta)
    if has_all_keys and split_out == 1 and len(recipe.keys) > 1:
        last, meta = partial(finish_as_columns, plan, meta, run, reset, reduction.meta.columns), reduction.meta
    comes_together = recipe.orders_partitions and _may_not_compare(grouping)
    if split_out == 1 or comes_together:
        steps = Operation(partial(chunk, plan), partial(combine, plan), last)
        node: FrameExpr = tree(
            grouping.node, steps, meta, reduction.title, others=grouping.blocks, split_every=split_every,
            chunk_type=_chunk_type(reduction),
        )  # fmt: skip
        node = node if split_out == 1 else Repartition(node, split_out)
    else:
        node = _hashed(reduction, plan, meta, last, split_out)
        if recipe.orders_partitions:
            order = sort_order(True, meta.index.nlevels, "last")
            node = sort(node, Sorting((), order, None, by_index=True), split_out)
    if recipe.as_index or meta is reduction.meta:
        return node
    return OfBlock(node, (), BlockCall(reset, (Block(0),), label="reset-index"), reduction.meta)


def _blocks(reduction: Reduction, meta: Any) -> tuple[int, ...] | None:
    """Return for each column of sums the block of memory of its values, if some sums may be in their narrow dtype or not; else None."""
    is_one_call = getattr(reduction.call, "method", "") in ("sum", "prod") and isinstance(meta, pd.DataFrame)
    if not is_one_call or not any(map(_is_narrow, meta.dtypes)):
        return None
    numbers = blocks_of_columns(reduction.grouping.node)
    return tuple(numbers[reduction.values[one.place]] for one in reduction.wanted)


def _is_narrow(dtype: Any) -> bool:
    return isinstance(dtype, np.dtype) and dtype.kind in "iu" and dtype.itemsize < 8


def _n_columns(meta: Any) -> int:
    return int(meta.shape[1]) if meta.ndim == 2 else 1


def _may_not_compare(grouping: Grouping) -> bool:
    """Whether keys may be of several kinds, such as numbers and text, of which only pandas knows an order."""
    keys = grouping.recipe.key_values(grouping.node.meta, [block.meta for block in grouping.blocks])
    return any(pd.api.types.is_object_dtype(key.dtype) for key in keys)


def _hashed(
    reduction: Reduction,
    plan: Aggregation,
    meta: Any,
    last: Callable[[Sequence[Partial | NoRows | None]], Any],
    count: int,
) -> FrameExpr:
    grouping = reduction.grouping
    keys = grouping.recipe.key_values(grouping.node.meta, [block.meta for block in grouping.blocks])
    if not plan.recipe.observed and any(isinstance(key.dtype, pd.CategoricalDtype) for key in keys):
        raise NotImplementedError(
            f"split_out={count} with observed=False: each partition would list all categories; use observed=True"
        )
    blocks = tuple(Block(number) for number in range(1 + len(grouping.blocks)))
    splits, joins = (_split_rows, _join_rows) if plan.distinct else (_split_partials, _join_tables)
    call = BlockCall(partial(splits, plan, count), blocks, label=f"{reduction.title}-chunk")
    return HashedGroups(Split(grouping.node, grouping.blocks, call), count, meta, partial(joins, plan, last))


def _split_partials(plan: Aggregation, count: int, block: Any, *blocks: Any) -> Any:
    """Return the partial results of a partition, split by the hash of the keys."""
    found = chunk(plan, block, *blocks)
    if not isinstance(found, Partial):
        return split(pd.DataFrame() if found is None else found.table(), [], count)
    return _split_by_keys(plan, count, frame_of(found.table))


def _split_rows(plan: Aggregation, count: int, block: Any, *blocks: Any) -> Any:
    """Return the rows of a partition, split by the hash of the keys: there may be as many distinct values."""
    return _split_by_keys(plan, count, rows(plan, block, *blocks))


def _split_by_keys(plan: Aggregation, count: int, table: pd.DataFrame) -> Any:
    places = places_of(hash_keys([table[name] for name in plan.key_columns]), count)
    return split(table, places, count)


def _join_tables(plan: Aggregation, last: Callable[[Sequence[Partial | NoRows | None]], Any], tables: list[Any]) -> Any:
    return last([Partial(table_of(table), ()) if len(table) else NoRows.of_table(table) for table in tables])


def _join_rows(plan: Aggregation, last: Callable[[Sequence[Partial | NoRows | None]], Any], tables: list[Any]) -> Any:
    return last([chunk_of_rows(plan, table) for table in tables if len(table)])


def _with_keys_as_columns(meta: Any, result: Any) -> Any:
    """Return a result with its index as columns, as far as those of `meta` need it."""
    frame = result.to_frame() if isinstance(result, pd.Series) else result
    count = len(meta.columns) - frame.shape[1]
    index = frame.index
    keys = [_as_column(level_at(index, level)) for level in _levels_kept(index.names, list(meta.columns[:count]))]
    columns = [frame.iloc[:, place].reset_index(drop=True) for place in range(frame.shape[1])]
    return pd.concat([*keys, *columns], axis=1).set_axis(meta.columns, axis=1)


def _levels_kept(names: Sequence[Any], columns: list[Any]) -> list[int]:
    """Return the levels that become columns with these labels: as in pandas, the last one of those with a name, unless all do."""
    if len(columns) == len(names):
        return list(range(len(names)))
    last = {name: level for level, name in enumerate(key_labels(names))}
    return [last[column if column in last else column[0]] for column in columns]


def _as_column(level: Any) -> Any:
    return pd.Series(level.array, dtype=level.dtype)
