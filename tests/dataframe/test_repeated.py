"""Repeated rows against pandas, in any order and nearly sorted, and disjoint partitions, which are compared once."""

from __future__ import annotations

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same, frames
from glassloom.dataframe.grouping.encode import encode
from glassloom.dataframe.moving import repeated
from glassloom.dataframe.moving.repeated import is_repeated, joined_without_repeated
from glassloom.dataframe.sorting import are_mostly_distinct, is_nearly_sorted
from hypothesis import given, settings
from hypothesis import strategies as st
from long_tests import examples

KEEPS = ["first", "last", False]


@settings(max_examples=examples(25), deadline=None)
@given(frame=frames(max_rows=20), keep=st.sampled_from(KEEPS), data=st.data())
def test_repeated_rows_are_those_of_pandas(frame, keep, data):
    subset = data.draw(st.none() | st.lists(st.sampled_from(list(frame.columns)), min_size=1, unique=True))
    assert is_repeated(frame, subset, keep).tolist() == frame.duplicated(subset, keep=keep).tolist()


def nearly_sorted():
    """Return rows whose first column grows, but for neighbours, with equal rows near each other and far away."""
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"k": np.arange(6000) // 3 + random.integers(0, 3, 6000), "x": random.integers(0, 3, 6000)})
    return pd.concat([frame, frame[:50]], ignore_index=True) * [10**9, 1]


@pytest.mark.parametrize("keep", KEEPS)
def test_repeated_rows_of_nearly_sorted_keys_are_those_of_pandas(keep):
    frame = nearly_sorted()
    assert is_nearly_sorted(frame.k.to_numpy())
    assert is_repeated(frame, None, keep).tolist() == frame.duplicated(keep=keep).tolist()


@pytest.mark.parametrize("keep", KEEPS)
@pytest.mark.parametrize("longest", [1, 2, 16, 17, 5000], ids=str)
def test_repeated_rows_of_keys_in_order_are_those_of_pandas_however_long_their_runs(longest, keep):
    random = np.random.default_rng(longest)
    keys = np.repeat(np.arange(5000), random.integers(1, longest, 5000, endpoint=True))[:5000]
    frame = pd.DataFrame({"k": keys * 10**9, "x": random.integers(0, 3, 5000)})
    assert is_nearly_sorted(frame.k.to_numpy())
    assert is_repeated(frame, None, keep).tolist() == frame.duplicated(keep=keep).tolist()


_WHOLE = ["int64", "int32", "int8", "uint8", "uint64", "bool"]


@pytest.mark.parametrize("keep", KEEPS)
@pytest.mark.parametrize("is_sorted", [True, False], ids=["in order", "any order"])
@pytest.mark.parametrize("most", [3, 100, 5000, 10**6], ids=str)
@pytest.mark.parametrize("dtype", _WHOLE)
def test_repeated_whole_numbers_are_those_of_pandas(dtype, most, is_sorted, keep):
    numbers = np.random.default_rng(4).integers(-most, most, 6000).astype(dtype)
    frame = pd.DataFrame({"k": np.sort(numbers) if is_sorted else numbers, "x": numbers % 3})
    for columns in (["k"], ["k", "x"], ["x", "k"]):
        assert np.array_equal(is_repeated(frame, columns, keep), frame.duplicated(columns, keep=keep))


@pytest.mark.parametrize("order", ["any", "sorted", "appearance"])
def test_groups_of_nearly_sorted_keys_are_those_of_pandas(order):
    frame = nearly_sorted()
    keys = [frame.k, frame.x]
    groups = encode(keys, dropna=True, order=order)
    expected = frame.groupby(["k", "x"], sort=order == "sorted").ngroup()
    if order == "any":  # the numbers differ, the groups don't
        assert groups.count == expected.max() + 1
        pairs = pd.DataFrame({"own": groups.codes, "pandas": expected}).drop_duplicates()
        assert len(pairs) == groups.count
    else:
        assert groups.codes.tolist() == expected.tolist()
    firsts = [key[groups.first] for key in keys]
    assert [list(made) for made in groups.keys(keys)] == [list(first) for first in firsts]


def test_sorted_groups_of_mostly_distinct_keys_are_those_of_pandas():
    random = np.random.default_rng(1)
    frame = pd.DataFrame({"k": random.integers(0, 2**40, 2**17), "x": random.integers(0, 2**15, 2**17)})
    frame[-9:] = frame[:9]
    assert are_mostly_distinct(frame.k.to_numpy())
    assert not are_mostly_distinct(frame.k.to_numpy() % 1000)
    groups = encode([frame.k, frame.x], dropna=True, order="sorted")
    assert np.array_equal(groups.codes, frame.groupby(["k", "x"]).ngroup())


def test_keys_with_too_many_combinations_are_compared_by_pandas():
    frame = pd.DataFrame({"a": [0, 2**62, 0], "b": [0, 5, 0]})
    assert is_repeated(frame, None, "first").tolist() == [False, False, True]


def test_disjoint_blocks_are_compared_once():
    blocks = [pd.DataFrame({"x": range(start, start + 9)}) for start in (0, 9, 18)]
    joined = joined_without_repeated([blocks[:2], blocks[2:]], None, "first", is_last=False)
    assert all(one is other for one, other in zip(joined, blocks, strict=True))
    (last,) = joined_without_repeated([joined, blocks[:1]], None, "first", is_last=True)
    assert last.x.tolist() == list(range(27))
    (same,) = joined_without_repeated([[blocks[0]]] * 3, None, "last", is_last=False)
    assert_same(same, blocks[0])


@pytest.mark.parametrize("keep", ["first", "last"])
def test_a_tree_of_blocks_some_of_which_are_disjoint_keeps_the_right_rows(keep):
    frame = pd.DataFrame({"k": [*range(40), *range(30, 70), *range(5)], "x": range(85)})
    lazy = gd.from_pandas(frame, npartitions=9)
    got = lazy.drop_duplicates("k", keep=keep, split_every=3).compute(scheduler="inline")
    assert_same(got, frame.drop_duplicates("k", keep=keep))


@pytest.mark.parametrize("keep", ["first", "last"])
@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1]])
def test_blocks_whose_keys_overlap_at_their_ends_are_compared_there(keep, order):
    random = np.random.default_rng(2)
    frame = pd.DataFrame({"k": np.arange(9000) // 6, "x": random.integers(0, 3, 9000)})
    parts = [frame[:3001], frame[2990:6001], frame[5980:]]
    blocks = [parts[place].drop_duplicates(keep=keep) for place in order]
    got = pd.concat(joined_without_repeated([[block] for block in blocks], None, keep, is_last=True))
    assert_same(got, pd.concat(blocks).drop_duplicates(keep=keep))


@pytest.mark.parametrize("dtype", ["int64", "uint8", "int32"])
def test_groups_of_keys_in_order_are_those_of_pandas(dtype):
    random = np.random.default_rng(3)
    keys = np.sort(random.integers(0, 200, 5000)).astype(dtype)
    values = {"i": random.integers(-9, 9, 5000), "f": random.random(5000), "b": random.random(5000) > 0.5}
    frame = pd.DataFrame({"k": keys, **values})
    frame.loc[frame.f < 0.1, "f"] = np.nan
    lazy = gd.from_pandas(frame, npartitions=1)
    spec = {
        "i": ["sum", "min", "max", "first"],
        "f": ["sum", "mean", "count", "max", "std"],
        "b": ["sum", "any", "mean"],
    }
    assert_same(lazy.groupby("k").agg(spec).compute(), frame.groupby("k").agg(spec))
    assert_same(lazy.groupby("k", sort=False).size().compute(), frame.groupby("k", sort=False).size())


@pytest.mark.parametrize("subset", [[], (), np.array([]), pd.Index([])], ids=repr)
def test_rows_are_not_compared_by_no_columns(subset):
    frame = pd.DataFrame({"x": [1, 1, 2]})
    lazy = gd.from_pandas(frame, npartitions=2)
    with pytest.raises(
        ValueError, match=r"duplicated\(subset=.*: it names no columns to compare rows by; leave it out"
    ):
        lazy.duplicated(subset)
    with pytest.raises(ValueError, match=r"drop_duplicates\(subset=.*: it names no columns"):
        lazy.drop_duplicates(subset)


@settings(max_examples=examples(60), deadline=None)
@given(
    sizes=st.lists(st.integers(1, 12), min_size=2, max_size=5),
    overlaps=st.lists(st.integers(0, 3), min_size=5, max_size=5),
    shuffled=st.booleans(),
    keep=st.sampled_from(KEEPS),
    seed=st.integers(0, 99),
)
def test_blocks_whose_ranges_overlap_a_little_keep_the_right_rows(sizes, overlaps, shuffled, keep, seed):
    random = np.random.default_rng(seed)
    blocks, start = [], 0
    for size, overlap in zip(sizes, overlaps, strict=False):
        keys = np.arange(start - overlap, start - overlap + size)
        keys = random.permutation(keys) if shuffled else keys
        blocks.append(pd.DataFrame({"k": keys, "x": random.integers(0, 2, size), "s": keys.astype(str)}))
        start = start - overlap + size
    joined = pd.concat(blocks, ignore_index=True)
    pieces = np.split(joined.index.to_numpy(), np.cumsum(sizes)[:-1])
    own = [joined.loc[rows] for rows in pieces]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(repeated, "_MOST_SHARED", 1)
        found = pd.concat(joined_without_repeated([own], ["k"], keep, is_last=True))
    assert_same(found, joined.drop_duplicates(["k"], keep=keep))
