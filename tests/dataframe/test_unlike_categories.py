"""Categories that differ between frames or partitions, or follow each other in another order: of columns, and of labels."""

from __future__ import annotations

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same, partitionings
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE, PANDAS_VERSION

INLINE = {"scheduler": "inline"}


def labelled(labels, **options):
    return pd.DataFrame({"v": range(len(labels))}, index=pd.CategoricalIndex(labels, **options, name="c"))


FRAMES = {
    "others": (labelled(["a", "b", "a"]), labelled(["b", "c", None])),
    "equal ones": (labelled(["a", "b", "b"]), labelled(["a", "b", "a"])),
    "in another order": (labelled(["a", "b", "b"]), labelled(["b", "a", "a", "b"], categories=["b", "a"])),
    "ordered ones beside others": (labelled(["a", "b", "b"]), labelled(["a", "b"], ordered=True)),
    "values": (labelled(["a", "b", "a"]), labelled(["b", "c"]).set_axis(pd.Index(["b", "c"], name="c"), axis=0)),
    "numbers": (labelled([1, 2, 3]), labelled([3, 4, 5])),
    "in levels": tuple(
        one.assign(w=1).set_index("v", append=True) for one in (labelled(["a", "b", "a"]), labelled(["b", "c"]))
    ),
}


@pytest.mark.skipif(not HAS_COPY_ON_WRITE, reason="before, pandas 2 has other texts")
@pytest.mark.parametrize(("one", "other"), FRAMES.values(), ids=FRAMES)
def test_concat_of_labels_that_are_categories_is_that_of_pandas(one, other):
    expected = pd.concat([one, other])
    for first, second in zip(partitionings(one)[1:], partitionings(other)[1:], strict=False):
        made = gd.concat([first, second])
        assert_same(made.compute(**INLINE), expected)
        assert_same(made.sort_index(kind="stable").compute(**INLINE), expected.sort_index(kind="stable"))
        assert_same(made.index.compute(**INLINE), expected.index)


@pytest.mark.parametrize("columns", [["c"], ["v", "c"]])
def test_concat_of_equal_categories_in_another_order_has_the_first_order(columns):
    one, other = (frame.reset_index() for frame in FRAMES["in another order"])
    expected = pd.concat([one, other])
    made = gd.concat([gd.from_pandas(one, npartitions=2), gd.from_pandas(other, npartitions=2)])
    assert_same(made.c.cat.codes.compute(**INLINE), expected.c.cat.codes)
    assert_same(
        made.sort_values(columns, kind="stable").compute(**INLINE), expected.sort_values(columns, kind="stable")
    )


SORTED = {
    "a column": lambda f: f.sort_values(["c", "v"], kind="stable"),
    "the second column": lambda f: f.sort_values(["v", "c"], kind="stable"),
    "descending": lambda f: f.sort_values("c", ascending=False, kind="stable"),
    "a series": lambda f: f.c.sort_values(kind="stable"),
    "labels": lambda f: f.set_index("c").sort_index(kind="stable"),
    "a level": lambda f: f.set_index("c").sort_values(["v", "c"], kind="stable"),
}


@pytest.mark.parametrize("categories", [["abc", "cba", "bac"], ["ba", "dc", "xa"]])
@pytest.mark.parametrize("operation", SORTED.values(), ids=SORTED)
def test_partitions_whose_categories_have_another_order_are_sorted_by_one(categories, operation):
    random = np.random.default_rng(3)
    pieces = [
        pd.DataFrame(
            {"c": pd.Categorical(random.choice(list(some), 7), categories=list(some)), "v": random.integers(0, 4, 7)}
        )
        for some in categories
    ]
    union = pd.CategoricalDtype(list(dict.fromkeys("".join(categories))))
    expected = pd.concat([piece.assign(c=piece.c.cat.set_categories(union.categories)) for piece in pieces])
    meta = pieces[0].iloc[:0].astype({"c": pd.CategoricalDtype([])})
    lazy = gd.from_map(pieces.__getitem__, range(3), meta=meta)
    assert_same(operation(lazy).compute(**INLINE), operation(expected))


def test_divisions_of_categories_in_another_order_are_not_known():
    one, other = FRAMES["in another order"][0], labelled(["c", "d"])
    assert not gd.concat([gd.from_pandas(one, npartitions=2), gd.from_pandas(other, npartitions=1)]).known_divisions


def test_labels_that_become_categories_have_those_of_all_partitions():
    frame = pd.DataFrame({"x": range(8)}, index=pd.Index(list("bbaacdda"), name="k"))
    lazy = gd.from_pandas(frame, npartitions=3, sort=False)
    assert_same(lazy.index.astype("category").compute(**INLINE), frame.index.astype("category"))


UNITED = {
    "others": (["a", "b"], ["c", "b"], ["c", "b", "d"]),
    "the same ones": (["a", "b"], ["a", "b"], ["a", "b"]),
    "whole numbers and floats": ([1, 3], [2.5, 3.0], [7]),
    "numbers and text": ([1, 3], ["a"], [2]),
    "one without any": (["a"], [], ["b"]),
}


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("categories", UNITED.values(), ids=UNITED)
def test_united_categories_are_those_of_all_frames_in_order_of_appearance(categories, ordered):
    columns = [pd.Categorical([*every, None], every, ordered=ordered) for every in categories]
    plain = [pd.DataFrame({"c": column, "x": range(len(column)), "s": "t"}) for column in columns]
    plain[1] = plain[1].drop(columns="s").assign(x=pd.Categorical(range(len(columns[1]))))
    options = {"ignore_index": True, "union_categories": True}
    lazy = [gd.from_pandas(frame, npartitions=2) for frame in plain]
    made, of_one = gd.concat(lazy, **options), gd.concat([frame.c for frame in lazy], **options)
    wanted = list(dict.fromkeys(value for every in categories for value in every))
    are_equal = all(every == categories[0] for every in categories)
    assert of_one.dtype == pd.CategoricalDtype(pd.Index(wanted), are_equal and ordered)
    expected = pd.concat([frame.c.astype(of_one.dtype) for frame in plain], ignore_index=True)
    assert_same(of_one.compute(**INLINE), expected)
    assert_same(made.c.compute(**INLINE), expected)
    assert made.x.dtype != "category"
    if PANDAS_VERSION >= (3, 1):
        assert_same(made.compute(**INLINE), pd.concat(plain, **options))
        assert_same(of_one.compute(**INLINE), pd.concat([frame.c for frame in plain], **options))


def test_categories_that_are_not_known_are_found_out_to_be_united():
    plain = [pd.Series(list("bab"), dtype="category"), pd.Series(list("cb"), dtype="category")]
    unknown = gd.from_pandas(pd.Series(list("bab")), npartitions=3).astype("category")
    made = gd.concat([unknown, gd.from_pandas(plain[1], npartitions=2)], union_categories=True)
    assert_same(made.compute(**INLINE), pd.concat([one.astype(made.dtype) for one in plain]))
    assert made.cat.categories.tolist() == ["a", "b", "c"]
    twice = pd.DataFrame([[1, 2]], columns=["x", "x"])
    with pytest.raises(
        NotImplementedError, match=r"concat\(union_categories=True\) of a frame with several columns 'x'"
    ):
        gd.concat([gd.from_pandas(twice), gd.from_pandas(twice)], union_categories=True)


MADE_OF_UNKNOWN = {
    "shift": lambda f: f.shift(),
    "ffill": lambda f: f.ffill(),
    "map_partitions": lambda f: f.map_partitions(lambda block: block),
    "map_overlap": lambda f: f.map_overlap(lambda block: block, 1, 0),
    "groupby.first": lambda f: f.groupby("k").first(),
    "groupby.apply": lambda f: f.groupby("k").apply(lambda group: group.head(1)),
    "labels of groups": lambda f: f.groupby("c", observed=True).sum().reset_index(),
    "levels of groups": lambda f: f.groupby(["k", "c"], observed=True).size().reset_index(),
    "concat": lambda f: gd.concat([f, f]),
    "concat with a frame that lacks it": lambda f: gd.concat([f, gd.from_pandas(pd.DataFrame({"k": [5, 6]}))]),
}


@pytest.mark.parametrize("operation", MADE_OF_UNKNOWN.values(), ids=MADE_OF_UNKNOWN)
def test_categories_that_are_not_known_stay_so_and_are_none_of_made_up_rows(operation):
    frame = pd.DataFrame({"k": [1, 2, 1, 2], "c": pd.Categorical(["x", "y", "x", "z"])})
    lazy = gd.from_pandas(frame, npartitions=2)
    made = operation(lazy.assign(c=lazy.c.astype(object).astype("category")))
    assert not made.c.cat.known
    assert {*made.c.cat.categories} == {*made.c.dropna().unique().compute(**INLINE)} <= {"x", "y", "z"}
    assert {*made.compute(**INLINE).c.cat.categories} <= {"x", "y", "z"}
