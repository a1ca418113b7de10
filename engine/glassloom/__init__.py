"""Glassloom: parallel NumPy, pandas, CuPy and cuDF in notebooks, with every thread in view.

>>> import glassloom as gl
>>> gl.delayed(pow)(2, 10).compute()
1024
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from glassloom import backends as _backends  # noqa: F401 - tells where NumPy's and pandas' dispatches are

if TYPE_CHECKING:
    from glassloom.client import Client, default_client
    from glassloom.cluster import LocalCluster
    from glassloom.collection import compute, persist, visualize
    from glassloom.delayed_call import Delayed, delayed
    from glassloom.futures import Future, as_completed, fire_and_forget, wait

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
    "visualize",
    "wait",
]

_HOMES = {
    "Client": "client",
    "Delayed": "delayed_call",
    "Future": "futures",
    "LocalCluster": "cluster",
    "as_completed": "futures",
    "compute": "collection",
    "default_client": "client",
    "delayed": "delayed_call",  # not `delayed`: the module would take the place of the function
    "fire_and_forget": "futures",
    "persist": "collection",
    "visualize": "collection",
    "wait": "futures",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: a head process needs none of them, and starts in half the time."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'glassloom' has no attribute {name!r}")
    value = getattr(import_module(f"glassloom.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
