"""Group-bys where most rows are a group of their own: text travels as codes, and partial results in the order of their keys."""

from __future__ import annotations

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same, by_keys
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE
from glassloom.dataframe import sorting
from glassloom.dataframe.grouping import encode as encoding
from glassloom.dataframe.grouping import groups as groups_module
from glassloom.dataframe.grouping.tables import CodedKey, column_of, joined, series_of
from hypothesis import given, settings
from hypothesis import strategies as st
from long_tests import examples

INLINE = {"scheduler": "inline"}
KINDS = {
    "number": lambda random, n: random.integers(-n, n, n),
    "far number": lambda random, n: random.integers(-(2**45), 2**45, n),
    "small number": lambda random, n: random.integers(0, 200, n).astype("uint8"),
    "float": lambda random, n: random.normal(size=n).round(1),
    "missing float": lambda random, n: np.where(random.random(n) < 0.2, np.nan, random.integers(0, n, n)),
    "text": lambda random, n: pd.Series(random.integers(0, n, n)).map("t{}ä".format).to_numpy(),
    "missing text": lambda random, n: (
        pd.Series(random.integers(0, n, n)).map("t{}".format).where(random.random(n) < 0.8).array
    ),
    "few texts": lambda random, n: np.array(["b", "a", ""])[random.integers(0, 3, n)],
    "objects": lambda random, n: np.array([None, "a", "b"], object)[random.integers(0, 3, n)],
    "category": lambda random, n: pd.Categorical.from_codes(random.integers(-1, 3, n), list("zyx")),
    "time": lambda random, n: pd.Timestamp("2020-01-01") + pd.to_timedelta(random.integers(0, n, n), unit="s"),
    "nullable": lambda random, n: pd.array(random.integers(0, n, n), "Int64"),
}


@pytest.fixture(autouse=True)
def any_number_of_rows_is_many(monkeypatch):
    monkeypatch.setattr(sorting, "_FROM", 4)
    monkeypatch.setattr(sorting, "_STRIDE", 1)
    monkeypatch.setattr(sorting, "_SAMPLED_FROM", 8)
    monkeypatch.setattr(sorting, "_SAMPLED", 8)
    monkeypatch.setattr(encoding, "_DENSE", 0)
    monkeypatch.setattr(encoding, "_DENSE_FACTOR", 1)


@settings(max_examples=examples(80), deadline=None)
@given(
    kinds=st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=3),
    n=st.integers(1, 60),
    npartitions=st.integers(1, 5),
    split_every=st.sampled_from([2, 8]),
    split_out=st.sampled_from([1, 1, 3]),
    sort=st.booleans(),
    dropna=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_aggregations_are_those_of_pandas(kinds, n, npartitions, split_every, split_out, sort, dropna, seed):
    random = np.random.default_rng(seed)
    frame = pd.DataFrame({f"k{place}": KINDS[kind](random, n) for place, kind in enumerate(kinds)})
    keys = list(frame.columns)
    frame["x"], frame["i"] = random.normal(size=n), random.integers(0, 9, n)
    aggregations = {"x": ["sum", "max", "var"], "i": ["sum", "nunique", "count"]}
    expected = frame.groupby(keys, sort=sort, dropna=dropna, observed=True).agg(aggregations)
    lazy = gd.from_pandas(frame, npartitions=npartitions).groupby(keys, sort=sort, dropna=dropna, observed=True)
    found = lazy.agg(aggregations, split_every=split_every, split_out=split_out).compute(**INLINE)
    if split_out > 1:
        found, expected = by_keys(found), by_keys(expected)
    assert_same(found, expected)


TEXT = "str" if HAS_COPY_ON_WRITE else "string[pyarrow]"


def test_coded_columns_are_joined_by_their_distinct_values():
    texts = [["b", None, "a", "b"], ["c", "b"], [None]]
    columns = []
    for some in texts:
        codes, values = pd.factorize(pd.Series(some, dtype=TEXT))
        columns.append(CodedKey(codes.astype(np.intp), pd.array(values, TEXT)))
    found = joined([{"k0": column} for column in columns])["k0"]
    assert isinstance(found, CodedKey)
    assert sorted(found.values) == ["a", "b", "c"]
    expected = pd.Series([text for some in texts for text in some], dtype=TEXT)
    pd.testing.assert_series_equal(series_of(found), expected)


def test_columns_of_unlike_kinds_are_joined_as_pandas_does():
    tables = [
        {"k0": column_of(pd.Series([1, 2]))},
        {"k0": column_of(pd.Series([0.5]))},
        {"k0": column_of(pd.Series([], dtype=object))},
    ]
    assert series_of(joined(tables)["k0"]).tolist() == [1, 2, 0.5]


@settings(max_examples=examples(60), deadline=None)
@given(
    sizes=st.lists(st.integers(1, 3), min_size=1, max_size=40),
    kind=st.sampled_from(["int8", "int64", "float32", "float64"]),
    mostly=st.sampled_from([0.0, 0.5, 2.0]),
    at_once=st.integers(1, 50),
)
def test_sums_and_extremes_of_rows_in_order_are_those_of_each_group(sizes, kind, mostly, at_once):
    keys = pd.Series(np.repeat(np.arange(len(sizes)), sizes))
    values = pd.Series(np.random.default_rng(len(sizes)).integers(-9, 9, len(keys)).astype(kind))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(groups_module, "_MOSTLY", mostly)
        patch.setattr(groups_module, "_AT_ONCE", at_once)
        groups = groups_module.GroupsInOrder(keys.to_numpy(), np.cumsum([0, *sizes[:-1]]))
        grouped = values.groupby(keys)
        sums, counts = groups.sums_of_columns([values.to_numpy(), None])
        assert (sums.tolist(), counts.tolist()) == (grouped.sum().tolist(), sizes)
        least, most = (groups.extreme(better, values.to_numpy()) for better in (np.minimum, np.maximum))
    assert (least.tolist(), most.tolist()) == (grouped.min().tolist(), grouped.max().tolist())
    assert least.dtype == kind
