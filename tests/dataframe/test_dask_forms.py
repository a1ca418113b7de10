"""Forms of calls that Dask's own tests use, and pandas' lack."""

import glassloom as gl
import glassloom.array as ga
import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same
from glassloom.errors import DivisionError

TEXTS = pd.Series(list("aabbcc"), index=range(0, 12, 2), name="t")


@pytest.mark.parametrize(
    ("function", "rows"),
    [
        ("to_datetime", pd.Series(["2020-01-02", "2021-02-03"], name="t")),
        ("to_datetime", pd.DataFrame({"year": [2015, 2016], "month": [2, 3], "day": [4, 5]})),
        ("to_numeric", pd.Series(["1", "2.5"], index=[7, 3])),
        ("to_timedelta", pd.Series([1, 2])),
        ("isna", pd.DataFrame({"x": [1, None]}, index=list("ba"))),
        ("notna", pd.Series([1, None])),
        ("get_dummies", pd.DataFrame({"t": list("aba")})),
        ("from_dummies", pd.DataFrame({"a": [1, 0], "b": [0, 1]})),
        ("melt", pd.DataFrame({"t": list("aba"), "x": 1})),
    ],
    ids=str,
)
def test_functions_take_a_pandas_object_as_one_partition(function, rows):
    got = getattr(gd, function)(rows)
    assert got.npartitions == 1
    assert_same(got.compute(), getattr(pd, function)(rows))


def test_new_labels_that_are_in_order_have_divisions():
    lazy = gd.from_pandas(TEXTS, npartitions=3)
    for change in (lambda label: label * 2, lambda label: label // 6, {0: -1}, pd.Series([-5], index=[0])):
        got = lazy.rename(change, sorted_index=True)
        assert got.known_divisions and not lazy.rename(change, sorted_index=False).known_divisions
        assert_same(got.compute(), TEXTS.rename(change))
        assert got.loc[[got.divisions[0]]].compute().tolist() == got.compute().loc[[got.divisions[0]]].tolist()
    with pytest.raises(DivisionError, match="partition 0 isn't sorted by 'label'"):
        lazy.rename(lambda label: -label, sorted_index=True)


@pytest.mark.parametrize(
    ("labels", "freq"),
    [
        (pd.timedelta_range("1 day", periods=6, freq="h"), "s"),
        (pd.date_range("2020", periods=6, freq="D"), pd.Timedelta(10, unit="h")),
        (pd.date_range("2020", periods=6, freq="D", tz="Europe/Berlin"), "h"),
        (pd.period_range("2020", periods=6, freq="D"), None),
    ],
    ids=["durations", "times", "time zone", "periods"],
)
def test_labels_that_are_moved_by_a_length_keep_divisions(labels, freq):
    index = gd.from_pandas(pd.DataFrame({"x": range(6)}, index=labels), npartitions=3).index
    got = index.shift(2, freq)
    assert got.divisions == tuple(labels[[0, 2, 4, 5]].shift(2, freq))
    assert_same(got.compute(), labels.shift(2, freq))


def test_labels_that_are_moved_by_unlike_lengths_have_unknown_divisions():
    labels = pd.date_range("2020-01-31", periods=4, freq="D")
    index = gd.from_pandas(pd.DataFrame({"x": range(4)}, index=labels), npartitions=2).index
    assert not index.shift(1, "ME").known_divisions
    assert_same(index.shift(1, "ME").compute(), labels.shift(1, "ME"))


@pytest.mark.parametrize("kind", [list, tuple, set])
def test_values_are_among_delayed_ones(kind):
    found = gd.from_pandas(TEXTS, npartitions=2).isin(kind([gl.delayed("a"), "c"])).compute()
    assert_same(found, TEXTS.isin(["a", "c"]))


@pytest.mark.parametrize("arguments", [(), ("total",)], ids=str)
def test_a_lazy_value_becomes_a_series(arguments):
    total = gd.from_pandas(pd.Series([1, 2, 3]), npartitions=2).sum()
    assert_same(total.to_series(*arguments).compute(), pd.Series([6], index=list(arguments) or [0]))


@pytest.mark.parametrize(
    "options",
    [{"thresh": None}, {"thresh": None, "subset": ["x"]}, {"thresh": None, "axis": 1}, {"thresh": 2, "axis": 1}],
    ids=str,
)
def test_rows_of_no_least_number_of_values_are_those_of_pandas(options):
    frame = pd.DataFrame({"x": [1, np.nan, 3], "y": [1, np.nan, np.nan]})
    assert_same(gd.from_pandas(frame, npartitions=2).dropna(**options).compute(), frame.dropna(**options))


@pytest.mark.parametrize("value", [TEXTS, TEXTS.to_frame(), TEXTS == "a"], ids=["series", "frame", "condition"])
def test_the_truth_of_lazy_objects_is_the_error_of_pandas(value):
    lazy = gd.from_pandas(value, npartitions=2)
    with pytest.raises(ValueError, match="the truth of a lazy"):
        bool(lazy)


@pytest.mark.parametrize("name", ["add", "rsub", "div", "eq", "lt", "multiply"])
@pytest.mark.parametrize("axis", ["columns", 1])
def test_operators_of_a_series_take_no_columns(name, axis):
    numbers = gd.from_pandas(pd.Series([1, 2]), npartitions=2)
    with pytest.raises(ValueError, match=f"No axis named {axis} for object type Series"):
        getattr(numbers, name)(numbers, axis=axis)


@pytest.mark.parametrize("options", [{"split_every": 2}, {"shuffle_method": "tasks"}], ids=str)
@pytest.mark.parametrize("name", ["unique", "value_counts"])
def test_distinct_values_of_groups_take_options_of_dask(name, options):
    frame = pd.DataFrame({"k": [1, 2, 1, 2], "x": [1, 1, 1, 3]})
    got = getattr(gd.from_pandas(frame, npartitions=2).groupby("k").x, name)(**options).compute()
    assert got.map(str).to_dict() == getattr(frame.groupby("k").x, name)().map(str).to_dict()


def test_times_and_numbers_take_metas_of_dask():
    frame = gd.from_pandas(pd.DataFrame({"t": ["2020-01-02"], "n": ["1"]}), npartitions=1)
    assert gd.to_datetime(frame.t, meta=("t", "datetime64[ns]")).compute()[0] == pd.Timestamp("2020-01-02")
    assert gd.to_numeric(frame.n, meta=("n", "int64")).compute().tolist() == [1]


@pytest.mark.parametrize("npartitions", [2, 3])
def test_rows_beside_those_of_one_partition_are_cut_where_another_frame_is(npartitions):
    frame = pd.DataFrame({"x": range(6)}, index=pd.date_range("2020", periods=6, freq="h"))
    one, others = gd.from_pandas(frame, npartitions=1), gd.from_pandas(frame * 10, npartitions=npartitions)

    def total(rows, more):
        return rows + rows.shift(1) + more.shift(-1)

    got = gd.map_overlap(total, one, 1, 1, others, align_dataframes=True)
    assert got.npartitions == npartitions
    assert_same(got.compute(), total(frame, frame * 10))
    with pytest.raises(DivisionError, match=f"call it on the frame with {npartitions} partitions"):
        gd.map_overlap(total, one, 1, 1, others, align_dataframes=False)


@pytest.mark.parametrize("dropna", [True, False])
@pytest.mark.parametrize("npartitions", [1, 3, 10])
def test_groups_by_booleans_beside_missing_ones_have_the_labels_of_pandas(npartitions, dropna):
    left = pd.DataFrame({"k": [True, False] * 10, "v": range(20)})
    right = pd.DataFrame({"v": [3, 30, 40]})
    joined = gd.from_pandas(left, npartitions=npartitions).merge(gd.from_pandas(right, npartitions=1), "outer", "v")
    expected = left.merge(right, "outer", "v").groupby("k", dropna=dropna).v
    for how in ("median", "size"):
        got = getattr(joined.groupby("k", dropna=dropna).v, how)().compute()
        assert_same(got.sort_index(), getattr(expected, how)().sort_index())


def test_divisions_that_are_set_come_with_their_frame():
    frame = gd.from_pandas(TEXTS, npartitions=3)
    got = frame.clear_divisions().compute_current_divisions(set_divisions=True)
    assert got.divisions == frame.divisions == got.compute_current_divisions(set_divisions=True).divisions
    assert_same(got.compute(), TEXTS)


@pytest.mark.parametrize(
    "rows", [TEXTS.str.len(), TEXTS.str.len().to_frame(), TEXTS.index], ids=["series", "frame", "index"]
)
def test_functions_of_arrays_keep_the_labels_of_pandas_objects(rows):
    assert_same(ga.sqrt(rows), np.sqrt(rows))
    assert_same(ga.logaddexp(2, rows), np.logaddexp(2, rows))
    assert_same(ga.add(rows, rows), np.add(rows, rows))


def test_the_number_of_partitions_follows_from_that_before():
    frame = gd.from_pandas(TEXTS, npartitions=3)
    assert frame.repartition(npartitions=lambda number: number * 2).npartitions == 6
    assert frame.repartition(npartitions=2, force=True).npartitions == 2
    with pytest.raises(ValueError, match=r"npartitions=1\.5 should be a whole number"):
        frame.repartition(npartitions=lambda number: number / 2)


@pytest.mark.parametrize("name", ["set_index", "sort_values"])
def test_sorting_takes_sizes_of_partitions_of_dask(name):
    frame = pd.DataFrame({"x": [3, 1, 2], "y": [1, 2, 3]})
    got = getattr(gd.from_pandas(frame, npartitions=2), name)("x", partition_size=1e6, upsample=2.0).compute()
    assert_same(
        got, getattr(frame, name)("x").sort_index(ascending=True) if name == "set_index" else frame.sort_values("x")
    )


@pytest.mark.parametrize("npartitions", [1, 2, 3])
@pytest.mark.parametrize("are_known", [True, False])
def test_labels_are_renamed_by_a_lazy_series_of_any_partitions(npartitions, are_known):
    names = pd.Series(list("tuvwxy"), index=[10, 8, 6, 4, 2, 0])
    lazy = gd.from_pandas(TEXTS, npartitions=2)
    lazy = lazy if are_known else lazy.clear_divisions()
    got = lazy.rename(gd.from_pandas(names, npartitions=npartitions, sort=False))
    assert not got.known_divisions
    assert_same(got.compute(), TEXTS.rename(names))
    framed = lazy.to_frame().rename(index=gd.from_pandas(names, npartitions=npartitions, sort=False))
    assert_same(framed.compute(), TEXTS.to_frame().rename(index=names))


@pytest.mark.parametrize("options", [{}, {"blocksize": 6}, {"usecols": ["t"]}], ids=str)
def test_lines_of_windows_may_be_named(tmp_path, options):
    path = tmp_path / "lines.csv"
    path.write_bytes(b"x,t\r\n1,a\r\n2,b\r\n3,c\r\n")
    got = gd.read_csv(path, lineterminator="\r\n", **options).compute().reset_index(drop=True)
    assert_same(got, pd.read_csv(path, usecols=options.get("usecols")))
    with pytest.raises(ValueError, match="Only length-1 line terminators"):
        gd.read_csv(path, lineterminator="\r\n\n")


LEFT = pd.DataFrame({"x": range(6)}, index=pd.Index([1, 1, 2, 4, 5, 9], name="k"))
RIGHT = pd.DataFrame({"y": range(5)}, index=pd.Index([1, 2, 2, 7, 9], name="k"))


@pytest.mark.parametrize("how", ["inner", "left", "right", "outer"])
def test_joins_by_the_name_of_both_indexes_keep_divisions(how):
    left, right = gd.from_pandas(LEFT, npartitions=3), gd.from_pandas(RIGHT, npartitions=2)
    got = left.merge(right, on="k", how=how, broadcast=False)
    assert got.known_divisions
    expected = LEFT.merge(RIGHT, on="k", how=how)
    assert_same(got.compute().sort_values(["k", "x", "y"]), expected.sort_values(["k", "x", "y"]))
    assert got.loc[2:5].compute().shape == expected.sort_index().loc[2:5].shape


@pytest.mark.parametrize("how", ["inner", "left"])
def test_joins_with_a_small_frame_by_the_name_of_both_indexes_keep_divisions(how):
    left = gd.from_pandas(LEFT, npartitions=3)
    got = left.merge(RIGHT, on="k", how=how)
    assert got.divisions == left.divisions
    assert_same(got.compute(), LEFT.merge(RIGHT, on="k", how=how))


@pytest.mark.parametrize("how", ["inner", "left", "right", "outer"])
@pytest.mark.parametrize("npartitions", [1, 3])
def test_joins_by_the_name_of_both_indexes_are_sorted_by_it(how, npartitions):
    left, right = LEFT.sort_values("x", ascending=False), RIGHT.drop_duplicates("y").sort_values("y", ascending=False)
    lazy = gd.from_pandas(left, npartitions=npartitions, sort=False)
    got = lazy.merge(gd.from_pandas(right, npartitions=npartitions, sort=False), on="k", how=how, sort=True).compute()
    expected = left.merge(right, on="k", how=how, sort=True)
    assert got.index.equals(expected.index)
    assert_same(got.sort_values(["k", "x", "y"]), expected.sort_values(["k", "x", "y"]))
