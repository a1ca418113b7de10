"""The task stream's bars of tasks that haven't ended, what its hover cards say, and what a click shows."""

from __future__ import annotations

import re
import time

import numpy as np
import pytest
from bokeh.events import Tap
from glassloom_dashboards.folds.aggregate import ClusterAggregate
from glassloom_dashboards.folds.task_waits import bytes_of_codes
from glassloom_dashboards.parts.colours import rgba
from glassloom_dashboards.parts.theme import LIGHT
from glassloom_dashboards.parts.time_view import ALL, LATEST_RUN, span_of
from glassloom_dashboards.views.stream_running import LOST, MAX_BARS, RUNS
from glassloom_dashboards.views.stream_waits import NOT_KNOWN, WHYS
from glassloom_metrics.protocol import Hello, Layers, WorkerJoined, WorkerLeft
from opened_pages import FRAME_BYTES, Opened, aggregate_of, events
from synthetic import HOSTILE_NAMES, STARTED_AT_S, Shape
from test_running_tasks import running
from test_task_view import row


@pytest.fixture
def aggregate() -> ClusterAggregate:
    """Return a cluster of two workers with two threads each, that has done nothing."""
    aggregate = ClusterAggregate()
    aggregate.apply(Hello(2, "c1", "demo", "processes", STARTED_AT_S))
    for worker in range(2):
        aggregate.apply(WorkerJoined(STARTED_AT_S, worker, f"w{worker}", 1, 2))
    aggregate.apply(Layers([0], ["slow"], [5], [""]))
    return aggregate


def bars(page: Opened) -> list[tuple[float, float, float, int]]:
    """Return left, right, lane and how it ends of the bars of tasks that haven't ended."""
    data = page.document.get_model_by_name("task-stream-running-source").data
    names = ("left", "right", "lane", "ends")
    return [tuple(round(float(value), 3) for value in bar) for bar in zip(*(data[name] for name in names), strict=True)]


def tap(page: Opened, x: float, y: float) -> str:
    """Click at a time and a lane, and return the text that is shown below the plot then."""
    card = page.card("task-stream")
    card.plot.document.callbacks.trigger_event(Tap(card.plot, x=x, y=y))
    page.update()
    return " ".join(re.sub(r"<[^>]*>", " ", card.details.text).split())


def test_bars_of_what_runs_grow_when_it_is_told_and_not_while_the_cluster_is_silent(aggregate):
    page = Opened("task-stream", aggregate)
    assert "No tasks yet" in page.card("task-stream").empty.text
    aggregate.apply(running(5.0, (0, 1, 0, "3", 4.0)))
    page.update()
    assert bars(page) == [(4.0, 5.0, 1.0, RUNS)]
    assert page.card("task-stream").empty.text == "", "it is seen before any task has ended"
    assert "1 running ▸" in page.card("task-stream").legend.text and "slow" in page.card("task-stream").legend.text
    aggregate.apply(running(5.5, (0, 1, 0, "3", 4.0)))
    page.update()
    assert bars(page) == [(4.0, 5.5, 1.0, RUNS)]
    assert page.update(60.0) == 0, "silence doesn't make it longer"
    aggregate.apply(events(3, [(4.0, 5.8)], lane=1))
    page.update()
    assert bars(page) == [] and page.rows("task-stream-source") == 1
    assert "running" not in page.card("task-stream").legend.text


def test_what_ran_when_the_worker_or_the_cluster_went_stays_and_is_told_apart(aggregate):
    aggregate.apply(running(5.0, (0, 1, 0, "3", 4.0), (1, 0, 0, "4", 4.5)))
    aggregate.apply(WorkerLeft(STARTED_AT_S + 5.2, 0, "killed"))
    page = Opened("task-stream", aggregate)
    lanes = page.document.get_model_by_name("task-stream-lanes").data["name"]
    assert lanes == ["w0", "w1 · 0", "w1 · 1"], "the dead worker has a lane for what it ran"
    assert bars(page) == [(4.0, 5.2, 0.0, LOST), (4.5, 5.0, 1.0, RUNS)]
    aggregate.end("its process has ended")
    page.update()
    assert [bar[3] for bar in bars(page)] == [LOST, 2]
    text = page.card("task-stream").legend.text
    assert "1 lost, never ended ✕" in text and "1 ran at the end ✕" in text


def test_the_view_follows_what_runs(aggregate):
    assert span_of(aggregate, LATEST_RUN) == (0.0, 10.0)
    aggregate.apply(running(6.0, (0, 1, 0, "3", 4.0)))
    assert span_of(aggregate, LATEST_RUN) == (4.0, 6.0)
    aggregate.apply(events(0, [(5.5, 6.5)]))
    aggregate.apply(running(60.0, (0, 1, 0, "9", 50.0)))
    assert span_of(aggregate, LATEST_RUN) == (50.0, 60.0), (
        "a new run begins after a pause, also if nothing of it has ended"
    )
    assert span_of(aggregate, ALL) == (0.0, 60.0)
    aggregate.end("its process has ended")
    assert span_of(aggregate, LATEST_RUN) == (50.0, 60.0)


def test_the_table_and_the_summary_count_what_runs(aggregate):
    aggregate.apply(Layers([1], ["other"], [5], [""]))
    aggregate.apply(events(0, [(1.0, 2.0)]))
    aggregate.apply(running(5.0, (0, 1, 0, "3", 4.0), (0, 0, 0, "4", 4.0), (1, 0, 1, "0", 4.0)))
    card = Opened("task-stream", aggregate).card("task-stream")
    assert [(row[0], row[2], row[-1]) for row in card.table().rows] == [("slow", "1", "2"), ("other", "0", "1")]
    assert "3 run" in card.summary()


def test_the_hover_card_gets_why_a_task_waited(aggregate):
    known = {"ready_wait_s": 0.5, "sent_wait_s": 0.1, "cpu_s": 0.25, "bytes_in": 2**20}
    aggregate.apply(row(0, "0", 1.0, 1.0, **known))
    aggregate.apply(row(1, "1", 3.0, 1.0, ready_wait_s=0.0, sent_wait_s=0.2))
    aggregate.apply(row(2, "2", 5.0, 1.0, ready_wait_s=0.0, sent_wait_s=0.0))
    aggregate.apply(row(3, "3", 7.0, 1.0))
    data = Opened("task-stream", aggregate).document.get_model_by_name("task-stream-source").data
    assert [WHYS[why] for why in data["why"][:3]] == ["for a free worker", "in the worker's queue", ""]
    assert data["why"][3] == NOT_KNOWN
    assert bytes_of_codes(np.asarray(data["wait"])) / 1e6 == pytest.approx([0.6, 0.2, 0, 0], rel=1e-3)
    assert data["cpu"].tolist() == [25, NOT_KNOWN, NOT_KNOWN, NOT_KNOWN]
    assert bytes_of_codes(data["bytes_in"][:1]).tolist() == [2**20]


def test_a_click_shows_the_task_and_a_link_and_another_click_nothing(aggregate):
    aggregate.apply(row(0, "0", 1.0, 1.0, ready_wait_s=0.5, sent_wait_s=0.1, cpu_s=0.25))
    aggregate.apply(row(1, "1", 2.5, 0.5))
    aggregate.apply(running(9.0, (1, 1, 0, "7", 4.0)))
    page = Opened("task-stream", aggregate)
    assert tap(page, 1.5, 0.3).startswith("slow[0] Open task")
    html = page.card("task-stream").details.text
    assert html.count('href="task?open=0%3A0"') == 2
    assert "waited 500 ms for a worker that was free" in html
    chosen = page.document.get_model_by_name("task-stream-chosen-source").data
    assert (chosen["left"], chosen["right"], chosen["lane"]) == ([1.0], [2.0], [0])
    assert tap(page, 3.03, 0.0).startswith("slow[1]"), "a click beside a bar means it"
    assert "It has run for 5 s." in tap(page, 6.0, 3.0)
    aggregate.apply(running(9.5, (1, 1, 0, "7", 4.0)))
    page.update()
    assert "It has run for 5.5 s." in page.card("task-stream").details.text
    assert tap(page, 6.0, 2.0) == "" and page.update() == 0
    assert page.document.get_model_by_name("task-stream-chosen-source").data["left"] == []
    tap(page, 1.5, 0.0)
    page.card("task-stream").details.asked.tags = [1, "close", ""]
    page.update()
    assert page.card("task-stream").details.text == ""
    assert tap(page, 1.5, 77.0) == ""


def test_thousands_that_run_with_hostile_names_fit_into_a_frame():
    aggregate = aggregate_of(Shape(workers=300, threads=16, tasks=0))
    names = [*HOSTILE_NAMES, "😀" * 3000]
    aggregate.apply(Layers(list(range(6)), names, [5] * 6, names))
    tasks = [(n // 16, n % 16, n % 6, f"{n}{names[n % 6]}", 1.0 + n / 1e4) for n in range(4800)]
    aggregate.apply(running(50.0, *tasks))
    page = Opened("task-stream", aggregate)
    assert len(bars(page)) == MAX_BARS
    assert max(page.frames, default=0) <= FRAME_BYTES
    text = tap(page, 10.0, 7.0)
    assert "It has run for 49 s." in text and "<img" not in page.card("task-stream").details.text


@pytest.mark.long
def test_a_frame_of_a_million_tasks_while_some_run_is_cheap():
    aggregate = aggregate_of(Shape(workers=4, threads=4, tasks=10**6, layers=40))
    last_s = aggregate.tasks.stop_s - STARTED_AT_S
    page = Opened("task-stream", aggregate)
    took_s = []
    for number in range(5):
        aggregate.apply(running(last_s + number, *((n // 4, n % 4, n, "7", last_s - 5.0) for n in range(16))))
        began_s = time.process_time()
        page.update()
        took_s.append(time.process_time() - began_s)
    assert len(bars(page)) == 16
    assert min(took_s) < 0.05, took_s  # a few milliseconds on an idle machine


def test_what_has_not_ended_is_drawn_and_counted_only_where_it_is_in_view(aggregate):
    aggregate.apply(events(0, [(1.0, 2.0)], lane=1))
    aggregate.apply(running(30.0, (0, 1, 0, "3", 28.0), (1, 0, 0, "4", 3.0)))
    aggregate.apply(WorkerLeft(STARTED_AT_S + 5.0, 1, "killed"))
    page = Opened("task-stream", aggregate)
    card = page.card("task-stream")
    tap(page, 1.5, 1.0)
    card.follow.active = None
    for left, right, ends, words in [
        (0.0, 40.0, [LOST, RUNS], ["1 running", "1 lost"]),
        (3.5, 4.5, [LOST], ["1 lost"]),
        (10.0, 20.0, [], []),
        (29.0, 29.5, [RUNS], ["1 running"]),
        (31.0, 32.0, [], []),
    ]:
        card.plot.x_range.update(start=left, end=right)
        page.update(1.0)
        page.update(1.0)
        assert sorted((bar[3] for bar in bars(page)), reverse=True) == ends, (left, right)
        assert set(re.findall(r"1 running|1 lost", card.legend.text)) == set(words)
        assert ("slow" in card.legend.text) == (bool(ends) or left == 0.0)
        chosen = page.document.get_model_by_name("task-stream-chosen-source").data
        assert len(chosen["left"]) == (left == 0.0), "the outline of what is out of view would be a line at the edge"
    assert "1 run" in card.summary() and card.empty.text == ""


def test_what_runs_in_lanes_out_of_view_is_not_counted(aggregate):
    aggregate.apply(running(9.0, (0, 0, 0, "3", 1.0), (1, 1, 0, "4", 1.0)))
    page = Opened("task-stream", aggregate)
    card = page.card("task-stream")
    assert "2 running" in card.legend.text
    card.follow.active = None
    card.plot.y_range.update(start=1.5, end=-0.5)
    page.update(1.0)
    page.update(1.0)
    assert "1 running" in card.legend.text and len(bars(page)) == 1


def test_lines_part_what_is_wide_and_take_nothing_from_what_is_narrow(aggregate):
    wide = [(4.0 * n, 4.0 * n + 3.9) for n in range(20)]
    narrow = [(80 + n / 100, 80 + n / 100 + 0.01) for n in range(9)]
    narrow.append((81.0, 81.4))  # about three pixels
    aggregate.apply(events(0, wide + narrow))
    page = Opened("task-stream", aggregate)
    card = page.card("task-stream")
    background = rgba(LIGHT.background)
    colour, line = (np.asarray(card.single.data[name]) for name in ("colour", "line"))
    assert set(line[:20].tolist()) == {background}
    assert (line[20:-1] == colour[20:-1]).all() and background not in colour
    assert line[-1] == 0, "of neither colour"
    card.follow.active = None
    card.plot.x_range.update(start=80.0, end=80.08)
    page.update(1.0)
    page.update(1.0)
    assert set(np.asarray(card.single.data["line"]).tolist()) == {background}, "wide enough now"


def test_lanes_share_the_whole_height(aggregate):
    aggregate.apply(WorkerLeft(STARTED_AT_S + 5.0, 1, "left"))
    card = Opened("task-stream", aggregate).card("task-stream")
    assert (card.extent.data["top"], card.extent.data["bottom"]) == ([-0.5], [1.5])
