"""What a person does in the panel: with the keyboard alone, by dragging, comparing runs, and for long.

The server's stream is made up, and so are the pages: what is tested is the browser's side.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from page_waits import value_at_rest, wait_until_said
from playwright.sync_api import Page, Request, expect

PAGE = """<!doctype html><title>A page</title><script>
const sayAlive = () => parent.postMessage({type: 'glassloom:alive'})
sayAlive()
setInterval(sayAlive, 200)
</script>"""
PANES = 20
OPEN_AND_CLOSE = """async count => {
  const { commands, shell } = window.jupyterapp
  for (let index = 0; index < count; index += 1) {
    await commands.execute('glassloom:open-dashboard', {cluster: 'c0', page: 'status'})
    const pane = [...shell.widgets('main')].find(widget => widget.id.endsWith('-status'))
    window.paneClass = Object.getPrototypeOf(pane)
    // What is closed sooner is held by JupyterLab, which is about to remember where it was.
    while (pane.node.dataset.state !== 'live') await new Promise(resolve => setTimeout(resolve))
    pane.close()
    if (!pane.isDisposed) throw new Error('a pane that was closed lives on')
  }
}"""
FOCUSED = """() => {
  const node = document.activeElement
  return {
    isInside: node.closest('#glassloom-panel') !== null,
    name: node.getAttribute('aria-label') ?? node.textContent.trim() ?? node.placeholder, tag: node.tagName,
    what: node.dataset.action ?? node.dataset.page ?? node.className,
    isSeen: ['outlineStyle', 'boxShadow'].some(name => getComputedStyle(node)[name] !== 'none') || node.tagName === 'JP-BUTTON'
  }
}"""


@pytest.fixture
def pages(page: Page) -> list[str]:
    """Answer for all dashboard pages, and return which were asked for."""
    asked: list[str] = []

    def answer(route: Any, request: Request) -> None:
        asked.append(request.url.split("/glassloom/dash/")[1])
        route.fulfill(body=PAGE, content_type="text/html")

    page.route(re.compile(r"/glassloom/dash/(?!health|static)"), answer)
    return asked


@pytest.fixture
def one_cluster(tell: Callable[..., None], make_cluster: Callable[..., dict[str, Any]]) -> None:
    """Let the stream tell of one cluster that has computed three times."""
    ended = {"outcome": "finished", "ended_at": 160, "tasks_done": 800}
    (run,) = make_cluster(0)["runs"]
    runs = [
        run | ended | {"id": str(number), "started_at": 100 + number, "label": f"run {number}"} for number in (3, 2, 1)
    ]
    tell(clusters=[make_cluster(0, runs=runs)])


def tab_through(page: Page) -> dict[str, dict[str, Any]]:
    """Press Tab from the first card on until the focus leaves the panel, and return what has had it."""
    reached: dict[str, dict[str, Any]] = {}
    page.locator(".gl-Card-name").focus()
    for _ in range(150):
        page.keyboard.press("Tab")
        focused = page.evaluate(FOCUSED)
        if not focused["isInside"]:
            return reached
        reached[focused["what"]] = focused
    pytest.fail("Tab never leaves the panel")


@pytest.mark.long
def test_the_keyboard_alone_reaches_all_and_opens_a_page(page, open_lab, one_cluster, pages):
    open_lab()
    expect(page.locator(".gl-Page").first).to_be_visible()
    wanted = {"open", "menu", "gl-Link", "status", "favourite", "gl-Run-open", "select"}
    reached = tab_through(page)
    for _ in range(5):  # JupyterLab takes the focus when it has opened its launcher
        if not wanted <= set(reached):
            reached = tab_through(page)
    assert wanted <= set(reached)
    assert [what for what, each in reached.items() if not each["isSeen"]] == []
    assert [what for what, each in reached.items() if not each["name"] and each["tag"] != "INPUT"] == []

    page.locator('.gl-Card [data-action="menu"]').focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("menuitem", name="Scale…")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("menuitem", name="Scale…")).to_have_count(0)
    page.locator('.gl-Page[data-page="status"]').focus()
    page.keyboard.press("Enter")
    expect(page.locator('.gl-Pane[data-page="status"]')).to_have_attribute("data-state", "live")
    assert pages == ["c0/status?theme=light"]


TOGGLE_PANEL = "() => window.jupyterapp.commands.execute('application:toggle-left-area')"


@pytest.mark.long
def test_the_status_bar_the_launcher_and_the_keys_lead_to_the_panel_and_its_forms(page, open_lab, one_cluster, pages):
    open_lab()
    panel, status = page.locator("#glassloom-panel"), page.locator(".gl-Status-button")
    expect(status).to_contain_text("cluster 05.00 / 8.00 GiB")
    for lead in (status.click, lambda: page.keyboard.press("Control+Alt+g")):
        page.evaluate(TOGGLE_PANEL)
        expect(panel).to_be_hidden()
        lead()
        expect(panel).to_be_visible()

    card = page.locator(".jp-LauncherCard", has_text="Glassloom Cluster")
    expect(card.locator('[data-icon="glassloom:loom"]')).to_be_visible()  # not a plus sign, which is nobody's
    card.click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("Name")).to_be_focused()
    expect(dialog).to_contain_text("New cluster")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)

    page.keyboard.press("Control+Alt+k")
    expect(page.locator('.gl-Pane[data-cluster="c0"]')).to_have_attribute("data-state", "live")


@pytest.mark.long
def test_a_section_is_moved_into_another_panel_goes_on_there_and_comes_back_to_its_place(page, open_lab, one_cluster):
    open_lab()

    def move(panel: str, entry: str) -> None:
        page.evaluate("id => window.jupyterapp.shell.activateById(id)", panel)
        page.locator(f"#{panel} .jp-AccordionPanel-title", has_text="Runs").click(button="right")
        page.get_by_role("menuitem", name=entry).click()

    move("glassloom-panel", "Move to File Browser")
    expect(page.locator("#glassloom-panel .gl-Run")).to_have_count(0)
    expect(page.locator("#filebrowser .gl-Run")).to_have_count(3)
    move("filebrowser", "Move back to Glassloom")
    expect(page.locator("#glassloom-panel .gl-Run")).to_have_count(3)
    expect(page.locator("#glassloom-panel .jp-AccordionPanel-title").last).to_contain_text("Runs")


@pytest.mark.long
def test_two_selected_runs_are_compared_and_a_card_opens_by_a_double_click(page, open_lab, one_cluster, pages):
    open_lab()
    for number in (3, 1):
        page.get_by_label(f"Select run {number} to compare it").check()
    expect(page.locator(".gl-Selection")).to_contain_text("run 1 and run 3")
    page.get_by_role("button", name="Compare").click()
    expect(page.locator('.gl-Pane[data-page="runs"]')).to_have_attribute("data-state", "live")
    assert pages[-1] == "c0/runs?theme=light&open=1%2C3"
    page.locator(".gl-Card-name").dblclick()
    expect(page.locator('.gl-Pane[data-page="status"]')).to_have_attribute("data-state", "live")
    assert pages[-1] == "c0/status?theme=light"


@pytest.mark.long
@pytest.mark.parametrize("height", [850, 400])
def test_a_log_is_opened_at_its_newest_line(page, open_lab, tell, make_cluster, choose, height):
    page.set_viewport_size({"width": 1400, "height": height})
    tell(clusters=[make_cluster(1)])
    lines = [f"line {number}" + " of many words" * (number % 50 == 0) * 20 for number in range(200)]
    page.route(re.compile("/clusters/c1/log"), lambda route: route.fulfill(json={"lines": lines}))
    open_lab()
    choose("c1", "Show Log")
    log = page.locator(".gl-Log")
    expect(log).to_contain_text("line 199")
    left = "log => log.scrollHeight - log.clientHeight - log.scrollTop"
    wait_until_said(page, lambda: log.evaluate(left), lambda pixels: pixels < 1)
    page.get_by_role("dialog").get_by_role("button", name="Close").last.click()


@pytest.mark.long
def test_context_menus_offer_what_can_be_done_with_a_page_and_with_a_run(page, open_lab, tell, make_cluster, pages):
    tell(clusters=[make_cluster(0), make_cluster(1)])
    open_lab()

    def choose(row: str, entry: str) -> None:
        page.locator(row).first.click(button="right")
        page.get_by_role("menuitem", name=entry).click()

    choose('.gl-Page[data-page="memory"]', "Add to the Favourites")
    expect(page.locator('[data-group="favourites"] .gl-Page[data-page="memory"]')).to_have_count(1)
    choose('.gl-Page[data-page="memory"]', "Open to the Side")
    expect(page.locator('.gl-Pane[data-page="memory"]')).to_have_attribute("data-state", "live")
    choose('.gl-Run[data-cluster="c0"]', "Select to Compare")
    choose('.gl-Run[data-cluster="c1"]', "Compare with mean")  # of another cluster: the page of each, side by side
    panes = page.locator('.gl-Pane[data-page="runs"]')
    expect(panes).to_have_count(2)
    expect(panes.nth(0)).to_be_visible()
    expect(panes.nth(1)).to_be_visible()
    of_runs = [page for page in pages if "/runs" in page]
    assert sorted(of_runs) == ["c0/runs?theme=light&open=1", "c1/runs?theme=light&open=1"]  # each asked for once


@pytest.mark.long
def test_a_pane_whose_cluster_is_gone_comes_back_with_words_and_asks_for_nothing(
    page, lab, open_lab, one_cluster, pages, tell, make_cluster, wait_until_saved
):
    open_lab()
    page.evaluate(
        "() => window.jupyterapp.commands.execute('glassloom:open-dashboard', {target: {kind: 'cluster', id: 'c0'}})"
    )
    expect(page.locator(".gl-Pane")).to_have_attribute("data-state", "live")
    wait_until_saved("glassloom-c0-status")
    pages.clear()
    tell(clusters=[make_cluster(1)])
    page.goto(lab.address("lab"))
    cover = page.locator(".gl-Pane-cover")
    expect(cover).to_contain_text("Cluster cluster 0 has ended.")
    expect(cover.get_by_role("button")).to_have_text(["Show the active cluster", "Close"])
    assert pages == []
    cover.get_by_role("button", name="Show the active cluster").click()
    expect(page.locator(".gl-Pane")).to_have_attribute("data-cluster", "c1")


@pytest.mark.long
def test_panes_that_were_closed_leave_nothing_behind(page, open_lab, one_cluster, pages):
    open_lab()
    # Beside a pane that stays: JupyterLab keeps a few nodes of each area that it divides and joins again.
    page.evaluate(
        "() => window.jupyterapp.commands.execute('glassloom:open-dashboard', {cluster: 'c0', page: 'memory'})"
    )
    devtools = page.context.new_cdp_session(page)

    def nodes() -> int:
        for _ in range(3):  # what only another dead object holds is found the next time
            page.evaluate("() => new Promise(resolve => requestAnimationFrame(() => setTimeout(resolve)))")
            devtools.send("HeapProfiler.collectGarbage")
        return devtools.send("Memory.getDOMCounters")["nodes"]

    def more_nodes() -> int:
        before = nodes()
        page.evaluate(OPEN_AND_CLOSE, PANES)
        return nodes() - before

    # A pane has more than ten nodes. JupyterLab makes a few hundred late, but once; a leak would show each time.
    assert any(more_nodes() < PANES for _ in range(6))
    prototype = devtools.send("Runtime.evaluate", {"expression": "window.paneClass"})["result"]["objectId"]
    panes = devtools.send("Runtime.queryObjects", {"prototypeObjectId": prototype})["objects"]["objectId"]
    length = {"objectId": panes, "functionDeclaration": "function() { return this.length }", "returnByValue": True}
    assert devtools.send("Runtime.callFunctionOn", length)["result"]["value"] <= 2  # the one that stays, and the last


BOX = "selector => document.querySelector(selector)?.getBoundingClientRect()"


def test_a_card_that_is_dragged_into_a_notebook_leaves_code_there(page, lab, open_lab, one_cluster, pages):
    notebook = {"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (lab.root / "empty.ipynb").write_text(json.dumps(notebook))
    open_lab()
    page.evaluate("() => void window.jupyterapp.commands.execute('docmanager:open', {path: 'empty.ipynb'})")
    page.get_by_role("dialog").get_by_role("button", name="No Kernel").click()
    cell = page.locator(".jp-Notebook .jp-CodeCell")
    expect(cell).to_have_count(1)
    start, end = (value_at_rest(page, BOX, selector) for selector in (".gl-Card-facts", ".jp-Notebook .jp-CodeCell"))
    page.mouse.move(start["x"] + 20, start["y"] + 5)
    page.mouse.down()
    page.mouse.move(start["x"] + 60, start["y"] + 20, steps=4)
    page.mouse.move(end["x"] + 200, end["y"] + 4, steps=10)
    page.mouse.up()
    expect(page.locator(".jp-Notebook .cm-content").filter(has_text='client = Client("cluster 0")')).to_have_count(1)


PLACES = """() => Object.fromEntries([...document.querySelectorAll('.gl-Pane')].filter(pane => pane.offsetParent).map(
  pane => [pane.dataset.page, ['left', 'top', 'width'].map(side => Math.round(pane.getBoundingClientRect()[side] / 20))]))"""


@pytest.mark.long
def test_a_named_layout_is_saved_and_its_panes_come_back_where_they_were_also_after_a_reload(
    page, open_lab, one_cluster, pages, keep_picture
):
    open_lab()
    expect(page.locator(".gl-Page").first).to_be_visible()
    for name, mode in (("status", "split-right"), ("task-stream", "split-right"), ("memory", "split-bottom")):
        page.evaluate(
            "args => window.jupyterapp.commands.execute('glassloom:open-dashboard', args)",
            {"cluster": "c0", "page": name, "mode": mode},
        )
        expect(page.locator(f'.gl-Pane[data-page="{name}"]')).to_have_attribute("data-state", "live")
    before = value_at_rest(page, PLACES)
    assert len({tuple(place) for place in before.values()}) == 3
    page.locator('#glassloom-panel [data-command="glassloom:save-layout"]').click()
    page.get_by_role("dialog").get_by_role("textbox").fill("mine")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    layout = page.locator('.gl-Page[data-layout="mine"]')
    expect(layout).to_have_count(1)

    for is_reloaded in (False, True):
        page.evaluate("() => window.jupyterapp.commands.execute('glassloom:close-dashboards')")
        expect(page.locator(".gl-Pane")).to_have_count(0)
        if is_reloaded:  # the layout is kept with the settings, not with the page
            open_lab()
        layout.click()
        for name in before:
            expect(page.locator(f'.gl-Pane[data-page="{name}"]')).to_have_attribute("data-state", "live")
        places = value_at_rest(page, PLACES)
        assert set(places) == set(before)
        assert places["status"][0] < places["task-stream"][0] or places["status"][1] < places["task-stream"][1]
        assert (places["memory"][1] > places["task-stream"][1]) == (before["memory"][1] > before["task-stream"][1])
        keep_picture(f"layout-{'reloaded' if is_reloaded else 'opened'}")
    page.get_by_role("button", name="Delete the layout mine").click()
    expect(layout).to_have_count(0)
