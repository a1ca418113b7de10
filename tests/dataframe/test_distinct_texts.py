"""Long columns of few texts, whose distinct ones alone are looked at: as pandas has all of them."""

from __future__ import annotations

import re

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE
from glassloom.dataframe.arrow.text import of_distinct_texts

INLINE = {"scheduler": "inline"}
OF_ARROW = pytest.mark.skipif(not HAS_COPY_ON_WRITE, reason="before pandas 3 text is objects, not Arrow's")
COUNT = 12_000
RANDOM = np.random.default_rng(0)
TEXTS = pd.Series(RANDOM.choice(["apple pie", "Banana", "c d e", "ß12x", "", "xx-yy"], COUNT), dtype="str")
THERE = RANDOM.random(COUNT) < 0.9
SERIES = {
    "str": TEXTS, "missing": TEXTS.where(THERE), "string": TEXTS.astype("string").where(THERE), "Arrow": TEXTS.astype("string[pyarrow]"),
    "labels": TEXTS.set_axis(pd.Index(RANDOM.permutation(COUNT), name="label"), axis=0).rename("name"),
    "object": TEXTS.astype(object), "category": TEXTS.astype("category"),
}  # fmt: skip
METHODS = {
    "title": {}, "split": {}, "rsplit": {"pat": "-", "n": 1}, "partition": {"sep": "-"}, "center": {"width": 12}, "contains": {"pat": "a.*e", "na": False},
    "count": {"pat": "a"}, "encode": {"encoding": "utf-8"}, "extract": {"pat": r"(\w)(?P<digit>\d)"}, "find": {"sub": "a"}, "findall": {"pat": "a"},
    "match": {"pat": "[a-c]"}, "normalize": {"form": "NFC"}, "repeat": {"repeats": 2}, "replace": {"pat": re.compile("A", re.I), "repl": "_", "regex": True},
    "slice_replace": {"start": 1, "stop": 2, "repl": "#"}, "wrap": {"width": 3}, "zfill": {"width": 12},
}  # fmt: skip
MAPPERS = {
    "all": {"apple pie": 1, "Banana": 2, "c d e": 3, "ß12x": 4, "": 5, "xx-yy": 6}, "some": {"Banana": 1}, "texts": {"Banana": "x"}, "mixed": {"Banana": 1, "": "x"},
    "times": {"": pd.Timestamp("2020-01-01")}, "bools": {"Banana": True}, "missing": {"Banana": 1, np.nan: 2}, "none": {},
    "series": pd.Series([1, 2], index=["Banana", ""], dtype="Int64"), "categories": pd.Series(["u", "v"], index=["Banana", ""], dtype="category"),
}  # fmt: skip


@pytest.mark.parametrize("kind", SERIES)
def test_methods_of_repeated_texts_are_those_of_pandas(kind):
    series = SERIES[kind]
    lazy = gd.from_pandas(series, npartitions=1, sort=False)
    for method, options in METHODS.items():
        assert_same(getattr(lazy.str, method)(**options).compute(**INLINE), getattr(series.str, method)(**options))


@pytest.mark.each_choice
@pytest.mark.parametrize("kind", SERIES)
@pytest.mark.parametrize("na_action", [None, "ignore"])
def test_repeated_texts_are_looked_up_as_pandas_does(kind, na_action):
    series = SERIES[kind]
    lazy = gd.from_pandas(series, npartitions=1, sort=False)
    for mapper in MAPPERS.values():
        assert_same(lazy.map(mapper, na_action=na_action).compute(**INLINE), series.map(mapper, na_action=na_action))


def test_each_row_has_a_list_of_its_own():
    lazy = gd.from_pandas(TEXTS, npartitions=1).str.split()
    assert_same(
        lazy.map(lambda parts: parts.pop() if parts else "", meta=(None, "str")).compute(**INLINE),
        TEXTS.str.split().map(lambda parts: parts.pop() if parts else ""),
    )


@OF_ARROW
def test_only_distinct_texts_are_looked_at_if_they_are_few():
    looked = []

    def upper(texts):
        looked.append(len(texts))
        return texts.str.upper()

    assert_same(of_distinct_texts(SERIES["missing"], upper), SERIES["missing"].str.upper())
    assert looked == [7]
    many = pd.Series(np.arange(COUNT).astype(str), dtype="str")
    late = pd.concat([TEXTS[:5000], many[5000:]])
    for other in (many, late, TEXTS[:1000], TEXTS.astype(object), TEXTS.astype("category")):
        assert of_distinct_texts(other, upper) is None
    assert looked == [7]


def test_errors_of_methods_of_text_are_those_of_pandas():
    lazy = gd.from_pandas(TEXTS, npartitions=2, sort=False)
    if HAS_COPY_ON_WRITE:  # before, text is objects, some of which might be bytes
        with pytest.raises(AttributeError, match="has no attribute 'decode'"):
            lazy.str.decode("utf-8").compute(**INLINE)
    with pytest.raises(re.error):
        lazy.str.extract("(").compute(**INLINE)
