"""Running sums, order, counts and spread agree with NumPy, however the arrays are cut."""

import warnings

import glassloom.array as ga
import numpy as np
import pytest
from array_strategies import arrays, axes_of, equal, full_shapes, values_of
from hypothesis import given
from hypothesis import strategies as st

NUMBERS = ("float64", "int64", "int16", "bool", "float32")
CLOSE = {"rtol": 1e-5, "atol": 1e-6}


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


def axis_of(data, ndim):
    return data.draw(st.integers(-ndim, ndim - 1))


@given(arrays(full_shapes, NUMBERS), st.data(), st.sampled_from(["cumsum", "cumprod", "nancumsum", "nancumprod"]))
def test_running_sums_and_products(pair, data, name):
    array, lazy = pair
    for axis in (None, axis_of(data, array.ndim)):
        equal(getattr(ga, name)(lazy, axis), getattr(np, name)(array, axis), **CLOSE)
    equal(np.cumsum(lazy, 0, dtype="f8"), np.cumsum(array, 0, dtype="f8"), **CLOSE)
    equal(
        ga.cumulative_sum(lazy, axis=0, include_initial=True),
        np.cumulative_sum(array, axis=0, include_initial=True),
        **CLOSE,
    )
    equal(ga.cumulative_prod(lazy, axis=0), np.cumulative_prod(array, axis=0), **CLOSE)


@given(arrays(full_shapes, ("float64", "int64", "bool")), st.data())
def test_differences(pair, data):
    array, lazy = pair
    axis = axis_of(data, array.ndim)
    n = data.draw(st.integers(0, 3))
    equal(ga.diff(lazy, n, axis), np.diff(array, n, axis))
    equal(np.diff(lazy, axis=axis, prepend=0, append=lazy), np.diff(array, axis=axis, prepend=0, append=array))
    if array.dtype.kind != "b":
        equal(ga.ediff1d(lazy, 1, [2, 3]), np.ediff1d(array, 1, [2, 3]))


@given(arrays(st.lists(st.integers(3, 7), min_size=1, max_size=2).map(tuple), ("float64", "int64")), st.data())
def test_gradients(pair, data):
    array, lazy = pair
    order = data.draw(st.integers(1, 2))
    found, expected = ga.gradient(lazy, 0.5, edge_order=order), np.gradient(array, 0.5, edge_order=order)
    for one, other in zip(*([x] if array.ndim == 1 else x for x in (found, expected)), strict=True):
        equal(one, other, **CLOSE)
    axis = axis_of(data, array.ndim)
    equal(np.gradient(lazy, axis=axis), np.gradient(array, axis=axis), **CLOSE)


@given(arrays(full_shapes, ("float64", "int64", "float32")), st.data())
def test_quantiles_and_medians(pair, data):
    array, lazy = pair
    axis = data.draw(axes_of(array.ndim))
    q = data.draw(st.sampled_from([0.25, [0.1, 0.9], [[0, 1]]]))
    keepdims = data.draw(st.booleans())
    for name in ("quantile", "nanquantile"):
        options = {"axis": axis, "keepdims": keepdims}
        found = getattr(ga, name)(lazy, q, **options)
        expected = getattr(np, name)(array, np.ravel(q) if np.ndim(q) else q, **options)
        expected = expected.reshape((*np.shape(q), *expected.shape[np.ndim(q) > 0 :]))  # NumPy's mixes up several axes
        equal(found, expected.astype(found.dtype) if name == "nanquantile" else expected, **CLOSE)
    equal(ga.percentile(lazy, 30, axis), np.percentile(array, 30, axis), **CLOSE)
    equal(np.nanpercentile(lazy, 30), np.nanpercentile(array, 30), **CLOSE)
    for name in ("median", "nanmedian"):
        equal(
            getattr(ga, name)(lazy, axis, keepdims=keepdims), getattr(np, name)(array, axis, keepdims=keepdims), **CLOSE
        )
    equal(ga.ptp(lazy, axis), np.ptp(array, axis)) if not np.isnan(array).any() else None


@given(arrays(full_shapes, ("float64", "int64", "uint8")), st.data())
def test_sorting_and_top_elements(pair, data):
    array, lazy = pair
    array, lazy = np.nan_to_num(array), ga.where(ga.isnan(lazy), 0, lazy).astype(lazy.dtype)
    axis = axis_of(data, array.ndim)
    equal(ga.sort(lazy, axis), np.sort(array, axis))
    equal(np.sort(lazy, None), np.sort(array, None))
    equal(ga.argsort(lazy, axis), np.argsort(array, axis, kind="stable"))
    equal(ga.sort(lazy, axis, descending=True), np.flip(np.sort(array, axis), axis))
    order = ga.argsort(lazy, axis, descending=True).compute(scheduler="inline")
    np.testing.assert_array_equal(np.take_along_axis(array, order, axis), np.flip(np.sort(array, axis), axis))
    k = data.draw(st.integers(1, 9))
    largest = np.flip(np.sort(array, axis), axis)
    first = (slice(None),) * (axis % array.ndim) + (slice(0, k),)
    equal(lazy.topk(k, axis), largest[first])
    equal(ga.topk(lazy, -k, axis), np.sort(array, axis)[first])
    where = ga.argtopk(lazy, k, axis).compute(scheduler="inline")
    np.testing.assert_array_equal(np.take_along_axis(array, where, axis), largest[first])


@given(arrays(full_shapes, ("float64", "int64", "bool")))
def test_different_elements(pair):
    array, lazy = pair
    found = ga.unique(lazy, return_index=True, return_inverse=True, return_counts=True)
    for one, other in zip(found, np.unique(array, True, True, True), strict=True):
        result = one.compute(scheduler="inline")
        assert result.dtype == other.dtype
        np.testing.assert_array_equal(result, other)
    for one, other in zip(ga.unique_counts(lazy), np.unique_counts(array), strict=True):
        np.testing.assert_array_equal(one.compute(scheduler="inline"), other)
    np.testing.assert_array_equal(ga.unique_values(lazy).compute(scheduler="inline"), np.unique(array, equal_nan=False))


@given(arrays(full_shapes, ("float64", "int64")), st.data())
def test_histograms(pair, data):
    array, lazy = pair
    array, lazy = np.nan_to_num(array), ga.where(ga.isnan(lazy), 0, lazy)
    density = data.draw(st.booleans())
    weights = data.draw(st.none() | values_of(array.shape, "int64"))
    if density and weights is not None:
        weights = np.abs(weights) + 1
    for bins, limits in ((3, (-2, 4)), ([-1, 0, 0.5, 2], None), (4, None)):
        expected = np.histogram(array, bins, limits, density, weights)
        found = ga.histogram(lazy, bins, limits, density, weights)
        equal(found[0], expected[0], **CLOSE)
        np.testing.assert_allclose(found[1].compute(scheduler="inline"), expected[1])
    equal(np.digitize(lazy, [-1, 0, 2]), np.digitize(array, [-1, 0, 2]))


@given(st.data(), st.integers(1, 9))
def test_histograms_of_points(data, n):
    points, lazy = data.draw(arrays((n, 2), ("int64",)))
    edges = [np.array([-4.0, 0, 4]), np.linspace(-4, 5, 4)]
    for density in (False, True):
        if density and not np.histogramdd(points, edges)[0].sum():
            continue
        equal(
            ga.histogramdd(lazy, edges, density=density)[0], np.histogramdd(points, edges, density=density)[0], **CLOSE
        )
    limits = [(-4, 4), (-4, 4)]
    equal(
        ga.histogram2d(lazy[:, 0], lazy[:, 1], 3, limits)[0], np.histogram2d(points[:, 0], points[:, 1], 3, limits)[0]
    )


@given(arrays(st.integers(1, 9).map(lambda n: (n,)), ("uint8",)), st.data())
def test_counts_of_integers(pair, data):
    array, lazy = pair
    weights = data.draw(st.none() | values_of(array.shape, "float64").map(np.nan_to_num))
    least = data.draw(st.integers(0, 9))
    np.testing.assert_allclose(
        ga.bincount(lazy, weights, least).compute(scheduler="inline"), np.bincount(array, weights, least)
    )


@given(arrays(st.tuples(st.integers(1, 4), st.integers(2, 7)), ("float64", "int64")), st.booleans())
def test_covariances_and_correlations(pair, rowvar):
    array, lazy = pair
    equal(ga.cov(lazy, rowvar=rowvar), np.cov(array, rowvar=rowvar), **CLOSE)
    equal(ga.cov(lazy, lazy, bias=True), np.cov(array, array, bias=True), **CLOSE)
    expected = np.corrcoef(array, rowvar=rowvar)
    if np.isfinite(expected).all():
        equal(np.corrcoef(lazy, rowvar=rowvar), expected, **CLOSE)


@given(arrays(full_shapes, ("float64", "int64")), st.data())
def test_weighted_means(pair, data):
    array, lazy = pair
    axis = axis_of(data, array.ndim)
    weights = np.arange(1, 1 + array.shape[axis])
    equal(ga.average(lazy), np.average(array), **CLOSE)
    for found, expected in zip(
        ga.average(lazy, axis, weights, returned=True), np.average(array, axis, weights, returned=True), strict=True
    ):
        equal(found, expected, **CLOSE)
    equal(np.average(lazy, weights=np.ones(array.shape)), np.average(array, weights=np.ones(array.shape)), **CLOSE)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: ga.cumulative_sum(x), ValueError, "needs an axis"),
        (lambda x: ga.diff(x, -1), ValueError, "n=-1 is negative"),
        (lambda x: ga.gradient(x, 1, 2, 3), TypeError, "takes no distance, 1 or 2, got 3"),
        (lambda x: ga.gradient(x[:1], axis=0), ValueError, "with 1 elements; it needs 2"),
        (lambda x: ga.topk(x, 0), ValueError, "k=0 must be an integer other than 0"),
        (lambda x: ga.histogram(x, "auto"), NotImplementedError, "bins='auto'"),
        (lambda x: ga.histogramdd(x, 3), ValueError, r"needs range="),
        (lambda x: ga.bincount(x), TypeError, "it needs integers"),
        (lambda x: ga.digitize(x, [1, 3, 2]), ValueError, "ascending or descending"),
        (lambda x: ga.average(x, 0, [1, 2]), ValueError, "2 weights for axis 0 with 4 elements"),
    ],
)
def test_what_makes_no_sense_is_an_error_at_once(call, error, message):
    with pytest.raises(error, match=message):
        call(ga.ones((4, 6), chunks=2))
