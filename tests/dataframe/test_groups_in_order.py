"""Groups of files in order of their key, which stay in the partitions of the files if what is made of them takes any number of partitions."""

from __future__ import annotations

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same, plan
from glassloom import Client
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE
from glassloom.dataframe.grouping import groups_in_order
from glassloom.dataframe.grouping.groups_in_order import GroupsInOrder
from hypothesis import given, settings
from hypothesis import strategies as st
from long_tests import examples

INLINE = {"scheduler": "inline"}


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch):
    monkeypatch.setattr(groups_in_order, "LEAST_GROUPS", 1)


def orders_of(keys, seed=0):
    """Return rows with these keys, numbers, texts and missing values."""
    random = np.random.default_rng(seed)
    n = len(keys)
    return pd.DataFrame(
        {
            "k": np.asarray(keys, "int64"),
            "v": random.integers(0, 4, n),
            "x": np.where(random.random(n) < 0.2, np.nan, random.random(n)),
            "word": random.choice(["red", "green", "blue"], n),
            "day": pd.Timestamp("2026-01-01") + pd.to_timedelta(random.integers(0, 9, n), "D"),
            "narrow": random.integers(0, 100, n).astype("int8"),
        }
    )


def write(frame, folder, bounds):
    """Write a file of a frame in row groups between these rows; return it, and a lazy frame of a partition for each."""
    path = folder / f"rows-{len(list(folder.iterdir()))}.parquet"
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.Table.from_pandas(frame, preserve_index=False)
    with pq.ParquetWriter(path, table.schema) as writer:
        for low, high in zip(bounds, bounds[1:], strict=False):
            writer.write_table(table.slice(low, high - low))
    return gd.read_parquet(path, split_row_groups=True)


def stay(lazy):
    """How many reductions of groups stay in several partitions."""
    return sum(isinstance(node, GroupsInOrder) for node in plan(lazy, keeps_blocks=False))


KEYS = [1, 1, 2, 3, 3, 3, 3, 3, 3, 3, 5, 6, 7, 7, 8, 9, 9, 9, 9, 12]
BOUNDS = [0, 4, 6, 9, 12, 13, 20]
"""Key 3 is in the first four partitions, and alone in two of them; key 7 is in two."""
MADE = {
    "sums": lambda f: f.groupby("k").x.sum(),
    "sums, large ones": lambda f: (lambda made: made[made > 0.5])(f.groupby("k").x.sum()),
    "several": lambda f: f.groupby("k").agg(n=("v", "count"), s=("v", "sum"), m=("x", "mean"), d=("x", "std")),
    "of everything": lambda f: f.groupby("k").agg({"word": ["min", "max", "first"], "day": "max", "x": "last"}),
    "sizes": lambda f: f.groupby("k").size(),
    "numbers of different values": lambda f: f.groupby("k").word.nunique(),
    "in order of appearance": lambda f: f.groupby("k", sort=False).v.sum(),
    "by two keys": lambda f: f.groupby(["k", "word"]).v.sum(),
    "rows left out": lambda f: f[f.x > 0.6].groupby("k").v.sum(),
    "no rows left": lambda f: f[f.x > 6].groupby("k").agg(n=("v", "count"), w=("word", "max")),
    "by a computed column too": lambda f: f.assign(odd=f.v + 1).groupby(["k", "odd"]).x.max(),
    "distinct rows": lambda f: f[["k", "word"]].drop_duplicates().groupby("k").word.count(),
    "sum of sums": lambda f: f.groupby("k").v.sum().sum(),
    "sizes of sizes": lambda f: f.groupby("k").agg(n=("v", "size")).reset_index().groupby("n").size(),
    "above their mean": lambda f: (lambda made: made[made.s > made.s.mean()])(f.groupby("k").agg(s=("x", "sum"))),
    "renamed": lambda f: f.groupby("k").agg(s=("x", "sum")).rename(columns={"s": "t"}).assign(u=2),
}


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_groups_of_files_in_order_are_those_of_pandas(make, tmp_path):
    frame = orders_of(KEYS)
    lazy = write(frame, tmp_path, BOUNDS)
    assert stay(make(lazy)) == 1 or not HAS_COPY_ON_WRITE  # until pandas 3 texts are objects
    assert_same(make(lazy).compute(**INLINE), make(frame))


def test_groups_that_are_joined(tmp_path):
    frame, names = orders_of(KEYS), pd.DataFrame({"k": [3, 7, 9, 20], "name": list("abcd")})
    lazy, lazy_names = write(frame, tmp_path, BOUNDS), gd.from_pandas(names, npartitions=1)

    def tables(rows):
        sums = rows.groupby("k").agg(s=("v", "sum")).reset_index()
        return sums[sums.s > 1], rows.groupby("k").agg(n=("v", "count")).reset_index()

    (large, counts), (wanted_large, wanted_counts) = tables(lazy), tables(frame)
    made = lazy_names.merge(large.merge(counts, on="k"), on="k")
    assert stay(made) == 2
    assert_same(made.compute(**INLINE), names.merge(wanted_large.merge(wanted_counts, on="k"), on="k"))
    several = lazy.merge(large, on="k")
    assert stay(several) == 1
    assert_same(several.compute(**INLINE).reset_index(drop=True), frame.merge(wanted_large, on="k"))


JOINED = {
    "sums": lambda f: f.groupby("k").agg(s=("v", "sum")).reset_index(),
    "label of the largest": lambda f: f.groupby(["k", "word"]).v.sum().reset_index().v.idxmax(),
    "labels of some": lambda f: f.groupby(["k", "word"]).v.sum().reset_index().drop_duplicates("v", keep="last"),
    "in one go": lambda f: f.groupby("k", as_index=False).x.sum(),
    "in order": lambda f: f.groupby("k").x.sum().cumsum(),
    "largest": lambda f: f.groupby("k").x.sum().nlargest(2),
    "by place": lambda f: f.groupby("k").v.sum().shift(),
    "rank": lambda f: f.groupby("k").v.sum().rank(),
    "beside rows": lambda f: f.groupby("k").v.sum() + f.groupby("k").v.count(),
    "narrow": lambda f: f.groupby("k").narrow.sum(),
    "at least so many": lambda f: f.groupby("k").v.sum(min_count=3),
    "medians": lambda f: f.groupby("k").x.median(),
    "by another column": lambda f: f.groupby("word").x.max(),
    "by another column first": lambda f: f.groupby(["word", "k"]).x.max(),
    "computed keys": lambda f: f.assign(k=f.k % 3).groupby("k").x.max(),
}


@pytest.mark.parametrize("make", JOINED.values(), ids=JOINED)
def test_where_labels_or_order_or_dtypes_are_of_all_groups_they_are_joined(make, tmp_path):
    frame = orders_of(KEYS)
    lazy = write(frame, tmp_path, BOUNDS)
    assert not stay(make(lazy))
    assert_same(make(lazy).compute(**INLINE), make(frame))


def test_groups_of_files_in_any_order_or_of_frames_are_joined(tmp_path):
    frame = orders_of(KEYS[::-1])
    lazy = write(frame, tmp_path, BOUNDS)
    assert not stay(lazy.groupby("k").x.sum())
    assert_same(lazy.groupby("k").x.sum().compute(**INLINE), frame.groupby("k").x.sum())
    assert not stay(gd.from_pandas(frame, npartitions=3).groupby("k").x.sum())


def test_few_groups_are_joined(tmp_path, monkeypatch):
    monkeypatch.setattr(groups_in_order, "LEAST_GROUPS", 3)
    lazy = write(orders_of(KEYS), tmp_path, BOUNDS)
    assert not stay(lazy.groupby("k").x.sum())  # at most 13 in six partitions
    assert stay(write(orders_of(range(20)), tmp_path, BOUNDS).groupby("k").x.sum())


def test_a_kept_result_has_one_partition(tmp_path):
    frame = orders_of(KEYS)
    sums = write(frame, tmp_path, BOUNDS).groupby("k").x.sum()
    kept = sums.persist(**INLINE)
    assert kept.npartitions == sums.npartitions == 1
    assert_same(kept.compute(**INLINE), frame.groupby("k").x.sum())


def test_groups_of_partitions_in_several_processes(tmp_path):
    frame = orders_of(KEYS)
    lazy = write(frame, tmp_path, BOUNDS)
    with Client(n_workers=2, threads_per_worker=1):
        for name in ("sums, large ones", "of everything", "numbers of different values", "distinct rows"):
            assert_same(MADE[name](lazy).compute(), MADE[name](frame))


@settings(max_examples=examples(15), deadline=None)
@given(data=st.data())
def test_groups_at_any_borders(data, tmp_path_factory):
    keys = sorted(data.draw(st.lists(st.integers(-3, 6), min_size=1, max_size=24)))
    cuts = sorted(data.draw(st.sets(st.integers(1, len(keys)), max_size=6)))
    frame = orders_of(keys, seed=len(keys))
    lazy = write(frame, tmp_path_factory.mktemp("rows"), sorted({0, *cuts, len(keys)}))
    make = MADE[data.draw(st.sampled_from([*MADE]))]
    assert_same(make(lazy).compute(**INLINE), make(frame))
