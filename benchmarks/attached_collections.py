"""CPU and time of collections on one cluster of dask.distributed: Glassloom's, and Dask's own with its own optimiser. One run, in turns.

python -m benchmarks.attached_collections [CASE ...] [--chunks 2000 10000] [--rounds 3]

Nothing is attached meanwhile: `attached.py` has what that costs.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from math import isqrt
from typing import Any, NamedTuple

import dask.array as da
import dask.dataframe as dd
import distributed
import glassloom.array as ga
import glassloom.dataframe as gdf
import numpy as np
import pandas as pd
import psutil
from glassloom import Client, config

from benchmarks.attached_cluster import DaskCluster, cpu_s, dask_cluster

N_WORKERS = 2
LENGTH = 100
"""Of a chunk: what tasks compute is to take next to nothing."""
SETTLING_S = 1.0


def table(n: int) -> pd.DataFrame:
    """Return a frame of `n` rows."""
    return pd.DataFrame({"a": np.arange(n), "b": np.arange(n) % 7, "c": np.arange(n) / 3})


CASES: dict[str, Callable[[Any, Any, int], Any]] = {
    # each gets the module of arrays, that of frames, and how many chunks
    "sum": lambda xa, xd, n: xa.ones(n * LENGTH, chunks=LENGTH).sum(),
    "chain": lambda xa, xd, n: ((xa.ones(n * LENGTH, chunks=LENGTH) + 1) * 2).mean(),
    "random": lambda xa, xd, n: xa.random.default_rng(1).normal(size=n * LENGTH, chunks=LENGTH).std(),
    "transposed": lambda xa, xd, n: both_ways(xa.ones((isqrt(n) * 10,) * 2, chunks=10)),
    "cumsum": lambda xa, xd, n: xa.ones(n * LENGTH, chunks=LENGTH).cumsum(axis=0)[-1],
    "frame-sum": lambda xa, xd, n: xd.from_pandas(table(n * 10), npartitions=n).c.sum(),
    "frame-groupby": lambda xa, xd, n: xd.from_pandas(table(n * 10), npartitions=n).groupby("b").c.mean(),
}


def both_ways(x: Any) -> Any:
    """Return a sum whose tasks read from two blocks each."""
    return (x + x.T).sum()


class Cost(NamedTuple):
    """What a computation took, in seconds; CPU but for `wall`."""

    wall: float
    cpu: float
    scheduler: float
    workers: float
    client: float


def measure(cluster: DaskCluster, start: Callable[[], Any]) -> tuple[Cost, int]:
    """Return what it takes until the result of the future that `start` makes is here, and how many tasks there were."""
    here = psutil.Process()
    parts = ([cluster.scheduler], cluster.workers, [here])
    before = [cpu_s(*part) for part in parts]
    began_s = time.perf_counter()
    future = start()
    future.result()
    wall_s = time.perf_counter() - began_s
    n_tasks = cluster.client.run_on_scheduler(count_tasks)
    del future
    time.sleep(SETTLING_S)  # tasks are forgotten meanwhile, which is part of their cost
    spent = [cpu_s(*part) - since for part, since in zip(parts, before, strict=True)]
    return Cost(wall_s, sum(spent), *spent), n_tasks


def count_tasks(dask_scheduler: Any) -> int:
    """Return how many tasks the scheduler knows, those included that it has forgotten because nothing needs them."""
    return sum(len(group) for group in dask_scheduler.task_groups.values())


def compare(cluster: DaskCluster, ours: Client, case: str, n: int, n_rounds: int) -> None:
    """Measure a case in turns and print its medians."""
    make = CASES[case]
    contenders: dict[str, Callable[[], Any]] = {
        "glassloom": lambda: ours.compute(make(ga, gdf, n)),
        "dask": lambda: cluster.client.compute(make(da, dd, n)),
    }
    found: dict[str, list[Cost]] = {name: [] for name in contenders}
    counts = {}
    for number in range(n_rounds + 1):
        for name in sorted(contenders, reverse=bool(number % 2)):
            cost, counts[name] = measure(cluster, contenders[name])
            if number:  # the first round warms up: workers import what they need
                found[name].append(cost)
    for name, costs in found.items():
        middle = Cost(*map(statistics.median, zip(*costs, strict=True)))
        parts = f"scheduler {middle.scheduler:.2f}, workers {middle.workers:.2f}, client {middle.client:.2f}"
        print(
            f"{case} {n}: {name:9} {counts[name]:6} tasks, {middle.wall:6.2f} s, CPU {middle.cpu:6.2f} s ({parts}); "
            f"each round: {', '.join(f'{cost.wall:.1f}' for cost in costs)} s, CPU {', '.join(f'{cost.cpu:.1f}' for cost in costs)}"
        )
    pairs = list(zip(found["dask"], found["glassloom"], strict=True))
    wall, cpu = (statistics.median(dask[i] / ours[i] for dask, ours in pairs) for i in (0, 1))
    print(f"{case} {n}: dask takes {wall:.2f} times the time and {cpu:.2f} times the CPU; load {os.getloadavg()[0]:.0f}", flush=True)  # fmt: skip


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join(CASES)}; default all")
    parser.add_argument("--chunks", type=int, nargs="+", default=[2_000])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    if unknown := set(options.cases) - set(CASES):
        parser.error(f"no case {min(unknown)!r}; there are {', '.join(CASES)}")
    print(f"distributed {distributed.__version__}, {N_WORKERS} workers of one thread, {options.rounds} rounds")
    with (
        config.set({"distributed.attach": False}),
        dask_cluster(N_WORKERS, 1) as cluster,
        Client(cluster.address, set_as_default=False) as ours,
    ):
        for case in options.cases or CASES:
            for n in options.chunks:
                compare(cluster, ours, case, n, options.rounds)


if __name__ == "__main__":
    main()
