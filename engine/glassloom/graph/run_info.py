"""`RunInfo`: what a person has asked for at one time, and where: see `glassloom_metrics.protocol.Runs`."""

from __future__ import annotations

import itertools
import os
from typing import NamedTuple

from glassloom._text import encodable
from glassloom.graph.notebook import current_cell
from glassloom.graph.origin import Origin

MAX_CODE = 4_000
"""How many characters of a cell's code are kept."""


class RunInfo(NamedTuple):
    """Where a run was asked for, and how: the fields are those of `glassloom_metrics.recorder.Run`."""

    kind: str
    code: str = ""
    notebook: str = ""
    cell: str = ""
    kernel: str = ""
    origin: str = ""
    ordinal: int = 0


_numbers = itertools.count(1)
_n_begun = 0


def n_runs_begun() -> int:
    """Return how many runs this process has begun so far, which is the newest one's `RunInfo.ordinal`.

    Who follows them knows by it whether all were told, and which are from before.
    """
    return _n_begun


def run_info(kind: str, origin: Origin | None, kernel: str = "") -> RunInfo:
    """Return what is known of the code that runs in this thread now, which begins a run. Never raises.

    Parameters
    ----------
    kind
        ``"compute"``, ``"persist"``, ``"map"`` or ``"submit"``.
    origin
        The user's line.
    kernel
        Id of the Jupyter kernel that this process is, or what else tells its runs from those of others.
    """
    global _n_begun
    ordinal = _n_begun = next(_numbers)
    where = "" if origin is None else encodable(str(origin))
    cell = current_cell()
    if cell is None:
        return RunInfo(kind, where.partition(": ")[2], kernel=kernel, origin=where, ordinal=ordinal)
    notebook = os.environ.get("JPY_SESSION_NAME", "")  # the notebook's path, as Jupyter's server tells it
    return RunInfo(kind, encodable(cell.code[:MAX_CODE]), encodable(notebook), cell.id, kernel, where, ordinal)
