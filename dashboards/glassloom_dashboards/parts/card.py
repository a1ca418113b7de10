"""What a page is made of: cards, each with a legend, perhaps controls, a plot, and words for when there is nothing yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from bokeh.core.property.descriptors import UnsetValueError
from bokeh.models import ColumnDataSource, CustomJS, Div, InlineStyleSheet, UIElement
from bokeh.plotting import figure
from glassloom_metrics.pages import PAGES
from markupsafe import Markup

from glassloom_dashboards.folds.aggregate import ClusterAggregate
from glassloom_dashboards.parts.theme import Palette, cut_apart, ellipsis

TITLES = {page.id: page.title for page in PAGES} | {"utilisation": "Utilisation"}
"""What cards are called: as their pages, if they have one."""

MAX_LEGEND_LENGTH = 40
MAX_TITLE_LENGTH = 300
"""How long names in legends are, and those that a mouse pointer shows."""

LEGEND_STYLE = """
:host { font: 12px/1.6 system-ui, -apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif; color: var(--gl-muted); }
.legend { display: flex; flex-wrap: wrap; gap: 0 14px; }
.legend span { display: inline-flex; align-items: center; gap: 5px; white-space: nowrap; max-width: 300px; }
.legend em { font-style: normal; overflow: hidden; text-overflow: ellipsis; }
.legend i { flex: none; width: 10px; height: 10px; border-radius: 2px; }
.legend i { --hatch: color-mix(in srgb, var(--gl-background) 60%, transparent); }
.legend i.hatched { background-image: repeating-linear-gradient(-45deg, var(--hatch) 0 1.5px, transparent 1.5px 4px); }
.legend i.hatched-back { background-image: repeating-linear-gradient(45deg, var(--hatch) 0 1.5px, transparent 1.5px 4px); }
.legend i.crossed { background-image: repeating-linear-gradient(45deg, var(--hatch) 0 1px, transparent 1px 4px), repeating-linear-gradient(-45deg, var(--hatch) 0 1px, transparent 1px 4px); }
.legend i.dotted { background-image: radial-gradient(var(--hatch) 1px, transparent 1.2px); background-size: 4px 4px; }
.legend i.lined { background-image: repeating-linear-gradient(0deg, var(--hatch) 0 1.5px, transparent 1.5px 4px); }
.legend i.barred { background-image: repeating-linear-gradient(90deg, var(--hatch) 0 1.5px, transparent 1.5px 4px); }
.legend i.outlined { border: 1px solid var(--gl-outline); }
.legend i.line { width: 3px; height: 12px; border-radius: 0; }
.legend i.across { width: 12px; height: 2px; border-radius: 0; }
.legend i.ring { width: 7px; height: 7px; border-radius: 50%; border: 1px solid var(--gl-text); }
.legend i.failed { background: repeating-linear-gradient(45deg, var(--gl-failed) 0 2px, #111 2px 4px); }
.legend i.unfinished { border: 1.5px dashed var(--gl-text); background-image: radial-gradient(var(--gl-text) 1px, transparent 1.2px); background-size: 4px 4px; }
.legend span.note { white-space: normal; max-width: none; }
@media (forced-colors: active) { .legend i { forced-color-adjust: none; } }
"""
CONTROL_STYLE = """
.bk-btn-group { gap: 0; }
.bk-btn, .bk-btn.bk-btn-default {
  font: 12px/1.5 system-ui, -apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif; padding: 2px 10px;
  color: var(--gl-muted); background: var(--gl-background); border: 1px solid var(--gl-field); box-shadow: none;
}
.bk-btn.bk-btn-default:hover { color: var(--gl-text); background: var(--gl-track); border-color: var(--gl-field); }
.bk-btn.bk-btn-default.bk-active { color: var(--gl-text); background: var(--gl-track); border-color: var(--gl-field); box-shadow: inset 0 -2px var(--gl-accent); }
.bk-btn:focus-visible { outline: 2px solid var(--gl-accent); outline-offset: 1px; }
@media (forced-colors: active) {
  .bk-btn.bk-btn-default.bk-active { forced-color-adjust: none; color: HighlightText; background: Highlight; border-color: ButtonText; }
}
"""
SELECT_STYLE = """
:host { width: auto !important; }
label { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
select:not([multiple]).bk-input { appearance: auto; background-image: none; }
select.bk-input { font: 12px/1.5 system-ui, -apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif; height: 26px; min-height: 24px;
  padding: 2px 4px 2px 8px; color: var(--gl-text); background-color: var(--gl-background); border: 1px solid var(--gl-field); }
select.bk-input:focus-visible { outline: 2px solid var(--gl-accent); outline-offset: 1px; }
"""
"""A list to choose from: its title is there for screen readers alone."""
EMPTY_STYLE = """
:host { font: 13px/1.5 system-ui, -apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif; color: var(--gl-muted); text-align: center; }
b { display: block; font-weight: 600; color: var(--gl-text); }
.failed { background: var(--gl-background); border: 1px solid var(--gl-error); border-radius: 4px; padding: 10px 16px; }
.failed b { color: var(--gl-error); }
"""


class Card(Protocol):
    """One plot of a page. `update` is called often and changes models only where something is new.

    ``ready`` runs in the browser once it has the page.
    """

    id: str
    legend: Div
    controls: UIElement | None
    body: UIElement
    empty: Div
    ready: CustomJS | None

    def update(self, now_s: float) -> None:
        """Draw what is new in the aggregate; `now_s` is a monotonic clock."""

    def set_palette(self, palette: Palette) -> None:
        """Change colours."""

    def forget(self) -> None:
        """Make the next `update` draw everything, whatever the browser has."""


class Seen:
    """Remembers versions, so that a card can ask what has changed since it last drew.

    >>> seen = Seen()
    >>> seen.changed({"tasks": 1}), seen.changed({"tasks": 1})
    (True, False)
    """

    def __init__(self) -> None:
        self._versions: dict[str, int] = {}

    def changed(self, versions: Mapping[str, int]) -> bool:
        """Tell whether any of `versions` differs from the last call's."""
        if versions == self._versions:
            return False
        self._versions = dict(versions)
        return True

    def forget(self) -> None:
        """Make the next `changed` say yes."""
        self._versions = {}


def versions_of(aggregate: ClusterAggregate, *parts: str) -> dict[str, int]:
    """Return the versions of some parts of the aggregate, and its generation."""
    return {part: aggregate.versions[part] for part in parts} | {"generation": aggregate.generation}


def html_div(name: str, css: str, **properties: Any) -> Div:
    """Return an element for HTML, which `show_html` puts there.

    Formulas are off: Bokeh would look for TeX also within escaped text, and TeX can hold links.
    """
    return Div(name=name, text="", disable_math=True, stylesheets=[InlineStyleSheet(css=css)], margin=0, **properties)


def show_html(div: Div, text: Markup) -> None:
    """Put HTML into an element of `html_div`, if it differs.

    It must be `Markup`, whose ``format`` and ``join`` escape what they are given: so no text of a user's is ever read as
    HTML.
    """
    if not isinstance(text, Markup):
        raise TypeError(f"HTML must be markupsafe.Markup, got {text!r}")
    if div.text != text:
        div.text = str(text)


def legend_div(name: str) -> Div:
    """Return the element that holds a card's legend."""
    return html_div(name, LEGEND_STYLE, sizing_mode="stretch_width")


def empty_div(name: str) -> Div:
    """Return the element that says what a card is waiting for."""
    return html_div(name, EMPTY_STYLE, visible=False)


_CHIP = Markup('<span title="{0}"><i class="{1}" style="background-color:{2}"></i><em>{3}</em></span>')


def legend_html(entries: Sequence[tuple[str, str, str]], note: str = "") -> Markup:
    """Return a legend; entries are (colour, words, CSS class), and the words may be anything a user made up."""
    names = cut_apart([words for _, words, _ in entries], [MAX_LEGEND_LENGTH] * len(entries))
    chips = Markup().join(
        _CHIP.format(ellipsis(words, MAX_TITLE_LENGTH), css, colour, name)
        for (colour, words, css), name in zip(entries, names, strict=True)
    )
    noted = Markup('<span class="note">{}</span>').format(note) if note else ""
    return Markup('<div class="legend">{}{}</div>').format(chips, noted)


_FAILED = "failed"


def says_nothing(card: Card) -> bool:
    """Tell whether a card waits for something to show."""
    return bool(card.empty.visible) and f'class="{_FAILED}"' not in card.empty.text


def show_failure(card: Card) -> None:
    """Show over the plot, as it was drawn last, that it couldn't be drawn again."""
    words = "The reason is in the log of the dashboards. It is tried again with the next frame."
    show_empty(card.empty, "This plot could not be drawn", words, css=_FAILED)


def show_empty(div: Div, title: str, words: str = "", *, css: str = "") -> None:
    """Show what the card is waiting for, or nothing if `title` is empty."""
    html = Markup('<div class="{}"><b>{}</b>{}</div>').format(css, title, words) if title else Markup()
    show_html(div, html)
    if div.visible != bool(html):
        div.visible = bool(html)


def replace_data(source: ColumnDataSource, columns: Mapping[str, Any]) -> bool:
    """Set the data of `source` if it differs; tell whether it did."""
    known: dict[str, Any] = source.data
    same = known.keys() == columns.keys() and all(_equal(known[name], column) for name, column in columns.items())
    if not same:
        source.data = dict(columns)
    return not same


def packed(columns: Mapping[str, list[Any]]) -> dict[str, Any]:
    """Return columns with those of numbers as arrays: Bokeh writes a list element by element, which takes far longer.

    >>> packed({"text": ["a"], "left": [1.5], "count": [2]})
    {'text': ['a'], 'left': array([1.5]), 'count': array([2])}
    """
    return {
        name: np.array(values) if values and isinstance(values[0], (int, float)) else values
        for name, values in columns.items()
    }


def _equal(first: Any, second: Any) -> bool:
    if len(first) != len(second):
        return False
    if isinstance(first, list) and isinstance(second, list):
        return first == second
    are_numbers = np.asarray(first).dtype.kind == np.asarray(second).dtype.kind == "f"
    return np.array_equal(first, second, equal_nan=are_numbers)


def inner_width_px(plot: figure, default_px: int) -> int:
    """Return how wide the plot's frame is in the browser, or `default_px` before the browser has said."""
    return _inner_px(plot, "inner_width", default_px)


def inner_height_px(plot: figure, default_px: int) -> int:
    """Return how high the plot's frame is in the browser, or `default_px` before the browser has said."""
    return _inner_px(plot, "inner_height", default_px)


def _inner_px(plot: figure, side: str, default_px: int) -> int:
    try:
        return int(getattr(plot, side) or default_px)
    except UnsetValueError:
        return default_px
