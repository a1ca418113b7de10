"""What runs now, and what a worker ran when it left."""

from __future__ import annotations

import pytest
from glassloom_dashboards.folds.aggregate import ClusterAggregate
from glassloom_dashboards.folds.running_tasks import MAX_LEFT, LostTask, RunningTask
from glassloom_metrics.protocol import Hello, Running, WorkerJoined, WorkerLeft
from opened_pages import events
from synthetic import STARTED_AT_S


def running(at_s: float, *tasks: tuple[int, int, int, str, float]) -> Running:
    """Return what runs `at_s` seconds after the cluster's start: rows of worker, lane, layer, rest of the key, and start."""
    columns = list(map(list, zip(*tasks, strict=True))) or [[] for _ in range(5)]
    columns[4] = [STARTED_AT_S + started_s for started_s in columns[4]]
    return Running(STARTED_AT_S + at_s, *columns)


@pytest.fixture
def aggregate() -> ClusterAggregate:
    """Return a cluster of two workers that has told nothing else."""
    aggregate = ClusterAggregate()
    aggregate.apply(Hello(2, "c1", "demo", "processes", STARTED_AT_S))
    for worker in range(2):
        aggregate.apply(WorkerJoined(STARTED_AT_S, worker, f"w{worker}", 1, 2))
    return aggregate


def indices(aggregate: ClusterAggregate) -> list[str]:
    return [task.index for task in aggregate.running.now]


def test_what_runs_is_what_was_told_last_without_what_has_ended_since(aggregate):
    assert aggregate.running.at_s is None
    aggregate.apply(running(5.0, (0, 1, 7, "3", 2.0), (1, 0, 7, "0", 1.0)))
    assert indices(aggregate) == ["0", "3"], "those that began first at the front"
    aggregate.apply(running(6.0, (0, 0, 7, "0", 1.0), (0, 1, 7, "1", 5.5)))
    assert indices(aggregate) == ["0", "1"]
    before = aggregate.versions["running"]
    aggregate.apply(events(0, [(1.0, 6.1)], layer=7))  # its key is "0"
    assert indices(aggregate) == ["1"]
    assert aggregate.versions["running"] == before + 1
    aggregate.apply(running(6.5))
    assert indices(aggregate) == []


@pytest.mark.parametrize(
    ("layer", "start_s"), [(8, 1.0), (7, 0.2)], ids=["another layer's task", "an earlier attempt of it"]
)
def test_rows_of_others_end_nothing(aggregate, layer, start_s):
    aggregate.apply(running(5.0, (0, 1, 7, "0", 1.0)))
    aggregate.apply(events(0, [(start_s, 4.0)], layer=layer))
    assert indices(aggregate) == ["0"]


def test_what_a_worker_ran_when_it_left_stays_known(aggregate):
    aggregate.apply(running(5.0, (0, 1, 7, "3", 2.0), (1, 0, 7, "4", 3.0)))
    aggregate.apply(WorkerLeft(STARTED_AT_S + 5.5, 0, "killed by SIGKILL"))
    assert indices(aggregate) == ["4"]
    lost = LostTask(RunningTask(0, 1, 7, "3", STARTED_AT_S + 2.0), STARTED_AT_S + 5.5)
    assert aggregate.running.lost_of(0) == (lost,) and aggregate.running.lost == [lost]
    aggregate.apply(running(6.0))
    assert aggregate.running.lost_of(0) == (lost,)
    for worker in range(10, 11 + MAX_LEFT):
        aggregate.apply(running(7.0, (worker, 0, 7, "3", 6.5)))
        aggregate.apply(WorkerLeft(STARTED_AT_S + 7.0, worker, "killed"))
    assert aggregate.running.lost_of(0) == () and len(aggregate.running.lost) == MAX_LEFT
