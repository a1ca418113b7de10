"""The user's line that built a layer: file and line, or notebook cell."""

from __future__ import annotations

import functools
import linecache
import os
import sys
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

from glassloom._text import encodable

_not_users: tuple[str, ...] = (str(Path(__file__).resolve().parent.parent) + os.sep, "<frozen")
"""What the names of files begin with that aren't the user's."""
_N_KEPT = 1024


class Origin(NamedTuple):
    """A place in the user's code."""

    filename: str
    line: int
    function: str

    def __str__(self) -> str:
        """Return the place as a person knows it: ``cell 3, line 2`` in a notebook, else ``file.py:2``."""
        return _text(self.filename, self.line, _notebook_cell(self.filename))


@functools.lru_cache(_N_KEPT)
def _text(filename: str, line: int, cell: int | None) -> str:
    place = f"cell {cell}, line {line}" if cell is not None else f"{filename}:{line}"
    source = linecache.getline(filename, line).strip()
    return encodable(f"{place}: {source}" if source else place)


def user_origin(depth: int = 1) -> Origin | None:
    """Return the innermost place on the stack that is not in this package, or None if there is none.

    Parameters
    ----------
    depth
        How many frames above this one to begin: 1 for the caller, 2 for its caller if it is known to be in this package.
    """
    try:
        frame: FrameType | None = sys._getframe(depth)
    except ValueError:  # nothing is above: a thread of a C library called us
        return None
    global _last
    while frame is not None:
        code = frame.f_code
        if _last is not None and _last[0] is code and _last[1] == frame.f_lasti:
            return _last[2]
        if not _is_ours(code.co_filename):
            origin = _origin(code.co_filename, frame.f_lineno, code.co_name)
            _last = code, frame.f_lasti, origin
            return origin
        frame = frame.f_back
    return None


_last: tuple[CodeType, int, Origin] | None = None
"""The place that was found last, with the instruction there: a loop comes to it again and again, and which line an instruction
is of takes the interpreter long to find out. Replaced as a whole, as any thread may."""


@functools.lru_cache(_N_KEPT)
def _is_ours(filename: str) -> bool:
    return filename.startswith(_not_users)


def skip_frames_of(folder: str) -> None:
    """From now on, take no line in `folder` for the user's: it has a library that calls this package for the user."""
    global _not_users, _last
    prefix = folder + os.sep
    if prefix not in _not_users:
        _not_users = (*_not_users, prefix)
        _is_ours.cache_clear()
        _last = None


@functools.lru_cache(_N_KEPT)
def _origin(filename: str, line: int, function: str) -> Origin:
    """Return a place: one object for all tasks that were built there."""
    return Origin(filename, line, function)


def notebook_execution() -> int:
    """Return the number of the notebook's cell that runs, as it is counted; 0 without a notebook."""
    return int(getattr(_ipython_shell(), "execution_count", 0)) if "IPython" in sys.modules else 0


def _notebook_cell(filename: str) -> int | None:
    """Return the execution count of the cell that IPython compiled under this file name."""
    if "IPython" not in sys.modules:
        return None
    names = getattr(getattr(_ipython_shell(), "compile", None), "_filename_map", None)
    return names.get(filename) if names else None


def _ipython_shell() -> Any:
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython is not None else None
