"""Waiting for what only an `async` function of a page can tell: Playwright's `wait_for_function` takes its promise for true."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Page

WAIT_S = 60
_ASK_UNTIL_TRUE = """async ([source, arg, limit]) => {
  const isTrue = eval(`(${source})`)
  const end = performance.now() + 1000 * limit
  while (!(await isTrue(arg))) {
    if (performance.now() > end) throw new Error(`not true within ${limit} s, given ${JSON.stringify(arg)}: ${source}`)
    await new Promise(resolve => setTimeout(resolve, 50))
  }
}"""


def wait_until_true(page: Page, script: str, arg: Any = None) -> None:
    """Wait until an async JavaScript function of one argument resolves to something true; fail after `WAIT_S`."""
    page.evaluate(_ASK_UNTIL_TRUE, [script, arg, WAIT_S])
