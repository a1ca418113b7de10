"""Chunks that are CuPy arrays. CuPy is imported when a task makes the first one, not when a plan is made."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property, lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from glassloom.backends.host_meta import HostNamespace
from glassloom.backends.indexed_draws import C_TYPES, draw_kernel, stream_words

KERNEL_THREADS = 256
"""Threads of a block of a kernel; a power of 2, for reductions."""
KERNEL_OPTIONS = ("--fmad=false", "-std=c++17")
"""What kernels are compiled with: without contraction of ``a * b + c``, so that sums and products have NumPy's bits."""
_DRAWING_BLOCKS = 1024
HOST_BACKEND = "numpy"
"""The backend that finds types out on the host, where no device is."""


class KernelText(NamedTuple):
    """A kernel's name and its text, as `glassloom.array.tiling.device_kernels.KernelSource` has them."""

    name: str
    text: str


def meta_namespace() -> HostNamespace:
    """Return what makes arrays that stand for CuPy's in plans."""
    return HostNamespace("cupy")


def to_numpy(chunk: Any) -> Any:
    """Return a chunk's elements on the host."""
    import cupy

    return cupy.asnumpy(chunk)


def namespace() -> Any:
    """Return the module that creates chunks."""
    import cupy

    return cupy


def empty(shape: tuple[int, ...], dtype: Any) -> Any:
    """Return an array whose elements are left open."""
    import cupy

    return cupy.empty(shape, dtype)


def owns(value: Any) -> bool:
    """Tell whether it is an array of CuPy's."""
    import cupy

    return isinstance(value, cupy.ndarray)


def launch(source: Any, n_blocks: int, arguments: tuple[Any, ...]) -> None:
    """Run a `glassloom.array.tiling.device_kernels.KernelSource` on the current stream; compiled by NVRTC when it is first run."""
    _compiled(source.text, source.name)((n_blocks,), (KERNEL_THREADS,), arguments)


@lru_cache(maxsize=512)
def _compiled(text: str, name: str) -> Any:
    import cupy

    return cupy.RawModule(code=text, options=KERNEL_OPTIONS).get_function(name)


def generator(sequence: np.random.SeedSequence) -> Any:
    """Return a random generator of a stream of its own."""
    return Draws(sequence, launch, empty, LibraryDraws)


class LibraryDraws:
    """What CuPy draws: by its generators, or what these lack by the older `RandomState`. Seeds are of 63 bits.

    The generators take numbers of Python's own types and arrays of CuPy's; here are NumPy's too.
    """

    def __init__(self, sequence: np.random.SeedSequence) -> None:
        self._seed = WideSeed(sequence)

    @cached_property
    def _generator(self) -> Any:
        """A generator of CuPy's: Philox, whose key is the seed, so that other seeds are other streams."""
        import cupy

        return cupy.random.Generator(cupy.random.Philox4x3210(self._seed))

    @cached_property
    def _older(self) -> Any:
        import cupy

        return cupy.random.RandomState(int(self._seed.generate_state(1)[0]))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        import cupy

        generator = self._generator if hasattr(cupy.random.Generator, name) else self._older
        if not hasattr(generator, name):
            raise NotImplementedError(
                f"CuPy draws nothing by {name!r}; draw it on the host, by backend='numpy', and move it: to_backend('cupy')"
            )
        return partial(_with_device_parameters, getattr(generator, name), cupy.asarray)


_FLOAT_PARAMETERS = {"binomial": (1,)}
"""By method: the parameters that CuPy takes as ``float`` alone."""


def _with_device_parameters(method: Any, move: Callable[[Any], Any], *args: Any, **options: Any) -> Any:
    """Call a method with parameters that are NumPy's as Python's numbers, or as arrays of the device."""
    told = [
        arg.item() if isinstance(arg, np.generic) else move(arg) if isinstance(arg, np.ndarray) else arg for arg in args
    ]
    for place in _FLOAT_PARAMETERS.get(method.__name__, ()):
        if place < len(told) and isinstance(told[place], int):
            told[place] = float(told[place])
    return method(*told, **options)


class WideSeed(np.random.SeedSequence):
    """A seed of which CuPy's generators take 63 bits; of NumPy's seed sequences they take 32.

    They ask for one number of 32 bits, and hand on what they get as one of 64. CuPy says that the 64th bit makes problems.
    """

    def __init__(self, sequence: np.random.SeedSequence) -> None:
        super().__init__(sequence.entropy, spawn_key=sequence.spawn_key, pool_size=sequence.pool_size)

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> Any:
        """Return numbers that seed a generator; a single one has 63 bits."""
        if n_words == 1:
            return super().generate_state(1, np.uint64) >> np.uint64(1)
        return super().generate_state(n_words, dtype)


_WIDEST_RANGE = 2**40
"""Remainders of 63 bits by numbers up to this are equally likely, but for one part in eight million."""


def _shape_of(size: Any) -> tuple[int, ...]:
    return () if size is None else (int(size),) if isinstance(size, (int, np.integer)) else tuple(size)


def _bounds(dtype: Any) -> tuple[int, int]:
    """Return the least and the greatest number of a type that 64 bits with a sign hold too."""
    if np.dtype(dtype) == bool:
        return 0, 1
    info = np.iinfo(dtype)
    return int(info.min), min(int(info.max), 2**63 - 1)


def _whole_numbers(value: Any, like: Any) -> Any:
    """Return parameters without what is behind the point, as numbers or as an array of the library of another."""
    if not np.ndim(value):
        return int(value)
    return (np.asarray(value, like=like) if isinstance(value, np.ndarray) else value).astype(np.int64)


class Draws:
    """A generator of a device. Uniform, normal and exponential numbers are ours, found by their index; for other methods it is the library's own.

    Parameters
    ----------
    sequence
        The seed.
    run, make
        As `launch` and `empty`.
    own_generator
        Makes the library's own generator of a seed.
    """

    def __init__(
        self,
        sequence: np.random.SeedSequence,
        run: Callable[..., None],
        make: Callable[..., Any],
        own_generator: Callable[[np.random.SeedSequence], Any],
    ) -> None:
        self._sequence, self._run, self._make, self._own_generator = sequence, run, make, own_generator
        self._words = stream_words(sequence)
        self._position = 0

    @cached_property
    def _generator(self) -> Any:
        return self._own_generator(self._sequence)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._generator, name)

    def _drawn(self, base: str, size: Any, dtype: Any) -> Any:
        shape = _shape_of(size)
        if str(np.dtype(dtype)) not in C_TYPES:
            raise TypeError(f"Unsupported dtype {np.dtype(dtype).name!r} for {base}")
        made = self._make(shape, np.dtype(dtype))
        n_numbers = math.prod(shape)
        if n_numbers:
            source = KernelText("draw", draw_kernel(base, str(np.dtype(dtype))))
            n_blocks = min(_DRAWING_BLOCKS, -(-n_numbers // KERNEL_THREADS))
            self._run(source, n_blocks, (n_numbers, self._position, *self._words, made))
            self._position += n_numbers
        return made

    def random(self, size: Any = None, dtype: Any = np.float64) -> Any:
        """Return numbers that are equally likely anywhere from 0 to 1."""
        return self._drawn("random", size, dtype)

    def standard_normal(self, size: Any = None, dtype: Any = np.float64) -> Any:
        """Return numbers of the normal distribution with mean 0 and standard deviation 1."""
        return self._drawn("standard_normal", size, dtype)

    def standard_exponential(self, size: Any = None, dtype: Any = np.float64, method: str = "inv") -> Any:
        """Return numbers of the exponential distribution with mean 1; there is one method."""
        return self._drawn("standard_exponential", size, dtype)

    def exponential(self, scale: Any = 1.0, size: Any = None) -> Any:
        """Return numbers of the exponential distribution with mean `scale`."""
        return self.standard_exponential(size) * scale

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Return normal numbers."""
        return self.standard_normal(size) * scale + loc

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        """Return numbers that are equally likely anywhere in a range."""
        return self.random(size) * (high - low) + low

    def lognormal(self, mean: Any = 0.0, sigma: Any = 1.0, size: Any = None) -> Any:
        """Return numbers whose logarithms are normal."""
        return np.exp(self.normal(mean, sigma, size))

    def integers(
        self, low: Any, high: Any = None, size: Any = None, dtype: Any = np.int64, endpoint: bool = False
    ) -> Any:
        """Return integers of a range, or of ranges that arrays say: the library's own generators take numbers alone."""
        if not np.ndim(low) and not np.ndim(high):
            return self._generator.integers(low, high, size=size, dtype=dtype, endpoint=endpoint)
        first, end = (0, low) if high is None else (low, high)
        if size is None:
            size = np.broadcast_shapes(*(getattr(value, "shape", ()) for value in (first, end)))
        bits = self._generator.integers(0, 2**63, size=size, dtype=np.int64)
        first, last = (_whole_numbers(value, like=bits) for value in (first, end if endpoint else end - 1))
        width, (least, most) = last - first + 1, _bounds(dtype)
        if ((width <= 0) | (first < least) | (last > most)).any():
            raise ValueError(f"integers: low >= high, or a bound that isn't one of {np.dtype(dtype)}")
        if (width > _WIDEST_RANGE).any():
            raise NotImplementedError(
                f"integers of arrays of ranges wider than {_WIDEST_RANGE}; give numbers as low and high"
            )
        return (first + bits % width).astype(dtype)

    def choice(self, a: Any, size: Any = None, replace: bool = True, p: Any = None) -> Any:
        """Return positions below `a`, or elements of an array with one axis."""
        count = int(a) if np.ndim(a) == 0 else len(a)
        if p is None and replace:
            places = self.integers(0, count, size=size)
        elif replace:
            drawn = self.random(size)
            shares = np.cumsum(p)
            places = np.searchsorted(np.asarray(shares[:-1] / shares[-1], like=drawn), drawn, side="right")
        else:  # the first to come of independent arrivals, whose rates are the probabilities
            shape, arrivals = _shape_of(size), self.standard_exponential(count)
            if p is not None:
                if np.count_nonzero(p) < math.prod(shape):
                    raise ValueError(
                        f"choice of {math.prod(shape)} elements of which {np.count_nonzero(p)} have a probability above 0"
                    )
                with np.errstate(divide="ignore"):
                    arrivals = arrivals / np.asarray(p, dtype=float, like=arrivals)
            places = np.argsort(arrivals)[: math.prod(shape)].reshape(shape)
        return places if np.ndim(a) == 0 else np.asarray(a, like=places)[places]

    def permuted(self, x: Any, axis: int) -> Any:
        """Return each line along an axis in a random order of its own."""
        return np.take_along_axis(x, np.argsort(self.random(x.shape), axis=axis), axis=axis)

    def multivariate_normal(self, mean: Any, cov: Any, size: Any = None) -> Any:
        """Return vectors, along the last axis, of the normal distribution of several variables; also where some depend on others wholly."""
        variances, directions = np.linalg.eigh(np.asarray(cov, dtype=float))
        factor = (directions * np.sqrt(variances.clip(0, None))).T
        drawn = self.standard_normal((*_shape_of(size), len(factor)))
        return drawn @ np.asarray(factor, like=drawn) + np.asarray(mean, dtype=float, like=drawn)

    # What CuPy's generators lack, by the inverse of the distribution function

    def _between(self, size: Any) -> Any:
        """Return uniform numbers that are neither 0 nor 1."""
        return -np.expm1(-self.standard_exponential(size))

    def gumbel(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Return numbers of the Gumbel distribution."""
        return loc - scale * np.log(self.standard_exponential(size))

    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Return numbers of the Laplace distribution."""
        p = self._between(size)
        return loc + scale * np.where(p < 0.5, np.log(2 * p), -np.log(2 * (1 - p)))

    def logistic(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Return numbers of the logistic distribution."""
        return loc + scale * np.log(np.expm1(self.standard_exponential(size)))

    def pareto(self, a: Any, size: Any = None) -> Any:
        """Return numbers of the Lomax distribution."""
        return np.expm1(self.standard_exponential(size) / a)

    def rayleigh(self, scale: Any = 1.0, size: Any = None) -> Any:
        """Return numbers of the Rayleigh distribution."""
        return scale * np.sqrt(2 * self.standard_exponential(size))

    def standard_cauchy(self, size: Any = None) -> Any:
        """Return numbers of the Cauchy distribution with mode 0."""
        return np.tan(math.pi * (self._between(size) - 0.5))

    def standard_t(self, df: Any, size: Any = None) -> Any:
        """Return numbers of Student's t distribution: normal ones over what the library's generator draws."""
        return self.standard_normal(size) / np.sqrt(self._generator.chisquare(df, size) / df)

    def triangular(self, left: Any, mode: Any, right: Any, size: Any = None) -> Any:
        """Return numbers of the triangular distribution."""
        p, width = self._between(size), right - left
        rising = left + np.sqrt(p * width * (mode - left))
        return np.where(p * width < mode - left, rising, right - np.sqrt((1 - p) * width * (right - mode)))

    def weibull(self, a: Any, size: Any = None) -> Any:
        """Return numbers of the Weibull distribution of scale 1."""
        drawn = self.standard_exponential(size)
        if np.ndim(a):
            return np.where(a == 0, 0.0, drawn ** (1 / np.where(a == 0, 1.0, a)))
        return drawn ** (1 / a) if a else drawn * 0.0  # NumPy's are zeros, too
