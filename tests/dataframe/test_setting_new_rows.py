"""Rows that `loc` and `at` add for labels that no row has, against pandas."""

from __future__ import annotations

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same, partitionings
from glassloom.backends.pandas_version import PANDAS_VERSION
from test_setting_rows import INLINE

pytestmark = pytest.mark.filterwarnings("ignore:Setting an item of incompatible dtype")

MIXED = pd.DataFrame(
    {"i": [1, 2, 3, 4], "f": [0.5, 1, 2, 3], "s": list("xyzw"), "b": [True, False] * 2},
    index=pd.Index([3, 5, 7, 9], name="n"),
)
NUMBERS = MIXED[["i", "f"]]
NEW = {
    "a list": (MIXED, 11, [1, 2, "q", True]),
    "values of other dtypes": (MIXED, 11, ["x", 2, 3, None]),
    "a dict that lacks columns": (MIXED, 11, {"i": 5, "b": False}),
    "a series": (MIXED, 11, pd.Series({"s": "q", "f": 2})),
    "one value": (MIXED, 11, 7),
    "a label of text": (MIXED, "total", [1, 2, "q", True]),
    "a label before all": (MIXED, 1, [1, 2, "q", True]),
    "a label between others": (MIXED, 4, [1, 2.5, "q", True]),
    "a label that is there": (NUMBERS, 7, [8, 9]),
    "a label that is there, of floats": (NUMBERS, 7.0, [8, 9]),
    "all columns": (NUMBERS, (4, slice(None)), [8, 9]),
    "some columns": (MIXED, (11, ["i", "b"]), [1, False]),
    "a column": (MIXED, ("total", "f"), 2.5),
    "too few values": (MIXED, 11, [1, 2]),
    "times": (NUMBERS.set_axis(pd.date_range("2020", periods=4)), pd.Timestamp("2020-01-09"), [5, 6]),
    "categories": (MIXED.assign(s=MIXED.s.astype("category")), 11, [1, 2, "x", True]),
    "other categories": (MIXED.assign(s=MIXED.s.astype("category")), 11, [1, 2, "q", True]),
}


@pytest.mark.parametrize("name", NEW)
def test_a_row_is_added_after_all_others(name):
    plain, key, value = NEW[name]
    expected = plain.copy()
    error = None
    try:
        expected.loc[key] = value
    except ValueError as raised:
        error = raised
    for lazy in partitionings(plain):
        if name in ("some columns", "a column") and not lazy.known_divisions:
            continue  # where a label isn't known to be new, dtypes stay: see below
        if error:
            with pytest.raises(ValueError):
                lazy.loc[key] = value
            continue
        lazy.loc[key] = value
        assert_same(lazy.compute(**INLINE), expected)
        assert lazy.dtypes.equals(expected.dtypes)
        assert not lazy.known_divisions or lazy.divisions[-1] == expected.index[-1]
        assert len(lazy) == len(expected)


def test_values_are_added_to_series_by_loc_and_at():
    for plain in (NUMBERS.i, NUMBERS.f, MIXED.s, MIXED.b):
        for label, value in ((11, 7), ("total", 2.5), (1, "q"), (11, None)):
            expected = plain.copy()
            expected.loc[label] = value
            for lazy in partitionings(plain):
                for key in ("loc", "at"):
                    made = lazy.copy()
                    getattr(made, key)[label] = value
                    assert_same(made.compute(**INLINE), expected)
    counts = gd.from_pandas(MIXED.s, npartitions=3).value_counts()
    counts["all"] = counts.sum()
    assert counts.compute(**INLINE).to_dict() == {"x": 1, "y": 1, "z": 1, "w": 1, "all": 4}


def test_sums_and_means_are_added_below_their_columns():
    for lazy in partitionings(NUMBERS):
        lazy.loc["total"] = lazy.sum()
        lazy.loc["one", "i"] = 7
        expected = NUMBERS.copy()
        expected.loc["total"] = expected.sum()
        expected.loc["one", "i"] = 7
        assert_same(lazy.compute(**INLINE), expected)
        table = lazy.groupby("i").agg(m=("f", "mean"))
        table.loc[-1] = {"m": table.m.max()}
        assert table.compute(**INLINE).m.tolist()[-1] == 3.5 * 2 - 0.5


def test_whether_a_row_is_there_is_found_out_when_partitions_are_there_if_dtypes_stay():
    read = []

    def block(number):
        read.append(number)
        return NUMBERS.iloc[2 * number : 2 * number + 2]

    lazy = gd.from_map(block, range(2), meta=NUMBERS.iloc[:0])
    other = (
        np.pi if PANDAS_VERSION >= (3, 1) else 3
    )  # before, whole numbers become floats beside them in a row that is added
    for label in (4, 5, 4):
        lazy.loc[label] = [label, other]
    lazy.loc[7, "i"] = 0
    assert not read
    expected = NUMBERS.copy()
    for label in (4, 5):
        expected.loc[label] = [label, other]
    expected.loc[7, "i"] = 0
    assert_same(lazy.compute(**INLINE), expected)
    lazy = gd.from_map(block, range(2), meta=NUMBERS.iloc[:0])
    lazy.loc[4, "i"] = 1  # the other column would have other values
    if PANDAS_VERSION < (3, 1):  # the numbers would be floats if the row is added
        with pytest.raises(KeyError, match="no row has the label 4; rows are added by"):
            lazy.compute(**INLINE)
        return
    assert_same(lazy.compute(**INLINE), pd.concat([NUMBERS, pd.DataFrame({"i": [1]}, index=[4])]).rename_axis("n"))


def test_added_rows_are_rows_like_others():
    lazy = gd.from_pandas(NUMBERS.reset_index(drop=True), npartitions=2)
    expected = NUMBERS.reset_index(drop=True)
    for frame in (lazy, expected):
        for number in range(3):
            frame.loc[len(frame)] = [number, 0.5]
    assert lazy.divisions == (0, 2, 6)
    assert_same((lazy.i * lazy.f)[lazy.i < 3].compute(**INLINE), (expected.i * expected.f)[expected.i < 3])
    assert_same(lazy.loc[3:5, "i"].compute(**INLINE), expected.loc[3:5, "i"])
    assert_same((lazy + lazy.iloc[4:]).compute(**INLINE), expected + expected.iloc[4:])


def test_the_first_row_of_a_frame_without_rows_decides_on_dtypes():
    for expected in (pd.DataFrame(columns=["a", "b"]), MIXED[["i", "s"]][:0]):
        lazy = gd.from_pandas(expected, npartitions=1)
        for row in ([1, "x"], [2.5, "y"]):
            lazy.loc[len(lazy)] = row
            expected.loc[len(expected)] = row
        assert_same(lazy.compute(**INLINE), expected)
        assert lazy.dtypes.equals(expected.dtypes)


@pytest.mark.parametrize("npartitions", [1, 3])
def test_labels_and_values_of_several_kinds_stay_what_they_are(npartitions):
    plain = pd.DataFrame({"a": range(6)}, index=pd.Index([1, "a", 2, "b", 3.5, None], dtype=object))
    lazy = gd.from_pandas(plain, npartitions=npartitions, sort=False)
    plain.loc[9] = lazy.loc[9] = 7
    assert_same(lazy.compute(), plain)
    values = pd.Series([1, "x", None, 2.5], dtype=object)
    for value in ("t", None, 3):
        some, own = gd.from_pandas(values, npartitions=npartitions), values.copy()
        some.loc[10] = own.loc[10] = value
        assert_same(some.compute(), own)


OTHER_LABELS = {
    "times": pd.date_range("2020-01-01", periods=5, name="when"),
    "times of a zone": pd.date_range("2020-01-01", periods=5, tz="UTC"),
    "periods": pd.period_range("2020Q1", periods=5, freq="Q"),
    "durations": pd.to_timedelta(range(5), unit="D"),
    "intervals": pd.interval_range(0, 5),
    "categories": pd.CategoricalIndex([*"vwxyz"], name="kind"),
    "categories that are intervals": pd.CategoricalIndex(pd.cut(range(5), 5)),
}


@pytest.mark.parametrize("kind", OTHER_LABELS)
def test_a_row_of_totals_is_added_to_labels_of_another_kind(kind):
    frame = pd.DataFrame({"a": range(5), "b": np.arange(5) / 4}, index=OTHER_LABELS[kind])

    def with_totals(some):
        some.loc["Total"] = some.sum()
        if some.ndim == 2:
            some.loc["Half", "a"] = 5
        return some

    for plain in (frame, frame.a):
        pieces = [plain[:0], plain[:2], plain[2:], plain[:0]]
        for lazy in (gd.from_pandas(plain, npartitions=2), gd.from_map(pieces.__getitem__, range(4), meta=plain[:0])):
            assert_same(with_totals(lazy).compute(**INLINE), with_totals(plain.copy()))


def test_a_text_that_is_a_time_or_a_category_is_a_label_of_these():
    times = gd.from_pandas(pd.Series([1, 2], index=pd.date_range("2020-01-01", periods=2)), npartitions=2)
    times.loc["2020-01-02"] = 5
    assert times.compute(**INLINE).tolist() == [1, 5]
    kinds = gd.from_pandas(pd.Series([1, 2], index=pd.CategoricalIndex(["x", "y"])), npartitions=2)
    kinds.loc["y"] = 5
    assert kinds.compute(**INLINE).tolist() == [1, 5]
