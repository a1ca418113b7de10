"""Operators with `level=`: a value for each label of one level, as totals of groups beside their parts."""

from __future__ import annotations

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same, partitionings

INLINE = {"scheduler": "inline"}
LEVELS = pd.MultiIndex.from_arrays([list("aabbca"), [1, 2, 1, 3, 3, 1]], names=["k", "j"])
FRAME = pd.DataFrame({"x": [1.0, 2, np.nan, 4, 5, 6], "y": [3, 2, 1, 6, 5, 4]}, index=LEVELS)
OF_LETTERS = pd.Series([10, 20, 30], index=pd.Index(["c", "a", "z"], name="k"), name="y")
OF_NUMBERS = pd.Series([1.5, 2, 3], index=[3, 1, 2])
OPERATIONS = {
    "a series": lambda f, other: f.y.div(other(OF_LETTERS), level="k"),
    "by number": lambda f, other: f.y.sub(other(OF_NUMBERS), level=1),
    "filled": lambda f, other: f.x.add(other(OF_LETTERS), level=0, fill_value=100),
    "a comparison": lambda f, other: f.y.lt(other(OF_NUMBERS), level="j"),
    "the other way round": lambda f, other: f.y.rdiv(other(OF_LETTERS), level="k"),
    "a frame": lambda f, other: f.iloc[:5].mul(other(OF_LETTERS), axis=0, level="k"),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_each_row_is_beside_the_value_of_its_label_of_a_level(name):
    expected = OPERATIONS[name](FRAME, lambda one: one)
    for lazy in partitionings(FRAME):
        for other in (
            lambda one: one,
            lambda one: gd.from_pandas(one, npartitions=1, sort=False),
            lambda one: gd.from_pandas(one, npartitions=3, sort=False),
        ):
            assert_same(OPERATIONS[name](lazy, other).compute(**INLINE), expected)


def test_parts_are_divided_by_totals_of_their_groups():
    plain = FRAME.reset_index()

    def shares(frame):
        return frame.groupby(["k", "j"]).y.sum().div(frame.groupby("k").y.sum(), level="k")

    assert_same(shares(gd.from_pandas(plain, npartitions=3)).compute(**INLINE), shares(plain))


def test_other_operands_by_level_are_refused():
    lazy = gd.from_pandas(FRAME, npartitions=2, sort=False)
    for call in (
        lambda: lazy.div(OF_LETTERS, level="k"),
        lambda: lazy.y.div(lazy.x, level="k"),
        lambda: lazy.y.div(2, level="k"),
    ):
        with pytest.raises(NotImplementedError, match=r"level='k'.* takes a series whose index has one level"):
            call()
    with pytest.raises(KeyError, match="nope"):
        lazy.y.div(OF_LETTERS, level="nope")
