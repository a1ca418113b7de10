"""The pages in a real browser: who moves the view, what the pane hears, and that names of users stay text."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest
from glassloom_metrics.protocol import Layers
from real_process import dashboards
from synthetic import HOSTILE_NAMES, Shape
from test_pages import events

playwright = pytest.importorskip("playwright.sync_api")

CHROMIUM = os.environ.get("GLASSLOOM_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]

STATE = """() => {
  const doc = window.Bokeh?.documents[0], model = (name) => doc?.get_model_by_name(name)
  if (!doc?.is_idle) return null
  const plot = model('task-stream')
  return {start: plot.x_range.start, end: plot.x_range.end, follow: model('task-stream-follow').active,
    rows: model('task-stream-source').get_length(), tasks: model('task-stream-total').data.tasks[0]}
}"""
TIPS = """() => {
  const found = []
  const walk = (node) => { for (const el of node.querySelectorAll('*')) {
    if (el.classList.contains('gl-tip')) found.push(el.innerText)
    if (el.shadowRoot) walk(el.shadowRoot)
  } }
  walk(document)
  return found.join('')
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    with playwright.sync_playwright() as driver:
        try:
            started = driver.chromium.launch(executable_path=CHROMIUM, headless=True, args=ARGUMENTS)
        except playwright.Error as error:
            pytest.fail(f"no browser: {error}; apt-get install chromium, or set GLASSLOOM_CHROMIUM")
        yield started
        started.close()


@pytest.fixture
def tab(browser, runtime) -> Iterator[object]:
    """Return a browser tab that was let in, with `base` and a list of what went wrong in it."""
    with dashboards("--port", "0") as process:
        url = process.stdout.readline().strip()
        tab = browser.new_page(viewport={"width": 1200, "height": 800})
        tab.base, tab.process, tab.wrongs = url.split("/?")[0], process, []
        tab.on("pageerror", lambda error: tab.wrongs.append(str(error)))
        tab.on("dialog", lambda dialog: (tab.wrongs.append(f"dialog {dialog.message}"), dialog.dismiss()))
        tab.on("console", lambda line: tab.wrongs.append(line.text) if line.type == "error" else None)
        tab.on("request", lambda sent: tab.wrongs.append(sent.url) if not sent.url.startswith(tab.base) else None)
        tab.goto(url)
        yield tab
        assert tab.wrongs == []
        tab.close()


def state_when(tab, condition: str) -> dict:
    """Wait until `condition` (JavaScript, on `s`) holds for the page's state, and return that."""
    return tab.wait_for_function(
        f"() => {{ const s = ({STATE})(); return s && ({condition}) ? s : null }}"
    ).json_value()


def test_the_user_may_zoom_and_is_left_alone_until_asking_to_follow_again(publish, tab):
    cluster = publish(Shape(tasks=0))
    cluster.add(Layers([0], ["sum"], [200], [""]), events(0, [(n / 10, n / 10 + 0.09) for n in range(100)]))
    tab.goto(f"{tab.base}/c1/status")
    state = state_when(tab, "s.rows == 100 && s.end > 9.9")
    assert (state["tasks"], state["follow"]) == (100, 0)

    box = tab.locator("#card-task-stream .body").bounding_box()
    tab.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    for _ in range(6):
        tab.mouse.wheel(0, -300)
    state_when(tab, "s.follow == null && s.end - s.start < 5 && s.rows < 60")
    zoomed = tab.evaluate(STATE)
    cluster.add(events(100, [(50.0, 51.0)]))
    state = state_when(tab, "s.tasks == 101")
    assert (state["start"], state["end"], state["rows"]) == (zoomed["start"], zoomed["end"], zoomed["rows"])

    tab.get_by_text("Latest run", exact=True).click()
    state = state_when(tab, "s.rows == 1")
    assert 49 < state["start"] < 50
    tab.get_by_text("All", exact=True).click()
    state = state_when(tab, "s.rows == 101 && s.end > 50")
    assert state["start"] < 0.1


def test_what_users_name_things_is_shown_as_text(publish, tab):
    name = HOSTILE_NAMES[0]
    cluster = publish(Shape(workers=1, threads=1, tasks=0), name=name)
    cluster.add(Layers([0], [name], [1], [name]), events(0, [(0.0, 10.0)]))
    tab.goto(f"{tab.base}/c1/status")
    state_when(tab, "s.rows == 1")
    box = tab.locator("#card-task-stream .body").bounding_box()
    tab.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] * 0.12)
    tab.wait_for_function(f"() => ({TIPS})().includes('onerror')")
    tip = tab.evaluate(TIPS)
    assert tip.startswith(f"{name}[0]")
    assert "10.000 s" in tip
    box = tab.locator("#card-progress .body").bounding_box()
    tab.mouse.move(box["x"] + 60, box["y"] + 20)
    tab.wait_for_function(f"() => ({TIPS})().includes('from')")
    assert tab.get_by_text(name).count() >= 1


def test_the_parent_hears_that_the_page_lives_and_may_change_its_theme(publish, tab):
    publish(Shape())
    tab.goto(f"{tab.base}/health")  # any page of the same origin will do as the parent
    tab.evaluate(
        """(source) => {
          window.heard = []
          window.addEventListener('message', (event) => window.heard.push([event.origin, event.data.type]))
          document.body.innerHTML = '<iframe width="900" height="600"></iframe>'
          document.querySelector('iframe').src = source
        }""",
        f"{tab.base}/c1/task-stream?theme=light",
    )
    tab.wait_for_function("() => window.heard.length >= 2")  # the second comes two seconds after the first
    assert tab.evaluate("window.heard[0]") == [tab.base, "glassloom:alive"]
    tab.evaluate(
        "document.querySelector('iframe').contentWindow.postMessage({type: 'glassloom:theme', theme: 'dark'}, '*')"
    )
    frame = tab.frames[1]
    frame.wait_for_function(
        """() => document.documentElement.dataset.theme == 'dark' &&
          Bokeh.documents[0].get_model_by_name('task-stream').below[0].axis_line_color == '#2a2d30'"""
    )


def test_a_page_says_that_the_connection_was_lost_and_stops_saying_it_is_alive(publish, tab):
    publish(Shape(tasks=5))
    tab.goto(f"{tab.base}/c1/task-stream")
    state_when(tab, "s.rows == 5")
    assert tab.locator("#lost").is_hidden()
    tab.process.kill()
    tab.wait_for_function("() => !document.getElementById('lost').hidden")
    assert tab.locator("#lost").inner_text() == "Connection lost. Trying to reconnect …"
    tab.wrongs.clear()
