"""Values of some rows set by label, position or condition, against pandas."""

from __future__ import annotations

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from long_tests import examples

pytestmark = pytest.mark.filterwarnings("ignore:Setting an item of incompatible dtype")
INLINE = {"scheduler": "inline"}
FRAME = pd.DataFrame(
    {
        "i": np.arange(20),
        "f": np.arange(20) / 4,
        "s": ["a", "b", None, "d"] * 5,
        "b": [True, False] * 10,
        "c": pd.Categorical(list("uvwx") * 5),
        "d": pd.date_range("2020", periods=20),
        "n": pd.array([1, None, 3, 4] * 5, dtype="Int64"),
    },
    index=np.arange(0, 40, 2),
)
HALF = [True, False] * 10
LOC = {
    "a label": (4, "i", 100),
    "a label of text": (8, "s", "zz"),
    "a label, missing": (4, "s", None),
    "a label, missing number": (4, "i", np.nan),
    "a label, missing nullable": (4, "n", pd.NA),
    "a label of times": (4, "d", pd.Timestamp("2021-01-01")),
    "a label of times as text": (4, "d", "2021-01-01"),
    "a label of categories": (4, "c", "v"),
    "a label of other categories": (4, "c", "no such"),
    "a label of another dtype": (4, "i", 2.5),
    "a label, several columns": (6, ["i", "f"], [7, 8.5]),
    "a label, all columns of some": (6, slice("i", "f"), 5),
    "a label, a dict": (6, ["i", "f"], {"f": 1.0, "i": 2}),
    "a label, a series": (6, ["i", "f"], pd.Series({"f": 1.0, "i": 2})),
    "a label, a new column": (4, "new", 7),
    "labels": ([4, 8, 2], "f", 1.5),
    "labels in an array": (np.array([4, 8, 2]), "f", 1.5),
    "labels, a value each": ([8, 4, 2], "i", [10, 20, 30]),
    "labels, a row each": ([4, 8], ["i", "f"], [[1, 2], [3, 4]]),
    "labels, a row of an array each": ([4, 8], ["i", "f"], np.array([[1, 2], [3, 4]])),
    "labels, a mixed row each": ([8, 4], ["i", "s"], [[1, "p"], [3, "q"]]),
    "labels, a new column": ([4, 6], "new", [7.5, 8]),
    "labels, too many values": ([2, 4], "i", [1, 2, 3]),
    "labels repeated": ([8, 4, 8], ["i", "f"], 3),
    "labels repeated, a value each": ([8, 4, 8], "i", [10, 20, 30]),
    "labels repeated, a row each": ([8, 4, 8], ["i", "f"], [[1, 2.5], [3, 4.5], [5, 6.5]]),
    "labels repeated, a new column": ([8, 4, 8], "new", [1, 2, 3]),
    "labels repeated, too few values": ([8, 4, 8], "i", [1, 2]),
    "no labels": ([], "i", 1),
    "no labels, a value": ([], "i", [1]),
    "no labels, two values": ([], "i", [1, 2]),
    "a label that some lack": ([4, 5], "i", 1),
    "booleans": (HALF, "i", 3),
    "too few booleans": (HALF[1:], "i", 3),
    "too many booleans": (np.array(HALF * 2), "i", 3),
    "booleans in an array": (np.array(HALF), ["i", "f"], 3),
    "booleans in a series": (pd.Series(HALF, index=FRAME.index), "i", 3),
    "a condition": (lambda f: f.f > 3, "i", 5),
    "a condition that no row fulfils, a value": (lambda f: f.f > 90, "i", [1]),
    "a condition that no row fulfils, two values": (lambda f: f.f > 90, "i", [1, 2]),
    "a condition, a value each": (lambda f: f.f >= 4, "i", [1, 2, 3, 4]),
    "a condition, too few values": (lambda f: f.f > 3, "i", [1, 2]),
    "a condition, a lazy series": (lambda f: f.b, "i", lambda f: f.f.round().astype("int64")),
    "a condition, a lazy frame": (lambda f: f.b, ["i", "f"], lambda f: f[["i", "f"]] * 2),
    "a condition, values that don't fit": (lambda f: f.b, "i", lambda f: f.f),
    "all rows, a value each": (slice(None), "i", list(range(20))),
}
ILOC = {
    "a position": ((3, 0), 77),
    "a position from the end": ((-1, 1), 77.0),
    "a position, several columns": ((2, [0, 1]), [4, 5]),
    "positions, a value each": (([0, 3, -2], 1), [1, 2, 3]),
    "positions, a row each": (([0, 3], [0, 1]), [[1, 2], [3, 4]]),
    "positions repeated": (([0, 3, 0], 1), 2.5),
    "positions repeated, a value each": (([0, -20, 3], 1), [1, 2, 3]),
    "no positions, a value": (([], 0), [1]),
    "too few booleans": ((np.array(HALF[1:]), 0), 1),
    "positions in steps": ((slice(2, 9, 3), 0), 1),
    "the last, a value each": ((slice(-3, None), 0), [1, 2, 3]),
    "backwards, a value each": ((slice(9, 2, -3), 0), [5, 6, 7]),
    "a rectangle": ((slice(1, 3), slice(0, 2)), 9),
    "booleans": ((np.array(HALF), 0), 1),
    "a position beyond": ((20, 0), 1),
    "a position beyond, repeated": (([20, 20], 0), 1),
    "a position before": ((-21, 0), 1),
}


def pieces(frame, cuts):
    bounds = [0, *sorted(cuts), len(frame)]
    blocks = [frame.iloc[start:end] for start, end in zip(bounds, bounds[1:], strict=False)]
    return gd.from_map(blocks.__getitem__, range(len(blocks)), meta=frame.iloc[:0])


def outcome(change, frame):
    try:
        change(frame)
        return frame.compute(**INLINE) if hasattr(frame, "compute") else frame
    except Exception as error:
        return error


def check(change, lazy, plain):
    found, expected = outcome(change, lazy), outcome(change, plain.copy())
    if isinstance(expected, Exception):
        assert type(found) is type(expected), found
    elif isinstance(found, Exception):
        raise found
    else:
        pd.testing.assert_frame_equal(found, expected, check_freq=False)
        assert lazy.dtypes.equals(expected.dtypes)


CUTS = st.lists(st.integers(0, 20), max_size=4)


@pytest.mark.parametrize("name", LOC)
@settings(max_examples=examples(3))
@given(seed=st.integers(0, 100), cuts=CUTS, is_sorted=st.booleans())
def test_rows_of_labels_and_conditions_are_set_as_in_pandas(name, seed, cuts, is_sorted):
    rows, columns, value = LOC[name]
    plain = FRAME if is_sorted else FRAME.sample(frac=1, random_state=seed)
    lazy = gd.from_pandas(plain, npartitions=1 + len(cuts)) if is_sorted and seed % 2 else pieces(plain, cuts)

    def change(frame):
        frame.loc[rows(frame) if callable(rows) else rows, columns] = value(frame) if callable(value) else value

    check(change, lazy, plain)


@pytest.mark.parametrize("name", ILOC)
@settings(max_examples=examples(3))
@given(cuts=CUTS)
def test_rows_at_positions_are_set_as_in_pandas(name, cuts):
    key, value = ILOC[name]
    check(lambda frame: frame.iloc.__setitem__(key, value), pieces(FRAME, cuts), FRAME)


@given(cuts=CUTS)
def test_labels_that_several_rows_have_are_set_in_all_of_them(cuts):
    plain = FRAME.set_axis(np.repeat(np.arange(10), 2), axis=0)
    for rows, value in ((3, 5), ([3, 1], 5), (3, [5, 6])):
        check(
            lambda frame, rows=rows, value=value: frame.loc.__setitem__((rows, "i"), value), pieces(plain, cuts), plain
        )
    for rows, value in (([3, 1], list(range(plain.index.isin([3, 1]).sum()))), ([1, 3, 1], [*range(30)][:20])):
        check(
            lambda frame, rows=rows, value=value: frame.loc.__setitem__((rows, "i"), value), pieces(plain, cuts), plain
        )
    lazy = pieces(plain, cuts)
    lazy.loc[[3, 1], "i"] = [5, 6]
    with pytest.raises(
        ValueError, match=r"loc\[\[3, 1\], 'i'\] = values, one for each label: several rows have the label 3"
    ):
        lazy.compute(**INLINE)


@pytest.mark.parametrize("rows", [pd.Timestamp("2020-01-04"), ["2020-01-04", "2020-01-06"], "2020-01-04", "2020-01"])
def test_labels_of_times_are_given_as_text_too(rows):
    for zone in (None, "Europe/Paris"):
        plain = FRAME.set_axis(pd.date_range("2020", periods=20, tz=zone)[::-1], axis=0).sort_index()
        label = rows.tz_localize(zone) if isinstance(rows, pd.Timestamp) else rows
        if zone is None or not isinstance(rows, list):
            check(
                lambda frame, label=label: frame.loc.__setitem__((label, "i"), 5),
                gd.from_pandas(plain, npartitions=3),
                plain,
            )


def test_single_values_and_values_of_series_are_set():
    frame, series = gd.from_pandas(FRAME, npartitions=3), gd.from_pandas(FRAME.i, npartitions=3)
    plain, values = FRAME.copy(), FRAME.i.copy()
    for one in (frame, plain):
        one.at[6, "i"] = -6
        one.iat[3, 1] = 0.5
        one[["i", "f"]] = one[["i", "f"]] * 2
    for one in (series, values):
        one.loc[4] = 100
        one.iloc[-1] = 5
        one.at[6] = 1
        one.iat[0] = 9
        one[[8, 10]] = [1, 2]
        one[one > 30] = 0
        one[HALF] = one * 2
        one.iloc[[1, 3]] = [44, 45]
        one[16:18] = -1
        one[12] = 13
    pd.testing.assert_frame_equal(frame.compute(**INLINE), plain)
    pd.testing.assert_series_equal(series.compute(**INLINE), values)


VALUES = {
    "all labels": pd.Series(range(10, 30), index=FRAME.index[::-1]),
    "two labels": pd.Series([5, 6], index=[2, 4]),
    "other labels": pd.Series([5, 6], index=[100, 101]),
    "repeated labels": pd.Series([5, 6], index=[2, 2]),
    "a range": range(5, 7),
    "an array of no axis": np.array(5),
}
KEYS = {
    "labels": lambda one, value: one.__setitem__([4, 2], value),
    "a slice": lambda one, value: one.__setitem__(slice(3, 5), value),
    "iloc": lambda one, value: one.iloc.__setitem__([4, 2], value),
    "iloc of a slice": lambda one, value: one.iloc.__setitem__(slice(3, 5), value),
    "iloc of booleans": lambda one, value: one.iloc.__setitem__(np.arange(20) < 2, value),
}


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("value", VALUES)
def test_values_of_a_series_are_set_in_their_order_but_by_loc_and_conditions(key, value):
    for plain, change in (
        (FRAME.i.to_frame(), lambda frame: frame.iloc.__setitem__(([4, 2], 0), VALUES[value])),
        (FRAME.i, lambda one: KEYS[key](one, VALUES[value])),
    ):
        found, expected = outcome(change, gd.from_pandas(plain, npartitions=3)), outcome(change, plain.copy())
        assert type(found) is type(expected), found
        if not isinstance(expected, Exception):
            assert found.equals(expected)


def test_a_range_and_an_array_of_no_axis_are_set_by_label_and_condition():
    for rows in ([4, 2], slice(4, 6), FRAME.index < 4):
        for value in (range(5, 7), np.array(5)):
            check(
                lambda frame, rows=rows, value=value: frame.loc.__setitem__((rows, "i"), value),
                pieces(FRAME, [3]),
                FRAME,
            )


def test_columns_of_nullable_numbers_are_set_in_partitions_of_one_row():
    plain = pd.DataFrame({"x": pd.array([1, None, 3], dtype="Int64"), "y": 1.5})
    for value in (np.array([4, 5, 6]), pd.array([None, 5, 6], dtype="Int64"), [4, None, 6]):
        check(lambda frame, value=value: frame.loc.__setitem__((slice(None), "x"), value), pieces(plain, [1, 2]), plain)


@pytest.mark.parametrize("condition", ["a frame", "some columns", "some rows", "an array"])
def test_values_are_set_where_a_table_at_hand_says_so(condition):
    plain = FRAME[["i", "f"]]
    table = plain > 3
    key = {"a frame": table, "some columns": table[["f"]], "some rows": table.iloc[5:], "an array": table.to_numpy()}[
        condition
    ]
    check(lambda frame: frame.__setitem__(key, 0), gd.from_pandas(plain, npartitions=3), plain)


LISTS = {
    "objects": (["a", None], FRAME.i.astype(object)),
    "numbers among objects": ([1, None], FRAME.s.astype(object)),
    "truth values": ([True, None], FRAME.b.astype("boolean")),
    "missing texts": ([np.nan, np.nan], FRAME.s),
    "missing categories": ([np.nan, "u"], FRAME.c),
    "small numbers": ([1, None], FRAME.i.astype("int8")),
    "truth values as numbers": ([True, False], FRAME.n),
    "nothing": ([], FRAME.s),
}


@pytest.mark.parametrize("name", LISTS)
def test_values_in_a_list_are_what_pandas_makes_of_them_among_those_of_the_series(name):
    values, plain = LISTS[name]
    for rows in ([2, 8][: len(values)], np.isin(np.arange(20), [1, 4][: len(values)])):
        check(
            lambda frame, rows=rows: frame.loc.__setitem__((rows, "x"), values),
            gd.from_pandas(plain.to_frame("x"), npartitions=3),
            plain.to_frame("x"),
        )


def test_a_series_is_no_value_of_one_label_nor_a_lazy_one_of_positions():
    frame, series = gd.from_pandas(FRAME, npartitions=2), gd.from_pandas(FRAME.i, npartitions=2)
    for value in (FRAME.f, gd.from_pandas(FRAME.f, npartitions=2)):
        with pytest.raises(ValueError, match=r"loc\[4, 'i'\] = a series: .* one label takes one value"):
            frame.loc[4, "i"] = value
        with pytest.raises(ValueError, match=r"series\[4\] = a series: setting an array element with a sequence"):
            series[4] = value
    for change in (lambda: series.__setitem__([4, 2], series), lambda: series.iloc.__setitem__(slice(2), series)):
        with pytest.raises(
            NotImplementedError, match="= a lazy Series: pandas sets its values in their order.* compute"
        ):
            change()


def test_booleans_at_hand_choose_rows_and_set_them():
    plain = FRAME[["i", "f"]].set_axis(list("abcdefghijklmnopqrst"), axis=0)
    lazy = gd.from_pandas(plain, npartitions=3)
    series = pd.Series(HALF, index=plain.index)[::-1]
    for rows in (HALF, np.array(HALF), series):
        pd.testing.assert_frame_equal(lazy[rows].compute(), plain[HALF])
        pd.testing.assert_frame_equal(lazy.loc[rows, ["f"]].compute(), plain.loc[HALF, ["f"]])
        pd.testing.assert_series_equal(lazy.i[rows].compute(), plain.i[HALF])
    pd.testing.assert_frame_equal(lazy.iloc[HALF].compute(), plain.iloc[HALF])
    for one in (lazy, plain):
        one[HALF] = 5
        one[2:4] = 7
        one["f":"g"] = 8
    pd.testing.assert_frame_equal(lazy.compute(), plain)
    with pytest.raises(ValueError, match=r"Length of values \(2\) does not match length of index \(20\)"):
        lazy[[True, False]]
    with pytest.raises(ValueError, match="the index of the boolean series doesn't match that of the frame"):
        lazy[pd.Series([True], index=["a"])].compute()


def test_labels_between_others_that_no_row_has_are_errors_and_not_new_rows():
    lazy = gd.from_pandas(FRAME, npartitions=3)
    lazy.loc[5, "i"] = 1
    with pytest.raises(
        KeyError, match=r"loc\[5, 'i'\] = ...: no row has the label 5; rows are added by concat\(\), by "
    ):
        lazy.compute(**INLINE)
    series = gd.from_pandas(FRAME.i, npartitions=3)
    series.at[7] = 1
    with pytest.raises(KeyError, match=r"at\[7\] = ...: no row has the label 7"):
        series.compute(**INLINE)


def test_only_the_partitions_that_may_have_a_label_are_looked_at():
    read = []

    def block(number):
        read.append(number)
        return pd.DataFrame({"x": [number * 1.0]}, index=[number * 10])

    lazy = gd.from_map(
        block, range(20), meta=pd.DataFrame({"x": [0.5]}, index=[0]).iloc[:0], divisions=[*range(0, 200, 10), 190]
    )
    lazy.loc[30, "x"] = -1
    assert lazy.loc[20:40].x.compute(**INLINE).tolist() == [2.0, -1.0, 4.0]
    assert set(read) <= {1, 2, 3, 4, 5}


def test_what_cant_be_set_names_what_can():
    lazy = gd.from_pandas(FRAME, npartitions=2)
    with pytest.raises(
        ValueError, match=r"loc\[2, \['i'\]\] = a frame: Incompatible indexer .* one label takes a value for"
    ):
        lazy.loc[2, ["i"]] = FRAME
    with pytest.raises(ValueError, match=r"iloc\[\[0, 1\], \[0, 1\]\] = a frame of 7 columns: 2 columns are set"):
        lazy.iloc[[0, 1], [0, 1]] = FRAME[:2]
    with pytest.raises(
        ValueError, match=r"loc\[\[True, .* = a series: .* loc\[rows, :\] = series sets it in each column"
    ):
        lazy[["i", "n"]].astype("float64").loc[HALF] = FRAME.f
    with pytest.raises(
        NotImplementedError, match=r"iloc\[range\(0, 2\), \[0, 1\]\] = ...: .* by pairs.* list\(rows\) is all"
    ):
        lazy.iloc[range(2), [0, 1]] = 1
    with pytest.raises(KeyError, match="True: boolean label can not be used without a boolean index"):
        lazy.loc[True, "i"] = 1
    with pytest.raises(TypeError, match=r"slice\(True, None, None\): boolean values can not be used in a slice"):
        lazy.loc[True:]
    with pytest.raises(NotImplementedError, match=r"iloc\[condition, 0\] = ...: a condition is for loc"):
        lazy.iloc[lazy.i > 1, 0] = 1
    with pytest.raises(NotImplementedError, match=r"iloc\['a', 0\] = ...: rows are set by positions"):
        lazy.iloc["a", 0] = 1
    with pytest.raises(NotImplementedError, match=r"loc\[\{5\}, 'i'\] = ...: values are set for the rows of a label"):
        lazy.loc[{5}, "i"] = 1
    with pytest.raises(ValueError, match=r"at\[2\] = ...: it should be at\[label, column\]"):
        lazy.at[2] = 1
    with pytest.raises(pd.errors.InvalidIndexError, match=r"at\[\[2, 4\], 'i'\] = ...: at has one label; loc takes"):
        lazy.at[[2, 4], "i"] = 1
    levels = gd.concat({"a": lazy})
    with pytest.raises(NotImplementedError, match="the index has several levels; reset_index"):
        levels.at["a", "i"] = 1


ROWS = pd.Index(list("abcdefghi"))
SERIES = {
    "some rows": pd.Series({"a": 1, "b": 2}),
    "all rows": pd.Series(range(9), index=ROWS[::-1]),
    "more than all rows": pd.Series(range(10), index=[*ROWS, "z"]),
    "booleans of some": pd.Series({"a": True, "b": False}),
    "booleans of all": pd.Series([True, False, True] * 3, index=ROWS),
    "small numbers": pd.Series({"a": 1, "b": 2}, dtype="int8"),
    "nullable": pd.Series({"a": 1, "h": None}, dtype="Int64"),
    "text": pd.Series({"a": "x"}),
    "times": pd.Series({"h": pd.Timestamp("2020")}),
    "categories": pd.Series({"b": "u"}, dtype="category"),
    "no rows": pd.Series({"z": 1}),
    "nothing": pd.Series([], dtype="int64", index=pd.Index([], dtype=ROWS.dtype)),
}


@pytest.mark.parametrize("name", SERIES)
def test_a_series_at_hand_has_one_dtype_in_all_partitions(name):
    plain = pd.DataFrame({"a": range(9)}, index=ROWS)
    for lazy in (gd.from_pandas(plain, npartitions=3), pieces(plain, [3, 3])):
        expected = plain.assign(z=SERIES[name])
        lazy["z"] = SERIES[name]
        pd.testing.assert_frame_equal(lazy.compute(**INLINE), expected)
        assert lazy.z.dtype == expected.z.dtype
        assert {str(part.z.compute(**INLINE).dtype) for part in lazy.partitions} == {str(expected.z.dtype)}


def test_labels_are_asked_for_and_compared():
    plain = pd.DataFrame({"a": range(9)}, index=ROWS)
    lazy = gd.from_pandas(plain, npartitions=3)
    chosen = lazy.index.isin(["a", "e", "x"])
    assert chosen.compute(**INLINE).tolist() == plain.index.isin(["a", "e", "x"]).tolist()
    pd.testing.assert_frame_equal(lazy[chosen].compute(**INLINE), plain.loc[["a", "e"]])
    pd.testing.assert_frame_equal(lazy.loc[~chosen & (lazy.a > 5)].compute(**INLINE), plain.loc["g":])
    assert (lazy.index > "c").compute(**INLINE).tolist() == (plain.index > "c").tolist()


@pytest.mark.parametrize("text", ["2000-01-05 00:00:00.000000001", "2001", "NaT"])
@pytest.mark.parametrize("unit", ["s", "us", "ns"])
def test_a_text_that_is_none_of_the_times_sets_no_row(text, unit):
    labels = pd.date_range("2000-01-01", periods=5, unit=unit)
    lazy = gd.from_pandas(pd.DataFrame({"x": range(5)}, index=labels), npartitions=2)
    with pytest.raises(KeyError, match=text):
        lazy.loc[text, "x"] = -1
        lazy.compute(scheduler="inline")


@pytest.mark.parametrize("npartitions", [1, 3])
def test_columns_that_a_condition_says_nothing_of_keep_their_dtypes(npartitions):
    expected, lazy = FRAME.copy(), gd.from_pandas(FRAME, npartitions=npartitions)
    for frame in (expected, lazy):
        frame[frame[["i", "f"]] > 3] = 0
    pd.testing.assert_frame_equal(lazy.compute(**INLINE), expected)
    expected, lazy = FRAME.copy(), gd.from_pandas(FRAME, npartitions=npartitions)
    expected[FRAME[["i"]].iloc[4:] > 3] = 0
    lazy[gd.from_pandas(FRAME[["i"]].iloc[4:], npartitions=2) > 3] = 0
    pd.testing.assert_frame_equal(lazy.compute(**INLINE), expected)


@pytest.mark.parametrize("value", [{"i": 7, "f": 8}, pd.Series({"i": 7, "f": 8})])
def test_values_by_column_are_of_one_row(value):
    lazy = gd.from_pandas(FRAME.set_axis(np.arange(20) // 2), npartitions=3)
    lazy.loc[3, ["i", "f"]] = value
    with pytest.raises(
        ValueError,
        match=r"several rows have the label 3; one value, or one list of a value for each column, is set in all",
    ):
        lazy.compute(**INLINE)
    lazy = gd.from_pandas(FRAME.set_axis(np.arange(20) // 2), npartitions=3)
    lazy.loc[3, ["i", "f"]] = list(value.values() if isinstance(value, dict) else value)
    assert lazy.compute(**INLINE).loc[3, "i"].tolist() == [7, 7]
