"""Times as text are written in the same unit in all partitions: in the one that the finest of the column needs."""

from __future__ import annotations

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from frame_helpers import assert_same
from hypothesis import given, settings
from hypothesis import strategies as st
from long_tests import examples

INLINE = {"scheduler": "inline"}
TEXTS = [str, "str", "string", "string[python]", pd.ArrowDtype(pa.string())]
STEPS = [1, 10**3, 10**6, 10**9, 60 * 10**9, 86400 * 10**9]


@settings(max_examples=examples(60), deadline=None)
@given(
    steps=st.lists(st.sampled_from([None, *STEPS]), min_size=1, max_size=8),
    unit=st.sampled_from(["s", "us", "ns"]),
    dtype=st.sampled_from(TEXTS),
    npartitions=st.integers(1, 4),
)
def test_text_of_times_is_that_of_pandas(steps, unit, dtype, npartitions):
    numbers = [
        np.datetime64("NaT") if step is None else np.datetime64(86400 * 10**9 * place + step, "ns")
        for place, step in enumerate(steps)
    ]
    times = pd.Series(np.array(numbers, "M8[ns]").astype(f"M8[{unit}]"))
    frame = pd.DataFrame(
        {"t": times, "x": range(len(times)), "t2": times - pd.Timestamp("1970-01-01"), "z": times.dt.tz_localize("UTC")}
    )
    lazy = gd.from_pandas(frame, npartitions=npartitions)
    assert_same(lazy.t.astype(dtype).compute(**INLINE), frame.t.astype(dtype))
    assert_same(lazy.astype(dtype).compute(**INLINE), frame.astype(dtype))
    some = {"t2": dtype, "x": "float64", "z": dtype}
    assert_same(lazy.astype(some).compute(**INLINE), frame.astype(some))
    assert_same(lazy.astype(dtype)[["x", "t"]].compute(**INLINE), frame.astype(dtype)[["x", "t"]])


@pytest.mark.parametrize("dtype", [object, "datetime64[s]", "category", "int64"])
def test_what_isnt_text_is_converted_partition_by_partition(dtype):
    times = pd.Series(pd.date_range("2020-01-01", periods=6, freq="D"))
    lazy = gd.from_pandas(times, npartitions=3).astype(dtype)
    assert_same(lazy.compute(**INLINE).astype(object), times.astype(dtype).astype(object))
    assert "finest" not in str(lazy.explain())
