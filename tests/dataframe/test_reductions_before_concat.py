"""Reductions of concatenated frames: no partition is concatenated if all frames have the same columns and dtypes."""

from __future__ import annotations

import glassloom.dataframe as gd
import pandas as pd
import pytest
from frame_helpers import assert_same
from glassloom.dataframe.moving.shape import Concat
from glassloom.expr import optimize, walk

ONE = pd.DataFrame({"k": [1, 2, 1, 3], "x": [1.5, None, 2.5, 3.5], "s": ["a", "b", None, "a"]})
OTHER = pd.DataFrame({"k": [2, 9], "x": [0.5, 7.5], "s": ["c", "a"]}, index=[7, 8])
REDUCTIONS = {
    "sum": lambda frame: frame.x.sum(),
    "extremes": lambda frame: frame.x.agg(["min", "max"]),
    "of computed columns": lambda frame: frame.assign(y=frame.x * 2 + frame.k).y.sum(),
    "of filtered rows": lambda frame: frame[frame.k > 1].x.mean(),
    "groups": lambda frame: frame.groupby("k").agg({"x": ["sum", "count"], "s": "first"}),
    "counted values": lambda frame: frame.s.value_counts(dropna=False),
    "labels": lambda frame: frame.x.idxmax(),
    "distinct rows": lambda frame: frame.drop_duplicates(["s"]).x.sum(),
}


def concatenated(lazy):
    """Return the nodes of the optimised plan that concatenate partitions."""
    return [node for node in walk(optimize([lazy.expr])) if isinstance(node, Concat)]


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("frames", [[ONE, OTHER], [ONE, ONE], [ONE, OTHER[:0], OTHER]])
def test_the_first_steps_are_of_each_frame(name, frames):
    made = gd.concat([gd.from_pandas(frame, npartitions=2) for frame in frames])
    lazy = REDUCTIONS[name](made)
    assert_same(lazy.compute(), REDUCTIONS[name](pd.concat(frames)))
    assert concatenated(lazy) == []


@pytest.mark.parametrize(
    "other",
    [OTHER.assign(x=[1, 2]), OTHER.drop(columns="s"), OTHER[["x", "k", "s"]]],
)
def test_frames_that_are_not_alike_are_concatenated(other):
    lazy = gd.concat([gd.from_pandas(ONE, npartitions=2), gd.from_pandas(other, npartitions=1)]).max(numeric_only=True)
    assert_same(lazy.compute(), pd.concat([ONE, other]).max(numeric_only=True))
    assert len(concatenated(lazy)) == 1


def test_categories_are_united_before_they_are_counted():
    frames = [ONE.astype({"s": "category"}), OTHER.astype({"s": "category"})]
    lazy = gd.concat([gd.from_pandas(frame, npartitions=1) for frame in frames]).s.value_counts()
    assert len(concatenated(lazy)) == 1
    expected = pd.concat(frames).s.value_counts()
    assert lazy.compute().sort_index().tolist() == expected.sort_index().tolist()


def test_a_frame_that_comes_twice_is_reduced_once():
    lazy = gd.from_pandas(ONE, npartitions=2)
    twice = gd.concat([lazy, lazy]).x.sum()
    assert_same(twice.compute(), 2 * ONE.x.sum())
    chunks = [node for node in walk(optimize([twice.expr])) if "sum-chunk" in str(node.label)]
    assert len(chunks) == 1
