"""What cards of one sort have in common: those with a plot, with a plot over time, and those that are HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bokeh.models import CustomJS, UIElement
from markupsafe import Markup

from glassloom_dashboards.folds.aggregate import ClusterAggregate
from glassloom_dashboards.parts.card import (
    Seen,
    empty_div,
    legend_div,
    legend_html,
    show_empty,
    show_html,
    versions_of,
)
from glassloom_dashboards.parts.html_body import Asked, HtmlBody, Paging, number_or_none
from glassloom_dashboards.parts.templates import render
from glassloom_dashboards.parts.theme import Palette
from glassloom_dashboards.parts.time_view import TimeView

_YET = " yet"


class BaseCard:
    """A card for one viewer: its legend, and the words for when there is nothing yet."""

    id: str
    controls: UIElement | None = None
    ready: CustomJS | None = None

    def __init__(self, aggregate: ClusterAggregate) -> None:
        self._aggregate = aggregate
        self.legend = legend_div(f"{self.id}-legend")
        self.empty = empty_div(f"{self.id}-empty")

    def show_legend(self, entries: Sequence[tuple[str, str, str]], note: str = "") -> None:
        """Show (colour, words, CSS class) of each part, and a note after them."""
        show_html(self.legend, legend_html(entries, note))

    def show_empty(self, title: str, words: str = "") -> None:
        """Say over the plot what it waits for, or nothing if `title` is empty. One of a cluster that is over waits for nothing."""
        if self._aggregate.state in ("ended", "recording") and title.endswith(_YET):
            title, words = title.removesuffix(_YET), ""
        show_empty(self.empty, title, words)


class PlotCard(BaseCard):
    """A card with plots. Its `__init__` makes them, and calls `set_palette` last; `paint` colours them."""

    def __init__(self, aggregate: ClusterAggregate) -> None:
        super().__init__(aggregate)
        self._seen = Seen()

    def set_palette(self, palette: Palette) -> None:
        """Change colours."""
        self._palette = palette
        self.paint(palette)
        self._seen.forget()

    def paint(self, palette: Palette) -> None:
        """Colour the plots."""
        raise NotImplementedError

    def forget(self) -> None:
        """Make the next `update` draw everything."""
        self._seen.forget()

    def is_due(self, parts: Sequence[str], view: Mapping[str, int]) -> bool:
        """Tell whether parts of the aggregate, or what is asked of the view, have changed since this was last called."""
        return self._seen.changed(versions_of(self._aggregate, *parts) | dict(view))


class TimeCard(PlotCard):
    """A card with plots over time: those of one page share `time`, a card by itself has one of its own."""

    def __init__(self, aggregate: ClusterAggregate, time: TimeView | None) -> None:
        super().__init__(aggregate)
        self.time = time or TimeView(aggregate, self.id)

    def is_due(self, parts: Sequence[str], view: Mapping[str, int]) -> bool:
        """Tell whether to draw: as other cards do, and when other times are shown."""
        return super().is_due(parts, dict(view) | self.time.version())


class HtmlCard(BaseCard):
    """A card that is HTML; see `HtmlBody` for what can be asked for."""

    def __init__(self, aggregate: ClusterAggregate, asks: Mapping[str, Asked]) -> None:
        super().__init__(aggregate)
        self.view = HtmlBody(self.id, asks)
        self.body: UIElement = self.view.model

    def set_palette(self, palette: Palette) -> None:
        """Do nothing: the page's own colours change."""

    def forget(self) -> None:
        """Make the next `update` draw everything."""
        self.view.forget()

    def is_due(self, now_s: float, parts: Sequence[str]) -> bool:
        """Tell whether to show parts of the aggregate now: see `HtmlBody.is_due`."""
        return self.view.is_due(now_s, versions_of(self._aggregate, *parts))

    def show(self, html: Markup | None, title: str, words: str = "") -> None:
        """Show `html`; without any, say in `title` and `words` what the card waits for."""
        self.view.show(render("nothing.html") if html is None else html)
        self.show_empty("" if html is not None else title, words)


class ListCard(HtmlCard):
    """A list to search and page through, one row of which may be open.

    ``search``, ``page``, ``open`` and ``close`` are asked for in all lists; `asks` are a list's own, and go before these.
    """

    def __init__(self, aggregate: ClusterAggregate, rows: int, asks: Mapping[str, Asked] | None = None) -> None:
        self._search = ""
        self._open: int | None = None
        self._paging = Paging(rows)
        usual: dict[str, Asked] = {
            "search": self._set_search,
            "page": self._paging.move,
            "open": self._set_open,
            "close": lambda _: self._set_open(""),
        }
        super().__init__(aggregate, usual | dict(asks or {}))

    def _set_search(self, text: str) -> None:
        self._search = text
        self._paging.move("first")

    def _set_open(self, value: str) -> None:
        self._open = number_or_none(value)

    def _toggle_open(self, value: str) -> None:
        row = number_or_none(value)
        self._open = None if row == self._open else row
