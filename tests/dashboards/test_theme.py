"""The themes: contrasts, colours that everybody can tell apart, and patterns beside colours."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path

import glassloom_dashboards
import numpy as np
import pytest
from bokeh.document import Document
from glassloom_dashboards.folds.aggregate import ClusterAggregate
from glassloom_dashboards.folds.budget import PARTS
from glassloom_dashboards.parts.colours import ColourBook
from glassloom_dashboards.parts.memory_words import IN_MEMORY
from glassloom_dashboards.parts.templates import template
from glassloom_dashboards.parts.theme import (
    HATCHES,
    HIGH_CONTRAST,
    PALETTES,
    Palette,
    bright_text,
    contrast,
    stylesheet,
)
from glassloom_dashboards.serving.page import THEME_MODEL, PageView
from glassloom_dashboards.views import progress, time_budget

THEMES = pytest.mark.parametrize("palette", PALETTES.values(), ids=PALETTES.keys())

TEXTS = ("text", "muted_text", "good", "busy", "warning", "error", "accent")
MARKS = (
    "outline", "field", "axis", "memory", "released", "running", "erred", "cancelled", "limit", "managed", "shared",
    "unmanaged", "spilled", "cpu", "many", "durations", "engine", "failed_hatch",
)  # fmt: skip
"""What is drawn and means something, other than text."""

VISIONS = {
    "all cones": np.eye(3),
    "no red cones": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "no green cones": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "no blue cones": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
"""Linear RGB as people see it, after Machado, Oliveira and Fernandes, IEEE TVCG 15 (2009) 1291."""


def linear(colour: str) -> np.ndarray:
    parts = np.array([int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def oklab(rgb: np.ndarray) -> np.ndarray:
    """Return a linear RGB colour in OKLab (https://bottosson.github.io/posts/oklab/), where distances are as seen."""
    to_lms = np.array(
        [[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566], [0.0883024619, 0.2817188376, 0.6299787005]]
    )  # fmt: skip
    to_lab = np.array(
        [[0.2104542553, 0.7936177850, -0.0040720468], [1.9779984951, -2.4285922050, 0.4505937099], [0.0259040371, 0.7827717662, -0.8086757660]]
    )  # fmt: skip
    return to_lab @ np.cbrt(to_lms @ rgb)


def mixed(colour: str, under: str, share: float) -> str:
    """Return what CSS's color-mix makes of a colour over another."""
    pairs = [(int(colour[n : n + 2], 16), int(under[n : n + 2], 16)) for n in (1, 3, 5)]
    return "#" + "".join(f"{round(share * over + (1 - share) * below):02x}" for over, below in pairs)


@THEMES
def test_text_can_be_read_on_all_that_is_under_it(palette: Palette):
    least = 7.0 if palette is HIGH_CONTRAST else 4.5
    for name in TEXTS:
        for under in ("background", "hover"):
            assert contrast(getattr(palette, name), getattr(palette, under)) >= least, (name, under)
    for name in ("text", "muted_text"):
        assert contrast(getattr(palette, name), palette.track) >= least, name
    for name, share in (("good", 0.14), ("warning", 0.16)):  # badges, see strip.py
        colour = getattr(palette, name)
        assert contrast(colour, mixed(colour, palette.background, share)) >= least, name
    for part in PARTS:
        colour = time_budget.colour_of(part, palette)
        assert contrast(colour, bright_text(colour)) >= least, part


@THEMES
def test_what_is_drawn_stands_out_from_the_background(palette: Palette):
    named = {name: getattr(palette, name) for name in MARKS}
    named |= {f"layer {place}": colour for place, colour in enumerate(palette.layers)}
    named |= {action.name: colour for action, colour in palette.actions.items()}
    assert {name: colour for name, colour in named.items() if contrast(colour, palette.background) < 3.0} == {}
    if palette is HIGH_CONTRAST:
        assert contrast(palette.grid, palette.background) >= 3.0 and contrast(palette.border, palette.background) >= 3.0


@THEMES
def test_the_median_is_seen_on_the_middle_half_and_beside_it(palette: Palette):
    assert contrast(palette.text, palette.durations) >= 3.0
    assert contrast(palette.text, palette.background) >= 3.0


@pytest.mark.parametrize("vision", VISIONS)
@THEMES
def test_layers_are_told_apart_by_everybody(palette: Palette, vision: str):
    seen = [oklab(np.clip(VISIONS[vision] @ linear(colour), 0, 1)) for colour in palette.layers]
    distances = {pair: float(np.linalg.norm(seen[pair[0]] - seen[pair[1]])) for pair in combinations(range(10), 2)}
    assert min(distances.values()) >= 0.08, min(distances, key=distances.__getitem__)


@pytest.mark.parametrize("parts", [progress.PARTS, IN_MEMORY, [part for part in PARTS if part != "idle"]])
def test_parts_that_are_drawn_beside_each_other_differ_in_their_pattern(parts):
    assert len({HATCHES.get(part, "") for part in parts}) == len(parts)


def test_every_variable_that_the_pages_use_is_in_every_theme():
    folder = Path(glassloom_dashboards.__file__).parent
    sources = [path.read_text() for pattern in ("*.py", "templates/*") for path in folder.rglob(pattern)]
    used = set(re.findall(r"var\((--gl-[a-z]+)\)", "".join(sources)))
    used -= set(re.findall(r"(--gl-[a-z]+):", "".join(sources)))  # some are made of others
    themes = [set(re.findall(r"(--gl-[a-z]+):", rules)) for rules in stylesheet().splitlines()]
    assert len(used) > 10 and len(themes) == len(PALETTES)
    assert [used - theme for theme in themes] == [set()] * len(PALETTES)
    assert stylesheet() in template("message.html").render(title="", text="", theme="light")


@pytest.mark.parametrize("theme", PALETTES)
def test_a_page_is_drawn_in_the_theme_of_its_address(theme):
    view = PageView("status", ClusterAggregate(), ColourBook(), theme)
    document = Document()
    view.attach(document)
    assert document.get_model_by_name(THEME_MODEL).tags == [theme]
    stream = document.get_model_by_name("task-stream")
    assert stream.below[0].major_label_text_color == PALETTES[theme].muted_text
