"""What the pool of threads does with a task's result or exception. They are the user's objects: nothing here raises."""

from __future__ import annotations

import os
import sys
import traceback
from contextlib import suppress
from typing import Any, NoReturn

from glassloom.backends.sizeof import sizeof
from glassloom.protocol import failure

_MOST_BYTES = 2**62


def measure(value: Any) -> int:
    """Return about how many bytes a result holds; 0 if it can't be told."""
    try:
        nbytes = sizeof(value)
        return nbytes if type(nbytes) is int and 0 <= nbytes <= _MOST_BYTES else 0
    except BaseException:  # the user's class answers, and may raise anything
        return 0


def explain(error: BaseException) -> None:
    """Make ready for the user what a task has raised: without the frame of the pool's own call, with a word of advice."""
    with suppress(BaseException):  # the exception's class is the user's: its methods may raise anything
        frames = error.__traceback__
        if frames is not None:
            error.__traceback__ = frames.tb_next
        failure.explain_read_only(error)


def end_forked_child(error: BaseException | None) -> NoReturn:
    """End a process that a task has forked and that comes back from the task: the pool is in its parent only.

    As Python ends a process: with the status of ``sys.exit()``, 0 if the task has returned, 1 if it has raised.
    """
    status = 0
    with suppress(BaseException):  # the exception's class is the user's
        if isinstance(error, SystemExit):
            status = _exit_status(error.code)
        elif error is not None:
            status = 1
            traceback.print_exception(error)
    with suppress(BaseException):  # as may be what stands in for the streams
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(status)


def _exit_status(code: Any) -> int:
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    print(code, file=sys.stderr)
    return 1
