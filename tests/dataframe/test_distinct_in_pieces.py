"""Reductions of distinct rows, which take them in pieces if nothing else is made of them."""

from __future__ import annotations

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same, frames, plan
from hypothesis import given, settings
from hypothesis import strategies as st
from long_tests import examples

INLINE = {"scheduler": "inline"}
REDUCTIONS = {
    "count": lambda rows: rows.groupby("k").agg(n=("v", "count")),
    "size": lambda rows: rows.groupby("k").size(),
    "keys as columns": lambda rows: rows.groupby("k", as_index=False).v.sum(),
    "in order of appearance": lambda rows: rows.groupby("k", sort=False).v.agg(["first", "last", "mean"]),
    "distinct values": lambda rows: rows.groupby("k").v.nunique(),
    "largest": lambda rows: rows.groupby("v").k.max(),
    "sum": lambda rows: rows.sum(),
    "mean": lambda rows: rows.k.mean(),
    "counts of values": lambda rows: rows.v.value_counts(sort=False).sort_index(),
    "filtered": lambda rows: rows[rows.v > 0].groupby("k").size(),
}


def rows_of(seed, *, is_sorted, n=400):
    random = np.random.default_rng(seed)
    keys = random.integers(0, n // 3, n)
    return pd.DataFrame({"k": np.sort(keys) if is_sorted else keys, "v": random.integers(0, 4, n)})


def with_empty_partitions(frame, bounds):
    parts = [frame.iloc[low:high] for low, high in zip(bounds, bounds[1:], strict=False)]
    return gd.from_map(lambda number: parts[number], range(len(parts)), meta=frame.iloc[:0])


def is_joined_first(lazy):
    return "drop-duplicates" in {node.label for node in plan(lazy)}


@pytest.mark.parametrize("keep", ["first", "last"])
@pytest.mark.parametrize("is_sorted", [True, False], ids=["keys apart", "keys anywhere"])
@pytest.mark.parametrize("reduce", REDUCTIONS.values(), ids=REDUCTIONS)
def test_reductions_of_distinct_rows_are_those_of_pandas(reduce, is_sorted, keep):
    frame = rows_of(1, is_sorted=is_sorted)
    for bounds in ([0, 400], [0, 90, 90, 200, 380, 400, 400], [0, *range(10, 410, 10)]):
        rows = with_empty_partitions(frame, bounds).drop_duplicates(keep=keep)
        assert_same(reduce(rows).compute(**INLINE), reduce(frame.drop_duplicates(keep=keep)))


def test_number_of_distinct_rows():
    frame = rows_of(2, is_sorted=True)
    rows = gd.from_pandas(frame, npartitions=7).drop_duplicates()
    assert len(rows) == len(frame.drop_duplicates())
    assert rows.v.count().compute(**INLINE) == len(frame.drop_duplicates())


def test_distinct_rows_are_joined_to_one_partition_only_if_something_else_is_made_of_them():
    rows = gd.from_pandas(rows_of(3, is_sorted=True), npartitions=5).drop_duplicates()
    counts = rows.groupby("k").v.count()
    assert not is_joined_first(counts)
    assert not is_joined_first(counts.reset_index())
    assert is_joined_first(rows)
    assert is_joined_first(rows.merge(counts.reset_index(), on="k"))  # twice
    assert is_joined_first(rows.groupby("k").v.median())  # of whole groups


def test_distinct_rows_of_distinct_rows():
    frame = rows_of(4, is_sorted=True)
    lazy = gd.from_pandas(frame, npartitions=6)
    nested = lambda f: f.drop_duplicates().drop_duplicates("k", keep="last").groupby("v").k.sum()  # noqa: E731
    assert_same(nested(lazy).compute(**INLINE), nested(frame))
    deeper = lambda f: (  # noqa: E731
        f.drop_duplicates().groupby("k").v.sum().reset_index().drop_duplicates("v").groupby("v").size()
    )
    assert_same(deeper(lazy).compute(**INLINE), deeper(frame))
    assert not is_joined_first(deeper(lazy))


@settings(max_examples=examples(20), deadline=None)
@given(frame=frames(max_rows=30), npartitions=st.integers(1, 5), data=st.data())
def test_sizes_of_groups_of_distinct_rows_of_any_kind(frame, npartitions, data):
    subset = data.draw(st.lists(st.sampled_from(list(frame.columns)), min_size=1, unique=True))
    key = data.draw(st.sampled_from(list(frame.columns)))
    size = lambda f: f.drop_duplicates(subset).groupby(key, observed=True).size()  # noqa: E731
    assert_same(size(gd.from_pandas(frame, npartitions=npartitions, sort=False)).compute(**INLINE), size(frame))
