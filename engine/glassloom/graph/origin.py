"""The user's line that built a layer: file and line, or notebook cell."""

from __future__ import annotations

import linecache
import os
import sys
from pathlib import Path
from typing import NamedTuple

_OUR_FOLDER = str(Path(__file__).resolve().parent.parent) + os.sep


class Origin(NamedTuple):
    """A place in the user's code."""

    filename: str
    line: int
    function: str

    def __str__(self) -> str:
        """Return the place as a person knows it: ``cell 3, line 2`` in a notebook, else ``file.py:2``."""
        cell = _notebook_cell(self.filename)
        place = f"cell {cell}, line {self.line}" if cell is not None else f"{self.filename}:{self.line}"
        source = linecache.getline(self.filename, self.line).strip()
        return f"{place}: {source}" if source else place


def user_origin() -> Origin | None:
    """Return the innermost place on the stack that is not in this package, or None if there is none."""
    frame = sys._getframe(1)
    while frame is not None:
        filename = frame.f_code.co_filename
        if not filename.startswith(_OUR_FOLDER) and not filename.startswith("<frozen"):
            return Origin(filename, frame.f_lineno, frame.f_code.co_name)
        if frame.f_back is None:
            return None
        frame = frame.f_back
    return None


def _notebook_cell(filename: str) -> int | None:
    """Return the execution count of the cell that IPython compiled under this file name."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    names = getattr(getattr(shell, "compile", None), "_filename_map", None)
    return names.get(filename) if names else None
