"""Runs, newest first: how each ended and what it took; one opened with its code and layers; two compared."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from glassloom_dashboards.folds.aggregate import ClusterAggregate
from glassloom_dashboards.folds.places import short_place
from glassloom_dashboards.folds.runs import Run
from glassloom_dashboards.parts.base_cards import ListCard
from glassloom_dashboards.parts.html_body import Asked, fit_html, number_or_none
from glassloom_dashboards.parts.numbers import share_text
from glassloom_dashboards.parts.templates import render
from glassloom_dashboards.parts.theme import Palette, bytes_text, ellipsis, middle_cut
from glassloom_dashboards.parts.times import clock_text, duration_text
from glassloom_dashboards.views.run_comparison import (
    RunLayer,
    busy_s,
    compare_layers,
    compare_runs,
    count_text,
    layer_of,
    threads_share,
)

ROWS = 50
"""Runs at a time; the buttons lead to the others."""
MAX_LAYERS = 40
"""Layers of a run, and of a comparison: those that took longest."""
MAX_CODE_LENGTH = 4_000
_TEXT_BYTES = 20_000
"""What the texts of all rows may take on the wire."""

OUTCOMES = {"running": "busy", "finished": "good", "failed": "bad", "cancelled": "stopped", "interrupted": "stopped"}
"""The shape of each outcome's icon. An interrupted run was under way when the cluster ended."""


def outcome_of(aggregate: ClusterAggregate, run: Run) -> str:
    """Return how a run stands; what was under way when the cluster ended was ``"interrupted"``."""
    return "interrupted" if run.outcome == "running" and aggregate.state in ("ended", "recording") else run.outcome


def tasks_text(run: Run) -> str:
    """Return how far a run is.

    >>> tasks_text(Run(0, "map", "", "", "", "", "", 0.0, tasks=150, done=148, failed=2))
    '148 / 150, 2 failed'
    """
    failed = f", {run.failed:,} failed" if run.failed else ""
    return f"{run.done:,} / {run.tasks:,}{failed}"


def select(aggregate: ClusterAggregate, text: str, outcome: str) -> list[Run]:
    """Return the runs of one outcome (or all, if it is empty) with `text` in their code or place, newest first."""
    wanted = text.casefold()
    return [
        run
        for run in aggregate.runs.newest_first()
        if (not outcome or outcome_of(aggregate, run) == outcome)
        and (not wanted or wanted in run.code.casefold() or wanted in f"{run.where} {run.kind}".casefold())
    ]


def rows_of(aggregate: ClusterAggregate, runs: list[Run]) -> list[dict[str, object]]:
    """Return what a row of the table says of each run."""
    codes = fit_html([run.title or run.kind for run in runs], 160, _TEXT_BYTES)
    places = fit_html([middle_cut(run.where, 80) for run in runs], 80, _TEXT_BYTES)
    rows: list[dict[str, object]] = []
    for run, code, where in zip(runs, codes, places, strict=True):
        outcome = outcome_of(aggregate, run)
        share = threads_share(aggregate, run)
        rows.append(
            {
                "id": run.id,
                "kind": run.kind,
                "outcome": outcome,
                "icon": OUTCOMES.get(outcome, "stopped"),
                "code": code,
                "where": where,
                "started": clock_text(run.started_s, aggregate.last_at_s),
                "duration": duration_text(run.duration_s(aggregate.last_at_s)),
                "tasks": tasks_text(run),
                "failed": run.failed,
                "share": share,
                "share_words": "" if share is None else share_text(share),
            }
        )
    return rows


def kind_words(run: Run) -> str:
    """Return what kind of run it is, and what of a script is told apart no further."""
    if run.kind != "submit" or run.cell:
        return run.kind
    return "submit: all that this line has submitted task by task, in every call of its function"


def detail_of(aggregate: ClusterAggregate, run: Run) -> dict[str, object]:
    """Return what is told of a run that is open."""
    layers = [layer_of(aggregate, layer) for layer in aggregate.runs.layers_of(run.id)]
    shown = sorted(layers, key=lambda layer: -layer.tasks.busy_s)[:MAX_LAYERS]
    shown.sort(key=lambda layer: (layer.tasks.first_s, layer.id))
    names = fit_html([middle_cut(layer.name, 60) for layer in shown], 60, _TEXT_BYTES)
    origins = fit_html([ellipsis(short_place(layer.origin), 80) for layer in shown], 80, _TEXT_BYTES)
    facts = [
        ("Kind", kind_words(run)),
        ("Started", time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(run.started_s))),
        ("After the cluster's start", duration_text(max(run.started_s - aggregate.started_at_s, 0.0))),
        ("Time in tasks", duration_text(busy_s(aggregate, run))),
        ("Where", ellipsis(run.origin, 300)),
        ("Notebook", middle_cut(run.notebook, 200)),
        ("Cell", ellipsis(run.cell, 80)),
    ]
    return {
        "code": fit_html([run.code], MAX_CODE_LENGTH, _TEXT_BYTES)[0],
        "facts": [(words, value) for words, value in facts if value],
        "layers": [
            _layer_row(aggregate, run, layer) | {"name": name, "origin": origin}
            for layer, name, origin in zip(shown, names, origins, strict=True)
        ],
        "left_out": len(layers) - len(shown),
    }


def _layer_row(aggregate: ClusterAggregate, run: Run, layer: RunLayer) -> dict[str, object]:
    tasks, whole_s = layer.tasks, max(run.duration_s(aggregate.last_at_s), 1e-9)
    row: dict[str, object] = {"count": f"{layer.done:,} / {layer.total:,}", "erred": count_text(layer.erred)}
    row |= {"part": layer.done / max(layer.total, 1), "has_failed": layer.erred > 0, "when": None}
    row |= {"total": duration_text(tasks.busy_s), "mean": duration_text(tasks.mean_s)}
    row |= {"longest": duration_text(tasks.longest_s)}
    row["held"] = "" if layer.held_bytes is None else bytes_text(layer.held_bytes)
    row["peak"] = "" if layer.peak_bytes is None else bytes_text(layer.peak_bytes)
    if tasks.count:
        left = min(max((tasks.first_s - run.started_s) / whole_s, 0.0), 1.0)
        right = min(max((tasks.last_s - run.started_s) / whole_s, left), 1.0)
        ends = [duration_text(max(at_s - run.started_s, 0.0)) for at_s in (tasks.first_s, tasks.last_s)]
        row["when"] = {"left": 100 * left, "width": 100 * (right - left), "words": f"from {ends[0]} to {ends[1]}"}
    return row


class RunsView(ListCard):
    """The card of runs for one viewer."""

    id = "runs"
    notebook = ""

    def __init__(self, aggregate: ClusterAggregate, palette: Palette) -> None:
        asks: dict[str, Asked] = {
            "outcome": self._set_outcome,
            "open": self._toggle_open,
            "choose": self._toggle_chosen,
            "clear": lambda _: self._chosen.clear(),
        }
        super().__init__(aggregate, ROWS, asks)
        self._outcome = ""
        self._chosen: list[int] = []
        self._sought: int | None = None

    def go_to(self, arguments: Mapping[str, str]) -> None:
        """Show what an address asks for: ``open`` a run, by its id, as soon as it is known; or compare two, as ``3,5``."""
        runs = [run for run in map(number_or_none, arguments.get("open", "").split(",")) if run is not None]
        if len(runs) == 2:
            self._chosen = runs
        else:
            self._sought = next(iter(runs), None)

    def _set_outcome(self, outcome: str) -> None:
        self._outcome = outcome if outcome in OUTCOMES else ""
        self._paging.move("first")

    def _toggle_chosen(self, value: str) -> None:
        run = number_or_none(value)
        if run in self._chosen:
            self._chosen.remove(run)
        elif run is not None and self._aggregate.runs.get(run):
            self._chosen = [*self._chosen[-1:], run]

    def update(self, now_s: float) -> None:
        """Show what is new."""
        parts = ("runs", "layers", "progress", "tasks", "running", "workers", "life", "samples")
        if self.is_due(now_s, parts):
            html = render("runs.html", **self._values()) if len(self._aggregate.runs) else None
            words = "Each compute, persist or map, and each cell that submits tasks, appears here."
            self.show(html, "No runs yet", words)

    def _values(self) -> dict[str, object]:
        aggregate = self._aggregate
        runs = select(aggregate, self._search, self._outcome)
        runs = [run for run in runs if self.notebook in ("", run.notebook)]
        self._find_sought([run.id for run in runs])
        opened = aggregate.runs.get(self._open) if self._open is not None else None
        shown = runs[self._paging.part(len(runs))]
        return {
            "search_text": self._search,
            "outcome": self._outcome,
            "outcomes": OUTCOMES,
            "note": self._note(len(runs)),
            "paging": self._paging.shown(len(runs)),
            "rows": rows_of(aggregate, shown),
            "chosen": self._chosen,
            "open": self._open,
            "detail": detail_of(aggregate, opened) if opened in shown and opened else None,
            "comparison": self._comparison(),
        }

    def _find_sought(self, runs: Sequence[int]) -> None:
        """Open the run that the address asks for, on its part of the list."""
        if self._sought in runs:
            self._open = self._sought
            self._paging.first = runs.index(self._sought) // ROWS * ROWS
            self._sought = None

    def _note(self, found: int) -> str:
        runs = self._aggregate.runs
        said = f"{len(runs):,} run{'' if len(runs) == 1 else 's'}"
        if found != len(runs):
            said = f"{found:,} of {said}"
        return f"{said}; {runs.forgotten:,} older ones are no longer kept" if runs.forgotten else said

    def _comparison(self) -> dict[str, object] | None:
        chosen = [run for run in map(self._aggregate.runs.get, sorted(self._chosen)) if run]
        if len(chosen) != 2:
            return None
        first, second = chosen
        layers = compare_layers(self._aggregate, first, second)
        names = fit_html([middle_cut(layer.name, 60) for layer in layers[:MAX_LAYERS]], 60, _TEXT_BYTES)
        return {
            "runs": rows_of(self._aggregate, chosen),
            "whole": compare_runs(self._aggregate, first, second),
            "layers": [(name, layer.differences) for name, layer in zip(names, layers, strict=False)],
            "left_out": max(len(layers) - MAX_LAYERS, 0),
        }
