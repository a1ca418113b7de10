"""`value_counts` and `unique` in several partitions, in pandas' order: equal values meet by hash, and are sorted by what pandas sorts by.

Of objects and categories pandas alone knows which are equal, or which there are: those are joined in one partition, and cut.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd

from glassloom.backends.pandas_ import array_of, concat
from glassloom.dataframe.call import Block, BlockCall, Method
from glassloom.dataframe.kept_rows import keep_some
from glassloom.dataframe.moving.exchange import Exchange, Pieces, Split, split
from glassloom.dataframe.moving.hashing import hash_column, is_text, places_of
from glassloom.dataframe.moving.numbering import renumber
from glassloom.dataframe.moving.repeated import without_repeated
from glassloom.dataframe.moving.shape import Repartition
from glassloom.dataframe.moving.sort import Sorting, sort, sort_order
from glassloom.dataframe.nodes import BlockOp, FrameExpr, empty
from glassloom.dataframe.reduce import Operation, counts_of_values, missing_are_last, tree, value_counts
from glassloom.dataframe.wrap import operate, wrap

_VALUE, _COUNT, _PARTITION, _PLACE = "value", "count", "partition", "place"
_WHERE = (_PARTITION, _PLACE)


class PlacedSplit(Split):
    """The distinct values of each partition, with where they are first, split by the hash of the values."""

    def literals(self, index: tuple[int, ...]) -> tuple[Any, ...]:
        return index


class ValuesByHash(Exchange):
    """The distinct values of all partitions, in the partition that their hash says, and where they are first."""

    parameters = ("split", "count", "given_meta", "joined")
    operation = "values-by-hash"

    given_meta: Any
    joined: Callable[[Any], Any]

    @property
    def meta(self) -> Any:
        return self.given_meta

    @cached_property
    def finish(self) -> Callable[[list[Any]], Any]:
        return partial(_finished, self.joined)


class SortedValues(BlockOp):
    """Values in their order, as pandas returns them."""

    parameters = ("frame", "others", "call", "given_meta")

    given_meta: Any

    @property
    def meta(self) -> Any:
        return self.given_meta


def unique_by_hash(node: FrameExpr, count: int, split_every: int | None) -> FrameExpr:
    """Return the node of the distinct values of a series in order of appearance, numbered from 0, in `count` partitions."""
    if count == 1 or not _meet_by_hash(node.meta.dtype):
        distinct = wrap(keep_some(node, "drop_duplicates", {}, split_every))
        one: FrameExpr = operate(Method("reset_index"), distinct, kwargs={"drop": True}).expr
        return one if count == 1 else Repartition(one, count)
    found = _met_by_hash(node, _distinct, _first_of_equal, count)
    in_order = sort(found, Sorting(_WHERE, sort_order(True, 2, "last")), count)
    call = BlockCall(partial(_as_series, node.meta), (Block(0),), label="unique")
    return renumber(SortedValues(in_order, (), call, node.meta))


def value_counts_by_hash(
    node: FrameExpr, count: int, *, sorts: bool, ascending: bool, dropna: bool, normalize: bool, split_every: int | None
) -> FrameExpr:
    """Return the node of ``series.value_counts(...)`` in `count` partitions, which follow each other in order."""
    if count == 1 or not _meet_by_hash(node.meta.dtype):
        options = {"sort": sorts, "ascending": ascending, "dropna": dropna, "normalize": normalize}
        one = value_counts(node, **options, split_every=split_every)
        return one if count == 1 else Repartition(one, count)
    found = _met_by_hash(node, partial(_counted, dropna), _added, count)
    if sorts:
        sorting = Sorting((_COUNT, *_WHERE), sort_order([ascending, True, True], 3, "last"))
    else:
        sorting = Sorting(_WHERE, sort_order(True, 2, "last"))
    in_order = sort(found, sorting, count)
    meta = node.meta.value_counts(normalize=normalize)
    total = tree(found, Operation(_total, sum, sum), 0, "total") if normalize else None
    call = BlockCall(partial(_as_counts, meta), (Block(0), None if total is None else Block(1)), label="value-counts")
    return SortedValues(in_order, () if total is None else (total,), call, empty(meta))


def _meet_by_hash(dtype: Any) -> bool:
    if isinstance(dtype, pd.SparseDtype) or dtype == np.float16:  # which pandas has no index of
        return False
    return is_text(dtype) or getattr(dtype, "kind", "O") in "biufmM"


def _met_by_hash(node: FrameExpr, chunk: Callable[[Any], Any], joined: Callable[[Any], Any], count: int) -> FrameExpr:
    meta = _with_places(chunk(node.meta), 0)
    call = BlockCall(partial(_split, chunk, count), (Block(0), Block(1)), label="values-chunk")
    return ValuesByHash(PlacedSplit(node, (), call), count, meta, joined)


def _split(chunk: Callable[[Any], Any], count: int, block: Any, number: int) -> Pieces:
    table = _with_places(chunk(block), number)
    return split(table, places_of(hash_column(table[_VALUE]), count), count)


def _with_places(table: pd.DataFrame, number: int) -> pd.DataFrame:
    rows = np.arange(len(table))
    return table.assign(**{_PARTITION: np.full(len(table), number, np.int64), _PLACE: rows})


def _distinct(block: Any) -> pd.DataFrame:
    return pd.DataFrame({_VALUE: without_repeated(block, None, "first").array})


def _counted(dropna: bool, block: Any) -> pd.DataFrame:
    counts = counts_of_values(dropna, block)
    return pd.DataFrame({_VALUE: counts.index.array, _COUNT: counts.to_numpy(np.int64)})


def _finished(joined: Callable[[Any], Any], pieces: list[Any]) -> pd.DataFrame:
    table = concat([piece for piece in pieces if len(piece)] or pieces[:1]).reset_index(drop=True)
    return joined(table) if len(table) else table


def _first_of_equal(table: pd.DataFrame) -> pd.DataFrame:
    return without_repeated(table, (_VALUE,), "first")


def _added(table: pd.DataFrame) -> pd.DataFrame:
    """Return the sum of the counts of each value, at the first place of it: rows come in the order of the partitions."""
    groups = table.groupby(array_of(table[_VALUE]), sort=False, dropna=False)
    sums, firsts = groups[_COUNT].sum(), groups[list(_WHERE)].first()
    if missing_are_last(table[_VALUE].dtype):
        firsts[_PARTITION] = np.where(sums.index.isna(), np.iinfo(np.int64).max, firsts[_PARTITION])
    return pd.DataFrame({_VALUE: sums.index.array, _COUNT: sums.array}).assign(
        **{name: firsts[name].array for name in _WHERE}
    )


def _total(table: pd.DataFrame) -> int:
    return int(table[_COUNT].sum())


def _as_series(meta: Any, table: pd.DataFrame) -> Any:
    return pd.Series(table[_VALUE].array, name=meta.name)


def _as_counts(meta: Any, table: pd.DataFrame, total: int | None) -> Any:
    made = pd.Series(table[_COUNT].array, index=pd.Index(table[_VALUE].array, name=meta.index.name), name=meta.name)
    return (made if total is None else made / total).astype(meta.dtype)
