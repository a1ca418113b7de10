"""`agg` with Python's own `max`, `min`, `sum`, `all` and `any` gives what pandas gives, which has called them with all values since version 3."""

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from glassloom.backends.pandas_version import HAS_COPY_ON_WRITE

pytestmark = pytest.mark.skipif(not HAS_COPY_ON_WRITE, reason="pandas 2 calls the methods of their names")
COLUMNS = {
    "large": pd.Series([2**62] * 4), "unsigned": pd.Series([2**63] * 4, dtype="uint64"), "negative": pd.Series([-(2**62)] * 5), "small": pd.Series([100] * 3, dtype="int8"),
    "floats": pd.Series([1.5, np.nan, 2]), "missing first": pd.Series([np.nan, 1.5, 2]), "no rows": pd.Series([], dtype="float64"), "booleans": pd.Series([True, False]),
    "times": pd.to_datetime(pd.Series(["2020-01-01", None, "2021-01-01"])), "missing time first": pd.to_datetime(pd.Series([None, "2020-01-01"])),
    "zone": pd.to_datetime(pd.Series(["2020-01-01", None, "2021-01-01"])).dt.tz_localize("CET"), "durations": pd.Series(pd.to_timedelta([None, 2, 1], unit="s")),
    "ordered": pd.Series(pd.Categorical(["p", "q", "p"], categories=["q", "p"], ordered=True)), "objects": pd.Series([None, 1, 2], dtype=object),
    "nullable": pd.Series(pd.array([1, None, 2], dtype="Int64")), "texts": pd.Series(["b", "a", "c"]), "missing text": pd.Series(["b", None, "c"]),
    "nullable texts": pd.Series(["b", None], dtype="string"), "no texts": pd.Series([None, None], dtype="str"), "periods": pd.Series(pd.period_range("2020", periods=3, freq="M")),
}  # fmt: skip


def outcome(column, function):
    """Return the type and value of what is computed, or the type of the error."""
    try:
        made = column.agg(function)
        made = made.compute(scheduler="inline") if hasattr(made, "compute") else made
    except Exception as error:
        return type(error)
    return type(made), "missing" if pd.isna(made) else made


@pytest.mark.parametrize("function", [max, min, sum, all, any])
@pytest.mark.parametrize("name", COLUMNS)
def test_functions_of_python_give_pandas_results(name, function):
    column = COLUMNS[name]
    expected = outcome(column, function)
    if function is sum and name in ("no texts", "missing time first", "durations"):
        expected = TypeError  # which pandas gives where the first value isn't missing
    for npartitions in (1, 3):
        assert outcome(gd.from_pandas(column, npartitions=npartitions), function) == expected
