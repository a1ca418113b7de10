"""Rows of a large side without a partner don't move: results, partitions and dtypes are those of joins of which all rows do."""

from __future__ import annotations

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same, blocks_of, labels, reads
from glassloom.dataframe.moving import partners
from glassloom.dataframe.moving.lookup import LookupJoin
from glassloom.dataframe.moving.merge import Join
from glassloom.expr import walk

N = 600
KEYS = {
    "whole numbers": lambda n: pd.Series(n),
    "narrow ones": lambda n: pd.Series(n % 100, dtype="int8"),
    "texts": lambda n: pd.Series(n, dtype="int64").astype(str).where(n % 50 != 0, None),
    "times": lambda n: pd.Series(pd.Timestamp("2020-01-01") + pd.to_timedelta(n, unit="D")).where(n % 70 != 0),
    "booleans": lambda n: pd.Series(n % 2 == 0),
}
HOWS = ["left", "right", "leftsemi", "leftanti", "left_anti", "right_anti"]


def frames(kind, seed=0, *, n_small=40):
    rng = np.random.default_rng(seed)
    columns = {
        "x": np.arange(N), "f": np.arange(N) % 3 == 0, "t": pd.Series(np.arange(N)).astype(str), "n": np.arange(N) * 1.0,
        "both": np.arange(N),
    }  # fmt: skip
    large = pd.DataFrame({"k": KEYS[kind](rng.integers(0, 400, N)), "j": rng.integers(0, 3, N), **columns})
    keys = rng.integers(200, 900, n_small)
    small = pd.DataFrame({"k": KEYS[kind](keys), "j": rng.integers(0, 3, n_small), "both": np.arange(n_small)})
    return small.assign(y=small.both.astype("int32")), large


@pytest.fixture(autouse=True)
def _looks_at_few_rows(monkeypatch):
    monkeypatch.setattr(partners, "LEAST_ROWS", 1)


def joined(small, large, how, **options):
    sides = (large, small) if how.startswith("right") else (small, large)
    return sides[0].merge(sides[1], how=how, broadcast=False, **options)


def filters(collection):
    return [node for node in walk([collection.expr]) if getattr(node, "label", "") == "with-partners"]


@pytest.mark.each_choice
@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.parametrize("on", [["k"], ["k", "j"]])
def test_partitions_are_those_of_a_join_of_which_all_rows_move(kind, how, on, monkeypatch):
    small, large = (gd.from_pandas(frame, npartitions=count) for frame, count in zip(frames(kind), (2, 5), strict=True))
    made = joined(small, large, how, on=on)
    assert len(filters(made)) == 1
    monkeypatch.setattr(partners, "LEAST_ROWS", 10 * N)
    whole = joined(small, large, how, on=on)
    assert not filters(whole)
    for one, other in zip(blocks_of(made), blocks_of(whole), strict=True):
        assert_same(one, other)


@pytest.mark.parametrize("how", ["left", "right"])
def test_rows_are_those_of_pandas(how):
    small, large = frames("whole numbers")
    large = large.rename(columns={"k": "key"})
    options = {"left_on": "k", "right_on": "key"} if how == "left" else {"left_on": "key", "right_on": "k"}
    made = joined(gd.from_pandas(small, npartitions=2), gd.from_pandas(large, npartitions=5), how, **options)
    assert filters(made)
    sides = (small, large) if how == "left" else (large, small)
    expected = sides[0].merge(sides[1], how=how, **options)
    order = ["y", "x"]
    found = made.compute().sort_values(order, ignore_index=True)
    assert_same(found, expected.sort_values(order, ignore_index=True))


def test_rows_of_files_are_left_out_before_they_become_frames(tmp_path):
    small, large = frames("texts")
    large.to_parquet(tmp_path / "large.parquet", row_group_size=100)
    lazy = gd.read_parquet(tmp_path / "large.parquet", split_row_groups=True)
    made = joined(gd.from_pandas(small, npartitions=2), lazy, "left", on="k")[["y", "x"]]
    assert filters(made) and {("k", "x")} <= {read.columns for read in reads(made)}
    expected = small.merge(large, on="k", how="left")[["y", "x"]]
    order = ["y", "x"]
    assert_same(made.compute().sort_values(order, ignore_index=True), expected.sort_values(order, ignore_index=True))


def test_all_rows_of_a_block_move_if_most_of_few_have_partners():
    rows = pd.DataFrame({"k": np.arange(5000) % 50})
    keys = pd.DataFrame({"k": np.arange(40)})
    function = _filter_of(keys, rows)
    assert function(rows, _table(keys)) is rows  # 40 of 50 in each stretch
    assert len(function(rows, _table(keys[:10]))) == 1000


def _filter_of(keys, rows):
    made = joined(gd.from_pandas(keys, npartitions=2), gd.from_pandas(rows, npartitions=2), "left", on="k")
    return filters(made)[0].call.function


def _table(keys):
    return partners.Lookup.of(("k",), [keys])


@pytest.mark.parametrize(
    ("how", "options"),
    [("outer", {"on": "k"}), ("inner", {"on": "k"}), ("left", {"on": "k", "validate": "m:m"}), ("left", {"on": "x"})],
    ids=["outer", "inner", "validated", "floats"],
)
def test_other_joins_move_all_rows(how, options):
    small, large = frames("whole numbers")
    small, large = (one.assign(x=one.both * 1.0) for one in (small, large))
    assert not filters(
        joined(gd.from_pandas(small, npartitions=2), gd.from_pandas(large, npartitions=5), how, **options)
    )


def test_sides_of_like_lengths_and_rows_in_place_are_not_looked_up():
    small, large = frames("whole numbers", n_small=300)
    lazy = gd.from_pandas(large, npartitions=5)
    assert not filters(joined(gd.from_pandas(small, npartitions=2), lazy, "left", on="k"))
    made = joined(gd.from_pandas(small[:20], npartitions=2), lazy.shuffle("k"), "left", on="k")
    assert not filters(made)
    assert [type(node) for node in walk([made.expr]) if isinstance(node, (Join, LookupJoin))] == [Join]


def test_keys_that_repeat_on_both_sides_make_no_pairs():
    keys = gd.from_pandas(pd.DataFrame({"k": [1] * 100, "y": range(100)}), npartitions=2)
    rows = gd.from_pandas(pd.DataFrame({"k": [1, 2] * 500, "x": range(1000)}), npartitions=4)
    made = joined(keys, rows, "left", on="k")
    (found,) = filters(made)
    assert "with-partners" in labels(made) and found.joining.how == "leftsemi"
    assert len(made.compute()) == 50_000
