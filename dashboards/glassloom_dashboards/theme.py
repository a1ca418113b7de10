"""Colours, fonts and number formats of the pages, light and dark. It draws nothing.

Layer colours are told apart also by people with a colour vision deficiency: after Paul Tol's "muted" and "bright" schemes
(https://personal.sron.nl/~pault/), lightened where a dark page needs it. Reds, oranges and greys are left to what isn't
computing: moving, spilling, failing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from bokeh.models import AdaptiveTicker, CompositeTicker, NoOverlap
from bokeh.plotting import figure
from glassloom_metrics.protocol import Action

from glassloom_dashboards.scripts import ticks

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif"


@dataclass(frozen=True)
class Palette:
    """The colours of one theme; `layers` are picked by the layer's name."""

    name: str
    background: str
    text: str
    muted_text: str
    grid: str
    track: str
    layers: tuple[str, ...]
    actions: dict[Action, str]
    failed: str
    failed_hatch: str
    memory: str
    released: str
    running: str
    erred: str
    cancelled: str
    limit: str
    managed: str
    shared: str
    unmanaged: str
    spilled: str
    cpu: str
    many: str


LIGHT = Palette(
    name="light",
    background="#ffffff",
    text="#212121",
    muted_text="#5f6368",
    grid="#e8eaed",
    track="#eceff1",
    layers=(
        "#4477aa",
        "#44aa99",
        "#332288",
        "#117733",
        "#aa4499",
        "#999933",
        "#56b4e9",
        "#9384e0",
        "#66bb77",
        "#8c6d46",
    ),
    actions={
        Action.TRANSFER: "#ee3311",
        Action.SPILL_WRITE: "#ee7700",
        Action.SPILL_READ: "#ffaa44",
        Action.DEVICE_TO_HOST: "#b8432f",
        Action.HOST_TO_DEVICE: "#d97a66",
        Action.SERIALISE: "#9e9e9e",
    },
    failed="#111111",
    failed_hatch="#ff3b30",
    memory="#4477aa",
    released="#9dbbd8",
    running="#44aa99",
    erred="#c62828",
    cancelled="#9e9e9e",
    limit="#b3261e",
    managed="#4477aa",
    shared="#44aa99",
    unmanaged="#b7c3cf",
    spilled="#ee7700",
    cpu="#4477aa",
    many="#78909c",
)

DARK = Palette(
    name="dark",
    background="#111111",
    text="#e8eaed",
    muted_text="#a5abb1",
    grid="#2a2d30",
    track="#2a2e32",
    layers=(
        "#6699cc",
        "#4fbfac",
        "#7f6ae6",
        "#3f9f5f",
        "#cc66bb",
        "#b5b54a",
        "#99ddff",
        "#b9a8ff",
        "#7fd08f",
        "#a98a63",
    ),
    actions={
        Action.TRANSFER: "#ff5a3c",
        Action.SPILL_WRITE: "#ff8f1f",
        Action.SPILL_READ: "#ffbb66",
        Action.DEVICE_TO_HOST: "#d15a44",
        Action.HOST_TO_DEVICE: "#e89583",
        Action.SERIALISE: "#8a8f94",
    },
    failed="#000000",
    failed_hatch="#ff5a50",
    memory="#6699cc",
    released="#3d5a78",
    running="#4fbfac",
    erred="#ef5350",
    cancelled="#7d8287",
    limit="#ff8a80",
    managed="#6699cc",
    shared="#4fbfac",
    unmanaged="#566370",
    spilled="#ff8f1f",
    cpu="#6699cc",
    many="#78909c",
)

PALETTES = {palette.name: palette for palette in (LIGHT, DARK)}

ACTION_WORDS = {
    Action.COMPUTE: "compute",
    Action.TRANSFER: "transfer",
    Action.SPILL_WRITE: "spill to disk",
    Action.SPILL_READ: "read back from disk",
    Action.DEVICE_TO_HOST: "device to host",
    Action.HOST_TO_DEVICE: "host to device",
    Action.SERIALISE: "publish to other processes",
}


_BYTE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def plain(text: str) -> str:
    """Return `text` so that Bokeh draws it as it is: between ``$$`` and the like it would read TeX.

    >>> plain("$$x$$") == "$\\u200b$x$\\u200b$"
    True
    """
    for opening in ("$$", "\\[", "\\("):
        text = text.replace(opening, f"{opening[0]}\u200b{opening[1]}")
    return text


def glyph_of(plot: figure, name: str) -> Any:
    """Return the glyph of the renderer called `name`."""
    return next(renderer.glyph for renderer in plot.renderers if renderer.name == name)


def ellipsis(text: str, length: int) -> str:
    """Return `text`, or its beginning and an ellipsis if it is longer than `length`.

    >>> ellipsis("read_parquet", 6)
    'read_…'
    """
    return text if len(text) <= length else text[: max(length - 1, 0)] + "…"


def middle_cut(text: str, length: int) -> str:
    """Return `text`, or its two ends if it is longer than `length`: names often differ in their last characters alone.

    >>> middle_cut("customer-churn-2024-w17", 14)
    'custome…24-w17'
    """
    if len(text) <= length:
        return text
    tail = max(length - 1, 0) // 2
    return f"{text[: max(length - 1 - tail, 0)]}…{text[len(text) - tail :]}"


def bytes_text(count: float) -> str:
    """Return a number of bytes for people.

    >>> bytes_text(1536), bytes_text(3 * 2**30), bytes_text(88 * 2**20)
    ('1.50 KiB', '3.00 GiB', '88.0 MiB')
    """
    power = 0
    while abs(count) >= 1024 and power < len(_BYTE_UNITS) - 1:
        count, power = count / 1024, power + 1
    digits = 0 if power == 0 or abs(count) >= 100 else 1 if abs(count) >= 10 else 2
    return f"{count:.{digits}f} {_BYTE_UNITS[power]}"


def bright_text(background: str) -> str:
    """Return the colour of text that can be read on a colour, ``#rrggbb``: nearly black, or white.

    >>> bright_text("#eceff1"), bright_text("#332288")
    ('#111111', '#ffffff')
    """
    red, green, blue = (int(background[place : place + 2], 16) for place in (1, 3, 5))
    return "#111111" if 0.299 * red + 0.587 * green + 0.114 * blue > 140 else "#ffffff"


def duration_text(seconds: float) -> str:
    """Return a length of time for people.

    >>> duration_text(12e-6), duration_text(0.25), duration_text(12.345), duration_text(250), duration_text(7260)
    ('12 µs', '250 ms', '12.3 s', '4 min 10 s', '2 h 1 min')
    """
    if not np.isfinite(seconds):
        return "unknown"
    if seconds < 1e-3:
        return f"{seconds * 1e6:.0f} µs"
    if seconds < 0.9995:
        return f"{seconds * 1e3:.3g} ms"
    if seconds < 119.5:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def set_seconds_axis(plot: figure) -> None:
    """Give the x axis ticks in seconds, minutes and hours."""
    plot.xaxis.ticker = CompositeTicker(
        tickers=[
            AdaptiveTicker(base=10, mantissas=[1, 2, 5], max_interval=20, num_minor_ticks=0),
            AdaptiveTicker(base=60, mantissas=[0.5, 1, 2, 5, 10, 15, 30], min_interval=30, max_interval=1800),
            AdaptiveTicker(base=24, mantissas=[1, 2, 4, 6, 8, 12], min_interval=3600),
        ]
    )
    plot.xaxis.formatter = ticks("secondsTick")


def set_bytes_axis(plot: figure) -> None:
    """Give the x axis ticks in B, KiB, MiB and so on."""
    plot.xaxis.ticker = AdaptiveTicker(base=1024, mantissas=[2**power for power in range(10)], desired_num_ticks=4)
    plot.xaxis.formatter = ticks("bytesTick")


def style_figure(plot: figure, palette: Palette) -> None:
    """Make `plot` look like the page around it; called again when the theme changes."""
    plot.background_fill_color = None  # the page's own background shows through
    plot.border_fill_color = None
    plot.outline_line_color = None
    for axis in plot.axis:
        axis.axis_line_color = palette.grid
        axis.major_tick_line_color = None
        axis.minor_tick_line_color = None
        axis.major_label_text_color = palette.muted_text
        axis.major_label_text_font = FONT
        axis.major_label_text_font_size = "11px"
        axis.axis_label_text_color = palette.muted_text
        axis.axis_label_text_font = FONT
        axis.axis_label_text_font_size = "11px"
        axis.axis_label_text_font_style = "normal"
        axis.axis_label_standoff = 4
        axis.major_label_policy = NoOverlap(min_distance=0)
    plot.xgrid.grid_line_color = palette.grid
    plot.ygrid.grid_line_color = None


TOOLTIP_CSS = """
<style>
:host { background-color: var(--gl-background); color: var(--gl-text); border: 1px solid var(--gl-border);
  border-radius: 4px; box-shadow: 0 2px 8px #0003; opacity: 1; padding: 6px 8px; --tooltip-arrow-width: 0px; --tooltip-arrow-height: 0px; }
.gl-tip { font: 12px/1.5 system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif; max-width: 380px; }
.gl-tip b { font-weight: 600; overflow-wrap: anywhere; }
.gl-tip table { border-spacing: 0; } .gl-tip td { padding: 0 10px 0 0; vertical-align: top; overflow-wrap: anywhere; }
.gl-tip td:first-child { opacity: .65; white-space: nowrap; }
</style>
"""


def tooltip(title: str, rows: list[tuple[str, str]]) -> str:
    """Return the template of a hover card; `title` and the second words hold Bokeh's ``@column`` places."""
    cells = "".join(f"<tr><td>{word}</td><td>{value}</td></tr>" for word, value in rows)
    return f"<div class='gl-tip'>{TOOLTIP_CSS}<b>{title}</b><table>{cells}</table></div>"
