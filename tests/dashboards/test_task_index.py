"""Tasks are found by key, by part of it and by layer, also after older rows have gone, and that costs little."""

from __future__ import annotations

import time

import numpy as np
import pytest
from glassloom_dashboards.folds import task_table
from glassloom_dashboards.folds.growing_texts import GrowingTexts
from glassloom_dashboards.folds.task_finding import Looked, computed_between, newest_rows, rows_of_key
from glassloom_dashboards.folds.task_index import BLOCK_ROWS, TaskIndex
from glassloom_dashboards.folds.task_table import TaskTable
from glassloom_metrics.protocol import Action
from hypothesis import given, settings
from hypothesis import strategies as st
from long_tests import examples
from synthetic import HOSTILE_NAMES

texts = st.sampled_from(["", "0", "1", "10", "0, 1", *HOSTILE_NAMES])
rows = st.tuples(st.integers(0, 4), texts, st.sampled_from([Action.COMPUTE, Action.TRANSFER]))


def add(tasks: TaskTable, part: list[tuple[int, str, int]]) -> None:
    """Append rows of layer, rest of the key and action."""
    count = len(part)
    columns = {name: np.zeros(count) for name in ("start_s", "stop_s", "nbytes")}
    columns |= {"worker": np.zeros(count, "u4"), "lane": np.zeros(count, "u2")}
    columns |= {"layer": np.array([row[0] for row in part], "u4"), "action": np.array([row[2] for row in part], "u1")}
    tasks.extend(columns | {"ok": np.ones(count, "u1")}, [row[1] for row in part])


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(st.lists(rows, max_size=40), max_size=6), texts, st.integers(0, 4))
def test_what_is_found_is_what_a_look_at_every_row_finds(batches, text, layer):
    tasks, known = TaskTable(), []
    for part in batches:
        add(tasks, part)
        known += part
    numbered = list(enumerate(known))
    assert rows_of_key(tasks, layer, text) == [n for n, row in numbered if row[:2] == (layer, text)]
    computed = [(n, row) for n, row in reversed(numbered) if row[2] == Action.COMPUTE]
    assert list(newest_rows(tasks, [layer])) == [n for n, row in computed if row[0] == layer]
    wanted = [layer, 3, 99]
    assert list(newest_rows(tasks, wanted, text=text)) == [
        n for n, row in computed if row[0] in wanted and text in row[1]
    ]
    assert list(newest_rows(tasks, [layer], text=text, is_whole=True)) == [
        n for n, row in computed if row[:2] == (layer, text)
    ]
    assert list(computed_between(tasks, 2, len(known), text)) == [n for n, row in computed if text in row[1] and n >= 2]


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(st.lists(rows, max_size=20), max_size=6), texts, st.integers(0, 4), st.integers(1, 8))
def test_a_search_that_is_repeated_finds_the_same_and_looks_at_new_rows_alone(batches, text, layer, limit):
    tasks = TaskTable()
    looked, begun_at = Looked(tasks), []

    def look(since):
        begun_at.append(since)
        return newest_rows(tasks, [layer], text=text, since=since)

    seen = [0]
    for part in batches:
        add(tasks, part)
        assert looked.newest(layer, limit, look) == list(newest_rows(tasks, [layer], text=text))[:limit]
        seen.append(tasks.next_row)
    assert begun_at == seen[:-1]


@pytest.mark.parametrize("batch", [700, 5000])
def test_rows_keep_their_numbers_when_older_ones_go(monkeypatch, batch):
    monkeypatch.setattr(task_table, "MAX_ROWS", 16_384)
    monkeypatch.setattr(task_table, "_DROPPED_ROWS", 8192)
    monkeypatch.setattr("glassloom_dashboards.folds.task_index._KEEP_GONE_ROWS", 8192)
    tasks, known = TaskTable(), []
    while len(known) < 60_000:
        part = [(n // 20_000, str(n % 500), Action.COMPUTE) for n in range(len(known), len(known) + batch)]
        add(tasks, part)
        known += part
    first, last = tasks.first_row, len(known)
    assert first > 30_000
    for layer in (0, 2, last // 20_000):
        expected = [n for n in range(first, last) if known[n][:2] == (layer, "77")]
        assert rows_of_key(tasks, layer, "77") == expected
        assert list(newest_rows(tasks, [layer], text="77", is_whole=True)) == expected[::-1]
        late = [n for n in expected if n >= last - 3000]
        assert list(newest_rows(tasks, [layer], text="77", is_whole=True, since=last - 3000)) == late[::-1]
    assert tasks.finder.spans([0]) == []


@pytest.mark.long
def test_a_key_is_found_among_a_million_and_the_index_is_small():
    tasks, size = TaskTable(), 5000
    for first in range(0, 10**6, size):
        add(tasks, [(n * 40 // 10**6, f"{n // 10}, {n % 10}", Action.COMPUTE) for n in range(first, first + size)])
    began_s = time.process_time()
    assert rows_of_key(tasks, 20, "50000, 3") == [500_003]
    assert rows_of_key(tasks, 21, "50000, 3") == []
    assert next(newest_rows(tasks, [20], text="50000, 3")) == 500_003
    assert list(computed_between(tasks, 0, 10**6, "no such")) == []
    assert time.process_time() - began_s < 1.0, "it takes some milliseconds"
    assert tasks.finder.spans([20]) == [(500_000 // BLOCK_ROWS * BLOCK_ROWS, -(-525_000 // BLOCK_ROWS) * BLOCK_ROWS)]


def test_a_layer_with_rows_here_and_there_has_as_many_spans():
    index = TaskIndex()
    index.add(np.repeat([1, 2, 1], BLOCK_ROWS), 0)
    assert index.spans([1]) == [(0, BLOCK_ROWS), (2 * BLOCK_ROWS, 3 * BLOCK_ROWS)]
    assert index.spans([1, 2]) == [(0, 3 * BLOCK_ROWS)]
    assert index.spans([3]) == []


def test_texts_tell_what_they_surely_do_not_hold():
    known = GrowingTexts()
    known.extend(["12", "34"])
    known.extend(["5"] * 600)
    known.extend(["678"])
    assert known.holds("12", 0, 1) and not known.holds("12", 1, 603)
    assert known.holds("23", 0, 2), "it may be: it is not looked at each text"
    assert known.holds("678", 0, 603) and not known.holds("678", 0, 602)
