"""Puts the cards of a page into a Bokeh document and keeps them up to date while it is open."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence

from bokeh.document import Document
from bokeh.document.events import DocumentChangedEvent
from bokeh.models import Spacer, UIElement

from glassloom_dashboards.folds.aggregate import ClusterAggregate
from glassloom_dashboards.parts.card import TITLES, Card, show_empty, show_failure
from glassloom_dashboards.parts.colours import ColourBook
from glassloom_dashboards.parts.layouts import LAYOUTS
from glassloom_dashboards.parts.strip import MAX_NAME_LENGTH, Strip, sentence
from glassloom_dashboards.parts.tables import TableView, Tabular
from glassloom_dashboards.parts.templates import template
from glassloom_dashboards.parts.theme import PALETTES, Palette, ellipsis
from glassloom_dashboards.parts.time_view import TimeView
from glassloom_dashboards.serving.pacing import PERIOD_S, Pacer
from glassloom_dashboards.views.gpu_devices_view import GpuDevicesView
from glassloom_dashboards.views.gpu_over_time import GpuOverTime
from glassloom_dashboards.views.logs_view import LogsView
from glassloom_dashboards.views.memory_over_time import MemoryOverTime
from glassloom_dashboards.views.overview import Overview
from glassloom_dashboards.views.progress import ProgressBars
from glassloom_dashboards.views.runs_view import RunsView
from glassloom_dashboards.views.stages_card import Stages
from glassloom_dashboards.views.task_stream import TaskStream
from glassloom_dashboards.views.task_view import TaskView
from glassloom_dashboards.views.time_budget import TimeBudget
from glassloom_dashboards.views.utilisation import Utilisation
from glassloom_dashboards.views.workers_cpu import WorkersCpu
from glassloom_dashboards.views.workers_memory import WorkersMemory
from glassloom_dashboards.views.workers_view import WorkersView

DEFAULT_THEME = "light"
THEME_MODEL = "glassloom-theme"
FRAME_MODEL = "glassloom-frame"
"""Its tag is the number of the frame that was sent last."""
SHOWN_MODEL = "glassloom-shown"
"""The browser's answer: the number of the frame that it has, and whether the page can be seen."""
SUMMARIES_MODEL = "glassloom-summaries"
"""Its tags are pairs of a card's id and what it shows in a sentence, for screen readers."""
TABLES_MODEL = "glassloom-tables"
"""The browser's choice: ids of the cards that are shown as tables."""

log = logging.getLogger(__name__)

CardMaker = Callable[[ClusterAggregate, Palette, ColourBook], Card]

TimeCardMaker = Callable[[ClusterAggregate, Palette, ColourBook, TimeView], Card]

TIME_CARDS: dict[str, TimeCardMaker] = {
    "task-stream": TaskStream,
    "memory": MemoryOverTime,
    "utilisation": lambda aggregate, palette, _, time: Utilisation(aggregate, palette, time),
    "time-budget": lambda aggregate, palette, _, time: TimeBudget(aggregate, palette, time),
    "workers-cpu": lambda aggregate, palette, _, time: WorkersCpu(aggregate, palette, time),
    "gpu-time": lambda aggregate, palette, _, time: GpuOverTime(aggregate, palette, time),
}
"""What is drawn over time. The cards of a page share their time axis."""
CARDS: dict[str, CardMaker] = {
    "overview": lambda aggregate, palette, _: Overview(aggregate, palette),
    "progress": lambda aggregate, palette, _: ProgressBars(aggregate, palette),
    "workers-memory": lambda aggregate, palette, _: WorkersMemory(aggregate, palette),
    "runs": lambda aggregate, palette, _: RunsView(aggregate, palette),
    "task": lambda aggregate, palette, _: TaskView(aggregate, palette),
    "logs": lambda aggregate, palette, _: LogsView(aggregate, palette),
    "workers": lambda aggregate, palette, _: WorkersView(aggregate, palette),
    "gpu-devices": lambda aggregate, palette, _: GpuDevicesView(aggregate, palette),
    "stages": lambda aggregate, palette, _: Stages(aggregate, palette),
}


def make_cards(
    names: Sequence[str], aggregate: ClusterAggregate, palette: Palette, colours: ColourBook
) -> tuple[list[Card], TimeView | None]:
    """Return the cards of these names, and the time axis that those over time share."""
    over_time = next((name for name in names if name in TIME_CARDS), None)
    time = TimeView(aggregate, over_time) if over_time is not None else None
    made = []
    for name in names:
        if time is not None and name in TIME_CARDS:
            made.append(TIME_CARDS[name](aggregate, palette, colours, time))
        else:
            made.append(CARDS[name](aggregate, palette, colours))
    return made, time


def _roots(card: Card) -> dict[str, UIElement]:
    roots = {"legend": card.legend, "controls": card.controls, "body": card.body, "empty": card.empty}
    return {part: model for part, model in roots.items() if model is not None}


def _root_names(card: Card) -> dict[str, str]:
    return {part: str(model.name) for part, model in _roots(card).items()}


def has_viewer(document: Document | None) -> bool:
    """Tell whether a browser is connected to the document; for a while after it has gone, there is none."""
    context = document.session_context if document is not None else None
    session = getattr(context, "session", None)
    return session is None or session.connection_count > 0


class PageView:
    """One page in one viewer's browser.

    Parameters
    ----------
    page
        Id of the page (see `glassloom_metrics.pages`).
    theme
        ``"light"`` or ``"dark"``; anything else is light.
    """

    def __init__(self, page: str, aggregate: ClusterAggregate, colours: ColourBook, theme: str) -> None:
        self._aggregate = aggregate
        self._pacer = Pacer()
        self._is_changed = False
        self._failures: dict[str, str] = {}
        palette = PALETTES.get(theme, PALETTES[DEFAULT_THEME])
        self.page = page
        self.layout = LAYOUTS[page]
        self.cards, self.time = make_cards(self.layout.cards, aggregate, palette, colours)
        self.strip = Strip(aggregate, full=len(self.cards) > 1)
        self.theme = Spacer(name=THEME_MODEL, tags=[palette.name], visible=False)
        self.theme.on_change("tags", self._on_theme)
        self.frame = Spacer(name=FRAME_MODEL, tags=[0], visible=False)
        self.shown = Spacer(name=SHOWN_MODEL, tags=[0, True], visible=False)
        self.shown.on_change("tags", self._on_shown)
        self.tabular = {card.id: card for card in self.cards if isinstance(card, Tabular)}
        self.table_views = {name: TableView(card, f"{name}-table") for name, card in self.tabular.items()}
        self.summaries = Spacer(name=SUMMARIES_MODEL, tags=[], visible=False)
        self.tables = Spacer(name=TABLES_MODEL, tags=[], visible=False)
        self.tables.on_change("tags", self._on_tables)

    def go_to(self, arguments: Mapping[str, str]) -> None:
        """Show what the page's address asks for."""
        for card in self.cards:
            if isinstance(card, TaskView):
                card.go_to(arguments)

    def attach(self, document: Document) -> None:
        """Fill `document`, and draw into it until its session ends."""
        document.title = f"{ellipsis(self._aggregate.name, MAX_NAME_LENGTH) or 'cluster'} · {TITLES[self.page]}"
        document.config.update(reconnect_session=False, notify_connection_status=False, notifications=None)
        document.template = template("page.html")
        document.template_variables.update(
            grid=self.layout.grid,
            theme=self.theme.tags[0],
            cards=[self._variables(card) for card in self.cards],
        )
        with document.models.freeze():  # else every root makes Bokeh walk all models again
            document.add_root(self.strip.div)
            for model in (self.theme, self.frame, self.shown, self.summaries, self.tables):
                document.add_root(model)
            for view in self.table_views.values():
                document.add_root(view.div)
            if self.time is not None:
                document.add_root(self.time.follow)
            for card in self.cards:
                for model in _roots(card).values():
                    document.add_root(model)
        for part in (self.time, *self.cards):
            if part is not None and part.ready is not None:
                document.js_on_event("document_ready", part.ready)
        self.update(time.monotonic())
        document.on_change(self._note_change)
        document.add_periodic_callback(self._tick, round(PERIOD_S * 1000))

    def _variables(self, card: Card) -> dict[str, str]:
        """Return what the page's template needs to know of a card."""
        view = self.table_views.get(card.id)
        table = {"table": str(view.div.name)} if view is not None else {}
        time = {}
        if self.time is not None and self.time.name == card.id:  # with the first of them; it moves all
            time = {"time": str(self.time.follow.name)}
        return {"id": card.id, "title": TITLES[card.id]} | _root_names(card) | table | time

    def update(self, now_s: float) -> None:
        """Draw what is new in every part. A part that can't be drawn says so in its place, and the others go on."""
        self._contain("strip", lambda: self.strip.update(now_s))
        for card in self.cards:
            self._draw(card, now_s)
        self._contain("summaries", self._summarise)
        for name, view in self.table_views.items():
            self._contain(f"{name}-table", lambda view=view: view.update(now_s))  # type: ignore[misc]

    def _summarise(self) -> None:
        said = [[name, card.summary()] for name, card in self.tabular.items()]
        if self.summaries.tags != said:
            self.summaries.tags = said

    def _draw(self, card: Card, now_s: float) -> None:
        aggregate = self._aggregate
        if aggregate.state == "refused" and not aggregate.generation:  # nothing was ever heard of it
            show_empty(card.empty, "This cluster cannot be read", sentence(aggregate.ended_reason))
        elif not self._contain(card.id, lambda: card.update(now_s)):
            card.forget()
            show_failure(card)

    def _contain(self, part: str, draw: Callable[[], None]) -> bool:
        """Call `draw` and return whether it worked; if not, the log says why, once until it works again."""
        try:
            draw()
        except Exception as error:  # whatever one plot stumbles over, the others must be drawn
            if self._failures.get(part) != repr(error):
                self._failures[part] = repr(error)
                log.exception("%r of page %r of cluster %r could not be drawn", part, self.page, self._aggregate.name)
            return False
        self._failures.pop(part, None)
        return True

    def _tick(self) -> None:
        started_s = time.monotonic()
        if self._pacer.waits or not has_viewer(self.strip.div.document):
            return
        if self._pacer.is_due(started_s, is_loading=self._aggregate.is_loading):
            self.update(started_s)
            self._pacer.drew(started_s=started_s, stopped_s=time.monotonic())
        if self._is_changed or self._pacer.is_beat_due(started_s):
            self.frame.tags = [self._pacer.send(started_s)]  # the last of the frame's changes
            self._is_changed = False

    def _note_change(self, event: DocumentChangedEvent) -> None:
        self._is_changed |= event.setter is None  # else the browser has changed it

    def _on_shown(self, attr: str, old: object, new: list[object]) -> None:
        match new:
            case [int(number), bool(is_visible)]:
                self._pacer.acknowledge(number, is_visible=is_visible)

    def _on_tables(self, attr: str, old: object, new: list[object]) -> None:
        for name, view in self.table_views.items():
            view.show(name in new)

    def _on_theme(self, attr: str, old: object, new: list[str]) -> None:
        palette = PALETTES.get(new[0] if new else DEFAULT_THEME)
        if palette is not None:
            for card in self.cards:
                card.set_palette(palette)
