"""Small partitions of files are read several at a time where only reductions and tables for look-up read them."""

from __future__ import annotations

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same, reads
from glassloom.dataframe import joined_reads
from glassloom.expr import lower, optimize

ROWS, GROUPS = 200, 20


@pytest.fixture(scope="module")
def frame():
    random = np.random.default_rng(0)
    made = pd.DataFrame(
        {"n": np.arange(ROWS) // 3, "k": random.integers(0, 9, ROWS), "x": random.integers(0, 99, ROWS)}
    )
    words = pd.Series(["red", "green", "blue", None], dtype="str")
    return made.assign(s=words.take(random.integers(0, 4, ROWS)).to_numpy())


@pytest.fixture(scope="module")
def path(frame, tmp_path_factory):
    """A file of 20 row groups."""
    path = tmp_path_factory.mktemp("joined") / "a.parquet"
    frame.to_parquet(path, row_group_size=ROWS // GROUPS)
    return path


def partitions_read(collection):
    """Return how many partitions of the file are read."""
    return [read.npartitions for read in reads(collection) if read.label == "read-parquet"]


SIDE = pd.DataFrame({"k": [1, 2, 3, 3], "y": [10, 20, 30, 31]})
JOINED = {
    "a sum": lambda f: f.x.sum(),
    "of a filter": lambda f: f[f.x > f.k].x.sum(),
    "groups": lambda f: f.groupby("s").agg({"x": ["sum", "min"], "k": "count"}),
    "groups of an expression": lambda f: f.assign(z=f.x * 2).groupby(f.k > 3).z.sum(),
    "groups after a join": lambda f: f.merge(SIDE, on="k").groupby("y").x.sum(),
    "distinct rows": lambda f: f[["n", "s"]].drop_duplicates(),
    "counted values": lambda f: f.s.value_counts(),
    "how many": lambda f: f[f.x > 50].k.count(),
    "groups in file order": lambda f: f.groupby("n").agg({"x": ["sum", "max", "mean"], "s": "count"}),
}


@pytest.mark.parametrize("name", JOINED)
def test_partitions_that_are_reduced_are_read_several_at_a_time(path, frame, name):
    lazy = JOINED[name](gd.read_parquet(path))
    assert partitions_read(lazy) == [8]
    got, expected = lazy.compute(), JOINED[name](frame)
    if isinstance(expected, (pd.DataFrame, pd.Series)):
        assert_same(got, expected)
    else:
        assert got == expected


KEPT = {
    "rows of the result": lambda f: f[f.x > 3],
    "a sort": lambda f: f.sort_values("x"),
    "something along the rows": lambda f: f.x.cumsum(),
    "a function of partitions": lambda f: f.map_partitions(len, meta=("x", "int64")),
    "labels of a join": lambda f: f.merge(SIDE, on="k")[["x", "y"]].drop_duplicates(),
    "groups also of rows in the result": lambda f: f.x - f.x.sum(),
    "the first rows": lambda f: f.head(3, npartitions=-1, compute=False),
}


@pytest.mark.parametrize("name", KEPT)
def test_partitions_that_the_result_shows_stay(path, name):
    assert set(partitions_read(KEPT[name](gd.read_parquet(path)))) <= {GROUPS, 1}


def test_partitions_of_a_small_side_are_read_together_for_its_table(path, frame):
    other = gd.from_pandas(frame.rename(columns={"x": "z"}), npartitions=3)
    lazy = other.merge(gd.read_parquet(path)[["n", "x"]].rename(columns={"x": "y"}), on="n", how="leftsemi")
    assert partitions_read(lazy) == [8]
    assert len(lazy.compute()) == ROWS


def test_a_setting_of_bytes_bounds_what_is_joined(path, monkeypatch):
    monkeypatch.setattr(joined_reads, "JOINED_BYTES", 8 * ROWS // 10)
    assert partitions_read(gd.read_parquet(path).x.sum()) == [10]


def test_row_groups_without_rows_that_count_are_no_tasks(path, frame):
    lazy = gd.read_parquet(path)
    some = lazy[lazy.n >= 60]
    (read,) = reads(some.x.sum())
    assert read.npartitions == 2
    graph, _ = lower(optimize([some.x.sum().expr]))
    assert len(graph) == 3
    assert some.x.sum().compute() == frame[frame.n >= 60].x.sum()
    assert lazy[lazy.n > 999].x.sum().compute() == 0


def test_text_in_codes_of_a_dictionary_is_that_of_the_file(path, frame):
    lazy = gd.read_parquet(path)
    for made in (
        lambda f: f,
        lambda f: f[f.s == "red"],
        lambda f: f[f.s != "red"],
        lambda f: f[f.s.isin(["red", "no"])][["x"]],
        lambda f: f[f.s.isna()],
        lambda f: f[~(f.s > "blue")].s,
        lambda f: f[(f.s == "red") | (f.x > 50)],
    ):
        assert_same(made(lazy).compute(), made(frame))
    nullable = gd.read_parquet(path, dtype_backend="numpy_nullable")
    assert_same(nullable[nullable.s != "red"].compute(), frame.convert_dtypes()[frame.s.notna() & (frame.s != "red")])


def test_categories_of_row_groups_without_rows_that_count_are_kept(tmp_path):
    made = pd.DataFrame({"n": range(40), "c": pd.Categorical(list("abcd") * 5 + list("efgh") * 5)})
    made.to_parquet(tmp_path / "a.parquet", row_group_size=4)
    lazy = gd.read_parquet(tmp_path / "a.parquet")
    some = lazy[lazy.n < 10].groupby("c", observed=False).n.sum()
    assert_same(some.compute(), made[made.n < 10].groupby("c", observed=False).n.sum())
