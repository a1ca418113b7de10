"""`rank`: values go to the partition of their range, are ranked there after those of the ranges before, and ranks come back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from glassloom.backends.pandas_ import of_samples
from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.moving.boundaries import (
    SAMPLES_PER_PARTITION,
    Order,
    Samples,
    choose_boundaries,
    join_samples,
    places_among,
    sample_keys,
)
from glassloom.dataframe.moving.returning import keys_of, moved_keys, returned_values
from glassloom.dataframe.nodes import FrameExpr, Rowwise, empty
from glassloom.dataframe.reduce import Operation, tree
from glassloom.dataframe.widening import is_narrowing


@dataclass(frozen=True)
class Ranking:
    """The options of pandas' ``Series.rank``."""

    method: str
    na_option: str
    ascending: bool
    pct: bool

    def __glassloom_tokenize__(self) -> Any:
        return (self.method, self.na_option, self.ascending, self.pct)

    @property
    def order(self) -> Order:
        return Order((self.ascending,), "first" if self.na_option == "top" else "last")

    def of_pandas(self, block: Any) -> Any:
        """Return the ranks of all of a block's rows."""
        return block.rank(method=self.method, na_option=self.na_option, ascending=self.ascending, pct=self.pct)

    def in_range(self, values: Any) -> Any:
        """Return the ranks of the values of one range, from 1."""
        return values.rank(method=self.method, na_option=self.na_option, ascending=self.ascending)

    def ranks_of(self, values: Any) -> int:
        """Return how many ranks the values of a range take up."""
        ranked = values.dropna() if self.na_option == "keep" else values
        return ranked.nunique(dropna=False) if self.method == "dense" else len(ranked)


def ranked(node: FrameExpr, ranking: Ranking) -> FrameExpr:
    """Return the node of the ranks of a series' values among those of all partitions."""
    if node.npartitions == 1:
        return Rowwise(node, (), BlockCall(ranking.of_pandas, (Block(0),), label="rank"))
    meta = empty(of_samples(ranking.of_pandas, node.meta))
    count = node.npartitions
    moved = moved_keys(node, partial(places_in, ranking.order), count, (boundaries_of(node, ranking.order),))
    sizes = tree(moved, Operation(partial(_size, ranking), _flat, _flat), 0, "rank-sizes", split_every=1024)
    return returned_values(moved, partial(_ranks, ranking, node.meta.dtype), node, meta, (sizes,))


def boundaries_of(node: FrameExpr, order: Order) -> FrameExpr:
    """Return the node of the boundaries of as many ranges of a series' values as it has partitions."""
    steps = Operation(_sampled, join_samples, partial(_boundaries, node.npartitions, order))
    return tree(node, steps, 0, "boundaries")


def comparable(block: Any) -> Any:
    """Return a series of categories without order as one of their values, which is how pandas ranks them."""
    return block.astype(block.cat.categories.dtype) if is_unordered(block.dtype) else block


def is_unordered(dtype: Any) -> bool:
    """Whether a dtype is of categories without order."""
    return isinstance(dtype, pd.CategoricalDtype) and not dtype.ordered


def _keys(block: Any) -> Any:
    return pd.DataFrame({0: block.reset_index(drop=True)}, copy=False)


def _sampled(block: Any) -> Samples:
    return sample_keys(_keys(block), SAMPLES_PER_PARTITION)


def _boundaries(count: int, order: Order, samples: Sequence[Samples]) -> Any:
    return choose_boundaries(join_samples(samples), count, order)


def places_in(order: Order, block: Any, boundaries: Any) -> Any:
    """Return the number of the range of each value of a series."""
    return places_among(_keys(block), boundaries, order)


def _size(ranking: Ranking, frame: Any) -> list[int]:
    return [ranking.ranks_of(keys_of(frame)[0])]


def _flat(lists: list[list[int]]) -> list[int]:
    return [item for one in lists for item in one]


def _ranks(ranking: Ranking, dtype: Any, keys: Any, sizes: list[int], number: int) -> Any:
    own = keys[0].dtype
    values = keys[0] if own == dtype or is_narrowing(own, dtype) else keys[0].astype(dtype)
    found = ranking.in_range(values) + sum(sizes[:number])
    total = sum(sizes)
    return (found / total if ranking.pct and total else found).array if len(found) else np.empty(0)
