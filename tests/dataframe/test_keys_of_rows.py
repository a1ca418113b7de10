"""Groups by values at hand, with one for each row: arrays, lists, categories, and pandas series by label."""

from __future__ import annotations

import pickle

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same, partitionings
from glassloom.backends.pandas_ import HAS_COPY_ON_WRITE
from glassloom.errors import UnknownColumn

_RANDOM = np.random.default_rng(5)
COUNT = 23
FRAME = pd.DataFrame(
    {
        "x": _RANDOM.integers(0, 9, COUNT) / 2,
        "y": _RANDOM.integers(0, 5, COUNT),
        "k": _RANDOM.choice(["a", "b"], COUNT),
    },
    index=pd.Index(range(100, 100 + COUNT), name="row"),
)
FRAME.loc[103, "x"] = np.nan
TEXTS = _RANDOM.choice(["u", "v", "w"], COUNT)
KEYS = {
    "texts": TEXTS,
    "objects": np.array([None, *TEXTS[1:]], dtype=object),
    "a list": TEXTS.tolist(),
    "categories": pd.Categorical(TEXTS, categories=["w", "v", "u", "t"]),
    "an index": pd.Index(TEXTS, name="t"),
    "times": pd.to_datetime(_RANDOM.integers(0, 3, COUNT), unit="D"),
    "missing": pd.array([1, None, 2, *[1] * (COUNT - 3)], dtype="Int64"),
    "a series of other rows": pd.Series(_RANDOM.integers(0, 3, 15), index=range(110, 125), name="s"),
    "a series in another order": pd.Series(TEXTS, index=FRAME.index[::-1], name="k"),
    "beside a column": [TEXTS, "k"],
    "a list beside a column": ["k", TEXTS.tolist()],
}
OPERATIONS = {
    "sum": lambda groups: groups[["x", "y"]].sum(),
    "several": lambda groups: groups.agg({"x": ["mean", "median"], "y": "nunique"}),
    "sizes": lambda groups: groups.size(),
    "for each row": lambda groups: groups.x.transform("mean"),
    "along the rows": lambda groups: groups[["x", "y"]].cumsum(),
    "some rows": lambda groups: groups.nth([0, -1]),
    "a function": lambda groups: groups.apply(lambda group: group.x.max() - group.y.min()),
}


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_groups_by_values_at_hand_are_those_of_pandas(key):
    for operation in OPERATIONS.values():
        for dropna in (True, False):
            expected = operation(FRAME.groupby(key, dropna=dropna, observed=True))
            for lazy in partitionings(FRAME)[1:]:
                assert_same(operation(lazy.groupby(key, dropna=dropna, observed=True)).compute(), expected)


def test_series_are_grouped_by_values_at_hand():
    lazy = gd.from_pandas(FRAME, npartitions=4)
    for key in (TEXTS, TEXTS.tolist(), KEYS["a series of other rows"], KEYS["categories"]):
        assert_same(lazy.x.groupby(key, observed=False).sum().compute(), FRAME.x.groupby(key, observed=False).sum())


def test_series_of_labels_that_occur_again_are_those_of_the_frame():
    plain = FRAME.set_axis([1, 1, *range(2, COUNT)])
    lazy = gd.from_pandas(plain, npartitions=3)
    key = pd.Series(TEXTS, index=plain.index)
    assert_same(lazy.groupby(key).x.sum().compute(), plain.groupby(key).x.sum())
    with pytest.raises(ValueError, match="can't be aligned by label"):
        lazy.groupby(key[::-1])


def test_lists_are_labels_where_all_are_and_values_else():
    plain = FRAME[:2]
    lazy = gd.from_pandas(plain, npartitions=2)
    assert_same(lazy.groupby(["k", "y"]).x.sum().compute(), plain.groupby(["k", "y"]).x.sum())
    assert_same(lazy.groupby(["k", "z"]).x.sum().compute(), plain.groupby(["k", "z"]).x.sum())


def test_rows_of_an_unknown_number_are_counted_only_if_a_list_may_be_as_long():
    counted = []

    def piece(number):
        counted.append(number)
        return FRAME.iloc[8 * number : 8 * number + 8]

    lazy = gd.from_map(piece, range(3), meta=FRAME.iloc[:0])
    for labels in (["z", "k"], ["k", "z"], ["z"], ["row", "z"]):
        with pytest.raises(KeyError, match="no column 'z'"):
            lazy.groupby(labels)
    assert counted == []
    with pytest.raises(UnknownColumn, match="no column 'z'"):
        lazy.groupby(["z", "u"])
    assert counted == [0]
    with pytest.raises(UnknownColumn, match="no column 'u'"):
        lazy.groupby(["u"] * (COUNT + 1))


def test_columns_of_the_pandas_frame_itself_are_keys_and_no_values():
    lazy = gd.from_pandas(FRAME, npartitions=3)
    own = [FRAME["k"], [FRAME["k"], FRAME["y"]]] if HAS_COPY_ON_WRITE else []
    for key in (*own, FRAME["k"].copy(), FRAME["k"].str.upper()):
        for plain, frame in (
            (FRAME, lazy),
            (FRAME.assign(z=1), lazy.assign(z=1)),
            (FRAME[["k", "y"]], lazy[["k", "y"]]),
        ):
            assert_same(frame.groupby(key).max().compute(), plain.groupby(key).max())
    key, filtered = FRAME["k"], FRAME["y"] > 1
    assert_same(lazy[lazy.y > 1].groupby(key).max().compute(), FRAME[filtered].groupby(key).max())


@pytest.mark.skipif(not HAS_COPY_ON_WRITE, reason="before, pandas compares the objects")
def test_columns_of_a_frame_that_got_other_columns_are_still_its_own():
    lazy = gd.from_pandas(FRAME, npartitions=3)
    key, lazy_key = FRAME["k"], lazy["k"]
    assert_same(lazy.assign(z=1).groupby(lazy_key).max().compute(), FRAME.assign(z=1).groupby(key).max())
    assert_same(lazy[["k", "y"]].groupby(lazy_key).max().compute(), FRAME[["k", "y"]].groupby(key).max())
    other = FRAME.assign(k=FRAME["k"].str.upper())
    lazy["k"] = lazy["k"].str.upper()
    assert_same(lazy.groupby(lazy_key).max().compute(), other.groupby(key).max())


_CALLS = {
    "filtered, both": lambda f: (f[f.y > 1], f.k[f.y > 1]),
    "filtered twice": lambda f: (f[f.y > 1], f[f.y > 1].k),
    "filtered twice, columns chosen": lambda f: (f[f.y > 1][["k", "y"]], f[f.y > 1].k),
    "chosen, then filtered": lambda f: (f[["k", "y"]][f.y > 1], f[f.y > 1].k),
    "assigned to, then filtered": lambda f: (f.assign(z=1)[f.y > 1], f[f.y > 1].k),
    "a query, both": lambda f: (f.query("y > 1"), f.query("y > 1").k),
    "a filtered frame's": lambda f: (lambda m: (m.assign(z=1)[["k", "y"]], m.k))(f[f.y > 1]),
    "a slice's": lambda f: (f.loc[104:], f.loc[104:].k),
    "assigned itself": lambda f: (f.assign(k=f.k), f.k),
    "assigned another": lambda f: (f.assign(k=f.k.str.upper()), f.k),
    "columns that pandas copies": lambda f: (f.assign(k=1)[["y", "x", "k"]], f.k),
    "a frame of other rows": lambda f: (f.assign(z=1), [f.k, f.y[f.y > 1]]),
    "another renamed": lambda f: (f.rename(columns={"y": "z"}), f.k),
    "a renamed frame's": lambda f: (f, f.rename(columns={"y": "z"}).k),
    "two that changed their names": lambda f: (f.rename(columns={"x": "y", "y": "x"}), f.y),
    "names set": lambda f: (f.set_axis(["u", "v", "k"], axis=1), f.k),
    "another converted": lambda f: (f.astype({"y": "float32"}), f.k),
    "converted": lambda f: (f.astype({"y": "float32"}), f.y),
    "as categories": lambda f: (f, f.k.astype("category")),
    "as categories, beside a column of these": lambda f: (f.assign(z=1), [f.k.astype("category"), f.x]),
    "numbers as text": lambda f: (f, f.y.astype("str")),
    "converted to what it is": lambda f: (f.astype({"y": "int64"}), f.y),
    "a copy": lambda f: (f.copy(), f.k),
    "a copy's": lambda f: (lambda g: (g.assign(z=1), g.k))(f.copy()),
    "a shallow copy": lambda f: (f.copy(deep=False), f.k),
    "a copied series": lambda f: (f, f.k.copy()),
    "a series named as it is": lambda f: (f, f.k.rename("k")),
    "rows of a slice": lambda f: (f.loc[104:], f.k),
    "a slice of the series": lambda f: (f.assign(z=1), f.k.loc[104:]),
    "rows by position": lambda f: (f.iloc[4:], f.k),
    "labels named": lambda f: (f.rename_axis("i"), f.k),
}


@pytest.mark.skipif(not HAS_COPY_ON_WRITE, reason="before, pandas compares the objects")
@pytest.mark.parametrize("call", _CALLS.values(), ids=_CALLS)
def test_columns_are_own_ones_where_pandas_has_them_without_a_copy(call):
    frame, key = call(FRAME)
    lazy, lazy_key = call(gd.from_pandas(FRAME, npartitions=3))
    assert_same(lazy.groupby(lazy_key).max().compute(), frame.groupby(key).max())


@pytest.mark.skipif(not HAS_COPY_ON_WRITE, reason="before, pandas compares the objects")
def test_labels_that_reset_index_gives_are_not_taken_for_others():
    lazy = gd.from_pandas(FRAME, npartitions=3)
    for frame in (lazy, lazy[lazy.y > 1]):
        with pytest.raises(NotImplementedError, match=r"before or after reset_index\(\).*groupby\('k'\)"):
            frame.reset_index().groupby(frame.k)
    plain = FRAME.reset_index(drop=True)
    counted = gd.from_pandas(plain, npartitions=3)
    made = counted.reset_index(names="i").groupby(counted.k)[["x", "y"]].max()
    assert_same(made.compute(), plain.groupby(plain.k)[["x", "y"]].max())
    assert "k" not in counted.reset_index().groupby(counted.k).max().columns
    renamed = lazy.reset_index()
    assert_same(renamed.groupby(renamed.k).max().compute(), FRAME.reset_index().groupby("k").max())


@pytest.mark.skipif(not HAS_COPY_ON_WRITE, reason="before, pandas compares the objects")
def test_columns_that_pandas_copies_on_the_way_are_no_longer_own_ones():
    plain = pd.DataFrame({"a": [1, 1, 2], "b": [3, 1, 2], "c": [1, 2, 3], "d": [5, 6, 7]})
    lazy = gd.from_pandas(plain, npartitions=2)
    for columns in (["a", "c"], ["a", "b", "d"], ["c", "d", "a"]):
        expected = plain[columns].groupby(plain.a).sum()
        assert_same(lazy[columns].groupby(lazy.a).sum().compute(), expected)
        assert_same(lazy[columns].groupby(plain.a).sum().compute(), expected)


def test_series_of_the_pandas_frame_with_other_values_or_labels_are_keys_by_their_values():
    plain = pd.DataFrame({"a": [1, 1, 2, 3], "b": [3, 1, 2, 1], "s": list("abab")})
    lazy = gd.from_pandas(plain, npartitions=2)
    for key in (
        plain.b.rename("a"),
        plain.a.set_axis([3, 2, 1, 0]),
        plain.s.iloc[::-1].set_axis(plain.index),
        plain.a[1:],
    ):
        assert_same(lazy.groupby(key)[["b"]].sum().compute(), plain.groupby(key)[["b"]].sum())
    assert_same(lazy.groupby(plain.a[::-1]).sum().compute(), plain.groupby(plain.a[::-1]).sum())


@pytest.mark.skipif(not HAS_COPY_ON_WRITE, reason="before, pandas compares the objects")
@pytest.mark.parametrize(
    "labels", [[0, 1, 2, 3], [2, 1, 3, 0], [2, 1, 2, 0]], ids=["in order", "sorted", "sorted, some twice"]
)
def test_columns_of_the_pandas_frame_are_own_ones_in_other_partitions_and_orders(labels):
    plain = pd.DataFrame({"k": list("abab"), "i": [1, 2, 3, 4], "j": [4, 3, 1, 2]}, index=labels)
    lazy = gd.from_pandas(plain, npartitions=3)
    for key in (plain["k"], [plain["k"], plain["i"]]):
        persisted = lazy.persist(scheduler="inline")
        others = (lazy.repartition(npartitions=2), lazy.repartition(partition_size="1kB"), lazy.assign(z=1))
        for frame in (lazy, persisted, *others, others[-1].persist(scheduler="inline"), persisted.assign(z=1)):
            expected = (plain.assign(z=1) if "z" in frame.columns else plain).groupby(key).max()
            assert_same(frame.groupby(key).max().compute(scheduler="inline"), expected)
    expected = plain.groupby(plain["k"]).max()
    assert_same(lazy.repartition(npartitions=2).groupby(lazy["k"]).max().compute(scheduler="inline"), expected)
    assert_same(persisted.groupby(lazy["k"]).max().compute(scheduler="inline"), expected)
    if plain.index.is_unique:
        assert "k" in persisted.groupby(plain["i"].rename("k")).max().columns
        del lazy, frame, others
        plain.loc[labels[0], "k"] = "z"
        assert persisted.groupby(plain["k"]).max().columns.tolist() == ["k", "i", "j"]


@pytest.mark.skipif(not HAS_COPY_ON_WRITE, reason="before, pandas compares the objects")
def test_columns_stay_own_ones_when_a_frame_is_persisted():
    lazy = gd.from_pandas(FRAME, npartitions=3)
    calls = {
        "assigned to": lambda f: (f.assign(z=1), f.k),
        "assigned another": lambda f: (f.assign(k=f.k.str.upper()), f.k),
        "chosen": lambda f: (f[["k", "y"]], f.k),
        "filtered": lambda f: (f[f.y > 1], f.k[f.y > 1]),
        "a filtered frame's": lambda f: (lambda m: (m.assign(z=1), m.k))(f[f.y > 1]),
    }
    for call in calls.values():
        (frame, key), (wanted, lazy_key) = call(FRAME), call(lazy)
        persisted = wanted.persist(scheduler="inline")
        assert_same(persisted.groupby(lazy_key).max().compute(scheduler="inline"), frame.groupby(key).max())
        pickled = pickle.loads(pickle.dumps(persisted))
        assert_same(pickled.groupby(pickled.k).max().compute(scheduler="inline"), frame.groupby(frame.k).max())
        assert "k" in pickled.groupby(FRAME["k"]).max().columns
        again = persisted.repartition(npartitions=2)
        assert_same(again.groupby(persisted.k).max().compute(scheduler="inline"), frame.groupby(frame.k).max())


def test_values_need_one_for_each_row():
    lazy = gd.from_pandas(FRAME, npartitions=3)
    with pytest.raises(ValueError, match="does not match length of index"):
        lazy.groupby(TEXTS[1:])
    with pytest.raises(UnknownColumn, match="no column 'z'"):
        lazy.groupby(["z", "k"])


_NUMBERED = pd.DataFrame(
    {"k": list("aabb"), "i": [1, 2, 3, 4], "j": [4.0, 3, 1, 2], "index": [1, 1, 2, 2], "level_0": [3, 4, 5, 6]}
)
_ZEROS_AND_ONES = pd.Index([0, 1, 0, 1], name="k")
_UNNAMED = {
    "an array": lambda f: np.array([1, 2, 1, 2]),
    "an array beside a column": lambda f: ["k", np.array([1, 2, 1, 2])],
    "two arrays": lambda f: [np.array([1, 2, 1, 2]), np.array([1, 1, 2, 1])],
    "a lazy key": lambda f: (f.i % 2).rename(None),
    "two lazy keys": lambda f: [(f.i % 2).rename(None), (f.j > 2).rename(None)],
    "a function": lambda f: lambda label: label % 2,
    "a name that a value has": lambda f: f.i % 2,
    "a column's name": lambda f: [_ZEROS_AND_ONES, "k"],
    "a column's name after it": lambda f: ["k", _ZEROS_AND_ONES],
    "a name twice, and a column": lambda f: [_ZEROS_AND_ONES.rename("q"), "k", pd.Index([1, 1, 0, 1], name="q")],
}
_AGGREGATIONS = {
    "sum": lambda g: g.sum(),
    "a column": lambda g: g.i.sum(),
    "named": lambda g: g.agg(z=("i", "sum"), index=("j", "max")),
    "lists": lambda g: g.agg({"i": ["sum", "max"]}),
    "median": lambda g: g[["i", "j"]].median(),
    "lists with whole groups": lambda g: g.agg({"i": ["sum", "median"]}),
    "a function": lambda g: g[["i", "j"]].agg(lambda values: values.max()),
    "a value of each group": lambda g: g[["i", "j"]].apply(lambda group: pd.Series({"u": group.i.sum()})),
    "rows of each group": lambda g: g[["i", "j"]].apply(lambda group: group),
    "described": lambda g: g[["i", "j"]].describe(),
    "quantiles": lambda g: g[["i", "j"]].quantile([0.4, 0.6]),
    "labels": lambda g: g[["i", "j"]].idxmax(),
}


@pytest.mark.skipif(not HAS_COPY_ON_WRITE, reason="before, pandas leaves such keys out")
@pytest.mark.parametrize("aggregate", _AGGREGATIONS.values(), ids=_AGGREGATIONS)
def test_keys_without_a_name_or_with_one_that_is_taken_become_columns_as_in_pandas(aggregate):
    lazy = gd.from_pandas(_NUMBERED, npartitions=2)
    for key in _UNNAMED.values():
        expected = aggregate(_NUMBERED.groupby(key(_NUMBERED), as_index=False))
        assert_same(aggregate(lazy.groupby(key(lazy), as_index=False)).compute(scheduler="inline"), expected)
