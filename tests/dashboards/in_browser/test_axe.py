"""What axe-core finds on each dashboard page of clusters that have run tasks, in each theme."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browsing import Site, open_site, open_tab_of
from glassloom import Client, LocalCluster, config
from glassloom_dashboards.parts.theme import PALETTES
from glassloom_metrics.pages import PAGES
from glassloom_metrics.registry import find_record
from long_tests import cases
from synthetic import Shape

AXE = Path(__file__).parents[3] / "labextension" / "node_modules" / "axe-core" / "axe.min.js"

# Of targets smaller than 24 px axe knows, as does WCAG 2.2, that links within a sentence and those with room around them will do.
# It doesn't tell the background of most of what is in our cards, "overlapped" by nothing: there we look ourselves.
FOUND = """async () => {
  const found = await axe.run({rules: {'target-size': {enabled: true}}, elementRef: true})
  const wrong = found.violations.flatMap(rule => rule.nodes.map(node => `${rule.id}: ${node.html.slice(0, 200)} ${node.failureSummary}`))
  const judged = found.passes.concat(found.violations).filter(rule => rule.id === 'color-contrast').flatMap(rule => rule.nodes).length
  const unknown = found.incomplete.filter(rule => rule.id === 'color-contrast').flatMap(rule => rule.nodes)
  const colour = text => { const [r, g, b, a = 1] = text.match(/[\\d.]+/g).map(Number); return [r, g, b, a] }
  const over = (top, under) => top.slice(0, 3).map((value, at) => value * top[3] + under[at] * (1 - top[3]))
  const light = rgb => { const [r, g, b] = rgb.map(value => (value /= 255) <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b }
  for (const node of unknown) {
    const {element} = node
    if (!element.isConnected) continue  // it was drawn anew meanwhile; axe's selector of it would then be the page's root
    const style = getComputedStyle(element), layers = []
    let opacity = 1
    for (let each = element; each; each = each.assignedSlot ?? each.parentElement ?? each.getRootNode().host) {
      const own = getComputedStyle(each)
      opacity *= Number(own.opacity)
      layers.push(colour(own.backgroundColor))
      if (layers.at(-1)[3] === 1) break
    }
    const under = layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255])
    const text = colour(style.color)
    const [bright, dark] = [light(under), light(over([...text.slice(0, 3), text[3] * opacity], under))].sort((a, b) => b - a)
    const size = parseFloat(style.fontSize), is_large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700)
    const ratio = (bright + 0.05) / (dark + 0.05)
    if (ratio < (is_large ? 3 : 4.5)) wrong.push(`contrast ${ratio.toFixed(2)}: ${node.html.slice(0, 200)}`)
  }
  return {wrong, judged: judged + unknown.length}
}"""


def examine(tab: Any) -> dict[str, Any]:
    """Return what is wrong on the page that is shown, and how many texts were looked at."""
    tab.evaluate(AXE.read_text())
    return tab.evaluate(FOUND)


def find_wrongs(tab: Any, theme: str) -> dict[str, Any]:
    """Return what is wrong on each page of a cluster that has any, and how many texts were looked at."""
    found, judged = {}, 0
    for page in PAGES:
        tab.goto(f"{tab.cluster}/{page.id}?theme={theme}")
        tab.wait_for_function("() => Bokeh.documents[0].is_idle")
        told = examine(tab)
        judged += told["judged"]
        if told["wrong"]:
            found[page.id] = told["wrong"]
    assert judged > 10 * len(PAGES), "what is in the cards was looked at"
    return found


@pytest.mark.more
@pytest.mark.parametrize("theme", cases(PALETTES, ["light"]))
def test_axe_finds_nothing_on_pages_of_a_cluster_with_tasks_failures_and_gpus(tab, publish, theme):
    publish(Shape(workers=3, tasks=2000, failures=True, gpus=2))
    assert find_wrongs(tab, theme) == {}


def fail_on_three(number: int) -> int:
    print("number", number)
    if number == 3:
        raise ValueError("three is bad")
    return number


@pytest.fixture(scope="module")
def real_cluster() -> Iterator[str]:
    """Run a real cluster in a registry of its own, where tasks have run, printed and failed; return its id."""
    base = tempfile.mkdtemp(prefix="gl-", dir="/tmp")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_RUNTIME_DIR", f"{base}/rt")
        patch.setenv("GLASSLOOM_THREADS__PUBLISH", "false")
        config.refresh()
        with (
            LocalCluster(n_workers=2, threads_per_worker=1, memory_limit="1GB", name="real") as cluster,
            Client(cluster, set_as_default=False) as client,
        ):
            with pytest.raises(ValueError, match="three is bad"):
                client.gather(client.map(fail_on_three, range(5)))
            client.gather(client.map(abs, range(20)))
            yield find_record("real").id
    shutil.rmtree(base, ignore_errors=True)


DETAILS = {
    "": ("a", "a"),  # the list of clusters
    "nothing": ("h1", "h1"),  # no such page
    "{cluster}/runs": ("tr.row button", "tr.detail"),
    "{cluster}/logs": ("button:has-text('three is bad')", "tr.detail pre"),
    "{cluster}/task?search=fail_on_three": ("tr.row a", "text=Its result"),
    "{cluster}/workers": ("tr.row button", "button:has-text('All workers')"),
}
"""What there is besides the pages as they open: an address, what is clicked there, and what is waited for."""


@pytest.fixture(scope="module")
def real_site(browser, real_cluster) -> Iterator[Site]:
    """Return a dashboards process that has let the browser in and finds the real cluster."""
    with open_site(browser) as site:
        yield site


@pytest.mark.long
@pytest.mark.parametrize("theme", PALETTES)
def test_axe_finds_nothing_in_what_is_opened_of_a_real_cluster(real_site, real_cluster, theme):
    found = {}
    with open_tab_of(real_site) as tab:
        for address, (clicked, awaited) in DETAILS.items():
            path = address.format(cluster=real_cluster)
            tab.goto(f"{tab.base}/{path}{'&' if '?' in path else '?'}theme={theme}")
            if path.startswith(real_cluster):
                tab.locator(clicked).first.click()
            tab.locator(awaited).first.wait_for()
            if wrong := examine(tab)["wrong"]:
                found[address] = wrong
        tab.wrongs.clear()  # that a page isn't found, the browser says too
    assert found == {}
