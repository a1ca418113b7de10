"""Cases of graphs and plans: what it costs to define, optimise and lower them, and how much memory the order lets them take.

Beside `dask.array`; one function builds an expression for both libraries.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.meter import Contender, Figures, Meter, cpu_count, peak_rss_mib

CHUNK = 10
LENGTH, BLOCKS = 8_000, 16
PLAN_LENGTH = 4_000

Build = Callable[[Any, int], Any]
"""From the module (``glassloom.array`` or ``dask.array``) and a number of chunks, or of steps, to an expression."""


def overlap(xp: Any, n_chunks: int) -> Any:
    """Return each block with an element of its neighbours, which are cut off again."""
    x = xp.ones(n_chunks * CHUNK, chunks=CHUNK)
    return xp.map_overlap(lambda block: block, x, depth=1, boundary="reflect", dtype=float)


def random_positions(xp: Any, n_chunks: int) -> Any:
    return xp.ones(n_chunks * CHUNK, chunks=CHUNK)[_positions(n_chunks)]


def sorted_positions(xp: Any, n_chunks: int) -> Any:
    return xp.ones(n_chunks * CHUNK, chunks=CHUNK)[np.sort(_positions(n_chunks))]


def _positions(n_chunks: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, n_chunks * CHUNK, 2 * n_chunks)


def assignments(xp: Any, n_chunks: int) -> Any:
    """Return an array of which 50 elements were set one by one."""
    x = xp.zeros(n_chunks * CHUNK, chunks=CHUNK)
    for number in range(50):
        x[37 * number] = number
    return x


def cut_again_and_again(xp: Any, n_steps: int) -> Any:
    x = _plan_input(xp)
    for _ in range(n_steps):
        x = (x * 1.5)[1:]
    return x


def stencil_again_and_again(xp: Any, n_steps: int) -> Any:
    x = _plan_input(xp)
    for _ in range(n_steps):
        x = x[1:] + x[:-1] * 0.5
    return x


def _plan_input(xp: Any) -> Any:
    return xp.from_array(np.arange(float(PLAN_LENGTH)), chunks=PLAN_LENGTH // 2)


def _graph_of_ours(build: Build, size: int) -> Figures:
    import glassloom.array as ga
    from glassloom.expr import lower, optimize

    meter = Meter()
    graph, _ = lower(optimize([build(ga, size).expr]))
    return {"cpu_s": meter.cpu_s(), "n_tasks": len(graph)}


def _graph_of_dask(build: Build, size: int) -> Figures:
    import dask
    import dask.array as da

    meter = Meter()
    (optimized,) = dask.optimize(build(da, size))
    graph = dict(optimized.__dask_graph__())  # the tasks themselves, as a scheduler gets them
    return {"cpu_s": meter.cpu_s(), "n_tasks": len(graph)}


def _computed_by_ours(build: Build, size: int) -> Figures:
    import glassloom.array as ga

    return _cpu_of_computing(ga, build, size)


def _computed_by_dask(build: Build, size: int) -> Figures:
    import dask.array as da

    return _cpu_of_computing(da, build, size)


def _cpu_of_computing(xp: Any, build: Build, size: int) -> Figures:
    meter = Meter()
    build(xp, size).compute(scheduler="sync")
    return {"cpu_s": meter.cpu_s()}


# How much is held at once

PEAKS: dict[str, Callable[[Any, Any], list[Any]]] = {
    "centre": lambda xp, x: [abs(x - x.mean(axis=0)).sum()],
    "permute": lambda xp, x: [x[np.random.default_rng(0).permutation(LENGTH)].sum()],
    "variance": lambda xp, x: [((x - x.mean(axis=0)) ** 2).mean()],
    "median": lambda xp, x: [abs(x - xp.median(x, axis=0)).mean()],
    "cumsum": lambda xp, x: [xp.cumsum(x, axis=0).mean()],
    "plus-transposed": lambda xp, x: [(x + x.T).sum()],
    "mean-and-std": lambda xp, x: [x.mean(), x.std()],
    "stencil": lambda xp, x: [(x[1:] - x[:-1]).sum()],
}
"""From the module and a square array of random blocks to what is computed."""


def stencil_of_one_axis(xp: Any, x: Any) -> list[Any]:
    """As the stencil, of as many elements in one axis."""
    y = xp.random.default_rng(0).random(LENGTH**2, chunks=(LENGTH // BLOCKS) ** 2)
    return [(y[1:] - y[:-1]).sum()]


def gram(xp: Any, _: Any) -> list[Any]:
    """As many blocks, of a smaller array: it is multiplied with itself."""
    y = xp.random.default_rng(0).random((LENGTH // 2, LENGTH // 2), chunks=LENGTH // 2 // BLOCKS)
    return [y.T @ y]


def _peak_of_ours(build: Callable[[Any, Any], list[Any]]) -> Figures:
    import glassloom.array as ga
    from glassloom import compute

    return _peak(ga, partial(compute, scheduler="threads"), build)


def _peak_of_dask(build: Callable[[Any, Any], list[Any]]) -> Figures:
    import dask
    import dask.array as da

    return _peak(da, partial(dask.compute, scheduler="threads", num_workers=cpu_count()), build)


def _peak(xp: Any, compute: Callable[..., Any], build: Callable[[Any, Any], list[Any]]) -> Figures:
    """Return how far the process grows beyond what it was when it had computed something small."""
    compute(xp.random.default_rng(0).random((64, 64), chunks=32).mean(axis=0).sum())
    x = xp.random.default_rng(0).random((LENGTH, LENGTH), chunks=LENGTH // BLOCKS)
    expressions = build(xp, x)
    before_mib, meter = peak_rss_mib(), Meter()
    compute(*expressions)
    return {"grown_mib": peak_rss_mib() - before_mib, "cpu_s": meter.cpu_s(), "wall_s": meter.wall_s()}


def _graph_case(build: Build, n_chunks: int) -> dict[str, Contender]:
    return {"glassloom": partial(_graph_of_ours, build, n_chunks), "dask": partial(_graph_of_dask, build, n_chunks)}


def _plan_case(build: Build, n_steps: int) -> dict[str, Contender]:
    return {"glassloom": partial(_computed_by_ours, build, n_steps), "dask": partial(_computed_by_dask, build, n_steps)}


def _peak_case(build: Callable[[Any, Any], list[Any]]) -> dict[str, Contender]:
    return {"glassloom threads": partial(_peak_of_ours, build), "dask threads": partial(_peak_of_dask, build)}


CASES: dict[str, dict[str, Contender]] = {
    "graph-overlap": _graph_case(overlap, 5_000),
    "graph-overlap-20k": _graph_case(overlap, 20_000),
    "graph-random-positions": _graph_case(random_positions, 20_000),
    "graph-sorted-positions": _graph_case(sorted_positions, 20_000),
    "graph-assignments": _graph_case(assignments, 10_000),
    "plan-cut": _plan_case(cut_again_and_again, 800),
    "plan-stencil": _plan_case(stencil_again_and_again, 200),
    **{f"peak-{name}": _peak_case(build) for name, build in PEAKS.items()},
    "peak-stencil-of-one-axis": _peak_case(stencil_of_one_axis),
    "peak-gram": _peak_case(gram),
}
