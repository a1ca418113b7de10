"""Level of detail: few rectangles whatever there is to show, and nothing lost in the sums."""

from __future__ import annotations

import numpy as np
import pytest
from glassloom_dashboards.folds import pyramid, task_table
from glassloom_dashboards.folds.lod import (
    MAX_BINS,
    MAX_KINDS,
    MAX_LONG,
    OTHER_KIND,
    View,
    bins_beside_long,
    bins_in_view,
    grid_for,
    rows_in_view,
)
from glassloom_dashboards.folds.task_table import ACTION_BITS, TaskTable
from glassloom_metrics.protocol import Action
from hypothesis import given, settings
from hypothesis import strategies as st
from long_tests import examples

ORIGIN_S = 1_700_000_000.0


def table(start_s, length_s, *, lane=None, layer=None, ok=None, action=None, names=()) -> TaskTable:
    start_s = np.asarray(start_s, float)
    count = len(start_s)
    tasks = TaskTable(ORIGIN_S)
    tasks.names.add(range(len(names)), names)
    tasks.extend(
        {
            "layer": np.asarray(layer if layer is not None else np.zeros(count), "u4"),
            "worker": np.asarray(lane if lane is not None else np.zeros(count), "u4"),
            "lane": np.zeros(count, "u2"),
            "action": np.asarray(action if action is not None else np.zeros(count), "u1"),
            "start_s": ORIGIN_S + start_s,
            "stop_s": ORIGIN_S + start_s + np.asarray(length_s, float),
            "nbytes": np.zeros(count, "i8"),
            "ok": np.asarray(ok if ok is not None else np.ones(count), "u1"),
        },
        [""] * count,
    )
    return tasks


def positions(tasks: TaskTable) -> np.ndarray:
    """Return lanes in the order of the workers' numbers."""
    order = sorted(tasks.threads)
    return np.array([order.index(thread) for thread in tasks.threads], np.int64)


events = st.lists(
    st.tuples(st.floats(0, 100), st.floats(0, 60), st.integers(0, 130), st.integers(0, 9), st.booleans()),
    min_size=1,
    max_size=150,
)


@settings(max_examples=examples(80), deadline=None)
@given(events, st.floats(0, 90), st.floats(0.001, 100))
def test_bins_conserve_tasks_failures_and_busy_time_and_never_exceed_their_cap(rows, from_s, for_s):
    start_s, length_s, lane, layer, ok = map(np.array, zip(*rows, strict=True))
    tasks = table(start_s, length_s, lane=lane, layer=layer, ok=ok)
    lanes = positions(tasks)
    bins, grid, _ = bins_in_view(tasks, lanes, View(ORIGIN_S + from_s, ORIGIN_S + from_s + for_s, 0, len(lanes)))

    inside_s = np.minimum(tasks["stop_s"], grid.stop_s) - np.maximum(tasks["start_s"], grid.start_s)
    middle_us = np.rint((tasks["start_s"] + tasks["stop_s"] - 2 * ORIGIN_S) * 5e5)
    is_seen = (middle_us >= grid.start_us) & (middle_us < grid.stop_us)
    assert grid.rows * grid.columns <= MAX_BINS
    assert len(bins.kind) <= MAX_BINS
    assert abs(bins.tasks.sum() - is_seen.sum()) <= np.count_nonzero(
        (abs(middle_us - grid.start_us) <= 1) | (abs(middle_us - grid.stop_us) <= 1)
    )
    assert bins.failed.sum() <= np.count_nonzero(tasks["ok"] == 0)
    assert bins.busy_s.sum() == pytest.approx(np.maximum(inside_s, 0).sum(), abs=1e-5 * max(len(rows), 1))
    assert grid.start_s <= ORIGIN_S + from_s and grid.stop_s >= ORIGIN_S + from_s + for_s


@settings(max_examples=examples(80), deadline=None)
@given(events, st.integers(0, 20), st.integers(0, 30), st.integers(1, 30))
def test_bins_of_some_lanes_among_idle_ones_hold_the_events_of_those_lanes_and_no_others(rows, idle, low, count):
    start_s, length_s, lane, layer, ok = map(np.array, zip(*rows, strict=True))
    tasks = table(start_s, length_s, lane=lane, layer=layer, ok=ok)
    lanes = positions(tasks) * 2 + idle  # between and above them are lanes that never ran anything
    bins, _, _ = bins_in_view(tasks, lanes, View(ORIGIN_S, ORIGIN_S + 200, low, low + count))
    lane_of_row = lanes[tasks["thread"]]
    assert bins.tasks.sum() == np.count_nonzero((lane_of_row >= low) & (lane_of_row < low + count))
    assert (bins.low >= low).all() and (bins.high <= low + count).all()


def test_a_bin_shows_the_layer_that_took_most_of_it():
    tasks = table([0.0, 4.0, 4.6], [4.0, 0.6, 0.4], layer=[1, 2, 3])
    bins = bins_in_view(tasks, positions(tasks), View(ORIGIN_S, ORIGIN_S + 399, 0, 1))[0]
    assert (bins.kind >> ACTION_BITS).tolist() == [1, 1, 1, 1, 2]
    assert bins.tasks.tolist() == [0, 0, 1, 0, 2]
    assert np.allclose(bins.utilisation, 1.0, atol=1e-5)


def test_the_grid_does_not_move_while_the_view_grows():
    first = grid_for(View(ORIGIN_S, ORIGIN_S + 301.0, 0, 4), ORIGIN_S)
    second = grid_for(View(ORIGIN_S, ORIGIN_S + 390.0, 0, 4), ORIGIN_S)
    assert (first.start_s, first.width_s) == (second.start_s, second.width_s)


def test_many_lanes_share_rows_and_a_row_is_full_only_if_all_its_lanes_are():
    tasks = table([0.0] * 80, [10.0] * 80, lane=np.arange(80) * 2)
    everyone = np.arange(80) * 2  # every other lane is idle
    bins, grid, _ = bins_in_view(tasks, everyone, View(ORIGIN_S, ORIGIN_S + 10, 0, 160))
    assert grid.lanes_a_row == 2
    assert bins.utilisation.max() == pytest.approx(0.5)


def test_the_rarest_of_too_many_layers_are_shown_as_others():
    count = 3 * MAX_KINDS
    layer = np.concatenate([np.arange(count), np.arange(MAX_KINDS - 1)])
    tasks = table(np.arange(len(layer)), np.ones(len(layer)), layer=layer)
    bins = bins_in_view(tasks, positions(tasks), View(ORIGIN_S, ORIGIN_S + len(layer), 0, 1))[0]
    assert OTHER_KIND in bins.kind
    assert bins.tasks.sum() == len(layer)


def names_of_kinds(tasks, names, bins):
    return {names[layer] if layer >= 0 else "other" for layer in (bins.kind >> ACTION_BITS).tolist()}


@pytest.mark.parametrize("block_rows", [16, 10**6])
def test_layers_of_one_name_count_as_one_however_many_they_are(monkeypatch, block_rows):
    monkeypatch.setattr(task_table, "_BLOCK_ROWS", block_rows)
    monkeypatch.setattr(pyramid, "_SUMMED_TOGETHER", 1)
    layers, each = 5 * MAX_KINDS, 8
    names = ["slow"] * layers
    layer = np.repeat(np.arange(layers), each)
    tasks = table(np.arange(layers * each), np.full(layers * each, 0.9), layer=layer, names=names)
    view = View(ORIGIN_S, ORIGIN_S + 100_000, 0, 1)  # of which a bin holds more layers than a bin tells apart
    for shown in (view, View(ORIGIN_S, ORIGIN_S + layers * each, 0, 1)):
        bins = bins_in_view(tasks, positions(tasks), shown)[0]
        assert names_of_kinds(tasks, names, bins) == {"slow"}
        assert bins.tasks.sum() == layers * each


def test_layers_that_are_named_after_their_tasks_count_as_one_too(monkeypatch):
    monkeypatch.setattr(task_table, "_BLOCK_ROWS", 16)
    count = 3 * MAX_KINDS
    tasks = table(np.arange(count), np.ones(count), layer=np.arange(count))
    tasks.names.add(range(count), ["slow"] * count)
    bins = bins_in_view(tasks, positions(tasks), View(ORIGIN_S, ORIGIN_S + count, 0, 1))[0]
    assert set(bins.kind.tolist()) == {0}


@pytest.mark.parametrize("block_rows", [16, 10**6])
def test_what_a_worker_does_beside_computing_is_told_apart_however_many_layers_there_are(monkeypatch, block_rows):
    monkeypatch.setattr(task_table, "_BLOCK_ROWS", block_rows)
    monkeypatch.setattr(pyramid, "_SUMMED_TOGETHER", 1)
    count, actions = 6 * MAX_KINDS, [int(action) for action in Action if action is not Action.COMPUTE]
    action = np.repeat(actions, -(-count // len(actions)))[:count]
    names = [f"op{layer}" for layer in range(count)]
    tasks = table(np.arange(count), np.ones(count), layer=np.arange(count), action=action, names=names)
    for stop_s in (count, 20 * count):
        bins = bins_in_view(tasks, positions(tasks), View(ORIGIN_S, ORIGIN_S + stop_s, 0, 1))[0]
        assert set((bins.kind & (1 << ACTION_BITS) - 1).tolist()) == set(actions)
        assert any(kind < 0 for kind in bins.kind.tolist()), "the rarest count together"


def test_sparse_layer_numbers_are_binned_as_dense_ones():
    start_s, length_s = np.arange(50.0), np.ones(50)
    dense = table(start_s, length_s, layer=np.arange(50) % 5)
    sparse = table(start_s, length_s, layer=np.arange(50) % 5 * 800_000_000)
    view = View(ORIGIN_S, ORIGIN_S + 50, 0, 1)
    a, b = (bins_in_view(tasks, positions(tasks), view)[0] for tasks in (dense, sparse))
    assert np.array_equal(a.busy_s, b.busy_s)
    assert ((b.kind >> ACTION_BITS) == (a.kind >> ACTION_BITS) * 800_000_000).all()


def test_lanes_out_of_view_are_left_out():
    tasks = table([0.0, 0.0, 0.0], [1.0, 1.0, 1.0], lane=[0, 1, 2])
    assert rows_in_view(tasks, positions(tasks), View(ORIGIN_S, ORIGIN_S + 1, 1, 2), 3).tolist() == [1]
    bins = bins_in_view(tasks, positions(tasks), View(ORIGIN_S, ORIGIN_S + 1, 1, 2))[0]
    assert bins.tasks.sum() == 1
    assert set(bins.low.tolist()) == {1}


def test_events_that_are_long_beside_the_bins_are_told_apart_and_in_none_of_them():
    short_s = 0.01 * np.arange(20_000)
    start_s, length_s = np.append(short_s, [3.0, 100.0, 150.0]), np.append(np.full(20_000, 0.008), [87.0, 1.0, 40.0])
    tasks = table(start_s, length_s, lane=np.append(np.zeros(20_000), [1, 1, 1]))
    view = View(ORIGIN_S, ORIGIN_S + 200, 0, 2)
    bins, grid, is_coarse, rows = bins_beside_long(tasks, positions(tasks), view)
    assert rows.tolist() == [20_000, 20_002] and not is_coarse
    assert grid.width_s == 1.0 and bins.tasks.sum() == 20_001
    together, _, _ = bins_in_view(tasks, positions(tasks), view)
    assert together.tasks.sum() == 20_003
    assert together.busy_s.sum() == pytest.approx(bins.busy_s.sum() + 87.0 + 40.0)


def test_only_the_longest_of_many_long_events_are_drawn_by_themselves():
    count = MAX_LONG + 50
    places = np.arange(count)
    tasks = table(10.0 * (places // 20), 9 + 0.001 * places, lane=places % 20)
    *_, rows = bins_beside_long(tasks, positions(tasks), View(ORIGIN_S, ORIGIN_S + 200, 0, 20))
    assert rows.tolist() == list(range(50, count))


def test_where_lanes_share_a_row_of_bins_nothing_is_drawn_by_itself():
    tasks = table(np.zeros(200), np.full(200, 100.0), lane=np.arange(200))
    bins, grid, _, rows = bins_beside_long(tasks, positions(tasks), View(ORIGIN_S, ORIGIN_S + 100, 0, 200))
    assert grid.lanes_a_row > 1 and len(rows) == 0 and bins.tasks.sum() == 200
