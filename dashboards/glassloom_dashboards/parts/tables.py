"""What a plot shows as words: a sentence for screen readers, and an HTML table instead of the plot. It knows no plot.

The button is part of the page (``static/page.js``): it names the cards that are shown as tables in a model's tags.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from bokeh.models import Div
from markupsafe import Markup

from glassloom_dashboards.parts.card import html_div, show_html
from glassloom_dashboards.parts.theme import ellipsis

MAX_ROWS = 200
"""More rows are said to be there, and not sent."""
MAX_CELL_LENGTH = 80
PERIOD_S = 2.0
"""A table that is shown changes no more often: who reads or selects it would lose the place."""

STYLE = """
:host { font: 12px/1.5 system-ui, -apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif; color: var(--gl-text); }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--gl-muted); padding: 0 0 8px; }
th, td { text-align: left; vertical-align: top; padding: 3px 18px 3px 0; border-bottom: 1px solid var(--gl-track); }
th { font-weight: 600; white-space: nowrap; }
thead th { color: var(--gl-muted); position: sticky; top: 0; background: var(--gl-background); }
tbody th { font-weight: 400; white-space: normal; overflow-wrap: anywhere; min-width: 90px; max-width: 420px; }
.number { text-align: right; white-space: nowrap; }
td { overflow-wrap: anywhere; }
p { color: var(--gl-muted); margin: 8px 0; }
"""


@dataclass(frozen=True)
class Table:
    """Rows of texts, which may be anything a user made up.

    Parameters
    ----------
    columns
        The headings. The first column names the rows.
    rows
        A text for each column. A number among them must be a text already, with its unit.
    texts
        The headings of the columns that hold words rather than numbers, but for the first, which always does.
    """

    columns: tuple[str, ...]
    rows: Sequence[Sequence[str]]
    texts: tuple[str, ...] = ()


@runtime_checkable
class Tabular(Protocol):
    """A card that can say what it shows without its plot."""

    def summary(self) -> str:
        """Return a sentence with the plot's main numbers."""

    def table(self) -> Table:
        """Return what the plot shows."""


_NUMBER = Markup(' class="number"')
_CELL = Markup("<td{}>{}</td>")
_TITLE = Markup('<th scope="row">{}</th>')
_HEADING = Markup('<th scope="col"{}>{}</th>')
_TABLE = Markup("<table><caption>{}</caption><thead><tr>{}</tr></thead><tbody>{}</tbody></table>{}")


def table_html(table: Table, caption: str) -> Markup:
    """Return the table as HTML, at most `MAX_ROWS` rows of it; every text is escaped."""
    looks = [Markup() if not place or name in table.texts else _NUMBER for place, name in enumerate(table.columns)]
    heads = Markup().join(_HEADING.format(look, name) for look, name in zip(looks, table.columns, strict=True))
    rows = Markup().join(_row_html(row, looks) for row in table.rows[:MAX_ROWS])
    left = len(table.rows) - MAX_ROWS
    note = Markup("<p>{} more rows are not shown.</p>").format(f"{left:,}") if left > 0 else Markup()
    return _TABLE.format(caption, heads, rows, note)


def _row_html(row: Sequence[str], looks: Sequence[Markup]) -> Markup:
    title, *cells = (ellipsis(text, MAX_CELL_LENGTH) for text in row)
    body = Markup().join(_CELL.format(look, text) for look, text in zip(looks[1:], cells, strict=True))
    return Markup("<tr>{}{}</tr>").format(_TITLE.format(title), body)


class TableView:
    """The table of one card in one viewer's browser, drawn only while it is shown."""

    def __init__(self, card: Tabular, name: str) -> None:
        self._card = card
        self._drawn_at_s: float | None = None
        self.is_shown = False
        self.div: Div = html_div(name, STYLE, sizing_mode="stretch_width")

    def show(self, is_shown: bool) -> None:
        """Show the table from the next `update` on, or no more."""
        if is_shown != self.is_shown:
            self.is_shown, self._drawn_at_s = is_shown, None

    def update(self, now_s: float) -> None:
        """Draw the table if it is shown and was drawn long enough ago."""
        if not self.is_shown or (self._drawn_at_s is not None and now_s - self._drawn_at_s < PERIOD_S):
            return
        self._drawn_at_s = now_s
        show_html(self.div, table_html(self._card.table(), self._card.summary()))
