"""Whole jobs on frames: time series (W3), target encoding as in a notebook (W4), and moves of three times the memory limit."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.frames import DATA, seconds
from benchmarks.meter import Contender, Figures, Meter, cpu_count, peak_rss_mib

MONTH = {"start": "2000-01-01", "end": "2000-01-31", "freq": "1s", "partition_freq": "1D"}
MONTH_ROWS = 2_592_000
TRAIN_ROWS, VALID_ROWS, ROW_GROUP_ROWS = 3_000_000, 600_000, 150_000
RARE = 20
LIMIT_BYTES, N_WORKERS = 384 * 2**20, 2
MOVED_PARTITIONS, MOVED_ROWS = 96, 1_000_000
"""Of three columns of 8 bytes: three times the limit of both workers."""


# W3: a month of seconds


def series_glassloom_threads() -> Figures:
    import glassloom.dataframe as gd

    return _series(gd.datasets.timeseries)


def series_dask_threads() -> Figures:
    import dask

    with dask.config.set(scheduler="threads", num_workers=cpu_count()):
        return _series(dask.datasets.timeseries)


def _series(timeseries: Callable[..., Any]) -> Figures:
    meter = Meter()
    held = timeseries(**MONTH).persist()
    persist_s = meter.wall_s()
    steps: dict[str, Callable[[], Any]] = {
        "groupby": lambda: held.groupby(["id", "name"]).agg({"x": ["sum", "mean"]}).head(),
        "sorted": lambda: len(held.map_partitions(lambda block: block.sort_values("id"))),
        "smoothed": lambda: held.map_partitions(_smoothed).partitions[12].head(),
        "all_smoothed": lambda: held.map_partitions(_smoothed)[["x", "y"]].mean().compute(),
        "head": lambda: held.partitions[12].head(),
    }
    figures = {f"{name}_s": seconds(step, 3) for name, step in steps.items()}
    if steps["sorted"]() != MONTH_ROWS:
        raise AssertionError("rows are missing")
    work_s = sum(figures.values())
    return {"wall_s": persist_s + work_s, "persist_s": persist_s, **figures, "peak_rss_mib": peak_rss_mib()}


def _smoothed(block: Any) -> Any:
    block = block.sort_values("id")
    block[["x", "y"]] = block[["x", "y"]].rolling(3).mean()
    return block


# W4: target encoding of sales in Parquet files, with missing keys


def encoding_glassloom_threads() -> Figures:
    import glassloom as gl
    import glassloom.dataframe as gd

    return _encoding(gd.read_parquet, gl.compute)


def encoding_dask_threads() -> Figures:
    import dask
    import dask.dataframe as dd

    with dask.config.set(scheduler="threads", num_workers=cpu_count()):
        return _encoding(dd.read_parquet, dask.compute)


def encoding_distributed() -> Figures:
    import dask
    import dask.dataframe as dd
    from distributed import Client

    with Client(n_workers=1, threads_per_worker=cpu_count(), processes=False, dashboard_address=None):
        return _encoding(dd.read_parquet, dask.compute)


def _encoding(read: Callable[..., Any], compute: Callable[..., Any]) -> Figures:
    folder = _shop_folder()
    built: list[float] = []

    def run() -> int:
        start_s = time.perf_counter()
        lazy = _target_encoded(read(folder / "train.parquet"), read(folder / "valid.parquet"))
        built.append(time.perf_counter() - start_s)
        train, valid = compute(*lazy)
        if len(train) != TRAIN_ROWS or len(valid) != VALID_ROWS or train.te.isna().any():
            raise AssertionError("rows are missing, or are not encoded")
        return len(train)

    meter = Meter()
    wall_s = seconds(run, 3)
    return {"wall_s": wall_s, "built_s": median(built), "cpu_s": meter.cpu_s(), "peak_rss_mib": peak_rss_mib()}


def _target_encoded(train: Any, valid: Any) -> list[Any]:
    encoded = []
    for rows in (train, valid):
        rows["cat_2_brand"] = rows.cat_2 + "_" + rows.brand
    stats = train.groupby("cat_2_brand").target.agg(["count", "mean"])
    overall = train.target.mean()
    for rows in (train, valid):
        joined = rows.merge(stats.reset_index(), on="cat_2_brand", how="left")
        joined["te"] = joined["mean"].where(joined["count"] > RARE, overall)
        encoded.append(joined)
    return encoded


def _shop_folder() -> Path:
    """Return the folder of the sales, which are made once: 15 columns, two of text with missing values."""
    import numpy as np
    import pandas as pd

    folder = DATA / "shop"
    if folder.exists():
        return folder
    made = DATA / "shop.part"
    made.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(0)
    brands = np.array([f"brand{number}" for number in range(500)] + [None] * 3, dtype=object)
    kinds = np.array([f"kind{number}" for number in range(8)] + [None], dtype=object)
    for name, rows in (("train", TRAIN_ROWS), ("valid", VALID_ROWS)):
        times = pd.Series(pd.to_datetime("2020-01-01") + pd.to_timedelta(random.integers(0, 90 * 86_400, rows), "s"))
        frame = pd.DataFrame(
            {
                "event_time": times, "product_id": random.integers(0, 50_000, rows),
                "brand": pd.array(brands[np.minimum(random.zipf(1.3, rows) - 1, len(brands) - 1)], dtype="str"),
                "price": random.gamma(2, 50, rows), "user_id": random.integers(0, 10**6, rows),
                "target": random.integers(0, 2, rows), "cat_0": random.integers(0, 13, rows),
                "cat_1": random.integers(0, 60, rows), "cat_2": pd.array(kinds[random.integers(0, len(kinds), rows)], dtype="str"),
                "ts_hour": times.dt.hour, "ts_minute": times.dt.minute, "ts_weekday": times.dt.weekday,
                "ts_day": times.dt.day, "ts_month": times.dt.month, "ts_year": times.dt.year,
            }
        )  # fmt: skip
        frame.to_parquet(made / f"{name}.parquet", row_group_size=ROW_GROUP_ROWS)
    made.rename(folder)
    return folder


# Rows of three times the memory limit, moved


def moves_glassloom() -> Figures:
    import glassloom.dataframe as gd
    from glassloom import Client

    with tempfile.TemporaryDirectory() as folder, Client(**_options(), local_directory=folder) as client:
        return _moves(gd.from_map, client)


def moves_distributed() -> Figures:
    import dask
    import dask.dataframe as dd
    from distributed import Client

    with (
        tempfile.TemporaryDirectory() as folder,
        dask.config.set({"distributed.worker.memory.terminate": False}),  # else it ends workers that are about to spill
        Client(**_options(), local_directory=folder, dashboard_address=None) as client,
    ):
        return _moves(dd.from_map, client)


def _options() -> dict[str, Any]:
    return {"n_workers": N_WORKERS, "threads_per_worker": 1, "memory_limit": LIMIT_BYTES}


def _moves(from_map: Callable[..., Any], client: Any) -> Figures:
    frame = from_map(_moved_part, range(MOVED_PARTITIONS), meta=_moved_part(0).iloc[:0])
    figures: dict[str, float] = {}
    for name, move in (
        ("shuffle", lambda: frame.shuffle("k")),
        ("set_index", lambda: frame.set_index("k")),
        ("sort_values", lambda: frame.sort_values("k")),
    ):
        meter = Meter()
        counts = move().map_partitions(len, meta=("n", "int64")).compute()
        if counts.sum() != MOVED_PARTITIONS * MOVED_ROWS:
            raise AssertionError(f"{name}: {counts.sum()} rows")
        figures[f"{name}_s"], figures[f"{name}_cpu_s"] = meter.wall_s(), meter.cpu_s()
    return {**figures, "peak_rss_mib": max(client.run(peak_rss_mib).values())}


def _moved_part(number: int) -> Any:
    import numpy as np
    import pandas as pd

    random = np.random.default_rng(number)
    columns = {"k": random.integers(0, 10**9, MOVED_ROWS), "x": random.random(MOVED_ROWS)}
    return pd.DataFrame({**columns, "y": random.random(MOVED_ROWS)})


CASES: dict[str, dict[str, Contender]] = {
    "frame-series": {"glassloom threads": series_glassloom_threads, "dask threads": series_dask_threads},
    "frame-encoding": {
        "glassloom threads": encoding_glassloom_threads,
        "dask threads": encoding_dask_threads,
        "distributed": encoding_distributed,
    },
    "frame-moves": {"glassloom processes": moves_glassloom, "distributed": moves_distributed},
}
