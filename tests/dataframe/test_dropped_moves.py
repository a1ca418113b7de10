"""Sorts and shuffles that make no difference to what is computed are left out."""

from __future__ import annotations

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same, labels
from hypothesis import given, settings
from hypothesis import strategies as st
from long_tests import examples

INLINE = {"scheduler": "inline"}
TEXT = pd.StringDtype(na_value=np.nan)
"""Which pandas 3 gives text by itself."""


def rows(n=60):
    random = np.random.default_rng(n)
    frame = pd.DataFrame({name: random.integers(0, 9, n) + 0.5 for name in "abc"})
    frame["k"] = random.integers(0, 5, n)
    texts = pd.Series(random.choice(["x", "y", None], n), dtype=TEXT)
    return frame.assign(s=texts, o=pd.Series(random.choice(["p", "q"], n), dtype=object))


FRAME = rows()
NAMES = pd.DataFrame({"k": [0, 1, 2, 3], "name": pd.Series(["zero", "one", "two", "two"], dtype=TEXT)})
MOVED = {
    "sorted": lambda f: f.sort_values("a"),
    "sorted by several": lambda f: f.sort_values(["s", "a"], ascending=[False, True]),
    "sorted by labels": lambda f: f.sort_index(ascending=False),
    "under a new index": lambda f: f.set_index("a"),
    "sorted twice": lambda f: f.sort_values("a").sort_values("b"),
    "sorted, of which some": lambda f: (lambda g: g[g.b > 2])(f.sort_values("a")),
    "sorted, numbered anew": lambda f: f.sort_values("a").reset_index(drop=True),
    "sorted, with another column": lambda f: f.sort_values("a").assign(d=lambda g: g.b * 2),
    "sorted, without missing values": lambda f: f.sort_values("a").dropna(subset=["s"]),
    "sorted by an index that becomes a column": lambda f: f.set_index("a").reset_index(),
}
UNORDERED = {
    "sum": lambda f: f.b.sum(),
    "several": lambda f: f[["b", "c"]].max(),
    "moments": lambda f: f.c.std(),
    "of text": lambda f: f.s.min(),
    "length": lambda f: len(f.index) if isinstance(f, pd.DataFrame) else f.index.size,
    "missing": lambda f: f.s.isna().sum(),
    "distinct": lambda f: f.s.nunique(),
    "groups": lambda f: f.groupby("k").b.sum(),
    "groups of text": lambda f: f.groupby(["s", "k"]).agg({"b": ["mean", "max"], "c": "count"}),
    "groups by a condition": lambda f: f.groupby(f.c > 3).b.size(),
    "of what is joined": lambda f: f.merge(NAMES, on="k").groupby("name").c.sum(),
    "of a filter": lambda f: f[f.b > f.b.mean()].c.sum(),
}  # fmt: skip
ORDERED = {
    "first of groups": lambda f: f.groupby("k").b.first(),
    "groups as they come": lambda f: f.groupby("k", sort=False).b.sum(),
    "groups of objects": lambda f: f.groupby("o").b.sum(),
    "texts added up": lambda f: f.o.sum(),
    "cumulative": lambda f: f.b.cumsum().max(),
    "the row before": lambda f: f.b.shift().sum(),
    "first rows": lambda f: f.head(3).b.sum() if isinstance(f, pd.DataFrame) else f.head(3, compute=False).b.sum(),
    "a window": lambda f: f.b.rolling(3).mean().sum(),
    "without repeated rows": lambda f: f.drop_duplicates("k").b.sum(),
    "a label": lambda f: f.b.idxmax(),
    "counts": lambda f: f.k.value_counts(),
}


def moves(*made):
    return [label for label in labels(*made) if label in ("sort", "shuffle")]


@pytest.mark.parametrize("move", MOVED.values(), ids=MOVED)
def test_rows_are_not_sorted_for_reductions_of_any_order(move):
    for n_partitions in (1, 4):
        lazy = move(gd.from_pandas(FRAME, npartitions=n_partitions))
        for name, reduce in UNORDERED.items():
            made = reduce(lazy)
            assert not hasattr(made, "compute") or not moves(made), name


@pytest.mark.parametrize("reduce", ORDERED.values(), ids=ORDERED)
def test_rows_are_sorted_where_their_order_matters(reduce):
    by = ["a", "b", "c", "k"]
    lazy = gd.from_pandas(FRAME, npartitions=4).sort_values(by)
    made = reduce(lazy)
    assert moves(made)
    got, expected = made.compute(**INLINE), reduce(FRAME.sort_values(by, kind="stable"))
    if isinstance(got, pd.Series):
        got, expected = got.sort_index(), expected.sort_index()
    assert_same(got, expected)


def test_a_sort_that_something_else_needs_is_made_once():
    ordered = gd.from_pandas(FRAME, npartitions=4).sort_values("a")
    assert moves(ordered.b.sum(), ordered.b.cumsum()) == ["sort"]
    assert moves(ordered.assign(mean=ordered.b.mean())) == ["sort"]
    numbered = ordered.reset_index(drop=True)
    assert moves(numbered.b.where(numbered.index > 3).sum()) == ["sort"]


def test_numbers_of_sorted_rows_are_those_in_their_order():
    by = ["a", "b", "c", "k"]
    choose = lambda f: f["index"].where(f.b > 3, 0).sum()  # noqa: E731
    numbered = gd.from_pandas(FRAME, npartitions=1).sort_values(by).reset_index(drop=True).reset_index()
    assert moves(choose(numbered))
    assert choose(numbered).compute(**INLINE) == choose(FRAME.sort_values(by).reset_index(drop=True).reset_index())


ALIGNED = {
    "a filter": lambda s, n: n[s.a > 1].x.sum(),
    "a filter of a column": lambda s, n: n.x[s.a > 1].sum(),
    "a column": lambda s, n: (lambda f: f[f.x > 5].z.sum())(n.assign(z=s.a)),
}


@pytest.mark.parametrize("reduce", ALIGNED.values(), ids=ALIGNED)
def test_rows_that_are_aligned_with_others_by_new_labels_are_sorted(reduce):
    frame = pd.DataFrame({"a": [3, 1, 2], "x": [1, 10, 100]})
    ordered = gd.from_pandas(frame, npartitions=1).sort_values("a")
    plain = frame.sort_values("a")
    got = reduce(ordered, ordered.reset_index(drop=True)).compute(**INLINE)
    assert got == reduce(plain, plain.reset_index(drop=True))


def test_numbers_of_rows_that_become_a_column_after_concat_are_those_in_order():
    make = lambda lib, f: lib.concat([f.sort_values("a").reset_index(drop=True), f.set_index("x")]).reset_index()  # noqa: E731
    frame = pd.DataFrame({"a": [3, 1, 2], "x": [1, 10, 100]})
    got = make(gd, gd.from_pandas(frame, npartitions=1)).groupby("a")["index"].sum().compute(**INLINE)
    assert_same(got, make(pd, frame).groupby("a")["index"].sum())


def test_a_sort_that_fails_is_not_left_out():
    mixed = pd.DataFrame({"o": pd.Series([1, "a", 2], dtype=object), "b": 1})
    for options in ({}, {"key": lambda values: values - 1}):
        with pytest.raises(TypeError):
            gd.from_pandas(mixed, npartitions=1).sort_values("o", **options).b.sum().compute(**INLINE)


def test_groups_of_zeros_have_the_sign_of_the_first():
    frame = pd.DataFrame({"z": [0.0, -0.0, 0.0, -0.0], "b": [1, 2, 3, 4]})
    reduce = lambda f: f.sort_values("b", ascending=False).groupby("z").b.count()  # noqa: E731
    got = reduce(gd.from_pandas(frame, npartitions=1)).compute(**INLINE)
    assert np.signbit(got.index[0]) == np.signbit(reduce(frame).index[0])


def test_a_shuffle_is_left_out_unless_groups_need_it():
    shuffled = gd.from_pandas(FRAME, npartitions=4).shuffle("k")
    assert not moves(shuffled.b.sum())
    grouped = shuffled.map_partitions(lambda rows: rows.groupby("k").b.first())
    assert moves(grouped) == ["shuffle"]


@given(
    st.lists(st.sampled_from(sorted(MOVED)), min_size=1, max_size=3),
    st.sampled_from(sorted(UNORDERED)),
    st.integers(1, 5),
)
@settings(max_examples=examples(60), deadline=None)
def test_reductions_of_moved_rows_are_those_of_pandas(names, reduction, n_partitions):
    def made(frame):
        for name in names:
            frame = MOVED[name](frame) if "a" in frame.columns else frame
        return UNORDERED[reduction](frame)

    got = made(gd.from_pandas(FRAME, npartitions=n_partitions))
    got = got.compute(**INLINE) if hasattr(got, "compute") else got
    assert_same(got, made(FRAME))
