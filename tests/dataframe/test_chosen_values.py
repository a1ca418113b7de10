"""A series is filtered to the same rows as by pandas' subscript, whichever way is quicker."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same
from glassloom.dataframe.block_steps import chosen_rows

ROWS = 40
NUMBERS = np.random.default_rng(3).random(ROWS)
INDEXES = {
    "numbered": pd.RangeIndex(ROWS, name="place"),
    "repeated": pd.Index(np.arange(ROWS) // 3),
    "unsorted": pd.Index(np.argsort(NUMBERS)),
    "texts": pd.Index([f"row {number % 7}" for number in range(ROWS)]),
    "times": pd.date_range("2024-01-01", periods=ROWS, freq="h"),
    "levels": pd.MultiIndex.from_product([range(ROWS // 4), list("abcd")], names=["n", "s"]),
    "categories": pd.CategoricalIndex(list("abcd") * (ROWS // 4)),
}
KINDS = ["float32", "int64", "bool", "object", "str", "category", "Int64", "datetime64[ns, UTC]", "double[pyarrow]"]
SHARES = [-1.0, 0.1, 0.5, 0.75, 0.8, 2.0]


def of_kind(kind, index):
    numbers = (NUMBERS * 9).round()
    if kind == "str":
        return pd.Series(numbers, index).astype(str)
    return pd.Series(numbers > 4 if kind == "bool" else numbers, index, name="x").astype("int64").astype(kind)


@pytest.mark.parametrize("index", INDEXES.values(), ids=INDEXES)
@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_those_of_the_subscript(index, kind):
    series = of_kind(kind, index)
    masks = [pd.Series(np.less(NUMBERS, share), index) for share in SHARES]
    masks.append(pd.Series(np.arange(ROWS) < ROWS // 3, index))
    for mask in masks:
        got, expected = chosen_rows(series, mask), series[mask]
        assert_same(got, expected)
        assert getattr(got.index, "freq", None) == getattr(expected.index, "freq", None)


@pytest.mark.parametrize("dtype", ["boolean", "bool[pyarrow]"])
@pytest.mark.parametrize("share", SHARES)
def test_a_missing_condition_chooses_no_row(dtype, share):
    series = of_kind("int64", INDEXES["repeated"])
    mask = pd.Series(np.less(NUMBERS, share), series.index).astype(dtype)
    mask.iloc[::5] = pd.NA
    assert_same(chosen_rows(series, mask), series[mask])


def test_rows_are_found_by_label_where_a_condition_has_others():
    series = of_kind("int64", INDEXES["numbered"])
    mask = pd.Series(NUMBERS < 0.4, series.index)[::-1]
    assert_same(chosen_rows(series, mask), series[mask[::-1]])
    with pytest.raises(pd.errors.IndexingError, match="Unalignable boolean Series"):
        chosen_rows(series, mask.iloc[5:])


def test_a_series_without_rows_stays_as_it_is():
    none = of_kind("category", INDEXES["times"]).iloc[:0]
    assert_same(chosen_rows(none, pd.Series([], none.index, dtype=bool)), none)


def test_half_of_the_rows_are_taken_by_their_places(monkeypatch):
    asked = []
    take = pd.Series.take
    monkeypatch.setattr(
        pd.Series, "take", lambda self, *args, **options: asked.append(1) or take(self, *args, **options)
    )
    series = of_kind("int64", INDEXES["numbered"])
    chosen_rows(series, pd.Series(NUMBERS < 0.5, series.index))
    taken = len(asked)
    chosen_rows(series, pd.Series(NUMBERS < 2.0, series.index))
    assert (taken > 0, len(asked)) == (True, taken)
