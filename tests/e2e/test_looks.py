"""What a person sees: the panel in both themes, with nothing, with much, with long names, and narrow.

The pictures are in `artifacts/` to be looked at; what can be asserted is that nothing sticks out.
"""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

LONG_NAME = "a-very-long-cluster-name-that-nobody-would-type-" * 4


def widest_overflow(page: Page) -> int:
    """Return by how many pixels anything in the panel sticks out to the right."""
    return page.evaluate(
        """() => Math.max(...[...document.querySelectorAll('#glassloom-panel .gl-Section')].map(
            section => section.scrollWidth - section.clientWidth))"""
    )


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_panel_with_and_without_clusters(page, open_lab, keep_picture, publish_cluster, theme):
    open_lab(theme)
    expect(page.get_by_text("No clusters yet")).to_be_visible()
    keep_picture(f"panel-empty-{theme}")
    publish_cluster("loom-1", "--busy", "--started-by=notebook")
    publish_cluster(LONG_NAME, "--workers=1", "--kind=threads")
    publish_cluster("nightly", "--workers=3", "--started-by=panel", "--busy")
    expect(page.locator(".gl-Card")).to_have_count(3)
    expect(page.locator(".gl-Card-name").nth(1)).to_have_attribute("title", LONG_NAME)
    expect(page.locator(".gl-Card", has_text="done")).to_have_count(3)  # their numbers have come
    assert widest_overflow(page) <= 0
    keep_picture(f"panel-{theme}")
    page.get_by_role("button", name="New", exact=True).click()
    expect(page.get_by_role("dialog")).to_be_visible()
    keep_picture(f"new-cluster-{theme}")


def test_thirty_clusters_in_a_narrow_panel(page, open_lab, keep_picture, publish_cluster):
    page.set_viewport_size({"width": 620, "height": 850})
    for index in range(30):
        publish_cluster(f"cluster {index}", "--workers=1")
    open_lab()
    expect(page.locator(".gl-Card")).to_have_count(30)
    assert widest_overflow(page) <= 0
    keep_picture("panel-thirty")
