"""The group-by and join questions of the h2o.ai benchmark, on frames in memory: ten columns, groups from 100 to one a row."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import geometric_mean
from typing import Any

from benchmarks.meter import Contender, Figures, Meter, cpu_count, peak_rss_mib

ROWS = 2_000_000
GROUPS = 100
PARTITIONS = 8
Questions = dict[str, Callable[[], Any]]


def groupby_glassloom_threads() -> Figures:
    return _run(lambda: _groupby_questions(_in_glassloom))


def groupby_dask_threads() -> Figures:
    return _with_dask(lambda: _run(lambda: _groupby_questions(_in_dask)))


def join_glassloom_threads() -> Figures:
    return _run(lambda: _join_questions(_in_glassloom))


def join_dask_threads() -> Figures:
    return _with_dask(lambda: _run(lambda: _join_questions(_in_dask)))


def _in_glassloom(frame: Any, partitions: int) -> Any:
    import glassloom.dataframe as gd

    return gd.from_pandas(frame, npartitions=partitions).persist()


def _in_dask(frame: Any, partitions: int) -> Any:
    import dask.dataframe as dd

    return dd.from_pandas(frame, npartitions=partitions).persist()


def _with_dask(run: Callable[[], Figures]) -> Figures:
    import dask

    with dask.config.set(scheduler="threads", num_workers=cpu_count()):
        return run()


def _run(make: Callable[[], Questions]) -> Figures:
    """Ask each question twice; the second answer counts."""
    questions = make()
    walls: dict[str, float] = {}
    for name, ask in questions.items():
        ask().compute()
        start_s = time.perf_counter()
        ask().compute()
        walls[f"{name}_s"] = time.perf_counter() - start_s
    meter = Meter()
    for ask in questions.values():
        ask().compute()
    return {
        "geometric_mean_s": geometric_mean(walls.values()),
        "cpu_s": meter.cpu_s(),
        "peak_rss_mib": peak_rss_mib(),
        **walls,
    }


def _groupby_questions(lazy: Callable[[Any, int], Any]) -> Questions:
    import numpy as np
    import pandas as pd

    random = np.random.default_rng(0)

    def words(count: int, digits: int) -> Any:
        names = pd.Series([f"id{number:0{digits}}" for number in range(1, count + 1)], dtype="str")
        return names.take(random.integers(0, count, ROWS)).array

    many = ROWS // GROUPS
    frame = lazy(
        pd.DataFrame({
            "id1": words(GROUPS, 3), "id2": words(GROUPS, 3), "id3": words(many, 10),
            "id4": random.integers(1, GROUPS + 1, ROWS), "id5": random.integers(1, GROUPS + 1, ROWS),
            "id6": random.integers(1, many + 1, ROWS), "v1": random.integers(1, 6, ROWS),
            "v2": random.integers(1, 16, ROWS), "v3": random.random(ROWS) * 100,
        }),
        PARTITIONS,
    )  # fmt: skip
    return {
        "q1": lambda: frame.groupby("id1").agg({"v1": "sum"}),
        "q2": lambda: frame.groupby(["id1", "id2"]).agg({"v1": "sum"}),
        "q3": lambda: frame.groupby("id3").agg({"v1": "sum", "v3": "mean"}),
        "q4": lambda: frame.groupby("id4").agg({"v1": "mean", "v2": "mean", "v3": "mean"}),
        "q5": lambda: frame.groupby("id6").agg({"v1": "sum", "v2": "sum", "v3": "sum"}),
        "q6": lambda: frame.groupby(["id4", "id5"]).v3.median(),
        "q7": lambda: frame.groupby("id3").agg({"v1": "max", "v2": "min"}),
        "q10": lambda: frame.groupby(["id1", "id2", "id3", "id4", "id5", "id6"]).agg({"v3": "sum", "v1": "count"}),
    }


def _join_questions(lazy: Callable[[Any, int], Any]) -> Questions:
    import numpy as np
    import pandas as pd

    random = np.random.default_rng(0)
    sizes = {"id1": 10, "id2": ROWS // 1000, "id3": ROWS}
    plain = pd.DataFrame({name: random.integers(1, size + 1, ROWS) for name, size in sizes.items()})
    plain["id5"] = ("id" + plain.id2.astype("str")).astype("str")
    frame = lazy(plain.assign(v1=random.random(ROWS)), PARTITIONS)

    def side(key: str, partitions: int, *others: str) -> Any:
        rows = plain.drop_duplicates(key).sample(frac=0.9, random_state=0)[[key, *others]]
        return lazy(rows.assign(v2=random.random(len(rows))).reset_index(drop=True), partitions)

    small, medium, big = side("id1", 1), side("id2", 1, "id5"), side("id3", PARTITIONS, "id1")
    return {
        "q1": lambda: frame.merge(small, on="id1")[["v1", "v2"]].sum(),
        "q2": lambda: frame.merge(medium, on="id2")[["v1", "v2"]].sum(),
        "q3": lambda: frame.merge(medium, on="id2", how="left")[["v1", "v2"]].sum(),
        "q4": lambda: frame.merge(medium, on="id5")[["v1", "v2"]].sum(),
        "q5": lambda: frame.merge(big, on="id3")[["v1", "v2"]].sum(),
    }


CASES: dict[str, dict[str, Contender]] = {
    "h2o-groupby": {"glassloom threads": groupby_glassloom_threads, "dask threads": groupby_dask_threads},
    "h2o-join": {"glassloom threads": join_glassloom_threads, "dask threads": join_dask_threads},
}
