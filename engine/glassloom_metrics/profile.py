"""The messages of the statistical profile: what tasks were doing, by samples of their threads' stacks."""

from __future__ import annotations

from glassloom_metrics.message_base import MessageBase

OTHER = -1
"""The stack of samples whose stack isn't told, as there were too many; and the parent of a stack of one frame."""


class Stacks(MessageBase, frozen=True, tag="stacks"):
    """New stacks: rows of id, the stack that it goes on from (`OTHER`: none), and its innermost frame.

    A frame is the name of a function, its file (``""``: it has none), and the line in it that was running.
    """

    ids: list[int]
    parents: list[int]
    functions: list[str]
    files: list[str]
    lines: list[int]


class Profile(MessageBase, frozen=True, tag="profile"):
    """Samples of a window of time: rows of worker, layer (-1: unknown), stack, how many there were and what they stand for.

    Each sample of a thread stands for the time that it has run tasks since the sample before it.
    """

    start_s: float
    stop_s: float
    workers: list[int]
    layers: list[int]
    stacks: list[int]
    samples: list[int]
    seconds: list[float]
