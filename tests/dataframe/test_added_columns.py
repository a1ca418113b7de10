"""Columns added by `insert` and by values at hand, labels at hand for `set_index`, and values of labels by `get`."""

from __future__ import annotations

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same

INLINE = {"scheduler": "inline"}


@pytest.mark.parametrize(
    "names", [["a", "b", "c"], ["a", "b", "a"], pd.MultiIndex.from_tuples(["pa", "qb", "qc"])], ids=str
)
def test_columns_are_inserted_beside_others_of_their_name(names):
    plain = pd.DataFrame([[1, 2.5, "x"], [3, 4.5, "y"], [5, 6.5, "z"]], columns=names)
    new, other = ("a", "new") if isinstance(names, list) else (("p", "a"), ("n", "m"))
    for column, value in ((new, 5), (other, [7, 8, 9]), (new, pd.Series([1.5, 2.5]))):
        expected, lazy = plain.copy(), gd.from_pandas(plain, npartitions=2)
        expected.insert(1, column, value, allow_duplicates=True)
        lazy.insert(1, column, value, allow_duplicates=True)
        assert_same(lazy.compute(**INLINE), expected)
        assert lazy.columns.equals(expected.columns)
    with pytest.raises(
        ValueError, match="cannot insert 'a', which is there already; allow_duplicates=True adds another"
    ):
        gd.from_pandas(pd.DataFrame({"a": [1]})).insert(0, "a", 1)


@pytest.mark.parametrize("dtype", [object, "str", "string"])
def test_an_index_at_hand_keeps_its_dtype_where_it_is_set(dtype):
    plain = pd.DataFrame({"x": [1, 2, 3]})
    lazy = gd.from_pandas(plain, npartitions=2)
    for labels in (pd.Index(list("abc"), dtype=dtype, name="i"), pd.Series(list("abc"), dtype=dtype)):
        for options in ({}, {"sort": False}):
            assert_same(lazy.set_index(labels, **options).compute(**INLINE), plain.set_index(labels))


def test_a_frame_without_rows_gets_those_of_values_at_hand():
    plain = pd.DataFrame({"a": pd.Series([], dtype="int64")})
    for value in ([1, 2], pd.Series([1.5]), np.array([1, 2]), [], pd.Series([], dtype="int8"), 5):
        lazy = gd.from_pandas(plain)
        lazy["b"] = value
        assert_same(lazy.compute(**INLINE), plain.assign(b=value))


def test_values_of_labels_are_the_default_if_one_is_not_there():
    plain = pd.Series([1, 2, 3, 4], index=[1.0, np.nan, 3.0, 3.0])
    lazy = gd.from_pandas(plain, npartitions=2, sort=False)
    for labels in ([1.0, 3.0], [2, 30], [20, 30], [1, 30], [30, np.nan]):
        expected, got = plain.get(labels, "none"), lazy.get(labels, "none")
        if isinstance(expected, str):
            assert got == expected
        else:
            assert_same(got.compute(**INLINE), expected)


def test_labels_of_a_series_are_given_once():
    with pytest.raises(
        TypeError, match=r"reindex of a series: labels=\[1\] and index=\[0\] are the same; give one of both"
    ):
        gd.from_pandas(pd.Series([1, 2])).reindex([1], index=[0])
