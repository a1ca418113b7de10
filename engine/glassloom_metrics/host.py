"""Which machine, boot and PID namespace this process is in: where a pid means what it says. It changes nothing.

The directories of records and temporary files may be shared with other machines (NFS) and containers (volumes).
"""

from __future__ import annotations

import os
import socket
from enum import Enum
from functools import cache
from pathlib import Path

import msgspec
import psutil

_INITIAL_PID_NAMESPACE = "pid:[4026531836]"
"""That of the machine itself, the same on every Linux; containers have others."""
_START_TIME_TOLERANCE_S = 5.0
_START_TICKS = 19
"""Place of the start time among the fields of ``/proc/PID/stat`` that follow the command's name."""


class HostIdentity(msgspec.Struct, frozen=True):
    """What pids are relative to. Parts that this system doesn't tell are empty."""

    name: str = ""
    machine_id: str = ""
    boot_id: str = ""
    pid_namespace: str = ""


class Standing(Enum):
    """How sure it is that a process of another time or place has ended."""

    ALIVE, ENDED, FOREIGN = "alive", "ended", "foreign"


@cache
def this_host() -> HostIdentity:
    """Return where this process is."""
    return HostIdentity(
        socket.gethostname(),
        _first_line("/etc/machine-id"),
        _first_line("/proc/sys/kernel/random/boot_id"),
        _pid_namespace(),
    )


def standing(host: HostIdentity, pid: int, started_s: float) -> Standing:
    """Tell whether a process still runs, has surely ended, or is of a host, boot or container that can't be seen from here.

    Parameters
    ----------
    host, pid, started_s
        Where it was, and what `process_started_s` said there.
    """
    here = this_host()
    if not _is_same(host, here):
        return Standing.ENDED if _is_before_reboot(host, here) else Standing.FOREIGN
    return Standing.ALIVE if is_running(pid, started_s) else Standing.ENDED


def is_running(pid: int, started_s: float) -> bool:
    """Tell whether a process of this host still runs (and is not another one that got its pid)."""
    try:
        if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return False
        return abs(process_started_s(pid) - started_s) < _START_TIME_TOLERANCE_S
    except (psutil.NoSuchProcess, ValueError, OverflowError):  # the last two of numbers that no process can have
        return False
    except psutil.AccessDenied:
        return True


def is_stopped(pid: int) -> bool:
    """Tell whether a process of this host is stopped by a signal (SIGSTOP, Ctrl-Z) or a debugger."""
    try:
        return psutil.Process(pid).status() in (psutil.STATUS_STOPPED, psutil.STATUS_TRACING_STOP)
    except (psutil.Error, ValueError):
        return False


def process_started_s(pid: int) -> float:
    """Return when process `pid` began; raises `psutil.Error` if there is none.

    On Linux in seconds since the machine was booted, which no change of the clock moves; elsewhere since the epoch.
    """
    if not os.path.exists("/proc/self/stat"):
        return psutil.Process(pid).create_time()
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        raise psutil.NoSuchProcess(pid) from None
    return int(stat.rpartition(b") ")[2].split()[_START_TICKS]) / os.sysconf("SC_CLK_TCK")


def _is_same(one: HostIdentity, other: HostIdentity) -> bool:
    """Tell whether pids mean the same. A machine's name may change while it runs: it counts where there is nothing better."""
    if one.boot_id or other.boot_id:
        return (one.boot_id, one.pid_namespace) == (other.boot_id, other.pid_namespace)
    return (one.name, one.machine_id) == (other.name, other.machine_id)


def _is_before_reboot(then: HostIdentity, now: HostIdentity) -> bool:
    """Tell whether a process was on this very machine, outside of containers, before it was booted: it ended then."""
    is_same_machine = bool(now.machine_id) and (then.name, then.machine_id) == (now.name, now.machine_id)
    namespaces = {then.pid_namespace, now.pid_namespace}
    return is_same_machine and namespaces == {_INITIAL_PID_NAMESPACE} and then.boot_id != now.boot_id


def _first_line(path: str) -> str:
    try:
        return Path(path).read_text(errors="replace").strip()
    except OSError:
        return ""


def _pid_namespace() -> str:
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""
