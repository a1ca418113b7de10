"""`ReprMixin`: what a client looks like in a terminal and in a notebook.

A display must neither wait for a busy head nor raise: what the head said last is shown, with its age, unless it answers at once.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from time import monotonic
from typing import Any, NamedTuple

from glassloom.client.blocking import run_sync
from glassloom.client.deadline import Deadline
from glassloom.client.introspection import IntrospectionMethods
from glassloom.cluster.local import LocalCluster
from glassloom.errors import ClusterClosed
from glassloom.reprs import render
from glassloom.units import format_bytes

_FIRST_TIMEOUT_S = 2.0
"""How long a head may take that has never said anything of its workers."""
_TIMEOUT_S = 0.1
"""How long it may take if what it said last can be shown instead."""


class _Heard(NamedTuple):
    """What a head has said of its workers, and how long ago: 0 if just now."""

    info: dict[str, Any]
    age_s: float


class ReprMixin(IntrospectionMethods):
    """The part of a client that shows it."""

    cluster: LocalCluster | None
    _own_cluster: LocalCluster | None

    def __repr__(self) -> str:
        if self._link is None:
            return "<Client: asynchronous, not connected yet>"
        if self.status == "closed":
            return f"<Client: {self.name!r}, closed ({self._connection.closed_because})>"
        heard = self._heard_for_repr()
        if heard is None:
            return f"<Client: {self.name!r}, {self._connection.head()} doesn't answer>"
        workers = heard.info["workers"].values()
        age = f", as of {heard.age_s:.0f} s ago" if heard.age_s else ""
        return (
            f"<Client: {self.name!r}, workers={len(workers)}, threads={sum(w['nthreads'] for w in workers)}, "
            f"memory={_sum_limits(workers)}{age}>"
        )

    def _repr_html_(self) -> str:
        if self._link is None:
            return f"<pre>{escape(repr(self))}</pre>"
        workers: list[dict[str, Any]] = []
        status, reason = self.status, self._connection.closed_because
        tone, problem = "", ""
        if status != "closed":
            heard = self._heard_for_repr()
            status, tone, problem = _judged(status, heard, self._connection.head())
            if heard is not None:
                workers = [{"name": name, **worker} for name, worker in heard.info["workers"].items()]
        return render(
            "client.html.j2",
            id=self.id,
            name=self.name,
            status=status,
            tone=tone,
            reason=reason,
            problem=problem,
            method=_connection_method(self),
            cluster_type="LocalCluster" if self._record.kind == "processes" else self._record.kind,
            link=self.dashboard_link,
            n_workers=len(workers) if workers or not problem else "not known",
            n_threads=sum(worker["nthreads"] for worker in workers) if workers or not problem else "not known",
            memory=_sum_limits(workers) if workers or not problem else "not known",
            workers=[_row(worker) for worker in workers],
            pid=self._record.pid,
            socket=self._record.socket,
            directory=self._record.directory,
        )

    def _heard_for_repr(self) -> _Heard | None:
        """Return what the head says of its workers, or has said if it is busy; None if it has never said anything."""
        known = self._last_info
        try:
            info = run_sync(self._scheduler_info(Deadline(_FIRST_TIMEOUT_S if known is None else _TIMEOUT_S)))
        except (TimeoutError, ClusterClosed):
            return None if known is None else _Heard(known[1], max(monotonic() - known[0], 0.1))
        return _Heard(info, 0.0)


def _judged(status: str, heard: _Heard | None, head: str) -> tuple[str, str, str]:
    """Return what a client's status is called, its tone, and what is wrong if anything is."""
    if status == "running" and heard is not None and not heard.age_s:
        return status, "ok", ""
    if heard is None:
        return "not answering", "warn", f"{head} doesn't answer."
    return "not answering", "warn", f"{head} doesn't answer at once: this is what it said {heard.age_s:.0f} s before."


def _row(worker: dict[str, Any]) -> tuple[str, ...]:
    """Return a worker's line: the memory that it takes, as the dashboards say it, and what of it are results, or none."""
    limit = worker["memory_limit"]
    return (
        worker["name"] + (" (paused)" if worker["pressure"] == "paused" else ""),
        str(worker["pid"]),
        str(worker["nthreads"]),
        f"{worker['cpu_percent']:.0f} %",
        format_bytes(worker["memory"]) + ("" if limit is None else f" of {format_bytes(limit)}"),
        format_bytes(worker["managed"]),
        format_bytes(worker["shared"]),
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
