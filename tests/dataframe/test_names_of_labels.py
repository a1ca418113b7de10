"""Names of the labels of frames that are combined: those of all rows, whatever partitions there are, also beside frames without rows."""

from __future__ import annotations

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same, blocks_of
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE
from glassloom.dataframe.names_of_labels import Renamed
from glassloom.expr import walk

INLINE = {"scheduler": "inline"}


def _frame(labels, name, columns_name=None):
    made = pd.DataFrame({"x": np.arange(len(labels)) * 1.5, "y": 1.0}, index=pd.Index(labels, name=name, dtype="int64"))
    return made.rename_axis(columns=columns_name)


def _concat(*frames, **options):
    return (pd if isinstance(frames[0], pd.DataFrame) and isinstance(frames[1], pd.DataFrame) else gd).concat(
        frames, **options
    )


def _updated(one, other):
    one = one.copy()
    one.update(other)
    return one


LABELS = {
    "equal": (range(8), range(8)),
    "other labels": (range(8), range(3, 11)),
    "some": (range(8), range(2, 5)),
    "no rows": (range(8), []),
    "no rows before": ([], range(8)),
    "no rows at all": ([], []),
}
COMBINED = {
    "+": lambda a, b: a + b,
    "series": lambda a, b: a.x * b.y,
    "compared": lambda a, b: a.x.lt(b.x),
    "fill_value": lambda a, b: a.sub(b, fill_value=0),
    "rsub": lambda a, b: a.rsub(b),
    "numpy": lambda a, b: np.maximum(a.x, b.x),
    "along rows": lambda a, b: a.div(b.x, axis=0),
    "combine": lambda a, b: a.combine(b, np.minimum),
    "combine series": lambda a, b: a.x.combine(b.x, max),
    "combine_first": lambda a, b: a.combine_first(b),
    "combine_first of series": lambda a, b: a.x.combine_first(b.x),
    "fillna": lambda a, b: a.where(a > 2).fillna(b),
    "where": lambda a, b: a.where(a > 3, b),
    "mask": lambda a, b: a.x.mask(b.x > 3, -1),
    "assign": lambda a, b: a.assign(z=b.x),
    "update": _updated,
    **{
        f"align {join} {place}": lambda a, b, join=join, place=place: a.align(b, join=join)[place]
        for join in ("outer", "inner", "left", "right")
        for place in (0, 1)
    },
    "beside": lambda a, b: _concat(a.add_prefix("a"), b, axis=1),
    "below": lambda a, b: _concat(a, b),
    "largest below": lambda a, b: _concat(a, b).nlargest(3, "x"),
    "largest of series below": lambda a, b: _concat(a, b).x.nlargest(3),
    "join": lambda a, b: a.join(b, how="inner", rsuffix="_b"),
    "outer join": lambda a, b: a.join(b, how="outer", rsuffix="_b").sort_index(),
    "merge": lambda a, b: a.merge(b, left_index=True, right_index=True),
}
if not HAS_COPY_ON_WRITE:  # names depend on the order of labels
    COMBINED = {name: function for name, function in COMBINED.items() if name not in ("join", "outer join", "merge")}


@pytest.mark.filterwarnings("ignore:The 'lsuffix' and 'rsuffix'")
@pytest.mark.each_choice
@pytest.mark.parametrize("name", COMBINED)
@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
@pytest.mark.parametrize("names", [("i", "j"), ("i", None), (None, "i")], ids=str)
@pytest.mark.parametrize("numbers", [(3, 3), (3, 1), (1, 3), (2, None)], ids=str)
def test_labels_have_the_name_that_those_of_whole_frames_have(name, labels, names, numbers):
    one, other = (_frame(*pair, "c") for pair in zip(labels, names, strict=True))
    lazy = [
        frame if number is None else gd.from_pandas(frame, npartitions=number)
        for frame, number in zip((one, other), numbers, strict=True)
    ]
    expected, found = COMBINED[name](one, other), COMBINED[name](*lazy)
    assert_same(found.compute(**INLINE), expected)
    assert {block.index.name for block in blocks_of(found)} == {expected.index.name}


def test_a_pandas_object_of_the_same_rows_keeps_its_name_where_divisions_are_not_known():
    plain, lazy = (
        _frame(range(6), "i", "c"),
        gd.from_pandas(_frame(range(6), "j", "d"), npartitions=3).clear_divisions(),
    )
    for function in (
        lambda other: plain + other,
        lambda other: np.maximum(plain.x, other.x),
        lambda other: other.compare(plain + 1),
    ):
        assert_same(function(lazy).compute(**INLINE), function(lazy.compute(**INLINE)))


@pytest.mark.skipif(not HAS_COPY_ON_WRITE, reason="before pandas 3 names of joined labels depend on their order")
@pytest.mark.filterwarnings("ignore:The 'lsuffix' and 'rsuffix'")
def test_whether_there_are_rows_is_found_out_where_lengths_do_not_tell():
    plain, other = _frame(range(8), "i"), _frame(range(3, 11), "j")
    lazy, others = gd.from_pandas(plain, npartitions=3), gd.from_pandas(other, npartitions=2)
    for limit in (-1, 2, 99):
        for function in (
            lambda a, b, limit=limit: a[a.x > limit] + b,
            lambda a, b, limit=limit: a[a.x > limit].join(b, rsuffix="_b", how="outer").sort_index(),
            lambda a, b, limit=limit: a.join(b[b.x > limit], rsuffix="_b", how="inner"),
        ):
            assert_same(function(lazy, others).compute(**INLINE), function(plain, other))


def test_frames_of_one_name_are_combined_as_before():
    lazy, other = (gd.from_pandas(_frame(labels, "i"), npartitions=3) for labels in (range(8), range(3, 11)))
    made = [lazy + other, lazy.combine_first(other), lazy.align(other)[1], lazy.join(other, rsuffix="_b", how="inner")]
    assert not any(isinstance(node, Renamed) for node in walk([one.expr for one in made]))


def test_columns_of_concatenated_frames_have_the_name_that_all_have():
    for names in (("c", "d"), ("c", None), ("c", "c")):
        one, other = (_frame(labels, "i", name) for labels, name in zip((range(4), []), names, strict=True))
        for frames in ((one, other), (other, one)):
            lazy = [gd.from_pandas(frame, npartitions=2) for frame in frames]
            assert_same(gd.concat(lazy).compute(**INLINE), pd.concat(frames))
            assert_same(gd.concat(lazy).nlargest(2, "x").compute(**INLINE), pd.concat(frames).nlargest(2, "x"))
    one, other = (pd.Series([3, 1], name=name) for name in "ab")
    lazy = [gd.from_pandas(series, npartitions=1) for series in (one, other)]
    assert_same(gd.concat(lazy).nlargest(2).compute(**INLINE), pd.concat([one, other]).nlargest(2))


EMPTY = {
    "of the same dtypes": _frame([], "i"),
    "of other labels": pd.DataFrame({"x": [], "y": []}, index=pd.Index([], dtype="str")),
}


@pytest.mark.parametrize("empty", EMPTY.values(), ids=EMPTY)
@pytest.mark.parametrize("is_known", [True, False])
def test_pandas_objects_without_rows_are_combined(empty, is_known):
    plain = _frame([4, 1, 2, 3, 7, 9], "i")
    plain = plain.sort_index() if is_known else plain
    for npartitions in (1, 3):
        lazy = gd.from_pandas(plain, npartitions=npartitions, sort=is_known)
        for function in (
            lambda a, b: a + b,
            lambda a, b: b.x - a.x,
            lambda a, b: a.combine_first(b),
            lambda a, b: a.assign(z=b.x),
            lambda a, b: a.add(b, fill_value=1),
            lambda a, b: a.merge(b, left_index=True, right_index=True, how="left"),
        ):
            assert_same(function(lazy, empty).compute(**INLINE), function(plain, empty))


def test_a_frame_without_rows_gets_those_of_a_column_at_hand():
    plain = _frame([], "i")
    lazy = gd.from_pandas(plain, npartitions=1)
    for value in (pd.Series([1, 2], index=[5, 3]), [1, 2, 3], np.array(["a"]), pd.Series([], dtype="int64"), []):
        assert_same(lazy.assign(z=value).compute(**INLINE), plain.assign(z=value))
