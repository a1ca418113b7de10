"""The notebook's cell that runs."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple


class Cell(NamedTuple):
    """A cell of a notebook, as it is executed now.

    Attributes
    ----------
    execution
        The number that Jupyter shows beside it.
    id
        The cell's id in its notebook, as JupyterLab tells it; else empty.
    code
        Its text.
    """

    execution: int
    id: str
    code: str


def current_cell() -> Cell | None:
    """Return the cell that this kernel runs, or ran last; None if this is no IPython. Never raises."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None:
        return None
    try:
        return Cell(int(shell.execution_count), _cell_id(shell), _code(shell))
    except Exception:  # other shells than IPython's own may have none of this
        return None


def _code(shell: Any) -> str:
    inputs = shell.user_ns.get("In") or [""]
    return str(inputs[-1])


def _cell_id(shell: Any) -> str:
    """Return the id that JupyterLab gives in the metadata of its request."""
    header = getattr(shell, "parent_header", None) or {}
    metadata = header.get("metadata") or {}
    return str(metadata.get("cellId") or "")
