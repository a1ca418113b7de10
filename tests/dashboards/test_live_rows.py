"""Rows of plots over time: what is sent is what is new or differs, and the browser then has them all."""

from __future__ import annotations

import numpy as np
import pytest
from bokeh.document import Document
from bokeh.models import ColumnDataSource
from glassloom_dashboards.folds.aggregate import ClusterAggregate
from glassloom_dashboards.parts.live_rows import LiveRows
from glassloom_metrics.gpu_messages import GpuSamples
from glassloom_metrics.protocol import decode
from hypothesis import given, settings
from hypothesis import strategies as st
from long_tests import examples
from test_gpu_views import Opened, choose, payloads


def rows_of(*lefts: float) -> dict[str, np.ndarray]:
    return {"left": np.array(lefts, np.float32)}


def shown(rows: LiveRows) -> list[float]:
    return np.asarray(rows.source.data["left"], float).tolist()


def live_rows(**columns: object) -> LiveRows:
    source = ColumnDataSource({"left": []} | columns)
    Document().add_root(source)
    return LiveRows(source, "text" if "text" in columns else "")


def test_new_rows_are_streamed_and_old_ones_go():
    rows = live_rows()
    sent = [rows.show(rows_of(*range(first, first + 8))) for first in (0, 0, 1, 5, 50)]
    assert sent == ["all", "nothing", "changes", "changes", "all"]
    assert shown(rows) == list(range(50, 58))


def test_a_row_that_differs_is_sent_alone_and_with_its_text():
    rows = live_rows(text=[])
    asked: list[tuple[int, int]] = []

    def texts(first: int, last: int) -> list[str]:
        asked.append((first, last))
        return [f"text {number}" for number in range(first, last)]

    values = np.zeros((20, 1))
    rows.show(rows_of(*range(20)), texts, values)
    values = values.copy()
    values[[3, 19], 0] = np.nan, 7.0
    assert rows.show(rows_of(*range(20)), texts, values) == "changes"
    assert rows.show(rows_of(*range(20)), texts, values) == "nothing", "what is no number is like itself"
    assert asked == [(0, 20), (3, 4), (19, 20)]


def test_fewer_rows_or_none_are_sent_whole():
    rows = live_rows()
    assert [rows.show(rows_of()), rows.show(rows_of())] == ["all", "nothing"]
    assert [rows.show(rows_of(1, 2, 3)), rows.show(rows_of(1, 2)), shown(rows)] == ["all", "all", [1.0, 2.0]]
    assert [rows.show(rows_of()), shown(rows)] == ["all", []]
    rows.forget()
    assert rows.show(rows_of()) == "all"


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 2)), max_size=12), max_size=8))
def test_whatever_came_before_the_browser_has_the_rows_and_their_texts(frames):
    rows = live_rows(value=[], text=[])
    for frame in frames:
        frame = sorted(frame)
        columns = {name: np.array([row[place] for row in frame], float) for place, name in enumerate(("left", "value"))}
        rows.show(columns, lambda first, last, frame=frame: [str(row) for row in frame[first:last]])
        assert shown(rows) == columns["left"].tolist()
        assert np.asarray(rows.source.data["value"], float).tolist() == columns["value"].tolist()
        assert list(rows.source.data["text"]) == [str(row) for row in frame]


@pytest.mark.parametrize("kind", ["utilization", "memory", "nvlink"])
def test_a_page_that_was_open_shows_what_one_that_is_opened_now_does_and_was_sent_little(kind):
    """The longest page: sixteen devices, followed while their bins of time become wider."""
    messages = [decode(payload) for payload in payloads("sixteen")]
    samples = [number for number, message in enumerate(messages) if isinstance(message, GpuSamples)]
    aggregate = ClusterAggregate()
    for message in messages[: samples[-40]]:
        aggregate.apply(message)
    opened = Opened("gpu-time", aggregate)
    choose(opened, kind)
    sent = []
    for first, last in zip(samples[-40:-1], samples[-39:], strict=True):
        for message in messages[first:last]:
            aggregate.apply(message)
        sent.append(opened.update())
    anew = Opened("gpu-time", aggregate)
    choose(anew, kind)
    for name, source in anew.card("gpu-time").sources.items():
        known = opened.card("gpu-time").sources[name].data
        for column, values in source.data.items():
            assert list(known[column]) == list(values), (name, column)
    assert sorted(sent)[len(sent) // 2] < 8_000
    assert len(anew.card("gpu-time").sources["hovers"].data["left"]) > 500
