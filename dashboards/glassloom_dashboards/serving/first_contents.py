"""What a page shows before its document has come: the strip, cards that are HTML as they are, and a sentence for each plot.

BokehJS and the document take a browser most of a second. This is sent with the page itself, and what Bokeh draws takes its place.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from markupsafe import Markup

from glassloom_dashboards.folds.aggregate import ClusterAggregate
from glassloom_dashboards.parts.badge import Attention, Badge, badge_of
from glassloom_dashboards.parts.base_cards import HtmlCard
from glassloom_dashboards.parts.layouts import LAYOUTS
from glassloom_dashboards.parts.strip import STYLE, gpus_text, is_unreadable, strip_html
from glassloom_dashboards.parts.theme import PALETTES
from glassloom_dashboards.serving.hub import Watched
from glassloom_dashboards.serving.page import CARDS, go_to
from glassloom_dashboards.views import progress, task_stream, workers_cpu, workers_memory
from glassloom_dashboards.views.lanes import lanes_of

log = logging.getLogger(__name__)

_HTML_CARDS = ("overview", "runs", "task", "logs", "workers", "gpu-devices")
_OPENING = Badge("loading", "opening …")


def _stream_sentence(aggregate: ClusterAggregate) -> str:
    if aggregate.is_loading:
        return f"Reading what happened before: {aggregate.tasks.next_row:,} task events so far."
    return task_stream.summary_of(aggregate, len(lanes_of(aggregate, float("-inf"), float("inf"))))


def _gpu_sentence(aggregate: ClusterAggregate) -> str:
    gpus = [gpu for gpu in aggregate.gpus.devices.values() if not gpu.is_part]
    return f"{gpus_text(gpus, aggregate.gpus)}." if gpus else ""


SENTENCES: dict[str, Callable[[ClusterAggregate], str]] = {
    "task-stream": _stream_sentence,
    "progress": progress.summary_of,
    "stages": progress.summary_of,
    "workers-memory": workers_memory.summary_of,
    "memory": workers_memory.summary_of,
    "workers-cpu": workers_cpu.summary_of,
    "utilisation": workers_cpu.summary_of,
    "time-budget": workers_cpu.summary_of,
    "gpu-time": _gpu_sentence,
}
"""What is said of each plot before it is drawn."""


@dataclass(frozen=True)
class FirstContents:
    """What is known of a cluster when a page of it is sent.

    Attributes
    ----------
    strip
        The strip, ``""`` if nothing was heard of the cluster yet.
    html
        The cards that are HTML, by id.
    sentences
        What is said of plots, by the id of their card; plain text, not HTML.
    """

    strip: Markup = Markup()
    style: Markup = Markup(STYLE)  # nothing of users
    html: Mapping[str, Markup] = field(default_factory=dict)
    sentences: Mapping[str, str] = field(default_factory=dict)


def first_contents(page: str, watched: Watched, theme: str, arguments: Mapping[str, str]) -> FirstContents:
    """Return what to show of a cluster at once. It makes none of Bokeh's plots, and leaves out what can't be shown."""
    aggregate, cards = watched.aggregate, LAYOUTS[page].cards
    if not aggregate.generation and not is_unreadable(aggregate):
        return FirstContents()
    badge = badge_of(aggregate, Attention(), time.monotonic()) if is_unreadable(aggregate) else _OPENING
    strip = strip_html(aggregate, badge, full=len(cards) > 1, has_alerts="overview" in cards)
    if is_unreadable(aggregate):
        return FirstContents(strip)
    html, sentences = {}, {}
    for name in cards:
        try:
            if name in SENTENCES:
                sentences[name] = SENTENCES[name](aggregate)
            if name in _HTML_CARDS:
                html[name], sentences[name] = _html(name, watched, theme, arguments)
        except Exception:  # whatever one card stumbles over, the page must come; its document says so on the card
            log.exception("%r of page %r of cluster %r could not be shown at once", name, page, aggregate.name)
    return FirstContents(strip, html=html, sentences=sentences)


def _html(name: str, watched: Watched, theme: str, arguments: Mapping[str, str]) -> tuple[Markup, str]:
    """Return what a card shows, and what it says if that is nothing."""
    card = CARDS[name](watched.aggregate, PALETTES[theme], watched.colours)
    assert isinstance(card, HtmlCard)
    go_to(card, arguments)
    card.update(time.monotonic())
    return Markup(card.view.text), Markup(card.empty.text).striptags()  # both were Markup when they were shown
