"""Moments and tests of hypotheses, with the names and results of `scipy.stats`.

Moments need one pass over the data, whatever its mean: blocks' sums of powers are merged (Pébay, 2008). Statistics are
computed lazily; their p-values ask for SciPy's distribution functions.

>>> import glassloom.array as ga
>>> x = ga.random.default_rng(0).normal(size=1000, chunks=100)
>>> bool(ga.stats.ttest_1samp(x, 0.0).pvalue > 0.05)
True
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from glassloom.array.array import Array, asarray
from glassloom.array.elements import where
from glassloom.array.nodes.base import normalize_axis
from glassloom.array.nodes.elementwise import elementwise
from glassloom.errors import OptionError

__all__ = [
    "chisquare",
    "describe",
    "f_oneway",
    "kurtosis",
    "kurtosistest",
    "moment",
    "normaltest",
    "power_divergence",
    "skew",
    "skewtest",
    "ttest_1samp",
    "ttest_ind",
    "ttest_rel",
]

_POWERS = {
    "pearson": 1.0, "log-likelihood": 0.0, "freeman-tukey": -0.5, "mod-log-likelihood": -1.0, "neyman": -2.0,
    "cressie-read": 2 / 3,
}  # fmt: skip


class HypothesisResult(NamedTuple):
    """The statistic of a test, and how likely one at least as extreme is if the hypothesis holds."""

    statistic: Array
    pvalue: Array


class TtestResult(NamedTuple):
    """A statistic of Student's t, its p-value, and the degrees of freedom."""

    statistic: Array
    pvalue: Array
    df: Any


class DescribeResult(NamedTuple):
    """What describes a sample along an axis."""

    nobs: int
    minmax: tuple[Array, Array]
    mean: Array
    variance: Array
    skewness: Array
    kurtosis: Array


def moment(a: Any, order: int = 1, axis: int | None = 0, nan_policy: str = "propagate") -> Array:
    """Return a central moment along an axis: the mean of a power of distances from the mean.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.stats.moment(ga.arange(5, chunks=2), order=4).compute()
    np.float64(6.8)
    """
    _check_nan_policy(nan_policy)
    whole, place = _line(a, axis)
    return whole.moment(order, place)


def skew(a: Any, axis: int | None = 0, bias: bool = True, nan_policy: str = "propagate") -> Array:
    """Return the skewness along an axis: the third moment over the second to the power of 3/2.

    Parameters
    ----------
    bias
        If false, corrected for the length of the sample.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.stats.skew(ga.asarray([1.0, 2.0, 9.0])).compute().round(6)
    np.float64(0.665469)
    """
    _check_nan_policy(nan_policy)
    whole, place = _line(a, axis)
    n, second = whole.shape[place], whole.moment(2, place)
    made = whole.moment(3, place) / second**1.5
    if not bias and n > 2:
        made = math.sqrt((n - 1.0) * n) / (n - 2.0) * made
    return _unless_constant(made, second, whole, place)


def kurtosis(
    a: Any, axis: int | None = 0, fisher: bool = True, bias: bool = True, nan_policy: str = "propagate"
) -> Array:
    """Return the kurtosis along an axis: the fourth moment over the square of the second, less 3.

    Parameters
    ----------
    fisher
        If false, 3 isn't taken off.
    bias
        If false, corrected for the length of the sample.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.stats.kurtosis(ga.arange(5, chunks=2)).compute()
    np.float64(-1.3)
    """
    _check_nan_policy(nan_policy)
    whole, place = _line(a, axis)
    n, second = whole.shape[place], whole.moment(2, place)
    made = whole.moment(4, place) / second**2
    if not bias and n > 3:
        made = 1.0 / (n - 2) / (n - 3) * ((n**2 - 1.0) * made - 3 * (n - 1) ** 2.0) + 3
    made = _unless_constant(made, second, whole, place)
    return made - 3 if fisher else made


def _unless_constant(made: Array, second: Array, whole: Array, axis: int) -> Array:
    """Return NaN where the elements differ by no more than rounding does, as SciPy does."""
    limit = (np.finfo(made.dtype).resolution * whole.mean(axis)) ** 2
    return where(second <= limit, math.nan, made)


def describe(
    a: Any, axis: int | None = 0, ddof: int = 1, bias: bool = True, nan_policy: str = "propagate"
) -> DescribeResult:
    """Return number, extremes, mean, variance, skewness and kurtosis along an axis.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.stats.describe(ga.arange(5, chunks=2)).variance.compute()
    np.float64(2.5)
    """
    _check_nan_policy(nan_policy)
    whole, place = _line(a, axis)
    extremes = (whole.min(place), whole.max(place))
    return DescribeResult(
        whole.shape[place], extremes, whole.mean(place), whole.var(place, ddof=ddof), skew(whole, place, bias),
        kurtosis(whole, place, bias=bias),
    )  # fmt: skip


def ttest_1samp(
    a: Any, popmean: Any, axis: int | None = 0, alternative: str = "two-sided", nan_policy: str = "propagate"
) -> TtestResult:
    """Test whether the mean along an axis is `popmean`.

    Parameters
    ----------
    alternative
        ``"two-sided"``, ``"less"`` or ``"greater"``.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.stats.ttest_1samp(ga.arange(5, chunks=2), 1.0).statistic.compute().round(6)
    np.float64(1.414214)
    """
    _check_nan_policy(nan_policy)
    whole, place = _line(a, axis)
    n = whole.shape[place]
    statistic = (whole.mean(place) - popmean) / np.sqrt(whole.var(place, ddof=1) / n)
    return _t_test(statistic, n - 1, alternative)


def ttest_rel(
    a: Any, b: Any, axis: int | None = 0, alternative: str = "two-sided", nan_policy: str = "propagate"
) -> TtestResult:
    """Test whether two samples of pairs have the same mean along an axis.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.stats.ttest_rel(ga.asarray([1.0, 2.0, 4.0]), ga.asarray([1.0, 1.0, 2.0])).df
    2
    """
    _check_nan_policy(nan_policy)
    (one, place), (other, _) = _line(a, axis), _line(b, axis)
    if one.shape != other.shape:
        raise ValueError(f"ttest_rel of samples of shapes {one.shape} and {other.shape}; pairs need equal ones")
    return ttest_1samp(one - other, 0.0, place, alternative)


def ttest_ind(
    a: Any,
    b: Any,
    axis: int | None = 0,
    equal_var: bool = True,
    alternative: str = "two-sided",
    nan_policy: str = "propagate",
) -> TtestResult:
    """Test whether two independent samples have the same mean along an axis.

    Parameters
    ----------
    equal_var
        Whether the variances are taken as equal (Student); if not, the degrees of freedom are Welch's (1947).

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.stats.ttest_ind(ga.arange(4), ga.arange(6)).statistic.compute().round(6)
    np.float64(-0.92376)
    """
    _check_nan_policy(nan_policy)
    (one, place), (other, _) = _line(a, axis), _line(b, axis)
    n, m = one.shape[place], other.shape[place]
    spread, spread_other = one.var(place, ddof=1), other.var(place, ddof=1)
    if equal_var:
        df: Any = n + m - 2
        error = np.sqrt(((n - 1) * spread + (m - 1) * spread_other) / df * (1 / n + 1 / m))
    else:
        mine, theirs = spread / n, spread_other / m
        df = (mine + theirs) ** 2 / (mine**2 / (n - 1) + theirs**2 / (m - 1))
        error = np.sqrt(mine + theirs)
    return _t_test((one.mean(place) - other.mean(place)) / error, df, alternative)


def _t_test(statistic: Any, df: Any, alternative: str) -> TtestResult:
    _check_alternative(alternative)
    freedom = df.expr if isinstance(df, Array) else df
    made = Array(elementwise(t_pvalue, statistic.expr, freedom, alternative=alternative))
    return TtestResult(statistic, made, df)


def t_pvalue(statistic: Any, df: Any, alternative: str) -> Any:
    """Return how likely a t at least as extreme is."""
    cdf = _special().stdtr
    if alternative == "two-sided":
        return 2 * cdf(df, -abs(statistic))
    return cdf(df, statistic if alternative == "less" else -statistic)


def power_divergence(
    f_obs: Any, f_exp: Any = None, ddof: int = 0, axis: int | None = 0, lambda_: float | str = "pearson"
) -> HypothesisResult:
    """Test whether counts come with the expected frequencies (Cressie and Read, 1984).

    Parameters
    ----------
    f_exp
        The expected counts; by default all the same.
    ddof
        Taken off the degrees of freedom, which are one less than the counts.
    lambda_
        The power, or a name of one: ``"pearson"``, ``"log-likelihood"``, ``"freeman-tukey"``,
        ``"mod-log-likelihood"``, ``"neyman"`` or ``"cressie-read"``.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.stats.power_divergence(ga.asarray([10, 20, 30])).statistic.compute()
    np.float64(10.0)
    """
    if isinstance(lambda_, str) and lambda_ not in _POWERS:
        raise OptionError(f"lambda_={lambda_!r} is no number and none of {sorted(_POWERS)}")
    power = _POWERS[lambda_] if isinstance(lambda_, str) else lambda_
    observed, place = _line(f_obs, axis)
    observed = observed.astype(float)
    expected: Any = observed.mean(place, keepdims=True) if f_exp is None else _line(f_exp, axis)[0]
    terms = Array(elementwise(divergence, observed.expr, expected.expr, power=float(power)))
    statistic = terms.sum(place)
    return HypothesisResult(statistic, _chi2_pvalue(statistic, terms.shape[place] - 1 - ddof))


def chisquare(f_obs: Any, f_exp: Any = None, ddof: int = 0, axis: int | None = 0) -> HypothesisResult:
    """Test whether counts come with the expected frequencies (Pearson, 1900); see `power_divergence`.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.stats.chisquare(ga.asarray([10, 20, 30])).pvalue.compute().round(6)
    np.float64(0.006738)
    """
    return power_divergence(f_obs, f_exp, ddof, axis)


def divergence(observed: Any, expected: Any, power: float) -> Any:
    """Return what each count adds to the statistic of a power."""
    if power == 1:
        return (observed - expected) ** 2 / expected
    if power == 0:
        return 2.0 * _special().xlogy(observed, observed / expected)
    if power == -1:
        return 2.0 * _special().xlogy(expected, expected / observed)
    return 2.0 / (power * (power + 1)) * observed * ((observed / expected) ** power - 1)


def f_oneway(*samples: Any, axis: int | None = 0) -> HypothesisResult:
    """Test whether several samples have the same mean along an axis: one-way analysis of variance.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.stats.f_oneway(ga.arange(4), ga.arange(4) + 1).statistic.compute().round(6)
    np.float64(1.2)
    """
    if len(samples) < 2:
        raise TypeError(f"f_oneway needs at least two samples, got {len(samples)}")
    lines = [_line(sample, axis) for sample in samples]
    lengths = [whole.shape[place] for whole, place in lines]
    total = sum(lengths)
    means = [whole.mean(place) for whole, place in lines]
    grand = sum((n * mean for n, mean in zip(lengths, means, strict=True)), start=0.0) / total
    between = sum(n * (mean - grand) ** 2 for n, mean in zip(lengths, means, strict=True))
    within = sum(n * whole.var(place) for n, (whole, place) in zip(lengths, lines, strict=True))
    df_between, df_within = len(samples) - 1, total - len(samples)
    statistic: Any = (between / df_between) / (within / df_within)
    options = {"df_between": df_between, "df_within": df_within}
    return HypothesisResult(statistic, Array(elementwise(f_pvalue, statistic.expr, **options)))


def f_pvalue(statistic: Any, df_between: int, df_within: int) -> Any:
    """Return how likely an F at least as large is."""
    return _special().fdtrc(df_between, df_within, statistic)


def skewtest(
    a: Any, axis: int | None = 0, alternative: str = "two-sided", nan_policy: str = "propagate"
) -> HypothesisResult:
    """Test whether the skewness along an axis is that of the normal distribution (D'Agostino, 1971).

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.stats.skewtest(ga.arange(9, chunks=2) ** 2).statistic.compute().round(6)
    np.float64(1.158411)
    """
    _check_nan_policy(nan_policy)
    whole, place = _line(a, axis)
    n = float(whole.shape[place])
    if n < 8:
        raise ValueError(f"skewtest needs at least 8 elements along the axis, there are {n:.0f}")
    y = skew(whole, place) * math.sqrt((n + 1) * (n + 3) / (6.0 * (n - 2)))
    beta = 3.0 * (n**2 + 27 * n - 70) * (n + 1) * (n + 3) / ((n - 2.0) * (n + 5) * (n + 7) * (n + 9))
    w2 = -1 + math.sqrt(2 * (beta - 1))
    alpha = math.sqrt(2.0 / (w2 - 1))
    scaled = where(y == 0, 1.0, y) / alpha
    return _z_test(np.log(scaled + np.sqrt(scaled**2 + 1)) / math.sqrt(0.5 * math.log(w2)), alternative)


def kurtosistest(
    a: Any, axis: int | None = 0, alternative: str = "two-sided", nan_policy: str = "propagate"
) -> HypothesisResult:
    """Test whether the kurtosis along an axis is that of the normal distribution (Anscombe and Glynn, 1983).

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.stats.kurtosistest(ga.arange(20, chunks=5)).statistic.compute().round(6)
    np.float64(-1.70581)
    """
    _check_nan_policy(nan_policy)
    whole, place = _line(a, axis)
    n = float(whole.shape[place])
    if n < 5:
        raise ValueError(f"kurtosistest needs at least 5 elements along the axis, there are {n:.0f}")
    spread = 24.0 * n * (n - 2) * (n - 3) / ((n + 1) ** 2 * (n + 3) * (n + 5))
    x = (kurtosis(whole, place, fisher=False) - 3.0 * (n - 1) / (n + 1)) / math.sqrt(spread)
    root = 6.0 * (n**2 - 5 * n + 2) / ((n + 7) * (n + 9)) * math.sqrt(6.0 * (n + 3) * (n + 5) / (n * (n - 2) * (n - 3)))
    a_ = 6.0 + 8.0 / root * (2.0 / root + math.sqrt(1 + 4.0 / root**2))
    divisor = 1 + x * math.sqrt(2 / (a_ - 4.0))
    term = np.sign(divisor) * where(divisor == 0, math.nan, ((1 - 2.0 / a_) / abs(divisor)) ** (1 / 3))
    return _z_test((1 - 2 / (9.0 * a_) - term) / math.sqrt(2 / (9.0 * a_)), alternative)


def normaltest(a: Any, axis: int | None = 0, nan_policy: str = "propagate") -> HypothesisResult:
    """Test whether skewness and kurtosis along an axis are those of the normal distribution (D'Agostino and Pearson, 1973).

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.stats.normaltest(ga.arange(20, chunks=5)).pvalue.compute().round(6)
    np.float64(0.13587)
    """
    _check_nan_policy(nan_policy)
    statistic: Any = skewtest(a, axis).statistic ** 2 + kurtosistest(a, axis).statistic ** 2
    return HypothesisResult(statistic, _chi2_pvalue(statistic, 2))


def _z_test(statistic: Any, alternative: str) -> HypothesisResult:
    _check_alternative(alternative)
    return HypothesisResult(statistic, Array(elementwise(z_pvalue, statistic.expr, alternative=alternative)))


def z_pvalue(statistic: Any, alternative: str) -> Any:
    """Return how likely a standard normal number at least as extreme is."""
    cdf = _special().ndtr
    if alternative == "two-sided":
        return 2 * cdf(-abs(statistic))
    return cdf(statistic if alternative == "less" else -statistic)


def _chi2_pvalue(statistic: Any, df: float) -> Array:
    return Array(elementwise(chi2_pvalue, statistic.expr, df=df))


def chi2_pvalue(statistic: Any, df: float) -> Any:
    """Return how likely a chi-square at least as large is."""
    return _special().chdtrc(df, statistic)


def _check_alternative(alternative: str) -> None:
    if alternative not in ("two-sided", "less", "greater"):
        raise OptionError(f"alternative={alternative!r} is none of 'two-sided', 'less' and 'greater'")


def _check_nan_policy(nan_policy: str) -> None:
    if nan_policy in ("omit", "raise"):
        raise NotImplementedError(f"nan_policy={nan_policy!r}; only 'propagate' is there: x[~isnan(x)] leaves NaN out")
    if nan_policy != "propagate":
        raise OptionError(f"nan_policy={nan_policy!r} is none of 'propagate', 'omit' and 'raise'")


def _line(a: Any, axis: int | None) -> tuple[Array, int]:
    """Return an array of floats and the axis of the samples; of the flat array for None."""
    whole = asarray(a)
    if axis is None:
        whole, axis = whole.ravel(), 0
    return whole if whole.dtype.kind in "fc" else whole.astype(float), normalize_axis(axis, whole.ndim)


def _special() -> Any:
    try:
        from scipy import special  # optional: only p-values need it
    except ImportError:
        raise ImportError("p-values of glassloom.array.stats need the package scipy: pip install scipy") from None
    return special
