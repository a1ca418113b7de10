"""Shuffles by hash: equal keys in one partition, in their old order, whatever dtype holds them."""

from __future__ import annotations

import datetime
import decimal
from itertools import pairwise

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from frame_helpers import assert_same, blocks_of, cut_frames
from glassloom.backends.pandas_ import concat
from glassloom.backends.sizeof import sizeof
from glassloom.dataframe.moving import exchange
from glassloom.dataframe.moving.hashing import hash_column, hash_keys, places_of
from glassloom.dataframe.moving.shuffle import hash_shuffle
from glassloom.dataframe.wrap import wrap
from glassloom.errors import UnknownColumn
from glassloom.expr import lower
from glassloom.local.synchronous import SynchronousRuntime
from hypothesis import given, settings
from hypothesis import strategies as st
from long_tests import examples

TIMES = ["2020-01-01 00:00:01", None, "1969-12-31 00:00:00"]
CASTS_VIEWS = int(pa.__version__.partition(".")[0]) >= 18
"""Whether PyArrow casts views of text to other texts: versions 16 and 17 don't."""
TEXT = ["ant", "a longer piece of text", "", None, "münchen-0123456789"]
EQUAL_COLUMNS = {
    "numbers": [
        pd.Series([1, 0, None], dtype="float64"),
        pd.Series([1, 0, None], dtype="float32"),
        pd.Series([1, -0.0, None], dtype="float64"),
        pd.Series([1, 0, None], dtype="Int64"),
        pd.Series([1, 0, None], dtype="boolean"),
        pd.Series([1, 0, None], dtype=pd.ArrowDtype(pa.int16())),
        pd.Series([1, 0, None], dtype=pd.ArrowDtype(pa.decimal128(10, 2))),
        pd.Series([1, 0, None], dtype="object"),
        pd.Series([True, 0.0, np.nan], dtype="object"),
        pd.Series([decimal.Decimal(1), decimal.Decimal("0.0"), pd.NA], dtype="object"),
        pd.Series([1, 0, None], dtype="complex128"),
        pd.Series(pd.Categorical([1, 0, None])),
        pd.Series([1, 0, None], dtype=pd.SparseDtype("float64")),
    ],
    "text": [
        pd.Series(TEXT, dtype="object"),
        pd.Series(TEXT, dtype="str"),
        pd.Series(TEXT, dtype=pd.StringDtype("python")),
        pd.Series(TEXT, dtype=pd.StringDtype("pyarrow")),
        pd.Series(TEXT, dtype=pd.ArrowDtype(pa.large_string())),
        *([pd.Series(TEXT, dtype=pd.ArrowDtype(pa.string_view()))] if CASTS_VIEWS else []),
        pd.Series(pd.Categorical(TEXT, categories=["unused", *sorted(filter(None, TEXT)), ""])),
        pd.concat([pd.Series(["x"], dtype="str"), pd.Series(TEXT, dtype="str")])[1:],
    ],
    "times": [
        pd.Series(pd.to_datetime(TIMES)).astype("datetime64[ns]"),
        pd.Series(pd.to_datetime(TIMES)).astype("datetime64[s]"),
        pd.Series(pd.to_datetime(TIMES)).astype("datetime64[us]").astype(pd.ArrowDtype(pa.timestamp("us"))),
        pd.Series([pd.NaT if time is None else pd.Timestamp(time) for time in TIMES], dtype="object"),
        pd.Series([None if time is None else datetime.datetime.fromisoformat(time) for time in TIMES], dtype="object"),
        pd.Series(pd.Categorical(pd.to_datetime(TIMES))),
    ],
    "tuples": [
        pd.Series([("a", 1), ("a", None)], dtype="object"),
        pd.Series([("a", 1.0), ("a", np.nan)], dtype="object"),
    ],
}


@pytest.mark.parametrize("kind", EQUAL_COLUMNS)
def test_equal_keys_have_equal_hashes_in_every_dtype(kind):
    first, *others = EQUAL_COLUMNS[kind]
    expected = hash_column(first)
    assert len(set(expected.tolist())) == len(first)
    for other in others:
        assert hash_column(other).tolist() == expected.tolist(), other.dtype
        assert hash_column(pd.Index(other)).tolist() == expected.tolist(), other.dtype


def test_hashes_are_the_same_in_every_process():
    values = pd.Series(["ant", 2, datetime.date(2020, 1, 1), b"bytes", ("a", 1), None], dtype="object")
    assert hash_column(values).tolist() == [  # Python's own hashes differ from process to process
        15385428135619667500, 12311335521698417636, 4575586442765633590,
        8329883292448926591, 17240213579108578565, 11400714819323198485,
    ]  # fmt: skip


def test_hashes_of_neighbouring_numbers_fill_all_partitions_evenly():
    places = places_of(hash_column(pd.Series(np.arange(10_000))), 10)
    assert np.bincount(places).min() > 850
    assert np.bincount(places).max() < 1150


def test_several_keys_differ_from_the_same_keys_in_another_order():
    one, two = pd.Series([1, 2]), pd.Series([2, 1])
    hashes = hash_keys([one, two])
    assert hashes[0] != hashes[1]


@pytest.fixture
def no_batches(monkeypatch):
    """Let no partitions be so small that some are merged before they are cut."""
    monkeypatch.setattr(exchange, "BYTES_TOGETHER", 0)


@pytest.mark.pairwise
@pytest.mark.parametrize("together", [0, exchange.BYTES_TOGETHER])
@pytest.mark.parametrize("shares_memory", [True, False])
@pytest.mark.parametrize("n_stages", [1, 2, 3])
@settings(max_examples=examples(20), deadline=None)
@given(data=st.data())
def test_rows_of_equal_keys_are_in_one_partition_in_their_old_order(n_stages, shares_memory, together, data):
    frame, lazy = data.draw(cut_frames())
    keys = tuple(data.draw(st.lists(st.sampled_from(list(frame.columns)), max_size=2, unique=True)))
    count = data.draw(st.integers(1, 9))
    shuffled = hash_shuffle(lazy.expr, keys, count)
    assert shuffled.npartitions == count
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exchange, "number_of_stages", lambda *_: n_stages)
        patch.setattr(exchange, "BYTES_TOGETHER", together)
        patch.setattr(exchange, "LEAST_BATCHES", 2)
        patch.setattr(exchange, "MAX_PIECES", 0)
        patch.setattr(exchange, "MAX_VIEWS", 0)
        graph, (wanted,) = lower([shuffled], shares_memory=shares_memory)
    parts = SynchronousRuntime().get(graph, wanted)
    own = hash_keys([frame[key] for key in keys] or [frame.index])
    expected = [frame[places_of(own, count) == number] for number in range(count)]
    for part, rows in zip(parts, expected, strict=True):
        pd.testing.assert_frame_equal(part, rows, check_categorical=False, check_index_type=False)


@pytest.mark.parametrize("together", [0, 5000, exchange.BYTES_TOGETHER])
def test_partitions_of_unknown_sizes_are_merged_where_they_turn_out_to_be_small(monkeypatch, together):
    """Many of them, some without rows, some large, in shared memory; the rows are in their old order."""
    n_partitions = 130
    frame = pd.DataFrame({"k": np.arange(5000) * 7 % 1000, "t": pd.Series(np.arange(5000) % 13).astype(str)})
    cuts = np.sort(np.random.default_rng(2).integers(0, 5000, 30)).tolist()
    bounds = [0, *cuts, *[2500] * (n_partitions - 31), 5000]
    bounds.sort()
    blocks = [frame.iloc[begin:end] for begin, end in pairwise(bounds)]
    lazy = gd.from_map(blocks.__getitem__, range(n_partitions), meta=frame[:0])
    shuffled = hash_shuffle(lazy.expr, ("k",))
    monkeypatch.setattr(exchange, "BYTES_TOGETHER", together)
    graph, (wanted,) = lower([shuffled], shares_memory=True)
    assert len(graph.tasks) < 5 * n_partitions
    parts = SynchronousRuntime().get(graph, wanted)
    places = places_of(hash_keys([frame.k]), n_partitions)
    for number, part in enumerate(parts):
        pd.testing.assert_frame_equal(part, frame[places == number])


def test_only_small_inputs_are_merged_and_large_ones_are_passed_on() -> None:
    large = exchange.split(pd.DataFrame({"x": np.zeros(3_000_000)}), np.zeros(3_000_000, np.int64), 2)
    small = [exchange.split(pd.DataFrame({"x": [float(n)]}), np.array([n % 2]), 2) for n in range(4)]
    made = exchange._merge_small([small[0], small[1], large, small[2], small[3]])
    assert [len(pieces.frame) for pieces in made] == [2, 3_000_000, 2]
    assert made[1] is large
    assert [pieces.piece(1).x.tolist() for pieces in (made[0], made[2])] == [[1.0], [3.0]]


def test_a_frame_that_is_shuffled_so_already_stays_as_it_is():
    lazy = gd.from_pandas(pd.DataFrame({"k": [1, 2, 3, 4], "x": range(4)}), npartitions=3)
    shuffled = hash_shuffle(lazy.expr, ("k",))
    assert hash_shuffle(shuffled, ("k",)) is shuffled
    assert hash_shuffle(shuffled, ("k",), 2) is not shuffled
    assert hash_shuffle(shuffled, ("x",)) is not shuffled


def test_a_series_is_shuffled_by_its_values_or_its_labels():
    lazy = gd.from_pandas(pd.Series([1, 2, 1, 2], index=[5, 5, 6, 6], name="x"), npartitions=2)
    by_values = wrap(hash_shuffle(lazy.expr, ("x",)))
    assert sorted(by_values.map_partitions(lambda part: part.nunique(), meta=("n", int)).compute()) in ([0, 2], [1, 1])
    assert sorted(wrap(hash_shuffle(lazy.expr, ())).compute().index.tolist()) == [5, 5, 6, 6]


def test_an_unknown_key_is_named():
    lazy = gd.from_pandas(pd.DataFrame({"key": [1]}), npartitions=1)
    with pytest.raises(UnknownColumn, match="no column 'kye': did you mean 'key'"):
        hash_shuffle(lazy.expr, ("kye",))


@pytest.mark.parametrize(
    ("n_sources", "n_outputs", "max_pieces", "expected"),
    [
        (32, 32, 1024, 1),
        (33, 33, 1024, 2),
        (100, 100, 10_240, 1),
        (102, 102, 10_240, 2),
        (700, 700, 1024, 2),  # a third stage would save less than half of the pieces
        (800, 800, 1024, 3),
        (800, 800, 100_000, 2),
        (100_000, 1, 1024, 1),
        (1, 100_000, 1024, 1),
        (10, 100_000, 1024, 2),
    ],
)
def test_another_stage_is_taken_if_it_halves_the_number_of_pieces(n_sources, n_outputs, max_pieces, expected):
    assert exchange.number_of_stages(n_sources, n_outputs, max_pieces) == expected


@pytest.mark.parametrize("shares_memory", [True, False])
@pytest.mark.parametrize(("n_partitions", "n_stages"), [(200, 2), (800, 3)])
def test_many_partitions_make_no_n_squared_pieces(n_partitions, n_stages, shares_memory, no_batches):
    lazy = gd.from_pandas(pd.DataFrame({"k": range(n_partitions)}), npartitions=n_partitions)
    moved = hash_shuffle(lazy.expr, ("k",))
    tasks = moved.tasks_in_shared_memory() if shares_memory else moved.tasks()
    read = [len(task.deps) for task in tasks.values()]
    root = int(np.ceil(n_partitions ** (1 / n_stages)))
    assert max(read) <= root + 1
    assert sum(read) < (1 if shares_memory else 2) * n_stages * (root + 1) * n_partitions * 1.1


@pytest.mark.parametrize("shares_memory", [True, pytest.param(False, marks=pytest.mark.long)])
def test_small_partitions_are_merged_before_they_are_cut(shares_memory):
    """By as many tasks as would otherwise be ten times more; none holds more than it may."""
    n_partitions, rows = 800, 160
    lazy = gd.from_pandas(pd.DataFrame({"k": range(n_partitions * rows)}), npartitions=n_partitions)
    moved = hash_shuffle(lazy.expr, ("k",))
    tasks = moved.tasks_in_shared_memory() if shares_memory else moved.tasks()
    assert sum(len(task.deps) for task in tasks.values()) < (13 if shares_memory else 8) * n_partitions
    graph, (wanted,) = lower([moved], shares_memory=shares_memory)
    parts = SynchronousRuntime().get(graph, wanted)
    assert sorted(row for part in parts for row in part.k) == list(range(n_partitions * rows))


def test_partitions_that_are_likely_to_be_small_are_merged_before_they_are_sent(monkeypatch):
    """After a function of the user's, whatever it does; not where nothing is known of what it got, or it got so little that it may make more."""
    least_bytes = exchange.LEAST_GUESSED_BYTES
    monkeypatch.setattr(exchange, "LEAST_GUESSED_BYTES", 0)
    n_partitions = 200
    frame = pd.DataFrame({"k": np.arange(4_000) * 7 % 1_000, "x": range(4_000)})
    known = gd.from_pandas(frame, npartitions=n_partitions)
    twice = known.map_partitions(lambda block: pd.concat([block, block]), meta=frame[:0])
    read = gd.from_map(lambda number: frame[number::n_partitions], range(n_partitions), meta=frame[:0])
    counts = [len(hash_shuffle(lazy.expr, ("k",)).tasks()) for lazy in (known, twice, read)]
    assert counts[0] == counts[1] < counts[2] / 2
    with monkeypatch.context() as patched:
        patched.setattr(exchange, "LEAST_GUESSED_BYTES", least_bytes)
        assert len(hash_shuffle(twice.expr, ("k",)).tasks()) == counts[2]
    graph, (wanted,) = lower([hash_shuffle(twice.expr, ("k",))])
    places = places_of(hash_keys([frame.k]), n_partitions)
    blocks = np.repeat(np.arange(n_partitions), len(frame) // n_partitions)  # each one's rows come twice
    order = np.concatenate([np.tile(np.flatnonzero(blocks == block), 2) for block in range(n_partitions)])
    for number, part in enumerate(SynchronousRuntime().get(graph, wanted)):
        pd.testing.assert_frame_equal(part, frame.iloc[order[places[order] == number]])


def test_of_partitions_whose_size_is_guessed_fewer_are_merged_at_once():
    frame = pd.DataFrame({"x": np.arange(900_000)})
    known = gd.from_pandas(frame, npartitions=100)
    unknown = known.map_partitions(lambda block: block, meta=frame[:0])
    assert exchange._inputs_together(known.expr) == 100 * exchange.BYTES_TOGETHER // (900_000 * 8)
    assert exchange._inputs_together(unknown.expr) == 100 * exchange.GUESSED_BYTES_TOGETHER // (900_000 * 8)


@pytest.mark.parametrize("shares_memory", [True, False])
def test_no_task_holds_more_than_it_may_of_small_partitions(monkeypatch, shares_memory):
    n_partitions, n_rows = 144, 1000
    keys = np.random.default_rng(1).permutation(n_partitions * n_rows)
    lazy = gd.from_pandas(pd.DataFrame({"k": keys}, index=keys), npartitions=n_partitions, sort=False)
    monkeypatch.setattr(exchange, "BYTES_TOGETHER", 3 * 16 * n_rows)
    monkeypatch.setattr(exchange, "MAX_VIEWS", 1024)
    made = rows_of_merges(monkeypatch, hash_shuffle(lazy.expr, ("k",)), shares_memory)
    assert (1.8 if shares_memory else 2.8) * n_rows < max(made) < 3.2 * n_rows
    assert sum(made) <= 2 * n_partitions * n_rows


@pytest.mark.parametrize("shares_memory", [True, pytest.param(False, marks=pytest.mark.long)])
def test_calls_to_pandas_do_not_grow_with_the_square_of_the_partitions(monkeypatch, shares_memory):
    n_partitions = 225
    if not shares_memory:  # else none would be small enough to be merged
        monkeypatch.setattr(exchange, "BYTES_TOGETHER", 0)
    lazy = gd.from_pandas(pd.DataFrame({"k": range(4 * n_partitions)}), npartitions=n_partitions)
    graph, (wanted,) = lower([hash_shuffle(lazy.expr, ("k",))], shares_memory=shares_memory)
    cut, joined = [], []
    between = exchange.rows_between
    monkeypatch.setattr(exchange, "rows_between", lambda *args: cut.append(1) or between(*args))
    monkeypatch.setattr(exchange, "concat", lambda blocks: joined.append(len(blocks)) or concat(blocks))
    SynchronousRuntime().get(graph, wanted)
    assert n_partitions * 10 < len(cut) < n_partitions * 15 * 3
    assert sum(joined) < n_partitions * 15 * 3


@pytest.mark.parametrize("shares_memory", [True, False])
@pytest.mark.parametrize("n_stages", [2, 3])
def test_no_task_of_an_exchange_makes_much_more_than_a_partition(monkeypatch, n_stages, shares_memory, no_batches):
    n_partitions, n_rows = 64, 1000
    keys = np.random.default_rng(1).permutation(n_partitions * n_rows)
    lazy = gd.from_pandas(pd.DataFrame({"k": keys}), npartitions=n_partitions)
    monkeypatch.setattr(exchange, "number_of_stages", lambda *_: n_stages)
    made = rows_of_merges(monkeypatch, hash_shuffle(lazy.expr, ("k",)), shares_memory)
    assert sum(made) == (n_stages - 1) * n_partitions * n_rows
    assert max(made) < 1.2 * n_rows


def test_pieces_know_their_size():
    frame = pd.DataFrame({"x": np.arange(100)})
    pieces = exchange.split(frame, np.arange(100) % 3, 3)
    assert sizeof(pieces) > 800
    assert concat([pieces.piece(0), pieces.some(1, 3).piece(1)]).x.tolist() == [*range(0, 100, 3), *range(2, 100, 3)]


def test_where_tasks_share_memory_no_pieces_are_copied_and_the_rows_are_the_same() -> None:
    frame = pd.DataFrame({"key": np.arange(60) % 7, "value": np.arange(60.0)})
    moved = hash_shuffle(gd.from_pandas(frame, npartitions=4).expr, ("key",), 5)
    (sent, keys), (shared, same_keys) = lower([moved]), lower([moved], shares_memory=True)
    assert keys == same_keys
    assert len(sent.tasks) - len(shared.tasks) == 4 * 5
    (flat,) = keys
    run = SynchronousRuntime().get
    for output, other in zip(run(sent, flat), run(shared, flat), strict=True):
        pd.testing.assert_frame_equal(output, other)


def test_an_output_of_one_piece_does_not_hold_its_input() -> None:
    frame = pd.DataFrame({"value": np.arange(10.0)})
    whole = exchange.split(frame, np.zeros(10, np.int64), 2)
    nothing = exchange.split(frame.iloc[:0], np.zeros(0, np.int64), 2)
    made = exchange._gathered(concat, 0, [nothing, whole])
    pd.testing.assert_frame_equal(made, frame)
    assert not np.shares_memory(made["value"].to_numpy(), frame["value"].to_numpy())


def rows_of_merges(monkeypatch, moved, shares_memory):
    """Run an exchange; return the number of rows that each merge of pieces has made."""
    graph, (wanted,) = lower([moved], shares_memory=shares_memory)
    made = []
    merge = exchange._merge

    def watched(several):
        found = merge(several)
        made.append(len(found.frame))
        return found

    for task in graph.tasks.values():
        task.func = watched if task.func is merge else task.func
    monkeypatch.setattr(exchange, "_merge", watched)
    parts = SynchronousRuntime().get(graph, wanted)
    assert sum(map(len, parts)) == sum(moved.frame.lengths)
    return made


@pytest.mark.parametrize("on", ["label", ["label"], ["label", "k"], ["k", "label"]])
def test_rows_move_by_the_index_under_its_name_beside_columns(on):
    frame = pd.DataFrame({"k": list("abcd") * 10, "x": range(40)}, index=pd.Index(np.arange(40) % 7, name="label"))
    moved = gd.from_pandas(frame, npartitions=4, sort=False).shuffle(on, npartitions=3)
    blocks = blocks_of(moved)
    assert len(blocks) == 3
    assert_same(pd.concat(blocks).sort_values("x"), frame)
    names = on if isinstance(on, list) else [on]
    distinct = [set(block.reset_index()[names].itertuples(index=False, name=None)) for block in blocks]
    assert sum(map(len, distinct)) == len(set().union(*distinct))
