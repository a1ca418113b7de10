"""What is read, run and left out: plans are compared, not results (those are in test_like_pandas)."""

from __future__ import annotations

import glassloom.dataframe as gd
import pandas as pd
import pytest
from frame_helpers import assert_same, labels, plan, reads
from glassloom.backends.pandas_ import is_frame
from glassloom.dataframe.nodes import chosen_meta
from glassloom.dataframe.reduce import Length
from glassloom.dataframe.wrap import wrap
from glassloom.expr import lower, optimize, simplify, walk

REINDEXED = pytest.mark.filterwarnings("ignore:Boolean Series key will be reindexed")


@pytest.fixture
def folder(tmp_path):
    """Two Parquet files of two row groups each: x is 0..7 in order, y alternates, s is text, t days."""
    frame = pd.DataFrame({"x": range(8), "y": [0.5, -1.0] * 4, "s": list("abcdefgh"), "z": 1})
    frame["t"] = pd.date_range("2020-01-01", periods=8)
    frame[:4].to_parquet(tmp_path / "a.parquet", row_group_size=2)
    frame[4:].to_parquet(tmp_path / "b.parquet", row_group_size=2)
    return tmp_path


def tasks(collection):
    graph, _ = lower(optimize([collection.expr]))
    return len(graph)


def columns_read(collection):
    return [read.columns for read in reads(collection)]


COLUMNS = {
    "a column": (lambda f: f.x, [("x",)]),
    "of an expression": (lambda f: (f.x + f.y).sum(), [("x", "y")]),
    "of a filter": (lambda f: f[f.s.str.len() == 1].x, [("x", "s")]),
    "through assign": (lambda f: f.assign(q=f.x * 2)[["q"]], [("x",)]),
    "assigned, not wanted": (lambda f: f.assign(q=f.x * 2)["y"], [("y",)]),
    "through fillna": (lambda f: f.fillna(0)["y"], [("y",)]),
    "through arithmetic": (lambda f: (f[["x", "y"]] * 2)["x"], [("x",)]),
    "of a choice of a choice": (lambda f: f[["x", "y"]]["x"], [("x",)]),
    "of groups": (lambda f: f.groupby("s").x.mean(), [("x", "s")]),
    "of groups by expression": (lambda f: f.groupby(f.y > 0).x.mean(), [("x", "y")]),
    "of grouped expressions": (lambda f: f[f.y > f.z].groupby("s").agg({"x": ["sum"]}), [("x", "y", "s", "z")]),
    "of numbers": (lambda f: f.mean(numeric_only=True), [("x", "y", "z")]),
    "of chosen partitions": (lambda f: f.partitions[1:3].x, [("x",)]),
    "all, for a function": (
        lambda f: f.map_partitions(lambda d: d, meta=pd.DataFrame(columns=list("xyszt"))),
        [None],
    ),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_only_the_columns_that_count_are_read(folder, name):
    make, expected = COLUMNS[name]
    assert columns_read(make(gd.read_parquet(folder))) == expected


def test_filters_on_the_index_are_checked_while_reading(tmp_path):
    frame = pd.DataFrame({"x": range(6)}, index=pd.date_range("2020-01-01", periods=6, name="day"))
    frame.to_parquet(tmp_path / "a.parquet", row_group_size=2)
    lazy = gd.read_parquet(tmp_path / "a.parquet")
    some = lazy[(lazy.index >= "2020-01-03") & (lazy.index < pd.Timestamp("2020-01-05"))]
    (read,) = reads(some)
    assert read.condition == (
        ("day", ">=", pd.Timestamp("2020-01-03")),
        ("day", "<", pd.Timestamp("2020-01-05")),
    )
    assert read.source.groups_read(range(3), read.condition) == (1, 3)
    assert_same(some.compute(), frame[2:4])
    assert columns_read(lazy.index) == [()]
    assert lazy.index.compute().tolist() == frame.index.tolist()
    numbered = gd.from_pandas(frame.reset_index(drop=True), npartitions=2)
    assert_same(numbered[numbered.index > 2].x.compute(), numbered.compute()[3:].x)
    made_up = gd.datasets.timeseries(end="2000-01-02", freq="1h", seed=1)
    assert columns_read(made_up.index) == [()]
    assert len(made_up.index.compute()) == 24


def test_columns_are_pushed_into_csv_pandas_and_made_up_data(tmp_path):
    pd.DataFrame({"x": [1], "y": [2], "when": ["2020-01-01"]}).to_csv(tmp_path / "a.csv", index=False)
    csv = gd.read_csv(tmp_path / "a.csv", parse_dates=["when"])
    assert columns_read(csv.y + csv.x) == [("x", "y")]
    assert (csv.y + csv.x).compute().tolist() == [3]
    held = gd.from_pandas(pd.DataFrame({"x": [1], "y": [2]}))
    assert columns_read(held[held.x > 0].y) == [("x", "y")]
    assert columns_read(gd.datasets.timeseries().x) == [("x",)]


def test_columns_made_alone_are_those_made_with_others():
    frame = gd.datasets.timeseries(end="2000-01-02", freq="1min", seed=7)
    assert_same(frame.y.compute(), frame.compute().y)


def test_rows_that_two_results_need_are_read_once(folder):
    frame = gd.read_parquet(folder)
    assert [read.columns for read in reads(frame.x.sum(), frame.y.mean())] == [("x", "y")]


FILTERS = {
    "greater": (lambda f: f[f.x > 5], (("x", ">", 5),)),
    "by a method": (lambda f: f[f.x.gt(5) & f.s.ne("a")], (("x", ">", 5), ("s", "!=", "a"))),
    "mirrored": (lambda f: f[5 < f.x], (("x", ">", 5),)),  # noqa: SIM300
    "text": (lambda f: f[f.s == "b"], (("s", "==", "b"),)),
    "both": (lambda f: f[(f.x >= 2) & (f.y < 0.0)], (("x", ">=", 2), ("y", "<", 0.0))),
    "then a column": (lambda f: f[f.x <= 2].y, (("x", "<=", 2),)),
    "used twice": (lambda f: f[f.x > 2].groupby("s").x.sum(), (("x", ">", 2),)),
    "not equal": (lambda f: f[f.x != 5], (("x", "!=", 5),)),
    "either": (lambda f: f[(f.x > 5) | (f.y > 0)], (((((("x", ">", 5),), (("y", ">", 0.0),))),),)),
    "not": (lambda f: f[~(f.x > 5)], (((("x", ">", 5),),),)),
    "among": (lambda f: f[f.s.isin(["a", "h"])], (("s", "in", ("a", "h")),)),
    "missing": (lambda f: f[f.y.notna()], (("y", "notna", None),)),
    "whole numbers with a float": (lambda f: f[f.x > 5.5], (("x", ">", 5),)),
    "times, as text": (lambda f: f[f.t >= "2020-01-03"], (("t", ">=", pd.Timestamp("2020-01-03")),)),
    "above assigned columns": (lambda f: (lambda g: g[g.x > 5].q)(f.assign(q=f.y * 2)), (("x", ">", 5),)),
    "above all columns' arithmetic": (lambda f: f.fillna({"y": 0.0})[f.x > 5], (("x", ">", 5),)),
    "one after the other, of all rows": (lambda f: f[f.x > 2][f.y < 0.0], (("x", ">", 2), ("y", "<", 0.0))),
    "three of all rows": (
        lambda f: f[f.x > 2][f.y < 0.0][(f.x < 7) & (f.s != "d")],
        (("x", ">", 2), ("y", "<", 0.0), ("x", "<", 7), ("s", "!=", "d")),
    ),
    "of all rows, then of these": (
        lambda f: (lambda g: g[g.s < "h"])(f[f.x > 2][f.y < 0.0]),
        (("x", ">", 2), ("y", "<", 0.0), ("s", "<", "h")),
    ),
    "a column of what a mask of all rows leaves": (lambda f: f[f.x > 2].s[f.y < 0.0], (("x", ">", 2), ("y", "<", 0.0))),
    "one after the other": (lambda f: (lambda g: g[g.y < 0.0])(f[f.x > 2]), (("x", ">", 2), ("y", "<", 0.0))),
}


@REINDEXED
@pytest.mark.parametrize("name", FILTERS)
def test_filters_are_applied_while_reading(folder, name):
    make, condition = FILTERS[name]
    lazy = gd.read_parquet(folder)
    (read,) = reads(make(lazy))
    assert read.condition == condition
    assert "filter" not in {type(node).__name__.lower() for node in plan(make(lazy))}
    assert_same(make(lazy).compute(), make(lazy.compute()))


PARTLY = {
    "and what Arrow doesn't do": (lambda f: f[(f.x > 3) & (f.s.str.upper() > "A")], (("x", ">", 3),)),
    "and another comparison each": (
        lambda f: f[(f.x > 3) & (f.y > 0)].y.sum() + f[(f.x > 3) & (f.y < 0)].y.sum(),
        (("x", ">", 3),),
    ),
    "and of all rows what Arrow doesn't do": (lambda f: f[f.x > 3][f.s.str.upper() > "F"], (("x", ">", 3),)),
    "what Arrow doesn't do, and of all rows": (lambda f: f[f.s.str.upper() > "F"][f.x > 3], (("x", ">", 3),)),
    "what one of two results leaves": (
        lambda f: (lambda g: g.y.sum() + g[f.y < 0.0].y.sum())(f[f.x > 3]),
        (("x", ">", 3),),
    ),
    "and one of two columns": (lambda f: f[(f.y < f.x) & (f.x > 3) & (f.x > f.z)], (("x", ">", 3),)),
}


@REINDEXED
@pytest.mark.parametrize("name", PARTLY)
def test_what_a_source_can_check_of_a_filter_is_checked_while_reading(folder, name):
    make, condition = PARTLY[name]
    lazy = gd.read_parquet(folder)
    (read,) = reads(make(lazy))
    assert read.condition == condition
    assert "filter" in {type(node).__name__.lower() for node in plan(make(lazy))}
    result = make(lazy)
    assert_same(result.compute(), make(lazy.compute()))


KEPT = {
    "two columns": lambda f: f[f.x > f.y],
    "of an expression": lambda f: f[f.x + 1 > 5],
    "either, one of an expression": lambda f: f[(f.x + 1 > 5) | (f.y > 0)],
    "the rest is needed too, by two masks": lambda f: f[f.x > 5][f.y > 0].y.sum() + f.y.sum(),
    "the rest is needed too": lambda f: f[f.x > 5].y.sum() + f.y.sum(),
    "the mask is needed too": lambda f: f[f.x > 5].y.sum() + (f.x > 5).sum(),
    "of what the rows before decide": lambda f: f[f.x > 5].y - f.y.mean(),
}


@REINDEXED
@pytest.mark.parametrize("name", KEPT)
def test_filters_that_would_not_be_exact_or_not_save_anything_stay(folder, name):
    make = KEPT[name]
    lazy = gd.read_parquet(folder)
    assert {read.condition for read in reads(make(lazy))} == {None}
    assert_same(make(lazy).compute(), make(lazy.compute()))


@REINDEXED
def test_masks_of_all_rows_are_not_pushed_down_past_a_filter_where_labels_may_occur_twice(tmp_path):
    frame = pd.DataFrame({"x": range(4), "y": [0, 1, 0, 1]}, index=pd.Index([1, 1, 2, 3], name="k"))
    frame.to_parquet(tmp_path / "a.parquet")
    lazy = gd.read_parquet(tmp_path / "a.parquet")
    assert [read.condition for read in reads(lazy[lazy.x >= 0][lazy.y == 1])] == [None]
    with pytest.raises(Exception):  # noqa: B017, PT011 pandas' own, of which there are several
        frame[frame.x > 0][frame.y == 1]
    with pytest.raises(Exception):  # noqa: B017, PT011
        lazy[lazy.x > 0][lazy.y == 1].compute()


def test_row_groups_without_a_match_are_not_read(folder, monkeypatch):
    from glassloom.dataframe.io import parquet_rows as parquet

    read = []
    original = parquet.read_groups

    def noting(file, piece, columns):
        read.append((piece.path.rpartition("/")[2], piece.groups, sorted(columns)))
        return original(file, piece, columns)

    monkeypatch.setattr(parquet, "read_groups", noting)
    frame = gd.read_parquet(folder)
    assert frame[(frame.x == 6) & (frame.s == "g")][["y"]].compute(scheduler="inline").y.tolist() == [0.5]
    assert read == [("b.parquet", (1,), ["x"]), ("b.parquet", (1,), ["s"]), ("b.parquet", (1,), ["y"])]
    read.clear()
    assert len(frame[frame.s == "zz"].compute(scheduler="inline")) == 0
    assert read == []


def test_rows_are_counted_by_what_the_source_knows(folder):
    frame = gd.read_parquet(folder)
    for lazy in (frame, frame.x, frame.assign(q=1), frame.x + frame.y, frame.partitions[1:], frame.fillna(0).index):
        assert labels(wrap(Length(lazy.expr))) == ["constant"], lazy
    assert len(frame) == 8
    assert len(frame.partitions[1:]) == 6
    assert len(gd.datasets.timeseries()) == 2_592_000


def test_rows_of_a_filter_are_counted_by_its_condition_alone(folder):
    frame = gd.read_parquet(folder)
    (simple,) = simplify([Length(frame[frame.x + 1 > 5].expr)])
    assert [read.columns for read in reads(wrap(simple))] == [("x",)]
    assert len(frame[frame.x + 1 > 5]) == 3


def test_len_of_files_reads_only_their_footers(folder, monkeypatch):
    from glassloom.dataframe.io import parquet_rows

    monkeypatch.setattr(parquet_rows, "read_groups", None)
    assert len(gd.read_parquet(folder)) == 8


def test_head_makes_one_task_of_the_first_partition(folder):
    frame = gd.read_parquet(folder)
    some = frame.assign(q=frame.x + 1)[["q"]].head(1, compute=False)
    assert tasks(some) == 1
    (read,) = reads(some)
    assert (read.columns, read.numbers) == (("x",), (0,))


def test_chosen_partitions_alone_are_read(folder):
    frame = gd.read_parquet(folder)
    mean = frame.x.mean()
    chosen = (frame.x - mean).partitions[[3, 1]]
    assert sorted(read.numbers or () for read in reads(chosen)) == [(), (3, 1)]  # the mean needs all
    assert chosen.compute().tolist() == [2.5, 3.5, -1.5, -0.5]
    assert tasks(frame[frame.y > 0].partitions[2]) == 1
    assert labels(frame.partitions[1:].partitions[[0, 1, 2]]) == ["read-parquet"]


def test_loc_reads_only_the_partitions_that_may_hold_the_labels():
    frame = gd.datasets.timeseries(seed=1)
    week = frame.loc["2000-01-03":"2000-01-05", "x"]
    (read,) = reads(week)
    assert (read.columns, read.numbers) == (("x",), (2, 3, 4))
    assert len(week) == 3 * 86_400


def test_chains_of_block_wise_operations_become_one_task_a_partition():
    frame = gd.datasets.timeseries(seed=1)
    work = frame.assign(z=frame.x * frame.y)[frame.x > 0].z.fillna(0).map_partitions(lambda s: s * 2, meta=("z", float))
    assert tasks(work) == frame.npartitions
    assert tasks(frame.x.sum()) == 30 + 4 + 1


def test_equal_expressions_have_equal_names_and_others_dont(folder):
    one, other = gd.read_parquet(folder), gd.read_parquet(folder)
    assert (one[one.x > 1].y + 1).expr.name == (other[other.x > 1].y + 1).expr.name
    assert (one.x + 1).expr.name != (one.x + 2).expr.name
    more = pd.DataFrame({"x": [9], "y": [0.5], "s": ["q"], "z": 1, "t": pd.Timestamp("2020-01-01")})
    more.astype(pd.read_parquet(folder / "a.parquet").dtypes[list(more.columns)]).to_parquet(folder / "b.parquet")
    assert gd.read_parquet(folder).expr.name != one.expr.name


def test_partitions_of_columns_of_held_frames_are_chosen_below_the_columns():
    """Two rules that each put their node below the other's would never come to an end."""
    held = gd.from_map(lambda n: pd.DataFrame({"x": [n], "y": [-n]}), range(4)).persist()
    assert labels(held.x.partitions[1]) == ["persisted", "partitions", "getitem"]
    assert labels(held.partitions[1].x) == ["persisted", "partitions", "getitem"]
    assert (held.x + held.y).partitions[[2, 3]].compute().tolist() == [0, 0]
    assert held.partitions[1:].x.head(2).tolist() == [1, 2]
    assert held[held.x > 1].assign(z=1).partitions[2:][["z"]].compute().z.tolist() == [1, 1]


def test_metas_that_rewrites_take_over_are_those_of_new_nodes(folder):
    frame = gd.read_parquet(folder)
    other = gd.read_parquet(folder / "a.parquet").rename(columns={"y": "v", "s": "s2"})
    joined = frame[frame.x > 1].assign(q=frame.y * 2).merge(other, on="x", suffixes=("", "_other"))
    made = joined.groupby("s").agg(v=("v", "sum"), q=("q", "max")).reset_index().sort_values("s")[["q", "s"]]
    made.expr.meta  # noqa: B018 - so that there is one to take over
    checked = 0
    for node in walk(simplify([made.expr])):
        fresh = type(node)(*node.operands)
        assert fresh.name == node.name
        if is_frame(node.meta):
            assert_same(node.meta, fresh.meta)
            checked += 1
    assert checked > 8


def test_columns_of_a_meta_are_chosen_by_labels_of_one_type():
    meta = pd.DataFrame({1: [0], 2: [0.5]}).iloc[:0]
    assert chosen_meta(meta, [1]) is chosen_meta(meta, [1])
    assert isinstance(chosen_meta(meta, 1), pd.Series)
    assert chosen_meta(meta, [1, 2]).columns.tolist() == [1, 2]
    with pytest.raises(KeyError, match="True"):
        chosen_meta(meta.rename(columns={1: 3}), True)
