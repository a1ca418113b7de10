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

import builtins
import itertools
from typing import Any

import numpy as np

from glassloom import config
from glassloom.array.api.array import Array, asarray
from glassloom.array.chunks import normalize_chunks
from glassloom.array.ops.base import ArrayExpr, normalize_axis
from glassloom.array.ops.random import PermuteLines, Streams, draw, draw_vectors, draw_with
from glassloom.array.random.distributions import Distributions
from glassloom.backends.arrays import backend_named
from glassloom.backends.numpy_ import BIT_GENERATOR
from glassloom.config import Configured, chosen
from glassloom.errors import OptionError

_INTEGERS = dict.fromkeys(
    (
        "binomial", "geometric", "hypergeometric", "integers", "logseries", "negative_binomial", "poisson", "randint",
        "zipf",
    ),
    np.int64,
)  # fmt: skip
"""Methods whose numbers are integers."""


class _Drawer(Distributions):
    """What generators share: a seed, a count of calls, and how a call becomes an array."""

    def __init__(self, seed: Any, maker: Any) -> None:
        self._entropy = _entropy_of(seed)
        self._calls = itertools.count()
        self._maker = maker

    def _draw(self, method: str, args: tuple[Any, ...], size: Any, chunks: Any, /, **kwargs: Any) -> Array:
        dtype = kwargs.get("dtype", _INTEGERS.get(method, np.float64))
        values = tuple(_parameter(value) for value in args)
        several = [value.shape for value in values if isinstance(value, ArrayExpr)]
        common = np.broadcast_shapes(*several)
        shape = common if size is None else _shape_of(size)
        if np.broadcast_shapes(shape, common) != shape:
            raise ValueError(f"{method}: parameters of shape {common} don't broadcast to size={size!r}")
        blocks = normalize_chunks(chunks, shape, dtype)
        if several:
            return Array(draw_with(self._next_streams(), method, values, kwargs, blocks, dtype))
        return Array(draw(self._next_streams(), method, args, kwargs, blocks))

    def _draw_vectors(self, method: str, args: tuple[Any, ...], size: Any, chunks: Any, /, **kwargs: Any) -> Array:
        plain = tuple(_plain_parameter(method, value) for value in args)
        blocks = normalize_chunks(chunks, _shape_of(size), np.float64)
        return Array(draw_vectors(self._next_streams(), method, plain, kwargs, blocks))

    def _next_streams(self, maker: Any = None) -> Streams:
        own = self._maker if maker is None else maker
        return Streams(self._entropy, next(self._calls), config.get("array.backend") if own is None else own)

    def choice(
        self, a: Any, size: Any = None, replace: bool = True, p: Any = None, axis: int = 0, *, chunks: Any = "auto"
    ) -> Array:
        """Return elements picked from `a` (or from ``range(a)``) along an axis.

        Without replacement one block draws them all.

        Examples
        --------
        >>> import glassloom.array as ga
        >>> ga.random.default_rng(0).choice(ga.arange(5, chunks=2), size=3, replace=False).shape
        (3,)
        """
        shape = _shape_of(size)
        is_lazy = isinstance(a, Array) or np.ndim(a) > 1
        pool = a.shape[normalize_axis(axis, a.ndim)] if isinstance(a, Array) else a
        if is_lazy and not isinstance(a, Array):
            pool = np.shape(a)[normalize_axis(axis, np.ndim(a))]
        pool = pool if isinstance(pool, (int, np.integer)) else np.asarray(pool)
        blocks = normalize_chunks(chunks if replace else -1, shape, np.asarray(pool).dtype)
        options = {"replace": replace, "p": None if p is None else np.asarray(p)}
        drawn = Array(draw(self._next_streams(), "choice", (_checked_choice(pool, shape, replace),), options, blocks))
        if not is_lazy:
            return drawn
        source = asarray(a)
        made: Array = source[(*(slice(None),) * normalize_axis(axis, source.ndim), drawn)]
        return made

    def permutation(self, x: Any, axis: int = 0) -> Array:
        """Return the elements of `x` (or of ``range(x)``) in random order along an axis.

        Examples
        --------
        >>> import glassloom.array as ga
        >>> sorted(ga.random.default_rng(0).permutation(4).compute().tolist())
        [0, 1, 2, 3]
        """
        if isinstance(x, (int, np.integer)):
            return asarray(self._next_streams("numpy").of_block(0).permutation(int(x)))
        whole = asarray(x)
        length = whole.shape[normalize_axis(axis, whole.ndim)]
        return whole.take(self._next_streams("numpy").of_block(0).permutation(length), axis=axis)

    def shuffle(self, x: Array, axis: int = 0) -> None:
        """Put the elements of a lazy array into random order along an axis, in place.

        Examples
        --------
        >>> import glassloom.array as ga
        >>> x = ga.arange(4, chunks=2)
        >>> ga.random.default_rng(0).shuffle(x)
        >>> sorted(x.compute().tolist())
        [0, 1, 2, 3]
        """
        if not isinstance(x, Array):
            raise TypeError(f"shuffle changes a lazy array in place, got {type(x).__name__}; use permutation")
        x[...] = self.permutation(x, axis)

    def bytes(self, length: int) -> builtins.bytes:
        """Return random bytes, at once."""
        drawn: builtins.bytes = self._next_streams("numpy").of_block(0).bytes(length)
        return drawn


class Generator(_Drawer):
    """Random arrays with the methods of `numpy.random.Generator`. Made by `default_rng`.

    Each draws in blocks of ``chunks``. Parameters may be arrays, lazy ones too.
    Not safe to share between threads if results shall be reproducible: the order of calls counts.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> ga.random.default_rng(0).normal([10.0, 100.0], size=(1000, 2), chunks=100).mean(axis=0).compute().round()
    array([ 10., 100.])
    """

    def standard_normal(self, size: Any = None, dtype: Any = np.float64, *, chunks: Any = "auto") -> Array:
        """Return numbers of the normal distribution with mean 0 and standard deviation 1."""
        return self._draw("standard_normal", (), size, chunks, **_unless_double(dtype))

    def standard_exponential(
        self, size: Any = None, dtype: Any = np.float64, method: str = "zig", *, chunks: Any = "auto"
    ) -> Array:
        """Return numbers of the exponential distribution with mean 1, by the method ``"zig"`` or ``"inv"``."""
        options = {} if method == "zig" else {"method": method}
        return self._draw("standard_exponential", (), size, chunks, **_unless_double(dtype), **options)

    def standard_gamma(self, shape: Any, size: Any = None, dtype: Any = np.float64, *, chunks: Any = "auto") -> Array:
        """Return numbers of the gamma distribution with mean `shape`."""
        return self._draw("standard_gamma", (shape,), size, chunks, **_unless_double(dtype))

    def multivariate_hypergeometric(
        self, colors: Any, nsample: int, size: Any = None, method: str = "marginals", *, chunks: Any = "auto"
    ) -> Array:
        """Return vectors, along the last axis: how many of each kind are among `nsample` taken without replacement."""
        return self._draw_vectors("multivariate_hypergeometric", (colors, nsample), size, chunks, method=method)

    def permuted(self, x: Any, *, axis: int | None = None) -> Array:
        """Return each line along an axis, which becomes one block, in a random order of its own; None takes the flat array.

        Examples
        --------
        >>> import glassloom.array as ga
        >>> ga.random.default_rng(0).permuted(ga.arange(6, chunks=2).reshape(2, 3), axis=1).sum(axis=1).compute()
        array([ 3, 12])
        """
        whole = asarray(x)
        if axis is None:
            return self.permuted(whole.ravel(), axis=0).reshape(whole.shape)
        place = normalize_axis(axis, whole.ndim)
        return Array(PermuteLines(whole.rechunk({place: -1}).expr, self._next_streams(), place))

    def spawn(self, n_children: int) -> list[Generator]:
        """Return generators whose numbers are independent of each other and of this one's."""
        sequence = np.random.SeedSequence(self._entropy, spawn_key=(next(self._calls),))
        return [Generator(child, self._maker) for child in sequence.spawn(n_children)]

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
        called with an array of 32-bit numbers as its seed. By default blocks are drawn by the newer and faster
        `Generator` of the library that the option ``array.backend`` names, so the numbers are not those of
        `numpy.random.RandomState`.

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
        super().__init__(seed, RandomState)
        self._entropy = _legacy_entropy(self._entropy)

    @property
    def _is_legacy(self) -> bool:
        return self._maker is not None

    def seed(self, seed: Any = None) -> None:
        """Start again with another seed."""
        self._entropy, self._calls = _legacy_entropy(seed), itertools.count()

    def random(self, size: Any = None, *, chunks: Any = "auto") -> Array:
        """Return numbers that are equally likely anywhere from 0 to 1."""
        return self._draw("random_sample" if self._is_legacy else "random", (), size, chunks)

    random_sample = random

    def random_integers(self, low: int, high: int | None = None, size: Any = None, *, chunks: Any = "auto") -> Array:
        """Return integers from `low` to `high`, both included; with one argument from 1."""
        first, last = (1, low) if high is None else (low, high)
        return self.randint(first, last + 1, size, chunks=chunks)

    def tomaxint(self, size: Any = None, *, chunks: Any = "auto") -> Array:
        """Return integers from 0 to the largest of the system."""
        return self.randint(0, np.iinfo(np.int_).max, size, chunks=chunks)

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


def default_rng(
    seed: Any = None, *, backend: str | Configured = Configured("array.backend"), bit_generator: Any = None
) -> Generator:
    """Return a generator of random arrays.

    Parameters
    ----------
    seed
        A number of any size, or several; None takes one from the system. A generator of NumPy's (`Generator`,
        `BitGenerator`, `RandomState`) is drawn from, so that the next use of it gives other numbers.
    backend
        The library that draws the blocks: ``"numpy"`` or ``"cupy"``. Default: the option ``array.backend``.
    bit_generator
        Which of NumPy's bit generators draws: ``"SFC64"`` (the default), ``"PCG64"`` (normal numbers take a fifth to a third
        more time), ``"PCG64DXSM"``, ``"Philox"``, ``"MT19937"``, or the class. Each gives other numbers.

    Examples
    --------
    >>> import glassloom.array as ga
    >>> rng = ga.random.default_rng(12)
    >>> rng.normal(10, 1, size=(4, 4), chunks=2).shape
    (4, 4)
    >>> ga.random.default_rng(12, bit_generator="PCG64").random(3, chunks=2).shape
    (3,)
    """
    name = chosen(backend)
    backend_named(name)
    maker = name if bit_generator is None else _bit_generator(bit_generator, name)
    if not isinstance(seed, Generator):
        return Generator(seed, maker)
    if bit_generator is not None:
        raise OptionError(
            f"bit_generator={bit_generator!r} of a generator that is there; give it to default_rng with a seed"
        )
    return seed


_BIT_GENERATORS = {each.__name__: each for each in (
    np.random.MT19937, np.random.PCG64, np.random.PCG64DXSM, np.random.Philox, np.random.SFC64,
)}  # fmt: skip


def _bit_generator(wanted: Any, backend: str) -> Any:
    """Return what makes the blocks' generators: NumPy's default by its backend's name, so that the numbers are the same."""
    if backend != "numpy":
        raise OptionError(f"bit_generator={wanted!r} is NumPy's, and backend={backend!r} draws by its own")
    found = _BIT_GENERATORS.get(wanted) if isinstance(wanted, str) else wanted
    if found not in _BIT_GENERATORS.values():
        raise OptionError(f"bit_generator={wanted!r} is none of {', '.join(_BIT_GENERATORS)}")
    return backend if found is BIT_GENERATOR else found


def _entropy_of(seed: Any) -> Any:
    """Return what seeds streams: an integer or several. NumPy's generators give a new one each time, and go on by it."""
    if isinstance(seed, np.random.BitGenerator):
        seed = np.random.Generator(seed)
    if isinstance(seed, np.random.Generator):
        return seed.integers(2**32, size=8).tolist()
    if isinstance(seed, np.random.RandomState):
        return seed.randint(2**32, size=8, dtype=np.int64).tolist()
    if isinstance(seed, np.random.SeedSequence):
        return seed.generate_state(8).tolist()
    if seed is None:
        return np.random.SeedSequence().entropy
    if not isinstance(seed, (int, np.integer)) and not np.iterable(seed):
        raise TypeError(f"seed={seed!r} must be an integer of 0 or more, several, None or one of NumPy's generators")
    values = [seed] if isinstance(seed, (int, np.integer)) else list(seed)
    if not values or any(not isinstance(value, (int, np.integer)) or value < 0 for value in values):
        raise ValueError(f"seed={seed!r} must be an integer of 0 or more, or several")
    return int(seed) if isinstance(seed, (int, np.integer)) else [int(value) for value in values]


_LEGACY = 2**32 - 1
"""The branch of a seed from which `RandomState` draws, so that its numbers aren't those of `default_rng` of that seed."""


def _legacy_entropy(seed: Any) -> list[int]:
    branch = np.random.SeedSequence(_entropy_of(seed), spawn_key=(_LEGACY,))
    found: list[int] = branch.generate_state(8).tolist()
    return found


def _checked_choice(pool: Any, shape: tuple[int, ...], replace: bool) -> Any:
    count = int(pool) if isinstance(pool, (int, np.integer)) else len(pool)
    wanted = int(np.prod(shape))
    if wanted and not count or not replace and wanted > count:
        raise ValueError(f"choice of {wanted} elements from {count}{'' if replace else ' without replacement'}")
    return pool


def _shape_of(size: Any) -> tuple[int, ...]:
    shape = () if size is None else tuple(size) if isinstance(size, (tuple, list)) else (size,)
    for length in shape:
        if not isinstance(length, (int, np.integer)) or length < 0:
            raise ValueError(f"size={size!r} holds {length!r}; lengths must be integers of 0 or more")
    return tuple(map(int, shape))


def _parameter(value: Any) -> Any:
    """Return a number as it is, an array as a node."""
    is_array = isinstance(value, Array) or np.ndim(value)
    return asarray(value).expr if is_array else value


def _plain_parameter(method: str, value: Any) -> Any:
    if isinstance(value, Array):
        raise NotImplementedError(f"{method} of a lazy array as a parameter; compute() it first")
    return np.asarray(value) if np.ndim(value) else value


def _unless_double(dtype: Any) -> dict[str, Any]:
    return {} if np.dtype(dtype) == np.float64 else {"dtype": np.dtype(dtype)}


_default = RandomState()

beta = _default.beta
binomial = _default.binomial
bytes = _default.bytes
chisquare = _default.chisquare
choice = _default.choice
dirichlet = _default.dirichlet
exponential = _default.exponential
f = _default.f
gamma = _default.gamma
geometric = _default.geometric
gumbel = _default.gumbel
hypergeometric = _default.hypergeometric
laplace = _default.laplace
logistic = _default.logistic
lognormal = _default.lognormal
logseries = _default.logseries
multinomial = _default.multinomial
multivariate_normal = _default.multivariate_normal
negative_binomial = _default.negative_binomial
noncentral_chisquare = _default.noncentral_chisquare
noncentral_f = _default.noncentral_f
normal = _default.normal
pareto = _default.pareto
permutation = _default.permutation
poisson = _default.poisson
power = _default.power
rand = _default.rand
randint = _default.randint
randn = _default.randn
random = _default.random
random_integers = _default.random_integers
random_sample = _default.random_sample
ranf = _default.random_sample
rayleigh = _default.rayleigh
sample = _default.random_sample
seed = _default.seed
shuffle = _default.shuffle
standard_cauchy = _default.standard_cauchy
standard_exponential = _default.standard_exponential
standard_gamma = _default.standard_gamma
standard_normal = _default.standard_normal
standard_t = _default.standard_t
triangular = _default.triangular
uniform = _default.uniform
vonmises = _default.vonmises
wald = _default.wald
weibull = _default.weibull
zipf = _default.zipf
