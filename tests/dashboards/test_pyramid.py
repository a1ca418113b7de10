"""Bins out of the pyramid are what plain Python sums up event by event: at any zoom, also once the events have gone."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import numpy as np
import pytest
from glassloom_dashboards.folds import bins, pyramid, task_table
from glassloom_dashboards.folds.grouping import distinct_of
from glassloom_dashboards.folds.lod import OTHER_KIND, Grid, View, bins_in_view, rows_in_view
from glassloom_dashboards.folds.task_table import ACTION_BITS, TaskTable
from hypothesis import given, settings
from hypothesis import strategies as st
from long_tests import examples

ORIGIN_S = 1_700_000_000.0
Event = tuple[int, int, int, int, int]
"""When it began and how long it took (in us), its lane, its layer, and whether it succeeded."""

spread = st.sampled_from([50, 3_000, 10**6, 10**8])
event = st.tuples(
    spread.flatmap(lambda most: st.integers(0, most)),
    spread.flatmap(lambda most: st.integers(0, most)),
    st.integers(0, 12),
    st.integers(0, 5),
    st.integers(0, 1),
)
events = st.lists(event, min_size=1, max_size=120)
views = st.tuples(spread, st.floats(0, 1), st.integers(0, 8), st.integers(1, 14))


def table_of(rows: list[Event], *, block: int, first_row: int = 0, batch: int = 7) -> TaskTable:
    """Return a table whose pyramid has blocks of so many rows, with the rows before `first_row` gone."""
    tasks = TaskTable(ORIGIN_S)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(task_table, "_BLOCK_ROWS", block)
        for start in range(0, len(rows), batch):
            part = rows[start : start + batch]
            start_us, took_us, lane, layer, ok = map(np.array, zip(*part, strict=True))
            start_s = ORIGIN_S + start_us / 1e6
            columns: dict[str, Any] = {
                "layer": layer.astype("u4"), "worker": lane.astype("u4"), "lane": np.zeros(len(part), "u2"),
                "action": np.zeros(len(part), "u1"), "start_s": start_s, "stop_s": ORIGIN_S + (start_us + took_us) / 1e6,
                "nbytes": np.zeros(len(part), "i8"), "ok": ok.astype("u1"),
            }  # fmt: skip
            tasks.extend(columns, [""] * len(part))
        if first_row:
            tasks._drop(first_row)
    return tasks


def summed(rows: list[Event], threads: list[tuple[int, int]], grid: Grid) -> dict[tuple[int, int], Any]:
    """Return (tasks, failed, busy us by layer) by row and column of the grid."""
    place = {worker: number for number, (worker, _) in enumerate(threads)}
    counts: dict[tuple[int, int], list[int]] = defaultdict(lambda: [0, 0])
    busy_us: dict[tuple[int, int], Counter[int]] = defaultdict(Counter)
    for start_us, took_us, worker, layer, ok in rows:
        lane, stop_us = place[worker], start_us + took_us
        if not grid.low <= lane < grid.high:
            continue
        row = (lane - grid.low) // grid.lanes_a_row
        middle = (start_us + stop_us) // 2 // grid.width_us - grid.first
        if 0 <= middle < grid.columns:
            counts[row, middle][0] += 1
            counts[row, middle][1] += not ok
        first = max(start_us // grid.width_us, grid.first)
        last = min((stop_us - 1) // grid.width_us, grid.first + grid.columns - 1)
        for column in range(first, last + 1):
            inside_us = min(stop_us, (column + 1) * grid.width_us) - max(start_us, column * grid.width_us)
            busy_us[row, column - grid.first][layer] += inside_us
    places = {place for place, (tasks, _) in counts.items() if tasks} | {p for p, c in busy_us.items() if c.total()}
    return {place: (*counts[place], busy_us[place]) for place in places}


def check(tasks: TaskTable, rows: list[Event], view: View) -> Grid:
    """Compare all bins of a view with those made from scratch; return their grid."""
    lane_of_thread = np.arange(len(tasks.threads))
    found, grid, _ = bins_in_view(tasks, lane_of_thread, view)
    expected = summed(rows, tasks.threads, grid)
    column = np.rint((found.start_s - grid.start_s) / grid.width_s).astype(int).tolist()
    row = ((found.low - grid.low) // grid.lanes_a_row).tolist()
    assert set(zip(row, column, strict=True)) == set(expected)
    for n, place in enumerate(zip(row, column, strict=True)):
        count, failed, busy_us = expected[place]
        assert (found.tasks[n], found.failed[n]) == (count, failed)
        assert round(found.busy_s[n] * 1e6) == busy_us.total()
        if busy_us:
            assert busy_us[int(found.kind[n]) >> ACTION_BITS] == max(busy_us.values())
    return grid


def view_of(at: tuple[int, float, int, int]) -> View:
    span_us, share, low, lanes = at
    start_s = ORIGIN_S + span_us * share / 1e6
    return View(start_s, start_s + span_us / 1e6, low, low + lanes)


@settings(deadline=None, max_examples=examples(80))
@given(events, views, st.integers(1, 40))
def test_bins_are_those_of_the_events_whatever_has_been_put_in_bins_before(rows, at, block):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(pyramid, "_COLUMNS_A_BLOCK", 8)
        tasks = table_of(rows, block=block)
        grid = check(tasks, rows, view_of(at))
        plain = table_of(rows, block=10**6)
        assert check(plain, rows, view_of(at)) == grid, "while all events are kept, bins are as narrow as wanted"


@settings(deadline=None, max_examples=examples(80))
@given(events, views, st.integers(1, 20), st.floats(0, 1))
def test_bins_of_events_that_have_gone_are_theirs_perhaps_wider(rows, at, block, share):
    first_row = int(share * len(rows)) // block * block
    tasks = table_of(rows, block=block, first_row=first_row)
    check(tasks, rows, view_of(at))


@settings(deadline=None, max_examples=examples(80))
@given(events, views, st.integers(1, 20), st.integers(0, 300))
def test_bins_of_old_times_get_wider_when_they_are_too_many(rows, at, block, most):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(pyramid, "MAX_BINS", most)
        patched.setattr(bins, "_CHUNK_COLUMNS", 4)
        patched.setattr(bins, "_COLUMN_MASK", 3)
        tasks = table_of(rows, block=block, first_row=len(rows) // block * block)
        check(tasks, rows, view_of(at))
        top = tasks.pyramid._levels[-1]
        assert sum(level.size for level in tasks.pyramid._levels) <= max(most, top.size)


@settings(deadline=None, max_examples=examples(60))
@given(events, views, st.integers(1, 40), st.integers(0, 3))
def test_a_view_looks_at_few_events_one_by_one_and_rather_has_wider_bins(rows, at, block, most):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(pyramid, "MAX_SCANNED", most)
        check(table_of(rows, block=block), rows, view_of(at))


@settings(deadline=None, max_examples=examples(60))
@given(events, views, st.integers(1, 40))
def test_rows_are_found_by_time_whatever_block_they_are_in(rows, at, block):
    tasks, view = table_of(rows, block=block), view_of(at)
    overlap = (tasks["start_s"] <= view.stop_s) & (tasks["stop_s"] >= view.start_s)
    assert tasks.rows_between(view.start_s, view.stop_s).tolist() == np.flatnonzero(overlap).tolist()


def test_old_times_have_no_single_events_but_bins():
    rows = [(n * 1000, 900, n % 2, 0, 1) for n in range(200)]
    tasks, lanes = table_of(rows, block=50, first_row=100), np.arange(2)
    new, old = View(ORIGIN_S + 0.15, ORIGIN_S + 0.16, 0, 2), View(ORIGIN_S + 0.02, ORIGIN_S + 0.03, 0, 2)
    assert len(rows_in_view(tasks, lanes, new, 2)) == 11
    assert rows_in_view(tasks, lanes, old, 2) is None
    found, grid, is_coarse = bins_in_view(tasks, lanes, old)
    assert is_coarse and grid.width_us == 1000
    assert found.tasks.sum() in (10, 11)


def test_a_bin_of_many_kinds_keeps_those_that_take_most_time(monkeypatch):
    monkeypatch.setattr(pyramid, "_SUMMED_TOGETHER", 1)  # so that there are bins to merge
    rows = [(0, 10 + layer, 0, layer, 1) for layer in range(36)]
    tasks = table_of(rows, block=4, first_row=36, batch=4)
    found, _, _ = bins_in_view(tasks, np.arange(1), View(ORIGIN_S - 1, ORIGIN_S + 1, 0, 1))
    assert found.tasks.tolist() == [36]
    assert round(found.busy_s[0] * 1e6) == sum(took_us for _, took_us, *_ in rows)
    (part,) = tasks.pyramid._levels[-1]._chunks[0]
    assert len(part.code) <= bins.KINDS_A_BIN + 1
    assert found.kind.tolist() == [OTHER_KIND], "all others together took most"


@given(st.lists(st.integers(0, 1000) | st.integers(0, 10**7), max_size=50))
def test_distinct_values_are_those_of_numpy(values):
    column = np.array(values, "u4")
    for found, expected in zip(distinct_of(column), np.unique(column, return_inverse=True), strict=True):
        assert found.tolist() == expected.tolist()


def test_a_pause_parts_a_block_so_that_what_is_before_and_after_keeps_narrow_bins():
    rows = [(n * 1000 + (n >= 50) * 3600 * 10**6, 900, 0, 0, 1) for n in range(100)]
    tasks = table_of(rows, block=100, first_row=100, batch=100)
    _, grid, _ = bins_in_view(tasks, np.arange(1), View(ORIGIN_S + 3600, ORIGIN_S + 3600.1, 0, 1))
    assert grid.width_us <= 1000
