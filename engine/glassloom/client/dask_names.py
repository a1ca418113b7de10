"""`DaskNames`: what users of Dask look for on a client: the same where it means something here, else what there is instead."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Self

from glassloom.client.blocking import Operation
from glassloom.client.workers import WorkerMethods
from glassloom.errors import ClusterClosed, ClusterError
from glassloom.local.default import latest, running_on
from glassloom.store.pickling import dumps

_PACKAGES = ("glassloom", "numpy", "pandas", "pyarrow", "msgspec", "cloudpickle", "tblib")
_LOOP = "a client has no event loop of its own: in an event loop use Client(asynchronous=True) and await what waits"
_NO_ADDRESS = "processes talk over private sockets of this machine, and there is nothing to say about them"
_FILE = "another process connects by the cluster's name, Client('my-cluster'); client.name tells it"
_MOVED = "results that several workers need move to shared memory, where all of them read them, so there is nothing to balance"
_PANELS = "open the dashboards, which show that live and from the cluster's start: see client.dashboard_link; client.record() and glassloom.performance_report() keep it in a file"
_EVENTS = (
    "let tasks tell through a Queue or an Event, or log: client.get_worker_logs() and the notebook show what they log"
)
_METADATA = "keep values by name with client.publish_dataset() or in a Variable"
_LOGGED = "what tasks print and log is shown already, in the notebook or terminal and by client.get_worker_logs()"
_HEAD = "the head runs no users' code; client.run_on_head(function) calls one on a snapshot of its state"

INSTEAD: Mapping[str, str] = {
    "amm": _MOVED,
    "benchmark_hardware": "the repository's benchmarks/ measure this machine",
    "collections_to_dsk": "collection.visualize() shows the graph, and glassloom.optimize(collection) gives the collection as it will run",
    "connection_args": _NO_ADDRESS,
    "direct_to_workers": _NO_ADDRESS,
    "dump_cluster_state": f"{_HEAD}, and client.story(key) tells what has happened to a task",
    "extensions": _HEAD,
    "forward_logging": _LOGGED,
    "futures": "the client keeps no futures; who_has() tells which results are held",
    "generation": "client.id tells clusters apart",
    "get_events": _EVENTS,
    "get_metadata": _METADATA,
    "get_restrictions": "client.story(key) tells what a task waits for",
    "get_scheduler_logs": "the dashboards show what the head logs; client.get_worker_logs() shows what tasks log",
    "get_task_stream": _PANELS,
    "handle_event": _EVENTS,
    "io_loop": _LOOP,
    "log_event": _EVENTS,
    "loop": _LOOP,
    "loop_runner": _LOOP,
    "normalize_collection": "collections that are computed by another client have to be persisted by it and published",
    "preloads": "call a function on every worker with client.register_worker_callbacks(), or use client.register_plugin()",
    "rebalance": _MOVED,
    "refcount": "the client keeps no counts; a result is held as long as a future of it exists",
    "register_scheduler_plugin": _HEAD,
    "replicate": _MOVED,
    "restart_workers": "retire them with client.retire_workers(), and start others with cluster.scale(), or client.restart() all",
    "run_on_scheduler": "it is called client.run_on_head(function) here",
    "scheduler": "client.scheduler_info() tells how the cluster is, client.cluster is its LocalCluster",
    "scheduler_comm": _NO_ADDRESS,
    "scheduler_file": _FILE,
    "security": "only processes of this user with the cluster's secret are let in",
    "set_metadata": _METADATA,
    "start": "a client is open when it is made; an asynchronous one when it is awaited",
    "start_worker": "cluster.scale(n) starts workers",
    "subscribe_topic": _EVENTS,
    "sync": _LOOP,
    "unforward_logging": _LOGGED,
    "unregister_scheduler_plugin": _HEAD,
    "unsubscribe_topic": _EVENTS,
    "upload_environment": "workers have the environment of the process that starts them; client.upload_file() adds code",
    "write_scheduler_file": _FILE,
}
"""Names of distributed's client that this one has not, and what there is."""


class DaskNames(WorkerMethods):
    """The part of a client that is there because people look for it."""

    if not TYPE_CHECKING:  # else no misspelt name would be found

        def __getattr__(self, name: str) -> Any:
            if name in INSTEAD:
                raise AttributeError(f"Client has no {name!r}; {INSTEAD[name]}", name=name, obj=self)
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

    @classmethod
    def current(cls, allow_global: bool = True) -> Self:
        """Return the newest open client.

        Parameters
        ----------
        allow_global
            Accepted for compatibility.

        Raises
        ------
        ClusterClosed
            If none is open.
        """
        client = latest(cls)
        if client is None:
            raise ClusterClosed("no client is open; make one with Client()")
        return client

    @contextmanager
    def as_current(self) -> Iterator[Self]:
        """Let collections that the calling thread computes meanwhile run on this client, whichever else is open."""
        with running_on(self):  # type: ignore[arg-type]  # a `Client` is a runtime
            yield self

    def get_versions(self, check: bool = False, packages: list[str] | None = None) -> Any:
        """Return the versions of Python and of packages: of this process, and of the workers by name.

        Parameters
        ----------
        check
            Whether to raise if they differ.
        packages
            Names of further packages.

        Raises
        ------
        ClusterError
            With `check`, if they differ; the message says in what.
        """
        return self._run(self._get_versions(check, [*_PACKAGES, *(packages or ())]))

    def _get_versions(self, check: bool, packages: list[str]) -> Operation[dict[str, Any]]:
        own = versions(packages)
        workers = yield from self._run_on_workers(dumps((versions, (packages,), {})), None)
        if check:
            _check_equal(own, workers)
        return {"client": own, "workers": workers}


def versions(packages: list[str]) -> dict[str, str | None]:
    """Return the versions of Python and of packages in this process; None for those that aren't installed."""
    found: dict[str, str | None] = {"python": platform.python_version(), "executable": sys.executable}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:  # code of ours that was sent to a worker has no metadata
            found[package] = getattr(sys.modules.get(package), "__version__", None) if package == "glassloom" else None
    return found


def _check_equal(own: dict[str, str | None], workers: dict[str, dict[str, str | None]]) -> None:
    differences: dict[str, list[str]] = {}
    for worker, theirs in workers.items():
        for package, here in own.items():
            # Another machine may have the same Python in another place.
            if package != "executable" and theirs[package] != here:
                differences.setdefault(f"{package} is {here} here, and {theirs[package]}", []).append(worker)
    if differences:
        raise ClusterError("; ".join(f"{what} on worker {', '.join(who)}" for what, who in differences.items()))
