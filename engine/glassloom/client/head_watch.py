"""`HeadWatch`: whether a head that a client waits for is alive, and has workers. It asks; it doesn't end anything."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from time import monotonic
from typing import Any, Protocol

import psutil

from glassloom import config
from glassloom.errors import ClusterClosed
from glassloom.protocol import messages

PING_AFTER_S = 5.0
"""How long a head may say nothing, to any of a client's threads, before it is pinged."""
WARN_AFTER_S = 10.0
"""How long a head may leave a ping unanswered before the waiting thread says so."""


class Asks(Protocol):
    """What a watch needs of a connection."""

    heard_s: float
    """When the head said something last, by the monotonic clock."""

    def post_question(self, make: Callable[[int], messages.FromClient]) -> Callable[[], Any]:
        """Ask without waiting; return what tells the answer. That of a ping may be a text to warn of."""

    def head(self) -> str:
        """Describe the head process."""


class HeadWatch:
    """What one waiting thread looks at every `blocking.WATCH_S` seconds.

    Parameters
    ----------
    what
        What is waited for, for messages.
    name
        The cluster's, if the wait needs workers: it is said once if there are none and none will come.
    more_workers
        What starts some, for that message.
    """

    def __init__(self, connection: Asks, what: str, name: str | None = None, more_workers: str = "") -> None:
        self._connection = connection
        self._what = what
        self._name = name
        self._more_workers = more_workers
        self._answer: Callable[[], Any] | None = None
        self._asked_s = 0.0
        self._has_warned = False

    def __call__(self) -> None:
        """Look at the answer to the last question, or ask the next.

        Raises
        ------
        TimeoutError
            If the head hasn't answered for the option ``timeouts.request``.
        """
        with contextlib.suppress(ClusterClosed):  # then what is waited for is lost, and that is said
            self._look()

    def _look(self) -> None:
        now_s = monotonic()
        if self._answer is not None:
            answer = self._answer()
            if answer is None:
                self._complain(now_s - max(self._asked_s, self._connection.heard_s))
                return
            self._answer = None
            if isinstance(answer, messages.Info):
                self._warn_without_workers(answer)
            elif isinstance(answer, str) and not self._has_warned:
                self._has_warned = True
                warnings.warn(f"{answer}; this process is waiting for {self._what}", stacklevel=2)
        elif self._name is not None and not self._asked_s:
            self._ask(messages.GetInfo, now_s)
        elif now_s - self._connection.heard_s >= PING_AFTER_S:
            self._ask(messages.Ping, now_s)

    def _ask(self, make: Callable[[int], messages.FromClient], now_s: float) -> None:
        self._answer = self._connection.post_question(make)
        self._asked_s = now_s

    def _complain(self, silent_s: float) -> None:
        timeout_s = config.get("timeouts.request")
        if silent_s >= timeout_s:
            raise TimeoutError(
                f"{self._connection.head()} hasn't answered for {silent_s:.0f} s; this process was waiting for {self._what}"
            )
        if silent_s >= WARN_AFTER_S and not self._has_warned:
            self._has_warned = True
            warnings.warn(
                f"{self._connection.head()} hasn't answered for {silent_s:.0f} s; this process is waiting for {self._what}",
                stacklevel=2,
            )

    def _warn_without_workers(self, info: messages.Info) -> None:
        if not info.workers and not info.n_wanted and not info.is_adaptive:
            warnings.warn(
                f"cluster {self._name!r} has no workers, so nothing will be computed; {self._more_workers}",
                stacklevel=2,
            )


def describe_process(pid: int) -> str:
    """Return a process's id, and what keeps it from answering if that can be seen."""
    try:
        status = psutil.Process(pid).status()
    except psutil.Error:
        return f"process {pid}, gone"
    return f"process {pid}, stopped by a signal or debugger" if status == psutil.STATUS_STOPPED else f"process {pid}"
