"""Quantiles out of bins, and stragglers, beside plain Python."""

from __future__ import annotations

import gc
from unittest.mock import patch

import numpy as np
import pytest
from glassloom_dashboards.folds.durations import LONGEST_KEPT, Durations, LayerDurations, LongTask, joined
from hypothesis import given, settings
from hypothesis import strategies as st
from long_tests import examples


def add(durations: Durations, layer: np.ndarray, duration_s: np.ndarray, *, first: int) -> None:
    """Add tasks of these durations, as rows from number `first` on; the text of each is its duration."""
    zeros = np.zeros(len(layer), int)
    columns = {"layer": layer, "worker": zeros, "action": zeros, "start_s": zeros * 1.0, "stop_s": duration_s}
    durations.add_rows(columns, first, lambda rows: [str(seconds) for seconds in duration_s[rows - first].tolist()])


seconds = st.lists(st.floats(1e-6, 1e4), min_size=1, max_size=200)


@given(seconds, st.sampled_from([0.05, 0.5, 0.95, 1.0]), st.integers(1, 7))
def test_a_quantile_is_as_exact_as_a_bin_is_narrow(durations_s, share, batch):
    durations = Durations()
    for first in range(0, len(durations_s), batch):
        part = np.array(durations_s[first : first + batch])
        add(durations, np.full(len(part), 3), part, first=first)
    one = durations[3]
    assert one.count == len(durations_s) and one.mean_s == pytest.approx(np.mean(durations_s))
    assert one.longest_s == max(durations_s)
    exact = np.quantile(durations_s, share, method="inverted_cdf")
    assert one.quantile(share) == pytest.approx(exact, rel=0.1)
    kept = [LongTask(*task) for task in sorted(one._longest, reverse=True)]
    assert [task.seconds for task in kept] == sorted(durations_s, reverse=True)[:LONGEST_KEPT]
    assert all(durations_s[task.row] == task.seconds and task.text == f"{task.seconds}" for task in kept)


@pytest.mark.parametrize("length_s", [0.3, 0.5, 0.0021, 12.0])
def test_the_median_of_tasks_that_take_equally_long_is_just_that(length_s):
    durations = Durations()
    add(durations, np.zeros(30, int), np.array([0.001, length_s, 20.0] * 10), first=0)
    assert durations[0].quantile(0.5) == length_s
    durations.fold(frozenset(), 0, 7)
    assert durations[7].quantile(0.5) == length_s


def test_layers_are_apart():
    durations = Durations()
    durations.add(np.array([1, 2, 1]), np.array([1.0, 9.0, 3.0]))
    assert (durations[1].mean_s, durations[2].mean_s, durations[5].count) == (2.0, 9.0, 0)
    assert durations[5].quantile(0.5) == 0.0


def test_a_straggler_takes_much_longer_than_nearly_all_others():
    durations = Durations()
    add(durations, np.zeros(98, int), np.full(98, 0.1), first=0)
    add(durations, np.zeros(2, int), np.array([5.0, 0.15]), first=98)
    assert durations[0].stragglers() == (1, [LongTask(5.0, 98, 0, "5.0")])


def test_few_tasks_have_no_stragglers():
    durations = Durations()
    add(durations, np.zeros(5, int), np.array([0.1, 0.1, 0.1, 0.1, 50.0]), first=0)
    assert durations[0].stragglers() == (0, [])


def test_short_tasks_have_no_stragglers():
    durations = Durations()
    add(durations, np.zeros(100, int), np.array([1e-5] * 99 + [0.04]), first=0)
    assert durations[0].stragglers() == (0, [])


ADDED = st.lists(st.tuples(st.integers(0, 700), seconds), min_size=1, max_size=8)


@settings(max_examples=examples(25), deadline=None)
@given(st.lists(ADDED, min_size=1, max_size=6), st.sets(st.integers(0, 700)), st.integers(-1, 700))
def test_layers_that_are_joined_again_are_joined_as_they_are_then(batches, wanted, folded):
    durations = Durations()
    for batch in batches:
        for layer, took_s in batch:
            durations.add(np.full(len(took_s), layer), np.array(took_s))
        again = durations.joined(sorted(wanted, reverse=True))
        fresh = joined(durations[layer] for layer in sorted(wanted))
        assert (again.count, again.total_s) == (fresh.count, pytest.approx(fresh.total_s))
        assert (again.longest_s, again.shortest_s, again._bins) == (fresh.longest_s, fresh.shortest_s, fresh._bins)
    durations.fold(wanted, folded, -2)
    rest = joined(durations[layer] for layer in sorted(wanted))
    assert (durations.joined(sorted(wanted)).count, durations.joined([-2]).count) == (rest.count, durations[-2].count)


def test_of_layers_that_are_joined_again_only_those_beside_one_that_changed_are_read():
    durations = Durations()
    durations.add(np.arange(10_000), np.ones(10_000))
    durations.joined(range(10_000))
    with patch.object(LayerDurations, "include", autospec=True, side_effect=LayerDurations.include) as include:
        assert durations.joined(range(10_000)).count == 10_000
        assert include.call_count == 0
        durations.add(np.array([7]), np.ones(1))
        assert durations.joined(range(10_000)).count == 10_001
    assert 0 < include.call_count <= 128


def test_the_garbage_collector_looks_at_none_of_the_bins_and_long_tasks_of_ten_thousand_layers():
    durations = Durations()
    layer = np.arange(500)
    add(durations, layer, layer + 0.5, first=0)
    gc.collect()
    kept = [one for layer in range(500) for one in (*durations[layer]._bins.values(), *durations[layer]._longest)]
    assert len(kept) == 1000 and not any(map(gc.is_tracked, kept))
