"""A `MonitorView` as text and as HTML, with lines over time drawn as SVG. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from glassloom_metrics.folds import WorkerRow
from markupsafe import Markup

from glassloom.notebook.monitor_fold import HISTORY_S, MonitorView, rates_hz
from glassloom.notebook.progress_text import shortened
from glassloom.reprs import render
from glassloom.units import format_bytes

MAX_WORKERS = 16
_WIDTH, _HEIGHT = 150, 28
_CPU_STEP = 5
"""A change of CPU by fewer per cent isn't worth a new output: idle workers' CPU is never still."""


def facts_of(view: MonitorView) -> Hashable:
    """Return what must change for the output to be replaced: not the lines over time, and no small changes of CPU and memory."""
    return (
        view.name,
        tuple((*_rounded(worker), worker.name) for worker in view.workers),
        (view.n_running, view.n_waiting, view.n_done, view.n_failed),
        (view.layers, view.n_layers, view.errors, view.is_running),
        round(view.rate_hz) if view.is_running else 0,
    )


def _rounded(worker: WorkerRow) -> tuple[int, ...]:
    limit = worker.memory_limit_bytes or 2**32
    return (
        round(worker.cpu_percent / _CPU_STEP),
        round(100 * worker.memory_bytes / limit),
        round(100 * worker.spilled_bytes / limit),
        worker.executing,
    )


def monitor_text(view: MonitorView, status: str) -> str:
    """Return a view as lines of text."""
    if status == "ended":
        return f"Cluster {view.name!r}, ended: had {_size_text(view)}\n{_end_text(view)}"
    lines = [
        f"Cluster {view.name!r}, {status}: {_size_text(view)}",
        f"CPU {view.cpu_percent:.0f} %, memory {_memory_text(view.memory_bytes, view.memory_limit_bytes, view.spilled_bytes)}",
        _tasks_text(view),
    ]
    for worker in view.workers[:MAX_WORKERS]:
        memory = _memory_text(worker.memory_bytes, worker.memory_limit_bytes, worker.spilled_bytes)
        lines.append(f"  {worker.name}: CPU {worker.cpu_percent:.0f} %, memory {memory}, {worker.executing} running")
    if len(view.workers) > MAX_WORKERS:
        lines.append(f"  and {len(view.workers) - MAX_WORKERS} more")
    return "\n".join(lines)


def monitor_html(view: MonitorView, status: str) -> str:
    """Return a view as a card."""
    tones = {"running": "busy" if view.n_running else "ok", "not answering": "warn"}
    has_ended = status == "ended"
    return render(
        "monitor.html.j2",
        name=view.name,
        status=status,
        tone=tones.get(status, ""),
        shown=status in tones,
        size=("had " if has_ended else "") + _size_text(view),
        tasks=_end_text(view) if has_ended else _tasks_text(view),
        lines=_lines(view, " at the end" if has_ended else ""),
        layers=[
            {
                "name": shortened(name),
                "fraction": done / total if total else 0.0,
                "text": _layer_text(total, done, failed),
            }
            for name, total, done, failed in view.layers
        ],
        hidden_layers=view.n_layers - len(view.layers),
        layers_title="Running" if view.is_running and not has_ended else "Last run",
        workers=[] if has_ended else [_worker_row(worker) for worker in view.workers[:MAX_WORKERS]],
        hidden_workers=max(0, len(view.workers) - MAX_WORKERS),
        errors=[
            f"{error.exception}: {error.message[:200]} ({error.count:,} × in {shortened(error.layer)})"
            for error in view.errors
        ],
    )


def _size_text(view: MonitorView) -> str:
    n = len(view.workers)
    return f"{n} worker{'' if n == 1 else 's'}, {view.n_threads} thread{'' if view.n_threads == 1 else 's'}"


def _tasks_text(view: MonitorView) -> str:
    parts = [f"{view.n_running:,} running", f"{view.n_waiting:,} waiting", f"{view.n_done:,} done"]
    if view.n_failed:
        parts.append(f"{view.n_failed:,} failed")
    if view.is_running and view.rate_hz >= 0.5:
        parts.append(f"{view.rate_hz:,.0f} a second")
    return "tasks: " + ", ".join(parts)


def _end_text(view: MonitorView) -> str:
    """Return what became of the tasks of a cluster that has ended: what ran or waited then will never be done."""
    parts = [f"{view.n_done:,} done"]
    n_left = view.n_running + view.n_waiting
    if n_left:
        parts.append(f"{n_left:,} not done")
    if view.n_failed:
        parts.append(f"{view.n_failed:,} failed")
    return "tasks: " + ", ".join(parts)


def _memory_text(nbytes: int, limit: int | None, spilled: int) -> str:
    text = format_bytes(nbytes) + ("" if limit is None else f" of {format_bytes(limit)}")
    return f"{text}, {format_bytes(spilled)} on disk" if spilled else text


def _layer_text(total: int, done: int, failed: int) -> str:
    return f"{done:,} of {total:,}" + (f", {failed:,} failed" if failed else "")


def _worker_row(worker: WorkerRow) -> dict[str, object]:
    limit = worker.memory_limit_bytes
    return {
        "name": worker.name,
        "cpu": min(1.0, worker.cpu_percent / (100 * max(1, worker.n_threads))),
        "cpu_text": f"{worker.cpu_percent:.0f} %",
        "memory": min(1.0, worker.memory_bytes / limit) if limit else None,
        "memory_text": _memory_text(worker.memory_bytes, limit, worker.spilled_bytes),
        "running": str(worker.executing),
    }


def _lines(view: MonitorView, when: str) -> list[dict[str, object]]:
    """Return the lines over time: what each is of (with `when`), what it says last, and its picture."""
    cpu_top = 100.0 * max(1, view.n_threads)
    memory = [point.memory_bytes for point in view.history]
    memory_top = float(view.memory_limit_bytes or max([*memory, 1]))
    rates = rates_hz(view.history)
    texts = {
        "CPU": f"{view.cpu_percent:.0f} % of {cpu_top:.0f} %",
        "Memory": _memory_text(view.memory_bytes, view.memory_limit_bytes, view.spilled_bytes),
        "Tasks a second": f"{view.rate_hz if view.is_running else 0:,.0f}",
    }
    series: dict[str, tuple[Sequence[float], float]] = {
        "CPU": ([point.cpu_percent for point in view.history], cpu_top),
        "Memory": (memory, memory_top),
        "Tasks a second": (rates, max([*rates, 1.0])),
    }
    return [
        {"label": label + when, "text": texts[label], "svg": _svg(label + when, texts[label], *series[label])}
        for label in series
    ]


def _svg(label: str, text: str, values: Sequence[float], top: float) -> Markup:
    """Return a line of the last values, the newest at the right edge; `top` is the upper one."""
    step = _WIDTH / (HISTORY_S - 1)
    first = HISTORY_S - len(values)
    points = " ".join(
        f"{(first + index) * step:.1f},{_HEIGHT - 1 - (_HEIGHT - 2) * min(1.0, value / top):.1f}"
        for index, value in enumerate(values)
    )
    return Markup(
        '<svg width="{0}" height="{1}" viewBox="0 0 {0} {1}" role="img" aria-label="{2}: {3}">'
        '<line x1="0" x2="{0}" y1="{4}" y2="{4}" style="stroke: var(--glm2-line)"/>'
        '<polyline points="{5}" fill="none" stroke-width="1.5" style="stroke: var(--glm2-hue)"/></svg>'
    ).format(_WIDTH, _HEIGHT, label, text, _HEIGHT - 0.5, points)
