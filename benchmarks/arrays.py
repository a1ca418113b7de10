"""Array expressions, each on threads of one process beside Dask's threads. One function builds it for both libraries.

Random arrays come from `default_rng` on both sides, each by its own default: SFC64 here, PCG64 in Dask
(`docs/decisions/0030-bit-generators.md`). `w1-scaled` in `cases` keeps the `RandomState` of the workload, which is slower in Dask.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from benchmarks.meter import Contender, Figures, Meter, cpu_count, peak_rss_mib

Build = Callable[[Any], Any]
"""From the module (``glassloom.array`` or ``dask.array``) to what is computed, or to several arrays."""


def w1_sum(xp: Any) -> Any:
    return _w1(xp).sum()


def w1_mean(xp: Any) -> Any:
    return _w1(xp).mean()


def w1_std(xp: Any) -> Any:
    return _w1(xp).std()


def _w1(xp: Any) -> Any:
    x = xp.random.default_rng(0).normal(10, 1, size=(20_000, 20_000), chunks=(2_000, 2_000))
    return (x + 1)[::2, ::2]


def chain(xp: Any) -> Any:
    """Ten operations and the sum, of `ones` so that generation hardly counts."""
    x = xp.ones((20_000, 20_000), chunks=(2_000, 2_000))
    return _ten_operations(x).sum()


def chain_drawn(xp: Any) -> Any:
    """Ten operations on normal numbers, and the sum."""
    return _ten_operations(xp.random.default_rng(0).normal(size=(10_000, 20_000), chunks=(2_000, 2_000))).sum()


def chain_kept(xp: Any) -> Any:
    """Ten operations whose result is kept."""
    x = xp.ones((10_000, 10_000), chunks=(2_000, 2_000))
    return _ten_operations(x)


def _ten_operations(x: Any) -> Any:
    return ((((x + 1.5) * 2.0 - 0.5) * 1.1 + 3.0) ** 2 * 0.3 + 1.0) * 1.7 - 0.2


def plus_transposed(xp: Any) -> Any:
    x = _uniform(xp, 10_000)
    return (x + x.T).sum()


def dot_minus_mean(xp: Any) -> Any:
    x = _uniform(xp, 4_000, 1_000)
    return x.dot(x.T + 1) - x.mean()


def mean(xp: Any) -> Any:
    return _uniform(xp, 16_000).mean()


def std(xp: Any) -> Any:
    return _uniform(xp, 16_000).std()


def mean_and_std(xp: Any) -> tuple[Any, Any]:
    """Two reductions of what is drawn, at once."""
    x = _uniform(xp, 16_000)
    return x.mean(), x.std()


def transposed(xp: Any) -> Any:
    return _uniform(xp, 10_000).T


def rechunked(xp: Any) -> Any:
    """From blocks of rows to blocks of columns."""
    x = xp.random.default_rng(0).random((10_000, 10_000), chunks=(250, 10_000))
    return x.rechunk((10_000, 250)).sum(axis=0)


def rechunked_squares(xp: Any) -> Any:
    """To larger squares that lie across the old ones."""
    return _uniform(xp, 10_000).rechunk((3_000, 3_000)).sum(axis=0)


def pi(xp: Any) -> Any:
    """W6: points of the unit square that lie in the circle."""
    n = 100_000_000
    xy = xp.random.default_rng(0).uniform(size=(n, 2), chunks=(n // 100, 2))
    return 4 * ((xy**2).sum(axis=1) < 1).sum() / n


def many_chunks(xp: Any) -> Any:
    """10^5 chunks: what is built and optimised, never run."""
    x = xp.random.default_rng(0).normal(size=(316 * 10, 316 * 10), chunks=(10, 10))
    return ((x + 1)[::2, ::2] * 2 - x.mean(axis=0)[::2]).sum(axis=1)


def _w2_glassloom() -> Figures:
    import glassloom.array as ga
    from glassloom import persist

    ga.ones(8, chunks=2).sum().compute()
    return _w2(ga, persist)


def _w2_dask() -> Figures:
    """Dask's threads with one BLAS thread each, as its documentation advises: with four each it takes far longer."""
    import dask
    import dask.array as da
    from glassloom.backends.blas import set_blas_threads

    da.ones(8, chunks=2).sum().compute(scheduler="threads")
    set_blas_threads(1)
    with _as_many_threads_as_cores():
        return _w2(da, dask.persist)


def _w2(xp: Any, persist: Any) -> Figures:
    """Decompose 100,000 x 1,000 numbers; all of it is kept, and the numbers are made before."""
    (x,) = persist(xp.random.default_rng(12).random((100_000, 1_000), chunks=(1_000, 1_000)))
    meter = Meter()
    u, s, _ = persist(*xp.linalg.svd(x))
    figures = {"wall_s": meter.wall_s(), "cpu_s": meter.cpu_s(), "peak_rss_mib": peak_rss_mib()}
    if abs(float(s[0].compute()) / 5000 - 1) > 0.01 or u.shape != (100_000, 1_000):
        raise AssertionError("the largest singular value is half of sqrt(rows * columns)")
    return figures


def _uniform(xp: Any, length: int, chunk: int = 2_000) -> Any:
    return xp.random.default_rng(0).random((length, length), chunks=(chunk, chunk))


def _glassloom_threads(build: Build) -> Figures:
    import glassloom.array as ga

    return _compute(build, ga)


def _dask_threads(build: Build) -> Figures:
    import dask.array as da

    with _as_many_threads_as_cores():
        return _compute(build, da)


@contextmanager
def _as_many_threads_as_cores() -> Iterator[None]:
    import dask

    with dask.config.set(scheduler="threads", num_workers=cpu_count()):
        yield


def _compute(build: Build, xp: Any) -> Figures:
    xp.ones(8, chunks=2).sum().compute()  # starts the threads
    meter = Meter()
    made = build(xp)
    if isinstance(made, tuple):
        _compute_together(xp)(*made)
    else:
        made.compute()
    return {"wall_s": meter.wall_s(), "cpu_s": meter.cpu_s(), "peak_rss_mib": peak_rss_mib()}


def _compute_together(xp: Any) -> Callable[..., Any]:
    """Return what computes several arrays at once: ``glassloom.compute`` or ``dask.compute``."""
    compute: Callable[..., Any] = importlib.import_module(xp.__name__.partition(".")[0]).compute
    return compute


def _build_glassloom() -> Figures:
    import glassloom.array as ga
    from glassloom.expr import lower, optimize

    ga.ones(8, chunks=2).sum().compute()
    meter = Meter()
    graph, _ = lower(optimize([many_chunks(ga).expr]))
    return {"wall_s": meter.wall_s(), "n_tasks": len(graph), "peak_rss_mib": peak_rss_mib()}


def _build_dask() -> Figures:
    import dask
    import dask.array as da

    da.ones(8, chunks=2).sum().compute(scheduler="threads")
    meter = Meter()
    (optimized,) = dask.optimize(many_chunks(da))
    graph = dict(optimized.__dask_graph__())  # the tasks themselves, as a scheduler gets them
    return {"wall_s": meter.wall_s(), "n_tasks": len(graph), "peak_rss_mib": peak_rss_mib()}


def _case(build: Build) -> dict[str, Contender]:
    return {"glassloom threads": partial(_glassloom_threads, build), "dask threads": partial(_dask_threads, build)}


CASES: dict[str, dict[str, Contender]] = {
    "w1-sum": _case(w1_sum),
    "w1-mean": _case(w1_mean),
    "w1-std": _case(w1_std),
    "chain-sum": _case(chain),
    "chain-drawn": _case(chain_drawn),
    "chain-kept": _case(chain_kept),
    "plus-transposed": _case(plus_transposed),
    "dot-minus-mean": _case(dot_minus_mean),
    "mean": _case(mean),
    "std": _case(std),
    "mean-and-std": _case(mean_and_std),
    "transposed": _case(transposed),
    "rechunk-rows-to-columns": _case(rechunked),
    "rechunk-squares": _case(rechunked_squares),
    "w6-pi": _case(pi),
    "w2-svd": {"glassloom threads": _w2_glassloom, "dask threads": _w2_dask},
    "build-100k-chunks": {"glassloom": _build_glassloom, "dask": _build_dask},
}
