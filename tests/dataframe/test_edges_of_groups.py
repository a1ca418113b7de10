"""Shifts, differences, fills and counts from the end of groups are pandas', though only rows at the edges of partitions move."""

from __future__ import annotations

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same, plan
from glassloom.dataframe.grouping.wholes import WholeGroups
from glassloom.dataframe.wrap import wrap

INLINE = {"scheduler": "inline"}
CALLS = {
    "shift": lambda g: g.shift(),
    "shift by more rows than partitions have": lambda g: g.shift(7),
    "shift up": lambda g: g.shift(-2),
    "shift with a value": lambda g: g[["i", "x"]].shift(2, fill_value=0),
    "diff": lambda g: g[["i", "x", "t", "small"]].diff(),
    "diff up": lambda g: g["t"].diff(-3),
    "pct_change": lambda g: g["x"].pct_change(2),
    "ffill": lambda g: g.ffill(),
    "bfill": lambda g: g[["s", "x"]].bfill(),
    "ffill of few": lambda g: g["x"].ffill(limit=1),
    "bfill of few": lambda g: g["t"].bfill(limit=2),
    "counts from the end": lambda g: g.cumcount(ascending=False),
}
KEYS = {
    "text": lambda f: f.groupby("k"),
    "missing keys too": lambda f: f.groupby("k", dropna=False),
    "a group for nearly each row": lambda f: f.groupby("many"),
    "two keys": lambda f: f.groupby(["k", "i"], sort=False),
    "categories": lambda f: f.assign(c=f["i"].astype(pd.CategoricalDtype(range(6)))).groupby("c", observed=False),
    "another series": lambda f: f.groupby(f["i"] > 2),
}


def rows_of(n_rows):
    rng = np.random.default_rng(n_rows)
    frame = pd.DataFrame(
        {
            "k": pd.Series(rng.choice(["a", "b", None], n_rows), dtype="str"),
            "many": rng.integers(0, max(n_rows - 9, 1), n_rows),
            "i": rng.integers(0, 5, n_rows),
            "small": rng.integers(0, 5, n_rows).astype("int8"),
            "x": np.where(rng.random(n_rows) < 0.7, np.nan, rng.random(n_rows)),
            "s": pd.Series(rng.choice(["u", "v", None], n_rows), dtype="str"),
            "t": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 99, n_rows), "h"),
        },
        index=pd.Index(rng.integers(0, 20, n_rows), name="label"),
    )
    frame.loc[rng.random(n_rows) < 0.4, "t"] = pd.NaT
    frame.iloc[n_rows // 3 : n_rows // 2, 0] = "a"  # some partitions lack the other groups
    return frame


@pytest.mark.parametrize("keys", KEYS.values(), ids=KEYS)
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_rows_of_groups_go_on_over_partitions(call, keys):
    frame = rows_of(400)
    lazy = gd.from_pandas(frame, npartitions=6, sort=False)
    assert_same(call(keys(lazy)).compute(**INLINE), call(keys(frame)))


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_partitions_without_rows_are_passed_over(call):
    frame = rows_of(300)
    lazy = gd.from_pandas(frame, npartitions=10, sort=False)
    assert_same(call(lazy[lazy.i == 3].groupby("k")).compute(**INLINE), call(frame[frame.i == 3].groupby("k")))


@pytest.mark.parametrize("call", [lambda g: g["x"].shift(2), lambda g: g["x"].ffill(), lambda g: g.cumcount(False)])
def test_of_few_groups_few_rows_move(call):
    lazy = gd.from_pandas(rows_of(400), npartitions=4, sort=False)
    (moved,) = [node for node in plan(call(lazy.groupby("k"))) if isinstance(node, WholeGroups)]
    assert len(wrap(moved).compute(**INLINE)) <= 4 * 2 * 4  # partitions, groups, rows of each


def test_a_shifted_column_is_set_beside_the_others():
    frame = rows_of(50)

    def lagged(data):
        data = data.copy()
        data["before"] = data.groupby("k")["x"].shift()
        data["gap"] = data["x"] - data["before"]
        return data[data["gap"].notna() | (data["i"] > 2)]

    assert_same(lagged(gd.from_pandas(frame, npartitions=5, sort=False)).compute(**INLINE), lagged(frame))
