"""`ReprMixin`: what a client looks like in a terminal and in a notebook.

A display waits for nothing and doesn't raise: it shows what the head said last, and its age where that matters. In a notebook
it is shown anew when that changes: see `LiveCard`.
"""

from __future__ import annotations

import weakref
from collections.abc import Hashable, Iterable
from html import escape
from typing import Any, NamedTuple

from glassloom.client.introspection import IntrospectionMethods, described_worker
from glassloom.cluster.local import LocalCluster
from glassloom.reprs import render
from glassloom.reprs.live_card import LiveCard
from glassloom.units import format_bytes, format_seconds

_TOLD_AGE_S = 5.0
"""How old the numbers of workers may be without that being said."""


class _Known(NamedTuple):
    """The workers as the head told them last, how long ago, and whether it owes an answer since."""

    workers: list[dict[str, Any]]
    age_s: float
    is_silent: bool

    @property
    def n_threads(self) -> int:
        return sum(worker["nthreads"] for worker in self.workers)


class ReprMixin(IntrospectionMethods):
    """The part of a client that shows it."""

    cluster: Any
    _own_cluster: LocalCluster | None
    _card: LiveCard | None = None

    def __repr__(self) -> str:
        if self._link is None:
            return "<Client: asynchronous, not connected yet>"
        if self.status == "closed":
            return f"<Client: {self.name!r}, closed ({self._connection.closed_because})>"
        known = self._known()
        age = f", as of {known.age_s:.0f} s ago" if known.is_silent else ""
        return (
            f"<Client: {self.name!r}, workers={len(known.workers)}, threads={known.n_threads}, "
            f"memory={_sum_limits(known.workers)}{age}>"
        )

    def _repr_html_(self) -> str:
        if self._link is None:
            return f"<pre>{escape(repr(self))}</pre>"
        known, status = self._known(), self.status
        silent = known.is_silent and status == "running"
        has_device = any(worker["device"] is not None for worker in known.workers)
        problem = f"{self._connection.head()} doesn't answer: this is what it said {known.age_s:.0f} s before."
        return render(
            "client.html.j2",
            id=self.id,
            name=self.name,
            status="not answering" if silent else status,
            tone="warn" if silent else "ok" if status == "running" else "",
            reason=self._connection.closed_because,
            problem=problem if silent else "",
            method=_connection_method(self),
            cluster_type="LocalCluster" if self._record.kind == "processes" else self._record.kind,
            link=self.dashboard_link,
            n_workers=len(known.workers),
            n_threads=known.n_threads,
            memory=_sum_limits(known.workers),
            workers=[_row(worker, has_device=has_device) for worker in known.workers],
            has_device=has_device,
            age=format_seconds(round(known.age_s)) if known.age_s >= _TOLD_AGE_S else "",
            pid=self._record.pid,
            socket=self._record.socket,
            directory=self._record.directory,
        )

    def _ipython_display_(self) -> None:
        if self._link is None:
            raise NotImplementedError  # IPython shows the usual repr then
        if self._card is None:
            client = weakref.ref(self)  # a card must not keep a client from being forgotten
            self._card = LiveCard(lambda: _facts(client()), lambda: _bundle(client()))
            self._connection.workers.changed = self._card.refresh
        self._card.show()

    def _known(self) -> _Known:
        workers = self._connection.workers
        is_silent = self.status == "running" and workers.ask(self._connection.post_question)
        info = workers.info
        described = [] if info is None else [{"name": each.name, **described_worker(each)} for each in info.workers]
        return _Known(described, workers.age_s, is_silent)


def _facts(client: ReprMixin | None) -> Hashable:
    """Return what a client's card says, but for numbers that change all the time."""
    if client is None:
        return None
    known = client._known()
    is_old = known.age_s >= _TOLD_AGE_S
    return (
        client.name,
        client.status,
        known.is_silent,
        is_old,
        len(known.workers),
        known.n_threads,
        _sum_limits(known.workers),
    )


def _bundle(client: ReprMixin | None) -> dict[str, str]:
    if client is None:
        return {"text/plain": "<Client: not in use any more>"}
    return {"text/plain": repr(client), "text/html": client._repr_html_()}


def _row(worker: dict[str, Any], *, has_device: bool) -> tuple[str, ...]:
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
        *([_device_words(worker["device"])] if has_device else []),
    )


def _device_words(device: dict[str, Any] | None) -> str:
    if device is None:
        return "none"
    return f"{device['name']}, {format_bytes(device['held'])} of {format_bytes(device['memory'])}"


def _connection_method(client: ReprMixin) -> str:
    if client._own_cluster is not None:
        return "Started this cluster"
    return "Cluster object" if client.cluster is not None else "Found by name"


def _sum_limits(workers: Iterable[dict[str, Any]]) -> str:
    limits = [worker["memory_limit"] for worker in workers]
    return "no limit" if None in limits else format_bytes(sum(limits))
