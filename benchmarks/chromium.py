"""A real browser for the cases of pages: that of `GLASSLOOM_CHROMIUM`, or whichever is found."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def chromium() -> Iterator[Any]:
    """Run a browser until the block ends."""
    from playwright.sync_api import sync_playwright

    path = os.environ.get("GLASSLOOM_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, headless=True, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()
