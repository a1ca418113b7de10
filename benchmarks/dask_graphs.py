"""CPU that a task of a Dask graph costs, all processes together: on a client of ours, and on dask.distributed, in one run.

    python -m benchmarks.dask_graphs [n_tasks] [--rounds 3]

Graphs of independent calls, and of a chain of layers; each is run before it is measured. CPU is that of this process and all below it: client, scheduler and workers.
"""

from __future__ import annotations

import argparse
import uuid
from collections.abc import Callable
from os import getloadavg
from statistics import median
from time import process_time
from typing import Any

import dask
import distributed
import glassloom
import psutil
from dask._expr import LLGExpr


def inc(value: int) -> int:
    """Return the next number."""
    return value + 1


def graph_of(n_tasks: int, n_layers: int) -> tuple[dict[Any, Any], list[Any]]:
    """Return a graph of so many tasks in so many layers, and the keys of the last."""
    width, name = n_tasks // n_layers, "inc-" + dask.base.tokenize(n_tasks, n_layers)
    graph: dict[Any, Any] = {}
    for layer in range(n_layers):
        for number in range(width):
            key = (f"{name}-{layer}", number)
            below = dask._task_spec.TaskRef((f"{name}-{layer - 1}", number)) if layer else number
            graph[key] = dask._task_spec.Task(key, inc, below)
    return graph, [(f"{name}-{n_layers - 1}", number) for number in range(width)]


def cpu_s() -> float:
    """Return the CPU time of this process and of those below it."""
    children = psutil.Process().children(recursive=True)
    return process_time() + sum(sum(child.cpu_times()[:2]) for child in children)


def us_per_task(get: Callable[..., Any], n_tasks: int, n_layers: int, n_rounds: int) -> float:
    """Return the CPU of a task in microseconds: the median of rounds, after one that warms up, each with a graph of its own size."""
    found = []
    for number in range(n_rounds + 1):
        graph, keys = graph_of(n_tasks + number * n_layers, n_layers)
        before_s = cpu_s()
        get(graph, keys)
        found.append((cpu_s() - before_s) / len(graph) * 1e6)
    return median(found[1:])


def on_distributed(n_tasks: int, n_layers: int, n_rounds: int, *, processes: bool) -> float:
    """Return the CPU of a task on a cluster of dask.distributed, whose scheduler and threads of workers are in this process."""
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0", "memory_limit": None}
    with (
        distributed.LocalCluster(processes=processes, **options) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):

        def get(graph: Any, keys: Any) -> Any:
            # With a token of its own, as collections have: else Dask hashes each task of a graph that is a plain dict first.
            return client.get(LLGExpr(graph, _determ_token=uuid.uuid4().hex), keys)

        return us_per_task(get, n_tasks, n_layers, n_rounds)


def main() -> None:
    """Print a line for each kind of graph."""
    parser = argparse.ArgumentParser()
    parser.add_argument("n_tasks", type=int, nargs="?", default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    n_tasks, n_rounds = given.n_tasks, given.rounds
    for what, n_layers in (("independent", 1), ("10 layers", 10)):
        with glassloom.Client(n_workers=2, threads_per_worker=1, set_as_default=False) as client:
            ours = us_per_task(client.get, n_tasks, n_layers, n_rounds)
        workers = on_distributed(n_tasks, n_layers, n_rounds, processes=True)
        inside = on_distributed(n_tasks, n_layers, n_rounds, processes=False)
        threads = us_per_task(glassloom.get, n_tasks, n_layers, n_rounds)
        dask_threads = us_per_task(dask.threaded.get, n_tasks, n_layers, n_rounds)
        print(
            f"{what}: client {ours:.0f} us a task, distributed {workers:.0f} us ({workers / ours:.1f}x), in one process {inside:.0f} us "
            f"({inside / ours:.1f}x); threads {threads:.0f} us, Dask's threads {dask_threads:.0f} us ({dask_threads / threads:.1f}x); "
            f"medians of {n_rounds}, load {getloadavg()[0]:.0f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
