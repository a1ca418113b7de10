"""Quantiles out of bins, and stragglers, beside plain Python."""

from __future__ import annotations

import numpy as np
import pytest
from glassloom_dashboards.folds.durations import LONGEST_KEPT, Durations, LongTask
from hypothesis import given
from hypothesis import strategies as st


def computed(layer: np.ndarray, duration_s: np.ndarray) -> tuple[dict[str, np.ndarray], list[str]]:
    """Return columns and index texts of tasks of these durations; the text of each is its duration."""
    zeros = np.zeros(len(layer), int)
    columns = {"layer": layer, "worker": zeros, "action": zeros, "start_s": zeros * 1.0, "stop_s": duration_s}
    return columns, [str(seconds) for seconds in duration_s.tolist()]


seconds = st.lists(st.floats(1e-6, 1e4), min_size=1, max_size=200)


@given(seconds, st.sampled_from([0.05, 0.5, 0.95, 1.0]), st.integers(1, 7))
def test_a_quantile_is_as_exact_as_a_bin_is_narrow(durations_s, share, batch):
    durations = Durations()
    for first in range(0, len(durations_s), batch):
        part = np.array(durations_s[first : first + batch])
        durations.add_rows(*computed(np.full(len(part), 3), part), first)
    one = durations[3]
    assert one.count == len(durations_s) and one.mean_s == pytest.approx(np.mean(durations_s))
    assert one.longest_s == max(durations_s)
    exact = np.quantile(durations_s, share, method="inverted_cdf")
    assert one.quantile(share) == pytest.approx(exact, rel=0.1)
    kept = sorted(one._longest, reverse=True)
    assert [task.seconds for task in kept] == sorted(durations_s, reverse=True)[:LONGEST_KEPT]
    assert all(durations_s[task.row] == task.seconds and task.text == f"{task.seconds}" for task in kept)


@pytest.mark.parametrize("length_s", [0.3, 0.5, 0.0021, 12.0])
def test_the_median_of_tasks_that_take_equally_long_is_just_that(length_s):
    durations = Durations()
    durations.add_rows(*computed(np.zeros(30, int), np.array([0.001, length_s, 20.0] * 10)), 0)
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
    durations.add_rows(*computed(np.zeros(98, int), np.full(98, 0.1)), 0)
    durations.add_rows(*computed(np.zeros(2, int), np.array([5.0, 0.15])), 98)
    assert durations[0].stragglers() == (1, [LongTask(5.0, 98, 0, "5.0")])


def test_few_tasks_have_no_stragglers():
    durations = Durations()
    durations.add_rows(*computed(np.zeros(5, int), np.array([0.1, 0.1, 0.1, 0.1, 50.0])), 0)
    assert durations[0].stragglers() == (0, [])


def test_short_tasks_have_no_stragglers():
    durations = Durations()
    durations.add_rows(*computed(np.zeros(100, int), np.array([1e-5] * 99 + [0.04])), 0)
    assert durations[0].stragglers() == (0, [])
