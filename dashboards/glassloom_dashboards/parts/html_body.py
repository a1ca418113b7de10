"""HTML that changes often, as the body of a card, and what people ask for in it.

The browser puts into the page what differs, so focus, scrolling and selected text stay (see ``static/html_body.js``); a Bokeh
`Div` would be built anew each time. The HTML travels in the tags of one model, what people ask for in those of another.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence

from bokeh.layouts import row as row_of
from bokeh.models import Spacer, UIElement
from markupsafe import Markup, escape

from glassloom_dashboards.parts.card import Seen
from glassloom_dashboards.parts.theme import ellipsis

PERIOD_S = 0.5
"""New data are shown so often; what people ask for at once."""
MAX_ASKED_LENGTH = 200

log = logging.getLogger(__name__)

Asked = Callable[[str], None]


class HtmlBody:
    """The body of a card that is HTML.

    Elements of it with ``data-ask`` say what is asked for when they are clicked or changed; their ``data-value``, or what
    was put in, says which.

    Parameters
    ----------
    card
        Id of the card.
    asks
        What people may ask for, and what it does.
    is_below
        Whether it is below the card's plot rather than in its place; without HTML it takes no room there.
    """

    def __init__(self, card: str, asks: Mapping[str, Asked], *, is_below: bool = False) -> None:
        self._asks = asks
        self._seen = Seen()
        self._drawn_at_s = float("-inf")
        self._is_asked = True
        self.html = Spacer(name=f"{card}-html", tags=[""], visible=False, css_classes=["below"] if is_below else [])
        self.asked = Spacer(name=f"{card}-ask", tags=[], visible=False)
        self.asked.on_change("tags", self._on_ask)
        self.model: UIElement = row_of(self.html, self.asked, name=f"{card}-body", visible=False)

    def forget(self) -> None:
        """Make `is_due` say yes once."""
        self._is_asked = True

    def is_due(self, now_s: float, versions: Mapping[str, int]) -> bool:
        """Tell whether to call `show` now: anything of `versions` differs, and the last time is `PERIOD_S` ago."""
        if not self._is_asked and 0 <= now_s - self._drawn_at_s < PERIOD_S:
            return False
        changed = self._seen.changed(versions)
        is_due = changed or self._is_asked
        self._is_asked = False
        if is_due:
            self._drawn_at_s = now_s
        return is_due

    def show(self, html: Markup) -> None:
        """Show this, if it differs from what is shown."""
        if not isinstance(html, Markup):
            raise TypeError(f"HTML must be markupsafe.Markup, got {html!r}")
        if self.html.tags != [html]:
            self.html.tags = [str(html)]

    @property
    def text(self) -> str:
        """The HTML that is shown."""
        return str(self.html.tags[0])

    def ask(self, action: str, value: str = "") -> None:
        """Do what a browser asks for; what there is no such thing is left out."""
        if (act := self._asks.get(action)) is None:
            log.debug("a browser asked for %r, which is nothing that the page has", action)
            return
        act(value[:MAX_ASKED_LENGTH])
        self._is_asked = True

    def _on_ask(self, attr: str, old: object, new: object) -> None:
        match new:
            case [int(), str(action), str(value)]:
                self.ask(action, value)


class Paging:
    """Which part of a long list is shown.

    >>> paging = Paging(50)
    >>> paging.move("next")
    >>> paging.part(120)
    slice(50, 100, None)
    >>> paging.move("next"); paging.move("next"); paging.move("next")
    >>> paging.part(120)
    slice(100, 150, None)
    """

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self.first = 0

    def move(self, where: str) -> None:
        """Go to the ``"next"`` or ``"previous"`` part, or to the ``"first"``."""
        steps = {"next": self.rows, "previous": -self.rows, "first": -self.first}
        self.first = max(self.first + steps.get(where, 0), 0)

    def part(self, total: int) -> slice:
        """Return which of `total` rows to show."""
        self.first = min(self.first, max(total - 1, 0) // self.rows * self.rows)
        return slice(self.first, self.first + self.rows)

    def shown(self, total: int) -> dict[str, object]:
        """Return what the template of the buttons needs, once `part` was called."""
        last = min(self.first + self.rows, total)
        return {
            "words": f"{self.first + 1:,}–{last:,} of {total:,}" if total > self.rows else "",
            "has_previous": self.first > 0,
            "has_next": last < total,
        }


def fit_html(texts: Sequence[str], length: int, limit_bytes: int) -> list[str]:
    """Return `texts` cut to `length`, or as much shorter as it takes to send them in `limit_bytes` once they are escaped.

    >>> fit_html(["ab", "abcdef"], 4, 1000), fit_html(["<" * 100], 100, 100)[0].count("<")
    (['ab', 'abc…'], 18)
    """
    cut = [ellipsis(text, length) for text in texts]
    while length > 1 and len(json.dumps([escape(text) for text in cut])) > limit_bytes:
        length = length * 2 // 3
        cut = [ellipsis(text, length) for text in cut]
    return cut


def number_or_none(value: str) -> int | None:
    """Return the number that a browser sent, None if it is none."""
    return int(value) if value.isascii() and value.removeprefix("-").isdigit() and len(value) < 16 else None
