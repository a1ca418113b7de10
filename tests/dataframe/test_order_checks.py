"""Whether values are in order, distinct or missing; values by position; `transform` and `squeeze`."""

from __future__ import annotations

import glassloom.dataframe as gd
import numpy as np
import pandas as pd
import pytest
from frame_helpers import assert_same, check_all
from hypothesis import given, settings
from hypothesis import strategies as st
from long_tests import examples

VALUES = st.lists(st.sampled_from([1.0, 2.0, 2.0, 3.0, 4.0, None]), max_size=6)
CHECKS = {
    name: lambda series, name=name: getattr(series, name)
    for name in ("is_monotonic_increasing", "is_monotonic_decreasing", "is_unique", "hasnans")
}


@settings(max_examples=examples(12))
@given(values=VALUES, order=st.sampled_from(["as drawn", "rising", "falling"]), npartitions=st.integers(1, 4))
def test_order_and_doubles_are_found_over_borders_of_partitions(values, order, npartitions):
    if order != "as drawn":
        values = sorted((value for value in values if value is not None), reverse=order == "falling")
    for plain in (pd.Series(values, dtype="float64"), pd.Series([f"t{value}" for value in values], dtype="str")):
        lazy = gd.from_pandas(plain, npartitions=npartitions)
        for name, check in CHECKS.items():
            got = check(lazy).compute(scheduler="inline")
            assert bool(got) == bool(check(plain)), (name, values)
        kept = lazy[lazy.notna()]  # with partitions of no row
        assert (
            bool(kept.is_monotonic_increasing.compute(scheduler="inline"))
            == plain[plain.notna()].is_monotonic_increasing
        )


def test_labels_are_asked_too():
    plain = pd.DataFrame({"x": range(6)}, index=[1, 2, 2, 4, 5, 6])
    lazy = gd.from_pandas(plain, npartitions=3)
    for name in ("is_monotonic_increasing", "is_monotonic_decreasing", "is_unique", "has_duplicates"):
        assert bool(getattr(lazy.index, name).compute()) == getattr(plain.index, name)


def test_a_value_is_found_by_position():
    plain = pd.DataFrame({"x": [3, 1, 2, 5], "s": list("abca")})
    lazy = gd.from_pandas(plain, npartitions=2)
    assert lazy.iat[2, 1].compute() == "c"
    assert lazy.iat[-1, 0].compute() == 5
    assert lazy.x.iat[1].compute() == 1
    with pytest.raises(ValueError, match=r"iat\[0\] should have 2 whole numbers"):
        lazy.iat[0]
    lazy.iat[2, 1] = "z"
    assert lazy.iat[2, 1].compute() == "z"


def test_transform_and_squeeze():
    plain = pd.DataFrame({"x": [4.0, 1.0, -9.0], "y": [1.0, 2.0, 3.0]})
    lazy = gd.from_pandas(plain, npartitions=2)
    operations = {
        "a function of NumPy": lambda frame: frame.transform(np.exp),
        "a method": lambda frame: frame.transform("abs"),
        "one along the rows": lambda frame: frame.transform("cumsum"),
        "of a column": lambda frame: frame.x.transform(np.sign),
        "with options": lambda frame: frame.x.transform("round", 0, 1),
        "the only column": lambda frame: frame[["y"]].squeeze(axis="columns"),
        "several columns": lambda frame: frame.squeeze(axis=1),
    }
    check_all(operations, plain, lazy)
    assert_same(lazy.transform("shift").compute(), plain.transform("shift"))
    with pytest.raises(ValueError, match="did not transform"):
        lazy.transform("sum")
    with pytest.raises(NotImplementedError, match=r"squeeze\(axis=0\) isn't supported: compute\(\) first"):
        lazy.squeeze(axis=0)
