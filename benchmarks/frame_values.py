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
    }
    return pd.DataFrame(columns).astype({"text": "str", "word": "str"})


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
    "frame-csv-join": csv_contenders(_join),
}
