"""Rows that are filtered before they are sorted, moved or concatenated."""

from __future__ import annotations

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same, labels, reads

INLINE = {"scheduler": "inline"}


def rows(n=60):
    random = np.random.default_rng(n)
    frame = pd.DataFrame({name: random.integers(0, 9, n) + 0.5 for name in "abc"})
    return frame.assign(s=random.choice(["x", "y", None], n))


FRAME, OTHER = rows(), rows(20)


@pytest.fixture(scope="module")
def lazy(tmp_path_factory):
    path = tmp_path_factory.mktemp("filters") / "rows.parquet"
    FRAME.to_parquet(path, row_group_size=10)
    return gd.read_parquet(path, split_row_groups=True)


SORTED = {
    "one condition": lambda f: f[f.b > 3],
    "two": lambda f: f[(f.b > 3) & (f.s == "x")],
    "one after the other": lambda f: (lambda g: g[g.s == "x"])(f[f.b > 3]),
    "a column of some rows": lambda f: f[f.b > 3].c,
    "of what is assigned": lambda f: (lambda g: g[g.d > 5])(f.assign(d=f.a + f.b)),
    "columns chosen between": lambda f: (lambda g: g[g.b > 3][["a"]])(f[["a", "b"]]),
    "no rows": lambda f: f[f.b > 30],
}


@pytest.mark.parametrize("by", ["c", ["s", "a"]], ids=str)
@pytest.mark.parametrize("choose", SORTED.values(), ids=SORTED)
def test_rows_are_filtered_before_they_are_sorted(lazy, choose, by):
    made = choose(lazy.sort_values(by))
    order = labels(made, keeps_blocks=False)
    assert "filter" not in order or order.index("filter") < order.index("sort")
    expected = choose(FRAME.sort_values(by, kind="stable"))
    assert_same(made.compute(**INLINE).reset_index(drop=True), expected.reset_index(drop=True))


MOVED = {
    "in fewer partitions": lambda f: f.repartition(npartitions=2),
    "in more partitions": lambda f: f.repartition(npartitions=20),
    "shuffled": lambda f: f.shuffle("c"),
    "sorted, in one partition": lambda f: f.repartition(npartitions=1).sort_values("c"),
}


@pytest.mark.parametrize("choose", SORTED.values(), ids=SORTED)
@pytest.mark.parametrize("move", MOVED.values(), ids=MOVED)
def test_rows_are_filtered_before_they_go_to_other_partitions(lazy, choose, move):
    made = choose(move(lazy))
    assert all(read.condition for read in reads(made, keeps_blocks=False)) or "d" in made.expr.meta
    assert made.npartitions == move(lazy).npartitions
    assert_same(made.compute(**INLINE).sort_index(), choose(FRAME))


def test_conditions_reach_the_file_through_a_sort_and_concat(lazy):
    for made in (
        (lambda f: f[f.b > 3])(lazy.sort_values("a")),
        (lambda f: f[f.b > 3])(gd.concat([lazy, lazy])),
        (lambda f: f[f.b > 3].c)(gd.concat([lazy, lazy]).sort_values("a")),
    ):
        assert all(read.condition for read in reads(made, keeps_blocks=False))


CUT = {
    "sorted": lambda f: f.sort_values("u"),
    "in more partitions": lambda f: f.repartition(npartitions=9),
    "shuffled": lambda f: f.shuffle("u"),
}


@pytest.mark.parametrize("move", CUT.values(), ids=CUT)
def test_partitions_of_filtered_rows_are_the_same_in_each_computation(move):
    random = np.random.default_rng(3)
    frame = pd.DataFrame({"u": random.permutation(60), "b": random.random(60)})
    made = (lambda f: f[f.b > 0.5])(move(gd.from_pandas(frame, npartitions=4)))
    lengths = made.map_partitions(len).compute(**INLINE).tolist()
    assert lengths == [len(made.partitions[number].compute(**INLINE)) for number in range(made.npartitions)]
    assert made.to_dask_array(lengths=True).compute().shape == (sum(lengths), 2)


def test_rows_sorted_by_a_function_of_all_are_all_there():
    frame = pd.DataFrame({"a": [-100.0, 1, 5, 6], "x": [0, 1, 1, 1]})
    far = lambda f: f.sort_values("a", key=lambda values: (values - values.mean()).abs())  # noqa: E731
    choose = lambda f: f[f.x > 0].a  # noqa: E731
    assert_same(choose(far(gd.from_pandas(frame, npartitions=1))).compute(**INLINE), choose(far(frame)))


def test_conditions_of_objects_are_not_taken_apart():
    frame = pd.DataFrame({"p": pd.Series([True, None, False, True], dtype=object), "x": [1.0, 2.0, 3.0, 4.0]})
    both = lambda f: f[f.p & (f.x > 1)].x.cumsum().max() + f[f.p & (f.x > 2)].x.cumsum().max()  # noqa: E731
    assert both(gd.from_pandas(frame, npartitions=3).shuffle("x")).compute(**INLINE) == both(frame)


def test_categories_that_are_found_in_values_are_those_of_all_rows():
    frame = pd.DataFrame({"s": ["x", "y"], "b": [1, 9], "u": [1, 0]})
    choose = lambda f: (lambda g: g[g.b > 5].c.value_counts().sort_index())(f.assign(c=f.s.astype("category")))  # noqa: E731
    got = choose(gd.from_pandas(frame, npartitions=1).sort_values("u")).compute(**INLINE)
    assert got.tolist() == choose(frame).tolist() == [0, 1]


def of_one_partition(tmp_path):
    """Return frames of one partition, read and sorted, and what they are of pandas'."""
    frame = pd.DataFrame({"a": [5, 1, 4, 2, 3, 0], "k": [0, 1, 0, 1, 1, 0]})
    frame.to_parquet(tmp_path / "one.parquet")
    ordered = gd.from_pandas(frame, npartitions=3).sort_values("a", npartitions=1)
    return [(gd.read_parquet(tmp_path / "one.parquet"), frame), (ordered, frame.sort_values("a"))]


OF_OTHER_ROWS = {
    **{
        method: lambda s, method=method: getattr(s, method)()
        for method in ("shift", "diff", "cumsum", "cummax", "rank", "ffill", "pct_change", "duplicated", "argsort")
    },
    "windows": lambda s: s.rolling(2).sum(),
    "weights": lambda s: s.ewm(com=1).mean(),
    "categories": lambda s: s.astype("category").cat.codes,
    "places": lambda s: s.reset_index(drop=True),
}


@pytest.mark.parametrize("of_others", OF_OTHER_ROWS.values(), ids=OF_OTHER_ROWS)
def test_rows_are_not_filtered_before_what_is_computed_of_other_rows(tmp_path, of_others):
    for lazy, frame in of_one_partition(tmp_path):
        choose = lambda f: f.assign(n=of_others(f.a)).pipe(lambda g: g[(g.n > 1) & (g.k == 1)])  # noqa: E731
        assert_same(choose(lazy).compute(**INLINE), choose(frame))


def test_conditions_under_other_labels_stay_where_they_are():
    frame = pd.DataFrame({"a": [1, 1, 1, 1, 2, 2, 2, 2, 2], "k": [0, 1, 2, 3, 0, 1, 2, 3, 4], "v": 1})
    lazy = gd.from_pandas(frame, npartitions=3)
    for relabel in (
        lambda f: f.sort_values(["a", "k"]).set_index("a", **({} if isinstance(f, pd.DataFrame) else {"sorted": True})),
        lambda f: f.sort_values(["k", "a"]).rename(index=lambda label: label * 2),
        lambda f: f.sort_values(["k", "a"]).reset_index(drop=True),
    ):
        got = (lambda f: f[f.k > 0])(relabel(lazy)).compute(**INLINE)
        expected = (lambda f: f[f.k > 0])(relabel(frame))
        assert_same(got.reset_index(drop=True), expected.reset_index(drop=True))


def test_conditions_of_the_index_beside_others(lazy):
    choose = lambda f: f[(f.s == "x") & (f.index > 3) & (f.a + 1 > f.b)]  # noqa: E731
    assert_same(choose(lazy).compute(**INLINE), choose(lazy).compute(optimize_graph=False, **INLINE))
    frame = gd.from_pandas(FRAME, npartitions=3)
    for made in (frame, frame.sort_values("a", npartitions=3)):
        total = lambda f: choose(f).a.sum() + f[(f.s == "x") & (f.b > 2)].a.sum()  # noqa: E731
        assert total(made).compute(**INLINE) == total(FRAME)


def test_filtered_values_of_concatenated_series():
    one, other = gd.from_pandas(FRAME, npartitions=3), gd.from_pandas(OTHER, npartitions=2)
    for choose in (lambda s: s[s > 3], lambda s: s[s.isin([0.5, 2.5])], lambda s: s[s.index > 12]):
        assert_same(choose(gd.concat([one.a, other.b])).compute(**INLINE), choose(pd.concat([FRAME.a, OTHER.b])))


def test_a_file_that_is_sorted_is_read_once(lazy):
    assert len(reads((lambda f: f[f.b > 3])(lazy.sort_values("a")))) == 1


def test_rows_that_are_needed_sorted_too_are_sorted_once(lazy):
    ordered = lazy.sort_values("a")
    both = [ordered[ordered.b > 3], ordered[["c"]]]
    assert labels(*both).count("sort") == 1
    for made in (both[0], ordered.assign(m=ordered.b[ordered.b > 3].sum())):
        assert_same(
            made.compute(**INLINE).reset_index(drop=True),
            made.compute(optimize_graph=False, **INLINE).reset_index(drop=True),
        )


def test_an_index_that_is_set_keeps_its_divisions():
    ordered = gd.from_pandas(FRAME, npartitions=4).set_index("c")
    made = ordered[ordered.b > 3]
    assert made.known_divisions
    order = labels(made)
    assert order.index("filter") < order.index("sort")
    assert_same(made.compute(**INLINE), (lambda f: f[f.b > 3])(FRAME.set_index("c").sort_index(kind="stable")))


CONCATENATED = {
    "a condition": lambda f: f[f.b > 3],
    "of a mean": lambda f: f[f.b > f.b.mean()],
    "of two columns": lambda f: f[(f.a > f.b) | f.s.isna()],
    "one after the other": lambda f: (lambda g: g[g.a < 5])(f[f.b > 3]),
    "of what is assigned": lambda f: (lambda g: g[g.d > 5])(f.assign(d=f.a + f.b)),
    "of what is before": lambda f: f[f.b.shift(1) > 3],
    "of the index": lambda f: f[f.index > 12],
}


@pytest.mark.parametrize("choose", CONCATENATED.values(), ids=CONCATENATED)
def test_concatenated_rows_that_are_filtered_are_those_of_pandas(choose):
    made = choose(gd.concat([gd.from_pandas(FRAME, npartitions=3), gd.from_pandas(OTHER, npartitions=2)]))
    assert_same(made.compute(**INLINE), choose(pd.concat([FRAME, OTHER])))


def test_conditions_of_many_steps_are_looked_at_once():
    frame = pd.DataFrame({"x": np.arange(10.0), "y": 1})
    both = gd.concat([gd.from_pandas(frame, npartitions=2)] * 2)
    steps = both.x
    for _ in range(16):
        steps = (steps.abs() + steps) / 2  # two ways to each node below
    made = both[steps > 3]
    assert labels(made)[-1] == "concat"
    assert_same(made.compute(**INLINE), (lambda f: f[f.x > 3])(pd.concat([frame, frame])))


def test_frames_are_filtered_before_they_are_concatenated_unless_their_dtypes_differ():
    one, other = gd.from_pandas(FRAME, npartitions=3), gd.from_pandas(OTHER, npartitions=2)
    filtered = lambda f: f[f.b > 3]  # noqa: E731
    order = labels(filtered(gd.concat([one, other])))
    assert order[-1] == "concat"
    whole = OTHER.astype({"b": "int64"})
    unlike = filtered(gd.concat([one, gd.from_pandas(whole, npartitions=2)]))
    assert labels(unlike)[-1] == "filter"
    assert_same(unlike.compute(**INLINE), filtered(pd.concat([FRAME, whole])))
    lacking = filtered(gd.concat([one, gd.from_pandas(OTHER[["a", "s"]], npartitions=2)]))
    assert_same(lacking.compute(**INLINE), filtered(pd.concat([FRAME, OTHER[["a", "s"]]])))
