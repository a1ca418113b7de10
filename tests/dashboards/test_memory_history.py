"""Series that stay small: what they keep, beside plain Python; peaks, pauses and what layers held."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from glassloom_dashboards.folds.memory_history import (
    MAX_GONE,
    TOP_LAYERS,
    MemoryHistory,
    bytes_of_layers,
    main_layers,
    pauses,
    peaks,
)
from glassloom_dashboards.folds.thinned import Thinned, thin
from glassloom_metrics.protocol import WorkerJoined
from hypothesis import given
from hypothesis import strategies as st

values = st.lists(st.tuples(st.integers(0, 100), st.integers(0, 2)), min_size=1, max_size=300)


def series_of(rows, keep: int = 4) -> Thinned:
    series = Thinned(("at", "used", "low", "paused"), pick="used", lowest=["low"], highest=["paused"], keep=keep)
    for at, (used, paused) in enumerate(rows):
        series.append([at, used, used, paused])
    return series


@given(values)
def test_thinning_keeps_the_newest_rows_every_bound_and_the_moment_of_the_highest(rows):
    columns = series_of(rows).columns()
    used = [used for used, _ in rows]
    assert (np.diff(columns["at"]) > 0).all()
    newest = min(len(rows), 4)
    assert columns["used"][-newest:].tolist() == used[-newest:]
    assert columns["used"].max() == max(used)
    assert columns["low"].min() == min(used)
    assert columns["paused"].max() == max(paused for _, paused in rows)
    for at, value in zip(columns["at"].tolist(), columns["used"].tolist(), strict=True):
        assert used[int(at)] == value, "each row is a moment that was"


def test_twelve_hours_twice_a_second_take_some_thousand_rows():
    series = series_of(((n % 97, 0) for n in range(12 * 3600 * 2)), keep=512)
    assert 512 * 8 * 0.9 < len(series) < 512 * 9


@given(values, st.floats(0.5, 50.0))
def test_thinning_to_a_grid_keeps_the_highest_row_of_each_bin(rows, width_s):
    columns = {"at": np.arange(len(rows), dtype=float), "used": np.array([used for used, _ in rows], float)}
    thinned = thin(columns | {"low": columns["used"]}, width_s, pick="used", lowest=["low"])
    bins: dict[int, list[float]] = {}
    for at, (used, _) in enumerate(rows):
        bins.setdefault(int(np.floor(at / width_s)), []).append(used)
    assert thinned["used"].tolist() == [max(bin_) for bin_ in bins.values()]
    assert thinned["low"].tolist() == [min(bin_) for bin_ in bins.values()]


def sample(managed: int = 0, shared: int = 0, unmanaged: int = 0, spilled: int = 0, pressure: int = 0, device: int = 0):
    return SimpleNamespace(
        managed_bytes=managed,
        shared_bytes=shared,
        unmanaged_bytes=unmanaged,
        spilled_bytes=spilled,
        pressure=pressure,
        device_held_bytes=device,
        device_pool_bytes=2 * device,
    )


def joined(worker: int, limit: int | None = 1000) -> WorkerJoined:
    return WorkerJoined(0.0, worker, f"w{worker}", 1, 2, limit)


def test_the_history_sums_what_is_on_devices_and_keeps_its_highest_values():
    history = MemoryHistory()
    for at_s in range(10_000):
        device = 5 if at_s == 40 else 1
        history.add(at_s, [0, 1], {0: sample(managed=9), 1: sample(device=device)}, {0: joined(0), 1: joined(1)}, {})
    columns = history.columns()
    assert columns["device"].max() == 5
    assert columns["pool"].max() == 10
    assert columns["total"].max() == 9, "what is on devices isn't in the host's memory"


def test_the_history_sums_workers_and_says_what_layers_held_at_the_peak():
    history = MemoryHistory()
    workers = {0: joined(0), 1: joined(1)}
    for at_s, used in enumerate([10, 400, 20, 30]):
        samples = {0: sample(managed=used, spilled=5), 1: sample(shared=used, unmanaged=1, pressure=2 * (at_s == 1))}
        history.add(at_s, [0, 1], samples, workers, {3: 7 * at_s, 4: 100 - at_s, 5: 0})
    columns = history.columns()
    assert columns["total"].tolist() == [21, 801, 41, 61]
    assert columns["spilled"].tolist() == [5] * 4 and columns["limit"].tolist() == [2000] * 4
    assert columns["held"].tolist() == [100, 106, 112, 118]
    highest = peaks(columns)[0]
    assert (highest.at_s, highest.total_bytes, highest.held) == (1, 801, ((4, 99), (3, 7)))
    assert pauses(columns) == [(1, 2, 1)]
    assert main_layers(columns, 1) == [4]
    assert [column.tolist() for column in bytes_of_layers(columns, [3, 9])] == [[0, 7, 14, 21], [0, 0, 0, 0]]
    assert history.columns(1)["total"].tolist() == [11, 401, 21, 31]


def test_a_worker_without_a_limit_leaves_the_cluster_without_one():
    history = MemoryHistory()
    history.add(0.0, [0], {0: sample()}, {0: joined(0), 1: joined(1, None)}, {})
    assert np.isnan(history.columns()["limit"]).all()
    assert peaks(history.columns()) == []


def test_the_histories_of_the_workers_that_left_first_are_forgotten():
    history = MemoryHistory()
    for worker in range(MAX_GONE + 40):
        history.add(worker, [worker], {worker: sample(managed=1)}, {worker: joined(worker)}, {})
    assert history.workers() == list(range(39, MAX_GONE + 40))


@pytest.mark.parametrize("count", [0, 1, TOP_LAYERS, 3 * TOP_LAYERS])
def test_of_many_layers_those_that_hold_most_are_kept(count):
    history = MemoryHistory()
    held = {layer: 1000 + layer for layer in range(count)}
    history.add(0.0, [0], {0: sample(managed=1)}, {0: joined(0)}, held)
    layers = main_layers(history.columns(), 12)
    assert layers == sorted(held, reverse=True)[:12]
