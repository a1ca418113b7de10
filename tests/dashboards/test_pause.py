"""A page that stands still: nothing is drawn but what its viewer asks for, and it says since when and how much has come."""

from __future__ import annotations

import time

import pytest
from bokeh.document.events import ModelChangedEvent
from bokeh.events import ButtonClick
from bokeh.model import Model
from glassloom_dashboards.parts.pause import AFTER_ASKED_S, PAUSE, RESUME
from glassloom_dashboards.parts.time_view import ALL
from glassloom_metrics.protocol import Life, Progress
from opened_pages import Opened, aggregate_of, events
from synthetic import STARTED_AT_S, Shape

SHAPE = Shape(tasks=40)


def opened_live(page: str = "status") -> Opened:
    aggregate = aggregate_of(SHAPE)
    aggregate.state = "live"
    opened = Opened(page, aggregate)
    opened.update()
    return opened


def press(opened: Opened) -> None:
    """Press the button as a browser tells it."""
    button = opened.view.pause.button
    for callback in opened.document.callbacks._message_callbacks["bokeh_event"]:
        callback(ButtonClick(button))


def tell(opened: Opened, model: Model, attribute: str, value: object) -> None:
    """Tell of a change of a model as a browser does."""
    opened.view._note_change(ModelChangedEvent(opened.document, model, attribute, value, setter=object()))


def more(opened: Opened, first: int, count: int) -> None:
    aggregate = opened.view._aggregate
    aggregate.apply(events(first, [(2.5 + n / 10, 2.55 + n / 10) for n in range(count)]))
    aggregate.apply(Progress(STARTED_AT_S + 40, [0], [5], [0], [0], [50], [0], [0]))


def test_a_paused_page_draws_nothing_and_says_how_much_has_come_until_it_is_resumed():
    opened = opened_live()
    pause, tasks = opened.view.pause, opened.rows("task-stream-source")
    assert (pause.button.visible, pause.button.label, pause.words.text) == (True, PAUSE, "")
    press(opened)
    opened.update(AFTER_ASKED_S + 1)
    assert pause.button.label == RESUME
    at = time.strftime("%H:%M:%S", time.localtime(opened.view._aggregate.last_at_s))
    assert (
        f"<b>Paused</b> at {at}" in pause.words.text.replace("Nov 14 ", "")
        and "no task has ended since" in pause.words.text
    )
    more(opened, 40, 3)
    opened.update()
    assert opened.rows("task-stream-source") == tasks
    assert "3 tasks have ended since" in pause.words.text
    assert opened.update() == 0, "nothing new, so nothing is sent"
    press(opened)
    opened.update()
    assert opened.rows("task-stream-source") == tasks + 3
    assert (pause.button.label, pause.words.text) == (PAUSE, "")


def test_what_a_viewer_does_on_a_paused_page_is_answered_and_the_words_say_as_of_when():
    opened = opened_live()
    press(opened)
    opened.update(AFTER_ASKED_S + 1)
    more(opened, 40, 3)
    opened.update()
    source = opened.document.get_model_by_name("task-stream-source")
    tasks = opened.rows("task-stream-source")
    tell(opened, opened.view.window, "tags", [900, 600])
    opened.update()
    assert len(source.data["left"]) == tasks + 3 and "no task has ended since" in opened.view.pause.words.text
    more(opened, 43, 2)
    opened.update(AFTER_ASKED_S + 0.1)
    assert len(source.data["left"]) == tasks + 3 and "2 tasks have ended since" in opened.view.pause.words.text


@pytest.mark.parametrize("following", [True, False])
@pytest.mark.parametrize(
    ("of", "attribute", "value", "by"),
    [
        (lambda view, plot: view.shown, "tags", [3, True], "browser"),
        (lambda view, plot: plot, "inner_width", 900, "browser"),
        (lambda view, plot: plot.x_range, "end", 9.5, "browser while it follows"),
        (lambda view, plot: plot.y_range, "start", 3.5, "browser while it follows"),
        (lambda view, plot: view.time.follow, "active", None, "viewer"),
        (lambda view, plot: view.window, "tags", [900, 600], "viewer"),
    ],
    ids=["answer", "size", "times", "lanes", "buttons", "window"],
)
def test_only_what_a_viewer_does_is_drawn_for_and_not_what_the_browser_does_by_itself(
    of, attribute, value, by, following
):
    opened = opened_live()
    view = opened.view
    view.time.follow.active = ALL if following else None
    press(opened)
    opened.update(AFTER_ASKED_S + 1)
    tell(opened, of(view, opened.card("task-stream").plot), attribute, value)
    is_own = by == "browser" or (following and by == "browser while it follows")
    assert view.pause.holds(opened.now_s + 0.1) == is_own


def test_a_cluster_that_ends_meanwhile_is_told_of_and_one_that_has_ended_cannot_be_paused():
    opened = opened_live()
    press(opened)
    opened.update(AFTER_ASKED_S + 1)
    opened.view._aggregate.apply(Life(STARTED_AT_S + 50, "closing"))
    opened.view._aggregate.end("the cluster was closed")
    opened.update()
    assert "the cluster is no longer there" in opened.view.pause.words.text and opened.view.pause.button.visible
    assert "ended</span>" in opened.view.strip.div.text
    press(opened)
    opened.update()
    assert not opened.view.pause.button.visible
