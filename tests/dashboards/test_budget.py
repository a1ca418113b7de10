"""Threads times wall clock: the parts are never negative and always add up."""

from __future__ import annotations

from array import array

import numpy as np
import pytest
from glassloom_dashboards.folds import task_table
from glassloom_dashboards.folds.aggregate import ClusterAggregate
from glassloom_dashboards.folds.budget import PARTS, budget_of, run_shares, split
from glassloom_dashboards.folds.event_columns import values_of
from glassloom_dashboards.folds.task_waits import waits_of
from glassloom_metrics.protocol import (
    TRANSFER_LANE,
    Action,
    Hello,
    Position,
    Running,
    Runs,
    TaskEvents,
    WorkerJoined,
    WorkerLeft,
    task_events,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from opened_pages import aggregate_of
from synthetic import STARTED_AT_S, Shape

spans = st.tuples(
    st.integers(0, 2), st.integers(0, 1), st.sampled_from(list(Action)), st.floats(0, 20), st.floats(0, 5)
)


def cluster(workers: int = 1, threads: int = 2, joined_s: float = 0.0) -> ClusterAggregate:
    aggregate = ClusterAggregate()
    aggregate.apply(Hello(2, "c1", "demo", "processes", STARTED_AT_S))
    for worker in range(workers):
        aggregate.apply(WorkerJoined(STARTED_AT_S + joined_s, worker, f"w{worker}", 1, threads))
    return aggregate


def events(first: int, rows) -> TaskEvents:
    """Return events from (worker, lane, action, start, seconds)."""
    worker, lane, action, start_s, took_s = zip(*rows, strict=True)
    start_s = [STARTED_AT_S + at for at in start_s]
    count = len(rows)
    columns = {
        "layer": [0] * count, "worker": worker, "lane": lane, "action": [int(one) for one in action],
        "start_s": start_s, "duration_s": took_s, "nbytes": 1, "ok": 1,
    }  # fmt: skip
    return task_events(first, [""] * count, **columns)


def seconds(aggregate: ClusterAggregate, start_s: float, stop_s: float) -> dict[str, float]:
    budget = budget_of(aggregate, STARTED_AT_S + start_s, STARTED_AT_S + stop_s)
    return {part: round(value, 4) for part, value in budget.totals.items() if round(value, 4)}


@settings(deadline=None)
@given(st.lists(spans, min_size=1, max_size=40), st.integers(1, 3), st.floats(0, 10), st.floats(0.1, 30))
def test_parts_are_never_negative_and_add_up_to_a_hundred_per_cent(rows, workers, start_s, span_s):
    aggregate = cluster(workers)
    aggregate.apply(events(0, rows))
    budget = budget_of(aggregate, STARTED_AT_S + start_s, STARTED_AT_S + start_s + span_s)
    assert (budget.seconds >= 0).all()
    there = budget.seconds.sum(axis=1) > 1e-9
    assert budget.shares[there].sum(axis=1) == pytest.approx(np.ones(there.sum()))


@settings(deadline=None)
@given(st.lists(spans, min_size=2, max_size=40), st.integers(1, 39))
def test_events_that_are_in_bins_count_as_if_they_were_looked_at_one_by_one(rows, size):
    span = (STARTED_AT_S, STARTED_AT_S + 30)
    plain, binned = cluster(3), cluster(3)
    plain.apply(events(0, rows))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(task_table, "_BLOCK_ROWS", size)
        binned.apply(events(0, rows))
    width_s = budget_of(plain, *span).width_s
    assert budget_of(binned, *span).width_s == width_s
    assert budget_of(binned, *span).seconds == pytest.approx(budget_of(plain, *span).seconds)


def test_threads_compute_move_spill_and_idle():
    aggregate = cluster(threads=2)
    rows = [(0, 0, Action.COMPUTE, 0.0, 4.0), (0, 1, Action.COMPUTE, 0.0, 1.0), (0, 0, Action.SPILL_WRITE, 1.0, 2.0)]
    rows += [(0, 0, Action.SERIALISE, 3.0, 0.5), (0, 0, Action.TRANSFER, 6.0, 1.0), (0, 0, Action.COMPUTE, 9.0, 1.0)]
    aggregate.apply(events(0, rows))
    assert seconds(aggregate, 0.0, 10.0) == {
        "compute": 6.0, "transfer": 1.0, "publish": 0.5, "spill": 2.0, "idle": 10.5
    }  # fmt: skip


def test_what_is_done_while_all_threads_compute_costs_no_thread():
    aggregate = cluster(threads=1)
    aggregate.apply(events(0, [(0, 0, Action.COMPUTE, 0.0, 4.0), (0, 0, Action.SPILL_WRITE, 1.0, 2.0)]))
    assert seconds(aggregate, 0.0, 4.0) == {"compute": 4.0}


def test_one_workers_spilling_takes_nothing_from_another_workers_idleness():
    aggregate = cluster(workers=2, threads=1)
    aggregate.apply(events(0, [(0, 0, Action.COMPUTE, 0.0, 4.0), (0, 0, Action.SPILL_WRITE, 1.0, 2.0)]))
    assert seconds(aggregate, 0.0, 4.0)["idle"] == 4.0


def test_only_the_time_counts_in_which_a_worker_was_there_and_nothing_after_now():
    aggregate = cluster(workers=2, threads=1, joined_s=1.0)
    aggregate.apply(WorkerLeft(STARTED_AT_S + 3.0, 1, "killed"))
    aggregate.apply(events(0, [(0, 0, Action.COMPUTE, 4.0, 1.0)]))
    assert seconds(aggregate, 0.0, 100.0) == {"compute": 1.0, "idle": 5.0}


def test_tasks_beyond_the_threads_are_threads_of_their_own():
    busy_s = np.array([3.0, 0.5, 1.0, 0.0, 0.0, 1.0]).reshape(1, 6, 1)
    parts = split(np.array([[1.0]]), busy_s, np.ones(1))
    assert parts[0, :, 0].tolist() == [2.5, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]


def run(start_s: float, stop_s: float | None, number: int = 0) -> Runs:
    ended = None if stop_s is None else STARTED_AT_S + stop_s
    return Runs([number], ["compute"], [""], [""], [""], [""], [""], [STARTED_AT_S + start_s], [ended], ["running"],
                [1], [0], [0])  # fmt: skip


def test_getting_inputs_scheduling_and_having_no_task_ready_are_told_apart():
    aggregate = cluster(threads=1)
    aggregate.apply(run(1.0, 9.0))
    aggregate.apply(
        task_events(0, ["a", "b"], ok=1, worker=0, action=0, start_s=array("d", [STARTED_AT_S + 2, STARTED_AT_S + 6]),
                    duration_s=array("f", [2.0, 2.0]), sent_wait_s=array("f", [0.25, 2.0]),
                    ready_wait_s=array("f", [0.25, 0.0]), fetch_s=array("f", [0.5, 0.0]), last_input=array("I", [0, 1]))
    )  # fmt: skip
    aggregate.apply(Position(STARTED_AT_S + 10, 1))
    aggregate.last_at_s = STARTED_AT_S + 10
    # b was sent ahead of its input, which was there at 4: ready from then, or 2 s; a was ready for half a second
    assert seconds(aggregate, 0.0, 10.0) == {
        "compute": 3.5, "inputs": 0.5, "engine": 2.5, "unready": 1.5, "idle": 2.0
    }  # fmt: skip


def test_a_task_that_was_sent_ahead_was_ready_when_its_last_input_was_there():
    sent_s = {"start_s": array("d", [10.0, 14.0, 20.0]), "sent_wait_s": array("f", [1.0, 9.0, 2.0])}
    rows = {"duration_s": array("f", [3.0, 1.0, 1.0]), "last_input": array("I", [2, 1, 9]), "ok": 1}
    message = task_events(2, ["", "", ""], **sent_s, **rows)
    waits = waits_of(values_of([message]), 3, np.array([9.75, 0.0]))
    assert waits["ready_s"].tolist() == [0.25, 1.0, 2.0]
    assert waits["fetch_s"].tolist() == [0.0, 0.0, 0.0]
    assert waits_of(values_of([message], 2), 1, np.zeros(4))["ready_s"].tolist() == [2.0]


def test_tasks_that_run_and_those_that_were_lost_with_their_worker_compute():
    aggregate = cluster(workers=2, threads=1)
    aggregate.apply(run(1.0, None))
    started_s = [STARTED_AT_S + 2.0, STARTED_AT_S + 1.0]
    aggregate.apply(Running(STARTED_AT_S + 10, [0, 1], [0, 0], [7, 7], ["0", "1"], started_s))
    assert seconds(aggregate, 0.0, 10.0) == {"compute": 17.0, "unready": 1.0, "idle": 2.0}
    aggregate.apply(WorkerLeft(STARTED_AT_S + 11, 1, "killed"))
    assert seconds(aggregate, 0.0, 20.0) == {"compute": 18.0, "unready": 2.0, "idle": 2.0}
    assert aggregate.running.busy_s({7}) == 18.0
    assert aggregate.running.busy_s({8}) == 0.0
    aggregate.apply(Running(STARTED_AT_S + 11, [0], [0], [7], ["0"], started_s[:1]))
    aggregate.apply(
        task_events(0, ["0"], ok=1, worker=0, action=0, layer=7, start_s=array("d", [STARTED_AT_S + 2]),
                    duration_s=array("f", [9.0]))
    )  # fmt: skip
    assert seconds(aggregate, 0.0, 20.0) == {"compute": 19.0, "unready": 1.0, "idle": 2.0}, "none counts twice"


def bursts(count: int, every_s: float) -> ClusterAggregate:
    """Return a cluster whose 4 threads run 20 tasks of 0.2 s in each burst, all ready at once; each begins 10 ms after the last."""
    aggregate = cluster(threads=4)
    for number in range(count):
        at_s = number * every_s
        start_s = [at_s + 0.01 + place // 4 * 0.21 for place in range(20)]
        ready_s = [start - at_s for start in start_s]
        aggregate.apply(run(at_s, at_s + 1.05, number))
        aggregate.apply(
            task_events(20 * number, [str(place) for place in range(20)], ok=1, worker=0, action=0,
                        lane=array("H", [place % 4 for place in range(20)]),
                        start_s=array("d", [STARTED_AT_S + start for start in start_s]),
                        duration_s=array("f", [0.2] * 20), sent_wait_s=array("f", ready_s),
                        ready_wait_s=array("f", [0.0] * 20))
        )  # fmt: skip
    aggregate.apply(Position(STARTED_AT_S + count * every_s, 1))
    aggregate.last_at_s = STARTED_AT_S + count * every_s
    return aggregate


def test_the_parts_are_the_same_however_wide_the_view_is():
    aggregate = bursts(216, 5.0)
    true = {"compute": 4.0 / 20, "engine": 0.2 / 20, "unready": 0.0, "idle": 15.8 / 20}
    for start_s, stop_s in [(0.0, 1080.0), (300.0, 900.0), (300.0, 360.0), (300.0, 310.0), (400.0, 405.0)]:
        totals = budget_of(aggregate, STARTED_AT_S + start_s, STARTED_AT_S + stop_s - 1e-3, is_exact=True).totals
        whole = sum(totals.values())
        assert whole == pytest.approx(4 * (stop_s - start_s), rel=0.01)
        assert {part: totals[part] / whole for part in true} == pytest.approx(true, abs=0.01), (start_s, stop_s)


def test_a_task_is_held_up_only_while_the_thread_that_runs_it_is_free():
    aggregate = cluster(threads=1)
    aggregate.apply(run(0.0, 10.0))
    values = {"ok": 1, "worker": 0, "action": 0, "ready_wait_s": array("f", [0.0]), "duration_s": array("f", [4.0])}
    aggregate.apply(
        task_events(0, ["a"], start_s=array("d", [STARTED_AT_S + 1]), sent_wait_s=array("f", [1]), **values)
    )
    aggregate.apply(
        task_events(1, ["b"], start_s=array("d", [STARTED_AT_S + 6]), sent_wait_s=array("f", [6]), **values)
    )
    aggregate.last_at_s = STARTED_AT_S + 10
    assert seconds(aggregate, 0.0, 10.0) == {"compute": 8.0, "engine": 2.0}
    assert aggregate.tasks["held_up_s"].tolist() == [1.0, 1.0]


def test_runs_that_overlap_count_once():
    shares = run_shares([(0.0, 2.5), (2.0, 3.0), (1.0, 1.5), (4.75, 99.0)], 0.0, 1.0, 6)
    assert shares.tolist() == [1.0, 1.0, 1.0, 0.0, 0.25, 1.0]


def test_idle_threads_count_only_in_the_run_that_is_followed():
    aggregate = cluster(threads=2)
    aggregate.apply(events(0, [(0, 0, Action.COMPUTE, 4.05, 3.0)]))
    span = (STARTED_AT_S + 4.05, STARTED_AT_S + 7.05)
    budget = budget_of(aggregate, *span, is_exact=True)
    assert budget.seconds.sum() == pytest.approx(6.0, abs=1e-4)


def test_nothing_is_known_of_a_cluster_that_was_not_heard():
    aggregate = ClusterAggregate()
    budget = budget_of(aggregate, 0.0, 10.0)
    assert budget.totals == dict.fromkeys(PARTS, 0.0)
    aggregate.apply(Position(1.0, 1))


def test_a_large_cluster_adds_up_too():
    aggregate = aggregate_of(Shape(workers=500, threads=2, tasks=20_000))
    stop_s = aggregate.tasks.stop_s
    budget = budget_of(aggregate, STARTED_AT_S, stop_s)
    now_s = max(stop_s, aggregate.last_at_s)
    whole_s = 1000 * (min(float(budget.start_s[-1] + budget.width_s), now_s) - STARTED_AT_S)
    assert budget.seconds.sum() == pytest.approx(whole_s, rel=1e-6)


def test_reading_inputs_is_a_part_of_the_tasks_that_do_so():
    aggregate = cluster()
    aggregate.apply(events(0, [(0, TRANSFER_LANE, Action.TRANSFER, 1.0, 1.0), (0, 0, Action.COMPUTE, 1.0, 4.0)]))
    aggregate.apply(Position(STARTED_AT_S + 8.0, 9))
    parts = seconds(aggregate, 0.0, 5.0)
    assert (parts["compute"], parts["transfer"], parts["idle"]) == pytest.approx((3.0, 1.0, 6.0))
