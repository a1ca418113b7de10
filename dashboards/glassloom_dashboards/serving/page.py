"""Puts the cards of a page into a Bokeh document and keeps them up to date while it is open."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial

from bokeh.document import Document
from bokeh.document.events import DocumentChangedEvent
from bokeh.models import Spacer, UIElement

from glassloom_dashboards.folds.aggregate import ClusterAggregate
from glassloom_dashboards.parts.card import TITLES, Card, says_nothing, show_empty, show_failure
from glassloom_dashboards.parts.colours import ColourBook
from glassloom_dashboards.parts.layouts import LAYOUTS
from glassloom_dashboards.parts.notebook_choice import ByNotebook, NotebookChoice
from glassloom_dashboards.parts.pause import Pause
from glassloom_dashboards.parts.strip import MAX_NAME_LENGTH, Strip, is_unreadable
from glassloom_dashboards.parts.tables import TableView, Tabular
from glassloom_dashboards.parts.theme import PALETTES, Palette, ellipsis
from glassloom_dashboards.parts.time_view import TimeView
from glassloom_dashboards.serving.pacing import PERIOD_S, Pacer
from glassloom_dashboards.serving.page_session import as_one_message
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
WINDOW_MODEL = "glassloom-window"
"""The browser's word: the width and height of the window or pane that the page is in."""
SUMMARIES_MODEL = "glassloom-summaries"
"""Its tags are for each card its id, what it shows in a sentence, for screen readers (``""``: the card is hidden), and whether it waits for
something to show."""
TABLES_MODEL = "glassloom-tables"
"""The browser's choice: ids of the cards that are shown as tables."""
PLACES_MODEL = "glassloom-places"
"""Its tags are pairs of a root's name and where it belongs in ``templates/page.html``; those without are hidden."""

_SIZES = {"inner_width", "inner_height", "outer_width", "outer_height"}
"""What the browser tells of a plot's size. A header that grows changes it, too, so of the viewer only `WINDOW_MODEL` tells."""

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
    time = time_of(names, aggregate)
    return [make_card(name, aggregate, palette, colours, time) for name in names], time


def time_of(names: Sequence[str], aggregate: ClusterAggregate) -> TimeView | None:
    """Return the time axis that cards of these names share; None if none is over time."""
    over_time = next((name for name in names if name in TIME_CARDS), None)
    return TimeView(aggregate, over_time) if over_time is not None else None


def make_card(
    name: str, aggregate: ClusterAggregate, palette: Palette, colours: ColourBook, time: TimeView | None
) -> Card:
    """Return the card of that name."""
    if time is not None and name in TIME_CARDS:
        return TIME_CARDS[name](aggregate, palette, colours, time)
    return CARDS[name](aggregate, palette, colours)


def go_to(card: Card, arguments: Mapping[str, str]) -> None:
    """Show in a card what the page's address asks for."""
    if isinstance(card, TaskView | RunsView):
        card.go_to(arguments)


def _roots(card: Card) -> dict[str, UIElement]:
    roots = {"legend": card.legend, "controls": card.controls, "body": card.body, "empty": card.empty}
    return {part: model for part, model in roots.items() if model is not None}


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
    made
        What `make_cards` returns for the page, if it is made already.
    """

    def __init__(
        self,
        page: str,
        aggregate: ClusterAggregate,
        colours: ColourBook,
        theme: str,
        made: tuple[list[Card], TimeView | None] | None = None,
    ) -> None:
        self._aggregate = aggregate
        self._pacer = Pacer()
        self._is_changed = False
        self._failures: dict[str, str] = {}
        palette = PALETTES.get(theme, PALETTES[DEFAULT_THEME])
        self.page = page
        self.layout = LAYOUTS[page]
        self.cards, self.time = made or make_cards(self.layout.cards, aggregate, palette, colours)
        self._is_drawn = False
        has_alerts = any(isinstance(card, Overview) for card in self.cards)
        self.strip = Strip(aggregate, full=len(self.cards) > 1, has_alerts=has_alerts)
        self.pause = Pause(aggregate)
        self.notebooks = NotebookChoice(aggregate)
        self.notebooks.body.on_change("value", self._on_notebook)
        self.theme = Spacer(name=THEME_MODEL, tags=[palette.name], visible=False)
        self.theme.on_change("tags", self._on_theme)
        self.frame = Spacer(name=FRAME_MODEL, tags=[0], visible=False)
        self.shown = Spacer(name=SHOWN_MODEL, tags=[0, True], visible=False)
        self.shown.on_change("tags", self._on_shown)
        self.window = Spacer(name=WINDOW_MODEL, tags=[], visible=False)
        self.tabular = {card.id: card for card in self.cards if isinstance(card, Tabular)}
        self.table_views = {name: TableView(card, f"{name}-table") for name, card in self.tabular.items()}
        self.summaries = Spacer(name=SUMMARIES_MODEL, tags=[], visible=False)
        self.tables = Spacer(name=TABLES_MODEL, tags=[], visible=False)
        self.tables.on_change("tags", self._on_tables)
        self.places = Spacer(name=PLACES_MODEL, tags=self._places(), visible=False)

    @classmethod
    async def opened(
        cls,
        page: str,
        aggregate: ClusterAggregate,
        colours: ColourBook,
        arguments: Mapping[str, str],
        give_way: Callable[[], Awaitable[None]],
    ) -> PageView:
        """Return a page as its address asks for it, drawn for the first time. Others have their turn after each card: see `Turns`."""
        theme, names = arguments.get("theme", ""), LAYOUTS[page].cards
        cards, time_view = [], time_of(names, aggregate)
        for name in names:
            cards.append(make_card(name, aggregate, PALETTES.get(theme, PALETTES[DEFAULT_THEME]), colours, time_view))
            await give_way()
        view = cls(page, aggregate, colours, theme, (cards, time_view))
        view.go_to(arguments)
        for draw in view._drawings(time.monotonic()):
            draw()
            await give_way()
        return view

    def go_to(self, arguments: Mapping[str, str]) -> None:
        """Show what the page's address asks for."""
        for card in self.cards:
            go_to(card, arguments)
        if notebook := arguments.get("notebook"):
            self.notebooks.choose(notebook)

    def attach(self, document: Document) -> None:
        """Fill `document`, and draw into it until its session ends."""
        document.title = self._title()
        document.config.update(reconnect_session=False, notify_connection_status=False, notifications=None)
        with document.models.freeze():  # else every root makes Bokeh walk all models again
            document.add_root(self.strip.div)
            document.add_root(self.pause.body)
            document.add_root(self.notebooks.body)
            for model in (self.theme, self.frame, self.shown, self.window, self.summaries, self.tables, self.places):
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
        if not self._is_drawn:
            self.update(time.monotonic())
        self._pacer.opened(time.monotonic(), is_loading=self._aggregate.is_loading)
        document.on_change(self._note_change)
        document.on_message("bokeh_event", self.pause.note_event)
        document.add_periodic_callback(self._tick, round(PERIOD_S * 1000))

    def close(self) -> None:
        """Let go of everything, so that no cycle is left for the garbage collector."""
        for part in (*self.cards, *self.table_views.values(), self.strip, self.time, self):
            if part is not None:
                vars(part).clear()

    @property
    def cluster_name(self) -> str:
        """The name of the cluster that the page shows."""
        return self._aggregate.name

    def _title(self) -> str:
        return f"{ellipsis(self._aggregate.name, MAX_NAME_LENGTH) or 'cluster'} · {TITLES[self.page]}"

    def _show_title(self) -> None:
        """Follow a cluster that is renamed."""
        document = self.strip.div.document
        if document is not None and document.title != self._title():
            document.title = self._title()

    def _places(self) -> list[list[str]]:
        """Return where in the page's template each root belongs that can be seen."""
        roots: list[tuple[UIElement, str]] = [(self.strip.div, "strip"), (self.pause.body, "pause")]
        if any(isinstance(card, ByNotebook) for card in self.cards):
            roots.append((self.notebooks.body, "notebooks"))
        roots += [(model, f"{card.id}-{part}") for card in self.cards for part, model in _roots(card).items()]
        roots += [(view.div, f"{name}-table") for name, view in self.table_views.items()]
        if self.time is not None:  # with the first of the cards over time; it moves all
            roots.append((self.time.follow, f"{self.time.name}-time"))
        return [[str(model.name), place] for model, place in roots]

    def update(self, now_s: float) -> None:
        """Draw what is new in every part. A part that can't be drawn says so in its place, and the others go on."""
        for draw in self._drawings(now_s):
            draw()

    def _drawings(self, now_s: float) -> Iterator[Callable[[], object]]:
        """Yield what draws each part; while the page is paused, only what says how the cluster is and since when it is."""
        self._is_drawn = True
        yield partial(self._contain, "strip", partial(self.strip.update, now_s))
        yield self._show_title
        if self.pause.holds(now_s):
            yield self.pause.update
            return
        yield self.notebooks.update
        for card in self.cards:
            yield partial(self._draw, card, now_s)
        yield partial(self._contain, "summaries", self._summarise)
        for name, view in self.table_views.items():
            yield partial(self._contain, f"{name}-table", partial(view.update, now_s))
        self.pause.note_drawn()
        yield self.pause.update

    def _summarise(self) -> None:
        said = [
            [card.id, "" if self._is_hidden(card) else card.summary(), says_nothing(card)]
            for card in self.tabular.values()
        ]
        if self.summaries.tags != said:
            self.summaries.tags = said

    def _is_hidden(self, card: Tabular) -> bool:
        """Tell whether the browser hides a card, as the one above says all there is."""
        return isinstance(card, GpuOverTime) and card.is_bare and len(self.cards) > 1

    def _draw(self, card: Card, now_s: float) -> None:
        aggregate = self._aggregate
        if is_unreadable(aggregate):
            show_empty(card.empty, "This cluster cannot be read", "The reason is said above.")
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
        started_s, is_loading = time.monotonic(), self._aggregate.is_loading
        if self._pacer.waits or not has_viewer(self.strip.div.document):
            return
        is_due = self._pacer.is_due(started_s, is_loading=is_loading)
        with as_one_message(self.strip.div.document):
            if is_due:
                self.update(started_s)
            if self._is_changed or self._pacer.is_beat_due(started_s):
                self.frame.tags = [self._pacer.send(started_s)]  # the last of the frame's changes
                self._is_changed = False
        if is_due:
            self._pacer.drew(started_s=started_s, stopped_s=time.monotonic(), is_loading=is_loading)

    def _note_change(self, event: DocumentChangedEvent) -> None:
        if event.setter is None:
            self._is_changed = True
        elif not self._is_browsers_own(event):  # the viewer has moved, chosen or resized something
            self.pause.note_asked()

    def _is_browsers_own(self, event: DocumentChangedEvent) -> bool:
        """Tell whether a browser's change is none that its viewer made: an answer, a plot's size, a range that follows."""
        model, attribute = getattr(event, "model", None), getattr(event, "attr", None)
        follows = self.time is not None and self.time.follows(model)
        return model is self.shown or attribute in _SIZES or follows

    def _on_shown(self, attr: str, old: object, new: list[object]) -> None:
        match new:
            case [int(number), bool(is_visible)]:
                self._pacer.acknowledge(number, is_visible=is_visible)

    def _on_notebook(self, attr: str, old: object, new: object) -> None:
        for part in (self.time, *self.cards):
            if isinstance(part, ByNotebook):
                part.notebook = self.notebooks.notebook
        for card in self.cards:
            card.forget()
        self._pacer.hurry()

    def _on_tables(self, attr: str, old: object, new: list[object]) -> None:
        for name, view in self.table_views.items():
            view.show(name in new)
        self._pacer.hurry()

    def _on_theme(self, attr: str, old: object, new: list[str]) -> None:
        palette = PALETTES.get(new[0] if new else DEFAULT_THEME)
        if palette is not None:
            with as_one_message(self.strip.div.document):
                for card in self.cards:
                    card.set_palette(palette)
            self._pacer.hurry()  # colours that are data come with it
