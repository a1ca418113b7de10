"""Which values at hand `loc`, `iloc`, `at` and subscripts set, against pandas."""

from __future__ import annotations

from datetime import time
from functools import partial

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE, PANDAS_VERSION
from test_setting_rows import FRAME, HALF, INLINE, check, outcome, pieces

pytestmark = pytest.mark.filterwarnings("ignore:Setting an item of incompatible dtype")


def replaced_in_place(method, value, one):
    getattr(one, method)(HALF, value, inplace=True)


TWO = [True, True, False, False]
NUMBERS = pd.DataFrame({"a": [1, 2, 3, 4], "b": np.arange(4, dtype="uint32"), "c": [0.5, 1, 2, 3]}, index=list("pqrs"))
OBJECTS = pd.DataFrame({"a": [1, "x", None, 4], "b": [2, "y", 3, 4]}, index=list("pqrs"), dtype=object)
BY_LABEL = {
    "rows of several columns": (NUMBERS, TWO, ["a", "b"], pd.Series({"q": 8, "p": 7})),
    "rows of all columns": (NUMBERS, TWO, slice(None), pd.Series({"q": 8, "p": 7, "s": 9})),
    "names of columns are no rows": (NUMBERS, slice("p", "q"), ["a", "c"], pd.Series({"a": 7, "c": 8})),
    "rows that the series lacks": (NUMBERS, TWO, "a", pd.Series({"q": 8})),
    "others that it lacks": (NUMBERS, TWO, "b", pd.Series({"q": 8, "p": 7}, dtype="uint32")),
    "a dict of rows": (NUMBERS, ["p", "q"], "a", {"q": 8, "p": 7}),
    "a row": (NUMBERS, "q", ["a", "c"], pd.Series({"c": 7.5})),
    "a frame": (NUMBERS, ["q", "p"], ["a", "c"], pd.DataFrame({"c": [7.5, 8], "a": [3, 4]}, index=["p", "q"])),
    "a frame of one column": (NUMBERS, TWO, ["a", "c"], pd.DataFrame({"c": [7.5, 8]}, index=["p", "q"])),
    "a frame, all rows": (NUMBERS, slice(None), ["b", "a"], NUMBERS[["a", "b"]][::-1] * 2),
    "a row of constants for all": (NUMBERS, TWO, ["a", "c"], [[5, 6]]),
    "rows as arrays": (NUMBERS, TWO, ["a", "c"], [np.array([1, 2]), pd.Series([3, 4])]),
    "all rows as ranges": (NUMBERS, slice(None), ["a", "c"], [range(2)] * 4),
    "a list of one column": (NUMBERS, ["q", "s"], ["a"], [7, 8]),
    "a value of a list of one column": (NUMBERS, ["q", "s"], ["a"], [7]),
    "a function of columns": (NUMBERS, TWO, lambda frame: ["c"], [7, 8]),
    "a list in a cell": (OBJECTS, "q", "a", [5, 6]),
    "a list of one in a cell": (OBJECTS, "q", "a", ["z"]),
    "an array in a cell": (OBJECTS, "q", "a", (5,)),
    "lists in cells": (OBJECTS, "q", ["a", "b"], ([1, 2], [3, 4, 5])),
    "dicts in cells": (OBJECTS, "q", ["a", "b"], [{1: 2}, {3: 4}]),
    "a tuple for each row": (OBJECTS, ["s", "q"], ["a"], [(1, 2), (3, 4)]),
}
TAKEN_SINCE = {"rows of all columns": (3, 0), "a tuple for each row": (3, 1)}
"""Versions of pandas before which it refuses the values."""


@pytest.mark.parametrize("name", BY_LABEL)
def test_values_at_hand_are_set_by_label_by_column_and_in_cells(name):
    if TAKEN_SINCE.get(name, PANDAS_VERSION) > PANDAS_VERSION:
        pytest.skip("this pandas refuses the values")
    plain, rows, columns, value = BY_LABEL[name]
    plain = plain if plain is OBJECTS else plain.assign(z="z")  # pandas sets frames of one block otherwise
    for cuts in ([], [1, 1, 3]):
        check(lambda frame: frame.loc.__setitem__((rows, columns), value), pieces(plain, cuts), plain)


@pytest.mark.parametrize("value", [[5, 6], ("z",), {"z"}, pd.Series([1, 2])])
def test_a_list_is_one_value_of_a_series_of_objects(value):
    for key in ("loc", "iloc", "at"):
        lazy = gd.from_pandas(OBJECTS.a.reset_index(drop=True), npartitions=3)
        getattr(lazy, key)[1] = value
        found = lazy.compute(**INLINE)
        assert found.iloc[1] is value or found.iloc[1].equals(value)
        assert found.drop(1).tolist() == [1, None, 4]


@pytest.mark.parametrize("cuts", [[], [1, 1, 3]])
def test_columns_of_one_name_are_set_by_position(cuts):
    plain = NUMBERS[["a", "b"]].set_axis(["x", "x"], axis=1)
    for key, value in (
        ((slice(None), 1), 5),
        ((0, 0), 7),
        (([0, 3], 1), [8, 9]),
        ((slice(None), 0), plain.iloc[::-1, 0]),
    ):
        check(lambda frame, key=key, value=value: frame.iloc.__setitem__(key, value), pieces(plain, cuts), plain)


@pytest.mark.skipif(not HAS_COPY_ON_WRITE, reason="a row of values is set otherwise before pandas 3")
@pytest.mark.parametrize("cuts", [[], [1, 1, 3]])
def test_a_name_of_several_columns_sets_all(cuts):
    plain = NUMBERS.set_axis(["x", "y", "x"], axis=1)
    for key, value in (
        (("q", "x"), [7, 8.5]),
        ((["q", "s"], ["y", "x"]), 9),
        ((slice(None), "y"), 9),
        (("q", slice(None)), [7, 8, 9.5]),
        ((TWO, "x"), pd.Series({"p": 7, "q": 8})),
    ):
        check(lambda frame, key=key, value=value: frame.loc.__setitem__(key, value), pieces(plain, cuts), plain)
    with pytest.raises(
        NotImplementedError, match=r"= values by column, of which several are called 'x': iloc sets them by pos"
    ):
        pieces(plain, cuts).loc["q"] = {"x": 1, "y": 2}


def test_rows_in_steps_are_set():
    for rows, columns, value in ((slice(None, None, 2), "a", 7), (slice(None, None, -3), ["a", "c"], [[1, 2], [3, 4]])):
        check(
            lambda frame, key=(rows, columns), value=value: frame.loc.__setitem__(key, value),
            pieces(NUMBERS, [1]),
            NUMBERS,
        )


def test_positions_are_given_as_ranges_indexes_and_functions():
    for rows in (range(3, 0, -1), pd.Index([2, 0]), lambda frame: [1, 3]):
        assert gd.from_pandas(NUMBERS, npartitions=3).iloc[rows].compute(**INLINE).equals(NUMBERS.iloc[rows])
        for columns in (1, lambda frame: slice(0, 3, 2)):
            check(
                lambda frame, rows=rows, columns=columns: frame.iloc.__setitem__((rows, columns), 7),
                pieces(NUMBERS, [2]),
                NUMBERS,
            )
    numbered = NUMBERS.reset_index(drop=True)
    check(lambda frame: frame.loc.__setitem__((range(1, 3), "a"), [7, 8]), pieces(numbered, [2]), numbered)
    assert gd.from_pandas(numbered, npartitions=2).loc[range(1, 3)].compute(**INLINE).equals(numbered.loc[range(1, 3)])


@pytest.mark.parametrize("rows", [time(12), slice(time(6), time(12))])
@pytest.mark.parametrize("zone", [None, "Europe/Paris"])
def test_rows_at_times_of_day_are_set(rows, zone):
    plain = FRAME.set_axis(pd.date_range("2020", periods=20, freq="6h", tz=zone)[::-1], axis=0)
    for key, value in (((rows, "i"), 7), ((rows, ["i", "f"]), -1), ((rows, "i"), range(len(plain.loc[rows])))):
        check(lambda frame, key=key, value=value: frame.loc.__setitem__(key, value), pieces(plain, [3, 9]), plain)


def test_truth_values_are_labels_only_of_such():
    plain = pd.DataFrame({"x": [1, 2, 3]}, index=[True, False, True])
    for lazy in (gd.from_pandas(plain, npartitions=2, sort=False), gd.from_pandas(plain, npartitions=1)):
        assert lazy.loc[False].x.tolist() == [2]
        assert sorted(lazy.loc[True].x.tolist()) == [1, 3]
    with pytest.raises(KeyError, match="True: boolean label can not be used without a boolean index"):
        gd.from_pandas(FRAME, npartitions=2).loc[True]


@pytest.mark.parametrize(
    "value",
    [
        np.array([7, 8]),
        pd.Series(["x", "y"]),
        pd.array([7, None], dtype="Int64"),
        pd.Index([7, 8, 9, 1]),
        np.array([7]),
    ],
)
def test_values_for_columns_are_one_for_each(value):
    for names in (["a", "c"], ["c", "new"], ["a"]):
        check(lambda frame, names=names: frame.__setitem__(names, value), pieces(NUMBERS, [1, 1]), NUMBERS)


@pytest.mark.parametrize(
    "value",
    [
        NUMBERS[["c"]] * 2,
        NUMBERS[["a", "c"]],
        np.ones((4, 1)),
        *([np.ones((4, 2))] if PANDAS_VERSION >= (3, 1) else []),
    ],
)
def test_a_table_of_one_column_is_a_column(value):
    for name in ("a", "new"):
        check(lambda frame, name=name: frame.__setitem__(name, value), pieces(NUMBERS, [1, 1]), NUMBERS)
    lazy, plain = gd.from_pandas(NUMBERS, npartitions=2), NUMBERS.copy()
    lazy["new"], plain["new"] = lazy[["c"]] * 2, plain[["c"]] * 2
    assert lazy.compute(**INLINE).equals(plain)


def test_values_of_an_array_of_no_axis_keep_its_dtype():
    for value in (np.array(1.5, dtype="float16"), np.array("2020", dtype="M8[s]")):
        check(lambda frame, value=value: frame.__setitem__("new", value), pieces(NUMBERS, [1]), NUMBERS)


def test_values_of_a_series_are_deleted_by_label():
    lazy, plain = gd.from_pandas(NUMBERS.a, npartitions=2), NUMBERS.a.copy()
    del lazy["q"], plain["q"]
    assert lazy.compute(**INLINE).equals(plain)
    with pytest.raises(KeyError, match="q"):
        del lazy["q"]
        lazy.compute(**INLINE)


def test_a_range_is_set_if_its_numbers_fit():
    plain = NUMBERS.b.astype("int8").reset_index(drop=True)
    for key in (slice(0, 2), [0, 1], np.array(TWO)):
        lazy, expected = gd.from_pandas(plain, npartitions=3), plain.copy()
        lazy[key], expected[key] = range(2, 4), range(2, 4)
        assert lazy.compute(**INLINE).equals(expected)


@pytest.mark.skipif(not HAS_COPY_ON_WRITE, reason="values that don't fit change the dtype before pandas 3")
@pytest.mark.parametrize("method", ["mask", "where"])
@pytest.mark.parametrize("name", ["i", "f", "s", "b", "d", "n"])
def test_what_is_replaced_in_place_keeps_its_dtype_or_is_an_error(name, method):
    plain = FRAME[name].astype("uint8") if name == "i" else FRAME[name]
    for value in (
        5,
        1.5,
        "x",
        True,
        *([list(range(20))] if PANDAS_VERSION >= (3, 1) else []),  # before, lists are errors
        *([] if name == "i" else [pd.Series(range(20), index=FRAME.index)]),
    ):
        lazy, expected = gd.from_pandas(plain, npartitions=3), plain.copy()
        found, wanted = (outcome(partial(replaced_in_place, method, value), one) for one in (lazy, expected))
        assert type(found) is type(wanted), (value, found)
        if not isinstance(wanted, Exception):
            pd.testing.assert_series_equal(lazy.compute(**INLINE), wanted)
            assert lazy.dtype == wanted.dtype


@pytest.mark.skipif(not HAS_COPY_ON_WRITE, reason="values that don't fit change the dtype before pandas 3")
@pytest.mark.parametrize("value", [5, 1.5, "x"])
def test_values_set_where_a_lazy_table_says_so_keep_the_dtypes(value):
    plain = FRAME[["i", "f"]].astype({"i": "uint8"})
    for limit in (2, 100):
        check(lambda frame, limit=limit: frame.__setitem__(frame > limit, value), pieces(plain, [3, 9]), plain)


def test_a_frame_at_hand_is_aligned_along_both_axes():
    plain = FRAME[["i", "f"]].astype("float64")
    lazy = gd.from_pandas(plain, npartitions=3)
    with pytest.raises(NotImplementedError, match=r"where\(axis=1\) with a pandas frame: .* leave axis out"):
        lazy.where(lazy > 3, FRAME[["i"]], axis=1)
    expected = plain.where(plain > 3, FRAME[["i"]][::-1])
    pd.testing.assert_frame_equal(lazy.where(lazy > 3, FRAME[["i"]][::-1]).compute(**INLINE), expected)


TIME = pd.Timestamp("2020")
OBJECTS_AT_HAND = [
    [TIME, TIME, "x"],
    [None, None, TIME],
    [TIME] * 3,
    ["a", None, "b"],
    ["a", 1, None],
    [True, "x", 1.5],
]


@pytest.mark.parametrize("values", OBJECTS_AT_HAND)
def test_objects_of_a_column_are_of_one_dtype_in_all_partitions(values):
    array = np.array(values, dtype=object)
    labels = [pd.Index(array, dtype=object)] if HAS_COPY_ON_WRITE else []  # pandas 2 looks for a dtype of these too
    for column in (values, array, pd.Series(array, dtype=object).array, *labels):
        lazy, plain = gd.from_pandas(NUMBERS[:3], npartitions=3), NUMBERS[:3].copy()
        lazy["new"], plain["new"] = column, column
        pd.testing.assert_frame_equal(lazy.compute(**INLINE), plain)
        assert {one.new.compute(**INLINE).dtype for one in lazy.partitions} == {lazy.new.dtype} == {plain.new.dtype}


def test_objects_beside_times_stay_objects():
    times = pd.date_range("2020", periods=4)
    array = np.array(list(times), dtype=object)
    index = gd.from_pandas(pd.DataFrame(index=times), npartitions=1).index
    series = gd.from_pandas(times.to_series(), npartitions=1)
    with pytest.warns(pd.errors.PerformanceWarning):
        expected = times - array
        assert (index - array).compute(**INLINE).equals(expected)
        assert (index - array).compute(**INLINE).dtype == expected.dtype == (series - array).compute(**INLINE).dtype


def test_a_dict_or_list_updates_as_what_pandas_makes_of_it():
    frame, plain = gd.from_pandas(FRAME[["i", "f"]], npartitions=3), FRAME[["i", "f"]].copy()
    series, values = gd.from_pandas(FRAME.f, npartitions=3), FRAME.f.copy()
    for one, many in ((frame, series), (plain, values)):
        one.update({"f": [7.5, None, 8]})
        many.update({2: 7.5, 4: None})
        many.update([9.5])
    pd.testing.assert_frame_equal(frame.compute(**INLINE), plain)
    pd.testing.assert_series_equal(series.compute(**INLINE), values)


@pytest.mark.parametrize("cuts", [[], [2], [1, 1, 3]])
@pytest.mark.parametrize("factor", [2, 1.5, 1000], ids=str)
def test_lazy_numbers_that_are_whole_are_set_among_whole_numbers(cuts, factor):
    plain = pd.DataFrame({"i": np.array([1, 2, 3, 4], dtype="uint8"), "f": [1.0, 0.5, 2.0, 1.5]})

    def set_some(frame):
        frame.loc[frame.i < 4, "i"] = frame.f * factor

    found, expected = outcome(set_some, pieces(plain, cuts)), outcome(set_some, plain.copy())
    assert type(found) is type(expected), found  # an error if a value doesn't fit, but with pandas 2
    if not isinstance(expected, Exception):
        pd.testing.assert_frame_equal(found, expected)


MISSING = {
    "an array, by labels": lambda frame: frame.loc.__setitem__(([0, 2], "i"), np.array([1.0, np.nan])),
    "an array, by positions": lambda frame: frame.iloc.__setitem__((slice(0, 2), 0), np.array([np.nan, 1.0])),
    "an array of one": lambda frame: frame.iloc.__setitem__((0, 0), np.array([np.nan])),
    "an array by condition": lambda frame: frame.loc.__setitem__((frame.i < 2, "i"), np.array([1.0, np.nan])),
    "an array of two axes": lambda frame: frame.loc.__setitem__(([0, 2], ["i", "f"]), np.array([[1, 2], [np.nan, 3]])),
    "a series by position": lambda frame: frame.iloc.__setitem__(([0, 1], 0), pd.Series([1.0, np.nan])),
    "a lazy series": lambda frame: frame.loc.__setitem__((frame.i < 2, "i"), frame.i.where(frame.i > 0)),
    "a lazy series, none missing": lambda frame: frame.loc.__setitem__((frame.i < 2, "i"), frame.i.where(frame.i < 9)),
    "a lazy frame": lambda frame: frame.loc.__setitem__(
        (frame.i < 2, ["i", "f"]), frame[["i", "f"]].where(frame.i > 0)
    ),
    "rows of a lazy frame": lambda frame: frame.__setitem__(frame.i < 2, frame.where(frame.i > 0)),
    "a lazy scalar": lambda frame: frame.loc.__setitem__((frame.i < 2, "i"), frame.f[frame.i > 90].max()),
    "a series of other rows": lambda frame: frame.loc.__setitem__((frame.i < 4, "i"), frame.i[frame.i > 1]),
    "whole numbers": lambda frame: frame.loc.__setitem__(([0, 2], "i"), np.array([1.0, 7.0])),
}


@pytest.mark.skipif(not HAS_COPY_ON_WRITE, reason="whole numbers became floats whenever some were set")
@pytest.mark.parametrize("name", MISSING)
def test_missing_values_set_among_whole_numbers_make_floats_of_all_partitions(name):
    plain = FRAME[["i", "f"]]
    lazy = gd.from_pandas(plain, npartitions=3)
    check(MISSING[name], lazy, plain)
    assert {part.compute(**INLINE).i.dtype for part in lazy.partitions} == {lazy.i.dtype}


@pytest.mark.parametrize("values", [[None, 2.5, "x", None], [None, 2.5, 1, None], [1, 2, 3, 4]])
def test_a_list_set_in_all_rows_of_an_object_column_keeps_its_values(values):
    for change in (
        lambda frame: frame.loc.__setitem__((slice(None), "a"), values),
        lambda frame: frame.iloc.__setitem__((slice(None), 0), values),
        lambda frame: frame.loc.__setitem__((slice(None), ["b", "a"]), [[1, value] for value in values]),
    ):
        lazy, plain = pieces(OBJECTS, [1, 3]), OBJECTS.copy()
        change(lazy)
        change(plain)
        assert [*map(repr, lazy.compute(**INLINE).a)] == [*map(repr, plain.a)]


@pytest.mark.skipif(PANDAS_VERSION < (3, 1), reason="lists in cells, and of one column, go by blocks")
@pytest.mark.parametrize("value", [{"k": 1}, pd.Series([1, 2]), pd.Series([1]), [1, 2]])
def test_at_and_iat_set_dicts_and_series_as_one_value_of_objects(value):
    for change in (
        lambda frame: frame.at.__setitem__(("q", "a"), value),
        lambda frame: frame.iat.__setitem__((1, 0), value),
    ):
        lazy, plain = pieces(OBJECTS, [1, 3]), OBJECTS.copy()
        change(lazy)
        change(plain)
        found, expected = lazy.compute(**INLINE).a.iloc[1], plain.a.iloc[1]
        assert type(found) is type(expected)
        assert repr(found) == repr(expected)


SORTED = pd.DataFrame({"k": [0, 1, 0, 2, 1, 0], "t": [3.0, 1, 5, 2, 4, 0], "gap": 0.0})


def set_in_series(frame, values):
    series = frame.gap.copy()
    series.loc[:] = values.gap
    return series


def set_in(*key):
    def change(frame, values):
        frame = frame.copy()
        rows, *columns = (part(frame) if callable(part) else part for part in key)
        frame.loc[(rows, *columns)] = values if isinstance(columns[0], list) else values.gap
        return frame

    return change


SETTINGS = {
    "a column": set_in(slice(None), "gap"),
    "a new one": set_in(slice(None), "new"),
    "several": set_in(slice(None), ["t", "gap"]),
    "some rows": set_in(lambda frame: frame.k > 0, "gap"),
    "a series": set_in_series,
}


@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize("name", SETTINGS)
def test_series_made_of_sorted_rows_are_set_by_loc_as_by_subscripts(name, is_known):
    lazy = gd.from_pandas(SORTED, npartitions=3)
    lazy = lazy if is_known else lazy.clear_divisions()
    found, expected = (
        SETTINGS[name](frame, frame.sort_values("t").assign(gap=lambda rows: rows.groupby("k").t.diff()))
        for frame in (lazy, SORTED)
    )
    assert_same(found.compute(**INLINE), expected)


@pytest.mark.parametrize("name", [name for name in SETTINGS if name != "some rows"])
@pytest.mark.parametrize("chosen", [[0, 1], [5], [2]])
def test_a_partition_without_rows_gets_none_of_a_series_that_is_set(name, chosen):
    """pandas' loc gives a frame without rows those of the series: partitions are none."""
    lazy = gd.from_pandas(SORTED, npartitions=3)
    found, expected = (
        SETTINGS[name](frame[frame.index.isin(chosen)], frame.assign(gap=frame.t * 2)) for frame in (lazy, SORTED)
    )
    assert_same(found.compute(**INLINE), expected)


DAYS = pd.DataFrame(
    {
        "k": [1, 2, 3, 4, 5, 6],
        "t": pd.to_datetime(["2020-01-01", "2020-01-05", "2020-02-01", "2020-03-03", None, None]),
        "s": ["a", "bb", None, "c", "dd", "e"],
    }
)
FRACTIONS = {
    "a whole number": 7,
    "a fraction": 2.5,
    "a median": lambda frame: frame.days.median(),
    "fractions": lambda frame: frame.k * 1.3,
    "whole numbers": lambda frame: (frame.t.max() - frame.t).dt.days,
}


@pytest.mark.parametrize("npartitions", [1, 3])
@pytest.mark.parametrize("of_missing", [True, False])
@pytest.mark.parametrize("name", FRACTIONS)
def test_whole_numbers_that_miss_values_take_fractions(name, of_missing, npartitions):
    def changed(frame):
        frame["days"] = (frame.t - pd.Timestamp("2020-01-01")).dt.days
        frame["long"] = frame.s.str.len()
        value = FRACTIONS[name](frame) if callable(FRACTIONS[name]) else FRACTIONS[name]
        for column in ("days", "long"):
            frame.loc[frame[column].isna() if of_missing else frame.k == 2, column] = value
        return frame

    found, expected = changed(gd.from_pandas(DAYS, npartitions=npartitions)), changed(DAYS.copy())
    assert_same(found.compute(**INLINE), expected)


@pytest.mark.skipif(not HAS_COPY_ON_WRITE, reason="pandas 2 makes floats of whole numbers")
def test_whole_numbers_without_missing_values_take_no_fractions():
    lazy = gd.from_pandas(DAYS, npartitions=2)
    with pytest.raises(TypeError, match="Invalid value '2.5' for dtype 'int64'"):
        lazy.loc[lazy.k > 2, "k"] = 2.5
    lazy["days"] = (lazy.t.fillna(pd.Timestamp(2020, 1, 1)) - pd.Timestamp("2020-01-01")).dt.days
    lazy.loc[lazy.k > 2, "days"] = 2.5
    with pytest.raises(TypeError, match="Invalid value '2.5' for dtype 'int64'"):
        lazy.compute(**INLINE)
