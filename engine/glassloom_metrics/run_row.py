"""What is known of one run: a row of `protocol.Runs`, for those who write it and those who read it."""

from __future__ import annotations

from typing import NamedTuple


class RunRow(NamedTuple):
    """A row of `protocol.Runs`."""

    id: int
    kind: str
    code: str
    notebook: str
    cell: str
    kernel: str
    origin: str
    started_s: float
    ended_s: float | None = None
    outcome: str = "running"
    tasks: int = 0
    done: int = 0
    failed: int = 0
