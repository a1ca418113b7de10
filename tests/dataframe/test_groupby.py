"""`groupby` has pandas' results and pandas' structure, missing keys and all."""

from __future__ import annotations

import contextlib
import gc
import itertools
import warnings

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same, by_keys, check_in_parts, cut_frames, partitionings
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE, PANDAS_VERSION
from glassloom.dataframe.arrow import text
from glassloom.errors import OptionError, UnknownColumn
from hypothesis import given, settings
from hypothesis import strategies as st
from long_tests import examples

INLINE = {"scheduler": "inline"}

SPECS = {
    "dict of lists": lambda g: g.agg({"f": ["sum", "mean"], "i": ["min", "max"]}),
    "dict of names": lambda g: g.agg({"f": "mean", "d": "max"}),
    "mixed dict": lambda g: g.agg({"f": ["std"], "i": "sum"}),
    "named": lambda g: g.agg(total=("f", "sum"), most=("i", "max")),
    "column": lambda g: g["f"].sum(),
    "attribute": lambda g: g.f.mean(),
    "columns": lambda g: g[["f", "i"]].mean(),
    "list of a column": lambda g: g["f"].agg(["count", "mean", "var"]),
    "list of columns": lambda g: g[["i", "f"]].agg(["sum", "nunique"]),
    "named of a column": lambda g: g["i"].agg(low="min", high="max"),
    "size": lambda g: g.size(),
    "size of a column": lambda g: g["f"].size(),
    "count": lambda g: g.count(),
    "first": lambda g: g.first(),
    "last": lambda g: g[["f", "d", "n"]].last(),
    "min of times": lambda g: g["d"].min(),
    "mean of numbers": lambda g: g.mean(numeric_only=True),
    "population variance": lambda g: g["f"].var(ddof=0),
    "nunique": lambda g: g.nunique(),
    "nullable": lambda g: g["n"].agg(["sum", "mean", "min"]),
    "any": lambda g: g["b"].any(),
    "product": lambda g: g["i"].prod(),
}
KEYS = ["s", "i", "c", "n", "d", "b", ["s", "b"], ["c", "i"], ["s", "n"]]


@pytest.mark.parametrize("name", SPECS)
def test_aggregations_are_those_of_pandas(name):
    @settings(max_examples=examples(8))
    @given(cut_frames(min_rows=1), st.sampled_from(KEYS), st.booleans(), st.booleans(), st.booleans())
    def run(pair, by, dropna, sort, observed):
        frame, lazy = pair
        keys = by if isinstance(by, list) else [by]
        keep = [column for column in frame.columns if column in keys or column in "ifbdn"]
        options = {"dropna": dropna, "sort": sort, "observed": observed}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                expected = SPECS[name](frame[keep].groupby(by, **options))
            except (KeyError, AttributeError):  # the key is not among the values
                return
            got = SPECS[name](lazy[keep].groupby(by, **options)).compute(**INLINE)
        if not sort:
            got, expected = by_keys(got), by_keys(expected)
        assert_same(got, expected)

    run()


@pytest.mark.parametrize("by", ["numbers", "flags", "mixed", "nothing", ["numbers", "flags"], ["nothing", "mixed"]])
def test_keys_that_are_objects_get_the_dtype_of_their_values_as_in_pandas(by):
    columns = {
        "numbers": [1, 2, None, 2],
        "flags": [True, False, True, None],
        "mixed": [1, "a", 1.5, None],
        "nothing": [None] * 4,
    }
    frame = pd.DataFrame(columns, dtype=object).assign(x=range(4))
    lazy = gd.from_pandas(frame, npartitions=2)
    for dropna, sort in ((True, True), (True, False), (False, False)):
        options = {"dropna": dropna, "sort": sort}
        if dropna and by == "nothing":  # no groups
            continue
        assert_same(lazy.groupby(by, **options).x.sum().compute(**INLINE), frame.groupby(by, **options).x.sum())


@given(cut_frames(min_rows=1))
def test_groups_come_in_order_of_appearance_unless_sorted(pair):
    frame, lazy = pair
    for dropna in (True, False):
        expected = frame.groupby("s", sort=False, dropna=dropna).i.sum()
        assert_same(lazy.groupby("s", sort=False, dropna=dropna).i.sum().compute(**INLINE), expected)


@given(cut_frames(min_rows=1))
def test_a_lazy_series_may_be_the_key(pair):
    frame, lazy = pair
    assert_same(lazy.groupby(lazy.i % 2).f.sum().compute(**INLINE), frame.groupby(frame.i % 2).f.sum())
    assert_same(lazy.f.groupby(lazy.s).count().compute(**INLINE), frame.f.groupby(frame.s).count())
    got = lazy.groupby(["b", lazy.s.fillna("").str.len()]).i.max().compute(**INLINE)
    assert_same(got, frame.groupby(["b", frame.s.fillna("").str.len()]).i.max())
    some = lazy[["s", "i"]]
    assert_same(
        some.groupby(some.s).sum().compute(**INLINE), frame[["s", "i"]].groupby("s").sum()
    )  # a column of the frame is left out of the values


def test_the_index_may_be_the_key():
    frame = pd.DataFrame({"x": range(6)}, index=pd.Index([0, 0, 1, 1, 2, 2], name="k"))
    lazy = gd.from_pandas(frame, npartitions=3)
    assert_same(lazy.groupby("k").x.sum().compute(), frame.groupby("k").x.sum())


@pytest.mark.parametrize("split_every", [2, 3, 100])
def test_the_tree_of_joins_doesnt_change_the_result(split_every):
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"k": random.integers(0, 50, 5000), "x": random.normal(1e6, 1, 5000)})
    lazy = gd.from_pandas(frame, npartitions=17)
    got = lazy.groupby("k").x.agg(["mean", "std", "nunique", "first"], split_every=split_every).compute()
    pd.testing.assert_frame_equal(got, frame.groupby("k").x.agg(["mean", "std", "nunique", "first"]), rtol=1e-7)


def test_categories_that_differ_between_partitions_are_joined():
    pieces = [pd.DataFrame({"k": pd.Categorical(list(keys)), "x": 1}) for keys in ("ab", "bc", "d")]
    lazy = gd.from_map(pieces.__getitem__, range(3), meta=pieces[0])
    got = lazy.groupby("k", observed=True).x.sum().compute()
    assert got.to_dict() == {"a": 1, "b": 2, "c": 1, "d": 1}
    assert got.index.categories.tolist() == ["a", "b", "c", "d"]


def test_functions_count_by_their_name():
    lazy = gd.from_pandas(pd.DataFrame({"k": [1, 1, 2], "x": [1, 2, 3]}), npartitions=2)
    assert lazy.groupby("k").agg({"x": [sum, np.mean]}).columns.tolist() == [("x", "sum"), ("x", "mean")]


def test_mistakes_are_named_at_once():
    lazy = gd.from_pandas(pd.DataFrame({"key": ["a"], "value": [1], "text": ["t"]}), npartitions=1)
    with pytest.raises(UnknownColumn, match=r"no column 'kye': did you mean 'key'\? The columns are 'key', 'value'"):
        lazy.groupby("kye")
    with pytest.raises(UnknownColumn, match=r"no column 'valu': did you mean 'value'\?"):
        lazy.groupby("key").agg({"valu": "sum"})
    with pytest.raises(UnknownColumn, match="no column 'nothing'"):
        lazy.groupby("key")["nothing"]
    with pytest.raises(
        NotImplementedError, match=r"can't aggregate by 'cumsum'; it can by all, any, .*, or by a function"
    ):
        lazy.groupby("key").agg({"value": ["cumsum"]})
    with pytest.raises(OptionError, match="split_out=0 should be a whole number, 1 or more, or True"):
        lazy.groupby("key").agg("sum", split_out=0)
    with pytest.raises(OptionError, match="shuffle_method='post' should be one of"):
        lazy.groupby("key").sum(shuffle_method="post")
    expected = pd.DataFrame({"value": [1]}, index=pd.Index(["a"], name="key"))
    for method in (True, False, "p2p", "disk"):
        assert_same(lazy.groupby("key").sum(shuffle_method=method, numeric_only=True).compute(), expected)
    with pytest.raises(NotImplementedError, match=r"GroupBy.plot isn't there: compute\(\) an aggregation"):
        _ = lazy.groupby("key").plot
    if HAS_COPY_ON_WRITE:  # before, text is objects, whose means pandas refuses only where there are any
        with pytest.raises(TypeError, match="agg function failed|does not support|Could not convert"):
            lazy.groupby("key").text.mean()
    with pytest.raises(AttributeError, match="GroupBy has no attribute 'shout'; it can aggregate by all, any"):
        _ = lazy.groupby("key").shout


@pytest.mark.parametrize("npartitions", [1, 2, 4])
def test_texts_as_objects_are_joined_where_a_partition_has_none_of_a_group(npartitions):
    values = pd.Series([None, "a", "b", "c", None], dtype=object)
    frame = pd.DataFrame({"k": [1, 2, 1, 2, 3], "o": values})
    lazy = gd.from_pandas(frame, npartitions=npartitions).groupby("k").o
    assert lazy.sum().compute().tolist() == frame.groupby("k").o.sum().tolist() == ["b", "ac", 0]
    assert lazy.sum(min_count=1).compute().isna().tolist() == [False, False, True]


@pytest.mark.skipif(
    not HAS_COPY_ON_WRITE, reason="text is objects before pandas 3, which aren't encoded for the next time"
)
def test_text_that_is_grouped_again_gives_the_same_and_is_forgotten_with_its_frame():
    rows = 36_000
    random = np.random.default_rng(0)
    keys = {
        name: pd.Series(random.integers(0, count, rows)).map("{}".format).astype("str")
        for name, count in (("a", 50), ("b", 2_000))
    }
    frame = pd.DataFrame({**keys, "v": random.integers(0, 9, rows)})
    frame.loc[frame.index[:5], "a"] = None
    lazy = gd.from_pandas(frame, npartitions=3).persist()
    caches = (text._encodings, text._orders, text._unions)
    gc.collect()  # of what other tests have left
    before = [len(cache) for cache in caches]
    for by in ("a", ["a", "b"], ["b", "a"], "b"):
        for options in ({}, {"sort": False}, {"dropna": False}):
            expected = frame.groupby(by, **options).v.sum()
            for _ in range(2):
                found = lazy.groupby(by, **options).v.sum().compute()
                assert_same(found, expected)
                for level in range(found.index.nlevels):
                    with contextlib.suppress(ValueError):  # of later versions of pandas
                        (found.index.levels[level] if found.index.nlevels > 1 else found.index).array[0] = "changed"
    assert all(len(cache) > count for cache, count in zip(caches, before, strict=True))
    del lazy, found
    gc.collect()
    assert [len(cache) for cache in caches] == before


@pytest.mark.parametrize("by", ["k", ["k"], ["k", "n"], "c"])
def test_groups_are_iterated_over_as_in_pandas(by):
    frame = pd.DataFrame({"k": ["b", "a", None, "b", "a"], "n": [1, 2, 1, 2, 2], "x": range(5)})
    frame["c"] = pd.Categorical(frame.k, categories=["b", "z", "a"])
    options = {"observed": True}
    for lazy in partitionings(frame)[1:]:
        for choose in (lambda g: g, lambda g: g["x"]):
            expected = list(choose(frame.groupby(by, **options)))
            got = list(choose(lazy.groupby(by, **options)))
            assert [key for key, _ in got] == [key for key, _ in expected]
            for (_, rows), (_, theirs) in zip(got, expected, strict=True):
                assert_same(rows.compute(**INLINE), theirs)
    assert {key: len(rows) for key, rows in lazy.groupby("n")} == {1: 2, 2: 3}


def test_rows_are_drawn_from_each_group():
    frame = pd.DataFrame({"k": list("abcab") * 40, "x": range(200)})
    for lazy in partitionings(frame):
        drawn = lazy.groupby("k").sample(n=7, random_state=3)
        rows = drawn.compute(**INLINE)
        assert rows.k.value_counts().to_dict() == {"a": 7, "b": 7, "c": 7}
        assert_same(rows, frame.loc[rows.index])
        assert_same(drawn.compute(**INLINE), rows)
        assert len(lazy.groupby("k").x.sample(frac=0.25).compute(**INLINE)) == 50
        other = lazy.groupby("k").sample(n=7, random_state=4).compute(**INLINE)
        assert other.index.tolist() != rows.index.tolist()
    assert len(lazy.groupby("k").sample().compute(**INLINE)) == 3
    with pytest.raises(ValueError, match=r"groupby.sample\(n=41\): a group has 40 rows; give frac="):
        lazy.groupby("k").sample(41).compute(**INLINE)
    with pytest.raises(
        NotImplementedError, match=r"groupby.sample\(replace=True\) isn't supported: apply\(lambda group"
    ):
        lazy.groupby("k").sample(3, replace=True)
    with pytest.raises(ValueError, match=r"sample\(n=1, frac=0.5\): give one of both"):
        lazy.groupby("k").sample(1, 0.5)


@pytest.mark.each_choice
@pytest.mark.parametrize("how", ["sum", "prod", "mean", "min", "max", "count", "first"])
@pytest.mark.parametrize("options", [{"observed": False}, {"observed": False, "dropna": False}, {"observed": True}])
def test_where_no_row_is_of_a_group_values_have_the_dtype_that_pandas_has(how, options):
    frame = pd.DataFrame(
        {"c": pd.Categorical([None] * 2, ["u", "v"]), "f": [np.nan, 1.5], "i": [1, 2], "b": [True, False]}
    )
    for npartitions in (1, 2):
        lazy = gd.from_pandas(frame, npartitions=npartitions).groupby("c", **options)
        assert_same(getattr(lazy, how)().compute(**INLINE), getattr(frame.groupby("c", **options), how)())


@pytest.mark.more
def test_observed_none_means_false():
    frame = pd.DataFrame({"c": pd.Categorical(["u", "w", "u"], ["u", "v", "w"]), "i": [1, 2, 4]})
    check_in_parts(frame, lambda f: f.groupby("c", observed=None).i.sum())
    check_in_parts(frame.i, lambda s: s.groupby(s % 2, observed=None).sum())


@pytest.mark.more
@pytest.mark.parametrize("sort", [True, False])
def test_means_of_floats_of_32_bits_are_such(sort):
    """Of groups whose rows follow each other pandas 3.1 makes means of 64 bits: partitions can't know whether all do."""
    frame = pd.DataFrame(
        {"k": [2, 1, 2, 1, 3], "s": list("aabaa"), "x": np.array([0.1, 0.2, 0.7, 1.5, 2], dtype="float32")}
    )
    check_in_parts(frame, lambda f: f.groupby("k", sort=sort).x.mean())
    check_in_parts(frame, lambda f: f.groupby("k", sort=sort)[["x"]].agg(["mean", "max", "std"]))
    check_in_parts(frame, lambda f: f.groupby(["k", "s"], sort=sort).agg(mean=("x", "mean")))
    check_in_parts(
        frame, lambda f: f.groupby("k", sort=sort).agg({"x": [lambda column: column.max(), "mean"], "s": "max"})
    )
    check_in_parts(frame, lambda f: f.groupby("k", sort=sort).agg(middle=("x", "median"), mean=("x", "mean")))
    assert gd.from_pandas(frame, npartitions=2).groupby("k", sort=sort).x.mean().dtype == np.float32


@pytest.mark.skipif(PANDAS_VERSION < (3, 1), reason="earlier ones refuse objects of which some are missing")
@pytest.mark.parametrize("how", ["min", "max"])
def test_extremes_of_objects_that_are_times_are_objects_where_they_are_in_pandas(how):
    times = [pd.Timestamp("2020-01-03"), None, None, pd.Timestamp("2020-01-01"), pd.NaT, pd.Timestamp("2021-01-01")]
    frame = pd.DataFrame({"k": [1, 1, 2, 2, 3, 3], "o": pd.Series(times, dtype=object)})
    check_in_parts(frame, lambda f: getattr(f.groupby("k"), how)())
    check_in_parts(frame, lambda f: getattr(f.groupby("k").o, how)())
    check_in_parts(frame, lambda f: f.groupby("k").agg({"o": how}))


def test_sums_of_32_bit_floats_are_rounded_once():
    random = np.random.default_rng(3)
    frame = pd.DataFrame({"k": random.integers(0, 4, 200), "x": random.random(200).astype("float32")})
    for npartitions in (1, 7):
        found = gd.from_pandas(frame, npartitions=npartitions).groupby("k").x.sum().compute(scheduler="inline")
        expected = frame.groupby("k").x.sum()
        pd.testing.assert_series_equal(found, expected, check_exact=True)


def test_groups_of_16_bit_floats_have_all_digits():
    frame = pd.DataFrame({"k": [1, 2, 1, 2, 1, 2, 1], "v": np.array([1, 2, 3, 4, 5, np.nan, 7], dtype="f2")})
    lazy = gd.from_pandas(frame, npartitions=3)
    for how in ("mean", "var", "std", "sem", "sum", "min", "max", "first", "prod", "median"):
        found = getattr(lazy.groupby("k"), how)().compute(scheduler="inline")
        expected = getattr(frame.groupby("k"), how)()  # has dtypes by how digits of means and variances fall
        pd.testing.assert_frame_equal(found, expected, check_dtype=how not in ("mean", "var"), rtol=1e-7)
    for few in (frame.v, frame.v * 9_000):  # whose sum is infinite, of 16 bits
        found, expected = gd.from_pandas(few, npartitions=3).mean().compute(scheduler="inline"), few.mean()
        assert found == expected and found.dtype == expected.dtype


@pytest.mark.parametrize("of", [list, pd.Index, pd.Series, np.array])
def test_columns_of_groups_are_chosen_by_any_list(of):
    frame = pd.DataFrame({"k": [1, 2, 1], "x": [1, 2, 3], "y": [4, 5, 6]})
    got = gd.from_pandas(frame, npartitions=2).groupby("k")[of(["y", "x"])].sum()
    assert_same(got.compute(), frame.groupby("k")[["y", "x"]].sum())


@pytest.mark.skipif(not HAS_COPY_ON_WRITE, reason="pandas 2 brings columns of one dtype together where it copies them")
@pytest.mark.parametrize("how", ["sum", "prod"])
def test_sums_of_narrow_integers_that_one_call_makes_are_of_one_dtype(how):
    plain = pd.DataFrame({"k": [1, 1, 2, 2], "a": [100, 100, 1, 2], "b": [1, 2, 3, 4], "c": [1, 2, 3, 4]})
    apart = plain.astype({"a": "int8", "b": "int8", "c": "int16"})
    together, lazy = apart.copy(), gd.from_pandas(plain, npartitions=2)
    pairs = [(gd.from_pandas(one, npartitions=2), one) for one in (together, apart)]
    pairs.append((lazy.astype({"a": "int8", "b": "int8", "c": "int16"}), apart))
    for (lazy, plain), call in itertools.product(
        pairs,
        (
            lambda g: getattr(g, how)(),
            lambda g: g[["b", "c"]].agg(how),
            lambda g: g.agg({"a": [how], "b": [how]}),
            lambda g: g[["a", "c"]].transform(how),
        ),
    ):
        assert_same(call(lazy.groupby("k")).compute(scheduler="inline"), call(plain.groupby("k")))


@pytest.mark.parametrize("keys", ["o", ["o", "x"]])
def test_labels_of_no_groups_are_objects_where_keys_are(keys):
    plain = pd.DataFrame({"o": pd.Series([None] * 4, dtype=object), "x": [1, 2, 3, 4], "y": [4.0, 3, 2, 1]})
    lazy = gd.from_pandas(plain, npartitions=3)
    for call in (
        lambda g: g.y.median(),
        lambda g: g.y.apply(lambda values: values.max()),
        lambda g: g[["y"]].quantile(0.3),
    ):
        assert_same(call(lazy.groupby(keys)).compute(scheduler="inline"), call(plain.groupby(keys)))
        some = lazy.assign(o=lazy.o.where(lazy.x > 3, "a")).groupby(keys)
        assert_same(
            call(some).compute(scheduler="inline"), call(plain.assign(o=plain.o.where(plain.x > 3, "a")).groupby(keys))
        )


@pytest.mark.parametrize("npartitions", [1, 3])
@pytest.mark.parametrize("method", ["var", "std", "sem", "mean", "sum"])
def test_infinities_are_kept_beside_categories(method, npartitions):
    keys = pd.Categorical(list("aaabbb"), ["a", "b", "c"])
    frame = pd.DataFrame({"k": keys, "v": [1.0, np.inf, 2, 3, 4, 5]})
    for observed in (True, False):
        with np.errstate(all="ignore"):
            expected = getattr(frame.groupby("k", observed=observed).v, method)()
            lazy = gd.from_pandas(frame, npartitions).groupby("k", observed=observed).v
            assert_same(getattr(lazy, method)().compute(**INLINE), expected)
