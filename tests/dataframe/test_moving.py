"""Repartition, concat, distinct rows and index resets against pandas."""

from __future__ import annotations

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same, blocks_of, check_all, cut_frames
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE
from glassloom.errors import DivisionError, OptionError
from hypothesis import given, settings
from hypothesis import strategies as st
from long_tests import examples

INLINE = {"scheduler": "inline"}


@settings(max_examples=examples(25), deadline=None)
@given(data=st.data())
def test_distinct_rows_are_those_of_pandas(data):
    frame, lazy = data.draw(cut_frames(min_rows=1))
    frame, lazy = frame[["i", "s", "c"]], lazy[["i", "s", "c"]]
    options = {
        "subset": data.draw(st.sampled_from([None, "i", ["s", "c"]])),
        "keep": data.draw(st.sampled_from(["first", "last", False])),
    }
    expected = frame.drop_duplicates(**options)
    if options["keep"]:
        assert_same(lazy.drop_duplicates(**options).compute(**INLINE), expected)
        numbered = lazy.drop_duplicates(**options, ignore_index=True).compute(**INLINE)
        assert_same(numbered, frame.drop_duplicates(**options, ignore_index=True))
    split = lazy.drop_duplicates(**options, split_out=3)
    assert split.npartitions == 3
    got = split.assign(place=1).compute(**INLINE)
    assert sorted(got.index) == sorted(expected.index)
    assert len(got) == len(expected)


def test_distinct_values_of_a_series_in_several_partitions():
    series = pd.Series([1, 2, 1, 3, 2], name="x")
    lazy = gd.from_pandas(series, npartitions=3)
    assert sorted(lazy.drop_duplicates(split_out=2).compute(**INLINE)) == [1, 2, 3]
    assert lazy.drop_duplicates(split_out=True).npartitions == 3
    with pytest.raises(TypeError, match="drop_duplicates of a series takes no subset"):
        lazy.drop_duplicates("x")
    with pytest.raises(OptionError, match="keep='middle' should be 'first', 'last' or False"):
        lazy.drop_duplicates(keep="middle")


@settings(max_examples=examples(25), deadline=None)
@given(data=st.data())
def test_other_divisions_hold_the_same_rows(data):
    frame = data.draw(cut_frames(min_rows=2))[0].set_index("i").sort_index(kind="stable")
    lazy = gd.from_pandas(frame, npartitions=data.draw(st.integers(1, 5)))
    low, high = lazy.divisions[0], lazy.divisions[-1]
    inner = sorted(data.draw(st.sets(st.integers(-3, 3), max_size=4)))
    divisions = [low, *[label for label in inner if low < label < high], high]
    got = lazy.repartition(divisions=divisions)
    assert got.divisions == tuple(divisions)
    assert_same(got.compute(**INLINE), frame)
    for number, block in enumerate(blocks_of(got)):
        labels = block.index
        last = number == got.npartitions - 1
        assert all(divisions[number] <= label for label in labels)
        assert all(label < divisions[number + 1] or (last and label == high) for label in labels)
    wide = lazy.repartition(divisions=[-10, *divisions, 10] if low < high else [-10, low, 10], force=True)
    assert_same(wide.compute(**INLINE), frame)


def test_partitions_by_size_and_by_period():
    frame = pd.DataFrame(
        {"x": np.arange(10_000.0)}, index=pd.date_range("2020-01-01 12:00", periods=10_000, freq="5min")
    )
    lazy = gd.from_pandas(frame, npartitions=20)
    by_size = lazy.repartition(partition_size="40 kB")
    sizes = by_size.map_partitions(len).compute(**INLINE)
    assert sizes.tolist() == [2000] * 5
    assert by_size.known_divisions
    assert_same(by_size.compute(**INLINE), frame)
    small = lazy.repartition(partition_size=5000)
    assert small.npartitions == 40
    assert_same(small.compute(**INLINE), frame)
    by_month = lazy.repartition(freq="MS")
    assert [label.day for label in by_month.divisions] == [1, 1, 5]
    by_day = lazy.repartition(freq="1D")
    assert by_day.partitions[1].compute(**INLINE).index.normalize().unique().tolist() == [pd.Timestamp("2020-01-02")]
    assert_same(by_day.compute(**INLINE), frame)
    daily = gd.from_pandas(frame.iloc[144::288], npartitions=1)  # at midnight
    assert daily.repartition(freq="1D").map_partitions(len).compute(**INLINE).tolist() == [1] * len(daily)


def test_wrong_partitions_are_refused():
    lazy = gd.from_pandas(pd.DataFrame({"x": range(4)}), npartitions=2)
    with pytest.raises(ValueError, match=r"repartition takes one of npartitions, .* got npartitions and divisions"):
        lazy.repartition(npartitions=2, divisions=[0, 3])
    with pytest.raises(
        DivisionError, match=r"go from 0 to 3; divisions=\[0, 5\] should begin and end there, or force=True"
    ):
        lazy.repartition(divisions=[0, 5])
    with pytest.raises(DivisionError, match=r"divisions=\[1, 5\] should include them"):
        lazy.repartition(divisions=[1, 5], force=True)
    with pytest.raises(TypeError, match=r"repartition\(freq='1D'\) needs times as index labels, not int64"):
        lazy.repartition(freq="1D")
    with pytest.raises(DivisionError, match="set_index"):
        lazy.reset_index().repartition(divisions=[0, 3])


@settings(max_examples=examples(20), deadline=None)
@given(data=st.data())
def test_frames_side_by_side_are_aligned_by_label(data):
    frames = []
    for column in ("i", "s"):
        frame, _ = data.draw(cut_frames(min_rows=1))
        frame = frame.set_index("f")[[column]]
        frames.append(frame[frame.index.notna() & ~frame.index.duplicated()].sort_index())
    if not all(map(len, frames)):
        return
    lazy = [gd.from_pandas(frame, npartitions=data.draw(st.integers(1, 4))) for frame in frames]
    for join in ("outer", "inner"):
        got = gd.concat(lazy, axis=1, join=join)
        assert got.known_divisions
        assert_same(got.compute(**INLINE), pd.concat(frames, axis=1, join=join).sort_index())


def test_frames_side_by_side_with_equal_divisions_and_unlike_labels_are_in_the_order_of_labels():
    one = pd.DataFrame({"i": [1, 2, 3]}, index=[0, 2, 4])
    other = pd.DataFrame({"j": [4, 5, 6]}, index=[0, 1, 4])
    got = gd.concat([gd.from_pandas(one, npartitions=2), gd.from_pandas(other, npartitions=2)], axis=1)
    assert_same(got.compute(**INLINE), pd.concat([one, other], axis=1).sort_index())


@settings(max_examples=examples(20), deadline=None)
@given(data=st.data())
def test_frames_one_after_the_other_are_those_of_pandas(data):
    (frame, lazy), (other, other_lazy) = data.draw(cut_frames(min_rows=1)), data.draw(cut_frames(min_rows=1))
    frame, lazy = frame[["i", "s", "d"]], lazy[["i", "s", "d"]]
    other, other_lazy = other[["s", "n"]], other_lazy[["s", "n"]]
    join, ignore_index = data.draw(st.sampled_from(["outer", "inner"])), data.draw(st.booleans())
    got = gd.concat([lazy, other_lazy], join=join, ignore_index=ignore_index).compute(**INLINE)
    expected = pd.concat([frame, other], join=join, ignore_index=ignore_index)
    assert_same(got, expected)


def test_series_among_frames_are_columns():
    frame = pd.DataFrame({"x": [1, 2]})
    for series in (pd.Series([3, 4], name="y"), pd.Series([3, 4], name="x"), pd.Series([3, 4])):
        got = gd.concat([gd.from_pandas(frame, npartitions=2), gd.from_pandas(series, npartitions=2)])
        assert_same(got.compute(**INLINE), pd.concat([frame, series]))


KEYS = [
    {"keys": ["p", "q"]},
    {"keys": ["p", "p"], "names": ["from"]},
    {"keys": [("p", 1), ("q", 2)], "names": ["m", "n"]},
    {"keys": [1, 2.5], "names": "n", "join": "inner"},
    {"keys": [None, "q"], "sort": True},
    {"keys": pd.Index(["b", "a"], name="from")},
    {"keys": pd.CategoricalIndex(["b", "a"], categories=["b", "c", "a"])},
    {"keys": pd.date_range("2024-03-31", periods=2, tz="Europe/Paris"), "sort": True},
    {"sort": True},
    {"sort": True, "join": "inner"},
]


@settings(max_examples=examples(20), deadline=None)
@given(data=st.data())
def test_keys_label_the_rows_of_each_frame_as_in_pandas(data):
    (frame, lazy), (other, other_lazy) = data.draw(cut_frames(min_rows=1)), data.draw(cut_frames(min_rows=1))
    frame, lazy = frame[["s", "i", "d"]], lazy[["s", "i", "d"]]
    other, other_lazy = other[["n", "c", "s"]], other_lazy[["n", "c", "s"]]
    options = data.draw(st.sampled_from(KEYS))
    got = gd.concat([lazy, other_lazy], **options)
    expected = pd.concat([frame, other], **options)
    assert got._meta.index.names == expected.index.names
    assert_same(got.compute(**INLINE), expected)
    assert_same(got[got.s > "b"][["s"]].compute(**INLINE), expected[expected.s > "b"][["s"]])
    series = gd.concat({"one": lazy.i, "none": None, "two": lazy.i}).compute(**INLINE)
    assert_same(series, pd.concat({"one": frame.i, "none": None, "two": frame.i}))


@pytest.mark.parametrize(
    "options",
    [{"keys": ["P", "Q"]}, {"keys": ["P", "Q"], "names": ["of"], "sort": True}, {"ignore_index": True}, {"sort": True}],
)
def test_keys_are_levels_of_columns_side_by_side(options):
    frame = pd.DataFrame({"x": range(5), "y": range(5)}, index=[3, 1, 1, 0, 2]).sort_index()
    lazy = gd.from_pandas(frame, npartitions=2)
    for pick in (lambda v: [v, v], lambda v: [v.x, v.y], lambda v: [v.y, v]):
        assert_same(gd.concat(pick(lazy), axis=1, **options).compute(), pd.concat(pick(frame), axis=1, **options))
    assert_same(gd.concat({"P": lazy, "Q": lazy}, axis=1)["Q"].compute(), frame)


@pytest.mark.parametrize(
    "categories",
    [(list("ab"), list("ab")), (list("ab"), list("bc")), ([1, 2], [3, 4, 2]), ([0.5], ["a"]), (list("ab"), list("ba"))],
)
@pytest.mark.parametrize("has_missing", [False, True])
def test_known_categories_that_differ_become_values_as_in_pandas(categories, has_missing):
    frames = [
        pd.DataFrame({"c": pd.Categorical(some * 2, categories=some), "x": range(2 * len(some))}) for some in categories
    ]
    if has_missing:
        frames = [frame.assign(c=frame.c.where(frame.x != 1)) for frame in frames]
    lazy = gd.concat([gd.from_pandas(frame, npartitions=2) for frame in frames])
    expected = pd.concat(frames)
    assert_same(lazy.compute(**INLINE), expected)
    if not has_missing:
        assert lazy.c.dtype == expected.c.dtype
    one = gd.concat([gd.from_pandas(frame.c, npartitions=2) for frame in frames])
    assert_same(one.compute(**INLINE), expected.c)
    if not isinstance(expected.c.dtype, pd.CategoricalDtype) and "a" in categories[0]:
        assert_same((lazy.c + "!").compute(**INLINE), expected.c + "!")


def test_categories_that_arent_known_are_joined():
    frames = [pd.DataFrame({"c": list(letters)}) for letters in ("ab", "cb")]
    lazy = gd.concat([gd.from_pandas(frame, npartitions=2).astype({"c": "category"}) for frame in frames])
    assert_same(lazy.compute(**INLINE), pd.concat(frames).astype({"c": "category"}))


def test_rows_are_found_again_by_their_key():
    frame = pd.DataFrame({"x": range(4), "y": list("abcd")})
    lazy = gd.concat({name: gd.from_pandas(frame, npartitions=2) for name in ("a", "b")}, names=["k", "n"])
    plain = pd.concat({"a": frame, "b": frame}, names=["k", "n"])
    assert_same(lazy.loc["b"].compute(**INLINE), plain.loc["b"])
    assert_same(lazy.loc["a", ["y"]].compute(**INLINE), plain.loc["a", ["y"]])
    assert_same(lazy.loc["a", "x"].compute(**INLINE), plain.loc["a", "x"])
    assert_same(lazy.x.loc["b"].compute(**INLINE), plain.x.loc["b"])
    assert_same(lazy.loc[lazy.x > 1, "y"].compute(**INLINE), plain.loc[plain.x > 1, "y"])
    with pytest.raises(KeyError):
        lazy.loc["c"].compute(**INLINE)
    for rows in (["a"], slice("a", "b")):
        assert_same(lazy.loc[rows].compute(**INLINE), plain.loc[rows])
    assert_same(lazy.loc[("a", 1)].compute(**INLINE), plain.loc[[("a", 1)]])


@pytest.mark.parametrize("options", [{}, {"ignore_index": True}, {"keys": ["p", "q", "r"]}, {"join": "inner"}])
def test_frames_of_nothing_do_not_change_the_dtypes_of_others(options):
    some = pd.DataFrame({"a": [1, 2], "b": [True, False]}, index=[5, 6])
    nothing = pd.DataFrame() if options else pd.DataFrame(index=pd.DatetimeIndex([], name="t"))
    for many in ([nothing, some, some + 1], [some, nothing, some], [nothing, some, nothing]):
        made = gd.concat([gd.from_pandas(frame, npartitions=2) for frame in many], **options)
        expected = pd.concat(many, **options)
        assert made.dtypes.astype(str).to_dict() == expected.dtypes.astype(str).to_dict()
        pd.testing.assert_frame_equal(made.compute(), expected, check_index_type=False, check_column_type=False)


@pytest.mark.parametrize("labels", [[1, 2, 3], [1, 2, 4], [1, 2]], ids=str)
def test_with_keys_levels_have_the_first_names_where_all_labels_are_equal(labels):
    one = pd.Series(range(3), index=pd.Index([1, 2, 3], name="i"))
    for name in (None, "j", "i"):
        many = [one, pd.Series(range(len(labels)), index=pd.Index(labels, name=name))]
        lazy = [gd.from_pandas(series, npartitions=2) for series in many]
        for options in ({}, {"names": ["n"]}, {"names": ["n", "m"]}):
            expected = pd.concat(many, keys=["a", "b"], **options)
            assert_same(gd.concat(lazy, keys=["a", "b"], **options).compute(**INLINE), expected)
            of_unknown_lengths = [series[series >= 0] for series in lazy]
            assert_same(gd.concat(of_unknown_lengths, keys=["a", "b"], **options).compute(**INLINE), expected)


def test_what_concat_cant_do_says_what_can():
    frame = pd.DataFrame({"x": range(4)}, index=[3, 1, 2, 0])
    lazy = gd.from_pandas(frame, npartitions=2, sort=False)
    with pytest.raises(ValueError, match=r"concat: there are 2 objects, and 1 keys: \['a'\]"):
        gd.concat([lazy, lazy], keys=["a"])
    with pytest.raises(ValueError, match=r"concat: ignore_index=True numbers what keys=\['a'\] would label"):
        gd.concat([lazy], keys=["a"], ignore_index=True)
    with pytest.raises(ValueError, match="Length of names must match"):
        gd.concat([lazy], keys=["a"], names=["l", "m", "n"])
    with pytest.raises(ValueError, match="concat: all objects are None"):
        gd.concat({"a": None})
    with pytest.raises(OptionError, match="sort='yes' should be True or False"):
        gd.concat([lazy], sort="yes")
    with pytest.raises(NotImplementedError, match=r"concat\(sort=True\) isn't supported: .* sort_index\(\)"):
        gd.concat([lazy.x, lazy], axis=1, sort=True)
    with pytest.raises(ValueError, match="Indexes have overlapping values"):
        gd.concat([lazy, lazy], axis=1, verify_integrity=True)
    with pytest.raises(
        ValueError, match=r"concat\(verify_integrity=True\): Indexes have overlapping values: \[3, 1, 2, 0\]"
    ):
        gd.concat([lazy, lazy], verify_integrity=True)
    with pytest.raises(OptionError, match="sort=None should be True or False"):
        gd.concat([lazy], sort=None)
    options = {"axis": "rows", "keys": ["a", "b"], "verify_integrity": True}
    assert_same(gd.concat([lazy, lazy], **options).compute(**INLINE), pd.concat([frame, frame], **options))


def test_the_only_partition_of_unlike_rows_is_sorted_by_label():
    one, other = pd.Series([1, 2, 3], index=[3, 0, 1], name="x"), pd.Series([4.0, 5], index=[2, 3], name="y")
    lazy = [gd.from_pandas(series, npartitions=1, sort=False) for series in (one, other)]
    options = {"axis": 1, "sort": True}
    assert_same(gd.concat(lazy, **options).compute(**INLINE), pd.concat([one, other], **options))


def test_overlapping_frames_are_interleaved_on_request():
    one = pd.DataFrame({"x": range(6)}, index=range(6))
    two = pd.DataFrame({"x": range(6)}, index=range(3, 9))
    lazy = [gd.from_pandas(frame, npartitions=2) for frame in (one, two)]
    assert not gd.concat(lazy).known_divisions
    got = gd.concat(lazy, interleave_partitions=True)
    assert got.divisions == (0, 3, 5, 6, 8)
    assert_same(got.compute(**INLINE).sort_index(kind="stable"), pd.concat([one, two]).sort_index(kind="stable"))
    with pytest.raises(NotImplementedError, match=r"concat\(interleave_partitions=True\) isn't supported: with keys="):
        gd.concat(lazy, keys=["a", "b"], interleave_partitions=True)
    unknown = [frame.reset_index(drop=True) for frame in lazy]
    with pytest.raises(DivisionError, match="set_index"):
        gd.concat(unknown, axis=1)
    assert gd.concat(unknown, axis=1, ignore_unknown_divisions=True).npartitions == 2


@pytest.mark.parametrize("join", ["outer", "inner", "left", "right"])
def test_align_is_that_of_pandas(join):
    one = pd.DataFrame({"x": range(4), "y": 1}, index=range(4))
    two = pd.DataFrame({"x": range(4), "z": 2}, index=range(2, 6))
    got = gd.from_pandas(one, npartitions=2).align(gd.from_pandas(two, npartitions=3), join=join)
    expected = one.align(two, join=join)
    for ours, theirs in zip(got, expected, strict=True):
        assert_same(ours.compute(**INLINE), theirs)


def test_index_resets_count_the_rows_of_each_partition():
    frame = pd.DataFrame({"x": [1, 2, 3]}, index=pd.MultiIndex.from_arrays([[1, 1, 2], list("abc")], names=["n", "l"]))
    lazy = gd.from_map([frame[:2], frame[2:]].__getitem__, range(2), meta=frame)
    assert_same(lazy.reset_index("n").compute(**INLINE), frame.reset_index("n"))
    expected = pd.concat([frame[:2].reset_index(names=["p", "q"]), frame[2:].reset_index(names=["p", "q"])])
    assert_same(lazy.reset_index(names=["p", "q"]).compute(**INLINE), expected)
    assert list(lazy.x.reset_index(name="value", level="l").columns) == ["l", "value"]
    assert lazy.x.reset_index(drop=True).compute(**INLINE).index.tolist() == [0, 1, 0]
    with pytest.raises(TypeError, match=r"Series.reset_index\(inplace=True\) would make a DataFrame of a Series"):
        lazy.x.reset_index(inplace=True)


def test_reindex_is_that_of_pandas():
    frame = pd.DataFrame({"x": range(6), "y": list("abcdef")}, index=pd.Index([5, 1, 3, 2, 4, 0], name="n"))
    for lazy in (gd.from_pandas(frame, npartitions=3), gd.from_pandas(frame, npartitions=3, sort=False)):
        for labels in ([4, 1], [7, 3], []):
            assert_same(lazy.reindex(labels).compute(**INLINE), frame.reindex(labels))
            assert_same(lazy.x.reindex(labels, fill_value=9).compute(**INLINE), frame.x.reindex(labels, fill_value=9))
        got = lazy.reindex(index=[4, 8], columns=["y", "z"]).compute(**INLINE)
        assert_same(got, frame.reindex(index=[4, 8], columns=["y", "z"]))
    with pytest.raises(NotImplementedError, match=r"reindex\(method='ffill'\) isn't supported: compute\(\) the index"):
        lazy.reindex(lazy.index, method="ffill")
    with pytest.raises(TypeError, match="Cannot specify both 'axis' and any of 'index' or 'columns'"):
        lazy.reindex([1], columns=["x"], axis=0)


def test_reindex_of_rows_and_columns_at_once_has_the_dtypes_of_pandas():
    frame = pd.DataFrame({"x": [1, 2, 3], "y": [4, 5, 6]}, dtype="uint8")
    lazy = gd.from_pandas(frame, npartitions=3)
    for options in ({}, {"fill_value": 10}):
        wanted = {"index": [2, 0], "columns": ["x", "z"], **options}
        assert_same(lazy.reindex(**wanted).compute(**INLINE), frame.reindex(**wanted))
        assert_same(lazy.assign(s="a").reindex(**wanted).compute(**INLINE), frame.assign(s="a").reindex(**wanted))
    levels = pd.MultiIndex.from_product([[2, 0], ["p", "q"]], names=["n", "m"])
    for one, other in (
        (lazy.rename_axis("n"), frame.rename_axis("n")),
        (lazy.x.rename_axis("n"), frame.x.rename_axis("n")),
    ):
        assert_same(one.reindex(index=levels).compute(**INLINE), other.reindex(index=levels))
        assert_same(one.reindex(levels).compute(**INLINE), other.reindex(levels))
    names = pd.CategoricalIndex(["x", "z"], name="k")
    assert_same(lazy.reindex(columns=names).compute(**INLINE), frame.reindex(columns=names))
    categories = pd.Categorical(names)
    assert_same(lazy.reindex(columns=categories).compute(**INLINE), frame.reindex(columns=categories))


@pytest.mark.parametrize("method", ["ffill", "bfill", "nearest"])
def test_reindex_takes_the_rows_of_near_labels(method):
    frame = pd.DataFrame({"x": range(5), "y": list("abcde")}, index=pd.Index([0, 2, 4, 6, 9], name="n"))
    for rows in (frame, frame[::-1], frame[:1], frame[:0]):
        lazy = gd.from_pandas(rows, npartitions=3, sort=False)
        for labels in ([3, 4, -1, 20, 5], []):
            assert_same(lazy.reindex(labels, method=method).compute(**INLINE), rows.reindex(labels, method=method))
        got = lazy.x.reindex([7, 8, 30], method=method, tolerance=[0, 1, 2]).compute(**INLINE)
        assert_same(got, rows.x.reindex([7, 8, 30], method=method, tolerance=[0, 1, 2]))
    for places, message in (([1, 0, 2], "monotonic increasing"), ([0, 0, 1], "duplicate labels")):
        lazy = gd.from_pandas(frame.iloc[places], npartitions=3, sort=False)
        with pytest.raises(ValueError, match=message):
            lazy.reindex([3], method=method).compute(**INLINE)
    if method != "nearest":
        got = gd.from_pandas(frame, npartitions=2).reindex([1, 7, 8, 10], method=method, limit=1).compute(**INLINE)
        assert_same(got, frame.reindex([1, 7, 8, 10], method=method, limit=1))


def test_repartition_takes_divisions_first_and_those_of_a_pandas_frame_may_be_wider():
    frame = pd.DataFrame({"x": range(10)})
    lazy = gd.from_pandas(frame, npartitions=4)
    assert lazy.repartition([0, 5, 9]).divisions == (0, 5, 9)
    assert_same(lazy.repartition((0, 5, 9)).compute(), frame)
    with pytest.raises(ValueError, match="repartition takes one of .*; got npartitions and divisions"):
        lazy.repartition([0, 5, 9], divisions=[0, 9])
    with pytest.raises(DivisionError, match="force=True widen them"):
        gd.repartition(lazy, [-5, 5, 20])
    wide = gd.repartition(frame, [-5, 5, 20])
    assert wide.divisions == (-5, 5, 20)
    assert [len(block) for block in blocks_of(wide)] == [5, 5]
    with pytest.raises(DivisionError, match=r"divisions=\[2, 20\] should include them"):
        gd.repartition(frame, [2, 20])


@pytest.mark.parametrize("join", ["inner", "outer"])
@pytest.mark.parametrize("sort", [False, True])
@pytest.mark.parametrize("labels", ["apart", "overlapping"])
def test_interleaved_partitions_all_have_the_columns_of_the_whole(join, sort, labels):
    one = pd.DataFrame(
        {"b": [1, 2, 3, 4], "a": list("wxyz"), "n": pd.array([1, None, 3, 4], "Int64")}, index=[0, 1, 2, 3]
    )
    other = pd.DataFrame(
        {"n": pd.array([5, 6], "Int64"), "c": [0.5, 1.5], "b": [5, 6]},
        index=[2, 7] if labels == "overlapping" else [6, 7],
    )
    lazy = [gd.from_pandas(one, npartitions=3), gd.from_pandas(other, npartitions=2)]
    got = gd.concat(lazy, join=join, sort=sort, interleave_partitions=True)
    expected = pd.concat([one, other], join=join, sort=sort)
    for block in blocks_of(got):
        assert list(block.columns) == list(expected.columns)
        assert block.dtypes.tolist() == got.dtypes.tolist()
    assert_same(got.compute(), expected.sort_index(kind="stable"))


KEYS_AT_HAND = {
    "an array": lambda f: f.set_index(np.array([3, 1, 2, 4])),
    "times": lambda f: f.set_index(pd.date_range("2020", periods=4, name="t")),
    "a series, by place": lambda f: f.set_index(pd.Series([4, 5, 6, 7], index=[3, 2, 1, 0], name="q")),
    "a list": lambda f: f.set_index([[3, 1, 2, 4]]),
    "beside a column": lambda f: f.set_index(["x", pd.Index([1, 2, 3, 4], name="z")]),
    "several levels": lambda f: f.set_index(pd.MultiIndex.from_arrays([[1, 1, 2, 3], list("abab")], names=["k", None])),
    "an iterator": lambda f: f.set_index([iter([3, 1, 2, 4])]),
    "too few": lambda f: f.set_index(pd.Index([1, 2])),
}
SUBSETS = {
    "an array": lambda f: f.drop_duplicates(np.array(["x", "y"])),
    "a tuple": lambda f: f.drop_duplicates(("x", "y"), keep="last"),
    "an array, missing": lambda f: f.dropna(subset=np.array(["y", "x"])),
}
if HAS_COPY_ON_WRITE:  # pandas 2 takes no sets
    SUBSETS |= {"a set": lambda f: f.drop_duplicates({"x"}), "a set, marked": lambda f: f.duplicated({"x"})}


@pytest.mark.parametrize("operations", [KEYS_AT_HAND, SUBSETS], ids=["keys of set_index", "columns to compare by"])
def test_keys_and_columns_may_be_in_any_list_like(operations):
    frame = pd.DataFrame({"x": [1, 2, 2, 2], "y": [1, 3, 3, np.nan]})
    sort = operations is KEYS_AT_HAND
    made = {name: lambda f, one=one: one(f).sort_index() if sort else one(f) for name, one in operations.items()}
    check_all(made, frame, gd.from_pandas(frame, npartitions=3))


@pytest.mark.parametrize("join", ["outer", "inner", "left", "right"])
def test_columns_are_aligned_with_the_labels_of_a_series_at_hand(join):
    frame, series = pd.DataFrame({"x": range(4), "y": 1.5}), pd.Series([1, 2], index=["y", "z"])
    got = gd.from_pandas(frame, npartitions=2).align(series, join=join, axis=1, fill_value=0)
    for ours, theirs in zip(got, frame.align(series, join=join, axis=1, fill_value=0), strict=True):
        assert_same(ours.compute(**INLINE), theirs)
    with pytest.raises(NotImplementedError, match=r"align: a lazy series whose labels are columns .*compute\(\)"):
        gd.from_pandas(frame, npartitions=2).align(gd.from_pandas(series, npartitions=1), axis=1)
