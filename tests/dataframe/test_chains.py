"""Random chains of operations, on read, made and held frames: rules that disagree with each other show up here."""

from __future__ import annotations

import glassloom.dataframe as gd
import pandas as pd
import pytest
from frame_helpers import assert_same, cut_frames
from hypothesis import given, settings
from hypothesis import strategies as st
from long_tests import examples

STEPS = {
    "filter": lambda f: f[f.i > 0],
    "filter by two": lambda f: f[(f.i > -2) & f.b],
    "filter by float": lambda f: f[f.f <= 2.25],
    "assign": lambda f: f.assign(z=f.i + f.f),
    "assign over": lambda f: f.assign(i=f.i * 2, b=~f.b),
    "choose": lambda f: f[["f", "i", "b"]],
    "fill": lambda f: f.fillna({"f": 0.5}),
    "drop missing": lambda f: f.dropna(subset=["f"]),
    "rename to and fro": lambda f: f.rename(columns={"i": "f", "f": "i"}).rename(columns={"i": "f", "f": "i"}),
    "double": lambda f: pd.concat([f, f]) if isinstance(f, pd.DataFrame) else gd.concat([f, f]),
    "hold": lambda f: f if isinstance(f, pd.DataFrame) else f.persist(scheduler="inline"),
    "cut": lambda f: f if isinstance(f, pd.DataFrame) else f.repartition(npartitions=3),
    "partitions": lambda f: f if isinstance(f, pd.DataFrame) else f.partitions[:],
}
ENDS = {
    "all": lambda f: f,
    "a column": lambda f: f.f,
    "sums": lambda f: f[["i", "f"]].sum(),
    "groups": lambda f: f.groupby("b").agg({"f": ["count", "sum"], "i": "max"}),
    "product of columns": lambda f: f.i * f.f,
    "length": lambda f: len(f),
    "head": lambda f: f.head(3),
    "head of a column": lambda f: f[f.i > 0].f.head(2),
}


@pytest.mark.parametrize("source", ["memory", "parquet"])
@settings(max_examples=examples(45))
@given(
    pair=cut_frames(min_rows=1, max_rows=12),
    steps=st.lists(st.sampled_from(sorted(STEPS)), max_size=5),
    end=st.sampled_from(sorted(ENDS)),
)
def test_chains_give_what_pandas_gives(tmp_path_factory, source, pair, steps, end):
    frame, lazy = pair
    if source == "parquet":
        file = tmp_path_factory.mktemp("chain") / "a.parquet"
        frame.to_parquet(file, row_group_size=3)
        frame, lazy = pd.read_parquet(file), gd.read_parquet(file)
    for step in steps:
        frame, lazy = STEPS[step](frame), STEPS[step](lazy)
    expected, got = ENDS[end](frame), ENDS[end](lazy)
    assert_same(got.compute(scheduler="inline") if hasattr(got, "compute") else got, expected)


def test_chains_may_be_deeper_than_pythons_stack():
    frame = gd.from_pandas(pd.DataFrame({"a": range(4)}), npartitions=2)
    for number in range(700):
        frame["b"] = number
    held = frame.persist(scheduler="inline")
    assert held.compute(scheduler="inline").to_dict("list") == {"a": [0, 1, 2, 3], "b": [699] * 4}
    assert frame.a.sum().compute(scheduler="inline") == 6
