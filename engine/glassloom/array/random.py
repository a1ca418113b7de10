"""Random arrays.

Same seed, same calls in the same order, same shapes and chunks: same numbers, whatever the runtime, the number of
workers and the order in which blocks are drawn. Each block has a stream of its own, derived by NumPy's `SeedSequence`
from the seed, the number of the call, and the number of the block. Other chunks give other numbers of the same
distribution. A slice of a random array has the numbers of the whole.

>>> import glassloom.array as ga
>>> x = ga.random.default_rng(12).normal(10, 1, size=(4, 4), chunks=2)
>>> bool((x[::2] == x.compute()[::2]).all())
True
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from glassloom.array.array import Array, asarray
from glassloom.array.chunks import normalize_chunks
from glassloom.array.nodes.draws import Streams, draw
from glassloom.backends.arrays import backend_named

_KINDS = {"integers": np.int64, "randint": np.int64, "poisson": np.int64, "binomial": np.int64, "geometric": np.int64}


class _Drawer:
    """What generators share: a seed, a count of calls, and how a call becomes an array."""

    def __init__(self, seed: Any, maker: Any) -> None:
        self._entropy = _entropy_of(seed)
        self._calls = itertools.count()
        self._maker = maker

    def _draw(self, method: str, args: tuple[Any, ...], size: Any, chunks: Any, **kwargs: Any) -> Array:
        for value in args:
            if isinstance(value, Array) or np.ndim(value):
                raise NotImplementedError(f"{method}: parameters must be single numbers for now, got {value!r}")
        shape = () if size is None else tuple(size) if isinstance(size, (tuple, list)) else (size,)
        for length in shape:
            if not isinstance(length, (int, np.integer)) or length < 0:
                raise ValueError(f"size={size!r} holds {length!r}; lengths must be integers of 0 or more")
        dtype = kwargs.get("dtype", _KINDS.get(method, np.float64))
        blocks = normalize_chunks(chunks, shape, dtype)
        streams = Streams(self._entropy, next(self._calls), self._maker)
        return Array(draw(streams, method, args, kwargs, blocks))

    def uniform(self, low: float = 0.0, high: float = 1.0, size: Any = None, *, chunks: Any = "auto") -> Array:
        """Return numbers that are equally likely anywhere from `low` to `high`."""
        return self._draw("uniform", (low, high), size, chunks)

    def normal(self, loc: float = 0.0, scale: float = 1.0, size: Any = None, *, chunks: Any = "auto") -> Array:
        """Return numbers of the normal distribution with mean `loc` and standard deviation `scale`.

        Examples
        --------
        >>> import glassloom.array as ga
        >>> ga.random.default_rng(0).normal(10, 1, size=(4, 4), chunks=2).chunks
        ((2, 2), (2, 2))
        """
        return self._draw("normal", (loc, scale), size, chunks)

    def standard_normal(self, size: Any = None, *, chunks: Any = "auto") -> Array:
        """Return numbers of the normal distribution with mean 0 and standard deviation 1."""
        return self._draw("standard_normal", (), size, chunks)

    def exponential(self, scale: float = 1.0, size: Any = None, *, chunks: Any = "auto") -> Array:
        """Return numbers of the exponential distribution with mean `scale`."""
        return self._draw("exponential", (scale,), size, chunks)

    def poisson(self, lam: float = 1.0, size: Any = None, *, chunks: Any = "auto") -> Array:
        """Return numbers of the Poisson distribution with mean `lam`."""
        return self._draw("poisson", (lam,), size, chunks)

    def binomial(self, n: int, p: float, size: Any = None, *, chunks: Any = "auto") -> Array:
        """Return numbers of successes in `n` trials of probability `p`."""
        return self._draw("binomial", (n, p), size, chunks)

    def gamma(self, shape: float, scale: float = 1.0, size: Any = None, *, chunks: Any = "auto") -> Array:
        """Return numbers of the gamma distribution."""
        return self._draw("gamma", (shape, scale), size, chunks)

    def beta(self, a: float, b: float, size: Any = None, *, chunks: Any = "auto") -> Array:
        """Return numbers of the beta distribution."""
        return self._draw("beta", (a, b), size, chunks)

    def lognormal(self, mean: float = 0.0, sigma: float = 1.0, size: Any = None, *, chunks: Any = "auto") -> Array:
        """Return numbers whose logarithm is normally distributed."""
        return self._draw("lognormal", (mean, sigma), size, chunks)

    def choice(self, a: Any, size: Any = None, replace: bool = True, p: Any = None, *, chunks: Any = "auto") -> Array:
        """Return elements picked from `a` (or from ``range(a)``). Without replacement, one block draws them all."""
        if isinstance(a, Array):
            raise NotImplementedError("choice from a lazy array; compute it first")
        if not replace:
            chunks = -1
        shape = () if size is None else tuple(size) if isinstance(size, (tuple, list)) else (size,)
        pool = a if isinstance(a, (int, np.integer)) else np.asarray(a)
        blocks = normalize_chunks(chunks, shape, np.int64 if isinstance(pool, int) else np.asarray(pool).dtype)
        streams = Streams(self._entropy, next(self._calls), self._maker)
        checked = _checked_choice(pool, shape, replace)
        return Array(draw(streams, "choice", (checked,), {"replace": replace, "p": p}, blocks))

    def permutation(self, x: Any) -> Array:
        """Return the elements of `x` (or of ``range(x)``) in random order along the first axis."""
        streams = Streams(self._entropy, next(self._calls), "numpy")
        is_count = isinstance(x, (int, np.integer))
        length = int(x) if is_count else len(x)
        order = streams.of_block(0).permutation(length)
        return asarray(order) if is_count else asarray(x).take(order, axis=0)


class Generator(_Drawer):
    """Random arrays with the methods of `numpy.random.Generator`. Made by `default_rng`.

    Not safe to share between threads if results shall be reproducible: the order of calls counts.
    """

    def random(self, size: Any = None, dtype: Any = np.float64, *, chunks: Any = "auto") -> Array:
        """Return numbers that are equally likely anywhere from 0 to 1.

        Examples
        --------
        >>> import glassloom.array as ga
        >>> ga.random.default_rng(0).random(6, chunks=3).chunks
        ((3, 3),)
        """
        return self._draw("random", (), size, chunks, dtype=np.dtype(dtype))

    def integers(
        self, low: int, high: int | None = None, size: Any = None, dtype: Any = np.int64, endpoint: bool = False, *,
        chunks: Any = "auto",
    ) -> Array:  # fmt: skip
        """Return integers from `low` to, but without, `high`; with one argument from 0.

        Examples
        --------
        >>> import glassloom.array as ga
        >>> x = ga.random.default_rng(0).integers(5, size=100, chunks=10)
        >>> bool((x >= 0).all()), bool((x < 5).all())
        (True, True)
        """
        return self._draw("integers", (low, high), size, chunks, dtype=np.dtype(dtype), endpoint=endpoint)


class RandomState(_Drawer):
    """Random arrays with the methods of `numpy.random.RandomState`.

    Parameters
    ----------
    seed
        A number of any size, or several; None takes one from the system.
    RandomState
        The class that draws the blocks, such as ``numpy.random.RandomState`` or ``cupy.random.RandomState``: it is
        called with an array of 32-bit numbers as its seed. By default blocks are drawn by NumPy's newer and faster
        `Generator`, so the numbers are not those of `numpy.random.RandomState`.

    Examples
    --------
    >>> import numpy as np
    >>> import glassloom.array as ga
    >>> rs = ga.random.RandomState(12, RandomState=np.random.RandomState)
    >>> rs.normal(10, 1, size=(4, 4), chunks=(2, 2)).shape
    (4, 4)
    """

    def __init__(self, seed: Any = None, RandomState: Any = None) -> None:
        if RandomState is not None and not callable(RandomState):
            raise TypeError(f"RandomState={RandomState!r} is not a class such as numpy.random.RandomState")
        super().__init__(seed, "numpy" if RandomState is None else RandomState)

    @property
    def _is_legacy(self) -> bool:
        return not isinstance(self._maker, str)

    def seed(self, seed: Any = None) -> None:
        """Start again with another seed."""
        self._entropy, self._calls = _entropy_of(seed), itertools.count()

    def random(self, size: Any = None, *, chunks: Any = "auto") -> Array:
        """Return numbers that are equally likely anywhere from 0 to 1."""
        return self._draw("random_sample" if self._is_legacy else "random", (), size, chunks)

    random_sample = random

    def rand(self, *shape: int, chunks: Any = "auto") -> Array:
        """Return numbers from 0 to 1 in this shape."""
        return self.random(shape or None, chunks=chunks)

    def randn(self, *shape: int, chunks: Any = "auto") -> Array:
        """Return standard normal numbers in this shape."""
        return self.standard_normal(shape or None, chunks=chunks)

    def randint(
        self, low: int, high: int | None = None, size: Any = None, dtype: Any = np.int64, *, chunks: Any = "auto"
    ) -> Array:
        """Return integers from `low` to, but without, `high`; with one argument from 0."""
        method = "randint" if self._is_legacy else "integers"
        return self._draw(method, (low, high), size, chunks, dtype=np.dtype(dtype))


def default_rng(seed: Any = None, *, backend: str = "numpy") -> Generator:
    """Return a generator of random arrays.

    Parameters
    ----------
    seed
        A number of any size, or several; None takes one from the system.
    backend
        The library that draws the blocks: ``"numpy"`` or ``"cupy"``.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> rng = ga.random.default_rng(12)
    >>> rng.normal(10, 1, size=(4, 4), chunks=2).shape
    (4, 4)
    """
    backend_named(backend)
    return seed if isinstance(seed, Generator) else Generator(seed, backend)


def _entropy_of(seed: Any) -> Any:
    if isinstance(seed, np.random.SeedSequence):
        return seed.generate_state(8).tolist()
    if seed is None:
        return np.random.SeedSequence().entropy
    values = [seed] if isinstance(seed, (int, np.integer)) else list(seed)
    if not values or any(not isinstance(value, (int, np.integer)) or value < 0 for value in values):
        raise ValueError(f"seed={seed!r} must be an integer of 0 or more, or several")
    return int(seed) if isinstance(seed, (int, np.integer)) else [int(value) for value in values]


def _checked_choice(pool: Any, shape: tuple[int, ...], replace: bool) -> Any:
    count = int(pool) if isinstance(pool, (int, np.integer)) else len(pool)
    wanted = int(np.prod(shape))
    if wanted and not count or not replace and wanted > count:
        raise ValueError(f"choice of {wanted} elements from {count}{'' if replace else ' without replacement'}")
    return pool


_default = RandomState()

seed = _default.seed
random = _default.random
random_sample = _default.random_sample
rand = _default.rand
randn = _default.randn
randint = _default.randint
uniform = _default.uniform
normal = _default.normal
standard_normal = _default.standard_normal
exponential = _default.exponential
poisson = _default.poisson
binomial = _default.binomial
gamma = _default.gamma
beta = _default.beta
lognormal = _default.lognormal
choice = _default.choice
permutation = _default.permutation
