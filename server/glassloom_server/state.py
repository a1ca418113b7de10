"""`State`: all that the panel shows, and what has changed from one to the next. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from glassloom_server.wire import (
    ClusterState,
    DashboardsCost,
    ElsewhereState,
    ExportState,
    LostState,
    RecordingState,
    StartState,
)

STREAM_VERSION = 2
"""Of the stream's messages: readers that know only others say so."""


@dataclass(frozen=True)
class State:
    """How things stand. Clusters are in the order in which they started."""

    clusters: Mapping[str, ClusterState]
    recordings: list[RecordingState]
    elsewhere: list[ElsewhereState]
    starts: list[StartState]
    exports: list[ExportState]
    dashboards: DashboardsCost | None = None
    lost: tuple[LostState, ...] = ()

    def whole(self) -> dict[str, Any]:
        """Return all of it as values for JSON."""
        return {
            "clusters": list(self.clusters.values()),
            "recordings": self.recordings,
            "elsewhere": self.elsewhere,
            "starts": self.starts,
            "exports": self.exports,
            "dashboards": self.dashboards,
            "lost": self.lost,
        }

    def as_of(self, now_s: float, heard_at_s: Mapping[str, float | None]) -> dict[str, Any]:
        """Return all of it with how long ago each cluster was heard, and in use, last."""
        return {**self.whole(), "clusters": [_as_of(each, now_s, heard_at_s) for each in self.clusters.values()]}


def _as_of(cluster: ClusterState, now_s: float, heard_at_s: Mapping[str, float | None]) -> dict[str, Any]:
    heard = heard_at_s.get(cluster.id, cluster.heard_at)
    return {
        **msgspec.structs.asdict(cluster),
        "heard_at": heard,
        "last_heard_s": None if heard is None else max(0.0, now_s - heard),
        "idle_for_s": 0.0 if cluster.idle_since is None else max(0.0, now_s - cluster.idle_since),
    }


def changes(before: State, after: State) -> dict[str, Any]:
    """Return what a reader of `before` must be told to know `after`; empty if nothing has changed.

    That a cluster was heard again is nothing new by itself.
    """
    told: dict[str, Any] = {}
    clusters: dict[str, Any] = {name: None for name in before.clusters if name not in after.clusters}
    for name, cluster in after.clusters.items():
        changed = _changed_fields(before.clusters.get(name), cluster)
        if changed:
            clusters[name] = changed
    if clusters:
        told["clusters"] = clusters
    if list(before.clusters) != list(after.clusters):
        told["order"] = list(after.clusters)
    for name in ("recordings", "elsewhere", "starts", "exports", "dashboards", "lost"):
        if getattr(before, name) != getattr(after, name):
            told[name] = getattr(after, name)
    return told


def _changed_fields(before: ClusterState | None, after: ClusterState) -> dict[str, Any]:
    values = msgspec.structs.asdict(after)
    if before is None:
        return values
    changed = {name: value for name, value in values.items() if value != getattr(before, name)}
    return {} if changed.keys() == {"heard_at"} else changed


def snapshot_message(state: State, sequence: int, now_s: float) -> bytes:
    """Return the first message of a stream: see `wire.StreamSnapshot`."""
    head = {"version": STREAM_VERSION, "type": "snapshot", "sequence": sequence, "now": round(now_s, 3)}
    return msgspec.json.encode({**head, "state": state.whole()})


def changes_message(body: bytes, sequence: int, now_s: float) -> bytes:
    """Return a later message, see `wire.StreamChanges`: `body` is the JSON of `changes`.

    >>> changes_message(b'{"starts":[]}', 7, 100.0)
    b'{"version":2,"type":"changes","sequence":7,"now":100.000,"starts":[]}'
    """
    head = b'{"version":%d,"type":"changes","sequence":%d,"now":%.3f,' % (STREAM_VERSION, sequence, now_s)
    return head + body[1:]


def alive_message(sequence: int, now_s: float) -> bytes:
    """Return what is sent when nothing has changed for a while: see `wire.StreamAlive`.

    >>> alive_message(7, 100.0)
    b'{"version":2,"type":"alive","sequence":7,"now":100.000}'
    """
    return b'{"version":%d,"type":"alive","sequence":%d,"now":%.3f}' % (STREAM_VERSION, sequence, now_s)
