"""`ThreadsRuntime`: runs graphs on a pool of this process's threads, under the same scheduler as the worker processes.

Thread-safe: several threads may compute at once and share the pool; tasks may compute too, also in threads of their own.
A pool that has crashed, was closed, or belongs to the parent of a forked child is replaced by the next computation.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from multiprocessing.util import Finalize
from typing import Any

from glassloom_metrics.registry import ClusterRecord

from glassloom import config
from glassloom._allocators import tune_allocators
from glassloom._gc import gc_paused
from glassloom.backends.sharing import private_copy
from glassloom.graph import Graph, Key, user_origin
from glassloom.graph.cell_runs import tell_of_cell_run
from glassloom.graph.run_info import RunInfo, run_info
from glassloom.local.computation import Computation
from glassloom.local.default import refuse_held, register_runtime
from glassloom.local.held import with_values
from glassloom.local.thread_pool import ThreadPool
from glassloom.protocol.annotations import current_annotations
from glassloom.protocol.identity import asker_id
from glassloom.sampling.limits import cpu_count, own_memory_bytes

_replacing = threading.Lock()
_PUBLISH_TIMEOUT_S = 5.0


class ThreadsRuntime:
    """Computes on threads.

    Parameters
    ----------
    nthreads
        Number of threads; default the number of CPUs that this process may use, containers and batch systems
        considered (`glassloom.sampling.limits.cpu_count`).
    publish
        Whether to publish metrics, as a cluster that dashboards and the panel can find.
    """

    shares_memory = True

    def __init__(self, nthreads: int | None = None, *, publish: bool = True) -> None:
        self.nthreads = nthreads or cpu_count()
        self._publish = publish
        self._pool = self._new_pool()

    @property
    def process_memory_bytes(self) -> int | None:
        """See `glassloom.local.default.Runtime`."""
        return own_memory_bytes()

    def get(self, graph: Graph, keys: Sequence[Key]) -> list[Any]:
        computation = self._begun(graph, keys, "compute")
        values = self._run(computation)
        if computation.keys != keys:
            by_key = dict(zip(computation.keys, values, strict=True))
            values = [by_key[key] for key in keys]
        return list(map(private_copy, values))

    def hold(self, graph: Graph, keys: Sequence[Key]) -> Mapping[Key, Any]:
        computation = self._begun(graph, keys, "persist")
        return dict(zip(computation.keys, self._run(computation), strict=True))

    def _begun(self, graph: Graph, keys: Sequence[Key], kind: str) -> Computation:
        refuse_held(graph)
        if self._publish:
            tell_of_cell_run(id(self), self.cluster_record)
        info = run_info(kind, user_origin(), asker_id()) if self._publish else RunInfo(kind)
        with gc_paused():
            return Computation(with_values(graph, keys), keys, current_annotations(), info)

    def _run(self, computation: Computation) -> list[Any]:
        if config.get("compute.tune-allocators"):
            tune_allocators()
        return computation.wait(self.pool().post) if computation.keys else []

    def pool(self) -> ThreadPool:
        """Return the pool, started; a new one if the last one has ended."""
        if not self._pool.is_usable:
            with _replacing:
                if not self._pool.is_usable:
                    self._pool = self._new_pool()
        self._pool.start()
        return self._pool

    def cluster_record(self) -> ClusterRecord | None:
        """Return how the metrics of the running pool are reached; None if it publishes none."""
        return self.pool().cluster_record(_PUBLISH_TIMEOUT_S)

    def _new_pool(self) -> ThreadPool:
        log_bytes = config.get("metrics.log-memory") if self._publish else None
        interval_s = config.get("metrics.profile-interval") if self._publish else None
        return ThreadPool(self.nthreads, log_bytes=log_bytes, profile_interval_s=interval_s)

    def close(self) -> None:
        """Stop the threads when they have finished what they run, and take the cluster out of the registry."""
        self._pool.close()


def default_threads() -> ThreadsRuntime:
    """Return this process's pool of as many threads as are configured, made when it is first needed."""
    return _runtime_of(config.get("threads.n-threads"))


@cache
def _runtime_of(nthreads: int | None) -> ThreadsRuntime:
    """Return the runtime of so many threads. One of another size stays: something may be running on it."""
    runtime = ThreadsRuntime(nthreads, publish=config.get("threads.publish"))
    atexit.register(runtime.close)
    if multiprocessing.parent_process() is not None:  # such a process ends without atexit's functions
        Finalize(None, runtime.close, exitpriority=0)
    return runtime


def _after_fork() -> None:
    global _replacing
    _replacing = threading.Lock()  # another thread of the parent may have held it
    _runtime_of.cache_clear()


register_runtime("threads", default_threads)
os.register_at_fork(after_in_child=_after_fork)
