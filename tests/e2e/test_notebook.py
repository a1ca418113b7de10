"""The whole way: a notebook computes, the panel shows its cluster, the task stream shows its tasks."""

from __future__ import annotations

import json
import shutil
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Frame, Page, expect

FIRST_LOOK = Path(__file__).parents[2] / "notebooks" / "01-first-look.ipynb"
RUN_MS = 180_000
OPENING_MS = 60_000
TASKS = 120
SMALL = f"""
import time
from glassloom import Client
client = Client(n_workers=2, threads_per_worker=2, memory_limit="1GB")
futures = client.map(lambda x: time.sleep(0.005) or x + 1, range({TASKS}))
assert sum(client.gather(futures)) == {sum(range(1, TASKS + 1))}
client
"""
# Results that were moved are rectangles too; a task is one rectangle that computes.
RECTANGLES = """() => {
    const named = name => Bokeh.documents[0].get_model_by_name(name)
    const actions = named('task-stream-names').data.action
    const kinds = [...named('task-stream-source').data.kind]
    const totals = named('task-stream-total').data
    return {
        all: kinds.length, events: totals.events[0],
        computing: kinds.filter(kind => actions[kind] === 'compute').length, tasks: totals.tasks[0]
    }
}"""


def rectangles_when(frame: Frame, condition: str) -> dict[str, int]:
    """Wait until `condition` (JavaScript, on `s`) holds for what a task stream draws, and return that."""
    ready = "window.Bokeh?.documents[0]?.get_model_by_name('task-stream-total')"
    return frame.wait_for_function(
        f"() => {{ const s = {ready} && ({RECTANGLES})(); return s && ({condition}) ? s : null }}"
    ).json_value()


def clusters_of(lab: Any) -> list[dict[str, Any]]:
    with urllib.request.urlopen(lab.address("glassloom/api/clusters"), timeout=60) as answer:
        return json.load(answer)["clusters"]


@pytest.fixture
def open_notebook(page: Page, lab: Any, wait_for_kernel: Callable[[], None]) -> Callable[[str], None]:
    def open_notebook(name: str) -> None:
        page.goto(lab.address(f"lab/tree/{name}?reset"))
        expect(page.locator(".jp-Notebook")).to_be_visible(timeout=OPENING_MS)
        wait_for_kernel()

    return open_notebook


def run_all(page: Page) -> None:
    page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-all-cells')")
    page.wait_for_function(
        """() => [...document.querySelectorAll('.jp-CodeCell .jp-InputPrompt')].every(
            prompt => /\\[\\d+\\]/.test(prompt.textContent))""",
        timeout=RUN_MS,
    )
    errors = page.locator('.jp-OutputArea-output[data-mime-type="application/vnd.jupyter.stderr"], .jp-RenderedError')
    expect(errors).to_have_text([])


@pytest.fixture
def small_notebook(lab) -> str:
    cell = {"cell_type": "code", "id": "a", "metadata": {}, "outputs": [], "execution_count": None, "source": SMALL}
    spec = {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}
    notebook = {"cells": [cell], "metadata": {"kernelspec": spec}, "nbformat": 4, "nbformat_minor": 5}
    (lab.root / "small.ipynb").write_text(json.dumps(notebook))
    return "small.ipynb"


@pytest.fixture
def shut_down_kernels(page: Page) -> Any:
    yield
    page.evaluate("() => window.jupyterapp.serviceManager.kernels.shutdownAll()")
    expect(page.locator(".gl-Card")).to_have_count(0)


@pytest.mark.long
def test_a_notebooks_cluster_and_tasks_are_seen(
    page, lab, small_notebook, open_notebook, open_pane, keep_picture, shut_down_kernels
):
    open_notebook(small_notebook)
    run_all(page)
    expect(page.locator(".gl-Card")).to_have_count(1)
    for words in ("2 workers, 4 threads", f"{TASKS} tasks done"):
        expect(page.locator(".gl-Card")).to_contain_text(words)
    (cluster,) = clusters_of(lab)
    assert (cluster["workers"], cluster["threads"], cluster["started_by"]) == (2, 4, "notebook")
    frame = open_pane(cluster["id"], "task-stream").locator("iframe").element_handle().content_frame()
    seen = rectangles_when(frame, f"s.computing === {TASKS}")
    assert seen == {"all": TASKS, "events": TASKS, "computing": TASKS, "tasks": TASKS}
    keep_picture("notebook-and-task-stream")


def test_a_pane_lives_on_after_restart_kernel_and_run_all(
    page, small_notebook, open_notebook, open_pane, keep_picture, shut_down_kernels
):
    open_notebook(small_notebook)
    run_all(page)
    expect(page.locator(".gl-Card")).to_have_count(1)
    first = page.locator(".gl-Card").get_attribute("data-cluster")
    open_pane(first, "progress")
    page.get_by_role("tab", name=small_notebook).click()
    page.wait_for_function("() => window.jupyterapp.commands.isEnabled('notebook:restart-run-all')")
    page.evaluate("() => void window.jupyterapp.commands.execute('notebook:restart-run-all')")
    page.get_by_role("button", name="Confirm Kernel Restart").click()
    pane = page.locator(f'.gl-Pane[data-page="progress"]:not([data-cluster="{first}"])')
    expect(pane).to_have_attribute("data-state", "live", timeout=OPENING_MS)
    expect(page.locator(".gl-Pane")).to_have_count(1)
    expect(page.locator(".gl-Run")).to_have_count(1)
    expect(page.locator(".gl-Run")).to_contain_text(f"{TASKS} of {TASKS} tasks")
    keep_picture("pane-after-restart")


@pytest.mark.long
def test_the_button_of_the_clients_repr_opens_its_dashboard(
    page, lab, small_notebook, open_notebook, shut_down_kernels
):
    open_notebook(small_notebook)
    run_all(page)
    page.get_by_role("button", name="Open dashboard").click()
    expect(page.locator(".gl-Card")).to_have_count(1)  # the server looks for clusters once a second
    (cluster,) = clusters_of(lab)
    pane = page.locator(f'.gl-Pane[data-cluster="{cluster["id"]}"][data-page="status"]')
    expect(pane).to_have_attribute("data-state", "live", timeout=OPENING_MS)


def test_the_first_look_runs_and_its_tasks_are_seen(
    page, lab, open_notebook, open_pane, keep_picture, sockets, shut_down_kernels
):
    shutil.copy(FIRST_LOOK, lab.root)
    open_notebook(FIRST_LOOK.name)
    run_all(page)
    expect(page.locator(".gl-Card")).to_have_count(1)
    (cluster,) = clusters_of(lab)
    frame = open_pane(cluster["id"], "task-stream").locator("iframe").element_handle().content_frame()
    frame.get_by_text("All", exact=True).click()  # by default the latest run is shown
    seen = rectangles_when(frame, "s.computing > 100 && s.computing === s.tasks && s.all === s.events")
    expect(page.locator(".gl-Card")).to_contain_text(f"{seen['tasks']} tasks done")
    keep_picture("first-look")
    assert all(url.startswith(lab.url.replace("http", "ws", 1)) for url in sockets)
