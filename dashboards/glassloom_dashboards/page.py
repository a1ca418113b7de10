"""Puts the cards of a page into a Bokeh document and keeps them up to date while it is open."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import jinja2
from bokeh.document import Document
from bokeh.models import Spacer, UIElement
from glassloom_metrics.pages import PAGES

from glassloom_dashboards.aggregate import ClusterAggregate
from glassloom_dashboards.card import TITLES, Card
from glassloom_dashboards.pacing import PERIOD_S, Pacer
from glassloom_dashboards.progress import ProgressBars
from glassloom_dashboards.strip import Strip
from glassloom_dashboards.task_stream import TaskStream
from glassloom_dashboards.theme import PALETTES, ColourBook, Palette
from glassloom_dashboards.workers_cpu import WorkersCpu
from glassloom_dashboards.workers_memory import WorkersMemory

DEFAULT_THEME = "light"
THEME_MODEL = "glassloom-theme"

CardMaker = Callable[[ClusterAggregate, Palette, ColourBook], Card]

CARDS: dict[str, CardMaker] = {
    "task-stream": TaskStream,
    "progress": lambda aggregate, palette, _: ProgressBars(aggregate, palette),
    "workers-memory": lambda aggregate, palette, _: WorkersMemory(aggregate, palette),
    "workers-cpu": lambda aggregate, palette, _: WorkersCpu(aggregate, palette),
}
PAGE_CARDS = {page.id: (tuple(CARDS) if page.id == "status" else (page.id,)) for page in PAGES}

_TEMPLATES = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"), autoescape=True, trim_blocks=True
)


def template(name: str) -> jinja2.Template:
    """Return one of our templates; what is put into it is escaped."""
    return _TEMPLATES.get_template(name)


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
        palette = PALETTES.get(theme, PALETTES[DEFAULT_THEME])
        self.page = page
        self.cards = [CARDS[card](aggregate, palette, colours) for card in PAGE_CARDS[page]]
        self.strip = Strip(aggregate, full=page == "status")
        self.theme = Spacer(name=THEME_MODEL, tags=[palette.name], visible=False)
        self.theme.on_change("tags", self._on_theme)

    def attach(self, document: Document) -> None:
        """Fill `document`, and draw into it until its session ends."""
        document.title = f"{self._aggregate.name or 'cluster'} · {TITLES[self.page]}"
        document.config.update(reconnect_session=False, notify_connection_status=False, notifications=None)
        document.template = template("page.html")
        document.template_variables.update(
            page=self.page,
            theme=self.theme.tags[0],
            cards=[{"id": card.id, "title": TITLES[card.id]} | _root_names(card) for card in self.cards],
        )
        with document.models.freeze():  # else every root makes Bokeh walk all models again
            document.add_root(self.strip.div)
            document.add_root(self.theme)
            for card in self.cards:
                for model in _roots(card).values():
                    document.add_root(model)
        for card in self.cards:
            if card.ready is not None:
                document.js_on_event("document_ready", card.ready)
        self.update(time.monotonic())
        document.add_periodic_callback(self._tick, round(PERIOD_S * 1000))

    def update(self, now_s: float) -> None:
        """Draw what is new in every part."""
        self.strip.update(now_s)
        for card in self.cards:
            card.update(now_s)

    def _tick(self) -> None:
        started_s = time.monotonic()
        if self._pacer.is_due(started_s) and has_viewer(self.strip.div.document):
            self.update(started_s)
            self._pacer.drew(started_s=started_s, stopped_s=time.monotonic())

    def _on_theme(self, attr: str, old: object, new: list[str]) -> None:
        palette = PALETTES.get(new[0] if new else DEFAULT_THEME)
        if palette is not None:
            for card in self.cards:
                card.set_palette(palette)
