"""Keys of joins get the dtypes, and rows the labels, that pandas gives those of whole frames, also where a partition or a side has no rows."""

from __future__ import annotations

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same, blocks_of
from test_merge import HOWS
from test_unlike_partitions import of_equal_order as of_some_order

INLINE = {"scheduler": "inline"}
DTYPES = {
    "left": pd.CategoricalDtype(list("abcuv")),
    "right": pd.CategoricalDtype(list("bcdxy")),
    "the same": pd.CategoricalDtype(list("abcuv")),
    "text": "str",
    "objects": object,
}
PAIRS = [("left", "right"), ("left", "the same"), ("left", "text"), ("objects", "right"), ("text", "objects")]
LEFT = {"rows": ["a", "b", None, "c", "a"], "others": ["u", "v"], "none": []}
RIGHT = {"rows": ["b", "c", "c", None], "none": []}
BY = {
    "columns": lambda left, right: (left, right, {"on": "k"}),
    "names": lambda left, right: (left, right.rename(columns={"k": "j"}), {"left_on": "k", "right_on": "j"}),
    "labels on the right": lambda left, right: (left, right.set_index("k"), {"left_on": "k", "right_index": True}),
    "labels on the left": lambda left, right: (left.set_index("k"), right, {"left_index": True, "right_on": "k"}),
    "labels": lambda left, right: (
        left.set_index("k"),
        right.set_index("k"),
        {"left_index": True, "right_index": True},
    ),
}
MIRRORED = ("names", "labels on the left")
"""Joins by what differs little from others: left to `make long`."""


def of_equal_order(frame):
    """Return rows in an order of their own, and of what is missing among objects only that it is."""
    objects = {name: frame[name].where(frame[name].notna(), None) for name in frame.select_dtypes(object).columns}
    return of_some_order(frame.assign(**objects)) if len(frame) else frame.reset_index(drop=True)


def cut(frame, cuts):
    cuts = [0, *[min(place, len(frame)) for place in cuts], len(frame)]
    pieces = [frame.iloc[start:end] for start, end in zip(cuts, cuts[1:], strict=False)]
    return gd.from_map(pieces.__getitem__, range(len(pieces)), meta=frame.iloc[:0])


def frames(pair, left, right):
    one = pd.DataFrame({"k": pd.Series(LEFT[left], dtype=DTYPES[pair[0]]), "x": range(len(LEFT[left]))})
    two = pd.DataFrame({"k": pd.Series(RIGHT[right], dtype=DTYPES[pair[1]]), "y": range(len(RIGHT[right]))})
    return one, two


def check(joined, expected, *, has_labels):
    assert {name: str(dtype) for name, dtype in joined.dtypes.items()} == {
        name: str(dtype) for name, dtype in expected.dtypes.items()
    }
    if has_labels and len(expected):
        assert joined.index.dtype == expected.index.dtype
        joined, expected = joined.reset_index(names="label"), expected.reset_index(names="label")
    assert_same(of_equal_order(joined.reset_index(drop=True)), of_equal_order(expected.reset_index(drop=True)))


@pytest.mark.pairwise
@pytest.mark.parametrize("broadcast", [None, False], ids=["with a whole side", "by hash"])
@pytest.mark.parametrize("by", [pytest.param(by, marks=pytest.mark.long) if by in MIRRORED else by for by in BY])
@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("pair", PAIRS, ids=" ".join)
def test_keys_of_unlike_dtypes_have_those_of_pandas(pair, how, by, broadcast):
    for left, right in (("rows", "rows"), ("others", "rows"), ("none", "rows"), ("rows", "none")):
        one, two, options = BY[by](*frames(pair, left, right))
        has_objects = any(pd.Series([], dtype=DTYPES[one]).dtype == object for one in pair)  # text too, before pandas 3
        if (by, how) == ("labels", "outer") and "none" in (left, right) and has_objects:
            continue  # pandas' own joins raise an IndexError
        expected = one.merge(two, how=how, **options)
        if not len(expected) and (left, right) != ("none", "rows"):
            continue
        joined = cut(one, [0, 2]).merge(cut(two, [1, 1]), how=how, **options, broadcast=broadcast)
        made = joined.compute(**INLINE)
        if not len(expected) and broadcast is None:  # the dtype is promised as of some rows
            assert not len(made)
            continue
        check(made, expected, has_labels=by.startswith("labels"))


@pytest.mark.each_choice
@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("by", ["labels on the right", "labels on the left"])
def test_rows_without_partner_have_missing_labels_in_all_partitions(how, by):
    one, two, options = BY[by](*frames(("text", "text"), "rows", "rows"))
    one, two = (
        frame if frame.index.name else frame.set_axis(range(10, 10 + len(frame)), axis=0) for frame in (one, two)
    )
    expected = one.merge(two, how=how, **options)
    for cuts in ([], [2], [0, 1, 3]):
        made = cut(one, cuts).merge(cut(two, [1, 1]), how=how, **options, broadcast=False).compute(**INLINE)
        check(made, expected, has_labels=True)


@pytest.mark.parametrize("how", HOWS)
def test_keys_of_categories_that_are_not_known_are_categories_in_all_partitions(how):
    one, two = frames(("left", "right"), "rows", "rows")
    lazy = cut(one, [2]).assign(k=lambda frame: frame.k.cat.as_unknown())
    for other in (cut(two, [1, 1]), cut(two, [1, 1]).assign(k=lambda frame: frame.k.cat.as_unknown())):
        joined = lazy.merge(other, on="k", how=how, broadcast=False)
        assert not joined.k.cat.known
        assert all(isinstance(block.k.dtype, pd.CategoricalDtype) for block in blocks_of(joined))
        made, expected = joined.compute(**INLINE), one.merge(two, on="k", how=how)
        assert_same(of_equal_order(made.astype({"k": object})), of_equal_order(expected.astype({"k": object})))


@pytest.mark.each_choice
@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("by", list(BY))
@pytest.mark.parametrize("broadcast", [None, False])
def test_keys_whose_categories_differ_between_partitions_alone_stay_categories(how, by, broadcast):
    one = pd.DataFrame({"k": list("aabbc"), "x": range(5)}).astype({"k": "category"})
    two = pd.DataFrame({"k": list("cbaca"), "y": range(5)}).astype({"k": "category"})
    left, right, options = BY[by](one, two)
    expected = left.merge(right, how=how, **options)
    for cuts in ([2, 4], [1, 3]):
        parts = (cut(one.astype({"k": "str"}), cuts), cut(two.astype({"k": "str"}), [3]))
        left, right, _ = BY[by](*(part.assign(k=part.k.astype("category")) for part in parts))
        made = left.merge(right, how=how, broadcast=broadcast, **options)
        computed = made.compute(**INLINE)
        assert computed.dtypes.to_dict() == expected.dtypes.to_dict()
        assert computed.index.dtype == expected.index.dtype or not len(expected)
        assert [str(dtype) for dtype in made.dtypes] == [str(dtype) for dtype in computed.dtypes]
        assert_same(of_equal_order(computed), of_equal_order(expected))


def test_a_join_reads_the_needed_columns_of_sides_with_unlike_keys():
    one, two = frames(("left", "right"), "rows", "rows")
    lazy = cut(one.assign(z=1.5), [2]).merge(cut(two.assign(w=2.5), [1]), on="k", how="outer", broadcast=False)[
        ["k", "w"]
    ]
    expected = one.merge(two.assign(w=2.5), on="k", how="outer")[["k", "w"]]
    assert_same(of_equal_order(lazy.compute(**INLINE)), of_equal_order(expected))


def test_the_next_operation_finds_keys_of_one_dtype():
    one, two = frames(("left", "right"), "rows", "rows")
    joined = cut(one, [0, 2]).merge(cut(two, [1, 1]), on="k", how="right", broadcast=False)
    expected = one.merge(two, on="k", how="right")
    assert_same(
        (joined.k + "!").compute(**INLINE).sort_values(ignore_index=True),
        (expected.k + "!").sort_values(ignore_index=True),
    )
    made = joined.groupby("k").y.sum().compute(**INLINE)
    assert_same(made, expected.groupby("k").y.sum())
    assert np.all(made.index == ["b", "c"])


SOME_LEVELS = pd.DataFrame({"h": ["a", "a", "b", "c"], "i": [1, 2, 1, 3], "x": range(4)}).set_index(["h", "i"])
OTHER_LEVELS = {
    "two levels": pd.DataFrame({"h": ["a", "b", "b", "d"], "j": list("pqrs"), "y": range(4)}).set_index(["h", "j"]),
    "one level": pd.DataFrame({"h": ["a", "b", "d"], "y": range(3)}).set_index("h"),
    "three levels": pd.DataFrame({"i": [1, 3, 7], "h": ["a", "c", "z"], "j": list("pqr"), "y": range(3)}).set_index(
        ["i", "h", "j"]
    ),
    "missing keys": pd.DataFrame({"h": ["a", "b", None], "j": ["p", None, "r"], "y": range(3)}).set_index(["h", "j"]),
    "a column that is named as a level": pd.DataFrame(
        {"h": ["z", "a", "b"], "y": range(3)},
        index=pd.MultiIndex.from_arrays([list("abd"), [1, 1, 1]], names=["h", "j"]),
    ),
}


@pytest.mark.parametrize("how", ["left", "right", "inner", "outer"])
@pytest.mark.parametrize("name", OTHER_LEVELS)
def test_indexes_of_several_levels_are_joined_by_those_that_both_have(name, how):
    other = OTHER_LEVELS[name]
    expected = SOME_LEVELS.join(other, how=how)
    for broadcast in (None, False):
        lazy = gd.from_pandas(SOME_LEVELS, npartitions=3), gd.from_pandas(other, npartitions=2)
        options = {} if broadcast is None else {"broadcast": False}
        made = lazy[0].merge(lazy[1], left_index=True, right_index=True, how=how, **options).compute(**INLINE)
        assert made.index.names == expected.index.names
        keys = list(range(expected.index.nlevels))
        assert_same(_by_labels(made, keys), _by_labels(expected, keys))


def _by_labels(frame, levels):
    labels = frame.index.to_frame(index=False, name=levels).map(repr)
    return frame.iloc[labels.sort_values(levels, kind="stable").index]
