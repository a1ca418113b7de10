"""A line in a cluster's log that says that it is killed because somebody asked for that: its head can't say so any more."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path

from glassloom_metrics.registry import CLUSTER_LOG, ClusterRecord

_NOTE = "glassloom: the cluster's processes are killed: "


def note_kill(record: ClusterRecord, reason: str) -> None:
    """Write into a cluster's log, before its head is killed, that this was asked for. Does nothing if there is no room, or no log.

    The log, because it is the one file that readers hold open, and that they can read when the cluster's directory has gone.
    """
    with contextlib.suppress(OSError), open(Path(record.directory) / CLUSTER_LOG, "ab") as log:
        log.write(f"{_NOTE}{reason}\n".encode())


def was_kill_noted(lines: Iterable[str]) -> bool:
    """Tell whether the last lines of a log hold what `note_kill` writes."""
    return any(line.startswith(_NOTE) for line in lines)
