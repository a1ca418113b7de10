"""The overview: whether the cluster is healthy, what needs attention, the latest run, headroom, and what the engine takes."""

from __future__ import annotations

from collections.abc import Sequence

from glassloom_metrics.gpu_messages import OK, GpuDevice
from glassloom_metrics.worker_memory import MeasuredMemory, cluster_bytes, limited_bytes

from glassloom_dashboards.folds.aggregate import ClusterAggregate
from glassloom_dashboards.folds.gpu_history import GpuHistory
from glassloom_dashboards.folds.runs import Run, joined_text
from glassloom_dashboards.parts.badge import Attention, Badge, badge_of
from glassloom_dashboards.parts.base_cards import HtmlCard
from glassloom_dashboards.parts.html_body import fit_html
from glassloom_dashboards.parts.memory_words import of_limit_text
from glassloom_dashboards.parts.strip import gpu_text, gpus_text
from glassloom_dashboards.parts.tables import Table
from glassloom_dashboards.parts.templates import render
from glassloom_dashboards.parts.theme import Palette, bytes_text, ellipsis, middle_cut
from glassloom_dashboards.parts.times import clock_text, duration_text
from glassloom_dashboards.views.health import NEAR_LIMIT, Alert, alerts_of, headline_of
from glassloom_dashboards.views.runs_view import OUTCOMES, outcome_of
from glassloom_dashboards.views.stages import layers_of_latest_run, rate_text, stages_of, time_left_s

MAX_ALERTS = 8
MAX_HOSTS = 4
MAX_GPUS = 4
"""So many have a bar each."""
_TEXT_BYTES = 8_000


def run_of(aggregate: ClusterAggregate) -> dict[str, object] | None:
    """Return what is said of the latest run, None if there is none. Runs that belong together are one, with sums."""
    runs, run = aggregate.runs.latest(), aggregate.runs.latest_as_one()
    if run is None:
        return None
    outcome = outcome_of(aggregate, run)
    code, where = fit_html([run.title or run.kind, middle_cut(run.where, 80)], 160, _TEXT_BYTES)
    return {
        "id": run.id,
        "code": code,
        "where": where,
        "joined": ellipsis(joined_text(runs), 80),
        "outcome": outcome,
        "icon": OUTCOMES.get(outcome, "stopped"),
        "started": clock_text(run.started_s, aggregate.last_at_s),
        "duration": duration_text(run.duration_s(aggregate.last_at_s)),
        "done_part": run.done / max(run.tasks, 1),
        "failed_part": run.failed / max(run.tasks, 1),
        "tasks": f"{run.done:,} of {run.tasks:,} tasks done",
        "failed": f"{run.failed:,} failed" if run.failed else "",
        "pace": pace_of(aggregate, run),
    }


def pace_of(aggregate: ClusterAggregate, run: Run) -> str:
    """Return how fast a run is and how long it takes still; of one that is over, how fast it was."""
    if run.ended_s is not None or aggregate.state in ("ended", "recording"):
        seconds = run.duration_s(aggregate.last_at_s)
        return rate_text(run.done / seconds) if seconds > 0 else ""
    stages = stages_of(aggregate, layers_of_latest_run(aggregate))
    said = [rate_text(sum(stage.rate for stage in stages))]
    left_s = time_left_s(stages)
    if left_s is not None:
        said.append(f"about {duration_text(max(round(left_s), 1))} left")
    return " · ".join(part for part in said if part)


def headroom_of(aggregate: ClusterAggregate) -> list[dict[str, object]]:
    """Return a bar for the memory of all workers, for threads, and for each GPU; parts are from 0 to 1, None: unknown."""
    samples = [sample for worker, sample in aggregate.samples.items() if worker in aggregate.workers]
    limits = [worker.memory_limit_bytes or 0 for worker in aggregate.workers.values()]
    counted = sum(map(limited_bytes, samples))
    limit = sum(limits) if limits and all(limits) else 0
    rows: list[dict[str, object]] = []
    if samples:
        part = counted / limit if limit else None
        rows.append(_bar("Memory", part, _memory_words(samples, limit), is_near=(part or 0) > NEAR_LIMIT))
        threads = aggregate.threads
        busy = min(aggregate.task_counts["running"], threads)  # as the strip says; samples are older
        rows.append(_bar("Threads", busy / max(threads, 1), f"{busy:,} of {threads:,} busy"))
        cpu = sum(sample.cpu_percent for sample in samples) / 100
        rows.append(
            _bar("CPU", cpu / max(threads, 1), f"{cpu:,.{0 if cpu >= 100 else 1}f} of {threads:,} cores' worth")
        )
    return rows + _gpu_bars(aggregate.gpus)


def _memory_words(samples: Sequence[MeasuredMemory], limit: int) -> str:
    """Return what workers take together, and what is free: shared results are among that, and are no worker's burden."""
    if not limit:
        return f"{bytes_text(cluster_bytes(samples))}, no limit"
    free = limit - sum(map(limited_bytes, samples))
    words = of_limit_text(samples, limit)
    return f"{words}, {bytes_text(free)} free" if free >= 0 else words


def _gpu_bars(history: GpuHistory) -> list[dict[str, object]]:
    """Return a bar for the memory of each GPU, or one for all if they are many."""
    gpus = [gpu for gpu in history.devices.values() if not gpu.is_part]
    parts = [part_in_use(gpu, history) for gpu in gpus]
    if len(gpus) <= MAX_GPUS:
        named = zip(gpus, parts, strict=True)
        return [
            _bar(f"GPU {gpu.index} memory", part, gpu_text(gpu, history), is_near=(part or 0) > NEAR_LIMIT)
            for gpu, part in named
        ]
    known = [part for part in parts if part is not None]
    fullest = f" · the fullest {max(known):.0%}" if known else ""
    mean = sum(known) / len(known) if known else None
    words = f"{gpus_text(gpus, history)}{fullest}"
    return [_bar(f"Memory of {len(gpus):,} GPUs", mean, words, is_near=max(known, default=0) > NEAR_LIMIT)]


def part_in_use(gpu: GpuDevice, history: GpuHistory) -> float | None:
    """Return how much of a device's memory is in use, None if it isn't known now."""
    used, total = history.readings.get(gpu.id, {}).get("memory_used_bytes"), gpu.memory_total_bytes
    if gpu.state != OK or isinstance(used, str) or isinstance(total, str) or used is None or not total:
        return None
    return float(used) / float(total)


def _bar(name: str, part: float | None, words: str, *, is_near: bool = False) -> dict[str, object]:
    near = "" if not is_near else "over the limit" if (part or 0) > 1 else "near the limit"
    return {"name": name, "part": None if part is None else min(part, 1.0), "words": words, "near": near}


def engine_of(aggregate: ClusterAggregate) -> list[tuple[str, str]]:
    """Return what the hosts and the engine take, as (words, value)."""
    engine, said = aggregate.engine, []
    for host in list(engine.hosts.values())[:MAX_HOSTS]:
        memory = f"{bytes_text(host.memory_used_bytes)} of {bytes_text(host.memory_total_bytes)}"
        said.append((ellipsis(host.host, 40), f"{host.cpu_percent:.0f} % of {host.cpus} CPUs · {memory}"))
    if len(engine.hosts) > MAX_HOSTS:
        said.append(("Hosts", f"{len(engine.hosts) - MAX_HOSTS} more"))
    if (last := engine.last) is not None:
        lag = f"{duration_text(last.loop_lag_s)}, at most {duration_text(engine.longest_lag_s)} in the last minutes"
        said.append(("Head is late by", lag))
        cost = f"{engine.mean_cpu_percent:.1f} % of a core, {bytes_text(last.rss_bytes)}"
        said.append(("Head takes", cost))
        log = f"{bytes_text(last.log_memory_bytes)} in memory, {bytes_text(last.log_disk_bytes)} on disk"
        viewers = f"{last.subscribers:,} reader{'' if last.subscribers == 1 else 's'}"
        said.append(("Diagnostics take", f"{log} · {viewers}"))
    return said


class Overview(HtmlCard):
    """The card of the overview for one viewer."""

    id = "overview"

    def __init__(self, aggregate: ClusterAggregate, palette: Palette) -> None:
        super().__init__(aggregate, {})
        self._attention = Attention()
        self._badge: Badge | None = None

    def update(self, now_s: float) -> None:
        """Show what is new."""
        aggregate = self._aggregate
        self._attention.look(now_s)
        badge = badge_of(aggregate, self._attention, now_s)
        if badge != self._badge:
            self._badge = badge
            self.view.forget()
        parts = ("runs", "layers", "progress", "workers", "samples", "gpus", "errors", "life", "engine")
        if self.is_due(now_s, parts):
            self.show(render("overview.html", **self._values(badge)), "")

    def _values(self, badge: Badge) -> dict[str, object]:
        aggregate = self._aggregate
        alerts = alerts_of(aggregate, badge)
        icon, words = headline_of(aggregate, alerts)
        return {
            "icon": icon,
            "headline": words,
            "alerts": alerts[:MAX_ALERTS],
            "more_alerts": max(len(alerts) - MAX_ALERTS, 0),
            "run": run_of(aggregate),
            "headroom": headroom_of(aggregate),
            "engine": engine_of(aggregate),
            "has_tasks": bool(aggregate.layers),
            "is_over": aggregate.state in ("ended", "recording"),
            "has_engine": aggregate.kind != "threads",
        }

    def alerts(self) -> list[Alert]:
        """Return what needs attention now."""
        return alerts_of(self._aggregate, self._badge or Badge(self._aggregate.state, ""))

    def summary(self) -> str:
        """Return the headline."""
        return f"{headline_of(self._aggregate, self.alerts())[1]}."

    def table(self) -> Table:
        """Return everything as words."""
        rows = [("Health", headline_of(self._aggregate, self.alerts())[1])]
        rows += [("Alert", alert.words) for alert in self.alerts()]
        run = run_of(self._aggregate)
        if run is not None:
            said = [
                str(run[name])
                for name in ("joined", "code", "outcome", "duration", "tasks", "failed", "pace")
                if run[name]
            ]
            rows.append(("Latest run", " · ".join(said)))
        rows += [(str(bar["name"]), str(bar["words"])) for bar in headroom_of(self._aggregate)]
        rows += engine_of(self._aggregate)
        return Table(("what", "how"), rows, texts=("how",))
