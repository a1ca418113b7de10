"""Lines over time: what is drawn, and what is said of it."""

from __future__ import annotations

import re

import numpy as np
from glassloom_dashboards.parts.line_chart import HEIGHT, MAX_POINTS, WIDTH, stacked_chart
from hypothesis import given
from hypothesis import strategies as st


def columns(*values: list[float]) -> list[tuple[str, str, np.ndarray]]:
    return [(f"part {n}", "--x", np.array(column, np.float32)) for n, column in enumerate(values)]


def points(path: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in re.findall(r"([-\d.]+),([-\d.]+)", path)]


def test_parts_are_stacked_below_the_limit_and_said_in_words():
    chart = stacked_chart("Memory", np.array([0, 10], np.float32), columns([1, 2], [3, 2]), str, limit=8.0)
    assert points(chart.bands[0].path) == [(0, 87.5), (WIDTH, 75), (WIDTH, HEIGHT), (0, HEIGHT)]
    assert points(chart.bands[1].path) == [(0, 50), (WIDTH, 50), (WIDTH, 75), (0, 87.5)]
    assert (chart.top, chart.limit_y, chart.first) == ("8.0", 0.0, "10 s before")
    assert chart.label == "Memory: last 4.0 (part 0 2.0, part 1 2.0), at most 4.0, limit 8.0"


def test_there_is_no_line_through_one_sample():
    assert stacked_chart("CPU", np.zeros(1, np.float32), columns([1]), str) is None


@given(st.lists(st.integers(0, 2**40), min_size=2, max_size=900))
def test_long_histories_are_thinned_without_losing_the_highest(values):
    at_s = np.arange(len(values), dtype=np.float32)
    chart = stacked_chart("x", at_s, columns(values), str, most=1.0)
    drawn = points(chart.bands[0].path)
    assert len(drawn) <= 2 * MAX_POINTS
    high = max(*values, 1.0)
    assert min(y for _, y in drawn) == float(f"{HEIGHT * (1 - max(values) / high):.1f}")
    assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in drawn)
