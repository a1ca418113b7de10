"""The pages of memory over time and of the time budget: their modes, sizes and texts, and whose the view is."""

from __future__ import annotations

import math

import numpy as np
import pytest
from glassloom_dashboards.folds.aggregate import ClusterAggregate
from glassloom_dashboards.folds.budget import PARTS
from glassloom_dashboards.folds.memory_history import Peak
from glassloom_dashboards.parts.theme import DARK, LIGHT
from glassloom_dashboards.parts.time_view import ALL, LATEST_RUN, REST_S, span_of
from glassloom_dashboards.serving.page import PLACES_MODEL
from glassloom_dashboards.views.memory_drawing import BY_LAYER, EDGES, MAX_BANDS, OTHERS
from glassloom_metrics.protocol import Hello, Layers, Life, Progress, Runs, WorkerJoined, WorkerLeft, WorkerSamples
from opened_pages import FRAME_BYTES, Opened, aggregate_of, events
from synthetic import HOSTILE_NAMES, MIB, STARTED_AT_S, Shape

NAME = HOSTILE_NAMES[0]


def cluster(workers: int = 2, layers: int = 3, limit: int | None = 100 * MIB) -> ClusterAggregate:
    aggregate = ClusterAggregate()
    aggregate.apply(Hello(2, "c1", "demo", "processes", STARTED_AT_S))
    for worker in range(workers):
        aggregate.apply(WorkerJoined(STARTED_AT_S, worker, f"{NAME}{worker}", 1, 2, limit))
    ids = list(range(layers))
    aggregate.apply(Layers(ids, [f"{NAME}{n}" for n in ids], [10] * layers, [""] * layers))
    return aggregate


def hold(aggregate: ClusterAggregate, at_s: float, nbytes: list[int]) -> None:
    ids = list(range(len(nbytes)))
    zeros = [0] * len(ids)
    aggregate.apply(Progress(STARTED_AT_S + at_s, ids, zeros, zeros, zeros, [1] * len(ids), zeros, zeros, nbytes))


def measure(aggregate: ClusterAggregate, at_s: float, used: int, *, spilled: int = 0, pressure: int = 0) -> None:
    workers = list(aggregate.workers)
    count = len(workers)
    sample = WorkerSamples(
        STARTED_AT_S + at_s, workers, [50.0] * count, [used] * count, [used] * count, [0] * count, [spilled] * count,
        [1] * count, [0] * count, [used] * count, [10 * MIB] * count, [pressure] * count,
    )  # fmt: skip
    aggregate.apply(sample)


def filled(**options: int | None) -> ClusterAggregate:
    aggregate = cluster(**options)
    for moment, used in enumerate([10, 40, 70, 20, 10, 60, 10]):
        hold(aggregate, moment / 2, [used * MIB, 2 * MIB, MIB])
        measure(aggregate, moment / 2, used * MIB, spilled=5 * MIB * (moment == 2), pressure=2 * (moment == 2))
    return aggregate


def data(opened: Opened, source: str):
    return opened.document.get_model_by_name(source).data


def test_memory_in_total_is_stacked_and_says_its_peaks_limit_and_pauses():
    opened = Opened("memory", filled())
    card = opened.card("memory")
    rows = data(opened, "memory-source")
    assert [float(rows[edge][2]) / MIB for edge in EDGES[:4]] == [0, 140, 160, 160]
    assert rows["spilled"].tolist()[2] == 10 * MIB and card.disk.visible
    assert rows["limit"].tolist() == [200 * MIB] * 7
    peaks = data(opened, "memory-peaks-source")
    assert peaks["at"] == [1.0, 2.5]
    assert peaks["text"][0].startswith("160 MiB at 1 s")
    assert "70.0 MiB" in peaks["held"][0]
    assert data(opened, "memory-pauses-source")["left"] == [1.0]
    assert "limit 200 MiB" in card.legend.text and "paused" in card.legend.text
    assert "peak 160 MiB at 1 s" in opened.view.summaries.tags[0][1]
    assert "<img" not in card.legend.text


def share(aggregate: ClusterAggregate, at_s: float, used: int, shared: int) -> None:
    """Both workers hold `used`, and `shared` in shared memory, which no limit counts."""
    both = [[value] * 2 for value in (50.0, used + shared, used, shared, 0, 1, 0, used, 10 * MIB, 0)]
    aggregate.apply(WorkerSamples(STARTED_AT_S + at_s, [0, 1], *both))


def test_what_the_limit_counts_is_a_line_below_it_where_shared_results_reach_beyond():
    aggregate = cluster()
    measure(aggregate, 0.5, 30 * MIB)
    measure(aggregate, 1.0, 40 * MIB)
    share(aggregate, 1.5, 40 * MIB, 80 * MIB)
    opened = Opened("memory", aggregate)
    rows, legend = data(opened, "memory-source"), opened.card("memory").legend.text
    assert (rows["total"] / MIB).tolist() == [80, 100, 260] and (rows["limit"] / MIB).tolist() == [200] * 3
    # The line begins where shared results do: between the last row without them and the first with them.
    assert np.array_equal(rows["limited"] / MIB, [np.nan, 100, 100], equal_nan=True)
    assert "what the limit counts" in legend and "shared, not counted against the limit" in legend
    opened.card("memory").mode.active = BY_LAYER
    opened.update()
    assert "what the limit counts" not in opened.card("memory").legend.text


def test_the_thick_part_of_a_workers_bar_is_what_its_limit_counts():
    aggregate = cluster()
    share(aggregate, 1.0, 40 * MIB, 80 * MIB)
    opened = Opened("workers-memory", aggregate)
    rows, card = data(opened, "workers-memory-source"), opened.card("workers-memory")
    assert [float(rows[name][0]) / MIB for name in ("unmanaged_stop", "limit", "shared_stop")] == [50, 100, 130]
    heights = {one.name: one.glyph.height for one in card.plot.renderers if hasattr(one.glyph, "height")}
    assert heights["shared"] < heights["unmanaged"] == heights["managed"]
    assert "shared, not counted against the limit" in card.legend.text


def test_peaks_are_those_in_view_so_that_each_has_its_mark():
    aggregate = cluster()
    for moment, used in enumerate([90, 60, 20, 50, 20]):
        measure(aggregate, moment / 2, used * MIB)
    opened = Opened("memory", aggregate)
    card = opened.card("memory")
    card.time.follow.active = None
    card.time.x_range.update(start=0.5, end=2.0)
    opened.update(0.01)
    opened.update(REST_S)
    assert data(opened, "memory-peaks-source")["at"] == [0.5, 1.5]
    assert "peak 140 MiB at 500 ms" in card.legend.text


def test_memory_by_layer_stacks_what_layers_hold_by_name():
    opened = Opened("memory", filled())
    card = opened.card("memory")
    card.mode.active = BY_LAYER
    opened.update()
    rows = data(opened, "memory-source")
    assert [float(rows[edge][1]) / MIB for edge in EDGES[:4]] == [0, 40, 42, 43]
    assert card._drawn.bands == (f"{NAME}0", f"{NAME}1", f"{NAME}2")
    assert all(math.isnan(limit) for limit in rows["limit"])
    assert len(set(card.plot.renderers[place].glyph.fill_color for place in (1, 2, 3))) == 3
    assert [row[1] for row in card.table().rows][1] == "40.0 MiB"


def test_of_many_layers_twelve_have_a_band_and_the_others_one_together():
    aggregate = cluster(layers=40)
    hold(aggregate, 1.0, [MIB * (n + 1) for n in range(40)])
    measure(aggregate, 1.0, MIB)
    opened = Opened("memory", aggregate)
    card = opened.card("memory")
    card.mode.active = BY_LAYER
    opened.update()
    bands = card._drawn.bands
    assert len(bands) == MAX_BANDS and bands[-1] == OTHERS and bands[0] == f"{NAME}39"
    total = float(data(opened, "memory-source")[f"y{MAX_BANDS}"][0])
    assert total == pytest.approx(MIB * 40 * 41 / 2)


def test_memory_of_one_worker_is_kept_after_it_has_left():
    aggregate = filled(workers=3)
    aggregate.apply(WorkerLeft(STARTED_AT_S + 4, 2, "killed"))
    opened = Opened("memory", aggregate)
    card = opened.card("memory")
    assert not card.worker.visible
    card.mode.active = 2
    opened.update()
    assert card.worker.visible and [value for value, _ in card.worker.options] == ["0", "1", "2"]
    card.worker.value = "2"
    opened.update()
    assert float(data(opened, "memory-source")["total"].max()) == 80 * MIB
    card.worker.value = "no such worker"[:0]
    opened.update()
    assert card.worker.value == "0"


def test_without_a_limit_no_line_is_drawn_and_a_far_one_is_said():
    opened = Opened("memory", filled(limit=None))
    assert "limit" not in opened.card("memory").legend.text
    opened = Opened("memory", filled(limit=2**40))
    assert "limit 2.00 TiB (above the plot)" in opened.card("memory").legend.text
    assert opened.card("memory").plot.y_range.end < 2**30


@pytest.mark.long
def test_twelve_hours_of_a_hundred_workers_are_small_frames():
    aggregate = cluster(workers=100, layers=30)
    for moment in range(1500):
        measure(aggregate, 28.0 * moment, (1 + moment % 50) * MIB, pressure=2 * (moment % 100 == 7))
        if moment % 100 == 0:
            hold(aggregate, 28.0 * moment, [MIB * n for n in range(30)])
    opened = Opened("memory", aggregate)
    for mode in range(3):
        opened.card("memory").mode.active = mode
        opened.update()
    opened.view.theme.tags = ["dark"]
    opened.update()
    assert max(opened.frames) <= FRAME_BYTES
    assert len(aggregate.memory) < 512 * 3 and opened.update() == 0


@pytest.mark.parametrize("page", ["memory", "stages", "time-budget"])
def test_each_view_says_what_it_waits_for_and_keeps_its_picture_when_the_cluster_has_ended(page):
    waiting = Opened(page, ClusterAggregate())
    assert "<b>No " in waiting.document.get_model_by_name(f"{page}-empty").text
    aggregate = aggregate_of(Shape())
    opened = Opened(page, aggregate)
    assert opened.rows(f"{page}-source") > 0
    aggregate.apply(Life(STARTED_AT_S + 99, "closing"))
    opened.update()
    assert not opened.document.get_model_by_name(f"{page}-empty").visible
    assert opened.rows(f"{page}-source") > 0


@pytest.mark.parametrize("page", ["memory", "stages", "time-budget"])
def test_each_view_changes_its_colours_with_the_theme(page):
    opened = Opened(page, aggregate_of(Shape()))
    glyph = {"memory": "band0", "stages": "memory", "time-budget": "compute"}[page]
    figure = opened.document.get_model_by_name(page)
    colour = next(one for one in figure.renderers if one.name == glyph).glyph
    assert colour.fill_color == LIGHT.managed
    opened.view.theme.tags = ["dark"]
    opened.update()
    assert colour.fill_color == DARK.managed


def test_the_budget_is_a_hundred_per_cent_in_the_bar_in_each_bin_and_in_the_table():
    opened = Opened("time-budget", aggregate_of(Shape()))
    bar = data(opened, "time-budget-bar-source")
    assert bar["left"][0] == 0 and bar["right"][-1] == pytest.approx(1.0)
    bins = data(opened, "time-budget-source")
    assert np.asarray(bins[f"y{len(PARTS)}"]) == pytest.approx(1.0, abs=1e-5)
    table = opened.card("time-budget").table()
    assert table.rows[0][0] == "together" and len(table.rows[0]) == 2 + len(PARTS)
    assert "compute " in opened.view.summaries.tags[0][1]


@pytest.mark.parametrize("page", ["memory", "time-budget"])
def test_a_view_that_somebody_has_moved_is_left_alone_and_drawn_for_when_it_rests(page):
    aggregate = filled()
    aggregate.apply(events(0, [(0.0, 3.0)]))
    opened = Opened(page, aggregate)
    card = opened.card(page)
    assert card.time.mode == LATEST_RUN
    card.time.follow.active = None
    card.time.x_range.update(start=1.0, end=2.0)
    opened.update(0.01)
    extent = dict(card.time.extent.data)
    opened.update(REST_S)
    measure(aggregate, 30.0, MIB)
    aggregate.apply(events(1, [(29.0, 30.0)]))
    opened.update()
    assert (card.time.x_range.start, card.time.x_range.end) == (1.0, 2.0)
    assert card.time.extent.data == extent, "the browser is told of no other times"
    edge = "at" if page == "memory" else "left"
    shown = np.asarray(data(opened, f"{page}-source")[edge])
    assert len(shown) and shown.min() >= 0.4 and shown.max() <= 2.6
    card.time.follow.active = ALL
    opened.update()
    assert card.time.extent.data["right"][0] > 30


def test_all_cards_of_a_page_share_one_time_axis_that_begins_with_the_latest_run():
    aggregate = filled()
    aggregate.apply(events(0, [(0.0, 1.0)]))
    aggregate.apply(events(1, [(50.0, 51.0)]))
    opened = Opened("status", aggregate)
    stream, cpu = opened.card("task-stream"), opened.card("workers-cpu")
    assert stream.plot.x_range is cpu.line.x_range is opened.view.time.x_range
    assert opened.view.time.mode == LATEST_RUN and 49 < opened.view.time.x_range.start < 50
    places = dict(opened.document.get_model_by_name(PLACES_MODEL).tags)
    assert [place for place in places.values() if place.endswith("-time")] == ["task-stream-time"], "for the buttons"
    assert places[opened.view.time.follow.name] == "task-stream-time"
    opened.view.time.follow.active = None
    opened.view.time.x_range.update(start=0.0, end=2.0)
    opened.update(0.01)
    opened.update(REST_S)
    assert opened.rows("task-stream-source") == 1
    assert np.asarray(data(opened, "workers-cpu-history-source")["at"]).tolist() == [0.0, 0.5, 1.0, 1.5, 2.0, 2.5]


def test_the_axis_begins_with_the_runs_that_stages_and_the_overview_call_the_latest():
    aggregate = filled()
    aggregate.apply(events(0, [(0.0, 1.0), (10.0, 11.0), (12.5, 13.0)]))
    rows = [
        (number, "compute", "x", "", cell, "k", "cell 4, line 1", STARTED_AT_S + at_s, STARTED_AT_S + at_s + 0.8, "finished", 1, 1, 0)
        for number, (cell, at_s) in enumerate([("a", 0.0), ("b", 9.0), ("b", 11.0), ("c", 12.5)])
    ]  # fmt: skip
    for row, start_s in zip(rows, (0.0, 9.0, 9.0, 12.5), strict=True):
        aggregate.apply(Runs(*([value] for value in row)))
        assert span_of(aggregate, LATEST_RUN)[0] == start_s, "not with the work since the last pause of two seconds"
    assert span_of(aggregate, LATEST_RUN)[1] == pytest.approx(13.3), "with the run, not with its last task"
    aggregate.apply(Runs(*([value] for value in (*rows[3][:8], None, "running", 1, 0, 0))))
    aggregate.set_state("live")
    measure(aggregate, 20.0, MIB)
    assert span_of(aggregate, LATEST_RUN) == (12.5, 20.0), "it is under way, though no task runs"


@pytest.mark.parametrize("page", ["time-budget", "utilisation"])
def test_the_latest_run_is_as_long_on_every_page(page):
    aggregate = filled()
    aggregate.set_state("live")
    row = (1, "compute", "x", "", "a", "k", "cell 4, line 1", STARTED_AT_S + 4.0, None, "running", 1, 1, 0)
    aggregate.apply(Runs(*([value] for value in row)))
    aggregate.apply(events(0, [(4.01, 4.02)]))
    name = page if page == "time-budget" else "overview"
    opened = Opened(name, aggregate)
    aggregate.apply(Runs(*([value] for value in (*row[:8], STARTED_AT_S + 4.08, "finished", 1, 1, 0))))
    opened.update()
    budget = opened.card(page)._budget
    assert budget.seconds.sum() == pytest.approx(4 * 0.08, rel=0.01), "four threads for as long as the run took"
    assert budget.totals["compute"] == pytest.approx(0.01, rel=0.01)
    if page == "time-budget":
        assert "100 % is 320 ms of threads in the latest run" in opened.card(page).legend.text
    shown = dict(Opened("overview", aggregate).card("overview").table().rows)["Latest run"]
    assert " · 80 ms · " in shown


def peak_words(managed: int, unmanaged: int, spilled: int) -> str:
    aggregate = cluster(layers=1)
    hold(aggregate, 1.0, [(managed + spilled) * MIB])
    card = Opened("memory", aggregate).card("memory")
    total = (managed + unmanaged) * MIB
    held = ((0, float((managed + spilled) * MIB)),)
    return card._peak_text(Peak(1.0, total, held, unmanaged * MIB, spilled * MIB)).partition("at 1 s")[2]


def test_a_peak_says_the_share_of_who_held_most_in_memory_and_what_is_no_result():
    assert peak_words(75, 25, 0).startswith(", 75 % held by ")
    assert peak_words(3, 97, 0) == ", 97 % unmanaged"
    assert peak_words(75, 25, 600) == "", "which of them are on disk isn't known"
