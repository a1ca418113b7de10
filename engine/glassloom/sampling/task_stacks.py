"""What a thread is doing for its task: the stack of its frames without the engine's. Takes no local variable of any of them."""

from __future__ import annotations

from collections.abc import Callable, Collection
from types import CodeType, FrameType

Frame = tuple[str, str, int]
"""Name of a function, its file, and the line that runs."""

Stack = tuple[Frame, ...]
"""Frames, outermost first."""

MAX_FRAMES = 100
ENGINE: Stack = (("(engine)", "", 0),)
"""The stack of a thread that is about a task but not in its function: it reads inputs, or keeps the result."""
COMPILED: Stack = (("(compiled code)", "", 0),)
"""The stack of a task whose function is compiled: it has no frames."""
NOT_SEEN: Stack = (("(not seen)", "", 0),)
"""The stack of a task that ran when it was to be looked at, and had ended when Python's lock let the sampler look."""
_DEEPER: Frame = ("(deeper)", "", 0)


class TaskStacks:
    """Reads stacks.

    Parameters
    ----------
    calls
        The code objects of the engine that call a task's function.
    is_engine
        Tells whether a file of code is the engine's. Its frames are left out; the innermost one stays if there is no other.
    """

    def __init__(self, calls: Collection[CodeType], is_engine: Callable[[str], bool]) -> None:
        self._calls = frozenset(calls)
        self._is_engine = is_engine
        self._known: dict[str, bool] = {}

    def of(self, innermost: FrameType) -> Stack:
        """Return the stack of a thread that runs a task."""
        frames: list[tuple[CodeType, int | None]] = []
        depth = -1
        frame: FrameType | None = innermost
        while frame is not None:
            if frame.f_code in self._calls:
                depth = len(frames)  # the outermost one counts: a task may run tasks
            frames.append((frame.f_code, frame.f_lineno))
            frame = frame.f_back
        while depth > 0 and frames[depth - 1][0] in self._calls:
            depth -= 1  # they call each other
        if depth < 1:
            return COMPILED if depth == 0 else ENGINE
        del frames[depth:]
        shown = [each for each in frames if not self._is_engines(each[0].co_filename)] or frames[:1]
        shown.reverse()
        stack = tuple(
            (code.co_qualname, code.co_filename, line or code.co_firstlineno) for code, line in shown[:MAX_FRAMES]
        )
        return stack if len(shown) <= MAX_FRAMES else (*stack, _DEEPER)

    def _is_engines(self, filename: str) -> bool:
        known = self._known.get(filename)
        if known is None:
            if len(self._known) > _MAX_FILES:
                self._known.clear()
            known = self._known[filename] = self._is_engine(filename)
        return known


_MAX_FILES = 10_000
