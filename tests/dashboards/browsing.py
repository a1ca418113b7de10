"""A real browser, and tabs of it that were let in to a dashboards process."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from subprocess import Popen
from typing import Any
from urllib.parse import urlsplit

import pytest
from page_waits import value_at_rest
from playwright import sync_api as playwright
from real_process import dashboards

CHROMIUM = os.environ.get("GLASSLOOM_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]

STATE = """() => {
  const doc = window.Bokeh?.documents[0], model = (name) => doc?.get_model_by_name(name)
  if (!doc?.is_idle) return null
  const plot = model('task-stream')
  return {start: plot.x_range.start, end: plot.x_range.end, follow: model('task-stream-follow').active,
    rows: model('task-stream-source').get_length(), tasks: model('task-stream-total').data.tasks[0]}
}"""
_TIPS = """() => {
  const found = []
  const walk = (node) => { for (const el of node.querySelectorAll('*')) {
    if (el.classList.contains('gl-tip')) found.push(el.innerText)
    if (el.shadowRoot) walk(el.shadowRoot)
  } }
  walk(document)
  return found.join('')
}"""
_CENTRE = """([selector, right, down]) => {
  if (!window.Bokeh?.documents[0]?.is_idle) return null
  const { x, y, width, height } = document.querySelector(selector).getBoundingClientRect()
  return [x + right * width, y + down * height]
}"""
_SPAN_S = "name => { const { start, end } = Bokeh.documents[0].get_model_by_name(name).x_range; return end - start }"

playwright.expect.set_options(timeout=60_000)


@contextmanager
def chromium() -> Iterator[Any]:
    """Run a browser until the block ends."""
    with playwright.sync_playwright() as driver:
        try:
            started = driver.chromium.launch(executable_path=CHROMIUM, headless=True, args=ARGUMENTS)
        except playwright.Error as error:
            pytest.fail(f"no browser: {error}; apt-get install chromium, or set GLASSLOOM_CHROMIUM")
        yield started
        started.close()


@dataclass(frozen=True)
class Site:
    """A dashboards process, its address and the one that it has printed, and a browser's context that it has let in."""

    base: str
    url: str
    process: Popen[str]
    context: Any


@contextmanager
def open_site(browser: Any, *arguments: str, **environment: str) -> Iterator[Site]:
    """Run a dashboards process that has let the browser in, until the block ends."""
    with dashboards("--port", "0", *arguments, **environment) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        context = browser.new_context(viewport={"width": 1200, "height": 800})
        context.set_default_timeout(60_000)
        first = context.new_page()
        first.goto(url)
        first.close()
        yield Site("{0.scheme}://{0.netloc}".format(urlsplit(url)), url, process, context)
        context.close()


@contextmanager
def open_tab_of(site: Site) -> Iterator[Any]:
    """Open a tab with `base`, the dashboards' `process`, and a list of what went wrong in it.

    Its `goto` waits until a page of a cluster can be used: what is done sooner, to the contents that the page was sent with, may
    be lost. Who says ``wait_until`` waits for that alone.
    """
    tab = site.context.new_page()
    _wait_for_documents(tab)
    tab.base, tab.process, tab.wrongs = site.base, site.process, []
    tab.on("pageerror", lambda error: tab.wrongs.append(f"{error}\n{error.stack}"))
    tab.on("dialog", lambda dialog: (tab.wrongs.append(f"dialog {dialog.message}"), dialog.dismiss()))
    tab.on("console", lambda line: tab.wrongs.append(line.text) if line.type == "error" else None)
    tab.on("request", lambda sent: tab.wrongs.append(sent.url) if not sent.url.startswith(tab.base) else None)
    yield tab
    wrongs = list(tab.wrongs)
    tab.close()
    assert wrongs == [], wrongs


def _wait_for_documents(tab: Any) -> None:
    go = tab.goto

    def goto(url: str, **options: Any) -> Any:
        answer = go(url, **options)
        if not options and tab.locator("#session").count():
            tab.wait_for_selector(":root[data-opened]", state="attached")
        return answer

    tab.goto = goto


@contextmanager
def open_tab(browser: Any) -> Iterator[Any]:
    """Open a tab of a dashboards process of its own; `cluster` is the address of cluster ``c1``."""
    with open_site(browser) as site, open_tab_of(site) as tab:
        tab.cluster = f"{tab.base}/c1"
        yield tab


def state_when(tab, condition: str) -> dict:
    """Wait until `condition` (JavaScript, on `s`) holds for the page's state, and return that."""
    return tab.wait_for_function(
        f"() => {{ const s = ({STATE})(); return s && ({condition}) ? s : null }}"
    ).json_value()


def point_in(tab, selector: str, right: float = 0.5, down: float = 0.5) -> list[float]:
    """Return a point of an element, in parts of its width and height, once nothing is laid out or drawn any more."""
    return value_at_rest(tab, _CENTRE, [selector, right, down])


def tip_with(tab, *words: str) -> str:
    """Return the text of the hover cards that are shown, once it has all these words."""
    script = f"words => {{ const tip = ({_TIPS})(); return words.every(each => tip.includes(each)) ? tip : null }}"
    return tab.wait_for_function(script, arg=list(words)).json_value()


def zoom_in(tab, plot: str, selector: str, times: int, down: float = 0.5) -> None:
    """Turn the wheel over an element, and wait each time until the view of a plot, by its name, has become narrower."""
    tab.mouse.move(*point_in(tab, selector, down=down))
    for _ in range(times):
        before_s = tab.evaluate(_SPAN_S, plot)
        tab.mouse.wheel(0, -300)
        tab.wait_for_function(f"([plot, before]) => ({_SPAN_S})(plot) < before", arg=[plot, before_s])


def wait_for_next_frame(tab) -> None:
    """Wait until a page, or a pane's frame, has got another frame of changes, though it be empty."""
    number = "Bokeh.documents[0].get_model_by_name('glassloom-frame').tags[0]"
    tab.wait_for_function(f"before => {number} > before", arg=tab.evaluate(number))


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    """Stop a process (SIGSTOP) until the block ends."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)
