"""Errors in groups, and below them the log: the cluster's own lines and what tasks print, the newest last."""

from __future__ import annotations

from glassloom_dashboards.folds.aggregate import ClusterAggregate, ErrorGroup
from glassloom_dashboards.folds.log_table import GROUPS, HEAD, Line
from glassloom_dashboards.folds.places import short_place
from glassloom_dashboards.folds.task_keys import indices_of
from glassloom_dashboards.parts.base_cards import HtmlCard
from glassloom_dashboards.parts.html_body import Asked, fit_html, number_or_none
from glassloom_dashboards.parts.task_links import task_href
from glassloom_dashboards.parts.templates import render
from glassloom_dashboards.parts.theme import Palette, ellipsis, middle_cut
from glassloom_dashboards.parts.times import clock_text

ROWS = 300
"""Lines at a time; the buttons lead to earlier ones."""
STEP = 200
"""By how many lines the buttons move."""
MAX_ERRORS = 30
"""Groups of errors that are shown: those that grew last."""
MAX_NAMES = 50
"""Names of workers that the browser offers."""
MAX_LINKED = 40
"""Tasks with longer keys aren't linked to from their lines: there are hundreds of them on a page."""
_TEXT_BYTES = 50_000
_NAME_LENGTH = 15
"""What there is room for in a narrow pane."""
_ERROR_BYTES = 10_000

GROUP_WORDS = {"messages": "Messages", "warnings": "Warnings, errors", "stdout": "stdout", "stderr": "stderr"}


def name_of(aggregate: ClusterAggregate, worker: int) -> str:
    """Return whose line it is."""
    return "head" if worker == HEAD else aggregate.worker_name(worker)


def error_rows(aggregate: ClusterAggregate, opened: int | None) -> list[dict[str, object]]:
    """Return what is said of the groups of errors that grew last, the newest first."""
    groups = list(reversed(aggregate.errors.values()))[:MAX_ERRORS]
    messages = fit_html([f"{group.exception}: {group.message}" for group in groups], 300, _ERROR_BYTES)
    layers = fit_html([middle_cut(aggregate.layer_name(group.layer), 40) for group in groups], 40, _ERROR_BYTES)
    places = fit_html([ellipsis(short_place(group.origin), 80) for group in groups], 80, _ERROR_BYTES)
    return [
        {
            "id": group.id,
            "count": f"{group.count:,}",
            "message": message,
            "layer": layer,
            "where": where,
            "first": clock_text(group.first_s, aggregate.last_at_s),
            "last": clock_text(group.last_s, aggregate.last_at_s),
            "detail": error_detail(aggregate, group) if group.id == opened else None,
        }
        for group, message, layer, where in zip(groups, messages, layers, places, strict=True)
    ]


def error_detail(aggregate: ClusterAggregate, group: ErrorGroup) -> dict[str, object]:
    """Return what is told of a group that is open: all of its first failure."""
    traceback = group.traceback or group.message
    facts = [
        ("First on", name_of(aggregate, group.worker) if group.worker >= 0 else "no worker: the scheduler gave up"),
        ("Layer", ellipsis(aggregate.layer_name(group.layer), 200)),
        ("Built at", ellipsis(group.origin, 300)),
    ]
    return {
        "traceback": fit_html([traceback[-8000:]], 8000, _ERROR_BYTES)[0],
        "tasks": failed_tasks(aggregate, group),
        "more_keys": max(group.count - len(group.keys), 0),
        "facts": [(words, value) for words, value in facts if value],
    }


def failed_tasks(aggregate: ClusterAggregate, group: ErrorGroup) -> list[dict[str, str]]:
    """Return the keys of a group that are told, each with the address of its task."""
    keys = fit_html(group.keys, 80, 3000)
    indices = indices_of(aggregate, group.layer, group.keys)
    return [
        {"key": key, "href": "" if index is None else task_href(group.layer, index)}
        for key, index in zip(keys, indices, strict=True)
    ]


def line_rows(aggregate: ClusterAggregate, lines: list[Line]) -> list[dict[str, object]]:
    """Return what is said of lines of the log."""
    texts = fit_html([line.text for line in lines], 2000, _TEXT_BYTES)
    levels = fit_html([line.level for line in lines], 12, 8_000)
    names = {line.worker: middle_cut(name_of(aggregate, line.worker), _NAME_LENGTH) for line in lines}
    return [
        {
            "number": line.number,
            "at": clock_text(line.at_s, aggregate.last_at_s),
            "worker": names[line.worker],
            "level": level,
            "group": line.group,
            "is_error": line.level.lower() in ("error", "critical"),
            "text": text,
            "href": task_href(line.layer, line.index) if line.layer >= 0 and len(line.index) <= MAX_LINKED else "",
        }
        for line, level, text in zip(lines, levels, texts, strict=True)
    ]


class LogsView(HtmlCard):
    """The card of logs and errors for one viewer."""

    id = "logs"

    def __init__(self, aggregate: ClusterAggregate, palette: Palette) -> None:
        self._groups = set(GROUPS)
        self._search = ""
        self._worker = ""
        self._open: int | None = None
        self._last: int | None = None  # the number of the last line to show: nothing newer while it is paused
        self._before = 0  # how many lines before that are passed over
        asks: dict[str, Asked] = {
            "level": self._toggle_level,
            "search": self._set_search,
            "worker": self._set_worker,
            "follow": self._set_follow,
            "page": self._move,
            "open": self._toggle_open,
        }
        super().__init__(aggregate, asks)

    def _toggle_level(self, group: str) -> None:
        if group in GROUPS:
            self._groups ^= {group}
            self._before = 0

    def _set_search(self, text: str) -> None:
        self._search, self._before = text, 0

    def _set_worker(self, name: str) -> None:
        self._worker, self._before = name, 0

    def _set_follow(self, value: str) -> None:
        if value == "pause" and self._last is None:
            self._last = self._aggregate.logs.total - 1
        elif value == "follow":
            self._last, self._before = None, 0

    def _move(self, where: str) -> None:
        self._set_follow("pause")
        self._before = max(self._before + (STEP if where == "previous" else -STEP), 0)

    def _toggle_open(self, value: str) -> None:
        group = number_or_none(value)
        self._open = None if group == self._open else group

    def update(self, now_s: float) -> None:
        """Show what is new."""
        aggregate = self._aggregate
        parts = ("errors", "workers") if self._last is not None else ("errors", "workers", "logs")
        if self.is_due(now_s, parts):
            has_any = aggregate.logs.total > 0 or aggregate.error_count > 0
            words = "What tasks print and log, what the cluster has to say, and errors appear here."
            html = render("logs.html", **self._values()) if has_any else None
            self.show(html, "Nothing was logged yet", words)

    def _values(self) -> dict[str, object]:
        aggregate = self._aggregate
        lines = self._selected()
        last = max(len(lines) - self._before, min(ROWS, len(lines)))
        self._before = len(lines) - last
        shown = lines[max(last - ROWS, 0) : last]
        known = sorted(set(aggregate.worker_names.values()))[:MAX_NAMES]
        errors = error_rows(aggregate, self._open)
        return {
            "errors": errors,
            "error_note": self._error_note(len(errors)),
            "open": self._open,
            "levels": [(name, GROUP_WORDS[name], f"{aggregate.logs.counts[name]:,}") for name in GROUPS],
            "chosen": self._groups,
            "search_text": self._search,
            "worker": self._worker,
            "names": fit_html(["head", *known], 60, 5000),
            "lines": line_rows(aggregate, shown),
            "has_lines": aggregate.logs.total > 0,
            "note": self._note(len(lines), len(shown)),
            "is_paused": self._last is not None,
            "has_previous": last > ROWS,
            "has_next": self._before > 0,
        }

    def _selected(self) -> list[Line]:
        is_wanted = None
        if self._worker:
            numbers = self._wanted_workers()
            is_wanted = numbers.__contains__
        lines = self._aggregate.logs.select(groups=self._groups, is_wanted=is_wanted, text=self._search)
        return lines if self._last is None else [line for line in lines if line.number <= self._last]

    def _wanted_workers(self) -> set[int]:
        """Return the workers of the name that was asked for, or if there are none, those with it in their name."""
        wanted = self._worker.casefold()
        names = {HEAD: "head"} | {worker: name.casefold() for worker, name in self._aggregate.worker_names.items()}
        return {worker for worker, name in names.items() if name == wanted} or {
            worker for worker, name in names.items() if wanted in name
        }

    def _note(self, found: int, shown: int) -> str:
        logs = self._aggregate.logs
        gone = logs.total - len(logs)
        said = f"{found:,} line{'' if found == 1 else 's'}"
        if shown < found:
            said = f"{shown:,} of {said}"
        if self._last is not None and (new := logs.total - 1 - self._last) > 0:
            said += f"; {new:,} newer came meanwhile"
        return f"{said}; {gone:,} older ones are no longer kept" if gone else said

    def _error_note(self, shown: int) -> str:
        count = self._aggregate.error_count
        said = f"{count:,} failure{'' if count == 1 else 's'} in {shown:,} group{'' if shown == 1 else 's'}"
        return f"{said}, those that grew last" if shown < len(self._aggregate.errors) else said
