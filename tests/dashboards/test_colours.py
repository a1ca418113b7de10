"""The colours of layers: which one gets which, and that people can tell them apart."""

from __future__ import annotations

import numpy as np
import pytest
from glassloom_dashboards.parts.colours import ColourBook, ShownColours, blend, rgba
from glassloom_dashboards.parts.theme import DARK, LIGHT


def test_a_layer_keeps_its_colour_while_others_come():
    shown = ShownColours(ColourBook())
    names = [f"layer-{n}" for n in range(len(LIGHT.layers))]
    assert not shown.show({name: 1.0 for name in names})
    before = [shown.place(name) for name in names]
    assert not shown.show({name: 1.0 for name in names} | {"new": 1.5}), "none that was shown has another colour"
    assert ([shown.place(name) for name in names], shown.place("new")) == (before, None)
    assert shown.show({name: 1.0 for name in names} | {"new": 9.0})
    assert shown.place("new") is not None
    assert len({shown.place(name) for name in names} - {None}) == len(names) - 1
    shown.show({"other": 1.0})
    shown.show({name: 1.0 for name in names[:2]})
    assert [shown.place(name) for name in names[:2]] == before[:2], "remembered while nobody needs it"


def lab(colour: str) -> np.ndarray:
    """Return ``#rrggbb`` in CIELAB (D65), in which distances are about those that people see."""
    rgb = np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    matrix = [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.072175], [0.0193339, 0.119192, 0.9503041]]
    xyz = np.array(matrix) @ linear / [0.95047, 1.0, 1.08883]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_no_layer_looks_like_another_or_like_moving_spilling_and_failing(palette):
    fixed = [*palette.actions.values(), palette.failed, palette.failed_hatch]
    for number, colour in enumerate(palette.layers):
        others = [*palette.layers[:number], *fixed]
        nearest = min(others, key=lambda other: np.linalg.norm(lab(colour) - lab(other)))
        assert np.linalg.norm(lab(colour) - lab(nearest)) > 18, (colour, nearest)


def test_layers_of_one_cluster_have_different_colours_as_long_as_there_are_any():
    book = ColourBook()
    places = [book.place(f"layer-{n}") for n in range(len(LIGHT.layers))]
    assert sorted(places) == list(range(len(LIGHT.layers)))
    assert book.place("layer-3") == places[3]
    assert 0 <= book.place("one more") < len(LIGHT.layers)


def test_layers_that_come_when_all_colours_are_taken_take_the_oldest_ones_in_turn():
    book = ColourBook()
    places = [book.place(f"layer-{n}") for n in range(len(LIGHT.layers))]
    assert [book.place(f"more-{n}") for n in range(len(LIGHT.layers))] == places


def test_blending_goes_from_the_background_to_the_colour():
    colours = np.array([rgba("#4477aa")] * 3, np.uint32)
    blended = blend(colours, "#111111", np.array([0.0, 0.5, 1.0]))
    assert [hex(colour) for colour in blended] == ["0x111111ff", "0x2a445eff", "0x4477aaff"]
