"""Sums of partitions that are NaN, though no value is missing: of infinities of both signs, and of NaN among Arrow's numbers."""

from __future__ import annotations

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from frame_helpers import check_all

_OF_ARROW = pd.Series(pd.arrays.ArrowExtensionArray(pa.array([5.0, np.nan, 1, None, 3, 1], pa.float64())))
THAT_DO_NOT_ADD = {
    "infinities of both signs": [np.inf, -np.inf, 1, 2, np.nan, 3],
    "single precision": np.array([np.inf, -np.inf, 1, 2, np.nan, 3], dtype="float32"),
    "nullable": pd.array([np.inf, -np.inf, 1, 2, None, 3], dtype="Float64"),
    "NaN in Arrow's numbers": _OF_ARROW,
    "a product of 0 and infinity": [np.inf, 0, 2, np.nan, np.nan, 1],
    "missing ones alone, and others": [np.nan, np.nan, 1, 2, np.nan, np.nan],
}
ADDED = {
    "sums": lambda f: f[["v", "w"]].sum(),
    "products": lambda f: f[["v", "w"]].prod(),
    "means": lambda f: f[["v", "w"]].mean(),
    "deviations": lambda f: f[["v", "w"]].std(),
    "sums of enough": lambda f: f[["v", "w"]].sum(min_count=2),
    "sums of groups": lambda f: f.groupby("k")[["v", "w"]].sum(),
    "aggregations of groups": lambda f: f.groupby("k").v.agg(["sum", "mean", "prod", "count"]),
    "sums of groups of categories": lambda f: f.groupby(["k", "c"], observed=False).v.sum(),
    "sums of enough in groups": lambda f: f.groupby("k").v.sum(min_count=1),
}


@pytest.mark.parametrize("values", THAT_DO_NOT_ADD.values(), ids=THAT_DO_NOT_ADD)
def test_partial_sums_that_are_not_a_number_are_not_taken_for_missing(values):
    frame = pd.DataFrame({"v": values, "w": 1.5, "k": list("aaaabb"), "c": pd.Categorical(list("xyxyxy"), list("xyz"))})
    for npartitions in (1, 3):
        check_all(ADDED, frame, gd.from_pandas(frame, npartitions=npartitions))


ONE_AFTER_THE_OTHER = {
    "sums": lambda f: f[["v", "w", "i", "s"]].cumsum(),
    "products": lambda f: f[["z", "i", "v"]].cumprod(),
    "of a series": lambda f: f.v.cumsum(),
    "with missing ones": lambda f: f.v.cumsum(skipna=False),
    "largest": lambda f: f[["v", "z"]].cummax(),
    "sums of groups": lambda f: f.groupby("k")[["v", "w", "i"]].cumsum(),
    "products of groups": lambda f: f.groupby("k").z.cumprod(),
}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_running_sums_stay_not_a_number_in_later_partitions(dtype):
    inf, nan = np.inf, np.nan
    frame = pd.DataFrame({"v": [inf, -inf, 1, 2, nan, 3, 4, 5], "w": [1, 2, inf, 3, -inf, 4, 5, 6], "i": range(8)})
    frame = frame.assign(z=[0, inf, 1, 2, 3, 4, nan, 7], s=list("abcdefgh"), k=list("aabbabab"))
    frame = frame.astype(dict.fromkeys("vwz", dtype))
    for npartitions in (2, 8):
        check_all(ONE_AFTER_THE_OTHER, frame, gd.from_pandas(frame, npartitions=npartitions))
