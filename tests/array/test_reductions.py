"""Reductions give what NumPy gives, over any axes, however the array is cut and however wide the tree is."""

import warnings

import glassloom.array as ga
import numpy as np
import pytest
from array_strategies import NUMBERS, arrays, axes_of, equal, full_shapes, shapes, values_of
from glassloom.errors import OptionError
from hypothesis import given
from hypothesis import strategies as st


def close(dtype):
    return {"rtol": 1e-4, "atol": 1e-4} if np.dtype(dtype) in ("float32", "complex64") else {"rtol": 1e-9, "atol": 1e-9}


@st.composite
def reduced(draw, shape=shapes, dtypes=NUMBERS):
    array, lazy = draw(arrays(shape, dtypes))
    options = {"axis": draw(axes_of(array.ndim)), "keepdims": draw(st.booleans())}
    return array, lazy, options, draw(st.integers(2, 5))


@given(reduced(), st.sampled_from(["sum", "prod", "any", "all", "mean", "var", "std"]))
def test_reductions_agree_with_numpy_over_any_axes(case, name):
    array, lazy, options, split_every = case
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        expected = getattr(np, name)(array, **options)
        equal(getattr(lazy, name)(**options, split_every=split_every), expected, **close(array.dtype))


@given(reduced(full_shapes), st.sampled_from(["min", "max"]))
def test_extremes_agree_with_numpy_even_with_nan_and_empty_blocks(case, name):
    array, lazy, options, split_every = case
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        equal(getattr(lazy, name)(**options, split_every=split_every), getattr(np, name)(array, **options))


@given(arrays(full_shapes, ("float64", "int64", "bool", "uint8")), st.data(), st.sampled_from(["argmin", "argmax"]))
def test_positions_of_extremes_are_those_of_the_first_one(pair, data, name):
    array, lazy = pair
    options = {
        "axis": data.draw(st.none() | st.integers(-array.ndim, array.ndim - 1)),
        "keepdims": data.draw(st.booleans()),
    }
    made = getattr(lazy, name)(**options, split_every=data.draw(st.integers(2, 5)))
    equal(made, getattr(np, name)(array, **options))


@given(
    reduced(full_shapes, ("float64", "float32", "int64", "complex128")),
    st.sampled_from(["nansum", "nanprod", "nanmean", "nanvar", "nanstd"]),
)
def test_nan_versions_agree_with_numpy(case, name):
    array, lazy, options, split_every = case
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        expected = getattr(np, name)(array, **options)
        equal(getattr(ga, name)(lazy, **options, split_every=split_every), expected, **close(array.dtype))


@given(reduced(full_shapes, ("float64", "int64")), st.sampled_from(["nanmin", "nanmax"]))
def test_extremes_without_nan_agree_with_numpy(case, name):
    array, lazy, options, split_every = case
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        equal(getattr(ga, name)(lazy, **options, split_every=split_every), getattr(np, name)(array, **options))


@given(arrays(full_shapes, ("float64", "int64")), st.sampled_from(["var", "std"]), st.sampled_from([0, 1, 0.5, 40]))
def test_ddof_is_taken_off_the_divisor(pair, name, ddof):
    array, lazy = pair
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        equal(getattr(lazy, name)(ddof=ddof), getattr(np, name)(array, ddof=ddof), rtol=1e-9)


@given(arrays(full_shapes, ("int16", "uint8", "float32")), st.sampled_from(["float64", "int64"]))
def test_sums_are_made_in_the_type_asked_for(pair, dtype):
    array, lazy = pair
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        equal(lazy.sum(dtype=dtype), array.sum(dtype=dtype), rtol=1e-6)


def test_variance_is_sound_far_from_zero():
    array = 1e9 + np.random.default_rng(0).normal(size=10_000)
    found = ga.from_array(array, chunks=100).var().compute(scheduler="inline")
    assert found == pytest.approx(array.var(), rel=1e-8)


def test_half_precision_means_do_not_overflow():
    equal(ga.full(100_000, 10, dtype="float16", chunks=1000).mean(), np.float16(10))


def test_numpys_functions_and_ufunc_reduce_come_here():
    x = ga.arange(12, chunks=5).reshape(3, 4)
    assert isinstance(np.sum(x, axis=0), ga.Array)
    equal(np.add.reduce(x), np.arange(12).reshape(3, 4).sum(axis=0))
    equal(np.maximum.reduce(x, axis=1), [3, 7, 11])
    with pytest.raises(TypeError):
        np.add.reduceat(x, [0])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: x.sum(axis=2), np.exceptions.AxisError, "axis=2 is out of bounds for an array with 2 axes"),
        (lambda x: x.sum(axis=(0, 0)), ValueError, r"axis=\(0, 0\) names an axis twice"),
        (lambda x: x.argmin(axis=(0, 1)), TypeError, r"axis=\(0, 1\) must be one axis or None"),
        (lambda x: x.sum(split_every=1), OptionError, "split_every=1 is not a number of blocks"),
        (lambda x: x[:0].min(), ValueError, r"min of no elements .* shape \(0, 6\)"),
        (lambda x: x[:0].argmax(axis=0), ValueError, "argmax of no elements"),
        (lambda x: x.astype("datetime64[s]").sum(), TypeError, "add"),
    ],
)
def test_a_wrong_reduction_raises_at_once_with_its_values(call, error, message):
    with pytest.raises(error, match=message):
        call(ga.ones((4, 6), chunks=2))


@given(arrays(full_shapes, ("float64", "int64")), st.data())
def test_reductions_take_where_initial_and_out(pair, data):
    array, lazy = pair
    mask = data.draw(values_of(array.shape, "bool"))
    axis = data.draw(st.none() | st.integers(0, array.ndim - 1))
    lazy_mask = ga.from_array(mask, chunks=2)
    for name in ("sum", "prod", "any", "all"):
        expected = getattr(np, name)(array, axis=axis, where=mask)
        equal(getattr(np, name)(lazy, axis=axis, where=lazy_mask), expected, rtol=1e-9)
    for name in ("sum", "prod", "min", "max"):
        options = {"axis": axis, "initial": 3, "where": mask}
        equal(getattr(ga, name)(lazy, **options), getattr(np, name)(array, **options), rtol=1e-9)
    target = ga.zeros(np.sum(array, axis=axis).shape, dtype=np.sum(array).dtype)
    assert np.sum(lazy, axis=axis, out=target) is target
    equal(target, np.sum(array, axis=axis), rtol=1e-9)


def test_reductions_say_which_options_they_lack():
    x = ga.ones(3)
    with pytest.raises(ValueError, match="max.where=.... needs an initial value"):
        ga.max(x, where=x > 0)
    with pytest.raises(NotImplementedError, match="mean.where=....; .*use NaN and nanmean"):
        ga.mean(x, where=x > 0)
    with pytest.raises(TypeError, match="unexpected keyword argument 'initial'"):
        ga.all(x, initial=1)
