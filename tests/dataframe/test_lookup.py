"""Joins by look-up against pandas: keys of all kinds, equal and missing ones, sides without rows; and which joins are."""

from __future__ import annotations

import pickle

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from eventual import eventually
from frame_helpers import assert_same, plan
from glassloom import Client
from glassloom.backends.pandas_version import PANDAS_VERSION
from glassloom.backends.sizeof import sizeof
from glassloom.dataframe import sorting
from glassloom.dataframe.moving import counting, number_table
from glassloom.dataframe.moving import merge as merging
from glassloom.dataframe.moving.joining import Joining
from glassloom.dataframe.moving.lookup import JoinByLookup, Lookup, LookupJoin, can_join_by_lookup
from glassloom.dataframe.moving.merge import Join
from glassloom.dataframe.moving.number_table import BucketTable, DirectTable, HashedTable, NumberTable
from glassloom.dataframe.moving.size import guessed_size_of, size_of
from glassloom.local.default import running_on
from glassloom.local.synchronous import SynchronousRuntime
from hypothesis import given, settings
from hypothesis import strategies as st
from long_tests import examples

INLINE = {"scheduler": "inline"}
FAR = 2**40
KEYS = {
    "near": st.integers(-3, 6),
    "far": st.sampled_from([-FAR, 0, 1, FAR, 2**63 - 1, -(2**63)]),
    "small": st.integers(-128, 127),
    "flag": st.booleans(),
    "day": st.sampled_from([pd.Timestamp("2000-01-01"), pd.Timestamp("1812-02-03"), pd.NaT]),
    "word": st.sampled_from(["", "a", "b", "häß", "long text, of more bytes than a word has", None]),
}
DTYPES = {"near": "int64", "far": "int64", "small": "int8", "flag": "bool", "day": "datetime64[us]", "word": "str"}
TEXT = pd.Series(["a"], dtype="str").dtype
HAS_ARROW_TEXT = isinstance(TEXT, pd.StringDtype)


def joining(keys, how, suffixes=("_x", "_y"), right_keys=None):
    return Joining(
        how, keys, right_keys or keys, False, False, right_keys is None, suffixes, indicator=False, validate=None
    )


def can(left, right, chosen):
    return can_join_by_lookup(left, right, chosen, lambda: chosen(left, right))


@st.composite
def sides(draw):
    """Return two frames with key columns, one column that both have, and one of each alone."""
    kinds = draw(st.lists(st.sampled_from(sorted(KEYS)), min_size=1, max_size=3, unique=True))
    made = []
    for own in "ab":
        length = draw(st.integers(0, 12))
        columns = {
            kind: pd.Series(draw(st.lists(KEYS[kind], min_size=length, max_size=length)), dtype=DTYPES[kind])
            for kind in kinds
        }
        extra = {own: np.arange(length), "both": pd.Series([f"{own}{n}" for n in range(length)], dtype="str")}
        made.append(pd.DataFrame({**columns, **extra, f"flag_{own}": np.arange(length) % 2 == 0}))
    return kinds, *made


@settings(max_examples=examples(60), deadline=None)
@given(data=st.data())
def test_a_join_by_lookup_is_that_of_pandas(data):
    kinds, left, right = data.draw(sides())
    how = data.draw(st.sampled_from(["inner", "left", "right"]))
    chosen = joining(tuple(kinds), how, data.draw(st.sampled_from([("_x", "_y"), ("", "_r"), ("_l", None)])))
    expected = chosen(left, right)
    finds_right = how != "right"
    block, found = (left, right) if finds_right else (right, left)
    cut = data.draw(st.integers(0, len(found)))
    lookup = Lookup.of(chosen.left_on, [found.iloc[:cut], found.iloc[cut:]])
    for one in (lookup, pickle.loads(pickle.dumps(lookup))):
        made = JoinByLookup(chosen, finds_right)(block, one)
        if how == "inner" and PANDAS_VERSION < (3, 1):  # before, rows of keys that occur twice on the right came last
            made, expected = (frame.sort_values(["a", "b"], ignore_index=True) for frame in (made, expected))
        assert_same(made, expected)
    assert sizeof(lookup) >= sizeof(found)


@settings(max_examples=examples(20), deadline=None)
@given(data=st.data())
def test_an_inner_join_that_finds_rows_of_the_left_side_has_the_order_of_the_right_one(data):
    kinds, left, right = data.draw(sides())
    chosen = joining(tuple(kinds), "inner")
    got = JoinByLookup(chosen, False)(right, Lookup.of(chosen.right_on, [left]))
    expected = chosen(left, right).sort_values(["b", "a"], kind="stable", ignore_index=True)
    assert_same(got, expected)


@settings(max_examples=examples(20), deadline=None)
@given(data=st.data())
def test_semi_joins_by_lookup_keep_each_row_once(data):
    kinds, left, right = data.draw(sides())
    for how in ("leftsemi", "leftanti"):
        chosen = joining(tuple(kinds), how)
        got = JoinByLookup(chosen, True)(left, Lookup.of(chosen.right_on, [right]))
        assert_same(got, chosen(left, right))


@settings(max_examples=examples(20), deadline=None)
@given(data=st.data())
def test_keys_of_other_names_stay_on_both_sides(data):
    kinds, left, right = data.draw(sides())
    right = right.rename(columns={kind: f"r_{kind}" for kind in kinds})
    how = data.draw(st.sampled_from(["inner", "left"]))
    chosen = joining(tuple(kinds), how, right_keys=tuple(f"r_{kind}" for kind in kinds))
    assert_same(JoinByLookup(chosen, True)(left, Lookup.of(chosen.right_on, [right])), chosen(left, right))


@settings(max_examples=examples(30), deadline=None)
@given(numbers=st.lists(st.integers(1, 60), max_size=30), asked=st.lists(st.integers(-2, 64), max_size=30))
@pytest.mark.parametrize("counts", [True, False], ids=["by counting", "by sorting"])
def test_both_kinds_of_number_tables_find_all_rows_of_a_number(counts, numbers, asked):
    with pytest.MonkeyPatch.context() as patch:
        if not counts:  # where pandas has no such function any more
            patch.setattr(counting, "_counting_sort", None)
        _check_number_tables(numbers, asked)


def _check_number_tables(numbers, asked):
    column, wanted = np.array(numbers, np.int64), np.array(asked, np.int64)
    kinds = set()
    for factor, size in ((1, 62), (2**55, 62 * 2**55)):
        table = NumberTable.of(column * factor, size)
        kinds.add(type(table.distinct))
        _check_found(table, column * factor, wanted * factor)
    assert kinds == {DirectTable, HashedTable}


def _check_found(table, numbers, asked):
    own, found = table.find(asked)
    pairs = list(zip(range(len(asked)) if own is None else own.tolist(), found.tolist(), strict=True))
    places = {}
    for row, number in enumerate(numbers.tolist()):
        places.setdefault(number, []).append(row)
    assert pairs == [(row, place) for row, number in enumerate(asked.tolist()) for place in places.get(number, [-1])]


@settings(max_examples=examples(30), deadline=None)
@given(
    steps=st.lists(st.integers(0, 9), min_size=1, max_size=40),
    asked=st.lists(st.integers(-9, 400), max_size=30),
    factor=st.sampled_from([1, 7, 2**30, 2**54]),
    width=st.sampled_from([None, 1, 5, 60]),
    moved=st.booleans(),
)
def test_tables_of_numbers_in_order_find_all_rows_of_a_number(steps, asked, factor, width, moved):
    numbers = np.cumsum(steps) + 1
    size = (int(numbers[-1]) + 2) * factor
    if moved and len(numbers) > 3:  # out of order
        numbers[[1, 2]] = numbers[[2, 1]]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sorting, "_FROM", 1)
        patch.setattr(sorting, "_STRIDE", 1)
        for cells in (0, 50):
            patch.setattr(number_table, "_CELLS", cells)
            table = NumberTable.of(numbers * factor, size, None if width is None else width * factor)
            _check_found(table, numbers * factor, np.array(asked, np.int64) * factor)


def _numbers_by_two_keys():
    first = np.repeat(np.arange(1, 20_001), 4)
    return first * 10_000_000 + (first * 7919 + np.tile(np.arange(4), 20_000) * 2_501_001) % 10_000_000


def test_numbers_whose_first_keys_are_in_order_need_no_hashing():
    numbers, size, width = _numbers_by_two_keys(), 20_002 * 10_000_000, 10_000_000
    table = NumberTable.of(numbers, size, width)
    assert type(table.distinct) is BucketTable
    assert table.rows is None
    asked = np.concatenate([numbers[::-7], numbers[::5] + 1, [0, -1, -size, size, 5 * size]])
    _check_found(table, numbers, asked)


@pytest.mark.parametrize(
    ("change", "kind", "is_distinct"),
    [
        (lambda numbers: numbers[::-1].copy(), HashedTable, True),
        (lambda numbers: np.append(numbers, numbers[-3]), BucketTable, False),
        (lambda numbers: np.sort(numbers), BucketTable, True),
        (lambda numbers: np.repeat(np.sort(numbers), 3), BucketTable, False),
        (lambda numbers: np.sort(np.append(numbers, 5 * 10_000_000 + np.arange(9))), HashedTable, True),
    ],
    ids=["in no order", "one twice", "sorted", "each thrice", "many of one key"],
)
def test_numbers_are_hashed_only_where_buckets_are_of_no_use(change, kind, is_distinct):
    numbers = change(_numbers_by_two_keys())
    table = NumberTable.of(numbers, 20_002 * 10_000_000, 10_000_000)
    assert type(table.distinct) is kind
    assert (table.rows is None) is is_distinct
    _check_found(table, numbers, np.concatenate([numbers[::-9], numbers[::5] + 1]))


@pytest.mark.parametrize(
    ("count", "size", "kind"),
    [
        (2, 2**21, DirectTable),
        (2, 2**21 + 1, HashedTable),
        (2**14, 2**22, DirectTable),
        (2**14, 2**22 + 1, HashedTable),
    ],
)
def test_a_table_for_places_may_be_sparse_but_not_large(count, size, kind):
    numbers = (np.arange(count) * (size // (count + 1)) + 1)[np.random.default_rng(0).permutation(count)]
    table = NumberTable.of(numbers, size)
    assert type(table.distinct) is kind
    assert table.find(numbers[::-1].copy())[1].tolist() == list(range(count))[::-1]


def test_rows_of_a_number_that_occurs_often_come_in_their_order():
    numbers = np.random.default_rng(0).integers(1, 50, 3000)
    own, found = NumberTable.of(numbers, 51).find(np.array([7, 49]))
    assert found.tolist() == [*np.flatnonzero(numbers == 7), *np.flatnonzero(numbers == 49)]
    assert own.tolist() == [0] * (numbers == 7).sum() + [1] * (numbers == 49).sum()


def test_keys_whose_blocks_have_another_dtype_than_the_meta_are_joined_by_pandas():
    chosen = joining(("k",), "inner")
    left, right = pd.DataFrame({"k": [1.0, np.nan]}), pd.DataFrame({"k": [1, 2], "y": [3, 4]})
    assert_same(JoinByLookup(chosen, True)(left, Lookup.of(("k",), [right])), left.merge(right, on="k"))
    lookup = Lookup.of(("k",), [left])
    assert lookup.table is None
    assert_same(JoinByLookup(chosen, False)(right, lookup), left.merge(right, on="k"))


def test_keys_with_too_many_combinations_are_joined_by_pandas():
    frame = pd.DataFrame({"i": [0, 2**62], "j": [0, 9], "x": [1, 2]})
    assert Lookup.of(("i", "j"), [frame]).table is None
    got = JoinByLookup(joining(("i", "j"), "left"), True)(frame, Lookup.of(("i", "j"), [frame]))
    assert_same(got, frame.merge(frame, on=["i", "j"], how="left"))


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("int64", "int64", True),
        ("datetime64[ns]", "datetime64[ns]", True),
        ("int64", "int32", False),
        ("uint64", "uint64", False),
        ("float64", "float64", False),
        ("Int64", "Int64", False),
        ("category", "category", False),
        ("object", "object", False),
    ],
)
def test_only_keys_of_plain_dtypes_are_looked_up(left, right, expected):
    metas = [pd.DataFrame({"k": pd.Series(dtype=dtype)}) for dtype in (left, right)]
    assert can(*metas, joining(("k",), "inner")) is expected


def test_frames_with_keys_in_the_index_or_equal_names_are_not_looked_up():
    frame = pd.DataFrame({"k": [1], "x": [1]})
    assert can(frame, frame, joining(("k",), "inner"))
    assert not can(frame, frame, joining(("k",), "outer"))
    assert not can(frame, frame, joining(("k",), "inner", right_keys=("k",)))
    twice = pd.DataFrame([[1, 2]], columns=["k", "x"]).iloc[:, [0, 1, 1]]
    assert not can(twice, frame, joining(("k",), "inner"))


# Which joins are.


@pytest.fixture
def large():
    frame = pd.DataFrame({"k": np.arange(200) % 7, "x": range(200), "z": range(200)})
    return gd.from_pandas(frame, npartitions=4)


@pytest.fixture
def small():
    return gd.from_pandas(pd.DataFrame({"k": range(6), "y": range(6), "w": range(6)}), npartitions=2)


def kinds(lazy):
    return [type(node) for node in plan(lazy) if isinstance(node, (Join, LookupJoin))]


def test_the_smaller_side_is_looked_up_whichever_it_is(large, small):
    for joined in (large.merge(small, on="k"), small.merge(large, on="k")):
        assert kinds(joined) == [LookupJoin]
        assert joined.npartitions == large.npartitions
        got = joined.compute(**INLINE).sort_values("x", ignore_index=True)
        assert_same(got[["k", "x", "y"]], large.compute().merge(small.compute(), on="k")[["k", "x", "y"]])
    assert kinds(large.merge(small, on="k", broadcast=False)) == [Join]
    assert kinds(large.merge(small, on="k", how="outer")) == [Join]


def test_a_larger_side_is_looked_up_if_many_more_rows_would_move_and_memory_is_there(large, small, monkeypatch):
    monkeypatch.setattr(merging, "LOOKUP_BYTES", 1)
    assert kinds(large.merge(small, on="k")) == [LookupJoin]
    assert kinds(large.merge(large.partitions[:2], on="k")) == [Join]
    with running_on(SynchronousRuntime()):
        assert kinds(large.merge(small, on="k")) == [LookupJoin]
    for memory_bytes, kind in ((None, Join), (4 * 6 * 24 - 1, Join), (4 * 6 * 24, LookupJoin)):
        with running_on(WithMemory(memory_bytes)):
            assert kinds(large.merge(small, on="k")) == [kind]
    monkeypatch.setattr(merging, "LARGE_LOOKUP_BYTES", 6 * 24 - 1)
    assert kinds(large.merge(small, on="k")) == [Join]


def test_a_table_takes_no_more_than_a_quarter_of_a_process(large, small):
    for memory_bytes, kind in ((None, LookupJoin), (4 * 6 * 24 - 1, Join), (4 * 6 * 24, LookupJoin)):
        with running_on(WithMemory(memory_bytes)):
            assert kinds(large.merge(small, on="k")) == [kind]


class WithMemory(SynchronousRuntime):
    """Stands for a cluster."""

    shares_memory = False

    def __init__(self, memory_bytes):
        self.memory_bytes = memory_bytes

    @property
    def process_memory_bytes(self):
        return self.memory_bytes


def test_a_client_knows_the_memory_of_its_smallest_worker():
    with Client(n_workers=2, threads_per_worker=1, memory_limit="300MB", set_as_default=False) as client:
        assert client.process_memory_bytes == 300_000_000
        client.scale(0)
        eventually(lambda: client.process_memory_bytes is None)
    with Client(n_workers=1, threads_per_worker=1, memory_limit=0, set_as_default=False) as client:
        assert client.process_memory_bytes is None


def test_a_side_that_is_filtered_is_taken_for_small():
    size = size_of(gd.from_pandas(pd.DataFrame({"k": range(8)}), npartitions=2)[lambda frame: frame.k > 1].expr)
    assert (size.most_rows, size.likely_rows, size.row_bytes) == (8, 2.0, 8)
    one = gd.from_pandas(pd.DataFrame({"k": range(8)}), npartitions=2)
    two = gd.from_pandas(pd.DataFrame({"k": range(8), "x": range(8)}), npartitions=2)
    joined = one.merge(two[two.x > 1], on="k")
    (node,) = [node for node in plan(joined) if isinstance(node, LookupJoin)]
    assert "x" in node.table.frame.meta.columns
    assert (size_of(joined.expr).most_rows, size_of(joined.expr).likely_rows) == (8, 2.0)


def test_the_size_of_text_files_is_known_from_their_first_lines(tmp_path):
    for number in range(4):
        rows = pd.DataFrame({"k": range(100, 200), "x": 1.5, "s": "abc"})
        rows.to_csv(tmp_path / f"{number}.csv", index=False)
        rows.to_json(tmp_path / f"{number}.json", orient="records", lines=True)
    for lazy in (gd.read_csv(tmp_path / "*.csv"), gd.read_json(tmp_path / "*.json")):
        for frame, rows in ((lazy, 400), (lazy.partitions[1:3][["k"]], 200)):
            size = size_of(frame.expr)
            assert rows <= size.likely_rows <= rows * 1.02
            assert rows <= size.most_rows
    whole, small = (gd.read_csv(tmp_path / "*.csv", blocksize=size) for size in (None, 300))
    assert size_of(small.expr).likely_rows == pytest.approx(400, rel=0.02)
    assert kinds(small.merge(whole, on="k")) == [LookupJoin]
    assert_same(
        small.merge(whole, on=["k", "x", "s"]).compute(**INLINE).sort_values("k", ignore_index=True),
        small.compute(**INLINE).merge(whole.compute(**INLINE), on=["k", "x", "s"]).sort_values("k", ignore_index=True),
    )


def test_nothing_is_said_of_the_size_of_text_files_that_are_empty_or_compressed(tmp_path):
    rows = pd.DataFrame({"k": range(3)})
    rows.to_csv(tmp_path / "0.csv.gz", index=False)
    (tmp_path / "0.json").write_text("")
    assert size_of(gd.read_csv(tmp_path / "0.csv.gz").expr) is None
    assert size_of(gd.read_json(tmp_path / "0.json", meta=rows).expr) is None


def test_the_size_of_what_functions_make_is_guessed_from_what_they_get(large, small):
    made = large.map_partitions(lambda block: block)
    for frame in (made, gd.concat([made[:0], made]), made.merge(small.map_partitions(lambda block: block), on="k")):
        assert size_of(frame.expr) is None
        assert guessed_size_of(frame.expr).most_rows >= len(large)
    assert guessed_size_of(made[made.x > 1].expr)[:2] == (len(large), 0.25 * len(large))
    assert guessed_size_of(large.expr) == size_of(large.expr)
    blocks = gd.from_map(lambda number: pd.DataFrame({"x": [number]}), range(3), meta=pd.DataFrame({"x": [0]}))
    assert guessed_size_of(blocks.map_partitions(lambda block: block).expr) is None


def test_the_size_of_frames_is_known_behind_new_labels_and_put_together(large, small):
    assert size_of(large.reset_index().expr).most_rows == len(large)
    assert size_of(gd.concat([large[large.x > 1], large]).expr)[:2] == (2 * len(large), 1.25 * len(large))
    assert size_of(gd.concat([large, large.map_partitions(lambda block: block)]).expr) is None


def test_nothing_is_said_of_what_has_more_rows_than_it_is_made_of():
    frame = gd.from_pandas(pd.DataFrame({"k": [1, 2], "x": [[1, 2], [3]]}), npartitions=1)
    for more in (frame.explode("x"), frame.k.repeat(3), frame.melt()):
        assert size_of(more.expr) is None


def test_only_the_needed_columns_of_both_sides_are_read(large, small):
    joined = large.merge(small, on="k")[["x", "y"]]
    (node,) = [node for node in plan(joined) if isinstance(node, LookupJoin)]
    assert [list(side.meta.columns) for side in node.sides] == [["k", "x"], ["k", "y"]]
    again = joined.merge(small, left_on="y", right_on="w")[["x"]]
    nodes = [node for node in plan(again) if isinstance(node, LookupJoin)]
    assert [[list(side.meta.columns) for side in node.sides] for node in nodes] == [
        [["k", "x"], ["k", "y"]],
        [["x", "y"], ["y", "w"]],
    ]
    assert_same(again.compute(**INLINE).x.tolist(), joined.compute(**INLINE).x.tolist())


def test_joins_through_filters_and_new_columns_are_all_narrowed(large, small):
    table = small.assign(unused=1)
    joined = large.assign(spare=2).merge(table, on="k")
    joined = joined[joined.w != joined.x].assign(both=lambda frame: frame.x + frame.y)
    again = joined.merge(table, left_on="both", right_on="y", how="left", suffixes=("", "_other"))
    wanted = again[again.both > 0][["x", "w_other"]]
    nodes = [node for node in plan(wanted) if isinstance(node, LookupJoin)]
    columns = [name for node in nodes for side in node.sides for name in side.meta.columns]
    assert len(nodes) == 2
    assert not {"unused", "spare"} & set(columns)
    whole = again.compute(**INLINE)
    assert_same(wanted.compute(**INLINE), whole[whole.both > 0][["x", "w_other"]])


@pytest.mark.parametrize("how", ["inner", "left", "right"])
def test_a_frame_joined_with_itself_keeps_what_both_sides_need(small, how):
    joined = small.merge(small, left_on="y", right_on="w", how=how)
    for columns in (["y_x"], ["y_y"], ["w_x", "w_y"], ["k_y"]):
        assert_same(joined[columns].compute(**INLINE), joined.compute(**INLINE)[columns])


def test_partitions_of_a_join_by_lookup_join_only_those_of_the_large_side(large, small):
    joined = large.merge(small, on="k")
    some = joined.partitions[1]
    assert_same(some.compute(**INLINE), large.partitions[1].compute().merge(small.compute(), on="k"))
    (node,) = [node for node in plan(some) if isinstance(node, LookupJoin)]
    assert node.frame.npartitions == 1
    assert node.table.frame.npartitions == small.npartitions


def test_a_join_by_lookup_of_one_partition_runs():
    one = gd.from_pandas(pd.DataFrame({"k": [2, 1, 3], "x": range(3)}), npartitions=1)
    table = pd.DataFrame({"k": [1, 2, 2], "y": range(3)})
    for how in ("inner", "left", "right"):
        lazy = one.merge(table, on="k", how=how)
        assert kinds(lazy) == [LookupJoin]
        expected = one.compute().merge(table, on="k", how=how)
        for made in (lazy, lazy.partitions[0]):
            got = made.compute(**INLINE)
            if how == "inner" and PANDAS_VERSION < (
                3,
                1,
            ):  # there, rows of keys that occur twice on the right come last
                got, expected = (some.sort_values(["x", "y"], ignore_index=True) for some in (got, expected))
            assert_same(got, expected)


@pytest.mark.skipif(not HAS_ARROW_TEXT, reason="before pandas 3 text is objects")
def test_text_is_looked_up_without_a_copy_of_the_rows_that_all_match():
    block = pd.DataFrame({"k": pd.Series(["a", "b"], dtype="str"), "x": [1.0, 2.0]})
    lookup = Lookup.of(("k",), [pd.DataFrame({"k": pd.Series(["b", "a"], dtype="str"), "y": [1, 2]})])
    joined = JoinByLookup(joining(("k",), "inner"), True)(block, lookup)
    assert np.shares_memory(joined.x.to_numpy(), block.x.to_numpy())


@settings(max_examples=examples(20), deadline=None)
@given(data=st.data())
def test_the_meta_of_a_join_by_lookup_is_that_of_pandas(data):
    kinds, left, right = data.draw(sides())
    how = data.draw(st.sampled_from(["inner", "left", "right", "leftsemi", "leftanti"]))
    chosen = joining(tuple(kinds), how, data.draw(st.sampled_from([("_x", "_y"), ("_l", None)])))
    if not can(left, right, chosen):
        return
    own, others = gd.from_pandas(left, npartitions=1), gd.from_pandas(right, npartitions=1)
    (node,) = [
        node
        for node in plan(own.merge(others, on=kinds, how=how, suffixes=chosen.suffixes))
        if isinstance(node, LookupJoin)
    ]
    assert_same(node.meta, chosen(left.iloc[:0], right.iloc[:0]))
    assert node.meta.columns.identical(chosen(left.iloc[:0], right.iloc[:0]).columns)
