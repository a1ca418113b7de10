"""A real browser for the cases of pages: that of `GLASSLOOM_CHROMIUM`, or whichever is found."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def _options() -> dict[str, Any]:
    path = os.environ.get("GLASSLOOM_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    return {"executable_path": path, "headless": True, "args": ["--no-sandbox", "--disable-gpu"]}


@contextmanager
def chromium() -> Iterator[Any]:
    """Run a browser until the block ends."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(**_options())
        yield browser
        browser.close()


@contextmanager
def chromium_with_profile(directory: str, **options: Any) -> Iterator[Any]:
    """Run a browser with a profile of its own, in which it keeps files and compiled scripts as a user's does; yield its context."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        context = driver.chromium.launch_persistent_context(directory, **_options(), **options)
        yield context
        context.close()
