"""`groupby(...).apply` over several partitions: what pandas makes of results whose kind depends on the groups of all partitions."""

from __future__ import annotations

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same
from glassloom.errors import MetaError

INLINE = {"scheduler": "inline"}
FRAME = pd.DataFrame(
    {
        "k": list("aabbcccd"),
        "x": range(8),
        "c": list("uvuuvwwu"),
        "f": [0.5, 1, 2, np.nan, 3, 1, 2, 9],
        "i": pd.array([1, 2, None, 4, 5, 6, 7, 8], dtype="Int64"),
    }
)


def _sum_of_several(group):
    return None if len(group) < 2 else group.x.sum()


def _sum_without_first(group):
    return None if group.x.min() < 2 else group.x.sum()


RESULTS = {
    "series of unlike lengths": lambda g: g.apply(lambda group: group.x.value_counts()),
    "a series of the rows": lambda g: g.apply(lambda group: group.x * 2),
    "a nullable series of the rows": lambda g: g.apply(lambda group: group.i + 1),
    "series of the same labels": lambda g: g[["x", "f"]].apply(lambda group: group.sum()),
    "values": lambda g: g.apply(lambda group: group.f.sum()),
    "frames": lambda g: g.apply(lambda group: group.head(1)),
    "values, None before others": lambda g: g.apply(_sum_without_first),
    "rows, None before others": lambda g: g[["x", "f"]].apply(lambda h: None if h.x.min() == 0 else h.sum()),
}
NONE_FOR_ONE_ROW = {
    "values": lambda g: g.apply(_sum_of_several),
    "texts": lambda g: g.apply(lambda group: None if len(group) < 2 else "".join(group.c)),
    "rows": lambda g: g[["x", "f"]].apply(lambda group: None if len(group) < 2 else group.sum()),
    "frames": lambda g: g.apply(lambda group: None if len(group) < 2 else group),
    "values of a column": lambda g: g.x.apply(lambda group: None if len(group) < 2 else group.sum()),
}


@pytest.mark.parametrize("npartitions", [1, 2, 8])
@pytest.mark.parametrize("by", ["k", ["k", "c"]])
@pytest.mark.parametrize("name", RESULTS)
def test_results_of_groups_of_all_partitions_make_what_pandas_makes(name, by, npartitions):
    expected = RESULTS[name](FRAME.groupby(by))
    lazy = gd.from_pandas(FRAME, npartitions=npartitions)
    assert_same(RESULTS[name](lazy.groupby(by)).compute(**INLINE), expected)


@pytest.mark.parametrize("options", [{"group_keys": False}, {"as_index": False}])
@pytest.mark.parametrize("name", ["a series of the rows", "values, None before others", "rows, None before others"])
def test_results_have_the_labels_that_the_options_say(name, options):
    expected = RESULTS[name](FRAME.groupby("k", **options))
    for npartitions in (2, 8):
        lazy = gd.from_pandas(FRAME, npartitions=npartitions).groupby("k", **options)
        assert_same(RESULTS[name](lazy).compute(**INLINE), expected)


@pytest.mark.parametrize("npartitions", [1, 3, 8])
@pytest.mark.parametrize("name", NONE_FOR_ONE_ROW)
def test_groups_for_which_a_function_returns_none_are_missing_as_in_pandas(name, npartitions):
    expected = NONE_FOR_ONE_ROW[name](FRAME.groupby("k"))
    assert_same(
        NONE_FOR_ONE_ROW[name](gd.from_pandas(FRAME, npartitions=npartitions).groupby("k")).compute(**INLINE), expected
    )


def test_another_kind_of_result_than_that_of_made_up_rows_is_an_error_that_names_meta():
    def rows(group):
        return group.x if len(group) > 1 else pd.Series([0], index=["only"])

    lazy = gd.from_pandas(FRAME, npartitions=3)
    with pytest.raises(
        MetaError, match=r"other labels for other groups, .* one long series; .* meta=, an empty series"
    ):
        lazy.groupby("k").apply(rows).compute(**INLINE)
    with pytest.raises(MetaError, match=r"the same labels for all groups, .* meta=, an empty frame"):
        lazy[lazy.k == "a"].groupby("k").apply(lambda group: group.x).compute(**INLINE)
    with pytest.raises(MetaError, match=r"meta= is a frame, .* give meta=, an empty series"):
        lazy.groupby("k").apply(lambda group: group.x, meta={"x": "int64"}).compute(**INLINE)
    with pytest.raises(MetaError, match="returned None for two made-up rows"):
        lazy.groupby("k", as_index=False).apply(_sum_of_several)


def test_a_meta_that_is_a_series_makes_one_of_series_with_the_same_labels_in_a_partition():
    def counts(group):
        return group.c.value_counts()

    expected = FRAME.groupby("k").apply(counts)
    made = gd.from_pandas(FRAME, npartitions=8).groupby("k").apply(counts, meta=expected.iloc[:0])
    assert_same(made.compute(**INLINE), expected)
