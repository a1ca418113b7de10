"""A bound on the time of a test: one that hangs is interrupted. Where more wants to run than there are CPUs it may take longer, in proportion."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from types import FrameType

import pytest

BOUND_S = 60
"""How long a test may take."""


@pytest.fixture(autouse=True)
def bounded_time() -> Iterator[None]:
    """Interrupt a test that hangs."""
    yield from interrupted_after(BOUND_S)


def interrupted_after(bound_s: int) -> Iterator[None]:
    """Interrupt what runs until the iterator is resumed, after `bound_s` seconds or longer in proportion to the load."""
    was_extended = False

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        nonlocal was_extended
        longer_s = bound_s * (os.getloadavg()[0] / (os.cpu_count() or 1) - 1)
        if longer_s >= 1 and not was_extended:
            was_extended = True
            signal.alarm(int(longer_s))
            return
        raise TimeoutError(f"the test didn't end within {bound_s} s, or longer in proportion to the load")

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.alarm(bound_s)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)
