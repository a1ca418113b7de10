"""Waiting for what comes to be true in other threads and processes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

TIMEOUT_S = 60.0
_LOOK_EVERY_S = 0.02


def eventually(condition: Callable[[], Any], what: str, timeout_s: float = TIMEOUT_S) -> Any:
    """Return what `condition` says as soon as that is true; fail if it isn't in time."""
    end_s = time.monotonic() + timeout_s
    while not (said := condition()):
        assert time.monotonic() < end_s, f"not in {timeout_s:.0f} s: {what}; last was {said!r}"
        time.sleep(_LOOK_EVERY_S)
    return said
