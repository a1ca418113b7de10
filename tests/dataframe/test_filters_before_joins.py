"""Rows that are filtered before they are joined."""

from __future__ import annotations

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same, labels, reads
from glassloom.backends.pandas_version import PANDAS_VERSION
from hypothesis import given, settings
from hypothesis import strategies as st
from long_tests import examples

INLINE = {"scheduler": "inline"}
TEXT = pd.StringDtype(na_value=np.nan)
"""Which pandas 3 gives text by itself."""


def rows(n, names, seed):
    random = np.random.default_rng(seed)
    frame = pd.DataFrame({name: random.integers(0, 9, n) + 0.5 for name in names})
    frame["k"] = random.integers(0, 12, n)
    frame["t"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(random.integers(0, 900, n), "D")
    frame["s" + names[0]] = pd.Series(random.choice(["xa", "ya", None], n), dtype=TEXT)
    return frame


LEFT, RIGHT, THIRD = rows(60, "abc", 1), rows(24, "de", 2), rows(15, "gh", 3)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return the three frames as they are read from files of several row groups."""
    folder = tmp_path_factory.mktemp("sides")
    made = []
    for number, frame in enumerate([LEFT, RIGHT, THIRD]):
        frame.to_parquet(folder / f"{number}.parquet", row_group_size=10)
        made.append(gd.read_parquet(folder / f"{number}.parquet", split_row_groups=True))
    return made


def in_memory(broadcast):
    """Return lazy frames in memory, and how they are joined: by look-up, or moved."""
    return [gd.from_pandas(frame, npartitions=3) for frame in (LEFT, RIGHT, THIRD)], {"broadcast": broadcast}


CHOSEN = {
    "of the left side": (lambda m: m[m.b > 3].a.sum(), ["inner", "left", "leftsemi", "leftanti"]),
    "of both": (lambda m: m[(m.b > 3) & (m.e < 6)].a.sum(), ["inner"]),
    "of the key": (lambda m: m[m.k < 5].groupby("k").a.max(), ["inner", "left", "right"]),
    "one after the other": (lambda m: (lambda g: g[g.e > 2].d.sum())(m[m.b > 3]), ["inner"]),
    "of a text": (lambda m: m[m.sa.str.startswith("x", na=False)].groupby("sa").b.sum(), ["inner", "left"]),
    "of a year": (lambda m: m[m.t_x.dt.year == 2020].b.mean(), ["inner", "left"]),
    "of what is assigned": (lambda m: (lambda g: g[g.z > 9].z.sum())(m.assign(z=m.a + 2 * m.b)), ["inner", "left"]),
    "of a renamed column": (
        lambda m: (lambda g: g[g.B > 3].B.count())(m.rename(columns={"b": "B"})),
        ["inner", "left"],
    ),
    "of a mean": (lambda m: m[m.b > LEFT.b.mean()].a.min(), ["inner", "left"]),
    "counted": (lambda m: m[m.b.between(2, 6)].b.count(), ["inner", "left"]),
    "missing values": (lambda m: m[m.sa.isna() & (m.k != 3)].groupby("k").b.sum(), ["inner", "left"]),
    "under new labels": (lambda m: m[m.b > 3].reset_index(drop=True).b.sum(), ["inner", "left"]),
}


def last_filter(made):
    order = labels(made)
    return max((place for place, label in enumerate(order) if label == "filter"), default=-1), order.index("merge")


@pytest.mark.parametrize("choose, hows", CHOSEN.values(), ids=CHOSEN)
@pytest.mark.parametrize("broadcast", [True, False])
def test_rows_are_filtered_before_they_are_joined(choose, hows, broadcast):
    (left, right, _), options = in_memory(broadcast)
    for how in hows:
        merged = left.merge(right, on="k", how=how, **options)
        made = choose(merged)
        if how != "inner" or broadcast or PANDAS_VERSION >= (3, 1):
            place, join = last_filter(made)
            assert place < join
        if not how.startswith("leftsemi") and not how.startswith("leftanti"):
            assert_same(made.compute(**INLINE), choose(LEFT.merge(RIGHT, on="k", how=how)))
        assert_same(made.compute(**INLINE), made.compute(optimize_graph=False, **INLINE))


def test_conditions_reach_files_through_several_joins(files):
    one, two, three = files
    join = lambda f, g, h: f.merge(g, on="k").merge(h, left_on="k", right_on="k")  # noqa: E731
    choose = lambda m: m[(m.b > 3) & (m.e < 6) & (m.g > 1)].groupby("k").a.sum()  # noqa: E731
    made = choose(join(one, two, three))
    assert len(reads(made)) == 3 and all(read.condition for read in reads(made))
    assert_same(made.compute(**INLINE), choose(join(LEFT, RIGHT, THIRD)))


def test_a_condition_of_a_key_is_one_of_both_sides(files):
    one, two, _ = files
    made = (lambda m: m[m.k == 3].a.sum())(one.merge(two, left_on="k", right_on="k"))
    assert all(read.condition for read in reads(made))
    other = RIGHT.rename(columns={"k": "key"})
    merged = one.merge(gd.from_pandas(other, npartitions=2), left_on="k", right_on="key", how="left")
    choose = lambda m: m[m.k.isin([2, 3])].e.sum()  # noqa: E731
    assert_same(choose(merged).compute(**INLINE), choose(LEFT.merge(other, left_on="k", right_on="key", how="left")))
    unlike = (lambda m: m[m.key == 3].a.sum())(merged)  # missing where a row has no partner
    assert last_filter(unlike)[0] > last_filter(unlike)[1]


NOT_MOVED = {
    "numbers of rows are seen": lambda m: m[m.b > 3][["a"]],
    "a number is asked for": lambda m: m[m.b > 3].a.idxmax(),
    "other rows are needed": lambda m: m[m.b > 3].a.sum() + m.e.sum(),
    "compared with each other": lambda m: m[m.b > m.e].a.sum(),
    "a mean of the joined rows": lambda m: m[m.b > m.b.mean()].a.sum(),
    "of other rows": lambda m: m[m.b.shift(1) > 3].a.sum(),
    "by a function": lambda m: m[m.b.map(lambda value: value > 3)].a.sum(),
    "by labels": lambda m: m[m.index > 3].a.sum(),
    "one or the other": lambda m: m[(m.b > 3) | (m.e > 3)].a.sum(),
}


@pytest.mark.parametrize("choose", NOT_MOVED.values(), ids=NOT_MOVED)
def test_other_filters_stay_after_the_join(choose):
    whole = LEFT.merge(RIGHT, on="k")
    one = gd.from_pandas(LEFT, npartitions=1).merge(gd.from_pandas(RIGHT, npartitions=1), on="k")
    made = choose(one)
    place, join = last_filter(made)
    assert place > join
    assert_same(made.compute(**INLINE), choose(whole))


KEYS = {
    "whole numbers": [0, 1, 2],
    "floats": [0.0, 1.0, 2.0],
    "nullable": pd.array([0, 1, 2], dtype="Int64"),
    "objects": pd.array([0, 1, 2], dtype=object),
    "times": pd.date_range("2020", periods=3, tz="UTC"),
    "texts": ["a", "b", "c"],
}


@pytest.mark.parametrize("keys", KEYS.values(), ids=KEYS)
@pytest.mark.parametrize("how", ["inner", "left", "right"])
def test_conditions_of_shared_keys_hold_for_rows_without_a_partner(how, keys):
    left = pd.DataFrame({"k": keys, "b": [1.0, 2.0, 3.0]})[:2]
    right = pd.DataFrame({"k": keys, "g": [10.0, 20.0, 30.0]})[1:]
    for options in ({"on": "k"}, {"left_on": "k", "right_on": "k"}):
        for choose in (lambda m: m[m.k != left.k[0]], lambda m: m[m.k != right.k[2]], lambda m: m[m.k == left.k[1]]):
            total = lambda m, choose=choose: choose(m)[["b", "g"]].sum()  # noqa: E731
            expected = total(left.merge(right, how=how, **options))
            for broadcast in (True, False):
                lazy = gd.from_pandas(left, npartitions=2).merge(
                    gd.from_pandas(right, npartitions=1), how=how, broadcast=broadcast, **options
                )
                assert_same(total(lazy).compute(**INLINE), expected)


ALIGNED = {
    "a column": lambda x, other: x.assign(z=other).z.sum(),
    "a column of groups": lambda x, other: x.assign(z=other).groupby("z").g.sum(),
    "a filter": lambda x, other: x[other > 1].g.sum(),
}


@pytest.mark.parametrize("reduce", ALIGNED.values(), ids=ALIGNED)
def test_rows_that_are_aligned_with_others_by_their_numbers_are_filtered_after_the_join(reduce):
    left, right = pd.DataFrame({"k": [1, 2], "b": [1, 2]}), pd.DataFrame({"k": [1, 2], "g": [10.0, 20.0]})

    def make(left, right):
        joined = left.merge(right, on="k")
        return reduce(joined[joined.b > 1], left.b)

    got = make(gd.from_pandas(left, npartitions=1), gd.from_pandas(right, npartitions=1)).compute(**INLINE)
    assert_same(got, make(left, right), check_dtype=False)


def test_many_conditions_stay_after_the_join():
    frame = pd.DataFrame({"k": [1], "a": [1]})
    joined = gd.from_pandas(frame, npartitions=1).merge(frame.rename(columns={"a": "g"}), on="k")
    condition = joined.a > 0
    for number in range(300):
        condition = condition & (joined.a > -number)
    assert joined[condition].g.sum().compute(**INLINE) == 1


def test_a_join_that_a_filter_and_something_else_need_is_made_once():
    (left, right, _), options = in_memory(True)
    merged = left.merge(right, on="k", **options)
    assert labels(merged[merged.b > 3].a.sum(), merged.a.sum()).count("merge") == 1


def test_columns_that_may_get_missing_values_keep_their_dtypes():
    right = pd.DataFrame({"k": [0, 1, 2], "n": [5, 6, 7], "yes": [True, False, True]})
    choose = lambda m: m[m.k < 3][["k", "n"]].groupby("k").n.max()  # noqa: E731
    left = pd.DataFrame({"k": [0, 1, 2, 3], "v": [1.0, 2.0, 3.0, 4.0]})
    lazy = gd.from_pandas(left, npartitions=2).merge(gd.from_pandas(right, npartitions=1), on="k", how="left")
    expected = choose(left.merge(right, on="k", how="left"))
    assert expected.dtype == "float64"
    assert_same(choose(lazy).compute(**INLINE), expected)


def test_conditions_that_might_fail_stay_where_they_are():
    left = pd.DataFrame({"k": [0, 1, 2], "o": pd.Series([1, 2, "three"], dtype=object)})
    right = pd.DataFrame({"k": [0, 1], "n": [5.0, 6.0]})
    lazy = gd.from_pandas(left, npartitions=2).merge(gd.from_pandas(right, npartitions=1), on="k")
    for choose in (lambda m: m[m.o > 1].n.sum(), lambda m: m[(m.o & 1) == (m.o & 3)].n.sum()):
        assert choose(lazy).compute(**INLINE) == choose(left.merge(right, on="k"))


def test_what_is_validated_is_all_rows():
    left, right = pd.DataFrame({"k": [0, 1]}), pd.DataFrame({"k": [0, 1, 1], "n": [1.0, 2.0, 3.0]})
    lazy = gd.from_pandas(left, npartitions=1).merge(gd.from_pandas(right, npartitions=1), on="k", validate="1:1")
    with pytest.raises(pd.errors.MergeError):
        lazy[lazy.n < 2].n.sum().compute(**INLINE)


CONDITIONS = {
    "b > 3": lambda m: m.b > 3,
    "e < 6": lambda m: m.e < 6,
    "k in": lambda m: m.k.isin([1, 2, 5]),
    "no text": lambda m: m.sa.isna(),
    "text": lambda m: m.sd == "xa",
    "not": lambda m: ~(m.c > 4),
    "either": lambda m: (m.a > 5) | (m.b < 2),
    "of both": lambda m: m.a + m.d > 8,
    "both": lambda m: (m.b > 2) & (m.d < 7),
}
ENDS = {
    "sum": lambda m: m.a.sum(),
    "groups": lambda m: m.groupby("k").agg({"a": "sum", "d": "max", "e": "count"}),
    "groups of text": lambda m: m.groupby(["sa", "sd"]).b.min(),
    "joined again": lambda m: m.merge(THIRD if isinstance(m, pd.DataFrame) else gd.from_pandas(THIRD, npartitions=2), on="k").g.sum(),
    "counts": lambda m: m.sa.value_counts().sort_index(),
    "all": lambda m: m,
}  # fmt: skip


@given(
    st.sampled_from(["inner", "left", "right", "outer"]),
    st.lists(st.sampled_from(sorted(CONDITIONS)), min_size=1, max_size=3),
    st.sampled_from(sorted(ENDS)),
    st.sampled_from([True, False, None]),
    st.integers(1, 4),
    st.integers(1, 3),
)
@settings(max_examples=examples(40), deadline=None)
def test_filtered_rows_of_joins_are_those_of_pandas(how, names, end, broadcast, n_left, n_right):
    def make(left, right, **options):
        made = left.merge(right, on="k", how=how, **options)
        for name in names:
            made = made[CONDITIONS[name](made)]
        return ENDS[end](made)

    lazy = make(
        gd.from_pandas(LEFT, npartitions=n_left), gd.from_pandas(RIGHT, npartitions=n_right), broadcast=broadcast
    )
    got, expected = lazy.compute(**INLINE), make(LEFT, RIGHT)
    if end == "all":
        got, expected = (one.sort_values(list(one.columns)).reset_index(drop=True) for one in (got, expected))
    assert_same(got, expected)
