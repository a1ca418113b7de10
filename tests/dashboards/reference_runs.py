"""Records the reference runs that the dashboards are looked at with: W1, W2 while spilling, W3 and W4 of the workloads.

``python tests/dashboards/reference_runs.py FOLDER`` writes ``w1.glr`` to ``w4.glr`` there; `pictures.py` draws them. It takes
less than a minute for each on two cores. Recordings aren't committed: what they look like is that of the engine at hand.

How to add one: a function that takes a client and a folder for its files, in `RUNS`. It should take seconds, use more than one
worker, and show what the others don't.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import glassloom as gl
import glassloom.array as ga
import glassloom.dataframe as gd
import numpy as np
import pandas as pd
from glassloom_metrics.protocol import WorkerSamples
from glassloom_metrics.recording import read_recording
from waiting import eventually


@dataclass(frozen=True)
class ReferenceRun:
    """What runs, and on what."""

    run: Callable[[gl.Client, Path], None]
    memory_limit: str = "1GB"
    threads: int = 1


def big_random_array(client: gl.Client, folder: Path) -> None:
    """W1: sum, mean and standard deviation of every second element of a large random array."""
    x = ga.random.default_rng(12).normal(10, 1, size=(12_000, 12_000), chunks=(1_000, 1_000))
    (x + 1)[::2, ::2].sum().compute()
    (x + 1)[::2, ::2].mean().compute()
    (x + 1)[::2, ::2].std().compute()


def tall_svd_while_spilling(client: gl.Client, folder: Path) -> None:
    """W2: the decomposition of a tall and skinny array that doesn't fit into the workers' memory."""
    x = ga.random.RandomState(12).random((80_000, 1_000), chunks=(4_000, 1_000)).persist()
    gl.wait(x)
    u, s, v = ga.linalg.svd(x)
    u, s, v = gl.persist(u, s, v)
    gl.wait(u)
    u[:5, :5].compute()


def time_series(client: gl.Client, folder: Path) -> None:
    """W3: a month of seconds, grouped, sorted and smoothed; one call fails, and tasks print."""
    held = gd.datasets.timeseries(end="2000-01-31", freq="2s", seed=42).persist()
    gl.wait(held)
    held.groupby(["id", "name"]).agg({"x": ["sum", "mean"]}).head()
    len(held.map_partitions(lambda block: block.sort_values("id")))

    def smooth(block: pd.DataFrame) -> pd.DataFrame:
        print(f"smooth {len(block):,} rows")
        block = block.sort_values("id")
        block[["x", "y"]] = block[["x", "y"]].rolling(3).mean()
        return block

    held.map_partitions(smooth).partitions[12].head()
    wait_for_failures(client)


def check_day(number: int) -> int:
    """Return the number of a day that is whole."""
    if number % 4 == 3:
        raise ValueError(f"day {number} has gaps")
    time.sleep(0.02)
    return number


def wait_for_failures(client: gl.Client) -> None:
    """Run tasks of which some fail."""
    gl.wait(client.map(check_day, range(24)))


def shop(rows: int, seed: int) -> pd.DataFrame:
    """Return made-up sales with brands and categories, some of them missing."""
    random = np.random.default_rng(seed)
    brands = np.array([f"brand{number}" for number in range(600)] + [None] * 30, dtype=object)
    kinds = np.array([f"kind{number}" for number in range(30)] + [None], dtype=object)
    return pd.DataFrame(
        {
            "brand": brands[np.minimum(random.zipf(1.3, rows) - 1, len(brands) - 1)],
            "cat_2": kinds[random.integers(0, len(kinds), rows)],
            "price": random.gamma(2, 50, rows),
            "target": random.integers(0, 2, rows),
        }
    )


def target_encoding(client: gl.Client, folder: Path) -> None:
    """W4: a category's mean target, joined to the rows it was learnt from and to others."""
    for name, rows, seed in (("train", 1_200_000, 1), ("valid", 300_000, 2)):
        shop(rows, seed).to_parquet(folder / f"{name}.parquet", row_group_size=100_000)
    train, valid = (gd.read_parquet(folder / f"{name}.parquet") for name in ("train", "valid"))
    encoded = encode(train, valid)
    gl.compute(*encoded)


def encode(train: Any, valid: Any) -> list[Any]:
    """Return both frames with the mean target of their category and brand, or the mean of all where those are rare."""
    pair = [frame.assign(cat_2_brand=frame["cat_2"] + "_" + frame["brand"]) for frame in (train, valid)]
    known = pair[0].groupby("cat_2_brand")["target"].agg(["count", "mean"]).reset_index()
    whole = pair[0]["target"].mean()
    encoded = []
    for frame in pair:
        merged = frame.merge(known, on="cat_2_brand", how="left")
        encoded.append(merged["mean"].where(merged["count"] > 20, whole).mean())
    return encoded


RUNS = {
    "w1": ReferenceRun(big_random_array, threads=2),
    "w2": ReferenceRun(tall_svd_while_spilling, memory_limit="400MB"),
    "w3": ReferenceRun(time_series),
    "w4": ReferenceRun(target_encoding),
}


def samples_since(path: Path, at_s: float) -> int:
    """Return how many samples of workers a recording holds that were taken after `at_s`."""
    return sum(isinstance(one, WorkerSamples) and one.at_s > at_s for one in read_recording(path))


def record(name: str, path: Path) -> None:
    """Run one of `RUNS` on a cluster of its own, and record that."""
    reference = RUNS[name]
    with (
        tempfile.TemporaryDirectory() as folder,
        gl.Client(
            n_workers=2, threads_per_worker=reference.threads, memory_limit=reference.memory_limit, name=name
        ) as client,
        client.record(path, since_start=True, overwrite=True),
    ):
        reference.run(client, Path(folder))
        ended_s = time.time()
        eventually(lambda: samples_since(path, ended_s) >= 2, "two samples of how it is afterwards")


def main() -> None:
    """Record what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", choices=RUNS, action="append", help="record these; all by default")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for name in options.only or RUNS:
        began_s = time.monotonic()
        record(name, options.folder / f"{name}.glr")
        size = (options.folder / f"{name}.glr").stat().st_size
        sys.stdout.write(f"{name}: {time.monotonic() - began_s:.1f} s, {size:,} bytes\n")


if __name__ == "__main__":
    main()
