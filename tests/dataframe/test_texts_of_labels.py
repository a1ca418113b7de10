"""``index.str`` makes what pandas makes of an index: labels, or booleans."""

from __future__ import annotations

import glassloom.dataframe as gd
import pandas as pd
import pytest
from frame_helpers import assert_same

INLINE = {"scheduler": "inline"}
TEXTS = ["a-1", "B-22", None, "c", "Dd-x-y", "", "a-1"]
LABELS = {
    "text": pd.Index(TEXTS, name="t"),
    "objects": pd.Index(TEXTS, dtype=object),
    "nullable": pd.Index(TEXTS, dtype="string", name="t"),
    "categories": pd.CategoricalIndex(TEXTS, name="t"),
    "of Arrow": pd.Index(TEXTS, dtype="string[pyarrow]"),
}
METHODS = {
    "upper": lambda s: s.upper(),
    "len": lambda s: s.len(),
    "item": lambda s: s[0],
    "slice": lambda s: s[:2],
    "split": lambda s: s.split("-"),
    "part": lambda s: s.extract("([0-9])", expand=False),
    "replace": lambda s: s.replace("a", "z", regex=False),
    "get": lambda s: s.get(1),
    "cat": lambda s: s.cat(sep="+"),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", LABELS)
def test_texts_of_labels_are_those_of_pandas(name, method):
    labels = LABELS[name]
    if method == "part" and name in ("objects", "categories"):
        return  # pandas has other dtypes, and None for NaN, of an index than of a series with the same values
    frame = pd.DataFrame({"x": range(len(labels))}, index=labels)
    for npartitions in (1, 3):
        lazy = gd.from_pandas(frame, npartitions=npartitions, sort=False)
        found, expected = METHODS[method](lazy.index.str), METHODS[method](labels.str)
        if isinstance(expected, str):
            assert found.compute(**INLINE) == expected
            continue
        assert isinstance(found, gd.Index)
        assert_same(found.compute(**INLINE), expected)


def test_booleans_of_labels_choose_rows():
    frame = pd.DataFrame({"x": range(6)}, index=["a", "ab", "b", "c", "ca", "d"])
    lazy = gd.from_pandas(frame, npartitions=3)
    assert_same(lazy[lazy.index.str.contains("a")].compute(**INLINE), frame[frame.index.str.contains("a")])
    lazy.index = lazy.index.str.upper()
    assert_same(lazy.compute(**INLINE), frame.set_axis(frame.index.str.upper(), axis=0))
    assert_same(
        lazy.assign(n=lazy.index.str.len()).compute(**INLINE),
        frame.set_axis(frame.index.str.upper(), axis=0).assign(n=[1, 2, 1, 1, 2, 1]),
    )
    with pytest.raises(AttributeError, match=r"Can only use \.str accessor"):
        _ = gd.from_pandas(pd.DataFrame({"x": [1]})).index.str
