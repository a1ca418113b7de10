"""`groupby(...).groups` and `indices`, `agg(axis=1)` and `Series.pop`, against pandas."""

from __future__ import annotations

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same, partitionings

INLINE = {"scheduler": "inline"}
FRAME = pd.DataFrame(
    {"k": list("abacab"), "j": [1, 1, 2, 2, 1, 1], "x": [1.0, 2, 3, 4, 5, 6], "y": [3, 2, 1, 6, 5, 4]},
    index=list("uvwxyz"),
)
GROUPINGS = {
    "a column": lambda f: f.groupby("k"),
    "two columns": lambda f: f.groupby(["k", "j"]),
    "a chosen column": lambda f: f.groupby("k").x,
    "a condition": lambda f: f.groupby(f.x > 2),
    "a series": lambda f: f.x.groupby(f.k, sort=False),
    "labels": lambda f: f.groupby(level=0),
}


@pytest.mark.parametrize("name", GROUPINGS)
def test_groups_and_indices_are_those_of_pandas(name):
    expected = GROUPINGS[name](FRAME)
    for lazy in partitionings(FRAME):
        found = GROUPINGS[name](lazy)
        groups, indices = found.groups, found.indices
        assert list(groups) == list(expected.groups)
        assert list(indices) == list(expected.indices)
        for key in groups:
            assert groups[key].equals(expected.groups[key])
            assert np.array_equal(indices[key], expected.indices[key])


def test_groups_of_bins_beside_other_keys_are_refused():
    lazy = gd.from_pandas(FRAME.assign(t=pd.date_range("2020", periods=6)), npartitions=2)
    with pytest.raises(NotImplementedError, match=r"GroupBy.groups isn't there of bins of times: size\(\)"):
        _ = lazy.groupby([pd.Grouper(key="t", freq="2D"), "k"]).groups


@pytest.mark.parametrize("dtype", ["int64", "float32", "uint8", "bool"])
@pytest.mark.parametrize("how", [["max", "count"], ["mean", "size", "min"], ["sum", "any"]])
def test_reductions_of_a_row_have_one_dtype(how, dtype):
    frame = pd.DataFrame({"a": [1, 2, 0], "b": [4, 5, 1]}).astype(dtype)
    assert_same(gd.from_pandas(frame, npartitions=2).agg(how, axis=1).compute(**INLINE), frame.agg(how, axis=1))


@pytest.mark.parametrize("how", ["sum", ["min", "max"], "size", ["size", "sum"], lambda row: row.x - row.y])
def test_agg_reduces_rows(how):
    expected = FRAME[["x", "y"]].agg(how, axis=1)
    assert_same(gd.from_pandas(FRAME, npartitions=3)[["x", "y"]].agg(how, axis=1).compute(**INLINE), expected)


def test_agg_of_rows_says_what_it_takes():
    with pytest.raises(
        NotImplementedError, match="with axis=1 give the name of a reduction, a list of names, or a fun"
    ):
        gd.from_pandas(FRAME, npartitions=3).agg({"u": "sum"}, axis=1)


def test_pop_takes_a_value_out_of_a_series():
    lazy, expected = gd.from_pandas(FRAME.x, npartitions=3), FRAME.x.copy()
    assert lazy.pop("w").compute(**INLINE) == expected.pop("w")
    assert_same(lazy.compute(**INLINE), expected)


def test_a_scalar_says_how_all_rows_of_its_label_are_chosen():
    with pytest.raises(AttributeError, match=r"'sum'; .* and loc\[\[label\]\] a series of all rows of a label"):
        gd.from_pandas(FRAME.set_index("k"), npartitions=2, sort=False).loc["a", "x"].sum()
