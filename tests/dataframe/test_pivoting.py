"""Values by labels of rows and columns, `pivot` and the margins of `pivot_table`, are those of pandas."""

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same
from hypothesis import given, settings
from hypothesis import strategies as st

INLINE = {"scheduler": "inline"}


def cut(frame):
    """Return a frame in one partition, in three, and in partitions of which some are empty."""
    pieces = [frame[:0], frame[:2], frame[2:2], frame[2:]]
    ragged = gd.from_map(pieces.__getitem__, range(4), meta=frame[:0])
    return [gd.from_pandas(frame, npartitions=1, sort=False), gd.from_pandas(frame, npartitions=3, sort=False), ragged]


def check(frame, operation):
    """Check a result, its meta and the dtypes of its partitions."""
    expected = operation(frame)
    for lazy in cut(frame):
        got = operation(lazy)
        assert_same(got.compute(**INLINE), expected)
        assert_same(got._meta, expected[:0])
        for number in range(got.npartitions):
            assert got.partitions[number].compute(**INLINE).dtypes.equals(expected.dtypes)


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


@pytest.mark.parametrize("case", PIVOTS)
def test_pivoted_values_are_those_of_pandas(case):
    frame, given_options = PIVOTS[case]
    options = {"index": "row", "columns": "column", **given_options}
    if options["index"] is None:
        del options["index"]
    check(frame, lambda some: some.pivot(**options))


@settings(max_examples=15)
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
