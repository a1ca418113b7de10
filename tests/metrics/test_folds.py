"""The summary of a cluster equals its last words."""

from __future__ import annotations

from glassloom_metrics.folds import ClusterSummary
from glassloom_metrics.protocol import Life, Progress, WorkerJoined, WorkerLeft, WorkerSamples


def joined(worker: int, limit: int | None = 100) -> WorkerJoined:
    return WorkerJoined(0.0, worker, f"w{worker}", 1, nthreads=worker + 2, memory_limit_bytes=limit)


def samples(workers: list[int], cpu: list[float], rss: list[int]) -> WorkerSamples:
    zeros = [0] * len(workers)
    return WorkerSamples(1.0, workers, cpu, rss, zeros, zeros, zeros, zeros, zeros)


def summary_of(*messages) -> dict:
    summary = ClusterSummary()
    for message in messages:
        summary.apply(message)
    return summary.as_dict()


def test_a_cluster_that_said_nothing_is_empty():
    assert summary_of(Life(0.0, "started")) == {
        "problem": "", "workers": 0, "threads": 0, "memory_bytes": 0, "memory_limit_bytes": None, "cpu_percent": 0,
        "tasks": {"waiting": 0, "ready": 0, "running": 0, "memory": 0, "released": 0, "erred": 0},
    }  # fmt: skip


def test_workers_add_up_while_they_are_there():
    messages = [joined(0), joined(1), samples([0, 1, 8], [10.0, 20.0, 99.0], [5, 6, 99]), samples([0], [40.0], [7])]
    got = summary_of(*messages)
    assert (got["workers"], got["threads"], got["memory_bytes"], got["memory_limit_bytes"]) == (2, 5, 13, 200)
    assert got["cpu_percent"] == 60.0
    got = summary_of(*messages, WorkerLeft(2.0, 0, "killed"), samples([0, 1], [5.0, 21.0], [1, 8]))
    assert (got["workers"], got["memory_bytes"], got["cpu_percent"]) == (1, 8, 21.0)


def test_a_worker_without_a_limit_leaves_the_cluster_without_one():
    assert summary_of(joined(0), joined(1, None))["memory_limit_bytes"] is None


def test_progress_counts_the_last_word_of_each_layer():
    got = summary_of(
        Progress(1.0, [0, 1], [5, 1], [0, 0], [2, 0], [1, 0], [0, 0], [0, 7]),
        Progress(2.0, [0], [0], [3], [1], [2], [1], [1]),
    )
    assert got["tasks"] == {"waiting": 1, "ready": 3, "running": 1, "memory": 2, "released": 1, "erred": 8}
