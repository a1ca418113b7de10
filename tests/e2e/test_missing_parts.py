"""What a person sees where a part of Glassloom is missing: the extension of the server, or a page that a layout names."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from jupyter_labs import Lab, running_lab
from playwright.sync_api import expect

NOT_ENABLED = "extension of the Jupyter server is not enabled"


@pytest.fixture
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A JupyterLab whose server extension is disabled."""
    disabled = "--ServerApp.jpserver_extensions={'glassloom_server': False}"
    with running_lab(tmp_path_factory.mktemp("disabled"), "/", disabled) as lab:
        yield lab


@pytest.mark.long
def test_without_the_servers_extension_all_say_so_and_how_to_enable_it(page, open_lab, keep_picture):
    open_lab()
    panel = page.locator("#glassloom-panel")
    expect(panel).to_contain_text(NOT_ENABLED)
    expect(panel).to_contain_text("jupyter server extension enable glassloom_server")
    open_dashboard = "() => window.jupyterapp.commands.execute('glassloom:open-dashboard', {cluster: 'c1'})"
    page.evaluate(open_dashboard)
    expect(page.locator(".gl-Pane-cover")).to_contain_text(NOT_ENABLED)
    expect(page.locator(".gl-Pane iframe")).not_to_have_attribute("src", re.compile("."))
    page.get_by_role("button", name="New", exact=True).click()
    expect(page.locator(".Toastify")).to_contain_text(NOT_ENABLED)
    keep_picture("extension-disabled")
