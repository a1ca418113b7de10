"""Clusters whose head ended though nobody had asked it to, and what is left of their logs."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from pathlib import Path
from typing import BinaryIO

from glassloom_metrics.registry import CLUSTER_LOG, ClusterRecord, is_alive
from glassloom_metrics.time_limit import time_limit

from glassloom_server.process_log import last_lines_of
from glassloom_server.wire import LostState

N_LOST = 20
"""How many are told; of a cluster that went before them nobody asks any more."""
N_LINES = 1000
_END_S = 0.5
"""A process's connections are closed before it is seen to have ended; it takes no longer than this."""
_LOOK_AGAIN_S = 0.05


class OpenLog:
    """A cluster's log, held open: who survives a killed head removes the file, and what is open can still be read."""

    def __init__(self, record: ClusterRecord) -> None:
        self._path = Path(record.directory) / CLUSTER_LOG
        self._file: BinaryIO | None = None
        self.open()

    def open(self) -> None:
        """Open the file if it isn't open and there is one: a cluster is registered a moment before it has a log."""
        if self._file is None:
            with contextlib.suppress(OSError):
                self._file = open(self._path, "rb")  # noqa: SIM115 - held until it is closed

    def last_lines(self) -> list[str]:
        """Return the newest lines."""
        if self._file is not None and not self._file.closed:
            with contextlib.suppress(OSError):
                return last_lines_of(self._file, N_LINES)
        return []

    def close(self) -> None:
        """Let go of the file; nothing happens the second time."""
        if self._file is not None:
            self._file.close()


class Losses:
    """The newest clusters that were lost. Written by one thread; safe to read from any."""

    def __init__(self) -> None:
        self._told: deque[tuple[LostState, list[str]]] = deque(maxlen=N_LOST)

    def add(self, record: ClusterRecord, *, at_s: float, start: str | None, lines: list[str]) -> None:
        """Note that a cluster was lost."""
        told = LostState(record.id, record.name, round(at_s, 3), start, bool(lines))
        self._told = deque([*self._told, (told, lines)], maxlen=N_LOST)  # replaced as a whole: others look at it

    def told(self) -> tuple[LostState, ...]:
        """Return them, the oldest first."""
        return tuple(each for each, _ in self._told)

    def lines(self, cluster_id: str, n_lines: int) -> list[str] | None:
        """Return the newest lines of a lost cluster's log; None if no such cluster was lost."""
        for each, lines in self._told:
            if each.id == cluster_id:
                return lines[-n_lines:] if n_lines > 0 else []
        return None


async def has_ended(record: ClusterRecord) -> bool:
    """Tell whether the head, whose connection broke off, has ended; otherwise it has let go only of the connection."""
    with contextlib.suppress(TimeoutError):
        async with time_limit(_END_S):
            while is_alive(record):
                await asyncio.sleep(_LOOK_AGAIN_S)
    return not is_alive(record)
