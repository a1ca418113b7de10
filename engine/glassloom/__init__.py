"""Glassloom: parallel NumPy, pandas, CuPy and cuDF in notebooks, with every thread in view.

>>> import glassloom as gl
>>> gl.delayed(pow)(2, 10).compute()
1024
"""

from glassloom.client import Client, default_client
from glassloom.cluster import LocalCluster
from glassloom.collection import compute, persist
from glassloom.delayed import Delayed, delayed
from glassloom.futures import Future, as_completed, fire_and_forget, wait
from glassloom.runtime import inline as _inline  # noqa: F401 - registers itself
from glassloom.runtime import threads as _threads  # noqa: F401 - registers itself

__version__ = "0.1.0"

__all__ = [
    "Client",
    "Delayed",
    "Future",
    "LocalCluster",
    "as_completed",
    "compute",
    "default_client",
    "delayed",
    "fire_and_forget",
    "persist",
    "wait",
]
