"""Killing a cluster whose head doesn't answer, or whose start was given up: its processes, and its record. Blocks: call it in a thread."""

from __future__ import annotations

import contextlib
import os
import signal
import time

import psutil
from glassloom_metrics.host import is_running
from glassloom_metrics.kill_note import note_kill
from glassloom_metrics.registry import ClusterRecord, read_records, remove_record

TIDY_S = 3.0
"""How long a cluster's other processes may take to end, and to remove its files, when its head is dead."""
_LOOK_AGAIN_S = 0.05


def kill_started(variable: str, value: str) -> None:
    """Kill what was started with this in its environment, and whatever that has started; records of clusters among it are removed.

    First who leads a session, as heads do: what else belongs to a cluster then ends by itself, and removes its files.
    """
    found = _started_with(variable, value)
    records = [record for record in read_records() if record.pid in {process.pid for process in found}]
    for record in records:
        note_kill(record, "its start was given up")
    _kill([process for process in found if _session(process.pid) is not None])
    give_up_s = time.monotonic() + TIDY_S
    while (found := _started_with(variable, value)) and time.monotonic() < give_up_s:
        time.sleep(_LOOK_AGAIN_S)
    _kill(found)
    for record in records:
        remove_record(record.id)


def _started_with(variable: str, value: str) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(OSError, psutil.Error):
            if process.environ().get(variable) == value and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


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
        _kill(_processes(session))
    remove_record(record.id)


def _kill(processes: list[psutil.Process]) -> None:
    for process in processes:
        with contextlib.suppress(psutil.Error):
            process.kill()


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
