"""`cut` and `qcut` put values into pandas' intervals, also where the edges depend on all of them."""

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same, partitionings

INLINE = {"scheduler": "inline"}
VALUES = {
    "whole numbers": [5, 1, 9, 3, 3, 7, 2, 8],
    "floats with missing ones": [0.5, np.nan, 2.25, -3, 1e6, 7, np.nan, 2],
    "nullable": pd.array([1, None, 5, 9, 9, 2, 3, 4], dtype="Int64"),
    "times": pd.date_range("2024-01-01", periods=8, freq="7h"),
    "one value": [4, 4, 4, 4],
    "one row": [3.5],
    "none": np.array([], dtype="float64"),
    "missing": [np.nan, np.nan],
}
CUTS = {
    "bins": lambda m, s: m.cut(s, 3),
    "labels": lambda m, s: m.cut(s, 2, labels=["low", "high"], right=False),
    "numbers": lambda m, s: m.cut(s, 4, labels=False, precision=1, include_lowest=True),
    "quarters": lambda m, s: m.qcut(s, 4, duplicates="drop"),
    "fractions": lambda m, s: m.qcut(s, [0, 0.1, 0.9, 1], labels=False, duplicates="drop"),
    "quarters that may be equal": lambda m, s: m.qcut(s, 4, labels=list("abcd")),
}


@pytest.mark.parametrize("values", VALUES)
def test_intervals_are_those_of_pandas(values):
    series = pd.Series(VALUES[values], name="x")
    for name, function in CUTS.items():
        for lazy in partitionings(series)[::2]:
            try:
                expected = function(pd, series)
            except ValueError:
                with pytest.raises(ValueError, match="."):
                    function(gd, lazy).compute(**INLINE)
                continue
            got = function(gd, lazy).compute(**INLINE)
            assert_same(got, expected)
            assert got.dtype == expected.dtype, name


def test_edges_are_returned_with_the_intervals():
    series = pd.Series(VALUES["floats with missing ones"])
    lazy = gd.from_pandas(series, npartitions=3)
    for function in (
        lambda m, s: m.cut(s, 3, retbins=True),
        lambda m, s: m.cut(s, [0, 1, 5], retbins=True),
        lambda m, s: m.qcut(s, 2, retbins=True),
    ):
        (got, edges), (expected, expected_edges) = function(gd, lazy), function(pd, series)
        assert_same(got.compute(**INLINE), expected)
        np.testing.assert_allclose(edges, expected_edges)
    with pytest.raises(TypeError, match=r"qcut takes a lazy series, got list; of other values use pandas\.qcut"):
        gd.qcut([1, 2], 2)
    with pytest.raises(ValueError, match="cannot specify integer `bins` when input data contains infinity"):
        gd.cut(gd.from_pandas(pd.Series([1, np.inf]), npartitions=2), 2)


def test_edges_and_labels_that_are_lazy_are_computed():
    series = pd.Series([1, 2, 3, 4])
    lazy = gd.from_pandas(series, npartitions=2)
    for name, wanted in {"cut": series - 1, "qcut": series / 4}.items():
        lazy_wanted = gd.from_pandas(wanted, npartitions=2)
        options, lazy_options = {"labels": series[series > 1]}, {"labels": lazy[lazy > 1]}
        made = getattr(gd, name)(lazy, lazy_wanted, **lazy_options)
        assert_same(made.compute(**INLINE), getattr(pd, name)(series, wanted, **options))
