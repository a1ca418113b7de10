"""Waiting for what comes true some time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any


def eventually(condition: Callable[[], Any], timeout_s: float = 60.0) -> Any:
    """Return what `condition` returns once that is true."""
    deadline_s = time.monotonic() + timeout_s
    while not (value := condition()):
        assert time.monotonic() < deadline_s, f"{condition} did not come true within {timeout_s} s"
        time.sleep(0.005)
    return value
