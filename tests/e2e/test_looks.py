"""What a person sees: the panel in both themes, with nothing, with much, with long names, and narrow.

The pictures are in `artifacts/` to be looked at; what can be asserted is that nothing sticks out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

AXE = Path(__file__).parents[2] / "labextension" / "node_modules" / "axe-core" / "axe.min.js"
LONG_NAME = "a-very-long-cluster-name-that-nobody-would-type-" * 4


def widest_overflow(page: Page) -> int:
    """Return by how many pixels anything in the panel sticks out to the right."""
    return page.evaluate(
        """() => Math.max(...[...document.querySelectorAll('#glassloom-panel .gl-Section')].map(
            section => section.scrollWidth - section.clientWidth))"""
    )


def test_the_panel_with_and_without_clusters(page, open_lab, keep_picture, publish_cluster):
    open_lab()
    expect(page.get_by_text("No clusters yet")).to_be_visible()
    keep_picture("panel-empty")
    publish_cluster("loom-1", "--busy", "--started-by=notebook")
    publish_cluster(LONG_NAME, "--workers=1", "--kind=threads")
    publish_cluster("nightly", "--workers=3", "--started-by=panel", "--busy")
    expect(page.locator(".gl-Card")).to_have_count(3)
    expect(page.locator(".gl-Card-name").nth(1)).to_have_attribute("title", LONG_NAME)
    expect(page.locator(".gl-Card", has_text="done")).to_have_count(3)  # their numbers have come
    assert widest_overflow(page) <= 0
    keep_picture("panel")


@pytest.fixture
def tell(page: Page) -> Callable[..., None]:
    """Let the server's stream tell a state that is made up; to be called before the page is opened."""

    def tell(**state: list[dict[str, Any]]) -> None:
        snapshot = {"version": 2, "type": "snapshot", "sequence": 1, "state": state}
        page.route_web_socket(re.compile("glassloom/api/metrics"), lambda socket: socket.send(json.dumps(snapshot)))

    return tell


def violations(page: Page, selector: str) -> list[Any]:
    """Return what axe-core finds wrong within an element."""
    page.add_script_tag(path=AXE)
    script = "s => axe.run(s).then(found => found.violations.map(v => [v.id, v.nodes.map(node => node.html)]))"
    return page.evaluate(script, selector)


def cluster(index: int, **fields: Any) -> dict[str, Any]:
    """Return a busy cluster of a notebook, which has computed something."""
    notebook = f"work/analysis-{index}.ipynb"
    run = {
        "id": 1, "kind": "compute", "label": "mean", "notebook": notebook, "cell_id": None, "started_at": 100 + index,
        "ended_at": None, "outcome": "running", "tasks_done": 300, "tasks_total": 800,
    }  # fmt: skip
    return {
        "id": f"c{index}", "name": f"cluster {index}", "kind": "processes", "started_at": 100, "workers": 4, "threads": 8,
        "memory_bytes": 5 * 2**30, "memory_limit_bytes": 8 * 2**30, "cpu_percent": 320.0, "cpu_history": [100.0, 320.0],
        "notebook": notebook, "runs": [run], "can": ["scale", "adapt", "restart", "rename", "shut_down", "log"],
    } | fields  # fmt: skip


UNUSUAL = [
    {"name": LONG_NAME, "kind": "threads", "can": [], "notebook": None, "script": "/home/me/" + LONG_NAME + ".py"},
    {"name": "gpus", "gpus": [{"name": "H200", "percent": 60.0}] * 4, "gpu_history": [20, 60], "spilled_bytes": 2**31},
    {"name": "lost", "state": "silent", "heard_at": 100, "adaptive": {"minimum": 1, "maximum": 16}},
    {"name": "old", "problem": "cluster c3 speaks version 1 of the metrics protocol"},
    {"name": "idle", "idle_timeout_s": 1800, "idle_since": 100},
]


@pytest.mark.parametrize("theme", ["light", "dark", "high-contrast"])
def test_unusual_clusters_can_be_read_by_everybody(page, open_lab, keep_picture, tell, theme):
    page.set_viewport_size({"width": 1400, "height": 1300})
    failed = {"id": "s1", "name": "big", "state": "failed", "problem": "memory_limit='lots' is not a size"}
    elsewhere = {"id": "e1", "name": "theirs", "host": "node12", "started_at": 100}
    clusters = [cluster(index, **fields) for index, fields in enumerate(UNUSUAL)]
    tell(clusters=clusters, starts=[failed], elsewhere=[elsewhere])
    open_lab(theme)
    expect(page.locator(".gl-Card")).to_have_count(len(UNUSUAL) + 2)
    expect(page.locator(".gl-Page").first).to_be_visible()
    assert widest_overflow(page) <= 0
    assert violations(page, "#glassloom-panel") == []
    assert violations(page, ".gl-Status") == []
    keep_picture(f"panel-unusual-{theme}")
    page.get_by_role("button", name="New", exact=True).click()
    expect(page.get_by_role("dialog").get_by_label("Name")).to_be_focused()
    assert violations(page, ".jp-Dialog") == []
    small = (
        "[...document.querySelectorAll('.gl-SectionWidget button')].filter(b => b.offsetParent && b.offsetHeight < 24)"
    )
    assert page.evaluate(f"() => {small}.map(b => b.outerHTML)") == []
    keep_picture(f"new-cluster-{theme}")


def test_fifty_clusters_in_a_narrow_panel(page, open_lab, keep_picture, tell):
    page.set_viewport_size({"width": 620, "height": 850})
    tell(clusters=[cluster(index) for index in range(50)])
    open_lab()
    expect(page.locator(".gl-Card")).to_have_count(50)
    expect(page.locator(".gl-Run")).to_have_count(50)
    assert widest_overflow(page) <= 0
    keep_picture("panel-fifty")
