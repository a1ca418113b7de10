"""Waiting for what a page comes to say, draw or lay out: what is read of a living page once may be of a moment before.

Playwright's own `expect` waits for what can be said of an element; these wait for the value of a script. `wait_until_true` is for `async` functions:
Playwright's `wait_for_function` takes their promise for true.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Frame, Page

WAIT_S = 60
_ASK_AGAIN_MS = 20
_ASK_UNTIL_TRUE = """async ([source, arg, limit]) => {
  const isTrue = eval(`(${source})`)
  const end = performance.now() + 1000 * limit
  while (!(await isTrue(arg))) {
    if (performance.now() > end) throw new Error(`not true within ${limit} s, given ${JSON.stringify(arg)}: ${source}`)
    await new Promise(resolve => setTimeout(resolve, 50))
  }
}"""
_ASK_UNTIL_AT_REST = """async ([source, arg, limit]) => {
  const ask = eval(`(${source})`)
  const end = performance.now() + 1000 * limit
  let last = null
  for (let same = 0; same < 4; ) {
    if (performance.now() > end) throw new Error(`not at rest within ${limit} s, ${last} at last: ${source}`)
    await new Promise(resolve => requestAnimationFrame(resolve))
    const said = JSON.stringify(ask(arg) ?? null)
    same = said !== 'null' && said === last ? same + 1 : 0
    last = said
  }
  return JSON.parse(last)
}"""


def wait_until_true(page: Page, script: str, arg: Any = None) -> None:
    """Wait until an async JavaScript function of one argument resolves to something true; fail after `WAIT_S`."""
    page.evaluate(_ASK_UNTIL_TRUE, [script, arg, WAIT_S])


def wait_until_said(page: Page | Frame, ask: Callable[[], Any], expected: Callable[[Any], Any] = bool) -> Any:
    """Return what `ask` returns as soon as that is as expected, while Playwright tells of requests and the like; fail after `WAIT_S` with what it returned last."""
    end_s = time.monotonic() + WAIT_S
    while not expected(said := ask()):
        assert time.monotonic() < end_s, f"not as expected within {WAIT_S} s: {said!r}"
        page.wait_for_timeout(_ASK_AGAIN_MS)
    return said


def wait_for_value(page: Page | Frame, script: str, expected: Any, arg: Any = None) -> None:
    """Wait until JavaScript, an expression or a function of one argument, gives what is expected; fail after `WAIT_S` with what it gave last."""
    wait_until_said(page, lambda: page.evaluate(script, arg), lambda said: said == expected)


def value_at_rest(page: Page | Frame, script: str, arg: Any = None) -> Any:
    """Return what a JavaScript function of one argument gives once that is not null and stays the same for four frames, as the place of what is still laid out does not."""
    return page.evaluate(_ASK_UNTIL_AT_REST, [script, arg, WAIT_S])
