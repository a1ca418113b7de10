"""Chunks that are NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np


def namespace() -> Any:
    """Return the module that creates chunks."""
    return np


def generator(sequence: np.random.SeedSequence) -> Any:
    """Return a random generator of a stream of its own."""
    return np.random.Generator(np.random.PCG64(sequence))
