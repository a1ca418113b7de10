"""`stable_places`: NumPy's stable order, whatever the range, dtype and order of the numbers."""

from __future__ import annotations

import numpy as np
import pytest
from glassloom.dataframe import sorting
from glassloom.dataframe.sorting import are_mostly_distinct, distinct_numbers, run_numbers, sorted_runs, stable_places
from hypothesis import given, settings
from hypothesis import strategies as st
from long_tests import examples

DTYPES = ["int8", "uint16", "int32", "uint32", "int64", "uint64"]


@settings(max_examples=examples(60), deadline=None)
@given(
    dtype=st.sampled_from(DTYPES),
    n_bits=st.integers(1, 64),
    percent=st.integers(0, 100),
    seed=st.integers(0, 2**32 - 1),
    n=st.sampled_from([0, 1, 7, 4095, 4096, 5000]),
    is_sorted=st.booleans(),
)
def test_places_are_those_of_a_stable_sort(dtype, n_bits, percent, seed, n, is_sorted):
    info = np.iinfo(dtype)
    span = min(2**n_bits - 1, int(info.max) - int(info.min))
    least = int(info.min) + (int(info.max) - int(info.min) - span) * percent // 100
    numbers = np.random.default_rng(seed).integers(least, least + span, n, dtype=dtype, endpoint=True)
    if is_sorted:
        numbers.sort()
    before = numbers.copy()
    assert np.array_equal(stable_places(numbers), np.argsort(numbers, kind="stable"))
    distinct = distinct_numbers(numbers)
    assert distinct.dtype == dtype and distinct.tolist() == sorted(set(numbers.tolist()))
    assert np.array_equal(numbers, before)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("values", [[np.nan, 1, np.nan, -0.0, 0.0, np.inf], [np.nan] * 3, [], [2.5]], ids=str)
def test_distinct_floats_are_those_of_numpy(dtype, values):
    floats = np.array(values, dtype=dtype)
    distinct = distinct_numbers(floats)
    assert distinct.dtype == dtype
    np.testing.assert_array_equal(distinct, np.unique(floats))


@pytest.mark.parametrize("most", [9, 2**16, 2**31, 2**47, 2**62])
def test_runs_are_the_distinct_numbers_in_order(most):
    numbers = np.random.default_rng(0).integers(0, most, 9000)
    numbers[5000:5100] = numbers[:100]
    order, begins = sorted_runs(numbers)
    distinct, inverse = np.unique(numbers, return_inverse=True)
    assert np.array_equal(numbers[order[begins]], distinct)
    assert np.array_equal(run_numbers(begins), inverse[order])
    assert len(run_numbers(np.ones(0, bool))) == 0


@pytest.mark.parametrize(("n_distinct", "expected"), [(2**18, True), (2**17, True), (2**14, False), (9, False)])
def test_a_sample_says_whether_there_are_many_different_numbers(n_distinct, expected):
    numbers = np.random.default_rng(0).integers(0, n_distinct, 2**18)
    assert are_mostly_distinct(numbers) is expected
    assert not are_mostly_distinct(numbers[: sorting._SAMPLED_FROM - 1])
