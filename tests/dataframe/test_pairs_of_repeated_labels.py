"""Frames whose labels repeat are paired as pandas pairs whole frames: by place if all labels are equal, else each with each, or not at all."""

from __future__ import annotations

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same, plan
from glassloom.backends.pandas_version import PANDAS_VERSION
from glassloom.dataframe import repeated_labels
from glassloom.dataframe.io.read import Read
from glassloom.dataframe.repeated_labels import Extended
from glassloom.errors import DivisionError
from hypothesis import given, settings
from hypothesis import strategies as st
from long_tests import examples

INLINE = {"scheduler": "inline"}


def set_column(a, b, _):
    a["z"] = b.v
    return a


def updated(a, b, _):
    a.update(b[["w"]])
    return a


def series_updated(a, b, _):
    made = a.w
    made = made.copy()
    made.update(b.w)
    return made


TOGETHER = {
    "add": lambda a, b, _: a.v + b.v,
    "add frames": lambda a, b, _: a[["v", "w"]] + b[["v", "w"]],
    "add with a value": lambda a, b, _: a.v.add(b.v, fill_value=0),
    "three": lambda a, b, _: (a.v + b.v) * a.v,
    "operator of comparison": lambda a, b, _: a.v < b.v,
    "operator of frames": lambda a, b, _: a[["v"]] == b[["v"]],
    "lt": lambda a, b, _: a.v.lt(b.v),
    "and": lambda a, b, _: a.b & b.b,
    "between": lambda a, b, _: a.v.between(b.v - 1, b.v + 1),
    "combine frames": lambda a, b, _: a[["v"]].combine(b[["v"]], lambda x, y: x + y),
    "combine_first": lambda a, b, _: a.w.combine_first(b.w),
    "combine_first of frames": lambda a, b, _: a[["v", "w"]].combine_first(b[["v", "w"]]),
    "align": lambda a, b, _: a.v.align(b.v)[0],
    "align the other": lambda a, b, _: a.v.align(b.v)[1],
    "align left": lambda a, b, _: a[["v"]].align(b[["w"]], join="left")[1],
    "align inner": lambda a, b, _: a.align(b, join="inner", axis=0)[1],
    "where": lambda a, b, _: a.w.where(a.v > 3, b.w),
    "where others": lambda a, b, _: a.w.where(b.v > 3),
    "where frames": lambda a, b, _: a[["w"]].where(b[["w"]] > 3),
    "mask": lambda a, b, _: a.w.mask(b.v > 3, b.w),
    "fill": lambda a, b, _: a.w.fillna(b.w),
    "fill frames": lambda a, b, _: a[["w"]].fillna(b[["w"]]),
    "update": updated,
    "update a series": series_updated,
    "assign": lambda a, b, _: a.assign(z=b.v, y=b.w),
    "assign, then one": lambda a, b, _: a.assign(z=b.v).z,
    "set a column": set_column,
    "concat": lambda a, b, of: of.concat([a.v, b.v.rename("y")], axis=1, join="inner"),
    "concat three": lambda a, b, of: of.concat([a.v, b.v.rename("y"), a.w], axis=1, join="inner"),
    "cov": lambda a, b, _: a.v.cov(b.v),
    "spearman": lambda a, b, _: a.v.corr(b.v, method="spearman"),
    "corrwith": lambda a, b, _: a[["v", "w"]].corrwith(b[["v", "w"]]),
    "dot": lambda a, b, _: a.v.dot(b.v),
    "dot of a frame": lambda a, b, _: a.v.dot(b[["v", "w"]]),
    "cat": lambda a, b, _: a.s.str.cat(b.s, sep="-"),
    "groupby": lambda a, b, _: a.groupby(b.s).v.sum(),
    "reindex": lambda a, b, _: a.v.reindex(b.index),
    "compare": lambda a, b, _: a.w.compare(b.w),
    "sum": lambda a, b, _: (a.v + b.v).sum(),
    "length": lambda a, b, _: len(a.v + b.v),
    "rolling": lambda a, b, _: a.v.rolling(2).cov(b.v),
    "scan": lambda a, b, _: (a.v + b.v).cumsum(),
}
if PANDAS_VERSION >= (
    3,
    1,
):  # earlier ones refuse repeated labels in functions of NumPy's, and put series into the cells of `combine`
    TOGETHER |= {
        "numpy": lambda a, b, _: np.maximum(a.v, b.v),
        "combine": lambda a, b, _: a.v.combine(b.v, lambda x, y: x + y),
    }
LABELS = {
    "texts": lambda number: "abcdefgh"[number],
    "numbers": lambda number: number / 2,
    "times": lambda number: pd.Timestamp("2020", tz="Europe/Paris") + pd.Timedelta(days=number),
}


def frame_of(numbers, kind, seed):
    random = np.random.default_rng(seed)
    count = len(numbers)
    frame = pd.DataFrame(
        {
            "v": random.integers(0, 9, count),
            "w": random.integers(0, 4, count).astype(float),
            "b": random.random(count) < 0.5,
            "s": random.choice(list("xyz"), count),
        },
        index=pd.Index([LABELS[kind](number) for number in numbers], name="k"),
    )
    return frame.assign(w=frame.w.where(frame.w > 0))


@st.composite
def labels_of_two(draw):
    one = sorted(draw(st.lists(st.integers(0, 5), min_size=2, max_size=10)))
    other = list(one)
    change = draw(st.sampled_from(["none", "one fewer", "one more", "again", "others"]))
    if change == "one fewer":
        other.pop(draw(st.integers(0, len(other) - 1)))
    elif change == "one more":
        other = sorted([*other, draw(st.integers(0, 6))])
    elif change == "again":
        other = sorted([*other, draw(st.sampled_from(other))])
    elif change == "others":
        other = sorted(draw(st.lists(st.integers(0, 5), min_size=1, max_size=8)))
    return (one, other) if draw(st.booleans()) else (other, one)


def outcome(function, *arguments):
    """Return what a function makes, or that it is an error."""
    try:
        found = function(*arguments)
        return found.compute(**INLINE) if hasattr(found, "compute") else found
    except (ValueError, pd.errors.InvalidIndexError):
        return "error"


def check_outcome(found, expected):
    """Check that two results, or errors, are the same."""
    if isinstance(expected, (pd.DataFrame, pd.Series)):
        assert_same(found, expected)
    elif expected == "error":
        assert isinstance(found, str) and found == expected
    else:
        assert found == pytest.approx(expected, nan_ok=True)


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=examples(40), deadline=None)
@given(data=st.data())
def test_pairs_are_those_of_whole_frames(data):
    kind = data.draw(st.sampled_from(list(LABELS)))
    frames = [frame_of(numbers, kind, seed) for seed, numbers in enumerate(data.draw(labels_of_two()))]
    parts = [data.draw(st.integers(1, 4)) for _ in frames]
    for name in data.draw(st.lists(st.sampled_from(list(TOGETHER)), min_size=3, max_size=3, unique=True)):
        lazy = [gd.from_pandas(frame, npartitions=count) for frame, count in zip(frames, parts, strict=True)]
        expected = outcome(TOGETHER[name], *[frame.copy() for frame in frames], pd)
        found = outcome(TOGETHER[name], *lazy, gd)
        if isinstance(expected, (pd.DataFrame, pd.Series)):
            assert_same(found, expected)
        elif expected == "error":
            assert isinstance(found, str) and found == expected, name
        else:
            assert found == pytest.approx(expected, nan_ok=True), name


THREE = {
    "chain": lambda a, b, c, _: a.v + b.v + c.v,
    "where": lambda a, b, c, _: a.w.where(b.v > 3, c.w),
    "mask frames": lambda a, b, c, _: a[["w"]].mask(b[["w"]] > 2, c[["w"]]),
    "assign": lambda a, b, c, _: a.assign(x=b.v, y=c.v),
    "assign a sum": lambda a, b, c, _: a.assign(z=b.v + c.v),
    "concat": lambda a, b, c, of: of.concat([a.v, b.v.rename("y"), c.w], axis=1, join="inner"),
    "cat": lambda a, b, c, _: a.s.str.cat([b.s, c.s]),
    "groupby": lambda a, b, c, _: a.groupby([b.s, c.s]).v.count(),
}


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=examples(20), deadline=None)
@given(data=st.data())
def test_three_frames_are_paired_as_whole_ones(data):
    one, other = data.draw(labels_of_two())
    numbers = [one, other, data.draw(st.sampled_from([one, other, [*one, one[-1]], one[1:]]))]
    frames = [frame_of(each, "texts", seed) for seed, each in enumerate(numbers)]
    parts = [data.draw(st.integers(1, 4)) for _ in frames]
    for name in data.draw(st.lists(st.sampled_from(list(THREE)), min_size=2, max_size=2, unique=True)):
        lazy = [gd.from_pandas(frame, npartitions=count) for frame, count in zip(frames, parts, strict=True)]
        expected, found = outcome(THREE[name], *frames, pd), outcome(THREE[name], *lazy, gd)
        if isinstance(expected, str):
            assert isinstance(found, str) and found == expected, name
        else:
            assert_same(found, expected)


DOUBLE = pd.DataFrame(
    {"v": range(8), "w": [0.5, None] * 4, "b": [True, False] * 4, "s": list("xyzxyzxy")}, index=list("aabbccdd")
)
PAIRS = {
    "first missing": DOUBLE[1:],
    "last missing": DOUBLE[:-1],
    "last again": pd.concat([DOUBLE, DOUBLE[-1:]]),
    "another label": DOUBLE.set_axis(list("aabbccde")),
    "equal": (DOUBLE + DOUBLE).set_axis(list("aabbccdd")),  # to pandas labels of one memory are more than equal
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.each_choice
@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("name", TOGETHER)
def test_equal_labels_of_a_partition_are_paired_as_those_of_the_others_say(name, pair):
    frames = [DOUBLE, PAIRS[pair]]
    expected = outcome(TOGETHER[name], *[frame.copy() for frame in frames], pd)
    found = outcome(TOGETHER[name], *[gd.from_pandas(frame, npartitions=4) for frame in frames], gd)
    check_outcome(found, expected)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.each_choice
@pytest.mark.parametrize("numbers", [([4, 5], [1, 1, 4]), ([1, 1, 4], [4, 5]), ([3, 3], [1, 1, 3, 3])])
@pytest.mark.parametrize("name", TOGETHER)
def test_repeated_labels_count_that_the_other_frame_lacks(name, numbers):
    frames = [frame_of(each, "texts", seed) for seed, each in enumerate(numbers)]
    expected = outcome(TOGETHER[name], *[frame.copy() for frame in frames], pd)
    found = outcome(TOGETHER[name], *[gd.from_pandas(frame, npartitions=3) for frame in frames], gd)
    check_outcome(found, expected)


def test_rows_of_repeated_labels_are_counted():
    one, other = (gd.from_pandas(frame, npartitions=2) for frame in (DOUBLE, DOUBLE[1:]))
    assert len(one.v + other.v) == len(DOUBLE.v + DOUBLE[1:].v) == 14
    made = one.assign(z=one.v)
    assert len(made) == 8 and made.expr.rows == one.expr.rows


def test_labels_that_differ_only_in_their_order_are_paired_each_with_each():
    labels = {"a": pd.Index([1, 1, 2, 5, 5]), "b": pd.Index([1, 2, 1, 5, 5])}
    plain = [pd.Series(range(5), index=index) for index in labels.values()]
    lazy = [
        gd.from_map(lambda part, series=series: series[:3] if part == 0 else series[3:], [0, 1], divisions=(1, 5, 5))
        for series in plain
    ]
    assert_same((lazy[0] + lazy[1]).compute(**INLINE), plain[0] + plain[1])
    assert len(lazy[0] + lazy[1]) == 9
    assert_same((lazy[0] + lazy[0]).compute(**INLINE), plain[0] + plain[0])


@pytest.mark.filterwarnings("ignore:Boolean Series key will be reindexed")
def test_a_condition_that_says_several_things_of_a_label_chooses_nothing():
    one, other = gd.from_pandas(DOUBLE, npartitions=4), gd.from_pandas(DOUBLE[1:], npartitions=4)
    for chosen in (lambda: one[other.v > 3], lambda: one.v[other.v > 3], lambda: one.loc[other.v > 3, "w"]):
        with pytest.raises(
            pd.errors.IndexingError, match="Unalignable boolean Series.*several values for the label 'b'"
        ):
            chosen().compute(**INLINE)
    one.loc[other.v > 3, "w"] = 0
    with pytest.raises((ValueError, IndexError)):
        one.compute(**INLINE)
    one, equal = gd.from_pandas(DOUBLE, npartitions=4), gd.from_pandas(DOUBLE * 1, npartitions=4)
    assert_same(one[equal.v > 3].compute(**INLINE), DOUBLE[DOUBLE.v > 3])


def test_two_of_three_frames_may_have_equal_labels():
    frames = [DOUBLE, DOUBLE.add_suffix("2") * 1, DOUBLE[1:].add_suffix("3")]
    lazy = [gd.from_pandas(frame, npartitions=4) for frame in frames]
    assert_same(lazy[0].w.where(lazy[1].v2 > 3, 0.0).compute(**INLINE), DOUBLE.w.where(DOUBLE.v > 3, 0.0))
    with pytest.raises(pd.errors.InvalidIndexError, match="Reindexing only valid with uniquely valued Index objects"):
        gd.concat(lazy, axis=1).compute(**INLINE)
    assert_same(gd.concat(lazy[:2], axis=1).compute(**INLINE), pd.concat(frames[:2], axis=1))


def test_labels_are_compared_only_where_they_may_repeat(tmp_path):
    unique = pd.DataFrame({"x": range(8), "y": range(8)})
    unique.to_parquet(tmp_path / "x.parquet", row_group_size=2)
    even = gd.from_pandas(unique, npartitions=4)
    read = gd.read_parquet(tmp_path / "x.parquet", split_row_groups=True)
    few = gd.from_pandas(unique[2:], npartitions=3)
    double, others = gd.from_pandas(DOUBLE, npartitions=4), gd.from_pandas(DOUBLE[1:], npartitions=4)
    texts = gd.from_pandas(unique.set_axis(list("hgfedcba")), npartitions=4, sort=False)
    numbered = even.reset_index(drop=True)
    for made in (
        even.x + few.x,
        even.persist(**INLINE).x + few.x,
        read.x + read[read.y > 3].y,
        texts.x + texts[texts.y > 3].y,
        numbered.x + numbered[numbered.y > 3].y,
        even.merge(few, on="x").assign(z=1).x + even.merge(few, on="x").x,
        even.repartition(npartitions=2).x + few.x,
        double.v + double.w,
        double.assign(z=double.v + 1),
        double[double.v > 3],
    ):
        assert not [node for node in plan(made) if isinstance(node, Extended)]
    assert [node for node in plan(double.v + others.v) if isinstance(node, Extended)]
    assert [node for node in plan(double.v + double[double.v > 3].v) if isinstance(node, Extended)]


def test_labels_are_compared_without_reading_columns(tmp_path):
    DOUBLE.to_parquet(tmp_path / "a.parquet", row_group_size=2)
    DOUBLE[1:].to_parquet(tmp_path / "b.parquet", row_group_size=2)
    one, other = (gd.read_parquet(tmp_path / name, split_row_groups=True) for name in ("a.parquet", "b.parquet"))
    one, other = (
        gd.from_pandas(frame.compute(**INLINE), npartitions=4) if frame.divisions[0] is None else frame
        for frame in (one, other)
    )
    made = one.assign(z=other.v).z
    read = {node.columns for node in plan(made) if isinstance(node, Read)}
    assert read == {(), ("v",)}


def test_a_pandas_series_of_the_labels_of_a_frame_is_a_column_by_place():
    for sort, plain in ((True, DOUBLE), (False, UNSORTED), (False, SPREAD)):
        for npartitions in (1, 3):
            lazy = gd.from_pandas(plain, npartitions=npartitions, sort=sort)
            assert_same(lazy.assign(z=plain.v * 2).compute(**INLINE), plain.assign(z=plain.v * 2))
            assert_same(lazy[lazy.v >= 0].assign(z=plain.w).compute(**INLINE), plain.assign(z=plain.w))
            for other in (plain.v[1:], plain.v.iloc[::-1], pd.concat([plain.v, plain.v[:1]])):
                with pytest.raises(ValueError, match="cannot reindex on an axis with duplicate labels"):
                    lazy.assign(z=other)


UNSORTED = DOUBLE.set_axis(list("bbaaddcc"))
SPREAD = DOUBLE.set_axis(list("abcdabcd"))


@pytest.mark.filterwarnings("ignore")
def test_labels_of_one_partition_are_paired_where_divisions_are_not_known():
    lazy = gd.from_pandas(UNSORTED, npartitions=4, sort=False)
    assert lazy.divisions[0] is None
    few = UNSORTED[UNSORTED.v != 1]
    made = lazy.v + lazy[lazy.v != 1].v
    assert_same(made.compute(**INLINE).sort_index(), UNSORTED.v + few.v)
    assert_same((lazy.v + lazy[lazy.v >= 0].v).compute(**INLINE), UNSORTED.v + UNSORTED.v)
    with pytest.raises(ValueError, match="cannot reindex on an axis with duplicate labels"):
        lazy.assign(z=lazy[lazy.v != 1].v).compute(**INLINE)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("most", [1_000_000, 1])
def test_labels_in_several_partitions_are_paired_by_place_or_refused(most, monkeypatch):
    monkeypatch.setattr(repeated_labels, "_MOST_HASHES", most)
    lazy = gd.from_pandas(SPREAD, npartitions=4, sort=False)
    assert_same((lazy.v + lazy[lazy.v >= 0].w).compute(**INLINE), SPREAD.v + SPREAD.w)
    for made in (lazy.v + lazy[lazy.v > 0].v, lazy.assign(z=lazy[lazy.v > 0].v), lazy.w.where(lazy[lazy.v > 0].b)):
        with pytest.raises(
            DivisionError, match=r"divisions aren't known: equal labels .*are in several partitions. sort_index\(\)"
        ):
            made.compute(**INLINE)
    together = lazy.sort_index()
    twice = gd.concat([gd.from_pandas(EVEN, npartitions=1)] * 2)
    with pytest.raises(DivisionError, match=r"equal labels such as \d are in several partitions"):
        (twice.x + twice[twice.x > 1].x).compute(**INLINE)
    assert_same((together.v + together.v).compute(**INLINE), (SPREAD.v + SPREAD.v).sort_index(kind="stable"))


EVEN = pd.DataFrame({"x": range(4)})


def test_labels_that_count_the_rows_of_each_partition_may_be_in_several():
    whole = pd.DataFrame({"x": range(8)})
    counted = [
        gd.from_pandas(whole, npartitions=2).map_partitions(lambda block: block.reset_index(drop=True)),
        gd.from_map(lambda start: whole[start : start + 4].reset_index(drop=True), [0, 4]),
        gd.from_pandas(whole, npartitions=2).reset_index(drop=True),
    ]
    for lazy in counted:
        made = lazy.x + lazy[lazy.x > 2].x
        assert made.compute(**INLINE).tolist() == pytest.approx([np.nan] * 3 + [6, 8, 10, 12, 14], nan_ok=True)


@pytest.mark.parametrize("labels", [[2, 1, 1], [1, 0, 1], [7, 7, 0]])
def test_labels_of_a_partition_that_is_numbered_from_0_are_refused_where_another_has_them(labels):
    parts = [pd.DataFrame({"x": [1, -1, 2]}), pd.DataFrame({"x": [5, 6, 7]}, index=labels)]
    lazy = gd.from_map(parts.__getitem__, range(2), meta=parts[0].iloc[:0])
    with pytest.raises(DivisionError, match=r"equal labels such as \d are in several partitions"):
        (lazy.x + lazy[lazy.x > 0].x).compute(**INLINE)
    parts[1].index += 7
    whole = pd.concat(parts)
    made = (lazy.x + lazy[lazy.x > 0].x).compute(**INLINE)
    assert_same(made.sort_index(), (whole.x + whole[whole.x > 0].x).sort_index())


def test_labels_are_hashed_only_if_frames_differ(monkeypatch):
    hashed = []
    monkeypatch.setattr(repeated_labels, "_hashed", lambda labels: hashed.append(labels) or labels.to_numpy(np.uint64))
    plain = pd.DataFrame({"x": range(8)}, index=[3, 3, 1, 1, 7, 5, 4, 4])
    lazy = gd.from_pandas(plain, npartitions=4, sort=False)
    doubled = lazy.map_partitions(lambda block: block * 2)
    assert_same((lazy.x + doubled.x).compute(**INLINE), plain.x * 3)
    assert not hashed
    few = plain.x[plain.x != 5]
    made, expected = (lazy.x + lazy[lazy.x != 5].x).compute(**INLINE), plain.x + few
    assert_same(made.sort_index(kind="stable"), expected.sort_index(kind="stable"))
    assert hashed


def test_labels_are_hashed_up_to_a_limit(monkeypatch):
    monkeypatch.setattr(repeated_labels, "_MOST_HASHES", 50)
    Hashes = repeated_labels.Hashes
    apart = [Hashes.of([pd.Index(range(100 * number, 100 * number + 100))], False) for number in range(4)]
    joined = Hashes.joined([Hashes.joined(apart[:2]), Hashes.joined(apart[2:])])
    assert joined.repeated is None and len(joined.values) == 50 and joined.limit == joined.values[-1]
    alike = Hashes.of([pd.Index(range(150, 350))], False)
    for found in ([joined, alike], [alike, joined], [alike, Hashes.joined(apart[3:]), apart[1]]):
        assert Hashes.joined(found).repeated is not None
