"""Progress and stages: whose layers, how fast, how long still, and who takes much longer."""

from __future__ import annotations

import pytest
from bokeh.events import ButtonClick
from glassloom_dashboards.folds.aggregate import STATES, ClusterAggregate
from glassloom_dashboards.parts.text_width import text_px
from glassloom_dashboards.parts.time_view import ALL, LATEST_RUN
from glassloom_dashboards.views.progress import ordered_layers
from glassloom_dashboards.views.stages import (
    Straggler,
    durations_text,
    layers_of_latest_run,
    pace_text,
    stages_of,
    stragglers_text,
    time_left_s,
)
from glassloom_dashboards.views.stages_card import log_range, log_ticks
from glassloom_metrics.protocol import Hello, Layers, Life, Progress, Runs, WorkerJoined
from opened_pages import Opened, aggregate_of, events
from synthetic import STARTED_AT_S, Shape
from test_running_tasks import running as running_now


def running(name: str = "sum") -> ClusterAggregate:
    """Return a cluster that has done 40 tasks of 200 in 20 s, half of them in the last 5 s; one took long."""
    aggregate = ClusterAggregate()
    aggregate.apply(Hello(2, "c1", "demo", "processes", STARTED_AT_S))
    aggregate.apply(WorkerJoined(STARTED_AT_S, 0, "w0", 1, 1))
    aggregate.apply(Layers([0, 1], [name, "mean"], [200, 5], ["", ""], [7, 8], [[], [0]]))
    runs = Runs([7, 8], ["compute"] * 2, ["a", "b"], ["", ""], ["", ""], ["", ""], ["", ""], [STARTED_AT_S] * 2,
                [None, None], ["running"] * 2, [200, 5], [40, 0], [0, 0])  # fmt: skip
    aggregate.apply(runs)
    spans = [(n * 0.7, n * 0.7 + 0.1) for n in range(20)]
    spans += [(15.0 + n * 0.25, 15.1 + n * 0.25) for n in range(19)] + [(10.0, 20.0)]
    aggregate.apply(events(0, spans))
    aggregate.apply(
        Progress(STARTED_AT_S + 20, [0, 1], [100, 5], [55, 0], [1, 0], [10, 0], [30, 0], [3, 0])
    )  # one was cancelled
    return aggregate


def one_run(number: int, ended_s: float | None, tasks: int = 1) -> Runs:
    return Runs([number], ["submit"], [""], [""], [""], [""], [""], [1.0], [ended_s], ["finished"], [tasks], [0], [0])


def test_the_latest_run_is_the_newest_that_has_tasks_beside_those_that_it_may_wait_for():
    aggregate = running()
    assert [layer.name for layer in layers_of_latest_run(aggregate)] == ["sum", "mean"]
    aggregate.apply(one_run(7, 2.0))
    assert [layer.name for layer in layers_of_latest_run(aggregate)] == ["mean"]
    aggregate.apply(one_run(8, 2.0))
    aggregate.apply(one_run(9, None, tasks=0))
    assert [layer.name for layer in layers_of_latest_run(aggregate)] == ["mean"]
    without = aggregate_of(Shape())
    assert layers_of_latest_run(without) == ordered_layers(without)


def test_a_stage_says_its_rate_of_the_last_seconds_and_the_time_left_at_that_rate():
    aggregate = running()
    stage = next(stage for stage in stages_of(aggregate, ordered_layers(aggregate)) if stage.layer.name == "sum")
    assert (stage.done, stage.unfinished, stage.counts["erred"], stage.counts["cancelled"]) == (40, 156, 3, 1)
    assert stage.rate == pytest.approx(20 / 5)
    assert stage.left is not None and stage.left.seconds == pytest.approx(156 / 4)
    assert pace_text(stage) == "4.0/s · 39 s left"
    assert durations_text(stage, 80).endswith("1 straggler")
    assert stragglers_text(aggregate, [stage], 3) == "sum[39] 10 s on w0"


def long_tasks(running_s: list[float], *, waiting: int = 0, done: int = 4) -> ClusterAggregate:
    """Return a cluster of 4 threads on which so many tasks of 20 s are done; others run for some seconds, and some wait."""
    aggregate = ClusterAggregate()
    aggregate.apply(Hello(2, "c1", "demo", "processes", STARTED_AT_S))
    aggregate.apply(WorkerJoined(STARTED_AT_S, 0, "w0", 1, 4))
    total = done + len(running_s) + waiting
    aggregate.apply(Layers([0], ["sleep"], [total], [""], [7], [[]]))
    if done:
        aggregate.apply(events(0, [(0.0, 20.0)] * done))
    rows = [(0, place, 0, f"r{place}", 30.0 - seconds) for place, seconds in enumerate(running_s)]
    aggregate.apply(running_now(30.0, *rows))
    aggregate.apply(Progress(STARTED_AT_S + 30, [0], [waiting], [0], [len(running_s)], [done], [0], [0]))
    return aggregate


@pytest.mark.parametrize(
    ("aggregate", "left_s"),
    [
        (long_tasks([10.0] * 4), 10.0),
        (long_tasks([10.0] * 4, waiting=8), 50.0),
        (long_tasks([10.0]), 10.0),
        (long_tasks([1.0] * 4, waiting=1), 24.0),
        (long_tasks([10.0] * 4, done=0), None),
        (long_tasks([25.0] * 4), None),
        (long_tasks([], waiting=4), None),
    ],
)
def test_the_time_left_of_long_tasks_counts_for_how_long_they_run_and_on_how_many_threads(aggregate, left_s):
    (stage,) = stages = stages_of(aggregate, ordered_layers(aggregate))
    assert (stage.left.seconds if stage.left else None) == (left_s and pytest.approx(left_s))
    assert time_left_s(stages) == (left_s and pytest.approx(left_s))


def test_nothing_is_said_of_what_is_over_or_has_not_begun():
    aggregate = running()
    mean = stages_of(aggregate, layers_of_latest_run(aggregate))[1]
    assert (pace_text(mean), durations_text(mean, 80)) == ("", "")
    aggregate.apply(Life(STARTED_AT_S + 21, "closing"))
    assert [pace_text(stage) for stage in stages_of(aggregate, ordered_layers(aggregate))] == ["", ""]


def test_the_page_says_failed_and_cancelled_in_numbers_and_names_the_stragglers():
    name = "<img src=x onerror=alert(1)>"
    opened = Opened("stages", running(name))
    card = opened.card("stages")
    assert card.run.active == LATEST_RUN and opened.rows("stages-source") == 2
    assert "together 40 / 205 done, 3 failed, 1 cancelled" in card.legend.text
    card.run.active = ALL
    opened.update()
    counts = opened.document.get_model_by_name("stages-source").data["count"]
    assert counts[0] == "40 / 200, 3 failed, 1 cancelled · 4.0/s · 39 s left"
    late = opened.document.get_model_by_name("stages-stragglers-source").data
    assert (late["name"], late["x"], late["worker"]) == ([f"{name}[39]"], [10.0], ["w0"])
    assert "<img" not in card.legend.text
    row = next(row for row in card.table().rows if row[0] == name)
    assert list(row[1:8]) == ["200", "40", "1", "3", "1", "4.0/s", "39 s"]
    assert opened.update() == 0


def test_tasks_that_run_are_counted_and_called_stragglers_once_they_take_much_longer_than_others():
    aggregate = running()
    aggregate.apply(running_now(12.0, (0, 0, 0, "7", 11.0), (0, 0, 1, "0", 11.5)))
    mean, total = sorted(stages_of(aggregate, ordered_layers(aggregate)), key=lambda stage: stage.layer.name)
    assert durations_text(mean, 80) == "one runs for 500 ms"
    assert (total.running_s, total.stragglers) == (pytest.approx(1.0), 2)
    assert total.longest[0] == Straggler(pytest.approx(1.0), 0, "7", 0, "task?open=0%3A7", runs=True)
    assert stragglers_text(aggregate, [total], 3) == "sum[39] 10 s on w0, sum[7] 1 s so far on w0"
    opened = Opened("stages", aggregate)
    late = opened.document.get_model_by_name("stages-stragglers-source").data
    assert (late["marker"], late["href"]) == (["triangle", "diamond"], ["task?open=0%3A7", "task?open=0%3A39"])
    aggregate.apply(running_now(20.0, (0, 0, 0, "7", 11.0)))
    opened.update()
    assert opened.document.get_model_by_name("stages-stragglers-source").data["x"][0] == pytest.approx(9.0)
    assert opened.update() == 0, "it runs as long as it was told, not for ever"
    aggregate.end("the cluster was closed")
    (_, total) = sorted(stages_of(aggregate, ordered_layers(aggregate)), key=lambda stage: stage.layer.name)
    assert (total.running_s, total.stragglers) == (None, 1)


def test_the_axis_goes_from_a_tick_below_all_tasks_to_one_above():
    aggregate = running()
    assert log_range(stages_of(aggregate, ordered_layers(aggregate))) == (0.05, 20.0)
    assert log_range([]) == pytest.approx((5e-4, 2.0))
    long = long_tasks([], waiting=1)
    low_s, high_s = log_range(stages_of(long, ordered_layers(long)))
    assert (low_s, high_s) == (10.0, 120.0)
    assert log_ticks(low_s, high_s, 500) == [10.0, 20.0, 30.0, 60.0, 120.0]
    assert log_ticks(1e-4, 1.0, 500) == [1e-4, 1e-3, 1e-2, 0.1, 1.0]


def done_layers(*rows: tuple[str, int, dict[str, int]]) -> ClusterAggregate:
    """Return a cluster of layers (name, tasks, counts by state), all done but where counts are given; each task took 0.1 s."""
    aggregate = ClusterAggregate()
    aggregate.apply(Hello(2, "c1", "demo", "processes", STARTED_AT_S))
    aggregate.apply(WorkerJoined(STARTED_AT_S, 0, "w0", 1, 1))
    ids = list(range(len(rows)))
    aggregate.apply(Layers(ids, [row[0] for row in rows], [row[1] for row in rows], [f"cell {n}" for n in ids]))
    counts = [row[2] or {"released": row[1]} for row in rows]
    aggregate.apply(Progress(1.0, ids, **{state: [one.get(state, 0) for one in counts] for state in STATES}))
    first = 0
    for number, (_, tasks, _) in enumerate(rows):
        aggregate.apply(events(first, [(0.0, 0.1)] * tasks, layer=number))
        first += tasks
    return aggregate


WALL = [("getitem", 1, {})] * 60


@pytest.mark.parametrize("page", ["progress", "stages"])
def test_small_layers_of_one_name_that_are_done_share_a_row_until_all_are_asked_for(page):
    aggregate = done_layers(("sum", 50, {}), *WALL, ("getitem", 1, {"erred": 1}), ("mean", 3, {}))
    opened = Opened(page, aggregate)
    card, source = opened.card(page), opened.document.get_model_by_name(f"{page}-source")
    assert (list(source.data["label"]), card.folding.button.visible) == (["mean", "getitem", "getitem", "sum"], True)
    assert list(source.data["count"]) == ["3 / 3", "0 / 1, 1 failed", "60 / 60 in 60 layers", "50 / 50"]
    assert source.data["name"][2] == "getitem, 60 layers" and "59 other places" in source.data["origin"][2]
    assert card.folding.button.label == "Show all 63 layers"
    assert [row[0] for row in card.table().rows] == ["mean", "getitem", "getitem, 60 layers", "sum"]
    card.folding.button._trigger_event(ButtonClick(card.folding.button))
    opened.update()
    assert len(source.data["label"]) in (60, 40) and card.folding.button.label == "Fold 60 layers that are done"
    assert "of 63" in card.legend.text
    card.folding.button._trigger_event(ButtonClick(card.folding.button))
    opened.update()
    assert len(source.data["label"]) == 4
    assert opened.update() == 0


def test_a_row_of_several_layers_says_how_long_all_their_tasks_take():
    opened = Opened("stages", done_layers(*WALL))
    (words,) = opened.document.get_model_by_name("stages-durations-source").data["text"]
    assert words == "mean 100 ms · median 100 ms · 95 % within 100 ms"
    assert "60 layers" in opened.card("stages").summary()


def test_few_layers_large_ones_and_those_that_run_keep_their_rows():
    few = done_layers(*WALL[:3], *[("big", 11, {})] * 5, *[("runs", 2, {"released": 1, "running": 1})] * 5)
    opened = Opened("progress", few)
    assert opened.rows("progress-source") == 13 and not opened.card("progress").folding.button.visible


def test_one_task_took_a_time_and_of_a_few_the_longest_is_said():
    aggregate = done_layers(("one", 1, {}), ("few", 3, {}))
    words = [durations_text(stage, 80) for stage in stages_of(aggregate, ordered_layers(aggregate))]
    assert words == ["mean 100 ms · median 100 ms · at most 100 ms", "took 100 ms"]


def test_words_about_durations_are_left_out_where_they_do_not_fit_and_the_least_important_first():
    (stage,) = stages_of(running(), ordered_layers(running()))[:1]
    whole = durations_text(stage, 80)
    assert [durations_text(stage, room) for room in (len(whole), len(whole) - 1, 20, 6)] == [
        "mean 347 ms · median 100 ms · 95 % within 100 ms · 1 straggler",
        "mean 347 ms · 95 % within 100 ms · 1 straggler",
        "mean 347 ms",
        "mean …",
    ]


def test_larger_layers_of_one_name_share_a_row_where_there_are_many():
    aggregate = done_layers(*[("slow", 12, {})] * 60, *[(f"other{n}", 12, {}) for n in range(5)])
    opened = Opened("progress", aggregate)
    counts = opened.document.get_model_by_name("progress-source").data["count"]
    assert counts == [*["12 / 12"] * 5, "720 / 720 in 60 layers"]
    opened.card("progress").folding.shows_all = True
    opened.update()
    assert opened.card("progress").folding.button.label == "Fold 60 layers that are done"


@pytest.mark.parametrize("name", ["a" * 300, "M" * 300, "名前" * 150])
def test_a_name_ends_before_its_count_however_wide_its_letters_are(name):
    source = Opened("stages", running(name)).document.get_model_by_name("stages-source").data
    for label, count in zip(source["label"], source["count"], strict=True):
        assert text_px(label, 12) + text_px(count, 11) < 560
