"""Moments and tests of hypotheses give SciPy's numbers, however the arrays are cut."""

import warnings

import glassloom as gl
import glassloom.array as ga
import numpy as np
import pytest
import scipy.stats
from array_strategies import chunks_of
from hypothesis import given
from hypothesis import strategies as st

CLOSE = {"rtol": 1e-8, "atol": 1e-10}


@st.composite
def samples(draw, least=9):
    """A NumPy array of one or two axes, large beside its spread or not, and the same as a lazy one."""
    shape = (draw(st.integers(least, 20)), *draw(st.lists(st.integers(1, 3), max_size=1)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    array = rng.gamma(2.0, 3.0, size=shape) + draw(st.sampled_from([0.0, 1000.0]))
    if draw(st.booleans()):
        array = array.round().astype("int64")
    return array, ga.from_array(array, chunks=draw(chunks_of(shape)))


def same(found, expected):
    np.testing.assert_allclose(np.asarray(found), expected, **CLOSE)


axes = st.sampled_from([0, -1, None])


@given(samples(), axes)
def test_moments(pair, axis):
    array, lazy = pair
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # SciPy warns of constant lines
        for order in range(6):
            np.testing.assert_allclose(
                ga.stats.moment(lazy, order, axis).compute(),
                scipy.stats.moment(array, order, axis),
                rtol=1e-6,
                atol=1e-6,
            )
        for bias in (True, False):
            same(ga.stats.skew(lazy, axis, bias), scipy.stats.skew(array, axis, bias))
            same(ga.stats.kurtosis(lazy, axis, bias=bias), scipy.stats.kurtosis(array, axis, bias=bias))
        same(ga.stats.kurtosis(lazy, axis, fisher=False), scipy.stats.kurtosis(array, axis, fisher=False))
        found, expected = ga.stats.describe(lazy, axis), scipy.stats.describe(array, axis)
    assert found.nobs == expected.nobs
    for name in ("mean", "variance", "skewness", "kurtosis"):
        same(getattr(found, name), getattr(expected, name))
    for one, other in zip(found.minmax, expected.minmax, strict=True):
        same(one, other)


@given(samples(), samples(), st.sampled_from(["two-sided", "less", "greater"]), st.booleans())
def test_students_t(pair, other_pair, alternative, equal_var):
    (array, lazy), (other, lazy_other) = pair, other_pair
    array, lazy, other, lazy_other = array.ravel(), lazy.ravel(), other.ravel(), lazy_other.ravel()
    if not array.var() or not other.var():
        return
    found = ga.stats.ttest_1samp(lazy, 3.0, alternative=alternative)
    expected = scipy.stats.ttest_1samp(array, 3.0, alternative=alternative)
    same(found, (expected.statistic, expected.pvalue, expected.df))
    found = ga.stats.ttest_ind(lazy, lazy_other, equal_var=equal_var, alternative=alternative)
    expected = scipy.stats.ttest_ind(array, other, equal_var=equal_var, alternative=alternative)
    same([np.asarray(each) for each in found], (expected.statistic, expected.pvalue, expected.df))
    short = min(len(array), len(other))
    if (array[:short] - other[:short]).var():
        found = ga.stats.ttest_rel(lazy[:short], lazy_other[:short], alternative=alternative)
        expected = scipy.stats.ttest_rel(array[:short], other[:short], alternative=alternative)
        same(found, (expected.statistic, expected.pvalue, expected.df))


@given(samples(), samples(), samples())
def test_variance_of_several_samples(one, other, third):
    plain, lazy = zip(*[(array.ravel(), each.ravel()) for array, each in (one, other, third)], strict=True)
    if not all(array.var() for array in plain) or np.ptp([array.mean() for array in plain]) < 1e-6:
        return  # SciPy's statistic of equal means is less than 0 by rounding
    expected = scipy.stats.f_oneway(*plain)
    same(ga.stats.f_oneway(*lazy), (expected.statistic, expected.pvalue))


@given(samples(), st.sampled_from([None, *ga.stats._POWERS, 2.5]), st.booleans())
def test_counts(pair, power, is_expected):
    array, lazy = np.abs(pair[0]) + 1, abs(pair[1]) + 1
    exp = np.roll(array, 1, 0) if is_expected else None
    lazy_exp = None if exp is None else ga.from_array(exp, chunks=4)
    if power is None:
        expected, found = scipy.stats.chisquare(array, exp, 1), ga.stats.chisquare(lazy, lazy_exp, 1)
    else:
        expected = scipy.stats.power_divergence(array, exp, lambda_=power)
        found = ga.stats.power_divergence(lazy, lazy_exp, lambda_=power)
    same(found.statistic, expected.statistic)
    same(found.pvalue, expected.pvalue)


@given(samples(least=20), st.sampled_from(["two-sided", "less", "greater"]))
def test_normality(pair, alternative):
    array, lazy = pair
    array, lazy = array.ravel(), lazy.ravel()
    for name in ("skewtest", "kurtosistest"):
        expected = getattr(scipy.stats, name)(array, alternative=alternative)
        same(getattr(ga.stats, name)(lazy, alternative=alternative), (expected.statistic, expected.pvalue))
    expected = scipy.stats.normaltest(array)
    same(ga.stats.normaltest(lazy), (expected.statistic, expected.pvalue))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: ga.stats.ttest_1samp(x, 0, alternative="more"), ValueError, "alternative='more' is none of"),
        (lambda x: ga.stats.power_divergence(x, lambda_="x"), ValueError, "lambda_='x' is no number and none of"),
        (lambda x: ga.stats.skewtest(x), ValueError, "at least 8 elements along the axis, there are 4"),
        (lambda x: ga.stats.kurtosistest(x), ValueError, "at least 5 elements along the axis, there are 4"),
        (lambda x: ga.stats.ttest_rel(x, x[:2]), ValueError, r"shapes \(4,\) and \(2,\); pairs need equal ones"),
        (lambda x: ga.stats.f_oneway(x), TypeError, "f_oneway needs at least two samples, got 1"),
        (lambda x: x.moment(2.5), ValueError, "order=2.5 of a moment is not an integer"),
    ],
)
def test_wrong_arguments_raise_at_once_with_their_values(call, error, message):
    with pytest.raises(error, match=message):
        call(ga.arange(4, chunks=2))


def test_p_values_without_scipy_say_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "scipy", None)
    with pytest.raises(ImportError, match="pip install scipy"):
        ga.stats.ttest_1samp(ga.arange(4, chunks=2), 0)


def _with_nan(seed):
    rng = np.random.default_rng(seed)
    array = rng.gamma(2.0, 3.0, size=(24, 2))
    array[rng.random(array.shape) < 0.2] = np.nan
    return array, ga.from_array(array, chunks=(7, 1))


@pytest.mark.filterwarnings("ignore")  # SciPy warns of lines that are short
@pytest.mark.parametrize("axis", [0, -1, None])
def test_nan_is_left_out_as_scipy_does(axis):
    (array, lazy), other_pair, policy = _with_nan(0), _with_nan(1), {"nan_policy": "omit"}
    if axis == -1:
        array, lazy = array.T, lazy.T
    calls = [(name, (), {"axis": axis}) for name in ("skew", "kurtosis", "skewtest", "kurtosistest", "normaltest")]
    calls += [("moment", (1, axis), {}), ("moment", (4, axis), {}), ("skew", (axis, False), {})]
    calls += [("kurtosis", (axis,), {"bias": False, "fisher": False})]
    wanted = [np.asarray(getattr(scipy.stats, name)(array, *args, **k, **policy)) for name, args, k in calls]
    lazy_results = [getattr(ga.stats, name)(lazy, *args, **k, **policy) for name, args, k in calls]
    described = ga.stats.describe(lazy, axis, **policy)
    found, described = gl.compute(lazy_results, described)
    for (name, _, _), one, other in zip(calls, found, wanted, strict=True):
        np.testing.assert_allclose(np.asarray(one), other, err_msg=name, **CLOSE)
    expected = scipy.stats.describe(array, axis, **policy)
    same(described.minmax, expected.minmax)
    for name in ("nobs", "mean", "variance", "skewness", "kurtosis"):
        same(getattr(described, name), getattr(expected, name))
    pairs = [_with_nan(0), other_pair]
    for name in ("ttest_rel", "ttest_ind", "f_oneway"):
        wanted_of = getattr(scipy.stats, name)(*(each for each, _ in pairs), axis=axis, **policy)
        made = getattr(ga.stats, name)(*(each for _, each in pairs), axis=axis, **policy)
        same([made.statistic, made.pvalue], [wanted_of.statistic, wanted_of.pvalue])


def test_nan_among_counts_is_left_out_with_its_pair():
    observed, expected = np.array([5.0, np.nan, 7, 8, 3]), np.array([4.0, 6, np.nan, 7, 5])
    for others in ((), (expected,)):
        wanted = scipy.stats.power_divergence(observed, *others, lambda_="log-likelihood", nan_policy="omit")
        found = ga.stats.power_divergence(
            ga.from_array(observed, chunks=2), *others, lambda_="log-likelihood", nan_policy="omit"
        )
        same(found, wanted)
    assert np.isnan(ga.stats.chisquare(ga.from_array(observed, chunks=2)).statistic.compute())


def test_lines_without_enough_numbers_have_nan_and_infinite_differences_too():
    lines = np.array([[1.0, 2, 4, np.nan], [np.nan] * 4, [3, np.nan, np.nan, np.nan]])
    lazy = ga.from_array(lines, chunks=2)
    found = ga.stats.describe(lazy, axis=1, nan_policy="omit")
    assert found.nobs.compute().tolist() == [3, 0, 1]
    np.testing.assert_array_equal(found.mean.compute(), [7 / 3, np.nan, 3])
    np.testing.assert_array_equal(found.minmax[0].compute(), [1, np.nan, 3])
    np.testing.assert_array_equal(np.isnan(found.variance.compute()), [False, True, True])
    infinite = ga.asarray([np.inf, 1, 2, np.nan])
    assert np.isnan(ga.stats.ttest_rel(infinite, infinite, nan_policy="omit").statistic.compute())


def test_nan_raises_when_it_is_computed_if_asked_for():
    lazy = ga.asarray([1.0, np.nan, 3, 4, 5, 6, 7, 8])
    found = ga.stats.skewtest(lazy, nan_policy="raise")
    with pytest.raises(ValueError, match="contains nan values, and nan_policy='raise'"):
        found.statistic.compute()
    same(ga.stats.skew(lazy[2:], nan_policy="raise"), scipy.stats.skew([3, 4, 5, 6, 7, 8]))
    with pytest.raises(ValueError, match="nan_policy='drop' is none of"):
        ga.stats.skew(lazy, nan_policy="drop")
