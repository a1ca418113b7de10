"""Categorical columns in files that are appended to, and ordered categories that differ between partitions."""

from __future__ import annotations

import glassloom.dataframe as gd
import pandas as pd
import pyarrow.parquet as pq
import pytest
from glassloom.errors import MetaError


def category(values, categories=None, ordered=False):
    return pd.DataFrame({"c": pd.Categorical(values, categories, ordered), "x": range(len(values))})


@pytest.mark.parametrize(
    ("there", "more"),
    [
        (category(["a", "b"]), category(["z", "a"])),
        (category([1, 2]), category([7, 1])),
        (category(["a", "b"]), category([f"n{n}" for n in range(300)])),
        (category(["a", None]), category([None, None])),
        (category(["a", "b"], ["b", "a"], True), category(["b"], ["b", "a"], True)),
    ],
    ids=["text", "numbers", "many, with wider codes", "none", "ordered"],
)
def test_categories_are_appended_to_files_with_others(tmp_path, there, more):
    gd.from_pandas(there, npartitions=2).to_parquet(tmp_path)
    gd.from_pandas(more, npartitions=1).to_parquet(tmp_path, append=True)
    got = gd.read_parquet(tmp_path).compute()
    expected = [*there.c.astype(object), *more.c.astype(object)]
    assert got.c.astype(object).fillna("none").tolist() == ["none" if pd.isna(one) else one for one in expected]
    is_text = isinstance(there.c.cat.categories[0], str)  # Parquet has no categories of numbers
    assert isinstance(got.c.dtype, pd.CategoricalDtype) == is_text
    assert not is_text or got.c.cat.ordered == there.c.cat.ordered
    gd.read_parquet(tmp_path).to_parquet(tmp_path, append=True)  # whose categories aren't known
    assert len(gd.read_parquet(tmp_path).compute()) == 2 * (len(there) + len(more))
    assert gd.read_parquet(tmp_path).c.value_counts().sum().compute() == 2 * got.c.notna().sum()


def test_what_is_no_category_in_the_files_is_refused_and_nothing_written(tmp_path):
    gd.from_pandas(category(["a", "b"]), npartitions=1).to_parquet(tmp_path)
    for other in (
        category([1, 2]),
        category(["a", "b"], ["a", "b"], True),
        category(["a"]).assign(c=pd.Timestamp("2020-01-01")),
    ):
        with pytest.raises(MetaError, match="append=True: column 'c' is dictionary<.*> in the files, but "):
            gd.from_pandas(other, npartitions=1).to_parquet(tmp_path, append=True)
    assert [path.name for path in tmp_path.iterdir()] == ["part-0000.parquet"]
    assert len(pq.read_table(tmp_path)) == 2


def from_parts(*parts):
    return gd.from_map(lambda number: parts[number], range(len(parts)), meta=parts[0][:0])


def test_ordered_categories_of_partitions_stay_ordered_if_one_has_them_all_in_order():
    some, all_of_them = category(["b", "a"], ["b", "a"], True), category(["z", "a"], ["b", "z", "a"], True)
    lazy = from_parts(some, all_of_them)
    got = lazy.compute()
    assert got.c.dtype == all_of_them.c.dtype
    assert lazy.c.max().compute() == "a"
    assert lazy.c.min().compute() == "b"
    assert lazy.sort_values("c").c.compute().tolist() == ["b", "z", "a", "a"]


def test_ordered_categories_that_contradict_each_other_are_an_error():
    lazy = from_parts(category(["a", "b"], ["b", "a"], True), category(["a", "b"], ["a", "b"], True))
    message = r"ordered categories that can't be joined: b < a and a < b\. Give all the same ones"
    with pytest.raises(MetaError, match=message):
        lazy.compute()
    with pytest.raises(MetaError, match="ordered categories that can't be joined"):
        lazy.groupby("c").x.sum().compute()


@pytest.mark.parametrize("write", ["to_parquet", "to_csv", "to_json", "to_orc"])
def test_an_option_that_there_is_not_is_refused_before_anything_is_computed(tmp_path, write):
    lazy = gd.from_map(lambda number: 1 / 0, [0], meta={"x": "int64"})
    with pytest.raises(
        TypeError, match=rf"{write}\(\) got an unexpected keyword argument 'foo'; there are .*compression"
    ):
        getattr(lazy, write)(tmp_path / "out", foo=1)
    assert not (tmp_path / "out").exists()
