"""Results that used to depend on which rows are in which partition, above all on partitions without rows, or to differ from pandas' in all."""

from __future__ import annotations

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same, blocks_of
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE, PANDAS_VERSION

TIMES = pd.to_datetime(["2020-01-03", None, "2020-02-01", "2020-01-03", None, "2020-03-05", "2020-02-01", "2020-01-03"])
ROWS = pd.DataFrame(
    {
        "c": pd.Categorical(["x", None, "y", "x", "y", None, "x", "y"], categories=["z", "x", "y"]),
        "t": TIMES,
        "d": pd.to_timedelta([5, 1, 90, -3, 7, 5, 30, 8], "h"),
        "s": ["ant", "a b", None, "bee", "ant", None, "a b", "bee"],
        "i": [1, 2, 0, 4, 5, 2, 1, 3],
        "I": pd.array([1, None, 2, 2, 1, None, 1, 2], dtype="Int64"),
        "f": [0.5, 1.0, np.nan, 2.5, 9.0, 1.0, 0.0, 1.0],
        "b": [True, False] * 4,
    }
)
CUTS = [(0, 8), (0, 4, 8), (0, 3, 3, 5, 8), (0, 1, 2, 3, 4, 5, 6, 7, 8)]
cut = pytest.mark.parametrize("cuts", CUTS, ids=str)


def lazy(cuts, frame=ROWS):
    pieces = [frame.iloc[start:end] for start, end in zip(cuts, cuts[1:], strict=False)]
    return gd.from_map(pieces.__getitem__, range(len(pieces)), meta=frame.iloc[:0])


def of_equal_order(frame):
    """Return rows without labels in an order of their own."""
    texts = frame.astype(object).map(repr).apply("|".join, axis=1)
    return frame.iloc[np.argsort(texts.to_numpy(), kind="stable")].reset_index(drop=True)


# Joins.

UNLIKE = pd.DataFrame({"c": pd.Categorical(["x", "q", None], categories=["q", "x"]), "y": [1.5, 2.5, 3.5]})


@pytest.mark.each_choice
@cut
@pytest.mark.parametrize("how", ["inner", "left", "right", "outer"])
def test_keys_of_unlike_categories_become_values_in_all_partitions(cuts, how):
    expected = ROWS[["c", "f"]].merge(UNLIKE, on="c", how=how)
    made = lazy(cuts)[["c", "f"]].merge(lazy((0, 1, 1, 3), UNLIKE), on="c", how=how, broadcast=False)
    assert_same(of_equal_order(made.compute()), of_equal_order(expected))
    assert made.c.dtype == expected.c.dtype
    assert not any(isinstance(block.c.dtype, pd.CategoricalDtype) for block in blocks_of(made))


@pytest.mark.pairwise
@cut
@pytest.mark.parametrize("names", [("n", None), (None, "n"), ("n", "m"), ("n", "n")])
@pytest.mark.parametrize("how", ["inner", "left", "right", "outer"])
def test_labels_of_joins_by_index_have_pandas_name_in_all_partitions(cuts, names, how):
    left = ROWS[["f"]].set_axis(pd.Index([7, 1, 3, 3, 0, 2, 9, 4], name=names[0]), axis=0)
    right = pd.DataFrame({"y": [1, 2, 3]}, index=pd.Index([3, 30, 1], name=names[1]))
    expected = left.join(right, how=how)
    made = lazy(cuts, left).join(lazy((0, 1, 3), right), how=how)
    assert made.compute().index.name == made.index.name
    if HAS_COPY_ON_WRITE:  # before version 3 the name depends on the order of the labels
        assert made.index.name == expected.index.name


def test_a_join_of_a_column_with_labels_promises_the_labels_of_the_left_rows():
    right = pd.DataFrame({"y": [1, 2]}, index=pd.Index(["ant", "bee"], name="s"))
    made, expected = (
        lazy((0, 3, 8))[["s", "f"]].join(right, on="s", how="inner"),
        ROWS[["s", "f"]].join(right, on="s", how="inner"),
    )
    assert_same(made.compute(), expected)
    assert (made._meta.index.name, made._meta.index.dtype) == (None, expected.index.dtype)


@pytest.mark.pairwise
@cut
@pytest.mark.parametrize("how", ["left", "outer"])
@pytest.mark.parametrize(
    "keys", [["c"], ["t"], ["d"], ["s"], ["f"], ["c", "t"], ["s", "t"], ["t", "s"], ["i", "c"]], ids=" ".join
)
def test_sorted_joins_have_missing_keys_where_pandas_has_them(cuts, keys, how):
    right = ROWS[[*keys, "I"]].iloc[::-1]
    expected = ROWS[[*keys, "b"]].merge(right, on=keys, how=how, sort=True)
    made = lazy(cuts)[[*keys, "b"]].merge(lazy(cuts, right), on=keys, how=how, sort=True).compute()
    assert_same(made[keys].reset_index(drop=True), expected[keys])
    assert_same(of_equal_order(made), of_equal_order(expected))


# Dummies.

DUMMIES = {
    "numbers and categories": lambda x, m: m.get_dummies(x[["c", "i", "f"]], columns=["c", "i"], dummy_na=True),
    "one after the other": lambda x, m: m.get_dummies(x[["I", "f", "b"]], columns=["f", "I"], dummy_na=True),
    "booleans, named": lambda x, m: m.get_dummies(x[["b", "i"]], columns=["b", "i"], prefix=["p", "q"], dummy_na=True),
    "named by column": lambda x, m: m.get_dummies(x[["s", "i"]], columns=["s", "i"], prefix={"s": "p", "i": "q"}),
    "without the first": lambda x, m: m.get_dummies(x[["i", "s"]], columns=["i", "s"], drop_first=True, dummy_na=True),
    "a column of numbers": lambda x, m: m.get_dummies(x.i, dummy_na=True),
    "a column of nullable numbers": lambda x, m: m.get_dummies(x.I, dummy_na=True),
    "a column of text": lambda x, m: m.get_dummies(x.s, prefix="p", dummy_na=True),
    "all text": lambda x, m: m.get_dummies(x[["s", "i", "c"]]),
}


@pytest.mark.each_choice
@cut
@pytest.mark.parametrize("make", DUMMIES.values(), ids=DUMMIES.keys())
def test_dummies_have_the_names_of_pandas(cuts, make):
    made, expected = make(lazy(cuts), gd), make(ROWS, pd)
    assert_same(made.compute(), expected)
    pd.testing.assert_index_equal(made.columns, expected.columns)


# Groups by stretches of time beside other keys.

BINNED = {
    "sums": lambda g: g.f.sum(),
    "values of the group": lambda g: g.f.transform("sum"),
    "a function": lambda g: g.f.transform(lambda values: values - 1),
    "running sums": lambda g: g.f.cumsum(),
    "running numbers": lambda g: g.cumcount(),
    "numbers of groups": lambda g: g.ngroup(),
    "ranks of columns": lambda g: g[["f", "i"]].rank(),
    "first rows": lambda g: g[["f", "i"]].head(1),
}


@pytest.mark.each_choice
@cut
@pytest.mark.parametrize("name", BINNED)
def test_rows_without_a_time_keep_their_place_though_missing_keys_are_groups(cuts, name):
    by = [pd.Grouper(key="t", freq="MS"), "s"]
    made, expected = (BINNED[name](x.groupby(by, dropna=False)) for x in (lazy(cuts), ROWS))
    assert_same(made.compute(), expected)


def test_values_of_such_groups_become_a_column_of_the_frame():
    by, frame = [pd.Grouper(key="t", freq="MS"), "s"], lazy((0, 3, 8))
    made = frame.assign(n=frame.groupby(by, dropna=False).f.cumsum())
    assert_same(made.compute(), ROWS.assign(n=ROWS.groupby(by, dropna=False).f.cumsum()))


@pytest.mark.each_choice
@cut
@pytest.mark.parametrize("freq", ["4h", "1D", "7min"])
def test_durations_are_grouped_in_stretches_beside_other_keys(cuts, freq):
    for by in (["b", pd.Grouper(key="d", freq=freq)], [pd.Grouper(key="d", freq=freq), "b"]):
        assert_same(lazy(cuts).groupby(by).i.sum().compute(), ROWS.groupby(by).i.sum())


def test_stretches_of_durations_that_end_elsewhere_are_refused():
    for options in ({"closed": "right"}, {"label": "right"}, {"offset": "1h"}):
        with pytest.raises(NotImplementedError, match="closed=, label= and offset= are of times only"):
            lazy((0, 8)).groupby(["b", pd.Grouper(key="d", freq="4h", **options)])


# Others.


@cut
def test_text_is_cut_in_three_also_where_a_partition_has_none(cuts):
    for method in ("partition", "rpartition"):
        for values in (ROWS.s, ROWS.s.astype(object)):
            made, expected = getattr(lazy(cuts, values).str, method)(" "), getattr(values.str, method)(" ")
            assert_same(made.compute(), expected)
            assert list(made.columns) == [0, 1, 2]


@cut
def test_correlations_of_numbers_leave_durations_out(cuts):
    frame = lazy(cuts)
    assert_same(
        frame.corrwith(frame[["f", "d"]], numeric_only=True).compute(),
        ROWS.corrwith(ROWS[["f", "d"]], numeric_only=True),
    )
    assert_same(frame.corrwith(frame.i, numeric_only=True).compute(), ROWS.corrwith(ROWS.i, numeric_only=True))


@cut
def test_changes_of_booleans_are_refused_as_pandas_refuses_them_in_all_partitions(cuts):
    with pytest.raises(ZeroDivisionError):
        ROWS[["b", "f"]].pct_change()
    with pytest.raises(ZeroDivisionError):
        lazy(cuts)[["b", "f"]].pct_change().compute()
    true = ROWS.assign(b=True)[["b", "f"]]
    assert_same(lazy(cuts, true).pct_change().compute(), true.pct_change())


@cut
@pytest.mark.parametrize("how", ["sum", "mean", "max", "count"])
def test_pivot_tables_of_nullable_columns_promise_such(cuts, how):
    made = lazy(cuts).pivot_table(index="b", columns="i", values="I", aggfunc=how)
    assert set(made.dtypes) == set(made.compute().dtypes) == {ROWS.groupby("b").I.agg(how).dtype}


def test_all_values_of_a_frame_are_not_counted_by_an_axis_of_none():
    with pytest.raises(ValueError, match="No axis named None"):
        lazy((0, 8)).count(axis=None)


@cut
def test_columns_that_move_promise_the_dtypes_that_they_get(cuts):
    made, expected = lazy(cuts)[["i", "f"]].shift(1, axis=1), ROWS[["i", "f"]].shift(1, axis=1)
    assert_same(made.compute(), expected)
    assert list(made.dtypes) == list(expected.dtypes)


@cut
def test_all_values_of_nullable_columns_beside_others_are_tested(cuts):
    for columns in (["I", "b"], ["I", "i"], ["f", "b"]):
        for how in ("any", "all"):
            if how == "all" and "I" in columns and PANDAS_VERSION < (3, 1):  # pandas raises an error
                continue
            made = getattr(lazy(cuts)[columns], how)(axis=None, skipna=False).compute()
            assert made == getattr(ROWS[columns], how)(axis=None, skipna=False)


@cut
def test_rows_of_a_text_that_stands_for_a_time_are_dropped_from_all_partitions(cuts):
    labels = pd.DatetimeIndex(TIMES).tz_localize("Europe/Paris")
    frame = ROWS[["i"]].set_axis(labels, axis=0)
    for label in ("2020-01-03", ["2020-02-01"], pd.NaT, [pd.NaT]):
        expected = frame[
            ~labels.isin(
                [label]
                if label is pd.NaT
                else pd.to_datetime(label if isinstance(label, list) else [label]).tz_localize("Europe/Paris")
            )
        ]
        assert_same(lazy(cuts, frame).drop(label).compute(), expected)
    with pytest.raises(KeyError, match="2020-01-04"):
        lazy(cuts, frame).drop("2020-01-04").compute()


@cut
def test_categories_of_mixed_objects_are_in_pandas_order(cuts):
    values = pd.Series([3, "b", 1, None, "a", 2, "b", 0], dtype=object)
    assert_same(lazy(cuts, values).astype("category").compute(), values.astype("category"))


def test_the_nearest_rows_of_labels_promise_the_labels_that_they_have():
    left, right = (
        ROWS[["i"]].sort_values("i").reset_index(drop=True),
        pd.DataFrame({"y": [1, 2]}, index=pd.Index([0, 3], name="n")),
    )
    made = gd.merge_asof(lazy((0, 4, 8), left), right, left_on="i", right_index=True)
    expected = pd.merge_asof(left, right, left_on="i", right_index=True)
    assert_same(made.compute(), expected)
    assert (made._meta.index.name, made._meta.index.dtype) == (expected.index.name, expected.index.dtype)
