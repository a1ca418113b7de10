"""Lines over time as a drawing in HTML: small, without a canvas, with a name that says its numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from glassloom_dashboards.parts.times import duration_text

MAX_POINTS = 240
WIDTH, HEIGHT = 600, 100
"""The drawing's own units; the page stretches it."""


@dataclass(frozen=True)
class Band:
    """What is stacked on the bands before it: its name, the CSS variable of its colour, and an SVG path."""

    name: str
    colour: str
    path: str


@dataclass(frozen=True)
class Chart:
    """A drawing: its title, the text at the top and at both ends of the axis, and what it says to who can't see it."""

    title: str
    bands: tuple[Band, ...]
    top: str
    first: str
    last: str
    limit_y: float | None
    label: str


def thin(at_s: NDArray[np.float32], values: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return at most `MAX_POINTS` times and the highest of the values (rows) that each stands for."""
    size = -(-len(at_s) // MAX_POINTS)
    if size <= 1:
        return at_s, values
    firsts = np.arange(0, len(at_s), size)
    return at_s[firsts], np.maximum.reduceat(values, firsts, axis=1)


def stacked_chart(
    title: str,
    at_s: NDArray[np.float32],
    series: Sequence[tuple[str, str, NDArray[np.float32]]],
    text: Callable[[float], str],
    *,
    most: float = 0.0,
    limit: float | None = None,
) -> Chart | None:
    """Return a drawing of series on top of each other; None if there are fewer than two times.

    Parameters
    ----------
    series
        Name, CSS variable of the colour, and values of each, from the bottom.
    text
        Returns a value in words.
    most
        The axis reaches at least so far.
    limit
        Where a line is drawn.
    """
    if len(at_s) < 2:
        return None
    times, values = thin(at_s, np.stack([values for _, _, values in series]))
    tops = np.cumsum(values, axis=0)
    high = max(float(tops[-1].max()), most, limit or 0.0, 1e-9)
    x = (times - times[0]) / max(float(times[-1] - times[0]), 1e-9) * WIDTH
    below = np.zeros_like(x)
    bands = []
    for (name, colour, _), top in zip(series, tops, strict=True):
        bands.append(Band(name, colour, _path(x, HEIGHT * (1 - below / high), HEIGHT * (1 - top / high))))
        below = top
    total = tops[-1]
    now = ", ".join(f"{name} {text(float(column[-1]))}" for (name, _, _), column in zip(series, values, strict=True))
    label = f"{title}: last {text(float(total[-1]))} ({now}), at most {text(float(total.max()))}"
    return Chart(
        title=title,
        bands=tuple(bands),
        top=text(high),
        first=f"{duration_text(float(at_s[-1] - at_s[0]))} before",
        last="last sample",
        limit_y=None if limit is None else HEIGHT * (1 - limit / high),
        label=label if limit is None else f"{label}, limit {text(limit)}",
    )


def _path(x: NDArray[np.float32], lower: NDArray[np.float32], upper: NDArray[np.float32]) -> str:
    there = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x.tolist(), upper.tolist(), strict=True))
    back = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x[::-1].tolist(), lower[::-1].tolist(), strict=True))
    return f"M{there} L{back}Z"
