"""Waiting for a lock in the thread that Ctrl-C interrupts.

Python's main thread notes a signal at once but acts on it only between two instructions, or when the signal wakes it from a
system call. A signal that comes after the last instruction and before the system call wakes nothing: a wait without an end
would hide it. So all waits are cut into pieces.
"""

from __future__ import annotations

import threading
from time import monotonic

PIECE_S = 1.0
"""How late such an interrupt may be."""


def acquire(lock: threading.Lock, timeout_s: float | None = None) -> bool:
    """Acquire a lock, within `timeout_s` if that is given; return whether it was acquired. An interrupt ends the wait."""
    if timeout_s is None:
        while not lock.acquire(timeout=PIECE_S):
            pass
        return True
    end_s = monotonic() + timeout_s
    while (left_s := end_s - monotonic()) > PIECE_S:
        if lock.acquire(timeout=PIECE_S):
            return True
    return lock.acquire(timeout=max(0.0, left_s))
