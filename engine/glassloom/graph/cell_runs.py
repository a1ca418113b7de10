"""Says to `glassloom.notebook` that a notebook's cell is about to begin a run. It knows nothing else of what is shown there."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Hashable
from importlib import import_module
from typing import Any

from glassloom.graph.notebook import current_cell

_log = logging.getLogger(__name__)


def tell_of_cell_run(cluster: Hashable, find_record: Callable[[], Any]) -> None:
    """Let progress be shown below the cell that runs, if this is a notebook's kernel and its front end names cells.

    Parameters
    ----------
    cluster
        Whatever tells the cluster from others.
    find_record
        Returns the cluster's registry record, or None if it has none. Called in another thread.
    """
    if "ipykernel" not in sys.modules:
        return
    cell = current_cell()
    if cell is None or not cell.id:
        return
    try:
        import_module("glassloom.notebook").cell_began_run(cell, cluster, find_record)  # by name: it imports clients
    except (
        Exception
    ):  # of a kernel that is too old, or has no threads left: what is shown must not break what is computed
        _log.warning("progress can't be shown below this cell", exc_info=True)
