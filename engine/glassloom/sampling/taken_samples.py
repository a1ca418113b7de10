"""`TakenSamples`: samples of stacks as a worker sends them, as columns. Data alone."""

from __future__ import annotations

from typing import NamedTuple


class TakenSamples(NamedTuple):
    """What has come in since the last time, as columns.

    Attributes
    ----------
    start_s, stop_s
        When the first and the last sample were taken, the time that they stand for included; monotonic.
    first
        Number of the first new stack; those after it have the numbers after it. 0: the table begins anew.
    parents, functions, files, lines
        Of the new stacks: see `protocol.Stacks`.
    tasks, stacks, samples, seconds
        How many samples there were of a task with a stack, and what time they stand for.
    """

    start_s: float
    stop_s: float
    first: int
    parents: list[int]
    functions: list[str]
    files: list[str]
    lines: list[int]
    tasks: list[int]
    stacks: list[int]
    samples: list[int]
    seconds: list[float]
