"""How a page tells what is true now from what was true once: heard-from times, frames that are answered, failures."""

from __future__ import annotations

import logging
import time

import pytest
from bokeh.document import Document
from glassloom_dashboards.folds.aggregate import ClusterAggregate
from glassloom_dashboards.parts.badge import LATE_S, SILENT_AFTER_S, Attention, Badge, badge_of
from glassloom_dashboards.parts.colours import ColourBook
from glassloom_dashboards.parts.layouts import LAYOUTS
from glassloom_dashboards.serving.pacing import BEAT_S, LOADING_WAIT_S, LONGEST_WAIT_S, Pacer
from glassloom_dashboards.serving.page import PageView
from glassloom_metrics.protocol import HEARTBEAT_S, Hello, Life, WorkerJoined
from opened_pages import Opened, aggregate_of, events
from synthetic import STARTED_AT_S, Shape


def heard(at_s: float) -> ClusterAggregate:
    aggregate = ClusterAggregate()
    aggregate.apply(Hello(2, "c1", "demo", "processes", STARTED_AT_S))
    aggregate.hear(at_s)
    return aggregate


def attentive(from_s: float, to_s: float) -> Attention:
    attention = Attention()
    for step in range(int((to_s - from_s) * 10) + 1):
        attention.look(from_s + step / 10)
    return attention


def test_a_cluster_that_says_nothing_is_not_called_live():
    aggregate = heard(100.0)
    assert badge_of(aggregate, attentive(90, 104), 104.0) == Badge("live", "live")
    assert badge_of(aggregate, attentive(90, 112), 112.0) == Badge("silent", "last heard 12 s ago")
    assert badge_of(aggregate, attentive(90, 400), 400.0) == Badge("silent", "last heard 5 min ago")
    aggregate.hear(400.0)
    assert badge_of(aggregate, attentive(90, 400), 400.0) == Badge("live", "live")


def test_a_cluster_that_never_answers_is_not_connecting_for_ever():
    aggregate = ClusterAggregate()
    assert badge_of(aggregate, attentive(0, 50), 50.0) == Badge("connecting", "connecting …")
    aggregate.hear(50.0)
    assert badge_of(aggregate, attentive(0, 62), 62.0) == Badge("silent", "no answer for 12 s")


def test_a_process_that_stood_still_blames_no_cluster_for_it():
    aggregate = heard(10.0)
    attention = attentive(0, 10)
    attention.look(60.0)  # 50 s later: what the cluster sent meanwhile lies unread in the socket
    assert badge_of(aggregate, attention, 60.0) == Badge("live", "live")
    for step in range(70):
        attention.look(60.0 + step / 10)
    assert badge_of(aggregate, attention, 67.0) == Badge("silent", "last heard 57 s ago")


@pytest.mark.parametrize("state", ["ended", "reconnecting", "refused"])
def test_other_states_are_not_about_silence(state):
    aggregate = heard(0.0)
    aggregate.set_state(state)
    assert badge_of(aggregate, attentive(0, 90), 90.0).look == state


def test_the_page_says_since_when_it_has_heard_nothing_though_nothing_else_changes():
    aggregate = aggregate_of(Shape())
    aggregate.hear(0.0)
    opened = Opened("task-stream", aggregate)
    opened.view.strip._attention = Attention()  # attached by the real clock, updated by ours
    for _ in range(12):
        opened.update(1.0)
    assert '<span class="badge silent" title="">last heard 12 s ago</span>' in opened.view.strip.div.text
    aggregate.hear(12.0)
    opened.update(1.0)
    assert ">live</span>" in opened.view.strip.div.text
    assert SILENT_AFTER_S > 3 * HEARTBEAT_S


def test_no_frame_is_sent_before_the_one_before_it_was_shown():
    pacer = Pacer()
    assert pacer.is_due(0.0) and pacer.is_beat_due(0.0)
    first = pacer.send(0.0)
    assert not pacer.is_due(1000.0) and not pacer.is_beat_due(1000.0)
    pacer.acknowledge(first - 1, is_visible=True)
    assert not pacer.is_due(1000.0)
    pacer.acknowledge(first, is_visible=True)
    assert pacer.is_due(1000.0) and pacer.is_beat_due(1000.0)
    assert not pacer.is_beat_due(BEAT_S / 2)


def test_a_browser_that_claims_frames_from_the_future_gets_none_ahead():
    pacer = Pacer()
    pacer.acknowledge(10**9, is_visible=True)
    pacer.send(0.0)
    assert pacer.waits


def test_for_a_hidden_page_nothing_is_drawn_but_it_hears_that_the_process_lives():
    pacer = Pacer()
    pacer.acknowledge(pacer.send(0.0), is_visible=False)
    assert not pacer.is_due(50.0) and pacer.is_beat_due(50.0)
    pacer.acknowledge(pacer.send(50.0), is_visible=True)
    assert pacer.is_due(50.0)


def test_while_a_log_is_read_frames_are_far_apart_and_the_one_after_it_comes_at_once():
    pacer = Pacer()
    assert pacer.is_due(0.0, is_loading=True)  # what is there is shown at once
    pacer.drew(started_s=0.0, stopped_s=0.01, is_loading=True)
    due = [
        (is_loading, pacer.is_due(at_s, is_loading=is_loading))
        for at_s in (0.2, 1.1 * LOADING_WAIT_S)
        for is_loading in (True, False)
    ]
    assert due == [(True, False), (False, True), (True, True), (False, True)]
    pacer = Pacer()
    pacer.drew(started_s=0.0, stopped_s=0.1, is_loading=True)  # an expensive frame delays others, but not this one
    assert [pacer.is_due(at_s, is_loading=at_s < 0.3) for at_s in (0.2, 0.3)] == [False, True]


def test_the_document_counts_as_a_frame_while_a_log_is_read():
    pacer = Pacer()
    pacer.opened(10.0, is_loading=True)
    assert not pacer.is_due(10.5, is_loading=True) and not pacer.is_beat_due(10.5)
    assert pacer.is_due(10.5, is_loading=False), "also where nobody has asked before all was read"
    assert pacer.is_due(10.0 + LOADING_WAIT_S, is_loading=True) and pacer.is_beat_due(10.0 + BEAT_S)
    assert not pacer.waits, "a document needs no answer"


def test_after_an_expensive_frame_what_a_viewer_has_chosen_does_not_wait():
    pacer = Pacer()
    pacer.drew(started_s=0.0, stopped_s=0.2)
    assert not pacer.is_due(0.3)
    pacer.hurry()
    assert pacer.is_due(0.3)
    view = ticking(aggregate_of(Shape(tasks=40)))
    view._tick()
    view.shown.tags = [1, True]
    view._pacer.drew(started_s=time.monotonic() - 3600.0, stopped_s=time.monotonic())  # as if it had taken an hour
    legend = view.cards[0].legend.text
    view.theme.tags = ["dark"]
    view._tick()
    assert view.frame.tags == [2] and view.cards[0].legend.text != legend


def ticking(aggregate: ClusterAggregate) -> PageView:
    view = PageView("task-stream", aggregate, ColourBook(), "light")
    view.attach(Document())
    return view


def rows_of(view: PageView) -> int:
    return len(view.cards[0].single.data["left"])


def test_a_browser_that_does_not_answer_gets_one_frame_and_no_more():
    aggregate = aggregate_of(Shape(tasks=0))
    view = ticking(aggregate)
    for number in range(5):
        aggregate.apply(events(number, [(number, number + 0.5)]))
        view._tick()
    assert (rows_of(view), view.frame.tags) == (1, [1])
    view.shown.tags = [1, True]
    view._pacer.drew(started_s=0.0, stopped_s=0.0)  # due at once: pacing is not what is tested here
    view._tick()
    assert (rows_of(view), view.frame.tags) == (5, [2])


def test_nonsense_from_a_browser_answers_nothing():
    view = ticking(aggregate_of(Shape()))
    view._tick()
    for nonsense in ([], ["1", True], [1], [1, 1], [None, None]):
        view.shown.tags = nonsense
    assert view._pacer.waits


def test_a_card_that_cannot_be_drawn_says_so_and_the_others_go_on(caplog):
    aggregate = aggregate_of(Shape())
    opened = Opened("status", aggregate)
    progress = opened.card("progress")
    drawn = progress.update
    progress.update = lambda now_s: 1 / 0
    aggregate.apply(WorkerJoined(STARTED_AT_S, 9, "w9", 1, 2))
    with caplog.at_level(logging.ERROR):
        opened.update()
        opened.update()
    empty = opened.document.get_model_by_name("progress-empty")
    assert "This plot could not be drawn" in empty.text and empty.visible
    assert opened.document.get_model_by_name("workers-memory-source").data["label"] == ["w0", "w1", "w9"]
    errors = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert [record.exc_info[0] for record in errors] == [ZeroDivisionError], "once, with its traceback"
    assert "'progress' of page 'status' of cluster 'demo' could not be drawn" in errors[0].getMessage()

    progress.update = drawn
    opened.update()
    assert (empty.text, empty.visible) == ("", False)
    assert opened.rows("progress-source") == 8


def test_zooming_to_some_lanes_while_others_are_idle_is_drawn():
    aggregate = aggregate_of(Shape(workers=10, threads=2, tasks=0))
    aggregate.apply(events(0, [(n / 100, n / 100 + 0.005) for n in range(5000)], lane=1))
    opened = Opened("status", aggregate)
    stream = opened.card("task-stream")
    for bottom, events_in_view in ((0.4, 0), (1.4, 5000)):  # the first lane, which is idle; the first two
        stream.follow.active = None
        stream.plot.y_range.update(start=bottom, end=-0.5)
        opened.update()
        opened.update()
        assert opened.document.get_model_by_name("task-stream-empty").text == ""
        assert int(sum(stream.bins.data["tasks"])) == events_in_view


def test_a_cluster_that_cannot_be_read_says_why_once_and_each_card_that_it_cannot():
    aggregate = ClusterAggregate()
    aggregate.refuse("cluster 'x' speaks version 9 <of> the metrics protocol")
    opened = Opened("status", aggregate)
    words = "Cluster &#39;x&#39; speaks version 9 &lt;of&gt; the metrics protocol."
    strip = opened.view.strip.div.text.replace("&#x27;", "&#39;")
    assert words in strip and ">cannot be read</span>" in strip
    for card in LAYOUTS["status"].cards:
        text = opened.document.get_model_by_name(f"{card}-empty").text.replace("&#x27;", "&#39;")
        assert "<b>This cluster cannot be read</b>" in text and words not in text


def test_messages_that_could_not_be_read_are_told_on_the_page():
    aggregate = aggregate_of(Shape())
    opened = Opened("task-stream", aggregate)
    aggregate.skip_message()
    opened.update()
    assert "1 message could not be read: what it told is missing here." in opened.view.strip.div.text
    aggregate.skip_message()
    opened.update()
    assert "2 messages could not be read: what they told" in opened.view.strip.div.text
    aggregate.apply(Hello(2, "c1", "demo", "processes", STARTED_AT_S))
    aggregate.apply(Life(STARTED_AT_S, "started"))
    opened.update()
    assert "could not be read" not in opened.view.strip.div.text, "the log was read anew"


def test_pages_that_are_drawn_seldom_notice_a_silent_cluster():
    assert max(LONGEST_WAIT_S, LOADING_WAIT_S) < LATE_S
    attention, aggregate = Attention(), ClusterAggregate()
    aggregate.hear(0.0)
    for step in range(6):
        attention.look(step * LONGEST_WAIT_S * 1.1)
    assert badge_of(aggregate, attention, 12.0).look == "silent"
