"""`KnownWorkers`: what the head has said of its workers, without being asked or as an answer, and when. Waits for nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from time import monotonic
from typing import Any

from glassloom.errors import ClusterClosed
from glassloom.protocol import messages

ASK_AFTER_S = 1.0
"""How old what is known may be before the head is asked for news. It tells by itself when workers come and go."""
LATE_AFTER_S = 1.0
"""After how long without an answer a head doesn't answer."""

PostQuestion = Callable[[Callable[[int], messages.FromClient]], Callable[[], Any]]


class KnownWorkers:
    """Written by the thread that reads a connection, read by any.

    Attributes
    ----------
    info
        What was said last; None before the head has let the client in.
    changed
        Called after something was said, and when the connection has ended, in the thread that reads it. It must not wait.
    """

    def __init__(self) -> None:
        self.info: messages.Info | None = None
        self.changed: Callable[[], None] | None = None
        self._heard_s = 0.0
        self._question: tuple[float, Callable[[], Any]] | None = None

    def note(self, info: messages.Info) -> None:
        """The head has said how its workers are."""
        self._heard_s = monotonic()
        self.info = info
        self.note_end()

    def note_end(self) -> None:
        """Nothing more will be said."""
        if self.changed is not None:
            self.changed()

    @property
    def cluster_name(self) -> str:
        """What the cluster is called, which may have been renamed since it was found; ``""`` if it hasn't said."""
        return "" if self.info is None else self.info.cluster_name

    @property
    def least_memory_bytes(self) -> int | None:
        """What the worker that may use least memory may use; None if there is none, or one without a limit."""
        limits = [worker.memory_limit_bytes for worker in self.info.workers] if self.info is not None else []
        known = [limit for limit in limits if limit is not None]
        return min(known) if known and len(known) == len(limits) else None

    @property
    def age_s(self) -> float:
        """How long ago it was said."""
        return monotonic() - self._heard_s

    def ask(self, post_question: PostQuestion) -> bool:
        """Ask for news if what is known is old, and don't wait; return whether the head owes an answer for long already."""
        if self._question is not None and self._question[1]() is None:
            return monotonic() - self._question[0] > LATE_AFTER_S
        self._question = None
        if self.age_s > ASK_AFTER_S:
            with contextlib.suppress(ClusterClosed):  # it has just ended
                self._question = monotonic(), post_question(messages.GetInfo)
        return False
