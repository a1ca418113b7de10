"""Joins of every kind against pandas: with a small side, by hash, and by index."""

from __future__ import annotations

import itertools

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same, cut_frames, frames, labels, partitionings, plan
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE
from glassloom.dataframe.moving import merge_asof
from glassloom.dataframe.wrap import wrap
from glassloom.errors import OptionError, UnknownColumn
from hypothesis import given, settings
from hypothesis import strategies as st
from long_tests import examples

INLINE = {"scheduler": "inline"}
HOWS = ["inner", "left", "right", "outer", *(["left_anti", "right_anti"] if HAS_COPY_ON_WRITE else [])]


def in_some_order(frame):
    """Return a frame's rows in an order of its own, so that frames of equal rows are equal."""
    texts = [frame.index.astype(str)] if frame.index.name is not None else []
    texts += [frame.iloc[:, place].astype(str).to_numpy() for place in range(frame.shape[1])]
    order = np.lexsort([pd.factorize(np.asarray(text, dtype=object), sort=True)[0] for text in texts])
    chosen = frame.iloc[order]
    return chosen if frame.index.name is not None else chosen.reset_index(drop=True)


def assert_same_rows(got, expected):
    assert_same(in_some_order(got), in_some_order(expected))


@settings(max_examples=examples(40), deadline=None)
@given(data=st.data())
def test_any_merge_by_columns_is_that_of_pandas(data):
    frame, lazy = data.draw(cut_frames(max_rows=12))
    other, other_lazy = data.draw(cut_frames(max_rows=12))
    on = data.draw(st.lists(st.sampled_from(list(frame.columns)), min_size=1, max_size=2, unique=True))
    options = {
        "on": on,
        "how": data.draw(st.sampled_from(HOWS)),
        "indicator": data.draw(st.booleans()),
        "suffixes": ("_l", "_r"),
    }
    moving = {
        "broadcast": data.draw(st.sampled_from([None, False])),
        "npartitions": data.draw(st.sampled_from([None, 3])),
    }
    got = lazy.merge(other_lazy, **options, **moving).compute(**INLINE)
    assert_same_rows(got, frame.merge(other, **options))


@pytest.mark.each_choice
@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("by", ["k", ["k", "n"], "names", "index and column", "column and index", "index"])
def test_merges_are_sorted_by_their_keys_as_in_pandas(how, by):
    left = pd.DataFrame({"k": ["b", None, "a", "b", "d", "a"], "n": [2, 1, 3, 1, 2, 0], "x": range(6)})
    right = pd.DataFrame({"k": ["c", "b", "a", None, "b"], "n": [1, 2, 3, 9, 1], "y": range(5)})
    options = {"how": how, "sort": True, "on": by}
    if by == "names":
        right = right.rename(columns={"k": "l"})
        options |= {"on": None, "left_on": ["k", "n"], "right_on": ["l", "n"]}
    elif by == "index and column":
        left, options = left.set_index("n"), {**options, "on": None, "left_index": True, "right_on": "n"}
    elif by == "column and index":
        right, options = right.set_index("n"), {**options, "on": None, "left_on": "n", "right_index": True}
    elif by == "index":
        left, right = left.set_index("n"), right.set_index("n")
        options |= {"on": None, "left_index": True, "right_index": True}
    expected = left.merge(right, **options)
    is_numbered = by not in ("index and column", "index")
    one, other = partitionings(left)[-1], partitionings(right)[-1]
    moved = one.merge(other, **options, broadcast=False).compute(**INLINE)
    looked_up = one.merge(other.repartition(npartitions=1), **options).compute(**INLINE)
    if is_numbered:
        moved, looked_up, expected = (made.reset_index(drop=True) for made in (moved, looked_up, expected))
    assert_same(moved, expected)
    names = [
        *dict.fromkeys([*(options.get("left_on") or []), *(options.get("right_on") or []), *(options["on"] or [])])
    ]
    keys = [name for name in names if name in expected.columns]
    assert_same(looked_up[keys].reset_index(drop=True), expected[keys].reset_index(drop=True))
    assert_same_rows(looked_up, expected)


@settings(max_examples=examples(25), deadline=None)
@given(data=st.data())
def test_any_merge_by_index_is_that_of_pandas(data):
    frame, lazy = data.draw(cut_frames(max_rows=12))
    other, other_lazy = data.draw(cut_frames(max_rows=12))
    frame, other = frame.rename_axis("row"), other.rename_axis("row")
    lazy, other_lazy = (
        lazy.map_partitions(_named, keep_divisions=True),
        other_lazy.map_partitions(_named, keep_divisions=True),
    )
    how = data.draw(st.sampled_from(HOWS))
    options = {"left_index": True, "right_index": True, "how": how}
    got = lazy.merge(other_lazy, **options).compute(**INLINE)
    assert_same_rows(got, frame.merge(other, **options))
    options = {"left_on": "i", "right_index": True, "how": how}
    expected = frame.merge(other, **options)
    assert len(lazy.merge(other_lazy, **options).compute(**INLINE)) == len(expected)


def _named(block):
    return block.rename_axis("row")


@pytest.mark.parametrize("how", HOWS)
def test_keys_of_unlike_dtypes_meet(how):
    frame = pd.DataFrame({"k": [1, 2, 3, 4], "s": ["a", "b", None, "c"], "x": range(4)})
    other = pd.DataFrame({"k": [1.0, 3.0, np.nan, 9.0], "s": pd.Categorical(["a", None, "b", "q"]), "y": range(4)})
    lazy, other_lazy = gd.from_pandas(frame, npartitions=3), gd.from_pandas(other, npartitions=2)
    for key in ("k", "s"):
        one, two = [key, "x"], [key, "y"]
        got = lazy[one].merge(other_lazy[two], on=key, how=how, broadcast=False).compute(**INLINE)
        expected = frame[one].merge(other[two], on=key, how=how)
        assert sorted(map(str, zip(got.x, got.y, strict=True))) == sorted(
            map(str, zip(expected.x, expected.y, strict=True))
        )


def test_rows_of_the_large_side_keep_their_order():
    frame = pd.DataFrame({"k": [3, 1, 2, 1], "x": range(4)})
    table = pd.DataFrame({"k": [1, 3], "y": [10, 30]})
    lazy = gd.from_pandas(frame, npartitions=3)
    assert_same(
        lazy.merge(table, on="k", how="left").compute().reset_index(drop=True), frame.merge(table, on="k", how="left")
    )
    got = gd.merge(table, lazy, on="k", how="right")
    assert_same(got.compute().reset_index(drop=True), table.merge(frame, on="k", how="right"))
    assert got.npartitions == lazy.npartitions


def test_the_kind_of_join_follows_the_sizes():
    small = gd.from_pandas(pd.DataFrame({"k": range(8), "y": range(8)}), npartitions=3)
    large = gd.from_pandas(pd.DataFrame({"k": range(8), "x": range(8)}), npartitions=4)
    unknown = large.map_partitions(lambda part: part)
    assert "shuffle" not in labels(unknown.merge(small, on="k"))
    assert "shuffle" not in labels(small.merge(unknown, on="k"))
    assert labels(unknown.merge(small, on="k", broadcast=False)).count("shuffle") == 2
    assert labels(unknown.merge(small, on="k", how="outer")).count("shuffle") == 2
    assert labels(unknown.merge(unknown.assign(z=1), on="k")).count("shuffle") == 2
    by_index = large.merge(small.rename(columns={"k": "j"}), left_index=True, right_index=True, broadcast=False)
    assert by_index.known_divisions
    assert "shuffle" not in labels(by_index)


def test_a_side_that_is_distributed_by_the_keys_does_not_move_again():
    parts = [gd.from_pandas(pd.DataFrame({"k": range(8), name: range(8)}), npartitions=3) for name in "xyz"]
    joined = parts[0].merge(parts[1], on="k", broadcast=False)
    joined = joined[joined.x >= 0].assign(w=1)[["k", "w"]].merge(parts[2], on="k", broadcast=False)
    assert labels(joined).count("shuffle") == 3
    again = joined.assign(k=1).merge(parts[2], on="k", broadcast=False)  # the right side is moved once for both
    assert labels(again).count("shuffle") == 4
    held = parts[0].shuffle("k").persist(scheduler="inline")
    assert labels(held.merge(parts[1], on="k", broadcast=False)).count("shuffle") == 1
    assert sorted(joined.compute(**INLINE).z) == list(range(8))
    outer = parts[0].merge(parts[1].rename(columns={"k": "j"}), left_on="k", right_on="j", how="outer", broadcast=False)
    assert labels(outer.merge(parts[2], on="k", broadcast=False)).count("shuffle") == 4


def test_cross_semi_and_anti_joins():
    frame = pd.DataFrame({"k": [1, 2, 2, 3], "x": range(4)})
    other = pd.DataFrame({"k": [2, 2, 4], "y": range(3)})
    lazy, other_lazy = gd.from_pandas(frame, npartitions=2), gd.from_pandas(other, npartitions=2)
    got = lazy.merge(other_lazy, how="cross").compute(**INLINE)
    assert_same_rows(got, frame.merge(other, how="cross"))
    for broadcast in (None, False):
        semi = lazy.merge(other_lazy, on="k", how="leftsemi", broadcast=broadcast).compute(**INLINE)
        assert_same(semi.sort_values("x"), frame[frame.k.isin(other.k)])
        anti = lazy.merge(other_lazy, on="k", how="leftanti", broadcast=broadcast).compute(**INLINE)
        assert_same(anti.sort_values("x"), frame[~frame.k.isin(other.k)])


def test_validate_looks_at_all_rows_of_a_key():
    frame = pd.DataFrame({"k": [1, 2, 3, 1], "x": range(4)})
    lazy = gd.from_pandas(frame, npartitions=4)
    table = pd.DataFrame({"k": [1, 2, 3], "y": range(3)})
    assert len(lazy.merge(table, on="k", validate="m:1").compute(**INLINE)) == 4
    with pytest.raises(pd.errors.MergeError, match="not unique in left dataset"):
        lazy.merge(table, on="k", validate="1:1").compute(**INLINE)


def test_wrong_options_are_named():
    lazy = gd.from_pandas(pd.DataFrame({"k": [1, 2], "x": [1, 2]}), npartitions=2)
    with pytest.raises(UnknownColumn, match="no column 'q'"):
        lazy.merge(lazy, on="q")
    with pytest.raises(OptionError, match="how='middle' should be one of"):
        lazy.merge(lazy, on="k", how="middle")
    with pytest.raises(OptionError, match="validate='2:2' should be one of"):
        lazy.merge(lazy, on="k", validate="2:2")
    with pytest.raises(NotImplementedError, match="merge_asof takes names of columns as keys; assign"):
        gd.merge_asof(
            gd.from_pandas(pd.DataFrame({"x": [1]})), pd.DataFrame({"x": [1]}), left_on=pd.Index([1]), right_on="x"
        )
    with pytest.raises(NotImplementedError, match="merge takes names of columns as keys; assign"):
        lazy.merge(lazy, left_on=lazy.k, right_on="k")
    with pytest.raises(
        NotImplementedError, match=r"merge\(sort=True\) by index level 'row': call reset_index\(\) before"
    ):
        lazy.rename_axis("row").merge(lazy, left_on="row", right_on="k", sort=True)
    with pytest.raises(
        TypeError, match="the right side of a merge should be a lazy frame or a pandas object, got list"
    ):
        lazy.merge([1], on="k")


def test_a_frame_is_merged_with_itself():
    frame = pd.DataFrame({"k": [1, 2, 2], "x": range(3)})
    lazy = gd.from_pandas(frame, npartitions=2)
    for broadcast in (None, False):
        got = lazy.merge(lazy, on="k", broadcast=broadcast).compute(**INLINE)
        assert_same_rows(got, frame.merge(frame, on="k"))


def test_two_pandas_frames_make_a_lazy_one():
    left, right = pd.DataFrame({"k": [1, 2, 2], "x": range(3)}), pd.DataFrame({"k": [2, 1, 3], "y": range(3)})
    merged = gd.merge(left, right, on="k", how="outer")
    assert isinstance(merged, gd.DataFrame)
    assert_same_rows(merged.compute(), left.merge(right, on="k", how="outer"))


def test_a_tuple_is_several_keys_unless_it_names_a_column():
    left = pd.DataFrame({"a": [1, 2, 2], "b": [1, 1, 2], ("a", "b"): [7, 8, 9]})
    right = pd.DataFrame({"a": [2, 1, 2], "c": [1, 1, 2], ("a", "b"): [9, 9, 7]})
    lazy, other = gd.from_pandas(left, npartitions=2), gd.from_pandas(right, npartitions=2)
    for options in ({"left_on": ("a", "b"), "right_on": ("a", "c")}, {"left_on": ("a",), "right_on": ("c",)}):
        bare = [frame.drop(columns=[("a", "b")]) for frame in (left, right)]
        lazy_bare = [gd.from_pandas(frame, npartitions=2) for frame in bare]
        assert_same_rows(lazy_bare[0].merge(lazy_bare[1], **options).compute(), bare[0].merge(bare[1], **options))
    one = lazy.merge(other, on=[("a", "b")])
    assert_same_rows(lazy.merge(other, on=("a", "b")).compute(), one.compute())
    assert_same_rows(one.compute(), left.merge(right, on=[("a", "b")]))


@settings(max_examples=examples(5), deadline=None)
@given(frame=frames(max_rows=8))
def test_pandas_objects_may_stand_on_either_side(frame):
    lazy = gd.from_pandas(frame, npartitions=3)
    means = frame.groupby("i").f.mean().rename("mean")
    assert_same_rows(
        lazy.merge(means, left_on="i", right_index=True, how="left").compute(**INLINE).reset_index(drop=True),
        frame.sort_index(kind="stable").merge(means, left_on="i", right_index=True, how="left").reset_index(drop=True),
    )


@pytest.mark.parametrize("how", HOWS)
def test_join_is_that_of_pandas(how):
    frame = pd.DataFrame({"k": list("abca"), "x": range(4)}, index=[1, 2, 2, 5])
    other = pd.DataFrame({"y": range(3), "x": range(3)}, index=[2, 5, 7])
    table = pd.DataFrame({"z": range(3)}, index=list("bcd"))
    lazy, other_lazy = gd.from_pandas(frame, npartitions=2), gd.from_pandas(other, npartitions=2)
    expected = frame.merge(other, left_index=True, right_index=True, how=how, suffixes=("_l", "_r"))
    assert_same_rows(lazy.join(other_lazy, how=how, lsuffix="_l", rsuffix="_r").compute(**INLINE), expected)
    got = lazy.join(gd.from_pandas(table, npartitions=2), on="k", how=how).compute(**INLINE)
    assert_same_rows(got.reset_index(drop=True), frame.join(table, on="k", how=how).reset_index(drop=True))
    several = [other_lazy[["y"]], other_lazy[["y"]].rename(columns={"y": "w"})]
    got = lazy.join(several, how=how).compute(**INLINE)
    assert sorted(got.w.dropna()) == sorted(frame.join([other[["y"]], other.y.rename("w")], how=how).w.dropna())


@pytest.mark.parametrize("limit", ["small", "large"])
def test_merge_asof_is_that_of_pandas(limit, monkeypatch):
    if limit == "large":
        monkeypatch.setattr(merge_asof, "_SMALL_BYTES", -1)
    check_merge_asof()


@settings(max_examples=examples(15), deadline=None)
@given(data=st.data())
def check_merge_asof(data):
    frame, _ = data.draw(cut_frames(min_rows=1, with_missing=False))
    other, _ = data.draw(cut_frames(min_rows=1, with_missing=False))
    frame, other = frame.sort_values("i", kind="stable"), other.sort_values("i", kind="stable")
    lazy = gd.from_pandas(frame, chunksize=data.draw(st.integers(1, 9)), sort=False)
    other_lazy = gd.from_pandas(other, chunksize=data.draw(st.integers(1, 9)), sort=False)
    options = {
        "by": data.draw(st.sampled_from([None, "s", ["s", "b"]])),
        "direction": data.draw(st.sampled_from(["backward", "forward", "nearest"])),
        "allow_exact_matches": data.draw(st.booleans()),
        "tolerance": data.draw(st.sampled_from([None, 1])),
    }
    got = gd.merge_asof(lazy, other_lazy, on="i", **options).compute(**INLINE).reset_index(drop=True)
    assert_same(got, pd.merge_asof(frame, other, on="i", **options))
    frame, other = frame.set_index("i"), other.set_index("i")
    by_index = {"left_index": True, "right_index": True, **options}
    for right in (other, gd.from_pandas(other, npartitions=3)):
        got = gd.merge_asof(gd.from_pandas(frame, npartitions=3), right, **by_index)
        assert got.known_divisions
        assert_same(got.compute(**INLINE), pd.merge_asof(frame, other, **by_index))


def test_merge_asof_with_a_large_right_side_moves_only_rows_that_may_be_nearest(monkeypatch):
    monkeypatch.setattr(merge_asof, "_SMALL_BYTES", -1)
    left = pd.DataFrame({"t": range(0, 1000, 10)})
    right = pd.DataFrame({"t": range(1000), "g": [number % 2 for number in range(1000)], "y": range(1000)})
    lazy = gd.merge_asof(gd.from_pandas(left, npartitions=5), gd.from_pandas(right, npartitions=4), on="t")
    (moved,) = [node for node in plan(lazy) if type(node).__name__ == "NearRows"]
    counts = wrap(moved).map_partitions(len, meta=("n", "int64")).compute(**INLINE)
    assert max(counts) < 210  # the fifth that a partition spans, and a row of each other partition
    for frame, message in (
        (right.assign(t=right.t[::-1].to_numpy()), "right keys must be sorted"),
        (right.assign(t=right.t.where(right.t != 7)), "null values on right side"),
    ):
        lazy = gd.merge_asof(gd.from_pandas(left.astype("float64"), npartitions=2),
                             gd.from_pandas(frame.astype("float64"), npartitions=3), on="t")  # fmt: skip
        with pytest.raises(ValueError, match=message):
            lazy.compute(**INLINE)
    with pytest.raises(ValueError, match="right keys must be sorted"):
        parts = [gd.from_pandas(right[500:], npartitions=2, sort=False), gd.from_pandas(right[:500], npartitions=2)]
        gd.merge_asof(gd.from_pandas(left, npartitions=2), gd.concat(parts), on="t").compute(**INLINE)
    with pytest.raises(pd.errors.MergeError, match="must be the same type"):
        gd.merge_asof(
            gd.from_pandas(left.astype("float64"), npartitions=2), gd.from_pandas(right, npartitions=2), on="t"
        )


def test_merge_asof_says_what_is_wrong():
    lazy = gd.from_pandas(pd.DataFrame({"k": [1, 2], "x": [1, 2]}), npartitions=2)
    with pytest.raises(OptionError, match="direction='up' should be 'backward', 'forward' or 'nearest'"):
        gd.merge_asof(lazy, lazy, on="k", direction="up")
    with pytest.raises(UnknownColumn, match="no column 'q'"):
        gd.merge_asof(lazy, lazy, on="q")
    with pytest.raises(ValueError, match="right keys must be sorted"):
        gd.merge_asof(lazy, lazy.sort_values("k", ascending=False), on="k").compute(**INLINE)


@pytest.mark.each_choice
@pytest.mark.parametrize("how", ["inner", "left", "right", "outer"])
@pytest.mark.parametrize("on", [["idx", "k"], ["k", "idx"], ["idx"]], ids=str)
@pytest.mark.parametrize("labels", list(itertools.product([None, "idx", ["idx", "k"]], repeat=2)), ids=str)
@pytest.mark.parametrize("broadcast", [None, False])
def test_levels_of_the_index_and_columns_are_keys_together(how, on, labels, broadcast):
    number = np.arange(30)
    left = pd.DataFrame({"idx": number * 7 % 8, "k": number * 5 % 3, "x": number})
    right = pd.DataFrame({"idx": number[:20] * 3 % 8, "k": number[:20] % 4, "y": number[:20]})
    left, right = (
        frame if level is None else frame.set_index(level) for frame, level in zip((left, right), labels, strict=True)
    )
    made = gd.from_pandas(left, npartitions=3, sort=False).merge(
        gd.from_pandas(right, npartitions=2, sort=False), on=on, how=how, broadcast=broadcast
    )
    expected = left.merge(right, on=on, how=how)
    assert made.compute(**INLINE).index.names == expected.index.names
    for columns in (list(expected.columns), ["x", "y"]):
        got, wanted = made[columns].compute(**INLINE), expected[columns]
        if wanted.index.names != [None]:
            got, wanted = got.reset_index(), wanted.reset_index()
        assert_same(in_some_order(got), in_some_order(wanted))
    key = on[-1]
    assert made.groupby(key).x.sum().compute(**INLINE).to_dict() == expected.groupby(key).x.sum().to_dict()


@pytest.mark.parametrize("how", ["left", "inner", "outer"])
def test_frames_that_are_joined_at_once_are_sorted_if_asked_for(how):
    one = pd.DataFrame({"a": [1, 2, 3]}, index=[1, 0, 2])
    others = [pd.DataFrame({"b": [4, 5, 6]}, index=[2, 0, 1]), pd.DataFrame({"c": [4, 5]}, index=[2, 1])]
    for npartitions in (1, 3):
        lazy = [gd.from_pandas(frame, npartitions=npartitions, sort=False) for frame in (one, *others)]
        assert_same(lazy[0].join(lazy[1:], how=how, sort=True).compute(), one.join(others, how=how, sort=True))
    twice = gd.from_pandas(pd.concat([one, one]), npartitions=2)
    with pytest.raises(pd.errors.MergeError, match="not unique in left dataset"):
        twice.join(others, how=how, validate="1:1").compute()


@pytest.mark.parametrize("how", ["inner", "left", "right", "outer"])
@pytest.mark.parametrize("text", [False, True])
def test_joins_with_another_index_keep_the_divisions_of_rows_that_stay(how, text):
    left = pd.DataFrame({"k": [3, 1, 1, 9, 2, 3]}, index=[0, 2, 4, 4, 7, 9])
    right = pd.DataFrame({"w": range(4)}, index=[1, 1, 2, 3])
    if text:
        left, right = left.assign(k=left.k.astype(str)), right.set_axis(right.index.astype(str), axis=0)
    lazy = gd.from_pandas(left, npartitions=3)
    joined = lazy.join(gd.from_pandas(right, npartitions=1), on="k", how=how)
    expected = left.join(right, on="k", how=how)
    assert joined.divisions == (lazy.divisions if how in ("inner", "left") else (None,) * (joined.npartitions + 1))
    by_label = ["k", "w"]
    pd.testing.assert_frame_equal(
        joined.compute().sort_values(by_label), expected.sort_values(by_label), check_index_type=False
    )
    if how in ("inner", "left"):
        found = joined.loc[2:4].compute()
        pd.testing.assert_frame_equal(found.sort_values(by_label), expected.loc[2:4].sort_values(by_label))
