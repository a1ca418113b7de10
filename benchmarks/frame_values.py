"""Frames: values looked for and looked up, texts, counts and quantiles, as notebooks have them, and joins of CSV files."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.frames import DATA, csv_contenders, seconds
from benchmarks.meter import Contender, Figures, cpu_count

ROWS, PARTITIONS = 2_000_000, 8
LOOKED_FOR = 20_000
JOIN_FILES, JOIN_ROWS = 100, 10_000
WORDS = {"apple": 1, "banana": 2, "cherry pie": 3, "date": 4}

STEPS: dict[str, Callable[[Any], Any]] = {
    "numbers looked for": lambda frame: frame.number.isin(list(range(0, 20 * LOOKED_FOR, 20))).sum(),
    "texts looked for": lambda frame: frame.text.isin([str(number) for number in range(LOOKED_FOR)]).sum(),
    "words looked up": lambda frame: frame.word.map(WORDS).sum(),
    "words split": lambda frame: frame.word.str.split().str.len().sum(),
    "words counted": lambda frame: frame.word.str.split().explode().value_counts(),
    "words extracted": lambda frame: frame.word.str.extract(r"(\w+)e")[0].value_counts(),
    "times written": lambda frame: frame.when.dt.strftime("%Y-%m").value_counts(),
    "texts counted": lambda frame: frame.text.value_counts(),
    "described": lambda frame: frame[["x", "number"]].describe(),
}


def values_pandas(step: str) -> Figures:
    frame = _frame()
    return {"wall_s": seconds(lambda: STEPS[step](frame), 3)}


def values_glassloom_threads(step: str) -> Figures:
    import glassloom.dataframe as gd

    frame = gd.from_pandas(_frame(), npartitions=PARTITIONS)
    return {"wall_s": seconds(lambda: STEPS[step](frame).compute(), 3)}


def values_dask_threads(step: str) -> Figures:
    import dask
    import dask.dataframe as dd

    with dask.config.set(scheduler="threads", num_workers=cpu_count()):
        frame = dd.from_pandas(_frame(), npartitions=PARTITIONS)
        return {"wall_s": seconds(lambda: STEPS[step](frame).compute(), 3)}


def _frame() -> Any:
    import numpy as np
    import pandas as pd

    random = np.random.default_rng(0)
    columns = {
        "number": random.integers(0, 10**6, ROWS),
        "text": random.integers(0, 10**6, ROWS).astype(str),
        "word": random.choice(list(WORDS), ROWS),
        "x": random.normal(size=ROWS),
        "when": pd.Timestamp("2024-01-01") + pd.to_timedelta(random.integers(0, 10**7, ROWS), unit="s"),
    }
    return pd.DataFrame(columns).astype({"text": "str", "word": "str"})


# Days of rows in order of time, in Parquet files that don't say which column is the index


def _days(frame: Any) -> Figures:
    return {
        "resampled_s": seconds(lambda: frame().x.resample("D").sum().compute(), 3),
        "rolling_s": seconds(lambda: frame().x.rolling("1h").mean().max().compute(), 3),
        "two_days_s": seconds(lambda: frame().loc["2024-02-01":"2024-02-02"].x.sum().compute(), 3),  # type: ignore[misc]
    }


def days_glassloom_threads() -> Figures:
    import glassloom.dataframe as gd

    folder = _days_folder()
    return _days(lambda: gd.read_parquet(folder)[["when", "x"]].set_index("when"))


def days_dask_threads() -> Figures:
    import dask
    import dask.dataframe as dd

    folder = _days_folder()
    with dask.config.set(scheduler="threads", num_workers=cpu_count()):
        return _days(lambda: dd.read_parquet(folder)[["when", "x"]].set_index("when", sorted=True))


def _days_folder() -> Path:
    import numpy as np
    import pandas as pd

    folder = DATA / "days"
    if not folder.exists():
        random = np.random.default_rng(0)
        made = DATA / "days.part"
        made.mkdir(parents=True, exist_ok=True)
        seconds_since = np.sort(random.integers(0, 90 * 86_400, ROWS))
        for number, part in enumerate(np.split(seconds_since, PARTITIONS)):
            when = pd.Timestamp("2024-01-01") + pd.to_timedelta(part, unit="s")
            columns = {"when": when, "x": random.normal(size=len(part)), "y": random.normal(size=len(part))}
            pd.DataFrame(columns).to_parquet(made / f"part-{number}.parquet")
        made.rename(folder)
    return folder


# A hundred CSV files joined with ten


def _join(read: Callable[..., Any]) -> Figures:
    folder = _join_folder()

    def joined() -> int:
        return int(read(f"{folder}/rows-*.csv").merge(read(f"{folder}/keys-*.csv"), on="k").z.count().compute())

    return {"wall_s": seconds(joined, 3)}


def _join_folder() -> Path:
    import numpy as np
    import pandas as pd

    folder = DATA / "csv-join"
    if not folder.exists():
        random = np.random.default_rng(0)
        made = DATA / "csv-join.part"
        made.mkdir(parents=True, exist_ok=True)
        n_keys = JOIN_FILES * JOIN_ROWS // 10
        for number in range(JOIN_FILES):
            rows = {"k": random.integers(0, n_keys, JOIN_ROWS), "x": random.normal(size=JOIN_ROWS)}
            pd.DataFrame(rows).to_csv(made / f"rows-{number}.csv", index=False)
        for number, keys in enumerate(np.split(np.arange(n_keys), 10)):
            columns = {"k": keys, "z": random.normal(size=len(keys))}
            pd.DataFrame(columns).to_csv(made / f"keys-{number}.csv", index=False)
        made.rename(folder)
    return folder


CASES: dict[str, dict[str, Contender]] = {
    **{
        f"frame-{step.replace(' ', '-')}": {
            "glassloom threads": partial(values_glassloom_threads, step),
            "dask threads": partial(values_dask_threads, step),
            "pandas": partial(values_pandas, step),
        }
        for step in STEPS
    },
    "frame-days": {"glassloom threads": days_glassloom_threads, "dask threads": days_dask_threads},
    "frame-csv-join": csv_contenders(_join),
}
