"""Groups by series of other rows, or cut at other labels: they go by label, as in pandas."""

from __future__ import annotations

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same
from glassloom.errors import DivisionError

INLINE = {"scheduler": "inline"}
PLAIN = pd.DataFrame(
    {
        "a": range(12),
        "k": [1, 2, 3] * 4,
        "s": ["x", None, "y", "x"] * 3,
        "c": pd.Categorical(list("ppqqppqqpppq")),
        "n": pd.array([1, None, 2, 1] * 3, dtype="Int64"),
    },
    index=pd.Index(range(10, 34, 2), name="i"),
)
LAZY = gd.from_pandas(PLAIN, npartitions=3)
EMPTY = LAZY[LAZY.a.between(4, 7)]
"""The first and the last of its partitions are empty."""
KEYS = {
    "others' divisions": (PLAIN.k, lambda s: gd.from_pandas(s, npartitions=2)),
    "some rows": (PLAIN.k.iloc[3:], lambda s: gd.from_pandas(s, npartitions=2)),
    "some rows in one partition": (PLAIN.s.iloc[2:9], lambda s: gd.from_pandas(s, npartitions=1)),
    "labels outside": (
        pd.Series([7, 8, 7, 8, 9], index=[0, 10, 14, 32, 99], name="w"),
        lambda s: gd.from_pandas(s, npartitions=4),
    ),
    "in another order": (PLAIN.k.iloc[::-1], lambda s: gd.from_pandas(s, npartitions=1, sort=False)),
    "texts": (PLAIN.s, lambda s: gd.from_pandas(s, npartitions=5)),
    "categories": (PLAIN.c, lambda s: gd.from_pandas(s, npartitions=2)),
    "nullable": (PLAIN.n.iloc[:7], lambda s: gd.from_pandas(s, npartitions=2)),
    "filtered": (PLAIN.k[PLAIN.a > 4], lambda s: LAZY.k[LAZY.a > 4]),
    "no rows": (PLAIN.k.iloc[:0], lambda s: gd.from_pandas(PLAIN.k, npartitions=2)[lambda k: k > 9]),
}
RESULTS = {
    "sum": lambda g: g.a.sum(),
    "agg": lambda g: g.agg({"a": ["mean", "count"]}),
    "transform": lambda g: g.a.transform("sum"),
    "cumsum": lambda g: g.a.cumsum(),
    "size": lambda g: g.size(),
    "apply": lambda g: g.a.apply(lambda values: values.max() - values.min()),
}


@pytest.mark.parametrize("result", RESULTS)
@pytest.mark.parametrize("name", KEYS)
def test_series_cut_at_other_labels_are_keys_by_their_labels(name, result):
    plain, lazy = KEYS[name]
    if result == "apply" and name == "no rows":
        pytest.skip("pandas calls the function with no group")
    for frame, whole in ((LAZY, PLAIN), (EMPTY, PLAIN[PLAIN.a.between(4, 7)])):
        expected = RESULTS[result](whole.groupby(plain, observed=True))
        found = RESULTS[result](frame.groupby(lazy(plain), observed=True)).compute(**INLINE)
        assert_same(found, expected)


def test_such_keys_stand_beside_others():
    plain, lazy = PLAIN.k.iloc[3:].rename("w"), gd.from_pandas(PLAIN.k.iloc[3:].rename("w"), npartitions=2)
    for by in (["s", None], [None, "k"], ["i", None]):
        keys = [[one or key for one in by] for key in (plain, lazy)]
        assert_same(LAZY.groupby(keys[1]).a.sum().compute(**INLINE), PLAIN.groupby(keys[0]).a.sum())
    expected = PLAIN.groupby([PLAIN.s, plain])[["a", "k"]].sum()
    assert_same(LAZY.groupby([LAZY.s, lazy])[["a", "k"]].sum().compute(**INLINE), expected)
    assert list(LAZY.groupby([LAZY.k, lazy]).max(numeric_only=True).columns) == ["a", "n"]  # k is a key
    hours = [PLAIN.index % 4, plain], [LAZY.index.to_series() % 4, lazy]
    assert_same(
        LAZY.a.groupby(hours[1]).sum().compute(**INLINE).sort_index(),
        PLAIN.a.groupby(hours[0]).sum().rename_axis(["i", "w"]),
    )
    assert_same(
        LAZY.groupby(lambda label: label % 3).a.sum().compute(**INLINE), PLAIN.groupby(lambda label: label % 3).a.sum()
    )


def test_keys_whose_labels_cant_be_found_are_refused():
    unknown = gd.from_pandas(PLAIN.k, npartitions=2, sort=False)
    with pytest.raises(
        DivisionError, match="groupby: the operands are cut differently.*2 partitions with unknown divisions"
    ):
        LAZY.groupby(unknown)
    twice = gd.from_pandas(pd.Series([1, 2, 3], index=[10, 10, 12]), npartitions=1)
    with pytest.raises(ValueError, match="duplicate"):
        PLAIN.groupby(twice.compute()).a.sum()
    with pytest.raises(ValueError, match="duplicate"):
        LAZY.groupby(twice).a.sum().compute(**INLINE)
    with pytest.raises(DivisionError, match="no common order"):
        LAZY.groupby(gd.from_pandas(pd.Series([1, 2], index=["a", "b"]), npartitions=2))


def test_keys_of_the_frames_own_rows_stay_as_they_are():
    assert np.array_equal(LAZY.groupby(LAZY.k).a.sum().divisions, LAZY.groupby("k").a.sum().divisions)
    assert LAZY.groupby(LAZY.k).a.sum().expr.name == LAZY.groupby("k").a.sum().expr.name
