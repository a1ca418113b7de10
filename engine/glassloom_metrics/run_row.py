"""What is known of one run: a row of `protocol.Runs`, for those who write it and those who read it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from typing import NamedTuple

import msgspec

from glassloom_metrics.protocol import Runs


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
    ordinal: int = 0


def run_rows(message: Runs) -> Iterator[RunRow]:
    """Return the rows of a message.

    >>> message = Runs([7], ["map"], ["x"], [""], [""], ["k1"], [""], [1.0], [None], ["running"], [3], [1], [0])
    >>> [(row.id, row.done, row.ordinal) for row in run_rows(message)]
    [(7, 1, 0)]
    """
    *known, ordinals = msgspec.structs.astuple(message)
    return map(RunRow._make, zip(*known, ordinals or repeat(0, len(message.ids)), strict=True))
