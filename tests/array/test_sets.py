"""Arrays as sets: NumPy's results, also of arrays whose length isn't known yet."""

import glassloom.array as ga
import numpy as np
import pytest
from array_strategies import arrays, full_shapes
from hypothesis import given
from hypothesis import strategies as st

KINDS = ("float64", "int64", "uint8", "bool")
PARTS = {"return_index": True, "return_inverse": True, "return_counts": True}


def same(found, expected):
    np.testing.assert_array_equal(found.compute(scheduler="inline"), expected)
    assert found.dtype == expected.dtype


@given(arrays(full_shapes, KINDS), st.data())
def test_different_slices_along_an_axis(pair, data):
    array, lazy = pair
    array, lazy = np.nan_to_num(array), ga.where(ga.isnan(lazy), 0, lazy).astype(lazy.dtype)
    axis = data.draw(st.integers(-array.ndim, array.ndim - 1))
    for found, expected in zip(ga.unique(lazy, axis=axis, **PARTS), np.unique(array, axis=axis, **PARTS), strict=True):
        same(found, expected)


@given(arrays(full_shapes, KINDS), st.data())
def test_sets_of_two_arrays(pair, data):
    array, lazy = pair
    other, lazy_other = data.draw(arrays(full_shapes, (str(array.dtype),)))
    for name in ("union1d", "intersect1d", "setdiff1d", "setxor1d"):
        plain, plain_other = np.nan_to_num(array), np.nan_to_num(other)
        clean, clean_other = ga.where(lazy == lazy, lazy, 0), ga.where(lazy_other == lazy_other, lazy_other, 0)
        clean, clean_other = clean.astype(array.dtype), clean_other.astype(array.dtype)
        same(getattr(ga, name)(clean, clean_other), getattr(np, name)(plain, plain_other))


def test_the_length_neednt_be_known():
    x = ga.from_array(np.array([3, 1, 3, 2, 1]), chunks=2)
    picked = x[x > 1]
    values, counts = ga.unique(picked, return_counts=True)
    same(values, np.array([2, 3]))
    same(counts, np.array([1, 2]))
    with pytest.raises(ValueError, match="where elements of an array of .* are first isn't known; call compute_chunk"):
        ga.unique(picked, return_index=True)


def test_lists_of_lazy_arrays_are_stacked_without_computing_them():
    x = ga.arange(3, chunks=2)
    made = ga.asarray([[x, x + 1], [x, x]])
    assert made.shape == (2, 2, 3) and made.expr.n_tasks > 1
    np.testing.assert_array_equal(made.compute()[0, 1], [1, 2, 3])
    np.testing.assert_array_equal(
        ga.array([1, 2], ndmin=3, dtype="f4").compute(), np.array([1, 2], ndmin=3, dtype="f4")
    )
