"""Chunks that are CuPy arrays. CuPy is imported when a task makes the first one, not when a plan is made."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from glassloom.backends.host_meta import HostNamespace

KERNEL_THREADS = 256
"""Threads of a block of a kernel; a power of 2, for reductions."""
KERNEL_OPTIONS = ("--fmad=false", "-std=c++17")
"""What kernels are compiled with: without contraction of ``a * b + c``, so that sums and products have NumPy's bits."""
HOST_BACKEND = "numpy"
"""The backend that finds types out on the host, where no device is."""


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
    """Return a random generator of a stream of its own: Philox, whose key is the seed, so that other seeds are other streams."""
    import cupy

    return Draws(cupy, cupy.random.Generator(cupy.random.Philox4x3210(WideSeed(sequence))))


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


class Draws:
    """A generator of CuPy's, with methods of NumPy's that it lacks."""

    def __init__(self, cupy: Any, generator: Any) -> None:
        self._cupy, self._generator = cupy, generator

    def __getattr__(self, name: str) -> Any:
        return getattr(self._generator, name)

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        """Return normal numbers."""
        return self._generator.standard_normal(size) * scale + loc

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        """Return numbers that are equally likely anywhere in a range."""
        return self._generator.random(size) * (high - low) + low

    def lognormal(self, mean: Any = 0.0, sigma: Any = 1.0, size: Any = None) -> Any:
        """Return numbers whose logarithms are normal."""
        return self._cupy.exp(self.normal(mean, sigma, size))
