"""What the pool of threads does with a task's result or exception. They are the user's objects: nothing here raises."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from glassloom.backends.sizeof import ATOM_BYTES, ATOMS, sizeof
from glassloom.protocol import failure


def measure(value: Any) -> int:
    """Return about how many bytes a result holds; 0 if it can't be told."""
    if type(value) in ATOMS:  # as `sizeof` has it, a call quicker
        return ATOM_BYTES
    try:
        return sizeof(value)
    except BaseException:  # the user's class answers, and may raise anything
        return 0


def explain(error: BaseException) -> None:
    """Make ready for the user what a task has raised: without the frame of the pool's own call, with a word of advice."""
    with suppress(BaseException):  # the exception's class is the user's: its methods may raise anything
        frames = error.__traceback__
        if frames is not None:
            error.__traceback__ = frames.tb_next
        failure.explain_read_only(error)
