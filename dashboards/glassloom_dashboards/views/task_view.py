"""Tasks by key, or part of it; and the page of one: its state, times, inputs, result, errors and lines."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from itertools import islice

from markupsafe import Markup

from glassloom_dashboards.folds.aggregate import ClusterAggregate
from glassloom_dashboards.folds.task_finding import Looked, newest_rows
from glassloom_dashboards.parts.base_cards import HtmlCard
from glassloom_dashboards.parts.html_body import Asked, Paging, number_or_none
from glassloom_dashboards.parts.task_links import row_of, task_of
from glassloom_dashboards.parts.templates import render
from glassloom_dashboards.parts.theme import Palette
from glassloom_dashboards.views.task_detail import detail_of
from glassloom_dashboards.views.task_facts import read_row
from glassloom_dashboards.views.task_list import group_rows, layer_heading, newest_of_all, task_items
from glassloom_dashboards.views.task_search import MAX_GROUPS, MAX_TEXT_LENGTH, find, parse

ROWS = 50
"""Tasks of one layer at a time."""
MAX_IN_LAYER = 1000
"""Tasks of one layer that are found by part of their key: the newest."""


class TaskView(HtmlCard):
    """The card of tasks for one viewer."""

    id = "task"

    def __init__(self, aggregate: ClusterAggregate, palette: Palette) -> None:
        self._search = ""
        self._layer: int | None = None
        self._open: tuple[int, str] | None = None
        self._row: int | None = None  # to open, as soon as it is there
        self._paging = Paging(ROWS)
        self._what: Hashable = None
        self._looked: Looked | None = None
        asks: dict[str, Asked] = {
            "search": self._set_search,
            "layer": self._set_layer,
            "page": self._paging.move,
            "open": self.open,
            "close": lambda _: self.open(""),
        }
        super().__init__(aggregate, asks)

    def go_to(self, arguments: Mapping[str, str]) -> None:
        """Show what an address asks for: ``open`` a task, or ``search`` for some."""
        self._set_search(arguments.get("search", "")[:MAX_TEXT_LENGTH])
        self.open(arguments.get("open", ""))

    def open(self, value: str) -> None:
        """Open a task, given as in `task_links`; close it if it is none."""
        self._open, self._row = task_of(value), row_of(value)

    def _set_search(self, text: str) -> None:
        self._search, self._layer = text, None
        self._paging.move("first")

    def _set_layer(self, value: str) -> None:
        self._layer = number_or_none(value)
        self._paging.move("first")

    def update(self, now_s: float) -> None:
        """Show what is new."""
        aggregate = self._aggregate
        parts = ("tasks", "layers", "progress", "running", "runs", "errors", "workers", "logs", "life")
        if not self.is_due(now_s, parts):
            return
        self._find_row()
        has_any = aggregate.tasks.next_row or aggregate.layers or self._open is not None
        self.show(self._html() if has_any else None, "No tasks yet", "Tasks appear here as soon as some have begun.")

    def _find_row(self) -> None:
        tasks = self._aggregate.tasks
        if self._row is not None and tasks.first_row <= self._row < tasks.next_row:
            row = read_row(self._aggregate, self._row)
            self._open, self._row = (row.layer, row.index), None

    def _html(self) -> Markup:
        if self._open is not None:
            return render("task.html", **detail_of(self._aggregate, *self._open))
        return render("tasks.html", search_text=self._search, **self._values())

    def _values(self) -> dict[str, object]:
        if self._layer is not None:
            return self._values_of_layer(self._layer)
        aggregate = self._aggregate
        query = parse(self._search)
        if query is None:
            return {"groups": newest_of_all(aggregate), "note": self._note(), "layer": None}
        groups, is_all = find(aggregate, self._search, self._looked_for(query))
        note = f"{len(groups):,} layer{'' if len(groups) == 1 else 's'} with such tasks"
        return {
            "groups": group_rows(aggregate, groups),
            "note": note if is_all else f"the newest {MAX_GROUPS} layers with such tasks",
            "layer": None,
        }

    def _values_of_layer(self, layer: int) -> dict[str, object]:
        aggregate = self._aggregate
        query = parse(self._search)
        is_named = query is None or (
            query.kind == "either" and query.name.casefold() in aggregate.layer_name(layer).casefold()
        )
        text = "" if query is None or is_named else query.index
        tasks = aggregate.tasks
        if text:
            rows = self._looked_for((layer, text)).newest(
                layer, MAX_IN_LAYER, lambda since: newest_rows(tasks, [layer], text=text, since=since)
            )
            total = len(rows)
            rows = rows[self._paging.part(total)]
        else:
            total = aggregate.sums.layers[layer].count
            part = self._paging.part(total)
            rows = list(islice(newest_rows(tasks, [layer]), part.start, part.stop))
        group = layer_heading(aggregate, layer) | {"items": task_items(aggregate, rows), "more": False}
        return {"groups": [group], "note": self._note(), "layer": layer, "paging": self._paging.shown(total)}

    def _looked_for(self, what: Hashable) -> Looked:
        """Return how far the search for this has come; of another, or in another table, it begins anew."""
        if self._looked is None or self._what != what or self._looked.tasks is not self._aggregate.tasks:
            self._what, self._looked = what, Looked(self._aggregate.tasks)
        return self._looked

    def _note(self) -> str:
        aggregate = self._aggregate
        gone = aggregate.tasks.first_row
        said = f"{aggregate.compute_tasks:,} tasks have run"
        return f"{said}; the oldest {gone:,} rows are no longer kept" if gone else said
