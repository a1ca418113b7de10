"""Chunks that are CuPy arrays. CuPy is imported on first use."""

from __future__ import annotations

from typing import Any

import numpy as np


def namespace() -> Any:
    """Return the module that creates chunks."""
    import cupy

    return cupy


def generator(sequence: np.random.SeedSequence) -> Any:
    """Return a random generator of a stream of its own."""
    import cupy

    high, low = sequence.generate_state(2)
    return cupy.random.Generator(cupy.random.XORWOW(int(high) << 32 | int(low)))
