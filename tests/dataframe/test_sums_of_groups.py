"""Sums of several columns by group, made together, and partial results of the same groups."""

from __future__ import annotations

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same
from glassloom.dataframe.grouping import encode as encoding
from glassloom.dataframe.grouping import sums as summing
from glassloom.dataframe.grouping import tree
from glassloom.dataframe.grouping.groups import RepeatedGroups
from glassloom.dataframe.grouping.sums import sums_of_columns
from hypothesis import given, settings
from hypothesis import strategies as st
from long_tests import examples
from pandas.api.typing import DataFrameGroupBy

INLINE = {"scheduler": "inline"}
COLUMNS = ("rows", "float64", "float32", "special", "bool", "int64", "uint64", "int8", "uint8", "zeros")


@pytest.fixture(autouse=True)
def few_rows_are_many(monkeypatch):
    monkeypatch.setattr(summing, "_FEWEST", 1)


def _column(kind: str, bits: int, n: int, random: np.random.Generator):
    if kind == "rows":
        return None
    if kind == "special":
        return random.choice([0.1, -0.0, np.nan, np.inf, -np.inf, 1e300], n)
    if kind == "bool":
        return random.random(n) < 0.5
    if kind == "zeros":
        return np.zeros(n, np.int32)
    if kind.startswith("float"):
        return (random.normal(size=n) * 10.0 ** (bits % 30)).astype(kind)
    info = np.iinfo(kind)
    least, most = max(-(1 << bits), int(info.min)), min(1 << bits, int(info.max))
    return random.integers(least, most, n, dtype=kind, endpoint=True)


@settings(max_examples=examples(80), deadline=None)
@given(
    kinds=st.lists(st.tuples(st.sampled_from(COLUMNS), st.integers(0, 64), st.booleans()), min_size=1, max_size=7),
    n=st.integers(1, 60),
    count=st.integers(1, 9),
    has_outsiders=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_sums_made_together_are_those_made_one_by_one(kinds, n, count, has_outsiders, seed):
    random = np.random.default_rng(seed)
    codes = random.integers(-1 if has_outsiders else 0, count, n)
    columns = [_column(kind, bits, n, random) for kind, bits, _ in kinds]
    as_floats = {place for place, (kind, _, is_float) in enumerate(kinds) if is_float and kind != "rows"}
    with np.errstate(all="ignore"):
        found = sums_of_columns(codes, columns, count, as_floats)
        for place, (values, sums) in enumerate(zip(columns, found, strict=True)):
            kind = "i" if values is None else values.dtype.kind
            dtype = np.float64 if place in as_floats or kind == "f" else np.uint64 if kind == "u" else np.int64
            expected = np.zeros(count + 1, dtype)
            for code, value in zip(codes, np.ones(n, dtype) if values is None else values.astype(dtype), strict=True):
                expected[code] += value  # the last one is that of no group
            assert sums.dtype == dtype
            np.testing.assert_array_equal(sums, expected[:-1])


KEYS = {
    "near": lambda random, n: random.integers(0, 5, n),
    "from 7": lambda random, n: random.integers(7, 12, n).astype("int16"),
    "below 0": lambda random, n: random.integers(-3, 3, n),
    "far": lambda random, n: random.choice([1, 10**12], n),
    "flag": lambda random, n: random.random(n) < 0.5,
    "text": lambda random, n: pd.Series(random.choice(["b", "a", "ä"], n), dtype="str"),
    "missing text": lambda random, n: pd.Series(random.choice(["b", "a", None], n), dtype="str"),
    "missing": lambda random, n: random.choice([1.5, np.nan], n),
    "category": lambda random, n: pd.Categorical(random.choice(["x", "y"], n), ["z", "y", "x"]),
}
VALUES = {
    "small": lambda random, n: random.integers(-9, 9, n),
    "large": lambda random, n: random.integers(-(2**62), 2**62, n),
    "unsigned": lambda random, n: random.integers(0, 2**64 - 1, n, dtype="uint64"),
    "narrow": lambda random, n: random.integers(0, 200, n).astype("uint8"),
    "float": lambda random, n: random.normal(size=n),
    "missing": lambda random, n: random.choice([0.5, np.nan, np.inf], n),
    "flag": lambda random, n: random.random(n) < 0.5,
    "nullable": lambda random, n: pd.array(random.choice([1, 2, None], n), "Int64"),
}
HOWS = ("sum", "mean", "count", "size", "min", "max", "var", "first")


@settings(max_examples=examples(60), deadline=None)
@given(
    keys=st.lists(st.sampled_from(tuple(KEYS)), min_size=1, max_size=2),
    wanted=st.lists(st.tuples(st.sampled_from(tuple(VALUES)), st.sampled_from(HOWS)), min_size=1, max_size=4),
    n=st.integers(1, 80),
    npartitions=st.integers(1, 4),
    repeats=st.booleans(),
    dropna=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_groups_have_the_sums_of_pandas(keys, wanted, n, npartitions, repeats, dropna, seed):
    random = np.random.default_rng(seed)
    frame = pd.DataFrame({f"k{place}": KEYS[kind](random, n) for place, kind in enumerate(keys)})
    if repeats:  # each partition has the same groups in the same order
        frame = pd.concat([frame] * npartitions, ignore_index=True)
    for place, (kind, _) in enumerate(wanted):
        frame[f"v{place}"] = VALUES[kind](random, len(frame))
    named = {f"r{place}": (f"v{place}", how) for place, (_, how) in enumerate(wanted)}
    by = [f"k{place}" for place in range(len(keys))]
    with np.errstate(all="ignore"):
        expected = frame.groupby(by, dropna=dropna, observed=True).agg(**named)
        found = gd.from_pandas(frame, npartitions).groupby(by, dropna=dropna, observed=True).agg(**named)
        assert_same(found.compute(**INLINE), expected)


def test_zeros_are_summed_beside_numbers_that_fill_a_sum():
    frame = pd.DataFrame({"k": np.arange(10) % 5, "a": np.full(10, 2**62 // 10 + 1), "b": np.zeros(10, int)})
    assert_same(gd.from_pandas(frame, 1).groupby("k").sum().compute(**INLINE), frame.groupby("k").sum())


def test_groups_without_rows_are_left_out(monkeypatch):
    frame = pd.DataFrame({"k": [3, 40, 3, 0, 40] * 80, "n": range(400), "x": np.arange(400) / 7})
    seen = []
    whole = encoding.encode

    def noting(*args, **options):
        seen.append(whole(*args, **options).has_unobserved)
        return whole(*args, **options)

    monkeypatch.setattr(tree, "encode", noting)
    found = gd.from_pandas(frame, 2).groupby("k").agg({"n": ["sum", "count"], "x": "mean"}).compute(**INLINE)
    assert_same(found, frame.groupby("k").agg({"n": ["sum", "count"], "x": "mean"}))
    assert seen[:2] == [True, True]


def test_partial_results_of_the_same_groups_are_added_row_by_row(monkeypatch):
    made = []

    class Noted(RepeatedGroups):
        def __init__(self, *args):
            made.append(args)
            super().__init__(*args)

    monkeypatch.setattr(tree, "RepeatedGroups", Noted)
    frame = pd.DataFrame({"k": [2, 1, 3] * 40, "n": range(120), "x": np.arange(120) / 7})
    named = {
        "a": ("n", "sum"),
        "b": ("x", "mean"),
        "c": ("x", "min"),
        "d": ("n", "max"),
        "e": ("x", "std"),
        "f": ("n", "last"),
    }
    assert_same(gd.from_pandas(frame, 4).groupby("k").agg(**named).compute(**INLINE), frame.groupby("k").agg(**named))
    assert len(made) == 1


METHODS = tuple(
    name for name in ("median", "skew", "kurt") if hasattr(DataFrameGroupBy, name)
)  # pandas 2 has no `kurt`
MANY = ("near", "from 7", "text", "missing text", "missing", "flag")


@settings(max_examples=examples(40), deadline=None)
@given(
    keys=st.lists(st.sampled_from(MANY), min_size=1, max_size=3),
    kinds=st.lists(st.sampled_from(("small", "float", "missing", "nullable", "narrow")), min_size=1, max_size=3),
    method=st.sampled_from(METHODS),
    n=st.integers(1, 60),
    npartitions=st.integers(2, 5),
    dropna=st.booleans(),
    is_series=st.booleans(),
    split_out=st.sampled_from((1, 3)),
    seed=st.integers(0, 2**32 - 1),
)
def test_values_of_numbered_groups_are_those_of_pandas(
    keys, kinds, method, n, npartitions, dropna, is_series, split_out, seed
):
    random = np.random.default_rng(seed)
    frame = pd.DataFrame({f"k{place}": KEYS[kind](random, n) for place, kind in enumerate(keys)})
    frame.index = random.integers(0, 9, n)
    for place, kind in enumerate(kinds):
        frame[f"v{place}"] = VALUES[kind](random, n)
    by, columns = [f"k{place}" for place in range(len(keys))], [f"v{place}" for place in range(len(kinds))]
    selected = columns[0] if is_series else columns
    lazy = gd.from_pandas(frame, npartitions, sort=False)
    with np.errstate(all="ignore"):
        expected = getattr(frame.groupby(by, dropna=dropna)[selected], method)()
        found = getattr(lazy.groupby(by, dropna=dropna)[selected], method)(
            **({} if split_out == 1 else {"split_out": split_out})
        )
        assert_same(found.compute(**INLINE), expected)


@settings(max_examples=examples(60), deadline=None)
@given(
    kinds=st.lists(st.sampled_from(tuple(KEYS)), min_size=2, max_size=3),
    n=st.integers(1, 40),
    rows=st.integers(1, 30),
    dropna=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_groups_are_found_by_the_levels_of_an_index(kinds, n, rows, dropna, seed):
    random = np.random.default_rng(seed)
    table = pd.DataFrame({place: KEYS[kind](random, n) for place, kind in enumerate(kinds)})
    index = table.groupby(list(table.columns), dropna=dropna, observed=True).size().index
    keys = [pd.Series(KEYS[kind](random, rows)) for kind in kinds]
    places = {tuple(_comparable(one) for one in label): place for place, label in enumerate(index)}
    expected = [places.get(tuple(_comparable(one) for one in label), -1) for label in zip(*keys, strict=True)]
    assert encoding.find_groups(index, keys).tolist() == expected


def _comparable(value):
    return None if value is None or value is pd.NA or value != value else value  # noqa: PLR0124 - NaN
