"""What a plan is estimated to take is what its tasks would hold and hand on."""

import glassloom.array as ga
import numpy as np
from glassloom.array.optimize.explain import Estimate, estimate
from glassloom.expr import optimize


def of(lazy):
    (optimized,) = optimize([lazy.expr])
    return estimate(optimized)


def test_a_sum_holds_the_results_of_its_blocks_alone():
    x = ga.ones(1000, chunks=100)
    assert of((x + 1).sum()) == Estimate(peak_bytes=11 * 8, moved_bytes=10 * 8)


def test_a_result_is_held_until_its_last_reader_has_run():
    x = ga.ones((10, 100), chunks=(10, 10)).rechunk((10, 100))  # made as one block of 8,000 bytes
    sums = [(x + n).sum(axis=1) for n in range(3)]
    found = of(ga.concatenate(sums))
    assert found.peak_bytes == 8_000 + 3 * 80  # the block, and all three sums of 80 bytes
    assert found.moved_bytes == 3 * 8_000 + 3 * 80


def test_what_is_wanted_is_held_to_the_end():
    assert of(ga.ones((100, 10), chunks=10)) == Estimate(peak_bytes=8000, moved_bytes=0)


def test_rechunking_hands_everything_on_at_least_once():
    found = of(ga.random.default_rng(0).normal(size=(60, 60), chunks=(10, 60)).rechunk((60, 10)))
    assert found.moved_bytes >= 60 * 60 * 8
    assert found.peak_bytes >= 60 * 60 * 8


def test_unknown_lengths_count_as_none_and_nothing_is_run():
    ran = []
    x = ga.ones(10, chunks=5).map_blocks(ran.append, dtype=float)
    assert of(x[x > 0]).peak_bytes >= 0
    assert "at most on one thread" in x.explain()
    assert ran == []


def test_plans_of_very_many_tasks_are_shown_without_an_estimate():
    x = ga.ones((300, 300), chunks=2).map_blocks(np.sort, dtype=float)
    assert x.expr.n_tasks == 22_500
    assert "held at most" not in x.explain()
