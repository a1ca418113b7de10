"""CPU that a task of a Dask graph costs, all processes together: on a client of ours, and on dask.distributed, in one run.

    python -m benchmarks.dask_graphs [n_tasks]

Graphs of independent calls, and of a chain of layers; each is run once before it is measured.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import process_time
from typing import Any

import dask
import distributed
import glassloom
import psutil


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


def us_per_task(get: Callable[..., Any], n_tasks: int, n_layers: int) -> float:
    """Return the CPU of a task in microseconds."""
    get(*graph_of(100, n_layers))
    graph, keys = graph_of(n_tasks, n_layers)
    before_s = cpu_s()
    get(graph, keys)
    return (cpu_s() - before_s) / n_tasks * 1e6


def main() -> None:
    """Print a line for each kind of graph."""
    n_tasks = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    for what, n_layers in (("independent", 1), ("10 layers", 10)):
        with glassloom.Client(n_workers=2, threads_per_worker=1, set_as_default=False) as client:
            ours = us_per_task(client.get, n_tasks, n_layers)
        with (
            distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
            distributed.Client(cluster, set_as_default=False) as theirs,
        ):
            distributed_us = us_per_task(theirs.get, n_tasks, n_layers)
        threads = us_per_task(glassloom.get, n_tasks, n_layers)
        dask_threads = us_per_task(dask.threaded.get, n_tasks, n_layers)
        print(
            f"{what}: client {ours:.0f} us a task, distributed {distributed_us:.0f} us ({distributed_us / ours:.1f}x); "
            f"threads {threads:.0f} us, Dask's threads {dask_threads:.0f} us ({dask_threads / threads:.1f}x)",
            flush=True,
        )


if __name__ == "__main__":
    main()
