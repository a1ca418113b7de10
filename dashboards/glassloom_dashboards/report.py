"""Reports: one HTML file with a recording's numbers and plots, which loads nothing from anywhere.

``python -m glassloom_dashboards.report run.glr report.html``. The plots are those of the pages, as they are at the end.
"""

from __future__ import annotations

import argparse
import logging
import os
import re
import sys
import time
from collections.abc import Sequence
from datetime import datetime

import bokeh
from bokeh.document import Document
from bokeh.embed.bundle import bundle_for_objs_and_resources
from bokeh.embed.elements import html_page_for_render_items
from bokeh.embed.util import RenderItem
from bokeh.models import UIElement
from bokeh.resources import Resources
from bokeh.util.serialization import make_globally_unique_css_safe_id, make_globally_unique_id
from glassloom_metrics.errors import RecordingError
from glassloom_metrics.open_recordings import record_of_recording
from glassloom_metrics.outputs import output_path
from glassloom_metrics.protocol import Action
from glassloom_metrics.recording import Recording, hello_of
from markupsafe import Markup

from glassloom_dashboards.folds.aggregate import ClusterAggregate
from glassloom_dashboards.parts.card import TITLES, Card, show_empty
from glassloom_dashboards.parts.html_body import HtmlBody
from glassloom_dashboards.parts.strip import notices
from glassloom_dashboards.parts.tables import STYLE as TABLE_STYLE
from glassloom_dashboards.parts.tables import Table, Tabular, table_html
from glassloom_dashboards.parts.templates import template
from glassloom_dashboards.parts.theme import PALETTES, bytes_text
from glassloom_dashboards.parts.time_view import ALL, TimeView
from glassloom_dashboards.parts.times import duration_text
from glassloom_dashboards.serving.bokeh_defaults import remember_defaults
from glassloom_dashboards.serving.hub import Watched
from glassloom_dashboards.serving.page import CARDS, TIME_CARDS, make_cards
from glassloom_dashboards.views.overview import Overview
from glassloom_dashboards.views.runs_view import ROWS as RUN_ROWS
from glassloom_dashboards.views.stages_card import Stages

REPORT_CARDS = (
    "overview", "utilisation", "task-stream", "stages", "time-budget", "memory", "runs", "workers", "workers-memory",
    "workers-cpu", "gpu-devices", "gpu-time", "logs",
)  # fmt: skip
"""Those that are there, in this order; those of GPUs only of a cluster that has one."""
GPU_CARDS = ("gpu-devices", "gpu-time")
_LINK = re.compile(r"<a ([^>]*)>(.*?)</a>", re.DOTALL)
"""Texts of users are escaped, so none is taken for one."""
_SHORTEST_SPAN_S = 1e-3
_DRAWN_AT_S = (0.0, 10.0)
"""The task stream draws a view of somebody's own only after it has rested."""


log = logging.getLogger(__name__)


def read_aggregate(path: str | os.PathLike[str]) -> Watched:
    """Return a recording's aggregate and colours, read as far as it goes.

    Raises
    ------
    RecordingError
        If the file is no recording, or of a version that can't be read.
    OSError
        If it can't be opened.
    """
    watched = Watched(record_of_recording(path))
    recording = Recording(path)
    for _, payload in recording.frames():
        watched.take(payload)
    watched.settle()
    watched.aggregate.set_recorded(recording.damage)
    _leave_out_what_was_before(watched.aggregate)
    return watched


def _leave_out_what_was_before(aggregate: ClusterAggregate) -> None:
    """Forget the layers that were done before: of the snapshot of a recording that doesn't say where that ends."""
    if aggregate.recorded_since_s is not None:
        return
    failed = {group.layer for group in aggregate.errors.values()}

    def is_part(layer: int) -> bool:
        waiting, ready, running, *_ = aggregate.progress.get(layer, (1, 0, 0))
        return bool(aggregate.sums.layers[layer].count or waiting + ready + running or layer in failed)

    aggregate.layers = {key: layer for key, layer in aggregate.layers.items() if is_part(key)}
    aggregate.progress = {key: counts for key, counts in aggregate.progress.items() if key in aggregate.layers}


def begin_s(aggregate: ClusterAggregate) -> float:
    """Return when the recording begins. One that doesn't say has the last sample before."""
    if aggregate.recorded_since_s is not None:
        return aggregate.recorded_since_s
    sampled_at_s = aggregate.history["at_s"]
    return float(sampled_at_s[0]) if len(sampled_at_s) else aggregate.started_at_s


def facts(aggregate: ClusterAggregate, engine: str) -> list[tuple[str, str]]:
    """Return the report's numbers as (words, value); plain text, not HTML."""
    history, computed, nbytes = aggregate.memory.columns(), aggregate.sums.computed, aggregate.sums.nbytes
    began_s = begin_s(aggregate)
    shown = [
        ("cluster", f"{aggregate.name} ({aggregate.kind})"),
        ("began", _date_text(began_s)),
        ("duration", duration_text(max(aggregate.last_at_s - began_s, 0.0))),
        ("workers", f"{len(aggregate.worker_names):,}"),
        ("threads", f"{sum(worker.nthreads for worker in aggregate.workers.values()):,}"),
        ("tasks run", f"{aggregate.compute_tasks:,}"),
        ("tasks failed", f"{computed.failed:,}"),
        ("time in tasks", duration_text(computed.busy_s)),
        ("results", bytes_text(nbytes[Action.COMPUTE])),
        ("moved between workers", bytes_text(nbytes[Action.TRANSFER])),
        ("spilled", bytes_text(nbytes[Action.SPILL_WRITE])),
        ("errors", f"{aggregate.error_count:,}"),
    ]
    if len(aggregate.memory):
        shown.append(("peak memory of workers", bytes_text(float(history["total"].max()))))
    python = ".".join(map(str, sys.version_info[:3]))
    shown.append(
        ("versions", f"Glassloom {engine or 'unknown'}, drawn with Python {python}, Bokeh {bokeh.__version__}")
    )
    return shown


def _date_text(at_s: float) -> str:
    try:
        return datetime.fromtimestamp(at_s).astimezone().strftime("%Y-%m-%d %H:%M:%S %Z")
    except (ValueError, OverflowError, OSError):  # no time that a clock gives: the recording is damaged there
        return "unknown"


def runs_table(aggregate: ClusterAggregate) -> Table:
    """Return a row for each run that was under way, newest first."""
    began_s = begin_s(aggregate)
    rows = [
        (
            run.title or run.where or f"run {run.id}",
            run.kind,
            run.where,
            run.outcome,
            f"{run.tasks:,}",
            f"{run.failed:,}",
            duration_text(run.duration_s(aggregate.last_at_s)),
        )
        for run in aggregate.runs.newest_first()
        if run.ended_s is None or run.ended_s >= began_s
    ]
    columns = ("code", "kind", "where", "outcome", "tasks", "failed", "duration")
    return Table(columns, rows, texts=("kind", "where", "outcome"))


def layers_table(aggregate: ClusterAggregate) -> Table:
    """Return a row for each layer of which tasks have run, the one that took longest in all first."""
    sums = aggregate.sums.layers
    known = sorted(aggregate.layers.values(), key=lambda layer: -sums[layer.id].busy_s)
    rows = [
        (
            layer.name,
            f"{(total := sums[layer.id]).count:,}",
            f"{total.failed:,}",
            duration_text(total.busy_s),
            duration_text(total.busy_s / total.count),
            duration_text(total.longest_s),
            layer.origin,
        )
        for layer in known
        if sums[layer.id].count
    ]
    return Table(("layer", "tasks run", "failed", "time in all", "mean", "longest", "from"), rows, texts=("from",))


def errors_table(aggregate: ClusterAggregate) -> Table:
    """Return a row for each group of failures, the one that grew last first."""
    rows = [
        (f"{group.exception}: {group.message}", f"{group.count:,}", aggregate.layer_name(group.layer), group.origin)
        for group in reversed(aggregate.errors.values())
    ]
    return Table(("error", "tasks", "layer", "from"), rows, texts=("layer", "from"))


def drawn_cards(watched: Watched) -> list[Card]:
    """Return the cards, drawn. One that can't be drawn, such as of a damaged recording, says so in its place."""
    aggregate = watched.aggregate
    has_gpu = bool(aggregate.gpus.devices)
    names = [
        name for name in REPORT_CARDS if name in CARDS.keys() | TIME_CARDS.keys() and (has_gpu or name not in GPU_CARDS)
    ]
    cards, time_view = make_cards(names, aggregate, PALETTES["light"], watched.colours)
    if time_view is not None:
        _show_all(time_view, aggregate)
    for card in cards:
        try:
            if isinstance(card, Stages):
                card.run.active = ALL
            for now_s in _DRAWN_AT_S:
                card.update(now_s)
        except Exception:  # whatever one plot stumbles over, the others must be drawn
            log.exception("%r of %r could not be drawn", card.id, aggregate.name)
            show_empty(card.empty, "This plot could not be drawn", css="failed")
    return cards


def _roots(card: Card) -> list[UIElement]:
    is_html = isinstance(getattr(card, "view", None), HtmlBody)
    return [card.legend, card.empty] if is_html else [card.legend, card.body, card.empty]


def _page(roots: list[UIElement], title: str, variables: dict[str, object]) -> str:
    """Return the page of the roots. Bokeh's `file_html` does the same after four more walks over all models."""
    document = Document()
    with document.models.freeze():  # else each root costs a walk over all that are there already
        for root in roots:
            document.add_root(root)
    name = make_globally_unique_id()
    places = {root: make_globally_unique_css_safe_id() for root in roots}
    resources = Resources(mode="inline", components=["bokeh", "bokeh-widgets"])
    return html_page_for_render_items(
        bundle_for_objs_and_resources(None, resources),
        {name: document.to_json(deferred=False)},
        [RenderItem(name, roots=places)],
        title,
        template("report.html"),
        variables,
    )


def _variables(card: Card) -> dict[str, object]:
    """Return what the template needs to know of a card: the names of its roots, or its HTML; and its numbers as a table."""
    view = getattr(card, "view", None)
    parts: dict[str, object] = {part: str(getattr(card, part).name) for part in ("legend", "body", "empty")}
    if isinstance(view, HtmlBody):
        parts["html"] = without_links(Markup(view.text))  # rendered by a template of ours, which has escaped it
    elif isinstance(card, Tabular):
        try:
            parts |= {"summary": card.summary(), "table": table_html(card.table(), card.summary())}
        except Exception:  # as above: of a damaged recording
            log.exception("%r could not be written as a table", card.id)
    return {"id": card.id, "title": TITLES[card.id]} | parts


def without_links(html: Markup) -> Markup:
    """Return HTML without the links to pages, which a file hasn't: of those that are more than a way the words stay."""
    return Markup(_LINK.sub(lambda link: "" if 'class="way"' in link[1] else link[2], html))


def _show_all(view: TimeView, aggregate: ClusterAggregate) -> None:
    """Set the view, which would begin at the cluster's start, to the tasks that were recorded."""
    tasks = aggregate.tasks
    if len(tasks):
        left, right = tasks.start_s - aggregate.started_at_s, tasks.stop_s - aggregate.started_at_s
        margin_s = 0.01 * max(right - left, _SHORTEST_SPAN_S)
        view.follow.active = None
        view.x_range.update(start=left - margin_s, end=right + margin_s)


def report_html(path: str | os.PathLike[str], *, title: str = "") -> str:
    """Return a recording's report as an HTML page. All text of users is escaped.

    Raises
    ------
    RecordingError, OSError
        As `read_aggregate`.
    """
    remember_defaults()
    hello = hello_of(path)
    watched = read_aggregate(path)
    aggregate = watched.aggregate
    cards = drawn_cards(watched)
    errors = list(reversed(aggregate.errors.values()))
    tables = [
        ("All runs", table_html(runs_table(aggregate), "") if len(aggregate.runs) > RUN_ROWS else Markup()),
        ("Layers", table_html(layers_table(aggregate), "")),
        ("Errors", table_html(errors_table(aggregate), "")),
    ]
    return _page(
        [model for card in cards for model in _roots(card)],
        title or f"{aggregate.name}: performance report",
        {
            "facts": facts(aggregate, hello.engine if hello else ""),
            "notices": []
            if any(isinstance(card, Overview) and card.view.text for card in cards)
            else notices(aggregate),
            "cards": [_variables(card) for card in cards],
            "tables": [(name, table) for name, table in tables if "<td" in table],
            "table_style": Markup(TABLE_STYLE.partition("\n:host")[2].partition("}\n")[2]),  # nothing of users
            "errors": [(f"{group.exception}: {group.message}", group.traceback) for group in errors],
            "made": time.strftime("%Y-%m-%d %H:%M:%S"),
        },
    )


def write_report(recording: str | os.PathLike[str], path: str | os.PathLike[str], *, title: str = "") -> None:
    """Write a recording's report to a file, whole or not at all. Raises as `report_html` and `output_path`."""
    target = output_path(path, source=recording)
    text = report_html(recording, title=title)
    draft = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        draft.write_text(text, encoding="utf-8", errors="backslashreplace")
        draft.replace(target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def main(arguments: Sequence[str] | None = None) -> None:
    """Write a report."""
    parser = argparse.ArgumentParser(prog="python -m glassloom_dashboards.report", description=__doc__)
    parser.add_argument("recording", help="such as run.glr")
    parser.add_argument("path", help="of the HTML file; one that is there is replaced")
    parser.add_argument("--title", default="")
    options = parser.parse_args(arguments)
    try:
        write_report(options.recording, options.path, title=options.title)
    except (RecordingError, OSError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
