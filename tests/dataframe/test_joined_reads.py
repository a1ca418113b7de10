"""Small partitions of files are read several at a time where only reductions, tables for look-up and whole results read them."""

from __future__ import annotations

import glassloom as gl
import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pyarrow.dataset as ds
import pytest
from frame_helpers import assert_same, reads
from glassloom.dataframe import joined_reads
from glassloom.expr import lower, optimize, simplify, walk

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


@pytest.mark.parametrize(("wanted", "read"), [(17, 20), (13, 10), (12, 10), (9, 10)])
def test_partitions_are_joined_to_groups_of_equally_many(path, frame, monkeypatch, wanted, read):
    monkeypatch.setattr(joined_reads, "JOINED_BYTES", -(-8 * ROWS // wanted))
    lazy = gd.read_parquet(path).x.sum()
    assert partitions_read(lazy) == [read]
    assert lazy.compute() == frame.x.sum()


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


WHOLE = {
    "all": lambda f: f,
    "a column": lambda f: f.s,
    "rows": lambda f: f[f.x > 50],
    "no row": lambda f: f[f.x > 999],
    "some columns of some rows": lambda f: f[(f.n > 20) & (f.k < 5)][["x", "s"]],
    "a new column": lambda f: f.assign(z=f.x * 2 + f.k, w=f.s.str.upper()),
    "missing values filled": lambda f: f[["s"]].assign(s=f.s.fillna("none")),
}
ALIKE = ("a column", "no row", "a new column")
"""What differs little from the others: left to `make long`."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long) if name in ALIKE else name for name in WHOLE]
)
def test_partitions_that_become_one_frame_are_read_several_at_a_time(path, frame, name):
    lazy = WHOLE[name](gd.read_parquet(path))
    (read,) = [node for node in walk(simplify([lazy.expr], keeps_blocks=False)) if type(node).__name__ == "Read"]
    assert read.npartitions <= 8
    assert lazy.npartitions == GROUPS
    assert_same(lazy.compute(), WHOLE[name](frame))
    assert_same(lazy.compute(optimize_graph=False), WHOLE[name](frame))
    assert lazy.persist().npartitions == GROUPS
    assert [len(part.compute()) for part in lazy.to_delayed()] == [len(part) for part in gl.compute(*lazy.to_delayed())]


SHOWN = {
    "a function of partitions": lambda f: f.map_partitions(lambda part: part.assign(first=part.n.iloc[0])),
    "a function of values": lambda f: f.x.map(lambda value: value + 1, meta=("x", "int64")),
    "labels of a join": lambda f: f.merge(SIDE, on="k"),
    "a scan": lambda f: f.x.cumsum(),
}


@pytest.mark.parametrize("name", SHOWN)
def test_partitions_that_one_can_tell_from_the_whole_result_stay(path, name):
    lazy = SHOWN[name](gd.read_parquet(path))
    found = [
        node
        for node in walk(simplify([lazy.expr], keeps_blocks=False))
        if type(node).__name__ == "Read" and node.npartitions > 1
    ]
    assert {read.npartitions for read in found} == {GROUPS}
    whole, parts = lazy.compute(), pd.concat(gl.compute(*lazy.to_delayed()))
    assert_same(whole, parts)


def test_unknown_categories_are_those_of_the_partitions(tmp_path):
    made = pd.DataFrame({"n": range(40), "c": pd.Categorical(list("dabc") * 10)})
    made.to_parquet(tmp_path / "a.parquet", row_group_size=4)
    lazy = gd.read_parquet(tmp_path / "a.parquet")
    assert_same(lazy.compute(), pd.concat(gl.compute(*lazy.to_delayed())))


@pytest.mark.parametrize(
    "filters", [[("x", ">", 50)], [("n", "<", 50)], [("x", ">", 999)], ds.field("x") + 1 > 50], ids=str
)
def test_rows_left_out_while_reading_are_read_several_partitions_at_a_time(path, frame, filters):
    lazy = gd.read_parquet(path, filters=filters, columns=["k", "s"])
    (read,) = [node for node in walk(simplify([lazy.expr], keeps_blocks=False)) if type(node).__name__ == "Read"]
    assert read.npartitions <= 8
    assert_same(lazy.compute(), pd.concat(gl.compute(*lazy.to_delayed())))
    assert len(lazy) == len(pd.read_parquet(path, filters=filters))


@pytest.mark.parametrize("split", [False, 3, 7], ids=str)
def test_rows_by_an_expression_are_those_of_all_row_groups_of_a_partition(path, frame, split):
    lazy = gd.read_parquet(path, filters=ds.field("x") + 1 > 50, split_row_groups=split)
    assert_same(lazy.compute(), frame[frame.x + 1 > 50])
    assert_same(pd.concat(gl.compute(*lazy.to_delayed())), frame[frame.x + 1 > 50])


def test_the_plan_that_is_explained_is_the_one_that_runs(path):
    lazy = gd.read_parquet(path)
    text = str(lazy[lazy.x > 50].explain())
    before, after = text.split("as it will run")
    assert f" {GROUPS} " in before
    assert " 8 " in after
    assert "compute" not in after
