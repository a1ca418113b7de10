"""Columns that are read on the way to groups aren't copied, and nothing that leaves the task keeps or changes the frame."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

import glassloom
import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same
from glassloom.backends.pandas_ import columns_of
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE
from glassloom.dataframe import nodes
from glassloom.dataframe.call import Block, BlockCall
from glassloom.dataframe.grouping.recipe import COLUMN, Key, Recipe
from glassloom.dataframe.grouping.tree import Aggregation, chunk
from glassloom.dataframe.grouping.wanted import Wanted
from glassloom.dataframe.nodes import Projection
from glassloom.dataframe.reduction_nodes import Chunk, RowsChunk

ROWS = 200


def _frame() -> pd.DataFrame:
    numbers = np.arange(ROWS)
    times = pd.Timestamp("2020") + pd.to_timedelta(numbers, unit="D")
    return pd.DataFrame({"a": numbers, "b": numbers % 7, "c": numbers % 3, "x": numbers / 2, "t": times, "s": "text"})


def _plan(keys: list[str]) -> Aggregation:
    options = {
        "is_single": False,
        "dropna": True,
        "sort": False,
        "observed": True,
        "as_index": True,
        "group_keys": True,
    }
    recipe = Recipe(tuple(Key(COLUMN, key, key) for key in keys), selection=None, arrow=True, **options)
    return Aggregation(recipe, ("x",), (Wanted(0, "sum"), Wanted(0, "first"), Wanted(0, "min")))


@pytest.mark.parametrize("keys", [["a"], ["b"], ["t"], ["a", "t"], ["b", "c"], ["s"], ["s", "a"]], ids=str)
def test_partial_results_share_no_memory_with_the_partition(keys: list[str]) -> None:
    frame = _frame()
    table = chunk(_plan(keys), frame).table  # type: ignore[union-attr]
    own = [np.asarray(frame[name]) for name in ("a", "b", "c", "x")] + [frame["t"].to_numpy()]
    for name in table:
        values = np.asarray(table[name])
        assert not any(np.shares_memory(values, one) for one in own if values.dtype != object)


@pytest.mark.skipif(not HAS_COPY_ON_WRITE, reason="before pandas 3 views could be written to")
def test_columns_on_the_way_to_groups_are_views_that_are_copied_when_written_to() -> None:
    frame = _frame()
    projection = Projection(gd.from_pandas(frame, npartitions=1).expr, ["x", "a"])
    reading = RowsChunk(projection, (), BlockCall(partial(chunk, _plan(["a"])), (Block(0),)))
    made = reading.member_function(projection)(frame)
    pd.testing.assert_frame_equal(made, frame[["x", "a"]])
    assert np.shares_memory(made["x"].to_numpy(), frame["x"].to_numpy())
    made.loc[0, "x"] = -1.0
    made["a"] = 5
    pd.testing.assert_frame_equal(frame, _frame())


def test_columns_are_chosen_by_pandas_for_what_may_keep_them() -> None:
    projection = Projection(gd.from_pandas(_frame(), npartitions=1).expr, ["x", "a"])
    keeping = Chunk(projection, (), BlockCall(lambda block: block, (Block(0),)))
    chosen = keeping.member_function(projection)
    assert getattr(chosen, "function", chosen).function is columns_of


@pytest.mark.parametrize(
    "columns", [pd.Index(["b", "a"], name="columns"), pd.Index([3, 1]), pd.MultiIndex.from_tuples([("u", 1), ("u", 2)])], ids=str
)  # fmt: skip
@pytest.mark.parametrize("rows", [0, 5])
def test_views_are_what_pandas_chooses(columns: Any, rows: int) -> None:
    frame = pd.DataFrame({0: range(rows), 1: list("vwxyz")[:rows], 2: [0.5] * rows}, index=range(10, 10 + rows))
    others = pd.MultiIndex.from_tuples([("w", 1)]) if columns.nlevels > 1 else pd.Index(["other"], dtype=object)
    frame.columns = columns.append(others).set_names(columns.names)
    wanted = frame[list(columns)]
    pd.testing.assert_frame_equal(nodes._view_columns(frame, wanted.columns), wanted)


def test_a_sibling_of_a_group_by_sees_no_other_columns() -> None:
    frame = _frame()
    kept = gd.from_pandas(frame, npartitions=40).persist(scheduler="synchronous")
    some = kept[["a", "b", "x"]]
    groups, width = some.groupby("b").agg({"x": "sum"}), some.sum(axis=1)
    got_groups, got_width = glassloom.compute(groups, width, scheduler="synchronous")
    assert_same(got_groups, frame.groupby("b").agg({"x": "sum"}))
    assert_same(got_width, frame[["a", "b", "x"]].sum(axis=1))


@pytest.mark.parametrize(
    "columns", [["x", "a"], ["a", "a"], [], ["a", 3], [3], "a", ["missing", "a"], ["a", None], [True, "a"]],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("labels", [["a", "b", "x", 3], ["a", "b", "a", "x"], [("a", 1), ("a", 2), ("x", 1), ("b", 1)]])
def test_columns_that_are_looked_up_are_what_pandas_chooses(labels: list[Any], columns: Any) -> None:
    frame = pd.DataFrame([[1, 2.5, "u", True], [2, 3.5, "v", False]], columns=labels)
    frame.columns.name = "name"
    frame.attrs["unit"] = "m"
    try:
        expected = frame[columns]
    except KeyError as error:
        with pytest.raises(KeyError, match=re.escape(str(error.args[0]))):
            columns_of(frame, columns)
    else:
        found = columns_of(frame, columns)
        assert type(found) is type(expected) and found.attrs == expected.attrs
        getattr(pd.testing, "assert_frame_equal" if found.ndim == 2 else "assert_series_equal")(found, expected)


@pytest.mark.parametrize("labels", [[True, "a", False], [False, True, True], [True, False, False]], ids=str)
@pytest.mark.parametrize("columns", [[True, False], [False, False, True], [np.True_]], ids=str)
def test_lists_of_booleans_are_labels_of_columns(labels: list[Any], columns: list[Any]) -> None:
    frame = pd.DataFrame([[1, 2.5, "u"], [2, 3.5, "v"], [3, 4.5, "w"]], columns=labels)
    places = [place for name in columns for place, label in enumerate(labels) if label == name]
    pd.testing.assert_frame_equal(columns_of(frame, columns), frame.iloc[:, places])


def test_booleans_that_are_no_labels_of_columns_are_no_mask() -> None:
    for labels in (["a", "b"], [False, "b"], [(True, "a"), (False, "b")]):
        with pytest.raises(KeyError, match=r"\[True\] not in index"):
            columns_of(pd.DataFrame([[1, 2]], columns=labels), [True])
