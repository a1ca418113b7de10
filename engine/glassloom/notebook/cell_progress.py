"""`CellProgress`: one execution of a cell, and what is told of it to the strip below the cell. Pure.

The message of a cell is whole each time, so that a page that was opened later needs only the next one:

>>> cell = CellProgress("a1", 3, began_s=10.0)
>>> cell.message({}) is None
True
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from glassloom_metrics.registry import ClusterRecord
from glassloom_metrics.run_row import RunRow

from glassloom.notebook.cluster_fold import ClusterFold, LayerCounts, Since

RATE_WINDOW_S = 10.0
"""Rates are over so much of the past, so that an estimate follows what happens but doesn't jump."""
MAX_LAYERS = 12
MAX_RUNS = 5
MAX_ERRORS = 5
MAX_LINES = 20
_MAX_TEXT = 300
_N_OFFSETS = 30


class Rate:
    """How fast a count grows."""

    def __init__(self, at_s: float) -> None:
        self._points: deque[tuple[float, int]] = deque([(at_s, 0)])

    def add(self, at_s: float, count: int) -> None:
        """Take note of a count."""
        points = self._points
        if at_s > points[-1][0]:
            points.append((at_s, count))
        while len(points) > 2 and at_s - points[1][0] > RATE_WINDOW_S:
            points.popleft()

    def per_second(self) -> float | None:
        """Return the mean rate of the window; None if nothing is known of it yet."""
        (first_s, first), (last_s, last) = self._points[0], self._points[-1]
        return (last - first) / (last_s - first_s) if last_s > first_s else None


@dataclass
class Following:
    """A cluster that is followed: how it is found, what its stream has said, and whether it is silent.

    A cluster's clock may be some time off this process's: each follows no steps of the system's clock from its own start on.
    """

    record: ClusterRecord
    fold: ClusterFold
    is_silent: bool = False
    _offsets: deque[float] = field(default_factory=lambda: deque(maxlen=_N_OFFSETS))

    def hear(self, at_s: float, now_s: float) -> None:
        """Take note of what the cluster's clock has shown, and ours when we heard of it."""
        self._offsets.append(at_s - now_s)

    @property
    def is_ready(self) -> bool:
        """Whether the stream has said how things stand."""
        return bool(self._offsets) or self.fold.has_ended

    @property
    def offset_s(self) -> float:
        """How far its clock is ahead of ours, or less by as long as the fastest message took: never more."""
        return max(self._offsets, default=0.0)

    def local_s(self, at_s: float) -> float:
        """Return a time of the cluster's by our clock."""
        return at_s - self.offset_s


@dataclass
class CellProgress:
    """An execution of a cell.

    Attributes
    ----------
    id, execution
        Of the cell in its notebook, and the number that Jupyter shows beside it.
    began_s
        When its first run was about to begin, by our clock: what began before belongs to an earlier execution.
    is_executing
        Whether the kernel runs the cell now: then an interrupt reaches it.
    n_before
        How many runs the kernel had begun by then.
    changed_s
        When its message was another than before, by the monotonic clock.
    told_s
        When it was told last.
    """

    id: str
    execution: int
    began_s: float
    is_executing: bool = True
    n_before: int = 0
    changed_s: float = 0.0
    told_s: float = 0.0
    clusters: set[str] = field(default_factory=set)
    peak_bytes: int = 0
    peak_spilled_bytes: int = 0
    _rates: dict[str, Rate] = field(default_factory=dict)
    _ended: list[dict[str, Any]] = field(default_factory=list)

    def since(self, following: Following) -> Since:
        """Return when it began, as a cluster tells it."""
        return Since(self.began_s + following.offset_s, self.n_before)

    def message(self, followings: Mapping[str, Following]) -> dict[str, Any] | None:
        """Return all that the strip shows, JSON-ready; None as long as no run is known.

        Parameters
        ----------
        followings
            By the clusters' ids.
        """
        ours = [followings[cluster] for cluster in sorted(self.clusters) if cluster in followings]
        ours = [each for each in ours if each.is_ready]
        runs = [(each, run) for each in ours for run in each.fold.runs_of(self.id, self.since(each))]
        past = [each.fold.past[self.id] for each in ours if self.id in each.fold.past]
        if not runs and not past:
            return None
        outcome = _outcome_of([_outcome(each, run) for each, run in runs] + [o for one in past for o in one.outcomes])
        layers: dict[str, LayerCounts] = {}
        for one in past:
            for name, counts in one.layers.items():
                layers.setdefault(name, LayerCounts()).add(counts)
        for each, run in runs:
            for name, counts in each.fold.layers_of(run.id):
                layers.setdefault(name, LayerCounts()).add(counts)
        started_s = min(
            [each.local_s(run.started_s) for each, run in runs]
            + [each.local_s(each.fold.past[self.id].first_started_s) for each in ours if self.id in each.fold.past]
        )
        at_s = max(each.local_s(each.fold.at_s) for each in ours)
        is_running = outcome == "running"
        tasks = LayerCounts()
        for counts in layers.values():
            tasks.add(counts)
        return {
            "cell": self.id,
            "execution": self.execution,
            "executing": self.is_executing,
            "outcome": outcome,
            "started_at": round(started_s, 3),
            "ended_at": None if is_running else round(max((_ended_s(*both) for both in runs), default=at_s), 3),
            "at": at_s if is_running else None,
            "tasks": self._counts_message("", tasks, started_s, at_s, is_running),
            **self._layers_message(layers, started_s, at_s, is_running),
            "clusters": self._clusters_message(ours, is_running),
            "peak_bytes": self.peak_bytes,
            "peak_spilled_bytes": self.peak_spilled_bytes,
            "runs": [_run_message(each, run) for each, run in runs[-MAX_RUNS:]],
            "n_runs": len(runs) + sum(one.count for one in past),
            "errors": _errors_message(ours, {(each.record.id, run.id) for each, run in runs}),
            "output": self._output_message(ours),
        }

    def open_runs(self, followings: Mapping[str, Following]) -> list[tuple[str, int]]:
        """Return cluster and number of those of its runs that aren't over."""
        ours = [followings[cluster] for cluster in self.clusters if cluster in followings]
        return [
            (each.record.id, run.id)
            for each in ours
            for run in each.fold.runs_of(self.id, self.since(each))
            if run.ended_s is None
        ]

    def _layers_message(
        self, layers: dict[str, LayerCounts], started_s: float, at_s: float, is_running: bool
    ) -> dict[str, Any]:
        """Return the layers in their order, those that are under way before others if there are too many."""
        rows = [
            {"name": name, **self._counts_message(f"layer {name}", counts, started_s, at_s, is_running)}
            for name, counts in layers.items()
        ]
        if len(rows) > MAX_LAYERS:
            by_need = sorted(
                range(len(rows)), key=lambda i: (not rows[i]["running"], rows[i]["done"] == rows[i]["total"])
            )
            shown = [rows[i] for i in sorted(by_need[:MAX_LAYERS])]
        else:
            shown = rows
        return {"layers": shown, "n_layers": len(rows)}

    def _counts_message(
        self, name: str, counts: LayerCounts, started_s: float, at_s: float, is_running: bool
    ) -> dict[str, Any]:
        rate = self._rates.setdefault(name, Rate(started_s))
        rate.add(at_s, counts.done)
        per_second = rate.per_second() if is_running else None
        left = counts.total - counts.done
        return {
            "total": counts.total,
            "done": counts.done,
            "running": counts.running if is_running else 0,
            "failed": counts.failed,
            "rate": None if per_second is None else round(per_second, 3 if per_second < 1 else 1),
            "eta_s": round(left / per_second) if per_second and left else None,
            **({"device_s": round(counts.device_s, 4)} if counts.device_s else {}),
        }

    def _clusters_message(self, ours: list[Following], is_running: bool) -> list[dict[str, Any]]:
        """Return how busy the clusters are; once the cell has ended, as they were then."""
        if is_running or not self._ended:
            self._ended = [_cluster_message(each) for each in ours]
            self.peak_bytes = max(self.peak_bytes, sum(each["memory_bytes"] for each in self._ended))
            self.peak_spilled_bytes = max(self.peak_spilled_bytes, sum(each["spilled_bytes"] for each in self._ended))
        return self._ended

    def _output_message(self, ours: list[Following]) -> dict[str, Any]:
        outputs = [each.fold.output_of(self.id) for each in ours]
        lines = [line for output in outputs for line in output.lines][-MAX_LINES:]
        rows = [{"worker": worker, "level": level, "text": text} for worker, level, text in lines]
        return {"lines": rows, "count": sum(output.count for output in outputs)}


def _outcome(each: Following, run: RunRow) -> str:
    return "lost" if run.ended_s is None and each.fold.has_ended else run.outcome


def _outcome_of(outcomes: list[str]) -> str:
    """Return what came of all runs together: the worst, unless something is still under way."""
    return next((one for one in ("running", "failed", "lost", "cancelled") if one in outcomes), "finished")


def _ended_s(each: Following, run: RunRow) -> float:
    return each.local_s(each.fold.at_s if run.ended_s is None else run.ended_s)


def _run_message(each: Following, run: RunRow) -> dict[str, Any]:
    return {
        "cluster": each.record.id,
        "id": run.id,
        "kind": run.kind,
        "label": run.origin[:_MAX_TEXT],
        "outcome": _outcome(each, run),
        "started_at": round(each.local_s(run.started_s), 3),
        "ended_at": None if run.ended_s is None else round(each.local_s(run.ended_s), 3),
        "done": run.done,
        "total": run.tasks,
    }


def _cluster_message(each: Following) -> dict[str, Any]:
    summary = each.fold.summary.as_dict()
    return {
        "id": each.record.id,
        "name": each.fold.name or each.record.name,
        "kind": each.record.kind,
        "workers": summary["workers"],
        "busy": each.fold.n_busy,
        "threads": summary["threads"],
        "memory_bytes": summary["memory_bytes"],
        "memory_limit_bytes": summary["memory_limit_bytes"],
        "spilled_bytes": each.fold.summary.memory()["spilled"],
        "silent": each.is_silent,
        "ended": each.fold.has_ended,
    }


def _errors_message(ours: list[Following], runs: set[tuple[str, int]]) -> list[dict[str, Any]]:
    rows = [
        row for each in ours for row in each.fold.errors_of({run for cluster, run in runs if cluster == each.record.id})
    ]
    return [
        {
            "layer": row.layer,
            "exception": row.exception,
            "message": row.message[:_MAX_TEXT],
            "origin": row.origin[:_MAX_TEXT],
            "count": row.count,
        }
        for row in rows[:MAX_ERRORS]
    ]
