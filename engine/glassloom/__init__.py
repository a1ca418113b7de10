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
    from glassloom import array, bag, config, dataframe, datasets
    from glassloom.client.as_completed import as_completed
    from glassloom.client.client import Client
    from glassloom.client.coordination import Event, Lock, Queue, Semaphore, Variable
    from glassloom.client.default_client import default_client
    from glassloom.client.future import Future, fire_and_forget, wait
    from glassloom.client.worker_api import get_client, get_worker, rejoin, secede, worker_client
    from glassloom.cluster import LocalCluster, LocalCUDACluster
    from glassloom.collection import compute, optimize, persist, visualize
    from glassloom.delayed_call import Delayed, delayed
    from glassloom.distributed.threads_get import get
    from glassloom.notebook.monitor import monitor
    from glassloom.notebook.progress import progress
    from glassloom.protocol.annotations import annotate
    from glassloom.recordings.recording import record
    from glassloom.recordings.replay import replay
    from glassloom.recordings.report import performance_report

__version__ = "0.1.0"

__all__ = [
    "Client",
    "Delayed",
    "Event",
    "Future",
    "LocalCUDACluster",
    "LocalCluster",
    "Lock",
    "Queue",
    "Semaphore",
    "Variable",
    "annotate",
    "array",
    "as_completed",
    "bag",
    "compute",
    "config",
    "dataframe",
    "datasets",
    "default_client",
    "delayed",
    "fire_and_forget",
    "get",
    "get_client",
    "get_worker",
    "monitor",
    "optimize",
    "performance_report",
    "persist",
    "progress",
    "record",
    "rejoin",
    "replay",
    "secede",
    "visualize",
    "wait",
    "worker_client",
]

_HOMES = {
    "Client": "client.client",
    "Delayed": "delayed_call",
    "Event": "client.coordination",
    "Future": "client.future",
    "LocalCUDACluster": "cluster",
    "LocalCluster": "cluster",
    "Lock": "client.coordination",
    "Queue": "client.coordination",
    "Semaphore": "client.coordination",
    "Variable": "client.coordination",
    "annotate": "protocol.annotations",
    "array": "array",
    "as_completed": "client.as_completed",
    "bag": "bag",
    "compute": "collection",
    "config": "config",
    "dataframe": "dataframe",
    "datasets": "datasets",
    "default_client": "client.default_client",
    "delayed": "delayed_call",  # not `delayed`: the module would take the place of the function
    "fire_and_forget": "client.future",
    "get": "distributed.threads_get",
    "get_client": "client.worker_api",
    "get_worker": "client.worker_api",
    "monitor": "notebook.monitor",
    "optimize": "collection",
    "performance_report": "recordings.report",
    "persist": "collection",
    "progress": "notebook.progress",
    "record": "recordings.recording",
    "rejoin": "client.worker_api",
    "replay": "recordings.replay",
    "secede": "client.worker_api",
    "visualize": "collection",
    "wait": "client.future",
    "worker_client": "client.worker_api",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: a head process needs none of them, and starts in half the time."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'glassloom' has no attribute {name!r}")
    module = import_module(f"glassloom.{home}")
    value = module if home == name else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
