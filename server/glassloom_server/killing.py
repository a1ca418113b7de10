"""Killing a cluster whose head doesn't answer: its processes, and its record. Blocks: call it in a thread."""

from __future__ import annotations

import contextlib
import os
import signal
import time

import psutil
from glassloom_metrics.host import is_running
from glassloom_metrics.kill_note import note_kill
from glassloom_metrics.registry import ClusterRecord, remove_record

TIDY_S = 3.0
"""How long a cluster's other processes may take to end, and to remove its files, when its head is dead."""
_LOOK_AGAIN_S = 0.02


def kill_cluster(record: ClusterRecord) -> None:
    """Kill the head; its fork server and workers then end by themselves, or are killed too. The record is removed.

    A head leads a session, to which all processes of the cluster belong that haven't left it on purpose.
    """
    if is_running(record.pid, record.pid_started_s):
        session = _session(record.pid)
        note_kill(record, "as asked for in JupyterLab")
        with contextlib.suppress(ProcessLookupError):
            os.kill(record.pid, signal.SIGKILL)
        _wait_until_gone(record, session)
        for process in _processes(session):
            with contextlib.suppress(psutil.Error):
                process.kill()
    remove_record(record.id)


def _wait_until_gone(record: ClusterRecord, session: int | None) -> None:
    """Wait until the cluster's processes and its files are gone, which the fork server removes; but not for long."""
    give_up_s = time.monotonic() + TIDY_S
    while time.monotonic() < give_up_s and (_processes(session) or os.path.exists(record.directory)):
        time.sleep(_LOOK_AGAIN_S)


def _session(pid: int) -> int | None:
    """Return the session that a process leads; None if it leads none, so that others are left alone."""
    with contextlib.suppress(ProcessLookupError):
        return pid if os.getsid(pid) == pid else None
    return None


def _processes(session: int | None) -> list[psutil.Process]:
    if session is None:
        return []
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(OSError, psutil.Error):
            if os.getsid(process.pid) == session and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found
