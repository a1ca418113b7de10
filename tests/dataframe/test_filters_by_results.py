"""Rows that are compared with results of all rows: they are chosen while they are read, and other columns aren't kept until then."""

from __future__ import annotations

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from frame_helpers import assert_same, plan
from glassloom import Client
from glassloom.dataframe import plan as plans
from glassloom.dataframe.io.read_by_results import ReadByResults

INLINE = {"scheduler": "inline"}
N = 60


def made_up(seed=0):
    random = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "k": random.integers(0, 9, N),
            "x": np.where(random.random(N) < 0.2, np.nan, random.random(N).round(2)),
            "small": random.random(N).astype("float32"),
            "day": pd.Timestamp("2026-01-01") + pd.to_timedelta(random.integers(0, 9, N), "D"),
            "zone": (pd.Timestamp("2026-01-01", tz="UTC") + pd.to_timedelta(random.integers(0, 9, N), "D")),
            "word": random.choice(["red", "green", "blue"], N),
            "nothing": np.full(N, np.nan),
        }
    )


@pytest.fixture
def both(tmp_path):
    frame = made_up()
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=7)
    return frame, gd.read_parquet(tmp_path / "rows.parquet", split_row_groups=True)


def by_results(lazy):
    """Return the nodes that compare while they read."""
    return [node for node in plan(lazy, keeps_blocks=False) if isinstance(node, ReadByResults)]


COMPARED = {
    "largest": lambda f: f[f.x == f.x.max()],
    "least of whole numbers": lambda f: f[f.k <= f.k.min()],
    "narrow floats": lambda f: f[f.small >= f.small.max()],
    "narrow floats and wide ones": lambda f: f[f.small > f.x.mean() * 1.5],
    "last day": lambda f: f[f.day == f.day.max()],
    "above a quantile": lambda f: f[f.x > f.x.quantile(0.9)],
    "whole numbers above a quantile": lambda f: f[f.k >= f.k.quantile(0.95)],
    "far from the mean": lambda f: f[f.x > f.x.mean() + f.x.std()],
    "a column": lambda f: f.word[f.x > f.x.mean() * 1.2],
    "some columns": lambda f: f.loc[f.x > f.x.quantile(0.95), ["word", "k"]],
    "and others": lambda f: f[(f.x > f.x.mean() * 1.1) & (f.k > 3) & (f.word != "red")],
    "and one that keeps many": lambda f: f[(f.x == f.x.max()) & (f.k >= f.k.mean())],
    "twice": lambda f: (lambda some: some[some.k == some.k.min()])(f[f.x > f.x.quantile(0.9)]),
    "of some rows": lambda f: (lambda some: some[some.x == some.x.median()])(f[f.k > 2]),
    "then grouped": lambda f: f[f.x > f.x.mean() + 0.2].groupby("word").k.sum(),
    "then counted": lambda f: f[f.k == f.k.max()].word.value_counts(sort=False).sort_index(),
    "no value": lambda f: f[f.nothing <= f.nothing.min()],
    "missing": lambda f: f[f.x == f.nothing.mean()],
    "by itself": lambda f: f.x[f.x > f.x.mean() * 1.5],
}


@pytest.mark.parametrize("make", COMPARED.values(), ids=COMPARED)
def test_rows_are_chosen_while_they_are_read(make, both):
    frame, lazy = both
    assert by_results(make(lazy))
    assert_same(make(lazy).compute(**INLINE), make(frame))


OTHERS = {
    "above the mean": lambda f: f[f.x > f.x.mean()],
    "all but the largest": lambda f: f[f.x < f.x.max()],
    "below a quantile": lambda f: f[f.x < f.x.quantile(0.9)],
    "between quantiles": lambda f: f[f.x.between(f.x.quantile(0.1), f.x.quantile(0.8))],
    "unequal": lambda f: f[f.k != f.k.max()],
    "either": lambda f: f[(f.x > f.x.mean()) | (f.k == 3)],
    "deviations": lambda f: f[(f.x - f.x.mean()).abs() < f.x.std()],
    "zones": lambda f: f[f.zone == f.zone.max()],
    "texts": lambda f: f[f.word == f.word.max()],
    "of groups": lambda f: f[f.x > f.groupby("word").x.transform("mean")],
    "and running sums": lambda f: f[(f.k == f.k.max()) & (f.x.fillna(0).cumsum() > 3)],
    "computed": lambda f: (lambda g: g[g.y > g.y.mean()])(f.assign(y=f.x * 2)),
}


@pytest.mark.parametrize("make", OTHERS.values(), ids=OTHERS)
def test_other_conditions_are_filters(make, both):
    frame, lazy = both
    assert not by_results(make(lazy))
    assert_same(make(lazy).compute(**INLINE), make(frame))


def test_only_the_compared_column_is_read_for_the_result(both):
    _, lazy = both
    nodes = plan(lazy[lazy.x == lazy.x.max()], keeps_blocks=False)
    (read,) = [node for node in nodes if type(node).__name__ == "Read"]
    assert read.columns == ("x",)
    (chosen,) = by_results(lazy[lazy.x == lazy.x.max()].k.sum())
    assert chosen.columns == ("k",)
    assert "where x == max" in str(lazy[lazy.x == lazy.x.max()].explain())


def test_what_a_condition_is_computed_with_is_read_before_many_whole_rows(both, monkeypatch):
    frame, lazy = both
    assert len([node for node in plan(OTHERS["deviations"](lazy)) if type(node).__name__ == "Read"]) == 1
    monkeypatch.setattr(plans, "LARGE_BYTES", 1)
    make = OTHERS["deviations"]
    columns = [node.columns for node in plan(make(lazy), keeps_blocks=False) if type(node).__name__ == "Read"]
    assert sorted(columns, key=str) == [("x",), None]
    few = make(lazy)[["x", "k"]]  # to read x twice would save little
    assert len([node for node in plan(few, keeps_blocks=False) if type(node).__name__ == "Read"]) == 1
    for one in (make, lambda f: make(f).groupby("word").k.sum(), lambda f: (lambda g: g[g.k > 2])(make(f))):
        assert_same(one(lazy).compute(**INLINE), one(frame))


def test_results_of_another_frame(both, tmp_path):
    frame, lazy = both
    other = made_up(1).k.iloc[:5]
    large = gd.from_pandas(other.to_frame(), npartitions=2).k.max()
    assert by_results(lazy[lazy.k >= large])
    assert_same(lazy[lazy.k >= large].compute(**INLINE), frame[frame.k >= other.max()])


def test_rows_of_an_index_of_the_file_and_of_a_part_of_the_partitions(both, tmp_path):
    frame, _ = both
    indexed = frame.set_index(pd.Index(range(100, 100 + N), name="i"))
    indexed.to_parquet(tmp_path / "indexed.parquet", row_group_size=9)
    lazy = gd.read_parquet(tmp_path / "indexed.parquet", split_row_groups=True)
    for make in (COMPARED["largest"], COMPARED["twice"], COMPARED["a column"]):
        assert_same(make(lazy).compute(**INLINE), make(indexed))
    assert_same(
        make_tail := COMPARED["largest"](lazy.partitions[2:5]).compute(**INLINE),
        COMPARED["largest"](indexed.iloc[18:45]),
    )
    assert len(make_tail)


def test_columns_of_folders_names_are_filtered(both, tmp_path):
    frame, _ = both
    frame.to_parquet(tmp_path / "parts", partition_cols=["k"])
    lazy, whole = gd.read_parquet(tmp_path / "parts"), pd.read_parquet(tmp_path / "parts")
    for make in (COMPARED["largest"], COMPARED["last day"]):
        assert_same(make(lazy).compute(**INLINE).reset_index(drop=True), make(whole).reset_index(drop=True))


def test_in_processes(both):
    frame, lazy = both
    with Client(n_workers=2, threads_per_worker=1):
        for name in ("largest", "least of whole numbers", "twice", "then grouped"):
            assert_same(COMPARED[name](lazy).compute(), COMPARED[name](frame))


def test_rows_of_equal_labels(both, tmp_path):
    frame, _ = both
    repeated = frame.set_index("k")
    repeated.to_parquet(tmp_path / "repeated.parquet", row_group_size=9)
    lazy = gd.read_parquet(tmp_path / "repeated.parquet", split_row_groups=True)
    make = lambda f: f[(f.x > f.x.mean() * 1.1) & (f.word != "red") & (f.small * 2 > f.small.mean())]  # noqa: E731
    assert by_results(make(lazy))
    assert_same(make(lazy).compute(**INLINE), make(repeated))


def test_whole_numbers_that_may_miss_values_as_files_do_not_say_are_filtered(tmp_path):
    table = pa.table({"p": range(12), "q": list("abcdefghijkl"), "r": [1.5] * 12, "z": pa.array([None, 1, 2] * 4)})
    for statistics in (True, False):
        pq.write_table(table, tmp_path / "rows.parquet", write_statistics=statistics, row_group_size=3)
        lazy, frame = gd.read_parquet(tmp_path / "rows.parquet", split_row_groups=True), table.to_pandas()
        make = lambda f: f[f.p == f.p.max()]  # noqa: E731
        assert bool(by_results(make(lazy))) is statistics
        assert_same(make(lazy).compute(**INLINE), make(frame))
        assert_same(lazy.nlargest(3, "z").compute(**INLINE), frame.nlargest(3, "z"))


def test_persisted_rows(both):
    frame, lazy = both
    assert_same(COMPARED["twice"](lazy).persist(**INLINE).compute(**INLINE), COMPARED["twice"](frame))
