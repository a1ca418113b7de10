"""`to_numeric(downcast=)`: the smallest dtype of all values, whichever partition needs it."""

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same

NUMBERS = {
    "large in one partition": pd.Series([1, 200, 3, -4, 5, 70000]),
    "none negative": pd.Series([1, 200, 3, 4]),
    "whole floats": pd.Series([1.0, 2, 3, 300]),
    "a missing one": pd.Series([1.0, np.nan, 3, 300]),
    "fractions": pd.Series([1.0, 2, 3.25, 4]),
    "too large for narrow floats": pd.Series([0.5, 1e300, 3]),
    "text": pd.Series(["1", "2", "x", "400"]),
    "text of which some are fractions": pd.Series(["1", "2.5", "3", "4"]),
    "nullable": pd.Series([1, None, 300], dtype="Int64"),
    "narrow": pd.Series([1, 2, 40000], dtype="int32"),
    "booleans": pd.Series([True, False, True]),
    "none": pd.Series([], dtype="int64"),
}


@pytest.mark.parametrize("downcast", ["integer", "signed", "unsigned", "float"])
def test_the_smallest_dtype_that_holds_all_values_is_found(downcast):
    for numbers in NUMBERS.values():
        expected = pd.to_numeric(numbers, errors="coerce", downcast=downcast)
        lazy = gd.to_numeric(gd.from_pandas(numbers, npartitions=3), errors="coerce", downcast=downcast)
        assert lazy.dtype == expected.dtype
        assert_same(lazy.compute(scheduler="inline"), expected)


def test_other_kinds_and_other_objects_are_refused():
    lazy = gd.from_pandas(pd.Series([1, 2]), npartitions=2)
    with pytest.raises(ValueError, match="invalid downcasting method"):
        gd.to_numeric(lazy, downcast="small")
    with pytest.raises(
        NotImplementedError, match="to_numeric\\(downcast='integer'\\) isn't supported: it is for series"
    ):
        gd.to_numeric(lazy.index, downcast="integer")
