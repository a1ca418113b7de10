"""Frames: the 22 queries of TPC-H at scale factors 1 and 10, Parquet with filters, CSV, and a long lazy pipeline."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

from benchmarks.meter import Contender, Figures, Meter, cpu_count, peak_rss_mib
from tests.dataframe.tpch.queries import QUERIES
from tests.dataframe.tpch.statements import STATEMENTS
from tests.dataframe.tpch.tables import NAMES, Tables, make_tables

ROW_GROUP_ROWS = 250_000
WIDE_ROWS, WIDE_COLUMNS, WIDE_FILES = 4_000_000, 10, 4
CSV_ROWS, CSV_FILES = 500_000, 4
DATA = Path(tempfile.gettempdir(), "glassloom-benchmarks")
"""Kept: it takes a minute to make."""


# The 22 queries of TPC-H, one after the other, each read from files


def tpch_glassloom_threads(scale: int = 1) -> Figures:
    import glassloom.dataframe as gd

    return _tpch(gd.read_parquet, scale)


def tpch_glassloom_by_pyarrow(scale: int = 1) -> Figures:
    """Return our figures without Polars, which reads Parquet files where it is installed."""
    import glassloom.dataframe as gd

    return _tpch(partial(gd.read_parquet, engine="pyarrow"), scale)


def tpch_dask_threads(scale: int = 1) -> Figures:
    import dask
    import dask.dataframe as dd

    with dask.config.set(scheduler="threads", num_workers=cpu_count()):
        return _tpch(dd.read_parquet, scale)


def tpch_dask_row_groups(scale: int = 1) -> Figures:
    """Return Dask's figures when it is told to make partitions of row groups; of a file of less than 256 MiB it makes one."""
    import dask
    import dask.dataframe as dd

    with dask.config.set(scheduler="threads", num_workers=cpu_count()):
        return _tpch(partial(dd.read_parquet, split_row_groups=True), scale)


def tpch_distributed(scale: int = 1) -> Figures:
    import dask.dataframe as dd
    from distributed import Client

    with Client(n_workers=1, threads_per_worker=cpu_count(), processes=False, dashboard_address=None):
        return _tpch(dd.read_parquet, scale)


def tpch_duckdb(scale: int = 1) -> Figures:
    import duckdb

    folder = _tpch_folder(scale)
    with duckdb.connect() as connection:
        connection.execute(f"set threads to {cpu_count()}")
        for name in NAMES:
            connection.execute(f"create view {name} as select * from '{folder}/{name}.parquet'")
        return _queries(lambda number: connection.execute(STATEMENTS[number].format(scale=scale)).df())


def tpch_polars(scale: int = 1) -> Figures:
    os.environ.setdefault("POLARS_MAX_THREADS", str(cpu_count()))
    import polars

    folder = _tpch_folder(scale)
    with polars.SQLContext({name: polars.scan_parquet(f"{folder}/{name}.parquet") for name in NAMES}) as context:
        return _queries(lambda number: context.execute(STATEMENTS[number].format(scale=scale)).collect())


def _tpch_folder(scale: int) -> Path:
    return make_tables(DATA / f"tpch-{scale}", scale, row_group_rows=ROW_GROUP_ROWS)


def _tpch(read: Callable[..., Any], scale: int) -> Figures:
    tables = Tables(_tpch_folder(scale), read, scale)

    def run(number: int) -> Any:
        made = QUERIES[number](tables)
        return made.compute() if hasattr(made, "compute") else made

    return _queries(run)


def _queries(run: Callable[[int], Any]) -> Figures:
    run(6)  # which loads what is loaded on first use
    walls: dict[str, float] = {}
    cpus: dict[str, float] = {}
    meter = Meter()
    for number in QUERIES:
        start_s, start_cpu_s = time.perf_counter(), time.process_time()
        if not len(run(number)):
            raise AssertionError(f"query {number} has no answer")
        walls[f"q{number}_s"] = time.perf_counter() - start_s
        cpus[f"q{number}_cpu_s"] = time.process_time() - start_cpu_s
    return {
        "geometric_mean_s": geometric_mean(walls.values()),
        "geometric_mean_cpu_s": geometric_mean(cpus.values()),
        "wall_s": sum(walls.values()),
        "cpu_s": meter.cpu_s(),
        "peak_rss_mib": peak_rss_mib(),
        **walls,
        **cpus,
    }


# Parquet: two columns of many, filtered by two others


def parquet_glassloom_threads() -> Figures:
    import glassloom.dataframe as gd

    return _parquet(gd.read_parquet)


def parquet_dask_threads() -> Figures:
    import dask
    import dask.dataframe as dd

    with dask.config.set(scheduler="threads", num_workers=cpu_count()):
        return _parquet(dd.read_parquet)


def parquet_pyarrow() -> Figures:
    import pyarrow.compute as pc
    import pyarrow.dataset as ds

    def run() -> int:
        condition = (pc.field("k") < 100) & (pc.field("c5") > 0.5)
        return len(ds.dataset(_wide_folder()).to_table(columns=["c0", "c1"], filter=condition).to_pandas())

    figures = {"filters_s": seconds(run)}
    return {**figures, "masks_s": figures["filters_s"]}


def _parquet(read: Callable[..., Any]) -> Figures:
    folder = str(_wide_folder())

    def by_masks() -> int:
        frame = read(folder)
        return len(frame[(frame.k < 100) & (frame.c5 > 0.5)][["c0", "c1"]].compute())

    def by_filters() -> int:
        return len(read(folder, columns=["c0", "c1"], filters=[("k", "<", 100), ("c5", ">", 0.5)]).compute())

    return {"filters_s": seconds(by_filters), "masks_s": seconds(by_masks)}


def _wide_folder() -> Path:
    import numpy as np
    import pandas as pd

    folder = DATA / "wide"
    if not folder.exists():
        random = np.random.default_rng(0)
        made = DATA / "wide.part"
        made.mkdir(parents=True, exist_ok=True)
        rows = WIDE_ROWS // WIDE_FILES
        for number in range(WIDE_FILES):
            columns: dict[str, Any] = {f"c{place}": random.random(rows) for place in range(WIDE_COLUMNS)}
            columns["k"] = random.integers(0, 1000, rows)
            pd.DataFrame(columns).to_parquet(made / f"part-{number}.parquet", row_group_size=rows // 8)
        made.rename(folder)
    return folder


# CSV: a column's mean by group


Reads = Callable[[Callable[..., Any]], Figures]
"""What is measured, given a library's `read_csv`."""


def on_threads(run: Reads) -> Figures:
    import glassloom.dataframe as gd

    return run(gd.read_csv)


def on_processes(run: Reads) -> Figures:
    import glassloom.dataframe as gd
    from glassloom import Client

    with Client(n_workers=cpu_count(), threads_per_worker=1):
        return run(gd.read_csv)


def on_dask_threads(run: Reads) -> Figures:
    import dask
    import dask.dataframe as dd

    with dask.config.set(scheduler="threads", num_workers=cpu_count()):
        return run(dd.read_csv)


def on_distributed(run: Reads) -> Figures:
    import dask.dataframe as dd
    from distributed import Client

    with Client(n_workers=cpu_count(), threads_per_worker=1, dashboard_address=None):
        return run(dd.read_csv)


def csv_contenders(run: Reads) -> dict[str, Contender]:
    """Return who is measured where CSV files are read."""
    return {
        "glassloom threads": partial(on_threads, run),
        "dask threads": partial(on_dask_threads, run),
        "glassloom processes": partial(on_processes, run),
        "distributed": partial(on_distributed, run),
    }


def _csv(read: Callable[..., Any]) -> Figures:
    pattern = f"{_csv_folder()}/*.csv"
    return {"wall_s": seconds(lambda: len(read(pattern, blocksize="16MiB").groupby("name").x.mean().compute()))}


def csv_polars() -> Figures:
    os.environ.setdefault("POLARS_MAX_THREADS", str(cpu_count()))
    import polars

    rows = polars.scan_csv(f"{_csv_folder()}/*.csv")
    return {"wall_s": seconds(lambda: rows.group_by("name").agg(polars.col("x").mean()).collect())}


def csv_duckdb() -> Figures:
    import duckdb

    statement = f"select name, avg(x) from read_csv('{_csv_folder()}/*.csv') group by name"
    with duckdb.connect() as connection:
        connection.execute(f"set threads to {cpu_count()}")
        return {"wall_s": seconds(lambda: connection.execute(statement).df())}


def _csv_folder() -> Path:
    import numpy as np
    import pandas as pd

    folder = DATA / "csv"
    if not folder.exists():
        random = np.random.default_rng(0)
        made = DATA / "csv.part"
        made.mkdir(parents=True, exist_ok=True)
        for number in range(CSV_FILES):
            names = random.choice(np.array(["Amina", "Bjorn", "Chidi", "Dolores"]), CSV_ROWS)
            columns = {"id": random.integers(0, 1000, CSV_ROWS), "name": names, "x": random.random(CSV_ROWS)}
            pd.DataFrame({**columns, "y": random.random(CSV_ROWS)}).to_csv(made / f"part-{number}.csv", index=False)
        made.rename(folder)
    return folder


# A long pipeline, made and optimised, not run


def pipeline_glassloom_threads() -> Figures:
    import glassloom.dataframe as gd
    from glassloom.expr import lower, optimize

    def build() -> int:
        made = _pipeline(gd.datasets.timeseries(end="2000-04-10", partition_freq="1D", freq="1h"))
        return len(lower(optimize([made.expr]))[0])

    return {"wall_s": seconds(build)}


def pipeline_dask_threads() -> Figures:
    import dask.datasets

    def build() -> int:
        made = _pipeline(dask.datasets.timeseries(end="2000-04-10", partition_freq="1D", freq="1h"))
        return len(dict(made.optimize().__dask_graph__()))

    return {"wall_s": seconds(build)}


def _pipeline(frame: Any) -> Any:
    for number in range(10):
        frame = frame.assign(**{f"z{number}": frame.x * number + frame.y})
    frame = frame[frame.id > 900]
    frame = frame.assign(high=frame.z3 > frame.z4)
    return frame.groupby("name").agg({"z1": "mean", "z2": "sum", "z9": "max"})


def seconds(run: Callable[[], Any], repeats: int = 5) -> float:
    """Return the median of several runs, after one that warms up."""
    found = run()
    if found is None or (isinstance(found, int) and not found):
        raise AssertionError("there is no result")
    walls = []
    for _ in range(repeats):
        start_s = time.perf_counter()
        run()
        walls.append(time.perf_counter() - start_s)
    return median(walls)


CASES: dict[str, dict[str, Contender]] = {
    "tpch": {
        "glassloom by pyarrow": tpch_glassloom_by_pyarrow,
        "glassloom threads": tpch_glassloom_threads,
        "dask threads": tpch_dask_threads,
        "dask threads, row groups": tpch_dask_row_groups,
        "distributed": tpch_distributed,
        "duckdb": tpch_duckdb,
        "polars": tpch_polars,
    },
    "tpch-10": {
        "glassloom threads": partial(tpch_glassloom_threads, 10),
        "dask threads": partial(tpch_dask_threads, 10),
        "duckdb": partial(tpch_duckdb, 10),
        "polars": partial(tpch_polars, 10),
    },
    "frame-parquet": {
        "glassloom threads": parquet_glassloom_threads,
        "dask threads": parquet_dask_threads,
        "pyarrow": parquet_pyarrow,
    },
    "frame-csv": {**csv_contenders(_csv), "polars": csv_polars, "duckdb": csv_duckdb},
    "frame-pipeline": {"glassloom threads": pipeline_glassloom_threads, "dask threads": pipeline_dask_threads},
}
