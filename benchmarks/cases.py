"""What is measured. Each function is one contender of one case; it runs in a process of its own and returns figures.

`meter` says what figures are.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from benchmarks import (
    arrays,
    dashboards,
    engine,
    frame_ordinary,
    frame_values,
    frame_workloads,
    frames,
    graphs,
    h2o,
    large,
    memory,
    pages,
)
from benchmarks.meter import Contender, Figures, Meter, cpu_count, peak_rss_mib, per_task
from benchmarks.ray_client import ray_client

N_WORKERS, N_THREADS = 2, 2
NOOP_TASKS = 100_000
NOOP_TASKS_DISTRIBUTED = 20_000  # its cost a task doesn't depend on their number; 100,000 take minutes
W1_SHAPE, W1_CHUNKS = (20_000, 20_000), (2_000, 2_000)


def noop(number: int) -> int:
    """Do nothing."""
    return number


# 100,000 independent tasks that do nothing


def noop_glassloom_threads() -> Figures:
    from glassloom.graph import Graph, Task
    from glassloom.local.threads import default_threads

    runtime = default_threads()
    return _run_twice(lambda layer: _noop_graph(Graph, Task, layer, NOOP_TASKS), runtime.get, NOOP_TASKS)


def noop_glassloom_processes() -> Figures:
    from glassloom import Client
    from glassloom.graph import Graph, Task

    with Client(n_workers=N_WORKERS, threads_per_worker=N_THREADS) as client:
        return _run_twice(lambda layer: _noop_graph(Graph, Task, layer, NOOP_TASKS), client.get, NOOP_TASKS)


def noop_dask_threads() -> Figures:
    import dask.threaded

    return _run_twice(
        lambda layer: {(f"noop-{layer}", i): (noop, i) for i in range(NOOP_TASKS)}, dask.threaded.get, NOOP_TASKS
    )


def noop_distributed() -> Figures:
    from distributed import Client

    with Client(n_workers=N_WORKERS, threads_per_worker=N_THREADS, dashboard_address=None) as client:
        return _run_twice(
            lambda layer: {(f"noop-{layer}", i): (noop, i) for i in range(NOOP_TASKS_DISTRIBUTED)},
            client.get,
            NOOP_TASKS_DISTRIBUTED,
        )


def noop_ray() -> Figures:
    with ray_client(N_WORKERS * N_THREADS) as client:
        meter = Meter()
        results = client.gather(client.map(noop, range(NOOP_TASKS_DISTRIBUTED)))
        figures = per_task(meter, NOOP_TASKS_DISTRIBUTED)
    if results != list(range(NOOP_TASKS_DISTRIBUTED)):
        raise AssertionError("wrong results")
    return figures


def _noop_graph(graph: Any, task: Any, layer: int, n_tasks: int) -> Any:
    name = f"noop-{layer}"
    return graph({(name, i): task((name, i), noop, (i,)) for i in range(n_tasks)})


def _run_twice(make: Callable[[int], Any], get: Callable[..., Any], n_tasks: int) -> Figures:
    """Measure the second run: the first one warms up."""
    figures: Figures = {}
    for layer in range(2):
        graph = make(layer)
        keys = list(graph.tasks if hasattr(graph, "tasks") else graph)
        meter = Meter()
        results = get(graph, keys)
        figures = per_task(meter, n_tasks)
        if list(results) != list(range(n_tasks)):
            raise AssertionError("wrong results")
    return figures


# A fresh process to its first result through worker processes

_FIRST_RESULT = """
from {module} import Client
if __name__ == "__main__":
    client = Client(n_workers={n_workers}, threads_per_worker=1{options})
    assert client.submit(pow, 2, 10).result() == 1024
    print("result", flush=True)
    client.close()
"""


def first_result_glassloom() -> Figures:
    return _time_to_first_result(_FIRST_RESULT.format(module="glassloom", n_workers=N_WORKERS, options=""))


def first_result_distributed() -> Figures:
    options = ", dashboard_address=None"
    return _time_to_first_result(_FIRST_RESULT.format(module="distributed", n_workers=N_WORKERS, options=options))


def _time_to_first_result(script: str) -> Figures:
    with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
        file.write(script)
        file.flush()
        start_s = time.perf_counter()
        process = subprocess.Popen([sys.executable, file.name], stdout=subprocess.PIPE)
        assert process.stdout is not None
        line = process.stdout.readline()
        wall_s = time.perf_counter() - start_s
        if line.strip() != b"result" or process.wait() != 0:
            raise AssertionError(f"the script failed: {line!r}")
    return {"wall_s": wall_s, "wall_s_to_the_end": time.perf_counter() - start_s}


# W1: a large random array, its every second row and column, summed


def w1_glassloom_threads() -> Figures:
    import glassloom.array as ga

    return _w1(ga.random.RandomState(0))


def w1_dask_threads() -> Figures:
    import dask.array as da

    with _dask_threads():
        return _w1(da.random.RandomState(0))


def _w1(state: Any) -> Figures:
    meter = Meter()
    x = state.normal(10, 1, size=W1_SHAPE, chunks=W1_CHUNKS)
    result = float((x + 1)[::2, ::2].sum().compute())
    n_summed = W1_SHAPE[0] * W1_SHAPE[1] / 4
    if abs(result / n_summed - 11) > 0.01:
        raise AssertionError(f"the mean is {result / n_summed}, not about 11")
    return {"wall_s": meter.wall_s(), "cpu_s": meter.cpu_s(), "peak_rss_mib": peak_rss_mib()}


@contextmanager
def _dask_threads() -> Iterator[None]:
    import dask

    with dask.config.set(scheduler="threads", num_workers=cpu_count()):
        yield


CASES: dict[str, dict[str, Contender]] = {
    "noop-100k": {
        "glassloom threads": noop_glassloom_threads,
        "dask threads": noop_dask_threads,
        "glassloom processes": noop_glassloom_processes,
        "distributed": noop_distributed,
        "ray": noop_ray,
    },
    "first-result": {"glassloom processes": first_result_glassloom, "distributed": first_result_distributed},
    "w1-scaled": {"glassloom threads": w1_glassloom_threads, "dask threads": w1_dask_threads},
    **engine.CASES,
    **large.CASES,
    **memory.CASES,
    **arrays.CASES,
    **frames.CASES,
    **frame_values.CASES,
    **frame_ordinary.CASES,
    **frame_workloads.CASES,
    **h2o.CASES,
    **graphs.CASES,
    **dashboards.CASES,
    **pages.CASES,
}
"""Contenders by case; a contender of ours comes before the peers that it is compared with."""
