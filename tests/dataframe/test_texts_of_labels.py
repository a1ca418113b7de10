"""``index.str`` makes what pandas makes of an index: labels, or booleans."""

from __future__ import annotations

import glassloom.dataframe as gd
import numpy as np
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


def of_categories(partitions):
    rows = pd.DataFrame({"x": range(4)}, index=pd.CategoricalIndex(list("abca"), name="k"))
    return gd.from_pandas(rows, npartitions=partitions, sort=False).index, rows.index


@pytest.mark.parametrize("partitions", [1, 3])
@pytest.mark.parametrize(
    ("method", "args"),
    [
        ("add_categories", (["z"],)),
        ("as_ordered", ()),
        ("as_unordered", ()),
        ("remove_categories", (["a"],)),
        ("rename_categories", (list("xyz"),)),
        ("reorder_categories", (list("cba"),)),
        ("set_categories", (list("cz"),)),
        ("remove_unused_categories", ()),
    ],
)
def test_labels_that_are_categories_have_the_methods_of_such(partitions, method, args):
    index, plain = of_categories(partitions)
    for made in (getattr(index, method)(*args), getattr(index.cat, method)(*args)):
        pd.testing.assert_index_equal(made.compute(), getattr(plain, method)(*args))
        pd.testing.assert_index_equal(made.categories, getattr(plain, method)(*args).categories)


def test_categories_of_labels_are_found_where_they_arent_known():
    index, plain = of_categories(3)
    assert index.cat.known and index.cat.as_known().divisions == index.divisions
    unknown = index.cat.as_unknown()
    assert not unknown.cat.known
    pd.testing.assert_index_equal(unknown.categories, plain.categories)
    np.testing.assert_array_equal(unknown.codes.compute(), plain.codes)
    np.testing.assert_array_equal(unknown.cat.codes.compute(), plain.codes)
    texts = gd.from_pandas(pd.DataFrame({"x": range(4)}, index=list("bbac")), npartitions=2, sort=False)
    texts.index = texts.index.astype("category")  # unlike ones in each partition
    np.testing.assert_array_equal(texts.index.codes.compute(), [1, 1, 0, 2])
    assert texts.index.categories.tolist() == ["a", "b", "c"]


def test_labels_have_the_accessors_of_dask():
    times = pd.DataFrame({"x": range(6)}, index=pd.date_range("2020", periods=6, freq="7h"))
    lazy = gd.from_pandas(times, npartitions=2)
    pd.testing.assert_index_equal(lazy.index.dt.floor("D").compute(), times.index.floor("D"), check_names=False)
    assert lazy.index.dt.day.compute().tolist() == times.index.day.tolist()
    with pytest.raises(AttributeError, match="Can only use .cat accessor with a 'category' dtype"):
        _ = lazy.index.cat
    with pytest.raises(AttributeError, match="Can only use .dt accessor with datetimelike values"):
        _ = of_categories(2)[0].dt


def test_names_that_fit_the_values_are_completed():
    plain = pd.DataFrame(
        {"x": [1, 2], "t": ["a", "b"], "d": pd.to_datetime(["2020", "2021"]), "k": pd.Categorical([3, 1])}
    )
    lazy = gd.from_pandas(plain, npartitions=2)
    for column, expected in {"x": [], "t": ["str"], "d": ["dt"], "k": ["cat"]}.items():
        assert [name for name in ("str", "dt", "cat") if name in dir(lazy[column])] == expected
    labels = dir(lazy.set_index("d").index)
    assert {"day", "normalize", "dt"} <= set(labels) and not {"str", "cat", "categories"} & set(labels)
