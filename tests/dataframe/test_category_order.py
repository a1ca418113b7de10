"""Labels that are categories are ordered as these are, not as texts."""

from __future__ import annotations

import re

import glassloom.dataframe as gd
import pandas as pd
import pytest
from frame_helpers import assert_same
from glassloom.errors import DivisionError

ROWS = list("ddccbbaa")
IN_ANOTHER_ORDER = pd.CategoricalDtype(list("dcba"))
ASCENDING = pd.CategoricalDtype(list("abcd"))
UNKNOWN = pd.CategoricalDtype([])


def frame_of(labels: list[str], categories: str, *, ordered: bool = False, name: str = "v") -> pd.DataFrame:
    index = pd.CategoricalIndex(labels, categories=list(categories), ordered=ordered)
    return pd.DataFrame({name: range(len(labels))}, index=index)


@pytest.fixture(params=[True, False], ids=["declared", "undeclared"])
def ordered(request):
    return request.param


@pytest.mark.parametrize("categories", ["dcba", "abcd"])
@pytest.mark.parametrize("sort", [True, False])
def test_rows_are_chosen_and_set_by_labels_of_categories_in_any_order(categories, sort, ordered):
    plain = frame_of(ROWS, categories, ordered=ordered)
    lazy = gd.from_pandas(plain, npartitions=3, sort=sort)
    plain = plain.sort_index(kind="stable") if sort else plain
    assert "c" in lazy.index
    for rows in [slice("c", None), slice(None, "c"), slice("c", "b"), slice("b", "c"), "c", ["c"], ["c", "a"]]:
        assert_same(lazy.loc[rows].compute(), plain.loc[rows])
        changed, wanted = lazy.copy(), plain.copy()
        changed.loc[rows, "v"] = wanted.loc[rows, "v"] = 9
        assert_same(changed.compute(), wanted)
    assert_same(lazy.sort_index().compute(), plain.sort_index(kind="stable"))
    assert_same(lazy.sort_index(ascending=False).compute(), plain.sort_index(ascending=False, kind="stable"))


def test_a_value_is_found_by_a_label_of_categories_in_another_order():
    lazy = gd.from_pandas(frame_of(list("dcba"), "dcba"), npartitions=2)
    assert lazy.at["c", "v"].compute() == 1


@pytest.mark.parametrize("sort", [True, False])
def test_a_slice_to_a_label_that_is_no_category_is_refused_at_the_call(sort, ordered):
    lazy = gd.from_pandas(frame_of(ROWS, "abcd", ordered=ordered), npartitions=2, sort=sort)
    with pytest.raises(KeyError, match="'bb' isn't among the categories of the labels, which are 'a', 'b', 'c', 'd'"):
        _ = lazy.loc["bb":]
    with pytest.raises(KeyError, match="'bb' isn't among the categories"):
        lazy.loc[:"bb", "v"] = 1


def test_a_slice_of_categories_that_are_in_no_order_is_refused():
    lazy = gd.from_pandas(frame_of(list("abdc"), "dcba"), npartitions=2, sort=False)
    with pytest.raises(KeyError, match="the labels aren't in order"):
        lazy.loc["b":"d"].compute()


def test_frames_that_were_cut_elsewhere_are_combined_by_labels_of_ascending_categories(ordered):
    plain = frame_of(list("abcd"), "abcd", ordered=ordered)
    one, other = gd.from_pandas(plain, npartitions=2), gd.from_pandas(plain[1:], npartitions=3)
    assert_same((one.v + other.v).compute(), plain.v + plain[1:].v)
    assert_same(one.combine_first(other).compute(), plain.combine_first(plain[1:]))
    beside = gd.concat([one, other.rename(columns={"v": "w"})], axis=1)
    assert_same(beside.compute(), pd.concat([plain, plain[1:].rename(columns={"v": "w"})], axis=1))


def test_labels_are_compared_with_those_that_are_categories_of_another_frame_alone():
    plain, more = frame_of(list("acd"), "acd"), frame_of(list("bce"), "bce")
    one, other = gd.from_pandas(plain, npartitions=2), gd.from_pandas(more, npartitions=2)
    assert_same((one.v + other.v).compute(), plain.v + more.v)


def test_frames_of_categories_in_another_order_that_are_cut_differently_are_refused():
    plain = frame_of(list("dcba"), "dcba")
    one, other = gd.from_pandas(plain, npartitions=2), gd.from_pandas(plain[1:], npartitions=2)
    with pytest.raises(DivisionError, match="2 partitions with unknown divisions of categories not in ascending order"):
        _ = one.v + other.v


def test_frames_put_one_after_the_other_are_sorted_by_the_order_of_the_categories(ordered):
    plain = frame_of(ROWS, "dcba", ordered=ordered)
    joined = gd.concat([gd.from_pandas(plain[4:], npartitions=2), gd.from_pandas(plain[:4], npartitions=2)])
    assert joined.divisions == (None,) * 5
    assert_same(joined.sort_index().compute(), pd.concat([plain[4:], plain[:4]]).sort_index(kind="stable"))


@pytest.mark.parametrize(
    ("dtype", "known"), [(IN_ANOTHER_ORDER, (None,) * 3), (UNKNOWN, (None,) * 3), (ASCENDING, ("a", "c", "d"))]
)
def test_given_divisions_are_known_of_ascending_categories_alone(dtype, known):
    meta = pd.DataFrame({"v": pd.Series(dtype="int64")}, index=pd.CategoricalIndex([], dtype=dtype))
    blocks = [frame_of(list(labels), "".join(dtype.categories) or "dcba") for labels in ("ab", "cd")]
    made = gd.from_map(lambda number: blocks[number], [0, 1], meta=meta, divisions=("a", "c", "d"))
    assert made.divisions == known
    assert_same(made.loc["c"].compute(), pd.concat(blocks).loc[["c"]])


def test_files_of_categories_in_another_order_are_read_without_divisions(tmp_path):
    plain = frame_of(ROWS[::-1], "dcba", ordered=True).rename_axis("k")
    for number, rows in enumerate((plain[:4], plain[4:])):
        rows.to_parquet(tmp_path / f"{number}.parquet")
    lazy = gd.read_parquet(tmp_path)
    assert lazy.divisions == (None, None, None)
    assert_same(lazy.sort_index().compute(), plain.sort_index(kind="stable"))
    with pytest.raises(NotImplementedError, match=re.escape("categorize(index=True) before")):
        _ = lazy.loc["c":]
    with pytest.raises(NotImplementedError, match=re.escape("categorize(index=True) before")):
        lazy.loc["c":, "v"] = 1
    with pytest.raises(NotImplementedError, match=re.escape("truncate: the labels are categories that aren't known")):
        lazy.truncate("c", "d")


@pytest.mark.parametrize("is_sorted", [True, False])
def test_divisions_of_categories_in_another_order_cannot_be_given(is_sorted):
    lazy = gd.from_pandas(frame_of(ROWS[::-1], "dcba").rename_axis("k").reset_index(), npartitions=2)
    with pytest.raises(DivisionError, match="of categories that aren't known to be in ascending order"):
        lazy.set_index("k", sorted=is_sorted, divisions=["a", "c", "d"])
