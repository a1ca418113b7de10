"""How long tasks are expected to take: one that lost its CPU for a while says little of the others."""

from __future__ import annotations

from array import array

import pytest
from glassloom.scheduler.layers import Learnt

PREEMPTED_S = 0.2


def learnt(*durations_s: float) -> Learnt:
    found = Learnt()
    for duration_s in durations_s:
        found.add(duration_s, 100)
    return found


def test_the_first_duration_is_the_estimate_and_later_ones_move_it() -> None:
    assert learnt(0.01).duration_s == 0.01
    assert learnt(0.01, 0.02).duration_s == pytest.approx(0.013)
    assert learnt(0.01, 0.0).duration_s == pytest.approx(0.007)


def test_one_long_duration_does_not_double_the_estimate() -> None:
    assert learnt(*[0.001] * 5, PREEMPTED_S).duration_s == pytest.approx(0.0019)
    assert learnt(*[0.001] * 5, PREEMPTED_S, *[0.001] * 5).duration_s < 0.0012


def test_tasks_that_have_become_long_are_believed_within_five() -> None:
    found = learnt(0.001, *[1.0] * 5)
    assert 0.3 < found.duration_s <= 1.0


def test_the_shortest_durations_are_taken_as_measured() -> None:
    assert learnt(0.0, 1e-4).duration_s == pytest.approx(3e-5)
    assert learnt(0.0, PREEMPTED_S).duration_s == pytest.approx(3e-5)
    assert learnt(0.0, *[PREEMPTED_S] * 8).duration_s > 0.1  # zero is no estimate that nothing can leave


@pytest.mark.parametrize("n_tasks", [1, 3, 4, 100])
def test_of_tasks_that_end_together_one_long_duration_does_not_double_the_estimate(n_tasks: int) -> None:
    found = learnt(*[0.001] * 5)
    found.add_many(array("f", [PREEMPTED_S] + [0.001] * (n_tasks - 1)), 100)
    assert 0.001 <= found.duration_s < 0.002


def test_of_the_first_tasks_that_end_together_one_long_duration_does_not_double_the_estimate() -> None:
    found = Learnt()
    found.add_many([PREEMPTED_S, *[0.001] * 9], 100)
    assert (found.duration_s, found.nbytes) == (pytest.approx(0.0013), 100)


def test_tasks_that_end_together_and_most_of_which_are_long_are_believed() -> None:
    found = learnt(0.001)
    found.add_many([0.001, *[1.0] * 9], 300)
    assert found.duration_s > 0.8
    assert found.nbytes == pytest.approx(294, abs=1)


def test_sizes_are_averaged_as_they_are() -> None:
    found = Learnt()
    found.add(1.0, 100)
    found.add(1.0, 1100)
    assert found.nbytes == pytest.approx(400)
