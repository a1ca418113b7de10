"""A button that makes a page stand still, and words that say as of when it is and how much has come since."""

from __future__ import annotations

from bokeh.layouts import row as row_of
from bokeh.models import Button, InlineStyleSheet, UIElement
from markupsafe import Markup

from glassloom_dashboards.folds.aggregate import ClusterAggregate
from glassloom_dashboards.parts.card import CONTROL_STYLE, html_div, show_html
from glassloom_dashboards.parts.times import clock_text

PAUSE, RESUME = "❚❚ Pause", "▶ Resume"
AFTER_ASKED_S = 1.0
"""A page that stands still is drawn for so long after its viewer has done something: zoomed, opened, searched."""
_MOVING = ("connecting", "live", "reconnecting")
_STYLE = """
:host { align-self: center; }
.words { font: 12px/1.5 system-ui, -apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif; color: var(--gl-muted); }
b { font-weight: 600; color: var(--gl-warning); }
"""


class Pause:
    """Whether a page stands still, for one viewer. Nothing is lost meanwhile: resumed, the page shows what has come.

    What the viewer does is still answered, with what is known then; the words say as of when the page is.
    """

    def __init__(self, aggregate: ClusterAggregate) -> None:
        self._aggregate = aggregate
        self._asked_at_s: float | None = None
        self._is_asked = False
        self._shown_at_s = 0.0
        self._shown_tasks = 0
        self.is_paused = False
        style = [InlineStyleSheet(css=CONTROL_STYLE)]
        self.button = Button(label=PAUSE, name="pause-button", margin=0, visible=False, stylesheets=style)
        self.button.on_click(self._toggle)
        self.words = html_div("pause-words", _STYLE)
        self.body: UIElement = row_of(self.words, self.button, name="pause", spacing=8)

    def _toggle(self) -> None:
        self.is_paused = not self.is_paused
        self._asked_at_s, self._is_asked = None, False

    def note_event(self, event: object) -> None:
        """Note a click that a browser tells of; one on this button asks for nothing else."""
        if getattr(event, "model", None) is not self.button:
            self.note_asked()

    def note_asked(self) -> None:
        """Note that the viewer has done something on the page."""
        self._is_asked = True

    def holds(self, now_s: float) -> bool:
        """Tell whether the cards are to stay as they are."""
        if self._is_asked:
            self._asked_at_s, self._is_asked = now_s, False
        is_asked = self._asked_at_s is not None and now_s - self._asked_at_s < AFTER_ASKED_S
        return self.is_paused and not is_asked

    def note_drawn(self) -> None:
        """Note that the cards show all there is now."""
        self._shown_at_s, self._shown_tasks = self._aggregate.last_at_s, self._aggregate.compute_tasks

    def update(self) -> None:
        """Show the button where there is anything to pause, and the words while the page stands still."""
        label = RESUME if self.is_paused else PAUSE
        is_shown = self.is_paused or self._aggregate.state in _MOVING
        for attribute, value in (("label", label), ("visible", is_shown)):
            if getattr(self.button, attribute) != value:
                setattr(self.button, attribute, value)
        show_html(self.words, self._html() if self.is_paused else Markup())

    def _html(self) -> Markup:
        aggregate = self._aggregate
        at = clock_text(self._shown_at_s, aggregate.last_at_s)
        status = Markup('<span role="status"><b>Paused</b> at {}</span>').format(at)
        return Markup('<div class="words">{} · {}</div>').format(status, self._since())

    def _since(self) -> str:
        aggregate = self._aggregate
        tasks = max(aggregate.compute_tasks - self._shown_tasks, 0)
        count = f"{tasks:,} tasks have" if tasks > 1 else "1 task has" if tasks else "no task has"
        ended = "" if aggregate.state in _MOVING else "; the cluster is no longer there"
        return f"{count} ended since{ended}"
