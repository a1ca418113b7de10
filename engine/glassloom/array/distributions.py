"""The distributions that generators of random arrays draw from: parameters, defaults and order are NumPy's.

Parameters are numbers, or arrays (lazy ones too), which broadcast. How it is drawn is the generator's own.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from glassloom.array.array import Array

_REQUIRED = inspect.Parameter.empty


def _distribution(name: str, parameters: dict[str, Any], what: str, *, vectors: bool = False) -> Callable[..., Array]:
    """Return the method that draws from a distribution of numbers, or of vectors."""

    def method(self: Any, *args: Any, **named: Any) -> Array:
        given = method.__signature__.bind(self, *args, **named)  # type: ignore[attr-defined]
        given.apply_defaults()
        values = given.arguments
        draw = self._draw_vectors if vectors else self._draw
        made: Array = draw(name, tuple(values[each] for each in parameters), values["size"], values["chunks"])
        return made

    drawn = "vectors, along the last axis," if vectors else "numbers"
    return _signed(method, name, parameters, f"Return {drawn} of the {what}.")


def _signed(method: Any, name: str, parameters: dict[str, Any], doc: str) -> Any:
    method.__name__ = method.__qualname__ = name
    method.__module__ = __name__
    method.__doc__ = doc
    both, only = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    method.__signature__ = inspect.Signature(
        [
            inspect.Parameter("self", both),
            *(inspect.Parameter(each, both, default=default) for each, default in parameters.items()),
            inspect.Parameter("size", both, default=None),
            inspect.Parameter("chunks", only, default="auto"),
        ],
        return_annotation=Array,
    )
    return method


class Distributions:
    """The methods; `Generator` and `RandomState` inherit them."""

    beta = _distribution("beta", {"a": _REQUIRED, "b": _REQUIRED}, "beta distribution, from 0 to 1")
    binomial = _distribution(
        "binomial",
        {"n": _REQUIRED, "p": _REQUIRED},
        "binomial distribution: successes in `n` trials of probability `p`",
    )
    chisquare = _distribution("chisquare", {"df": _REQUIRED}, "chi-square distribution with `df` degrees of freedom")
    exponential = _distribution("exponential", {"scale": 1.0}, "exponential distribution with mean `scale`")
    f = _distribution(
        "f", {"dfnum": _REQUIRED, "dfden": _REQUIRED}, "F distribution with `dfnum` and `dfden` degrees of freedom"
    )
    gamma = _distribution("gamma", {"shape": _REQUIRED, "scale": 1.0}, "gamma distribution with mean `shape * scale`")
    geometric = _distribution(
        "geometric", {"p": _REQUIRED}, "geometric distribution: trials of probability `p` up to the first success"
    )
    gumbel = _distribution("gumbel", {"loc": 0.0, "scale": 1.0}, "Gumbel distribution")
    hypergeometric = _distribution(
        "hypergeometric",
        {"ngood": _REQUIRED, "nbad": _REQUIRED, "nsample": _REQUIRED},
        "hypergeometric distribution: good ones among `nsample` taken from `ngood + nbad` without replacement",
    )
    laplace = _distribution("laplace", {"loc": 0.0, "scale": 1.0}, "Laplace distribution")
    logistic = _distribution("logistic", {"loc": 0.0, "scale": 1.0}, "logistic distribution")
    lognormal = _distribution(
        "lognormal", {"mean": 0.0, "sigma": 1.0}, "log-normal distribution: their logarithms are normally distributed"
    )
    logseries = _distribution("logseries", {"p": _REQUIRED}, "logarithmic series distribution")
    negative_binomial = _distribution(
        "negative_binomial",
        {"n": _REQUIRED, "p": _REQUIRED},
        "negative binomial distribution: failures before `n` successes of probability `p`",
    )
    noncentral_chisquare = _distribution(
        "noncentral_chisquare", {"df": _REQUIRED, "nonc": _REQUIRED}, "noncentral chi-square distribution"
    )
    noncentral_f = _distribution(
        "noncentral_f", {"dfnum": _REQUIRED, "dfden": _REQUIRED, "nonc": _REQUIRED}, "noncentral F distribution"
    )
    normal = _distribution(
        "normal", {"loc": 0.0, "scale": 1.0}, "normal distribution with mean `loc` and standard deviation `scale`"
    )
    pareto = _distribution("pareto", {"a": _REQUIRED}, "Lomax distribution: Pareto's of shape `a`, less 1")
    poisson = _distribution("poisson", {"lam": 1.0}, "Poisson distribution with mean `lam`")
    power = _distribution("power", {"a": _REQUIRED}, "power distribution: density `a * x**(a - 1)` from 0 to 1")
    rayleigh = _distribution("rayleigh", {"scale": 1.0}, "Rayleigh distribution")
    standard_cauchy = _distribution("standard_cauchy", {}, "Cauchy distribution with mode 0")
    standard_exponential = _distribution("standard_exponential", {}, "exponential distribution with mean 1")
    standard_gamma = _distribution("standard_gamma", {"shape": _REQUIRED}, "gamma distribution with mean `shape`")
    standard_normal = _distribution("standard_normal", {}, "normal distribution with mean 0 and standard deviation 1")
    standard_t = _distribution("standard_t", {"df": _REQUIRED}, "Student's t distribution with `df` degrees of freedom")
    triangular = _distribution(
        "triangular", {"left": _REQUIRED, "mode": _REQUIRED, "right": _REQUIRED}, "triangular distribution"
    )
    uniform = _distribution(
        "uniform", {"low": 0.0, "high": 1.0}, "uniform distribution: equally likely anywhere from `low` to `high`"
    )
    vonmises = _distribution(
        "vonmises", {"mu": _REQUIRED, "kappa": _REQUIRED}, "von Mises distribution: angles around `mu`"
    )
    wald = _distribution("wald", {"mean": _REQUIRED, "scale": _REQUIRED}, "inverse Gaussian distribution")
    weibull = _distribution("weibull", {"a": _REQUIRED}, "Weibull distribution of shape `a` and scale 1")
    zipf = _distribution("zipf", {"a": _REQUIRED}, "Zipf distribution: probabilities proportional to `k**-a`")

    dirichlet = _distribution("dirichlet", {"alpha": _REQUIRED}, "Dirichlet distribution: parts of 1", vectors=True)
    multinomial = _distribution(
        "multinomial",
        {"n": _REQUIRED, "pvals": _REQUIRED},
        "multinomial distribution: how often each of several outcomes comes in `n` trials",
        vectors=True,
    )
    multivariate_normal = _distribution(
        "multivariate_normal",
        {"mean": _REQUIRED, "cov": _REQUIRED},
        "normal distribution of several variables",
        vectors=True,
    )
