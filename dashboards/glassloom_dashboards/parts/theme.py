"""Colours, patterns, fonts and number formats of the pages, in all themes. It draws nothing.

Layer colours are told apart also by people with a colour vision deficiency: after Paul Tol's "muted" and "bright" schemes
(https://personal.sron.nl/~pault/), moved as little as it takes for any two to differ by 0.08 in OKLab to everybody
(tests/dashboards/test_theme.py). Reds, oranges and greys are left to what isn't computing: moving, spilling, failing. Parts of
bars and areas have patterns besides.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bokeh.models import AdaptiveTicker, CompositeTicker, NoOverlap
from bokeh.plotting import figure
from glassloom_metrics.protocol import Action
from markupsafe import Markup

from glassloom_dashboards.parts.numbers import three_digits
from glassloom_dashboards.parts.scripts import labels, ticks

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif"


@dataclass(frozen=True)
class Palette:
    """The colours of one theme; `layers` are picked by the layer's name.

    What means something differs from the background by at least 3 to 1, text by 4.5 (7 with high contrast). `grid`, `track` and
    `border` only decorate; where a track means something, `outline` surrounds it. Marks in the colour of `text` lie on `durations`.
    """

    name: str
    background: str
    text: str
    muted_text: str
    grid: str
    axis: str
    track: str
    outline: str
    border: str
    hover: str
    field: str
    accent: str
    good: str
    busy: str
    warning: str
    error: str
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
    device: str
    cpu: str
    many: str
    durations: str
    engine: str
    hatch_alpha: float


THEMES = ("light", "dark", "high-contrast")
"""The columns of the tables below."""
_COLOURS = {
    "background": ("#ffffff", "#111111", "#000000"),
    "text": ("#212121", "#e8eaed", "#ffffff"),
    "muted_text": ("#5f6368", "#a5abb1", "#e6e6e6"),
    "grid": ("#e8eaed", "#2a2d30", "#6b6b6b"),
    "axis": ("#8a9099", "#6b737b", "#b0b0b0"),
    "track": ("#eceff1", "#2a2e32", "#262626"),
    "outline": ("#8a9099", "#6b737b", "#b0b0b0"),
    "border": ("#e0e3e7", "#2d3135", "#b0b0b0"),
    "hover": ("#f4f6f8", "#1b1e21", "#262626"),
    "field": ("#8a9099", "#6b737b", "#ffffff"),
    "accent": ("#34629a", "#6699cc", "#7db8ff"),
    "good": ("#166b3e", "#66d19e", "#5ee6a8"),
    "busy": ("#1f5fa8", "#8ab8f0", "#a8d0ff"),
    "warning": ("#8a5300", "#ffb454", "#ffc233"),
    "error": ("#b3261e", "#ff8a80", "#ff9f91"),
    "failed": ("#111111", "#000000", "#000000"),
    "failed_hatch": ("#ff3b30", "#ff5a50", "#ff9f91"),
    "memory": ("#34629a", "#6699cc", "#7db8ff"),
    "released": ("#7795b4", "#56799c", "#5a8cc0"),
    "running": ("#2f9482", "#4fbfac", "#57d9c3"),
    "erred": ("#c62828", "#ef5350", "#ff8080"),
    "cancelled": ("#8a8a8a", "#7d8287", "#b0b0b0"),
    "limit": ("#b3261e", "#ff8a80", "#ff9f91"),
    "managed": ("#34629a", "#6699cc", "#7db8ff"),
    "shared": ("#2f9482", "#4fbfac", "#57d9c3"),
    "unmanaged": ("#7f8c99", "#6d7b89", "#9aa7b4"),
    "spilled": ("#d96a00", "#ff8f1f", "#ffa033"),
    "device": ("#677b21", "#9ed08b", "#c3e19a"),
    "cpu": ("#34629a", "#6699cc", "#7db8ff"),
    "many": ("#78909c", "#78909c", "#cfd8dc"),
    "durations": ("#78909c", "#607985", "#767f87"),
    "engine": ("#8e81e6", "#a697ff", "#b9a8ff"),
}
_LAYERS = (
    ("#2f66ca", "#45d0fe", "#a7b8f3"),
    ("#3ca173", "#50bcaa", "#4fbfac"),
    ("#332288", "#8069e5", "#7e65e6"),
    ("#0f6830", "#2b8c20", "#309e72"),
    ("#a12c90", "#cc65bb", "#cd66bb"),
    ("#9f9121", "#c4ac21", "#bab443"),
    ("#8e81e6", "#afe7fd", "#94e4fe"),
    ("#c664b3", "#a697ff", "#a28cf5"),
    ("#677b21", "#9ed08b", "#c3e19a"),
    ("#96637a", "#a38e69", "#9b8827"),
)
_ACTIONS = {
    Action.TRANSFER: ("#ee3311", "#ff5a3c", "#ff7a66"),
    Action.SPILL_WRITE: ("#b85500", "#ff8f1f", "#ffa033"),
    Action.SPILL_READ: ("#dd7a1a", "#ffbb66", "#ffd08a"),
    Action.DEVICE_TO_HOST: ("#c2185b", "#f0509a", "#ff80ab"),
    Action.HOST_TO_DEVICE: ("#e0709f", "#f7a8c8", "#ffc1d9"),
    Action.SERIALISE: ("#8a8a8a", "#8a8f94", "#b0b0b0"),
}
_HATCH_ALPHAS = (0.35, 0.35, 0.7)


def _palette(place: int) -> Palette:
    colours: dict[str, Any] = {name: values[place] for name, values in _COLOURS.items()}
    return Palette(
        name=THEMES[place],
        layers=tuple(values[place] for values in _LAYERS),
        actions={action: values[place] for action, values in _ACTIONS.items()},
        hatch_alpha=_HATCH_ALPHAS[place],
        **colours,
    )


LIGHT, DARK, HIGH_CONTRAST = map(_palette, range(len(THEMES)))
PALETTES = {palette.name: palette for palette in (LIGHT, DARK, HIGH_CONTRAST)}

HATCHES = {
    "released": ".",
    "running": "\\",
    "erred": "x",
    "cancelled": "/",
    "shared": "\\",
    "unmanaged": ".",
    "spilled": "/",
    "device": "-",
    "inputs": "\\",
    "transfer": "x",
    "publish": "-",
    "spill": "/",
    "engine": "|",
    "unready": ".",
}
"""Bokeh's pattern of each part of a bar or an area, which tells it apart without its colour; others are plain."""
HATCH_CLASSES = {".": "dotted", "/": "hatched", "\\": "hatched-back", "x": "crossed", "-": "lined", "|": "barred"}
"""The CSS class of each pattern in legends."""
LAYER_HATCHES = (" ", "/", ".", "\\", "x", "-", "|")
"""The patterns of layers that are drawn on top of each other, in turn."""
_CSS_COLOURS = (
    "background", "text", "border", "track", "outline", "hover", "field", "accent", "good", "busy", "warning", "error",
    "managed", "shared", "unmanaged", "spilled", "device", "limit",
)  # fmt: skip


def hatch_class(part: str) -> str:
    """Return the CSS class of a part's pattern in legends.

    >>> hatch_class("spilled"), hatch_class("managed")
    ('hatched', '')
    """
    return HATCH_CLASSES.get(HATCHES.get(part, ""), "")


def hatch(glyph: Any, part: str, palette: Palette) -> None:
    """Draw a part's pattern over its colour."""
    if part in HATCHES:
        glyph.update(
            hatch_pattern=HATCHES[part], hatch_color=palette.background, hatch_alpha=palette.hatch_alpha, hatch_scale=7
        )


def stylesheet() -> Markup:
    """Return the colours of all themes as CSS variables; the first theme's are those of a page that names none."""
    return Markup("\n").join(map(_variables, PALETTES.values()))


def _variables(palette: Palette) -> Markup:
    values = {name: getattr(palette, name) for name in _CSS_COLOURS}
    values |= {"muted": palette.muted_text, "failed": palette.failed_hatch}
    rules = "; ".join(f"--gl-{name}: {value}" for name, value in values.items())
    scheme = "light" if palette is LIGHT else "dark"
    place = ":root" if palette is LIGHT else f':root[data-theme="{palette.name}"]'
    return Markup(f"{place} {{ {rules}; color-scheme: {scheme}; }}")  # nothing of users


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
    """Return `text` so that Bokeh draws it in one line as it is: between ``$$`` and the like it would read TeX.

    >>> plain("$$x$$") == "$\\u200b$x$\\u200b$", plain("a\\n b")
    (True, 'a b')
    """
    text = one_line(text)
    for opening in ("$$", "\\[", "\\("):
        text = text.replace(opening, f"{opening[0]}\u200b{opening[1]}")
    return text


def glyph_of(plot: figure, name: str) -> Any:
    """Return the glyph of the renderer called `name`."""
    return next(renderer.glyph for renderer in plot.renderers if renderer.name == name)


def visible(text: str) -> str:
    r"""Return `text` with characters that change the direction of what follows, or aren't seen at all, as escapes.

    Every text that comes from users passes here, through `ellipsis` or `middle_cut`, before it gets into a page.

    >>> visible("load\u202egpj.exe")
    'load\\u202egpj.exe'
    """
    if text.isprintable():  # nearly all are, and a frame has thousands
        return text
    return _HIDDEN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


_HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"
)
_BREAKS = re.compile(r"[ \t]*[\t\n\r][ \t\n\r]*")


def one_line(text: str) -> str:
    r"""Return `text` without line breaks: a label of several lines would push its neighbours away.

    >>> one_line("lambda x:\n    x + 1")
    'lambda x: x + 1'
    """
    return text if text.isprintable() else _BREAKS.sub(" ", text)


def ellipsis(text: str, length: int) -> str:
    """Return `text`, or its beginning and an ellipsis if it is longer than `length`.

    >>> ellipsis("read_parquet", 6)
    'read_…'
    """
    text = visible(text[: length + 1])
    return text if len(text) <= length else text[: max(length - 1, 0)] + "…"


def middle_cut(text: str, length: int) -> str:
    """Return `text` in one line, or its two ends if it is longer than `length`: names often differ in their last characters.

    >>> middle_cut("customer-churn-2024-w17", 14)
    'custome…24-w17'
    """
    text = visible(one_line(text))
    if len(text) <= length:
        return text
    tail = max(length - 1, 0) // 2
    return f"{text[: max(length - 1 - tail, 0)]}…{text[len(text) - tail :]}"


def cut_apart(texts: Sequence[str], lengths: Sequence[int]) -> list[str]:
    """Return each text cut in the middle to its length; those that would look alike then show where they differ first.

    >>> cut_apart(["daily report 2024 of all shops", "daily report 2025 of all shops"], [18, 18])
    ['daily…2024 of all…', 'daily…2025 of all…']
    """
    whole = [visible(one_line(text)) for text in texts]
    distinct = set(whole)
    cuts = []
    for text, length in zip(whole, lengths, strict=True):
        cut = middle_cut(text, length)
        alike = [one for one in distinct if middle_cut(one, length) == cut] if cut != text else []
        cuts.append(_cut_from(text, len(os.path.commonprefix(alike)), length) if len(alike) > 1 else cut)
    return cuts


def _cut_from(text: str, first: int, length: int) -> str:
    """Return the beginning of `text` and what it has from place `first` on, or from the beginning of that word."""
    head = length // 3 - 1
    word = max(text.rfind(" ", 0, first) + 1, first - length // 3, head)
    return ellipsis(f"{text[:head]}…{text[word:]}", length)


def bytes_text(count: float) -> str:
    """Return a number of bytes for people.

    >>> bytes_text(1536), bytes_text(3 * 2**30), bytes_text(88 * 2**20)
    ('1.50 KiB', '3.00 GiB', '88.0 MiB')
    >>> bytes_text(1023.9 * 2**20), bytes_text(float("nan"))
    ('1.00 GiB', 'unknown')
    """
    if not math.isfinite(count):
        return "unknown"
    power = 0
    while abs(count) >= 1023.5 and power < len(_BYTE_UNITS) - 1:
        count, power = count / 1024, power + 1
    return f"{three_digits(count) if power else f'{count:.0f}'} {_BYTE_UNITS[power]}"


def bright_text(background: str) -> str:
    """Return the colour of text that can be read on a colour, ``#rrggbb``: black or white.

    >>> bright_text("#eceff1"), bright_text("#332288")
    ('#000000', '#ffffff')
    """
    return "#000000" if contrast(background, "#000000") > contrast(background, "#ffffff") else "#ffffff"


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours as WCAG defines it, from 1 to 21.

    >>> contrast("#000000", "#ffffff"), contrast("#767676", "#ffffff") > 4.5
    (21.0, True)
    """
    low, high = sorted((_luminance(one), _luminance(other)))
    return round((high + 0.05) / (low + 0.05), 6)


def _luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def set_seconds_axis(plot: figure) -> None:
    """Give the x axis ticks in seconds, minutes and hours."""
    plot.xaxis.ticker = CompositeTicker(
        tickers=[
            AdaptiveTicker(base=10, mantissas=[1, 2, 5], max_interval=20, num_minor_ticks=0),
            # Mantissas count in the least interval.
            AdaptiveTicker(base=120, mantissas=[1, 2, 4, 10, 20, 30, 60], min_interval=30, max_interval=1800),
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
        axis.axis_line_color = palette.axis
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
        # Labels beside each other are left out evenly; those of lanes are below each other, as near as they fit.
        axis.major_label_policy = labels("evenLabels") if axis in plot.xaxis else NoOverlap(min_distance=0)
    plot.xgrid.grid_line_color = palette.grid
    plot.ygrid.grid_line_color = None


TOOLTIP_CSS = """
<style>
:host { background-color: var(--gl-background); color: var(--gl-text); border: 1px solid var(--gl-border);
  border-radius: 4px; box-shadow: 0 2px 8px #0003; opacity: 1; padding: 6px 8px; --tooltip-arrow-width: 0px; --tooltip-arrow-height: 0px; }
.gl-tip { font: 12px/1.5 system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif; max-width: 380px; }
.gl-tip b { font-weight: 600; overflow-wrap: anywhere; }
.gl-tip table { border-spacing: 0; } .gl-tip td { padding: 0 10px 0 0; vertical-align: top; overflow-wrap: anywhere; }
.gl-tip td:first-child { color: var(--gl-muted); white-space: nowrap; }
</style>
"""


def tooltip(title: str, rows: list[tuple[str, str]]) -> str:
    """Return the template of a hover card; `title` and the second words hold Bokeh's ``@column`` places."""
    cells = "".join(f"<tr><td>{word}</td><td>{value}</td></tr>" for word, value in rows)
    return f"<div class='gl-tip'>{TOOLTIP_CSS}<b>{title}</b><table>{cells}</table></div>"
