"""Labels of what several tasks share are found by all of them, also while the first makes the table of them."""

from __future__ import annotations

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same

ROWS = 100_000


def shuffled(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).permutation(ROWS)


def looked_up(block: pd.Series, table: pd.Series) -> pd.Series:
    return pd.Series(table.loc[block.to_numpy()].to_numpy(), index=block.index, name="v")


@pytest.mark.parametrize("how", ["map", "map of pandas", "index.map", "map_partitions", "map_partitions of pandas"])
def test_threads_find_all_labels_of_an_object_that_they_share(how):
    values = pd.Series(np.random.default_rng(0).integers(0, ROWS, ROWS), name="v")
    lazy = gd.from_pandas(values, npartitions=8)
    labels = gd.from_pandas(pd.Series(0, index=values.to_numpy()), npartitions=8, sort=False).index
    for attempt in range(3):
        table = pd.Series(shuffled(attempt), index=shuffled(attempt + 10))
        one = gd.from_pandas(table, npartitions=1, sort=False)
        wanted = pd.Series(table.loc[values.to_numpy()].to_numpy(), name="v")
        table = pd.Series(table.to_numpy(), index=table.index.to_numpy())  # whose labels nobody has looked for
        if how == "map":
            found = lazy.map(one)
        elif how == "map of pandas":
            found = lazy.map(table)
        elif how == "index.map":
            found, wanted = labels.map(one), pd.Index(wanted.to_numpy())
        elif how == "map_partitions":
            found = lazy.map_partitions(looked_up, one, meta=("v", "int64"))
        else:
            found = lazy.map_partitions(looked_up, table, meta=("v", "int64"))
        assert_same(found.compute(scheduler="threads"), wanted)
