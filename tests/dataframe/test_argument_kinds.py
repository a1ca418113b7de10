"""Arguments of the wrong kind are errors at the caller's line that say which argument, its value, and what it should be."""

from __future__ import annotations

import re
import sqlite3
from collections import Counter, deque

import glassloom
import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same

PLAIN = pd.DataFrame({"x": [1, 2, 3, 4], "y": [0.5, None, 2.5, 3.5], "s": list("abab")})
LAZY = gd.from_pandas(PLAIN, npartitions=2)
make_people, timeseries = glassloom.datasets.make_people, glassloom.datasets.timeseries

WRONG = {
    "seed of people": (lambda: make_people(seed=-1), "make_people: seed=-1 should be a whole number, 0 or more"),
    "partitions of people": (
        lambda: make_people(npartitions=2.5),
        "npartitions=2.5 should be a whole number, 1 or more",
    ),
    "no people": (lambda: make_people(records_per_partition=-1), "records_per_partition=-1 should be"),
    "people by text": (lambda: make_people(records_per_partition="many"), "records_per_partition='many' should be"),
    "seed of times": (lambda: timeseries(seed=2.5), "timeseries: seed=2.5 should be a whole number"),
    "start": (lambda: timeseries(start="soon"), "timeseries: start='soon' should be a time, such as"),
    "start as number": (lambda: timeseries(start=5), "start=5 should be a time"),
    "no end": (lambda: timeseries(end=None), "end=None should be a time"),
    "zones": (lambda: timeseries(start=pd.Timestamp("2000", tz="UTC")), "should both be in a time zone, or neither"),
    "freq": (lambda: timeseries(freq="often"), "freq='often' should be a distance between times"),
    "freq backwards": (lambda: timeseries(freq="-1h"), "freq='-1h' should be a distance"),
    "partition_freq": (lambda: timeseries(partition_freq=1), "partition_freq=1 should be a distance"),
    "dtypes": (lambda: timeseries(dtypes=5), "dtypes=5 should be a dict of columns"),
    "means": (lambda: timeseries(id_lam=-1), "id_lam=-1 should be a mean"),
    "compute_kwargs": (
        lambda: LAZY.to_csv("never", compute_kwargs=5),
        "to_csv: compute_kwargs=5 should be a dict of arguments",
    ),
    "compute_kwargs of parquet": (
        lambda: LAZY.to_parquet("never", compute_kwargs="no"),
        "to_parquet: compute_kwargs='no' should",
    ),
    "compute_kwargs, later": (
        lambda: LAZY.to_json("never", compute=False, compute_kwargs=5),
        "compute_kwargs=5 with compute=False",
    ),
    "to_csv of text": (
        lambda: gd.to_csv("x.csv", LAZY),
        "to_csv takes a lazy frame or series, got str; glassloom.dataframe.from_pandas",
    ),
    "to_parquet of pandas": (
        lambda: gd.to_parquet(PLAIN, "never"),
        "to_parquet takes a lazy frame or series, got DataFrame",
    ),
    "to_sql of pandas": (lambda: gd.to_sql(PLAIN, "t", sqlite3.connect(":memory:")), "to_sql takes a lazy frame"),
    "melt of text": (lambda: gd.melt("x"), "melt takes a lazy frame or series, got str; pandas.melt takes others"),
    "pivot_table of a number": (lambda: gd.pivot_table(5), "pivot_table takes a lazy frame"),
    "wide_to_long of text": (lambda: gd.wide_to_long("x", "a", "b", "c"), "wide_to_long takes a lazy frame"),
    "map_overlap of text": (
        lambda: gd.map_overlap(len, "x", 1, 1),
        "map_overlap takes a lazy frame or series, got str",
    ),
    "to_bag of text": (lambda: gd.to_bag("x"), "to_bag takes a lazy frame"),
    "concat of a number": (lambda: gd.concat(5), "concat: objs=5 should be a list of frames and series"),
    "concat of text": (lambda: gd.concat("x"), "concat: objs='x' should be a list"),
    "keys": (lambda: gd.concat([LAZY], keys=5), "concat: keys=5 should be a list of labels"),
    "delayed calls": (lambda: gd.from_delayed(5), "from_delayed: parts=5 should be a list of delayed calls"),
    "a query that is none": (
        lambda: gd.read_sql_query(5, "a.db", "x"),
        "read_sql_query: sql=5 should be the text of a query",
    ),
    "no reductions": (lambda: LAZY.agg([]), r"agg: func=\[\] names no reduction"),
    "percentiles": (lambda: LAZY.describe(percentiles=5), "describe: percentiles=5 should be a list of numbers"),
    "percentiles of text": (
        lambda: LAZY.describe(percentiles=["half"]),
        "percentiles='half' should be a number between 0 and 1",
    ),
    "quantile": (lambda: LAZY.x.quantile("half"), "quantile: q='half' should be a number between 0 and 1"),
    "quantile of none": (lambda: LAZY.x.quantile(None), "q=None should be a number"),
    "diff": (lambda: LAZY.x.diff("one"), "diff: periods='one' should be a whole number"),
    "pct_change": (lambda: LAZY.x.pct_change(1.5), "pct_change: periods=1.5 should be a whole number"),
    "get_partition": (lambda: LAZY.get_partition(0.5), "get_partition: n=0.5 should be a whole number"),
    "isetitem": (lambda: LAZY.copy().isetitem(9, 1), "isetitem: loc=9 is no place of a column; there are 3"),
    "insert": (lambda: LAZY.copy().insert("x", "n", 1), "insert: loc='x' should be a whole number"),
    "join": (lambda: LAZY.join(LAZY, suffixes="no"), "join: suffixes='no' should be a pair of texts"),
    "merge": (lambda: LAZY.merge(LAZY, on="x", suffixes=5), "merge: suffixes=5 should be a pair of texts"),
    "nlargest": (lambda: LAZY.nlargest(2.5, "x"), "nlargest: n=2.5 should be a whole number"),
    "nsmallest": (lambda: LAZY.x.nsmallest("two"), "nsmallest: n='two' should be a whole number"),
    "reduction": (lambda: LAZY.reduction("sum"), "reduction: chunk='sum' should be a function"),
    "options of a reduction": (
        lambda: LAZY.reduction(len, chunk_kwargs=5),
        "reduction: chunk_kwargs=5 should be a dict",
    ),
    "divisions": (lambda: LAZY.repartition(divisions=5), "repartition: divisions=5 should be a list of labels"),
    "columns of reindex": (lambda: LAZY.reindex(columns=5), "reindex: columns=5 should be a list of names"),
    "before": (
        lambda: LAZY.map_overlap(len, "a while", 0),
        "before='a while' should be a number of rows, or a time such as '2h'",
    ),
    "divisions of other labels": (
        lambda: LAZY.repartition(divisions=("a", "b")),
        r"divisions=\['a', 'b'\] can't be compared with the frame's labels",
    ),
    "freq of partitions": (
        lambda: timeseries(end="2000-01-03").repartition(freq="often"),
        "repartition: freq='often' should be a distance between times",
    ),
    "freq of an index": (lambda: LAZY.index.repartition(freq="1D"), "needs times as index labels, not int64"),
    "bins": (lambda: gd.cut(LAZY.x, 2.5), "cut: bins=2.5 should be a list of edges, or a number"),
    "shift": (lambda: LAZY.x.shift("one"), "shift: periods='one' should be a whole number"),
    "shift by several": (lambda: LAZY.shift([1, "one"]), "shift: periods='one' should be a whole number"),
    "case_when": (lambda: LAZY.x.case_when(5), "case_when: caselist=5 should be a list of pairs"),
    "a case": (
        lambda: LAZY.x.case_when([(LAZY.x > 1, 2), None]),
        r"case_when: caselist\[1\]=None should be a pair",
    ),
    "sort_index": (lambda: LAZY.sort_index(npartitions="two"), "npartitions='two' should be a whole number, 1 or more"),
    "partitions of a merge": (
        lambda: LAZY.merge(LAZY, on="x", npartitions=0),
        "merge: npartitions=0 should be a whole number",
    ),
    "a column of groups alone": (
        lambda: LAZY.groupby("s").x.corr(),
        r"groupby\(...\)\[column\].corr\(other\) isn't there: groupby\(...\)\[\[column, other\]\].corr\(\) holds",
    ),
    "query": (lambda: LAZY.query(5), "query: expr=5 should be the text of an expression"),
    "eval": (lambda: LAZY.eval(5), "eval: expr=5 should be the text of an expression"),
}


@pytest.mark.parametrize("name", WRONG)
def test_arguments_of_the_wrong_kind_are_named_with_their_value(name):
    call, message = WRONG[name]
    with pytest.raises((TypeError, ValueError, IndexError, NotImplementedError), match=message):
        call()


READING = {
    "index": [([], "index=[] should be the name of a column or a list of names, False for no index"), (True, "index=True should be"),
              ({}, "index={} should be"), (5, "index=5 should be")],
    "split_row_groups": [([], "split_row_groups=[] should be a whole number, 1 or more"), (2.5, "split_row_groups=2.5 should be")],
    "aggregate_files": [([], "aggregate_files=[] should be True, False or the name of a level of folders")],
    "backend": [([], "backend=[] is none of 'pandas'")],
    "categories": [(5, "read_parquet: categories=5 should be a list of columns")],
}  # fmt: skip


@pytest.mark.parametrize("argument", READING)
def test_arguments_of_readers_are_named_with_their_value(tmp_path, argument):
    PLAIN.to_parquet(tmp_path / "a.parquet")
    for value, message in READING[argument]:
        with pytest.raises((TypeError, ValueError), match=re.escape(message)):
            gd.read_parquet(tmp_path / "a.parquet", **{argument: value})


def test_arguments_of_read_orc_are_named_with_their_value(tmp_path):
    LAZY.to_orc(tmp_path / "o")
    with pytest.raises(ValueError, match="read_orc: split_stripes='all' should be a whole number, 1 or more"):
        gd.read_orc(tmp_path / "o", split_stripes="all")
    with pytest.raises(ValueError, match=r"dtype_backend=\[\] should be None, '"):
        gd.read_orc(tmp_path / "o", dtype_backend=[])
    with pytest.raises(ValueError, match=r"npartitions=2.5 should be a whole number"):
        gd.from_arrow(glassloom.dataframe.from_pandas(PLAIN).compute(), npartitions=2.5)


def test_numbers_of_numpy_and_whole_floats_are_taken_as_pandas_takes_them():
    assert len(make_people(np.int64(2), np.uint8(3), seed=np.int32(1)).compute()) == 6
    pd.testing.assert_series_equal(LAZY.x.diff(1.0).compute(), PLAIN.x.diff(1.0))
    assert timeseries(end="2000-01-02", partition_freq=pd.Timedelta("12h"), seed=np.int64(3), id_lam=0).npartitions == 2


def test_what_pandas_and_dask_take_is_taken():
    frame = pd.DataFrame({"k": [1, 2, 1, 2], "v": [1, 2, 3, 4]})
    lazy = gd.from_pandas(frame, npartitions=2)
    for suffixes in ((1, 2), np.array(["_1", "_2"]), pd.Index(["_1", "_2"]), ["_a", None]):
        expected = frame.merge(frame, on="k", suffixes=suffixes)
        assert lazy.merge(lazy, on="k", suffixes=suffixes).columns.tolist() == expected.columns.tolist()
    assert_same(lazy.v.shift(True).compute(), frame.v.shift(1))
    assert lazy.merge(lazy, on="k", npartitions=2.0, broadcast=False).npartitions == 2
    assert lazy.get_partition(slice(0, 2)).npartitions == lazy.get_partition([0, 1]).npartitions == 2
    assert lazy.v.reduction(sum, combine=False).compute() is not None


@pytest.mark.parametrize("name", ["by", "ascending", "na_position", "key", "ignore_index"])
def test_arguments_of_a_sort_that_say_where_rows_move_are_none_of_its_function(name):
    lazy = gd.from_pandas(pd.DataFrame({"a": [3, 1, 2]}), npartitions=2)
    with pytest.raises(
        glassloom.errors.OptionError, match=rf"sort_function_kwargs= has \['{name}'\], which say where rows move"
    ):
        lazy.sort_values("a", sort_function_kwargs={name: None})


@pytest.mark.parametrize("method", [Counter().update, [].append, set().add, deque().extend])
def test_methods_that_take_values_in_are_no_functions_of_values(method):
    lazy = gd.from_pandas(pd.Series(["a", "b"]), npartitions=2)
    name = f"{type(method.__self__).__name__}.{method.__name__}"
    for call in (lazy.apply, lazy.map, lazy.to_frame().map):
        with pytest.raises(NotImplementedError, match=f"of {name}: it would change an object that only this process"):
            call(method)
    assert not method.__self__


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize(
    "options", [{"how": None}, {"how": "none"}, {"how": "any", "thresh": 2}, {"how": None, "subset": ["x"]}], ids=str
)
def test_dropna_refuses_what_pandas_refuses(options, axis):
    frame = pd.DataFrame({"x": [1, None, 3], "y": [1.0, 2, None]})
    options = {**options, "axis": axis} if "subset" not in options else options
    for source in (frame, gd.from_pandas(frame, npartitions=2)):
        with pytest.raises((ValueError, TypeError), match="how"):
            source.dropna(**options)
