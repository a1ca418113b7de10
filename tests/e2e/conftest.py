"""A real JupyterLab under a base URL with a token, a real browser, and clusters that run outside of it.

Screenshots are kept in `artifacts/`. Set GLASSLOOM_CHROMIUM to use another browser than the first one on the PATH.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from jupyter_labs import ARTIFACTS, Lab, running_lab
from page_waits import wait_until_true
from playwright.sync_api import BrowserContext, Locator, Page, expect, sync_playwright
from shared_by_folder import SharedByFolder

HERE = Path(__file__).parent
AXE = HERE.parents[1] / "labextension" / "node_modules" / "axe-core" / "axe.min.js"
BASE_URL = "/user/someone/"
FIRST_OPENING_MS = 60_000
CHROMIUM_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

KERNEL_IS_IDLE = "() => window.jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel?.status === 'idle'"
LAYOUT_IS_SAVED = """async name => {
  const { data } = await window.jupyterapp.serviceManager.workspaces.fetch('default')
  const { 'layout-restorer:data': layout, ...panes } = data
  // Panes and layout are saved one after the other: with either alone nothing comes back.
  return JSON.stringify(layout?.main ?? null).includes(name) && Object.keys(panes).some(key => key.includes(name))
}"""
THEMES = {
    "light": "JupyterLab Light",
    "dark": "JupyterLab Dark",
    "high-contrast": "JupyterLab Dark High Contrast",
}

expect.set_options(timeout=60_000)
_numbers = itertools.count()
_HAS_FAILED = pytest.StashKey[bool]()


def chromium_path() -> str | None:
    """Return the browser to use; None is Playwright's own, where that is installed."""
    for name in (os.environ.get("GLASSLOOM_CHROMIUM"), "chromium", "chromium-browser", "google-chrome"):
        if name and (path := shutil.which(name)):
            return path
    return None


@pytest.fixture(scope="session")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder where the browser caches compiled scripts, which are half of what opening JupyterLab costs."""
    return tmp_path_factory.mktemp("profile")


@contextmanager
def chromium(profile: Path) -> Iterator[BrowserContext]:
    """Run a browser until the block ends."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch_persistent_context(
            profile,
            executable_path=chromium_path(),
            args=CHROMIUM_ARGUMENTS,
            viewport={"width": 1400, "height": 850},
            ignore_https_errors=True,  # those of a proxy with a certificate of its own
        )
        browser.set_default_timeout(60_000)
        yield browser
        browser.close()


_shared = SharedByFolder(HERE)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> Generator[None, object, object]:
    """Close the browser and JupyterLab after this folder's last test."""
    try:
        return (yield)
    finally:
        _shared.close_before(nextitem)


@pytest.fixture
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    return _shared.get("lab", lambda: running_lab(tmp_path_factory.mktemp("lab"), BASE_URL))


@pytest.fixture
def browser(profile: Path) -> BrowserContext:
    """Return the browser of all tests of this folder: starting one for each module took two seconds of CPU."""
    return _shared.get("browser", lambda: chromium(profile))


@pytest.fixture
def context(browser: BrowserContext, lab: Lab) -> Iterator[BrowserContext]:
    """Return the browser as new to JupyterLab but for what it has cached."""
    yield browser
    last = browser.new_page()
    for page in browser.pages:
        if page is not last:
            page.close()
    stored = {"origin": lab.origin, "storageTypes": "cookies,local_storage,indexeddb,service_workers,cache_storage"}
    browser.new_cdp_session(last).send("Storage.clearDataForOrigin", stored)
    browser.clear_cookies()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    item.stash[_HAS_FAILED] = item.stash.get(_HAS_FAILED, False) or report.failed
    return report


@pytest.fixture
def page(context: BrowserContext, request: pytest.FixtureRequest) -> Iterator[Page]:
    """Return a page. What it shows when the test has failed is kept among the artifacts."""
    page = context.new_page()
    yield page
    if request.node.stash.get(_HAS_FAILED, False):
        ARTIFACTS.mkdir(exist_ok=True)
        page.screenshot(path=ARTIFACTS / f"last-of-{request.node.name}.png")


@pytest.fixture
def open_lab(page: Page, lab: Lab, set_theme: Callable[[str], None]) -> Callable[..., None]:
    """Open JupyterLab in a fresh workspace; the Glassloom panel shows by itself."""

    def open_lab(theme: str = "light") -> None:
        page.goto(lab.address("lab?reset"))
        expect(page.locator("#glassloom-panel")).to_be_visible(timeout=60_000)
        expect(page.locator("#jupyterlab-splash")).to_have_count(0)
        # The launcher comes last and takes the focus; a dialog that is open by then gives it to its first field, wherever one types.
        expect(page.locator(".jp-Launcher")).to_be_visible(timeout=60_000)
        page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        set_theme(theme)

    return open_lab


@pytest.fixture
def wait_for_kernel(page: Page) -> Callable[[], None]:
    """Wait until the notebook that is shown has its kernel: without one JupyterLab and Notebook would ask for one in a dialog, and run nothing."""

    def wait_for_kernel() -> None:
        expect(page.locator(".jp-NotebookPanel .jp-Toolbar-kernelName")).to_have_text("Python 3 (ipykernel)")
        page.wait_for_function(KERNEL_IS_IDLE)

    return wait_for_kernel


@pytest.fixture
def wait_until_saved(page: Page) -> Callable[[str], None]:
    """Wait until JupyterLab has saved a layout with a pane of some name, which it does a moment after it has changed."""
    return lambda name: wait_until_true(page, LAYOUT_IS_SAVED, name)


@pytest.fixture
def set_theme(page: Page) -> Callable[[str], None]:
    """Switch JupyterLab to a theme, by our name for it."""
    script = "theme => window.jupyterapp.commands.execute('apputils:change-theme', {theme})"
    return lambda theme: page.evaluate(script, THEMES[theme])


@pytest.fixture
def keep_picture(page: Page) -> Callable[[str], None]:
    """Keep a screenshot among the artifacts."""
    ARTIFACTS.mkdir(exist_ok=True)
    return lambda name: page.screenshot(path=ARTIFACTS / f"{name}.png")


@pytest.fixture
def sockets(page: Page) -> list[str]:
    """The addresses of all WebSockets that the page opens."""
    opened: list[str] = []
    page.on("websocket", lambda socket: opened.append(socket.url))
    return opened


@pytest.fixture
def open_pane(page: Page) -> Callable[[str, str], Locator]:
    """Open a page from the panel and return its pane, once it is alive."""

    def open_pane(cluster: str, name: str) -> Locator:
        page.locator(f'.gl-Card[data-cluster="{cluster}"] .gl-Card-name').click()
        page.locator(f'.gl-Page[data-page="{name}"]').first.click()
        pane = page.locator(f'.gl-Pane[data-cluster="{cluster}"][data-page="{name}"]')
        expect(pane).to_have_attribute("data-state", "live", timeout=FIRST_OPENING_MS)
        return pane

    return open_pane


@pytest.fixture
def choose(page: Page) -> Callable[[str, str], None]:
    """Choose an entry of the menu of a cluster's card."""

    def choose(cluster: str, entry: str) -> None:
        page.locator(f'.gl-Card[data-cluster="{cluster}"] [data-action="menu"]').click()
        page.get_by_role("menuitem", name=entry).click()

    return choose


@pytest.fixture
def publish_cluster(lab: Lab) -> Iterator[Callable[..., str]]:
    """Start clusters that are real but for their engine, and return their ids; options: see `published_cluster.py`."""
    processes: list[subprocess.Popen[str]] = []

    def publish(name: str, *options: str) -> str:
        # Never the same id twice: the dashboards remember clusters that have ended.
        cluster_id = f"c{next(_numbers)}"
        command = [sys.executable, str(HERE / "published_cluster.py"), cluster_id, name, *options]
        process = subprocess.Popen(command, env=lab.environment, stdout=subprocess.PIPE, text=True)
        processes.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        return cluster_id

    yield publish
    for process in processes:
        process.terminate()
    for process in processes:
        process.communicate(timeout=60)


@pytest.fixture
def make_cluster() -> Callable[..., dict[str, Any]]:
    """Return what the server's stream tells of a made-up cluster, by its number; fields can be given."""
    return _cluster


def _cluster(index: int, **fields: Any) -> dict[str, Any]:
    """Return a busy cluster of a notebook, which has computed something."""
    notebook = f"work/analysis-{index}.ipynb"
    run = {
        "id": "1", "kind": "compute", "label": "mean", "notebook": notebook, "cell_id": None, "started_at": 100 + index,
        "ended_at": None, "outcome": "running", "tasks_done": 300, "tasks_total": 800,
    }  # fmt: skip
    return {
        "id": f"c{index}", "name": f"cluster {index}", "kind": "processes", "started_at": 100, "workers": 4, "threads": 8,
        "memory_bytes": 5 * 2**30, "memory_limit_bytes": 8 * 2**30, "cpu_percent": 320.0, "cpu_history": [100.0, 320.0],
        "notebook": notebook, "runs": [run], "can": ["scale", "adapt", "restart", "rename", "shut_down", "log"],
    } | fields  # fmt: skip


@pytest.fixture
def tell(page: Page) -> Callable[..., None]:
    """Let the server's stream tell a state that is made up; to be called before the page is opened."""

    def tell(**state: list[dict[str, Any]] | dict[str, Any]) -> None:
        snapshot = {"version": 2, "type": "snapshot", "sequence": 1, "state": state}
        page.route_web_socket(re.compile("glassloom/api/metrics"), lambda socket: socket.send(json.dumps(snapshot)))

    return tell


@pytest.fixture
def violations(page: Page) -> Callable[[str], list[Any]]:
    """Return what axe-core finds wrong within an element."""
    script = "s => axe.run(s).then(found => found.violations.map(v => [v.id, v.nodes.map(node => node.html)]))"

    def violations(selector: str) -> list[Any]:
        page.add_script_tag(path=AXE)
        return page.evaluate(script, selector)

    return violations
