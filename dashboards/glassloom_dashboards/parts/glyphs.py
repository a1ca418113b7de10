"""`draw`: adds a glyph to a figure without the three others that Bokeh adds for what is selected, not selected and muted."""

from __future__ import annotations

from typing import Any

from bokeh.models import AllIndices, CDSView, ColumnDataSource, GlyphRenderer
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
        view=_view(plot, source),
        selection_glyph=None,
        nonselection_glyph=None,
        muted_glyph=None,
    )


def _view(plot: figure, source: ColumnDataSource) -> CDSView:
    """Return what says which rows are drawn: all of them, so that the glyphs of one source share it."""
    others = [one for one in plot.renderers if isinstance(one, GlyphRenderer)]
    shared = next((one.view for one in others if one.data_source is source), None)
    return shared or CDSView(filter=others[0].view.filter if others else AllIndices())
