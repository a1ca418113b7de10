"""`value_counts` and `unique` have pandas' order also where their results have several partitions."""

import warnings

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE
from glassloom.errors import OptionError

INLINE = {"scheduler": "inline"}
KEYS = [3, 1, 3, 2, 1, 5, 9, 2, 2, 7, 8, 8, 1, 6, 3]
MISSING = [place % 4 == 2 for place in range(len(KEYS))]
SERIES = {
    "integers": pd.Series(KEYS, name="count"),
    "floats": pd.Series(KEYS, dtype=float).mask(MISSING),
    "booleans": pd.Series(KEYS) > 4,
    "texts": pd.Series(list(map(str, KEYS)), name="t").mask(MISSING),
    "times": pd.Series(pd.to_datetime(KEYS, unit="D").tz_localize("Europe/Berlin")).mask(MISSING),
    "durations": pd.Series(pd.to_timedelta(KEYS, unit="h"), name=0),
    "nullable integers": pd.Series(KEYS, dtype="Int16").mask(MISSING),
    "Arrow's floats": pd.Series(KEYS, dtype="float64[pyarrow]").mask(MISSING),
    "Arrow's texts": pd.Series(list(map(str, KEYS)), dtype="string[pyarrow]").mask(MISSING),
    "objects": pd.Series([1, "a", None, 1.5, 1, "a", (1, 2), np.nan] * 2, dtype=object, name="o"),
    "categories": pd.Series(pd.Categorical(list(map(str, KEYS)), categories=list("987654321"))),
    "one row": pd.Series([7]),
    "nullable floats of equal counts": pd.Series([None, 2, 1, None, 2, 1], dtype="Float64"),
    "nullable booleans of equal counts": pd.Series([None, True, False, True, None, False], dtype="boolean"),
    "categories of equal counts": pd.Series([None, "b", "a", None, "b", "a"], dtype="category"),
    "Arrow's floats of equal counts": pd.Series([None, 2, 1, None, 2, 1], dtype="float64[pyarrow]"),
    "floats of equal counts": pd.Series([None, 2, 1, None, 2, 1]),
}


def partitions_of(series):
    """Return a lazy series of three partitions with rows and two without."""
    ends = [0, 0, len(series) // 3, len(series) // 2, len(series) // 2, len(series)]
    pieces = [series.iloc[start:end] for start, end in zip(ends, ends[1:], strict=False)]
    return gd.from_map(pieces.__getitem__, range(5), meta=series.iloc[:0])


def of_no_order(counts):
    """Return counts as they are; before pandas 3, which leaves open in which order values of equal counts come, in that of the values."""
    if HAS_COPY_ON_WRITE:
        return counts
    as_text = counts.index.map(str)
    return counts.iloc[np.lexsort([as_text, counts.to_numpy(float)])]


@pytest.mark.parametrize("split_out", [1, 2, True])
@pytest.mark.parametrize("name", SERIES)
def test_counts_in_several_partitions_have_the_order_of_pandas(name, split_out):
    series = SERIES[name]
    lazy = partitions_of(series)
    for options in (
        {}, {"sort": False}, {"ascending": True, "dropna": False}, {"normalize": True, "dropna": False}, {"normalize": True},
        {"sort": False, "dropna": False},
    ):  # fmt: skip
        got = lazy.value_counts(**options, split_out=split_out)
        assert got.npartitions == (5 if split_out is True else split_out)
        assert_same(of_no_order(got.compute(**INLINE)), of_no_order(series.value_counts(**options)))


@pytest.mark.parametrize("split_out", [1, 2])
@pytest.mark.parametrize("name", ["integers", "floats", "booleans", "texts", "times"])
def test_counting_warns_of_nothing_that_pandas_does_not_warn_of(name, split_out):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert partitions_of(SERIES[name]).value_counts(split_out=split_out).compute(**INLINE).sum()


@pytest.mark.parametrize("split_out", [1, 3])
@pytest.mark.parametrize("name", SERIES)
def test_distinct_values_in_several_partitions_have_the_order_of_pandas(name, split_out):
    series = SERIES[name]
    got = partitions_of(series).unique(split_out=split_out)
    assert got.npartitions == split_out
    assert_same(got.compute(**INLINE), series.drop_duplicates().reset_index(drop=True))


def test_counts_of_no_values_have_the_dtypes_of_pandas():
    for series in (SERIES["integers"], SERIES["texts"], SERIES["nullable integers"]):
        empty = series.iloc[:0]
        assert_same(partitions_of(empty).value_counts(split_out=3).compute(**INLINE), empty.value_counts())
        assert_same(partitions_of(empty).unique(split_out=3).compute(**INLINE), empty)


def test_counts_of_many_values_are_spread_over_the_partitions():
    series = pd.Series(np.random.default_rng(7).integers(0, 5_000, 20_000), name="x")
    counts = gd.from_pandas(series, npartitions=6).value_counts(split_out=4)
    assert_same(of_no_order(counts.compute(**INLINE)), of_no_order(series.value_counts()))
    assert min(counts.map_partitions(len).compute(**INLINE)) > 200
    distinct = gd.from_pandas(series, npartitions=6).unique(split_out=4)
    assert min(distinct.map_partitions(len).compute(**INLINE)) > 200


def test_counts_of_labels_and_bins_and_numbers_of_values_take_several_partitions():
    series = SERIES["integers"]
    lazy = gd.from_pandas(series, npartitions=3)
    assert_same(lazy.value_counts(bins=3, split_out=2).compute(**INLINE), series.value_counts(bins=3))
    labels = series.set_axis(KEYS, axis=0)
    index = gd.from_pandas(labels, npartitions=3, sort=False).index
    assert_same(
        of_no_order(index.value_counts(split_out=2).compute(**INLINE)), of_no_order(labels.index.value_counts())
    )
    assert lazy.nunique(split_out=2).compute(**INLINE) == series.nunique()
    assert index.nunique(split_out=3).compute(**INLINE) == series.nunique()


@pytest.mark.parametrize(
    "labels",
    [
        pd.Index(list("cabbacd"), name="key"),
        pd.Index([3, 1, 3, 2, 1, 5, 3]),
        pd.Index([2.5, np.nan, 1.0, np.nan, 2.5, 0.0, -1.0]),
        pd.to_datetime(["2001-01-02", "2000-01-01", None, "2001-01-02", "1999-01-01", "2000-01-01", "2002-02-02"]),
        pd.CategoricalIndex(list("cabbacd"), categories=list("dcbaz")),
    ],
)
def test_distinct_labels_come_in_order_of_appearance_in_several_partitions(labels):
    index = gd.from_pandas(pd.Series(range(7), index=labels), npartitions=3, sort=False).index
    for method in ("unique", "drop_duplicates"):
        found = getattr(index, method)(split_out=2)
        assert found.npartitions == 2
        assert_same(found.compute(**INLINE), labels.unique())


@pytest.mark.parametrize("method", ["value_counts", "unique", "drop_duplicates"])
def test_what_is_no_number_of_partitions_is_refused(method):
    lazy = gd.from_pandas(SERIES["integers"], npartitions=3)
    with pytest.raises(OptionError, match="split_out=0 should be a whole number, 1 or more, or True"):
        getattr(lazy, method)(split_out=0)


def test_a_value_is_in_unique_as_in_an_array():
    lazy = gd.from_pandas(pd.Series(["x", "y", "x", None], index=[5, 6, 7, 8]), npartitions=2)
    for distinct in (lazy.unique(), lazy.unique(split_out=2), lazy.unique().persist()):
        assert "x" in distinct
        assert 0 not in distinct
    assert "x" not in lazy
    assert 5 in lazy
    assert 0 in lazy.unique().drop_duplicates()
