"""The task inspector and the task stream's clicks in a real browser: search, links, going back, and the keyboard."""

from __future__ import annotations

import pytest
import synthetic
from browsing import open_site, open_tab_of, state_when, tip_with
from glassloom_metrics.protocol import Layers, WorkerLeft
from page_waits import value_at_rest
from playwright.sync_api import expect
from synthetic import HOSTILE_NAMES, STARTED_AT_S, Shape
from test_running_tasks import running
from test_runs_view import run_rows
from test_task_view import row

PLACE = """([at_s, lane]) => {
  if (!Bokeh.documents[0].is_idle) return null
  const plot = Bokeh.documents[0].get_model_by_name('task-stream')
  const view = Bokeh.index.find_one_by_id ? Bokeh.index.find_one_by_id(plot.id) : Bokeh.index[plot.id]
  const {left, top} = view.canvas_view.el.getBoundingClientRect()
  const {x_scale, y_scale} = view.frame
  return [left + x_scale.compute(at_s), top + y_scale.compute(lane)]
}"""
"""Where a time and a lane are on the page."""


@pytest.fixture
def cluster(publish):
    """Return a made-up cluster that has done two tasks of ten seconds, of which the second read the first, and runs a third."""
    cluster = publish(Shape(workers=1, threads=2, tasks=0))
    cluster.add(
        Layers([0, 1], [HOSTILE_NAMES[0], "sum"], [5, 2], ["", ""]),
        row(0, "0", 0.0, 10.0, nbytes=8, ready_wait_s=0.5, sent_wait_s=0.0, cpu_s=5.0),
        row(1, "3, 4", 10.5, 9.5, layer=1, ready_wait_s=0.5, sent_wait_s=0.0, last_input=1),
        running(30.0, (0, 1, 1, "7", 12.0)),
    )
    return cluster


def place(tab, at_s: float, lane: float, plot: str = "task-stream") -> list[float]:
    return value_at_rest(tab, PLACE.replace("task-stream", plot), [at_s, lane])


@pytest.mark.long
def test_a_task_is_searched_opened_and_left_by_keyboard(cluster, tab):
    tab.goto(f"{tab.cluster}/task?theme=dark")
    tab.get_by_text("2 tasks have run").wait_for()
    tab.get_by_label("Search keys").focus()
    tab.keyboard.type("sum[3")
    tab.get_by_text("1 layer with such tasks").wait_for()
    expect(tab.locator("tr.row")).to_have_count(1)  # "sum[", typed so far, also finds what runs
    tab.keyboard.press("Tab")
    for _ in range(20):
        if tab.evaluate("document.activeElement.tagName") == "A":
            break
        tab.keyboard.press("Tab")
    tab.keyboard.press("Enter")
    tab.get_by_role("region", name="Task sum[3, 4]").wait_for()
    assert "open=1%3A3%2C+4" in tab.url and "theme=dark" in tab.url
    tab.get_by_role("img", name="ready, waited for a worker 500 ms").wait_for()
    tab.locator("p a", has_text="<img").click()
    tab.get_by_role("region", name=f"Task {HOSTILE_NAMES[0]}[0]").wait_for()
    tab.go_back()
    tab.get_by_role("region", name="Task sum[3, 4]").wait_for()
    tab.keyboard.press("Escape")
    tab.get_by_text("1 layer with such tasks").wait_for()
    assert "open=" not in tab.url
    expect(tab.get_by_label("Search keys")).to_have_value("sum[3")


def test_an_address_opens_a_task_that_is_followed_while_it_runs_and_dies(cluster, tab):
    tab.goto(f"{tab.cluster}/task?open=1:7")
    tab.get_by_text("It has run for 18 s.").wait_for()
    cluster.add(running(35.0, (0, 1, 1, "7", 12.0)))
    tab.get_by_text("It has run for 23 s.").wait_for()
    cluster.add(WorkerLeft(STARTED_AT_S + 36.0, 0, "killed"))
    tab.get_by_text("Its worker left while it ran.").wait_for()
    tab.reload()
    tab.get_by_text("Its worker left while it ran.").wait_for()


@pytest.mark.parametrize("page", ["task-stream", "status"])
def test_a_click_on_a_bar_shows_the_task_and_leads_to_its_page(cluster, tab, page):
    tab.goto(f"{tab.cluster}/{page}")
    state_when(tab, "s.rows == 2 && s.end > 30")
    height = "Bokeh.documents[0].get_model_by_name('task-stream').inner_height"
    tab.mouse.move(*place(tab, 5.0, 0))
    before = tab.evaluate(height)
    tip = tip_with(tab, "500 ms, mostly for a free worker", "50 %", "w0 · 0")
    assert tip.startswith(f"{HOSTILE_NAMES[0]}[0]")
    tab.mouse.click(*place(tab, 15.0, 0))
    tab.get_by_role("region", name="Task sum[3, 4]").wait_for()
    chosen = "Bokeh.documents[0].get_model_by_name('task-stream-chosen-source').data.left[0]"
    tab.wait_for_function(f"() => {chosen} === 10.5")
    tab.wait_for_function(f"() => {height} < {before}")
    tab.mouse.click(*place(tab, 25.0, 1))
    tab.get_by_text("It has run for 18 s.").wait_for()
    tab.keyboard.press("Escape")
    tab.wait_for_function(f"() => document.querySelector('.view.below').hidden && {height} === {before}")
    tab.mouse.click(*place(tab, 15.0, 0))
    tab.get_by_role("link", name="Open task").press("Enter")
    tab.get_by_role("region", name="Task sum[3, 4]").wait_for()
    assert f"{tab.cluster}/task?open=1%3A3%2C+4" in tab.url
    tab.go_back()
    state_when(tab, "s.rows == 2")


@pytest.mark.long
def test_links_to_other_pages_work_too_and_keep_the_theme(cluster, tab):
    cluster.add(run_rows([0]))
    tab.goto(f"{tab.cluster}/overview?theme=dark")
    tab.get_by_role("link", name="All runs").click()
    tab.wait_for_url(f"{tab.cluster}/runs?theme=dark")


def test_a_straggler_leads_to_its_task(publish, tab):
    cluster = publish(Shape(workers=1, threads=1, tasks=0))
    cluster.add(Layers([0], ["sum"], [41], [""]), *(row(n, str(n), n / 10, 0.1) for n in range(40)))
    cluster.add(row(40, "late", 5.0, 9.0))
    tab.goto(f"{tab.cluster}/stages")
    tab.wait_for_function("() => Bokeh.documents[0]?.get_model_by_name('stages-stragglers-source')?.get_length() === 1")
    tab.mouse.click(*place(tab, 9.0, 0.68, "stages-durations"))
    tab.get_by_role("region", name="Task sum[late]").wait_for()


@pytest.mark.long
def test_a_recording_is_searched_and_says_what_ran_at_its_end(tmp_path, runtime, browser):
    recorder = synthetic.make_recorder(Shape(workers=1, threads=2, tasks=0))
    recorder.record(Layers([0], ["sum"], [5], [""]))
    recorder.record(row(0, "3, 4", 1.0, 2.0, ready_wait_s=0.5, sent_wait_s=0.0))
    recorder.record(running(9.0, (0, 1, 0, "7", 4.0)))
    recording = tmp_path / "run.glr"
    synthetic.write_recording(recording, recorder)
    with open_site(browser, "--recording", str(recording)) as site, open_tab_of(site) as tab:
        pages = site.url.partition("?")[0].removesuffix("/status")
        tab.goto(f"{pages}/task?search=sum")
        tab.locator("tr.row", has_text="interrupted").wait_for()
        tab.locator("tr.row", has_text="finished").locator("a").click()
        tab.get_by_text("waited 500 ms for a worker that was free").wait_for()
        tab.goto(f"{pages}/task?open=0:7")
        tab.get_by_text("It ran when the cluster ended, or when the recording did.").wait_for()
