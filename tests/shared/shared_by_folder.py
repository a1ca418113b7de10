"""What the tests of a folder share while they follow one another: a browser, a server. It ends with the last of them, sooner than a fixture of the session.

Playwright's loop must be gone before other tests run loops of their own, and no process may be left beside tests that look for such.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any, TypeVar

import pytest

Thing = TypeVar("Thing")


class SharedByFolder:
    """Things that are started when a test of a folder first asks for them, and closed when the next test is none of that folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stack = ExitStack()
        self._things: dict[str, Any] = {}

    def get(self, name: str, start: Callable[[], AbstractContextManager[Thing]]) -> Thing:
        """Return the thing of this name, started if it isn't there."""
        if name not in self._things:
            self._things[name] = self._stack.enter_context(start())
        thing: Thing = self._things[name]
        return thing

    def close_before(self, next_test: pytest.Item | None) -> None:
        """Close all, the last first, if the next test is of another folder, or none."""
        if next_test is None or self._folder not in next_test.path.parents:
            self._things.clear()
            self._stack.close()
