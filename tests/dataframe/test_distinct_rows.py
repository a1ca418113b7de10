"""`value_counts` and `unique` of groups: values, order and levels are pandas', and no rows move."""

from __future__ import annotations

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same, labels
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE
from hypothesis import given
from hypothesis import strategies as st

INLINE = {"scheduler": "inline"}


def rows_of(seed, n=60):
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "a": random.integers(0, 4, n),
            "b": random.choice(list("zyxwvu"), n),
            "c": random.choice([1.5, np.nan, 2], n),
            "d": pd.array(random.choice([1, 2, None], n), dtype="Int64"),
            "e": random.choice([True, False], n),
            "t": pd.to_datetime(random.integers(0, 3, n), unit="D"),
        }
    )
    frame.loc[random.random(n) < 0.1, "b"] = None
    return frame


COUNTED = {
    "a column": lambda f, o: f.groupby("a").b.value_counts(**o),
    "numbers of texts": lambda f, o: f.groupby("b").c.value_counts(**o),
    "several keys": lambda f, o: f.groupby(["a", "e"]).c.value_counts(**o),
    "missing keys too": lambda f, o: f.groupby("c", dropna=False).d.value_counts(**o),
    "keys as they come": lambda f, o: f.groupby("b", sort=False).a.value_counts(**o),
    "several columns": lambda f, o: f.groupby("a")[["b", "e"]].value_counts(**o),
    "all columns": lambda f, o: f[["a", "b", "t"]].groupby("a").value_counts(**o),
    "some columns": lambda f, o: f.groupby("a").value_counts(subset=["b", "e"], **o),
    "a series by another": lambda f, o: f.b.groupby(f.a).value_counts(**o),
    "booleans of times": lambda f, o: f.groupby("t").e.value_counts(**o),
    "the key itself": lambda f, o: f.groupby("a").a.value_counts(**o),
    "numbered": lambda f, o: f.groupby("a", as_index=False).b.value_counts(**o),
    "categories": lambda f, o: f.assign(b=f.b.astype("category")).groupby("a", observed=True).b.value_counts(**o),
}
OPTIONS = st.sampled_from(
    [
        {},
        {"sort": False},
        {"ascending": True},
        {"normalize": True},
        {"dropna": False},
        {"dropna": False, "normalize": True},
    ]
)


@pytest.mark.parametrize("count", COUNTED.values(), ids=COUNTED)
@given(seed=st.integers(0, 999), options=OPTIONS, npartitions=st.sampled_from([1, 4, 7]))
def test_values_are_counted_as_by_pandas(count, seed, options, npartitions):
    frame = rows_of(seed)
    expected = count(frame, options)
    got = count(gd.from_pandas(frame, npartitions=npartitions, sort=False), options).compute(**INLINE)
    if not HAS_COPY_ON_WRITE:  # pandas 2 leaves the order of equal counts open
        expected, got = expected.sort_index(), got.sort_index()
    assert_same(got, expected)
    if HAS_COPY_ON_WRITE and isinstance(expected.index, pd.MultiIndex):
        assert_same(got.unstack(), expected.unstack())


@pytest.mark.parametrize("split_out", [1, 2])
@pytest.mark.parametrize(
    "count",
    [
        lambda f, o: f.groupby("a", observed=True).b.value_counts(**o),
        lambda f, o: f.groupby("a", observed=True, as_index=False).b.value_counts(**o),
        lambda f, o: f.groupby(["a", "e"], observed=True).b.value_counts(**o),
        lambda f, o: f.groupby("a", observed=True)[["b", "e"]].value_counts(**o),
    ],
    ids=["a column", "numbered", "two keys", "a frame"],
)
def test_categories_and_missing_ones_of_other_groups_are_counted_as_in_pandas(count, split_out):
    categories = pd.Categorical(["x", None, "y", "x", "x", "y"], categories=["x", "y", "z"])
    frame = pd.DataFrame({"a": [0, 0, 0, 1, 1, 2], "b": categories, "e": [True, False, True, False, True, True]})
    lazy = gd.from_pandas(frame, npartitions=6)
    for options in ({}, {"dropna": False}):
        expected, got = count(frame, options), count(lazy, {**options, "split_out": split_out}).compute(**INLINE)
        if isinstance(expected, pd.Series):  # equally frequent ones may come in another order
            expected, got = (one.sort_index(na_position="first") for one in (expected, got))
        else:
            expected, got = (one.sort_values(["a", "b"], ignore_index=True) for one in (expected, got))
        assert_same(got, expected)


UNIQUE = {
    "texts": lambda f: f.groupby("a").b.unique(),
    "missing keys too": lambda f: f.groupby("b", dropna=False).c.unique(),
    "several keys as they come": lambda f: f.groupby(["a", "e"], sort=False).d.unique(),
    "times": lambda f: f.groupby("a")["t"].unique(),
    "a series by another": lambda f: f.e.groupby(f.a).unique(),
}


@pytest.mark.parametrize("unique", UNIQUE.values(), ids=UNIQUE)
@given(seed=st.integers(0, 999))
def test_distinct_values_are_those_of_pandas(unique, seed):
    frame = rows_of(seed)
    expected, got = unique(frame), unique(gd.from_pandas(frame, npartitions=4, sort=False)).compute(**INLINE)
    pd.testing.assert_index_equal(got.index, expected.index)
    assert got.name == expected.name
    assert got.dtype == expected.dtype
    for one, other in zip(got, expected, strict=True):
        pd.testing.assert_series_equal(pd.Series(one), pd.Series(other))


@pytest.mark.skipif(not HAS_COPY_ON_WRITE, reason="pandas 2 counts in another order")
def test_no_rows_move_where_the_distinct_ones_suffice():
    frame = gd.from_pandas(rows_of(0), npartitions=4, sort=False)
    for made in (frame.groupby("a").b.value_counts(), frame.groupby("a").b.unique()):
        assert not any("exchange" in label or "whole" in label or "split" in label for label in labels(made))
        assert any(label.endswith("-chunk") for label in labels(made))
    several = frame.groupby("a").b.value_counts(split_out=3)
    assert several.npartitions == 3


def test_partitions_without_rows_and_frames_without_any_count_nothing():
    frame = rows_of(1)
    lazy = gd.from_pandas(frame, npartitions=4, sort=False)
    some, none = lazy[lazy.a == 2], lazy[lazy.a > 99]
    assert_same(some.groupby("a").c.value_counts().compute(**INLINE), frame[frame.a == 2].groupby("a").c.value_counts())
    assert_same(none.groupby("a").c.value_counts().compute(**INLINE), frame[frame.a > 99].groupby("a").c.value_counts())
    assert len(none.groupby("a").b.unique().compute(**INLINE)) == 0


COUNTS = {
    "a Grouper": lambda f: f.groupby(pd.Grouper(key="k")).i.value_counts(),
    "a Grouper, unsorted": lambda f: f.groupby(pd.Grouper(key="k"), sort=False)[["i", "b"]].value_counts(),
    "a key of a column's name": lambda f: f.groupby(f.i % 2)[["i", "b"]].value_counts(),
    "a key of a column's name, as columns": lambda f: f.groupby(f.i % 2).value_counts(subset=["i"], normalize=True),
}


@pytest.mark.skipif(not HAS_COPY_ON_WRITE, reason="pandas 2 orders them otherwise")
@pytest.mark.parametrize("call", COUNTS.values(), ids=COUNTS)
def test_counts_of_groups_that_keys_are_named_for_are_those_of_pandas(call):
    plain = pd.DataFrame({"k": list("cabcaabb"), "i": [0, 1, 2, 1] * 2, "b": [True, False] * 4})
    for npartitions in (1, 3):
        lazy = gd.from_pandas(plain, npartitions=npartitions)
        assert_same(call(lazy).compute(scheduler="inline"), call(plain))
