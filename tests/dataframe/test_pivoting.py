"""Values by labels of rows and columns, `pivot` and the margins of `pivot_table`, are those of pandas."""

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same, blocks_of
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE
from hypothesis import given, settings
from hypothesis import strategies as st
from long_tests import LONG_TESTS, examples

INLINE = {"scheduler": "inline"}


def cut(frame):
    """Return a frame in one partition (in `make long`), in three, and in partitions of which some are empty."""
    pieces = [frame[:0], frame[:2], frame[2:2], frame[2:]]
    ragged = gd.from_map(pieces.__getitem__, range(4), meta=frame[:0])
    counts = (1, 3) if LONG_TESTS else (3,)
    return [*(gd.from_pandas(frame, npartitions=count, sort=False) for count in counts), ragged]


def check(frame, operation):
    """Check a result, its meta and the dtypes of its partitions."""
    expected = operation(frame)
    for lazy in cut(frame):
        got = operation(lazy)
        assert_same(got.compute(**INLINE), expected)
        assert_same(got._meta, expected.iloc[:0])
        assert all(block.dtypes.equals(expected.dtypes) for block in blocks_of(got))


SOME = pd.DataFrame(
    {
        "row": [3, 1, 2, 1, 3, 2],
        "other": list("pqppqp"),
        "column": list("babcac"),
        "x": [1, 2, 3, 4, 5, 6],
        "y": [0.5, np.nan, 2, 3, 4, 5],
        "text": list("stuvwx"),
        "time": pd.date_range("2020-01-01", periods=6, tz="UTC"),
        "flag": [True, False] * 3,
    }
)
WHOLE = pd.DataFrame(
    {"row": [2, 2, 1, 1], "column": list("abab"), "x": [1, 2, 3, 4], "flag": [True, False, True, True]}
)
MIXED = pd.CategoricalDtype(list("cxba"))

PIVOTS = {
    "whole numbers with gaps": (SOME, {"values": "x"}),
    "truth values with gaps": (SOME, {"values": "flag"}),
    "text": (SOME, {"values": "text"}),
    "times": (SOME, {"values": "time"}),
    "all values": (SOME, {}),
    "some values": (SOME, {"values": ["x", "y"]}),
    "values of unlike dtypes": (SOME, {"values": ["x", "text"]}),
    "several levels of rows": (SOME, {"index": ["other", "row"], "values": "x"}),
    "several levels of columns": (SOME, {"columns": ["column", "other"], "values": "x"}),
    "the index": (SOME.set_index("row"), {"index": None, "values": "x"}),
    "an index in order": (SOME.set_index("row").sort_index(), {"index": None}),
    "numbers without gaps": (WHOLE, {"values": "x"}),
    "truth values without gaps": (WHOLE, {"values": "flag"}),
    "all values without gaps": (WHOLE, {}),
    "missing rows": (SOME.assign(row=SOME.row.where(SOME.row != 2)), {"values": "x"}),
    "missing first level": (SOME.assign(row=SOME.row.where(SOME.row != 2)), {"index": ["row", "other"], "values": "x"}),
    "missing columns": (SOME.assign(column=SOME.column.where(SOME.x != 6)), {"values": "x"}),
    "categories": (SOME.assign(column=SOME.column.astype("category")), {"values": "x"}),
    "categories that no row has": (SOME.assign(column=SOME.column.astype(MIXED)), {"values": "x"}),
    "rows of categories": (SOME.assign(row=SOME.column.astype(MIXED), column=SOME.row), {"values": "x"}),
    "nullable numbers": (SOME.assign(x=SOME.x.astype("Int64")), {"values": "x"}),
    "categories as values": (SOME.assign(x=SOME.text.astype("category")), {"values": "x"}),
    "no rows": (SOME[:0], {"values": "x"}),
    "one row": (SOME[:1], {"values": "x"}),
    "columns of times": (SOME.assign(column=SOME.time), {"values": "x"}),
}


@pytest.mark.more
@pytest.mark.parametrize("case", PIVOTS)
def test_pivoted_values_are_those_of_pandas(case):
    frame, given_options = PIVOTS[case]
    options = {"index": "row", "columns": "column", **given_options}
    if options["index"] is None:
        del options["index"]
    check(frame, lambda some: some.pivot(**options))


@pytest.mark.more
@settings(max_examples=examples(23))
@given(st.lists(st.tuples(st.integers(0, 4), st.sampled_from("abc"), st.integers(-5, 5)), max_size=12))
def test_any_distinct_pairs_are_pivoted_as_pandas_does(rows):
    frame = pd.DataFrame(rows, columns=["row", "column", "x"]).drop_duplicates(["row", "column"], ignore_index=True)
    frame = frame.astype({"row": "int64", "column": "str", "x": "int64"})
    check(frame, lambda some: some.pivot(index="row", columns="column", values="x"))


def test_pivoted_rows_have_known_divisions():
    lazy = gd.from_pandas(SOME, npartitions=3)
    made = gd.pivot(lazy, index="row", columns="column", values="x")
    assert made.known_divisions
    assert made.npartitions > 1
    assert_same(made.loc[2:3].compute(**INLINE), SOME.pivot(index="row", columns="column", values="x").loc[2:3])


def test_two_values_for_a_place_are_an_error_as_in_pandas():
    lazy = gd.from_pandas(pd.concat([WHOLE, WHOLE], ignore_index=True), npartitions=2)
    with pytest.raises(ValueError, match="Index contains duplicate entries, cannot reshape"):
        lazy.pivot(index="row", columns="column", values="x").compute(**INLINE)
    with pytest.raises(KeyError, match="colum"):
        lazy.pivot(index="row", columns="colum", values="x")


RANDOM = np.random.default_rng(5)
MANY = pd.DataFrame(
    {
        "row": RANDOM.integers(0, 4, 40),
        "other": RANDOM.integers(0, 3, 40),
        "column": RANDOM.choice(list("bca"), 40),
        "x": RANDOM.normal(size=40),
        "y": RANDOM.integers(0, 9, 40),
    }
)
GAPS = MANY.assign(row=MANY.row.where(MANY.other > 0), x=MANY.x.where((MANY.row != 2) & (MANY.y < 7)))
MARGINS = [
    {"values": "x", "columns": "column"},
    {"values": "y", "columns": "column"},
    {"values": ["x", "y"], "columns": "column"},
    {"columns": "column"},
    {"values": "x", "index": ["row", "other"], "columns": "column"},
    {"values": "y"},
    {"values": ["y", "x"], "index": ["row", "other"]},
    {"values": "y", "columns": "column", "fill_value": 0},
    {"values": "x", "columns": "column", "margins_name": "Total", "dropna": False},
    {"values": "x", "columns": ["column", "other"]},
    {"values": ["x", "y"], "columns": ["column", "other"], "aggfunc": {"x": "sum", "y": "max"}},
]


@pytest.mark.each_choice
@pytest.mark.parametrize("aggfunc", ["sum", len, [np.max, "mean"]])
@pytest.mark.parametrize("number", range(len(MARGINS)))
@pytest.mark.parametrize(
    "frame", [pytest.param(MANY, marks=pytest.mark.long, id="values"), pytest.param(GAPS, id="gaps")]
)
def test_margins_are_those_of_pandas(frame, number, aggfunc):
    options = {"index": "row", "aggfunc": aggfunc, "margins": True, **MARGINS[number]}
    lazy = cut(frame)[-1]
    assert_same(lazy.pivot_table(**options).compute(**INLINE), frame.pivot_table(**options))


FEW = pd.CategoricalDtype(list("czab"))
MONTH = pd.Grouper(key="when", freq="MS")


def span(values):
    return values.max() - values.min()


WHEN = GAPS.assign(
    column=MANY.column.astype(FEW).where(MANY.y != 3), when=pd.date_range("2020-01-30", periods=40, freq="7D")
)
TABLES = [
    {"aggfunc": "std"},
    {"observed": False},
    {"observed": False, "aggfunc": "sum"},
    {"dropna": False},
    {"dropna": False, "observed": False},
    {"sort": False},
    {"sort": False, "index": ["other", "row"]},
    {"sort": False, "columns": ["column", "other"]},
    {"sort": False, "columns": None, "index": ["other", "row"], "values": ["y", "x"]},
    {"sort": False, "dropna": False},
    {"sort": False, "values": ["y", "x"], "margins": True, "aggfunc": "sum"},
    {"values": ["y", "x"], "aggfunc": {"y": ["max", "min"], "x": "mean"}},
    {"values": ["y", "x"], "aggfunc": {"y": ["max", "min"], "x": "mean"}, "columns": None},
    {"values": None, "aggfunc": {"y": ["max"], "x": ["mean", span]}},
    {"index": MONTH, "aggfunc": "sum"},
    {"index": MONTH, "columns": None},
    {"index": [MONTH, "row"]},
    {"columns": MONTH},
    {"index": [MONTH], "columns": None, "values": ["x", "y"], "aggfunc": ["sum", "mean"]},
    {"index": None, "margins": True},
    {"index": None, "columns": ["column", "row"], "values": ["x", "y"], "margins": True, "aggfunc": "sum"},
    {"margins": True, "aggfunc": span},
    {"margins": True, "aggfunc": span, "columns": None},
    {"margins": True, "aggfunc": [span, "sum"], "columns": ["column", "other"], "values": ["x", "y"]},
    {"margins": True, "aggfunc": "count", "values": ["x", "y"], "dropna": False},
    {"columns": None, "observed": False, "index": ["other", "column"], "aggfunc": "sum"},
    {"columns": None, "dropna": False, "index": ["other", "row"]},
    {"aggfunc": len, "fill_value": 0, "observed": False},
    {"aggfunc": "size", "columns": ["column", "other"]},
    {"aggfunc": "size", "columns": None, "values": None},
    {"index": MONTH, "columns": None, "margins": True, "aggfunc": "sum"},
    {"index": ["row", MONTH], "columns": None, "values": ["y", "x"], "margins": True},
    {"index": MONTH, "columns": None, "values": "y", "margins": True, "aggfunc": ["max", span], "dropna": False},
]


@pytest.mark.more
@pytest.mark.parametrize("number", range(len(TABLES)))
@pytest.mark.parametrize(
    "frame",
    [
        pytest.param(MANY.assign(when=WHEN.when), marks=pytest.mark.long, id="values"),
        pytest.param(WHEN, id="gaps"),
        pytest.param(WHEN.dropna()[:1], marks=pytest.mark.long, id="one row"),
    ],
)
def test_tables_have_the_columns_that_those_of_pandas_have(frame, number):
    options = {"index": "row", "columns": "column", "values": "x", "observed": True, **TABLES[number]}
    if not HAS_COPY_ON_WRITE and options["index"] is None and options.get("margins"):
        pytest.skip("before pandas 3 such margins are of aggregated values")
    try:
        expected = frame.pivot_table(**options)
    except (ValueError, TypeError, KeyError) as error:
        with pytest.raises(type(error)):
            cut(frame)[-1].pivot_table(**options).compute(**INLINE)
        return
    for lazy in cut(frame):
        got = lazy.pivot_table(**options)
        assert_same(got.compute(**INLINE), expected)
        assert_same(got._meta, expected.iloc[:0])


@pytest.mark.parametrize("number", range(len(TABLES)))
def test_tables_of_no_rows_are_those_of_pandas(number):
    options = {"index": "row", "columns": "column", "values": "x", "observed": True, **TABLES[number]}
    if options["columns"] is None or isinstance(options["index"], (pd.Grouper, list)):
        return  # lazy, with the columns that there are for some rows
    frame = WHEN[:0]
    try:
        expected = frame.pivot_table(**options)
    except (ValueError, TypeError, KeyError, IndexError):
        return
    assert_same(gd.from_pandas(frame, npartitions=1).pivot_table(**options).compute(**INLINE), expected)


def test_labels_of_a_table_may_be_series():
    lazy = gd.from_pandas(MANY, npartitions=3)
    got = lazy.pivot_table("x", index=lazy.y % 3, columns=lazy.column.str.upper(), aggfunc="sum")
    expected = MANY.pivot_table("x", index=MANY.y % 3, columns=MANY.column.str.upper(), aggfunc="sum")
    assert_same(got.compute(**INLINE), expected)


@pytest.mark.more
def test_labels_of_rows_with_margins_may_be_series():
    for lazy in cut(GAPS):
        got = lazy.pivot_table("x", index=lazy.y % 3, aggfunc="sum", margins=True)
        assert_same(got.compute(**INLINE), GAPS.pivot_table("x", index=GAPS.y % 3, aggfunc="sum", margins=True))
    with pytest.raises(
        NotImplementedError, match=r"margins=True\) isn't supported.*pandas too has no other ones beside columns="
    ):
        lazy.pivot_table("x", index=lazy.y % 3, columns="column", margins=True)


def test_categories_have_margins_beside_them():
    frame = MANY.assign(column=MANY.column.astype("category"))
    options = {"values": "y", "index": "row", "columns": "column", "aggfunc": "sum", "margins": True, "observed": True}
    got = gd.from_pandas(frame, npartitions=3).pivot_table(**options)
    assert_same(got.compute(**INLINE), frame.pivot_table(**options))
    assert list(got.columns) == ["a", "b", "c", "All"]


def test_a_margin_has_a_name_of_its_own():
    frame = MANY.assign(row=MANY.row.astype(str))
    with pytest.raises(ValueError, match=r'Conflicting name "1" in margins.*margins_name='):
        gd.from_pandas(frame, npartitions=2).pivot_table(
            values="x", index="row", margins=True, margins_name="1"
        ).compute(**INLINE)
    with pytest.raises(ValueError, match="margins_name argument must be a string, not 1"):
        gd.from_pandas(frame, npartitions=2).pivot_table(values="x", index="row", margins=True, margins_name=1)


@pytest.mark.more
@pytest.mark.each_choice
@pytest.mark.parametrize("aggfunc", [["mean", "mean"], ["sum", np.mean], [len], lambda x: x.max() - x.min()])
@pytest.mark.parametrize("columns", ["column", ["column", "other"], None])
def test_tables_take_functions_and_the_same_aggregation_twice(aggfunc, columns):
    options = {"values": "y", "index": "row", "columns": columns, "aggfunc": aggfunc}
    for lazy in cut(MANY):
        assert_same(lazy.pivot_table(**options).compute(**INLINE), MANY.pivot_table(**options))


@pytest.mark.more
@pytest.mark.parametrize(
    "options", [{}, {"index": None}, {"dropna": False}, {"values": ["x", "y"]}, {"fill_value": 0.0}]
)
def test_several_levels_of_columns_are_those_of_pandas(options):
    options = {"values": "x", "index": "row", "columns": ["column", "other"], **options}
    for frame in (MANY, GAPS):
        for lazy in cut(frame):
            assert_same(lazy.pivot_table(**options).compute(**INLINE), frame.pivot_table(**options))


@pytest.mark.parametrize("options", [{}, {"values": "f"}, {"values": ["f"]}, {"fill_value": 0}, {"dropna": False}])
def test_the_sizes_of_groups_stand_in_a_table(options):
    frame = pd.DataFrame({"v": [1, 2, 3, 4, 1], "s": list("ababa"), "f": [1.5, 2, 3, 4, np.nan]})
    lazy = gd.from_pandas(frame, npartitions=2)
    what = {"index": "v", "columns": "s", "aggfunc": "size", **options}
    assert_same(lazy.pivot_table(**what).compute(scheduler="inline"), frame.pivot_table(**what))
    with pytest.raises(NotImplementedError, match=r"groupby\(keys\).size\(\)"):
        lazy.pivot_table("f", index="v", aggfunc="size")


WITH_ARGUMENTS = {
    "sizes": {"aggfunc": np.size, "margins": True},
    "enough values": {"aggfunc": "sum", "min_count": 2},
    "a function's arguments": {"aggfunc": lambda values, a, b=1: values.sum() * a + b, "margins": True, "a": 4},
    "several, and enough values": {"aggfunc": ["sum", "max"], "min_count": 1},
}


@pytest.mark.skipif(not HAS_COPY_ON_WRITE, reason="pandas 2 passes no arguments on")
@pytest.mark.parametrize("name", WITH_ARGUMENTS)
def test_pivot_tables_pass_arguments_on(name):
    frame = pd.DataFrame({"k": list("bbaacdda"), "x": range(8), "y": np.arange(8) / 4})
    options = {"values": "y", "index": "k", "columns": "x", **WITH_ARGUMENTS[name]}
    made = gd.from_pandas(frame, npartitions=3).pivot_table(**options)
    assert_same(made.compute(**INLINE), frame.pivot_table(**options))
    assert_same(
        gd.pivot_table(gd.from_pandas(frame, npartitions=3), **options).compute(**INLINE), made.compute(**INLINE)
    )


@pytest.mark.parametrize("fill_value", [None, 0])
@pytest.mark.parametrize("how", [["min", "max"], ["min"]])
def test_several_aggregations_of_one_column_are_not_named_by_it(how, fill_value):
    for values in ("x", ["x"]):
        check(SOME, lambda f, values=values: f.pivot_table(values, "row", aggfunc={"x": how}, fill_value=fill_value))


def test_wide_to_long_without_a_column_of_that_form_has_no_rows():
    frame = pd.DataFrame({"A2010": [1.0, 2], "X": ["a", "b"], "id": [0, 1]})
    made = gd.wide_to_long(gd.from_pandas(frame, npartitions=2), ["A"], i="id", j="year", sep="_")
    assert_same(made.compute(**INLINE), pd.wide_to_long(frame, ["A"], i="id", j="year", sep="_"))


LABELLED = pd.DataFrame(
    {"a": list("bbaacdda"), "b": list("xyxyxyxy"), "x": range(8), "y": np.arange(8) / 4}, index=range(10, 18)
)
KEYS_AT_HAND = {
    "an array": {"index": LABELLED.a.to_numpy(), "columns": "b"},
    "a series": {"index": LABELLED.a.str.upper(), "columns": ["b"]},
    "an index": {"index": "a", "columns": pd.Index(list("mmnnmmnn"), name="z")},
    "a function": {"index": lambda label: label % 3, "columns": "b"},
    "a list of a function and a column": {"index": [lambda label: label % 3, "a"], "columns": LABELLED.b.to_numpy()},
    "a tuple": {"index": ("a", "b")},
    "a tuple of columns": {"columns": ("a", "b")},
    "an array alone": {"index": LABELLED.a.to_numpy()},
}


@pytest.mark.parametrize("name", KEYS_AT_HAND)
def test_keys_of_pivot_tables_may_be_values_functions_and_tuples(name):
    options = {"values": "x", "aggfunc": "sum", **KEYS_AT_HAND[name]}
    made = gd.from_pandas(LABELLED, npartitions=3).pivot_table(**options)
    assert_same(made.compute(**INLINE), LABELLED.pivot_table(**options))


STACKED = {
    "one level": pd.DataFrame({"b": [1.5, None, 3], "a": [4.0, None, 6]}, index=[7, 7, 2]),
    "whole numbers": pd.DataFrame({"b": [1, 2, 3], "a": [4, 5, 6]}, index=list("xyz")),
    "levels": pd.DataFrame(
        np.array([[0, np.nan, 2, 3], [np.nan, np.nan, np.nan, 7], [8, 9, 10, 11]]),
        columns=pd.MultiIndex.from_product([["y", "x"], ["q", "p"]], names=["u", "v"]),
        index=pd.Index([5, 3, 4], name="i"),
    ),
}


@pytest.mark.filterwarnings("ignore:The previous implementation of stack")
@pytest.mark.parametrize("plain", STACKED.values(), ids=STACKED)
def test_columns_are_stacked_as_before_pandas_3_on_request(plain):
    lazy = gd.from_pandas(plain, npartitions=3, sort=False)
    for level in [-1] if plain.columns.nlevels == 1 else [-1, "u", [0, 1]]:
        for options in ({}, {"dropna": False}, {"sort": False}, {"dropna": True, "sort": True}):
            expected = plain.stack(level=level, future_stack=False, **options)
            got = lazy.stack(level=level, future_stack=False, **options)
            assert_same(got.compute(**INLINE), expected)
            assert got.ndim == expected.ndim
    with pytest.raises(ValueError, match="stack: dropna can't be given with future_stack=True"):
        lazy.stack(dropna=False, future_stack=True)
