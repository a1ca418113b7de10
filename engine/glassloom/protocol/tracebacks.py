"""Tracebacks for users: what a task raised is shown with the user's frames, without those of the engine.

A public function that waits for tasks is decorated with `hides_engine_frames`. An exception of a task that leaves it,
or a Ctrl-C, keeps the frames of the caller and those of the task's own code. The frames in between are dropped, unless
the option ``tracebacks.show-engine`` is set.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

from glassloom import config

P = ParamSpec("P")
T = TypeVar("T")

_ENGINE = str(Path(__file__).parents[1]) + os.sep
_MARK = "__glassloom_task__"


def mark_task_error(error: BaseException, key: str) -> None:
    """Note on an exception that the task of this key raised it."""
    with contextlib.suppress(
        AttributeError, TypeError
    ):  # some exceptions take no attributes: they keep all their frames
        setattr(error, _MARK, key)


def hides_engine_frames(function: Callable[P, T]) -> Callable[P, T]:
    """Decorate a public function: what tasks raised leaves it without the engine's frames."""

    @wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except BaseException as error:
            drop_engine_frames(error)
            raise

    wrapper.hides_engine_frames = hides_engine_frames  # type: ignore[attr-defined]  # for those that are put around it
    return wrapper


def drop_engine_frames(error: BaseException) -> None:
    """Drop the engine's frames from the traceback of a task's exception or of a KeyboardInterrupt, in place.

    The last frame of a task's exception always stays: one that the engine's own code raised in a task says where. Other
    exceptions are left as they are.
    """
    is_interrupt = isinstance(error, KeyboardInterrupt)
    if (is_interrupt or hasattr(error, _MARK)) and not config.get("tracebacks.show-engine"):
        error.__traceback__ = without_engine(error.__traceback__, keeps_last=not is_interrupt)


def user_frames(error: BaseException) -> TracebackType | None:
    """Return the traceback of a task's exception without the engine's frames, unless these are to be shown."""
    return error.__traceback__ if config.get("tracebacks.show-engine") else without_engine(error.__traceback__)


def without_engine(trace: TracebackType | None, *, keeps_last: bool = True) -> TracebackType | None:
    """Return a traceback without the frames of the engine, but with its last frame, whatever that is, if that is to be kept."""
    entries: list[TracebackType] = []
    while trace is not None:
        entries.append(trace)
        trace = trace.tb_next
    kept: TracebackType | None = None
    for position, entry in enumerate(reversed(entries)):
        if (position == 0 and keeps_last) or not _is_engine(entry):
            kept = TracebackType(kept, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return kept


def _is_engine(entry: Any) -> bool:
    """Whether a frame is the engine's, or one of the standard library's where a block of ``with`` begins or ends."""
    filename = entry.tb_frame.f_code.co_filename
    return is_engine_file(filename) or filename == contextlib.__file__


def is_engine_file(filename: str) -> bool:
    """Tell whether a file of code is the engine's."""
    return filename.startswith(_ENGINE)
