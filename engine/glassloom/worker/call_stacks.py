"""Where a worker's tasks are in their code right now. Called beside the tasks, in a thread of its own."""

from __future__ import annotations

import sys
from functools import partial
from types import FrameType

from glassloom._gc import gc_paused
from glassloom._text import type_name
from glassloom.graph.caller_options import WITH_OPTIONS, users_function
from glassloom.protocol.calls import Call
from glassloom.protocol.tracebacks import is_engine_file
from glassloom.worker.user_code import CALLERS, run_slice, run_user_code

MAX_FRAMES = 100
"""How many frames of a stack are told, the innermost ones."""

Frame = tuple[str, int, str]
"""File, line and name of the function; of a compiled function that a task calls directly, no file, 0 and a description."""


def running_stacks(shows_engine: bool) -> dict[int, list[Frame]]:
    """Return the stack of each task that runs in this process, outermost frame first, by task number.

    Parameters
    ----------
    shows_engine
        Whether with the engine's own frames. Without them, the innermost frame stays whatever it is, unless all that it does
        is to call the task's function, which is compiled and so has no frame: then that is told instead.
    """
    with gc_paused():
        stacks = [_shown(frame, shows_engine) for frame in sys._current_frames().values()]
    return dict(stack for stack in stacks if stack is not None)


def _shown(innermost: FrameType, shows_engine: bool) -> tuple[int, list[Frame]] | None:
    """Return the task's number and the frames that are told, outermost first; None if the thread runs no task."""
    stack = _stack_of_task(innermost)
    if stack is None:
        return None
    number, frames = stack
    compiled = "" if shows_engine else _compiled_function(innermost)
    if compiled:
        frames = [("", 0, f"in C code called as the task's function {compiled}")]
    shown = [each for each in frames if shows_engine or each is frames[0] or not is_engine_file(each[0])]
    return number, shown[MAX_FRAMES - 1 :: -1]


def _compiled_function(innermost: FrameType) -> str:
    """Return the name of the task's function if the frame waits for it and it has no Python code, else ``""``."""
    frame: FrameType | None = innermost
    while frame is not None and frame.f_code in WITH_OPTIONS:
        frame = frame.f_back
    if frame is None or frame.f_code is not Call.__call__.__code__:
        return ""
    function = users_function(frame.f_locals["self"].function)
    while isinstance(function, partial):
        function = users_function(function.func)
    if hasattr(function, "__code__"):  # it is about to be called, or has just returned
        return ""
    name = getattr(function, "__qualname__", None) or type_name(type(function))
    module = getattr(function, "__module__", None)
    return f"{module}.{name}" if isinstance(module, str) else str(name)


def _stack_of_task(innermost: FrameType) -> tuple[int, list[Frame]] | None:
    """Return the task's number and its frames, innermost first; None if the thread runs no task."""
    frames: list[Frame] = []
    frame: FrameType | None = innermost
    while frame is not None:
        code = frame.f_code
        if code is run_user_code.__code__:
            return (frame.f_locals["task"].number, frames) if frames else None
        if code is run_slice.__code__:
            return (frame.f_locals["number"], frames) if frames else None
        if code not in CALLERS:
            line = frame.f_lineno or code.co_firstlineno  # generated code has instructions of no line
            frames.append((code.co_filename, line, code.co_name))
        frame = frame.f_back
    return None
