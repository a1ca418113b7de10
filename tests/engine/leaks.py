"""What a cluster may leave behind: processes, threads, descriptors, folders, sockets, shared memory, records."""

from __future__ import annotations

import ctypes
import gc
import os
import struct
import threading
import time
from pathlib import Path
from typing import Self

import psutil

GRACE_S = 60.0
_IN_MOVED_TO = 0x80
_EVENT = struct.Struct("iIII")
SHARED_MEMORY = Path("/dev/shm")


class Watch:
    """Looks at this process and at what carries its registry's path, from `__enter__` on.

    Clusters of other test runs on this machine don't count: processes are ours if their environment names our
    registry, and shared memory if its cluster has ever been in it (inotify tells).

    Parameters
    ----------
    base
        Where the tests' registry and temporary files are.
    """

    def __init__(self, base: Path) -> None:
        self._base = base
        self._registry = base / "rt" / "glassloom"
        self._registry.mkdir(parents=True)
        self._ids: set[str] = set()

    def __enter__(self) -> Self:
        libc = ctypes.CDLL(None, use_errno=True)
        self._inotify: int = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        assert libc.inotify_add_watch(self._inotify, bytes(self._registry), _IN_MOVED_TO) >= 0
        gc.collect()
        self._threads = set(threading.enumerate())
        self._descriptors = set(_descriptors())
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._inotify)

    def cluster_ids(self) -> set[str]:
        """Return the ids of all clusters that have ever been in the registry."""
        try:
            events = os.read(self._inotify, 2**20)
        except BlockingIOError:
            return self._ids
        start = 0
        while start < len(events):
            *_, length = _EVENT.unpack_from(events, start)
            start += _EVENT.size
            name = events[start : start + length].rstrip(b"\0").decode()
            start += length
            if name.startswith("cluster-"):
                self._ids.add(name.removeprefix("cluster-").removesuffix(".json"))
        return self._ids

    def processes(self) -> list[psutil.Process]:
        """Return the living processes of our clusters and scripts."""
        found = []
        for process in psutil.process_iter():
            try:
                ours = process.environ().get("JUPYTER_RUNTIME_DIR", "").startswith(str(self._base))
                if ours and process.pid != os.getpid() and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
            except psutil.Error:
                continue
        return found

    def left_outside(self) -> list[str]:
        """Return what is left of our clusters outside this process, one line a thing."""
        left = [f"process {process.pid}: {_command(process)}" for process in self.processes()]
        left += [f"child not waited for: {child}" for child in psutil.Process().children() if _is_zombie(child)]
        left += [f"record {path}" for path in self._registry.iterdir()]
        left += [f"folder {path}" for path in self._base.glob("glassloom-*")]
        for cluster_id in self.cluster_ids():
            left += [f"shared memory {path}" for path in shared_files(cluster_id)]
            left += [f"folder {path}" for path in Path("/tmp").glob(f"glassloom-{cluster_id}")]
        return left

    def leaks(self) -> list[str]:
        """Return what is left outside and inside this process."""
        gc.collect()
        left = self.left_outside()
        left += [f"thread {thread.name}" for thread in set(threading.enumerate()) - self._threads if _counts(thread)]
        left += [f"descriptor {number} of {target}" for number, target in set(_descriptors()) - self._descriptors]
        return left

    def wait_for_leaks_to_go(self) -> list[str]:
        """Return what is still there after the grace time; returns at once when nothing is."""
        return _settled(self.leaks)

    def wait_for_the_outside_to_be_clean(self) -> list[str]:
        """As `wait_for_leaks_to_go`, without what this process holds."""
        return _settled(self.left_outside)


def shared_files(cluster_id: str) -> list[Path]:
    """Return a cluster's files in shared memory, not those of clusters whose ids begin with this one."""
    return [path for mark in "-." for path in SHARED_MEMORY.glob(f"glassloom-{cluster_id}{mark}*")]


def _settled(look) -> list[str]:
    deadline_s = time.monotonic() + GRACE_S
    while (left := look()) and time.monotonic() < deadline_s:
        time.sleep(0.05)
    return left


def _descriptors() -> list[tuple[str, str]]:
    found = []
    for number in os.listdir("/proc/self/fd"):
        try:
            found.append((number, os.readlink(f"/proc/self/fd/{number}")))
        except OSError:
            continue  # the one that lists the folder
    return found


def _counts(thread: threading.Thread) -> bool:
    """The pool of threads that `compute()` without a client uses lives as long as the process."""
    suffix = thread.name.removeprefix("glassloom-")
    return not suffix.isdigit() and suffix != "watchdog"


def _is_zombie(process: psutil.Process) -> bool:
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return "gone by now"
