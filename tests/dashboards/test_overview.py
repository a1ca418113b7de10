"""The overview: what it calls healthy, each alert, the latest run, and that nothing of users is read as HTML."""

from __future__ import annotations

import time

import pytest
from glassloom_dashboards.folds.aggregate import ClusterAggregate
from glassloom_dashboards.parts.badge import SILENT_AFTER_S, Badge
from glassloom_dashboards.parts.strip import facts
from glassloom_dashboards.views.health import alerts_of, headline_of
from glassloom_dashboards.views.overview import headroom_of
from glassloom_dashboards.views.worker_rows import memory_bar, worker_rows
from glassloom_metrics.protocol import (
    Dropped,
    EngineSamples,
    Errors,
    Hello,
    HostSamples,
    Layers,
    Life,
    Pressure,
    Progress,
    Runs,
    WorkerJoined,
    WorkerLeft,
    WorkerSamples,
)
from opened_pages import Opened, aggregate_of, events
from synthetic import HOSTILE_NAMES, MIB, STARTED_AT_S, Shape

LIVE = Badge("live", "live")


def cluster(workers: int = 2) -> ClusterAggregate:
    aggregate = ClusterAggregate()
    aggregate.apply(Hello(2, "c1", "demo", "processes", STARTED_AT_S))
    for worker in range(workers):
        aggregate.apply(WorkerJoined(STARTED_AT_S, worker, f"w{worker}", 1, 2, 100 * MIB))
    return aggregate


def measure(aggregate: ClusterAggregate, used: int, *, spilled: int = 0, pressure: int = Pressure.NONE) -> None:
    workers = list(aggregate.workers)
    count = len(workers)
    aggregate.apply(
        WorkerSamples(
            STARTED_AT_S + 5, workers, [150.0] * count, [used] * count, [used] * count, [0] * count, [spilled] * count,
            [1] * count, [0] * count, [used] * count, [0] * count, [pressure] * count,
        )
    )  # fmt: skip


def run(outcome: str = "running", done: int = 40, failed: int = 0, code: str = "x.sum().compute()") -> Runs:
    ended = None if outcome == "running" else STARTED_AT_S + 10
    return Runs([3], ["compute"], [code], ["a.ipynb"], [""], [""], ["cell 2"], [STARTED_AT_S], [ended], [outcome], [100], [done], [failed])  # fmt: skip


def words_of(aggregate: ClusterAggregate, badge: Badge = LIVE) -> list[tuple[str, str]]:
    return [(alert.kind, alert.words) for alert in alerts_of(aggregate, badge)]


def headline(aggregate: ClusterAggregate) -> tuple[str, str]:
    return headline_of(aggregate, alerts_of(aggregate, LIVE))


def test_a_cluster_without_problems_is_healthy_and_says_what_it_does():
    assert headline(cluster(0)) == ("good", "Waiting for workers")
    aggregate = cluster()
    assert (headline(aggregate), words_of(aggregate)) == (("good", "Healthy, waiting for tasks"), [])
    aggregate.apply(Layers([0], ["sum"], [5], [""]))
    aggregate.apply(Progress(STARTED_AT_S, [0], [3], [0], [2], [0], [0], [0]))
    assert headline(aggregate) == ("good", "Healthy, and at work")
    aggregate.apply(Life(STARTED_AT_S + 9, "closing"))
    assert headline(aggregate) == ("stopped", "This cluster has ended")


def test_a_worker_that_died_is_an_alert_and_one_that_was_retired_is_none():
    aggregate = cluster()
    aggregate.apply(WorkerLeft(STARTED_AT_S + 4, 0, "retired"))
    assert words_of(aggregate) == []
    aggregate.apply(WorkerLeft(STARTED_AT_S + 5, 1, "it was killed by signal 9"))
    assert words_of(aggregate) == [("bad", "1 worker died: w1. It was killed by signal 9.")]
    assert headline(aggregate) == ("bad", "1 thing to look at")
    aggregate.apply(Life(STARTED_AT_S + 9, "closing"))
    assert words_of(aggregate) == [("bad", "1 worker died: w1. It was killed by signal 9.")], "as in a replay of it"


def test_memory_near_its_limit_spilling_and_pausing_are_alerts():
    aggregate = cluster()
    measure(aggregate, 50 * MIB)
    assert words_of(aggregate) == []
    measure(aggregate, 80 * MIB, spilled=MIB)
    assert words_of(aggregate) == [
        ("warning", "2 workers near the memory limit: w0, w1."),
        ("warning", "2.00 MiB of results are on disk: they don't fit into memory."),
    ]
    measure(aggregate, 90 * MIB, pressure=Pressure.PAUSED)
    assert words_of(aggregate) == [("bad", "2 workers paused for want of memory: w0, w1.")]


def share(aggregate: ClusterAggregate, own: int, shared: int) -> None:
    aggregate.apply(WorkerSamples(STARTED_AT_S + 5, [0], [0.0], [own + shared], [0], [shared], [0], [0], [0],
                                  [own], [own], [0]))  # fmt: skip


def said_of_memory(aggregate: ClusterAggregate) -> tuple[str, str, str, str]:
    """Return what the strip, the overview's bar, its note and the row of workers say."""
    (bar,) = [bar for bar in headroom_of(aggregate) if bar["name"] == "Memory"]
    row = str(memory_bar(worker_rows(aggregate)[0])["words"])
    return dict(facts(aggregate))["memory"], str(bar["words"]), str(bar["near"]), row


def test_shared_results_count_against_no_limit_and_more_than_the_limit_is_called_over():
    aggregate = cluster(1)
    share(aggregate, 60 * MIB, 70 * MIB)
    words = "130 MiB of 100 MiB, 70.0 MiB shared"
    assert said_of_memory(aggregate) == (words, f"{words}, 40.0 MiB free", "", words)
    assert words_of(aggregate) == []
    share(aggregate, 110 * MIB, 0)
    words = "110 MiB of 100 MiB, 10.0 MiB over"
    assert said_of_memory(aggregate) == (words, words, "over the limit", words)
    assert words_of(aggregate) == [("warning", "1 worker over the memory limit: w0.")]


def test_failures_come_first_and_lead_to_the_log():
    aggregate = cluster()
    measure(aggregate, 80 * MIB)
    aggregate.apply(
        Errors([1], [0], ["ValueError"], ["bad"], [""], [0], ["cell 3"], [7], [STARTED_AT_S], [STARTED_AT_S], [["a"]])
    )
    alerts = alerts_of(aggregate, LIVE)
    assert (alerts[0].kind, alerts[0].words, alerts[0].page) == ("bad", "7 tasks failed: ValueError: bad", "logs")
    assert alerts[1].kind == "warning"


def test_each_error_is_told_with_as_many_tasks_as_it_had():
    aggregate = cluster()

    def fail(group: int, exception: str, message: str, count: int) -> str:
        times = [STARTED_AT_S]
        aggregate.apply(Errors([group], [0], [exception], [message], [""], [0], [""], [count], times, times, [["a"]]))
        return alerts_of(aggregate, LIVE)[0].words

    fail(1, "ValueError", "bad", 5)
    assert fail(2, "WorkerLost", "gone", 1) == "6 tasks failed: 5 with ValueError: bad; 1 with WorkerLost: gone"
    assert fail(3, "ValueError", "bad", 2) == "8 tasks failed: 7 with ValueError: bad; 1 with WorkerLost: gone"
    words = fail(4, "KeyError", "'x'", 3)
    assert words == "11 tasks failed: 7 with ValueError: bad; 3 with KeyError: 'x'; 1 with others"


def test_silence_lost_records_a_late_head_and_a_full_host_are_alerts():
    aggregate = cluster()
    aggregate.apply(Dropped(1, 9))
    aggregate.apply(EngineSamples(STARTED_AT_S + 1, 2.5, 3.0, MIB, 10, MIB, MIB, 1))
    aggregate.apply(HostSamples(STARTED_AT_S + 1, "box", 4, 50.0, 95, 100, 0, 0, 0, 0, 0, "not supported", 100))
    assert words_of(aggregate, Badge("silent", "last heard 12 s ago")) == [
        ("bad", "The cluster is silent: last heard 12 s ago. What is shown is as old."),
        ("warning", "The head was late by up to 2.5 s: everything waits for it."),
        ("warning", "The memory of box is 95 % full."),
        (
            "warning",
            "The oldest part of this cluster's log is gone, as the log is bounded: what is shown begins later.",
        ),
    ]


def test_tasks_without_a_worker_are_an_alert():
    aggregate = cluster(0)
    aggregate.apply(Layers([0], ["sum"], [5], [""]))
    aggregate.apply(Progress(STARTED_AT_S, [0], [5], [0], [0], [0], [0], [0]))
    assert words_of(aggregate) == [("bad", "Tasks wait, and there is no worker to run them.")]


def test_the_latest_run_says_how_far_how_fast_and_how_long_still():
    aggregate = cluster()
    aggregate.apply(Layers([0], ["sum"], [100], [""], runs=[3]))
    aggregate.apply(events(0, [(n / 8, n / 8 + 0.125) for n in range(40)]))
    aggregate.apply(run())
    aggregate.apply(Progress(STARTED_AT_S + 5, [0], [60], [0], [0], [40], [0], [0]))
    opened = Opened("overview", aggregate)
    text = opened.card("overview").view.text
    assert "40 of 100 tasks done" in text and "width:40.00%" in text
    assert "8.0/s · about 8 s left" in text
    aggregate.apply(run("failed", 98, 2))
    opened.update()
    text = opened.card("overview").view.text
    assert ">failed</span>" in text and "2 failed" in text and "9.8/s" in text


def test_runs_of_one_cell_that_followed_each_other_are_one_with_sums():
    aggregate = cluster()
    for number in range(3):
        at_s = STARTED_AT_S + number
        ended_s, outcome = (None, "running") if number == 2 else (at_s + 0.5, "finished")
        row = (number, "compute", "x", "a.ipynb", "c", "k", "cell 4, line 1: x", at_s, ended_s, outcome, 10, 4, 1)
        aggregate.apply(Runs(*([value] for value in row)))
    card = Opened("overview", aggregate).card("overview")
    assert (
        "3 runs of cell 4" in card.view.text
        and "12 of 30 tasks done" in card.view.text
        and "3 failed" in card.view.text
    )
    assert dict(card.table().rows)["Latest run"].startswith("3 runs of cell 4 · x · running · ")


def test_use_of_memory_threads_and_what_the_engine_takes_are_said():
    aggregate = cluster()
    measure(aggregate, 40 * MIB)
    aggregate.apply(EngineSamples(STARTED_AT_S + 1, 0.002, 3.0, 90 * MIB, 10, MIB, 2 * MIB, 1))
    aggregate.apply(HostSamples(STARTED_AT_S + 1, "box", 4, 50.0, 2**30, 2**32, 0, 0, 0, 0, 0, 0, 100))
    rows = dict(Opened("overview", aggregate).card("overview").table().rows)
    assert rows["Memory"] == "80.0 MiB of 200 MiB, 120 MiB free"
    assert rows["CPU"] == "3.0 of 4 cores' worth"
    assert rows["box"] == "50 % of 4 CPUs · 1.00 GiB of 4.00 GiB"
    assert rows["Head takes"] == "3.0 % of a core, 90.0 MiB"
    assert rows["Diagnostics take"] == "1.00 MiB in memory, 2.00 MiB on disk · 1 reader"


def test_what_runs_is_one_number_on_the_page_also_between_two_samples():
    aggregate = cluster()
    measure(aggregate, 40 * MIB)  # in which two tasks ran
    aggregate.apply(Layers([0], ["sum"], [9], [""]))
    for running, busy in ((3, 3), (0, 0), (7, 4)):
        aggregate.apply(Progress(STARTED_AT_S + 5, [0], [9 - running], [0], [running], [0], [0], [0]))
        rows = dict(Opened("overview", aggregate).card("overview").table().rows)
        assert (dict(facts(aggregate))["running"], rows["Threads"]) == (f"{running}", f"{busy} of 4 busy")


@pytest.mark.parametrize("state", ["live", "ended", "refused", "recording", "loading", "reconnecting"])
def test_every_state_has_words(state):
    for aggregate in (ClusterAggregate(), cluster(), aggregate_of(Shape(failures=True, gpus=2))):
        aggregate.set_state(state)
        opened = Opened("overview", aggregate)
        assert opened.update() == 0
        if state == "refused" and not aggregate.generation:
            assert "cannot be read" in opened.document.get_model_by_name("overview-empty").text
        else:
            assert 'class="headline' in opened.card("overview").view.text


def test_silence_is_seen_though_nothing_comes():
    aggregate = cluster()
    aggregate.hear(time.monotonic())
    opened = Opened("overview", aggregate)
    opened.now_s = began_s = time.monotonic()
    while opened.now_s <= began_s + SILENT_AFTER_S + 1:
        opened.update(0.5)
    assert "The cluster is silent" in opened.card("overview").view.text


def test_names_of_users_are_text():
    aggregate = cluster()
    for name in HOSTILE_NAMES:
        aggregate.apply(run(code=f"{name}\n"))
        aggregate.apply(WorkerJoined(STARTED_AT_S, 7, name, 1, 2))
        aggregate.apply(WorkerLeft(STARTED_AT_S, 7, name))
        text = Opened("overview", aggregate).card("overview").view.text
        assert "<img" not in text and "<script" not in text


def test_utilisation_is_the_share_of_the_threads_time_that_is_computed():
    aggregate = cluster(workers=1)
    aggregate.apply(events(0, [(0.0, 4.0)], lane=0))
    aggregate.apply(events(1, [(0.0, 2.0)], lane=1))
    opened = Opened("overview", aggregate)
    rows = opened.document.get_model_by_name("utilisation-source").data
    busy = dict(zip(rows["left"].round(2).tolist(), rows["compute"].tolist(), strict=True))
    assert busy[1.0] == pytest.approx(1.0) and busy[3.0] == pytest.approx(0.5)
    assert "computing 75 % of the time" in opened.card("utilisation").legend.text


def test_a_time_budget_of_no_run_speaks_of_none():
    aggregate = cluster(1)
    measure(aggregate, MIB)
    assert "in all, before any run" in Opened("time-budget", aggregate).card("time-budget").legend.text
    aggregate.apply(events(0, [(0.0, 4.0)]))
    assert "in the latest run" in Opened("time-budget", aggregate).card("time-budget").legend.text


def test_the_strip_and_the_overview_say_the_same_memory():
    aggregate = cluster(1)
    aggregate.apply(WorkerSamples(STARTED_AT_S, [0], [0.0], [900 * MIB], [10 * MIB], [20 * MIB], [0], [0], [0],
                                  [40 * MIB], [30 * MIB], [0]))  # fmt: skip
    memory = next(str(bar["words"]) for bar in headroom_of(aggregate) if bar["name"] == "Memory")
    assert memory.split(" of ")[0] == dict(facts(aggregate))["memory"].split(" of ")[0] == "60.0 MiB"


def test_what_needs_attention_is_said_once_on_a_page():
    aggregate = cluster()
    aggregate.skip_message()
    aggregate.apply(Errors([0], [0], ["ValueError"], ["bad"], ["Traceback"], [0], [""], [2], [1.0], [2.0], [["k"]]))
    overview, status = Opened("overview", aggregate), Opened("status", aggregate)
    strip, text = overview.view.strip.div.text, overview.card("overview").view.text
    for words in ("could not be read", "ValueError"):
        assert words in text and words not in strip
        assert words in status.view.strip.div.text


@pytest.mark.parametrize("page", ["status", "runs", "logs", "task", "stages", "memory"])
def test_a_cluster_that_is_over_is_not_said_to_wait_for_anything(page):
    aggregate = cluster(0)
    words = [card.empty.text for card in Opened(page, aggregate).view.cards]
    assert any(" yet</b>" in one for one in words)
    aggregate.set_recorded("")
    assert not any(" yet" in card.empty.text for card in Opened(page, aggregate).view.cards)


def test_a_recording_without_runs_does_not_say_that_nothing_ran_though_tasks_did():
    aggregate = cluster()
    aggregate.set_recorded("")
    assert "Nothing ran." in Opened("overview", aggregate).card("overview").view.text
    aggregate.apply(Layers([1], ["sum"], [4], ["cell 2"]))
    text = Opened("overview", aggregate).card("overview").view.text
    assert "Nothing ran." not in text and "Its runs were not recorded." in text
