"""Group-bys by several keys of which the others follow from the first, and what becomes of keys that are columns at once."""

from __future__ import annotations

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same, labels
from glassloom import compute
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE
from glassloom.dataframe.grouping import encode as encoding
from glassloom.dataframe.grouping.encode import GroupsByFirstKey, encode
from hypothesis import given, settings
from hypothesis import strategies as st
from long_tests import examples

INLINE = {"scheduler": "inline"}
OTHERS = {
    "text": lambda of: pd.Series(of).map("name {}ä".format).astype("str"),
    "few texts": lambda of: pd.Series(np.array(["b", "a", ""])[of % 3], dtype="str"),
    "missing text": lambda of: pd.Series(of).map("t{}".format).where(of % 5 != 0).astype("str"),
    "number": lambda of: of * 7 % 11,
    "small number": lambda of: (of % 100).astype("int8"),
    "float": lambda of: of / 3,
    "missing float": lambda of: np.where(of % 4 == 0, np.nan, of),
    "flag": lambda of: of % 2 == 0,
    "time": lambda of: pd.Timestamp("2020-01-01") + pd.to_timedelta(of, unit="s"),
    "missing time": lambda of: pd.Series(pd.Timestamp("2020-01-01") + pd.to_timedelta(of, unit="D")).where(of % 3 != 0),
    "category": lambda of: pd.Categorical.from_codes(of % 3, list("zyx")),
    "objects": lambda of: np.array([(number,) for number in of.tolist()] + [None], object)[:-1],
    "nullable": lambda of: pd.array(of, "Int64"),
}


@pytest.fixture(autouse=True)
def few_rows_are_many(monkeypatch):
    monkeypatch.setattr(encoding, "_FROM", 2)
    monkeypatch.setattr(encoding, "_HEAD", 6)


@st.composite
def tables(draw, kinds):
    """Return a frame whose first key mostly decides on the others: in some rows another one is there."""
    n = draw(st.integers(1, 40))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    first = random.integers(0, max(n // draw(st.sampled_from([1, 2, 6])), 1), n)
    if draw(st.booleans()):
        first = np.sort(first)
    frame = pd.DataFrame({"k": first * draw(st.sampled_from([1, 2**40]))})
    for place, kind in enumerate(draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=3))):
        of = first + np.where(random.random(n) < draw(st.sampled_from([0, 0, 0, 0.1])), 1, 0)
        frame[f"k{place}"] = OTHERS[kind](of)
    return frame.assign(v=random.integers(0, 9, n), w=random.normal(size=n))


@settings(max_examples=examples(100), deadline=None)
@given(
    frame=tables(tuple(OTHERS)),
    npartitions=st.integers(1, 4),
    split_every=st.sampled_from([2, 8]),
    sort=st.booleans(),
    dropna=st.booleans(),
    observed=st.booleans(),
    as_index=st.sampled_from(["index", "reset", "columns"]),
)
def test_groups_are_those_of_pandas(frame, npartitions, split_every, sort, dropna, observed, as_index):
    keys = [name for name in frame.columns if name.startswith("k")]

    def grouped(frame, **options):
        groups = frame.groupby(keys, sort=sort, dropna=dropna, observed=observed, as_index=as_index != "columns")
        made = groups.agg({"v": ["sum", "count"], "w": "max"}, **options)
        return made.reset_index() if as_index == "reset" else made

    try:
        expected = grouped(frame)
    except TypeError:  # keys without an order
        return
    except ValueError:  # pandas 2 puts keys beside more groups than these are of, where it lists all categories
        assert not HAS_COPY_ON_WRITE
        return
    lazy = gd.from_pandas(frame, npartitions=npartitions)
    assert_same(grouped(lazy, split_every=split_every).compute(**INLINE), expected)


PLAIN = ("text", "few texts", "number", "small number", "float", "flag", "time")


@settings(max_examples=examples(60), deadline=None)
@given(frame=tables(PLAIN), order=st.sampled_from(["sorted", "appearance", "any", "runs"]))
def test_keys_that_follow_from_the_first_give_the_groups_that_all_give(frame, order):
    keys = [frame[name] for name in frame.columns if name.startswith("k")]
    groups = encode(keys, dropna=True, order=order)
    expected = frame.groupby(list(frame.columns[:-2]), sort=order == "sorted").ngroup().to_numpy()
    if order in ("sorted", "appearance"):
        assert groups.codes.tolist() == expected.tolist()
    assert groups.count == expected.max() + 1
    numbers = pd.DataFrame({"own": groups.codes, "expected": expected}).drop_duplicates()
    assert len(numbers) == groups.count
    rows = frame.iloc[groups.first]
    for made in (groups.keys(keys), [column.array for column in map(_as_series, groups.key_columns(keys, arrow=True))]):
        for own, key in zip(made, keys, strict=True):
            assert_same(pd.Series(own), rows[key.name].reset_index(drop=True).rename(None))
    assert groups.sizes.tolist() == np.bincount(groups.codes).tolist()


def _as_series(column):
    return pd.Series(column.array) if hasattr(column, "array") else pd.Series(column)


@pytest.mark.parametrize("spoiled", [None, 0, 37], ids=["all", "not in the first rows", "not in a later row"])
def test_other_keys_are_encoded_only_where_they_do_not_follow(spoiled):
    first = np.tile(np.arange(20), 2)
    name = pd.Series(first).map("n{}".format)
    if spoiled is not None:
        name[spoiled] = "another"
    keys = [pd.Series(first), name.astype("str")]
    if isinstance(keys[1].dtype, pd.StringDtype):
        assert isinstance(encode(keys, dropna=True), GroupsByFirstKey) is (spoiled is None)
    assert encode(keys, dropna=True).count == (20 if spoiled is None else 21)


FRAME = pd.DataFrame({"a": [3, 1, 1, 3], "b": list("xyyz"), "x": [1, 2, 3, 4]})


COLUMNS = {
    "reset": lambda f: f.groupby(["a", "b"]).x.sum().reset_index(),
    "never an index": lambda f: f.groupby(["a", "b"], as_index=False).x.sum(),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_keys_that_become_columns_are_no_index_before(name):
    made = COLUMNS[name](gd.from_pandas(FRAME, npartitions=2))
    assert "reset-index" not in labels(made)
    assert_same(made.compute(**INLINE), COLUMNS[name](FRAME))


OTHERWISE = {
    "a level": lambda f: f.groupby(["a", "b"]).x.sum().reset_index(level="a"),
    "dropped": lambda f: f.groupby(["a", "b"]).x.sum().reset_index(drop=True),
    "one key": lambda f: f.groupby("a").x.sum().reset_index(),
}


@pytest.mark.parametrize("name", OTHERWISE)
def test_an_index_of_which_something_else_becomes_is_made(name):
    made = OTHERWISE[name](gd.from_pandas(FRAME, npartitions=2))
    assert "reset-index" in labels(made)
    assert_same(made.compute(**INLINE), OTHERWISE[name](FRAME))


NAMED = {
    "another name": lambda f: f.groupby(["a", "b"]).x.sum().reset_index(name="total"),
    "names of keys": lambda f: f.groupby(["a", "b"])[["x"]].sum().reset_index(names=["p", "q"]),
    "keys without names": lambda f: f.groupby([f.a % 2, f.b.str.upper()]).x.agg(["min", "max"]).reset_index(),
    "two levels of columns": lambda f: f.groupby(["a", "b"]).agg({"x": ["min", "max"]}).reset_index(col_level=1),
    "distinct values": lambda f: f.groupby(["a", "b"]).x.nunique().reset_index(),
    "no rows": lambda f: f[f.x > 9].groupby(["a", "b"]).x.sum().reset_index(),
    "columns of keys": lambda f: f.groupby(["a", "b"], as_index=False).x.sum(),
}


@pytest.mark.parametrize("name", NAMED)
def test_columns_are_called_as_by_pandas(name):
    assert_same(NAMED[name](gd.from_pandas(FRAME, npartitions=3)).compute(**INLINE), NAMED[name](FRAME))


def test_an_aggregation_of_which_the_index_is_needed_too_is_computed_once():
    lazy = gd.from_pandas(FRAME, npartitions=2)
    made = lazy.groupby(["a", "b"]).x.sum()
    assert labels(made, made.reset_index()).count("groupby-sum") == 1
    got = compute(made, made.reset_index(), **INLINE)
    expected = FRAME.groupby(["a", "b"]).x.sum()
    assert_same(got[0], expected)
    assert_same(got[1], expected.reset_index())
