"""What a notebook that is 415 pixels wide shows of the strip and of the monitor. The page is plain: it needs no JupyterLab."""

from __future__ import annotations

from pathlib import Path

from glassloom.notebook.monitor_display import monitor_html
from glassloom.notebook.monitor_fold import MonitorFold
from glassloom_metrics.protocol import Layers, Progress, Runs, WorkerJoined

CELL_CSS = Path(__file__).parents[2] / "labextension" / "style" / "cell.css"
FACTS = ("1,234 of 5,678 tasks", "12.3 s", "120 a second", "4 workers, 8 threads", "1.23 GiB of 4.00 GiB")
VARIABLES = "body { margin: 0; --jp-cell-prompt-width: 64px; --jp-cell-collapser-width: 8px; }"
SIZES = """selector => [...document.querySelectorAll(selector)].map(
    each => ({scrolls: each.scrollWidth > each.clientWidth, height: each.offsetHeight, width: each.offsetWidth}))"""


def test_the_strip_wraps_between_its_facts(browser) -> None:
    facts = "".join(f"<span>{fact}</span>" for fact in FACTS)
    page = browser.new_page()
    page.set_viewport_size({"width": 415, "height": 600})
    page.set_content(
        f'<style>{VARIABLES}{CELL_CSS.read_text()}</style><div class="gl-Strip" data-outcome="running"><div class="gl-Strip-line">'
        '<button class="gl-Strip-toggle"><span class="gl-Strip-dot"></span><span>Running</span></button>'
        f'<span class="gl-Strip-bar"></span><span class="gl-Strip-facts">{facts}</span>'
        '<span class="gl-Strip-buttons"><button>Cancel</button><button>Open</button></span></div></div>'
    )
    (line,) = page.evaluate(SIZES, ".gl-Strip-line")
    each = page.evaluate(SIZES, ".gl-Strip-facts > span")
    toggle, bar, facts, buttons = (
        page.locator(f".gl-Strip-{part}").bounding_box() for part in ("toggle", "bar", "facts", "buttons")
    )
    page.close()
    assert not line["scrolls"]
    # How far it is has the width to itself.
    assert toggle["y"] == buttons["y"] and facts["y"] >= toggle["y"] + toggle["height"]
    assert bar["width"] > 100
    assert max(fact["height"] for fact in each) < 1.5 * min(fact["height"] for fact in each)  # none is broken
    assert line["height"] < 5 * each[0]["height"]


def test_a_long_name_of_an_operation_leaves_room_for_how_far_it_is(browser) -> None:
    page = browser.new_page()
    page.set_viewport_size({"width": 415, "height": 600})
    page.set_content(
        f'<style>{VARIABLES}{CELL_CSS.read_text()}</style><div class="gl-Strip"><div class="gl-Strip-details">'
        f'<table class="gl-Strip-layers"><tr><th scope="row">{"load_the_orders_of_the_last_year_" * 3}</th>'
        '<td><span class="gl-Strip-bar"></span></td><td class="gl-Strip-number">24 of 60</td><td>4</td>'
        '<td class="gl-Strip-rate">23 tasks/min, about 3 min 27 s left</td></tr></table></div></div>'
    )
    strip, number, rate = (
        page.locator(each).bounding_box() for each in (".gl-Strip", ".gl-Strip-number", ".gl-Strip-rate")
    )
    (details,) = page.evaluate(SIZES, ".gl-Strip-details")
    page.close()
    assert strip is not None and number is not None and rate is not None
    assert number["x"] + number["width"] <= strip["x"] + strip["width"]
    assert rate["height"] < 60  # words are kept together
    assert not details["scrolls"]


def test_the_monitor_breaks_no_name_into_letters(browser) -> None:
    fold = MonitorFold("loom")
    fold.apply(WorkerJoined(0.0, 0, "worker-0", 1, nthreads=2, memory_limit_bytes=2**30))
    columns = {"ids": 1, "kinds": "compute", "codes": "x", "notebooks": "", "cells": "", "kernels": "other", "origins": "",
               "started_s": 1.0, "ended_s": None, "outcomes": "running", "tasks": 10, "done": 0, "failed": 0}  # fmt: skip
    fold.apply(Runs(**{name: [value] for name, value in columns.items()}))
    fold.apply(Layers([10], ["mean_of_squares"], [10], [""], runs=[1]))
    fold.apply(Progress(5.0, [10], [3], [0], [2], [4], [0], [1], [0]))
    page = browser.new_page()
    page.set_viewport_size({"width": 415, "height": 600})
    page.set_content(
        f'<style>{VARIABLES}</style><div style="margin: 0 10px 0 82px">{monitor_html(fold.view(), "running")}'
    )
    (card,) = page.evaluate(SIZES, ".glm2")
    names = page.evaluate(SIZES, ".glm2-sub, .glm2-name, .glm2-figure")
    page.close()
    assert not card["scrolls"] and len(names) == 4
    assert names[0]["height"] < 30  # the cluster's, in one line
    assert all(name["width"] >= 60 for name in names[1:])
