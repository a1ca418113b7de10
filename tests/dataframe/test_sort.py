"""Sorts against pandas, and divisions that are known afterwards."""

from __future__ import annotations

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from frame_helpers import assert_same, blocks_of, cut_frames, plan
from glassloom import config
from glassloom.dataframe.moving import exchange
from glassloom.dataframe.moving import sort as sorts
from glassloom.dataframe.moving.boundaries import Order, Samples, choose_boundaries, places_among
from glassloom.dataframe.moving.ordering import places_of_ends, stable_order
from glassloom.dataframe.moving.sort import SortedEnds, SortedExchange
from glassloom.errors import DivisionError, OptionError
from hypothesis import given, settings
from hypothesis import strategies as st
from long_tests import examples

INLINE = {"scheduler": "inline"}


def assert_in_divisions(lazy):
    """Check that each partition's labels are within its divisions."""
    divisions = lazy.divisions
    for number, block in enumerate(blocks_of(lazy)):
        labels = block.index.dropna()
        last = number == lazy.npartitions - 1
        assert all(divisions[number] <= label for label in labels)
        assert all(label < divisions[number + 1] or (last and label == divisions[-1]) for label in labels)


@settings(max_examples=examples(40), deadline=None)
@given(data=st.data())
def test_sort_values_is_pandas_stable_sort(data):
    frame, lazy = data.draw(cut_frames())
    by = data.draw(st.lists(st.sampled_from(list(frame.columns)), min_size=1, max_size=3, unique=True))
    options = {
        "ascending": data.draw(st.lists(st.booleans(), min_size=len(by), max_size=len(by))),
        "na_position": data.draw(st.sampled_from(["first", "last"])),
        "ignore_index": data.draw(st.booleans()),
    }
    count = data.draw(st.sampled_from([None, 1, 4]))
    got = lazy.sort_values(by, **options, npartitions=count)
    assert got.npartitions == (count or lazy.npartitions)
    assert_same(got.compute(**INLINE), frame.sort_values(by, kind="stable", **options))


@pytest.mark.parametrize("n_stages", [2, 3])
@settings(max_examples=examples(20), deadline=None)
@given(data=st.data())
def test_ties_keep_their_order_in_an_exchange_of_several_stages(n_stages, data):
    frame, lazy = data.draw(cut_frames())
    by = data.draw(st.lists(st.sampled_from(list(frame.columns)), min_size=1, max_size=2, unique=True))
    got = lazy.sort_values(by, npartitions=data.draw(st.integers(2, 9)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exchange, "number_of_stages", lambda *_: n_stages)
        assert_same(got.compute(**INLINE), frame.sort_values(by, kind="stable"))


def test_a_sort_of_many_partitions_is_pandas_stable_sort_and_set_index_knows_its_divisions():
    random = np.random.default_rng(3)
    frame = pd.DataFrame(
        {"k": random.integers(0, 50, 3000), "t": random.choice(["ant", "bee", None], 3000), "n": range(3000)}
    )
    lazy = gd.from_pandas(frame, npartitions=105)  # rows are moved in two stages
    assert_same(lazy.sort_values(["t", "k"]).compute(), frame.sort_values(["t", "k"], kind="stable"))
    indexed = lazy.set_index("k")
    assert_in_divisions(indexed)
    assert_same(indexed.compute(), frame.sort_values("k", kind="stable").set_index("k"))


@settings(max_examples=examples(40), deadline=None)
@given(data=st.data())
def test_the_ends_of_what_is_sorted_are_those_of_pandas(data):
    frame, lazy = data.draw(cut_frames())
    by = data.draw(st.lists(st.sampled_from(list(frame.columns)), min_size=1, max_size=3, unique=True))
    options = {
        "ascending": data.draw(st.lists(st.booleans(), min_size=len(by), max_size=len(by))),
        "na_position": data.draw(st.sampled_from(["first", "last"])),
    }
    got, expected = lazy.sort_values(by, **options), frame.sort_values(by, kind="stable", **options)
    if data.draw(st.booleans()):
        chosen = data.draw(st.sampled_from([*frame.columns, list(frame.columns[:2])]))
        got, expected = got[chosen], expected[chosen]
    n, method = data.draw(st.sampled_from([0, 1, 3, 100])), data.draw(st.sampled_from(["head", "tail"]))
    ends = getattr(got, method)(n, npartitions=-1, compute=False)
    assert ends.npartitions == 1
    with config.set({"compute.scheduler": "synchronous"}), pytest.MonkeyPatch.context() as patch:
        if data.draw(st.booleans()):  # as of many rows
            patch.setattr(sorts, "_FROM", 1)
            patch.setattr(sorts, "_SOME_OF", 1)
        assert_same(ends.compute(), getattr(expected, method)(n))
        assert_same(getattr(got, method)(n), getattr(expected, method)(n))
        labels = lazy.sort_index(ascending=False)
        assert_same(
            labels.head(n, -1, compute=False).compute(), frame.sort_index(ascending=False, kind="stable").head(n)
        )


KEYS = {
    "few": lambda random, n: pd.Series(random.integers(0, 3, n)),
    "many": lambda random, n: pd.Series(random.random(n)),
    "the same": lambda random, n: pd.Series(np.ones(n)),
    "missing": lambda random, n: pd.Series(random.choice([np.nan, -1.0, 0.0, np.inf], n)),
    "booleans": lambda random, n: pd.Series(random.random(n) < 0.01),
    "text": lambda random, n: pd.Series(
        random.choice(["", "a", "a longer text", "a longer one", None], n), dtype="str"
    ),
    "times": lambda random, n: pd.Series(pd.to_datetime(random.integers(0, 4, n))),
    "in order": lambda random, n: pd.Series(np.arange(n)),
}


@pytest.mark.parametrize("is_last", [False, True])
@pytest.mark.parametrize(("first", "second"), [*zip(KEYS, [*KEYS][3:] + [*KEYS][:3], strict=True)])
def test_places_of_ends_are_those_of_all_rows_in_order(first, second, is_last):
    random = np.random.default_rng(5)
    keys = pd.DataFrame({0: KEYS[first](random, 500), 1: KEYS[second](random, 500)})
    for ascending, na_position, n in [
        ((True, False), "last", 1),
        ((False, True), "first", 20),
        ((True, True), "last", 500),
    ]:
        order = Order(ascending, na_position)
        places = stable_order(keys, order)
        found = places_of_ends(keys, order, n, is_last=is_last)
        if places is None:  # text is objects in pandas 2
            assert found is None
        else:
            assert found.tolist() == (places[len(places) - n :] if is_last else places[:n]).tolist()


@pytest.mark.parametrize("values", ["random", "rising", "falling"])
@pytest.mark.parametrize("labels", ["range", "numbers", "hours", "text"])
def test_the_ends_of_many_rows_have_the_index_of_all_in_order(values, labels):
    n = 5000
    numbers = {
        "random": np.random.default_rng(0).permutation(n),
        "rising": np.arange(n),
        "falling": np.arange(n, 0, -1),
    }
    index = {
        "range": pd.RangeIndex(7, 7 + 2 * n, 2, name="at"),
        "numbers": pd.Index(np.arange(n) % 7),
        "hours": pd.date_range("2000", periods=n, freq="h"),
        "text": pd.Index([f"a{number}" for number in range(n)]),
    }[labels]
    frame = pd.DataFrame({"x": numbers[values], "y": np.arange(n) * 0.5}, index=index)
    lazy = gd.from_pandas(frame, npartitions=1, sort=False).sort_values("x")
    ordered, whole = frame.sort_values("x", kind="stable"), lazy.compute(**INLINE)
    for count in (1, 2, 20):
        for method in ("head", "tail"):
            got = getattr(lazy, method)(count)
            assert_same(got, getattr(ordered, method)(count))
            assert type(got.index) is type(getattr(whole, method)(count).index)


def test_not_all_rows_of_a_partition_are_sorted_for_the_first_ones(monkeypatch):
    frame = pd.DataFrame({"x": np.random.default_rng(0).permutation(5000), "y": range(5000), "z": 1})
    sorted_rows, sort_all = [], sorts.Sorting.sorted
    monkeypatch.setattr(
        sorts.Sorting, "sorted", lambda self, block: sorted_rows.append(len(block)) or sort_all(self, block)
    )
    wanted = gd.from_pandas(frame, npartitions=1).sort_values("x").head(3, compute=False)[["y"]]
    assert_same(wanted.compute(**INLINE), frame.sort_values("x").head(3)[["y"]])
    assert not any(sorted_rows)
    (ends,) = [node for node in plan(wanted) if isinstance(node, SortedEnds)]
    assert list(ends.meta.columns) == ["x", "y"]


def test_no_rows_move_for_the_first_rows_of_what_is_sorted():
    lazy = gd.from_pandas(pd.DataFrame({"x": [3, 1, 2, 5, 4, 6], "y": range(6)}), npartitions=3)
    wanted = lazy.sort_values("x").y.head(2, npartitions=-1, compute=False)
    assert not [node for node in plan(wanted) if isinstance(node, SortedExchange)]
    by_key = lazy.sort_values("x", key=lambda column: column.rank()).head(2, npartitions=-1, compute=False)
    assert [node for node in plan(by_key) if isinstance(node, SortedExchange)]  # ranks are among all rows, or a few


@settings(max_examples=examples(20), deadline=None)
@given(data=st.data())
def test_a_series_is_sorted_by_its_values(data):
    frame, lazy = data.draw(cut_frames())
    name = data.draw(st.sampled_from(list(frame.columns)))
    ascending = data.draw(st.booleans())
    got = lazy[name].sort_values(ascending=ascending).compute(**INLINE)
    assert_same(got, frame[name].sort_values(ascending=ascending, kind="stable"))


@settings(max_examples=examples(20), deadline=None)
@given(data=st.data())
def test_sort_index_is_pandas_stable_sort(data):
    frame, lazy = data.draw(cut_frames())
    labels = data.draw(st.sampled_from(["i", "f", "s", "d", "n"]))
    ascending = data.draw(st.booleans())
    got = lazy.set_index(labels, sort=False).sort_index(ascending=ascending)
    assert_same(got.compute(**INLINE), frame.set_index(labels).sort_index(ascending=ascending, kind="stable"))
    assert_same(
        lazy.sort_index(ascending=ascending).compute(**INLINE), frame.sort_index(ascending=ascending, kind="stable")
    )


@settings(max_examples=examples(25), deadline=None)
@given(data=st.data())
def test_set_index_sorts_and_knows_the_divisions(data):
    frame, lazy = data.draw(cut_frames())
    name = data.draw(st.sampled_from(["i", "f", "s", "b", "d", "n"]))
    drop = data.draw(st.booleans())
    count = data.draw(st.sampled_from([None, 1, 4]))
    by_column = lazy.set_index(name, drop=drop, npartitions=count)
    assert_same(by_column.compute(**INLINE), frame.set_index(name, drop=drop).sort_index(kind="stable"))
    if frame[name].notna().any():
        assert by_column.known_divisions
        assert_in_divisions(by_column)
    unsorted = lazy.set_index(name, drop=drop, sort=False)
    assert_same(unsorted.compute(**INLINE), frame.set_index(name, drop=drop))


@pytest.mark.parametrize(
    "values",
    [
        ["b", "a", "longer than eight bytes", "longer than eight", "longer th", "", "é", "z" * 30] * 4,
        pd.to_datetime(["2020-03-01", "2019-01-01", None, "2020-03-02"] * 8).tz_localize("Europe/Berlin"),
        pd.period_range("2020-01", periods=32, freq="M")[::-1],
        pd.array([3, None, 1, 2] * 8, dtype="Float64"),
        pd.array(["b", None, "a", "c"] * 8, dtype="string[pyarrow]"),
        pd.Categorical(["b", None, "a", "c"] * 8, categories=["c", "b", "a"], ordered=True),
        [(2, "a"), (1, "b"), (1, "a"), (0, "z")] * 8,
    ],
    ids=["text", "zone", "period", "nullable", "arrow", "categories", "tuples"],
)
def test_sorts_take_every_dtype(values):
    frame = pd.DataFrame({"k": values, "x": range(32)})
    lazy = gd.from_pandas(frame, npartitions=5)
    for ascending in (True, False):
        expected = frame.sort_values("k", ascending=ascending, kind="stable")
        assert_same(lazy.sort_values("k", ascending=ascending).compute(**INLINE), expected)


def test_unlike_categories_are_sorted_as_pandas_sorts_their_union():
    pieces = [
        pd.DataFrame({"c": pd.Categorical(["b", "b"], categories=["b"])}),
        pd.DataFrame({"c": pd.Categorical(["a", "c"], categories=["c", "a"])}),
    ]
    lazy = gd.from_map(pieces.__getitem__, range(2), meta=pieces[0])
    assert lazy.sort_values("c").compute(**INLINE).c.tolist() == ["b", "b", "c", "a"]


def test_a_key_function_is_called_with_each_column():
    frame = pd.DataFrame({"s": list("bCAd"), "x": [1, 2, 3, 4]})
    lazy = gd.from_pandas(frame, npartitions=3)
    assert lazy.sort_values("s", key=lambda column: column.str.lower()).x.compute().tolist() == [3, 1, 2, 4]
    assert lazy.sort_index(key=lambda labels: -labels).x.compute().tolist() == [4, 3, 2, 1]
    with pytest.raises(ValueError, match=r"key= returned 1 values for \d; it should return one for each"):
        lazy.sort_values("s", key=lambda column: column[:1]).compute(**INLINE)


def test_rows_are_spread_evenly_over_the_partitions():
    frame = pd.DataFrame({"x": np.random.default_rng(3).normal(size=20_000)})
    lengths = gd.from_pandas(frame, npartitions=8).sort_values("x").map_partitions(len).compute(**INLINE)
    assert min(lengths) > 1800
    assert max(lengths) < 3300


def test_set_index_moves_nothing_that_is_in_order():
    frame = pd.DataFrame({"t": pd.date_range("2020", periods=20, freq="h"), "x": range(20)})
    by_time = gd.from_pandas(frame, npartitions=4).set_index("t")
    assert by_time.expr.label == "divisions"
    assert by_time.divisions[1] == pd.Timestamp("2020-01-01 05:00")
    assert_same(by_time.loc["2020-01-01 03:00":"2020-01-01 06:00"].x.compute(), frame.set_index("t").x[3:7])


def test_set_index_takes_divisions_and_checks_them():
    frame = pd.DataFrame({"k": [5, 1, 9, 3], "x": range(4)})
    lazy = gd.from_pandas(frame, npartitions=2)
    found = lazy.set_index("k", divisions=[0, 4, 10])
    assert found.divisions == (0, 4, 10)
    assert found.partitions[0].compute().x.tolist() == [1, 3]
    with pytest.raises(DivisionError, match=r"label 9 lies outside of the divisions, which go from 0 to 6"):
        lazy.set_index("k", divisions=[0, 6]).compute(**INLINE)
    with pytest.raises(DivisionError, match=r"divisions=\[4, 0, 5\] should increase; 0 follows 4"):
        lazy.set_index("k", divisions=[4, 0, 5])
    by_time = gd.from_pandas(pd.DataFrame({"t": pd.date_range("2020", periods=9)}), npartitions=2)
    assert by_time.set_index("t", divisions=["2020", "2020-01-05", "2021"]).divisions[1] == pd.Timestamp("2020-01-05")


def test_set_index_takes_a_series_and_several_columns():
    frame = pd.DataFrame({"k": [3, 1, 2], "x": [1.0, 2.0, 3.0]})
    lazy = gd.from_pandas(frame, npartitions=2)
    assert_same(lazy.set_index(-lazy.k).compute(), frame.set_index(-frame.k).sort_index())
    for keys, options in ((["k", "x"], {}), ("k", {"append": True})):
        for more in ({}, {"sort": False}):
            assert_same(lazy.set_index(keys, **options, **more).compute(), frame.set_index(keys, **options))
        with pytest.raises(NotImplementedError, match=r"doesn't sort; use set_index\(..., sort=False\)"):
            lazy.set_index(keys, sorted=True, **options)
    with pytest.raises(
        TypeError, match="set_index takes columns, series and indexes as keys, not a DataFrame; choose a column"
    ):
        lazy.set_index(lazy[["k"]])


@pytest.mark.parametrize("by", ["index", "labels plus one"])
def test_rows_are_moved_by_a_lazy_index_as_by_the_series_of_its_labels(by):
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0, 5.0]}, index=pd.Index([3, 1, 2, 1, 4], name="k"))
    lazy = gd.from_pandas(frame, npartitions=3, sort=False)
    keys, lazy_keys = (frame.index, lazy.index) if by == "index" else (frame.index + 1, lazy.index + 1)
    sorted_lazy = lazy.set_index(lazy_keys)
    assert_same(sorted_lazy.compute(), frame.set_index(keys).sort_index(kind="stable"))
    assert_in_divisions(sorted_lazy)
    assert_same(lazy.set_index(lazy_keys, sort=False).compute(), frame.set_index(keys))
    blocks = blocks_of(lazy.shuffle(lazy_keys))
    assert_same(pd.concat(blocks).sort_values("x"), frame)
    assert sum(block.index.nunique() for block in blocks) == frame.index.nunique()


@pytest.mark.parametrize("dtype", ["int64", "str", "Int64", "datetime64[ns]"])
def test_a_frame_said_to_be_sorted_loses_its_empty_partitions_and_brings_rows_of_a_label_together(dtype):
    numbers = pd.Series([1, 2, 2, 3, 3, 3, 3, 3, 4, 5])
    keys = numbers.astype(str).astype("str") if dtype == "str" else numbers.astype(dtype)
    frame = pd.DataFrame({"k": keys, "x": range(10)})
    kept = frame.x.isin([0, 1, 2, 5, 7, 9])
    lazy = gd.from_pandas(frame, npartitions=5)
    chosen = lazy[lazy.x.isin([0, 1, 2, 5, 7, 9])].set_index("k", sorted=True)
    assert_same(chosen.compute(), frame[kept].set_index("k"))
    assert chosen.divisions == tuple(keys[[0, 1, 3, 9, 9]].tolist())
    assert_in_divisions(chosen)
    one_label = lazy[lazy.x.isin([3, 4, 6])].set_index("k", sorted=True)
    assert one_label.divisions == tuple(keys[[3, 3]].tolist())
    assert_same(one_label.compute(), frame[3:7].drop(5).set_index("k"))
    none = lazy[lazy.x > 10].set_index("k", sorted=True)
    assert not none.known_divisions
    assert_same(none.compute(), frame[:0].set_index("k"))


def test_wrong_options_are_named():
    lazy = gd.from_pandas(pd.DataFrame({"x": [1, 2]}), npartitions=2)
    with pytest.raises(OptionError, match="na_position='middle' should be 'first' or 'last'"):
        lazy.sort_values("x", na_position="middle")
    with pytest.raises(ValueError, match=r"ascending=\[True, False\] has 2 values for 1 keys"):
        lazy.sort_values("x", ascending=[True, False])
    with pytest.raises(OptionError, match="shuffle_method='fast' should be one of"):
        lazy.shuffle("x", shuffle_method="fast")


def test_boundaries_cut_by_weight_and_equal_rows_go_behind():
    keys = pd.DataFrame({0: [1, 2, 3, 4]})
    order = Order((True,))
    boundaries = choose_boundaries(Samples(keys, np.array([10.0, 1.0, 1.0, 10.0])), 2, order)
    assert boundaries[0].tolist() == [3]
    assert places_among(keys, boundaries, order).tolist() == [0, 0, 1, 1]


def test_a_shuffle_by_a_series_or_the_index_puts_equal_keys_together():
    frame = pd.DataFrame({"k": [1, 2, 3, 4] * 5, "x": range(20)})
    lazy = gd.from_pandas(frame, npartitions=4)
    shuffled = lazy.shuffle(lazy.k % 2, npartitions=3)
    assert list(shuffled.columns) == ["k", "x"]
    distinct = [set(block.k % 2) for block in blocks_of(shuffled)]
    assert sum(map(len, distinct)) == 2
    assert lazy.shuffle(on_index=True).x.compute().sort_values().tolist() == list(range(20))
    assert lazy.shuffle("k", ignore_index=True).compute().index.max() < 20
    with pytest.raises(OptionError, match="shuffle needs either on=, a column or several, or on_index=True"):
        lazy.shuffle()


@pytest.mark.parametrize("npartitions", [None, 2])
def test_a_function_of_the_users_sorts_each_partition_that_has_its_rows(npartitions):
    frame = pd.DataFrame({"a": [3, 1, 2, 3, 1, 2, 9, 9], "b": list("hgfedcba"), "c": range(8)})
    lazy = gd.from_pandas(frame, npartitions=3)
    seen = []

    def sorted_by_all(block, by, ascending, na_position, last):
        seen.append((by, ascending, na_position, last))
        return block.sort_values([*by, last], ascending=ascending)

    made = lazy.sort_values(
        "a", sort_function=sorted_by_all, sort_function_kwargs={"last": "b"}, npartitions=npartitions
    )
    assert made.npartitions == (npartitions or 3)
    assert_same(made.compute(scheduler="synchronous"), frame.sort_values(["a", "b"]))
    assert set(map(repr, seen)) == {"(['a'], True, 'last', 'b')"}
    found = lazy.sort_values("a", ascending=False, ignore_index=True, sort_function=pd.DataFrame.sort_values)
    assert_same(found.compute(), frame.sort_values("a", ascending=False, ignore_index=True, kind="stable"))
    found = lazy.sort_values("a", sort_function_kwargs={"kind": "stable"})
    assert_same(found.compute(), frame.sort_values("a", kind="stable"))
    with pytest.raises(OptionError, match="give key=, or sort_function="):
        lazy.sort_values("a", key=abs, sort_function=pd.DataFrame.sort_values)
    with pytest.raises(TypeError, match="sort_values: sort_function='fast' should be a function"):
        lazy.sort_values("a", sort_function="fast")


@pytest.mark.parametrize("options", [{}, {"ascending": False}, {"na_position": "first"}])
def test_complex_numbers_are_sorted_by_their_real_and_then_their_imaginary_parts(options):
    values = np.array([1 + 2j, np.nan, 0, 2j, 1, 5, 3 - 1j, 1 + 1j])
    frame = pd.DataFrame({"c": values, "x": range(8)})
    lazy = gd.from_pandas(frame, npartitions=3)
    assert_same(
        lazy.sort_values("c", **options).compute(scheduler="inline"), frame.sort_values("c", kind="stable", **options)
    )
    assert_same(lazy.set_index("c").compute(scheduler="inline"), frame.sort_values("c", kind="stable").set_index("c"))


@pytest.mark.parametrize("skipna", [True, False])
@pytest.mark.parametrize("how", ["cumsum", "cumprod", "cummax", "cummin"])
def test_running_values_of_complex_numbers_are_those_of_pandas(how, skipna):
    frame = pd.DataFrame({"c": np.array([1 + 2j, np.nan, 0, 2j, np.nan, 5, 3 - 1j]), "x": range(7), "y": 0.5})
    for ask in (lambda f: getattr(f, how)(skipna=skipna), lambda f: getattr(f.c, how)(skipna=skipna)):
        assert_same(ask(gd.from_pandas(frame, npartitions=4)).compute(scheduler="inline"), ask(frame))


def test_rows_sorted_by_no_column_keep_their_order():
    plain = pd.DataFrame({"x": [3, 1, 2]}, index=[2, 0, 1])
    lazy = gd.from_pandas(plain, npartitions=2, sort=False)
    assert lazy.sort_values(by=[]).compute().equals(plain.sort_values(by=[]))


SORTED_COLUMNS = {
    "a row": lambda f: f.sort_values("y", axis=1),
    "a row in a list, descending": lambda f: f.sort_values(["y"], axis="columns", ascending=False),
    "several rows": lambda f: f.sort_values(["x", "z"], axis=1, ascending=[True, False], na_position="first"),
    "by a function": lambda f: f.sort_values("z", axis=1, key=lambda row: -row),
    "rows numbered": lambda f: f.sort_values("y", axis=1, ignore_index=True),
}


@pytest.mark.parametrize("names", [list("bac"), list("aba")], ids=str)
@pytest.mark.parametrize("function", SORTED_COLUMNS.values(), ids=SORTED_COLUMNS)
def test_columns_are_sorted_by_values_in_rows(function, names):
    plain = pd.DataFrame([[2, 2.5, 1], [1, 9, np.nan], [2, 0, 7]], index=list("xyz"), columns=names)
    lazy = gd.from_pandas(plain, npartitions=3)
    assert_same(function(lazy).compute(**INLINE), function(plain))
    changed = lazy.copy()
    assert changed.sort_values("y", axis=1, inplace=True) is None
    assert_same(changed.compute(**INLINE), plain.sort_values("y", axis=1))
    with pytest.raises(KeyError, match="q"):
        lazy.sort_values("q", axis=1)
    with pytest.raises(ValueError, match=r'sort_values: For argument "inplace" expected type bool, received type int'):
        lazy.sort_values("b", inplace=1)


NOT_NUMBERS = {
    "descending": lambda f: f.sort_values("v", ascending=False, kind="stable"),
    "missing first": lambda f: f.sort_values("v", na_position="first", kind="stable"),
    "several keys": lambda f: f.sort_values(["k", "v"]),
    "several keys, descending": lambda f: f.sort_values(["v", "k"], ascending=[False, True]),
    "several keys, missing first": lambda f: f.sort_values(["v", "k"], ascending=False, na_position="first"),
    "ranks": lambda f: f.v.rank(),
    "ranks, descending": lambda f: f.v.rank(ascending=False, method="dense"),
    "ranks of missing ones": lambda f: f.v.rank(ascending=False, na_option="top"),
}


@pytest.mark.parametrize("operation", NOT_NUMBERS.values(), ids=NOT_NUMBERS)
def test_nan_among_the_numbers_of_arrow_is_sorted_as_by_pandas(operation):
    values = pa.array([1, 3, 4, 2, np.nan, 2, 1, 5, None, 3.0, np.nan], pa.float64())
    plain = pd.DataFrame({"v": pd.arrays.ArrowExtensionArray(values), "k": [1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 2]})
    for npartitions in (1, 4):
        assert_same(operation(gd.from_pandas(plain, npartitions=npartitions)).compute(**INLINE), operation(plain))


def test_sorted_labels_of_one_partition_are_cut_as_others_and_put_in_bins():
    plain = pd.DataFrame(
        {"x": [1, 2, 3]}, index=pd.DatetimeIndex(["2024-01-01 05:00", "2024-01-01 03:00", "2024-01-01 01:00"])
    )
    lazy = gd.from_pandas(plain, npartitions=1, sort=False)
    assert_same(lazy.resample("2h").sum().compute(**INLINE), plain.resample("2h").sum())
    other = gd.from_pandas(plain.sort_index(), npartitions=2)
    assert_same((lazy.sort_index().x + other.x).compute(**INLINE), plain.sort_index().x * 2)
