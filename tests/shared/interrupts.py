"""Ctrl-C at each place where Python can raise it in the engine's own code, one after the other: no signals, no timing.

Python looks for signals when a function begins, after a call, and at the end of a round of a loop, and nowhere else. A
trace function raises `KeyboardInterrupt` at the n-th such place that the calling thread reaches in modules of Glassloom.

>>> from interrupts import sweep
>>> def cell():
...     return gl.compute(x)
>>> sweep(cell, lambda: assert_equal(cell(), expected))
"""

from __future__ import annotations

import dis
import gc
import itertools
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import date
from functools import cache
from types import CodeType, FrameType
from typing import Any

from long_tests import LONG_TESTS

DAY = int(os.environ.get("GLASSLOOM_SWEEP_DAY") or date.today().toordinal())
"""Which of the places the long tests take: another part each day. To repeat a run, set it to what its header says."""

_OURS = ("glassloom",)
_CHECKED = ("CALL", "JUMP_BACKWARD", "SEND", "YIELD_VALUE")
_DENSE = 40
_STEP = 12
_EVERY = 5
"""In so many days the long tests come to each place once."""


def interrupt(cell: Callable[[], Any], number: int, modules: tuple[str, ...] = _OURS) -> str | None:
    """Call `cell` and raise `KeyboardInterrupt` at the `number`-th place, from 1 on; return where that was.

    Returns None if `cell` ended before. Fails if the interrupt was raised and swallowed, unless Python itself did so: what
    is raised while a generator that was left early is closed, or in a finaliser, Python prints, and goes on.

    Parameters
    ----------
    modules
        Packages in whose code it is raised.
    """
    tracer = _Tracer(number, modules)
    before, hook_before = sys.gettrace(), sys.unraisablehook
    printed: list[type[BaseException] | None] = []
    sys.unraisablehook = lambda raised: printed.append(raised.exc_type)
    sys.settrace(tracer.trace_call)
    try:
        cell()
    except KeyboardInterrupt:
        if tracer.where is None:
            raise  # not ours: somebody has pressed Ctrl-C
        return tracer.where
    finally:
        sys.settrace(before)
        sys.unraisablehook = hook_before
    if printed == [KeyboardInterrupt]:
        return tracer.where
    assert tracer.where is None, f"the interrupt at {tracer.where} (number {number}) was swallowed"
    return None


def n_places(cell: Callable[[], Any], modules: tuple[str, ...] = _OURS) -> int:
    """Call `cell` and return at how many places it could have been interrupted."""
    tracer = _Tracer(0, modules)
    before = sys.gettrace()
    sys.settrace(tracer.trace_call)
    try:
        cell()
    finally:
        sys.settrace(before)
    return tracer.n_reached


def sweep(
    cell: Callable[[], Any],
    check: Callable[[], Any],
    *,
    first: int = 1,
    modules: tuple[str, ...] = _OURS,
) -> int:
    """Interrupt `cell` at one place after the other, with `check` after each; return how many places it had.

    Under ``GLASSLOOM_LONG_TESTS=1`` every fifth place, from another one on each day; else all of the first ones, and then
    fewer and fewer. What `check` raises gets a note that says where the interrupt was.
    """
    for number in _numbers(first):
        where = interrupt(cell, number, modules)
        if where is None:
            return number - 1
        try:
            check()
        except BaseException as error:
            error.add_note(f"after an interrupt at {where} (number {number}; GLASSLOOM_SWEEP_DAY={DAY})")
            raise
    raise AssertionError("unreachable: the numbers never end")


def _numbers(first: int) -> Iterator[int]:
    if LONG_TESTS:
        yield from numbers_of_today(first, _EVERY)
    number = first
    while True:
        yield number
        number += 1 if number < first + _DENSE else 1 + (number - first) // _STEP


def numbers_of_today(first: int, every: int) -> Iterator[int]:
    """Yield every so-manieth number from `first` on, without end; in as many days all of them."""
    return itertools.count(first + DAY % every, every)


class _Tracer:
    """Counts the places, and raises at one of them. Python ends the tracing when a trace function raises."""

    def __init__(self, number: int, modules: tuple[str, ...]) -> None:
        self.where: str | None = None
        self.n_reached = 0
        self._number = number
        self._modules = modules

    def trace_call(self, frame: FrameType, _event: str, _argument: Any) -> Any:
        name = frame.f_globals.get("__name__") or ""
        if not any(name == module or name.startswith(module + ".") for module in self._modules):
            return None
        if frame.f_code.co_name == "__del__":
            return None  # Python prints what is raised there, and goes on
        self._reach(frame)
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        checked = _places_after_checks(frame.f_code)

        def trace(frame: FrameType, event: str, _argument: Any) -> Any:
            if event == "opcode" and frame.f_lasti in checked:
                self._reach(frame)
            return trace

        return trace

    def _reach(self, frame: FrameType) -> None:
        self.n_reached += 1
        if self.n_reached == self._number:
            self.where = f"{frame.f_code.co_filename}:{frame.f_lineno} in {frame.f_code.co_name}"
            raise KeyboardInterrupt


@cache
def _places_after_checks(code: CodeType) -> frozenset[int]:
    """Return the offsets of the instructions that follow one after which Python looks for signals."""
    found, was_checked = set(), False
    for instruction in dis.get_instructions(code):
        if instruction.opname == "CACHE":
            continue
        if was_checked:
            found.add(instruction.offset)
        was_checked = instruction.opname.startswith(_CHECKED)
        if instruction.opname.startswith("JUMP_BACKWARD"):
            found.add(instruction.argval)
            was_checked = False
    return frozenset(found)


def interrupt_after(cell: Callable[[], Any], delay_s: float) -> bool:
    """Run a cell and send one SIGINT to this process after a delay; return whether it struck the cell.

    It strikes the cell or nothing: a signal that comes too late is ignored, and so is one in the midst of what hypothesis does when
    garbage is collected, where Python would drop the exception.
    """
    is_running = was_interrupted = False

    def strike(_signal: int, frame: FrameType | None) -> None:
        if is_running and not _collects_garbage(frame):
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, strike)
    timer = threading.Timer(delay_s, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        is_running = True
        try:
            cell()
        finally:
            is_running = False
    except KeyboardInterrupt:
        is_running, was_interrupted = False, True
    finally:
        timer.cancel()
        timer.join()
        signal.signal(signal.SIGINT, before)
    return was_interrupted


def _collects_garbage(frame: FrameType | None) -> bool:
    """Whether a frame is that of a function that the garbage collector calls, or below it."""
    called = {getattr(callback, "__code__", None) for callback in gc.callbacks}
    while frame is not None:
        if frame.f_code in called:
            return True
        frame = frame.f_back
    return False
