"""`draw`: adds a glyph to a figure without the three others that Bokeh adds for what is selected, not selected and muted."""

from __future__ import annotations

from typing import Any

from bokeh.models import ColumnDataSource, GlyphRenderer
from bokeh.models.glyph import Glyph
from bokeh.plotting import figure


def draw(
    plot: figure,
    kind: type[Glyph],
    *,
    source: ColumnDataSource,
    name: str = "",
    level: str = "glyph",
    **properties: Any,
) -> GlyphRenderer[Any]:
    """Add a glyph of a kind to a figure; return its renderer. It looks the same whether or not anything is selected.

    `figure.hbar` and its like make three glyphs each, of which two are for plots where people select points. Here nobody
    does, and a page has thirty renderers: see ``static/bokeh_speed.js`` for the browser's part.
    """
    return plot.add_glyph(
        source,
        kind(**properties),
        name=name or None,
        level=level,
        selection_glyph=None,
        nonselection_glyph=None,
        muted_glyph=None,
    )
