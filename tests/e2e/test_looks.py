"""What a person sees: the panel in both themes, with nothing, with much, with long names, and narrow.

The pictures are in `artifacts/` to be looked at; what can be asserted is that nothing sticks out.
"""

from __future__ import annotations

import re

import pytest
from page_waits import value_at_rest, wait_for_value
from playwright.sync_api import Page, expect

LONG_NAME = "a-very-long-cluster-name-that-nobody-would-type-" * 4


def widest_overflow(page: Page) -> int:
    """Return by how many pixels anything in the panel sticks out to the right."""
    return value_at_rest(
        page,
        """() => Math.max(...[...document.querySelectorAll('#glassloom-panel .gl-Section')].map(
            section => section.scrollWidth - section.clientWidth))""",
    )


def text_starts(page: Page, selector: str) -> list[float]:
    """Return where the text begins in elements of the panel, in pixels from the left."""
    script = """selector => [...document.querySelectorAll(selector)].map(
        each => each.getBoundingClientRect().left + parseFloat(getComputedStyle(each).paddingLeft))"""
    return value_at_rest(page, script, selector)


@pytest.mark.long
def test_the_panel_with_and_without_clusters(page, open_lab, keep_picture, publish_cluster):
    open_lab()
    expect(page.get_by_text("No clusters yet")).to_be_visible()
    assert len(set(text_starts(page, ".gl-Hint, .gl-Page"))) == 1
    keep_picture("panel-empty")
    publish_cluster("loom-1", "--busy", "--started-by=notebook")
    publish_cluster(LONG_NAME, "--workers=1", "--kind=threads")
    publish_cluster("nightly", "--workers=3", "--started-by=panel", "--busy")
    expect(page.locator(".gl-Card")).to_have_count(3)
    expect(page.locator(".gl-Card-name").nth(1)).to_have_attribute("title", LONG_NAME)
    expect(page.locator(".gl-Card", has_text="done")).to_have_count(3)  # their numbers have come
    assert widest_overflow(page) <= 0
    keep_picture("panel")


UNUSUAL = [
    {"name": LONG_NAME, "kind": "threads", "can": [], "notebook": None, "script": "/home/me/" + LONG_NAME + ".py"},
    {
        "name": "gpus",
        "gpus": [{"name": "H200", "percent": 60.0}] * 4,
        "gpu_history": [20, 60],
        "spilled_bytes": 2**31,
        "device_memory": {
            "held_bytes": 20 << 30,
            "pool_bytes": 60 << 30,
            "other_bytes": 9 << 30,
            "moved_bytes": 0,
            "total_bytes": 141 << 30,
        },
        "engine": {
            "cpu_percent": 12.4,
            "memory_bytes": 3 << 28,
            "log_memory_bytes": 1 << 26,
            "log_disk_bytes": 0,
            "loop_lag_s": 0.003,
            "readers": 2,
        },
    },
    {"name": "lost", "state": "silent", "heard_at": 100, "adaptive": {"minimum": 1, "maximum": 16}},
    {"name": "old", "problem": "cluster c3 speaks version 1 of the metrics protocol"},
    {"name": "idle", "idle_timeout_s": 1800, "idle_since": 100},
]


@pytest.mark.long
def test_unusual_clusters_can_be_read_by_everybody(
    page, open_lab, set_theme, keep_picture, tell, make_cluster, violations
):
    page.set_viewport_size({"width": 1400, "height": 1300})
    failed = {
        "id": "s1",
        "name": "big",
        "state": "failed",
        "problem": "memory_limit='lots' is not a size",
        "field": "memory_limit",
    }
    elsewhere = {"id": "e1", "name": "theirs", "host": "node12", "started_at": 100}
    clusters = [make_cluster(index, **fields) for index, fields in enumerate(UNUSUAL)]
    export = {"id": "x1", "name": "run.glr", "to": "report", "state": "done", "started_at": 100, "output": "run.html"}
    exports = [export, {**export, "id": "x2", "state": "failed", "problem": "the disk is full"}]
    dashboards = {"cpu_percent": 3.4, "memory_bytes": 180 << 20}
    tell(clusters=clusters, starts=[failed], elsewhere=[elsewhere], exports=exports, dashboards=dashboards)
    open_lab()
    expect(page.locator(".gl-Card")).to_have_count(len(UNUSUAL) + 2)
    expect(page.locator(".gl-Page").first).to_be_visible()
    for theme in ("light", "dark", "high-contrast"):
        set_theme(theme)
        expect(page.locator("#jupyterlab-splash")).to_have_count(0)
        assert widest_overflow(page) <= 0
        assert violations("#glassloom-panel") == []
        assert violations(".gl-Status") == []
        keep_picture(f"panel-unusual-{theme}")
        # Where the system forces its colours, as Windows' contrast themes do, they count instead of the theme's.
        page.emulate_media(forced_colors="active")
        assert violations("#glassloom-panel") == []
        keep_picture(f"panel-unusual-{theme}-forced-colours")
        page.emulate_media(forced_colors="none")
        page.get_by_role("button", name="New", exact=True).click()
        dialog = page.get_by_role("dialog")
        expect(dialog.get_by_label("Name")).to_be_focused()
        assert violations(".jp-Dialog") == []
        too_wide = (
            "() => { const form = document.querySelector('.gl-Form'); return form.scrollWidth - form.clientWidth }"
        )
        wait_for_value(page, too_wide, 0)
        selector = ".gl-SectionWidget :is(a, button, label), .gl-Panel jp-button"
        targets = f"[...document.querySelectorAll('{selector}')].filter(b => b.offsetParent)"
        small = f"{targets}.filter(b => b.offsetHeight < 24 || b.offsetWidth < 24)"
        wait_for_value(page, f"() => {small}.map(b => b.outerHTML)", [])
        keep_picture(f"new-cluster-{theme}")
        dialog.get_by_role("button", name="Cancel").click()
        expect(dialog).to_have_count(0)


LOST_PAGE = """<!doctype html><html lang="en"><title>a page</title><body style="color: black; background: white">
<h1>the last picture</h1><script>for (const type of ['glassloom:alive', 'glassloom:lost']) parent.postMessage({type}, '*')</script>"""


@pytest.mark.long
def test_the_words_in_panes_without_a_page_can_be_read_by_everybody(
    page, open_lab, set_theme, keep_picture, tell, make_cluster, violations
):
    tell(clusters=[make_cluster(1)])
    page.route(re.compile("/glassloom/dash/c1/"), lambda route: route.fulfill(body=LOST_PAGE, content_type="text/html"))
    page.route(re.compile("/dash/health"), lambda route: route.fulfill(status=503, body="The dashboards have ended."))
    open_lab()
    expect(page.locator(".gl-Page").first).to_be_visible()
    targets = {
        "no-page": {"cluster": "c1", "page": "of-another-version"},
        "lost": {"cluster": "c1", "page": "status"},
        "ended": {"target": {"kind": "notebook", "path": "work/other.ipynb"}, "page": "status"},
    }
    words = {
        "no-page": "There is no page “of-another-version”",
        "lost": "The dashboards have ended.",
        "ended": "The cluster of work/other.ipynb does not run.",
    }
    for state, target in targets.items():
        args = {**target, "mode": "split-right"}
        page.evaluate("args => window.jupyterapp.commands.execute('glassloom:open-dashboard', args)", args)
        expect(page.locator(f".gl-Pane[data-state='{state}']")).to_contain_text(words[state])
    for theme in ("light", "dark", "high-contrast"):
        set_theme(theme)
        expect(page.locator("#jupyterlab-splash")).to_have_count(0)
        assert violations(".gl-Pane-cover") == []
        keep_picture(f"panes-without-a-page-{theme}")
        page.emulate_media(forced_colors="active")
        keep_picture(f"panes-without-a-page-{theme}-forced-colours")
        page.emulate_media(forced_colors="none")
    page.locator(".gl-Pane[data-state='no-page']").get_by_role("button", name="Close").click()
    expect(page.locator(".gl-Pane")).to_have_count(2)


@pytest.mark.long
def test_fifty_clusters_in_a_narrow_panel(page, open_lab, set_theme, keep_picture, tell, make_cluster):
    page.set_viewport_size({"width": 620, "height": 850})
    tell(clusters=[make_cluster(index) for index in range(50)])
    open_lab()
    expect(page.locator(".gl-Card")).to_have_count(50)
    expect(page.locator(".gl-Run")).to_have_count(50)
    assert widest_overflow(page) <= 0
    expect(page.locator("#jupyterlab-splash")).to_have_count(0)
    keep_picture("panel-fifty")
    set_theme("dark")
    expect(page.locator("body")).to_have_attribute("data-jp-theme-light", "false")
    expect(page.locator("#jupyterlab-splash")).to_have_count(0)
    keep_picture("panel-fifty-dark")


HOSTILE = '</script><img src=x onerror="window.hacked = 1"> **[x](javascript:hacked=1)** \u202egnp.exe\u0007'
SHOWN = HOSTILE.replace("\u202e", r"\u202e").replace("\u0007", r"\x07")
HIDDEN_TEXTS = """() => {
  const nodes = [...document.querySelectorAll('body *:not(script, style)')]
  const texts = nodes.flatMap(node => [
    node.title, node.value, node.getAttribute('aria-label'), ...[...node.childNodes].filter(({ nodeType }) => nodeType === 3).map(({ data }) => data)
  ])
  return texts.filter(text => typeof text === 'string' && /[\\u0007\\u202e]/.test(text))
}"""


@pytest.mark.long
def test_hostile_names_are_text_and_are_seen_whole_wherever_they_stand(
    page, open_lab, keep_picture, choose, tell, make_cluster
):
    page.route(re.compile("/glassloom/dash/c1/"), lambda route: route.fulfill(body=LOST_PAGE, content_type="text/html"))
    named = {"name": HOSTILE, "problem": HOSTILE}
    notebook = 'work/<img src=x onerror="window.hacked = 1">.ipynb'
    cluster = make_cluster(1, name=HOSTILE, notebook=notebook)
    cluster["runs"][0] |= {"label": HOSTILE, "notebook": notebook}
    broken = make_cluster(2, **named)
    start = {"id": "s1", "state": "failed", **named}
    export = {"id": "x1", "to": "report", "state": "failed", "started_at": 100, **named}
    elsewhere = {"id": "e1", "name": HOSTILE, "host": HOSTILE, "started_at": 100}
    tell(clusters=[broken, cluster], starts=[start], elsewhere=[elsewhere], exports=[export])
    open_lab()

    def is_text_everywhere() -> None:
        assert page.evaluate("() => [window.hacked ?? 0, document.querySelectorAll('img[src=x]').length]") == [0, 0]
        assert page.evaluate(HIDDEN_TEXTS) == []

    expect(page.locator('.gl-Card[data-cluster="c1"] .gl-Card-name')).to_have_attribute("title", SHOWN)
    expect(page.locator(".gl-Run").first).to_contain_text(SHOWN)
    assert widest_overflow(page) <= 0
    is_text_everywhere()
    keep_picture("panel-hostile-names")
    for entry in ("Rename…", "Shut Down"):
        choose("c1", entry)
        dialog = page.get_by_role("dialog")
        expect(dialog).to_be_visible()
        is_text_everywhere()
        keep_picture(f"dialog-hostile-names-{entry.strip('…').lower().replace(' ', '-')}")
        dialog.get_by_role("button", name="Cancel").click()
        expect(dialog).to_have_count(0)
    page.locator('.gl-Card[data-cluster="c1"] .gl-Card-name').click()
    page.locator('.gl-Page[data-page="status"]').click()
    expect(page.locator(".lm-TabBar-tab.jp-mod-current", has_text=SHOWN)).to_be_visible()
    page.evaluate("() => window.jupyterapp.shell.activateById('jp-running-sessions')")
    expect(page.locator(".jp-RunningSessions-item", has_text=SHOWN).first).to_be_visible()
    is_text_everywhere()


MOVING_RULES = """() => {
  const moving = [], still = new Set()
  const walk = (rules, isReduced) => {
    for (const rule of rules) {
      if (rule instanceof CSSMediaRule) {
        walk(rule.cssRules, isReduced || rule.conditionText.includes('prefers-reduced-motion: reduce'))
      } else if (rule instanceof CSSStyleRule && rule.selectorText.includes('.gl-')) {
        const { transitionDuration, animationDuration, animationName } = rule.style
        if (isReduced) {
          still.add(rule.selectorText)
        } else if (parseFloat(transitionDuration) > 0 || parseFloat(animationDuration) > 0 || animationName) {
          moving.push(rule.selectorText)
        }
      }
    }
  }
  for (const sheet of document.styleSheets) walk(sheet.cssRules, false)
  return [moving.length >= 2, moving.filter(selector => !still.has(selector))]
}"""


@pytest.mark.long
def test_nothing_moves_for_who_asks_for_less_motion(page, open_lab, tell, make_cluster):
    tell(clusters=[make_cluster(1)])
    open_lab()
    bar = page.locator(".gl-Bar > span").first
    expect(bar).to_have_css("transition-duration", "0.4s")
    page.emulate_media(reduced_motion="reduce")
    expect(bar).to_have_css("transition-duration", "0s")
    # Bars of cells, and whatever else of ours moves: none without its rule for those who ask for less.
    wait_for_value(page, MOVING_RULES, [True, []])
