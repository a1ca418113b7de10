"""When a worker must go although it hasn't ended: decided from what the head sees of it, over time. Acts on nothing."""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum

STUCK_S = 5.0
"""How long a worker may say that it is paused with nothing running and nothing left to spill."""
CANCELLED_S = 10.0
"""How long a cancelled task may go on before its worker is replaced: the thread that it keeps is lost to others."""
STOPPED_S = 60.0
"""How long a worker's process may be stopped (by SIGSTOP, or a debugger) before its tasks run elsewhere."""
SILENT_S = 60.0
"""How long a worker that is replaced may say nothing before it is ended with what it still holds."""

UNANSWERED_S = 10.0
"""How long the fork server may leave a question unanswered before the log says so."""
GONE_S = 60.0
"""How long it may do so before the cluster ends: without it no worker can be replaced."""
_LONGEST_STEP_S = 1.0

_STOPPED = "stopped"


class Health:
    """What is wrong with one worker, and since when.

    >>> health = Health()
    >>> health.note_report(0.0, is_stuck=True)
    >>> health.note_report(4.0, is_stuck=True)
    >>> health.observe(9.0, is_stopped=False, cancelled=())
    ''
    >>> health.note_report(5.0, is_stuck=True)
    >>> health.observe(9.0, is_stopped=False, cancelled=())
    'for 5 s it was short of memory, ran nothing, and had nothing to write to disk'
    """

    def __init__(self) -> None:
        self._since: dict[str | int, float] = {}
        self._stuck_since_s: float | None = None
        self._stuck_s = 0.0

    def note_report(self, at_s: float, *, is_stuck: bool) -> None:
        """Take note of what the worker told of itself at `at_s`.

        Only what it has told counts: when it or the head had no CPU for a while, the last report is old, and all may be well.

        Parameters
        ----------
        is_stuck
            Whether it is paused for its memory, with nothing running, nothing being published and nothing that could go to disk.
        """
        if not is_stuck:
            self._stuck_since_s, self._stuck_s = None, 0.0
            return
        if self._stuck_since_s is None:
            self._stuck_since_s = at_s
        self._stuck_s = at_s - self._stuck_since_s

    def observe(self, now_s: float, *, is_stopped: bool, cancelled: Collection[int]) -> str:
        """Take note of how the worker is; return why it must go, or ``""``.

        Parameters
        ----------
        is_stopped
            Whether its process is stopped.
        cancelled
            Numbers of the tasks on it that nobody wants any more, and that it hasn't answered for.
        """
        if self._stuck_s >= STUCK_S:
            return _STUCK
        ills: list[str | int] = [*cancelled, *[_STOPPED] * is_stopped]
        self._since = {ill: self._since.get(ill, now_s) for ill in ills}
        for ill, since_s in self._since.items():
            bound_s, reason = _BOUNDS.get(ill, _CANCELLED)
            if now_s - since_s >= bound_s:
                return reason
        return ""


_STUCK = f"for {STUCK_S:.0f} s it was short of memory, ran nothing, and had nothing to write to disk"
_BOUNDS: dict[str | int, tuple[float, str]] = {
    _STOPPED: (STOPPED_S, f"its process was stopped for {STOPPED_S:.0f} s"),
}
_CANCELLED = (CANCELLED_S, f"a task that was cancelled on it went on for {CANCELLED_S:.0f} s")


class Pulse(Enum):
    """Whether a process answers."""

    ALIVE, UNANSWERED, GONE = range(3)


class Heartbeat:
    """How long a process has left a question unanswered.

    Only time in which this process runs counts: after a pause of its own the answer may just not have been read yet. Before
    its first answer a process may take any time: it starts.

    >>> heartbeat = Heartbeat()
    >>> heartbeat.beat(0.0), heartbeat.beat(1.0)
    (True, False)
    >>> heartbeat.answered()
    >>> [(heartbeat.beat(at_s), heartbeat.pulse.name) for at_s in (2.0, 3.0, 500.0)]
    [(True, 'ALIVE'), (False, 'ALIVE'), (False, 'ALIVE')]
    """

    def __init__(self) -> None:
        self._has_answered = False
        self._is_waiting = False
        self._waited_s = 0.0
        self._last_s = 0.0

    def beat(self, now_s: float) -> bool:
        """Let time pass; return whether to ask now. Call it about twice a second."""
        step_s, self._last_s = min(now_s - self._last_s, _LONGEST_STEP_S), now_s
        if self._is_waiting:
            self._waited_s += step_s
            return False
        self._is_waiting, self._waited_s = True, 0.0
        return True

    def answered(self) -> None:
        """It has answered."""
        self._has_answered, self._is_waiting = True, False

    @property
    def pulse(self) -> Pulse:
        """Whether it answers."""
        if not self._is_waiting or not self._has_answered or self._waited_s < UNANSWERED_S:
            return Pulse.ALIVE
        return Pulse.UNANSWERED if self._waited_s < GONE_S else Pulse.GONE
