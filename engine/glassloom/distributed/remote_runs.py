"""`RemoteRuns`: the runs of a client on a cluster of dask.distributed, which the plugin there is told before their graphs come."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

from glassloom_metrics.registry import ClusterRecord

from glassloom.distributed.plugin_source import NAME
from glassloom.graph import Key, Origin
from glassloom.graph.cell_runs import tell_of_cell_run
from glassloom.graph.notebook import current_cell
from glassloom.graph.origin import user_origin
from glassloom.graph.run_info import RunInfo, run_info
from glassloom.protocol.identity import asker_id

_MOST_RUNS = 1_000
_MOST_ORIGINS = 200
OPERATION = f"{NAME}-run"
"""By which the plugin is told."""


class RemoteRuns:
    """Gives runs numbers. What is submitted one by one belongs to the run of its cell, or of its line in a script.

    Parameters
    ----------
    cluster
        What tells the cluster from others.
    find_record
        Returns its record, or None; may wait.
    """

    def __init__(self, cluster: str, find_record: Callable[[], ClusterRecord | None]) -> None:
        self._cluster, self._find_record = cluster, find_record
        self._numbers = itertools.count(1)
        self._infos: dict[int, RunInfo] = {}
        self._by_place: dict[Any, int] = {}
        self._kernel = asker_id()
        self._last = 0

    def begin(self, kind: str, origin: Origin | None = None) -> int:
        """Begin a run; return its number."""
        number = next(self._numbers)
        tell_of_cell_run(self._cluster, self._find_record)
        self._infos[number] = run_info(kind, origin or user_origin(), self._kernel)
        while len(self._infos) > _MOST_RUNS:
            del self._infos[next(iter(self._infos))]
        return number

    def of_line(self, line: str, origin: Origin | None) -> int:
        """Return the run of tasks that a line submits one by one."""
        cell = current_cell()
        place = line if cell is None or origin is None else (origin.filename, cell.execution)
        number = self._by_place.get(place)
        if number is None:
            if len(self._by_place) > _MOST_RUNS:
                self._by_place.clear()
            number = self._by_place[place] = self.begin("submit", origin)
        return number

    def note(self, run: int, wanted: Key | None, origins: Mapping[str, str]) -> dict[str, Any] | None:
        """Return what the plugin is to be told before a graph of a run, None if it is the run of the graph before."""
        info = self._infos.get(run)
        if info is None or wanted is None or run == self._last:
            return None
        self._last = run
        lines = dict(itertools.islice(origins.items(), _MOST_ORIGINS))
        key = list(wanted) if isinstance(wanted, tuple) else wanted
        return {"key": key, "info": [*info[:-1], lines, info.ordinal]}
