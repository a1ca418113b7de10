"""The distributions that generators of random arrays draw from: parameters, defaults and order are NumPy's.

Parameters are numbers, or arrays (lazy ones too), which broadcast. How it is drawn is the generator's own.
"""

from __future__ import annotations

from typing import Any

from glassloom.array.api.array import Array


class Distributions:
    """The methods; `Generator` and `RandomState` inherit them.

    `size` is the shape of the result, which is that of the parameters by default; `chunks` says the lengths of its blocks.
    """

    def _draw(self, method: str, args: tuple[Any, ...], size: Any, chunks: Any, /, **options: Any) -> Array:
        raise NotImplementedError

    def _draw_vectors(self, method: str, args: tuple[Any, ...], size: Any, chunks: Any, /, **options: Any) -> Array:
        raise NotImplementedError

    def beta(self, a: Any, b: Any, size: Any = None, *, chunks: Any = "auto") -> Array:
        """Return numbers of the beta distribution, from 0 to 1."""
        return self._draw("beta", (a, b), size, chunks)

    def binomial(self, n: Any, p: Any, size: Any = None, *, chunks: Any = "auto") -> Array:
        """Return numbers of the binomial distribution: successes in `n` trials of probability `p`."""
        return self._draw("binomial", (n, p), size, chunks)

    def chisquare(self, df: Any, size: Any = None, *, chunks: Any = "auto") -> Array:
        """Return numbers of the chi-square distribution with `df` degrees of freedom."""
        return self._draw("chisquare", (df,), size, chunks)

    def exponential(self, scale: Any = 1.0, size: Any = None, *, chunks: Any = "auto") -> Array:
        """Return numbers of the exponential distribution with mean `scale`."""
        return self._draw("exponential", (scale,), size, chunks)

    def f(self, dfnum: Any, dfden: Any, size: Any = None, *, chunks: Any = "auto") -> Array:
        """Return numbers of the F distribution with `dfnum` and `dfden` degrees of freedom."""
        return self._draw("f", (dfnum, dfden), size, chunks)

    def gamma(self, shape: Any, scale: Any = 1.0, size: Any = None, *, chunks: Any = "auto") -> Array:
        """Return numbers of the gamma distribution with mean `shape * scale`."""
        return self._draw("gamma", (shape, scale), size, chunks)

    def geometric(self, p: Any, size: Any = None, *, chunks: Any = "auto") -> Array:
        """Return numbers of the geometric distribution: trials of probability `p` up to the first success."""
        return self._draw("geometric", (p,), size, chunks)

    def gumbel(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, *, chunks: Any = "auto") -> Array:
        """Return numbers of the Gumbel distribution."""
        return self._draw("gumbel", (loc, scale), size, chunks)

    def hypergeometric(self, ngood: Any, nbad: Any, nsample: Any, size: Any = None, *, chunks: Any = "auto") -> Array:
        """Return numbers of the hypergeometric distribution: good ones among `nsample` taken from `ngood + nbad` without replacement."""
        return self._draw("hypergeometric", (ngood, nbad, nsample), size, chunks)

    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, *, chunks: Any = "auto") -> Array:
        """Return numbers of the Laplace distribution."""
        return self._draw("laplace", (loc, scale), size, chunks)

    def logistic(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, *, chunks: Any = "auto") -> Array:
        """Return numbers of the logistic distribution."""
        return self._draw("logistic", (loc, scale), size, chunks)

    def lognormal(self, mean: Any = 0.0, sigma: Any = 1.0, size: Any = None, *, chunks: Any = "auto") -> Array:
        """Return numbers of the log-normal distribution: their logarithms are normally distributed."""
        return self._draw("lognormal", (mean, sigma), size, chunks)

    def logseries(self, p: Any, size: Any = None, *, chunks: Any = "auto") -> Array:
        """Return numbers of the logarithmic series distribution."""
        return self._draw("logseries", (p,), size, chunks)

    def negative_binomial(self, n: Any, p: Any, size: Any = None, *, chunks: Any = "auto") -> Array:
        """Return numbers of the negative binomial distribution: failures before `n` successes of probability `p`."""
        return self._draw("negative_binomial", (n, p), size, chunks)

    def noncentral_chisquare(self, df: Any, nonc: Any, size: Any = None, *, chunks: Any = "auto") -> Array:
        """Return numbers of the noncentral chi-square distribution."""
        return self._draw("noncentral_chisquare", (df, nonc), size, chunks)

    def noncentral_f(self, dfnum: Any, dfden: Any, nonc: Any, size: Any = None, *, chunks: Any = "auto") -> Array:
        """Return numbers of the noncentral F distribution."""
        return self._draw("noncentral_f", (dfnum, dfden, nonc), size, chunks)

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, *, chunks: Any = "auto") -> Array:
        """Return numbers of the normal distribution with mean `loc` and standard deviation `scale`."""
        return self._draw("normal", (loc, scale), size, chunks)

    def pareto(self, a: Any, size: Any = None, *, chunks: Any = "auto") -> Array:
        """Return numbers of the Lomax distribution: Pareto's of shape `a`, less 1."""
        return self._draw("pareto", (a,), size, chunks)

    def poisson(self, lam: Any = 1.0, size: Any = None, *, chunks: Any = "auto") -> Array:
        """Return numbers of the Poisson distribution with mean `lam`."""
        return self._draw("poisson", (lam,), size, chunks)

    def power(self, a: Any, size: Any = None, *, chunks: Any = "auto") -> Array:
        """Return numbers of the power distribution: density `a * x**(a - 1)` from 0 to 1."""
        return self._draw("power", (a,), size, chunks)

    def rayleigh(self, scale: Any = 1.0, size: Any = None, *, chunks: Any = "auto") -> Array:
        """Return numbers of the Rayleigh distribution."""
        return self._draw("rayleigh", (scale,), size, chunks)

    def standard_cauchy(self, size: Any = None, *, chunks: Any = "auto") -> Array:
        """Return numbers of the Cauchy distribution with mode 0."""
        return self._draw("standard_cauchy", (), size, chunks)

    def standard_exponential(self, size: Any = None, *, chunks: Any = "auto") -> Array:
        """Return numbers of the exponential distribution with mean 1."""
        return self._draw("standard_exponential", (), size, chunks)

    def standard_gamma(self, shape: Any, size: Any = None, *, chunks: Any = "auto") -> Array:
        """Return numbers of the gamma distribution with mean `shape`."""
        return self._draw("standard_gamma", (shape,), size, chunks)

    def standard_normal(self, size: Any = None, *, chunks: Any = "auto") -> Array:
        """Return numbers of the normal distribution with mean 0 and standard deviation 1."""
        return self._draw("standard_normal", (), size, chunks)

    def standard_t(self, df: Any, size: Any = None, *, chunks: Any = "auto") -> Array:
        """Return numbers of the Student's t distribution with `df` degrees of freedom."""
        return self._draw("standard_t", (df,), size, chunks)

    def triangular(self, left: Any, mode: Any, right: Any, size: Any = None, *, chunks: Any = "auto") -> Array:
        """Return numbers of the triangular distribution."""
        return self._draw("triangular", (left, mode, right), size, chunks)

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None, *, chunks: Any = "auto") -> Array:
        """Return numbers of the uniform distribution: equally likely anywhere from `low` to `high`."""
        return self._draw("uniform", (low, high), size, chunks)

    def vonmises(self, mu: Any, kappa: Any, size: Any = None, *, chunks: Any = "auto") -> Array:
        """Return numbers of the von Mises distribution: angles around `mu`."""
        return self._draw("vonmises", (mu, kappa), size, chunks)

    def wald(self, mean: Any, scale: Any, size: Any = None, *, chunks: Any = "auto") -> Array:
        """Return numbers of the inverse Gaussian distribution."""
        return self._draw("wald", (mean, scale), size, chunks)

    def weibull(self, a: Any, size: Any = None, *, chunks: Any = "auto") -> Array:
        """Return numbers of the Weibull distribution of shape `a` and scale 1."""
        return self._draw("weibull", (a,), size, chunks)

    def zipf(self, a: Any, size: Any = None, *, chunks: Any = "auto") -> Array:
        """Return numbers of the Zipf distribution: probabilities proportional to `k**-a`."""
        return self._draw("zipf", (a,), size, chunks)

    def dirichlet(self, alpha: Any, size: Any = None, *, chunks: Any = "auto") -> Array:
        """Return vectors, along the last axis, of the Dirichlet distribution: parts of 1."""
        return self._draw_vectors("dirichlet", (alpha,), size, chunks)

    def multinomial(self, n: Any, pvals: Any, size: Any = None, *, chunks: Any = "auto") -> Array:
        """Return vectors, along the last axis, of the multinomial distribution: how often each of several outcomes comes in `n` trials."""
        return self._draw_vectors("multinomial", (n, pvals), size, chunks)

    def multivariate_normal(self, mean: Any, cov: Any, size: Any = None, *, chunks: Any = "auto") -> Array:
        """Return vectors, along the last axis, of the normal distribution of several variables."""
        return self._draw_vectors("multivariate_normal", (mean, cov), size, chunks)
