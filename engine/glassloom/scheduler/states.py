"""The states of a task, and how short of memory a worker is."""

from __future__ import annotations

from enum import IntEnum


class State(IntEnum):
    """Where a task is on its way."""

    RELEASED = 0
    """Known, but neither held nor under way."""
    WAITING = 1
    """Some dependencies are not there yet."""
    READY = 2
    """Can run; held back at the head until a worker has room."""
    STAGING = 3
    """Given to a worker; a dependency is still being published for it."""
    RUNNING = 4
    """Sent to a worker."""
    MEMORY = 5
    """The result is held."""
    ERRED = 6
    """Failed for good, or something that it needs did."""
    FORGOTTEN = 7
    """Nobody needs it any more."""


RELEASED, WAITING, READY, STAGING, RUNNING, MEMORY, ERRED, FORGOTTEN = State
"""The states by themselves: looking them up in the class costs a tenth of the scheduler's time."""
UNDER_WAY = frozenset([WAITING, READY, STAGING, RUNNING])


class Pressure(IntEnum):
    """How short a worker is of memory."""

    NONE = 0
    HIGH = 1
    """It gets only tasks that are expected to free more memory than they take."""
    PAUSED = 2
    """It gets no tasks."""


NO_PRESSURE, HIGH_PRESSURE, PAUSED = Pressure
"""By themselves, as the states are, and for the same reason."""
