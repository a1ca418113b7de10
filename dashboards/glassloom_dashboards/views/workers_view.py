"""Workers as a table to search and sort; one opened with its life, memory and CPU, last tasks and last lines."""

from __future__ import annotations

from markupsafe import Markup

from glassloom_dashboards.folds.aggregate import ClusterAggregate
from glassloom_dashboards.folds.worker_history import WorkerHistory
from glassloom_dashboards.parts.base_cards import ListCard
from glassloom_dashboards.parts.html_body import fit_html
from glassloom_dashboards.parts.line_chart import Chart, stacked_chart
from glassloom_dashboards.parts.memory_words import IN_MEMORY
from glassloom_dashboards.parts.templates import render
from glassloom_dashboards.parts.theme import Palette, bytes_text, ellipsis, middle_cut
from glassloom_dashboards.parts.times import clock_text, duration_text
from glassloom_dashboards.views.logs_view import line_rows
from glassloom_dashboards.views.worker_rows import (
    SORTS,
    STATE_ICONS,
    WorkerRow,
    device_bar,
    device_bytes,
    last_tasks,
    memory_bar,
    select,
    tasks_under_way,
    worker_rows,
)

ROWS = 50
"""Workers at a time; the buttons lead to the others."""
LAST_LINES = 15
MAX_ERRORS = 5
MAX_UNDER_WAY = 40
_TEXT_BYTES = 20_000

HEADS = (
    ("name", "Worker", ""),
    ("state", "State", ""),
    ("threads", "Threads busy", "number"),
    ("cpu", "CPU", "number"),
    ("memory", "Memory", ""),
    ("device", "Device", ""),
    ("shared", "Shared", "number wide"),
    ("spilled", "Spilled", "number wide"),
    ("tasks", "Tasks done", "number"),
)
"""What it is sorted by, words, and CSS classes of each column."""


def table_rows(aggregate: ClusterAggregate, rows: list[WorkerRow]) -> list[dict[str, object]]:
    """Return what a row of the table says of each worker."""
    names = fit_html([middle_cut(row.history.joined.name, 60) for row in rows], 60, _TEXT_BYTES)
    reasons = fit_html([row.history.left.reason if row.history.left else "" for row in rows], 120, _TEXT_BYTES)
    shown: list[dict[str, object]] = []
    for row, name, reason in zip(rows, names, reasons, strict=True):
        is_here = row.history.left is None
        sample, threads = row.sample, row.history.joined.nthreads
        shown.append(
            {
                "worker": row.worker,
                "name": name,
                "state": row.state,
                "icon": STATE_ICONS[row.state],
                "reason": reason,
                "threads": ""
                if not is_here
                else f"{sample.executing:,} of {threads:,}"
                if row.is_measured
                else f"{threads:,}",
                "cpu": f"{sample.cpu_percent:,.0f} %" if is_here and row.is_measured else "",
                "memory": memory_bar(row) if is_here else None,
                "device": fitted_device(row) if is_here else None,
                "shared": bytes_text(sample.shared_bytes) if is_here and sample.shared_bytes else "",
                "spilled": bytes_text(sample.spilled_bytes) if is_here and sample.spilled_bytes else "",
                "tasks": f"{row.tasks_done:,}",
            }
        )
    return shown


def fitted_device(row: WorkerRow) -> dict[str, object] | None:
    """Return what the table says of a worker's device."""
    found = device_bar(row)
    return None if found is None else found | {"name": middle_cut(found["name"], 40)}


def device_facts(row: WorkerRow) -> list[tuple[str, str]]:
    """Return what is told of the device of a worker that is open."""
    joined, sample = row.history.joined, row.sample
    if not joined.devices:
        return []
    total, limit = device_bytes(row)
    return [
        ("Device", ellipsis((joined.device_names or joined.devices)[0], 80)),
        ("Device UUID", ellipsis(joined.devices[0], 80)),
        ("Device memory", bytes_text(total) if total else ""),
        ("Its results may take", bytes_text(limit) if limit else ""),
        ("Results on the device", bytes_text(sample.device_held_bytes)),
        ("Allocated there", bytes_text(sample.device_pool_bytes)),
        ("Taken by other processes", bytes_text(sample.device_other_bytes) if sample.device_other_bytes else ""),
        ("Moved to the host", bytes_text(sample.device_moved_bytes) if sample.device_moved_bytes else ""),
    ]


def detail_of(aggregate: ClusterAggregate, row: WorkerRow) -> dict[str, object]:
    """Return what is told of a worker that is open, also of one that has left."""
    joined, left = row.history.joined, row.history.left
    tasks = last_tasks(aggregate, row.worker)
    keys = fit_html([middle_cut(task["key"], 120) for task in tasks], 120, _TEXT_BYTES)
    under_way = tasks_under_way(aggregate, row.worker)
    shown = under_way[:MAX_UNDER_WAY]
    running = fit_html([middle_cut(task["key"], 120) for task in shown], 120, _TEXT_BYTES)
    until_s = aggregate.last_at_s if left is None else left.at_s
    facts = [
        ("Process", f"{joined.pid}"),
        ("Threads", f"{joined.nthreads:,}"),
        ("Memory limit", bytes_text(joined.memory_limit_bytes) if joined.memory_limit_bytes else "none"),
        ("Memory at its start", bytes_text(joined.baseline_bytes) if joined.baseline_bytes else ""),
        *device_facts(row),
        ("Joined", clock_text(joined.at_s, aggregate.last_at_s)),
        ("Left", clock_text(left.at_s, aggregate.last_at_s) if left else ""),
        ("Was there for" if left else "Here for", duration_text(max(until_s - joined.at_s, 0.0))),
        ("Tasks done", f"{row.tasks_done:,}"),
        ("Tasks failed", f"{aggregate.sums.workers[row.worker].failed:,}"),
    ]
    return {
        "worker": row.worker,
        "name": ellipsis(joined.name, 120),
        "state": row.state,
        "icon": STATE_ICONS[row.state],
        "reason": ellipsis(left.reason, 400) if left else "",
        "facts": [(words, value) for words, value in facts if value],
        "charts": charts_of(row.history),
        "tasks": [task | {"key": key} for task, key in zip(tasks, keys, strict=True)],
        "has_left": left is not None,
        "knows_running": aggregate.running.at_s is not None,
        "running": [task | {"key": key} for task, key in zip(shown, running, strict=True)],
        "more_running": len(under_way) - len(shown),
        "lines": line_rows(aggregate, aggregate.logs.last_of(row.worker)[-LAST_LINES:]),
        "errors": errors_of(aggregate, row.worker),
    }


def errors_of(aggregate: ClusterAggregate, worker: int) -> list[str]:
    """Return the groups of errors whose first failure was on a worker, in words, the newest first."""
    mine = [group for group in reversed(aggregate.errors.values()) if group.worker == worker][:MAX_ERRORS]
    times = {group.id: f", {group.count:,} times" if group.count > 1 else "" for group in mine}
    return fit_html(
        [
            f"{middle_cut(aggregate.layer_name(group.layer), 40)}{times[group.id]}: {group.exception}: {group.message}"
            for group in mine
        ],
        300,
        _TEXT_BYTES,
    )


def charts_of(history: WorkerHistory) -> list[Chart]:
    """Return the drawings of a worker's memory, CPU use and spilled bytes over the last minutes."""
    columns = history.columns()
    at_s, limit = columns["at_s"], history.joined.memory_limit_bytes
    parts = [(name, f"--gl-{name}", columns[f"{name}_bytes"]) for name in IN_MEMORY]
    cpu = [("CPU", "--gl-managed", columns["cpu_percent"])]
    most = 100.0 * history.joined.nthreads
    charts = [
        stacked_chart("Memory", at_s, parts, bytes_text, limit=float(limit) if limit else None),
        stacked_chart("CPU, 100 % is one core", at_s, cpu, lambda percent: f"{percent:,.0f} %", most=most),
    ]
    if history.joined.devices:
        held = [("results", "--gl-device", columns["device_held_bytes"])]
        bound = float(sum(history.joined.device_limit_bytes[:1]))
        charts.append(stacked_chart("Results on the device", at_s, held, bytes_text, limit=bound or None))
    if columns["device_moved_bytes"].any():
        moved = [("moved", "--gl-spilled", columns["device_moved_bytes"])]
        charts.append(stacked_chart("Moved from the device to the host", at_s, moved, bytes_text))
    if columns["spilled_bytes"].any():
        spilled = [("spilled", "--gl-spilled", columns["spilled_bytes"])]
        charts.append(stacked_chart("Spilled to disk", at_s, spilled, bytes_text))
    return [chart for chart in charts if chart is not None]


class WorkersView(ListCard):
    """The card of workers for one viewer."""

    id = "workers"

    def __init__(self, aggregate: ClusterAggregate, palette: Palette) -> None:
        super().__init__(aggregate, ROWS, {"sort": self._set_sort})
        self._sort = "name"
        self._is_descending = False

    def _set_sort(self, name: str) -> None:
        if name in SORTS:
            is_new = name != self._sort
            self._is_descending = name not in ("name", "state") if is_new else not self._is_descending
            self._sort = name
            self._paging.move("first")

    def update(self, now_s: float) -> None:
        """Show what is new."""
        parts = ("workers", "samples", "tasks", "life", "running") + (("logs",) if self._open is not None else ())
        if not self.is_due(now_s, parts):
            return
        rows = worker_rows(self._aggregate)
        opened = next((row for row in rows if row.worker == self._open), None)
        if opened is not None:
            html: Markup | None = render("worker.html", **detail_of(self._aggregate, opened))
        else:
            html = render("workers.html", **self._values(rows)) if rows else None
        self.show(html, "No workers yet", "They appear here as soon as they join.")

    def _values(self, rows: list[WorkerRow]) -> dict[str, object]:
        found = select(rows, self._search, self._sort, is_descending=self._is_descending)
        shown = found[self._paging.part(len(found))]
        gone = sum(row.state == "left" for row in rows)
        has_device = any(row.history.joined.devices for row in rows)
        note = f"{len(rows) - gone:,} here" + (f", {gone:,} left" if gone else "")
        if len(found) < len(rows):
            note = f"{len(found):,} of {len(rows):,} match"
        return {
            "search_text": self._search,
            "note": note,
            "paging": self._paging.shown(len(found)),
            "heads": [head for head in HEADS if head[0] != "device" or has_device],
            "has_device": has_device,
            "sort": self._sort,
            "direction": "descending" if self._is_descending else "ascending",
            "rows": table_rows(self._aggregate, shown),
        }
