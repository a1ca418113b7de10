"""Plans of what moves rows, before and after they are rewritten: only the needed columns move."""

from __future__ import annotations

import glassloom.dataframe as gd
import pandas as pd
import pytest
from frame_helpers import assert_same, labels, plan, reads
from glassloom.dataframe.moving.merge import Join
from glassloom.dataframe.moving.shuffle import HashShuffle
from glassloom.dataframe.moving.sort import SortedExchange

INLINE = {"scheduler": "inline"}


@pytest.fixture
def sides():
    one = pd.DataFrame({"k": [1, 2, 3, 1], "a": range(4), "b": range(4), "same": range(4)})
    two = pd.DataFrame({"k": [1, 2, 2, 5], "c": range(4), "d": range(4), "same": range(4, 8)})
    return gd.from_pandas(one, npartitions=3), gd.from_pandas(two, npartitions=2)


def moved(lazy, kind=HashShuffle):
    """Return the columns of each node of a kind in the simplified plan."""
    return sorted(list(node.meta.columns) for node in plan(lazy) if isinstance(node, kind))


def read_columns(lazy):
    return sorted(list(read.meta.columns) for read in reads(lazy))


def test_only_the_needed_columns_move_to_a_join(sides):
    joined = sides[0].merge(sides[1], on="k", broadcast=False)
    assert moved(joined[["a", "d"]]) == [["k", "a"], ["k", "d"]]
    assert read_columns(joined[["a", "d"]]) == [["k", "a"], ["k", "d"]]
    assert moved(joined[["a"]]) == [["k"], ["k", "a"]]
    assert_same(joined[["a", "d"]].compute(**INLINE), joined.compute(**INLINE)[["a", "d"]])


def test_a_column_that_both_sides_have_keeps_its_suffix(sides):
    joined = sides[0].merge(sides[1], on="k", broadcast=False)
    assert moved(joined[["same_x"]]) == [["k", "same"], ["k", "same"]]
    assert_same(joined[["same_x"]].compute(**INLINE), joined.compute(**INLINE)[["same_x"]])
    crossed = sides[0].merge(sides[1], left_on="k", right_on="same", broadcast=False)
    assert_same(crossed[["k_x", "a"]].compute(**INLINE), crossed.compute(**INLINE)[["k_x", "a"]])


def test_several_joins_are_narrowed_also_if_their_result_is_filtered(sides):
    joined = sides[0].merge(sides[1], on="k", broadcast=False).merge(sides[1][["k", "c"]], on="k", broadcast=False)
    wanted = joined[joined.a > 0].groupby("k").d.sum()
    assert all("same" not in names for names in moved(wanted, Join))
    whole = joined.compute(**INLINE)
    assert_same(wanted.compute(**INLINE), whole[whole.a > 0].groupby("k").d.sum())


def test_semi_joins_move_the_keys_of_the_right_side(sides):
    found = sides[0].merge(sides[1], on="k", how="leftsemi", broadcast=False)
    assert moved(found[["a"]]) == [["k"], ["k", "a"]]
    assert_same(found[["a"]].compute(**INLINE), found.compute(**INLINE)[["a"]])


def test_sorts_and_shuffles_move_the_needed_columns(sides):
    ordered = sides[0].sort_values("b")
    assert moved(ordered[["a"]], SortedExchange) == [["a", "b"]]
    assert_same(ordered.a.compute(**INLINE), ordered.compute(**INLINE).a)
    assert moved(sides[0].shuffle("k")[["a"]]) == [["k", "a"]]
    both = sides[0].shuffle("k")
    assert moved(both.a + both.b) == [["k", "a", "b"]]
    assert moved(both) == [["k", "a", "b", "same"]]


def test_rows_are_counted_without_moving_them(sides):
    shuffled = sides[0][sides[0].a > 1].sort_values("b").repartition(npartitions=2)
    assert len(shuffled) == 2
    assert "sort" not in labels(gd.from_pandas(pd.DataFrame({"a": [1, 2]}), npartitions=2).sort_values("a").size)


@pytest.mark.parametrize("how", ["inner", "left", "outer", "leftanti", "cross"])
def test_rows_of_a_join_are_counted_with_its_keys_alone(sides, how):
    keys = {} if how == "cross" else {"on": "k", "broadcast": False}
    joined = sides[0].merge(sides[1], how=how, **keys)
    size = joined.index.size
    assert read_columns(size) == [["k"], ["k"]]
    assert size.compute(**INLINE) == len(joined.compute(**INLINE)) == len(joined)
    assert read_columns(joined.a.sum() + size) == ([["a"], ["k"]] if how == "cross" else [["k"], ["k", "a"]])


def test_the_largest_rows_of_a_join_are_found_with_the_columns_that_are_chosen(sides):
    joined = sides[0].merge(sides[1], on="k", broadcast=False)
    found = joined.nlargest(2, "d")[["a"]]
    assert moved(found) == [["k", "a"], ["k", "d"]]
    assert_same(found.compute(**INLINE), joined.compute(**INLINE).nlargest(2, "d")[["a"]])
    assert moved(joined.nlargest(2, "d")) == moved(joined)
