"""Cards that are HTML in a real browser: clicks, typing, the keyboard, and that a new frame takes nothing from the user."""

from __future__ import annotations

import re

import pytest
from glassloom_metrics.protocol import Log, Runs, WorkerLeft
from page_waits import value_at_rest, wait_for_value, wait_until_said
from playwright.sync_api import expect
from synthetic import HOSTILE_NAMES, STARTED_AT_S, Shape
from test_runs_view import run_rows


def runs(*ids: int, outcome: str = "finished") -> Runs:
    return run_rows(list(ids), code="first = 1\nsecond = 2\n" + HOSTILE_NAMES[0], outcome=outcome)


@pytest.mark.long
def test_a_run_is_opened_and_compared_by_keyboard_and_keeps_the_focus_while_frames_come(publish, tab):
    cluster = publish(Shape(workers=1, tasks=0))
    cluster.add(runs(0, 1, outcome="running"))
    tab.goto(f"{tab.cluster}/runs")
    first = tab.locator("tr.row").first.locator("button").first
    first.focus()
    tab.keyboard.press("Enter")
    expect(tab.locator("pre")).to_have_text(re.compile(r"^first = 1\nsecond = 2\n<img"))
    cluster.add(runs(0, 1, 2))
    expect(tab.locator("tr.row")).to_have_count(3)
    wait_for_value(tab, "document.activeElement.dataset.value", "1")  # the row that was opened, no longer the first
    expect(tab.locator("pre")).to_have_count(1)
    tab.keyboard.press("Tab")
    wait_for_value(tab, "document.activeElement.dataset.ask", "choose")
    tab.keyboard.press("Space")
    tab.get_by_text("Choose another run to compare.").wait_for()
    tab.get_by_label("Compare run 0").click()
    tab.get_by_text("B against A").first.wait_for()
    tab.keyboard.press("Escape")
    tab.get_by_text("B against A").first.wait_for(state="detached")


@pytest.mark.long
def test_beside_a_notebook_no_word_of_a_comparison_is_broken_into_letters(publish, tab):
    cluster = publish(Shape(workers=1, tasks=0))
    cluster.add(runs(0, 1, outcome="finished"))
    tab.set_viewport_size({"width": 380, "height": 800})
    tab.goto(f"{tab.cluster}/runs?open=0%2C1")
    tab.get_by_text("B against A").first.wait_for()
    cells = """section[aria-label="Comparison of two runs"] th[scope="row"]"""
    widths = value_at_rest(
        tab, "selector => [...document.querySelectorAll(selector)].map(cell => cell.offsetWidth)", cells
    )
    assert len(widths) > 3 and min(widths) > 80


@pytest.mark.long
def test_what_is_typed_is_searched_for_and_stays_while_frames_come(publish, tab):
    cluster = publish(Shape(workers=1, tasks=0))
    cluster.add(*(Log(STARTED_AT_S + n, 0, "stdout", f"line {n} {HOSTILE_NAMES[2]}") for n in range(200)))
    tab.goto(f"{tab.cluster}/logs")
    tab.get_by_text("line 199").wait_for()
    at_end = (
        "() => { const l = document.querySelector('.lines'); return l.scrollHeight - l.scrollTop - l.clientHeight < 5 }"
    )
    tab.wait_for_function(at_end)
    cluster.add(Log(STARTED_AT_S, 0, "stderr", "the newest"))
    tab.get_by_text("the newest").wait_for()
    tab.wait_for_function(at_end)  # the newest line is followed
    tab.locator(".lines").hover()
    tab.mouse.wheel(0, -500)
    tab.get_by_text("Follow newest").wait_for()
    tab.get_by_text("Follow newest").click()
    tab.wait_for_function(at_end)

    field = tab.get_by_label("Search lines")
    field.type("LINE 7")
    expect(tab.locator(".line")).to_have_count(11)
    cluster.add(Log(STARTED_AT_S, 0, "stdout", "line 7 again"))
    expect(tab.locator(".line")).to_have_count(12)
    expect(field).to_have_value("LINE 7")
    expect(field).to_be_focused()


@pytest.mark.long
def test_workers_are_sorted_and_a_dead_one_is_opened_and_closed(publish, tab):
    cluster = publish(Shape(workers=120, tasks=100))
    cluster.add(WorkerLeft(STARTED_AT_S + 99, 7, HOSTILE_NAMES[0]))
    tab.goto(f"{tab.cluster}/workers")
    tab.get_by_text("119 here, 1 left").wait_for()
    tab.get_by_role("button", name="Next workers").click()
    tab.get_by_text("51–100 of 120").wait_for()
    tab.get_by_role("button", name="CPU").click()
    tab.locator("th[aria-sort=descending]").wait_for()
    tab.get_by_label("Search names").type("left")
    tab.get_by_text("1 of 120 match").wait_for()
    tab.get_by_role("button", name="w7", exact=True).click()
    tab.get_by_text(HOSTILE_NAMES[0]).first.wait_for()
    tab.get_by_role("img", name="Memory: last").wait_for()
    tab.keyboard.press("Escape")
    tab.get_by_text("1 of 120 match").wait_for()
    expect(tab.get_by_label("Search names")).to_have_value("left")


def test_what_was_typed_just_before_a_click_is_searched_for_too(publish, tab):
    cluster = publish(Shape(workers=3, tasks=100))
    cluster.add(WorkerLeft(STARTED_AT_S + 99, 1, "killed"))
    tab.goto(f"{tab.cluster}/workers")
    tab.get_by_text("2 here, 1 left").wait_for()
    tab.evaluate(
        """() => {
            const field = document.querySelector('input[type=search]');
            field.value = 'left';
            field.dispatchEvent(new Event('input', { bubbles: true }));
            document.querySelector('tr.gone button').click();
        }"""
    )
    tab.get_by_role("img", name="Memory: last").wait_for()
    tab.keyboard.press("Escape")
    tab.get_by_text("1 of 3 match").wait_for()
    expect(tab.get_by_label("Search names")).to_have_value("left")


def test_a_button_that_is_pressed_before_bokehjs_has_come_is_answered_when_it_has(publish, tab):
    cluster = publish(Shape(workers=1, tasks=0))
    cluster.add(runs(0, 1))
    tab.goto(f"{tab.cluster}/runs")
    tab.locator("tr.row").first.wait_for()
    held = []
    tab.route("**/bokeh.min.js*", lambda route: held.append(route))
    tab.goto(f"{tab.cluster}/runs", wait_until="commit")
    tab.wait_for_function("() => document.querySelector('tr.row button')")
    tab.evaluate("() => document.querySelector('tr.row button').click()")
    wait_until_said(tab, lambda: held)[0].continue_()
    tab.locator("pre").wait_for()
