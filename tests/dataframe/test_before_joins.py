"""Rows of the right side of a join that are counted before it."""

from __future__ import annotations

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same, labels, plan
from glassloom.dataframe.moving.lookup import LookupJoin
from hypothesis import given
from hypothesis import strategies as st

INLINE = {"scheduler": "inline"}


def sides(rows, n_customers=6):
    random = np.random.default_rng(rows)
    customers = pd.DataFrame(
        {"k": [*range(n_customers - 1), 1][:n_customers], "city": random.choice(["x", "y"], n_customers)}
    )
    orders = pd.DataFrame(
        {
            "own": random.integers(0, n_customers + 2, rows),
            "amount": random.choice([1.5, np.nan, 2], rows),
            "note": random.choice(np.array(["a", None], dtype=object), rows),
        }
    )
    return customers, orders


def is_counted_before(lazy):
    """Whether the right side of the join is an aggregation."""
    (join,) = [node for node in plan(lazy) if isinstance(node, LookupJoin)]
    return "own" in join.sides[1].meta.columns and join.sides[1].label == "groupby-agg"


def both(rows=40, npartitions=4, how="left"):
    customers, orders = sides(rows)
    lazy = gd.from_pandas(customers, npartitions=2).merge(
        gd.from_pandas(orders, npartitions=npartitions), left_on="k", right_on="own", how=how
    )
    return lazy, customers.merge(orders, left_on="k", right_on="own", how=how)


COUNTS = {
    "by the key": lambda joined: joined.groupby("k").note.count(),
    "by another column": lambda joined: joined.groupby("city")[["note", "amount"]].count(),
    "by both": lambda joined: joined.groupby(["city", "k"]).agg(n=("amount", "count"), m=("note", "count")),
    "twice the same": lambda joined: joined.groupby("k").agg(n=("amount", "count"), m=("amount", "count")),
    "as columns": lambda joined: joined.groupby("k", as_index=False).agg({"note": "count"}),
    "in order of appearance": lambda joined: joined.groupby("k", sort=False).note.count(),
    "as categories": lambda joined: joined.groupby("k").note.count().astype("category"),
}


@pytest.mark.parametrize("count", COUNTS.values(), ids=COUNTS)
def test_counts_of_the_right_side_are_made_before_a_left_join(count):
    lazy, wanted = both()
    assert is_counted_before(count(lazy))
    assert_same(count(lazy).compute(**INLINE), count(wanted))


def test_a_groupby_that_keeps_missing_keys_counts_those_too():
    customers = pd.DataFrame({"k": pd.to_datetime(["2020-01-01", None, "2020-01-02", None])})
    orders = pd.DataFrame(
        {"own": pd.to_datetime([None, "2020-01-02", None, "2020-01-05"] * 4), "x": [1.0, 2.0, None, 4.0] * 4}
    )
    for dropna in (True, False):
        joined = gd.from_pandas(customers, npartitions=1).merge(
            gd.from_pandas(orders, npartitions=3), left_on="k", right_on="own", how="left"
        )
        made = joined.groupby("k", dropna=dropna).x.count()
        assert is_counted_before(made)
        wanted = customers.merge(orders, left_on="k", right_on="own", how="left").groupby("k", dropna=dropna).x.count()
        assert_same(made.compute(**INLINE), wanted)


def test_several_keys_of_one_name_on_both_sides():
    customers, orders = sides(50)
    customers["city"] = customers.city == "x"
    orders = orders.rename(columns={"own": "k"}).assign(city=np.random.default_rng(0).choice([True, False], 50))
    lazy = gd.from_pandas(customers, npartitions=1).merge(
        gd.from_pandas(orders, npartitions=3), on=["k", "city"], how="left"
    )
    made = lazy.groupby("city").note.count()
    (join,) = [node for node in plan(made) if isinstance(node, LookupJoin)]
    assert join.sides[1].label == "groupby-agg"
    assert_same(
        made.compute(**INLINE), customers.merge(orders, on=["k", "city"], how="left").groupby("city").note.count()
    )


OTHERS = {
    "a sum": lambda joined: joined.groupby("k").amount.sum(),
    "a count and a mean": lambda joined: joined.groupby("k").agg({"amount": ["count", "mean"]}),
    "the number of rows": lambda joined: joined.groupby("k").size(),
    "a column of the left side": lambda joined: joined.groupby("k").city.count(),
    "a key of the right side": lambda joined: joined.groupby("note").amount.count(),
    "the right side's key": lambda joined: joined.groupby("k").own.count(),
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_what_needs_the_rows_gets_them(other):
    lazy, wanted = both()
    assert not is_counted_before(other(lazy))
    assert_same(other(lazy).compute(**INLINE), other(wanted))


def test_other_joins_short_right_sides_and_rows_that_are_needed_otherwise_are_left_alone():
    inner, wanted = both(how="inner")
    assert "groupby-agg" not in labels(inner.groupby("k").note.count())
    assert_same(inner.groupby("k").note.count().compute(**INLINE), wanted.groupby("k").note.count())
    short, wanted = both(rows=7, npartitions=2)
    assert not is_counted_before(short.groupby("k").note.count())
    assert_same(short.groupby("k").note.count().compute(**INLINE), wanted.groupby("k").note.count())
    lazy, wanted = both()
    count, rows = gd.compute(lazy.groupby("k").note.count(), lazy.amount.sum(), **INLINE)
    assert_same(count, wanted.groupby("k").note.count())
    assert rows == wanted.amount.sum()


def test_columns_that_have_got_a_suffix_are_left_alone():
    customers, orders = sides(40)
    customers["note"] = customers.city
    lazy = gd.from_pandas(customers, npartitions=1).merge(
        gd.from_pandas(orders, npartitions=3), left_on="k", right_on="own", how="left"
    )
    made = lazy.groupby("k").note_y.count()
    wanted = customers.merge(orders, left_on="k", right_on="own", how="left").groupby("k").note_y.count()
    assert_same(made.compute(**INLINE), wanted)


def test_a_right_side_without_rows_counts_none():
    customers, orders = sides(40)
    right = gd.from_pandas(orders, npartitions=4)
    lazy = gd.from_pandas(customers, npartitions=1).merge(
        right[right.amount > 100], left_on="k", right_on="own", how="left"
    )
    made = lazy.groupby("k").note.count()
    wanted = (
        customers.merge(orders[orders.amount > 100], left_on="k", right_on="own", how="left").groupby("k").note.count()
    )
    assert_same(made.compute(**INLINE), wanted)


_KEYS = st.sampled_from([["a", "b", "c", "d"], [1, 2, 3, 2**40], [True, False, True, False]])


@given(
    keys=_KEYS,
    left=st.lists(st.integers(0, 3), min_size=1, max_size=5),
    right=st.lists(st.integers(0, 3), min_size=12, max_size=30),
    n=st.integers(1, 5),
    sort=st.booleans(),
)
def test_counts_are_those_of_pandas(keys, left, right, n, sort):
    customers = pd.DataFrame({"k": [keys[number] for number in left]})
    orders = pd.DataFrame(
        {"own": [keys[number] for number in right], "x": [None if number == 2 else 1.5 for number in right]}
    )
    lazy = gd.from_pandas(customers, npartitions=1, sort=False).merge(
        gd.from_pandas(orders, npartitions=n, sort=False), left_on="k", right_on="own", how="left"
    )
    made = lazy.groupby("k", sort=sort).x.count()
    wanted = customers.merge(orders, left_on="k", right_on="own", how="left").groupby("k", sort=sort).x.count()
    assert_same(made.compute(**INLINE), wanted)
