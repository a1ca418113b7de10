"""Where a join has missed values, pandas' columns stay floats or objects, also if the rows that missed them are left out later."""

from __future__ import annotations

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same

LEFT = pd.DataFrame({"k": [0, 1, 2, 3, 4, 5, 8, 9], "b": [1, 2, 1, 2, 1, 2, 7, 7]})
RIGHT = pd.DataFrame({"k": [0, 1, 2, 3, 4, 5, 20], "e": [3, 4, 3, 5, 6, 4, 9], "f": [True, False] * 3 + [True]}).assign(
    u=lambda x: x.e.astype("uint8"), t=pd.date_range("2020", periods=7), n=lambda x: x.e.astype("Int64")
)
FILTERS = {
    "rows of one side": lambda x: x[x.b < 5],
    "rows with values": lambda x: x[x.e.notna()],
    "of a comparison": lambda x: x[x.e > 3],
    "dropped": lambda x: x.dropna(subset=["e"]),
    "no rows": lambda x: x[x.b > 100],
}
ENDS = {
    "frame": lambda x: x,
    "column": lambda x: x.e,
    "sum": lambda x: x[["e", "u"]].sum(),
    "value of a column": lambda x: x.e.max(),
    "sums of groups": lambda x: x.groupby("b").e.sum(),
    "extremes of groups": lambda x: x.groupby("b")[["e", "f", "u"]].max(),
    "groups by it": lambda x: x.groupby("e").b.sum(),
    "groups by several": lambda x: x.groupby(["e", "b"]).size(),
    "groups as columns": lambda x: x.groupby(["e", "b"]).u.sum().reset_index(),
    "several of groups": lambda x: x.groupby("b").agg(m=("e", "max"), n=("b", "sum"), c=("e", "count")),
    "moved": lambda x: x.sort_values(["k", "b"])[["e", "u"]],
    "counts": lambda x: x.e.value_counts().sort_index(),
    "distinct rows": lambda x: x[["e", "u"]].drop_duplicates(),
    "largest": lambda x: x.nlargest(2, "k").e,
    "joined again": lambda x: x.merge(pd.DataFrame({"b": [1, 2, 3]}), on="b").u,
    "more columns": lambda x: x.assign(z=x.e * 2, w=x.u + 1)[["z", "w"]],
    "fewer partitions": lambda x: x[["e", "f"]],
}


def _joined(left, right, how, **options):
    return left.merge(right, on="k", how=how, **options)


@pytest.mark.pairwise
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("kept", FILTERS)
@pytest.mark.parametrize("how", ["left", "outer"])
def test_a_column_that_missed_values_is_wide_after_a_filter(how, kept, end):
    operation = lambda frame: ENDS[end](FILTERS[kept](frame))  # noqa: E731
    lazy = _joined(gd.from_pandas(LEFT, npartitions=4), gd.from_pandas(RIGHT, npartitions=2), how, broadcast=False)
    if how == "left":
        lazy = _joined(gd.from_pandas(LEFT, npartitions=4), RIGHT, how)
    found, expected = operation(lazy), operation(_joined(LEFT, RIGHT, how))
    if end == "fewer partitions":
        found = found.repartition(npartitions=1)
    found = found.compute()
    if how == "outer" and isinstance(expected, (pd.DataFrame, pd.Series)) and end != "sum":
        found, expected = found.reset_index(drop=True), expected.reset_index(drop=True)  # in the order of partitions
        by = list(expected.columns) if isinstance(expected, pd.DataFrame) else None
        found, expected = (one.sort_values(by, ignore_index=True) if by else one.sort_values(ignore_index=True)
                           for one in (found, expected))  # fmt: skip
    assert_same(_labelled(found, end), _labelled(expected, end))


def _labelled(result, end):
    """Return a result without the numbers of joined rows, which count those of each partition."""
    numbered = [
        "frame",
        "column",
        "moved",
        "distinct rows",
        "largest",
        "joined again",
        "more columns",
        "fewer partitions",
    ]
    return result.reset_index(drop=True) if end in numbered else result


def test_persisted_rows_keep_it():
    joined = _joined(gd.from_pandas(LEFT, npartitions=4), RIGHT, "left").persist()
    assert joined[joined.b < 5].e.compute().dtype == np.float64
    assert joined[joined.b < 5].persist().e.compute().dtype == np.float64


def test_a_join_that_misses_nothing_keeps_whole_numbers():
    joined = _joined(gd.from_pandas(LEFT[:6], npartitions=4), RIGHT, "left")
    assert joined[joined.b > 1].e.compute().dtype == np.int64
    assert joined[joined.b > 100].groupby("b").u.sum().compute().dtype == np.uint8


@pytest.mark.parametrize("kept", FILTERS)
def test_groups_in_several_partitions(kept):
    lazy = FILTERS[kept](_joined(gd.from_pandas(LEFT, npartitions=4), RIGHT, "left"))
    expected = FILTERS[kept](_joined(LEFT, RIGHT, "left")).groupby("b")[["e", "f", "u"]].max()
    found = lazy.groupby("b")[["e", "f", "u"]].max(split_out=3).compute()
    assert_same(found.sort_index(), expected)


def test_groups_whose_keys_are_all_missing_in_a_partition():
    lazy = _joined(gd.from_pandas(LEFT, npartitions=4), RIGHT, "left")
    assert_same(lazy.groupby("e").u.max().compute(), _joined(LEFT, RIGHT, "left").groupby("e").u.max())


def test_missing_labels_of_a_nullable_dtype_are_cut_by_divisions():
    labels = pd.array([None, 2, 0, 3, 1, 4], dtype="Int64")
    frame = pd.DataFrame({"x": range(6)}, index=pd.Index(labels, name="k"))
    other = pd.DataFrame({"y": [1, 2]}, index=pd.Index(pd.array([0, 4], dtype="Int64"), name="k"))
    found = gd.from_pandas(frame, npartitions=2).merge(
        gd.from_pandas(other, npartitions=2), left_index=True, right_index=True, how="outer"
    )
    expected = frame.merge(other, left_index=True, right_index=True, how="outer")
    assert_same(found.compute().sort_values("x"), expected.sort_values("x"))
