"""A line in a cluster's log that says that it is killed because somebody asked for that: its head can't say so any more."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

from glassloom_metrics.registry import CLUSTER_LOG, ClusterRecord

_NOTE = "glassloom: the cluster's processes are killed: "


def note_kill(record: ClusterRecord, reason: str) -> None:
    """Write into a cluster's log, before its head is killed, that this was asked for. Does nothing if the log can't be opened.

    The log, because it is the one file that readers hold open, and that they can read when the cluster's directory has gone. On a
    full disk the note takes the room of the last lines.
    """
    note = f"{_NOTE}{reason}\n".encode()
    path = Path(record.directory) / CLUSTER_LOG
    with contextlib.suppress(OSError):
        if not _append(path, note):
            with open(path, "r+b", buffering=0) as log:
                log.seek(max(log.seek(0, os.SEEK_END) - len(note) - 1, 0))
                log.write(b"\n" + note)


def _append(path: Path, text: bytes) -> bool:
    """Append to a file; tell whether there was room for all of it."""
    with open(path, "ab", buffering=0) as file:
        try:
            return file.write(text) == len(text)
        except OSError:
            return False


def was_kill_noted(lines: Iterable[str]) -> bool:
    """Tell whether the last lines of a log hold what `note_kill` writes."""
    return any(line.startswith(_NOTE) for line in lines)
