"""The first rows by a key of wide files, of which other columns are read of few rows only."""

from __future__ import annotations

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same, plan
from glassloom.dataframe.io.read_by_results import ReadByResults
from hypothesis import given, settings
from hypothesis import strategies as st
from long_tests import examples

INLINE = {"scheduler": "inline"}


def made_up(seed, n=80, missing=0.1):
    random = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "x": np.where(random.random(n) < missing, np.nan, random.integers(0, 20, n) / 4),
            "k": random.integers(-9, 9, n),
            "narrow": random.random(n).astype("float32"),
            "day": pd.Series(pd.Timestamp("2026-01-01") + pd.to_timedelta(random.integers(0, 30, n), "D")).mask(
                random.random(n) < missing
            ),
            "word": random.choice(["red", "green", "blue"], n),
        }
    )


def read(frame, folder, rows=9):
    path = folder / f"rows-{len(list(folder.iterdir()))}.parquet"
    frame.to_parquet(path, row_group_size=rows)
    return gd.read_parquet(path, split_row_groups=True)


MADE = {
    "largest": lambda f: f.nlargest(5, "x"),
    "smallest": lambda f: f.nsmallest(3, "k"),
    "by two": lambda f: f.nlargest(6, ["k", "x"]),
    "the last of equal ones": lambda f: f.nlargest(7, "k", keep="last"),
    "all equal ones": lambda f: f.nsmallest(2, "k", keep="all"),
    "narrow floats": lambda f: f.nlargest(4, "narrow"),
    "days": lambda f: f.nsmallest(4, "day"),
    "more than there are values": lambda f: f.nlargest(79, "x"),
    "of a filter": lambda f: f[f.k > 2].nlargest(5, "x"),
    "of a filter by a result": lambda f: f[f.k > f.k.mean() * 1.5].nlargest(5, "narrow"),
    "then some columns": lambda f: f.nlargest(5, "narrow")[["word", "k", "day"]],
    "some columns": lambda f: f[["word", "x", "k", "day"]].nlargest(5, "x"),
}


@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
def test_largest_and_smallest(make, tmp_path):
    frame = made_up(1)
    lazy = read(frame, tmp_path)
    assert any(isinstance(node, ReadByResults) for node in plan(make(lazy)))
    assert_same(make(lazy).compute(**INLINE), make(frame))


@pytest.mark.parametrize("na_position", ["first", "last"])
@pytest.mark.parametrize("ascending", [True, False])
@pytest.mark.parametrize("by", ["x", "narrow", "day", "word", ["k", "x"]], ids=str)
def test_ends_of_sorted_rows(by, ascending, na_position, tmp_path):
    frame = made_up(2)
    lazy = read(frame, tmp_path)
    sort = lambda f: f.sort_values(by, ascending=ascending, na_position=na_position, kind="stable")  # noqa: E731
    for n in (1, 4, 75):
        assert_same(sort(lazy).head(n), sort(frame).head(n))
        assert_same(sort(lazy).tail(n), sort(frame).tail(n))


def test_only_the_key_is_read_of_all_rows(tmp_path):
    lazy = read(made_up(3), tmp_path)
    nodes = plan(lazy.nlargest(2, "x"))
    (of_key,) = [node for node in nodes if type(node).__name__ == "Read"]
    assert of_key.columns == ("x",)
    narrow = lazy[["x", "k"]].nlargest(2, "x")  # the key is half of what is read
    assert not any(isinstance(node, ReadByResults) for node in plan(narrow))


def test_rows_without_any_value_of_the_key(tmp_path):
    frame = made_up(4, missing=1.0)
    lazy = read(frame, tmp_path)
    assert_same(lazy.sort_values("x").head(3), frame.sort_values("x", kind="stable").head(3))
    assert_same(lazy.nlargest(3, "x").compute(**INLINE), frame.nlargest(3, "x"))


@settings(max_examples=examples(15), deadline=None)
@given(data=st.data())
def test_first_rows_of_any_files(data, tmp_path_factory):
    n = data.draw(st.integers(1, 40))
    frame = made_up(n, n, missing=data.draw(st.sampled_from([0, 0.3, 0.9])))
    lazy = read(frame, tmp_path_factory.mktemp("rows"), data.draw(st.integers(1, 20)))
    key, count = data.draw(st.sampled_from(["x", "k", "narrow", "day"])), data.draw(st.integers(0, 12))
    assert_same(lazy.nlargest(count, key).compute(**INLINE), frame.nlargest(count, key))
    ascending = data.draw(st.booleans())
    sort = lambda f: f.sort_values(key, ascending=ascending, kind="stable")  # noqa: E731
    assert_same(sort(lazy).head(count), sort(frame).head(count))
