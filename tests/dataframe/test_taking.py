"""Values of an array in several pieces, at some places."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from glassloom.dataframe.arrow.taking import taken
from hypothesis import given
from hypothesis import strategies as st

TEXTS = ["", "a", "bc", "é" * 9, None]
DTYPES = [
    "str",
    "string[pyarrow]",
    pd.ArrowDtype(pa.string()),
    pd.ArrowDtype(pa.int64()),
    "category",
    "Int64",
    "float64",
]


def pieces(dtype: object, lengths: list[int]) -> pd.api.extensions.ExtensionArray:
    random = np.random.default_rng(1)
    is_text = str(dtype) in ("str", "string", "category") or "string" in str(dtype)
    kept = TEXTS if is_text else [1, 2, 3, 700] + ([] if dtype == "float64" else [None])
    parts = [pd.Series(random.choice(np.array(kept, dtype=object), length), dtype=dtype) for length in lengths]
    return pd.concat(parts, ignore_index=True).array


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(
    "places", [[], [0], [99, 0, 250, 100], [5, 5, 5], list(range(0, 260, 17)), list(range(259, 0, -2))]
)
def test_they_are_those_that_pandas_takes(dtype, places):
    array = pieces(dtype, [100, 0, 100, 60])
    made = taken(array, np.array(places, dtype=np.intp))
    pd.testing.assert_series_equal(pd.Series(made), pd.Series(array.take(np.array(places, dtype=np.intp))))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@given(places=st.lists(st.integers(-1, 499), max_size=30))
def test_places_of_minus_one_give_missing_values(dtype, places):
    array = pieces(dtype, [200, 1, 0, 299])
    if dtype == "float64":
        array = array.to_numpy()
    made = taken(array, np.array(places, dtype=np.intp), has_missing=True)
    wanted = pd.api.extensions.take(array, np.array(places, dtype=np.intp), allow_fill=True)
    pd.testing.assert_series_equal(pd.Series(made), pd.Series(wanted))
