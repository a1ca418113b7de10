"""Moments and tests of hypotheses, with the names and results of `scipy.stats`.

Moments need one pass over the data, whatever its mean: blocks' sums of powers are merged (Pébay, 2008). Statistics are
computed lazily; their p-values ask for SciPy's distribution functions. `nan_policy` is ``"propagate"``, ``"omit"`` (NaN is left out) or
``"raise"`` (a ValueError, when it is computed).

>>> import glassloom.array as ga
>>> x = ga.random.default_rng(0).normal(size=1000, chunks=100)
>>> bool(ga.stats.ttest_1samp(x, 0.0).pvalue > 0.05)
True
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from glassloom.array.api.array import Array, asarray
from glassloom.array.api.elementwise import where
from glassloom.array.api.shapes import broadcast_arrays
from glassloom.array.ops.base import normalize_axis
from glassloom.array.ops.elementwise import elementwise
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


@dataclass(frozen=True)
class Sample:
    """Floats, whose lines along `axis` are samples of `n` numbers: an integer, or a lazy array of one for each line."""

    values: Array
    axis: int
    n: Any
    left_out: Array | None = None
    """Where the values don't count; None if all do."""

    def of(self, values: Array) -> Sample:
        """Return other values, of which the same are left out."""
        return self if values is self.values else Sample(values, self.axis, self.n, self.left_out)

    def mean(self, *, keepdims: bool = False) -> Array:
        """Return the mean of each line."""
        if self.left_out is None:
            return self.values.mean(self.axis, keepdims=keepdims)
        n: Any = _or_nan(self.n, 1)
        return self.sum(keepdims=keepdims) / (np.expand_dims(n, self.axis) if keepdims else n)

    def sum(self, *, keepdims: bool = False) -> Array:
        """Return the sum of each line."""
        return self._sum(self.values, keepdims)

    def var(self, ddof: int = 0) -> Array:
        """Return the variance of each line."""
        if self.left_out is None:
            return self.values.var(self.axis, ddof=ddof)
        return self.squares() / _or_nan(self.n - ddof, 1)

    def squares(self) -> Array:
        """Return the sum of the squared distances from the mean."""
        if self.left_out is None:
            return self.values.var(self.axis) * self.n
        return self._sum((self.values - self.mean(keepdims=True)) ** 2)

    def moment(self, order: int) -> Array:
        """Return the mean of a power of the distances from the mean."""
        if self.left_out is None:
            return self.values.moment(order, self.axis)
        if order == 1:
            return 0 * self.mean()
        return self._sum((self.values - self.mean(keepdims=True)) ** order) / _or_nan(self.n, 1)

    def extremes(self) -> tuple[Array, Array]:
        """Return the least and the largest number of each line."""
        if self.left_out is None:
            return self.values.min(self.axis), self.values.max(self.axis)
        least, most = (where(self.left_out, end, self.values) for end in (math.inf, -math.inf))
        return where(self.n > 0, least.min(self.axis), math.nan), where(self.n > 0, most.max(self.axis), math.nan)

    def at_least(self, n: int, what: str) -> Sample:
        """Return the sample, with NaN for the number of lines that are shorter than that.

        Raises
        ------
        ValueError
            If all are.
        """
        if isinstance(self.n, Array):
            return Sample(self.values, self.axis, _or_nan(self.n, n), self.left_out)
        if self.n < n:
            raise ValueError(f"{what} needs at least {n} elements along the axis, there are {self.n}")
        return self

    def _sum(self, values: Array, keepdims: bool = False) -> Array:
        counted = values if self.left_out is None else where(self.left_out, 0, values)
        return counted.sum(self.axis, keepdims=keepdims)


def sample(a: Any, axis: int | None, nan_policy: str = "propagate") -> Sample:
    """Return the lines of an array along an axis; of the flat array for None.

    Parameters
    ----------
    nan_policy
        ``"propagate"``: a line with NaN has NaN as its result. ``"omit"``: NaN is left out. ``"raise"``: computing raises a
        ValueError if there is one.
    """
    (made,) = samples([a], axis, nan_policy)
    return made


def samples(arrays: list[Any], axis: int | None, nan_policy: str, *, paired: bool = False) -> list[Sample]:
    """Return the lines of several arrays.

    Parameters
    ----------
    paired
        Whether what is left out of one is left out of all. They have one shape then.
    """
    if nan_policy not in ("propagate", "omit", "raise"):
        raise OptionError(f"nan_policy={nan_policy!r} is none of 'propagate', 'omit' and 'raise'")
    lines = [_line(each, axis) for each in arrays]
    may_be_nan = any(asarray(each).dtype.kind in "fc" for each in arrays)
    if nan_policy == "raise" and may_be_nan:
        lines = [(Array(elementwise(without_nan, values.expr)), place) for values, place in lines]
    if nan_policy != "omit" or not may_be_nan:
        return [Sample(values, place, values.shape[place]) for values, place in lines]
    left_out: list[Any] = [np.isnan(values) for values, _ in lines]
    if paired:
        left_out = [functools.reduce(np.logical_or, left_out)] * len(lines)
    return [
        Sample(values, place, (~gone).sum(place), gone) for (values, place), gone in zip(lines, left_out, strict=True)
    ]


def _line(a: Any, axis: int | None) -> tuple[Array, int]:
    whole = asarray(a)
    if axis is None:
        whole, axis = whole.ravel(), 0
    return whole if whole.dtype.kind in "fc" else whole.astype(float), normalize_axis(axis, whole.ndim)


def _or_nan(n: Any, least: int) -> Any:
    """Return numbers as divisors: NaN for those that are too small."""
    return where(n >= least, n, math.nan) if isinstance(n, Array) else n


def without_nan(block: Any) -> Any:
    """Return a block that holds no NaN.

    Raises
    ------
    ValueError
        If it holds one.
    """
    if np.isnan(block).any():
        raise ValueError("the input contains nan values, and nan_policy='raise'")
    return block


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

    nobs: int | Array
    """A lazy array if NaN is left out."""
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
    return sample(a, axis, nan_policy).moment(order)


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
    return _skew(sample(a, axis, nan_policy), bias)


def _skew(of: Sample, bias: bool = True) -> Array:
    second = of.moment(2)
    made = of.moment(3) / second**1.5
    if not bias:
        made = _corrected(of.n, 2, made, lambda n: np.sqrt((n - 1.0) * n) / (n - 2.0) * made)
    return _unless_constant(made, second, of)


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
    return _kurtosis(sample(a, axis, nan_policy), bias) - (3 if fisher else 0)


def _kurtosis(of: Sample, bias: bool = True) -> Array:
    second = of.moment(2)
    made = of.moment(4) / second**2
    if not bias:
        made = _corrected(
            of.n, 3, made, lambda n: 1.0 / (n - 2) / (n - 3) * ((n**2 - 1.0) * made - 3 * (n - 1) ** 2.0) + 3
        )
    return _unless_constant(made, second, of)


def _corrected(n: Any, most: int, made: Array, correct: Callable[[Any], Array]) -> Array:
    """Return what is corrected for the length of samples that are longer than `most`; the others as they are."""
    if isinstance(n, Array):
        return where(n > most, correct(where(n > most, n, math.nan)), made)
    return correct(n) if n > most else made


def _unless_constant(made: Array, second: Array, of: Sample) -> Array:
    """Return NaN where the elements differ by no more than rounding does, as SciPy does."""
    limit = (np.finfo(made.dtype).resolution * of.mean()) ** 2
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
    of = sample(a, axis, nan_policy)
    return DescribeResult(of.n, of.extremes(), of.mean(), of.var(ddof), _skew(of, bias), _kurtosis(of, bias) - 3)


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
    return _t_test_of_mean(sample(a, axis, nan_policy), popmean, alternative)


def _t_test_of_mean(of: Sample, popmean: Any, alternative: str) -> TtestResult:
    return _t_test((of.mean() - popmean) / np.sqrt(of.var(ddof=1) / of.n), of.n - 1, alternative)


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
    shapes = asarray(a).shape, asarray(b).shape
    if shapes[0] != shapes[1]:
        raise ValueError(f"ttest_rel of samples of shapes {shapes[0]} and {shapes[1]}; pairs need equal ones")
    one, other = samples([a, b], axis, nan_policy, paired=True)
    return _t_test_of_mean(one.of(one.values - other.values), 0.0, alternative)


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
    one, other = samples([a, b], axis, nan_policy)
    n, m = one.n, other.n
    if equal_var:
        df: Any = n + m - 2
        error = np.sqrt((one.squares() + other.squares()) / df * (1 / n + 1 / m))
    else:
        mine, theirs = one.var(ddof=1) / n, other.var(ddof=1) / m
        df = (mine + theirs) ** 2 / (mine**2 / (n - 1) + theirs**2 / (m - 1))
        error = np.sqrt(mine + theirs)
    return _t_test((one.mean() - other.mean()) / error, df, alternative)


def _t_test(statistic: Any, df: Any, alternative: str) -> TtestResult:
    _check_alternative(alternative)
    made = Array(elementwise(t_pvalue, statistic.expr, _operand(df), alternative=alternative))
    return TtestResult(statistic, made, df)


def _operand(value: Any) -> Any:
    return value.expr if isinstance(value, Array) else value


def t_pvalue(statistic: Any, df: Any, alternative: str) -> Any:
    """Return how likely a t at least as extreme is."""
    cdf = _special().stdtr
    if alternative == "two-sided":
        return 2 * cdf(df, -abs(statistic))
    return cdf(df, statistic if alternative == "less" else -statistic)


def power_divergence(
    f_obs: Any,
    f_exp: Any = None,
    ddof: int = 0,
    axis: int | None = 0,
    lambda_: float | str = "pearson",
    *,
    nan_policy: str = "propagate",
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
    counts = [asarray(each).astype(float) for each in ([f_obs] if f_exp is None else [f_obs, f_exp])]
    observed, *others = samples(list(broadcast_arrays(*counts)), axis, nan_policy, paired=True)
    expected: Any = others[0].values if others else observed.mean(keepdims=True)
    terms = observed.of(Array(elementwise(divergence, observed.values.expr, expected.expr, power=float(power))))
    return _chi2_test(terms.sum(), terms.n - 1 - ddof)


def chisquare(
    f_obs: Any, f_exp: Any = None, ddof: int = 0, axis: int | None = 0, *, nan_policy: str = "propagate"
) -> HypothesisResult:
    """Test whether counts come with the expected frequencies (Pearson, 1900); see `power_divergence`.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.stats.chisquare(ga.asarray([10, 20, 30])).pvalue.compute().round(6)
    np.float64(0.006738)
    """
    return power_divergence(f_obs, f_exp, ddof, axis, nan_policy=nan_policy)


def divergence(observed: Any, expected: Any, power: float) -> Any:
    """Return what each count adds to the statistic of a power."""
    if power == 1:
        return (observed - expected) ** 2 / expected
    if power == 0:
        return 2.0 * _special().xlogy(observed, observed / expected)
    if power == -1:
        return 2.0 * _special().xlogy(expected, expected / observed)
    return 2.0 / (power * (power + 1)) * observed * ((observed / expected) ** power - 1)


def f_oneway(*arrays: Any, axis: int | None = 0, nan_policy: str = "propagate") -> HypothesisResult:
    """Test whether several samples have the same mean along an axis: one-way analysis of variance.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.stats.f_oneway(ga.arange(4), ga.arange(4) + 1).statistic.compute().round(6)
    np.float64(1.2)
    """
    if len(arrays) < 2:
        raise TypeError(f"f_oneway needs at least two samples, got {len(arrays)}")
    groups = samples(list(arrays), axis, nan_policy)
    total = sum(each.n for each in groups)
    means = [each.mean() for each in groups]
    grand = sum((each.n * mean for each, mean in zip(groups, means, strict=True)), start=0.0) / total
    between = sum(each.n * (mean - grand) ** 2 for each, mean in zip(groups, means, strict=True))
    within = sum(each.n * each.var() for each in groups)
    df_between, df_within = len(groups) - 1, total - len(groups)
    statistic: Any = (between / df_between) / (within / df_within)
    made = elementwise(f_pvalue, statistic.expr, _operand(df_within), df_between=df_between)
    return HypothesisResult(statistic, Array(made))


def f_pvalue(statistic: Any, df_within: Any, df_between: int) -> Any:
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
    of = sample(a, axis, nan_policy).at_least(8, "skewtest")
    n = 1.0 * of.n
    y: Any = _skew(of) * np.sqrt((n + 1) * (n + 3) / (6.0 * (n - 2)))
    beta = 3.0 * (n**2 + 27 * n - 70) * (n + 1) * (n + 3) / ((n - 2.0) * (n + 5) * (n + 7) * (n + 9))
    w2 = -1 + np.sqrt(2 * (beta - 1))
    alpha = np.sqrt(2.0 / (w2 - 1))
    scaled = where(y == 0, 1.0, y) / alpha
    return _z_test(np.log(scaled + np.sqrt(scaled**2 + 1)) / np.sqrt(0.5 * np.log(w2)), alternative)


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
    of = sample(a, axis, nan_policy).at_least(5, "kurtosistest")
    n = 1.0 * of.n
    spread = 24.0 * n * (n - 2) * (n - 3) / ((n + 1) ** 2 * (n + 3) * (n + 5))
    x: Any = (_kurtosis(of) - 3.0 * (n - 1) / (n + 1)) / np.sqrt(spread)
    root = 6.0 * (n**2 - 5 * n + 2) / ((n + 7) * (n + 9)) * np.sqrt(6.0 * (n + 3) * (n + 5) / (n * (n - 2) * (n - 3)))
    a_ = 6.0 + 8.0 / root * (2.0 / root + np.sqrt(1 + 4.0 / root**2))
    divisor = 1 + x * np.sqrt(2 / (a_ - 4.0))
    term = np.sign(divisor) * where(divisor == 0, math.nan, ((1 - 2.0 / a_) / abs(divisor)) ** (1 / 3))
    return _z_test((1 - 2 / (9.0 * a_) - term) / np.sqrt(2 / (9.0 * a_)), alternative)


def normaltest(a: Any, axis: int | None = 0, nan_policy: str = "propagate") -> HypothesisResult:
    """Test whether skewness and kurtosis along an axis are those of the normal distribution (D'Agostino and Pearson, 1973).

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.stats.normaltest(ga.arange(20, chunks=5)).pvalue.compute().round(6)
    np.float64(0.13587)
    """
    one, other = skewtest(a, axis, nan_policy=nan_policy), kurtosistest(a, axis, nan_policy=nan_policy)
    return _chi2_test(one.statistic**2 + other.statistic**2, 2)


def _z_test(statistic: Any, alternative: str) -> HypothesisResult:
    _check_alternative(alternative)
    return HypothesisResult(statistic, Array(elementwise(z_pvalue, statistic.expr, alternative=alternative)))


def z_pvalue(statistic: Any, alternative: str) -> Any:
    """Return how likely a standard normal number at least as extreme is."""
    cdf = _special().ndtr
    if alternative == "two-sided":
        return 2 * cdf(-abs(statistic))
    return cdf(statistic if alternative == "less" else -statistic)


def _chi2_test(statistic: Any, df: Any) -> HypothesisResult:
    return HypothesisResult(statistic, Array(elementwise(chi2_pvalue, statistic.expr, _operand(df))))


def chi2_pvalue(statistic: Any, df: Any) -> Any:
    """Return how likely a chi-square at least as large is."""
    return _special().chdtrc(df, statistic)


def _check_alternative(alternative: str) -> None:
    if alternative not in ("two-sided", "less", "greater"):
        raise OptionError(f"alternative={alternative!r} is none of 'two-sided', 'less' and 'greater'")


def _special() -> Any:
    try:
        from scipy import special  # optional: only p-values need it
    except ImportError:
        raise ImportError("p-values of glassloom.array.stats need the package scipy: pip install scipy") from None
    return special
