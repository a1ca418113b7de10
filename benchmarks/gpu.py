"""W1 to W4 on GPUs, beside CuPy alone, cuDF alone and dask-cuda: ``python -m benchmarks.gpu``. `docs/gpus.md` has what it gave.

Each contender runs in a process of its own, four times: the median of the last three counts, as the first compiles kernels. One that isn't
installed is left out, and that is said. Without a GPU the command says so and fails.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from glassloom.cluster.cuda_devices import main as print_devices

W1_SHAPE, W1_CHUNKS = (20_000, 20_000), (4_000, 4_000)
W2_ROWS, W2_SPILLING_ROWS, W2_COLUMNS = 100_000, 300_000, 1_000
SPILLING_LIMIT = "1GiB"
_TIMEOUT_S = 1800
_ROUNDS = 3

Work = Callable[[], Any]


def timed(work: Work) -> float:
    """Return the median of the seconds of some runs, after one that compiles kernels."""
    work()
    seconds = []
    for _ in range(_ROUNDS):
        began_s = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began_s)
    return statistics.median(seconds)


# W1: a large random array, reduced


def w1_glassloom(method: str = "sum") -> float:
    import glassloom.array as ga
    from glassloom import Client

    with Client(gpu=True):
        rng = ga.random.default_rng(12, backend="cupy")
        return timed(lambda: float(_w1(rng.normal(10, 1, W1_SHAPE, chunks=W1_CHUNKS), method).compute()))


def _w1(x: Any, method: str) -> Any:
    return getattr((x + 1)[::2, ::2], method)()


def w1_cupy(method: str = "sum") -> float:
    import cupy

    return timed(lambda: float(_w1(cupy.random.RandomState(12).normal(10, 1, W1_SHAPE), method)))


def w1_dask_cuda(method: str = "sum") -> float:
    import cupy
    import dask.array as da
    from dask_cuda import LocalCUDACluster
    from distributed import Client

    with LocalCUDACluster() as cluster, Client(cluster):
        rs = da.random.RandomState(RandomState=cupy.random.RandomState, seed=12)
        return timed(lambda: float(_w1(rs.normal(10, 1, W1_SHAPE, chunks=W1_CHUNKS), method).compute()))


# W2: a tall and narrow SVD, with and without spilling


def _w2_glassloom(rows: int, **options: Any) -> float:
    import glassloom as gl
    import glassloom.array as ga
    from glassloom import Client

    with Client(gpu=True, **options):
        x = gl.persist(ga.random.default_rng(12, backend="cupy").random((rows, W2_COLUMNS), chunks=(1000, W2_COLUMNS)))[
            0
        ]
        return timed(lambda: gl.compute(*ga.linalg.svd(x))[1])


def w2_glassloom() -> float:
    return _w2_glassloom(W2_ROWS)


def w2_spilling_glassloom() -> float:
    return _w2_glassloom(W2_SPILLING_ROWS, n_workers=1, device_memory_limit=SPILLING_LIMIT)


def w2_cupy() -> float:
    import cupy

    x = cupy.random.RandomState(12).random_sample((W2_ROWS, W2_COLUMNS))
    return timed(lambda: cupy.linalg.svd(x, full_matrices=False)[1].get())


def _w2_dask_cuda(rows: int, **options: Any) -> float:
    import cupy
    import dask
    import dask.array as da
    from dask_cuda import LocalCUDACluster
    from distributed import Client

    with LocalCUDACluster(**options) as cluster, Client(cluster):
        rs = da.random.RandomState(RandomState=cupy.random.RandomState, seed=12)
        x = rs.random_sample((rows, W2_COLUMNS), chunks=(1000, W2_COLUMNS)).persist()
        return timed(lambda: dask.compute(*da.linalg.svd(x))[1])


def w2_dask_cuda() -> float:
    return _w2_dask_cuda(W2_ROWS)


def w2_spilling_dask_cuda() -> float:
    return _w2_dask_cuda(W2_SPILLING_ROWS, n_workers=1, device_memory_limit=SPILLING_LIMIT)


# W3: groups of a time series


def w3_glassloom() -> float:
    import glassloom as gl
    import glassloom.dataframe as gd
    from glassloom import Client

    with Client(gpu=True):
        frame = gl.persist(gd.datasets.timeseries().to_backend("cudf"))[0]
        return timed(lambda: frame.groupby(["id", "name"]).agg({"x": ["sum", "mean"]}).compute())


def w3_cudf() -> float:
    import cudf
    import glassloom.dataframe as gd

    frame = cudf.from_pandas(gd.datasets.timeseries().compute())
    return timed(lambda: frame.groupby(["id", "name"]).agg({"x": ["sum", "mean"]}).to_pandas())


def w3_dask_cuda() -> float:
    import dask
    from dask_cuda import LocalCUDACluster
    from distributed import Client

    with LocalCUDACluster() as cluster, Client(cluster):
        frame = (
            dask.datasets.timeseries(dtypes={"id": int, "name": str, "x": float, "y": float})
            .to_backend("cudf")
            .persist()
        )
        return timed(lambda: frame.groupby(["id", "name"]).agg({"x": ["sum", "mean"]}).compute())


# W4: target encoding


def _w4_files(rows: int = 2_000_000) -> str:
    import numpy as np
    import pandas as pd

    folder = tempfile.mkdtemp(prefix="w4-")
    rng = np.random.default_rng(0)
    for number in range(8):
        brand = rng.integers(0, 5000, rows // 8).astype(str).astype(object)
        brand[rng.random(len(brand)) < 0.05] = None
        pd.DataFrame({"brand": brand, "target": rng.integers(0, 2, len(brand))}).to_parquet(
            f"{folder}/{number}.parquet"
        )
    return folder


def _encode(frame: Any) -> Any:
    means = frame.groupby("brand")["target"].agg(["count", "mean"]).reset_index()
    return frame.merge(means, on="brand", how="left")["mean"].fillna(0.5)


def w4_glassloom() -> float:
    import glassloom.dataframe as gd
    from glassloom import Client

    folder = _w4_files()
    with Client(gpu=True):
        return timed(lambda: _encode(gd.read_parquet(folder, backend="cudf")).sum().compute())


def w4_cudf() -> float:
    import cudf

    files = sorted(map(str, Path(_w4_files()).glob("*.parquet")))
    return timed(lambda: float(_encode(cudf.concat([cudf.read_parquet(file) for file in files])).sum()))


def w4_dask_cuda() -> float:
    import dask
    import dask.dataframe as dd
    from dask_cuda import LocalCUDACluster
    from distributed import Client

    folder = _w4_files()
    with LocalCUDACluster() as cluster, Client(cluster), dask.config.set({"dataframe.backend": "cudf"}):
        return timed(lambda: float(_encode(dd.read_parquet(folder)).sum().compute()))


CASES: dict[str, dict[str, Callable[[], float]]] = {
    "w1": {"glassloom": w1_glassloom, "cupy": w1_cupy, "dask_cuda": w1_dask_cuda},
    "w1-std": {
        "glassloom": partial(w1_glassloom, "std"),
        "cupy": partial(w1_cupy, "std"),
        "dask_cuda": partial(w1_dask_cuda, "std"),
    },
    "w2": {"glassloom": w2_glassloom, "cupy": w2_cupy, "dask_cuda": w2_dask_cuda},
    "w2-spilling": {"glassloom": w2_spilling_glassloom, "dask_cuda": w2_spilling_dask_cuda},
    "w3": {"glassloom": w3_glassloom, "cudf": w3_cudf, "dask_cuda": w3_dask_cuda},
    "w4": {"glassloom": w4_glassloom, "cudf": w4_cudf, "dask_cuda": w4_dask_cuda},
}
"""By name of the case, and of the package of the contender."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=str(__doc__).splitlines()[0])
    parser.add_argument("cases", nargs="*", help=f"of {', '.join(CASES)}; default all")
    parser.add_argument("--only", nargs=2, metavar=("CASE", "CONTENDER"), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.only:
        case, contender = options.only
        print(json.dumps({"seconds": CASES[case][contender]()}))
        return 0
    unknown = [case for case in options.cases if case not in CASES]
    if unknown:
        parser.error(f"no case {unknown[0]!r}; there are {', '.join(CASES)}")
    if print_devices():
        return 1
    failed = False
    for case in options.cases or CASES:
        for contender in CASES[case]:
            if importlib.util.find_spec(contender) is None:
                print(f"{case:12} {contender:12} not installed")
                continue
            seconds = _measured(case, contender)
            failed = failed or seconds is None
            print(f"{case:12} {contender:12} {'failed' if seconds is None else f'{seconds:8.3f} s'}", flush=True)
    return int(failed)


def _measured(case: str, contender: str) -> float | None:
    command = [sys.executable, "-m", "benchmarks.gpu", "--only", case, contender]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=_TIMEOUT_S)
    return None if done.returncode else float(json.loads(done.stdout.splitlines()[-1])["seconds"])


if __name__ == "__main__":
    sys.exit(main())
