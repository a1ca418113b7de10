"""Dashboards as panes: opened from the panel, through Jupyter's own address, coming back when their process dies."""

from __future__ import annotations

import os
import re
import signal
from urllib.parse import urlsplit

import psutil
import pytest
from glassloom_dashboards.parts.theme import PALETTES
from page_waits import wait_until_true
from playwright.sync_api import Locator, expect

FIRST_OPENING_MS = 60_000
DRAWN = """colour => {
  const doc = window.Bokeh?.documents[0], stream = doc?.get_model_by_name('task-stream')
  return Boolean(doc?.is_idle && stream?.below[0].major_label_text_color === colour)
}"""


KEEP_STATES = """pane => {
  window.states = []
  window.said = []
  const note = () => window.states.at(-1) === pane.dataset.state || window.states.push(pane.dataset.state)
  new MutationObserver(note).observe(pane, {attributeFilter: ['data-state']})
  window.addEventListener('message', event => window.said.push(event.data.type))
}"""


PUT = """([area, mode]) => {
  const { shell } = window.jupyterapp
  const all = ['main', 'down'].flatMap(area => [...shell.widgets(area)])
  const pane = all.find(widget => widget.hasClass('gl-Pane'))
  const ref = all.find(widget => widget !== pane).id
  shell.add(pane, area, mode && { mode, ref })
  shell.activateById(pane.id)
}"""


def wait_until_drawn(pane: Locator, theme: str) -> None:
    """Wait until a status page has drawn all it has been sent, in a theme's colours."""
    frame = pane.locator("iframe").element_handle().content_frame()
    frame.wait_for_function(DRAWN, arg=PALETTES[theme].muted_text)


@pytest.mark.long
def test_the_panel_opens_a_page_of_a_cluster_that_was_started_elsewhere(
    page, lab, open_lab, open_pane, publish_cluster, sockets
):
    cluster = publish_cluster("nightly run", "--tasks=300", "--busy")
    open_lab()
    card = page.locator(f'.gl-Card[data-cluster="{cluster}"]')
    expect(card).to_contain_text("nightly run")
    expect(card).to_contain_text("4 workers, 8 threads")
    expect(card).to_contain_text("300 tasks done")
    pane = open_pane(cluster, "task-stream")
    source = pane.locator("iframe").get_attribute("src")
    assert source == f"{lab.url}glassloom/dash/{cluster}/task-stream?theme=light"
    (bokeh,) = [urlsplit(url) for url in sockets if "/dash/" in url]
    assert (bokeh.scheme, bokeh.netloc) == ("ws", urlsplit(lab.url).netloc)
    assert bokeh.path == f"/user/someone/glassloom/dash/{cluster}/task-stream/ws"


@pytest.mark.long
def test_a_page_follows_the_theme_without_being_loaded_again(
    open_lab, open_pane, set_theme, keep_picture, publish_cluster
):
    cluster = publish_cluster("nightly", "--tasks=300", "--busy")
    open_lab("dark")
    pane = open_pane(cluster, "status")
    frame = pane.locator("iframe").content_frame
    frame.locator("body").evaluate("() => { window.wasLoadedOnce = true }")
    for theme, picture in (("dark", "dark"), ("light", "light"), ("dark", "light-switched-to-dark")):
        set_theme(theme)
        expect(frame.locator("html")).to_have_attribute("data-theme", theme)
        wait_until_drawn(pane, theme)
        keep_picture(f"status-{picture}")
    assert frame.locator("body").evaluate("() => window.wasLoadedOnce")


@pytest.mark.fault("the dashboards process is killed")
def test_a_pane_comes_back_by_itself_when_the_dashboards_process_is_killed(
    page, lab, open_lab, open_pane, keep_picture, publish_cluster
):
    cluster = publish_cluster("nightly")
    open_lab()
    pane = open_pane(cluster, "status")
    pane.evaluate(KEEP_STATES)
    killed = lab.dashboards_pid()
    os.kill(killed, signal.SIGKILL)
    page.wait_for_function("() => window.said.includes('glassloom:lost')")  # at once: it need not fall silent first
    keep_picture("pane-lost")
    wait_until_true(page, "async () => window.states.includes('lost') && window.states.at(-1) === 'live'")
    assert lab.dashboards_pid() not in {None, killed}


@pytest.mark.long
@pytest.mark.fault("the dashboards process is stopped (SIGSTOP), or hangs")
def test_a_pane_says_that_stopped_dashboards_do_not_answer_and_comes_back_when_they_are_replaced(
    lab, open_lab, open_pane, keep_picture, publish_cluster
):
    cluster = publish_cluster("nightly")
    open_lab()
    pane = open_pane(cluster, "status")
    stopped = lab.dashboards_pid()
    os.kill(stopped, signal.SIGSTOP)
    # The pane finds its page silent after 12 s at the latest, and the dashboards are killed after about 30 s. Or, on a busy machine, that
    # they were killed as they had not: whichever the page hears of first.
    words = re.compile("The dashboards have not answered for|was killed: it had not answered for")
    expect(pane.locator(".gl-Pane-cover")).to_contain_text(words)
    keep_picture("pane-stopped")
    expect(pane).to_have_attribute("data-state", "live", timeout=FIRST_OPENING_MS)
    assert lab.dashboards_pid() not in {None, stopped}
    assert not psutil.pid_exists(stopped)


@pytest.mark.long
def test_a_pane_says_that_its_cluster_has_ended_and_keeps_its_last_state(
    page, open_lab, open_pane, choose, keep_picture, publish_cluster
):
    cluster = publish_cluster("nightly")
    open_lab()
    pane = open_pane(cluster, "progress")
    choose(cluster, "Shut Down…")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("The results that nightly holds will be lost.")
    dialog.get_by_role("button", name="Shut Down").click()
    expect(page.get_by_text("No clusters yet")).to_be_visible()
    expect(pane).to_have_attribute("data-state", "ended")
    expect(pane.locator(".gl-Pane-cover")).to_contain_text("Cluster nightly has ended.")
    expect(pane.locator("iframe").content_frame.get_by_text("ended", exact=True)).to_be_visible()
    keep_picture("pane-ended")


@pytest.mark.long
def test_a_pane_that_is_put_elsewhere_goes_on_or_is_covered_until_its_page_lives_again(
    page, open_lab, open_pane, publish_cluster
):
    cluster = publish_cluster("nightly")
    open_lab()
    pane = open_pane(cluster, "status")
    pane.locator("iframe").content_frame.locator("body").evaluate("() => { window.wasLoadedOnce = true }")
    pane.evaluate(KEEP_STATES)
    page.evaluate(PUT, ["main", "split-bottom"])
    frame = pane.locator("iframe").content_frame
    assert frame.locator("body").evaluate("() => window.wasLoadedOnce")
    page.evaluate(PUT, ["down", None])  # there the browser loads the frame anew
    page.wait_for_function("() => window.states.includes('opening') && window.states.at(-1) === 'live'")
    assert not frame.locator("body").evaluate("() => window.wasLoadedOnce")


def test_panes_come_back_with_the_layout(page, lab, open_lab, open_pane, publish_cluster, wait_until_saved):
    cluster = publish_cluster("nightly")
    open_lab()
    open_pane(cluster, "workers-cpu")
    wait_until_saved("workers-cpu")
    page.goto(lab.address("lab"))
    pane = page.locator(f"#glassloom-{cluster}-workers-cpu")
    expect(pane).to_have_attribute("data-state", "live", timeout=FIRST_OPENING_MS)
    expect(page.locator(".lm-TabBar-tabLabel", has_text="CPU by worker · nightly")).to_be_visible()


@pytest.mark.long
def test_a_bad_request_for_a_new_cluster_keeps_what_was_filled_in(page, open_lab, keep_picture):
    open_lab()
    page.get_by_role("button", name="New", exact=True).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("mine")
    dialog.get_by_label("Workers", exact=True).fill("5000")
    dialog.get_by_role("button", name="Start").click()
    expect(dialog.get_by_role("alert")).to_contain_text("5000 should be a whole number from 1 to 4096")
    expect(dialog.get_by_label("Name")).to_have_value("mine")
    keep_picture("new-cluster-refused")
    dialog.get_by_role("button", name="Cancel").click()
    expect(page.get_by_text("No clusters yet")).to_be_visible()
