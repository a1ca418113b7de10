"""Which layer has which colour, and colours as numbers. It draws nothing and knows no plot."""

from __future__ import annotations

import zlib
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from glassloom_dashboards.parts.theme import LIGHT

_KEEP_FACTOR = 2.0
"""A layer that has a colour keeps it against one that takes up to so many times its time."""


class ColourBook:
    """Gives each layer name a colour: by the name's hash, or the next one that is still free in this cluster.

    When none is free, the one that was given out longest ago: layers of one computation then differ.

    >>> book = ColourBook()
    >>> book.place("sum") == book.place("sum") == ColourBook().place("sum")
    True
    """

    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    def place(self, name: str) -> int:
        """Return the place of `name`'s colour in `Palette.layers`."""
        if name not in self._places:
            count = len(LIGHT.layers)
            wanted = zlib.crc32(name.encode("utf-8", "surrogatepass")) % count
            taken = set(self._places.values())
            free = (place for place in ((wanted + step) % count for step in range(count)) if place not in taken)
            place = next(free, None)
            self._places[name] = self._longest_ago() if place is None else place
        return self._places[name]

    def _longest_ago(self) -> int:
        last_given = {place: turn for turn, place in enumerate(self._places.values())}
        return min(last_given, key=last_given.__getitem__)


def rgba(colour: str, alpha: float = 1.0) -> int:
    """Return ``#rrggbb`` as the number 0xRRGGBBAA, which is how a column of colours travels.

    >>> hex(rgba("#4477aa"))
    '0x4477aaff'
    """
    return int(colour[1:], 16) << 8 | round(255 * alpha)


def blend(colours: NDArray[np.uint32], background: str, share: NDArray[np.float64]) -> NDArray[np.uint32]:
    """Return 0xRRGGBBAA colours mixed with the background; a `share` of 1 leaves a colour as it is.

    Mixing, not opacity: neighbouring rectangles then overlap by their outlines without a seam.
    """
    mixed = np.full(len(colours), 0xFF, np.uint32)
    under = rgba(background)
    for shift in (8, 16, 24):
        over = (colours >> np.uint32(shift)) & np.uint32(0xFF)
        channel = np.rint(over * share + (under >> shift & 0xFF) * (1 - share)).astype(np.uint32)
        mixed |= channel << np.uint32(shift)
    return mixed


class ShownColours:
    """The colours of the layers that one page shows at a time: no two that are shown together share one.

    Of more layers than there are colours those that took least time have none, and are drawn as "other layers".

    >>> shown = ShownColours(ColourBook())
    >>> changed = shown.show({"sum": 3.0, "mean": 1.0})
    >>> shown.place("sum") == ColourBook().place("sum"), shown.place("sum") != shown.place("mean")
    (True, True)
    """

    def __init__(self, book: ColourBook) -> None:
        self._book = book
        self._places: dict[str, int] = {}
        self._shown: dict[str, int | None] = {}

    def place(self, name: str) -> int | None:
        """Return the place of the colour of a layer that is shown, in `Palette.layers`; None if there is none for it."""
        return self._shown.get(name)

    def show(self, busy_s: Mapping[str, float]) -> bool:
        """Give the layers that are shown their colours; return whether one that was shown before has another now.

        ``busy_s`` is how long each took.
        """
        main = sorted(
            busy_s, key=lambda name: -busy_s[name] * (_KEEP_FACTOR if self._shown.get(name) is not None else 1)
        )
        main = main[: len(LIGHT.layers)]
        given = {name: self._places[name] for name in main if name in self._places}
        for name in main:
            if name not in given:
                given[name] = self._free_place(name, set(given.values()))
        taken = set(given.values())
        self._places = {name: place for name, place in self._places.items() if place not in taken} | given
        before, self._shown = self._shown, {name: given.get(name) for name in busy_s}
        return any(place != before[name] for name, place in self._shown.items() if name in before)

    def _free_place(self, name: str, taken: set[int]) -> int:
        wanted, count = self._book.place(name), len(LIGHT.layers)
        return next(place for place in ((wanted + step) % count for step in range(count)) if place not in taken)
