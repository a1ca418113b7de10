"""`ReprMixin`: what a client looks like in a terminal and in a notebook."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

from glassloom.client.blocking import run_sync
from glassloom.client.deadline import Deadline
from glassloom.client.introspection import IntrospectionMethods
from glassloom.cluster.local import LocalCluster
from glassloom.errors import ClusterClosed
from glassloom.reprs import render
from glassloom.units import format_bytes

_REPR_TIMEOUT_S = 2.0


class ReprMixin(IntrospectionMethods):
    """The part of a client that shows it."""

    cluster: LocalCluster | None
    _own_cluster: LocalCluster | None

    def __repr__(self) -> str:
        if self._link is None:
            return "<Client: asynchronous, not connected yet>"
        if self.status == "closed":
            return f"<Client: {self.name!r}, closed ({self._connection.closed_because})>"
        info = self._info_for_repr()
        if info is None:
            return f"<Client: {self.name!r}, {self._connection.head()} doesn't answer>"
        workers = info["workers"].values()
        return (
            f"<Client: {self.name!r}, workers={len(workers)}, threads={sum(w['nthreads'] for w in workers)}, "
            f"memory={_sum_limits(workers)}>"
        )

    def _repr_html_(self) -> str:
        if self._link is None:
            return f"<pre>{escape(repr(self))}</pre>"
        workers: list[dict[str, Any]] = []
        status, reason = self.status, self._connection.closed_because
        if status == "running":
            info = self._info_for_repr()
            if info is None:
                status, reason = "not answering", f"{self._connection.head()} doesn't answer"
            else:
                workers = [{"name": name, **worker} for name, worker in info["workers"].items()]
        return render(
            "client.html.j2",
            id=self.id,
            name=self.name,
            status=status,
            reason=reason,
            method=_connection_method(self),
            cluster_type="LocalCluster" if self._record.kind == "processes" else self._record.kind,
            link=self.dashboard_link,
            n_workers=len(workers),
            n_threads=sum(worker["nthreads"] for worker in workers),
            memory=_sum_limits(workers),
            workers=[_row(worker) for worker in workers],
            pid=self._record.pid,
            socket=self._record.socket,
            directory=self._record.directory,
        )

    def _info_for_repr(self) -> dict[str, Any] | None:
        """Return `scheduler_info`; None if the head doesn't answer soon, as what is displayed must neither wait nor raise."""
        try:
            return run_sync(self._scheduler_info(Deadline(_REPR_TIMEOUT_S)))
        except (TimeoutError, ClusterClosed):
            return None


def _row(worker: dict[str, Any]) -> tuple[str, ...]:
    """Return a worker's line: what its process takes, and what of it are results, or neither results nor there at first."""
    limit = worker["memory_limit"]
    return (
        worker["name"] + (" (paused)" if worker["pressure"] == "paused" else ""),
        str(worker["pid"]),
        str(worker["nthreads"]),
        f"{worker['cpu_percent']:.0f} %",
        format_bytes(worker["rss"]) + ("" if limit is None else f" of {format_bytes(limit)}"),
        format_bytes(worker["managed"]),
        format_bytes(worker["unmanaged"]),
        format_bytes(worker["spilled"]),
    )


def _connection_method(client: ReprMixin) -> str:
    if client._own_cluster is not None:
        return "Started this cluster"
    return "Cluster object" if client.cluster is not None else "Found by name"


def _sum_limits(workers: Iterable[dict[str, Any]]) -> str:
    limits = [worker["memory_limit"] for worker in workers]
    return "no limit" if None in limits else format_bytes(sum(limits))
