"""The cards of all kinds of objects on a plain page, as notebooks show them elsewhere: for everybody to read, and large enough to be hit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import glassloom as gl
import glassloom.array as ga
import glassloom.bag as gb
import glassloom.dataframe as gd
import pandas as pd
import pytest
from glassloom import Client, LocalCluster
from playwright.sync_api import BrowserContext, Page

AXE = Path(__file__).parents[2] / "labextension" / "node_modules" / "axe-core" / "axe.min.js"
VIOLATIONS = (
    """() => axe.run('.glm2, img').then(found => found.violations.map(v => [v.id, v.nodes.map(node => node.html)]))"""
)
SMALL = """() => [...document.querySelectorAll('.glm2 :is(a, button, summary)')].filter(
    each => each.offsetParent && (each.offsetHeight < 24 || each.offsetWidth < 24)).map(each => each.outerHTML)"""


@pytest.fixture(scope="module")
def cards() -> Iterator[str]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(
            "glassloom.protocol.identity.jupyter_base_url", lambda: "/user/someone/"
        )  # as in a kernel of a server
        yield made()


def made() -> str:
    x = ga.ones((400, 600), chunks=(100, 200))
    frame = gd.from_pandas(pd.DataFrame({"a": range(90), "name": "abc"}), npartitions=3)
    with LocalCluster(n_workers=1, threads_per_worker=1) as cluster, Client(cluster, set_as_default=False) as client:
        failed = client.submit(divmod, 1, 0)
        failed.exception()
        shown: list[Any] = [
            client,
            cluster,
            x,
            x.persist(),
            frame,
            frame.persist(),
            gb.from_sequence([1, 2]),
            failed,
            gl.delayed(abs)(1),
        ]
        shown += [(x + 1).mean().explain(), frame.a.sum().explain(), x.sum().visualize(), ga.ones(10**6, chunks=10)]
        return "".join(f"<section>{each._repr_html_()}</section>" for each in shown)


@pytest.fixture
def plain(browser: BrowserContext, cards: str) -> Any:
    page: Page = browser.new_page()
    page.set_content(
        f"<!doctype html><html lang=en><title>cards</title><style>@media (prefers-color-scheme: dark) {{ body {{ background: #111 }} }}"
        f"</style><body><main><h1>Cards</h1>{cards}</main>"
    )
    page.add_script_tag(path=AXE)
    yield page
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_cards_can_be_read_by_everybody_and_what_is_clicked_is_large_enough(plain: Page, scheme: Any) -> None:
    plain.emulate_media(color_scheme=scheme)
    plain.evaluate("() => document.querySelectorAll('details').forEach(each => { each.open = true })")
    assert plain.evaluate(VIOLATIONS) == []
    assert plain.evaluate(SMALL) == []
