"""Shuffles and sorts of three times the memory limit: they finish, by spilling."""

from __future__ import annotations

import glassloom as gl
import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest

ROWS, PARTITIONS = 250_000, 128
LIMIT = "256 MiB"


def make(number: int) -> pd.DataFrame:
    random = np.random.default_rng(number)
    return pd.DataFrame({"k": random.integers(0, 10**9, ROWS), "x": random.random(ROWS), "y": random.random(ROWS)})


@pytest.mark.long
@pytest.mark.parametrize("method", ["shuffle", "set_index"])
def test_three_times_the_memory_limit_is_moved(method):
    meta = pd.DataFrame({"k": [1], "x": [0.0], "y": [0.0]})
    with gl.Client(n_workers=1, threads_per_worker=1, memory_limit=LIMIT):
        frame = gd.from_map(make, range(PARTITIONS), meta=meta)
        moved = frame.shuffle("k") if method == "shuffle" else frame.set_index("k")
        counts = moved.map_partitions(lambda part: (len(part), part.x.sum()), meta=("n", "object")).compute()
    assert sum(count for count, _ in counts) == ROWS * (PARTITIONS)
