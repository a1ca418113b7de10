"""Cases of the engine: the shapes of graphs, and data that many tasks read. Ours beside dask.distributed and Ray."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
import psutil

from benchmarks.meter import Contender, Figures, Meter, per_task
from benchmarks.ray_client import ray_client

N_WORKERS, N_THREADS = 2, 2
CHAIN_TASKS = 2_000
N_CALLS, N_CALLS_ONE_BY_ONE = 20_000, 5_000
TREE_LEAVES = 2**13
WAVEFRONT_LENGTH = 40
FAN_ROUNDS, FAN_WIDTH = 5, 1_000
MILLION = 10**6
SHARED_BYTES = 200_000_000
READERS = 10
MEDIUM_RESULTS = 400
REGRESSION_ROWS, REGRESSION_COLUMNS = 200_000, 50


def increment(value: int) -> int:
    return value + 1


def add(left: int, right: int) -> int:
    return left + right


def larger(above: int, left: int) -> int:
    """Return one more than the task above; the one to the left isn't larger, only waited for."""
    return max(above + 1, left)


def sum_up(values: list[int]) -> int:
    return sum(values)


def make_large() -> np.ndarray:
    return np.ones(SHARED_BYTES // 8)


def read_large(large: np.ndarray, number: int) -> float:
    return float(large[number])


def make_medium(number: int) -> np.ndarray:
    return np.full(2**17, number)


def first_of_both(left: np.ndarray, right: np.ndarray) -> int:
    return int(left[0] + right[0])


def fit_pair(frame: pd.DataFrame, first: int, second: int) -> float:
    """Return the slope of column `first` in a least-squares fit of y on two columns and a constant."""
    x = np.column_stack([frame.iloc[:, first], frame.iloc[:, second], np.ones(len(frame))])
    return float(np.linalg.solve(x.T @ x, x.T @ frame["y"].to_numpy())[0])


@contextmanager
def our_client() -> Iterator[Any]:
    from glassloom import Client

    with Client(n_workers=N_WORKERS, threads_per_worker=N_THREADS, memory_limit=None) as client:
        yield client


@contextmanager
def their_client() -> Iterator[Any]:
    from distributed import Client

    options = {"memory_limit": None, "dashboard_address": None}
    with Client(n_workers=N_WORKERS, threads_per_worker=N_THREADS, **options) as client:
        yield client


def chain(client: Any) -> Figures:
    """Run tasks that each need the one before."""
    client.submit(increment, -1).result()
    meter = Meter()
    future = client.submit(increment, 0)
    for _ in range(CHAIN_TASKS - 1):
        future = client.submit(increment, future)
    _expect(future.result(), CHAIN_TASKS)
    return per_task(meter, CHAIN_TASKS)


def map_and_gather(client: Any) -> Figures:
    """Map a function that does nothing over many numbers, and gather the results."""
    client.submit(increment, -1).result()
    meter = Meter()
    results = client.gather(client.map(increment, range(N_CALLS)))
    figures = per_task(meter, N_CALLS)
    _expect(results, list(range(1, N_CALLS + 1)))
    return figures


def submit_one_by_one(client: Any) -> Figures:
    """Submit calls that do nothing one by one, and gather the results."""
    client.submit(increment, -1).result()
    meter = Meter()
    results = client.gather([client.submit(increment, number) for number in range(N_CALLS_ONE_BY_ONE)])
    figures = per_task(meter, N_CALLS_ONE_BY_ONE)
    _expect(results, list(range(1, N_CALLS_ONE_BY_ONE + 1)))
    return figures


def delayed_compute() -> Figures:
    """Compute many delayed calls that do nothing at once, on threads."""
    import glassloom

    return _compute_delayed(glassloom.delayed(increment), glassloom.compute)


def delayed_compute_of_dask() -> Figures:
    import dask

    return _compute_delayed(dask.delayed(increment), dask.compute)


def _compute_delayed(delayed: Callable[[int], Any], compute: Callable[..., Any]) -> Figures:
    compute(delayed(-1))
    meter = Meter()
    results = compute(*[delayed(number) for number in range(N_CALLS)])
    figures = per_task(meter, N_CALLS)
    _expect(list(results), list(range(1, N_CALLS + 1)))
    return figures


def tree(client: Any) -> Figures:
    """Sum pairs, pairs of pairs, and so on."""
    client.submit(increment, -1).result()
    meter = Meter()
    level = client.map(increment, range(TREE_LEAVES))
    while len(level) > 1:
        level = client.map(add, level[::2], level[1::2])
    _expect(level[0].result(), TREE_LEAVES * (TREE_LEAVES + 1) // 2)
    return per_task(meter, 2 * TREE_LEAVES - 1)


def wavefront(client: Any) -> Figures:
    """Run a square of tasks that each need the one above and the one to the left."""
    client.submit(increment, -1).result()
    meter = Meter()
    row = [client.submit(increment, 0, pure=False) for _ in range(WAVEFRONT_LENGTH)]
    for _ in range(WAVEFRONT_LENGTH - 1):
        below = [client.submit(increment, row[0], pure=False)]
        for above in row[1:]:
            below.append(client.submit(larger, above, below[-1], pure=False))
        row = below
    _expect(row[-1].result(), WAVEFRONT_LENGTH)
    return per_task(meter, WAVEFRONT_LENGTH**2)


def fan_out_and_in(client: Any) -> Figures:
    """Let many tasks read one result and one task read all of theirs, several times over."""
    value = client.submit(increment, -1)
    value.result()
    meter = Meter()
    for _ in range(FAN_ROUNDS):
        value = client.submit(sum_up, client.map(add, [value] * FAN_WIDTH, range(FAN_WIDTH)))
    _expect(value.result(), _fanned())
    return per_task(meter, FAN_ROUNDS * (FAN_WIDTH + 1))


def _fanned() -> int:
    value = 0
    for _ in range(FAN_ROUNDS):
        value = value * FAN_WIDTH + FAN_WIDTH * (FAN_WIDTH - 1) // 2
    return value


def million(client: Any) -> Figures:
    """Run 10^6 tasks that do nothing, in one graph; memory is that of the head, which knows them all."""
    from glassloom.graph import Graph, Task

    client.submit(increment, -1).result()
    head = psutil.Process(client._record.pid)
    before_bytes = head.memory_info().rss
    graph = Graph({("million", n): Task(("million", n), increment, (n,)) for n in range(MILLION)})
    meter = Meter()
    futures = client.hold(graph, list(graph.tasks))
    last = futures["million", MILLION - 1].result()
    figures = per_task(meter, MILLION)
    _expect(last, MILLION)
    figures["head_bytes_per_task"] = (head.memory_info().rss - before_bytes) / MILLION
    return figures


def one_large_result(client: Any) -> Figures:
    """Let tasks on all workers read one large result."""
    large = client.submit(make_large, pure=False)
    client.submit(len, large).result()
    meter = Meter()
    _expect(sum(client.gather([client.submit(read_large, large, n) for n in range(READERS)])), float(READERS))
    return {"wall_s": meter.wall_s(), "cpu_s": meter.cpu_s()}


def many_medium_results(client: Any) -> Figures:
    """Make results of 1 MiB, and let other tasks read them two at a time."""
    client.submit(increment, -1).result()
    meter = Meter()
    results = client.map(make_medium, range(MEDIUM_RESULTS))
    sums = client.gather(client.map(first_of_both, results, results[::-1]))
    _expect(sums, [MEDIUM_RESULTS - 1] * MEDIUM_RESULTS)
    return {"wall_s": meter.wall_s(), "cpu_s": meter.cpu_s()}


def regressions(client: Any) -> Figures:
    """W5: a least-squares fit for each pair of columns of a scattered frame."""
    columns = np.random.default_rng(0).normal(size=(REGRESSION_ROWS, REGRESSION_COLUMNS))
    frame = pd.DataFrame(columns)
    frame["y"] = columns @ np.arange(REGRESSION_COLUMNS)
    pairs = [(i, j) for j in range(REGRESSION_COLUMNS) for i in range(j)][::10]
    meter = Meter()
    shared = client.scatter(frame, broadcast=True)
    slopes = client.gather([client.submit(fit_pair, shared, i, j) for i, j in pairs])
    figures = {"wall_s": meter.wall_s(), "cpu_s": meter.cpu_s()}
    _expect(round(slopes[5], 6), round(fit_pair(frame, *pairs[5]), 6))
    return figures


def _expect(found: Any, expected: Any) -> None:
    if found != expected:
        raise AssertionError(f"expected {expected}, got {found}")


def _ours(case: Callable[[Any], Figures]) -> Contender:
    def ours() -> Figures:
        with our_client() as client:
            return case(client)

    return ours


def beside_peers(case: Callable[[Any], Figures]) -> dict[str, Contender]:
    def distributed() -> Figures:
        with their_client() as client:
            return case(client)

    def ray() -> Figures:
        with ray_client(N_WORKERS * N_THREADS) as client:
            return case(client)

    return {"glassloom processes": _ours(case), "distributed": distributed, "ray": ray}


CASES = {
    "map": beside_peers(map_and_gather),
    "delayed-compute": {"glassloom threads": delayed_compute, "dask threads": delayed_compute_of_dask},
    "submit-one-by-one": beside_peers(submit_one_by_one),
    "chain": beside_peers(chain),
    "tree": beside_peers(tree),
    "wavefront": beside_peers(wavefront),
    "fan-out-and-in": beside_peers(fan_out_and_in),
    "million": {"glassloom processes": _ours(million)},
    "one-large-result": beside_peers(one_large_result),
    "many-1-mib-results": beside_peers(many_medium_results),
    "w5-regressions": beside_peers(regressions),
}
