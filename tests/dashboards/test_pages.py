"""Every page for clusters of every size: what it draws, what it sends, and that it sends nothing twice."""

from __future__ import annotations

import re
from types import SimpleNamespace

import numpy as np
import pytest
import synthetic
from bokeh.core.properties import field
from bokeh.events import ButtonClick
from bokeh.protocol import Protocol
from glassloom_dashboards.folds import task_table
from glassloom_dashboards.folds.aggregate import STATES, ClusterAggregate
from glassloom_dashboards.folds.budget import budget_of
from glassloom_dashboards.folds.lod import MAX_BINS, MAX_SINGLE_EVENTS
from glassloom_dashboards.parts.colours import rgba
from glassloom_dashboards.parts.layouts import LAYOUTS, Layout
from glassloom_dashboards.parts.theme import DARK, LIGHT, Palette
from glassloom_dashboards.parts.time_view import ALL, LATEST_RUN, REST_S
from glassloom_dashboards.serving.page import CARDS, TIME_CARDS
from glassloom_dashboards.views.lanes import lane_names, lanes_of
from glassloom_dashboards.views.progress import MAX_LAYERS
from glassloom_dashboards.views.stream_drawing import fit_texts
from glassloom_dashboards.views.workers import MAX_BARS, bars_of
from glassloom_metrics.gpu_messages import gpu_devices, gpu_samples
from glassloom_metrics.pages import PAGES
from glassloom_metrics.protocol import (
    Action,
    Errors,
    Layers,
    Life,
    Progress,
    Settings,
    TaskEvents,
    WorkerJoined,
    WorkerLeft,
    WorkerSamples,
    decode,
)
from msgspec import structs
from opened_pages import FRAME_BYTES, Opened, aggregate_of, events, shared_aggregate_of
from synthetic import HOSTILE_NAMES, STARTED_AT_S, Shape


@pytest.mark.each_choice
@pytest.mark.parametrize("page", [page.id for page in PAGES])
@pytest.mark.parametrize(
    "shape",
    [
        Shape(workers=0, tasks=0),
        Shape(workers=1, threads=1, tasks=0),
        Shape(workers=1, threads=1, tasks=1),
        Shape(workers=2, names=tuple(HOSTILE_NAMES), failures=True, gpus=2),
        Shape(workers=500, tasks=20_000),
    ],
    ids=["nobody", "idle", "one-task", "hostile", "500-workers"],
)
def test_every_page_is_drawn_once_and_then_nothing_is_sent(page, shape):
    opened = Opened(page, shared_aggregate_of(shape))
    assert [card.id for card in opened.view.cards] == list(LAYOUTS[page].cards)
    opened.update()
    assert opened.update() == 0
    assert max(opened.frames, default=0) <= FRAME_BYTES
    opened.document.to_json()


def test_a_layout_is_a_grid_of_cards_that_exist():
    for layout in LAYOUTS.values():
        assert set(layout.cards) <= CARDS.keys() | TIME_CARDS.keys()
    with pytest.raises(ValueError, match="the rows of a layout must be equally long"):
        Layout(("a b", "c"))
    with pytest.raises(ValueError, match="not empty"):
        Layout(())


def test_the_status_page_of_a_new_aggregate_that_nothing_was_heard_of_yet_says_what_it_waits_for():
    opened = Opened("status", ClusterAggregate())
    texts = [opened.document.get_model_by_name(f"{card}-empty").text for card in LAYOUTS["status"].cards]
    assert [re.findall("<b>(.*)</b>", text) for text in texts] == [
        ["No tasks yet"], ["No tasks yet"], ["No workers yet"], ["No workers yet"],
    ]  # fmt: skip
    assert "connecting" in opened.view.strip.div.text


@pytest.fixture(scope="module")
def million() -> ClusterAggregate:
    return aggregate_of(Shape(workers=4, threads=4, tasks=10**6, layers=40))


def test_a_million_tasks_are_binned_and_every_frame_is_small(million):
    opened = Opened("status", million)
    stream = opened.card("task-stream")
    assert stream.total.data == {"tasks": [million.compute_tasks], "events": [10**6]}
    assert opened.rows("task-stream-source") == 0
    assert 1000 < opened.rows("task-stream-bins-source") <= MAX_BINS
    assert sum(opened.document.get_model_by_name("task-stream-bins-source").data["tasks"]) == 10**6
    opened.view.theme.tags = ["dark"]  # everything again
    opened.update()
    assert max(opened.frames) <= FRAME_BYTES


def test_a_document_with_as_many_single_tasks_as_are_drawn_is_no_larger_than_a_frame():
    aggregate = aggregate_of(Shape(workers=4, threads=4, tasks=0))
    aggregate.apply(events(0, [(n / 100, n / 100 + 0.005) for n in range(MAX_SINGLE_EVENTS - 1)]))
    aggregate.apply(moved(MAX_SINGLE_EVENTS, Action.SPILL_WRITE, start_s=1.0))
    opened = Opened("status", aggregate)
    assert opened.rows("task-stream-source") == MAX_SINGLE_EVENTS
    whole = Protocol().create("PULL-DOC-REPLY", "asked", opened.document)
    assert len(whole.content_json) + sum(map(len, (one.to_bytes() for one in whole.buffers))) <= FRAME_BYTES


def test_zooming_into_a_million_tasks_gives_the_single_ones_with_their_keys(million):
    opened = Opened("task-stream", million)
    stream = opened.card("task-stream")
    stream.follow.active = None
    stream.plot.x_range.update(start=5000.0, end=5010.0)
    opened.update(0.01)  # sees that the view moves
    assert opened.rows("task-stream-source") == 0
    opened.update(REST_S)
    tasks = million.tasks
    rows = tasks.rows_between(STARTED_AT_S + 5000, STARTED_AT_S + 5010)
    assert 100 < len(rows) <= MAX_SINGLE_EVENTS
    assert opened.rows("task-stream-source") == len(rows)
    assert opened.rows("task-stream-bins-source") == 0
    assert list(stream.single.data["index"]) == tasks.index.take(rows)
    names = [stream.names.data["name"][kind] for kind in stream.single.data["kind"]]
    assert names == [million.layer_name(layer) for layer in tasks["layer"][rows]]
    assert max(opened.frames) <= FRAME_BYTES


def test_long_tasks_among_bins_are_drawn_by_themselves_with_a_gap_around_them():
    aggregate = aggregate_of(Shape(workers=1, threads=2, tasks=0))
    aggregate.apply(Layers([0], ["sum"], [MAX_SINGLE_EVENTS + 3], [""]))
    aggregate.apply(events(0, [(0.01 * n, 0.01 * n + 0.008) for n in range(MAX_SINGLE_EVENTS + 1)]))
    aggregate.apply(events(MAX_SINGLE_EVENTS + 1, [(1.0, 20.0)], lane=1))
    aggregate.apply(events(MAX_SINGLE_EVENTS + 2, [(20.0, 40.0)], lane=1, ok=0))
    opened = Opened("task-stream", aggregate)
    card = opened.card("task-stream")
    single = card.single.data
    assert (single["left"].tolist(), single["right"].tolist()) == ([1.0, 20.0], [20.0, 40.0])
    assert list(single["index"]) == [str(MAX_SINGLE_EVENTS + 1), str(MAX_SINGLE_EVENTS + 2)]
    assert card.bins.data["tasks"].sum() == MAX_SINGLE_EVENTS + 1
    assert set(card.bins.data["bottom"].round().tolist()) == {0.0}, "none in the other lane"
    assert card.failed.data["left"].tolist() == [20.0]
    assert set(single["line"].tolist()) == {rgba(LIGHT.background)}
    assert f"{MAX_SINGLE_EVENTS + 1:,} tasks in bins of 200 ms, 2 longer ones singly" in card.legend.text
    assert opened.update() == 0


def test_single_tasks_with_long_keys_still_fit_into_a_frame():
    aggregate = aggregate_of(Shape(tasks=0))
    aggregate.apply(Layers([0], ["名" * 5000], [MAX_SINGLE_EVENTS], [""]))
    opened = Opened("task-stream", aggregate)
    long = events(0, [(n / 100, n / 100 + 0.005) for n in range(MAX_SINGLE_EVENTS)])
    aggregate.apply(structs.replace(long, index=["鍵" * 300] * len(long)))
    opened.update()
    assert opened.rows("task-stream-source") == MAX_SINGLE_EVENTS
    assert max(opened.frames) <= FRAME_BYTES


def test_new_tasks_are_streamed_without_sending_the_old_ones_again():
    aggregate = aggregate_of(Shape(tasks=0))
    aggregate.apply(Layers([0], ["sum"], [5000], [""]))
    aggregate.apply(events(0, [(n / 100, n / 100 + 0.005) for n in range(1500)]))
    opened = Opened("task-stream", aggregate)
    assert opened.rows("task-stream-source") == 1500
    aggregate.apply(events(1500, [(15.0, 15.5)]))
    sent = opened.update()
    assert opened.rows("task-stream-source") == 1501
    assert opened.card("task-stream").single.data["index"][-1] == "1500"
    assert sent < 5_000


def test_a_zoomed_view_is_sent_nothing_when_tasks_finish_elsewhere():
    aggregate = aggregate_of(Shape(tasks=0))
    aggregate.apply(events(0, [(n, n + 0.5) for n in range(100)]))
    opened = Opened("task-stream", aggregate)
    stream = opened.card("task-stream")
    stream.follow.active = None
    stream.plot.x_range.update(start=10.0, end=20.0)
    opened.update()
    opened.update()
    seen = opened.rows("task-stream-source")
    ranges = (stream.plot.x_range.start, stream.plot.x_range.end)
    aggregate.apply(events(100, [(200.0, 201.0)]))
    opened.update()
    assert stream.total.data["events"] == [101]
    assert opened.rows("task-stream-source") == seen == 11
    assert (stream.plot.x_range.start, stream.plot.x_range.end) == ranges


def test_following_shows_everything_or_the_latest_run():
    aggregate = aggregate_of(Shape(tasks=0))
    aggregate.apply(events(0, [(1.0, 2.0)]))
    aggregate.apply(events(1, [(100.0, 101.0), (101.0, 102.0)]))
    opened = Opened("task-stream", aggregate)
    stream = opened.card("task-stream")
    assert (stream.follow.active, opened.rows("task-stream-source")) == (LATEST_RUN, 2)
    assert 99 < stream.time.extent.data["left"][0] < 100
    stream.follow.active = ALL
    opened.update()
    opened.update()
    assert opened.rows("task-stream-source") == 3
    assert stream.time.extent.data["left"][0] < 1


def test_failed_tasks_are_drawn_once_more_on_top():
    aggregate = aggregate_of(Shape(tasks=0))
    aggregate.apply(events(0, [(1.0, 2.0)]))
    aggregate.apply(events(1, [(2.0, 3.0)], ok=0))
    opened = Opened("task-stream", aggregate)
    assert opened.document.get_model_by_name("task-stream-failed-source").data["left"].tolist() == [2.0]
    assert "failed" in opened.card("task-stream").legend.text


def test_a_cluster_found_again_is_drawn_from_the_beginning():
    aggregate = aggregate_of(Shape(tasks=0))
    aggregate.apply(events(0, [(1.0, 2.0), (2.0, 3.0)]))
    opened = Opened("task-stream", aggregate)
    again = synthetic.make_recorder(Shape(tasks=0))
    for payload in again.read(0, limit=100)[0]:
        aggregate.apply(decode(payload))
    aggregate.apply(events(0, [(7.0, 8.0), (8.0, 9.0)]))
    opened.update()
    assert list(opened.card("task-stream").single.data["left"]) == [7.0, 8.0]


def with_layers(*rows: tuple[str, int, dict[str, int]]) -> ClusterAggregate:
    """Return a cluster with layers given as (name, total, number of tasks by state)."""
    aggregate = aggregate_of(Shape(tasks=0))
    ids = list(range(len(rows)))
    aggregate.apply(Layers(ids, [row[0] for row in rows], [row[1] for row in rows], [f"cell {n}" for n in ids]))
    counts = {state: [row[2].get(state, 0) for row in rows] for state in STATES}
    aggregate.apply(Progress(1.0, ids, **counts))
    return aggregate


def progress_rows(opened: Opened) -> dict:
    return opened.document.get_model_by_name("progress-source").data


def test_layers_that_run_come_first_then_those_that_have_not_begun_then_those_that_are_done():
    aggregate = with_layers(
        ("done", 5, {"released": 5}),
        ("begun", 5, {"memory": 2, "waiting": 3}),
        ("unstarted", 5, {"waiting": 5}),
        ("running", 5, {"running": 1, "waiting": 4}),
        ("failed", 5, {"erred": 5}),
        ("last", 5, {"ready": 5}),
    )
    assert progress_rows(Opened("progress", aggregate))["name"] == [
        "running", "begun", "last", "unstarted", "failed", "done",
    ]  # fmt: skip


def test_a_bar_ends_where_its_tasks_do_and_says_in_words_what_failed_or_was_cancelled():
    aggregate = with_layers(
        ("sum", 20, {"memory": 3, "released": 4, "erred": 2, "running": 1, "waiting": 5}),  # 5 are in no state
        ("mean", 150, {"released": 148, "erred": 2}),
    )
    opened = Opened("progress", aggregate)
    first = {name: column[0] for name, column in progress_rows(opened).items()}
    stops = [first[f"{part}_stop"] for part in ("memory", "released", "erred", "cancelled", "running")]
    assert stops == [0.15, 0.35, 0.45, 0.7, 0.75]
    assert progress_rows(opened)["count"] == ["7 / 20, 2 failed, 5 cancelled", "148 / 150, 2 failed"]
    assert (first["origin"], first["cancelled"]) == ("cell 0", 5)
    legend = opened.card("progress").legend.text
    assert "failed" in legend and "cancelled" in legend
    counts = aggregate.task_counts
    assert (counts["erred"], counts["cancelled"], counts["total"]) == (4, 5, 170)


def test_every_layer_can_be_reached():
    count = MAX_LAYERS * 2 + 12
    aggregate = with_layers(*((f"layer-{n}", 10, {"released": 10}) for n in range(count)))
    opened = Opened("progress", aggregate)
    card = opened.card("progress")
    assert f"layers 1 to {MAX_LAYERS} of {count}" in card.legend.text
    seen = []
    for _ in range(3):
        opened.update()
        seen += progress_rows(opened)["name"]
        card.pager.forth._trigger_event(ButtonClick(card.pager.forth))
    assert seen == [f"layer-{n}" for n in reversed(range(count))]
    opened.update()
    assert card.pager.forth.disabled and not card.pager.back.disabled
    aggregate.apply(Layers([0], ["layer-0"], [10], [""]))
    assert not Opened("progress", with_layers(("sum", 1, {}))).card("progress").pager.body.visible


def test_totals_are_kept_up_while_layers_and_counts_change():
    aggregate = with_layers(("a", 10, {"waiting": 10}), ("b", 5, {"running": 5}))
    aggregate.apply(Layers([0, 7], ["a", "late"], [12, 100], ["", ""]))
    aggregate.apply(Progress(2.0, [0], **{state: [0] for state in STATES} | {"released": [11]}))
    counts = aggregate.task_counts
    assert (counts["released"], counts["running"], counts["waiting"]) == (11, 5, 0)
    assert (counts["cancelled"], counts["total"]) == (1, 117), "nothing is known of the late layer yet"


def test_bars_are_in_the_order_of_the_lanes_whichever_worker_joined_first():
    aggregate = ClusterAggregate()
    for worker in (0, 2, 1):
        aggregate.apply(WorkerJoined(STARTED_AT_S, worker, f"w{worker}", 1, 1))
    assert [bar.label for bar in bars_of(aggregate, {})] == ["w0", "w1", "w2"]
    assert lane_names(lanes_of(aggregate, 0.0, 1.0), aggregate) == ["w0", "w1", "w2"]


@pytest.mark.parametrize("page", ["workers-memory", "workers-cpu"])
def test_few_workers_have_a_bar_each_and_many_share_bars_that_say_so(page):
    few, many = (Opened(page, aggregate_of(Shape(workers=workers, tasks=0))) for workers in (3, 500))
    assert few.document.get_model_by_name(f"{page}-source").data["label"] == ["w0", "w1", "w2"]
    assert "mean" not in few.card(page).legend.text
    assert MAX_BARS / 2 < many.rows(f"{page}-source") <= MAX_BARS
    assert "500 workers ordered by" in many.card(page).legend.text
    assert "a bar is the mean of 9" in many.card(page).legend.text


def test_memory_is_stacked_by_what_it_holds():
    aggregate = aggregate_of(Shape(workers=1, tasks=0))
    sample = aggregate.samples[0]
    rows = Opened("workers-memory", aggregate).document.get_model_by_name("workers-memory-source").data
    assert rows["unmanaged"] == [sample.rss_bytes - sample.managed_bytes - sample.shared_bytes]
    assert rows["shared_stop"] == [sample.rss_bytes]
    assert rows["limit"] == [4096 * synthetic.MIB]


def test_what_was_spilled_is_not_drawn_as_memory_and_the_limit_is_in_the_legend():
    aggregate = aggregate_of(Shape(workers=1, tasks=0))
    gib = 2**30
    aggregate.apply(WorkerSamples(STARTED_AT_S + 99, [0], [5.0], [3 * gib], [2 * gib], [0], [8 * gib], [0], [0]))
    opened = Opened("workers-memory", aggregate)
    rows = opened.document.get_model_by_name("workers-memory-source").data
    assert (rows["shared_stop"], rows["spilled"]) == ([3 * gib], [8 * gib])
    assert rows["spilled_y"][0] > rows["y"][0] + 0.25, "below the bar of what is in memory"
    assert rows["text"] == ["3.00 of 4.00 GiB, 8.00 GiB on disk"]
    legend = opened.card("workers-memory").legend.text
    assert "spilled to disk" in legend and ">limit<" in legend
    assert opened.card("workers-memory").plot.x_range.end > 8 * gib


def test_names_are_cut_in_the_middle_so_that_their_numbers_stay():
    aggregate = aggregate_of(Shape(workers=3, threads=2, tasks=0))
    for worker in range(3):
        aggregate.worker_names[worker] = f"customer-churn-2024-nightly-{worker}"
    opened = Opened("status", aggregate)
    for card in ("task-stream", "workers-memory", "workers-cpu"):
        labels = opened.card(card).plot.yaxis[0].major_label_overrides.values()
        assert len(set(labels)) == len(labels) >= 3
        assert all(re.search(r"^cust.*….*-\d( · \d)?$", label) for label in labels), card


def moved(first: int, action: Action, *, worker: int = 0, start_s: float = 0.0) -> TaskEvents:
    """Return one event of a thread's lane 0 in which data was moved."""
    one = events(first, [(start_s, start_s + 0.5)])
    return structs.replace(one, action=int(action), worker=worker)


def test_publishing_and_spilling_have_a_lane_below_the_threads_of_their_worker():
    aggregate = aggregate_of(Shape(workers=2, threads=2, tasks=0))
    aggregate.apply(events(0, [(0.0, 1.0)], lane=1))
    aggregate.apply(moved(1, Action.SERIALISE))
    aggregate.apply(moved(2, Action.SPILL_WRITE, worker=1))
    opened = Opened("task-stream", aggregate)
    stream = opened.card("task-stream")
    assert stream.lane_names.data["name"] == ["w0 · 0", "w0 · 1", "w0 · data", "w1 · 0", "w1 · 1", "w1 · data"]
    assert stream.single.data["lane"].tolist() == pytest.approx([1, 1.7, 4.1])
    assert stream.single.data["height"].tolist() == pytest.approx([0.84, 0.336, 0.336]), (
        "data needs less room than work"
    )
    assert list(stream.plot.yaxis[0].ticker.ticks) == pytest.approx([0, 1, 1.7, 2.4, 3.4, 4.1])
    for words in ("publish to other processes", "spill to disk"):
        assert words in stream.legend.text
    assert "read back from disk" not in stream.legend.text


def test_bars_are_as_high_as_their_lanes_whether_there_are_lanes_of_data_or_not_and_singly_or_in_bins():
    aggregate = aggregate_of(Shape(workers=1, threads=1, tasks=0))
    aggregate.apply(events(0, [(0.0, 1.0)]))
    opened = Opened("task-stream", aggregate)
    stream = opened.card("task-stream")
    assert stream._single_glyph.glyph.height == 0.84 and "height" not in stream.single.data
    aggregate.apply(moved(1, Action.SPILL_WRITE, start_s=0.5))
    opened.update()
    assert stream._single_glyph.glyph.height == field("height")
    assert stream.single.data["lane"].tolist() == pytest.approx([0, 0.7])
    assert stream._lanes.at(0.45) == 0 and stream._lanes.at(0.6) == 1 and stream._lanes.at(0.95) is None
    assert stream._lanes.between(-0.4, 0.5) == (0, 1) and stream._lanes.between(0.6, 9.0) == (1, 2)
    aggregate.apply(events(2, [(2.0 + n / 1000, 2.0005 + n / 1000) for n in range(6000)]))
    spilled = events(6002, [(4.0 + n / 1000, 4.0005 + n / 1000) for n in range(3000)])
    aggregate.apply(structs.replace(spilled, action=int(Action.SPILL_WRITE)))
    opened.update()
    bins = stream.bins.data
    spans = {(round(float(top), 2), round(float(low), 2)) for top, low in zip(bins["top"], bins["bottom"], strict=True)}
    assert spans == {(-0.42, 0.42), (0.53, 0.87)}


def test_the_lane_of_a_workers_data_is_there_only_where_there_is_something_in_it():
    aggregate = aggregate_of(Shape(workers=2, threads=1, tasks=0))
    aggregate.apply(moved(0, Action.SERIALISE, start_s=1.0))
    aggregate.apply(events(1, [(40.0, 41.0)]))
    aggregate.apply(moved(2, Action.SERIALISE, start_s=80.0))
    for left, right, names in ((0.0, 10.0, ["w0", "w0 · data", "w1"]), (35.0, 45.0, ["w0", "w1"])):
        assert lane_names(lanes_of(aggregate, STARTED_AT_S + left, STARTED_AT_S + right), aggregate) == names


def test_lanes_of_workers_that_left_are_there_while_anything_of_them_is_in_view():
    aggregate = aggregate_of(Shape(workers=2, threads=1, tasks=0))
    aggregate.apply(events(0, [(1.0, 2.0)]))  # of worker 0
    aggregate.apply(WorkerLeft(STARTED_AT_S + 3, 0, "killed"))
    aggregate.apply(moved(1, Action.SERIALISE, worker=1, start_s=50.0))
    opened = Opened("task-stream", aggregate)
    stream = opened.card("task-stream")
    assert stream.lane_names.data["name"] == ["w1", "w1 · data"]
    assert stream.single.data["lane"].tolist() == pytest.approx([0.7])
    stream.follow.active = ALL
    opened.update()
    opened.update()
    assert stream.lane_names.data["name"] == ["w0", "w1", "w1 · data"]
    stream.follow.active = LATEST_RUN
    opened.update()
    opened.update()
    stream.follow.active = None  # the user moves to where worker 0 was: no lane may move from where it is
    stream.plot.x_range.update(start=0.0, end=60.0)
    opened.update()
    opened.update()
    assert stream.lane_names.data["name"] == ["w1", "w1 · data", "w0"]


def test_layers_shown_together_have_different_colours_and_the_smallest_of_too_many_have_none():
    count = len(LIGHT.layers) + 5
    aggregate = aggregate_of(Shape(workers=1, threads=1, tasks=0))
    aggregate.apply(Layers(list(range(count)), [f"layer-{n}" for n in range(count)], [1] * count, [""] * count))
    for layer in range(count):
        aggregate.apply(events(layer, [(layer, layer + 0.5 + layer / 100)], layer=layer))
    opened = Opened("task-stream", aggregate)
    stream = opened.card("task-stream")
    colours = np.asarray(stream.single.data["colour"]).tolist()
    assert colours[:5] == [rgba(LIGHT.many)] * 5
    assert sorted(colours[5:]) == sorted(rgba(colour) for colour in LIGHT.layers)
    assert "other layers" in stream.legend.text


def test_the_cpu_time_line_keeps_its_highest_values_when_it_is_thinned():
    aggregate = aggregate_of(Shape(workers=2, tasks=0))
    synthetic_recorder = synthetic.Recorder(synthetic.Hello(2, "c1", "demo", "processes", STARTED_AT_S))
    synthetic.record_samples(synthetic_recorder, Shape(workers=2), moments=1500)
    for payload in synthetic_recorder.read(1, limit=5000)[0]:
        aggregate.apply(decode(payload))
    opened = Opened("workers-cpu", aggregate)
    line = opened.document.get_model_by_name("workers-cpu-history-source").data
    assert 300 < len(line["at"]) <= 400
    assert max(line["highest"]) == pytest.approx(aggregate.history["cpu_percent"].max() / 100)


def test_gpu_readings_that_are_text_are_shown_as_that_text():
    aggregate = aggregate_of(Shape(tasks=0))
    gpu = synthetic.gpu_device(0, name="NVIDIA <H100>", memory_total_bytes="error: <lost>")
    aggregate.apply(gpu_devices(STARTED_AT_S, "", "", [gpu]))
    readings = {"utilization_percent": "not supported", "memory_used_bytes": 2**30}
    aggregate.apply(gpu_samples(STARTED_AT_S, {0: readings}))
    text = Opened("status", aggregate).view.strip.div.text
    assert "utilisation not supported · 1.00 GiB of error: &lt;lost&gt;" in text
    assert "GPU 0 NVIDIA &lt;H100&gt;" in text


def test_whatever_users_name_things_no_html_of_theirs_gets_into_a_page():
    aggregate = aggregate_of(Shape(names=tuple(HOSTILE_NAMES), failures=True))
    aggregate.name = "<b>mine</b>"
    texts = ["E"], ["<script>x</script>"], [""]
    aggregate.apply(Errors([99], [0], *texts, [0], ["<u>cell</u>"], [1], [1.0], [1.0], [["<i>key</i>"]]))
    opened = Opened("status", aggregate)
    for card in LAYOUTS["status"].cards:
        for part in ("legend", "empty"):
            div = opened.document.get_model_by_name(f"{card}-{part}")
            assert "<img" not in div.text and "<script" not in div.text
            assert div.disable_math
    strip = opened.view.strip.div
    assert "&lt;script&gt;x&lt;/script&gt;" in strip.text and "&lt;b&gt;mine&lt;/b&gt;" in strip.text
    assert not any(tag in strip.text for tag in ("<script", "<b>mine", "<i>key", "<u>cell"))
    assert strip.disable_math


def test_labels_of_axes_are_never_read_as_formulas():
    aggregate = aggregate_of(Shape(workers=1, tasks=0))
    aggregate.worker_names[0] = "$$\\href{javascript:alert(1)}{x}$$"
    opened = Opened("status", aggregate)
    for card in ("task-stream", "workers-memory", "workers-cpu"):
        for label in opened.card(card).plot.yaxis[0].major_label_overrides.values():
            assert "$$" not in label


def test_a_page_of_a_cluster_that_is_renamed_carries_its_new_name():
    aggregate = aggregate_of(Shape())
    opened = Opened("task-stream", aggregate)
    aggregate.apply(Settings(STARTED_AT_S + 9, "nightly <run>", []))
    opened.update()
    strip = opened.view.strip.div
    assert "nightly &lt;run&gt;" in strip.text
    assert strip.document.title == "nightly <run> · Task stream"


def test_an_ended_cluster_keeps_its_page_and_says_ended():
    aggregate = aggregate_of(Shape())
    opened = Opened("task-stream", aggregate)
    aggregate.apply(Life(STARTED_AT_S + 9, "closing"))
    opened.update()
    assert '<span class="badge ended" title="the cluster was closed">ended</span>' in opened.view.strip.div.text
    assert opened.rows("task-stream-source") == 200


def test_lanes_of_workers_that_left_stay_if_they_did_anything():
    aggregate = aggregate_of(Shape(workers=3, threads=1, tasks=0))
    aggregate.apply(events(0, [(1.0, 2.0)]))
    for worker in (0, 1):
        aggregate.apply(WorkerLeft(STARTED_AT_S + 3, worker, "killed"))
    opened = Opened("task-stream", aggregate)
    assert opened.card("task-stream").lane_names.data["name"] == ["w0", "w2"]


def test_a_page_changes_colours_without_being_loaded_again():
    opened = Opened("status", aggregate_of(Shape()), theme="light")
    stream = opened.card("task-stream")
    before = set(np.asarray(stream.single.data["colour"]).tolist())
    opened.view.theme.tags = ["dark"]
    opened.update()
    after = set(np.asarray(stream.single.data["colour"]).tolist())
    assert before <= colours_of(LIGHT) and after <= colours_of(DARK)
    assert before.isdisjoint(after - before)


def colours_of(palette: Palette) -> set[int]:
    return {rgba(colour) for colour in (*palette.layers, *palette.actions.values())}


def test_a_theme_that_does_not_exist_is_the_light_one():
    assert Opened("status", aggregate_of(Shape()), theme="<script>").view.theme.tags == ["light"]


def test_texts_are_cut_until_they_fit():
    assert fit_texts(["abc", "d"], 10, 100) == ["abc", "d"]
    cut = fit_texts(["x" * 50] * 100, 50, 1500)
    assert len(cut) == 100 and set(cut) == {cut[0]} and "x…x" in cut[0] and len(cut[0]) < 15


def test_a_page_whose_browser_has_gone_is_not_drawn():
    aggregate = aggregate_of(Shape(tasks=0))
    opened = Opened("task-stream", aggregate)
    session = SimpleNamespace(connection_count=0)
    context = SimpleNamespace(session=session)
    opened.document._session_context = lambda: context
    aggregate.apply(events(0, [(1.0, 2.0)]))
    opened.view._tick()
    assert opened.rows("task-stream-source") == 0
    session.connection_count = 1
    opened.view._tick()
    assert opened.rows("task-stream-source") == 1


def test_what_has_gone_from_the_table_of_tasks_is_still_drawn_and_told_in_bins(monkeypatch):
    monkeypatch.setattr(task_table, "MAX_ROWS", 16_384)
    monkeypatch.setattr(task_table, "_DROPPED_ROWS", 8_192)
    aggregate = aggregate_of(Shape(workers=2, tasks=60_000, failures=True))
    whole_s = sum(aggregate.sums.layers[layer].busy_s for layer in aggregate.layers)
    assert aggregate.tasks.first_row > 30_000
    opened = Opened("task-stream", aggregate)
    stream = opened.card("task-stream")
    stream.follow.active = ALL
    opened.update()
    opened.update()
    bins = opened.document.get_model_by_name("task-stream-bins-source").data
    assert bins["tasks"].sum() == 60_000
    assert "zoom in for single tasks" in stream.legend.text
    rows = stream.table().rows
    assert sum(int(row[2].replace(",", "")) for row in rows) == 60_000
    assert {row[5] for row in rows} == {"not kept"}

    stream.follow.active = None
    stream.plot.x_range.update(start=100.0, end=103.0)  # old, and narrow
    opened.update(0.01)
    opened.update(2 * REST_S)
    bins = opened.document.get_model_by_name("task-stream-bins-source").data
    assert bins["tasks"].sum() > 0 and opened.rows("task-stream-source") == 0
    assert "older tasks are kept only so" in stream.legend.text
    budget = budget_of(aggregate, STARTED_AT_S, aggregate.tasks.stop_s)
    assert budget.totals["compute"] + budget.totals["transfer"] >= whole_s * (1 - 1e-6)


@pytest.mark.parametrize("page", ["workers-memory", "workers-cpu"])
def test_bars_of_workers_are_as_thick_as_they_need_be_and_share_the_page_if_they_are_many(page):
    heights = []
    for workers in (0, 1, 2, 16, 500):
        plot = Opened(page, aggregate_of(Shape(workers=workers, tasks=0))).card(page).plot
        heights.append((plot.visible, plot.y_range.start + 0.5, plot.max_height))
    assert [height[:2] for height in heights] == [(False, 1), (True, 1), (True, 2), (True, 16), (True, 56)]
    assert heights[2][2] < 150 < heights[3][2] < heights[4][2]
